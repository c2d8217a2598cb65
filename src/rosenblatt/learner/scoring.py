"""Scores from weights, and classes or probabilities from scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import fill_scores, flat, laid_out, rows_of
from rosenblatt.core.threads import in_parts

# From this many stored numbers on, the compiled loop is faster than a matrix product; for a dense matrix only with at
# most this many rows of weights.
MIN_NUMBERS_FOR_LOOP, MAX_DENSE_WEIGHT_ROWS = 1 << 20, 4


def linear_scores(X: Any, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``X·wᵀ + b`` for ``(rows, 1 + features)`` weights, in the precision of ``X``."""
    return LinearScorer(X, weights).scores(slice(0, X.shape[0]))


class LinearScorer:
    """Scores of consecutive rows by fixed weights; blocks of sparse rows are not copied."""

    def __init__(self, X: Any, weights: NDArray[Any]) -> None:
        self._X, self._weights = X, weights.astype(X.dtype, copy=False)
        dense = isinstance(X, np.ndarray)
        self._numbers = (X if dense else X.data).size
        too_many = dense and weights.shape[0] > MAX_DENSE_WEIGHT_ROWS
        self._by_product = too_many or self._numbers < MIN_NUMBERS_FOR_LOOP
        if not self._by_product:
            self._rows = rows_of(X)
            self._flat = flat(self._rows, laid_out(self._rows, self._weights))

    def scores(self, block: slice) -> NDArray[Any]:
        """Return ``(rows, rows of weights)`` scores of a block of rows."""
        X, weights, first, count = self._X, self._weights, block.start, block.stop - block.start
        if self._by_product:
            part = X if count == X.shape[0] else X[block]
            return np.asarray(part @ weights[:, 1:].T + weights[:, 0])
        scores = np.empty((count, weights.shape[0]), X.dtype)

        def fill(a: int, b: int) -> None:
            buffer = np.empty_like(weights[:, 0])
            fill_scores(self._rows, X.shape[1], self._flat, first + a, buffer, scores[a:b])

        in_parts(fill, count, self._numbers * count // max(1, X.shape[0]))
        return scores


def decided(scores: NDArray[Any], classes: NDArray[Any], undecided: Any = None) -> NDArray[Any]:
    """Return the class of every row: by the sign of a single score, or by the largest of several.

    Where scores are tied it is the first class, or ``undecided`` if that is given.

    >>> decided(np.array([0.5, 0.0]), np.array(["no", "yes"]), undecided="?")
    array(['yes', '?'], dtype='<U3')
    """
    if scores.ndim == 1:
        labels = classes[(scores > 0.0).astype(np.int64) * (classes.size - 1)]
        tied = scores == 0.0
    else:
        labels = classes[np.argmax(scores, axis=1)]
        tied = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1
    if undecided is None or not tied.any():
        return labels
    labels = labels.astype(np.result_type(labels.dtype, np.asarray(undecided).dtype))
    labels[tied] = undecided
    return labels


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probability of every class, ``(rows, classes)``; one-dimensional scores are log odds of two classes.

    >>> softmax(np.array([0.0, 1000.0]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    scores = scores.astype(np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
