"""Arrow and Parquet files that anybody may have written: nothing of one is used before it is validated in full.

pyarrow verifies the metadata of a file when it opens one, but neither offsets nor indices nor text: where these
lie it reads outside its buffers. So every record batch is validated (``validate(full=True)``) before a value is looked
at, whatever pyarrow raises becomes :class:`BadInput` with the path, no length in a file makes it allocate more than
the file has bytes, and packed buffers are asked how large they become before they are unpacked.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rosenblatt.data.errors import BadInput
from rosenblatt.data.header import check_width
from rosenblatt.data.labels import check_names
from rosenblatt.data.memory import memory_limit

# What pyarrow, or a look at what it returns, raises on a file that is no such file; MemoryError: a length that is none.
DAMAGED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,  # NotImplementedError among them
    MemoryError,
    OverflowError,
    struct.error,
)

MAGIC = b"ARROW1"
DICTIONARY, RECORDS = 2, 3  # kinds of messages


@contextmanager
def refusing_damage(path: str, what: str) -> Iterator[None]:
    """Turn whatever a damaged file makes pyarrow raise into :class:`BadInput`."""
    try:
        yield
    except (BadInput, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except DAMAGED as error:
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        raise BadInput(path, None, f"not {what}, or a damaged one: {reason}") from error


def validated(batch: Any) -> Any:
    """Return a record batch all of whose offsets, indices and texts are what they must be, or raise ValueError."""
    import pyarrow as pa

    batch.validate(full=True)
    if batch.num_rows and all(pa.types.is_null(kind) for kind in batch.schema.types):
        raise ValueError("columns without any value")  # which may be as many as a number in the file says
    return batch


def checked_column_names(path: str, names: list[str]) -> list[str]:
    """Return the names of columns; :class:`BadInput` where there is none, or one occurs twice or is no text."""
    if not names:
        raise BadInput(path, None, "no columns: features and a target are needed")
    check_width(path, None, len(names))
    try:
        check_names(names, "column")
    except ValueError as error:
        raise BadInput(path, None, str(error)) from None
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise BadInput(path, None, f"two columns are called {twice!r}: rename one")
    return names


class Bounded:
    """A file for pyarrow that never reads more than is left of it, whatever length it is asked for."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        file.seek(0)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return bool(self._file.closed)

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or as many as there are."""
        left = max(0, self._size - self._file.tell())
        return bytes(self._file.read(left if size < 0 else min(size, left)))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place of the file."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the place."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether places can be gone to: yes."""
        return True

    def writable(self) -> bool:
        """Whether it can be written to: no."""
        return False

    def close(self) -> None:
        """Leave the file to whoever opened it."""


def check_unpacked_size(file: Any, most: int | None = None) -> None:
    """Raise ValueError where packed buffers of an Arrow file or stream become larger than memory allows.

    A buffer that is packed says first how large it becomes, and pyarrow allocates that. Of the messages only the
    metadata and these numbers are read. A batch may become as large as a quarter of the memory there is, and so may
    all dictionaries together.
    """
    most = _quarter_of_memory() if most is None else most
    dictionaries = 0
    for kind, size in _unpacked_sizes(file):
        dictionaries += size if kind == DICTIONARY else 0
        if max(size, dictionaries) > most:
            raise ValueError(
                f"a batch becomes {max(size, dictionaries):,} bytes when it is unpacked, more than {most:,}: "
                "write smaller batches"
            )


def _quarter_of_memory() -> int:
    return memory_limit() // 4


def _unpacked_sizes(file: Any) -> Iterator[tuple[int, int]]:
    """Yield the kind of every message that has packed buffers, and how many bytes they become."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(MAGIC)) == MAGIC:
        for offset in _blocks_of(file, size):
            yield from _message_at(file, offset)[1]
    else:
        after: int | None = 0
        while after is not None and after < size:
            after, packed = _message_at(file, after)
            yield from packed
    file.seek(0)


def _blocks_of(file: Any, size: int) -> list[int]:
    """Return where the messages of an Arrow file begin, as its footer says."""
    file.seek(size - 10)
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 < length <= size - 10:
        raise ValueError("a footer of no length")
    file.seek(size - 10 - length)
    footer = _Flat(file.read(length))
    root = footer.root()
    blocks = [*footer.structs(root, 2, 24), *footer.structs(root, 3, 24)]
    return [struct.unpack_from("<q", footer.content, at)[0] for at in blocks]


def _message_at(file: Any, offset: int) -> tuple[int | None, list[tuple[int, int]]]:
    """Return where the message after this one begins, None where it is the last, and what its buffers become."""
    if offset < 0:
        raise ValueError("a message before the file")
    file.seek(offset)
    start = file.read(8)
    if len(start) < 4:
        return None, []
    long = start[:4] == b"\xff\xff\xff\xff"
    (length,) = struct.unpack("<i", start[4:] if long else start[:4])
    if length <= 0:
        return None, []
    offset += 8 if long else 4
    file.seek(offset)
    message = _Flat(file.read(length))
    root = message.root()
    body = offset + length
    kind, header = message.number(root, 1, "<B"), message.table(root, 2)
    after = body + message.number(root, 3, "<q")
    if after < body:
        raise ValueError("a message of no length")
    if kind == DICTIONARY and header is not None:
        header = message.table(header, 1)
    if kind not in (DICTIONARY, RECORDS) or header is None or message.table(header, 3) is None:
        return after, []
    size = 0
    for at in message.structs(header, 2, 16):
        place, length = struct.unpack_from("<qq", message.content, at)
        if length >= 8:
            file.seek(body + place)
            (becomes,) = struct.unpack("<q", file.read(8))
            size += length if becomes == -1 else becomes
            if becomes < -1:
                raise ValueError("a packed buffer of no length")
    return after, [(kind, size)]


class _Flat:
    """A flatbuffer; what lies outside it raises struct.error, which is a damaged file."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def root(self) -> int:
        """Return where the root table is."""
        return self._to(0)

    def number(self, table: int, field: int, form: str) -> int:
        """Return a number of a table; 0 where it has none."""
        at = self._field(table, field)
        return 0 if at is None else int(struct.unpack_from(form, self.content, at)[0])

    def table(self, table: int, field: int) -> int | None:
        """Return where a table inside a table is; None where it has none."""
        at = self._field(table, field)
        return None if at is None else self._to(at)

    def structs(self, table: int, field: int, size: int) -> range:
        """Return where the structs of a vector are."""
        at = self.table(table, field)
        if at is None:
            return range(0)
        (count,) = struct.unpack_from("<I", self.content, at)
        if at + 4 + count * size > len(self.content):
            raise ValueError("a vector that is longer than its message")
        return range(at + 4, at + 4 + count * size, size)

    def _field(self, table: int, field: int) -> int | None:
        back: int = struct.unpack_from("<i", self.content, table)[0]
        entries = table - back
        if entries < 0:
            raise ValueError("a table before its message")
        (size,) = struct.unpack_from("<H", self.content, entries)
        if 6 + 2 * field > size:
            return None
        (away,) = struct.unpack_from("<H", self.content, entries + 4 + 2 * field)
        return table + away if away else None

    def _to(self, at: int) -> int:
        return at + int(struct.unpack_from("<I", self.content, at)[0])
