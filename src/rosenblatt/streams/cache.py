"""The cache of rows between epochs and between runs: batches as Arrow IPC, keyed by the content of their sources.

The name of a cached file is a digest of the content of its sources and of the options they were read with, so it is
never stale. A file is written under a temporary name, flushed and renamed, so it is never incomplete. Its writer holds
a lock; a temporary file without one was abandoned by a killed process and is removed. The total size is limited to
:func:`cache_limit` bytes; the least recently used files are evicted first.
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

LIMIT = "ROSENBLATT_CACHE"  # environment variable with the limit of the cache, like 20GB
DEFAULT_LIMIT = "10GB"


class NoCache(Exception):
    """The cache folder cannot be created or written."""


def cache_folder() -> Path:
    """Return the folder of the cache, in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rosenblatt" / "examples"


def limit_in_words() -> str:
    """Return the limit of the cache as it was set: ``ROSENBLATT_CACHE``, by default ``10GB``."""
    return os.environ.get(LIMIT) or DEFAULT_LIMIT


def cache_limit() -> int:
    """Return the limit of the cache in bytes."""
    text = limit_in_words()
    size = size_in_bytes(text)
    if size is None:
        raise ValueError(f"{LIMIT}={text!r} is not a size, as in {LIMIT}=20GB")
    return size


class CachedFile(NamedTuple):
    """A file of the cache."""

    used: int  # time of last use, in nanoseconds
    bytes: int
    path: Path


def remove_cache() -> int:
    """Remove the whole cache, and return the number of bytes freed.

    Abandoned temporary files are removed too; files that a process is writing stay.
    """
    return _remove(cached_files())


def _remove(files: Iterable[CachedFile]) -> int:
    freed = 0
    for file in files:
        with suppress(FileNotFoundError):  # another process has removed it
            file.path.unlink()
            freed += file.bytes
    return freed


def cached_files() -> list[CachedFile]:
    """Return the files of the cache and abandoned temporary files, least recently used first."""
    return sorted([*_stat_files(cache_folder().glob("[!.]*.arrow")), *abandoned_files()])


def _stat_files(paths: Iterable[Path]) -> Iterator[CachedFile]:
    """Yield the files that still exist: other processes may remove some at any time."""
    for path in paths:
        with suppress(FileNotFoundError):
            stat = path.stat()
            yield CachedFile(stat.st_mtime_ns, stat.st_size, path)


def evict(limit: int | None = None) -> int:
    """Remove the least recently used files until the rest is within the limit; return the number of bytes freed.

    A process that has one of them open can continue to read it.
    """
    limit = cache_limit() if limit is None else limit
    files = [file for file in cached_files() if not file.path.name.startswith(".")]
    excess = sum(file.bytes for file in files) - limit
    freed = 0
    for file in files:
        if freed >= excess:
            break
        freed += file.bytes  # even if another process has removed it
        _remove([file])
    return freed


def abandoned_files() -> list[CachedFile]:
    """Return the temporary files of killed processes."""
    folder = cache_folder()
    if not folder.is_dir():
        return []
    with _locked(folder):  # else a file just created would look abandoned
        return list(_stat_files(file for file in folder.glob(".*.arrow.*") if _is_abandoned(file)))


def _is_abandoned(file: Path) -> bool:
    """Whether no process holds the lock of a temporary file."""
    try:
        with file.open("rb") as part:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked, or just renamed
        return False
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder while files are created or listed in it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _temporary_file(path: Path) -> Iterator[BinaryIO]:
    """Open a locked temporary file that replaces the path on success, and is removed on failure."""
    with ExitStack() as stack:
        try:
            with _locked(path.parent):
                file = stack.enter_context(replacing(path, private=True))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            raise NoCache(str(error)) from error  # a file system without locks
        yield file


def is_rereadable(source: Source) -> bool:
    """Whether a source consists of files and folders, or is a sample, rather than a pipe."""
    return name_of(source).startswith("sample:") or all(
        Path(path).is_file() or Path(path).is_dir() for path in paths_of(source)
    )


def is_cacheable(source: Source) -> bool:
    """Whether a source consists of files, which can be cached."""
    return not name_of(source).startswith("sample:") and all(
        Path(path).is_file() for path in paths_of(source)
    )


def cached_batches(
    examples: Examples,
    source: Source,
    options: Mapping[str, Any],
    progress: Callable[[Iterable[Batch]], Iterable[Batch]] = lambda batches: batches,
) -> BatchFile:
    """Return the batches of a source from the cache; write them first if they are not in it.

    ``options`` are those that the examples were opened with, part of the key. ``progress`` wraps the batches while they
    are read.
    """
    paths = paths_of(source)
    before = _state(paths)
    cached = cache_folder() / f"{_key(paths, options)}.arrow"
    if cached.exists():
        try:
            batches = BatchFile(str(cached))
        except (BadInput, FileNotFoundError):
            cached.unlink(missing_ok=True)  # damaged or removed meanwhile: write it again
        else:
            with suppress(FileNotFoundError):  # another process has removed it, but it is open
                os.utime(cached)  # mark it as most recently used
            return batches
    _create_folder(cached.parent)
    _remove(abandoned_files())
    with reporting_full_disk(cached), _temporary_file(cached) as file:
        write_batches(file, examples, coalesce(progress(examples)))
        if _state(paths) != before:
            raise BadInput(name_of(source), None, "changed while it was read: try again")
        file.flush()
        with os.fdopen(os.dup(file.fileno()), "rb") as written:  # by its path it could be evicted by now
            batches = BatchFile(str(cached), file=written)
    evict()
    return batches


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # private, like the sources
    except OSError as error:
        raise NoCache(str(error)) from error
    if not os.access(folder, os.W_OK):
        raise NoCache(f"{folder}: may not be written to")


@contextmanager
def reporting_full_disk(path: Path) -> Iterator[None]:
    """Replace the error of a full disk by one that names the folder and the way out."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        reason = "no space for the cache between epochs: free some, or name another folder (XDG_CACHE_HOME, TMPDIR)"
        raise OSError(error.errno, reason, str(path.parent)) from error


def _key(paths: list[str], options: Mapping[str, Any]) -> str:
    stored_options = {
        name: getattr(value, "to_dict", lambda value=value: value)()
        for name, value in sorted(options.items())
    }
    content = [(str(Path(path).resolve()), fingerprint(path)) for path in paths]
    text = json.dumps(
        [__version__, VERSION, COALESCED_ROWS, COALESCED_BYTES, content, stored_options], default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _state(paths: list[str]) -> list[tuple[int, int, int]]:
    stats = [Path(path).stat() for path in paths]
    return [(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats]
