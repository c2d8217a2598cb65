"""A compiled scanner of Vowpal Wabbit text, and a table that numbers names in order of appearance.

**Grammar** of a line: ``[label [importance [0]]] ['tag]|[namespace[:scale]] feature[:value] ... |...``, read as ``vw``
reads it. A label is a number, or a text without ``:`` and ``,``. A token that touches the first bar is a tag. Features
are called ``namespace^feature``; one whose value is a text, as in ``colour:red``, is called so as a whole and is 1; one
without a name, as in ``:0.5``, by its number among those of its namespace, from 0.
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
    most_anonymous,
    scan_vw_lines,
)

NO_NUMERALS = np.empty(0, np.int64)
LABEL, IMPORTANCE, BASE, VALUE = 0, 1, 2, 3  # what a hard decimal is; 4 is a scale


class VwScan(NamedTuple):
    """The examples of a block of text, and what could not be read in it."""

    text: bytes | bytearray  # the block, and the numerals that features without a name are called by
    labels: NDArray[np.float64]  # 0 where it is not a number
    weights: NDArray[np.float64]
    labelled: NDArray[np.uint8]  # UNLABELLED, NUMBER or TEXT
    indptr: NDArray[np.int64]
    names: NDArray[np.uint32]  # (features, 4): start and end of the namespace, start and end of the feature
    crcs: NDArray[np.uint32]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]
    bad: list[tuple[int, int, int]]  # (line offset, what is wrong, where the token starts in the block)
    n_lines: int
    label_spans: NDArray[np.int64]  # (rows, 2): start and end of the label; both 0 where there is none
    tags: NDArray[np.int64]  # (rows, 2): start and end of the tag; both 0 where there is none


def scan_vw(text: bytes | bytearray) -> VwScan:
    r"""Read a block of whole lines; a line that is wrong anywhere gives no row.

    >>> found = scan_vw(b"1 2 'mail7| free:2 |from bob\n-1 | nan:nan\n")
    >>> found.labels, found.weights, found.values
    (array([1.]), array([2.]), array([2., 1.]))
    >>> found.bad == [(1, VALUE_NOT_FINITE, 34)]
    True
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    data, size, numerals = as_bytes(text), len(text), NO_NUMERALS
    rows, bars, pairs, anonymous = count_rows_and_names(data)
    if anonymous:
        words = [b"%d" % number for number in range(most_anonymous(data))]
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
    found = VwScan(
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
    return _with_hard_decimals(found, text, hard[:n_hard]) if n_hard else found


def _with_hard_decimals(found: VwScan, text: bytes | bytearray, hard: NDArray[np.int64]) -> VwScan:
    """Let Python read the hard decimals; a row where one is too large for a float64 is bad."""
    bad: dict[int, tuple[int, int, int]] = {}
    for kind, slot, start, end, scale_lo, scale_hi in hard.tolist():
        number = float(text[start:end]) if end > start else 1.0
        row = slot if kind != VALUE else int(np.searchsorted(found.indptr, slot, side="right")) - 1
        if kind == LABEL:
            found.labels[slot] = number
        elif kind == IMPORTANCE:
            found.weights[slot] = number
        elif kind == VALUE:
            number *= float(text[scale_lo:scale_hi]) if scale_hi else float(found.values[slot])
            found.values[slot] = number
        if not np.isfinite(number) or (kind == IMPORTANCE and number < 0) or (kind == BASE and number != 0):
            wrong = (LABEL_NOT_FINITE, BAD_IMPORTANCE, HAS_BASE, VALUE_NOT_FINITE, BAD_SCALE)[kind]
            bad.setdefault(row, (int(found.lines[row]), wrong, start))
    return without_rows(found, bad) if bad else found


def without_rows(found: VwScan, bad: dict[int, tuple[int, int, int]]) -> VwScan:
    """Leave out rows that turned out to be bad."""
    keep = np.ones(found.labels.size, bool)
    keep[list(bad)] = False
    lengths = np.diff(found.indptr)
    pairs = np.repeat(keep, lengths)
    return found._replace(
        labels=found.labels[keep],
        weights=found.weights[keep],
        labelled=found.labelled[keep],
        indptr=np.concatenate([[0], np.cumsum(lengths[keep])]),
        names=found.names[pairs],
        crcs=found.crcs[pairs],
        values=found.values[pairs],
        lines=found.lines[keep],
        label_spans=found.label_spans[keep],
        tags=found.tags[keep],
        bad=sorted([*found.bad, *bad.values()]),
    )
