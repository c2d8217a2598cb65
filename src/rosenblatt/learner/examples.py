"""Examples as learners take them: checked once, trusted afterwards."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import Rows, rows_of
from rosenblatt.core.sums import OUTSIDE, UNSORTED, fill_merged, largest_sqnorm, merged_lengths
from rosenblatt.core.threads import in_parts
from rosenblatt.data.matrix import (
    check_finite,
    check_indices,
    checked_labels,
    checked_matrix,
    checked_weight,
    with_short_indices,
)


class CheckedExamples(NamedTuple):
    """Examples that need no further check."""

    X: Any  # a finite float matrix, dense in C order or canonical CSR; a kernel learner also takes tensors
    classes: NDArray[Any]  # sorted: those that occur, or both of two given classes
    labels: NDArray[np.int64]  # (rows,) the class index of every row
    weight: NDArray[np.float64] | None  # (rows,), None where every row has weight one
    # The largest ‖x‖² of a row with positive weight; zero where the learner does not need it.
    max_sqnorm: float
    standardised: bool = False  # rounding of X depends on the units of the columns: shuffle by rounded values

    @property
    def y(self) -> NDArray[Any]:
        """The labels as the caller wrote them."""
        return self.classes[self.labels]

    def without_zero_weights(self) -> "CheckedExamples":
        """Leave out rows of weight zero, and classes that only they have."""
        if self.weight is None or self.weight.all():
            return self
        positive = self.weight > 0.0
        occurring, labels = np.unique(self.labels[positive], return_inverse=True)
        weight = self.weight[positive]
        return self._replace(
            X=self.X[positive],
            classes=self.classes[occurring],
            labels=labels.reshape(-1).astype(np.int64),
            weight=None if (weight == 1.0).all() else weight,
        )


def checked_examples(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    max_sqnorm: float | None = None,
) -> CheckedExamples:
    """Check examples for a learner; raise ValueError where they are not valid.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    sample_weight : array-like of shape (n,), optional
    classes : array-like, optional
        Two classes that most likely are all: labels are then encoded faster.
    max_sqnorm : float, optional
        The largest ‖x‖², where it is known; the rows are then known to be finite.

    Returns
    -------
    CheckedExamples

    Examples
    --------
    >>> checked_examples([[1, 2], [3, 4]], ["b", "a"]).labels
    array([1, 0])
    """
    X = canonical_matrix(X)
    n = X.shape[0]
    occurring, labels = checked_labels(y, n, classes)
    weight = checked_weight(sample_weight, n)
    largest = max_row_sqnorm(X, weight) if max_sqnorm is None else max_sqnorm
    return CheckedExamples(X, occurring, labels, weight, largest)


def canonical_matrix(X: Any) -> Any:
    """Return a float matrix as compiled loops read it: dense in C order, or CSR with ascending indices.

    Values with the same row and column are summed. :func:`max_row_sqnorm` checks that values are finite.
    """
    if not hasattr(X, "tocsr"):
        return np.ascontiguousarray(checked_matrix(X, finite=False))
    if X.format != "csr":
        check_indices(X, "X")
    X = with_short_indices(X.tocsr(), "X")
    if X.data.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    rows, n, numbers = rows_of(X), X.shape[0], X.indices.size
    lengths = np.empty(n, np.int64)
    in_parts(lambda a, b: merged_lengths(rows.indices, rows.starts, X.shape[1], a, lengths[a:b]), n, numbers)
    if (lengths == OUTSIDE).any():
        row = int(np.flatnonzero(lengths == OUTSIDE)[0])
        raise ValueError(
            f"X is not a valid CSR matrix: row {row} points beyond the {numbers} stored values or has a column index "
            f"of {X.shape[1]} or more; build the matrix again, or call X.check_format() for details"
        )
    if (lengths == UNSORTED).any():  # rare: SciPy sorts
        X = X.copy()
        X.sort_indices()
        return canonical_matrix(X)
    return X if int(lengths.sum()) == numbers else _merged(X, rows, lengths)


def _merged(X: Any, rows: Rows, lengths: NDArray[np.int64]) -> Any:
    """Sum values that sorted rows store for the same column."""
    n = lengths.size
    starts = np.concatenate([[0], np.cumsum(lengths)])
    indices, values = np.empty(starts[-1], X.indices.dtype), np.empty(starts[-1], X.data.dtype)
    in_parts(
        lambda a, b: fill_merged(rows.values, rows.indices, rows.starts, a, b, starts, indices, values),
        n,
        X.nnz,
    )
    merged = type(X)((values, indices, starts.astype(X.indptr.dtype)), shape=X.shape)
    merged.has_canonical_format = True
    return merged


def max_row_sqnorm(X: Any, weight: NDArray[np.float64] | None = None) -> float:
    """Return the largest ``‖x‖²`` of a row with positive weight; raise ValueError where a value is not finite.

    One read of the data does both. Zero where there is no row. ``X`` is a matrix of :func:`canonical_matrix`.

    >>> max_row_sqnorm(np.array([[3.0, 4.0], [1.0, 0.0]]))
    25.0
    """
    if weight is not None and not weight.all():
        check_finite(X, "X")
        X = X[weight > 0.0]
    rows, n = rows_of(X), X.shape[0]
    largest_of_parts: list[float] = []
    in_parts(lambda a, b: largest_of_parts.append(largest_sqnorm(*rows, n, a, b)), n, rows.values.size)
    largest = 0.0 if not n else float(np.max(largest_of_parts))  # nan where one of them is
    if not math.isfinite(largest):
        check_finite(X, "X")  # if it passes, only a square overflowed
        if X.dtype == np.float32:
            return max_row_sqnorm(X.astype(np.float64))
    return largest
