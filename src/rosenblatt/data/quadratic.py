"""The quadratic map: every feature, every square and every product of two features."""

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray


def quadratic(X: Any) -> NDArray[Any]:
    """Return every feature, every square and every product of two features.

    >>> quadratic(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 6., 9.]])
    """
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    i, j = np.triu_indices(X.shape[1])
    return np.hstack([X, X[:, i] * X[:, j]])


def quadratic_size(features: int) -> int:
    """Return the number of mapped features of ``d`` features: ``d + d(d + 1)/2``.

    >>> quadratic_size(2)
    5
    """
    return features + features * (features + 1) // 2


def features_before(mapped: int) -> int:
    """Return the number of features before the map, its inverse size; raise ValueError if there is none.

    >>> features_before(5)
    2
    """
    features = (isqrt(9 + 8 * mapped) - 3) // 2
    if mapped < 0 or quadratic_size(features) != mapped:
        raise ValueError(f"no quadratic map has {mapped} features")
    return features


def quadratic_names(names: Sequence[str]) -> list[str]:
    """Return the names of the mapped features.

    >>> quadratic_names(["a", "b"])
    ['a', 'b', 'a^2', 'a b', 'b^2']
    """
    i, j = np.triu_indices(len(names))
    pairs = zip(i.tolist(), j.tolist(), strict=True)
    products = [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b in pairs]
    return [*names, *products]
