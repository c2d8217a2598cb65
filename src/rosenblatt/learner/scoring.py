"""From weights to scores, and from scores to classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import fill_scores, flat, laid_out, rows_of
from rosenblatt.core.threads import in_parts

# A pass of ours is quicker than a product for so many numbers in X; of dense ones, for so few rows of weights.
FEW, MANY_NUMBERS = 4, 1 << 20


def linear_scores(X: Any, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``X·wᵀ + b`` for ``(rows, 1 + features)`` weights, in the precision of ``X``."""
    return LinearScorer(X, weights).scores(slice(0, X.shape[0]))


class LinearScorer:
    """Scores of blocks of rows by the same weights; sparse blocks are not copied."""

    def __init__(self, X: Any, weights: NDArray[Any]) -> None:
        self._X, self._weights = X, weights.astype(X.dtype, copy=False)
        dense = isinstance(X, np.ndarray)
        self._numbers = (X if dense else X.data).size
        self._by_product = (dense and weights.shape[0] > FEW) or self._numbers < MANY_NUMBERS
        if not self._by_product:
            self._rows = rows_of(X)
            self._flat = flat(self._rows, laid_out(self._rows, self._weights))

    def scores(self, block: slice) -> NDArray[Any]:
        """Return ``(rows, rows of weights)`` scores of consecutive rows."""
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
    """Turn scores into classes: the sign of one column, the best of several; ties go to the first class.

    >>> decided(np.array([0.5, 0.0]), np.array(["no", "yes"]), undecided="?")
    array(['yes', '?'], dtype='<U3')
    """
    if scores.ndim == 1:
        labels = classes[(scores > 0.0).astype(np.int64) * (classes.size - 1)]
        torn = scores == 0.0
    else:
        labels = classes[np.argmax(scores, axis=1)]
        torn = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1
    if undecided is None or not torn.any():
        return labels
    mixed = labels.astype(np.result_type(labels.dtype, np.asarray(undecided).dtype))
    mixed[torn] = undecided
    return mixed


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Turn log odds into probabilities: a column for each class, also where one column of scores stands for two.

    >>> softmax(np.array([0.0, 1000.0]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    scores = scores.astype(np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))
