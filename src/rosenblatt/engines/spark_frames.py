"""Spark DataFrames as rows of numbers: a vector column, plain columns, arrays, or maps; through Arrow."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engines.shard import Shard

LABEL, WEIGHT = "__label", "__weight"
ARRAYS = ("data", "indices", "indptr", "labels", "weights")
PIECES = "shape array<long>, types array<string>, " + ", ".join(f"{name} binary" for name in ARRAYS)
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "boolean", "decimal")


class Layout(NamedTuple):
    """How the features of a DataFrame are read: which columns, and what they hold."""

    kind: str  # "columns", "vector", "array" or "map"
    columns: list[str]
    keys: list[str] | None = None  # of a map whose keys are names

    @property
    def names(self) -> list[str] | None:
        """Names of the features, where they have some."""
        return self.columns if self.kind == "columns" else self.keys


def layout_of(frame: Any, features: str | list[str] | None, others: list[str | None]) -> Layout:
    """Find out how features are stored, or say what is wrong with the columns named."""
    if features is None:
        features = [name for name in frame.columns if name not in others]
    columns = [features] if isinstance(features, str) else list(features)
    for name in [*columns, *(other for other in others if other is not None)]:
        if name not in frame.columns:
            raise ValueError(f"no column is called {name!r}; there are {', '.join(frame.columns)}")
    if not columns:
        raise ValueError("no column is left to learn from: name them in features=")
    kinds = {name: type_name(frame, name) for name in columns}
    if len(columns) == 1 and kinds[columns[0]] in ("vector", "array", "map"):
        return Layout(kinds[columns[0]], columns, _keys(frame, columns[0]))
    for name, kind in kinds.items():
        if kind not in NUMBERS:
            raise ValueError(
                f"column {name!r} holds {kind}, not numbers: name the features, or encode it, as in "
                "fit_spark(make_pipeline(Attributes(), ...), ...)"
            )
    return Layout("columns", columns)


def type_name(frame: Any, name: str) -> str:
    """Return the type of a column in a word; ``vector`` for those of pyspark.ml."""
    kind = frame.schema[name].dataType
    word = str(kind.typeName())
    return "vector" if "Vector" in type(kind).__name__ else word.partition("(")[0]


def matrix_of(table: Any, layout: Layout) -> Any:
    """Return the rows of an Arrow table as a matrix, dense or CSR."""
    if layout.kind == "columns":
        return np.column_stack([_numbers(table, name) for name in layout.columns])
    column = table.column(layout.columns[0]).combine_chunks()
    if column.null_count:
        raise ValueError(
            f"column {layout.columns[0]!r} has no value in {column.null_count} row(s): drop them"
        )
    if layout.kind == "vector":
        return _vectors(column)
    if layout.kind == "array":
        return _arrays(column, layout.columns[0])
    return _maps(column, layout)


def labels_of(table: Any, name: str) -> NDArray[Any]:
    """Return the labels of an Arrow table: strings, integers or floats."""
    column = table.column(name).combine_chunks()
    if column.null_count:
        raise ValueError(
            f"the label has no value in {column.null_count} row(s): drop them, or name their class"
        )
    labels = (
        np.array(column.to_pylist())
        if str(column.type) in ("string", "bool")
        else column.to_numpy(zero_copy_only=False)
    )
    if labels.dtype.kind not in "biufU":
        raise ValueError(f"the label holds {column.type}: labels are numbers or strings")
    return labels


def in_arrow(frame: Any, function: Callable[[Iterator[Any]], Iterable[Any]], schema: str) -> Any:
    """``DataFrame.mapInArrow``, which warns of pandas 3 although it hands over no pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)


def to_rows(shard: Shard) -> dict[str, list[Any]]:
    """Write the arrays of a shard as one row of plain bytes."""
    X = shard.X
    dense = isinstance(X, np.ndarray)
    weight = np.empty(0) if shard.weight is None else shard.weight
    arrays = (
        X if dense else X.data,
        _none if dense else X.indices,
        _none if dense else X.indptr,
        shard.y,
        weight,
    )
    return {
        "shape": [list(X.shape)],
        "types": [[each.dtype.str for each in arrays]],
        **{name: [each.tobytes()] for name, each in zip(ARRAYS, arrays, strict=True)},
    }


def from_row(row: Any) -> tuple[Any, NDArray[Any], Any]:
    """Read what :func:`to_rows` wrote."""
    data, indices, indptr, labels, weights = (
        np.frombuffer(row[name], np.dtype(kind)) for name, kind in zip(ARRAYS, row["types"], strict=True)
    )
    n, width = row["shape"]
    if not indptr.size:
        return data.reshape(n, width), labels, weights if weights.size else None
    from scipy.sparse import csr_array

    X = csr_array((data, indices, indptr), shape=(n, width))
    X.has_canonical_format = True  # it was checked when the shard was made
    return X, labels, weights if weights.size else None


_none = np.empty(0, np.int32)


def _keys(frame: Any, name: str) -> list[str] | None:
    """Return the names that the keys of a map are, sorted; None where they are numbers of features."""
    kind = frame.schema[name].dataType
    if kind.typeName() != "map" or kind.keyType.typeName() != "string":
        return None
    from pyspark.sql import functions as sf

    keys = frame.select(sf.explode(sf.map_keys(name)).alias("key")).distinct().collect()
    return sorted(row["key"] for row in keys)


def _numbers(table: Any, name: str) -> NDArray[np.float64]:
    column = table.column(name).combine_chunks()
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise ValueError(f"column {name!r} has no value in row {row}: fill it in, or drop the row")
    values = column.cast("float64") if str(column.type) != "bool" else column.cast("uint8").cast("float64")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _vectors(column: Any) -> Any:
    """Read vectors of pyspark.ml: type 1 is dense (values), type 0 sparse (size, indices, values)."""
    dense = np.asarray(column.field("type")) == 1
    if dense.all():
        return _arrays(column.field("values"), "the vectors")
    rows = []
    for row in column.to_pylist():
        places = range(len(row["values"])) if row["type"] == 1 else row["indices"]
        rows.append((places, row["values"], len(row["values"]) if row["type"] == 1 else row["size"]))
    width = max(size for _, _, size in rows)
    return _sparse([places for places, _, _ in rows], [values for _, values, _ in rows], width)


def _arrays(column: Any, name: str) -> NDArray[np.float64]:
    lengths = np.diff(np.asarray(column.offsets))
    if lengths.size and (lengths != lengths[0]).any():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise ValueError(f"{name}: row {row} has {lengths[row]} values, the first has {lengths[0]}")
    values = column.flatten()
    if values.null_count:
        raise ValueError(f"{name}: {values.null_count} value(s) are missing: fill them in")
    numbers = np.asarray(values.cast("float64").to_numpy(zero_copy_only=False))
    return numbers.reshape(len(column), -1) if numbers.size else np.empty((len(column), 0))


def _maps(column: Any, layout: Layout) -> Any:
    keys, values = column.keys.to_pylist(), column.items.cast("float64").to_numpy(zero_copy_only=False)
    if layout.keys is not None:
        number = {key: at for at, key in enumerate(layout.keys)}
        known = [key in number for key in keys]
        places = np.array([number.get(key, 0) for key in keys], dtype=np.int64)
        values = np.where(known, values, 0.0) if len(keys) else values
        width = len(layout.keys)
    else:
        places = np.array(keys, dtype=np.int64)
        if places.size and places.min() < 0:
            raise ValueError(f"a map has the key {places.min()}: features are numbered from 0")
        width = int(places.max()) + 1 if places.size else 0
    return _csr(values, places, np.asarray(column.offsets), width)


def _sparse(places: list[Any], values: list[Any], width: int) -> Any:
    starts = np.concatenate([[0], np.cumsum([len(each) for each in values])])
    flat = [value for each in values for value in each]
    where = [place for each in places for place in each]
    return _csr(np.array(flat, dtype=np.float64), np.array(where, dtype=np.int64), starts, width)


def _csr(values: Any, places: NDArray[np.int64], starts: NDArray[Any], width: int) -> Any:
    from scipy.sparse import csr_array

    index = np.int32 if max(width, values.size) <= np.iinfo(np.int32).max else np.int64
    return csr_array(
        (np.asarray(values, dtype=np.float64), places.astype(index), (starts - starts[0]).astype(index)),
        shape=(starts.size - 1, width),
    )
