"""From weights to scores, and from scores to classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.passes.rows import flat, laid_out, rows_of
from rosenblatt.passes.scores import fill_scores

# A pass of ours is quicker than a product for so few rows of weights, and so many numbers in X.
FEW, MANY_NUMBERS = 4, 1 << 20


def linear_scores(X: Any, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``X·wᵀ + b`` for ``(rows, 1 + features)`` weights, in the precision of ``X``."""
    weights = weights.astype(X.dtype, copy=False)
    dense = isinstance(X, np.ndarray)
    if weights.shape[0] > FEW or (X if dense else X.data).size < MANY_NUMBERS:
        return np.asarray(X @ weights[:, 1:].T + weights[:, 0])
    rows, scores = rows_of(X), np.empty((X.shape[0], weights.shape[0]), X.dtype)
    room = np.empty(FEW, X.dtype)
    together = weights.shape[0] if dense else 1  # side by side, sparse weights would be reached in steps
    for c in range(0, weights.shape[0], together):
        some = flat(rows, laid_out(rows, weights[c : c + together]))
        fill_scores(*rows, X.shape[1], some, together, room, scores[:, c : c + together])
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
