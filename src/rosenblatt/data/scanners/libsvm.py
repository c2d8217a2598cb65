"""A compiled scanner of LIBSVM text that rounds every decimal correctly.

**Grammar** of a line: ``label [qid:N] index:value index:value ... [# comment]``, indices ascending strictly.

**Decimals.** An integer below 2^53 and a power of ten of at most 22 are exact in float64, and one division or
multiplication rounds once (Clinger 1990). Up to 19 digits, a product with 128 bits of the power of five tells
how to round (Lemire 2021, "Number parsing at a gigabyte per second"). The rest, already known to be
well-formed, are left to Python's ``float``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.memory import Room
from rosenblatt.data.scanners.cells import count_of
from rosenblatt.data.scanners.compiled import as_bytes
from rosenblatt.data.scanners.libsvm_loop import (
    LABEL_NOT_FINITE,
    VALUE_NOT_FINITE,
    Read,
    find_index_zero,
)
from rosenblatt.data.scanners.libsvm_plain import new_desk, scan_lines

Text = bytes | bytearray | memoryview


class Scan(NamedTuple):
    """The examples of a block of text, and what could not be read in it."""

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]  # offset of every row's line in the block, from 0
    bad: list[tuple[int, int, int]]  # (line offset, what is wrong, where the token starts in the block)
    n_lines: int  # of the block
    largest: int  # index; -1 where there is none
    has_zero: bool = False  # where that was not known: an index 0 is written, and stands as -1


def scan(text: Text, zero_based: bool | None = False, room: Room | None = None) -> Scan:
    r"""Read a block of whole lines; a line that is wrong anywhere gives no row.

    Indices are read less one, or as they are where they begin at 0. Where that is not known (None) they are read less
    one, and an index 0 is -1.

    >>> found = scan(b"+1 1:0.5 3:2e-3\n-1 2:nan\n")
    >>> found.labels, found.indices, found.values
    (array([1.]), array([0, 2], dtype=int32), array([0.5  , 0.002]))
    >>> found.bad == [(1, VALUE_NOT_FINITE, 19)]
    True
    """
    if text[-1:] != b"\n":
        text = bytes(text) + b"\n"
    data = as_bytes(text)
    room = room or Room()
    rows, pairs = count_of(data, 10), count_of(data, 58)
    read = Read(
        labels=np.empty(rows),
        indptr=np.zeros(rows + 1, np.int64),
        indices=room.take(pairs, np.int32),
        values=room.take(pairs, np.float64),
        lines=np.empty(rows, np.int64),
        hard=np.empty((rows + pairs, 3), np.int64),
        bad=np.empty((rows, 3), np.int64),
    )
    base, lowest = 0 if zero_based else 1, -1 if zero_based is None else 0
    n = scan_lines(data, base, lowest, read, room.once(new_desk))
    found = Scan(
        read.labels[: n.rows],
        read.indptr[: n.rows + 1],
        read.indices[: n.pairs],
        read.values[: n.pairs],
        read.lines[: n.rows],
        [tuple(entry) for entry in read.bad[: n.bad].tolist()],
        rows,
        n.largest,
    )
    found = _with_hard_decimals(found, text, read.hard[: n.hard]) if n.hard else found
    return found if zero_based is not None else found._replace(has_zero=_has_negative(found))


def _has_negative(found: Scan) -> bool:
    """Whether a row begins with a negative index: they ascend."""
    starts = found.indptr[:-1][np.diff(found.indptr) > 0]
    return bool((found.indices[starts] < 0).any())


def has_index_zero(text: bytes | bytearray) -> bool:
    r"""Whether a good line of a block has an index 0, several gigabytes a second.

    >>> has_index_zero(b"1 1:1 # not 0:1\n-1 10:0 20:1\n"), has_index_zero(b"1 1:1\n1 0:2\n")
    (False, True)
    """
    data = as_bytes(text)
    at = find_index_zero(data, 0)
    while at >= 0:
        line = text[text.rfind(b"\n", 0, at) + 1 :].split(b"\n", 1)[0]
        if (scan(line, zero_based=True).indices == 0).any():
            return True
        at = find_index_zero(data, at)
    return False


def _with_hard_decimals(found: Scan, text: Text, hard: NDArray[np.int64]) -> Scan:
    """Let Python read the hard decimals; a row where one is too large for a float64 is bad."""
    numbers = np.array([float(bytes(text[start:end])) for _, start, end in hard.tolist()])
    slots, of_value = hard[:, 0], hard[:, 0] >= 0
    found.values[slots[of_value]] = numbers[of_value]
    found.labels[-1 - slots[~of_value]] = numbers[~of_value]
    bad: dict[int, tuple[int, int, int]] = {}
    for slot, start, _ in hard[~np.isfinite(numbers)].tolist():
        row = int(np.searchsorted(found.indptr, slot, side="right")) - 1 if slot >= 0 else -1 - slot
        wrong = VALUE_NOT_FINITE if slot >= 0 else LABEL_NOT_FINITE
        bad.setdefault(row, (int(found.lines[row]), wrong, start))
    return _without_rows(found, bad) if bad else found


def _without_rows(found: Scan, bad: dict[int, tuple[int, int, int]]) -> Scan:
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
        found.n_lines,
        int(found.indices[pairs].max(initial=-1)),
    )
