"""Parse decimals and round them correctly, inside compiled loops.

Bytes are compared as numbers: 10 line end, 32 space, 35 ``#``, 43 ``+``, 45 ``-``, 46 ``.``, 48 ``0``.
Every loop stops at a line end and the text ends with one, so no loop tests for the end of the text.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import compiled, inlined
from rosenblatt.data.scanners.wide import first_bit, high_product, leading_zeros, word

ROUNDED, HARD, NOT_FINITE, NOT_A_NUMBER = 0, 1, 2, 3  # HARD: a decimal that Python's float must round
INFINITY, NAN = np.frombuffer(b"infinity", np.uint8), np.frombuffer(b"nan", np.uint8)
ULL = np.uint64
TEN = ULL(10)
EXACT_LIMIT = ULL(2**53)
POWERS_OF_TEN = 10.0 ** np.arange(23)
TENS = np.array([10**power for power in range(20)], np.uint64)
ONE, TWO, EIGHT, SIXTEEN = ULL(1), ULL(2), ULL(8), ULL(16)
MAX_POWER = 80  # largest power of ten rounded here: no product with it is subnormal or overflows


def _powers_of_five() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 5^q for -MAX_POWER <= q <= MAX_POWER, truncated; from -27 to -1 rounded up."""
    table = []
    for q in range(-MAX_POWER, MAX_POWER + 1):
        if q < 0:
            bits = (1 << ((5**-q).bit_length() + 127)) // 5**-q + (q >= -27)
        else:
            bits = (5**q << 128) >> (5**q).bit_length()
        table.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(table, np.uint64)


POWERS_OF_FIVE = _powers_of_five()


@compiled
def at(text: Any, p: Any) -> int:
    """Return a byte; with a signed index numba would test for negative values."""
    return text[np.uint64(p)]


@compiled
def is_digit(c: int) -> bool:
    """Whether this byte is a digit."""
    return 48 <= c <= 57


@compiled
def is_end(c: int) -> bool:
    """Whether a token ends before this byte: white space, a line end or a comment."""
    return c == 32 or 9 <= c <= 13 or c == 35


@inlined
def digits(eight: Any, n: Any) -> Any:
    """Return the number in the first ``n`` of eight bytes, 1 to 8 digits: combine pairs, then fours, then all eight."""
    eight = (eight ^ ULL(0x3030303030303030)) << (
        ULL(64) - EIGHT * n
    )  # leading zeros replace the other bytes
    eight = (eight * ULL(2561)) >> EIGHT
    eight = ((eight & ULL(0x00FF00FF00FF00FF)) * ULL(6553601)) >> SIXTEEN
    return ((eight & ULL(0x0000FFFF0000FFFF)) * ULL(42949672960001)) >> ULL(32)


@inlined
def plain_decimal(text: Any, p: Any, first: Any, stops: Any) -> tuple[float, Any, bool]:
    """Parse ``123`` or ``1.23`` at ``p + first``: (value, end relative to ``p``, whether it is a plain decimal).

    ``stops`` is the mask of the bytes from ``p`` on that are not digits, with no bit before ``first``. A plain decimal
    has 1 to 8 digits before the point, none or 1 to 18 after it and no exponent; the byte at its end is not checked.
    The end depends on the mask alone, so the next number need not wait for the value of this one.
    """
    point = first_bit(stops)
    before = point - first
    if before - ONE >= EIGHT:
        return 0.0, point, False
    whole = ULL(at(text, p + first) - 48) if before == ONE else digits(word(text, p + first), before)
    if at(text, p + point) != 46:
        return float(np.int64(whole)), point, True
    end = first_bit(stops & (stops - ONE))
    after = end - point - ONE
    if after - ONE < EIGHT:
        mantissa = whole * TENS[after] + digits(word(text, p + point + ONE), after)
        return float(np.int64(mantissa)) / POWERS_OF_TEN[after], end, mantissa < EXACT_LIMIT
    if after - ONE < ULL(18) and before + after <= ULL(19):
        number = _long_fraction(text, p + point + ONE, whole, after)
        return number, end, number >= 0.0
    return 0.0, end, False


@compiled
def _long_fraction(text: Any, p: Any, whole: Any, after: Any) -> float:
    """Return ``whole`` plus a fraction of 9 to 18 digits, or -1 where 128 bits do not decide the rounding."""
    upper = digits(word(text, p), EIGHT) * TENS[after - EIGHT]
    if after > SIXTEEN:
        upper += digits(word(text, p + EIGHT), EIGHT) * TENS[after - SIXTEEN]
        lower = digits(word(text, p + SIXTEEN), after - SIXTEEN)
    else:
        lower = digits(word(text, p + EIGHT), after - EIGHT)
    mantissa = whole * TENS[after] + upper + lower
    if mantissa < EXACT_LIMIT:
        return float(np.int64(mantissa)) / POWERS_OF_TEN[after]
    return _rounded(mantissa, -np.int64(after))


@compiled
def decimal(text: Any, p: Any) -> tuple[float, Any, int]:
    """Parse a decimal at ``p``: (value, end, one of ROUNDED, HARD, NOT_FINITE and NOT_A_NUMBER)."""
    negative = at(text, p) == 45
    if negative or at(text, p) == 43:
        p += 1
    start = p
    while at(text, p) == 48:
        p += 1
    any_digit = p > start
    start = p
    mantissa = np.uint64(0)
    while is_digit(at(text, p)):
        mantissa = mantissa * TEN + np.uint64(at(text, p) - 48)
        p += 1
    digits = p - start  # without leading zeros
    power = 0
    if at(text, p) == 46:
        p += 1
        point = p
        if digits == 0:
            while at(text, p) == 48:
                p += 1
        start = p
        while is_digit(at(text, p)):
            mantissa = mantissa * TEN + np.uint64(at(text, p) - 48)
            p += 1
        digits += p - start
        power = point - p
    if not (any_digit or digits > 0 or power < 0):
        return 0.0, p, NOT_FINITE if _spells_not_finite(text, p) else NOT_A_NUMBER
    if at(text, p) | 32 == 101:
        p += 1
        down = at(text, p) == 45
        if down or at(text, p) == 43:
            p += 1
        start = p
        exponent = 0
        while is_digit(at(text, p)):
            exponent = min(exponent * 10 + (at(text, p) - 48), 100_000)
            p += 1
        if p == start:
            return 0.0, p, NOT_A_NUMBER
        power += -exponent if down else exponent
    number = -1.0
    if digits <= 19:
        if mantissa < EXACT_LIMIT and -22 <= power <= 22:
            number = float(mantissa)
            number = number / POWERS_OF_TEN[-power] if power < 0 else number * POWERS_OF_TEN[power]
        elif -MAX_POWER <= power <= MAX_POWER and mantissa != 0:
            number = _rounded(mantissa, power)
    return -number if negative else number, p, ROUNDED if number >= 0.0 else HARD


@compiled
def _rounded(mantissa: Any, power: Any) -> float:
    """Round ``mantissa × 10^power`` to the nearest float64, or return -1 where 128 bits do not decide.

    Lemire 2021, Algorithm 1, without its cases for tiny and huge powers.
    """
    shift = leading_zeros(mantissa)
    mantissa <<= shift
    five = POWERS_OF_FIVE[power + MAX_POWER, 0]
    high, low = high_product(mantissa, five), mantissa * five
    if high & ULL(0x1FF) == ULL(0x1FF):
        more = high_product(mantissa, POWERS_OF_FIVE[power + MAX_POWER, 1])
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
    return math.ldexp(float(bits), ((217706 * power) >> 16) + 11 + np.int64(top) - np.int64(shift))


@compiled
def _spells_not_finite(text: Any, p: int) -> bool:
    """Whether the token is nan, inf or infinity, in any case."""
    end = p
    while not is_end(at(text, end)) and end - p < 9:
        end += 1
    spelled = INFINITY if at(text, p) | 32 == 105 else NAN
    if end - p not in (3, spelled.size):
        return False
    same = True
    for k in range(end - p):
        same &= text[p + k] | 32 == spelled[k]
    return same
