"""From weights to scores, and from scores to classes."""

from concurrent.futures import wait
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import fill_scores, flat, laid_out, rows_of
from rosenblatt.learner.threads import parts_of_work, threads

# A pass of ours is quicker than a product for so many numbers in X; of dense ones, for so few rows of weights.
FEW, MANY_NUMBERS = 4, 1 << 20


def linear_scores(X: Any, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``X·wᵀ + b`` for ``(rows, 1 + features)`` weights, in the precision of ``X``."""
    weights = weights.astype(X.dtype, copy=False)
    dense = isinstance(X, np.ndarray)
    numbers = (X if dense else X.data).size
    if (dense and weights.shape[0] > FEW) or numbers < MANY_NUMBERS:
        return np.asarray(X @ weights[:, 1:].T + weights[:, 0])
    rows, scores = rows_of(X), np.empty((X.shape[0], weights.shape[0]), X.dtype)
    own, parts = flat(rows, laid_out(rows, weights)), parts_of_work(numbers)
    cuts = [X.shape[0] * k // parts for k in range(parts + 1)]
    others = [
        threads().submit(fill_scores, rows, X.shape[1], own, a, np.empty_like(weights[:, 0]), scores[a:b])
        for a, b in pairwise(cuts[1:])
    ]
    try:
        fill_scores(rows, X.shape[1], own, 0, np.empty_like(weights[:, 0]), scores[: cuts[1]])
    finally:
        wait(others)  # nobody reads what may be given back
    for other in others:
        other.result()
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
