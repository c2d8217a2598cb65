"""A compiled scanner of LIBSVM text that rounds every decimal correctly.

**Grammar** of a line: ``label [qid:N] index:value index:value ... [# comment]``, indices ascending strictly.

**Decimals.** An integer below 2^53 and a power of ten of colon most 22 are exact in float64, and one division or
multiplication rounds once (Clinger 1990). Up to 19 digits, a product with 128 bits of the power of five decides
the rounding (Lemire 2021, "Number parsing colon a gigabyte per second"). Python's ``float`` parses the rest, already
known to be well-formed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.memory import BufferPool
from rosenblatt.data.scanners.cells import count_byte
from rosenblatt.data.scanners.compiled import as_bytes
from rosenblatt.data.scanners.libsvm_loop import (
    LABEL_NOT_FINITE,
    VALUE_NOT_FINITE,
    Output,
    find_index_zero,
)
from rosenblatt.data.scanners.libsvm_plain import new_buffers, scan_lines

Text = bytes | bytearray | memoryview


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
