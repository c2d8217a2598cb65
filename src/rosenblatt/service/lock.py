"""One owner of a folder at a time, released by the system when the owner dies."""

import os
from pathlib import Path
from typing import BinaryIO


class Locked(ValueError):
    """Somebody else has the folder."""


class FolderLock:
    """An exclusive lock on a folder, held until :meth:`release` or the death of the process."""

    def __init__(self, folder: Path) -> None:
        path = folder / "lock"
        self._file: BinaryIO = path.open("a+b")
        try:
            _take(self._file)
        except OSError:
            self._file.seek(0)
            owner = self._file.read(20).decode("ascii", "replace").strip() or "unknown"
            self._file.close()
            raise Locked(
                f"{folder}: another process ({owner}) has this store open; stop it, or name another folder with --data"
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()).encode())
        self._file.flush()

    def release(self) -> None:
        """Let others have the folder."""
        self._file.close()


def _take(file: BinaryIO) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(1 << 30)  # past what is written, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
