"""Recent requests to predict, so that feedback may name a prediction by its id: a ring buffer in memory and in a file.

Keeping one copies a few hundred bytes and never touches the disk; :meth:`Recent.flush` writes what is new to the file.
A killed process loses the ids since the last flush; feedback that names one of them is refused as gone.
"""

import os
import zlib
from pathlib import Path
from struct import Struct
from struct import error as StructError

from rosenblatt.web.refusals import BadMessage, Gone

HEAD = Struct("<QQ")  # of the file: where the next record goes, and the salt of this store
RECORD = Struct("<QII")  # of a record: its position, its length, its check
START = 64
ROOM = 16 << 20


class Recent:
    """A ring of requests to predict, each found again by its id while it has not been overwritten.

    >>> import tempfile
    >>> recent = Recent(Path(tempfile.mkdtemp()) / "recent", room=1 << 16)
    >>> recent.find(recent.keep(7, b"example") + ".0")
    (7, b'example', 0)
    >>> recent.close()
    """

    def __init__(self, path: Path, room: int = ROOM) -> None:
        self._room = room
        self._ring = bytearray(room)
        self._head, self._salt = 0, 0
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        self._file = os.fdopen(handle, "r+b")
        try:
            self._read()
        except BaseException:
            self._file.close()
            raise
        self._flushed = self._head

    def _read(self) -> None:
        """Read the file if it holds a ring of this size; else write an empty ring."""
        file = self._file
        if file.seek(0, os.SEEK_END) == START + self._room:
            file.seek(0)
            self._head, self._salt = HEAD.unpack(file.read(HEAD.size))
            file.seek(START)
            file.readinto(self._ring)
        if not self._salt:
            self._head, self._salt = 0, int.from_bytes(os.urandom(7), "little") | 1
            file.truncate(0)
            file.truncate(START + self._room)
            file.seek(0)
            file.write(HEAD.pack(0, self._salt))
            file.flush()
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(
                file.fileno(), 0, START + self._room
            )  # reserve the space now: a full disk fails here, not later

    def clear(self) -> None:
        """Forget every request, in the file too."""
        self._ring[:] = bytes(self._room)
        self._file.truncate(0)
        self._head = self._salt = 0
        self._read()
        self._flushed = self._head

    @property
    def dirty(self) -> bool:
        """Whether something is remembered that the file does not have."""
        return self._head != self._flushed

    def keep(self, model: int, payload: bytes) -> str:
        """Remember a request about a model; return the first part of its predictions' ids."""
        need = RECORD.size + 4 + len(payload)
        at = self._head % self._room
        if need > self._room:
            raise BadMessage(f"a request of {len(payload):,} bytes is larger than what can be remembered")
        if at + need > self._room:  # records do not wrap
            self._head += self._room - at
            at = 0
        position = self._head
        body = model.to_bytes(4, "little") + payload
        check = zlib.crc32(body, (position ^ self._salt) & 0xFFFFFFFF)
        RECORD.pack_into(self._ring, at, position, len(body), check)
        self._ring[at + RECORD.size : at + need] = body
        self._head = position + need
        return f"{position:x}.{check:08x}"

    def length(self, prediction: str) -> int:
        """Return how long the request of a prediction is, zero where its id says nothing; only a hint."""
        try:
            at = int(prediction.split(".", maxsplit=1)[0], 16) % self._room
            return int(RECORD.unpack_from(self._ring, at)[1])
        except (ValueError, StructError):
            return 0

    def find(self, prediction: str) -> tuple[int, bytes, int]:
        """Return the model, the request, and which of its examples a prediction's id names."""
        try:
            first, check_text, last = prediction.split(".")
            position, check, index = int(first, 16), int(check_text, 16), int(last)
        except ValueError:
            raise BadMessage(f"{prediction!r} is not the id of a prediction") from None
        gone = Gone(
            f"prediction {prediction} is no longer remembered: send the example itself with its label"
        )
        at = position % self._room
        outside = not self._head - self._room <= position < self._head
        if position < 0 or index < 0 or outside or at + RECORD.size > self._room:
            raise gone
        stored, length, wanted = RECORD.unpack_from(self._ring, at)
        if stored != position or wanted != check or at + RECORD.size + length > self._room or length < 4:
            raise gone
        body = bytes(self._ring[at + RECORD.size : at + RECORD.size + length])
        if zlib.crc32(body, (position ^ self._salt) & 0xFFFFFFFF) != check:
            raise gone
        return int.from_bytes(body[:4], "little"), body[4:], index

    def flush(self) -> None:
        """Write what is new to the file; from any thread, one at a time."""
        head = self._head
        start = max(self._flushed, head - self._room)
        while start < head:
            at = start % self._room
            n = min(head - start, self._room - at)
            self._file.seek(START + at)
            self._file.write(memoryview(self._ring)[at : at + n])
            start += n
        self._file.flush()  # the records are there before the head says so
        self._file.seek(0)
        self._file.write(HEAD.pack(head, self._salt))
        self._file.flush()
        self._flushed = head

    def close(self) -> None:
        """Write what is new, and close the file."""
        try:
            self.flush()
        finally:
            self._file.close()
