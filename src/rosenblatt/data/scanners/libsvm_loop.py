"""Parse LIBSVM text token by token: any valid line, and the error of an invalid one.

Bytes are compared as numbers: 10 line end, 32 space, 35 ``#``, 58 ``:``.
Every loop stops at a line end and the text ends with one, so no loop tests for the end of the text.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import compiled, inlined
from rosenblatt.data.scanners.decimals import (
    EIGHT,
    HARD,
    NOT_A_NUMBER,
    NOT_FINITE,
    ONE,
    ULL,
    at,
    decimal,
    digits,
    is_digit,
    is_end,
    plain_decimal,
)
from rosenblatt.data.scanners.wide import MASK, WINDOW, equal_to, first_bit, not_digits, word

# Errors of a line; data/libsvm.py has their messages.
NO_LABEL, BAD_LABEL, LABEL_NOT_FINITE = 1, 2, 3
BAD_PAIR, INDEX_ZERO, INDEX_REPEATED, INDEX_DESCENDS, INDEX_TOO_LARGE = 4, 5, 6, 7, 8
BAD_VALUE, VALUE_NOT_FINITE = 9, 10

LARGEST_INDEX = 2**31  # 1-based, so that 0-based indices fit in int32


@compiled
def find_index_zero(text: Any, start: int) -> int:
    """Return the first colon after ``start`` that follows white space and zeros, a candidate for index 0; else -1."""
    p: Any = start + 1
    while p < text.size:
        if p + WINDOW < text.size:
            colons = equal_to(text, p, 58) & equal_to(text, p - 1, 48)
            if colons == 0:
                p += MASK
                continue
            p += np.int64(first_bit(colons))
        if at(text, p) == 58 and at(text, p - 1) == 48:
            first = p - 1
            while first > 0 and at(text, first - 1) == 48:
                first -= 1
            if first > 0 and at(text, first - 1) != 10 and is_end(at(text, first - 1)):
                return int(p)
        p += 1
    return -1


@compiled
def skip_spaces(text: Any, p: Any) -> Any:
    """Return the start of the next token, comment or line end."""
    while at(text, p) == 32 or at(text, p) == 9 or 11 <= at(text, p) <= 13:
        p += 1
    return p


@inlined
def _parse_finite(
    text: Any, p: Any, not_finite_error: int, not_a_number_error: int
) -> tuple[float, Any, bool, int]:
    """Parse a decimal that must fill its token: (value, end, whether it is hard, error or 0)."""
    number, end, state = decimal(text, p)
    if state == NOT_FINITE:
        return number, end, False, not_finite_error
    if state == NOT_A_NUMBER or not is_end(at(text, end)):
        return number, end, False, not_a_number_error
    return number, end, state == HARD, 0


@compiled
def _skip_query(text: Any, p: int) -> tuple[int, int]:
    """Skip ``qid:N`` if it is at ``p``: (its end, error or 0)."""
    if at(text, p) != 113 or at(text, p + 1) != 105 or at(text, p + 2) != 100 or at(text, p + 3) != 58:
        return p, 0
    end = p + 4
    while is_digit(at(text, end)):
        end += 1
    return (end, 0) if end > p + 4 and is_end(at(text, end)) else (p, BAD_PAIR)


@inlined
def _parse_index(text: Any, p: int, base: int, lowest: int, previous: int) -> tuple[int, int, int]:
    """Parse ``index:`` and return (the index less ``base``, start of the value, error or 0)."""
    start = p
    while at(text, p) == 48:
        p += 1
    first = p
    index = 0
    while is_digit(at(text, p)):
        index = index * 10 + (at(text, p) - 48)
        p += 1
    index = LARGEST_INDEX if p - first > 18 else index - base
    error = 0
    if p == start or at(text, p) != 58:
        error = BAD_PAIR
    elif index < lowest:
        error = INDEX_ZERO
    elif index >= LARGEST_INDEX:
        error = INDEX_TOO_LARGE
    elif index <= previous:
        error = INDEX_REPEATED if index == previous else INDEX_DESCENDS
    return index, p + 1, error


@inlined
def _parse_plain_pair(text: Any, p: Any, base: int) -> tuple[Any, float, Any, bool]:
    """Parse a short, plain ``index:value``: (index less ``base``, value, end relative to ``p``, whether it is plain).

    The caller parses what is not plain one byte at a time.
    """
    stops, colons = not_digits(text, p), equal_to(text, p, 58)
    minus = equal_to(text, p, 45) & (colons << ONE)  # a sign is part of the number only right after a colon
    stops &= ~minus
    colon = first_bit(stops)
    negative = (minus >> ((colon + ONE) & ULL(63))) & ONE
    number, end, plain = plain_decimal(text, p, colon + ONE + negative, stops & (stops - ONE))
    index = np.int64(digits(word(text, p), colon)) - base
    plain &= colon - ONE < EIGHT and (colons >> colon) & ONE != 0
    return index, -number if negative else number, end, plain


class Output(NamedTuple):
    """Output arrays of the scanner. A bad line adds nothing but its entry in ``bad``."""

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]
    # (slot, start, end) of each decimal left to Python; the slot of ``values[i]`` is i, that of ``labels[i]`` -1-i
    hard: NDArray[np.int64]
    bad: NDArray[np.int64]  # (line, error, start of the token)


class Counts(NamedTuple):
    """Sizes of the output so far."""

    rows: int
    pairs: int
    hard: int
    bad: int
    largest: int  # index less ``base``


@compiled
def parse_value(text: Any, p: Any) -> tuple[float, Any, bool, int]:
    """Parse a value of any length: (value, end, whether it is hard, error or 0)."""
    if p < text.size - WINDOW:
        negative = at(text, p) == 45
        number, length, plain = plain_decimal(
            text, ULL(p), ULL(negative), not_digits(text, p) & ~ULL(negative)
        )
        end = p + np.int64(length)
        if plain and is_end(at(text, end)):
            return -number if negative else number, end, False, 0
    return _parse_finite(text, p, VALUE_NOT_FINITE, BAD_VALUE)


@compiled
def parse_line(
    text: Any, p: Any, base: int, lowest: int, out: Output, counts: Counts, line: int
) -> tuple[Any, Counts]:
    """Parse a line token by token: (start of the next line, counts with this one)."""
    row, pair, n_hard, n_bad, largest = counts
    last_window = text.size - WINDOW
    p = token = skip_spaces(text, np.int64(p))
    blank = at(text, p) == 10 or at(text, p) == 35
    error = 0
    previous: Any = np.int64(lowest - 1)
    if not blank:
        out.labels[row], p, hard, error = _parse_finite(text, p, LABEL_NOT_FINITE, BAD_LABEL)
        if error == BAD_LABEL and at(text, p) == 58:
            error = NO_LABEL
        if hard:
            out.hard[n_hard, 0], out.hard[n_hard, 1], out.hard[n_hard, 2] = -1 - row, token, p
            n_hard += 1
    if not blank and error == 0:
        p = token = skip_spaces(text, p)
        p, error = _skip_query(text, p)
    while not blank and error == 0:
        while p < last_window:
            index, number, length, plain = _parse_plain_pair(text, ULL(p), base)
            after = at(text, ULL(p) + length)
            if not plain or after not in (32, 10) or index <= previous:
                break
            previous = out.indices[ULL(pair)] = index
            out.values[ULL(pair)] = number
            pair += 1
            p += np.int64(length) + 1
            if after == 10:
                p -= 1
                break
        p = token = skip_spaces(text, p)
        if at(text, p) == 10 or at(text, p) == 35:
            break
        previous, start, error = _parse_index(text, p, base, lowest, previous)
        if error != 0:
            break
        out.indices[pair] = previous
        out.values[pair], p, hard, error = _parse_finite(text, start, VALUE_NOT_FINITE, BAD_VALUE)
        if hard:
            out.hard[n_hard, 0], out.hard[n_hard, 1], out.hard[n_hard, 2] = pair, start, p
            n_hard += 1
        pair += 1
    if error != 0:
        out.bad[n_bad, 0], out.bad[n_bad, 1], out.bad[n_bad, 2] = line, error, token
        n_bad += 1
        pair, n_hard = counts.pairs, counts.hard
    elif not blank:
        out.lines[row] = line
        row += 1
        out.indptr[row] = pair
        largest = max(largest, previous)  # indices ascend
    while at(text, p) != 10:
        p += 1
    return ULL(p + 1), Counts(row, pair, n_hard, n_bad, np.int64(largest))  # type: ignore[arg-type]
