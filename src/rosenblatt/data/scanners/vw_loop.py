"""The compiled loops of the Vowpal Wabbit scanner, and the table of names.

Bytes are written as numbers: 10 line end, 32 space, 39 ``'``, 58 ``:``, 94 ``^``, 124 ``|``.
Every loop stops at a line end, and the text ends in one, so no loop tests for the end of the text.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import compiled, compiled_with_arrays
from rosenblatt.data.scanners.decimals import HARD, NOT_A_NUMBER, NOT_FINITE, at, decimal

# What can be wrong with a line; vowpal_wabbit.py says it in words.
NO_BAR, BAD_LABEL, LABEL_NOT_FINITE, BAD_IMPORTANCE, HAS_BASE = 1, 2, 3, 4, 5
BAD_SCALE, NO_NAME, BAD_VALUE, VALUE_NOT_FINITE, NOTHING_EXPECTED = 6, 7, 8, 9, 10


def _crc_table() -> NDArray[np.uint32]:
    """Return CRC-32 of every byte (reflected polynomial 0xEDB88320), as zlib has it."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0xEDB88320) ^ (table >> np.uint32(1)), table >> np.uint32(1))
    return table


CRC = _crc_table()
ALL_ONES = np.uint32(0xFFFFFFFF)
EIGHT = np.uint32(8)
BYTE = np.uint32(0xFF)


@compiled
def crc_over(crc: Any, text: Any, lo: int, hi: int) -> Any:
    """Continue an inverted CRC-32 over some bytes."""
    for p in range(lo, hi):
        crc = CRC[(crc ^ np.uint32(at(text, p))) & BYTE] ^ (crc >> EIGHT)
    return crc


@compiled
def _ends_name(c: int) -> bool:
    """Whether a name ends before this byte: white space, a colon, a bar or a line end."""
    return 9 <= c <= 13 or c in (32, 58, 124)


@compiled
def _is_space(c: int) -> bool:
    return c in (32, 9) or 11 <= c <= 13


@compiled
def _number(text: Any, p: int) -> tuple[float, int, int]:
    """Read a decimal that must fill its token: (value, where it ends, HARD, NOT_FINITE, NOT_A_NUMBER or 0)."""
    number, end, state = decimal(text, p)
    c = at(text, end)
    if state != NOT_FINITE and not (c in (10, 124) or _is_space(c)):
        state = NOT_A_NUMBER
    return number, end, state


@compiled
def _head(text: Any, p: int, numbers: Any, spans: Any) -> tuple[int, int, int, int]:
    """Read what stands before the first bar: (how many numbers, where the bar is, what is wrong, where).

    ``numbers`` gets label, importance and base, ``spans`` where each starts and ends and whether it is hard.
    A token that touches the bar, or begins with a quote, is a tag.
    """
    n = 0
    tagged = False
    while True:
        while _is_space(at(text, p)):
            p += 1
        c = at(text, p)
        if c == 124:
            return n, p, 0, p
        if c == 10:
            return n, p, NO_BAR, p
        end = p
        while not (at(text, end) == 10 or at(text, end) == 124 or _is_space(at(text, end))):
            end += 1
        if tagged:
            return n, p, NOTHING_EXPECTED, p
        if c == 39 or at(text, end) == 124:
            tagged = True
            p = end
            continue
        if n == 3:
            return n, p, NOTHING_EXPECTED, p
        number, stop, state = _number(text, p)
        if state in (NOT_A_NUMBER, NOT_FINITE):
            wrong = BAD_IMPORTANCE if n > 0 else (LABEL_NOT_FINITE if state == NOT_FINITE else BAD_LABEL)
            return n, p, wrong, p
        numbers[n] = number
        spans[n, 0], spans[n, 1], spans[n, 2] = p, stop, state == HARD
        n += 1
        p = stop


@compiled_with_arrays
def scan_vw_lines(
    text: Any,
    labels: Any,
    weights: Any,
    labelled: Any,
    indptr: Any,
    names: Any,
    crcs: Any,
    values: Any,
    lines: Any,
    hard: Any,
    bad: Any,
) -> tuple[int, int, int]:
    """Fill the arrays; return how many rows, hard decimals and bad lines there are.

    ``names`` gets (namespace start, its end, feature start, its end) of every feature, ``crcs`` CRC-32 of
    ``namespace^feature``. ``hard`` gets (kind, slot, start, end, scale's start, scale's end) of decimals left to
    Python: kind 0 a label, 1 an importance, 2 a base, 3 a value, 4 a scale. A bad line leaves nothing else.
    """
    p = line = row = pair = n_hard = n_bad = 0
    numbers = np.empty(3)
    spans = np.empty((3, 3), np.int64)
    while p < text.size:
        q = p
        while _is_space(at(text, q)):
            q += 1
        blank = at(text, q) == 10
        first_pair, first_hard, wrong, token = pair, n_hard, 0, q
        if not blank:
            n, p, wrong, token = _head(text, q, numbers, spans)
            labels[row], weights[row], labelled[row] = numbers[0], 1.0, n > 0
            if wrong == 0 and n > 1:
                weights[row] = numbers[1]
                if numbers[1] < 0.0 and not spans[1, 2]:
                    wrong, token = BAD_IMPORTANCE, spans[1, 0]
            if wrong == 0 and n > 2 and numbers[2] != 0.0 and not spans[2, 2]:
                wrong, token = HAS_BASE, spans[2, 0]
            for k in range(n):
                if wrong == 0 and spans[k, 2]:
                    hard[n_hard, 0], hard[n_hard, 1] = k, row
                    hard[n_hard, 2], hard[n_hard, 3] = spans[k, 0], spans[k, 1]
                    hard[n_hard, 4] = hard[n_hard, 5] = 0
                    n_hard += 1
        while not blank and wrong == 0 and at(text, p) == 124:
            p += 1
            space = p
            while not (at(text, p) == 10 or _ends_name(at(text, p))):
                p += 1
            space_end = p
            scale = 1.0
            scale_lo = scale_hi = 0
            if at(text, p) == 58:
                token = p + 1
                scale, p, state = _number(text, p + 1)
                if state in (NOT_A_NUMBER, NOT_FINITE) or space_end == space:
                    wrong = BAD_SCALE
                    break
                if state == HARD:
                    scale_lo, scale_hi = token, p
                    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2], hard[n_hard, 3] = 4, row, token, p
                    hard[n_hard, 4] = hard[n_hard, 5] = 0
                    n_hard += 1
            crc_space = ALL_ONES
            if space_end > space:
                crc_space = crc_over(ALL_ONES, text, space, space_end)
                crc_space = CRC[(crc_space ^ np.uint32(94)) & BYTE] ^ (crc_space >> EIGHT)
            while wrong == 0:
                while _is_space(at(text, p)):
                    p += 1
                if at(text, p) == 10 or at(text, p) == 124:
                    break
                token = p
                crc = crc_space
                while not (at(text, p) == 10 or _ends_name(at(text, p))):
                    crc = CRC[(crc ^ np.uint32(at(text, p))) & BYTE] ^ (crc >> EIGHT)
                    p += 1
                if p == token:
                    wrong = NO_NAME
                    break
                names[pair, 0], names[pair, 1], names[pair, 2], names[pair, 3] = space, space_end, token, p
                crcs[pair] = crc ^ ALL_ONES
                value, state = 1.0, 0
                start = p
                if at(text, p) == 58:
                    start = p + 1
                    value, p, state = _number(text, start)
                    if state == NOT_A_NUMBER:
                        wrong = BAD_VALUE
                    elif state == NOT_FINITE:
                        wrong = VALUE_NOT_FINITE
                if state == HARD or scale_hi > 0:
                    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2], hard[n_hard, 3] = 3, pair, start, p
                    hard[n_hard, 4], hard[n_hard, 5] = scale_lo, scale_hi
                    values[pair] = scale
                    n_hard += 1
                else:
                    values[pair] = value * scale
                    if not np.isfinite(values[pair]):
                        wrong = VALUE_NOT_FINITE
                pair += 1
        if wrong != 0:
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = line, wrong, token
            n_bad += 1
            pair, n_hard = first_pair, first_hard
        elif not blank:
            lines[row] = line
            row += 1
            indptr[row] = pair
        p = max(p, q)
        while at(text, p) != 10:
            p += 1
        p += 1
        line += 1
    return row, n_hard, n_bad


@compiled
def count_rows_and_names(text: Any) -> tuple[int, int, int]:
    """Return how many line ends and bars there are, and at most how many features: each is after a space or bar."""
    rows = names = bars = 0
    before = False
    for byte in text:
        space = byte == 32 or 9 <= byte <= 13 or byte == 124
        names += before and not space
        before = space
        rows += byte == 10
        bars += byte == 124
    return rows, bars, names


@compiled
def _same(text: Any, name: Any, arena: Any, lo: int, hi: int) -> bool:
    """Whether the name stands at ``arena[lo:hi]``: ``namespace^feature``, or the feature alone."""
    space, length = name[1] - name[0], name[3] - name[2]
    prefix = space + 1 if space > 0 else 0
    same = hi - lo == prefix + length and (space == 0 or arena[lo + space] == 94)
    k = 0
    while same and k < space:
        same = arena[lo + k] == text[name[0] + k]
        k += 1
    k = 0
    while same and k < length:
        same = arena[lo + prefix + k] == text[name[2] + k]
        k += 1
    return same


@compiled
def find_names(
    text: Any,
    names: Any,
    crcs: Any,
    first: int,
    slots: Any,
    arena: Any,
    starts: Any,
    known: Any,
    size: int,
    grow: bool,
    out: Any,
) -> tuple[int, int]:
    """Give every name from ``first`` on its number; return (how many names are done, how many the table holds).

    It stops early where the table has no room for a new name. A name the table does not know gets -1 unless it grows.
    """
    mask = slots.shape[0] - 1
    for i in range(first, names.shape[0]):
        slot = np.int64(crcs[i]) & mask
        found = -1
        while slots[slot] >= 0:
            k = slots[slot]
            if known[k] == crcs[i] and _same(text, names[i], arena, starts[k], starts[k + 1]):
                found = k
                break
            slot = (slot + 1) & mask
        if found < 0 and grow:
            space, length = names[i, 1] - names[i, 0], names[i, 3] - names[i, 2]
            prefix = space + 1 if space > 0 else 0
            lo = starts[size]
            full = 2 * (size + 1) > slots.shape[0] or size + 2 > starts.shape[0]
            if full or lo + prefix + length > arena.shape[0]:
                return i, size
            for k in range(space):
                arena[lo + k] = text[names[i, 0] + k]
            if space > 0:
                arena[lo + space] = 94
            for k in range(length):
                arena[lo + prefix + k] = text[names[i, 2] + k]
            starts[size + 1] = lo + prefix + length
            known[size] = crcs[i]
            slots[slot] = size
            found = size
            size += 1
        out[i] = found
    return names.shape[0], size


@compiled
def put_in_slots(slots: Any, known: Any, size: int) -> None:
    """Put every name into an empty table of slots."""
    mask = slots.shape[0] - 1
    for k in range(size):
        slot = np.int64(known[k]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = k


@compiled_with_arrays
def sort_and_sum(indptr: Any, places: Any, values: Any) -> int:
    """Sort every row by place, adding up what shares one and leaving out -1; return how many entries are left.

    ``indptr``, ``places`` and ``values`` are overwritten.
    """
    kept = 0
    for row in range(indptr.shape[0] - 1):
        lo, hi = indptr[row], indptr[row + 1]
        ascending = True
        for k in range(lo + 1, hi):
            if places[k] <= places[k - 1]:
                ascending = False
                break
        if not ascending:
            order = np.argsort(places[lo:hi], kind="mergesort")  # stable: sums in the order of the line
            places[lo:hi] = places[lo:hi][order]
            values[lo:hi] = values[lo:hi][order]
        first = kept
        for k in range(lo, hi):
            if places[k] < 0:
                continue
            if kept > first and places[kept - 1] == places[k]:
                values[kept - 1] += values[k]
            else:
                places[kept], values[kept] = places[k], values[k]
                kept += 1
        indptr[row] = first
    indptr[indptr.shape[0] - 1] = kept
    return kept
