"""Batches in an Arrow IPC file: the output of ``convert`` and the cache between epochs, read by memory mapping.

A row holds its features (a list of index and value, or a vector), label, weight, line and file; the metadata of an
empty batch at the end holds the schema and everything else that is known only after reading.
"""

import json
import mmap
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.arrow_check import DAMAGED, Bounded, check_uncompressed_size
from rosenblatt.data.batch import Batch, as_written, sparse_rows
from rosenblatt.data.errors import BadInput, BadLine, SkippedLines
from rosenblatt.data.examples import Examples
from rosenblatt.data.labels import EXACT, check_names, checked_classes, exact_labels
from rosenblatt.data.matrix import check_finite
from rosenblatt.data.memory import memory_limit
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.schema import LibsvmSchema, Schema, schema_from_dict
from rosenblatt.data.source import opened_binary

KEY = b"rosenblatt"
VERSION = 1
MOST_FEATURES = 1 << 31  # indices are int32
RESIDENT_SHARE = 0.25  # of the memory: a smaller mapped file stays resident


def write_batches(file: Any, examples: Examples, batches: Iterable[Batch] | None = None) -> dict[str, Any]:
    """Write all examples to an open binary file, and return the metadata of its last batch."""
    import pyarrow as pa

    writer = None
    files: dict[str, int] = {}
    classes: set[Any] = set()
    rows = 0
    tagged = examples.format == "vw" or getattr(examples, "tagged", False)
    exact = False  # write labels as integers: float64 does not hold all of them
    from_one = 0  # batches before the first index 0
    for batch in batches if batches is not None else examples:
        if writer is None:
            exact = _beyond_float64(batch.y) is not None
        table = _as_arrow(batch, files, exact, tagged)
        if writer is None:
            schema = table.schema.with_metadata({KEY: str(VERSION).encode()})
            writer = pa.ipc.new_file(file, schema)
            empty = table.slice(0, 0)
        writer.write_batch(table)
        from_one += batch.first_index == 1
        rows += batch.lines.size
        if batch.y is not None:
            classes.update(np.unique(batch.y).tolist())
    if writer is None:
        raise BadInput(examples.path, None, "no examples to write")
    metadata = {
        "path": examples.path,
        "format": examples.format,
        "schema": examples.schema.to_dict(),
        "files": list(files),
        "rows": rows,
        "classes": sorted(classes),
        "skipped": [list(line) for line in examples.skipped],
        "skipped_in_all": examples.skipped.total,
        "unlabelled": examples.unlabelled,
        "from_one": from_one if getattr(examples, "zero_based", False) else 0,
    }
    writer.write_batch(empty, custom_metadata={KEY: json.dumps(metadata).encode()})
    writer.close()
    return metadata


def _as_arrow(batch: Batch, files: dict[str, int], exact: bool, tagged: bool) -> Any:
    import pyarrow as pa

    columns = {"x": _features_as_arrow(batch.X)}
    if batch.y is not None:
        columns["y"] = _labels_as_arrow(batch, exact)
    columns["line"] = _arrow(batch.lines)
    columns["file"] = _arrow(_file_numbers(batch, files))
    columns["weight"] = _arrow(np.ones(batch.lines.size) if batch.weight is None else batch.weight)
    if tagged:
        columns["tag"] = _tags_as_arrow(batch)
    return pa.RecordBatch.from_pydict(columns)


def _labels_as_arrow(batch: Batch, exact: bool) -> Any:
    import pyarrow as pa

    y: Any = batch.y
    if y.dtype.kind in "US":
        return pa.array(y.tolist(), pa.string())
    if exact and y.dtype.kind == "i":
        return _arrow(y.astype(np.int64, copy=False))
    row = 0 if exact else _beyond_float64(y)
    if row is not None:
        path, _, line = batch.where(row).rpartition(":")
        raise BadInput(
            path,
            int(line),
            f"the label {y[row]} beside those before it needs more than a float64: write labels as text",
        )
    return _arrow(y.astype(np.float64))


def _beyond_float64(y: Any) -> int | None:
    """Return the first row with an integer label beyond 2^53; None if there is none."""
    if y is None or y.dtype.kind not in "iu" or not y.size or max(abs(int(y.min())), int(y.max())) < EXACT:
        return None
    return int(np.flatnonzero((y >= EXACT) | (y <= -EXACT))[0])


def _tags_as_arrow(batch: Batch) -> Any:
    import pyarrow as pa

    if batch.tags is not None:
        return pa.array(batch.tags.tolist(), pa.string())
    offsets = pa.py_buffer(np.zeros(batch.lines.size + 1, np.int32))
    return pa.StringArray.from_buffers(batch.lines.size, offsets, pa.py_buffer(b""))


def _features_as_arrow(X: Any) -> Any:
    import pyarrow as pa

    if isinstance(X, np.ndarray):
        return pa.FixedSizeListArray.from_arrays(_arrow(X.reshape(-1)), X.shape[1])
    entries = pa.StructArray.from_arrays(
        [_arrow(X.indices.astype(np.int32, copy=False)), _arrow(X.data)], ["index", "value"]
    )
    return pa.ListArray.from_arrays(_arrow(X.indptr.astype(np.int32, copy=False)), entries)


def _arrow(numbers: NDArray[Any]) -> Any:
    """Wrap an array without copying; ``pa.array`` would import pandas."""
    import pyarrow as pa

    kinds = {
        np.dtype(np.float64): pa.float64(),
        np.dtype(np.int64): pa.int64(),
        np.dtype(np.int32): pa.int32(),
    }
    kind = kinds[numbers.dtype]
    return pa.Array.from_buffers(kind, numbers.size, [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def _file_numbers(batch: Batch, files: dict[str, int]) -> NDArray[np.int32]:
    firsts = [first for first, _ in batch.files] or [0]
    numbers = [files.setdefault(path, len(files)) for _, path in batch.files] or [0]
    lengths = np.diff([*firsts, batch.lines.size])
    return np.repeat(np.array(numbers, np.int32), lengths)


def holds_batches(path: str) -> bool:
    """Whether an Arrow file was written by :func:`write_batches`."""
    import pyarrow as pa

    try:
        with opened_binary(path) as file:
            metadata = pa.ipc.open_file(Bounded(file)).schema.metadata or {}
    except DAMAGED:
        return False
    return KEY in metadata


class BatchFile(Examples):
    """Batches of a file written by :func:`write_batches`, memory-mapped, so that a batch can be dropped after use.

    ``len(batches)`` is the number of batches, ``batches.batch(i)`` reads one. An open ``file``, which may have no
    name, is read instead of the path.
    """

    format = "arrow"

    def __init__(
        self,
        path: str,
        schema: Schema | None = None,
        batch_rows: int | None = None,
        skip_bad: bool = False,
        file: Any = None,
    ) -> None:
        super().__init__(path, batch_rows, skip_bad)
        import pyarrow as pa

        try:
            with opened_binary(path) if file is None else nullcontext(file) as content:
                self._map = mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_COPY)
                check_uncompressed_size(content, 0)  # write_batches does not compress
            self._reader = pa.ipc.open_file(pa.py_buffer(self._map))
            self.tagged = "tag" in self._reader.schema.names  # rows have identifiers
            n = self._reader.num_record_batches
            metadata = self._reader.get_batch_with_custom_metadata(n - 1).custom_metadata
            rows = sum(self._reader.get_batch(k).num_rows for k in range(n))  # reads their headers only
            self.metadata = _checked_metadata(json.loads(metadata[KEY]), rows)
            self._stored_schema = schema_from_dict(self.metadata["schema"])
            self.classes = exact_labels(self.metadata["classes"], "the file")
            self.rows = int(self.metadata["rows"])
            if self._stored_schema.n_features > MOST_FEATURES:
                raise ValueError(f"{self._stored_schema.n_features:,} features")
        except (*DAMAGED, RecursionError) as error:
            raise BadInput(
                path, None, f"not a file of converted examples, or a damaged one: {error}"
            ) from error
        self._validated: set[int] = set()  # batches that have been validated in full
        self._count = int(n) - 1
        self._base = pa.py_buffer(self._map).address
        self._extents: dict[int, tuple[int, int]] = {}  # of the batches in memory
        self._resident: dict[int, Batch] = {}  # of a small file, for its next epoch
        self._resident_copies = 0  # bytes of their labels and tags, at most the size of the file
        self._requested_schema = schema
        self._new_indices = _new_indices(path, self._stored_schema, schema)

    @property
    def schema(self) -> Schema:
        """The schema of the converted source, or the one passed to the constructor."""
        return self._stored_schema if self._requested_schema is None else self._requested_schema

    def __len__(self) -> int:
        return self._count

    def _blocks(self) -> Iterator[Batch]:
        self.skipped, self.unlabelled = self.skipped_lines(), self.metadata.get("unlabelled", 0)
        for k in range(self._count):
            yield self.batch(k)

    def skipped_lines(self) -> SkippedLines:
        """Return the lines that were skipped when the batches were written."""
        lines = [BadLine(*line) for line in self.metadata["skipped"]]
        return SkippedLines(lines, self.metadata.get("skipped_in_all"))

    def batch(self, k: int) -> Batch:
        """Return one batch: views of the mapped file, except for labels and tags."""
        if k in self._resident:
            return self._resident[k]
        try:
            batch = self._read(k)
        except DAMAGED as error:
            reason = f"a damaged file of examples ({error}): remove it, and convert or fit again"
            raise BadInput(self.path, None, reason) from error
        copied = _copied_bytes(batch)
        if self._is_small and self._new_indices is None and self._resident_copies + copied <= len(self._map):
            self._resident[k] = batch
            self._resident_copies += copied
        return batch

    def _read(self, k: int) -> Batch:
        record = self._reader.get_batch(k)
        record.validate(full=k not in self._validated)
        _check_types(record)
        self._extents[k] = self._extent(record)
        columns = {name: record.column(name) for name in record.schema.names}
        weight = self._numbers(columns["weight"], np.float64)
        X = self._matrix(columns["x"], k not in self._validated, k < self.metadata.get("from_one", 0))
        if not (np.isfinite(weight) & (weight >= 0.0)).all():
            raise ValueError("a weight that is negative or not finite")
        y = None
        if "y" in columns:
            y = self._labels(columns["y"])
        tags = None
        if self.tagged:
            texts = columns["tag"].to_pylist()
            if any(texts):
                tags = np.array(texts, np.str_)
                check_names(texts, "tag")
        self._validated.add(k)
        return Batch(
            X,
            y,
            self._numbers(columns["line"], np.int64),
            None if (weight == 1.0).all() else weight,
            self._files(self._numbers(columns["file"], np.int32)),
            tags,
        )

    def forget(self, k: int, even_if_small: bool = False) -> None:
        """Free the memory of a batch; that of a small file stays, unless ``even_if_small``.

        Mapping a page again takes half as long as learning from it.
        """
        if not hasattr(self._map, "madvise") or (self._is_small and not even_if_small):
            return
        resident = self._resident.pop(k, None)
        if resident is not None:
            self._resident_copies -= _copied_bytes(resident)
        lo, hi = self._extents.pop(k, (0, 0))
        page = mmap.PAGESIZE
        lo = -(-lo // page) * page
        if hi // page * page > lo:
            self._map.madvise(mmap.MADV_DONTNEED, lo, hi // page * page - lo)

    @cached_property
    def _is_small(self) -> bool:
        return len(self._map) < RESIDENT_SHARE * memory_limit()

    def _extent(self, record: Any) -> tuple[int, int]:
        """Return start and end of a batch in the mapped file."""
        buffers = [b for column in record.columns for b in column.buffers() if b is not None and b.size]
        if not buffers:
            return 0, 0
        return min(b.address for b in buffers) - self._base, max(
            b.address + b.size for b in buffers
        ) - self._base

    def _matrix(self, column: Any, first: bool, from_one: bool) -> Any:
        """Return the rows. Check indices always, since compiled loops rely on them; the rest only the ``first`` time.

        ``from_one``: the batch was written before the first index 0, and its column 0 is that of index 1.
        """
        values = column.flatten()
        width = self.schema.n_features
        if column.type.id == _list_id():
            starts = self._numbers(column.offsets, np.int32)
            indices = self._numbers(values.field("index"), np.int32)
            _check_rows(starts, indices, self._stored_schema.n_features - from_one)
            if from_one:
                indices = indices + np.int32(1)
            X = sparse_rows(
                self._numbers(values.field("value"), np.float64),
                indices,
                starts,
                self._stored_schema.n_features,
            )
            if first:
                _check_order(starts, indices)
                check_finite(X, "the file")
            return X if self._new_indices is None else _renumber(X, self._new_indices, width)
        dense = self._numbers(values, np.float64).reshape(len(column), self._stored_schema.n_features)
        if first:
            check_finite(dense, "the file")
        return dense

    def _numbers(self, array: Any, dtype: Any) -> NDArray[Any]:
        """Return the numbers of an Arrow array as a writable view of the map (copy on write)."""
        if len(array) == 0:
            return np.empty(0, dtype)
        size = np.dtype(dtype).itemsize
        start = array.buffers()[1].address - self._base + array.offset * size
        if start % size:
            raise ValueError("numbers that are not aligned")
        return np.frombuffer(self._map, dtype, len(array), start)

    def _labels(self, column: Any) -> NDArray[Any]:
        """Return labels with their original type."""
        if column.type == "string":
            column.validate(full=True)
            labels = exact_labels(column.to_pylist(), "the file")
            checked_classes(np.unique(labels), "the file")
            return labels
        if column.type == "int64":
            return self._numbers(column, np.int64)
        numbers = self._numbers(column, np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("a label that is not a finite number")
        labels = as_written(numbers)
        if self.classes.dtype.kind == "i" and labels.dtype != np.int64:
            raise ValueError("a label that is not an integer like the others")
        return labels

    def _files(self, numbers: NDArray[np.int32]) -> tuple[tuple[int, str], ...]:
        if not numbers.size:
            return ()
        if numbers.min() < 0:
            raise ValueError("a row with a negative file number")
        first = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        return tuple((int(row), self.metadata["files"][numbers[row]]) for row in first)


def _copied_bytes(batch: Batch) -> int:
    """Return the bytes of a batch outside the mapped file: its labels and tags."""
    return sum(column.nbytes for column in (batch.y, batch.tags) if column is not None)


def _check_rows(starts: NDArray[np.int32], indices: NDArray[np.int32], width: int) -> None:
    """Raise ValueError for offsets or indices out of range: compiled loops do not check them."""
    in_order = starts.size > 0 and starts[0] == 0 and bool((starts[1:] >= starts[:-1]).all())
    if not in_order or starts[-1] != indices.size:
        raise ValueError("offsets of rows that do not ascend from 0 to the number of entries")
    if indices.size and int(indices.view(np.uint32).max()) >= width:
        raise ValueError(f"an index above the {width} features")


def _check_order(starts: NDArray[np.int32], indices: NDArray[np.int32]) -> None:
    """Raise ValueError if the indices of a row do not ascend: its norm would be wrong."""
    ascends = indices[1:] > indices[:-1]
    between = starts[1:-1]
    ascends[between[(between > 0) & (between < indices.size)] - 1] = True
    if not ascends.all():
        raise ValueError("indices of a row that do not ascend")


def _check_types(record: Any) -> None:
    """Raise ValueError if a batch does not have the columns of :func:`write_batches`, or a value is missing."""
    import pyarrow as pa

    entries = pa.struct([("index", pa.int32()), ("value", pa.float64())])
    types = {name: record.schema.field(name).type for name in record.schema.names}
    labels = types.pop("y", pa.float64())
    tags = types.pop("tag", pa.string())
    x = types.pop("x", None)
    dense = pa.types.is_fixed_size_list(x) and x.value_type == pa.float64()
    if (
        types != {"line": pa.int64(), "file": pa.int32(), "weight": pa.float64()}
        or labels not in (pa.float64(), pa.int64(), pa.string())
        or tags != pa.string()
        or not (dense or (pa.types.is_list(x) and x.value_type == entries))
    ):
        raise ValueError(f"columns of other types: {record.schema.types}")
    if any(_has_nulls(column) for column in record.columns):
        raise ValueError("a value that is missing")


def _has_nulls(column: Any) -> bool:
    import pyarrow as pa

    if column.null_count:
        return True
    type_ = column.type
    if pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        return _has_nulls(column.values)
    return pa.types.is_struct(type_) and any(_has_nulls(column.field(k)) for k in range(type_.num_fields))


def _checked_metadata(metadata: Any, rows: int) -> dict[str, Any]:
    """Return the metadata of the last batch; raise ValueError if it is invalid."""
    strings = [metadata["path"], metadata["format"], *metadata["files"]]
    skipped = [BadLine(*line) for line in metadata["skipped"]]
    strings += [text for line in skipped for text in (line.path, line.reason)]
    counts = [
        metadata["rows"],
        *(metadata.get(name, 0) for name in ("skipped_in_all", "unlabelled", "from_one")),
    ]
    counts += [number for line in skipped for number in (line.line, line.column)]
    if not all(type(text) is str for text in strings) or not all(type(n) is int and n >= 0 for n in counts):
        raise ValueError("invalid metadata")
    classes = metadata["classes"]
    if metadata["rows"] != rows or len(classes) > rows:
        raise ValueError(
            f"{rows:,} rows and {len(classes):,} classes where it says {metadata['rows']:,} rows"
        )
    labels = checked_classes(np.unique(exact_labels(classes, "the file")), "the file")
    if (
        labels.size != len(classes)
        or labels.dtype.kind not in "iufUb"
        or type(metadata["schema"]) is not dict
    ):
        raise ValueError("classes that are not distinct labels")
    return dict(metadata)


def _list_id() -> int:
    import pyarrow as pa

    return int(pa.list_(pa.int8()).id)


def _new_indices(path: str, stored: Schema, requested: Schema | None) -> NDArray[np.int64] | None:
    """Return the new index of each stored feature in ``schema``, -1 to drop it; None if nothing changes."""
    if requested is None or stored == requested:
        return None
    if isinstance(stored, LibsvmSchema) and isinstance(requested, LibsvmSchema):
        indices = np.arange(stored.n_features)
        return np.where(indices < requested.n_features, indices, -1)
    if (
        isinstance(stored, NamedSchema)
        and isinstance(requested, NamedSchema)
        and not stored.bits | requested.bits
    ):
        index = {name: k for k, name in enumerate(requested.names)}
        return np.array([index.get(name, -1) for name in stored.names], np.int64)
    raise BadInput(path, None, "was converted for another model: convert its source again, or use the source")


def _renumber(X: Any, new_indices: NDArray[np.int64], width: int) -> Any:
    """Renumber the features of CSR rows and drop those with index -1."""
    indices = new_indices[X.indices]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    known = indices >= 0
    rows, indices, values = rows[known], indices[known], X.data[known]
    order = np.lexsort((indices, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    return sparse_rows(values[order], indices[order], indptr, width)
