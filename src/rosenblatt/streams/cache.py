"""The cache of rows between passes and between runs: batches as Arrow IPC, keyed by the content they were read from.

A cached file is named after the content of its sources and the way they were read. So it is never stale: another
content has another name. It is written beside, flushed and renamed, so it is never half-written. Whoever writes one
holds a lock on it; what a process that was killed left half-written has none, and is removed by the next one that
looks. All files together take no more than :func:`cache_limit` bytes: those used least recently are removed first.
"""

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rosenblatt import __version__
from rosenblatt.data import Batch, Examples
from rosenblatt.data.arrow_batches import VERSION, BatchFile, write_batches
from rosenblatt.data.batch import COALESCED_BYTES, COALESCED_ROWS, coalesce
from rosenblatt.data.errors import BadInput
from rosenblatt.data.scanners.fingerprint import fingerprint
from rosenblatt.data.source import Source, name_of, paths_of, size_in_bytes
from rosenblatt.storage import replacing

LIMIT = "ROSENBLATT_CACHE"  # how large the cache may become, as in 20GB
DEFAULT_LIMIT = "10GB"


class NoCache(Exception):
    """The cache folder cannot be made, or may not be written to."""


def cache_folder() -> Path:
    """Return where batches are kept: under ``XDG_CACHE_HOME``, else ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rosenblatt" / "examples"


def cache_limit() -> int:
    """Return how many bytes the cache may take: 10 GB, or what ``ROSENBLATT_CACHE`` says."""
    text = os.environ.get(LIMIT) or DEFAULT_LIMIT
    size = size_in_bytes(text)
    if size is None:
        raise ValueError(f"{LIMIT}={text!r} is not a size, as in {LIMIT}=20GB")
    return size


class CachedFile(NamedTuple):
    """A file of the cache."""

    used: int  # when it was last used, in nanoseconds
    bytes: int
    path: Path


def remove_cache() -> int:
    """Remove the whole cache, and return how many bytes that were.

    What a process that was killed left half-written goes too; what one writes at this time stays.
    """
    return _remove(cached_files())


def _remove(files: Iterable[CachedFile]) -> int:
    freed = 0
    for file in files:
        with suppress(FileNotFoundError):  # another process removed it
            file.path.unlink()
            freed += file.bytes
    return freed


def cached_files() -> list[CachedFile]:
    """Return the files of the cache, those that were left half-written among them, the least recently used first."""
    return sorted([*_described(cache_folder().glob("[!.]*.arrow")), *abandoned_files()])


def _described(paths: Iterable[Path]) -> Iterator[CachedFile]:
    """Describe the files that are still there: other processes may remove some at any time."""
    for path in paths:
        with suppress(FileNotFoundError):
            stat = path.stat()
            yield CachedFile(stat.st_mtime_ns, stat.st_size, path)


def evict(limit: int | None = None) -> int:
    """Remove the least recently used files until the rest take no more than the limit; return how many bytes that were.

    A process that has one of them open can go on with it.
    """
    limit = cache_limit() if limit is None else limit
    files = [file for file in cached_files() if not file.path.name.startswith(".")]
    excess = sum(file.bytes for file in files) - limit
    freed = 0
    for file in files:
        if freed >= excess:
            break
        freed += file.bytes  # also where another process removed it
        _remove([file])
    return freed


def abandoned_files() -> list[CachedFile]:
    """Return the half-written files that nobody writes any more: a killed process left them."""
    folder = cache_folder()
    if not folder.is_dir():
        return []
    with _locked(folder):  # or a file that was just made would look abandoned
        return list(_described(file for file in folder.glob(".*.arrow.*") if _is_abandoned(file)))


def _is_abandoned(file: Path) -> bool:
    """Whether nobody holds the lock of a half-written file."""
    try:
        with file.open("rb") as part:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody holds it, or it has just become whole
        return False
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder while files are made in it, or looked for."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _becoming(kept: Path) -> Iterator[BinaryIO]:
    """Open a file beside the path to write to, locked; it takes the path's place when it is whole, or never."""
    with ExitStack() as stack:
        try:
            with _locked(kept.parent):
                file = stack.enter_context(replacing(kept, private=True))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            raise NoCache(str(error)) from error  # a file system without locks
        yield file


def can_be_read_again(source: Source) -> bool:
    """Whether a source is made of files and folders, or is a sample: no pipe."""
    return name_of(source).startswith("sample:") or all(
        Path(path).is_file() or Path(path).is_dir() for path in paths_of(source)
    )


def can_be_kept(source: Source) -> bool:
    """Whether a source is made of files that can be read again."""
    return not name_of(source).startswith("sample:") and all(
        Path(path).is_file() for path in paths_of(source)
    )


def kept_batches(
    examples: Examples,
    source: Source,
    options: Mapping[str, Any],
    told: Callable[[Iterable[Batch]], Iterable[Batch]] = lambda batches: batches,
) -> BatchFile:
    """Return the batches of a source from the cache, writing them there first where they are not.

    ``options`` are those the examples were opened with: read another way, the batches are others. What is read passes
    through ``told``.
    """
    paths = paths_of(source)
    before = _state(paths)
    cached = cache_folder() / f"{_key(paths, options)}.arrow"
    if cached.exists():
        try:
            batches = BatchFile(str(cached))
            os.utime(cached)  # it is the one used most recently
        except FileNotFoundError:  # another process removed it: what is open can be read all the same
            return batches
        except BadInput:
            cached.unlink(missing_ok=True)  # damaged on the disk, or removed since: made anew
        else:
            return batches
    _make(cached.parent)
    _remove(abandoned_files())
    with room_on_the_disk(cached), _becoming(cached) as file:
        write_batches(file, examples, coalesce(told(examples)))
        if _state(paths) != before:
            raise BadInput(name_of(source), None, "changed while it was read: try again")
        file.flush()
        with os.fdopen(os.dup(file.fileno()), "rb") as written:  # by any other way it could be evicted by now
            batches = BatchFile(str(cached), file=written)
    evict()
    return batches


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds what the sources hold
    except OSError as error:
        raise NoCache(str(error)) from error
    if not os.access(folder, os.W_OK):
        raise NoCache(f"{folder}: may not be written to")


@contextmanager
def room_on_the_disk(path: Path) -> Iterator[None]:
    """Say where there was no room left, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        told = "no room for what is kept between passes: free some, or name another folder (XDG_CACHE_HOME, TMPDIR)"
        raise OSError(error.errno, told, str(path.parent)) from error


def _key(paths: list[str], options: Mapping[str, Any]) -> str:
    told = {
        name: getattr(value, "to_dict", lambda value=value: value)()
        for name, value in sorted(options.items())
    }
    content = [(str(Path(path).resolve()), fingerprint(path)) for path in paths]
    text = json.dumps([__version__, VERSION, COALESCED_ROWS, COALESCED_BYTES, content, told], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _state(paths: list[str]) -> list[tuple[int, int, int]]:
    stats = [Path(path).stat() for path in paths]
    return [(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats]
