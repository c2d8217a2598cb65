"""The ledger: which example changed which weights, how much, and when. It is the dual form of the model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.records import ENTRY
from rosenblatt.core.rows import flat, rows_of
from rosenblatt.passes.replay import replay

FEWEST_LINES = 64


class Ledger:
    """Every update of a training run, and the examples that caused them.

    ``entries`` is a structured array with one line per update (the fields of ``rosenblatt.core.records.ENTRY``),
    ``support`` the examples themselves, each stored once, and ``start`` the weights the run began with. The
    weights after any number of updates can be told from these three.
    """

    def __init__(self, start: NDArray[Any]) -> None:
        self.start = start  # (rows of weights, 1 + features)
        self.support: Any = None  # matrix of the rows named in `support_rows`
        self.support_rows = np.empty(0, np.int64)  # ascending
        self._lines = np.empty(0, ENTRY)
        self._used = 0

    @property
    def entries(self) -> NDArray[Any]:
        """The lines written so far, in order."""
        return self._lines[: self._used]

    def __len__(self) -> int:
        return self._used

    def room(self, lines: int) -> NDArray[Any]:
        """Return blank lines to write into, at least as many as asked for."""
        if self._lines.size - self._used < lines:
            grown = np.empty(max(2 * self._lines.size, self._used + lines, FEWEST_LINES), ENTRY)
            grown[: self._used] = self.entries
            self._lines = grown
        return self._lines[self._used :]

    def written(self, lines: int, first_row: int) -> None:
        """Take the next lines as written, their rows counted from ``first_row``."""
        self._lines["row"][self._used : self._used + lines] += first_row
        self._used += lines

    def remember(self, X: Any, first_row: int, since: int) -> None:
        """Store the rows of ``X`` that the lines from number ``since`` on speak of."""
        rows = np.unique(self.entries["row"][since:])
        if not rows.size:
            return
        block = X[rows - first_row]
        self.support = block if self.support is None else stacked(self.support, block)
        self.support_rows = np.concatenate([self.support_rows, rows])

    def support_index(self) -> NDArray[np.int64]:
        """Return, for every line, which row of ``support`` it speaks of."""
        return np.searchsorted(self.support_rows, self.entries["row"])

    def lines_of(self, hypothesis: int, joint: bool) -> NDArray[np.int64]:
        """Return the numbers of the lines that changed one hypothesis (all lines, under ``joint``)."""
        if joint or self.start.shape[0] == 1:
            return np.arange(len(self))
        return np.flatnonzero(self.entries["up"] == hypothesis)

    def survivals(self, lines: NDArray[np.int64], until: float) -> NDArray[np.float64]:
        """Return how long each hypothesis lived on the clock: the start first, then one per line."""
        return np.diff(np.concatenate([[0.0], self.entries["clock"][lines], [until]]))

    def weights_after(self, numbers: NDArray[np.int64], unit: float) -> NDArray[Any]:
        """Return ``(numbers, rows, 1 + features)`` weights as they were after each number of lines (ascending)."""
        if self.support is None:
            return np.repeat(self.start[None], numbers.size, axis=0)
        rows = rows_of(self.support)
        classes, width = self.start.shape
        weights = flat(rows, self.start).copy()
        out = np.empty((numbers.size, weights.size), weights.dtype)
        replay(rows, self.entries, self.support_index(), unit, weights, classes, numbers, out)
        if rows.indices is None:
            return out.reshape(numbers.size, classes, width)
        return out.reshape(numbers.size, width, classes).transpose(0, 2, 1)

    def widen(self, n_features: int) -> None:
        """Make room for features that were not there before."""
        self.start = widened(self.start, n_features + 1)
        if self.support is not None:
            self.support = widened(self.support, n_features)

    def spread(self, rows: NDArray[np.int64], start: NDArray[Any], joint: bool) -> None:
        """Rename classes to ``rows``, after new ones joined; a run over two classes becomes one over several."""
        two = self.start.shape[0] == 1
        self.start = start
        lines = self.entries.copy()
        if two and joint:  # w split evenly between the two sides keeps every score difference
            lines["down"] = rows[0]
            lines["up"] = rows[1]
            lines["tau"] /= 2.0
        elif two:  # what one hypothesis said for class 1, two say for and against
            lines = np.repeat(lines, 2)
            lines["up"] = np.tile(rows[:2], lines.size // 2)
            lines["tau"][::2] *= -1.0
        else:
            lines["up"] = rows[lines["up"]]
            lines["down"] = np.where(lines["down"] < 0, -1, rows[lines["down"]])
        self._lines, self._used = lines, lines.size


def stacked(above: Any, below: Any) -> Any:
    """Put one matrix under another; sparse as soon as one is."""
    if isinstance(above, np.ndarray) and isinstance(below, np.ndarray):
        return np.concatenate([above, below])
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([csr_array(above), csr_array(below)], format="csr"))


def widened(matrix: Any, columns: int) -> Any:
    """Add zero columns on the right until there are ``columns``."""
    more = columns - matrix.shape[1]
    if more <= 0:
        return matrix
    if isinstance(matrix, np.ndarray):
        grown = np.zeros(
            (matrix.shape[0], columns), matrix.dtype, order="F" if matrix.flags.f_contiguous else "C"
        )
        grown[:, : matrix.shape[1]] = matrix
        return grown
    grown = matrix.copy()
    grown.resize((matrix.shape[0], columns))
    return grown
