"""Features, labels and weights of Spark DataFrames: SQL for Java on the one side, Arrow buffers to numpy on the other.

Features are a vector column, an array, a map, or plain columns. Java takes vectors, arrays and maps apart and converts
their values to doubles, so that Python receives buffers and no objects.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LABEL, WEIGHT = "__label", "__weight"
VALUES, INDICES = "__values", "__indices"  # of vectors, arrays and maps
STRUCT = "__struct"  # a vector as the struct that Spark stores
SIZES = "__sizes"  # of sparse vectors; null for dense ones
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "boolean", "decimal")
INTEGERS = ("byte", "short", "integer", "long")
LABELS = (*NUMBERS, "string", "char", "varchar")


class Layout(NamedTuple):
    """The columns of the features of a DataFrame, and their kind."""

    kind: str  # "columns", "vector", "array" or "map"
    columns: list[str]
    keys: list[str] | None = None  # of a map from names

    @property
    def names(self) -> list[str] | None:
        """Return the names of the features, where they have any."""
        return self.columns if self.kind == "columns" else self.keys

    def with_struct(self, frame: Any) -> Any:
        """Return the frame with vectors also as the struct that Spark stores, which :meth:`expressions` reads."""
        if self.kind != "vector":
            return frame
        from pyspark.sql import functions as sf

        return frame.withColumn(STRUCT, sf.unwrap_udt(quoted(self.columns[0])))

    def expressions(self) -> list[str]:
        """Return SQL expressions for the columns that :func:`matrix_of` reads."""
        if self.kind == "columns":
            return [f"cast({quoted(name)} as double) as {VALUES}{at}" for at, name in enumerate(self.columns)]
        column = quoted(self.columns[0])
        if self.kind == "array":
            return [f"cast({column} as array<double>) as {VALUES}"]
        if self.kind == "map":
            keys = (
                f"map_keys({column})" if self.keys is not None else f"cast(map_keys({column}) as array<long>)"
            )
            return [f"cast(map_values({column}) as array<double>) as {VALUES}", f"{keys} as {INDICES}"]
        # Dense vectors have no indices; empty lists are much faster than null ones, a second for 100,000 of them.
        indices = f"coalesce({STRUCT}.indices, cast(array() as array<int>)) as {INDICES}"
        return [f"{STRUCT}.values as {VALUES}", indices, f"{STRUCT}.size as {SIZES}"]


def table_expressions(frame: Any, columns: list[str]) -> list[str]:
    """Return SQL expressions for the columns that :func:`table_of` reads: numbered, decimals as doubles."""
    expressions = []
    for at, name in enumerate(columns):
        column = quoted(name)
        if type_name(frame, name) == "decimal":
            column = f"cast({column} as double)"
        expressions.append(f"{column} as {VALUES}{at}")
    return expressions


def quoted(name: str) -> str:
    """Return the name of a column quoted for SQL.

    >>> quoted("a.b `c`")
    '`a.b ``c```'
    """
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def layout_of(
    frame: Any, features: str | list[str] | None, others: list[str | None], keys: list[str] | None = None
) -> Layout:
    """Return the layout of the features; raise ValueError for columns that cannot be features.

    ``keys`` are the feature names of a model; without them, the keys of a map are collected from the data.
    """
    if features is None:
        features = [name for name in frame.columns if name not in others]
    columns = [features] if isinstance(features, str) else list(features)
    check_names(frame, [*columns, *others])
    if not columns:
        raise ValueError("no column is left to learn from: pass their names as features=")
    kinds = {name: type_name(frame, name) for name in columns}
    if len(columns) == 1 and kinds[columns[0]] in ("vector", "array", "map"):
        _check_values(frame, columns[0])
        return Layout(kinds[columns[0]], columns, _keys(frame, columns[0], keys))
    for name, kind in kinds.items():
        if kind not in NUMBERS:
            raise ValueError(
                f"column {name!r} holds {kind}, not numbers: choose other features, or encode it, as in "
                "fit_spark(make_pipeline(Attributes(), ...), ...)"
            )
    return Layout("columns", columns)


def check_names(frame: Any, names: Iterable[str | None]) -> None:
    """Raise ValueError for a column that is missing, or there twice."""
    for name in names:
        if name is not None and frame.columns.count(name) != 1:
            if name in frame.columns:
                raise ValueError(f"several columns are called {name!r}: rename them")
            raise ValueError(f"no column is called {name!r}; there are {', '.join(frame.columns)}")


def label_column(frame: Any, name: str) -> str:
    """Return the SQL expression for the labels: decimals as integers or doubles."""
    kind = frame.schema[name].dataType
    word = type_name(frame, name)
    if word not in LABELS:
        raise ValueError(
            f"the label {name!r} holds {kind.simpleString()}: labels are numbers, booleans or strings"
        )
    column = quoted(name)
    if word == "decimal":
        integral = kind.scale == 0 and kind.precision <= 18
        column = f"cast({column} as {'long' if integral else 'double'})"
    return f"{column} as {LABEL}"


def weight_column(frame: Any, name: str) -> str:
    """Return the SQL expression for the weights, as doubles."""
    word = type_name(frame, name)
    if word not in NUMBERS:
        raise ValueError(f"the weight {name!r} holds {word}: weights are numbers")
    return f"cast({quoted(name)} as double) as {WEIGHT}"


def type_name(frame: Any, name: str) -> str:
    """Return the name of the type of a column; ``vector`` for those of pyspark.ml."""
    kind = frame.schema[name].dataType
    word = str(kind.typeName())
    return "vector" if "Vector" in type(kind).__name__ else word.partition("(")[0]


def map_in_arrow(frame: Any, function: Callable[[Iterator[Any]], Iterable[Any]], schema: Any) -> Any:
    """Call ``DataFrame.mapInArrow`` without its warning about pandas 3, which it does not use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)


def _check_values(frame: Any, name: str) -> None:
    """Raise ValueError for arrays and maps of values other than numbers, or maps with keys of other types."""
    kind = frame.schema[name].dataType
    inner = getattr(kind, "elementType", None) or getattr(kind, "valueType", None)
    if inner is not None and str(inner.typeName()).partition("(")[0] not in NUMBERS:
        raise ValueError(f"column {name!r} holds {kind.simpleString()}, not numbers")
    key = getattr(kind, "keyType", None)
    if key is not None and key.typeName() not in (*INTEGERS, "string"):
        raise ValueError(
            f"column {name!r} holds {kind.simpleString()}: the keys of a map are names or whole numbers"
        )


def _keys(frame: Any, name: str, known: list[str] | None) -> list[str] | None:
    """Return the names among the keys of a map, sorted; None where keys are feature numbers."""
    kind = frame.schema[name].dataType
    if kind.typeName() != "map" or kind.keyType.typeName() != "string":
        return None
    if known is not None:
        return known
    from pyspark.sql import functions as sf

    keys = frame.select(sf.explode(sf.map_keys(quoted(name))).alias("key")).distinct().collect()
    return sorted(row["key"] for row in keys)


# Arrow to numpy


class _Lists(NamedTuple):
    """Lists of numbers as Arrow stores them."""

    starts: NDArray[np.int64]  # where each begins, and where the last ends
    numbers: NDArray[np.float64]


def matrix_of(rows: Any, layout: Layout) -> Any:
    """Return the features of an Arrow table or batch as a matrix, dense or CSR."""
    if layout.kind == "columns":
        columns = [_numbers(_column(rows, f"{VALUES}{at}"), name) for at, name in enumerate(layout.columns)]
        return np.column_stack(columns)
    values = _column(rows, VALUES)
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise ValueError(f"column {layout.columns[0]!r} has no value in row {row}: drop the row")
    flat = values.flatten()
    if flat.null_count:
        row = int(np.searchsorted(_starts(values), flat.is_null().index(True).as_py(), "right")) - 1
        raise ValueError(f"column {layout.columns[0]!r} has a missing value in row {row}: fill it in")
    lists = _Lists(_starts(values), _numbers(flat, layout.columns[0]))
    if layout.kind == "vector":
        return _vectors(lists, rows, layout.columns[0])
    if layout.kind == "array":
        return _arrays(lists, layout.columns[0])
    return _maps(lists, _column(rows, INDICES), layout)


def labels_of(rows: Any, name: str) -> NDArray[Any]:
    """Return the labels of an Arrow table or batch: strings, booleans, integers or floats."""
    labels = _column(rows, name)
    if labels.null_count:
        row = labels.is_null().to_pylist().index(True)
        raise ValueError(f"the label has no value in row {row}: drop the row, or name its class")
    if str(labels.type) in ("string", "large_string", "bool"):
        return np.array(labels.to_pylist())
    return np.asarray(labels.to_numpy(zero_copy_only=False))


def weights_of(rows: Any, name: str) -> NDArray[np.float64]:
    """Return the weights of an Arrow table or batch."""
    return _numbers(_column(rows, name), "weight")


def table_of(batches: list[Any], columns: list[str]) -> Any:
    """Return the columns of Arrow batches as a table, under their own names."""
    import pyarrow as pa

    table = pa.Table.from_batches(batches)
    arrays = [table.column(f"{VALUES}{at}") for at in range(len(columns))]
    return pa.Table.from_arrays(arrays, names=columns)


def _column(rows: Any, name: str) -> Any:
    column = rows.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise ValueError(f"column {name!r} has no value in row {row}: fill it in, or drop the row")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _starts(lists: Any) -> NDArray[np.int64]:
    """Return where each list begins among the flattened values, and where the last ends."""
    starts = np.asarray(lists.offsets).astype(np.int64)
    return np.asarray(starts - starts[0])


def _arrays(lists: _Lists, name: str) -> NDArray[np.float64]:
    lengths = np.diff(lists.starts)
    if lengths.size and (lengths != lengths[0]).any():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise ValueError(f"column {name!r}: row {row} has {lengths[row]} values, the first has {lengths[0]}")
    return lists.numbers.reshape(lengths.size, -1) if lists.numbers.size else np.empty((lengths.size, 0))


def _vectors(lists: _Lists, rows: Any, name: str) -> Any:
    """Return vectors of pyspark.ml: dense ones have values, sparse ones also indices and a size."""
    sizes = _column(rows, SIZES)
    if sizes.null_count == len(sizes):
        return _arrays(lists, name)
    starts = lists.starts
    indices = np.asarray(_column(rows, INDICES).flatten())  # of sparse ones
    width = int(np.asarray(sizes.drop_null()).max())
    if sizes.null_count:
        lengths, sparse = np.diff(starts), np.asarray(sizes.is_valid())
        sparse_indices, indices = (
            indices,
            np.arange(starts[-1]) - np.repeat(starts[:-1], lengths),
        )  # of dense ones
        indices[np.repeat(sparse, lengths)] = sparse_indices
        width = max(width, int(lengths[~sparse].max()))
    return _csr(lists.numbers, indices, starts, width)


def _maps(lists: _Lists, keys: Any, layout: Layout) -> Any:
    starts, numbers, flat = lists.starts, lists.numbers, keys.flatten()
    if layout.keys is None:
        indices = np.asarray(flat).astype(np.int64)
        if indices.size and indices.min() < 0:
            raise ValueError(f"a map has the key {indices.min()}: features are numbered from 0")
        return _csr(numbers, indices, starts, int(indices.max()) + 1 if indices.size else 0)
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers_of_keys = pc.index_in(flat, value_set=pa.array(layout.keys, type=flat.type)).fill_null(-1)
    indices = np.asarray(numbers_of_keys).astype(np.int64)
    known = indices >= 0  # others are names that training never saw
    starts = np.concatenate([[0], np.cumsum(known)])[starts]
    return _csr(numbers[known], indices[known], starts, len(layout.keys))


def _csr(values: Any, indices: NDArray[Any], starts: NDArray[Any], width: int) -> Any:
    from scipy.sparse import csr_array

    index = np.int32 if max(width, values.size) <= np.iinfo(np.int32).max else np.int64
    return csr_array(
        (np.asarray(values, dtype=np.float64), indices.astype(index), starts.astype(index)),
        shape=(starts.size - 1, width),
    )
