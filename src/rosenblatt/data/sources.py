"""What a source names: one file, several by a pattern or a list, a folder, standard input."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.standard_input import STANDARD_INPUT

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def name_of(source: Source) -> str:
    """Return how a source is called in messages.

    >>> name_of("a.svm"), name_of(["a.svm", "b.svm"])
    ('a.svm', 'a.svm, b.svm')
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return ", ".join(os.fspath(one) for one in source)


def paths_of(source: Source) -> list[str]:
    """Return the files of a source, in order: a pattern's and a folder's sorted by name.

    >>> paths_of("train.svm"), paths_of(["b.svm", "a.svm"])
    (['train.svm'], ['b.svm', 'a.svm'])
    """
    if not isinstance(source, str | os.PathLike):
        found = [path for one in source for path in paths_of(one)]
        if not found:
            raise BadInput("[]", None, "no files: name at least one")
        return found
    path = os.fspath(source)
    if path == STANDARD_INPUT or Path(path).exists() or not glob.has_magic(path):
        return [_once_or_again(path)]
    found = sorted(name for name in glob.iglob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207 (Path.glob takes no absolute pattern)
    if not found:
        raise BadInput(path, None, "no file matches: check the pattern, and quote it in a shell")
    return found


def _once_or_again(path: str) -> str:
    """Return the path of what can be read as often as one likes, or of standard input; refuse any other pipe."""
    place = Path(path)
    if not place.exists() or place.is_file() or place.is_dir():
        return path
    if _is_standard_input(place):
        return STANDARD_INPUT
    raise BadInput(
        path,
        None,
        f"is a pipe or a device, which can be read only once: let it be standard input (- and < {path})",
    )


def _is_standard_input(place: Path) -> bool:
    try:
        return os.path.samestat(place.stat(), os.fstat(0))
    except OSError:  # there is none
        return False


def files_in(folder: str) -> list[str]:
    """Return the files that lie in a folder, hidden ones left out, sorted by name."""
    return sorted(
        str(file)
        for file in Path(folder).iterdir()
        if file.is_file() and not file.name.startswith((".", "_"))
    )
