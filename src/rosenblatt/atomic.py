"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder; it replaces ``path`` once all of it is on disk, or not at all.

    Only the owner can read a ``private`` file. Locks on the file are held until it has replaced the path.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
        with target.open("wb") as file:
            yield file
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except FileNotFoundError:
        folder = Path(path).parent
        raise FileNotFoundError(
            f"{folder}: no such folder, so {target.name} cannot be written into it"
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not private:  # mkstemp creates a private file
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
