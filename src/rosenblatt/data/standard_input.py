"""Standard input as a source: read once as it arrives, or kept in a temporary file to be read again.

The temporary file has no name, so that the system removes it however the process ends, and no more than
:func:`spool_limit` bytes.
"""

import atexit
import errno
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.unpacking import how_packed, unpacking

STANDARD_INPUT = "-"
HEAD_BYTES = 1 << 16
COPY_BYTES = 1 << 20
SPOOL = "ROSENBLATT_SPOOL"  # the most that is kept of standard input, as in 20GB
MOST_SPOOLED = "8GB"
SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_in_bytes(text: str) -> int | None:
    """Read a size; None where it is none.

    >>> size_in_bytes("2GB"), size_in_bytes("512m"), size_in_bytes("1000"), size_in_bytes("much")
    (2147483648, 536870912, 1000, None)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    return None if match is None else int(float(match[1]) * SIZES[match[2].upper()])


def spool_limit() -> int:
    """Return how many bytes of standard input are kept at most: 8 GB, or what ``ROSENBLATT_SPOOL`` says."""
    text = os.environ.get(SPOOL) or MOST_SPOOLED
    size = size_in_bytes(text)
    if size is None:
        raise ValueError(f"{SPOOL}={text!r} is not a size, as in {SPOOL}=20GB")
    return size


def check_spooled(size: int) -> None:
    """Refuse to keep so many bytes of standard input where that is more than is allowed."""
    most = spool_limit()
    if size > most:
        raise BadInput(
            STANDARD_INPUT,
            None,
            f"more than {most:,} bytes came through standard input, where they are kept to be read again: write them "
            f"to a file and name that, learn as they come with `stream`, or allow more ({SPOOL}=20GB)",
        )


class StandardInput:
    """What comes through standard input.

    Its beginning may be looked at as often as one likes; the whole may be read once, unless it is kept.
    """

    def __init__(self, stream: Any) -> None:
        self._source = stream
        self._stream: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self.packing: str | None = None
        self._head: bytes | None = None
        self.taken = 0  # bytes, unpacked, that readers took
        self._passed = False  # something after the head has been read
        self._kept: Any = None

    def head(self) -> bytes:
        """Return what arrived first, without waiting for more than there is; at least a line where there is one."""
        if self._head is None:
            start = self._stream.peek(8)[:8]
            self.packing = how_packed(start)
            if self.packing is not None:
                unpacked = unpacking(self._stream, self.packing)
                self._stream = unpacked if hasattr(unpacked, "read1") else _WithRead1(unpacked)
            self._head = b""
            self.wait_for(1)
        return self._head

    @property
    def is_kept(self) -> bool:
        """Whether it can be read again."""
        return self._kept is not None

    def wait_for(self, lines: int) -> None:
        """Let the beginning hold so many lines, where there are as many and nobody has read on."""
        head = self.head() if self._head is None else self._head
        while not (self._kept or self._passed) and head.count(b"\n") < lines and len(head) < HEAD_BYTES:
            more = self._stream.read1(HEAD_BYTES)
            if not more:
                break
            head += more
        self._head = head

    def keep(self) -> None:
        """Copy all of it to a temporary file, which is gone when the process ends; no more than is allowed."""
        if self._kept is None:
            kept = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
            atexit.register(kept.close)
            try:
                self._copy_to(kept)
            except BaseException:
                kept.close()
                raise
            self._kept = kept

    def _copy_to(self, kept: Any) -> None:
        size = 0
        try:
            with self.reader() as reader:
                while piece := reader.read(COPY_BYTES):
                    size += len(piece)
                    check_spooled(size)
                    kept.write(piece)
            kept.flush()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            message = "no room to keep standard input, which is read again: free some, or name another folder (TMPDIR)"
            raise OSError(error.errno, message, tempfile.gettempdir()) from error

    def close(self) -> None:
        """Give up what was kept."""
        if self._kept is not None:
            self._kept.close()

    def reader(self) -> io.BufferedReader:
        """Return a reader from the beginning."""
        if self._kept is not None:
            return io.BufferedReader(_Kept(self, self._kept))
        if self._passed:
            raise BadInput(
                STANDARD_INPUT, None, "standard input can be read only once: write it to a file for more"
            )
        return io.BufferedReader(_FromHead(self), buffer_size=8192)


class _WithRead1:
    """A reader that gives what it is asked for, as one that gives what it has."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def read1(self, size: int) -> bytes:
        return bytes(self._reader.read(size))


class _FromHead(io.RawIOBase):
    """The head again, then the rest."""

    def __init__(self, source: StandardInput) -> None:
        self._source = source
        self._left = memoryview(source.head())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._source._passed = bool(self._source.head())  # of nothing there is nothing to lose
            self._left = memoryview(self._source._stream.read1(len(buffer)))
        n = min(len(buffer), len(self._left))
        buffer[:n] = self._left[:n]
        self._left = self._left[n:]
        self._source.taken += n
        return n


class _Kept(io.RawIOBase):
    """A reader of the kept file with a place of its own."""

    def __init__(self, source: StandardInput, file: Any) -> None:
        self._source, self._file, self._at = source, file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._file.fileno()).st_size}
        self._at = start[whence] + offset
        return self._at

    def fileno(self) -> int:
        return int(self._file.fileno())

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        n = int(self._file.readinto(buffer))
        self._at += n
        self._source.taken += n
        return n


_CURRENT: list[StandardInput] = []


def standard_input() -> StandardInput:
    """Return the standard input of this process."""
    stream = sys.stdin.buffer
    if not _CURRENT or _CURRENT[0]._source is not stream:
        for old in _CURRENT:
            old.close()
        _CURRENT[:] = [StandardInput(stream)]
    return _CURRENT[0]


def opened_binary(path: str) -> io.BufferedReader:
    """Open a file that must be read here and there; standard input, whole, is kept first."""
    if path != STANDARD_INPUT:
        return Path(path).open("rb")
    standard_input().keep()
    return standard_input().reader()
