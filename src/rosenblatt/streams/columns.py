"""Tables of named columns of numbers, whoever made them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns_of(X: Any) -> tuple[list[str], NDArray[np.float64]] | None:
    """Return the names and the numbers of a data frame, an Arrow table or a dict of columns; None for anything else.

    >>> columns_of({"a": [1, 2], "b": [0.5, 0]})
    (['a', 'b'], array([[1. , 0.5], [2. , 0. ]]))
    >>> columns_of([{"a": 1}]) is None
    True
    """
    if isinstance(X, Mapping):
        names, columns = list(X), [np.asarray(column) for column in X.values()]
        block = np.column_stack(columns) if columns else np.empty((0, 0))
    elif hasattr(X, "column_names"):  # Arrow
        names, block = list(X.column_names), np.column_stack([np.asarray(column) for column in X.columns])
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        names, block = _listed(X.columns), X.to_numpy()
    else:
        return None
    if block.dtype.kind not in "biuf":
        raise ValueError("columns must hold numbers; give examples with text as dicts")
    numbers = block.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()
    if not np.isfinite(total) and not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise ValueError(
            f"column {names[column]!r} is {numbers[row, column]} in row {row}: not a finite number"
        )
    return [str(name) for name in names], numbers


def _listed(names: Any) -> list[Any]:
    return list(names.tolist()) if hasattr(names, "tolist") else list(names)
