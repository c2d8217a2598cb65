"""Discrete and numeric attributes to vectors: one-hot for discrete columns, numeric columns kept.

``Outlook`` with the values Rainy and Sunny becomes the features ``Outlook=Rainy`` and ``Outlook=Sunny``, one
of them 1. A column is numeric when every value it has is a number. Spaces around values do not count.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.bad_input import shown
from rosenblatt.data.batch import as_written, sparse_rows
from rosenblatt.data.schema import Column, LabelKind, TableSchema

MISSING = frozenset(["", "?", "NA", "N/A", "n/a", "null", "NULL", "None"])
Strings = Mapping[str, Any]  # column name -> pyarrow string array


class Encoded(NamedTuple):
    """The rows that could be encoded."""

    X: Any
    y: NDArray[Any] | None
    rows: NDArray[np.int64]  # which rows of the table these are
    bad: list[tuple[int, str]]  # (row, what is wrong) of the others
    unseen: Counter[str]  # values that training never saw, by column


def learn_schema(
    read: Callable[[], Iterable[Strings]], names: Iterable[str], target: str | None
) -> TableSchema:
    """Find the kind of every column, then the categories of the discrete ones.

    ``read`` is called once for the kinds and, if any column is discrete, once more for the categories: a row
    with a number missing teaches no category.

    >>> import pyarrow as pa
    >>> table = {"Wind": pa.array(["3", "5.5"]), "Outlook": pa.array(["Sunny", "Rainy"])}
    >>> learn_schema(lambda: [table], ["Wind", "Outlook"], target=None).feature_names
    ['Wind', 'Outlook=Rainy', 'Outlook=Sunny']
    """
    names = list(names)
    kinds = {name: _Kind() for name in [*names, *([] if target is None else [target])]}
    for columns in read():
        for name, kind in kinds.items():
            kind.see(columns[name])
    schema = TableSchema(
        tuple(Column(name, None if kinds[name].numeric else ()) for name in names),
        target,
        "text" if target is None else kinds[target].labels,
    )
    return _with_categories(read(), schema) if schema.any_discrete else schema


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
    X = _one_hot(columns, schema, numeric, keep, unseen) if schema.any_discrete else numeric[keep]
    y = None if labels is None else labels[keep]
    if y is not None and schema.labels == "integer" and y.dtype != np.int64:
        y = as_written(y)
    return Encoded(X, y, np.flatnonzero(keep), sorted(bad.items()), unseen)


def number(text: str) -> float | None:
    """Read a decimal number, or return None.

    >>> number(" 1e3"), number("1_000"), number("x")
    (1000.0, None, None)
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def numbers(column: Any) -> NDArray[np.float64]:
    """Read a column of strings as float64, NaN where there is no number."""
    import pyarrow as pa

    try:
        column[:20].cast(pa.float64())  # a cast that fails is slow: fail early
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        texts, codes = _distinct(column)
        found = [number(text) for text in texts]
        values = np.array([np.nan if value is None else value for value in found])[codes]
    return np.asarray(values, dtype=np.float64)


class _Kind:
    """What the values of a column seen so far allow it to be."""

    def __init__(self) -> None:
        self.all_numbers = True
        self.all_integers = True
        self.any_value = False

    @property
    def numeric(self) -> bool:
        return self.all_numbers and self.any_value

    @property
    def labels(self) -> LabelKind:
        if not self.numeric:
            return "text"
        return "integer" if self.all_integers else "number"

    def see(self, column: Any) -> None:
        if not self.all_numbers or len(column) == 0:
            return
        values = numbers(column)
        odd = np.flatnonzero(~np.isfinite(values))
        texts = column.take(odd).unique().to_pylist() if odd.size else []
        self.all_numbers = all(text in MISSING or number(text) is not None for text in texts)
        self.any_value |= odd.size < values.size or any(text not in MISSING for text in texts)
        finite = np.delete(values, odd)
        whole = bool((finite == np.rint(finite)).all())
        self.all_integers &= whole and (bool((np.abs(finite) < 2.0**53).all()) or _are_int64(column))


def _are_int64(column: Any) -> bool:
    import pyarrow as pa

    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def _with_categories(tables: Iterable[Strings], schema: TableSchema) -> TableSchema:
    discrete = [column.name for column in schema.columns if column.categories is not None]
    seen: dict[str, set[str]] = {name: set() for name in discrete}
    for columns in tables:
        _, bad = _numeric_columns(columns, schema)
        if schema.target is not None:
            _labels(columns[schema.target], schema.target, schema.labels, bad)
        for name in discrete:
            column = columns[name]
            good = np.delete(np.arange(len(column)), list(bad)) if bad else None
            seen[name].update((column if good is None else column.take(good)).unique().to_pylist())
    found = (
        column if column.categories is None else Column(column.name, tuple(sorted(seen[column.name])))
        for column in schema.columns
    )
    return TableSchema(tuple(found), schema.target, schema.labels)


def _distinct(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    encoded = column.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _numeric_columns(columns: Strings, schema: TableSchema) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return the numeric columns side by side, and the rows where one is not a finite number."""
    names = [column.name for column in schema.columns if column.categories is None]
    values = np.empty((len(columns[schema.columns[0].name]), len(names)))
    bad: dict[int, str] = {}
    for place, name in enumerate(names):
        values[:, place] = numbers(columns[name])
        for row in np.flatnonzero(~np.isfinite(values[:, place])).tolist():
            bad.setdefault(row, f"column {name!r} {_not_a_number(columns[name][row].as_py())}")
    return values, bad


def _not_a_number(text: str) -> str:
    if text in MISSING:
        told = f" ({shown(text)})" if text else ""
        return (
            f"has no value{told}: fill it in, drop the column, or skip such lines with skip_bad (--skip-bad)"
        )
    kind = "a number" if number(text) is None else "a finite number"
    return f"is {shown(text)}, not {kind}: correct it, or skip such lines with skip_bad (--skip-bad)"


def _labels(column: Any, name: str, kind: LabelKind, bad: dict[int, str]) -> NDArray[Any]:
    """Return the labels, noting the rows that have none or one of another kind."""
    import pyarrow as pa

    if kind == "text":
        texts, codes = _distinct(column)
        if "" in texts:
            for row in np.flatnonzero(codes == texts.index("")).tolist():
                bad.setdefault(row, f"the target {name!r} has no value: write its label")
        return np.array(texts, dtype=np.str_)[codes]
    values = numbers(column)
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        bad.setdefault(row, f"the target {name!r} {_not_a_number(column[row].as_py())}")
    if kind == "integer" and (np.abs(values) >= 2.0**53).any() and _are_int64(column):
        return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))  # too long for a float64
    return values


def _one_hot(
    columns: Strings,
    schema: TableSchema,
    numeric: NDArray[np.float64],
    keep: NDArray[np.bool_],
    unseen: Counter[str],
) -> Any:
    """Return the CSR rows to keep: at most one entry for every column, in the order of the features."""
    import pyarrow as pa
    import pyarrow.compute as pc

    shape = (int(keep.sum()), len(schema.columns))
    places, values = np.empty(shape, np.int64), np.ones(shape)
    offset = n_numeric = 0
    for at, column in enumerate(schema.columns):
        if column.categories is None:
            places[:, at], values[:, at] = offset, numeric[keep, n_numeric]
            n_numeric += 1
            offset += 1
            continue
        found = pc.index_in(columns[column.name], value_set=pa.array(column.categories, pa.string()))
        codes = found.fill_null(-1).to_numpy(zero_copy_only=False)[keep]
        places[:, at], values[:, at] = offset + codes, codes >= 0
        if (codes < 0).any():
            unseen[column.name] += int((codes < 0).sum())
        offset += len(column.categories)
    stored = values != 0
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    return sparse_rows(values[stored], places[stored], indptr, schema.n_features)
