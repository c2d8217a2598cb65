"""One owner of a folder at a time, released by the system when the owner dies.

The lock is on the folder itself: deleting or replacing a file in it frees nothing. A file ``lock`` in the folder says
who the owner is; it is locked too, because versions before this one looked at it alone.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import BinaryIO


class Locked(ValueError):
    """Somebody else has the folder."""


class FolderLock:
    """An exclusive lock on a folder, held until :meth:`release` or the death of the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = _locked_folder(folder)
        path = folder / "lock"
        try:
            self._file: BinaryIO = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
            try:
                _lock_file(self._file)
            except OSError:
                self._file.close()
                raise _locked(folder) from None
        except BaseException:
            self._release_folder()
            raise
        self._file.truncate(0)
        self._file.write(str(os.getpid()).encode())
        self._file.flush()

    def release(self) -> None:
        """Let others have the folder."""
        self._file.close()
        self._release_folder()

    def _release_folder(self) -> None:
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def _locked_folder(folder: Path) -> int | None:
    """Return a handle of the locked folder, None where folders cannot be locked."""
    try:
        import fcntl
    except ImportError:  # Windows, where a file that is open cannot be deleted
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP):  # a network file system
            return None
        raise _locked(folder) from None
    return handle


def _locked(folder: Path) -> Locked:
    owner = "unknown"
    with contextlib.suppress(OSError):
        owner = (folder / "lock").read_bytes()[:20].decode("ascii", "replace").strip() or owner
    return Locked(
        f"{folder}: another process ({owner}) has this store open; stop it, or name another folder with --data"
    )


def _lock_file(file: BinaryIO) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(1 << 30)  # past what is written, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        file.seek(0)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
