"""A compiled scanner of Vowpal Wabbit text.

**Grammar** of a line: ``[label [importance [0]]] ['tag]|[namespace[:scale]] feature[:value] ... |...``, read as ``vw``
reads it. A label is a number, or a text without ``:`` and ``,``. A token right before the first bar is a tag. The name
of a feature is ``namespace^feature``. A feature with a text value, as in ``colour:red``, is named by the whole token
and has the value 1; one without a name, as in ``:0.5``, is named by its number among those of its namespace, from 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import as_bytes
from rosenblatt.data.scanners.vw_loop import (
    BAD_IMPORTANCE,
    BAD_SCALE,
    HAS_BASE,
    LABEL_NOT_FINITE,
    VALUE_NOT_FINITE,
    count_rows_and_names,
    max_anonymous,
    scan_vw_lines,
)

NO_NUMERALS = np.empty(0, np.int64)
LABEL, IMPORTANCE, BASE, VALUE = 0, 1, 2, 3  # the role of a hard decimal; 4 is a scale


class VwScan(NamedTuple):
    """The examples of a block of text, and its bad lines."""

    text: bytes | bytearray  # the block, followed by the numerals that name features without a name
    labels: NDArray[np.float64]  # 0 where the label is not a number
    weights: NDArray[np.float64]
    labelled: NDArray[np.uint8]  # UNLABELLED, NUMBER or TEXT
    indptr: NDArray[np.int64]
    names: NDArray[np.uint32]  # (features, 4): start and end of the namespace, start and end of the feature
    crcs: NDArray[np.uint32]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]
    bad: list[tuple[int, int, int]]  # (line offset, error, start of the token in the block)
    n_lines: int
    label_spans: NDArray[np.int64]  # (rows, 2): start and end of the label, both 0 without one
    tags: NDArray[np.int64]  # (rows, 2): start and end of the tag, both 0 without one


def scan_vw(text: bytes | bytearray) -> VwScan:
    r"""Parse a block of whole lines; an invalid line gives no row.

    >>> block = scan_vw(b"1 2 'mail7| free:2 |from bob\n-1 | nan:nan\n")
    >>> block.labels, block.weights, block.values
    (array([1.]), array([2.]), array([2., 1.]))
    >>> block.bad == [(1, VALUE_NOT_FINITE, 34)]
    True
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    data, size, numerals = as_bytes(text), len(text), NO_NUMERALS
    rows, bars, pairs, anonymous = count_rows_and_names(data)
    if anonymous:
        words = [b"%d" % number for number in range(max_anonymous(data))]
        numerals = size + np.cumsum([0, *map(len, words)])
        text = b"".join([text, *words, b"\n"])
        data = as_bytes(text)
    labels, weights, labelled = np.empty(rows), np.empty(rows), np.empty(rows, np.uint8)
    lines, indptr = np.empty(rows, np.int64), np.zeros(rows + 1, np.int64)
    names, crcs, values = np.empty((pairs, 4), np.uint32), np.empty(pairs, np.uint32), np.empty(pairs)
    hard, bad = np.empty((3 * rows + bars + pairs, 6), np.int64), np.empty((rows, 3), np.int64)
    tags, numbers, spans = np.empty((rows, 2), np.int64), np.empty(3), np.empty((4, 3), np.int64)
    label_spans = np.zeros((rows, 2), np.int64)
    n, n_hard, n_bad = scan_vw_lines(
        data,
        size,
        numerals,
        labels,
        weights,
        labelled,
        indptr,
        names,
        crcs,
        values,
        lines,
        label_spans,
        tags,
        hard,
        bad,
        numbers,
        spans,
    )
    m = indptr[n]
    result = VwScan(
        text,
        labels[:n],
        weights[:n],
        labelled[:n],
        indptr[: n + 1],
        names[:m],
        crcs[:m],
        values[:m],
        lines[:n],
        [tuple(entry) for entry in bad[:n_bad].tolist()],
        rows,
        label_spans[:n],
        tags[:n],
    )
    return _parse_hard_decimals(result, text, hard[:n_hard]) if n_hard else result


def _parse_hard_decimals(result: VwScan, text: bytes | bytearray, hard: NDArray[np.int64]) -> VwScan:
    """Parse the hard decimals in Python; a row with one beyond float64 is bad."""
    bad: dict[int, tuple[int, int, int]] = {}
    for kind, slot, start, end, scale_lo, scale_hi in hard.tolist():
        number = float(text[start:end]) if end > start else 1.0
        row = slot if kind != VALUE else int(np.searchsorted(result.indptr, slot, side="right")) - 1
        if kind == LABEL:
            result.labels[slot] = number
        elif kind == IMPORTANCE:
            result.weights[slot] = number
        elif kind == VALUE:
            number *= float(text[scale_lo:scale_hi]) if scale_hi else float(result.values[slot])
            result.values[slot] = number
        if not np.isfinite(number) or (kind == IMPORTANCE and number < 0) or (kind == BASE and number != 0):
            error = (LABEL_NOT_FINITE, BAD_IMPORTANCE, HAS_BASE, VALUE_NOT_FINITE, BAD_SCALE)[kind]
            bad.setdefault(row, (int(result.lines[row]), error, start))
    return without_rows(result, bad) if bad else result


def without_rows(result: VwScan, bad: dict[int, tuple[int, int, int]]) -> VwScan:
    """Remove the rows that turned out to be bad."""
    keep = np.ones(result.labels.size, bool)
    keep[list(bad)] = False
    lengths = np.diff(result.indptr)
    pairs = np.repeat(keep, lengths)
    return result._replace(
        labels=result.labels[keep],
        weights=result.weights[keep],
        labelled=result.labelled[keep],
        indptr=np.concatenate([[0], np.cumsum(lengths[keep])]),
        names=result.names[pairs],
        crcs=result.crcs[pairs],
        values=result.values[pairs],
        lines=result.lines[keep],
        label_spans=result.label_spans[keep],
        tags=result.tags[keep],
        bad=sorted([*result.bad, *bad.values()]),
    )
