"""Tables of named columns of numbers, whoever made them."""

from collections.abc import Mapping, Sequence
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
    if isinstance(X, list):
        return None
    if isinstance(X, Mapping):
        names, columns = list(X), [np.asarray(column) for column in X.values()]
        block = np.column_stack(columns) if columns else np.empty((0, 0))
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        names, block = _listed(X.columns), X.to_numpy()
    elif hasattr(X, "column_names"):  # Arrow
        names, block = list(X.column_names), np.column_stack([np.asarray(column) for column in X.columns])
    else:
        return None
    if block.dtype.kind not in "biuf":
        raise ValueError("columns must hold numbers; give examples with text as dicts")
    return [name if type(name) is str else str(name) for name in names], block.astype(np.float64, copy=False)


def check_columns(names: Sequence[str], numbers: NDArray[np.float64]) -> None:
    """Raise ValueError naming the first number that is not finite."""
    wrong = np.argwhere(~np.isfinite(numbers))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"column {names[column]!r} is {numbers[row, column]} in row {row}: not a finite number"
        )


def _listed(names: Any) -> list[Any]:
    return list(names.tolist()) if hasattr(names, "tolist") else list(names)
