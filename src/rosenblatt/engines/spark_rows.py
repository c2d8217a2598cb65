"""What Arrow hands over, as matrices, labels and weights: without Spark, and without copies where that can be."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engines.spark_frames import PLACES, SIZES, VALUES, Layout


class _Lists(NamedTuple):
    """Lists of numbers as Arrow keeps them."""

    starts: NDArray[np.int64]  # where each begins, and where the last ends
    numbers: NDArray[np.float64]


def matrix_of(rows: Any, layout: Layout) -> Any:
    """Return the rows of an Arrow table or batch that a layout took apart as a matrix, dense or CSR."""
    if layout.kind == "columns":
        every = [_numbers(_whole(rows, f"{VALUES}{at}"), name) for at, name in enumerate(layout.columns)]
        return np.column_stack(every)
    values = _whole(rows, VALUES)
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
    return _maps(lists, _whole(rows, PLACES), layout)


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


def table_of(batches: list[Any], columns: list[str]) -> Any:
    """Return the columns of Arrow batches as a table, under their own names."""
    import pyarrow as pa

    whole = pa.Table.from_batches(batches)
    every = [whole.column(f"{VALUES}{at}") for at in range(len(columns))]
    return pa.Table.from_arrays(every, names=columns)


def _whole(rows: Any, name: str) -> Any:
    found = rows.column(name)
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


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
    """Read vectors of pyspark.ml: dense ones have values, sparse ones places and a size too."""
    sizes = _whole(rows, SIZES)
    if sizes.null_count == len(sizes):
        return _arrays(lists, name)
    starts = lists.starts
    places = np.asarray(_whole(rows, PLACES).flatten())  # of sparse ones
    width = int(np.asarray(sizes.drop_null()).max())
    if sizes.null_count:
        lengths, sparse = np.diff(starts), np.asarray(sizes.is_valid())
        own, places = places, np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)  # as in dense ones
        places[np.repeat(sparse, lengths)] = own
        width = max(width, int(lengths[~sparse].max()))
    return _csr(lists.numbers, places, starts, width)


def _maps(lists: _Lists, keys: Any, layout: Layout) -> Any:
    starts, numbers, flat = lists.starts, lists.numbers, keys.flatten()
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


def _csr(values: Any, places: NDArray[Any], starts: NDArray[Any], width: int) -> Any:
    from scipy.sparse import csr_array

    index = np.int32 if max(width, values.size) <= np.iinfo(np.int32).max else np.int64
    return csr_array(
        (np.asarray(values, dtype=np.float64), places.astype(index), starts.astype(index)),
        shape=(starts.size - 1, width),
    )
