"""Find the cells of a text and parse short numbers in them, many at a time and without branches.

A number of at most eight characters, not counting its sign, fits into the eight bytes before its end. Arithmetic on
this word finds and removes the decimal point (after Langdale and Lemire 2019, and Johnny Lee's pairs, fours and
eights); nothing branches, so LLVM vectorizes the loop. Longer numbers and cells that are not plain decimals are marked
as odd, for the caller to parse one by one.
"""

from typing import Any

import numpy as np

from rosenblatt.data.scanners.compiled import compiled, inlined
from rosenblatt.data.scanners.decimals import (
    EIGHT,
    EXACT_LIMIT,
    ONE,
    POWERS_OF_TEN,
    SIXTEEN,
    TENS,
    TWO,
    ULL,
    at,
)
from rosenblatt.data.scanners.wide import WIDE, WINDOW, any_of, bits_in, first_bit, leading_zeros, word

SEGMENT = 1 << 15  # bytes scanned at a time: their cells and numbers stay in the CPU cache
MAX_CELLS = SEGMENT + 2 * WIDE  # cells of a segment at most, plus what loops write past the last one
MIN_OFFSET = ULL(16)  # bytes that must precede the first cell of a segment: loops load words before it
NEGATIVE = np.uint32(1 << 31)  # flag in the shape of a number (its length and sign)
LENGTH = np.uint32(NEGATIVE - 1)

THREE, FOUR, FIVE, SIX, SEVEN = (ULL(n) for n in (3, 4, 5, 6, 7))
BITS = ULL(64)
DIGITS, POINTS = ULL(0x3030303030303030), ULL(0x2E2E2E2E2E2E2E2E)
ONES, HIGHEST = ULL(0x0101010101010101), ULL(0x8080808080808080)
SIXES, UPPER = ULL(0x0606060606060606), ULL(0xF0F0F0F0F0F0F0F0)


@compiled
def count_byte(text: Any, byte: int) -> int:
    """Count the occurrences of a byte, a few cycles per 64 bytes."""
    count: Any = ULL(0)
    whole = text.size - text.size % WIDE
    for p in range(0, whole, WIDE):
        count += bits_in(any_of(text, p, byte, byte))
    for p in range(whole, text.size):
        count += ULL(at(text, p) == byte)
    return np.int64(count)  # type: ignore[return-value]


@inlined
def _write_eight(starts: Any, n: Any, base: Any, mask: Any) -> Any:
    """Write the positions of the lowest eight bits of a mask and return the mask without them.

    Fewer than eight bits leave arbitrary values after the last position.
    """
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
    """Find the cells of a segment that begins at ``p``, the start of a line; ended by ``one``, ``other`` or a newline.

    Cell ``i`` is ``text[starts[i] : starts[i + 1] - 1]``; line ``j`` ends with cell ``line_ends[j] - 1``. Return the
    number of whole lines, 0 where ``p`` is too close to the beginning or the end of the text.
    """
    stop = min(p + ULL(SEGMENT), ULL(max(text.size - WINDOW, 0)))
    starts[ULL(0)] = p
    n, lines = ONE, ULL(0)
    if p < MIN_OFFSET:
        return 0
    while p < stop:
        newlines = any_of(text, p, 10, 10)
        mask = any_of(text, p, one, other) | newlines
        left = _write_eight(starts, n, p + ONE, mask)
        if left != 0:
            left = _write_eight(starts, n + EIGHT, p + ONE, left)
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
def load_number(text: Any, start: Any, end: Any, words: Any, shapes: Any, k: Any) -> None:
    """Load the eight bytes before ``end``, and the shape of the number ``text[start:end]``: its length and its sign."""
    negative = np.uint32(at(text, start) == 45)
    words[k] = word(text, end - EIGHT)
    shapes[k] = np.uint32(end - start) - negative | negative << np.uint32(31)


@inlined
def _eight_digits(digits: Any) -> Any:
    """Return the number of eight digits, given as bytes from 0 to 9, the first one lowest."""
    digits = ((digits * ULL(2561)) >> EIGHT) & ULL(0x00FF00FF00FF00FF)
    digits = ((digits * ULL(6553601)) >> SIXTEEN) & ULL(0x0000FFFF0000FFFF)
    return (digits * ULL(42949672960001)) >> ULL(32)


@inlined
def _last_bytes(eight: Any, n: Any) -> Any:
    """Return the last ``n`` of eight bytes, with zeros for the others; ``n`` is 0 to 8."""
    drop = BITS - EIGHT * n
    return ((eight >> (drop & ULL(63))) << (drop & ULL(63))) if n != 0 else ULL(0)


@inlined
def _first_point(eight: Any) -> Any:
    """Return the highest bit of the first byte that is a decimal point, 0 where there is none."""
    other = eight ^ POINTS
    points = (other - ONES) & ~other & HIGHEST
    return points & (ULL(0) - points)


@inlined
def _without_point(eight: Any, point: Any) -> Any:
    """Remove the decimal point from eight bytes: shift the bytes before it and put a zero first."""
    before = (point >> SEVEN) - ONE
    return (eight & ~((before << EIGHT) | ULL(255))) | ((eight & before) << EIGHT)


@inlined
def _has_non_digit(digits: Any) -> bool:
    """Whether any byte is not from 0 to 9."""
    return ((digits | (digits + SIXES)) & UPPER) != 0


@compiled
def short_decimals(words: Any, shapes: Any, n: Any, numbers: Any, first: int, odd: Any) -> int:
    """Parse loaded decimals like ``-12.5`` into ``numbers[first:]``.

    Mark those that are too long or not decimals as ``odd``, and return how many these are.
    """
    n_odd = 0
    for i in range(n):
        k = ULL(i)
        shape = shapes[k]
        length = ULL(shape & LENGTH)
        text = _last_bytes(words[k], length)
        point = _first_point(text)
        dotted = point != 0
        n_digits = length - ULL(dotted)
        digits = _last_bytes((_without_point(text, point) if dotted else text) ^ DIGITS, n_digits)
        wrong = _has_non_digit(digits) | (length > EIGHT) | (n_digits == 0)
        number = float(np.int64(_eight_digits(digits)))
        number /= POWERS_OF_TEN[leading_zeros(point) >> THREE if dotted else ULL(0)]
        numbers[ULL(first + i)] = -number if shape >= NEGATIVE else number
        odd[k] = wrong
        n_odd += wrong
    return n_odd


@compiled
def longer_decimals(earlier: Any, words: Any, shapes: Any, n: Any, numbers: Any, first: int, odd: Any) -> int:
    """Parse decimals of up to sixteen characters, as :func:`short_decimals` parses those of eight."""
    n_odd = 0
    for i in range(n):
        k = ULL(i)
        shape = shapes[k]
        length = ULL(shape & LENGTH)
        low, high = (
            _last_bytes(earlier[k], max(length, EIGHT) - EIGHT),
            _last_bytes(words[k], min(length, EIGHT)),
        )
        in_low, in_high = _first_point(low), _first_point(high)
        after = leading_zeros(in_high) >> THREE if in_high != 0 else ULL(0)
        if in_low != 0:
            low, after = _without_point(low, in_low), EIGHT + (leading_zeros(in_low) >> THREE)
        elif in_high != 0:
            high, low = _without_point(high, in_high) | (low >> ULL(56)), low << EIGHT
        n_digits = length - ULL((in_low | in_high) != 0)
        upper = _last_bytes(high ^ DIGITS, min(n_digits, EIGHT))
        lower = _last_bytes(low ^ DIGITS, max(n_digits, EIGHT) - EIGHT)
        mantissa = _eight_digits(lower) * TENS[EIGHT] + _eight_digits(upper)
        wrong = _has_non_digit(lower) | _has_non_digit(upper) | (length > SIXTEEN) | (n_digits == 0)
        wrong |= mantissa >= EXACT_LIMIT
        number = float(np.int64(mantissa)) / POWERS_OF_TEN[after & ULL(15)]
        numbers[ULL(first + i)] = -number if shape >= NEGATIVE else number
        odd[k] = wrong
        n_odd += wrong
    return n_odd


@compiled
def count_longer(shapes: Any, n: Any, limit: Any) -> int:
    """Count the numbers of more than ``limit`` characters."""
    longer = 0
    for i in range(n):
        longer += (shapes[ULL(i)] & LENGTH) > limit
    return longer


@compiled
def load_earlier_words(text: Any, ends: Any, n: Any, earlier: Any) -> None:
    """Load the eight bytes before the last eight of every number."""
    for i in range(n):
        earlier[ULL(i)] = word(text, ULL(ends[ULL(i)]) - SIXTEEN)


@compiled
def decimals(
    text: Any, starts: Any, n: Any, words: Any, earlier: Any, shapes: Any, numbers: Any, odd: Any
) -> int:
    """Parse ``n`` cells as decimals; return how many are ``odd``: longer than sixteen characters, or not plain."""
    for i in range(n):
        k = ULL(i)
        load_number(text, ULL(starts[k]), ULL(starts[k + ONE]) - ONE, words, shapes, k)
    if count_longer(shapes, n, np.uint32(8)) == 0:
        return short_decimals(words, shapes, n, numbers, 0, odd)
    if 2 * count_longer(shapes, n, np.uint32(16)) > n:  # most need the exact parser anyway
        odd[:n] = True
        return n
    for i in range(n):
        k = ULL(i)
        earlier[k] = word(
            text, ULL(starts[k + ONE]) - ULL(17)
        )  # the cell ends one byte before the next starts
    return longer_decimals(earlier, words, shapes, n, numbers, 0, odd)


@compiled
def short_integers(words: Any, shapes: Any, n: Any, base: int, numbers: Any, first: int) -> None:
    """Parse loaded unsigned integers, less ``base``, into ``numbers[first:]``; write -2 for what is not an integer."""
    for i in range(n):
        k = ULL(i)
        length = ULL(shapes[k])
        digits = _last_bytes(words[k] ^ DIGITS, min(length, EIGHT))
        wrong = _has_non_digit(digits) | (length - ONE >= EIGHT)
        numbers[ULL(first + i)] = -2 if wrong else np.int64(_eight_digits(digits)) - base
