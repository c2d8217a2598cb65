"""Examples as a learner takes them: looked over once at the door, trusted afterwards."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import rows_of
from rosenblatt.core.sums import largest_sqnorm
from rosenblatt.data.matrix import check_finite, checked_labels, checked_matrix, checked_weight


class Checked(NamedTuple):
    """Examples that have come through the door: a pass may trust them."""

    X: Any  # a finite float matrix, dense or canonical CSR
    classes: NDArray[Any]  # sorted: those that occur, or the two that are known
    labels: NDArray[np.int64]  # (rows,) of every row's class in them
    weight: NDArray[np.float64] | None  # (rows,), None where every row weighs one
    max_sqnorm: (
        float  # the largest ‖x‖² of a row that weighs anything; zero where the learner has seen the rows
    )


def checked_examples(
    X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None, max_sqnorm: float | None = None
) -> Checked:
    """Check what a learner is given.

    ``classes`` that it knows make labels quicker to find. Rows whose ``max_sqnorm`` is told are known to be finite.

    >>> checked_examples([[1, 2], [3, 4]], ["b", "a"]).labels
    array([1, 0])
    """
    X = checked_matrix(X, finite=False)
    if isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X)  # passes go along rows
    n = X.shape[0]
    met, labels = checked_labels(y, n, classes)
    weight = checked_weight(sample_weight, n)
    return Checked(X, met, labels, weight, max_row_sqnorm(X, weight) if max_sqnorm is None else max_sqnorm)


def max_row_sqnorm(X: Any, weight: NDArray[np.float64] | None = None) -> float:
    """Return the largest ``‖x‖²`` of a row that weighs anything; raise ValueError where a value is not finite.

    One read tells both. Zero where there is no row.

    >>> max_row_sqnorm(np.array([[3.0, 4.0], [1.0, 0.0]]))
    25.0
    """
    X = checked_matrix(X, finite=False)  # what a row stores twice counts by its sum
    if weight is not None and not weight.all():
        check_finite(X, "X")
        X = X[weight > 0.0]
    found = float(largest_sqnorm(*rows_of(X), X.shape[0]))
    if not math.isfinite(found):
        check_finite(X, "X")  # or only a square is beyond what a float can hold
        if X.dtype == np.float32:
            return max_row_sqnorm(X.astype(np.float64))
    return found
