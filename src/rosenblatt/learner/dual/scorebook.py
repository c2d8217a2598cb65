"""The scores of all training rows, kept up to date from pass to pass.

A row's score changes only by what was updated since it was last brought up to date. So a pass needs the kernel of
every row with the rows updated in that pass, not with all support rows: work falls with the mistakes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import cut
from rosenblatt.learner.dual.crossing import OnItsWay
from rosenblatt.learner.dual.space import FeatureSpace


class Part(NamedTuple):
    """A block of visits to a few rows."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]
    shown: NDArray[np.int64]  # the rows, each once
    index: Any  # the same, where matrices live
    rows: Any  # where matrices live
    beside: Any  # kernel with the rows whose steps are not told yet, for a book that looks ahead
    gram: OnItsWay  # among them


class ScoreBook:
    """Scores of rows under the coefficients ``W`` and ``A`` of a run, ``(rows, 2·classes)``, in kernel units."""

    # Every block looks at the updates that wait; telling all rows of a few would read all rows for little.
    most_waiting = 384

    def __init__(self, space: FeatureSpace, X: Any, first_row: int, scores: Any) -> None:
        self.scores = scores  # where matrices live; without the updates that wait
        self.space, self._X, self._first_row = space, X, first_row
        self.classes = int(scores.shape[1]) // 2
        self.numbers = np.empty(0, np.int64)  # the rows of the updates that wait
        self.steps = np.empty((0, 2 * self.classes))  # what they added to W, and to A

    def begin(self) -> None:
        """Prepare for a pass."""

    def look(self, part: Part) -> Any:
        """Return ``(rows, classes)`` scores of a block under the weights as they are, where matrices live."""
        now = self.space.arrays.rows(self.scores, part.index)[:, : self.classes]
        if not self.numbers.size:
            return now
        waiting = self.space.kept(self._X, self.numbers, self._first_row)
        return now + self.space.times(
            part.rows, waiting, self.space.arrays.put(self.steps[:, : self.classes])
        )

    def note(self, part: Part, touched: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
        """Take in the updates that a block made: which of its rows, and their steps."""
        self.numbers = np.concatenate([self.numbers, part.shown[touched]])
        self.steps = np.concatenate([self.steps, steps])

    def settle(self) -> None:
        """Tell every row of the updates that wait."""
        if not self.numbers.size:
            return
        arrays, n = self.space.arrays, int(self._X.shape[0])
        waiting = self.space.kept(self._X, self.numbers, self._first_row)
        steps = arrays.bring("steps", self.steps)
        for piece in cut(n, max(1, arrays.at_once // self.numbers.size)):
            told = self.scores[piece, ...]
            told += self.space.times(self._X[piece, ...], waiting, steps)  # in place
        self.numbers, self.steps = self.numbers[:0], self.steps[:0]

    def fold(self, c: int, scale: float, shadow: float) -> None:
        """Follow ``A ← A − shadow·W`` and ``W ← scale·W`` for class ``c`` (all, when negative)."""
        fold_columns(self.scores, c, scale, shadow)
        fold_columns(self.steps, c, scale, shadow)


class ScoreBookThere(ScoreBook):
    """The same where a device computes for nothing while this side decides, and every call to it is dear.

    A block comes with its kernel with all rows whose steps are not told yet, the block before among them; so its scores
    are one product away when that one is decided.
    """

    most_waiting = 512
    _steps: Any = None  # of those rows

    def begin(self) -> None:
        """Tell all rows of the last block, which the first one does not come with."""
        self.settle()
        self._steps = None

    def look(self, part: Part) -> Any:
        """Return the scores of a block: what all rows were told, and the steps of the rows it comes with."""
        now = self.space.arrays.rows(self.scores, part.index)[:, : self.classes]
        return now if self._steps is None else now + part.beside @ self._steps

    def note(self, part: Part, touched: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
        """Take in the updates that a block made, as steps of all its rows after those that wait."""
        waiting, arrays = self.numbers.size, self.space.arrays
        self._steps = None
        if waiting or touched.size:
            every = np.zeros((waiting + part.shown.size, self.classes), arrays.dtype)
            every[:waiting] = self.steps[:, : self.classes]
            every[waiting + touched] = steps[:, : self.classes]
            self._steps = arrays.bring("every", every)
        super().note(part, touched, steps)


def fold_columns(told: Any, c: int, scale: float, shadow: float) -> None:
    """Fold a scale into columns that hold ``W`` in their first half and ``A`` in their second."""
    classes = int(told.shape[1]) // 2
    own = slice(0, classes) if c < 0 else slice(c, c + 1)
    beside = slice(classes, 2 * classes) if c < 0 else slice(classes + c, classes + c + 1)
    told[:, beside] -= shadow * told[:, own]
    told[:, own] *= scale
