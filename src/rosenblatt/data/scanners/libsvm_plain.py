"""Parse LIBSVM text many lines at a time, where a line is a label and pairs separated by single spaces.

The scanner finds all cells of a segment, then parses all indices, then all values. It parses any other line token by
token.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.cells import (
    LENGTH,
    MAX_CELLS,
    count_longer,
    find_cells,
    load_earlier_words,
    load_number,
    longer_decimals,
    short_decimals,
    short_integers,
)
from rosenblatt.data.scanners.compiled import compiled, inlined
from rosenblatt.data.scanners.decimals import ONE, ROUNDED, TWO, ULL, at, decimal, is_digit
from rosenblatt.data.scanners.libsvm_loop import Counts, Output, parse_line, parse_value, skip_spaces
from rosenblatt.data.scanners.wide import word

MIN_PLAIN_RATIO = (
    4  # plain values per odd value, or lines per other line, that make parsing together worthwhile
)


class Buffers(NamedTuple):
    """Buffers for the cells of a segment, and for the pairs among them."""

    starts: NDArray[Any]  # uint32
    line_ends: NDArray[Any]  # uint32
    index_words: NDArray[Any]  # uint64
    index_shapes: NDArray[Any]  # uint32
    value_words: NDArray[Any]  # uint64
    value_earlier: NDArray[Any]  # uint64
    value_shapes: NDArray[Any]  # uint32
    value_ends: NDArray[Any]  # uint32
    odd: NDArray[Any]  # bool


def new_buffers() -> Buffers:
    """Allocate the buffers of a segment."""
    u32, u64 = np.uint32, np.uint64
    return Buffers(
        *(np.empty(MAX_CELLS, kind) for kind in (u32, u32, u64, u32, u64, u64, u32, u32, np.bool_))
    )


@compiled
def scan_lines(text: Any, base: int, lowest: int, out: Output, buffers: Buffers) -> Counts:
    """Fill the output and return its sizes; ``lowest`` is the lowest valid index, less ``base``."""
    p: Any = ULL(0)
    line: Any = np.int64(0)  # typed: with a literal 0, numba would compile the called functions twice
    counts = Counts(0, 0, 0, 0, -1)
    vectorized = True
    while p < ULL(text.size):
        n_lines = find_cells(text, p, 32, 58, buffers.starts, buffers.line_ends) if vectorized else 0
        if n_lines == 0:  # too close to an end of the text, or a long line
            p, counts = parse_line(text, p, base, lowest, out, counts, line)
            line += 1
        j: Any = np.int64(0)
        n_other = 0
        while j < n_lines:
            before = counts
            done, n_odd, counts = _parse_plain_lines(
                text, base, lowest, out, buffers, j, n_lines, counts, line
            )
            vectorized &= MIN_PLAIN_RATIO * n_odd <= counts.pairs - before.pairs
            j, line = j + done, line + done
            p = _line_start(buffers, j)
            if j < n_lines:
                p, counts = parse_line(text, p, base, lowest, out, counts, line)
                j, line, n_other = j + 1, line + 1, n_other + 1
        vectorized &= MIN_PLAIN_RATIO * n_other <= n_lines
    return counts


@inlined
def _line_start(buffers: Buffers, j: int) -> Any:
    """Return the start of line ``j`` of a segment."""
    return ULL(buffers.starts[ULL(buffers.line_ends[ULL(j - 1)]) if j > 0 else ULL(0)])


@compiled
def _parse_plain_lines(
    text: Any,
    base: int,
    lowest: int,
    out: Output,
    buffers: Buffers,
    j: int,
    n_lines: int,
    counts: Counts,
    line: int,
) -> tuple[int, int, Counts]:
    """Parse plain lines of a segment from line ``j`` on: (lines parsed, odd values among them, counts with them).

    Stop at a line that is not a label and pairs separated by single spaces, or that is invalid.
    """
    rows, pairs, n = counts.rows, counts.pairs, ULL(0)
    first = ULL(buffers.line_ends[ULL(j - 1)]) if j > 0 else ULL(0)
    while j < n_lines:
        end = ULL(buffers.line_ends[ULL(j)])
        label, fine = _parse_label(text, ULL(buffers.starts[first]), ULL(buffers.starts[first + ONE]) - ONE)
        n_loaded = _load_pairs(text, buffers, first, end, n) if fine else -1
        if n_loaded < 0:
            break
        n += ULL(n_loaded)
        out.labels[ULL(rows)], out.lines[ULL(rows)] = label, line
        rows, line, j, first = rows + 1, line + 1, j + 1, end
        out.indptr[ULL(rows)] = pairs + np.int64(n)
    n_pairs: Any = np.int64(n)
    short_integers(buffers.index_words, buffers.index_shapes, n_pairs, base, out.indices, pairs)
    if count_longer(buffers.value_shapes, n_pairs, np.uint32(8)) == 0:
        n_odd = short_decimals(
            buffers.value_words, buffers.value_shapes, n_pairs, out.values, pairs, buffers.odd
        )
    else:
        load_earlier_words(text, buffers.value_ends, n_pairs, buffers.value_earlier)
        n_odd = longer_decimals(
            buffers.value_earlier,
            buffers.value_words,
            buffers.value_shapes,
            n_pairs,
            out.values,
            pairs,
            buffers.odd,
        )
    after = Counts(rows, pairs + n_pairs, counts.hard, counts.bad, counts.largest)
    if n_odd > 0 or not _all_ascend(out, lowest, counts, after):
        after = _parse_odd_values(text, lowest, out, buffers, counts, after)
    return after.rows - counts.rows, n_odd, _with_largest(out, counts, after)


@compiled
def _parse_label(text: Any, p: Any, end: Any) -> tuple[float, bool]:
    """Parse a label that must fill its cell: (value, whether it is a label and not hard)."""
    number, stop, state = decimal(text, np.int64(p))
    return number, state == ROUNDED and ULL(stop) == end and at(text, end) != 58


@compiled
def _load_pairs(text: Any, buffers: Buffers, first: Any, end: Any, n: Any) -> int:
    """Load the pairs of a line into the buffers from ``n`` on; return how many, -1 where the cells are not pairs."""
    if end - first > ONE and buffers.starts[end] - np.uint32(1) == buffers.starts[end - ONE]:
        end -= ONE  # a space before the line end
    if (end - first) & ONE == 0 or not (
        end - first == ONE or is_digit(at(text, buffers.starts[first + ONE]))
    ):
        return -1
    error = False
    k, pairs = n, (end - first) >> ONE
    for c in range(first + ONE, end, TWO):
        start, value, after = (
            ULL(buffers.starts[ULL(c)]),
            ULL(buffers.starts[ULL(c) + ONE]),
            ULL(buffers.starts[ULL(c) + TWO]),
        )
        error |= (at(text, value - ONE) != 58) | (at(text, after - ONE) == 58)
        buffers.index_words[k] = word(text, value - ULL(9))
        buffers.index_shapes[k] = value - ONE - start
        load_number(text, value, after - ONE, buffers.value_words, buffers.value_shapes, k)
        buffers.value_ends[k] = after - ONE
        k += ONE
    return -1 if error else np.int64(pairs)  # type: ignore[return-value]


@compiled
def _all_ascend(out: Output, lowest: int, before: Counts, after: Counts) -> bool:
    """Whether the indices of every row ascend from ``lowest``; an invalid index (-2) counts as below all."""
    descents = 0
    for i in range(before.pairs + 1, after.pairs):
        descents += out.indices[ULL(i)] <= out.indices[ULL(i - 1)]
    for row in range(before.rows, after.rows):
        lo, hi = out.indptr[ULL(row)], out.indptr[ULL(row + 1)]
        if lo == hi:
            continue
        if out.indices[ULL(lo)] < lowest:
            return False
        descents -= lo > before.pairs and out.indices[ULL(lo)] <= out.indices[ULL(lo - 1)]
    return descents == 0


@compiled
def _parse_odd_values(
    text: Any, lowest: int, out: Output, buffers: Buffers, before: Counts, after: Counts
) -> Counts:
    """Parse the odd values; return the counts before the first invalid line."""
    hard = before.hard
    for row in range(before.rows, after.rows):
        lo, hi = out.indptr[ULL(row)], out.indptr[ULL(row + 1)]
        previous, first_hard, valid = np.int64(lowest - 1), hard, True
        for i in range(lo, hi):
            valid &= out.indices[ULL(i)] > previous
            previous = np.int64(out.indices[ULL(i)])
            k = ULL(i - before.pairs)
            if not (valid and buffers.odd[k]):
                continue
            shape, end = buffers.value_shapes[k], np.int64(buffers.value_ends[k])
            start = end - np.int64(shape & LENGTH) - np.int64(shape > LENGTH)
            number, stop, is_hard, error = parse_value(text, start)
            valid = error == 0 and (stop == end or (at(text, end) == 10 and skip_spaces(text, stop) == end))
            out.values[ULL(i)] = number
            if is_hard:
                out.hard[hard, 0], out.hard[hard, 1], out.hard[hard, 2] = i, start, stop
                hard += 1
        if not valid:
            return Counts(row, lo, first_hard, before.bad, before.largest)
    return Counts(after.rows, after.pairs, hard, before.bad, before.largest)


@compiled
def _with_largest(out: Output, before: Counts, after: Counts) -> Counts:
    """Return the counts with the largest index of the new rows."""
    largest: Any = after.largest
    for row in range(before.rows, after.rows):
        hi = out.indptr[ULL(row + 1)]
        if hi > out.indptr[ULL(row)]:
            largest = max(largest, np.int64(out.indices[ULL(hi - 1)]))  # indices ascend
    return Counts(after.rows, after.pairs, after.hard, after.bad, largest)
