"""The compiled loops of the LIBSVM scanner, and the tables they use.

All in this one file: numba finds machine code again by the time stamp of the file that holds a loop.
Bytes are written as numbers: 10 line end, 32 space, 35 ``#``, 43 ``+``, 45 ``-``, 46 ``.``, 48 ``0``,
58 ``:``.
Every loop stops at a line end, and the text ends in one, so no loop tests for the end of the text.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

# What can be wrong with a line; libsvm.py says it in words.
NO_LABEL, BAD_LABEL, LABEL_NOT_FINITE = 1, 2, 3
BAD_PAIR, INDEX_ZERO, INDEX_REPEATED, INDEX_DESCENDS, INDEX_TOO_LARGE = 4, 5, 6, 7, 8
BAD_VALUE, VALUE_NOT_FINITE = 9, 10

LARGEST_INDEX = 2**31  # 1-based, so that 0-based indices fit in int32

FINE, HARD, NOT_FINITE, NOT_A_NUMBER = 0, 1, 2, 3
ULL = np.uint64
TEN = ULL(10)
EXACT_BELOW = ULL(2**53)
POWERS_OF_TEN = 10.0 ** np.arange(23)
WIDEST = 80  # the largest power of ten that is rounded here; no product with it is subnormal or overflows


def _powers_of_five() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 5^q for -WIDEST <= q <= WIDEST, cut off; from -27 to -1 rounded up."""
    table = []
    for q in range(-WIDEST, WIDEST + 1):
        if q < 0:
            bits = (1 << ((5**-q).bit_length() + 127)) // 5**-q + (q >= -27)
        else:
            bits = (5**q << 128) >> (5**q).bit_length()
        table.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(table, np.uint64)


POWERS_OF_FIVE = _powers_of_five()

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep machine code
        return numba.njit(nogil=True)(function)


def _inlined(function: F) -> F:
    """Make a function part of every loop that calls it; LLVM alone leaves these two out."""
    return numba.njit(inline="always")(function)


@_compiled
def _at(text: Any, p: int) -> int:
    """Return a byte; numba would test a signed index for being negative."""
    return text[np.uint64(p)]


@_compiled
def _is_digit(c: int) -> bool:
    return 48 <= c <= 57


@_compiled
def _is_end(c: int) -> bool:
    """Whether a token ends before this byte: white space, a line end or a comment."""
    return c == 32 or 9 <= c <= 13 or c == 35


@_compiled
def _skip_spaces(text: Any, p: int) -> int:
    """Return where the next token, comment or line end starts."""
    while _at(text, p) == 32 or _at(text, p) == 9 or 11 <= _at(text, p) <= 13:
        p += 1
    return p


@_compiled
def _number(text: Any, p: int) -> tuple[float, int, int]:
    """Read a decimal at ``p``: (its value, where it ends, FINE, HARD, NOT_FINITE or NOT_A_NUMBER)."""
    negative = _at(text, p) == 45
    if negative or _at(text, p) == 43:
        p += 1
    start = p
    while _at(text, p) == 48:
        p += 1
    any_digit = p > start
    start = p
    mantissa = np.uint64(0)
    while _is_digit(_at(text, p)):
        mantissa = mantissa * TEN + np.uint64(_at(text, p) - 48)
        p += 1
    digits = p - start  # from the first that is not zero
    power = 0
    if _at(text, p) == 46:
        p += 1
        point = p
        if digits == 0:
            while _at(text, p) == 48:
                p += 1
        start = p
        while _is_digit(_at(text, p)):
            mantissa = mantissa * TEN + np.uint64(_at(text, p) - 48)
            p += 1
        digits += p - start
        power = point - p
    if not (any_digit or digits > 0 or power < 0):
        return 0.0, p, NOT_FINITE if _spells_not_finite(text, p) else NOT_A_NUMBER
    if _at(text, p) | 32 == 101:
        p += 1
        down = _at(text, p) == 45
        if down or _at(text, p) == 43:
            p += 1
        start = p
        exponent = 0
        while _is_digit(_at(text, p)):
            exponent = min(exponent * 10 + (_at(text, p) - 48), 100_000)
            p += 1
        if p == start:
            return 0.0, p, NOT_A_NUMBER
        power += -exponent if down else exponent
    number = -1.0
    if digits <= 19:
        if mantissa < EXACT_BELOW and -22 <= power <= 22:
            number = float(mantissa)
            number = number / POWERS_OF_TEN[-power] if power < 0 else number * POWERS_OF_TEN[power]
        elif -WIDEST <= power <= WIDEST and mantissa != 0:
            number = _rounded(mantissa, power)
    return -number if negative else number, p, FINE if number >= 0.0 else HARD


@_compiled
def _rounded(mantissa: Any, power: int) -> float:
    """Round ``mantissa × 10^power`` to the nearest float64, or return -1 where 128 bits do not tell.

    Lemire 2021, Algorithm 1, without its cases for tiny and huge powers.
    """
    shift = np.uint64(0)
    for step in (ULL(32), ULL(16), ULL(8), ULL(4), ULL(2), ULL(1)):
        if mantissa >> (ULL(64) - step) == 0:
            mantissa <<= step
            shift += step
    high, low = _product(mantissa, POWERS_OF_FIVE[power + WIDEST, 0])
    if high & ULL(0x1FF) == ULL(0x1FF):
        more, _ = _product(mantissa, POWERS_OF_FIVE[power + WIDEST, 1])
        low += more
        if low < more:
            high += ULL(1)
    if low == ULL(0xFFFFFFFFFFFFFFFF) and not -27 <= power <= 55:
        return -1.0
    top = high >> ULL(63)
    bits = high >> (top + ULL(9))
    halfway = low <= ULL(1) and -4 <= power <= 23 and bits & ULL(3) == ULL(1)
    if halfway and bits << (top + ULL(9)) == high:
        bits &= ~ULL(1)  # to even
    bits = (bits + (bits & ULL(1))) >> ULL(1)
    # bits is below 2^53 or exactly 2^53: exact either way, and so is scaling by a power of two
    return math.ldexp(float(bits), ((217706 * power) >> 16) + 11 + np.int64(top) - np.int64(shift))  # type: ignore[arg-type]


@_compiled
def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the high and the low half of the product of two uint64."""
    half, mask = ULL(32), ULL(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> half) + (other >> half), a * b


@_compiled
def _spells_not_finite(text: Any, p: int) -> bool:
    """Whether the token is nan, inf or infinity, in any case."""
    end = p
    while not _is_end(_at(text, end)) and end - p < 9:
        end += 1
    if end - p not in (3, 8):
        return False
    first, second, third = text[p] | 32, text[p + 1] | 32, text[p + 2] | 32
    nan = first == 110 and second == 97 and third == 110
    infinite = first == 105 and second == 110 and third == 102
    return bool(nan or infinite)


@_inlined
def _finite(
    text: Any, p: int, wrong_if_not_finite: int, wrong_if_no_number: int
) -> tuple[float, int, bool, int]:
    """Read a decimal that must fill its token: (value, where it ends, whether it is hard, what is wrong)."""
    number, end, state = _number(text, p)
    if state == NOT_FINITE:
        return number, end, False, wrong_if_not_finite
    if state == NOT_A_NUMBER or not _is_end(_at(text, end)):
        return number, end, False, wrong_if_no_number
    return number, end, state == HARD, 0


@_compiled
def _skip_query(text: Any, p: int) -> tuple[int, int]:
    """Step over ``qid:N``, if it stands here: (where it ends, what is wrong)."""
    if _at(text, p) != 113 or _at(text, p + 1) != 105 or _at(text, p + 2) != 100 or _at(text, p + 3) != 58:
        return p, 0
    end = p + 4
    while _is_digit(_at(text, end)):
        end += 1
    return (end, 0) if end > p + 4 and _is_end(_at(text, end)) else (p, BAD_PAIR)


@_inlined
def _index(text: Any, p: int, base: int, previous: int) -> tuple[int, int, int]:
    """Read ``index:`` and return (the index from 0, where the value starts, what is wrong)."""
    start = p
    while _at(text, p) == 48:
        p += 1
    first = p
    index = 0
    while _is_digit(_at(text, p)):
        index = index * 10 + (_at(text, p) - 48)
        p += 1
    index = LARGEST_INDEX if p - first > 18 else index - base
    wrong = 0
    if p == start or _at(text, p) != 58:
        wrong = BAD_PAIR
    elif index < 0:
        wrong = INDEX_ZERO
    elif index >= LARGEST_INDEX:
        wrong = INDEX_TOO_LARGE
    elif index <= previous:
        wrong = INDEX_REPEATED if index == previous else INDEX_DESCENDS
    return index, p + 1, wrong


@_compiled
def scan_lines(
    text: Any,
    zero_based: bool,
    labels: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    lines: Any,
    hard: Any,
    bad: Any,
) -> tuple[int, int, int]:
    """Fill the arrays; return how many rows, hard decimals and bad lines there are.

    ``hard`` gets (slot, start, end) of each decimal left to Python: slot i is ``values[i]``, slot -1-i is
    ``labels[i]``. ``bad`` gets (line, what is wrong, start of the token). A bad line leaves nothing else.
    """
    p = line = row = pair = n_hard = n_bad = 0
    base = 0 if zero_based else 1
    while p < text.size:
        p = token = _skip_spaces(text, p)
        blank = _at(text, p) == 10 or _at(text, p) == 35
        first_pair, first_hard, wrong, previous = pair, n_hard, 0, -1
        if not blank:
            labels[row], p, is_hard, wrong = _finite(text, p, LABEL_NOT_FINITE, BAD_LABEL)
            if wrong == BAD_LABEL and _at(text, p) == 58:
                wrong = NO_LABEL
            if is_hard:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = -1 - row, token, p
                n_hard += 1
        if not blank and wrong == 0:
            p = token = _skip_spaces(text, p)
            p, wrong = _skip_query(text, p)
        while not blank and wrong == 0:
            p = token = _skip_spaces(text, p)
            if _at(text, p) == 10 or _at(text, p) == 35:
                break
            previous, start, wrong = _index(text, p, base, previous)
            if wrong != 0:
                break
            indices[pair] = previous
            values[pair], p, is_hard, wrong = _finite(text, start, VALUE_NOT_FINITE, BAD_VALUE)
            if is_hard:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = pair, start, p
                n_hard += 1
            pair += 1
        if wrong != 0:
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = line, wrong, token
            n_bad += 1
            pair, n_hard = first_pair, first_hard
        elif not blank:
            lines[row] = line
            row += 1
            indptr[row] = pair
        while _at(text, p) != 10:
            p += 1
        p += 1
        line += 1
    return row, n_hard, n_bad
