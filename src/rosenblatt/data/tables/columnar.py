"""Columnar tables: Parquet, Arrow IPC and data frames in memory, read in blocks of rows like text."""

import mmap
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rosenblatt.data.arrow_check import (
    Bounded,
    check_uncompressed_size,
    checked_column_names,
    reporting_damage,
    validated,
)
from rosenblatt.data.errors import BadInput
from rosenblatt.data.labels import EXACT
from rosenblatt.data.source import compression_of, opened_binary
from rosenblatt.data.tables.delimited import BadRow, Rows
from rosenblatt.data.tables.header import SAMPLED_LINES
from rosenblatt.data.tables.values import as_numpy, is_text, number, take, without_nulls
from rosenblatt.data.words import looks_like_text

ROWS_AT_ONCE = 1 << 14  # of a block; more take more memory but no less time
READ_AT_ONCE = 1 << 16  # buffer for a column of a Parquet file, in bytes

T = TypeVar("T")


class ColumnarSource:
    """A source of named columns in Arrow record batches."""

    header = None  # only text has one

    def __init__(self, path: str, names: list[str], left_out: Collection[str] = ()) -> None:
        self.path, self.names = path, checked_column_names(path, names)
        self._left_out = frozenset(left_out)  # columns that are not read, whatever they hold

    @property
    def usual_target(self) -> str:
        """The default target: the last column."""
        return self.names[-1]

    @property
    def prose(self) -> list[str]:
        """The columns whose first rows look like prose."""
        columns = self.head().columns
        return [
            name
            for name, column in columns.items()
            if is_text(column) and looks_like_text(column[:SAMPLED_LINES].to_pylist())
        ]

    def head(self) -> Rows:
        """Return the first rows."""
        first: Any = next(self.rows(self.names), None)
        return Rows({}, np.empty(0, np.int64), []) if first is None else first[0]

    def rows(
        self,
        wanted: Sequence[str],
        side_by_side: int = 0,
        then: Callable[[Rows], T] = lambda _: None,  # type: ignore[assignment, return-value]
        statistics: bool = False,
    ) -> Iterator[tuple[Rows, T]]:
        """Yield blocks of rows, with row numbers as lines, and the result of ``then`` for each."""
        first = 1
        import pyarrow as pa

        for record_batch in self._batches([name for name in wanted if name not in self._left_out]):
            for start in range(0, record_batch.num_rows, ROWS_AT_ONCE):
                batch = record_batch.slice(start, ROWS_AT_ONCE)
                columns = {
                    name: pa.nulls(batch.num_rows, pa.float64())
                    if name in self._left_out
                    else as_plain(self.path, name, batch.column(name))
                    for name in wanted
                }
                rows = _without_nul(Rows(columns, np.arange(first, first + batch.num_rows), []))
                yield rows, then(rows)
                first += batch.num_rows

    def _batches(self, wanted: list[str]) -> Iterator[Any]:
        raise NotImplementedError


class ParquetSource(ColumnarSource):
    """A Parquet file."""

    def __init__(self, path: str, left_out: Collection[str] = ()) -> None:
        from pyarrow import parquet

        with _checked(path), opened_binary(path) as file, reporting_damage(path, "a Parquet file"):
            names = list(parquet.ParquetFile(Bounded(file)).schema_arrow.names)
        super().__init__(path, names, left_out)

    def _batches(self, wanted: list[str]) -> Iterator[Any]:
        from pyarrow import parquet

        what = "a Parquet file"
        with _checked(self.path), opened_binary(self.path) as file, reporting_damage(self.path, what):
            # Without a buffer size, the reader would load the columns of a whole row group, however large.
            reader = parquet.ParquetFile(Bounded(file), buffer_size=READ_AT_ONCE, pre_buffer=False)
            for batch in reader.iter_batches(ROWS_AT_ONCE, columns=wanted, use_threads=False):
                yield validated(batch)


class ArrowSource(ColumnarSource):
    """An Arrow IPC file or stream, memory-mapped: uncompressed batches are neither copied nor kept."""

    def __init__(self, path: str, left_out: Collection[str] = ()) -> None:
        with _checked(path), opened_binary(path) as file, reporting_damage(path, "an Arrow IPC file"):
            names = list(_open_arrow(_memory_map(file)).schema.names)
        super().__init__(path, names, left_out)

    def _batches(self, wanted: list[str]) -> Iterator[Any]:
        what = "an Arrow IPC file"
        with _checked(self.path), opened_binary(self.path) as file, reporting_damage(self.path, what):
            check_uncompressed_size(file)
            content = _memory_map(file)
            reader = _open_arrow(content)
            batches = (
                (reader.get_batch(k) for k in range(reader.num_record_batches))
                if hasattr(reader, "num_record_batches")
                else iter(reader)
            )
            for batch in batches:
                validated(batch)
                if isinstance(content, mmap.mmap) and hasattr(content, "madvise"):
                    content.madvise(mmap.MADV_DONTNEED)  # free the pages that validation has loaded
                yield batch


def _memory_map(file: Any) -> Any:
    """Memory-map an open file."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _open_arrow(content: Any) -> Any:
    """Open an Arrow IPC file or stream, depending on its first bytes."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.DataTypeSpecific, use_threads=False)
    reader = pa.ipc.open_file if content[:6] == b"ARROW1" else pa.ipc.open_stream
    return reader(pa.py_buffer(content), options=options)


class FrameSource(ColumnarSource):
    """A data frame in memory: pandas, polars or pyarrow."""

    def __init__(self, frame: Any, path: str = "the table", left_out: Collection[str] = ()) -> None:
        import narwhals as nw

        self._frame = frame
        self._columns: dict[str, Any] = {}  # those that were read
        super().__init__(path, list(map(str, nw.from_native(frame, eager_only=True).columns)), left_out)

    def _batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        self._columns |= frame_columns(self._frame, [name for name in wanted if name not in self._columns])
        yield pa.RecordBatch.from_arrays([self._columns[name] for name in wanted], wanted)


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame, or a list of dictionaries."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(row, dict) for row in value)
    return hasattr(value, "columns") or hasattr(value, "column_names")


def frame_columns(frame: Any, only: Collection[str] | None = None) -> dict[str, Any]:
    """Return the columns of a data frame, a list of dictionaries or rows of values: Arrow arrays of numbers or strings.

    ``only`` names the columns of a data frame to return.

    >>> columns = frame_columns([{"Wind": 3, "Outlook": " Sunny"}, {"Outlook": "Rainy"}])
    >>> {name: column.to_pylist() for name, column in columns.items()}
    {'Wind': [3.0, None], 'Outlook': ['Sunny', 'Rainy']}
    """
    if isinstance(frame, list | tuple) and is_frame(frame):
        names = list(dict.fromkeys(name for row in frame for name in row))
        return {str(name): _python_values([row.get(name) for row in frame]) for name in names}
    if is_frame(frame):
        import narwhals as nw

        table = nw.from_native(frame, eager_only=True)
        series = zip(map(str, table.columns), table.iter_columns(), strict=True)
        return {name: _series(name, each) for name, each in series if only is None or name in only}
    rows = np.asarray(frame)
    return {f"x{column}": _python_values(rows[:, column]) for column in range(rows.shape[1])}


def _series(name: str, series: Any) -> Any:
    import pyarrow as pa

    try:
        column = series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # Python objects of several types
        return _python_values(series.to_list())
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    plain = as_plain("the table", name, column)
    if is_text(plain):
        import pyarrow.compute as pc

        return pc.utf8_trim_whitespace(plain)
    return plain


def _python_values(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return pa.array(values.astype(np.float64), pa.float64(), from_pandas=True)
    values = [None if _is_missing(value) else value for value in values]
    if all(value is None or isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(["" if value is None else str(value).strip() for value in values], pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _without_nul(rows: Rows) -> Rows:
    """Move rows with a NUL character in a text to the bad rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bad: dict[int, str] = {}
    for name, column in rows.columns.items():
        if column.type == pa.string() and _has_nul(column):
            for row in np.flatnonzero(as_numpy(pc.match_substring(column, "\0").cast(pa.int8()))).tolist():
                bad.setdefault(row, f"column {name!r} has a text with a NUL character: remove it")
    if not bad:
        return rows
    keep = np.delete(np.arange(rows.lines.size), list(bad))
    return Rows(
        {name: take(column, keep) for name, column in rows.columns.items()},
        rows.lines[keep],
        [BadRow(int(rows.lines[row]), bad[row]) for row in sorted(bad)],
    )


def _has_nul(column: Any) -> bool:
    """Whether a column of strings contains a NUL character; searches its bytes, not string by string."""
    _, offsets, text = column.buffers()
    if text is None or not len(column):
        return False
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, 4 * column.offset)
    here = np.frombuffer(text, np.uint8)[ends[0] : ends[-1]]
    return bool(here.size) and int(here.min()) == 0  # three times as fast as all()


def as_plain(path: str, name: str, column: Any) -> Any:
    """Return a column as strings or numbers: categories as text, booleans as 0 and 1, dates in ISO 8601."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_run_end_encoded(kind):
        raise _of_other_kind(path, name, kind)
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column
    try:
        if pa.types.is_decimal(kind):  # a cast to floats would not round to the nearest
            texts = column.cast(pa.string())
            values = [None if text is None else number(text) for text in texts.to_pylist()]
            if values.count(None) > column.null_count:  # its scale is out of range
                raise BadInput(path, None, f"column {name!r} holds {kind}, whose values are no numbers")
            if any(value is not None and abs(value) >= EXACT for value in values):
                return without_nulls(texts)  # so that labels are compared as they are written
            return pa.array(values, pa.float64())
        if pa.types.is_null(kind):
            return column.cast(pa.float64())
        if not pa.types.is_nested(kind) and "binary" not in str(kind):
            return without_nulls(column.cast(pa.string()))
    except pa.ArrowNotImplementedError:
        pass
    raise _of_other_kind(path, name, kind)


def _of_other_kind(path: str, name: str, kind: Any) -> BadInput:
    way_out = f"leave it out with drop={name!r} (--drop {name}), or write its parts as columns of their own"
    return BadInput(path, None, f"column {name!r} holds {kind}, neither numbers nor text: {way_out}")


class _checked:
    """Raise BadInput for a file that cannot be opened, is empty, or is compressed as a whole."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        if Path(self._path).is_file():
            with Path(self._path).open("rb") as file:
                start = file.read(8)
            if not start:
                raise BadInput(self._path, None, "the file is empty: it holds no examples")
            compression = compression_of(start)
            if compression:
                raise BadInput(
                    self._path,
                    None,
                    f"is compressed with {compression} as a whole: decompress it, the format compresses its columns",
                )

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            raise BadInput(self._path, None, "no such file: check the path") from None
        if isinstance(error, PermissionError):
            raise BadInput(self._path, None, "may not be read: check its permissions") from None
