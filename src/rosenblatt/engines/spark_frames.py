"""Spark DataFrames as rows of numbers: a vector column, plain columns, arrays, or maps; through Arrow.

Java takes columns apart and makes their values doubles, so that what arrives in Python are buffers and no objects.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, NamedTuple

LABEL, WEIGHT = "__label", "__weight"
VALUES, PLACES = "__values", "__places"  # of vectors, arrays and maps
PARTS = "__parts"  # a vector as the struct that it is kept as
SIZES = "__sizes"  # of sparse vectors; of dense ones there is none
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
ADAPTIVE = "spark.sql.adaptive.enabled"
NO_LIMIT = 2**31 - 1  # Spark then does not add up what a batch holds after every row, a sixth of its work
BATCH_BYTES = 1 << 20  # of a batch: ten times that no longer fits the caches, and takes a quarter longer
MOST_ROWS = 10_000  # of a batch, as Spark has it
FEW_ROWS = 2000  # where nothing says how long rows are
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

    def opened_up(self, frame: Any) -> Any:
        """Return the frame that :meth:`taken_apart` speaks of: vectors also as the struct that Spark keeps them as."""
        if self.kind != "vector":
            return frame
        from pyspark.sql import functions as sf

        return frame.withColumn(PARTS, sf.unwrap_udt(quoted(self.columns[0])))

    def taken_apart(self) -> list[str]:
        """Return the columns that ``matrix_of`` reads, in SQL: a call to Java each, where a ``Column`` takes twenty."""
        if self.kind == "columns":
            return [f"cast({quoted(name)} as double) as {VALUES}{at}" for at, name in enumerate(self.columns)]
        given = quoted(self.columns[0])
        if self.kind == "array":
            return [f"cast({given} as array<double>) as {VALUES}"]
        if self.kind == "map":
            keys = (
                f"map_keys({given})" if self.keys is not None else f"cast(map_keys({given}) as array<long>)"
            )
            return [f"cast(map_values({given}) as array<double>) as {VALUES}", f"{keys} as {PLACES}"]
        # Dense vectors have no places, and lists that are null are slow: a second for 100,000 of them.
        places = f"coalesce({PARTS}.indices, cast(array() as array<int>)) as {PLACES}"
        return [f"{PARTS}.values as {VALUES}", places, f"{PARTS}.size as {SIZES}"]

    def batch_rows(self, row_bytes: float | None) -> int:
        """How many rows Spark had best hand over at a time, given what one takes, where that is known."""
        if row_bytes is None:
            return FEW_ROWS
        return max(1, min(MOST_ROWS, int(BATCH_BYTES / max(row_bytes, 1.0))))


def as_they_are(frame: Any, columns: list[str]) -> list[str]:
    """Return, in SQL, the columns that ``table_of`` reads: by number, names may hold anything; decimals as doubles."""
    every = []
    for at, name in enumerate(columns):
        given = quoted(name)
        if type_name(frame, name) == "decimal":
            given = f"cast({given} as double)"
        every.append(f"{given} as {VALUES}{at}")
    return every


def quoted(name: str) -> str:
    """Return the name of a column as SQL reads it, whatever characters that has.

    >>> quoted("a.b `c`")
    '`a.b ``c```'
    """
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


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


def label_column(frame: Any, name: str) -> str:
    """Return the labels as Spark is to send them, in SQL: decimals as numbers that numpy has."""
    kind = frame.schema[name].dataType
    word = type_name(frame, name)
    if word not in LABELS:
        raise ValueError(
            f"the label {name!r} holds {kind.simpleString()}: labels are numbers, booleans or strings"
        )
    given = quoted(name)
    if word == "decimal":
        whole = kind.scale == 0 and kind.precision <= 18
        given = f"cast({given} as {'long' if whole else 'double'})"
    return f"{given} as {LABEL}"


def weight_column(frame: Any, name: str) -> str:
    """Return the weights of the rows as doubles, in SQL."""
    word = type_name(frame, name)
    if word not in NUMBERS:
        raise ValueError(f"the weight {name!r} holds {word}: weights are numbers")
    return f"cast({quoted(name)} as double) as {WEIGHT}"


def type_name(frame: Any, name: str) -> str:
    """Return the type of a column in a word; ``vector`` for those of pyspark.ml."""
    kind = frame.schema[name].dataType
    word = str(kind.typeName())
    return "vector" if "Vector" in type(kind).__name__ else word.partition("(")[0]


def row_bytes(frame: Any, layout: Layout) -> float | None:
    """Return what a row takes, where that is known: of columns, and of a frame that Spark has cached."""
    if layout.kind == "columns":
        return 8.0 * len(layout.columns)
    with suppress(Exception):  # a look behind the interface: not knowing costs time only
        leaves = frame._jdf.queryExecution().withCachedData().collectLeaves()
        told = leaves.head().stats()
        rows = told.rowCount()
        if leaves.size() == 1 and rows.isDefined():
            return float(told.sizeInBytes() / max(rows.get(), 1))
    return None


def is_cached(frame: Any) -> bool:
    """Whether Spark has cached just this frame, and not only what it is computed from."""
    kept = frame.storageLevel
    return bool(kept.useMemory or kept.useDisk)


@contextmanager
def in_batches(session: Any, rows: int, limited: bool = True, adaptive: bool = True) -> Iterator[None]:
    """Let Spark hand over no more rows at a time in what is planned meanwhile; not limited: whatever they take.

    Not adaptive: it need not prepare to plan anew on the way, which takes milliseconds and is of no use where nothing
    is shuffled. Settings of the session are put back as they were; bytes limited by hand stay limited.
    """
    with _SETTING:
        before = {name: session.conf.get(name, None) for name in (BATCH, LIMIT, ADAPTIVE)}
        most = int(before[BATCH] or 0)
        session.conf.set(BATCH, str(min(rows, most) if most > 0 else rows))
        if not limited and before[LIMIT] is None:
            session.conf.set(LIMIT, str(NO_LIMIT))
        if not adaptive:
            session.conf.set(ADAPTIVE, "false")
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, value)


def in_arrow(frame: Any, function: Callable[[Iterator[Any]], Iterable[Any]], schema: Any) -> Any:
    """``DataFrame.mapInArrow``, which warns of pandas 3 although it hands over no pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)


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

    keys = frame.select(sf.explode(sf.map_keys(quoted(name))).alias("key")).distinct().collect()
    return sorted(row["key"] for row in keys)
