"""A compiled scanner of LIBSVM text that rounds every decimal correctly.

**Grammar** of a line: ``label [qid:N] index:value index:value ... [# comment]``, indices ascending strictly.

**Decimals.** An integer below 2^53 and a power of ten of at most 22 are exact in float64, and one division or
multiplication rounds once (Clinger 1990). Up to 19 digits, a product with 128 bits of the power of five decides
the rounding (Lemire 2021, "Number parsing at a gigabyte per second"). Python's ``float`` parses the rest, already
known to be well-formed.

**Lines.** Where a line is a label and pairs separated by single spaces, many are parsed at a time: all cells of a
segment are found, then all indices parsed, then all values. Any other line is parsed token by token, with its error.
Bytes are compared as numbers: 10 line end, 32 space, 35 ``#``, 58 ``:``. Every loop stops at a line end and the text
ends with one, so no loop tests for the end of the text.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.memory import BufferPool
from rosenblatt.data.scanners.cells import (
    LENGTH,
    MAX_CELLS,
    count_byte,
    count_longer,
    find_cells,
    load_earlier_words,
    load_number,
    longer_decimals,
    short_decimals,
    short_integers,
)
from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import (
    EIGHT,
    HARD,
    NOT_A_NUMBER,
    NOT_FINITE,
    ONE,
    ROUNDED,
    TWO,
    ULL,
    at,
    decimal,
    digits,
    is_digit,
    is_end,
    plain_decimal,
)
from rosenblatt.data.scanners.wide import MASK, WINDOW, equal_to, first_bit, not_digits, word

Text = bytes | bytearray | memoryview
# Errors of a line; data/libsvm.py has their messages.
NO_LABEL, BAD_LABEL, LABEL_NOT_FINITE = 1, 2, 3
BAD_PAIR, INDEX_ZERO, INDEX_REPEATED, INDEX_DESCENDS, INDEX_TOO_LARGE = 4, 5, 6, 7, 8
BAD_VALUE, VALUE_NOT_FINITE = 9, 10

LARGEST_INDEX = 2**31  # 1-based, so that 0-based indices fit in int32
MIN_PLAIN_RATIO = (
    4  # plain values per odd value, or lines per other line, that make parsing together worthwhile
)


class Scan(NamedTuple):
    """The examples of a block of text, and its bad lines."""

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]  # offset of every row's line in the block, from 0
    bad: list[tuple[int, int, int]]  # (line offset, error, start of the token in the block)
    n_lines: int  # of the block
    largest: int  # index; -1 without any
    has_zero: bool = False  # with ``zero_based=None``: the text has an index 0, given as -1


def scan(text: Text, zero_based: bool | None = False, pool: BufferPool | None = None) -> Scan:
    r"""Parse a block of whole lines; an invalid line gives no row.

    Indices in the text begin at 1, or at 0 with ``zero_based``; the result counts from 0. None means that the base is
    not known yet: indices are taken to begin at 1, and an index 0 becomes -1.

    >>> block = scan(b"+1 1:0.5 3:2e-3\n-1 2:nan\n")
    >>> block.labels, block.indices, block.values
    (array([1.]), array([0, 2], dtype=int32), array([0.5  , 0.002]))
    >>> block.bad == [(1, VALUE_NOT_FINITE, 19)]
    True
    """
    if text[-1:] != b"\n":
        text = bytes(text) + b"\n"
    data = as_bytes(text)
    pool = pool or BufferPool()
    rows, pairs = count_byte(data, 10), count_byte(data, 58)
    out = Output(
        labels=np.empty(rows),
        indptr=np.zeros(rows + 1, np.int64),
        indices=pool.empty(pairs, np.int32),
        values=pool.empty(pairs, np.float64),
        lines=np.empty(rows, np.int64),
        hard=np.empty((rows + pairs, 3), np.int64),
        bad=np.empty((rows, 3), np.int64),
    )
    base, lowest = 0 if zero_based else 1, -1 if zero_based is None else 0
    n = scan_lines(data, base, lowest, out, pool.singleton(new_buffers))
    result = Scan(
        out.labels[: n.rows],
        out.indptr[: n.rows + 1],
        out.indices[: n.pairs],
        out.values[: n.pairs],
        out.lines[: n.rows],
        [tuple(entry) for entry in out.bad[: n.bad].tolist()],
        rows,
        n.largest,
    )
    result = _parse_hard_decimals(result, text, out.hard[: n.hard]) if n.hard else result
    return result if zero_based is not None else result._replace(has_zero=_has_negative(result))


def _has_negative(result: Scan) -> bool:
    """Whether any row has a negative index; indices ascend, so the first of each row decides."""
    starts = result.indptr[:-1][np.diff(result.indptr) > 0]
    return bool((result.indices[starts] < 0).any())


def has_index_zero(text: bytes | bytearray) -> bool:
    r"""Whether any valid line of a block has an index 0; scans several gigabytes per second.

    >>> has_index_zero(b"1 1:1 # not 0:1\n-1 10:0 20:1\n"), has_index_zero(b"1 1:1\n1 0:2\n")
    (False, True)
    """
    data = as_bytes(text)
    colon = find_index_zero(data, 0)
    while colon >= 0:
        line = text[text.rfind(b"\n", 0, colon) + 1 :].split(b"\n", 1)[0]
        if (scan(line, zero_based=True).indices == 0).any():
            return True
        colon = find_index_zero(data, colon)
    return False


def _parse_hard_decimals(result: Scan, text: Text, hard: NDArray[np.int64]) -> Scan:
    """Parse the hard decimals in Python; a row with one beyond float64 is bad."""
    numbers = np.array([float(bytes(text[start:end])) for _, start, end in hard.tolist()])
    slots, of_value = hard[:, 0], hard[:, 0] >= 0
    result.values[slots[of_value]] = numbers[of_value]
    result.labels[-1 - slots[~of_value]] = numbers[~of_value]
    bad: dict[int, tuple[int, int, int]] = {}
    for slot, start, _ in hard[~np.isfinite(numbers)].tolist():
        row = int(np.searchsorted(result.indptr, slot, side="right")) - 1 if slot >= 0 else -1 - slot
        error = VALUE_NOT_FINITE if slot >= 0 else LABEL_NOT_FINITE
        bad.setdefault(row, (int(result.lines[row]), error, start))
    return _without_rows(result, bad) if bad else result


def _without_rows(result: Scan, bad: dict[int, tuple[int, int, int]]) -> Scan:
    """Remove the rows that turned out to be bad."""
    keep = np.ones(result.labels.size, bool)
    keep[list(bad)] = False
    lengths = np.diff(result.indptr)
    pairs = np.repeat(keep, lengths)
    return Scan(
        result.labels[keep],
        np.concatenate([[0], np.cumsum(lengths[keep])]),
        result.indices[pairs],
        result.values[pairs],
        result.lines[keep],
        sorted([*result.bad, *bad.values()]),
        result.n_lines,
        int(result.indices[pairs].max(initial=-1)),
    )


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
