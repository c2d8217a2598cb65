"""LIBSVM text, many lines at a time: those that are a label and pairs, one space between them.

All cells of a segment are found first, then all indices read, then all values. Where anything is out of the way the
line is read again, token by token.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.cells import (
    LENGTH,
    ROOM,
    earlier_words,
    find_cells,
    lift,
    longer_decimals,
    longer_than,
    short_decimals,
    short_integers,
)
from rosenblatt.data.scanners.compiled import compiled, inlined
from rosenblatt.data.scanners.decimals import FINE, ONE, TWO, ULL, at, decimal, is_digit
from rosenblatt.data.scanners.libsvm_loop import Counts, Read, careful_line, skip_spaces, value_at
from rosenblatt.data.scanners.wide import word

MOST_ODD = 4  # values, or lines, that are read together for one that is not, or it does not pay


class Desk(NamedTuple):
    """What is known of the cells of a segment, and of the pairs among them."""

    starts: NDArray[Any]  # uint32
    line_ends: NDArray[Any]  # uint32
    index_words: NDArray[Any]  # uint64
    index_shapes: NDArray[Any]  # uint32
    value_words: NDArray[Any]  # uint64
    value_earlier: NDArray[Any]  # uint64
    value_shapes: NDArray[Any]  # uint32
    value_ends: NDArray[Any]  # uint32
    odd: NDArray[Any]  # bool


def new_desk() -> Desk:
    """Return room for what is known of a segment."""
    u32, u64 = np.uint32, np.uint64
    return Desk(*(np.empty(ROOM, kind) for kind in (u32, u32, u64, u32, u64, u64, u32, u32, np.bool_)))


@compiled
def scan_lines(text: Any, base: int, lowest: int, read: Read, desk: Desk) -> Counts:
    """Fill the arrays, and return how much of them; ``lowest`` is the lowest index that is allowed, less ``base``."""
    p: Any = ULL(0)
    line: Any = np.int64(0)  # typed: for a literal zero the functions called would be compiled a second time
    so_far = Counts(0, 0, 0, 0, -1)
    many_at_once = True
    while p < ULL(text.size):
        n_lines = find_cells(text, p, 32, 58, desk.starts, desk.line_ends) if many_at_once else 0
        if n_lines == 0:  # too near to an end of the text, or a long line
            p, so_far = careful_line(text, p, base, lowest, read, so_far, line)
            line += 1
        j: Any = np.int64(0)
        n_careful = 0
        while j < n_lines:
            before = so_far
            done, n_odd, so_far = _plain_lines(text, base, lowest, read, desk, j, n_lines, so_far, line)
            many_at_once &= MOST_ODD * n_odd <= so_far.pairs - before.pairs
            j, line = j + done, line + done
            p = _line_start(desk, j)
            if j < n_lines:
                p, so_far = careful_line(text, p, base, lowest, read, so_far, line)
                j, line, n_careful = j + 1, line + 1, n_careful + 1
        many_at_once &= MOST_ODD * n_careful <= n_lines
    return so_far


@inlined
def _line_start(desk: Desk, j: int) -> Any:
    """Return where line ``j`` of a segment starts."""
    return ULL(desk.starts[ULL(desk.line_ends[ULL(j - 1)]) if j > 0 else ULL(0)])


@compiled
def _plain_lines(
    text: Any, base: int, lowest: int, read: Read, desk: Desk, j: int, n_lines: int, so_far: Counts, line: int
) -> tuple[int, int, Counts]:
    """Read lines of a segment from ``j`` on: (how many were read, odd values among them, how much there is then).

    It stops at a line that is not a label and pairs, one space between them.
    """
    rows, pairs, n = so_far.rows, so_far.pairs, ULL(0)
    first = ULL(desk.line_ends[ULL(j - 1)]) if j > 0 else ULL(0)
    while j < n_lines:
        end = ULL(desk.line_ends[ULL(j)])
        label, fine = _label(text, ULL(desk.starts[first]), ULL(desk.starts[first + ONE]) - ONE)
        lifted = _lifted(text, desk, first, end, n) if fine else -1
        if lifted < 0:
            break
        n += ULL(lifted)
        read.labels[ULL(rows)], read.lines[ULL(rows)] = label, line
        rows, line, j, first = rows + 1, line + 1, j + 1, end
        read.indptr[ULL(rows)] = pairs + np.int64(n)
    n_pairs: Any = np.int64(n)
    short_integers(desk.index_words, desk.index_shapes, n_pairs, base, read.indices, pairs)
    if longer_than(desk.value_shapes, n_pairs, np.uint32(8)) == 0:
        n_odd = short_decimals(desk.value_words, desk.value_shapes, n_pairs, read.values, pairs, desk.odd)
    else:
        earlier_words(text, desk.value_ends, n_pairs, desk.value_earlier)
        n_odd = longer_decimals(
            desk.value_earlier, desk.value_words, desk.value_shapes, n_pairs, read.values, pairs, desk.odd
        )
    found = Counts(rows, pairs + n_pairs, so_far.hard, so_far.bad, so_far.largest)
    if n_odd > 0 or not _all_ascend(read, lowest, so_far, found):
        found = _good_rows(text, lowest, read, desk, so_far, found)
    return found.rows - so_far.rows, n_odd, _with_largest(read, so_far, found)


@compiled
def _label(text: Any, p: Any, end: Any) -> tuple[float, bool]:
    """Read a label that fills its cell: (its value, whether it is one and not hard)."""
    number, stop, state = decimal(text, np.int64(p))
    return number, state == FINE and ULL(stop) == end and at(text, end) != 58


@compiled
def _lifted(text: Any, desk: Desk, first: Any, end: Any, n: Any) -> int:
    """Lift the pairs of a line, the ``n``-th and following; return how many there are, -1 where these are no pairs."""
    if end - first > ONE and desk.starts[end] - np.uint32(1) == desk.starts[end - ONE]:
        end -= ONE  # a space before the line end
    if (end - first) & ONE == 0 or not (end - first == ONE or is_digit(at(text, desk.starts[first + ONE]))):
        return -1
    wrong = False
    k, pairs = n, (end - first) >> ONE
    for c in range(first + ONE, end, TWO):
        start, value, after = (
            ULL(desk.starts[ULL(c)]),
            ULL(desk.starts[ULL(c) + ONE]),
            ULL(desk.starts[ULL(c) + TWO]),
        )
        wrong |= (at(text, value - ONE) != 58) | (at(text, after - ONE) == 58)
        desk.index_words[k] = word(text, value - ULL(9))
        desk.index_shapes[k] = value - ONE - start
        lift(text, value, after - ONE, desk.value_words, desk.value_shapes, k)
        desk.value_ends[k] = after - ONE
        k += ONE
    return -1 if wrong else np.int64(pairs)  # type: ignore[return-value]


@compiled
def _all_ascend(read: Read, lowest: int, before: Counts, found: Counts) -> bool:
    """Whether the indices of every row ascend, from the lowest on; one that is none counts as below all."""
    descents = 0
    for i in range(before.pairs + 1, found.pairs):
        descents += read.indices[ULL(i)] <= read.indices[ULL(i - 1)]
    for row in range(before.rows, found.rows):
        lo, hi = read.indptr[ULL(row)], read.indptr[ULL(row + 1)]
        if lo == hi:
            continue
        if read.indices[ULL(lo)] < lowest:
            return False
        descents -= lo > before.pairs and read.indices[ULL(lo)] <= read.indices[ULL(lo - 1)]
    return descents == 0


@compiled
def _good_rows(text: Any, lowest: int, read: Read, desk: Desk, before: Counts, found: Counts) -> Counts:
    """Read the values that are neither short nor plain, and return how much there is before a line that is wrong."""
    hard = before.hard
    for row in range(before.rows, found.rows):
        lo, hi = read.indptr[ULL(row)], read.indptr[ULL(row + 1)]
        previous, first_hard, good = np.int64(lowest - 1), hard, True
        for i in range(lo, hi):
            good &= read.indices[ULL(i)] > previous
            previous = np.int64(read.indices[ULL(i)])
            k = ULL(i - before.pairs)
            if not (good and desk.odd[k]):
                continue
            shape, end = desk.value_shapes[k], np.int64(desk.value_ends[k])
            start = end - np.int64(shape & LENGTH) - np.int64(shape > LENGTH)
            number, stop, is_hard, wrong = value_at(text, start)
            good = wrong == 0 and (stop == end or (at(text, end) == 10 and skip_spaces(text, stop) == end))
            read.values[ULL(i)] = number
            if is_hard:
                read.hard[hard, 0], read.hard[hard, 1], read.hard[hard, 2] = i, start, stop
                hard += 1
        if not good:
            return Counts(row, lo, first_hard, before.bad, before.largest)
    return Counts(found.rows, found.pairs, hard, before.bad, before.largest)


@compiled
def _with_largest(read: Read, before: Counts, found: Counts) -> Counts:
    largest: Any = found.largest
    for row in range(before.rows, found.rows):
        hi = read.indptr[ULL(row + 1)]
        if hi > read.indptr[ULL(row)]:
            largest = max(largest, np.int64(read.indices[ULL(hi - 1)]))  # indices ascend
    return Counts(found.rows, found.pairs, found.hard, found.bad, largest)
