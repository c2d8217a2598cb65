"""A compiled scanner of LIBSVM text that rounds every decimal correctly.

**Grammar** of a line: ``label [qid:N] index:value index:value ... [# comment]``, indices ascending strictly.

**Decimals.** With at most 19 digits whose integer is below 2^53 and a power of ten of at most 22, both are
exact in float64 and one division or multiplication rounds once (Clinger 1990, "fast path"). The rest,
already known to be well-formed, are left to Python's ``float``.

Everything compiled is in this one file: numba finds machine code again by the time stamp of its file.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

# What can be wrong with a line; libsvm.py says it in words.
NO_LABEL, BAD_LABEL, LABEL_NOT_FINITE = 1, 2, 3
BAD_PAIR, INDEX_ZERO, INDEX_REPEATED, INDEX_DESCENDS, INDEX_TOO_LARGE = 4, 5, 6, 7, 8
BAD_VALUE, VALUE_NOT_FINITE = 9, 10

LARGEST_INDEX = 2**31  # 1-based, so that 0-based indices fit in int32

FINE, HARD, NOT_FINITE, NOT_A_NUMBER = 0, 1, 2, 3
POWERS_OF_TEN = 10.0 ** np.arange(23)
TEN = np.uint64(10)
EXACT_BELOW = np.uint64(2**53)

F = TypeVar("F", bound=Callable[..., Any])


class Scan(NamedTuple):
    """The examples of a block of text, and what could not be read in it."""

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]  # offset of every row's line in the block, from 0
    bad: list[tuple[int, int, int]]  # (line offset, what is wrong, where the token starts in the block)


def scan(text: bytes, zero_based: bool = False) -> Scan:
    r"""Read a block of whole lines; a line that is wrong anywhere gives no row.

    >>> found = scan(b"+1 1:0.5 3:2e-3\n-1 2:nan\n")
    >>> found.labels, found.indices, found.values
    (array([1.]), array([0, 2], dtype=int32), array([0.5  , 0.002]))
    >>> found.bad == [(1, VALUE_NOT_FINITE, 19)]
    True
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    rows, pairs = text.count(b"\n"), text.count(b":")
    labels, lines = np.empty(rows), np.empty(rows, np.int64)
    indptr = np.zeros(rows + 1, np.int64)
    indices, values = np.empty(pairs, np.int32), np.empty(pairs)
    hard, bad = np.empty((rows + pairs, 3), np.int64), np.empty((rows, 3), np.int64)
    n_rows, n_hard, n_bad = _scan(
        np.frombuffer(text, np.uint8), zero_based, labels, indptr, indices, values, lines, hard, bad
    )
    n_pairs = indptr[n_rows]
    for slot, start, end in hard[:n_hard].tolist():
        if slot >= 0:
            values[slot] = float(text[start:end])
        else:
            labels[-1 - slot] = float(text[start:end])
    found = Scan(
        labels[:n_rows],
        indptr[: n_rows + 1],
        indices[:n_pairs],
        values[:n_pairs],
        lines[:n_rows],
        [tuple(entry) for entry in bad[:n_bad].tolist()],
    )
    return _without_overflow(found, hard[:n_hard]) if n_hard else found


def _without_overflow(found: Scan, hard: NDArray[np.int64]) -> Scan:
    """Drop the rows where a well-formed decimal is too large for a float64."""
    bad: dict[int, tuple[int, int, int]] = {}
    for slot, start, _ in hard.tolist():
        number = found.values[slot] if slot >= 0 else found.labels[-1 - slot]
        if not np.isfinite(number):
            row = int(np.searchsorted(found.indptr, slot, side="right")) - 1 if slot >= 0 else -1 - slot
            code = VALUE_NOT_FINITE if slot >= 0 else LABEL_NOT_FINITE
            bad.setdefault(row, (int(found.lines[row]), code, start))
    if not bad:
        return found
    keep = np.ones(found.labels.size, bool)
    keep[list(bad)] = False
    lengths = np.diff(found.indptr)
    pairs = np.repeat(keep, lengths)
    return Scan(
        found.labels[keep],
        np.concatenate([[0], np.cumsum(lengths[keep])]),
        found.indices[pairs],
        found.values[pairs],
        found.lines[keep],
        sorted([*found.bad, *bad.values()]),
    )


def _compiled(function: F) -> F:
    try:
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep machine code
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


@_compiled
def _is_end(c: int) -> bool:
    """Whether a token ends before this byte: white space, a line end or a comment."""
    return c == 32 or (9 <= c <= 13) or c == 35


@_compiled
def _skip_spaces(text: Any, p: int) -> int:
    while text[p] == 32 or text[p] == 9 or 11 <= text[p] <= 13:
        p += 1
    return p


@_compiled
def _number(text: Any, p: int) -> tuple[float, int, int]:
    """Read a decimal at ``p``: (its value, where it ends, FINE, HARD, NOT_FINITE or NOT_A_NUMBER)."""
    negative = text[p] == 45
    if negative or text[p] == 43:
        p += 1
    start = p
    mantissa = np.uint64(0)
    while text[p] - 48 <= 9 and text[p] >= 48:
        mantissa = mantissa * TEN + np.uint64(text[p] - 48)
        p += 1
    digits = p - start
    power = 0
    if text[p] == 46:
        p += 1
        start = p
        while text[p] - 48 <= 9 and text[p] >= 48:
            mantissa = mantissa * TEN + np.uint64(text[p] - 48)
            p += 1
        power = start - p
        digits -= power
    if digits == 0:
        return 0.0, p, NOT_FINITE if _spells_not_finite(text, p) else NOT_A_NUMBER
    if text[p] | 32 == 101:
        p += 1
        down = text[p] == 45
        if down or text[p] == 43:
            p += 1
        start = p
        exponent = 0
        while text[p] - 48 <= 9 and text[p] >= 48:
            exponent = min(exponent * 10 + (text[p] - 48), 100_000)
            p += 1
        if p == start:
            return 0.0, p, NOT_A_NUMBER
        power += -exponent if down else exponent
    if digits > 19 or mantissa >= EXACT_BELOW or not -22 <= power <= 22:
        return 0.0, p, HARD
    number = float(mantissa)
    number = number / POWERS_OF_TEN[-power] if power < 0 else number * POWERS_OF_TEN[power]
    return -number if negative else number, p, FINE


@_compiled
def _spells_not_finite(text: Any, p: int) -> bool:
    end = p
    while not _is_end(text[end]) and end - p < 9:
        end += 1
    if end - p not in (3, 8):
        return False
    first, second, third = text[p] | 32, text[p + 1] | 32, text[p + 2] | 32
    nan = first == 110 and second == 97 and third == 110
    infinite = first == 105 and second == 110 and third == 102
    return bool(nan or infinite)


@_compiled
def _scan(  # noqa: PLR0917 (the arrays it fills)
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
    """Fill the arrays; return how many rows, hard decimals and bad lines there are."""
    p = line = row = pair = n_hard = n_bad = 0
    base = 0 if zero_based else 1
    while p < text.size:
        p = _skip_spaces(text, p)
        first_pair, first_hard, wrong, token = pair, n_hard, 0, p
        blank = text[p] == 10 or text[p] == 35
        if not blank:
            number, p, state = _number(text, p)
            if state == NOT_FINITE:
                wrong = LABEL_NOT_FINITE
            elif state == NOT_A_NUMBER or not _is_end(text[p]):
                wrong = NO_LABEL if text[p] == 58 else BAD_LABEL
            elif state == HARD:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = -1 - row, token, p
                n_hard += 1
            labels[row] = number
            previous = -1
        while not blank and wrong == 0:
            p = _skip_spaces(text, p)
            token = p
            if text[p] == 10 or text[p] == 35:
                break
            query = previous < 0 and text[p] == 113  # "qid:N", right after the label
            if query and text[p + 1] == 105 and text[p + 2] == 100 and text[p + 3] == 58:
                p += 4
                start = p
                while 48 <= text[p] <= 57:
                    p += 1
                if p == start or not _is_end(text[p]):
                    wrong = BAD_PAIR
                continue
            index = 0
            while 48 <= text[p] <= 57:
                index = min(index * 10 + (text[p] - 48), LARGEST_INDEX + 1)
                p += 1
            if p == token or text[p] != 58:
                wrong = BAD_PAIR
            elif index - base < 0:
                wrong = INDEX_ZERO
            elif index - base >= LARGEST_INDEX:
                wrong = INDEX_TOO_LARGE
            elif index == previous:
                wrong = INDEX_REPEATED
            elif index < previous:
                wrong = INDEX_DESCENDS
            if wrong != 0:
                break
            start = p + 1
            number, p, state = _number(text, start)
            if state == NOT_FINITE:
                wrong = VALUE_NOT_FINITE
            elif state == NOT_A_NUMBER or not _is_end(text[p]):
                wrong = BAD_VALUE
            elif state == HARD:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = pair, start, p
                n_hard += 1
            indices[pair] = index - base
            values[pair] = number
            previous = index
            pair += 1
        if wrong != 0:
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = line, wrong, token
            n_bad += 1
            pair, n_hard = first_pair, first_hard
        elif not blank:
            lines[row] = line
            row += 1
            indptr[row] = pair
        while text[p] != 10:
            p += 1
        p += 1
        line += 1
    return row, n_hard, n_bad
