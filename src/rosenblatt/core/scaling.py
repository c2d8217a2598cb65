"""Running statistics of features, and rows standardised by them, in the order in which the rows come.

Every feature has a count, a mean and ``m2 = Σ (x − mean)²`` of the values it had so far (Welford 1962: one pass, no
cancellation). Stored values count, zeros too; a feature that a row lacks is not counted. Entry 0 is the bias, which is
a constant input of 1, so its count is the number of rows.

A row is standardised by the statistics of all rows before it and of itself, never of its label:

- a feature with different values that at least half of the rows have becomes ``(x − mean) / σ`` with
  ``σ² = m2 / count``: a row without it has its mean. It is zero while every row has the same value;
- any other, such as the count of a word or an indicator, becomes ``x / √(mean of x²)`` and is never centred: a row
  without it has zero.

The operations run in the order of the rows and of their features, so any split of a stream into batches gives the same
bits. :func:`merge` adds up the statistics of two parts of a stream (Chan, Golub and LeVeque 1979), up to rounding.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from rosenblatt.core.named import pointer_to
from rosenblatt.core.rows import Rows
from rosenblatt.core.single import ENTRIES, INDICES, STARTS, VALUES
from rosenblatt.jit import exactly_compiled, exactly_compiled_part

STATISTICS = np.dtype([("count", np.int64), ("mean", np.float64), ("m2", np.float64)])
LARGEST_VALUE = 1e146  # the sum of squares of 2⁵³ such values is finite
TOO_LARGE_TO_SCALE = (
    "a value is beyond ±1e146, whose square cannot be summed: clip the features, or do not scale"
)


def new_statistics(n_features: int = 0) -> NDArray[Any]:
    """Return the statistics of no rows: one entry for the bias, then one for each feature."""
    statistics = np.zeros(1 + n_features, STATISTICS)
    statistics["mean"][0] = 1.0
    return statistics


def widened_statistics(statistics: NDArray[Any], n_features: int) -> NDArray[Any]:
    """Return statistics of this many features; new ones have not been seen."""
    if statistics.size > n_features:
        return statistics
    return np.concatenate([statistics, np.zeros(1 + n_features - statistics.size, STATISTICS)])


@exactly_compiled_part
def _scale_row(
    statistics: Any, values: Any, indices: Any, lo: Any, hi: Any, scaled: Any, update: bool
) -> None:
    """Standardise the values from ``lo`` to ``hi``; with ``update`` add their row to the statistics."""
    rows = statistics[0].count + 1
    for k in range(lo, hi):
        own, x = statistics[1 + np.int64(indices[k])], values[k]
        count = own.count + 1
        delta = x - own.mean
        mean = own.mean + delta / count
        m2 = own.m2 + delta * (x - mean)
        if m2 > 0.0 and 2 * count >= rows:
            scaled[k] = (x - mean) / np.sqrt(m2 / count)
        elif count == rows:
            scaled[k] = 0.0
        else:
            mean_square = m2 / count + mean * mean
            scaled[k] = x / np.sqrt(mean_square) if mean_square > 0.0 else 0.0
        if update:
            own.count, own.mean, own.m2 = count, mean, m2
    if update:
        statistics[0].count = rows


@exactly_compiled
def scale_rows(statistics: Any, values: Any, indices: Any, starts: Any, scaled: Any, update: bool) -> bool:
    """Standardise sparse rows into ``scaled``; with ``update`` each row is added to the statistics before the next.

    Nothing is changed, and the result is False, where a value is not finite or beyond :data:`LARGEST_VALUE`.
    """
    for k in range(values.shape[0]):
        if not abs(values[k]) <= LARGEST_VALUE:
            return False
    for i in range(starts.shape[0] - 1):
        _scale_row(statistics, values, indices, np.int64(starts[i]), np.int64(starts[i + 1]), scaled, update)
    return True


@exactly_compiled
def scale_buffer(address: int, statistics_at: int, size: int, scaled_at: int, update: bool) -> bool:
    """Standardise the row of an address table (:mod:`rosenblatt.core.single`) as :func:`scale_rows` does."""
    table = numba.carray(pointer_to(address), ENTRIES, np.int64)
    n = np.int64(numba.carray(pointer_to(table[STARTS]), 2, np.uint64)[1])
    values = numba.carray(pointer_to(table[VALUES]), n, np.float64)
    indices = numba.carray(pointer_to(table[INDICES]), n, np.uint32)
    for k in range(n):
        if not abs(values[k]) <= LARGEST_VALUE:
            return False
    statistics = numba.carray(pointer_to(statistics_at), size, STATISTICS)
    scaled = numba.carray(pointer_to(scaled_at), n, np.float64)
    _scale_row(statistics, values, indices, 0, n, scaled, update)
    return True


@cache
def buffer_scaler() -> Callable[[int, int, int, int, bool], bool]:
    """Return :func:`scale_buffer`, called without numba's inspection of its arguments."""
    i = types.int64
    compiled: Any = scale_buffer
    scaler: Callable[[int, int, int, int, bool], bool] = compiled.compile((i, i, i, i, types.boolean))
    return scaler


def scaled_rows(statistics: NDArray[Any], rows: Rows, update: bool = False) -> Rows:
    """Return sparse rows standardised; without ``update`` each by the statistics and itself alone.

    >>> statistics = new_statistics(1)
    >>> column = Rows(np.array([1.0, 3.0, 8.0]), np.zeros(3, np.uint32), np.arange(4, dtype=np.uint64))
    >>> scaled_rows(statistics, column, update=True).values.round(3).tolist()
    [0.0, 1.0, 1.359]
    >>> statistics[1].item()
    (3, 4.0, 26.0)
    """
    scaled = np.empty_like(rows.values)
    if not scale_rows(statistics, rows.values, rows.indices, rows.starts, scaled, update):
        raise ValueError(TOO_LARGE_TO_SCALE)
    return rows._replace(values=scaled)


def scaled_matrix(statistics: NDArray[Any], X: Any, update: bool = False) -> Any:
    """Return the rows of a matrix, dense or CSR, standardised as CSR; every cell of a dense one is a value."""
    from scipy.sparse import csr_array

    n, width = X.shape
    if isinstance(X, np.ndarray):
        indices, starts = np.tile(np.arange(width, dtype=np.int64), n), np.arange(n + 1) * width
        values = np.ascontiguousarray(X, dtype=np.float64).reshape(-1)
    else:
        values, indices, starts = X.data.astype(np.float64, copy=False), X.indices, X.indptr
    scaled = np.empty_like(values)
    if not scale_rows(statistics, values, indices, starts, scaled, update):
        raise ValueError(TOO_LARGE_TO_SCALE)
    return csr_array((scaled, indices, starts), shape=(n, width))


def centre_and_scale(statistics: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centre and the factor of every feature as the statistics are now: ``(x − centre) · factor``."""
    count, mean, m2 = (statistics[name][1:] for name in ("count", "mean", "m2"))
    seen = np.maximum(count, 1)
    rows = statistics["count"][0]
    centred = (m2 > 0.0) & (2 * count >= rows)
    square = np.where(centred, m2 / seen, np.where(count == rows, 0.0, m2 / seen + mean * mean))
    factor = np.divide(1.0, np.sqrt(square), out=np.zeros_like(square), where=square > 0.0)
    return np.where(centred, mean, 0.0), factor


def folded(weights: NDArray[Any], statistics: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weights for values as they are: ``w·factor``, and the bias minus ``Σ w·factor·centre``.

    ``weights`` has the bias first. The score of a row that has every centred feature stays what it was.
    """
    centre, factor = centre_and_scale(statistics[: weights.shape[1]])
    raw = weights.astype(np.float64)
    raw[:, 1:] *= factor
    raw[:, 0] -= raw[:, 1:] @ centre
    return raw


def merge(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Return the statistics of the rows of both, as of one stream (Chan, Golub and LeVeque 1979).

    >>> one, other = new_statistics(1), new_statistics(1)
    >>> for statistics, x in ((one, 1.0), (one, 3.0), (other, 8.0)):
    ...     _ = scaled_matrix(statistics, np.array([[x]]), update=True)
    >>> merge(one, other)[1].item()
    (3, 4.0, 26.0)
    """
    width = max(first.size, second.size) - 1
    a, b = widened_statistics(first, width), widened_statistics(second, width)
    merged = np.zeros(1 + width, STATISTICS)
    merged["count"] = a["count"] + b["count"]
    share = b["count"] / np.maximum(merged["count"], 1)
    delta = b["mean"] - a["mean"]
    merged["mean"] = np.where(a["count"] == 0, b["mean"], a["mean"] + delta * share)
    both = (a["count"] > 0) & (b["count"] > 0)
    merged["m2"] = a["m2"] + b["m2"] + np.where(both, delta * delta * a["count"] * share, 0.0)
    merged[0] = (merged["count"][0], 1.0, 0.0)
    return merged
