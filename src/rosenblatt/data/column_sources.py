"""Tables as named columns: delimited text, Parquet and Arrow IPC, all told in the same blocks of rows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import textblocks
from rosenblatt.data.arrow_check import (
    Bounded,
    check_unpacked_size,
    checked_column_names,
    refusing_damage,
    validated,
)
from rosenblatt.data.delimited import NEVER_CLOSED, BadRow, Rows, after_quote, read_rows
from rosenblatt.data.errors import BadInput
from rosenblatt.data.first_line import LOOKED_AT
from rosenblatt.data.header import Header, read_header
from rosenblatt.data.kinds import PlainNumbers, as_numpy, taken
from rosenblatt.data.memory import Room
from rosenblatt.data.scanners.numbers import scan_numbers
from rosenblatt.data.scanners.table_check import FRACTIONS, NOT_PLAIN, WHOLE, check_numbers
from rosenblatt.data.source import compression_of, opened_binary
from rosenblatt.data.textblocks import Block, Scanner, count, scanned
from rosenblatt.data.words import looks_like_text

ROWS_AT_ONCE = 1 << 14  # of a binary file: more take more memory, and no less time
# Of a table that is not all numbers, where memory is short: strings take many times the memory of their text, and
# small blocks twice the time.
TEXT_BLOCK_BYTES = 1 << 18
READ_AT_ONCE = 1 << 16  # bytes of a column of a Parquet file
GUESSED_BYTES = 1 << 13  # that columns are guessed from

T = TypeVar("T")


class ColumnSource(Protocol):
    """A file of named columns."""

    path: str
    names: list[str]

    def rows(self, wanted: Sequence[str], side_by_side: int = 0) -> Iterator[Rows]:
        """Yield blocks of the wanted columns, each row with its line (of a binary file: its number).

        ``side_by_side`` allows text that is all numbers to be told as numbers.
        """

    def look(self, target: str | None) -> Iterator[Rows]:
        """Yield blocks of all columns, told only as well as is needed to find their kinds."""


class NeverClosed(BadInput):
    """A quote that opens on a line and does not close until the file ends."""


class DelimitedSource:
    """CSV or TSV text."""

    def __init__(self, path: str, header: Header) -> None:
        self.path, self.names, self.header = path, header.names, header

    @classmethod
    def open(
        cls, path: str, separator: str | None, named: bool | None, tight: bool = False
    ) -> "DelimitedSource":
        """Read the header of a file."""
        return cls(path, read_header(path, separator, named, tight=tight))

    def rows(self, wanted: Sequence[str], side_by_side: int = 0) -> Iterator[Rows]:
        """Yield blocks of strings; with ``side_by_side``, blocks of plain numbers as numbers.

        So many of the wanted columns, from the first on, then lie side by side. The first block is always strings.
        """
        return (rows for rows, _ in self.rows_and(lambda _: None, wanted, side_by_side))

    def rows_and(
        self,
        then: Callable[[Rows], T],
        wanted: Sequence[str],
        side_by_side: int = 0,
        strings_first: bool = True,
    ) -> Iterator[tuple[Rows, T]]:
        """Yield what :meth:`rows` yields, and what ``then`` makes of it on the core that has just read it.

        The lines that ``then`` sees are numbered from 0 in every block. Without ``strings_first`` the first block is
        like the others.
        """
        names = list(wanted)
        slots = self._slots(names, side_by_side)

        def read(text: memoryview, room: Room, first: bool) -> tuple[int, Rows, T]:
            found = None
            if slots.size and not (first and strings_first):
                found = scan_numbers(text, self.header.separator, slots, side_by_side, room)
            if found is None:
                rows = read_rows(Block(0, bytes(text)), self.header, names)
                return count(text, b"\n"), rows, then(rows)
            columns = {name: found.values[:, k] for k, name in enumerate(names[:side_by_side])}
            columns |= {name: found.others[k] for k, name in enumerate(names[side_by_side:])}
            rows = Rows(columns, found.lines, [], found.values)
            if found.missing:
                rows = rows._replace(source=(Block(0, bytes(text)), self.header), any_missing=True)
            return found.n_lines, rows, then(rows)

        return self._through(read)

    def head(self) -> Rows:
        """Return the first rows, as strings."""
        head = next(textblocks.blocks_of_lines(self.path, GUESSED_BYTES))
        rest = head.text.split(b"\n", self.header.line)
        text = rest[-1] if len(rest) > self.header.line else b""
        return read_rows(Block(self.header.line + 1, bytes(text)), self.header, self.names)

    def look(self, target: str | None) -> Iterator[Rows]:
        """Yield blocks of strings or numbers, or say only that all are plain numbers. The first is always strings."""
        names, slots = self.names, np.arange(len(self.names))
        last = target is None or target == names[-1]

        def see(text: memoryview, room: Room, first: bool) -> tuple[int, Rows, None]:
            separator = self.header.separator
            plain = check_numbers(text, separator, len(names)) if last and not first else NOT_PLAIN
            if plain == WHOLE or (plain == FRACTIONS and target is None):
                unread = {name: PlainNumbers(name == target) for name in names}
                return (
                    0,
                    Rows(unread, np.empty(0, np.int64), []),
                    None,
                )  # its lines are not counted: that takes time
            found = None if first else scan_numbers(text, separator, slots, len(names), room)
            if found is None:
                return count(text, b"\n"), read_rows(Block(0, bytes(text)), self.header, names), None
            columns = {name: found.values[:, k] for k, name in enumerate(names)}
            return found.n_lines, Rows(columns, found.lines, []), None

        try:
            yield from (rows for rows, _ in self._through(see))
        except NeverClosed:
            for _ in self.rows(names):  # which counts all lines, and so names the right one
                pass
            raise

    def _through(self, function: Scanner[tuple[int, Rows, T]]) -> Iterator[tuple[Rows, T]]:
        """Yield what a function makes of every block after the header, with its lines; the first block is small.

        Where a quote opens that its block does not close, the lines up to the one that closes it are no rows.
        """
        size = min(TEXT_BLOCK_BYTES, textblocks.BLOCK_BYTES) if self.header.sparing else None
        line, opening = self.header.line + 1, None
        for block in scanned(self.path, function, textblocks.HEAD_BYTES, self.header.line, size):
            n_lines, rows, made = block
            first_line, line = line, line + n_lines
            if opening is not None:
                # What was read as numbers has no quote: all of it is inside the one that is open.
                text = b"" if rows.source is None else rows.source[0].text
                rest = after_quote(text, self.header.separator)
                opening = opening if rest is None else None
                if not rest:
                    continue
                n_rest, rows, made = function(memoryview(rest), Room(), False)
                first_line = line - n_rest
            rows = rows.moved(first_line)
            opening = rows.opening
            yield rows, made
        if opening is not None:
            raise NeverClosed(self.path, opening.line, NEVER_CLOSED, opening.column)

    def _slots(self, wanted: list[str], side_by_side: int) -> NDArray[np.int64]:
        """Return where each column goes among those wanted, or -1; nothing where numbers are not asked for."""
        if not side_by_side:
            return np.empty(0, np.int64)
        place_of = {name: place for place, name in enumerate(wanted)}
        return np.array([place_of.get(name, -1) for name in self.names], np.int64)


class ParquetSource:
    """A Parquet file."""

    def look(self, target: str | None) -> Iterator[Rows]:
        """Yield all columns."""
        return self.rows(self.names)

    def __init__(self, path: str) -> None:
        from pyarrow import parquet

        self.path = path
        with _checked(path), opened_binary(path) as file, refusing_damage(path, "a Parquet file"):
            self.names = list(parquet.ParquetFile(Bounded(file)).schema_arrow.names)
        checked_column_names(path, self.names)

    def rows(self, wanted: Sequence[str], side_by_side: int = 0) -> Iterator[Rows]:
        """Yield blocks of numbers and strings."""
        from pyarrow import parquet

        with (
            _checked(self.path),
            opened_binary(self.path) as file,
            refusing_damage(self.path, "a Parquet file"),
        ):
            # Else it would hold the columns of a whole row group, however large.
            reader = parquet.ParquetFile(Bounded(file), buffer_size=READ_AT_ONCE, pre_buffer=False)
            batches = reader.iter_batches(ROWS_AT_ONCE, columns=list(wanted), use_threads=False)
            yield from _numbered(self.path, batches, wanted)


class ArrowSource:
    """An Arrow IPC file or stream."""

    def look(self, target: str | None) -> Iterator[Rows]:
        """Yield all columns."""
        return self.rows(self.names)

    def __init__(self, path: str) -> None:
        self.path = path
        with _checked(path), opened_binary(path) as file, refusing_damage(path, "an Arrow IPC file"):
            self.names = list(_opened_arrow(file).schema.names)
        checked_column_names(path, self.names)

    def rows(self, wanted: Sequence[str], side_by_side: int = 0) -> Iterator[Rows]:
        """Yield blocks of numbers and strings."""
        with (
            _checked(self.path),
            opened_binary(self.path) as file,
            refusing_damage(self.path, "an Arrow IPC file"),
        ):
            check_unpacked_size(file)
            yield from _numbered(self.path, _arrow_batches(_opened_arrow(file)), wanted)


def _opened_arrow(file: Any) -> Any:
    """Open an Arrow IPC file, or stream, as its first bytes say."""
    import pyarrow as pa

    bounded = Bounded(file)
    magic = bounded.read(6)
    bounded.seek(0)
    options = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.DataTypeSpecific, use_threads=False)
    reader = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
    return reader(bounded, options=options)


def _arrow_batches(reader: Any) -> Iterator[Any]:
    """Yield the record batches of an Arrow file or stream."""
    if hasattr(reader, "num_record_batches"):
        yield from (reader.get_batch(at) for at in range(reader.num_record_batches))
    else:
        yield from reader


def _numbered(path: str, batches: Any, wanted: Sequence[str]) -> Iterator[Rows]:
    first = 1
    for whole in batches:
        validated(whole)
        for at in range(0, whole.num_rows, ROWS_AT_ONCE):
            batch = whole.slice(at, ROWS_AT_ONCE)
            columns = {name: as_plain(path, name, batch.column(name)) for name in wanted}
            lines = np.arange(first, first + batch.num_rows)
            yield _without_nul(Rows(columns, lines, []))
            first += batch.num_rows


def _without_nul(rows: Rows) -> Rows:
    """Set aside the rows that have a NUL character in a text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bad: dict[int, str] = {}
    for name, column in rows.columns.items():
        if column.type == pa.string() and _has_nul(column):
            for row in np.flatnonzero(as_numpy(pc.match_substring(column, "\0").cast(pa.int8()))).tolist():
                bad.setdefault(row, f"column {name!r} has a text with a NUL character: remove it")
    if not bad:
        return rows
    keep = np.delete(np.arange(rows.lines.size), list(bad))
    return Rows(
        {name: taken(column, keep) for name, column in rows.columns.items()},
        rows.lines[keep],
        [BadRow(int(rows.lines[row]), bad[row]) for row in sorted(bad)],
    )


def _has_nul(column: Any) -> bool:
    """Whether a NUL occurs in the text of a column of strings: a look at its bytes, not at every string."""
    _, offsets, text = column.buffers()
    if text is None or not len(column):
        return False
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, 4 * column.offset)
    here = np.frombuffer(text, np.uint8)[ends[0] : ends[-1]]
    return bool(here.size) and int(here.min()) == 0  # a third of the time of all()


def as_plain(path: str, name: str, column: Any) -> Any:
    """Return a column as strings or numbers: categories as text, truth values as 0 and 1, dates as text."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_run_end_encoded(kind):
        raise BadInput(path, None, f"column {name!r} holds {kind}: expected numbers or text")
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column
    try:
        if pa.types.is_decimal(kind):
            return column.cast(pa.float64())
        if not pa.types.is_nested(kind) and "binary" not in str(kind):
            return column.cast(pa.string()).fill_null("")
    except pa.ArrowNotImplementedError:
        pass
    raise BadInput(path, None, f"column {name!r} holds {kind}: expected numbers or text")


def usual_target_of(source: ColumnSource) -> str:
    """Return the target of a table unless another is named: as its first lines say, else the last column."""
    header = getattr(source, "header", None)
    return (header.target if header else None) or source.names[-1]


def prose_of(source: ColumnSource, target: str) -> list[str]:
    """Return the columns that read like prose in the first rows of a table."""
    header = getattr(source, "header", None)
    if header is not None:
        return [name for name in header.prose if name != target]
    first = next(iter(source.rows(source.names)), None)
    columns = {} if first is None else first.columns
    return [
        name
        for name, column in columns.items()
        if name != target and column.type == "string" and looks_like_text(column[:LOOKED_AT].to_pylist())
    ]


class _checked:
    """Say what is wrong with a file that cannot be opened, or is packed as a whole."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        if Path(self._path).is_file():
            with Path(self._path).open("rb") as file:
                start = file.read(8)
            if not start:
                raise BadInput(self._path, None, "the file is empty: it holds no examples")
            packing = compression_of(start)
            if packing:
                raise BadInput(
                    self._path,
                    None,
                    f"is packed with {packing} as a whole: unpack it, it packs its own columns",
                )

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            raise BadInput(self._path, None, "no such file: check the path") from None
        if isinstance(error, PermissionError):
            raise BadInput(self._path, None, "may not be read: check its permissions") from None
