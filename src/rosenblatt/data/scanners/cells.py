"""Text cut into cells, and short numbers in them: many at a time, no cell waiting for the one before it.

A number of at most eight characters, its sign left out, is eight bytes that end where it ends. Its point is found,
and closed up, by arithmetic on these eight bytes (after Langdale and Lemire 2019, and Johnny Lee's pairs, fours and
eights); nothing branches, so LLVM makes the loop one of vectors. What is not so short or so plain is told apart.
"""

from typing import Any

import numpy as np

from rosenblatt.data.scanners.compiled import compiled, inlined
from rosenblatt.data.scanners.decimals import (
    EIGHT,
    EXACT_BELOW,
    ONE,
    POWERS_OF_TEN,
    SIXTEEN,
    TENS,
    TWO,
    ULL,
    at,
)
from rosenblatt.data.scanners.wide import WIDE, WINDOW, any_of, bits_in, first_bit, leading_zeros, word

SEGMENT = 1 << 15  # bytes whose cells are found at a time: what is known of them stays in the cache
ROOM = SEGMENT + 2 * WIDE  # cells that a segment has at most, and what is written past them
BEFORE = ULL(16)  # bytes that must stand before the first cell of a segment
NEGATIVE = np.uint32(1 << 31)  # in the shape of a number: it has a sign
LENGTH = np.uint32(NEGATIVE - 1)

THREE, FOUR, FIVE, SIX, SEVEN = (ULL(n) for n in (3, 4, 5, 6, 7))
BITS = ULL(64)
DIGITS, POINTS = ULL(0x3030303030303030), ULL(0x2E2E2E2E2E2E2E2E)
ONES, HIGHEST = ULL(0x0101010101010101), ULL(0x8080808080808080)
SIXES, UPPER = ULL(0x0606060606060606), ULL(0xF0F0F0F0F0F0F0F0)


@compiled
def count_of(text: Any, byte: int) -> int:
    """Return how often a byte occurs, a few cycles for sixty-four."""
    found: Any = ULL(0)
    whole = text.size - text.size % WIDE
    for p in range(0, whole, WIDE):
        found += bits_in(any_of(text, p, byte, byte))
    for p in range(whole, text.size):
        found += ULL(at(text, p) == byte)
    return np.int64(found)  # type: ignore[return-value]


@inlined
def _put_eight(starts: Any, n: Any, base: Any, mask: Any) -> Any:
    """Write the places of the lowest eight bits of a mask, and return the others; past the last is not minded."""
    starts[n] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + ONE] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + TWO] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + THREE] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + FOUR] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + FIVE] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + SIX] = base + first_bit(mask)
    mask &= mask - ONE
    starts[n + SEVEN] = base + first_bit(mask)
    return mask & (mask - ONE)


@compiled
def find_cells(text: Any, p: Any, one: int, other: int, starts: Any, line_ends: Any) -> int:
    """Find the cells from ``p``, the start of a line, on; they end at either of two bytes or at a line end.

    Cell ``i`` is ``text[starts[i] : starts[i + 1] - 1]``; the ``j``-th line ends with cell ``line_ends[j] - 1``. Return
    how many whole lines there are, none where ``p`` is too near to the beginning or the end.
    """
    stop = min(p + ULL(SEGMENT), ULL(max(text.size - WINDOW, 0)))
    starts[ULL(0)] = p
    n, lines = ONE, ULL(0)
    if p < BEFORE:
        return 0
    while p < stop:
        newlines = any_of(text, p, 10, 10)
        mask = any_of(text, p, one, other) | newlines
        left = _put_eight(starts, n, p + ONE, mask)
        if left != 0:
            left = _put_eight(starts, n + EIGHT, p + ONE, left)
            k = n + SIXTEEN
            while left != 0:
                starts[k] = p + ONE + first_bit(left)
                left &= left - ONE
                k += ONE
        while newlines != 0:
            line_ends[lines] = n + bits_in(mask & ((newlines & (ULL(0) - newlines)) - ONE))
            newlines &= newlines - ONE
            lines += ONE
        n += bits_in(mask)
        p += ULL(WIDE)
    return np.int64(lines)  # type: ignore[return-value]


@inlined
def lift(text: Any, start: Any, end: Any, words: Any, shapes: Any, k: Any) -> None:
    """Note the eight bytes before ``end``, how many of them are a number that starts at ``start``, and its sign."""
    negative = np.uint32(at(text, start) == 45)
    words[k] = word(text, end - EIGHT)
    shapes[k] = np.uint32(end - start) - negative | negative << np.uint32(31)


@inlined
def _eight_digits(digits: Any) -> Any:
    """Return the number that eight bytes from 0 to 9 spell, the first lowest."""
    digits = ((digits * ULL(2561)) >> EIGHT) & ULL(0x00FF00FF00FF00FF)
    digits = ((digits * ULL(6553601)) >> SIXTEEN) & ULL(0x0000FFFF0000FFFF)
    return (digits * ULL(42949672960001)) >> ULL(32)


@inlined
def _cut(eight: Any, n: Any) -> Any:
    """Return the last ``n`` of eight bytes, zeros for the others; the first ``n`` may be from 0 to 8."""
    drop = BITS - EIGHT * n
    return ((eight >> (drop & ULL(63))) << (drop & ULL(63))) if n != 0 else ULL(0)


@inlined
def _first_point(eight: Any) -> Any:
    """Return the highest bit of the first byte that is a point, nothing where none is."""
    other = eight ^ POINTS
    found = (other - ONES) & ~other & HIGHEST
    return found & (ULL(0) - found)


@inlined
def _closed_up(eight: Any, point: Any) -> Any:
    """Return eight bytes, those before the point moved onto it; a zero comes first."""
    before = (point >> SEVEN) - ONE
    return (eight & ~((before << EIGHT) | ULL(255))) | ((eight & before) << EIGHT)


@inlined
def _no_digits(digits: Any) -> bool:
    """Whether a byte is not from 0 to 9."""
    return ((digits | (digits + SIXES)) & UPPER) != 0


@compiled
def short_decimals(words: Any, shapes: Any, n: Any, numbers: Any, first: int, odd: Any) -> int:
    """Read lifted numbers like ``-12.5`` into ``numbers[first:]``; return how many are ``odd``: too long, or none."""
    n_odd = 0
    for i in range(n):
        k = ULL(i)
        shape = shapes[k]
        length = ULL(shape & LENGTH)
        text = _cut(words[k], length)
        point = _first_point(text)
        dotted = point != 0
        n_digits = length - ULL(dotted)
        digits = _cut((_closed_up(text, point) if dotted else text) ^ DIGITS, n_digits)
        wrong = _no_digits(digits) | (length > EIGHT) | (n_digits == 0)
        number = float(np.int64(_eight_digits(digits)))
        number /= POWERS_OF_TEN[leading_zeros(point) >> THREE if dotted else ULL(0)]
        numbers[ULL(first + i)] = -number if shape >= NEGATIVE else number
        odd[k] = wrong
        n_odd += wrong
    return n_odd


@compiled
def longer_decimals(earlier: Any, words: Any, shapes: Any, n: Any, numbers: Any, first: int, odd: Any) -> int:
    """Read numbers of up to sixteen characters as :func:`short_decimals` reads those of eight."""
    n_odd = 0
    for i in range(n):
        k = ULL(i)
        shape = shapes[k]
        length = ULL(shape & LENGTH)
        low, high = _cut(earlier[k], max(length, EIGHT) - EIGHT), _cut(words[k], min(length, EIGHT))
        in_low, in_high = _first_point(low), _first_point(high)
        after = leading_zeros(in_high) >> THREE if in_high != 0 else ULL(0)
        if in_low != 0:
            low, after = _closed_up(low, in_low), EIGHT + (leading_zeros(in_low) >> THREE)
        elif in_high != 0:
            high, low = _closed_up(high, in_high) | (low >> ULL(56)), low << EIGHT
        n_digits = length - ULL((in_low | in_high) != 0)
        upper = _cut(high ^ DIGITS, min(n_digits, EIGHT))
        lower = _cut(low ^ DIGITS, max(n_digits, EIGHT) - EIGHT)
        mantissa = _eight_digits(lower) * TENS[EIGHT] + _eight_digits(upper)
        wrong = _no_digits(lower) | _no_digits(upper) | (length > SIXTEEN) | (n_digits == 0)
        wrong |= mantissa >= EXACT_BELOW
        number = float(np.int64(mantissa)) / POWERS_OF_TEN[after & ULL(15)]
        numbers[ULL(first + i)] = -number if shape >= NEGATIVE else number
        odd[k] = wrong
        n_odd += wrong
    return n_odd


@compiled
def longer_than(shapes: Any, n: Any, most: Any) -> int:
    """Return how many numbers are longer than so many characters."""
    longer = 0
    for i in range(n):
        longer += (shapes[ULL(i)] & LENGTH) > most
    return longer


@compiled
def earlier_words(text: Any, ends: Any, n: Any, earlier: Any) -> None:
    """Note the eight bytes that stand before the last eight of every number."""
    for i in range(n):
        earlier[ULL(i)] = word(text, ULL(ends[ULL(i)]) - SIXTEEN)


@compiled
def decimals(
    text: Any, starts: Any, n: Any, words: Any, earlier: Any, shapes: Any, numbers: Any, odd: Any
) -> int:
    """Read ``n`` cells as decimals; return how many are ``odd``: longer than sixteen characters, or no plain number."""
    for i in range(n):
        k = ULL(i)
        lift(text, ULL(starts[k]), ULL(starts[k + ONE]) - ONE, words, shapes, k)
    if longer_than(shapes, n, np.uint32(8)) == 0:
        return short_decimals(words, shapes, n, numbers, 0, odd)
    if 2 * longer_than(shapes, n, np.uint32(16)) > n:  # it does not pay to look at any
        odd[:n] = True
        return n
    for i in range(n):
        k = ULL(i)
        earlier[k] = word(text, ULL(starts[k + ONE]) - ULL(17))  # its end is before the next start
    return longer_decimals(earlier, words, shapes, n, numbers, 0, odd)


@compiled
def short_integers(words: Any, shapes: Any, n: Any, base: int, numbers: Any, first: int) -> None:
    """Read lifted integers without a sign, less ``base``, into ``numbers[first:]``; what is none becomes -2."""
    for i in range(n):
        k = ULL(i)
        length = ULL(shapes[k])
        digits = _cut(words[k] ^ DIGITS, min(length, EIGHT))
        wrong = _no_digits(digits) | (length - ONE >= EIGHT)
        numbers[ULL(first + i)] = -2 if wrong else np.int64(_eight_digits(digits)) - base
