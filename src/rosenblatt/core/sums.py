"""Per-class sums of rows, dense or CSR, in one read of the data; and the checks and merging of CSR rows."""

from typing import Any

import numpy as np

from rosenblatt.core.rows import FOUR, ONE, THREE, TWO
from rosenblatt.core.simd import products
from rosenblatt.jit import compiled

LARGEST = float(np.finfo(np.float64).max)
UNSORTED, OUTSIDE = -1, -2  # written in place of a length


@compiled
def add_dense(values: Any, labels: Any, weights: Any, sums: Any, classes: int) -> None:
    """Add every row, times its weight (empty: one each), to the sum of its class."""
    width = np.uint64(sums.shape[0]) // np.uint64(classes)
    weight = 1.0
    for i in range(np.uint64(labels.shape[0])):
        own = np.uint64(labels[i]) * width
        x = i * width
        if weights.shape[0] > 0:
            weight = weights[i]
        for j in range(width):
            sums[own + j] += weight * values[x + j]


@compiled
def add_dense_binary(values: Any, labels: Any, weights: Any, sums: Any, classes: int) -> float:
    """Add rows as :func:`add_dense` does, and return ``Σ |x² − x|``.

    The result is zero exactly if every value is zero or one, and not finite where a value is not.
    """
    width = np.uint64(sums.shape[0]) // np.uint64(classes)
    weight = 1.0
    deviation = 0.0
    for i in range(np.uint64(labels.shape[0])):
        own = np.uint64(labels[i]) * width
        x = i * width
        if weights.shape[0] > 0:
            weight = weights[i]
        row_deviation = values.dtype.type(0)
        for j in range(width):
            value = values[x + j]
            row_deviation += abs(value * value - value)
            sums[own + j] += weight * value
        deviation += row_deviation
    return deviation


@compiled
def add_sparse(
    values: Any, indices: Any, starts: Any, labels: Any, weights: Any, sums: Any, classes: int
) -> None:
    """Add every CSR row, times its weight (empty: one each), to the sum of its class."""
    width = np.uint64(sums.shape[0]) // np.uint64(classes)
    weight = 1.0
    for i in range(np.uint64(labels.shape[0])):
        own = np.uint64(labels[i]) * width
        if weights.shape[0] > 0:
            weight = weights[i]
        k, stop = starts[i], starts[i + ONE]
        while k + FOUR <= stop:  # four at a time: their indices are loaded before the first sum is written
            p0, p1 = own + np.uint64(indices[k]), own + np.uint64(indices[k + ONE])
            p2, p3 = own + np.uint64(indices[k + TWO]), own + np.uint64(indices[k + THREE])
            sums[p0] += weight * values[k]
            sums[p1] += weight * values[k + ONE]
            sums[p2] += weight * values[k + TWO]
            sums[p3] += weight * values[k + THREE]
            k += FOUR
        while k < stop:
            sums[own + np.uint64(indices[k])] += weight * values[k]
            k += ONE


@compiled
def tally_sparse(indices: Any, starts: Any, labels: Any, tally: Any, classes: int) -> None:
    """Count, for each class, the rows that store each column: the sums of rows whose stored values are all one."""
    width = np.uint64(tally.shape[0]) // np.uint64(classes)
    for i in range(np.uint64(labels.shape[0])):
        own = np.uint64(labels[i]) * width
        for k in range(starts[i], starts[i + ONE]):
            tally[own + np.uint64(indices[k])] += np.uint32(1)


@compiled
def count_different(values: Any, constant: float) -> int:
    """Return how many values differ from a constant."""
    count = 0
    for k in range(np.uint64(values.shape[0])):
        count += values[k] != constant
    return count


@compiled
def largest_sqnorm(values: Any, indices: Any, starts: Any, n: int, first: int, last: int) -> float:
    """Return ``max ‖xᵢ‖²`` of the rows from ``first`` up to ``last`` of ``n``, or the first that is not finite.

    All values are finite if the result is.
    """
    largest = 0.0
    width = np.uint64(values.shape[0]) // np.uint64(max(n, 1))
    for i in range(np.uint64(first), np.uint64(last)):
        start, length = i * width, width
        if indices is not None:
            start, length = starts[i], starts[i + ONE] - starts[i]
        (sqnorm,) = products(values, start, values, start, ONE, length, 0)
        if not sqnorm <= LARGEST:
            return float(sqnorm)
        largest = max(largest, float(sqnorm))
    return largest


@compiled
def merged_lengths(indices: Any, starts: Any, columns: int, first: int, lengths: Any) -> None:
    """Write the number of different columns of each CSR row from ``first`` on into ``lengths``.

    It is ``UNSORTED`` where the indices of a row do not ascend, and ``OUTSIDE`` where the row, or the last of its
    ascending indices, is outside the matrix.
    """
    for i in range(np.uint64(lengths.shape[0])):
        row = np.uint64(first) + i
        start, stop = starts[row], starts[row + ONE]
        if stop < start or stop > np.uint64(indices.shape[0]):
            lengths[i] = OUTSIDE
            continue
        distinct, unsorted = np.int64(stop > start), False
        for k in range(start + ONE, stop):
            distinct += indices[k] != indices[k - ONE]
            unsorted |= indices[k] < indices[k - ONE]
        lengths[i] = UNSORTED if unsorted else distinct
        if not unsorted and stop > start and np.uint64(indices[stop - ONE]) >= np.uint64(columns):
            lengths[i] = OUTSIDE


@compiled
def fill_merged(
    values: Any,
    indices: Any,
    starts: Any,
    first: int,
    last: int,
    new_starts: Any,
    new_indices: Any,
    new_values: Any,
) -> None:
    """Copy the sorted CSR rows from ``first`` up to ``last``, summing values of the same column.

    Every partial sum is written: a branch on whether the next column is the same would often be mispredicted.
    """
    for i in range(np.uint64(first), np.uint64(last)):
        k, stop = starts[i], starts[i + ONE]
        if k == stop:
            continue
        at = np.uint64(new_starts[i])
        new_values[at : np.uint64(new_starts[i + ONE])] = 0
        new_indices[at], new_values[at] = indices[k], values[k]
        for later in range(k + ONE, stop):
            at += np.uint64(indices[later] != indices[later - ONE])
            new_indices[at] = indices[later]
            new_values[at] += values[later]
