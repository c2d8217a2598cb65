"""From weights to scores, and from scores to classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def linear_scores(X: Any, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``X·wᵀ + b`` for ``(rows, 1 + features)`` weights, in the precision of ``X``."""
    weights = weights.astype(X.dtype, copy=False)
    return np.asarray(X @ weights[:, 1:].T + weights[:, 0])


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
