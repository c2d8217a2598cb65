"""Tables of named columns of numbers, whoever made them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Names:
    """The names of columns as text; a stream says the same ones again and again, and reading them takes time."""

    def __init__(self) -> None:
        self._said: Any = None
        self._names: list[str] = []

    def of(self, said: Any) -> list[str]:
        """Return the names as text; the same list where nothing has changed."""
        if not _same_text(said, self._said):
            listed = said.tolist() if hasattr(said, "tolist") else list(said)
            self._said, self._names = said, [name if type(name) is str else str(name) for name in listed]
        return self._names


def columns_of(X: Any, names: Names) -> tuple[list[str], NDArray[np.float64]] | None:
    """Return the names and the numbers of a data frame, an Arrow table or a dict of columns; None for anything else.

    >>> columns_of({"a": [1, 2], "b": [0.5, 0]}, Names())
    (['a', 'b'], array([[1. , 0.5], [2. , 0. ]]))
    >>> columns_of([{"a": 1}], Names()) is None
    True
    """
    if isinstance(X, list):
        return None
    if isinstance(X, Mapping):
        said, columns = list(X), [np.asarray(column) for column in X.values()]
        block = np.column_stack(columns) if columns else np.empty((0, 0))
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        said, block = X.columns, X.to_numpy()
    elif hasattr(X, "column_names"):  # Arrow
        said, block = X.column_names, np.column_stack([np.asarray(column) for column in X.columns])
    else:
        return None
    if block.dtype.kind not in "biuf":
        raise ValueError("columns must hold numbers; give examples with text as dicts")
    return names.of(said), block.astype(np.float64, copy=False)


def check_columns(names: Sequence[str], numbers: NDArray[np.float64]) -> None:
    """Raise ValueError naming the first number that is not finite."""
    wrong = np.argwhere(~np.isfinite(numbers))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"column {names[column]!r} is {numbers[row, column]} in row {row}: not a finite number"
        )


def _same_text(said: Any, before: Any) -> bool:
    """Return whether names are text, the same as before; only of text does equal mean the same."""
    if type(said) is not type(before) or str(getattr(said, "dtype", "")) != "str":
        return False
    return said is before or bool(said.equals(before))
