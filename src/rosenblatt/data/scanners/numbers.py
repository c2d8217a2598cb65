r"""A compiled scanner of tables of plain numbers: every cell a decimal, or missing, nothing quoted.

It either reads a whole block of lines or none of it: what is not so plain is left to a reader that knows quotes and
text, and says what is wrong and where.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.memory import Room
from rosenblatt.data.scanners.cells import ROOM, count_of, decimals, find_cells
from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import FINE, ONE, ULL, at, decimal, plain_decimal
from rosenblatt.data.scanners.missing import SCANNED_MISSING
from rosenblatt.data.scanners.wide import WINDOW, not_digits

SKIPPED = -1  # the slot of a column that is not wanted
MOST_ODD = 4  # cells that are read together for one that is not, or it does not pay
MISSING_WORDS = np.array(
    [list(word.encode().ljust(5, b"\0")) for word in sorted(SCANNED_MISSING, reverse=True) if word], np.uint8
)
EXACT = 2.0**53  # integers from here on may need more than a float64


class NumberScan(NamedTuple):
    """The rows of a block of text."""

    values: NDArray[np.float64]  # (rows, width): the columns that lie side by side
    others: NDArray[np.float64]  # (columns, rows): the rest
    lines: NDArray[np.int64]  # offset of every row's line in the block, from 0
    n_lines: int  # of the block
    missing: int  # values that are not there; they are not numbers


def scan_numbers(
    text: bytes | bytearray | memoryview,
    separator: str,
    slots: NDArray[np.int64],
    width: int,
    room: Room | None = None,
) -> NumberScan | None:
    r"""Read a block of whole lines of as many cells as there are slots; None where a cell is no plain number.

    Column ``c`` of the text goes to ``values[:, slots[c]]`` if that is below ``width``, to ``others[slots[c] - width]``
    else, and nowhere if it is ``SKIPPED``.

    >>> found = scan_numbers(b"1,2.5,x\n-3, 4e1 ,y\n", ",", np.array([1, 0, SKIPPED]), 1)
    >>> found.values, found.others
    (array([[ 2.5], [40. ]]), array([[ 1., -3.]]))
    >>> scan_numbers(b"1,2\n3,\n", ",", np.array([0, 1]), 2).missing
    1
    >>> scan_numbers(b"1,2\n3,x\n", ",", np.array([0, 1]), 2) is None
    True
    """
    data = as_bytes(text)
    room = room or Room()
    n_lines = count_of(data, 10)
    values = room.take((n_lines, width), np.float64)
    others = np.empty((int(slots.max()) + 1 - width, n_lines))
    lines = np.empty(n_lines, np.int64)
    moved = np.flatnonzero(slots[:width] != np.arange(slots[:width].size))
    in_place = int(moved[0]) if moved.size else min(width, slots.size)
    found = Found(
        slots, in_place, width, values.reshape(-1), others.reshape(-1), lines, np.zeros(1, np.int64)
    )
    rows = _scan(data, ord(separator), found, room.once(_desk))
    if rows < 0:
        return None
    return NumberScan(values[:rows], others[:, :rows], lines[:rows], n_lines, int(found.missing[0]))


class Found(NamedTuple):
    """Where numbers go: column ``c`` to ``values[row, slots[c]]``, or to the others."""

    slots: NDArray[np.int64]
    in_place: int  # so many of the first columns are the first of the values
    width: int
    values: NDArray[np.float64]
    others: NDArray[np.float64]
    lines: NDArray[np.int64]
    missing: NDArray[np.int64]  # one number: how many values were


class Desk(NamedTuple):
    """What is known of the cells of a segment."""

    starts: NDArray[Any]  # uint32
    line_ends: NDArray[Any]  # uint32
    words: NDArray[Any]  # uint64
    earlier: NDArray[Any]  # uint64
    shapes: NDArray[Any]  # uint32
    numbers: NDArray[Any]  # float64
    odd: NDArray[Any]  # bool


def _desk() -> Desk:
    kinds = (np.uint32, np.uint32, np.uint64, np.uint64, np.uint32, np.float64, np.bool_)
    return Desk(*(np.empty(ROOM, kind) for kind in kinds))


@compiled
def _skip_blanks(text: Any, p: Any, separator: int) -> Any:
    while at(text, p) == 32 or (at(text, p) == 9 and separator != 9):
        p += ONE
    return p


@compiled
def _skip_cell(text: Any, p: Any, separator: int) -> tuple[Any, bool]:
    """Return where a cell that is not wanted ends, and whether it is plain text."""
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
def _scan(text: Any, separator: int, found: Found, desk: Desk) -> int:
    """Fill the arrays; return how many rows there are, or -1 at a cell that is no plain number."""
    p: Any = ULL(0)
    size = ULL(text.size)
    line = row = 0
    many_at_once = True
    while p < size:
        n_lines = 0
        if many_at_once:
            n_lines = find_cells(text, p, separator, separator, desk.starts, desk.line_ends)
        if n_lines == 0:  # too near to an end of the text, or a long line
            row, p = _careful_line(text, p, separator, found, row, line)
            line += 1
        else:
            row, n_odd = _segment(text, separator, found, desk, n_lines, row, line)
            n_cells = desk.line_ends[ULL(n_lines - 1)]
            p = ULL(desk.starts[ULL(n_cells)])
            many_at_once = MOST_ODD * n_odd < n_cells
            line += n_lines
        if row < 0:
            return -1
    return row


@compiled
def _segment(
    text: Any, separator: int, found: Found, desk: Desk, n_lines: int, row: int, line: int
) -> tuple[int, int]:
    """Read lines whose cells have been found: (how many rows there are then, or -1; how many cells were odd)."""
    n_cells = np.int64(desk.line_ends[ULL(n_lines - 1)])
    n_odd = decimals(
        text, desk.starts, n_cells, desk.words, desk.earlier, desk.shapes, desk.numbers, desk.odd
    )
    n_columns = ULL(found.slots.size)
    first: Any = ULL(0)
    for j in range(n_lines):
        end = ULL(desk.line_ends[ULL(j)])
        if end - first != n_columns or end - first == ONE:
            row, _ = _careful_line(text, ULL(desk.starts[first]), separator, found, row, line + j)
        elif n_odd and not _odd_cells(text, separator, found, desk, first):
            row = -1
        else:
            _put_row(found, desk.numbers, first, row)
            found.lines[ULL(row)] = line + j
            row += 1
        if row < 0:
            break
        first = end
    return row, n_odd


@compiled
def _odd_cells(text: Any, separator: int, found: Found, desk: Desk, first: Any) -> bool:
    """Read the cells of a line that are not short and plain; return whether all of them can be."""
    last_window = ULL(max(text.size - WINDOW, 0))
    for column in range(found.slots.size):
        k = first + ULL(column)
        if not desk.odd[k]:
            continue
        p, end = ULL(desk.starts[k]), ULL(desk.starts[k + ONE]) - ONE
        if found.slots[ULL(column)] == SKIPPED:
            p, fine = _skip_cell(text, p, separator)
        else:
            desk.numbers[k], p, fine = _blank_cell_blank(text, p, separator, last_window, found.missing)
        if not fine or p + ULL(at(text, p) == 13 and at(text, p + ONE) == 10) != end:
            return False
    return True


@compiled
def _put_row(found: Found, numbers: Any, first: Any, row: int) -> None:
    """Put the numbers of a row into their places."""
    here = ULL(row) * ULL(found.width)
    for column in range(found.in_place):
        found.values[here + ULL(column)] = numbers[first + ULL(column)]
    for column in range(found.in_place, found.slots.size):
        slot = found.slots[ULL(column)]
        number = numbers[first + ULL(column)]
        if slot == SKIPPED:
            continue
        if slot < found.width:
            found.values[here + ULL(slot)] = number
        else:
            found.others[ULL((slot - found.width) * found.lines.size + row)] = number


@compiled
def _careful_line(text: Any, p: Any, separator: int, found: Found, row: int, line: int) -> tuple[int, Any]:
    """Read a line cell by cell: (how many rows there are then, or -1; where the next line starts)."""
    if at(text, p) == 10 or (at(text, p) == 13 and at(text, p + ONE) == 10):
        return row, p + (ONE if at(text, p) == 10 else ULL(2))
    last_window = ULL(max(text.size - WINDOW, 0))
    here = row * found.width
    for column in range(found.slots.size):
        slot = found.slots[ULL(column)]
        if slot == SKIPPED:
            p, fine = _skip_cell(text, p, separator)
            if not fine:
                return -1, p
        else:
            number, p, fine = _blank_cell_blank(text, p, separator, last_window, found.missing)
            if not fine:
                return -1, p
            if slot < found.width:
                found.values[ULL(here + slot)] = number
            else:
                found.others[ULL((slot - found.width) * found.lines.size + row)] = number
        if column + 1 < found.slots.size:
            if at(text, p) != separator:
                return -1, p
            p += ONE
    if at(text, p) == 13:
        p += ONE
    if at(text, p) != 10:
        return -1, p
    found.lines[ULL(row)] = line
    return row + 1, p + ONE


@compiled
def _missing_at(text: Any, p: Any, separator: int) -> int:
    """Return how long what stands for a missing value at ``p`` is, -1 where nothing of the kind stands there."""
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
def _blank_cell_blank(
    text: Any, p: Any, separator: int, last_window: Any, missing: Any
) -> tuple[float, Any, bool]:
    """Read a number that may have blanks around it; a missing one is not a number, and counted."""
    if at(text, p) == 32 or at(text, p) == 9:
        p = _skip_blanks(text, p, separator)
    start = p
    number, p, fine = _cell(text, p, last_window)
    if not fine:
        length = _missing_at(text, start, separator)
        if length >= 0:
            number, p, fine = np.nan, start + ULL(length), True
            missing[0] += 1
    if at(text, p) == 32 or at(text, p) == 9:
        p = _skip_blanks(text, p, separator)
    return number, p, fine


@inlined
def _cell(text: Any, p: Any, last_window: Any) -> tuple[float, Any, bool]:
    """Read the number at ``p``: (its value, where it ends, whether it is one)."""
    if p < last_window:
        negative = at(text, p) == 45
        number, end, plain = plain_decimal(text, p, ULL(negative), not_digits(text, p) & ~ULL(negative))
        c = at(text, p + end)
        if plain and c not in (46, 69, 101):
            return -number if negative else number, p + end, True
    number, stop, state = decimal(text, np.int64(p))
    return number, ULL(stop), state == FINE and -EXACT < number < EXACT
