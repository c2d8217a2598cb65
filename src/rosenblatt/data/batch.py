"""Batches: the common form of examples from any source."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COALESCED_ROWS, COALESCED_BYTES = 16384, 8 << 20


class Batch(NamedTuple):
    """Consecutive examples of a source.

    >>> Batch(np.eye(2), np.array([-1, 1]), np.array([2, 3])).X.shape
    (2, 2)
    """

    X: Any  # (rows, features) float64: a dense block or a scipy.sparse.csr_array
    y: NDArray[Any] | None  # (rows,) int64, float64 or str, as in the file; None without a target
    lines: NDArray[np.int64]  # (rows,) line of every row in its file, 1-based, counting the header
    weight: NDArray[np.float64] | None = None  # (rows,) importance of every row; None: all 1
    files: tuple[tuple[int, str], ...] = ()  # (first row, path) of every file the rows come from
    tags: NDArray[np.str_] | None = (
        None  # (rows,) identifier of every row, "" without one; None: the file has none
    )
    first_index: int | None = None  # LIBSVM index of column 0, by what has been read; None: it is final

    def where(self, row: int) -> str:
        """Return ``path:line`` of a row.

        >>> Batch(np.eye(2), None, np.array([9, 1]), files=((0, "a.svm"), (1, "b.svm"))).where(1)
        'b.svm:1'
        """
        path = next((path for first, path in reversed(self.files) if first <= row), "")
        return f"{path}:{self.lines[row]}"


def sparse_rows(
    values: NDArray[np.float64], indices: NDArray[Any], indptr: NDArray[Any], n_features: int
) -> Any:
    """Return a ``csr_array`` of these arrays (ascending indices), with int32 indices where they fit."""
    from scipy.sparse import csr_array

    fits = values.size <= np.iinfo(np.int32).max and n_features <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    parts = (values, indices.astype(index, copy=False), indptr.astype(index, copy=False))
    rows: Any = csr_array(parts, shape=(indptr.size - 1, n_features))
    rows.has_canonical_format = True  # every reader sorts, so scipy need not check
    return rows


def concatenate(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches of one source; sparse ones get the width of the widest.

    >>> one = Batch(np.eye(2), np.array([0, 1]), np.array([1, 2]))
    >>> concatenate([one, one]).y
    array([0, 1, 0, 1])
    """
    if len(batches) == 1:
        return batches[0]
    first_index = min((batch.first_index for batch in batches if batch.first_index is not None), default=None)
    if first_index == 0:
        batches = [from_zero(batch) for batch in batches]
    labels = [batch.y for batch in batches if batch.y is not None]
    return Batch(
        _stack([batch.X for batch in batches]),
        np.concatenate(labels) if labels else None,
        np.concatenate([batch.lines for batch in batches]),
        _concatenate_weights(batches),
        _concatenate_files(batches),
        _concatenate_tags(batches),
        first_index,
    )


def from_zero(batch: Batch) -> Batch:
    """Return a batch of LIBSVM text with column 0 for index 0; shift the columns of a batch that begins at index 1."""
    if batch.first_index != 1:
        return batch
    X = sparse_rows(batch.X.data, batch.X.indices + 1, batch.X.indptr, batch.X.shape[1] + 1)
    return batch._replace(X=X, first_index=0)


def _concatenate_weights(batches: Sequence[Batch]) -> NDArray[np.float64] | None:
    if all(batch.weight is None for batch in batches):
        return None
    weights = (np.ones(batch.lines.size) if batch.weight is None else batch.weight for batch in batches)
    return np.concatenate(list(weights))


def _concatenate_tags(batches: Sequence[Batch]) -> NDArray[np.str_] | None:
    if all(batch.tags is None for batch in batches):
        return None
    tags = (np.zeros(batch.lines.size, "U1") if batch.tags is None else batch.tags for batch in batches)
    return np.concatenate(list(tags))


def _concatenate_files(batches: Sequence[Batch]) -> tuple[tuple[int, str], ...]:
    joined: list[tuple[int, str]] = []
    start = 0
    for batch in batches:
        for first, path in batch.files:
            if not joined or joined[-1][1] != path:
                joined.append((start + first, path))
        start += batch.lines.size
    return tuple(joined)


def _stack(blocks: list[Any]) -> Any:
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    starts = np.cumsum([0] + [block.nnz for block in blocks])
    indptr = [block.indptr[1:] + start for block, start in zip(blocks, starts, strict=False)]
    return sparse_rows(
        np.concatenate([block.data for block in blocks]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([np.zeros(1, np.int64), *indptr]),
        max(block.shape[1] for block in blocks),
    )


def rebatch(batches: Iterable[Batch], batch_rows: int) -> Iterator[Batch]:
    """Regroup batches of any size into batches of ``batch_rows`` rows; the last may be shorter.

    >>> blocks = [Batch(np.ones((n, 1)), np.arange(n), np.arange(n)) for n in (3, 1, 4)]
    >>> [batch.y.size for batch in rebatch(blocks, 3)]
    [3, 3, 2]
    """
    waiting: list[Batch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.lines.size
        if rows < batch_rows:
            continue
        joined = concatenate(waiting)
        full = rows - rows % batch_rows
        for start in range(0, full, batch_rows):
            yield _slice(joined, start, start + batch_rows)
        waiting = [_slice(joined, full, rows)] if full < rows else []
        rows -= full
    if rows:
        yield concatenate(waiting)


def _slice(batch: Batch, start: int, stop: int) -> Batch:
    if start == 0 and stop == batch.lines.size:
        return batch
    y = None if batch.y is None else batch.y[start:stop]
    weight = None if batch.weight is None else batch.weight[start:stop]
    files = tuple((max(first - start, 0), path) for first, path in batch.files if first < stop)
    # Of several files that begin before the slice, the last is the one that its first row is from.
    files = tuple(file for k, file in enumerate(files) if k + 1 == len(files) or files[k + 1][0] > 0)
    tags = None if batch.tags is None else batch.tags[start:stop]
    return Batch(batch.X[start:stop], y, batch.lines[start:stop], weight, files, tags, batch.first_index)


def batch_bytes(batch: Batch) -> int:
    """Return the memory of the features of a batch, in bytes."""
    X = batch.X
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


def coalesce(
    batches: Iterable[Batch], rows: int = COALESCED_ROWS, size: int = COALESCED_BYTES
) -> Iterator[Batch]:
    """Concatenate small batches to at least ``rows`` rows or ``size`` bytes: every batch has a fixed cost.

    >>> blocks = [Batch(np.ones((n, 2)), np.arange(n), np.arange(n)) for n in (3, 1, 4, 4)]
    >>> [batch.lines.size for batch in coalesce(blocks, rows=4)]
    [4, 4, 4]
    >>> [batch.lines.size for batch in coalesce(blocks, size=64)]
    [4, 4, 4]
    """
    pending: list[Batch] = []
    pending_rows = pending_size = 0
    for batch in batches:
        pending.append(batch)
        pending_rows, pending_size = pending_rows + batch.lines.size, pending_size + batch_bytes(batch)
        if pending_rows >= rows or pending_size >= size:
            yield concatenate(pending)
            pending, pending_rows, pending_size = [], 0, 0
    if pending:
        yield concatenate(pending)


def as_written(labels: NDArray[np.float64]) -> NDArray[Any]:
    """Return numeric labels as int64 if all are integers below 2⁵³, which float64 holds exactly.

    >>> as_written(np.array([-1.0, 1.0])), as_written(np.array([0.5, 1.0]))
    (array([-1,  1]), array([0.5, 1. ]))
    """
    whole = (labels == np.rint(labels)) & (np.abs(labels) < 2.0**53)
    return labels.astype(np.int64) if whole.all() else labels
