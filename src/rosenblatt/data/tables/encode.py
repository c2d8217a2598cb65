"""Encode columns as vectors by a schema: numbers, booleans and dates as numbers, categories one-hot, text as words.

``Outlook`` with the categories Rainy and Sunny becomes the features ``Outlook=Rainy`` and ``Outlook=Sunny``, one of
them 1. Encoding learns nothing: the raw matrix has NaN where a number is missing, and the schema's preprocessing,
which was fitted on training rows, fills it in.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import as_written, sparse_rows
from rosenblatt.data.errors import shown
from rosenblatt.data.options import Missing
from rosenblatt.data.scanners.numbers import MISSING
from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.data.tables.preprocess import Preprocessing
from rosenblatt.data.tables.values import (
    absent,
    are_int64,
    arrow_strings,
    as_numpy,
    dates,
    distinct,
    is_text,
    number,
    numbers,
    take,
    truths,
    without_nulls,
)
from rosenblatt.data.words import Words, count_words

Columns = Mapping[str, Any]  # name -> pyarrow array of strings or of numbers, or an array of float64
NO_LABEL = ("", "?")  # of a target that is text
FILL_IN = "fill it in, drop the column, choose how with missing (--missing)"
NAME_IT = "fill it in, drop such rows with missing='drop' (--missing drop)"
Bad = dict[int, tuple[str, str]]  # row -> reason, and name of the column


class Encoded(NamedTuple):
    """The rows that could be encoded."""

    X: Any
    y: NDArray[Any] | None
    rows: NDArray[np.int64]  # which rows of the table these are
    bad: Bad  # the malformed ones
    dropped: int  # rows dropped because a value is missing
    unseen: Counter[str]  # values that are not in the schema, by column


def encode(
    columns: Columns,
    schema: TableSchema,
    with_target: bool = True,
    *,
    prepared: bool = True,
    exact: bool = False,
    missing: Missing | None = None,
    word_counts: Mapping[str, Any] | None = None,
) -> Encoded:
    """Encode a table by a schema; a category that is not in it becomes zeros.

    Parameters
    ----------
    prepared : apply the preprocessing of the schema; else return raw rows, with NaN for missing numbers
    exact : report an integer that float64 would round as an error of its row
    missing : policy for missing numbers; None: that of the schema
    word_counts : word counts of text columns, if they were counted while the schema was learned from these rows

    Examples
    --------
    >>> import pyarrow as pa
    >>> schema = TableSchema((Column("Wind"), Column("Outlook", ("Rainy", "Sunny"))))
    >>> encoded = encode({"Wind": pa.array(["3", "0.5"]), "Outlook": pa.array(["Sunny", "Foggy"])}, schema)
    >>> encoded.X.toarray(), encoded.unseen
    (array([[3. , 0. , 1. ], [0.5, 0. , 0. ]]), Counter({'Outlook': 1}))
    """
    policy = missing or schema.missing
    numeric, bad, incomplete = numeric_columns(columns, schema, policy)
    if exact:
        for column in schema.columns:
            if column.plain:
                way = "cast the column to float64 if that is what is meant"
                _note_rounded(columns[column.name], f"column {column.name!r}", column.name, way, bad)
    labels = None
    if with_target and schema.target is not None:
        labels = encode_labels(columns[schema.target], schema, bad, incomplete, policy)
    if policy == "drop":
        for column in schema.columns:
            if column.categories is not None:
                incomplete |= absent(columns[column.name])
    keep = np.ones(incomplete.size, bool)
    keep[list(bad)] = False
    dropped = int((keep & incomplete).sum()) if policy == "drop" else 0
    if policy == "drop":
        keep &= ~incomplete
    every = bool(keep.all())
    numeric = numeric if every else numeric[keep]
    unseen: Counter[str] = Counter()
    fitted = schema.preprocessing if prepared else None
    if schema.any_discrete:
        X = _sparse(columns, schema, numeric, keep, unseen, fitted, word_counts or {})
    else:
        X = np.ascontiguousarray(numeric)
        X = X if fitted is None else fitted.apply(X)
    y = None if labels is None else labels[keep]
    if y is not None and schema.labels == "integer" and y.dtype != np.int64:
        y = as_written(y)
    return Encoded(X, y, np.flatnonzero(keep), bad, dropped, unseen)


def plain_numbers(
    columns: Columns,
    scanned: NDArray[np.float64] | None,
    schema: TableSchema,
    policy: Missing,
    any_missing: bool,
    labelled: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None] | None:
    """Return the raw features of a block that was scanned as one matrix of numbers, and the mask of complete rows.

    The mask is None where no row is dropped. The answer is None if the block was not scanned as numbers, or if a
    missing value in it is an error: :func:`numeric_columns` and :func:`encode_labels` then report it.
    """
    if scanned is None or schema.target_format is not None or not all(c.plain for c in schema.columns):
        return None
    y = columns[schema.target] if labelled and schema.target is not None else None
    places = [list(columns).index(column.name) for column in schema.columns]
    X = scanned if places == list(range(scanned.shape[1])) else scanned[:, places]
    if not any_missing:
        return X, None
    if policy == "drop" and schema.labels != "text":
        complete = ~np.isnan(X @ np.zeros(X.shape[1]))  # 0 · NaN is NaN; faster than a mask of all values
        return X, complete if y is None else complete & ~np.isnan(y)
    return None if policy in ("refuse", "drop") or (y is not None and np.isnan(y).any()) else (X, None)


def numeric_columns(
    columns: Columns, schema: TableSchema, policy: Missing
) -> tuple[NDArray[np.float64], Bad, NDArray[np.bool_]]:
    """Return the raw numeric features as a matrix, the bad rows, and the mask of rows with a missing value."""
    rows = len(next(iter(columns.values())))
    width = sum(column.width for column in schema.columns if column.categories is None)
    values = np.empty((rows, width), order="F")
    bad: Bad = {}
    incomplete = np.zeros(rows, bool)
    place = 0
    for column in schema.columns:
        if column.categories is not None:
            continue
        cells = columns[column.name]
        values[:, place : place + column.width] = numbers_of(cells, column)
        own = values[:, place]
        place += column.width
        odd = ~np.isfinite(own)
        if not odd.any():
            continue
        gaps = absent(cells) if is_text(cells) else np.isnan(own)
        incomplete |= gaps
        wrong = odd if policy == "refuse" else odd & ~gaps
        for row in np.flatnonzero(wrong).tolist():
            reason = f"column {column.name!r} {not_a_value(cell_of(cells, row), column)}"
            bad.setdefault(row, (reason, column.name))
    return values, bad, incomplete


def numbers_of(cells: Any, column: Column) -> NDArray[np.float64]:
    """Return the features of a column of numbers, booleans or dates: (rows, width)."""
    if column.parts:
        return dates(cells, column.parts, column.date_order)
    if column.boolean:
        return truths(cells)[:, None]
    return (numbers(cells) if column.format is None else column.format.read(cells))[:, None]


def cell_of(cells: Any, row: int) -> Any:
    """Return a value of a column, as Python has it."""
    return cells[row] if isinstance(cells, np.ndarray) else cells[row].as_py()


def not_a_value(value: Any, column: Column | None = None, way_out: str = FILL_IN) -> str:
    """Return the error for a value that is not a finite number, a boolean or a date, as its column requires."""
    text = "" if value is None or value != value else str(value)  # noqa: PLR0124 (NaN)
    if text in MISSING:
        as_written = f" ({shown(text)})" if text else ""
        return f"has no value{as_written}: {way_out}, or skip such lines with skip_bad (--skip-bad)"
    kind = "a number" if number(text) is None else "a finite number"
    if column is not None and column.kind != "numeric":
        kind = "a boolean" if column.boolean else "a date in ISO 8601, as in 2024-02-29"
    elif column is not None and column.format is not None:
        kind = "a number written as in training"
    return f"is {shown(text)}, not {kind}: correct it, or skip such lines with skip_bad (--skip-bad)"


def encode_labels(
    column: Any, schema: TableSchema, bad: Bad, incomplete: NDArray[np.bool_], policy: Missing
) -> NDArray[Any]:
    """Return the labels; add rows without a label, or with one of another kind, to ``bad``.

    With the policy ``"drop"`` a row without a label is incomplete, not bad.
    """
    import pyarrow as pa

    name, kind, form = schema.target, schema.labels, schema.target_format
    if kind == "text":
        if isinstance(column, np.ndarray) and np.isnan(column).all():  # scanned as numbers, but there is none
            column = arrow_strings(["nan"] * column.size)
        texts, codes = distinct(column if is_text(column) else column.cast(pa.string()))
        for text in set(NO_LABEL) & set(texts):
            without = codes == texts.index(text)
            incomplete |= without
            if policy != "drop":
                reason = f"the target {name!r} {not_a_value(None, way_out=NAME_IT)}"
                for row in np.flatnonzero(without).tolist():
                    bad.setdefault(row, (reason, str(name)))
        return np.array(texts, dtype=np.str_)[codes]
    values = numbers(column) if form is None else form.read(column)
    odd = ~np.isfinite(values)
    if odd.any():
        gaps = absent(column) if is_text(column) else np.isnan(values)
        incomplete |= gaps
        as_column = Column(str(name), format=form)
        for row in np.flatnonzero(odd & ~gaps if policy == "drop" else odd).tolist():
            reason = f"the target {name!r} {not_a_value(cell_of(column, row), as_column, NAME_IT)}"
            bad.setdefault(row, (reason, str(name)))
    if kind == "integer" and (np.abs(values) >= 2.0**53).any() and are_int64(column):
        return as_numpy(column.cast(pa.int64()))  # too long for a float64
    _note_rounded(
        column, f"the target {name!r}", str(name), "write it as text", bad
    )  # else two could become one
    return values


def _note_rounded(cells: Any, what: str, name: str, way_out: str, bad: Bad) -> None:
    """Add rows to ``bad`` whose integer (of a typed column, not text) is rounded by float64."""
    import pyarrow as pa

    if isinstance(cells, np.ndarray) or not pa.types.is_integer(cells.type):
        return
    values = numbers(cells)
    for row in np.flatnonzero(np.abs(values) >= 2.0**53).tolist():
        value = cells[row].as_py()
        if value != int(values[row]):
            bad.setdefault(row, (f"{what} is {value}, which float64 rounds: {way_out}", name))


def _sparse(
    columns: Columns,
    schema: TableSchema,
    numeric: NDArray[np.float64],
    keep: NDArray[np.bool_],
    unseen: Counter[str],
    fitted: Preprocessing | None,
    word_counts: Mapping[str, Any],
) -> Any:
    """Return the CSR rows to keep: the entry of each column that is not text, words, then indicators."""
    n_rows = numeric.shape[0]
    gaps = np.zeros((n_rows, 0), bool)
    width = schema.raw_features
    if fitted is not None:
        numeric, gaps = fitted.prepare_numbers(numeric)
        width = fitted.n_features
    single = sum(column.width for column in schema.columns if column.categories is None)
    single += sum(column.discrete for column in schema.columns) + gaps.shape[1]
    places, values = np.empty((single, n_rows), np.int32), np.ones((single, n_rows))
    blocks = []
    offset = at = n_numeric = 0
    for column in schema.columns:
        if column.words is not None:
            counts = word_counts.get(column.name) if keep.all() else None
            if counts is None:
                words = _words(columns[column.name], column, keep, unseen)
            else:
                words = sparse_rows(counts.data, counts.indices, counts.indptr, column.width)
            weights = None if fitted is None else fitted.text_weights(offset)
            blocks.append((offset, words if weights is None else weights.apply(words)))
        elif column.categories is None:
            for part in range(column.width):
                places[at], values[at] = offset + part, numeric[:, n_numeric]
                at, n_numeric = at + 1, n_numeric + 1
        else:
            codes = _codes(columns[column.name], column, keep, unseen)
            places[at], values[at] = offset + codes, codes >= 0
            at += 1
        offset += column.width
    for place in range(gaps.shape[1]):
        places[at], values[at] = offset + place, gaps[:, place]
        at += 1
    stored = values != 0
    data, indices = np.ascontiguousarray(values.T).reshape(-1), np.ascontiguousarray(places.T).reshape(-1)
    if not stored.all():
        present = np.ascontiguousarray(stored.T).reshape(-1)
        data, indices = data[present], indices[present]
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=0))])
    X = sparse_rows(data, indices, indptr, width)
    return _with_words(X, blocks) if blocks else X


def _codes(column: Any, known: Column, keep: NDArray[np.bool_], unseen: Counter[str]) -> NDArray[np.int64]:
    """Return the index of the category of each kept row, -1 if unknown; all spellings of a missing value are one."""
    import pyarrow as pa

    texts, which = distinct(column if is_text(column) else column.cast(pa.string()))
    empty = known.index.get("", -1)
    places = [known.index.get(text, empty if text in MISSING else -1) for text in texts]
    codes = np.array(places, dtype=np.int64)[which if keep.all() else which[keep]]
    if (codes < 0).any():
        unseen[known.name] += int((codes < 0).sum())
    return codes


def _words(column: Any, known: Column, keep: NDArray[np.bool_], unseen: Counter[str]) -> Any:
    """Return the word counts of each kept row; a text without a known word counts as unseen."""
    texts = texts_of(column if keep.all() else take(column, np.flatnonzero(keep)))
    counted = count_words(texts, known.words or Words(), known.index)
    if counted.unknown:
        unseen[known.name] += counted.unknown
    return counted.X


def texts_of(column: Any) -> list[str]:
    """Return the strings of a column, numbers as they are written."""
    import pyarrow as pa

    return without_nulls(column if is_text(column) else column.cast(pa.string())).to_pylist()  # type: ignore[no-any-return]


def _with_words(X: Any, blocks: list[tuple[int, Any]]) -> Any:
    """Merge blocks of words, each at its column offset, with the other features; sort the columns of each row."""
    if X.nnz == 0 and len(blocks) == 1:
        ((offset, words),) = blocks
        return sparse_rows(words.data, words.indices + offset, words.indptr, X.shape[1])
    parts = [X, *(block for _, block in blocks)]
    offsets = [0, *(offset for offset, _ in blocks)]
    row = np.concatenate([np.repeat(np.arange(X.shape[0]), np.diff(part.indptr)) for part in parts])
    place = np.concatenate(
        [part.indices.astype(np.int64) + at for part, at in zip(parts, offsets, strict=True)]
    )
    order = np.argsort(row * X.shape[1] + place, kind="stable")  # merges parts that are sorted
    values = np.concatenate([part.data for part in parts])[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    return sparse_rows(values, place[order], indptr, X.shape[1])
