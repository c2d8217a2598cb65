"""Delimited text: blocks of lines into columns of strings, every row with its line.

One line is one row: a value may be quoted, but may not hold a line end, so that every row knows its line. A quoted
value that goes over a line end makes one bad row of all its lines (RFC 4180: they are one record), and none of them is
taken for a row. In tab-separated text a quote that does not close on its line is a character like others: prose is
full of them.
"""

import re
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.cells import column_of_cell, first_not_utf8
from rosenblatt.data.header import Header
from rosenblatt.data.source import UTF8_MARK
from rosenblatt.data.textblocks import Block

QUOTED_LINE = re.compile(rb'("(?:[^"]|"")*"|[^"\t]*)(\t("(?:[^"]|"")*"|[^"\t]*))*\r?')
NEWLINE, RETURN, QUOTE = 10, 13, 34


def _closed_line(separator: bytes) -> re.Pattern[bytes]:
    """Return what a line matches whose quoted values all close; what follows a closing quote belongs to the value."""
    value = rb'(?:"(?>[^"]|"")*+"[^%b]*+|[^"%b][^%b]*+|)' % ((separator,) * 3)
    return re.compile(rb"%b(?:%b%b)*+" % (value, separator, value), re.DOTALL)


def _closing_line(separator: bytes) -> re.Pattern[bytes]:
    """Return what a line matches that begins inside a quoted value and ends outside any."""
    return re.compile(
        rb'(?>[^"]|"")*+"[^%b]*+(?:%b(?:%b))?+' % (separator, separator, _closed_line(separator).pattern),
        re.DOTALL,
    )


CLOSED_LINE = {separator: _closed_line(separator.encode()) for separator in ",;\t"}
CLOSING_LINE = {separator: _closing_line(separator.encode()) for separator in ",;"}
UNCLOSED = "a quote that does not close on its line: close it, or write it twice"
OVER_LINES = "a quoted value that goes over the end of its line: write a row on one line, or close the quote"
NEVER_CLOSED = "a quote that opens here and never closes: close it, or write it twice"
MISPLACED = "misplaced quotes"


class BadRow(NamedTuple):
    """A line that is no row."""

    line: int
    reason: str
    column: int = 0  # 1-based, in bytes of the line; 0 where it is not known


class Rows(NamedTuple):
    """The well-formed rows of a block."""

    columns: dict[str, Any]  # name -> pyarrow string array, spaces around values dropped; or numbers
    lines: NDArray[np.int64]
    bad: list[BadRow]  # the others
    numbers: NDArray[np.float64] | None = None  # the first columns side by side, where all are plain numbers
    source: tuple[Block, Header] | None = None  # what the rows were read from, where that is text
    any_missing: bool = False  # among the numbers
    opening: BadRow | None = None  # the last of the bad ones, where its quote does not close in the block

    def moved(self, by: int) -> "Rows":
        """Return the rows, as many lines later."""
        bad = [row._replace(line=row.line + by) for row in self.bad]
        source = self.source
        if source is not None:
            source = Block(source[0].first_line + by, source[0].text), source[1]
        opening = None if self.opening is None else self.opening._replace(line=self.opening.line + by)
        return self._replace(lines=self.lines + by, bad=bad, source=source, opening=opening)

    def bad_rows(self, told: Collection[tuple[int, str, str | None]]) -> list[BadRow]:
        """Return rows as bad ones: each because of what is wrong with its cell in the column of a name."""
        if self.source is None or not told:
            return [BadRow(int(self.lines[row]), reason) for row, reason, _ in told]
        block, header = self.source
        texts = block.text.split(b"\n")
        found = []
        for row, reason, name in told:
            line = int(self.lines[row])
            text, place = texts[line - block.first_line], None if name is None else header.names.index(name)
            column = 0 if place is None else column_of_cell(text, header.separator, place)
            found.append(BadRow(line, reason, column))
        return found


def read_rows(block: Block, header: Header, wanted: list[str]) -> Rows:
    r"""Read the wanted columns of a block of lines.

    >>> rows = read_rows(Block(2, b'1, 2,x\n3,4\n5,6,"y,z"\n'), Header(1, ["a", "b", "c"], ","), ["b", "c"])
    >>> {name: column.to_pylist() for name, column in rows.columns.items()}
    {'b': ['2', '6'], 'c': ['x', 'y,z']}
    >>> rows.lines, rows.bad
    (array([2, 4]), [BadRow(line=3, reason='2 values where the header names 3', column=4)])
    """
    source = block
    if header.separator == "\t" and b'"' in block.text:
        block = Block(block.first_line, _quotes_as_written(block.text))
    text, lines, bad, is_open = _plain_lines(block, header.separator)
    columns, lines, ragged = _parse(text, lines, header, wanted)
    rows = Rows(columns, lines, [], source=(source, header))
    if not bad and not ragged:
        return rows
    texts = source.text.split(b"\n")
    told = [BadRow(line, reason, column) for line, reason, column in bad]
    for line, reason in ragged:
        at = column_of_cell(texts[line - block.first_line], header.separator, len(header.names))
        quote = texts[line - block.first_line].find(b'"') + 1
        told.append(BadRow(line, reason, quote if reason == MISPLACED else at))
    told.sort()
    return rows._replace(bad=told, opening=told[-1] if is_open else None)


def _quotes_as_written(text: bytes) -> bytes:
    r"""Quote the values of tab-separated lines whose quotes are none: prose is full of them.

    >>> _quotes_as_written(b'a\t"b ""c"\n5" pipe\tso\n')
    b'a\t"b ""c"\n"5"" pipe"\t"so"\n'
    """
    lines = text.split(b"\n")
    for at, line in enumerate(lines):
        if b'"' in line and not QUOTED_LINE.fullmatch(line):
            end = b"\r" if line.endswith(b"\r") else b""
            values = line.removesuffix(b"\r").replace(b'"', b'""').split(b"\t")
            lines[at] = b'"' + b'"\t"'.join(values) + b'"' + end
    return b"\n".join(lines)


def after_quote(text: bytes, separator: str) -> bytes | None:
    r"""Return the lines after the one on which a quoted value ends that began before them; None where none does.

    >>> after_quote(b'so,1\nsaid he",2\n3,4\n', ",")
    b'3,4\n'
    """
    start = 0
    while (quote := text.find(b'"', start)) >= 0:
        start, end = text.rfind(b"\n", start, quote) + 1 or start, text.find(b"\n", quote)
        if CLOSING_LINE[separator].fullmatch(text, start, end):
            return text[end + 1 :]
        start = end + 1
    return None


def _plain_lines(
    block: Block, separator: str
) -> tuple[bytes, NDArray[np.int64], list[tuple[int, str, int]], bool]:
    """Set aside blank lines, and lines that are no text or whose quotes do not close.

    The last value says whether the quote of the last bad line does not close in the block.
    """
    data = np.frombuffer(block.text, np.uint8)
    ends = np.flatnonzero(data == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    blank = (ends == starts) | ((ends == starts + 1) & (data[starts] == RETURN))
    bad: dict[int, tuple[str, int]] = {}

    def reject(positions: Any, reason: str) -> None:
        for row, position in zip(np.searchsorted(ends, positions).tolist(), positions.tolist(), strict=True):
            bad.setdefault(row, (reason, position - int(starts[row]) + 1))

    if b"\0" in block.text:
        reject(np.flatnonzero(data == 0), "a NUL byte: is this a text file?")
    if b"\r" in block.text:
        returns = np.flatnonzero(data == RETURN)
        reject(
            returns[data[returns + 1] != NEWLINE],
            "a carriage return inside the line: end lines with a newline",
        )
    inner = np.zeros(ends.size, bool)  # lines of a row that began on a line before
    is_open = False
    if b'"' in block.text:
        after = 0  # the first line that no row before reaches
        for row in _odd_quotes(data, ends, ord(separator)):
            if row < after:
                continue
            lo, hi = int(starts[row]), int(ends[row])
            closed = CLOSED_LINE[separator].fullmatch(block.text, lo, hi)
            if closed is None and separator in CLOSING_LINE:
                reject(np.array([_opening_quote(block.text[lo:hi], separator) + lo]), OVER_LINES)
                rest = after_quote(block.text[hi + 1 :], separator)
                is_open = rest is None
                after = ends.size if rest is None else int(np.searchsorted(ends, len(block.text) - len(rest)))
                inner[row + 1 : after] = True
            elif closed is None or block.text.count(b'"', lo, hi) % 2:
                reject(np.array([block.text.rfind(b'"', lo, hi)]), UNCLOSED)
    if not block.text.isascii():
        for row in _not_utf8(block.text):
            at = first_not_utf8(block.text[int(starts[row]) : int(ends[row])])
            bad.setdefault(row, ("not UTF-8 text: convert the file to UTF-8", at + 1))
    bad = {row: told for row, told in bad.items() if not inner[row]}
    keep = ~(blank | inner)
    keep[list(bad)] = False
    lines = block.first_line + np.flatnonzero(keep)
    text = block.text
    if not keep.all():
        pieces = zip(starts[keep].tolist(), ends[keep].tolist(), strict=True)
        text = b"".join(text[start : end + 1] for start, end in pieces)
    return text, lines, [(block.first_line + row, *told) for row, told in bad.items()], is_open


def _opening_quote(line: bytes, separator: str) -> int:
    """Return where the quote stands that opens the last value of a line."""
    at = 0
    while True:
        if line[at : at + 1] == b'"':
            end = re.compile(rb'"(?>[^"]|"")*+"').match(line, at)
            if end is None:
                return at
            at = end.end()
        at = line.find(separator.encode(), at) + 1
        if at == 0:
            return line.rfind(b'"')


def _odd_quotes(data: NDArray[np.uint8], ends: NDArray[np.int64], separator: int) -> list[int]:
    """Numbers of the lines whose quotes do not simply stand at the beginnings and the ends of values, in turn."""
    quotes = np.flatnonzero(data == QUOTE)
    before = np.where(quotes > 0, data[quotes - 1], NEWLINE)
    after = data[quotes + 1]
    begins = (before == separator) | (before == NEWLINE)
    closes = (after == separator) | (after == NEWLINE) | (after == RETURN)
    rows = np.searchsorted(ends, quotes)
    first = np.concatenate([[True], rows[1:] != rows[:-1]])
    rank = np.arange(quotes.size) - np.maximum.accumulate(np.where(first, np.arange(quotes.size), 0))
    last = np.concatenate([first[1:], [True]])
    fine = (begins != closes) & (begins == (rank % 2 == 0)) & ~(last & (rank % 2 == 0))
    return [int(row) for row in np.unique(rows[~fine])]


def _not_utf8(text: bytes) -> list[int]:
    """Numbers of the lines that are not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return [
            row for row, line in enumerate(text.split(b"\n")) if "\ufffd" in line.decode(errors="replace")
        ]
    return []


def _parse(
    text: bytes, lines: NDArray[np.int64], header: Header, wanted: list[str]
) -> tuple[dict[str, Any], NDArray[np.int64], list[tuple[int, str]]]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    ragged: list[tuple[int, str]] = []

    def note(row: Any) -> str:
        ragged.append(
            (row.number - 1, f"{row.actual_columns} values where the header names {row.expected_columns}")
        )
        return "skip"

    # pyarrow drops a mark from the start of what it is given, though that is inside our file
    given = UTF8_MARK + text if text.startswith(UTF8_MARK) else text
    if lines.size == 0:
        return {name: pa.array([], pa.string()) for name in wanted}, lines, []
    table = arrow_csv.read_csv(
        pa.py_buffer(given),
        arrow_csv.ReadOptions(use_threads=False, block_size=len(given) + 1, column_names=header.names),
        arrow_csv.ParseOptions(delimiter=header.separator, invalid_row_handler=note),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    if table.num_rows + len(ragged) != lines.size:
        return _parse_one_by_one(text, lines, header, wanted)
    spaces = any(space in text for space in (b" ", b"\t", b"\v", b"\f"))
    columns = {name: _trimmed(table[name]) if spaces else _one_array(table[name]) for name in wanted}
    good = np.delete(lines, [row for row, _ in ragged])
    return columns, good, [(int(lines[row]), reason) for row, reason in ragged]


def _parse_one_by_one(
    text: bytes, lines: NDArray[np.int64], header: Header, wanted: list[str]
) -> tuple[dict[str, Any], NDArray[np.int64], list[tuple[int, str]]]:
    """Parse where quotes joined lines: alone, no line can reach into the next."""
    import pyarrow as pa

    if lines.size == 1:
        return (
            {name: pa.array([], pa.string()) for name in wanted},
            lines[:0],
            [(int(lines[0]), MISPLACED)],
        )
    parts = [
        _parse(line + b"\n", lines[row : row + 1], header, wanted)
        for row, line in enumerate(text[:-1].split(b"\n"))
    ]
    columns = {name: pa.concat_arrays([part[0][name] for part in parts]) for name in wanted}
    return (
        columns,
        np.concatenate([part[1] for part in parts]),
        [entry for part in parts for entry in part[2]],
    )


def _one_array(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _trimmed(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.ascii_trim_whitespace(_one_array(column))
