"""Validation of Arrow and Parquet files from untrusted sources.

pyarrow verifies the metadata of a file when it opens one, but neither offsets nor indices nor text: invalid ones make
it read outside its buffers. So every record batch is validated (``validate(full=True)``) before any value is read,
every error of pyarrow becomes :class:`BadInput` with the path, no length in a file makes pyarrow allocate more than the
size of the file, and the uncompressed size of compressed buffers is checked before they are decompressed.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rosenblatt.data.errors import BadInput
from rosenblatt.data.labels import check_names
from rosenblatt.data.memory import memory_limit
from rosenblatt.data.tables.header import check_width

# What pyarrow, or code that uses its result, raises for a damaged file; MemoryError comes from an invalid length.
DAMAGED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,  # and its subclass NotImplementedError
    MemoryError,
    OverflowError,
    struct.error,
)

MAGIC = b"ARROW1"
DICTIONARY, RECORDS = 2, 3  # types of messages


@contextmanager
def reporting_damage(path: str, what: str) -> Iterator[None]:
    """Turn the exceptions of pyarrow for a damaged file into :class:`BadInput`."""
    try:
        yield
    except (BadInput, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except DAMAGED as error:
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        raise BadInput(path, None, f"not {what}, or a damaged one: {reason}") from error


def validated(batch: Any) -> Any:
    """Return the record batch if all its offsets, indices and texts are valid; else raise ValueError."""
    import pyarrow as pa

    batch.validate(full=True)
    if batch.num_rows and all(pa.types.is_null(kind) for kind in batch.schema.types):
        raise ValueError("columns without any value")  # their length is a mere number in the file
    return batch


def checked_column_names(path: str, names: list[str]) -> list[str]:
    """Return the names of columns; raise :class:`BadInput` if there is none, or one is repeated or invalid."""
    if not names:
        raise BadInput(path, None, "no columns: features and a target are needed")
    check_width(path, None, len(names))
    try:
        check_names(names, "column")
    except ValueError as error:
        raise BadInput(path, None, str(error)) from None
    if len(set(names)) < len(names):
        seen: set[str] = set()
        repeated = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise BadInput(path, None, f"two columns are called {repeated!r}: rename one")
    return names


class Bounded:
    """A file for pyarrow that never reads, or allocates for, more than the rest of the file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        file.seek(0)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return bool(self._file.closed)

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes."""
        left = max(0, self._size - self._file.tell())
        return bytes(self._file.read(left if size < 0 else min(size, left)))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Change the position."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the position."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def close(self) -> None:
        """Do nothing: the file belongs to the caller."""


def check_uncompressed_size(file: Any, limit: int | None = None) -> None:
    """Raise ValueError if compressed buffers of an Arrow file or stream decompress to more than ``limit`` bytes.

    A compressed buffer begins with its uncompressed size, which pyarrow allocates. Only the metadata of the messages
    and these sizes are read. The limit, by default a quarter of the memory, holds for each batch, and for all
    dictionaries together.
    """
    limit = memory_limit() // 4 if limit is None else limit
    dictionaries = 0
    for kind, size in _uncompressed_sizes(file):
        dictionaries += size if kind == DICTIONARY else 0
        if max(size, dictionaries) > limit:
            raise ValueError(
                f"a batch becomes {max(size, dictionaries):,} bytes when it is decompressed, more than {limit:,}: "
                "write smaller batches"
            )


def _uncompressed_sizes(file: Any) -> Iterator[tuple[int, int]]:
    """Yield the type of every message with compressed buffers, and their uncompressed size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(MAGIC)) == MAGIC:
        for offset in _message_offsets(file, size):
            yield from _read_message(file, offset)[1]
    else:
        after: int | None = 0
        while after is not None and after < size:
            after, sizes = _read_message(file, after)
            yield from sizes
    file.seek(0)


def _message_offsets(file: Any, size: int) -> list[int]:
    """Return the offsets of the messages of an Arrow file, from its footer."""
    file.seek(size - 10)
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 < length <= size - 10:
        raise ValueError("a footer of no length")
    file.seek(size - 10 - length)
    footer = _Flatbuffer(file.read(length))
    root = footer.root()
    blocks = [*footer.structs(root, 2, 24), *footer.structs(root, 3, 24)]
    return [struct.unpack_from("<q", footer.content, at)[0] for at in blocks]


def _read_message(file: Any, offset: int) -> tuple[int | None, list[tuple[int, int]]]:
    """Return the offset of the next message, None after the last, and [(type, uncompressed size)] of this one."""
    if offset < 0:
        raise ValueError("a message before the file")
    file.seek(offset)
    start = file.read(8)
    if len(start) < 4:
        return None, []
    has_marker = start[:4] == b"\xff\xff\xff\xff"
    (length,) = struct.unpack("<i", start[4:] if has_marker else start[:4])
    if length <= 0:
        return None, []
    offset += 8 if has_marker else 4
    file.seek(offset)
    message = _Flatbuffer(file.read(length))
    root = message.root()
    body = offset + length
    message_type, header = message.number(root, 1, "<B"), message.table(root, 2)
    after = body + message.number(root, 3, "<q")
    if after < body:
        raise ValueError("a message of no length")
    if message_type == DICTIONARY and header is not None:
        header = message.table(header, 1)
    if message_type not in (DICTIONARY, RECORDS) or header is None or message.table(header, 3) is None:
        return after, []
    size = 0
    for position in message.structs(header, 2, 16):
        buffer_offset, length = struct.unpack_from("<qq", message.content, position)
        if length >= 8:
            file.seek(body + buffer_offset)
            (uncompressed,) = struct.unpack("<q", file.read(8))
            size += length if uncompressed == -1 else uncompressed
            if uncompressed < -1:
                raise ValueError("a packed buffer of no length")
    return after, [(message_type, size)]


class _Flatbuffer:
    """A flatbuffer; reading outside it raises struct.error, one of the errors of a damaged file."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def root(self) -> int:
        """Return the position of the root table."""
        return self._follow(0)

    def number(self, table: int, field: int, form: str) -> int:
        """Return a number field of a table, 0 without one."""
        position = self._field(table, field)
        return 0 if position is None else int(struct.unpack_from(form, self.content, position)[0])

    def table(self, table: int, field: int) -> int | None:
        """Return the position of a table or vector field of a table, None without one."""
        position = self._field(table, field)
        return None if position is None else self._follow(position)

    def structs(self, table: int, field: int, size: int) -> range:
        """Return the positions of the structs in a vector field."""
        position = self.table(table, field)
        if position is None:
            return range(0)
        (count,) = struct.unpack_from("<I", self.content, position)
        if position + 4 + count * size > len(self.content):
            raise ValueError("a vector that is longer than its message")
        return range(position + 4, position + 4 + count * size, size)

    def _field(self, table: int, field: int) -> int | None:
        back: int = struct.unpack_from("<i", self.content, table)[0]
        entries = table - back
        if entries < 0:
            raise ValueError("a table before its message")
        (size,) = struct.unpack_from("<H", self.content, entries)
        if 6 + 2 * field > size:
            return None
        (offset,) = struct.unpack_from("<H", self.content, entries + 4 + 2 * field)
        return table + offset if offset else None

    def _follow(self, position: int) -> int:
        return position + int(struct.unpack_from("<I", self.content, position)[0])
