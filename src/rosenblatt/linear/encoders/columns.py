"""Conversion of data frames, lists of dicts and arrays to named pyarrow columns, of float64 or of strings."""

from typing import Any, NamedTuple

import numpy as np


class Table(NamedTuple):
    """Named columns of the same length."""

    columns: dict[str, Any]  # name -> pyarrow array of float64 (null: missing) or of strings ("": missing)
    named: bool  # whether the input itself names its columns


def as_table(X: Any) -> Table:
    """Convert a data frame (pandas, polars, pyarrow), a list of dicts, or rows of values.

    >>> table = as_table([{"Wind": 3, "Outlook": "Sunny"}, {"Outlook": "Rainy"}])
    >>> {name: column.to_pylist() for name, column in table.columns.items()}
    {'Wind': [3.0, None], 'Outlook': ['Sunny', 'Rainy']}
    """
    if isinstance(X, list | tuple) and len(X) and all(isinstance(row, dict) for row in X):
        names = list(dict.fromkeys(name for row in X for name in row))
        return Table({str(name): _values([row.get(name) for row in X]) for name in names}, True)
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        names = [str(name) for name in frame.columns]
        columns = (_frame_column(frame[name]) for name in frame.columns)
        return Table(dict(zip(names, columns, strict=True)), True)
    rows = np.asarray(X)
    return Table({f"x{j}": _values(rows[:, j]) for j in range(rows.shape[1])}, False)


def _frame_column(series: Any) -> Any:
    import pyarrow as pa

    try:
        column = series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # Python objects of several types
        return _values(series.to_list())
    return _column(column)


def _values(values: Any) -> Any:
    """Return Python or NumPy values as a column."""
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return pa.array(values.astype(np.float64), pa.float64(), from_pandas=True)
    values = [None if _is_missing(value) else value for value in values]
    if all(value is None or isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(["" if value is None else str(value).strip() for value in values], pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _column(column: Any) -> Any:
    """Return an arrow column as float64 or strings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.uint8()), pa.uint8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = column.cast(pa.float64(), safe=False)
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.float64())
    return pc.utf8_trim_whitespace(column.cast(pa.string()).fill_null(""))
