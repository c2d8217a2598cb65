"""Whether a block of delimited text is all plain numbers, without reading one: by masks, many gigabytes a second.

**Grammar**: lines of so many cells, each ``-123.45``: digits, perhaps a sign before them, perhaps a point between
digits. Every rule is one operation on masks of thirty-two bytes (after Langdale and Lemire 2019, "Parsing gigabytes
of JSON per second"); what a mask must know of the one before it is carried along in a few bits.
"""

from typing import Any

import numpy as np

from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import ONE, ULL, at
from rosenblatt.data.scanners.wide import (
    MASK,
    WINDOW,
    bits_in,
    equal_to,
    first_bit,
    leading_zeros,
    not_digits,
)

NOT_PLAIN, WHOLE, FRACTIONS = 0, 1, 2
ALL = ULL((1 << MASK) - 1)
LONGEST = 15  # digits of the last cell of a line that are certainly exact in a float64
MOST_EMPTY = 4  # masks in a row without the end of a cell


def check_numbers(text: bytes | bytearray | memoryview, separator: str, n_columns: int) -> int:
    r"""Return whether all cells are plain numbers, and of those in the last column whether any has a point.

    ``NOT_PLAIN`` says nothing but that another reader must look.

    >>> check_numbers(b"1.5,-2\n.5,3\n", ",", 2) == NOT_PLAIN, check_numbers(b"1.5,-2\n0.5,3\n", ",", 2) == WHOLE
    (True, True)
    """
    return int(_check(as_bytes(text), ord(separator), n_columns))


@inlined
def _separators(text: Any, p: Any, separator: int) -> Any:
    if separator == 44:
        return equal_to(text, p, 44)
    if separator == 59:
        return equal_to(text, p, 59)
    return equal_to(text, p, 9)


@inlined
def _highest(mask: Any) -> Any:
    """Return the place of the highest bit of a mask that has one."""
    return 63 - np.int64(leading_zeros(mask))


@inlined
def _up_to(mask: Any) -> Any:
    """Return the bits up to the highest of a mask; nothing where it is empty."""
    return ULL(0) if mask == 0 else (ULL(2) << ULL(_highest(mask))) - ONE


@compiled
def _bytewise(text: Any, p: Any, separator: int, byte: int) -> Any:
    """Return a mask at the end of the text: of this byte, or of what is no digit where ``byte`` is 0."""
    mask = ULL(0)
    for k in range(min(text.size - p, MASK)):
        c = at(text, p + k)
        found = not 48 <= c <= 57 if byte == 0 else c == byte
        mask |= ULL(found) << ULL(k)
    return mask


@compiled
def _check(text: Any, separator: int, n_columns: int) -> int:
    after_end, after_digit, after_point, after_minus, in_fraction = ONE, ULL(0), ULL(0), ULL(0), ULL(0)
    cells = ULL(0)  # ends of cells so far in this line, the line's own end left out
    last_cell: Any = 0  # where the last cell so far starts
    point_in_cell, fractions = False, False
    empty = 0
    for p in range(0, text.size, MASK):
        every = ALL
        if p + WINDOW < text.size:
            digits, points, minus = ~not_digits(text, p) & ALL, equal_to(text, p, 46), equal_to(text, p, 45)
            separators, newlines = _separators(text, p, separator), equal_to(text, p, 10)
        else:
            if text.size - p < MASK:
                every = (ONE << ULL(text.size - p)) - ONE
            digits = ~_bytewise(text, p, separator, 0) & every
            points, minus = _bytewise(text, p, separator, 46), _bytewise(text, p, separator, 45)
            separators, newlines = _bytewise(text, p, separator, separator), _bytewise(text, p, separator, 10)
        ends = separators | newlines
        follow_digit, follow_end = (digits << ONE) | after_digit, (ends << ONE) | after_end
        follow_point, follow_minus = (
            ((points << ONE) | after_point) & every,
            ((minus << ONE) | after_minus) & every,
        )
        wrong = every & ~(digits | points | minus | ends)
        wrong |= (minus & ~follow_end) | (points & ~follow_digit) | (ends & ~follow_digit)
        wrong |= (follow_point | follow_minus) & ~digits
        run = (
            digits | minus
        )  # a sum carries from the point to the end of its fraction: no other point may stand there
        carried = run + ((follow_point & run) | in_fraction)
        wrong |= carried & ~run & points
        empty = 0 if ends else empty + 1
        if wrong or empty > MOST_EMPTY:
            return NOT_PLAIN
        top = ULL(min(text.size - p, MASK) - 1)
        in_fraction = (carried >> ULL(MASK)) & ONE
        after_digit, after_end = (digits >> top) & ONE, (ends >> top) & ONE
        after_point, after_minus = (points >> top) & ONE, (minus >> top) & ONE
        while newlines:
            below = (newlines ^ (newlines - ONE)) >> ONE  # before the first line end
            here = separators & below
            if cells + bits_in(here) != ULL(n_columns - 1):
                return NOT_PLAIN
            if here:
                last_cell, point_in_cell = p + _highest(here) + 1, False
            newline = p + np.int64(first_bit(newlines))
            if newline - last_cell > LONGEST:
                return NOT_PLAIN
            fractions |= point_in_cell or points & below & ~_up_to(here) != 0
            last_cell, point_in_cell, cells = newline + 1, False, ULL(0)
            separators &= ~below
            points &= ~below
            newlines &= newlines - ONE
        if separators:
            cells += bits_in(separators)
            last_cell, point_in_cell = p + _highest(separators) + 1, False
            points &= ~_up_to(separators)
        point_in_cell |= points != 0
    return NOT_PLAIN if after_end == 0 or cells != 0 else (FRACTIONS if fractions else WHOLE)
