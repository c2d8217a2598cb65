"""Spark DataFrames as rows of numbers: a vector column, plain columns, arrays, or maps; through Arrow.

Java takes columns apart and makes their values doubles, so that what arrives in Python are buffers and no objects.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LABEL, WEIGHT = "__label", "__weight"
VALUES, PLACES = "__values", "__places"  # of vectors, arrays and maps
PARTS = "__parts"  # a vector as the struct that it is kept as
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
BATCH_BYTES = (
    1 << 20
)  # about what a batch holds: ten times that no longer fits the caches, and takes a quarter longer
BATCH_ROWS = 2000  # where nothing says how long rows are
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "boolean", "decimal")
WHOLE = ("byte", "short", "integer", "long")
LABELS = (*NUMBERS, "string", "char", "varchar")
_SETTING = Lock()


class Layout(NamedTuple):
    """How the features of a DataFrame are read: which columns, and what they hold."""

    kind: str  # "columns", "vector", "array" or "map"
    columns: list[str]
    keys: list[str] | None = None  # of a map whose keys are names

    @property
    def names(self) -> list[str] | None:
        """Names of the features, where they have some."""
        return self.columns if self.kind == "columns" else self.keys

    def taken_apart(self) -> list[Any]:
        """Return the columns that :func:`matrix_of` reads, as Spark is to make them."""
        from pyspark.sql import functions as sf

        if self.kind == "columns":
            return [
                column(name).cast("double").alias(f"{VALUES}{at}") for at, name in enumerate(self.columns)
            ]
        given = column(self.columns[0])
        if self.kind == "array":
            return [given.cast("array<double>").alias(VALUES)]
        if self.kind == "map":
            keys = sf.map_keys(given)
            return [
                sf.map_values(given).cast("array<double>").alias(VALUES),
                (keys if self.keys is not None else keys.cast("array<long>")).alias(PLACES),
            ]
        parts = sf.unwrap_udt(given)
        none = sf.array().cast("array<int>")  # lists that are null are slow: a second for 100,000 of them
        sparse = sf.concat(sf.array(parts.getField("size")), parts.getField("indices"))
        return [
            parts.getField("values").alias(VALUES),
            sf.when(parts.getField("type") == 1, none).otherwise(sparse).alias(PLACES),
        ]

    def read(self, frame: Any, others: dict[str, Any]) -> Any:
        """Return the frame that :func:`matrix_of` reads, with other columns under their names beside it."""
        if self.kind != "vector":
            return frame.select(*self.taken_apart(), *others.values())
        from pyspark.sql import functions as sf

        # The same as taken_apart: as text, it is one call to Java and not forty, each half a millisecond.
        whole = frame.select(sf.unwrap_udt(column(self.columns[0])).alias(PARTS), *others.values())
        sparse = f"concat(array({PARTS}.size), {PARTS}.indices)"
        places = f"if({PARTS}.type = 1, cast(array() as array<int>), {sparse}) as {PLACES}"
        return whole.selectExpr(f"{PARTS}.values as {VALUES}", places, *others)

    @property
    def batch_rows(self) -> int:
        """How many rows Spark had best hand over at a time."""
        return max(1, BATCH_BYTES // (8 * len(self.columns))) if self.kind == "columns" else BATCH_ROWS


def as_they_are(frame: Any, columns: list[str]) -> list[Any]:
    """Return the columns that :func:`table_of` reads: by number, since names may hold anything; decimals as doubles."""
    every = []
    for at, name in enumerate(columns):
        given = column(name)
        if type_name(frame, name) == "decimal":
            given = given.cast("double")
        every.append(given.alias(f"{VALUES}{at}"))
    return every


def table_of(batches: list[Any], columns: list[str]) -> Any:
    """Return the columns of Arrow batches as a table, under their own names."""
    import pyarrow as pa

    whole = pa.Table.from_batches(batches)
    every = [whole.column(f"{VALUES}{at}") for at in range(len(columns))]
    return pa.Table.from_arrays(every, names=columns)


def column(name: str) -> Any:
    """Return a column by its name, whatever characters that has."""
    from pyspark.sql import functions as sf

    quoted = name.replace("`", "``")
    return sf.col(f"`{quoted}`")


def layout_of(
    frame: Any, features: str | list[str] | None, others: list[str | None], keys: list[str] | None = None
) -> Layout:
    """Find out how features are stored, or say what is wrong with the columns named.

    ``keys`` are the names that a model knows; those of a map are looked up in the data otherwise.
    """
    if features is None:
        features = [name for name in frame.columns if name not in others]
    columns = [features] if isinstance(features, str) else list(features)
    check_names(frame, [*columns, *others])
    if not columns:
        raise ValueError("no column is left to learn from: name them in features=")
    kinds = {name: type_name(frame, name) for name in columns}
    if len(columns) == 1 and kinds[columns[0]] in ("vector", "array", "map"):
        _check_values(frame, columns[0])
        return Layout(kinds[columns[0]], columns, _keys(frame, columns[0], keys))
    for name, kind in kinds.items():
        if kind not in NUMBERS:
            raise ValueError(
                f"column {name!r} holds {kind}, not numbers: name the features, or encode it, as in "
                "fit_spark(make_pipeline(Attributes(), ...), ...)"
            )
    return Layout("columns", columns)


def check_names(frame: Any, names: Iterable[str | None]) -> None:
    """Say which column is not there, or there twice."""
    for name in names:
        if name is not None and frame.columns.count(name) != 1:
            if name in frame.columns:
                raise ValueError(f"several columns are called {name!r}: rename them")
            raise ValueError(f"no column is called {name!r}; there are {', '.join(frame.columns)}")


def label_column(frame: Any, name: str) -> Any:
    """Return the labels as Spark is to send them: decimals as numbers that numpy has."""
    kind = frame.schema[name].dataType
    word = type_name(frame, name)
    if word not in LABELS:
        raise ValueError(
            f"the label {name!r} holds {kind.simpleString()}: labels are numbers, booleans or strings"
        )
    given = column(name)
    if word == "decimal":
        given = given.cast("long" if kind.scale == 0 and kind.precision <= 18 else "double")
    return given.alias(LABEL)


def weight_column(frame: Any, name: str) -> Any:
    """Return the weights of the rows as doubles."""
    word = type_name(frame, name)
    if word not in NUMBERS:
        raise ValueError(f"the weight {name!r} holds {word}: weights are numbers")
    return column(name).cast("double").alias(WEIGHT)


def type_name(frame: Any, name: str) -> str:
    """Return the type of a column in a word; ``vector`` for those of pyspark.ml."""
    kind = frame.schema[name].dataType
    word = str(kind.typeName())
    return "vector" if "Vector" in type(kind).__name__ else word.partition("(")[0]


def matrix_of(rows: Any, layout: Layout) -> Any:
    """Return the rows of an Arrow table or batch that a layout took apart as a matrix, dense or CSR."""
    if layout.kind == "columns":
        every = [_numbers(_whole(rows, f"{VALUES}{at}"), name) for at, name in enumerate(layout.columns)]
        return np.column_stack(every)
    values = _whole(rows, VALUES)
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise ValueError(f"column {layout.columns[0]!r} has no value in row {row}: drop the row")
    if values.flatten().null_count:
        row = (
            int(np.searchsorted(_starts(values), values.flatten().is_null().index(True).as_py(), "right")) - 1
        )
        raise ValueError(f"column {layout.columns[0]!r} has a missing value in row {row}: fill it in")
    if layout.kind == "vector":
        return _vectors(values, rows, layout.columns[0])
    if layout.kind == "array":
        return _arrays(values, layout.columns[0])
    return _maps(values, _whole(rows, PLACES), layout)


def labels_of(rows: Any, name: str) -> NDArray[Any]:
    """Return the labels of an Arrow table or batch: strings, booleans, integers or floats."""
    labels = _whole(rows, name)
    if labels.null_count:
        row = labels.is_null().to_pylist().index(True)
        raise ValueError(f"the label has no value in row {row}: drop the row, or name its class")
    if str(labels.type) in ("string", "large_string", "bool"):
        return np.array(labels.to_pylist())
    return np.asarray(labels.to_numpy(zero_copy_only=False))


def weights_of(rows: Any, name: str) -> NDArray[np.float64]:
    """Return the weights of an Arrow table or batch."""
    return _numbers(_whole(rows, name), "weight")


@contextmanager
def in_batches(session: Any, rows: int) -> Iterator[None]:
    """Let Spark hand over no more rows at a time in what is planned meanwhile."""
    with _SETTING:
        before = session.conf.get(BATCH)
        session.conf.set(BATCH, str(min(rows, int(before)) if int(before) > 0 else rows))
        try:
            yield
        finally:
            session.conf.set(BATCH, before)


def in_arrow(frame: Any, function: Callable[[Iterator[Any]], Iterable[Any]], schema: str) -> Any:
    """``DataFrame.mapInArrow``, which warns of pandas 3 although it hands over no pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)


def _whole(rows: Any, name: str) -> Any:
    found = rows.column(name)
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


def _check_values(frame: Any, name: str) -> None:
    """Refuse arrays and maps of anything but numbers, and maps from anything but numbers and names."""
    kind = frame.schema[name].dataType
    inner = getattr(kind, "elementType", None) or getattr(kind, "valueType", None)
    if inner is not None and str(inner.typeName()).partition("(")[0] not in NUMBERS:
        raise ValueError(f"column {name!r} holds {kind.simpleString()}, not numbers")
    key = getattr(kind, "keyType", None)
    if key is not None and key.typeName() not in (*WHOLE, "string"):
        raise ValueError(
            f"column {name!r} holds {kind.simpleString()}: the keys of a map are names or whole numbers"
        )


def _keys(frame: Any, name: str, known: list[str] | None) -> list[str] | None:
    """Return the names that the keys of a map are, sorted; None where they are numbers of features."""
    kind = frame.schema[name].dataType
    if kind.typeName() != "map" or kind.keyType.typeName() != "string":
        return None
    if known is not None:
        return known
    from pyspark.sql import functions as sf

    keys = frame.select(sf.explode(sf.map_keys(column(name))).alias("key")).distinct().collect()
    return sorted(row["key"] for row in keys)


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise ValueError(f"column {name!r} has no value in row {row}: fill it in, or drop the row")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _starts(lists: Any) -> NDArray[np.int64]:
    """Return where each list begins among the flattened values, and where the last ends."""
    starts = np.asarray(lists.offsets).astype(np.int64)
    return np.asarray(starts - starts[0])


def _arrays(values: Any, name: str) -> NDArray[np.float64]:
    lengths = np.diff(_starts(values))
    if lengths.size and (lengths != lengths[0]).any():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise ValueError(f"column {name!r}: row {row} has {lengths[row]} values, the first has {lengths[0]}")
    numbers = _numbers(values.flatten(), name)
    return numbers.reshape(len(values), -1) if numbers.size else np.empty((len(values), 0))


def _vectors(values: Any, rows: Any, name: str) -> Any:
    """Read vectors of pyspark.ml: dense ones have values, sparse ones a size and then places too."""
    given = _whole(rows, PLACES)
    if not len(given.flatten()):
        return _arrays(values, name)
    starts, before = _starts(values), _starts(given)
    lengths, sparse = np.diff(starts), np.diff(before) > 0
    flat, first = np.asarray(given.flatten()), before[:-1][sparse]
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)  # as in dense ones
    places[np.repeat(sparse, lengths)] = np.delete(flat, first)
    width = max(int(flat[first].max()), int(lengths[~sparse].max(initial=0)))
    return _csr(_numbers(values.flatten(), name), places, starts, width)


def _maps(values: Any, keys: Any, layout: Layout) -> Any:
    numbers, starts, flat = _numbers(values.flatten(), layout.columns[0]), _starts(values), keys.flatten()
    if layout.keys is None:
        places = np.asarray(flat).astype(np.int64)
        if places.size and places.min() < 0:
            raise ValueError(f"a map has the key {places.min()}: features are numbered from 0")
        return _csr(numbers, places, starts, int(places.max()) + 1 if places.size else 0)
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(flat, value_set=pa.array(layout.keys, type=flat.type)).fill_null(-1)
    places = np.asarray(found).astype(np.int64)
    known = places >= 0  # a model meets names that training never saw
    starts = np.concatenate([[0], np.cumsum(known)])[starts]
    return _csr(numbers[known], places[known], starts, len(layout.keys))


def _csr(values: Any, places: NDArray[np.int64], starts: NDArray[Any], width: int) -> Any:
    from scipy.sparse import csr_array

    index = np.int32 if max(width, values.size) <= np.iinfo(np.int32).max else np.int64
    return csr_array(
        (np.asarray(values, dtype=np.float64), places.astype(index), starts.astype(index)),
        shape=(starts.size - 1, width),
    )
