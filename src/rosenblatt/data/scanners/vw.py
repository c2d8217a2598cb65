"""A compiled scanner of Vowpal Wabbit text.

**Grammar** of a line: ``[label [importance [0]]] ['tag]|[namespace[:scale]] feature[:value] ... |...``, read as ``vw``
reads it. A label is a number, or a text without ``:`` and ``,``. A token right before the first bar is a tag. The name
of a feature is ``namespace^feature``. A feature with a text value, as in ``colour:red``, is named by the whole token
and has the value 1; one without a name, as in ``:0.5``, is named by its number among those of its namespace, from 0.

Bytes are compared as numbers: 10 line end, 32 space, 39 ``'``, 58 ``:``, 94 ``^``, 124 ``|``. Every loop stops at a
line end and the text ends with one, so no loop tests for the end of the text.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import (
    HARD,
    INFINITY,
    NAN,
    NOT_A_NUMBER,
    NOT_FINITE,
    ONE,
    TWO,
    ULL,
    at,
    decimal,
    is_digit,
    plain_decimal,
)
from rosenblatt.data.scanners.names import ALL_ONES, namespace_crc, update_crc, update_crc_wide
from rosenblatt.data.scanners.wide import (
    MASK,
    WINDOW,
    bits_in,
    ends_of_names,
    equal_to,
    first_bit,
    not_digits,
)

# Errors of a line; data/vw.py has their messages.
NO_BAR, SEVERAL_LABELS, LABEL_NOT_FINITE, BAD_IMPORTANCE, HAS_BASE = 1, 2, 3, 4, 5
BAD_SCALE, BAD_VALUE, VALUE_NOT_FINITE, NOTHING_EXPECTED = 6, 8, 9, 10
UNLABELLED, NUMBER, TEXT = 0, 1, 2  # the kind of a row's label
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


@compiled
def _ends_name(c: int) -> bool:
    """Whether a name ends before this byte: white space, a colon, a bar or a line end."""
    return 9 <= c <= 13 or c in (32, 58, 124)


@compiled
def _is_space(c: int) -> bool:
    return c in (32, 9) or 11 <= c <= 13


@compiled
def _parse_number(text: Any, p: int) -> tuple[float, int, int]:
    """Parse a decimal that must fill its token: (value, end, one of ROUNDED, HARD, NOT_FINITE and NOT_A_NUMBER)."""
    number, end, state = decimal(text, p)
    c = at(text, end)
    if state != NOT_FINITE and not (c in (10, 124) or _is_space(c)):
        state = NOT_A_NUMBER
    return number, end, state


@compiled
def _parse_head(text: Any, p: int, numbers: Any, spans: Any) -> tuple[int, int, int, int]:
    """Parse the tokens before the first bar: (tokens except the tag, position of the bar, error or 0, its token).

    ``numbers`` gets label, importance and base; ``spans`` gets start, end and whether each is hard (2: a label that is
    not a number), and in its last row start and end of the tag.
    A token right before the bar, or one that begins with a quote, is a tag.
    """
    n = 0
    tagged = False
    spans[3, 0] = spans[3, 1] = 0
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
            spans[3, 0], spans[3, 1] = p + (c == 39), end
            p = end
            continue
        if n == 3:
            return n, p, NOTHING_EXPECTED, p
        number, stop, state = _parse_number(text, p)
        if n == 0 and state == NOT_A_NUMBER:
            if _spells_not_finite(text, p, end):
                return n, p, LABEL_NOT_FINITE, p
            for k in range(p, end):
                if at(text, k) == 58 or at(text, k) == 44:
                    return n, p, SEVERAL_LABELS, p
            number, stop = 0.0, end
        elif state in (NOT_A_NUMBER, NOT_FINITE):
            return n, p, BAD_IMPORTANCE if n > 0 else LABEL_NOT_FINITE, p
        numbers[n] = number
        spans[n, 0], spans[n, 1], spans[n, 2] = p, stop, 2 if state == NOT_A_NUMBER else state == HARD
        n += 1
        p = stop


@compiled
def _begins_number(text: Any, p: int) -> bool:
    """Whether a value begins like a number: a digit after an optional sign and point."""
    if at(text, p) == 43 or at(text, p) == 45:
        p += 1
    if at(text, p) == 46:
        p += 1
    return is_digit(at(text, p))


@compiled
def _spells_not_finite(text: Any, p: int, end: int) -> bool:
    """Whether a token is nan, inf or infinity, in any case, with or without a sign."""
    if at(text, p) == 43 or at(text, p) == 45:
        p += 1
    if end - p != 3 and end - p != 8:
        return False
    word = INFINITY if at(text, p) | 32 == 105 else NAN
    if end - p > word.size:
        return False
    same = True
    for k in range(end - p):
        same &= at(text, p + k) | 32 == word[k]
    return same


@inlined
def _parse_plain_feature(text: Any, p: Any) -> tuple[float, Any, Any, bool]:
    """Parse a short, plain ``name`` or ``name:value``: (value, end of the name, end of the token, whether it is plain).

    Ends are relative to ``p``. The caller parses what is not plain one byte at a time.
    """
    colon = first_bit(ends_of_names(text, p))
    if colon - ONE >= ULL(MASK - 8):
        return 1.0, colon, colon, False
    if at(text, p + colon) != 58:
        return 1.0, colon, colon, True
    minus = (equal_to(text, p, 45) >> colon) & TWO  # right after the colon
    stops = (not_digits(text, p) >> colon) & ~(minus | ONE)
    value, length, plain = plain_decimal(text, p + colon, ONE + (minus >> ONE), stops)
    return -value if minus else value, colon, colon + length, plain


@compiled
def scan_vw_lines(
    text: Any,
    size: int,
    numerals: Any,
    labels: Any,
    weights: Any,
    labelled: Any,
    indptr: Any,
    names: Any,
    crcs: Any,
    values: Any,
    lines: Any,
    label_spans: Any,
    tags: Any,
    hard: Any,
    bad: Any,
    numbers: Any,
    spans: Any,
) -> tuple[int, int, int]:
    """Parse the lines of the first ``size`` bytes; return the numbers of rows, hard decimals and bad lines.

    Fill the arrays after ``numerals``. A feature without a name is named by its number among those of its namespace,
    from 0: the name of feature ``k`` is ``text[numerals[k]:numerals[k + 1]]``.

    ``names`` gets start and end of the namespace, start and end of the feature; ``crcs`` the CRC-32 of
    ``namespace^feature``. ``hard`` gets (role, slot, start, end, scale start, scale end) of each decimal left to
    Python, with role 0 for a label, 1 an importance, 2 a base, 3 a value, 4 a scale. ``tags`` and ``label_spans`` get
    start and end of the tag and the label of every row. A bad line adds nothing but its entry in ``bad``. ``numbers``
    (3) and ``spans`` (4, 3) are scratch memory.
    """
    p: Any = 0
    line = row = pair = n_hard = n_bad = 0
    last_window = text.size - WINDOW
    while p < size:
        q = p
        while _is_space(at(text, q)):
            q += 1
        blank = at(text, q) == 10
        first_pair, first_hard, error, token = pair, n_hard, 0, q
        if not blank:
            n, p, error, token = _parse_head(text, q, numbers, spans)
            labels[row], weights[row], labelled[row] = numbers[0], 1.0, UNLABELLED
            if n > 0:
                labelled[row] = TEXT if spans[0, 2] == 2 else NUMBER
                label_spans[row, 0], label_spans[row, 1] = spans[0, 0], spans[0, 1]
            tags[row, 0], tags[row, 1] = spans[3, 0], spans[3, 1]
            if error == 0 and n > 1:
                weights[row] = numbers[1]
                if numbers[1] < 0.0 and not spans[1, 2]:
                    error, token = BAD_IMPORTANCE, spans[1, 0]
            if error == 0 and n > 2 and numbers[2] != 0.0 and not spans[2, 2]:
                error, token = HAS_BASE, spans[2, 0]
            for k in range(n):
                if error == 0 and spans[k, 2] == 1:
                    hard[n_hard, 0], hard[n_hard, 1] = k, row
                    hard[n_hard, 2], hard[n_hard, 3] = spans[k, 0], spans[k, 1]
                    hard[n_hard, 4] = hard[n_hard, 5] = 0
                    n_hard += 1
        while not blank and error == 0 and at(text, p) == 124:
            p += 1
            space = p
            while not (at(text, p) == 10 or _ends_name(at(text, p))):
                p += 1
            space_end = p
            scale = 1.0
            scale_lo = scale_hi = 0
            if at(text, p) == 58:
                token = p + 1
                scale, p, state = _parse_number(text, p + 1)
                if state in (NOT_A_NUMBER, NOT_FINITE) or space_end == space:
                    error = BAD_SCALE
                    break
                if state == HARD:
                    scale_lo, scale_hi = token, p
                    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2], hard[n_hard, 3] = 4, row, token, p
                    hard[n_hard, 4] = hard[n_hard, 5] = 0
                    n_hard += 1
            n_anonymous = 0
            crc_space = ALL_ONES
            if space_end > space:
                crc_space = namespace_crc(text, space, space_end)
            while error == 0:
                while _is_space(at(text, p)):
                    p += 1
                while p < last_window and scale_hi == 0 and not _ends_name(at(text, p)):
                    value, name_end, length, plain = _parse_plain_feature(text, ULL(p))
                    after = at(text, ULL(p) + length)
                    value *= scale
                    if not plain or after not in (10, 32, 124) or not np.isfinite(value):
                        break
                    names[ULL(pair), 0], names[ULL(pair), 1] = space, space_end
                    names[ULL(pair), 2], names[ULL(pair), 3] = p, ULL(p) + name_end
                    crcs[ULL(pair)] = update_crc_wide(crc_space, text, ULL(p), name_end) ^ ALL_ONES
                    values[ULL(pair)] = value
                    pair += 1
                    p += np.int64(length)
                    if after != 32:
                        break
                    p += 1
                while _is_space(at(text, p)):
                    p += 1
                if at(text, p) == 10 or at(text, p) == 124:
                    break
                token = p
                while not (at(text, p) == 10 or _ends_name(at(text, p))):
                    p += 1
                name, name_end = token, p
                value, state = 1.0, 0
                start = p
                has_text_value = at(text, p) == 58 and not _begins_number(text, p + 1)
                if has_text_value:
                    p += 1
                    while not (at(text, p) == 10 or _ends_name(at(text, p))):
                        p += 1
                    name_end = p
                    if p == start + 1 or at(text, p) == 58:
                        error = BAD_VALUE
                    elif _spells_not_finite(text, start + 1, p):
                        error = VALUE_NOT_FINITE
                elif p == token:
                    name, name_end = numerals[n_anonymous], numerals[n_anonymous + 1]
                    n_anonymous += 1
                names[pair, 0], names[pair, 1], names[pair, 2], names[pair, 3] = (
                    space,
                    space_end,
                    name,
                    name_end,
                )
                crcs[pair] = update_crc(crc_space, text, name, name_end) ^ ALL_ONES
                if has_text_value:
                    values[pair] = 1.0  # also where the namespace has a scale
                    pair += 1
                    continue
                if at(text, p) == 58:
                    start = p + 1
                    value, p, state = _parse_number(text, start)
                    if state == NOT_A_NUMBER:
                        error = BAD_VALUE
                    elif state == NOT_FINITE:
                        error = VALUE_NOT_FINITE
                if state == HARD or scale_hi > 0:
                    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2], hard[n_hard, 3] = 3, pair, start, p
                    hard[n_hard, 4], hard[n_hard, 5] = scale_lo, scale_hi
                    values[pair] = scale
                    n_hard += 1
                else:
                    values[pair] = value * scale
                    if not np.isfinite(values[pair]):
                        error = VALUE_NOT_FINITE
                pair += 1
        if error != 0:
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = line, error, token
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
def count_rows_and_names(text: Any) -> tuple[int, int, int, int]:
    """Count line ends and bars; return with them upper bounds of the features and of those without a name.

    A feature follows white space or a bar; one without a name begins with a colon.
    """
    zero: Any = 0
    rows = bars = spaces = anonymous = zero
    p, after_space = ULL(0), ULL(0)
    while np.int64(p) <= text.size - WINDOW:
        bar, colon = equal_to(text, p, 124), equal_to(text, p, 58)
        space = ends_of_names(text, p) & ~(bar | colon)
        rows += np.int64(bits_in(equal_to(text, p, 10)))
        bars += np.int64(bits_in(bar))
        spaces += np.int64(bits_in(space))
        anonymous += np.int64(bits_in(colon & (space << ONE | after_space)))
        after_space = space >> ULL(MASK - 1)
        p += ULL(MASK)
    for q in range(np.int64(p), text.size):
        c = at(text, q)
        rows += c == 10
        bars += c == 124
        anonymous += c == 58 and after_space != 0
        after_space = ULL(c == 32 or 9 <= c <= 13)
        spaces += np.int64(after_space)
    return rows, bars, bars + spaces, anonymous


@compiled
def max_anonymous(text: Any) -> int:
    """Return an upper bound of the features without a name in any line: a colon after white space begins one."""
    most = count = 0
    for p in range(1, text.size):
        if at(text, p) == 58:
            count += _is_space(at(text, p - 1))
            most = max(most, count)
        elif at(text, p) == 10:
            count = 0
    return most
