r"""A compiled scanner of tables of plain numbers: every cell a decimal, nothing quoted, nothing missing.

It either reads a whole block of lines or none of it: what is not so plain is left to a reader that knows quotes,
missing values and text, and says what is wrong and where.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import FINE, ONE, ULL, at, decimal, plain_decimal
from rosenblatt.data.scanners.wide import WINDOW, not_digits

SKIPPED = -1  # the slot of a column that is not wanted
EXACT = 2.0**53  # integers from here on may need more than a float64


class NumberScan(NamedTuple):
    """The rows of a block of text."""

    values: NDArray[np.float64]  # (rows, width): the columns that lie side by side
    others: NDArray[np.float64]  # (columns, rows): the rest
    lines: NDArray[np.int64]  # offset of every row's line in the block, from 0


def scan_numbers(
    text: bytes | bytearray, separator: str, slots: NDArray[np.int64], width: int
) -> NumberScan | None:
    r"""Read a block of whole lines of as many cells as there are slots; None where a cell is no plain number.

    Column ``c`` of the text goes to ``values[:, slots[c]]`` if that is below ``width``, to ``others[slots[c] - width]``
    else, and nowhere if it is ``SKIPPED``.

    >>> found = scan_numbers(b"1,2.5,x\n-3, 4e1 ,y\n", ",", np.array([1, 0, SKIPPED]), 1)
    >>> found.values, found.others
    (array([[ 2.5], [40. ]]), array([[ 1., -3.]]))
    >>> scan_numbers(b"1,2\n3,\n", ",", np.array([0, 1]), 2) is None
    True
    """
    data = as_bytes(text)
    n_lines = _count_lines(data)
    values = np.empty((n_lines, width))
    others = np.empty((int(slots.max()) + 1 - width, n_lines))
    lines = np.empty(n_lines, np.int64)
    rows = _scan(data, ord(separator), slots, width, values.reshape(-1), others.reshape(-1), lines)
    return NumberScan(values[:rows], others[:, :rows], lines[:rows]) if rows >= 0 else None


@compiled
def _count_lines(text: Any) -> int:
    lines = 0
    for byte in text:
        lines += byte == 10
    return lines


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
def _scan(text: Any, separator: int, slots: Any, width: int, values: Any, others: Any, lines: Any) -> int:
    """Fill the arrays; return how many rows there are, or -1 at a cell that is no plain number."""
    p: Any = ULL(0)
    size, last_window = ULL(text.size), ULL(max(text.size - WINDOW, 0))
    n_columns = slots.size
    line = row = 0
    while p < size:
        if at(text, p) == 10 or (at(text, p) == 13 and at(text, p + ONE) == 10):
            p += ONE if at(text, p) == 10 else ULL(2)
            line += 1
            continue
        first = row * width
        for column in range(n_columns):
            slot = slots[ULL(column)]
            if slot == SKIPPED:
                p, fine = _skip_cell(text, p, separator)
                if not fine:
                    return -1
            else:
                if at(text, p) == 32 or at(text, p) == 9:
                    p = _skip_blanks(text, p, separator)
                number, p, fine = _cell(text, p, last_window)
                if not fine:
                    return -1
                if slot < width:
                    values[ULL(first + slot)] = number
                else:
                    others[ULL((slot - width) * lines.size + row)] = number
                if at(text, p) == 32 or at(text, p) == 9:
                    p = _skip_blanks(text, p, separator)
            if column + 1 < n_columns:
                if at(text, p) != separator:
                    return -1
                p += ONE
        if at(text, p) == 13:
            p += ONE
        if at(text, p) != 10:
            return -1
        p += ONE
        lines[ULL(row)] = line
        row += 1
        line += 1
    return row


@inlined
def _cell(text: Any, p: Any, last_window: Any) -> tuple[float, Any, bool]:
    """Read the number at ``p``: (its value, where it ends, whether it is one)."""
    if p < last_window:
        negative = at(text, p) == 45
        number, end, plain = plain_decimal(text, p, ULL(negative), not_digits(text, p) & ~ULL(negative))
        c = at(text, p + end)
        if plain and c not in (46, 69, 101):
            return -number if negative else number, p + end, True
    number, stop, state = decimal(text, np.int64(p))  # type: ignore[arg-type]
    return number, ULL(stop), state == FINE and -EXACT < number < EXACT
