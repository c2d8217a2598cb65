"""Parse delimited text: blocks of lines become columns of strings or numbers, with the line of every row.

A row is a record of RFC 4180: a quoted value may contain the separator, doubled quotes and line ends, and the line of a
row is its first. In tab-separated text a quote that does not close on its line is an ordinary character, because
unquoted prose is common there.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import textblocks
from rosenblatt.data.errors import BadInput
from rosenblatt.data.memory import BufferPool
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.scanners.numbers import SKIPPED, BlockStatistics, block_statistics, scan_numbers
from rosenblatt.data.source import UTF8_MARK
from rosenblatt.data.tables.header import UTF8, Header, read_header
from rosenblatt.data.tables.values import arrow_strings
from rosenblatt.data.textblocks import Block, Scanner, count, scanned

QUOTED_LINE = re.compile(rb'("(?:[^"]|"")*"|[^"\t]*)(\t("(?:[^"]|"")*"|[^"\t]*))*\r?')
QUOTED = re.compile(rb'"(?>[^"]|"")*+"')
NEWLINE, RETURN, QUOTE = 10, 13, 34
UNCLOSED = "a quote that does not close: close it, or write it twice"
NEVER_CLOSED = "a quote that opens here and never closes: close it, or write it twice"
UNFINISHED = ": a value of tab-separated text ends on its line; one of comma-separated text may have several"
MISPLACED = "misplaced quotes"
REPEATED = "the names of the columns again: delete the line, or skip such lines with skip_bad (--skip-bad)"
EMPTY = "the line holds no value: delete it, or skip such lines with skip_bad (--skip-bad)"
NOT_SCANNED = " +-.eE"  # separators that can be part of a number
# For tables with text when memory is short: strings take many times the memory of their text, small blocks twice the
# time.
TEXT_BLOCK_BYTES = 1 << 18
INFERENCE_BYTES = 1 << 13  # for inference from the first rows

T = TypeVar("T")


@cache
def closed_line(separator: str) -> re.Pattern[bytes]:
    """Return the pattern of a line whose quoted values all close; text after a closing quote is part of the value."""
    mark = re.escape(separator.encode())
    value = rb'(?:"(?>[^"]|"")*+"[^%b]*+|[^"%b][^%b]*+|)' % ((mark,) * 3)
    return re.compile(rb"%b(?:%b%b)*+" % (value, mark, value), re.DOTALL)


@cache
def closing_line(separator: str) -> re.Pattern[bytes]:
    """Return the pattern of a line that begins inside a quoted value and ends outside any."""
    mark = re.escape(separator.encode())
    return re.compile(
        rb'(?>[^"]|"")*+"[^%b]*+(?:%b(?:%b))?+' % (mark, mark, closed_line(separator).pattern), re.DOTALL
    )


class BadRow(NamedTuple):
    """An invalid record."""

    line: int
    reason: str
    column: int = 0  # 1-based, in bytes of the line; 0 if unknown


class Rows(NamedTuple):
    """The valid rows of a block, and its bad ones."""

    columns: dict[str, Any]  # name -> pyarrow array of stripped strings, or numbers
    lines: NDArray[np.int64]
    bad: list[BadRow]
    numbers: NDArray[np.float64] | None = (
        None  # (rows, width): the first columns as a matrix, if all cells are plain numbers
    )
    source: tuple[Block, Header] | None = None  # the text of the rows
    any_missing: bool = False  # in ``numbers``
    opening: BadRow | None = None  # the quote that opens in the block and does not close in it
    statistics: BlockStatistics | None = None  # of ``numbers``
    word_counts: dict[str, Any] | None = (
        None  # of text columns, words in order of appearance; None: not counted
    )

    def moved(self, by: int) -> "Rows":
        """Return the rows with all line numbers increased."""
        bad = [row._replace(line=row.line + by) for row in self.bad]
        source = self.source
        if source is not None:
            source = Block(source[0].first_line + by, source[0].text), source[1]
        opening = None if self.opening is None else self.opening._replace(line=self.opening.line + by)
        return self._replace(lines=self.lines + by, bad=bad, source=source, opening=opening)

    def bad_rows(self, errors: Collection[tuple[int, str, str | None]]) -> list[BadRow]:
        """Return bad rows for (row, reason, name of the column or None)."""
        if self.source is None or not errors:
            return [BadRow(int(self.lines[row]), reason) for row, reason, _ in errors]
        block, header = self.source
        texts = block.text.split(b"\n")
        bad = []
        for row, reason, name in errors:
            line = int(self.lines[row])
            text, cell = texts[line - block.first_line], None if name is None else header.names.index(name)
            if not text.strip(header.separator.encode() + b'" \t\r'):
                bad.append(BadRow(line, EMPTY))
                continue
            column = 0 if cell is None else column_of_cell(text, header.separator, cell)
            bad.append(BadRow(line, reason, column))
        return bad


def read_rows(block: Block, header: Header, wanted: list[str]) -> Rows:
    r"""Parse the wanted columns of a block of lines.

    >>> rows = read_rows(Block(2, b'1, 2,x\n3,4\n5,6,"y,\nz"\n'), Header(1, ["a", "b", "c"], ","), ["b", "c"])
    >>> {name: column.to_pylist() for name, column in rows.columns.items()}
    {'b': ['2', '6'], 'c': ['x', 'y,\nz']}
    >>> rows.lines, rows.bad
    (array([2, 4]), [BadRow(line=3, reason='2 values where the header names 3', column=4)])
    """
    source = block
    if header.encoding != UTF8:
        block = Block(block.first_line, _as_utf8(block.text, header.encoding))
    if header.separator == "\t" and b'"' in block.text:
        block = Block(block.first_line, _escape_quotes(block.text))
    records = _records(block, header)
    columns, lines, ragged = _parse(records, header, wanted)
    rows = Rows(columns, lines, [], source=(source, header), opening=records.opening)
    if not records.bad and not ragged:
        return rows
    texts = source.text.split(b"\n")
    bad = list(records.bad)
    for line, reason in ragged:
        column = column_of_cell(texts[line - block.first_line], header.separator, len(header.names))
        text = texts[line - block.first_line]
        if reason == MISPLACED:
            column = text.find(b'"') + 1
        more = UNFINISHED if header.separator == "\t" and text.count(b'"') % 2 else ""
        bad.append(BadRow(line, reason + more, column))
    return rows._replace(bad=sorted(bad))


def _as_utf8(text: bytes, encoding: str) -> bytes:
    """Transcode lines to UTF-8; replace those that cannot be decoded by invalid UTF-8, which is reported later."""
    try:
        return text.decode(encoding).encode()
    except UnicodeDecodeError:
        pass
    converted = []
    for line in text.split(b"\n"):
        try:
            converted.append(line.decode(encoding).encode())
        except UnicodeDecodeError:
            converted.append(b"\xff")
    return b"\n".join(converted)


def _escape_quotes(text: bytes) -> bytes:
    r"""Quote the values of tab-separated lines whose quotes are ordinary characters.

    >>> _escape_quotes(b'a\t"b ""c"\n5" pipe\tso\n')
    b'a\t"b ""c"\n"5"" pipe"\t"so"\n'
    """
    lines = text.split(b"\n")
    for k, line in enumerate(lines):
        if b'"' in line and not QUOTED_LINE.fullmatch(line):
            end = b"\r" if line.endswith(b"\r") else b""
            values = line.removesuffix(b"\r").replace(b'"', b'""').split(b"\t")
            lines[k] = b'"' + b'"\t"'.join(values) + b'"' + end
    return b"\n".join(lines)


def end_of_quote(text: bytes, separator: str, start: int = 0) -> int:
    r"""Return the end of the line that closes a quoted value opened before ``start``; -1 if there is none.

    >>> end_of_quote(b'so,1\nsaid he",2\n3,4\n', ",")
    16
    """
    while (quote := text.find(b'"', start)) >= 0:
        begin, end = max(text.rfind(b"\n", start, quote) + 1, start), text.find(b"\n", quote)
        if closing_line(separator).fullmatch(text, begin, end):
            return end + 1
        start = end + 1
    return -1


class _Records(NamedTuple):
    """The valid records of a block."""

    text: bytes
    lines: NDArray[np.int64]  # first line of every record
    bad: list[BadRow]
    opening: BadRow | None  # the quote of a record that does not end in the block
    spans: list[int]  # (record, number of lines) of every record with several lines, flattened

    def each(self) -> Iterator[bytes]:
        """Yield the text of every record."""
        texts = iter(self.text[:-1].split(b"\n"))
        longer = dict(zip(self.spans[::2], self.spans[1::2], strict=True))
        for at in range(self.lines.size):
            yield b"\n".join(next(texts) for _ in range(longer.get(at, 1)))


def _records(block: Block, header: Header) -> _Records:
    """Split a block into records; drop blank lines and comments, and report records with invalid text or quotes."""
    text, separator = block.text, header.separator
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    ignored = (ends == starts) | ((ends == starts + 1) & (data[starts] == RETURN))
    if header.comment is not None:
        mark = header.comment.encode()
        ignored |= [text.startswith(mark, start) for start in starts.tolist()]
    first = np.arange(ends.size)  # first line of the record of every line
    bad: dict[int, tuple[str, int]] = {}
    unfinished = ends.size  # first line of a record that does not end in the block
    if b'"' in text:
        unfinished = _join_lines(text, separator, starts, ends, ignored, first, bad)

    def reject(positions: Any, reason: str) -> None:
        for row, position in zip(np.searchsorted(ends, positions).tolist(), positions.tolist(), strict=True):
            bad.setdefault(int(first[row]), (reason, _column_in(text, starts, int(first[row]), position)))

    if header.text and header.text in text:
        ends_of_text = {int(end) - (text[int(end) - 1] == RETURN) for end in ends[ends > 0]}
        repeated = [
            s
            for s in starts.tolist()
            if text.startswith(header.text, s) and s + len(header.text) in ends_of_text
        ]
        reject(np.array(repeated, np.int64), REPEATED)
    if b"\0" in text:
        reject(np.flatnonzero(data == 0), "a NUL byte: is this a text file?")
    if b"\r" in text:
        returns = np.flatnonzero(data == RETURN)
        inside = returns[data[returns + 1] != NEWLINE]
        reject(inside, "a carriage return inside the line: end lines with a newline")
    if not text.isascii():
        for row in _not_utf8(text):
            offset = first_not_utf8(text[int(starts[row]) : int(ends[row])])
            reason = "not UTF-8 text: convert the file to UTF-8, or name its encoding (--encoding)"
            reject(np.array([int(starts[row]) + offset]), reason)
    opening = None
    if unfinished < ends.size:
        line = text[int(starts[unfinished]) : int(ends[unfinished])]
        opening = BadRow(block.first_line + unfinished, NEVER_CLOSED, opening_quote(line, separator) + 1)
    is_first = first == np.arange(ends.size)
    ignored &= is_first
    keep = ~ignored
    keep[unfinished:] = False
    for row in bad:
        keep[first == row] = False
    valid_text = text
    if not keep.all():
        edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)).reshape(-1, 2).tolist()
        valid_text = b"".join(text[int(starts[first]) : int(ends[stop - 1]) + 1] for first, stop in edges)
    records = np.flatnonzero(keep & is_first)
    spans: list[int] = []
    if not is_first.all():
        lengths = np.bincount(np.cumsum((keep & is_first)[keep]) - 1, minlength=records.size)
        for offset in np.flatnonzero(lengths > 1).tolist():
            spans += [offset, int(lengths[offset])]
    rows = [
        BadRow(block.first_line + row, *reason_and_column)
        for row, reason_and_column in bad.items()
        if row < unfinished
    ]
    return _Records(valid_text, block.first_line + records, rows, opening, spans)


def _join_lines(
    text: bytes,
    separator: str,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    ignored: NDArray[np.bool_],
    first: NDArray[np.int64],
    bad: dict[int, tuple[str, int]],
) -> int:
    """Write the first line of every record into ``first``; return the line of an unfinished one, or the line count."""
    after = 0  # first line after the records so far
    line_ends = ends.tolist()
    for row in _irregular_quotes(np.frombuffer(text, np.uint8), ends, ord(separator)):
        if row < after or ignored[row]:
            continue
        lo, hi = int(starts[row]), line_ends[row]
        closed = closed_line(separator).fullmatch(text, lo, hi)
        if closed is None and separator != "\t":
            stop = end_of_quote(text, separator, hi + 1)
            if stop < 0:
                first[row:] = row
                return row
            after = bisect_left(line_ends, stop)
            first[row:after] = row
            hi = stop - 1
        if text.count(b'"', lo, hi) % 2 or (closed is None and separator == "\t"):
            bad.setdefault(row, (UNCLOSED, _column_in(text, starts, row, text.rfind(b'"', lo, hi))))
    return ends.size


def _column_in(text: bytes, starts: NDArray[np.int64], row: int, position: int) -> int:
    """Return the column of a position in the first line of its record, or that of the end of this line."""
    start = int(starts[row])
    end = text.find(b"\n", start)
    return min(position, end) - start + 1


def opening_quote(line: bytes, separator: str) -> int:
    """Return the position of the quote that opens the last value of a line."""
    position = 0
    while True:
        if line[position : position + 1] == b'"':
            end = QUOTED.match(line, position)
            if end is None:
                return position
            position = end.end()
        position = line.find(separator.encode(), position) + 1
        if position == 0:
            return line.rfind(b'"')


def _irregular_quotes(data: NDArray[np.uint8], ends: NDArray[np.int64], separator: int) -> list[int]:
    """Return the lines whose quotes are not simply at the start and the end of values, alternately."""
    quotes = np.flatnonzero(data == QUOTE)
    before = np.where(quotes > 0, data[quotes - 1], NEWLINE)
    after = data[quotes + 1]
    begins = (before == separator) | (before == NEWLINE)
    closes = (after == separator) | (after == NEWLINE) | (after == RETURN)
    rows = np.searchsorted(ends, quotes)
    first = np.concatenate([[True], rows[1:] != rows[:-1]])
    rank = np.arange(quotes.size) - np.maximum.accumulate(np.where(first, np.arange(quotes.size), 0))
    last = np.concatenate([first[1:], [True]])
    alternate = (begins != closes) & (begins == (rank % 2 == 0)) & ~(last & (rank % 2 == 0))
    return [int(row) for row in np.unique(rows[~alternate])]


def _not_utf8(text: bytes) -> list[int]:
    """Return the lines that are not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return [row for row, line in enumerate(text.split(b"\n")) if not _is_utf8(line)]
    return []


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse(
    records: _Records, header: Header, wanted: list[str]
) -> tuple[dict[str, Any], NDArray[np.int64], list[tuple[int, str]]]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    ragged: list[tuple[int, str]] = []

    def record_ragged(row: Any) -> str:
        ragged.append(
            (row.number - 1, f"{row.actual_columns} values where the header names {row.expected_columns}")
        )
        return "skip"

    text, lines = records.text, records.lines
    if lines.size == 0:
        return {name: arrow_strings([]) for name in wanted}, lines, []
    # pyarrow drops a byte order mark from the start of its input, which here is data inside the file
    content = UTF8_MARK + text if text.startswith(UTF8_MARK) else text
    table = arrow_csv.read_csv(
        pa.py_buffer(content),
        arrow_csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=header.names),
        arrow_csv.ParseOptions(
            delimiter=header.separator,
            invalid_row_handler=record_ragged,
            newlines_in_values=bool(records.spans),
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    if table.num_rows + len(ragged) != lines.size:
        return _parse_one_by_one(records, header, wanted)
    spaces = any(space in text for space in (b" ", b"\t", b"\v", b"\f")) or bool(records.spans)
    columns = {name: _trim(table[name]) if spaces else _one_array(table[name]) for name in wanted}
    valid = np.delete(lines, [row for row, _ in ragged])
    return columns, valid, [(int(lines[row]), reason) for row, reason in ragged]


def _parse_one_by_one(
    records: _Records, header: Header, wanted: list[str]
) -> tuple[dict[str, Any], NDArray[np.int64], list[tuple[int, str]]]:
    """Parse records one by one, where misplaced quotes would join them."""
    import pyarrow as pa

    lines = records.lines
    if lines.size == 1:
        return (
            {name: arrow_strings([]) for name in wanted},
            lines[:0],
            [(int(lines[0]), MISPLACED)],
        )
    parts = []
    for k, text in enumerate(records.each()):
        span = [0, text.count(b"\n") + 1] if b"\n" in text else []
        parts.append(_parse(_Records(text + b"\n", lines[k : k + 1], [], None, span), header, wanted))
    columns = {name: pa.concat_arrays([part[0][name] for part in parts]) for name in wanted}
    return (
        columns,
        np.concatenate([part[1] for part in parts]),
        [entry for part in parts for entry in part[2]],
    )


def _one_array(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _trim(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.ascii_trim_whitespace(_one_array(column))


def cell_starts(line: bytes, separator: str) -> list[int]:
    """Return the start of every cell of a line, from 0, after leading spaces.

    >>> cell_starts(b'1, 2,"x,y",4', ",")
    [0, 3, 5, 11]
    """
    starts = [0]
    quoted = False
    for k, byte in enumerate(line):
        if byte == QUOTE:
            quoted = not quoted
        elif byte == ord(separator) and not quoted:
            starts.append(k + 1)
    spaces = _spaces(separator)
    ends = [*(start - 1 for start in starts[1:]), len(line)]
    cells = [line[start:end] for start, end in zip(starts, ends, strict=True)]
    return [start + len(cell) - len(cell.lstrip(spaces)) for start, cell in zip(starts, cells, strict=True)]


def _spaces(separator: str) -> bytes:
    return b" " if separator == "\t" else b" \t"


def column_of_cell(line: bytes, separator: str, cell_number: int) -> int:
    """Return the column of a cell, 1-based in bytes; that of the end of the line if it has too few cells.

    >>> column_of_cell(b"7;spam", ";", 1), column_of_cell(b"7;spam", ";", 2)
    (3, 7)
    """
    if QUOTE not in line:  # the common case
        cells = line.split(separator.encode(), cell_number + 1)
        if cell_number < len(cells):
            cell, start = cells[cell_number], sum(map(len, cells[:cell_number])) + cell_number
            return 1 + start + len(cell) - len(cell.lstrip(_spaces(separator)))
    starts = cell_starts(line, separator)
    return 1 + (starts[cell_number] if cell_number < len(starts) else len(line.rstrip(b"\r")))


def first_not_utf8(line: bytes) -> int:
    """Return the position of the first byte that is not UTF-8, from 0.

    >>> first_not_utf8(bytes([97, 255]))
    1
    """
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


class _OpenRecord:
    """A record whose quoted value continues in the next block."""

    def __init__(self, path: str, separator: str) -> None:
        self._path, self._separator = path, separator
        self._parts: list[bytes] = []
        self.line = self.column = 0

    @property
    def is_open(self) -> bool:
        return bool(self._parts)

    def open(self, rows: Rows) -> None:
        """Begin with the end of a block, if a quote is open there."""
        if rows.opening is not None:
            assert rows.source is not None
            block = rows.source[0]
            self.line, _, self.column = rows.opening
            self._parts = [block.text.split(b"\n", self.line - block.first_line)[-1]]

    def closed_by(self, rows: Rows) -> list[tuple[bytes, int]]:
        """Add a block; if it closes the record, return (text, line) of the record and of the rest of the block."""
        assert rows.source is not None
        first_line, text = rows.source[0]
        end = end_of_quote(text, self._separator)
        if end < 0:
            self._parts.append(text)
            if sum(map(len, self._parts)) > textblocks.LONGEST_LINE:
                raise BadInput(self._path, self.line, textblocks.too_long(), self.column)
            return []
        record = b"".join([*self._parts, text[:end]])
        self._parts = []
        rest = (text[end:], first_line + text.count(b"\n", 0, end))
        return [(record, self.line), *([rest] if rest[0] else [])]


class DelimitedSource:
    """CSV or TSV text as blocks of columns."""

    def __init__(self, path: str, header: Header) -> None:
        self.path, self.names, self.header = path, header.names, header

    @classmethod
    def open(
        cls, path: str, separator: str | None, options: ReadOptions, tight: bool = False, **known: Any
    ) -> "DelimitedSource":
        """Read the header of a file; ``known`` is passed to :func:`read_header`."""
        return cls(path, read_header(path, separator, options.header, tight=tight, options=options, **known))

    @property
    def usual_target(self) -> str:
        """The default target, inferred from the first lines: else the last column."""
        return self.header.target or self.names[-1]

    @property
    def prose(self) -> list[str]:
        """The columns whose first lines look like prose."""
        return list(self.header.prose)

    def _head_text(self) -> bytes:
        head = next(textblocks.blocks_of_lines(self.path, INFERENCE_BYTES))
        rest = head.text.split(b"\n", self.header.line)
        return bytes(rest[-1]) if len(rest) > self.header.line else b""

    def rows(
        self,
        wanted: Sequence[str],
        side_by_side: int = 0,
        then: Callable[[Rows], T] = lambda _: None,  # type: ignore[assignment, return-value]
        statistics: bool = False,
    ) -> Iterator[tuple[Rows, T]]:
        """Yield blocks of rows with the result of ``then(rows)``, which runs on the core that has parsed the block.

        If a block is all plain numbers, its first ``side_by_side`` wanted columns are parsed into one matrix, with its
        ``statistics``. For ``then``, the lines of every block are numbered from 0.
        """
        names = list(wanted)
        scan = self._scanner(names, side_by_side, statistics) if side_by_side else None

        def read(text: memoryview, pool: BufferPool, first: bool) -> tuple[int, Rows, T]:
            scanned_rows = scan(text, pool) if scan is not None else None
            if scanned_rows is None:
                rows = read_rows(Block(0, bytes(text)), self.header, names)
                return count(text, b"\n"), rows, then(rows)
            n_lines, rows = scanned_rows
            return n_lines, rows, then(rows)

        return self._map_blocks(read)

    def head_numbers(self, wanted: Sequence[str], side_by_side: int) -> Rows | None:
        """Return the first rows as a matrix of numbers with statistics; None if they are not all plain numbers."""
        scan = self._scanner(list(wanted), side_by_side, True)
        scanned_rows = None if scan is None else scan(self._head_text(), BufferPool())
        return None if scanned_rows is None else scanned_rows[1]

    def _scanner(
        self, names: list[str], side_by_side: int, statistics: bool
    ) -> "Callable[[Any, BufferPool], tuple[int, Rows] | None] | None":
        """Return a function from a block of plain numbers to (number of lines, rows), and from other blocks to None."""
        slots, separator = self._slots(names), self.header.separator
        if separator in NOT_SCANNED:
            return None

        def scan(text: Any, pool: BufferPool) -> tuple[int, Rows] | None:
            numbers = scan_numbers(text, separator, slots, side_by_side, pool)
            if numbers is None:
                return None
            columns = {name: numbers.values[:, k] for k, name in enumerate(names[:side_by_side])}
            columns |= {name: numbers.others[k] for k, name in enumerate(names[side_by_side:])}
            rows = Rows(columns, numbers.lines, [], numbers.values)
            if statistics and numbers.values.shape[0]:
                rows = rows._replace(statistics=block_statistics(numbers.values))
            if numbers.missing:
                rows = rows._replace(source=(Block(0, bytes(text)), self.header), any_missing=True)
            return numbers.n_lines, rows

        return scan

    def _map_blocks(self, function: Scanner[tuple[int, Rows, T]]) -> Iterator[tuple[Rows, T]]:
        """Yield the results of a function for every block after the header, with lines; the first block is small.

        A record that continues in the next block is joined from both. If the next block was parsed as numbers, its text
        is gone, and all blocks from the record on are read again, with their text.
        """
        size = min(TEXT_BLOCK_BYTES, textblocks.BLOCK_BYTES) if self.header.small_blocks else None

        def with_text(text: memoryview, pool: BufferPool, first: bool) -> tuple[int, Rows, T]:
            n_lines, rows, result = function(text, pool, first)
            return n_lines, rows._replace(source=rows.source or (Block(0, bytes(text)), self.header)), result

        skip, reader = self.header.line, function
        while True:
            line, record = skip + 1, _OpenRecord(self.path, self.header.separator)
            restart = False
            for n_lines, block, result in scanned(self.path, reader, textblocks.HEAD_BYTES, skip, size):
                rows = block.moved(line)
                line += n_lines
                if not record.is_open:
                    record.open(rows)
                    yield rows, result
                    continue
                restart = rows.source is None
                if restart:
                    break
                for text, first_line in record.closed_by(rows):
                    _, part, part_result = function(memoryview(text), BufferPool(), False)
                    record.open(part.moved(first_line))
                    yield part.moved(first_line), part_result
            if not restart:
                break
            skip, reader = record.line - 1, with_text
        if record.is_open:
            raise BadInput(self.path, record.line, NEVER_CLOSED, record.column)

    def _slots(self, wanted: list[str]) -> NDArray[np.int64]:
        """Return the position of each column among the wanted ones, -1 for others."""
        position = {name: k for k, name in enumerate(wanted)}
        return np.array([position.get(name, SKIPPED) for name in self.names], np.int64)
