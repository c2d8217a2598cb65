r"""A compiled scanner of tables of plain numbers: every cell is a decimal or missing, and nothing is quoted.

It parses a whole block of lines or none of it. The caller passes a block that is refused to the reader of quoted cells
and text, which reports errors with their lines. Statistics of every column are computed while a block is in the CPU
cache.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.memory import BufferPool
from rosenblatt.data.scanners.cells import MAX_CELLS, count_byte, decimals, find_cells
from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import ONE, ROUNDED, ULL, at, decimal, plain_decimal
from rosenblatt.data.scanners.wide import WINDOW, not_digits

# Spellings of a missing value; the scanner is compiled with them, so they live in its package.
SCANNED_MISSING = frozenset(  # known to the scanner of numbers; in a target column, rows without a label
    [
        *("", "?", "NA", "Na", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN"),
        *("null", "Null", "NULL", "None", "none", "NONE"),
    ]
)
MISSING = SCANNED_MISSING | {
    *("-", "--", "–", "—", ".", "n.a.", "N.A.", "#NV"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
}
SKIPPED = -1  # slot of a column that is not read
MIN_PLAIN_RATIO = 4  # cells per odd cell that make parsing them together worthwhile
MISSING_WORDS = np.array(
    [list(word.encode().ljust(5, b"\0")) for word in sorted(SCANNED_MISSING, reverse=True) if word], np.uint8
)
EXACT = 2.0**53  # float64 does not hold every integer from here on


class NumberScan(NamedTuple):
    """The rows of a block of text."""

    values: NDArray[np.float64]  # (rows, width): the feature columns
    others: NDArray[np.float64]  # (columns, rows): the other columns
    lines: NDArray[np.int64]  # offset of every row's line in the block, from 0
    n_lines: int  # of the block
    missing: int  # missing values, which are NaN


def scan_numbers(
    text: bytes | bytearray | memoryview,
    separator: str,
    slots: NDArray[np.int64],
    width: int,
    pool: BufferPool | None = None,
) -> NumberScan | None:
    r"""Parse a block of whole lines with one cell per slot; return None if any cell is not a plain number.

    Column ``c`` of the text goes to ``values[:, slots[c]]`` if its slot is below ``width``, nowhere if its slot is
    ``SKIPPED``, and to ``others[slots[c] - width]`` otherwise.

    >>> block = scan_numbers(b"1,2.5,x\n-3, 4e1 ,y\n", ",", np.array([1, 0, SKIPPED]), 1)
    >>> block.values, block.others
    (array([[ 2.5], [40. ]]), array([[ 1., -3.]]))
    >>> scan_numbers(b"1,2\n3,\n", ",", np.array([0, 1]), 2).missing
    1
    >>> scan_numbers(b"1,2\n3,x\n", ",", np.array([0, 1]), 2) is None
    True
    """
    data = as_bytes(text)
    pool = pool or BufferPool()
    n_lines = count_byte(data, 10)
    values = pool.empty((n_lines, width), np.float64)
    others = np.empty((int(slots.max()) + 1 - width, n_lines))
    lines = np.empty(n_lines, np.int64)
    moved = np.flatnonzero(slots[:width] != np.arange(slots[:width].size))
    in_place = int(moved[0]) if moved.size else min(width, slots.size)
    out = Output(slots, in_place, width, values.reshape(-1), others.reshape(-1), lines, np.zeros(1, np.int64))
    rows = _scan(data, ord(separator), out, pool.singleton(_new_buffers))
    if rows < 0:
        return None
    return NumberScan(values[:rows], others[:, :rows], lines[:rows], n_lines, int(out.missing[0]))


class Output(NamedTuple):
    """Output arrays, flat: column ``c`` goes to ``values[row, slots[c]]``, or to ``others``."""

    slots: NDArray[np.int64]
    in_place: int  # the first columns whose slot is their own position
    width: int
    values: NDArray[np.float64]
    others: NDArray[np.float64]
    lines: NDArray[np.int64]
    missing: NDArray[np.int64]  # (1,) count of missing values


class Buffers(NamedTuple):
    """Buffers for the cells of a segment."""

    starts: NDArray[Any]  # uint32
    line_ends: NDArray[Any]  # uint32
    words: NDArray[Any]  # uint64
    earlier: NDArray[Any]  # uint64
    shapes: NDArray[Any]  # uint32
    numbers: NDArray[Any]  # float64
    odd: NDArray[Any]  # bool


def _new_buffers() -> Buffers:
    kinds = (np.uint32, np.uint32, np.uint64, np.uint64, np.uint32, np.float64, np.bool_)
    return Buffers(*(np.empty(MAX_CELLS, kind) for kind in kinds))


@compiled
def _skip_blanks(text: Any, p: Any, separator: int) -> Any:
    while at(text, p) == 32 or (at(text, p) == 9 and separator != 9):
        p += ONE
    return p


@compiled
def _skip_cell(text: Any, p: Any, separator: int) -> tuple[Any, bool]:
    """Return the end of a skipped cell, and whether it is plain unquoted ASCII."""
    plain = True
    while at(text, p) != separator and at(text, p) != 10:
        c = at(text, p)
        if c == 13 and at(text, p + ONE) == 10:
            break
        plain &= 32 <= c < 127 or c == 9
        plain &= c != 34
        p += ONE
    return p, plain


@compiled
def _scan(text: Any, separator: int, out: Output, buffers: Buffers) -> int:
    """Fill the output; return the number of rows, or -1 if any cell is not a plain number."""
    p: Any = ULL(0)
    size = ULL(text.size)
    line = row = 0
    vectorized = True
    while p < size:
        n_lines = 0
        if vectorized:
            n_lines = find_cells(text, p, separator, separator, buffers.starts, buffers.line_ends)
        if n_lines == 0:  # too close to an end of the text, or a long line
            row, p = _parse_line(text, p, separator, out, row, line)
            line += 1
        else:
            row, n_odd = _parse_segment(text, separator, out, buffers, n_lines, row, line)
            n_cells = buffers.line_ends[ULL(n_lines - 1)]
            p = ULL(buffers.starts[ULL(n_cells)])
            vectorized = MIN_PLAIN_RATIO * n_odd < n_cells
            line += n_lines
        if row < 0:
            return -1
    return row


@compiled
def _parse_segment(
    text: Any, separator: int, out: Output, buffers: Buffers, n_lines: int, row: int, line: int
) -> tuple[int, int]:
    """Parse lines whose cells are in the buffers: (rows so far or -1, number of odd cells)."""
    n_cells = np.int64(buffers.line_ends[ULL(n_lines - 1)])
    n_odd = decimals(
        text,
        buffers.starts,
        n_cells,
        buffers.words,
        buffers.earlier,
        buffers.shapes,
        buffers.numbers,
        buffers.odd,
    )
    n_columns = ULL(out.slots.size)
    first: Any = ULL(0)
    for j in range(n_lines):
        end = ULL(buffers.line_ends[ULL(j)])
        if end - first != n_columns or end - first == ONE:
            row, _ = _parse_line(text, ULL(buffers.starts[first]), separator, out, row, line + j)
        elif n_odd and not _parse_odd_cells(text, separator, out, buffers, first):
            row = -1
        else:
            _write_row(out, buffers.numbers, first, row)
            out.lines[ULL(row)] = line + j
            row += 1
        if row < 0:
            break
        first = end
    return row, n_odd


@compiled
def _parse_odd_cells(text: Any, separator: int, out: Output, buffers: Buffers, first: Any) -> bool:
    """Parse the odd cells of a line; return whether all of them are valid."""
    last_window = ULL(max(text.size - WINDOW, 0))
    for column in range(out.slots.size):
        k = first + ULL(column)
        if not buffers.odd[k]:
            continue
        p, end = ULL(buffers.starts[k]), ULL(buffers.starts[k + ONE]) - ONE
        if out.slots[ULL(column)] == SKIPPED:
            p, valid = _skip_cell(text, p, separator)
        else:
            buffers.numbers[k], p, valid = _parse_cell(text, p, separator, last_window, out.missing)
        if not valid or p + ULL(at(text, p) == 13 and at(text, p + ONE) == 10) != end:
            return False
    return True


@compiled
def _write_row(out: Output, numbers: Any, first: Any, row: int) -> None:
    """Write the numbers of a row to their slots."""
    here = ULL(row) * ULL(out.width)
    for column in range(out.in_place):
        out.values[here + ULL(column)] = numbers[first + ULL(column)]
    for column in range(out.in_place, out.slots.size):
        slot = out.slots[ULL(column)]
        number = numbers[first + ULL(column)]
        if slot == SKIPPED:
            continue
        if slot < out.width:
            out.values[here + ULL(slot)] = number
        else:
            out.others[ULL((slot - out.width) * out.lines.size + row)] = number


@compiled
def _parse_line(text: Any, p: Any, separator: int, out: Output, row: int, line: int) -> tuple[int, Any]:
    """Parse a line cell by cell: (rows so far or -1, start of the next line)."""
    if at(text, p) == 10 or (at(text, p) == 13 and at(text, p + ONE) == 10):
        return row, p + (ONE if at(text, p) == 10 else ULL(2))
    last_window = ULL(max(text.size - WINDOW, 0))
    here = row * out.width
    for column in range(out.slots.size):
        slot = out.slots[ULL(column)]
        if slot == SKIPPED:
            p, valid = _skip_cell(text, p, separator)
            if not valid:
                return -1, p
        else:
            number, p, valid = _parse_cell(text, p, separator, last_window, out.missing)
            if not valid:
                return -1, p
            if slot < out.width:
                out.values[ULL(here + slot)] = number
            else:
                out.others[ULL((slot - out.width) * out.lines.size + row)] = number
        if column + 1 < out.slots.size:
            if at(text, p) != separator:
                return -1, p
            p += ONE
    if at(text, p) == 13:
        p += ONE
    if at(text, p) != 10:
        return -1, p
    out.lines[ULL(row)] = line
    return row + 1, p + ONE


@compiled
def _missing_length(text: Any, p: Any, separator: int) -> int:
    """Return the length of the missing-value marker at ``p``, -1 if there is none."""
    if at(text, p) == separator or at(text, p) == 10 or at(text, p) == 13:
        return 0
    for word in range(MISSING_WORDS.shape[0]):
        length = 0
        while MISSING_WORDS[word, length] != 0 and MISSING_WORDS[word, length] == at(text, p + ULL(length)):
            length += 1
        after = at(text, p + ULL(length))
        ended = after in (separator, 10, 13, 32, 9)
        if MISSING_WORDS[word, length] == 0 and ended:
            return length
    return -1


@inlined
def _parse_cell(text: Any, p: Any, separator: int, last_window: Any, missing: Any) -> tuple[float, Any, bool]:
    """Parse a number with optional blanks around it: (value, end, whether it is valid); count a missing one as NaN."""
    if at(text, p) == 32 or at(text, p) == 9:
        p = _skip_blanks(text, p, separator)
    start = p
    number, p, valid = _parse_number(text, p, last_window)
    if not valid:
        length = _missing_length(text, start, separator)
        if length >= 0:
            number, p, valid = np.nan, start + ULL(length), True
            missing[0] += 1
    if at(text, p) == 32 or at(text, p) == 9:
        p = _skip_blanks(text, p, separator)
    return number, p, valid


@inlined
def _parse_number(text: Any, p: Any, last_window: Any) -> tuple[float, Any, bool]:
    """Parse the number at ``p``: (value, end, whether it is a number)."""
    if p < last_window:
        negative = at(text, p) == 45
        number, end, plain = plain_decimal(text, p, ULL(negative), not_digits(text, p) & ~ULL(negative))
        c = at(text, p + end)
        if plain and c not in (46, 69, 101):
            return -number if negative else number, p + end, True
    number, stop, state = decimal(text, np.int64(p))
    return number, ULL(stop), state == ROUNDED and -EXACT < number < EXACT


class BlockStatistics(NamedTuple):
    """Statistics of every column of a block; missing values (NaN) are left out."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    total: NDArray[np.float64]
    missing: NDArray[np.float64]
    jumps: NDArray[np.float64]  # rows whose value is not the previous row's plus 1
    first: NDArray[np.float64]  # value of the first row
    last: NDArray[np.float64]


def block_statistics(values: NDArray[np.float64]) -> BlockStatistics:
    """Return the statistics of a block of at least one row.

    >>> block = block_statistics(np.array([[1.0, 5.0], [2.0, np.nan]]))
    >>> block.low, block.high, block.total, block.missing, block.jumps
    (array([1., 5.]), array([2., 5.]), array([3., 5.]), array([0., 1.]), array([0., 1.]))
    """
    statistics = np.empty((6, values.shape[1]))
    statistics[:] = np.array([np.inf, -np.inf, 0.0, 0.0, -1.0, np.nan])[:, None]
    accumulate(values, statistics)
    low, high, total, missing, jumps = statistics[:5]
    return BlockStatistics(low, high, total, missing, jumps, values[0].copy(), values[-1].copy())


@compiled
def accumulate(values: Any, statistics: Any) -> None:
    """Update the statistics row by row; columns are independent, so LLVM vectorizes over them."""
    for i in range(values.shape[0]):
        for column in range(values.shape[1]):
            c = ULL(column)
            value, low, high = values[ULL(i), c], statistics[ULL(0), c], statistics[ULL(1), c]
            missing = value != value  # noqa: PLR0124 (NaN differs from itself)
            statistics[ULL(0), c] = value if value < low else low
            statistics[ULL(1), c] = value if value > high else high
            statistics[ULL(2), c] += 0.0 if missing else value
            statistics[ULL(3), c] += 1.0 if missing else 0.0
            statistics[ULL(4), c] += 0.0 if value - statistics[ULL(5), c] == 1.0 else 1.0
            statistics[ULL(5), c] = value
