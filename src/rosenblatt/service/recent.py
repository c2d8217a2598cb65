"""The predictions of late, so that feedback may name one by its id: a ring in a file of fixed size.

The file is mapped into memory, so remembering is a copy of a few hundred bytes; what a killed process remembered, its
successor knows. It is not flushed: after a power failure an id may be unknown, and the answer says so.
"""

import mmap
import os
import zlib
from pathlib import Path
from struct import Struct

from rosenblatt.service.refusals import BadMessage, Gone

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
    """

    def __init__(self, path: Path, room: int = ROOM) -> None:
        self._room = room
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size != START + room:
                os.ftruncate(handle, 0)
                os.ftruncate(handle, START + room)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(
                    handle, 0, START + room
                )  # a full disk is met here, not when a page is touched
            self._map = mmap.mmap(handle, START + room)
        finally:
            os.close(handle)
        self._head, self._salt = HEAD.unpack_from(self._map)
        if size != START + room or not self._salt:
            self._head, self._salt = 0, int.from_bytes(os.urandom(7), "little") | 1
            HEAD.pack_into(self._map, 0, 0, self._salt)

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
        place = START + at
        RECORD.pack_into(self._map, place, position, len(body), check)
        self._map[place + RECORD.size : place + RECORD.size + len(body)] = body
        self._head = position + need
        HEAD.pack_into(self._map, 0, self._head, self._salt)
        return f"{position:x}.{check:08x}"

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
        if (
            position < 0
            or index < 0
            or position > self._head
            or position + self._room < self._head
            or at + RECORD.size > self._room
        ):
            raise gone
        place = START + at
        found, length, wanted = RECORD.unpack_from(self._map, place)
        if found != position or wanted != check or at + RECORD.size + length > self._room or length < 4:
            raise gone
        body = self._map[place + RECORD.size : place + RECORD.size + length]
        if zlib.crc32(body, (position ^ self._salt) & 0xFFFFFFFF) != check:
            raise gone
        return int.from_bytes(body[:4], "little"), body[4:], index

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()
