"""Where the values of a row stand, and the weights they meet, one by one; rows as in :mod:`rosenblatt.passes.rows`."""

from typing import Any

import numpy as np

from rosenblatt.passes.compiled import compiled
from rosenblatt.passes.rows import ONE


@compiled
def place(indices: Any, start: Any, k: Any, c: Any, classes: Any, width: Any) -> Any:
    """Where the weight of class ``c`` for the k-th value of a row stands in the flat weights."""
    if indices is None:
        return c * (width + ONE) + ONE + (k - start)
    return (ONE + np.uint64(indices[k])) * classes + c


@compiled
def bias_place(indices: Any, c: Any, width: Any) -> Any:
    """Where the weight of class ``c`` for the always-one coordinate stands in the flat weights."""
    return c * (width + ONE) if indices is None else c


@compiled
def extent(indices: Any, starts: Any, i: Any, width: Any) -> Any:
    """Where the values of a row begin and end."""
    if indices is None:
        return i * width, i * width + width
    return starts[i], starts[i + ONE]
