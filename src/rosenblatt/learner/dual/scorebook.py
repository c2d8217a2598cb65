"""The scores of all training rows, kept up to date from pass to pass.

A row's score changes only by what was updated since it was last brought up to date. So a pass needs the kernel of
every row with the rows updated in that pass, not with all support rows: work falls with the mistakes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import OnItsWay, cut
from rosenblatt.learner.dual.space import FeatureSpace

# Every block looks at the updates that wait; telling all rows of a few would read all rows for little.
MOST_WAITING = 384


class Part(NamedTuple):
    """A block of visits to a few rows."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]
    shown: NDArray[np.int64]  # the rows, each once
    index: Any  # the same, where matrices live
    rows: Any  # where matrices live
    kept: Any  # the same as support rows are kept
    gram: OnItsWay  # among them


class ScoreBook:
    """Scores of rows under the coefficients ``W`` and ``A`` of a run, ``(rows, 2·classes)``, in kernel units."""

    def __init__(self, space: FeatureSpace, X: Any, first_row: int, scores: Any) -> None:
        self.scores = scores  # where matrices live; without the updates that wait
        self.space, self._X, self._first_row = space, X, first_row
        self.classes = int(scores.shape[1]) // 2
        self.numbers = np.empty(0, np.int64)  # the rows of the updates that wait
        self.steps = np.empty((0, 2 * self.classes))  # what they added to W, and to A

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

    def meet(self, part: Part, following: Part | None) -> None:
        """Prepare for the block that follows while one is decided."""
        if self.numbers.size > MOST_WAITING:
            self.settle()

    def settle(self) -> None:
        """Tell every row of the updates that wait."""
        if not self.numbers.size:
            return
        arrays, n = self.space.arrays, int(self._X.shape[0])
        waiting = self.space.kept(self._X, self.numbers, self._first_row)
        steps = arrays.bring("steps", self.steps)
        for piece in cut(n, max(1, arrays.at_once // self.numbers.size)):
            self.scores[piece, ...] += self.space.times(self._X[piece, ...], waiting, steps)
        self.numbers, self.steps = self.numbers[:0], self.steps[:0]

    def fold(self, c: int, scale: float, shadow: float) -> None:
        """Follow ``A ← A − shadow·W`` and ``W ← scale·W`` for class ``c`` (all, when negative)."""
        fold_columns(self.scores, c, scale, shadow)
        fold_columns(self.steps, c, scale, shadow)


class ScoreBookThere(ScoreBook):
    """The same where a device computes for nothing while this side decides, and every call to it is dear.

    Whatever needs no decision is computed ahead: the kernel of the next block with this one, of which the steps are
    still to be told. All other rows are told of a block while the next one is decided.
    """

    _beside: Any = None  # kernel of a block's rows with those of the block before
    _before: Any = None  # the steps of the block before

    def look(self, part: Part) -> Any:
        """Return the scores of a block: what all rows were told, and the steps of the block before."""
        if self._beside is None:
            self.settle()
        now = self.space.arrays.rows(self.scores, part.index)[:, : self.classes]
        return now if self._before is None else now + self._beside @ self._before

    def note(self, part: Part, touched: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
        """Take in the updates that a block made, as steps of all its rows."""
        super().note(part, touched, steps)
        self._before = None
        if self._beside is not None and touched.size:
            every = np.zeros((part.shown.size, self.classes), self.space.arrays.dtype)
            every[touched] = steps[:, : self.classes]
            self._before = self.space.arrays.bring("before", every)

    def meet(self, part: Part, following: Part | None) -> None:
        """Tell all rows of the block before, and compute the kernel of the next block with this one."""
        self.settle()
        self._beside = None if following is None else self.space.values(following.rows, part.kept)

    def settle(self) -> None:
        """Tell every row of the updates that wait."""
        super().settle()
        self._before = None


def fold_columns(told: Any, c: int, scale: float, shadow: float) -> None:
    """Fold a scale into columns that hold ``W`` in their first half and ``A`` in their second."""
    classes = int(told.shape[1]) // 2
    own = slice(0, classes) if c < 0 else slice(c, c + 1)
    beside = slice(classes, 2 * classes) if c < 0 else slice(classes + c, classes + c + 1)
    told[:, beside] -= shadow * told[:, own]
    told[:, own] *= scale
