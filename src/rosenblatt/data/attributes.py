"""Attributes to vectors: one-hot for discrete columns, a bag of words for text, numeric columns kept or scaled.

``Outlook`` with the values Rainy and Sunny becomes the features ``Outlook=Rainy`` and ``Outlook=Sunny``, one
of them 1. A column is numeric when every value it has is a number, text when its values read like prose.
Spaces around values do not count.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import as_written, sparse_rows
from rosenblatt.data.errors import shown
from rosenblatt.data.kinds import Kind, are_int64, as_numpy, distinct, number, numbers, taken
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.scales import Scales
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.schema import Column, LabelKind, TableSchema
from rosenblatt.data.words import Words, count_words

Strings = Mapping[str, Any]  # column name -> pyarrow array of strings, or of numbers


class Encoded(NamedTuple):
    """The rows that could be encoded."""

    X: Any
    y: NDArray[Any] | None
    rows: NDArray[np.int64]  # which rows of the table these are
    bad: list[tuple[int, str]]  # (row, what is wrong) of the others
    unseen: Counter[str]  # values that training never saw, by column
    cells: dict[int, str]  # the column that is at fault in a bad row


def learn_schema(
    read: Callable[[], Iterable[Strings]],
    names: Iterable[str],
    target: str | None,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    look: Callable[[], Iterable[Strings]] | None = None,
) -> TableSchema:
    """Find the kind of every column, then the categories, words and scales of training.

    ``read`` is called once for the kinds and, where there is more to learn, once more: a row with a number
    missing teaches no category. ``look`` is called for the kinds instead where it is given: it may tell numbers
    as numbers, not as they are written.

    >>> import pyarrow as pa
    >>> table = {"Wind": pa.array(["3", "5.5"]), "Outlook": pa.array(["Sunny", "Rainy"])}
    >>> learn_schema(lambda: [table], ["Wind", "Outlook"], target=None).feature_names
    ['Wind', 'Outlook=Rainy', 'Outlook=Sunny']
    """
    names = list(names)
    kinds = {name: Kind() for name in [*names, *([] if target is None else [target])]}
    for columns in (look or read)():
        for name, kind in kinds.items():
            kind.see(columns[name])
    schema = TableSchema(
        tuple(_blank(name, kinds[name], options) for name in names),
        target,
        "text" if target is None else kinds[target].labels,
    )
    if not schema.any_discrete and not options.scale:
        return schema
    return _seen_already(schema, kinds, options) or _learned(read(), schema, options)


def _seen_already(schema: TableSchema, kinds: Mapping[str, Kind], options: ReadOptions) -> TableSchema | None:
    """Return the schema with its categories where looking for kinds has shown them all, and no bad row; else None."""
    found = []
    for column in schema.columns:
        kind = kinds[column.name]
        if column.words is not None or (column.discrete and kind.values is None):
            return None
        if column.categories is None and not kind.all_there:
            return None
        found.append(Column(column.name, tuple(sorted(kind.values or ())) if column.discrete else None))
    if schema.target is not None:
        kind = kinds[schema.target]
        labelled = (
            kind.values is not None and "" not in kind.values if schema.labels == "text" else kind.all_there
        )
        if not labelled:
            return None
    return None if options.scale else TableSchema(tuple(found), schema.target, schema.labels)


def _blank(name: str, kind: Kind, options: ReadOptions) -> Column:
    """Return the column with nothing learned yet."""
    if name in options.text or (kind.text and name not in options.category):
        return Column(name, (), options.words)
    return Column(name, None if kind.numeric and name not in options.category else ())


def _learned(tables: Iterable[Strings], schema: TableSchema, options: ReadOptions) -> TableSchema:
    """Return the schema with what the good rows of the tables teach."""
    seen: dict[str, dict[str, int]] = {column.name: {} for column in schema.columns}
    scales = Scales(sum(column.categories is None for column in schema.columns))
    for columns in tables:
        numeric, bad = _numeric_columns(columns, schema)
        if schema.target is not None:
            _labels(columns[schema.target], schema.target, schema.labels, bad)
        keep = np.delete(np.arange(numeric.shape[0]), list(bad))
        if options.scale:
            scales.see(numeric[keep])
        for column in schema.columns:
            if column.categories is None:
                continue
            values = columns[column.name] if not bad else taken(columns[column.name], keep)
            if column.words is None:
                seen[column.name].update(dict.fromkeys(values.unique().to_pylist(), 0))
            elif not column.words.buckets:
                count_words(values.to_pylist(), column.words, seen[column.name], grow=True)
    scale_of = iter(scales.found())
    found = []
    for column in schema.columns:
        if column.categories is None:
            found.append(Column(column.name, scale=next(scale_of) if options.scale else None))
        else:
            known = seen[column.name] if column.words else sorted(seen[column.name])
            found.append(Column(column.name, tuple(known), column.words))
    return TableSchema(tuple(found), schema.target, schema.labels)


def encode(columns: Strings, schema: TableSchema, with_target: bool = True) -> Encoded:
    """Encode a table as the schema says; a value that training never saw is all zeros.

    >>> import pyarrow as pa
    >>> schema = TableSchema((Column("Wind"), Column("Outlook", ("Rainy", "Sunny"))))
    >>> found = encode({"Wind": pa.array(["3", "0.5"]), "Outlook": pa.array(["Sunny", "Foggy"])}, schema)
    >>> found.X.toarray(), found.unseen
    (array([[3. , 0. , 1. ], [0.5, 0. , 0. ]]), Counter({'Outlook': 1}))
    """
    numeric, bad = _numeric_columns(columns, schema)
    labels = None
    if with_target and schema.target is not None:
        labels = _labels(columns[schema.target], schema.target, schema.labels, bad)
    n_rows = len(columns[schema.columns[0].name])
    keep = np.ones(n_rows, bool)
    keep[list(bad)] = False
    unseen: Counter[str] = Counter()
    numeric = scaled(numeric, schema)
    if schema.any_discrete:
        X = _sparse(columns, schema, numeric, keep, unseen)
    else:
        X = np.ascontiguousarray(numeric if keep.all() else numeric[keep])
    y = None if labels is None else labels[keep]
    if y is not None and schema.labels == "integer" and y.dtype != np.int64:
        y = as_written(y)
    told = sorted((row, reason) for row, (reason, _) in bad.items())
    return Encoded(X, y, np.flatnonzero(keep), told, unseen, {row: name for row, (_, name) in bad.items()})


Bad = dict[int, tuple[str, str]]  # row -> what is wrong with it, in which column


def _numeric_columns(columns: Strings, schema: TableSchema) -> tuple[NDArray[np.float64], Bad]:
    """Return the numeric columns side by side, and the rows where one is not a finite number."""
    names = [column.name for column in schema.columns if column.categories is None]
    values = np.empty((len(columns[schema.columns[0].name]), len(names)), order="F")
    bad: Bad = {}
    for place, name in enumerate(names):
        values[:, place] = numbers(columns[name])
        for row in np.flatnonzero(~np.isfinite(values[:, place])).tolist():
            bad.setdefault(row, (f"column {name!r} {not_a_number(columns[name][row].as_py())}", name))
    return values, bad


def scaled(numeric: NDArray[np.float64], schema: TableSchema) -> NDArray[np.float64]:
    """Scale the numeric columns that the schema scales, in place."""
    scales = [column.scale for column in schema.columns if column.categories is None]
    for place, scale in enumerate(scales):
        if scale is not None:
            numeric[:, place] = (numeric[:, place] - scale[0]) / scale[1]
    return numeric


def not_a_number(value: Any) -> str:
    """Say what is wrong with a value that should be a finite number."""
    text = "" if value is None else str(value)
    if text in MISSING:
        told = f" ({shown(text)})" if text else ""
        return (
            f"has no value{told}: fill it in, drop the column, or skip such lines with skip_bad (--skip-bad)"
        )
    kind = "a number" if number(text) is None else "a finite number"
    return f"is {shown(text)}, not {kind}: correct it, or skip such lines with skip_bad (--skip-bad)"


def _labels(column: Any, name: str, kind: LabelKind, bad: Bad) -> NDArray[Any]:
    """Return the labels, noting the rows that have none or one of another kind."""
    import pyarrow as pa

    if kind == "text":
        texts, codes = distinct(column)
        if "" in texts:
            for row in np.flatnonzero(codes == texts.index("")).tolist():
                bad.setdefault(row, (f"the target {name!r} has no value: write its label", name))
        return np.array(texts, dtype=np.str_)[codes]
    values = numbers(column)
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        bad.setdefault(row, (f"the target {name!r} {not_a_number(column[row].as_py())}", name))
    if kind == "integer" and (np.abs(values) >= 2.0**53).any() and are_int64(column):
        return as_numpy(column.cast(pa.int64()))  # too long for a float64
    return values


def _sparse(
    columns: Strings,
    schema: TableSchema,
    numeric: NDArray[np.float64],
    keep: NDArray[np.bool_],
    unseen: Counter[str],
) -> Any:
    """Return the CSR rows to keep: at most one entry for every column that is not text, then the words."""
    single = [column for column in schema.columns if column.words is None]
    n_rows = int(keep.sum())
    kept = numeric if n_rows == keep.size else numeric[keep]
    places, values = np.empty((len(single), n_rows), np.int32), np.ones((len(single), n_rows))
    blocks = []
    offset = at = n_numeric = 0
    for column in schema.columns:
        if column.words is not None:
            blocks.append((offset, _words(columns[column.name], column, keep, unseen)))
        elif column.categories is None:
            places[at], values[at] = offset, kept[:, n_numeric]
            n_numeric += 1
        else:
            codes = _codes(columns[column.name], column, keep, unseen)
            places[at], values[at] = offset + codes, codes >= 0
        at += column.words is None
        offset += column.width
    stored = values != 0
    data, indices = np.ascontiguousarray(values.T).reshape(-1), np.ascontiguousarray(places.T).reshape(-1)
    if not stored.all():
        there = np.ascontiguousarray(stored.T).reshape(-1)
        data, indices = data[there], indices[there]
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=0))])
    X = sparse_rows(data, indices, indptr, schema.n_features)
    return _with_words(X, blocks) if blocks else X


def _codes(column: Any, known: Column, keep: NDArray[np.bool_], unseen: Counter[str]) -> NDArray[np.int64]:
    """Return the category of every row to keep, -1 where training never saw it."""
    texts, which = distinct(column)
    codes = np.array([known.index.get(text, -1) for text in texts], dtype=np.int64)[which[keep]]
    if (codes < 0).any():
        unseen[known.name] += int((codes < 0).sum())
    return codes


def _words(column: Any, known: Column, keep: NDArray[np.bool_], unseen: Counter[str]) -> Any:
    """Return the words of every row to keep; a text of which no word is known counts as unseen."""
    texts = (column if keep.all() else taken(column, np.flatnonzero(keep))).to_pylist()
    counted = count_words(texts, known.words or Words(), known.index)
    if counted.unknown:
        unseen[known.name] += counted.unknown
    return counted.X


def _with_words(X: Any, blocks: list[tuple[int, Any]]) -> Any:
    """Put blocks of words beside the other features, each from its offset on, the columns of every row sorted."""
    parts = [X.tocoo(), *(block.tocoo() for _, block in blocks)]
    row = np.concatenate([part.coords[0] for part in parts])
    offsets = [0, *(offset for offset, _ in blocks)]
    place = np.concatenate(
        [part.coords[1].astype(np.int64) + at for part, at in zip(parts, offsets, strict=True)]
    )
    order = np.lexsort((place, row))
    values = np.concatenate([part.data for part in parts])[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    return sparse_rows(values, place[order], indptr, X.shape[1])
