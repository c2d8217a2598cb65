"""Delimited text: blocks of lines into columns of strings, every row with its line.

One line is one row: a value may be quoted, but may not hold a line end. So a stray quote spoils its own
line and no other, and every row knows its line.
"""

import csv
from collections import Counter
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.bad_input import BadInput, shown
from rosenblatt.data.lines import Block, first_text_line

SEPARATORS = ",\t;"
NEWLINE, RETURN, QUOTE = 10, 13, 34


class Header(NamedTuple):
    """The first line of a table."""

    line: int
    names: list[str]
    separator: str


class Rows(NamedTuple):
    """The well-formed rows of a block."""

    columns: dict[str, Any]  # name -> pyarrow string array; spaces around values dropped
    lines: NDArray[np.int64]
    bad: list[tuple[int, str]]  # (line, what is wrong) of the others


def read_header(path: str, separator: str | None = None) -> Header:
    """Read the column names; the separator is the likeliest of comma, tab and semicolon unless given."""
    line, raw = first_text_line(path)
    try:
        text = raw.decode().rstrip("\r")
    except UnicodeDecodeError:
        raise BadInput(path, line, "the header is not UTF-8 text: convert the file to UTF-8") from None
    if "\0" in text:
        raise BadInput(path, line, "the header holds a NUL byte: is this a text file?")
    separator = separator or max(SEPARATORS, key=text.count)
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=separator, strict=True))]
    except csv.Error as error:
        raise BadInput(path, line, f"the header cannot be read: {error}") from None
    _check_names(path, line, names)
    return Header(line, names, separator)


def _check_names(path: str, line: int, names: list[str]) -> None:
    if "" in names:
        raise BadInput(path, line, f"column {names.index('') + 1} has no name: name it, or drop it")
    value = _looks_like_data(names)
    if value is not None:
        raise BadInput(
            path, line, f"the first line holds {shown(value)}, not names: add a line with the column names"
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise BadInput(path, line, f"two columns are called {repeated[0]!r}: rename one")


def _looks_like_data(names: list[str]) -> str | None:
    """Return a number among the names; whole numbers that count up from 0 or 1 are names."""
    numbers = [name for name in names if _is_number(name)]
    counted = [[str(start + place) for place in range(len(numbers))] for start in (0, 1)]
    return numbers[0] if numbers and numbers not in counted else None


def _is_number(name: str) -> bool:
    try:
        return isfinite(float(name))
    except ValueError:
        return False


def read_rows(block: Block, header: Header, wanted: list[str]) -> Rows:
    r"""Read the wanted columns of a block of lines.

    >>> rows = read_rows(Block(2, b'1, 2,x\n3,4\n5,6,"y,z"\n'), Header(1, ["a", "b", "c"], ","), ["b", "c"])
    >>> {name: column.to_pylist() for name, column in rows.columns.items()}
    {'b': ['2', '6'], 'c': ['x', 'y,z']}
    >>> rows.lines, rows.bad
    (array([2, 4]), [(3, '2 values where the header names 3')])
    """
    text, lines, bad = _plain_lines(block)
    columns, lines, ragged = _parse(text, lines, header, wanted)
    return Rows(columns, lines, sorted(bad + ragged))


def _plain_lines(block: Block) -> tuple[bytes, NDArray[np.int64], list[tuple[int, str]]]:
    """Set aside blank lines, and lines that are no text or whose quotes do not close."""
    data = np.frombuffer(block.text, np.uint8)
    ends = np.flatnonzero(data == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    blank = (ends == starts) | ((ends == starts + 1) & (data[starts] == RETURN))
    bad: dict[int, str] = {}

    def reject(positions: Any, reason: str) -> None:
        for row in np.unique(np.searchsorted(ends, positions)).tolist():
            bad.setdefault(row, reason)

    if b"\0" in block.text:
        reject(np.flatnonzero(data == 0), "a NUL byte: is this a text file?")
    if b"\r" in block.text:
        returns = np.flatnonzero(data == RETURN)
        reject(
            returns[data[returns + 1] != NEWLINE],
            "a carriage return inside the line: end lines with a newline",
        )
    if b'"' in block.text:
        quotes = np.add.reduceat(data == QUOTE, starts, dtype=np.int64)
        reject(
            starts[quotes % 2 == 1], "a quote that does not close on its line: close it, or write it twice"
        )
    if not block.text.isascii():
        for row in _not_utf8(block.text):
            bad.setdefault(row, "not UTF-8 text: convert the file to UTF-8")
    keep = ~blank
    keep[list(bad)] = False
    lines = block.first_line + np.flatnonzero(keep)
    text = block.text
    if not keep.all():
        pieces = zip(starts[keep].tolist(), ends[keep].tolist(), strict=True)
        text = b"".join(text[start : end + 1] for start, end in pieces)
    return text, lines, [(block.first_line + row, reason) for row, reason in bad.items()]


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

    if lines.size == 0:
        return {name: pa.array([], pa.string()) for name in wanted}, lines, []
    table = arrow_csv.read_csv(
        pa.py_buffer(text),
        arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=header.names),
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
    spaces = b" " in text or b"\t" in text
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
            [(int(lines[0]), "misplaced quotes")],
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
