"""The scores of all training rows, kept up to date from pass to pass.

A row's score changes only by what was updated since it was last brought up to date. So a pass needs the kernel of
every row with the rows updated in that pass, not with all support rows: work falls with the mistakes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import cut
from rosenblatt.learner.dual.crossing import OnItsWay
from rosenblatt.learner.dual.errand import Errand
from rosenblatt.learner.dual.space import FeatureSpace

# Every block looks at the updates that wait; telling all rows of a few would read all rows for little.
MOST_WAITING_HERE, MOST_WAITING_THERE = 384, 128
FEWEST_LOOKED_AT = 512  # on a GPU


class Part(NamedTuple):
    """A block of visits to a few rows."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]
    shown: NDArray[np.int64]  # the rows, each once
    rows: Any  # the same, where matrices live
    gram: OnItsWay  # among them


class ScoreBook:
    """Scores of rows under the coefficients ``W`` and ``A`` of a run, ``(rows, 2·classes)``, in kernel units."""

    def __init__(self, space: FeatureSpace, X: Any, first_row: int, scores: Any) -> None:
        self.scores = scores  # where matrices live, always in the same place; without the updates that wait
        self.space, self._X, self._first_row = space, X, first_row
        self.classes = int(scores.shape[1]) // 2
        self.most_waiting = MOST_WAITING_HERE if space.arrays.here else MOST_WAITING_THERE
        self.numbers = np.empty(0, np.int64)  # the rows of the updates that wait
        self.steps = np.empty((0, 2 * self.classes))  # what they added to W, and to A
        self._there: tuple[Any, Any] | None = None  # both, where matrices live
        self._at_hand: list[Any] = [None]  # the rows of the block
        self._looking = looking(space, X, first_row, scores, self._at_hand)

    def look(self, part: Part) -> OnItsWay:
        """Ask for ``(classes, rows)`` scores of a block under the weights as they are."""
        numbers, steps, n = self.numbers, self.steps, self.numbers.size
        if self.space.arrays.on_gpu and self.space.recordable:  # sizes that come again: some rows do not step
            room = max(FEWEST_LOOKED_AT, 1 << max(n - 1, 0).bit_length())
            numbers, steps = lengthened(numbers, room), lengthened(steps, room)
        self._at_hand[0] = part.rows
        told, (rows, steps) = self._looking.run(part.shown, numbers, steps)
        self._there = rows[:n, ...], steps[:n, ...]
        return told

    def note(self, part: Part, touched: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
        """Take in the updates that a block made: which of its rows, and their steps."""
        self.numbers = np.concatenate([self.numbers, part.shown[touched]])
        self.steps = np.concatenate([self.steps, steps])
        self._there = None

    def settle(self) -> None:
        """Tell every row of the updates that wait."""
        if not self.numbers.size:
            return
        arrays, n = self.space.arrays, int(self._X.shape[0])
        if self._there is None:
            rows = self.space.kept(self._X, self.numbers, self._first_row)
            self._there = rows, arrays.bring("steps", self.steps)
        waiting, steps = self._there
        for piece in cut(n, max(1, arrays.at_once // self.numbers.size)):
            told = self.scores[piece, ...]
            told += self.space.times(self._X[piece, ...], waiting, steps)  # in place
        self.numbers, self.steps, self._there = self.numbers[:0], self.steps[:0], None

    def fold(self, c: int, scale: float, scale_sum: float) -> None:
        """Follow ``A ← A − scale_sum·W`` and ``W ← scale·W`` for class ``c`` (all, when negative)."""
        fold_columns(self.scores, c, scale, scale_sum)
        fold_columns(self.steps, c, scale, scale_sum)
        self._there = None


def looking(space: FeatureSpace, X: Any, first_row: int, scores: Any, at_hand: list[Any]) -> Errand:
    """Return the errand that brings scores of rows, given updates that wait; it keeps their rows and steps.

    The rows are those at hand; what is recorded takes them by itself.
    """
    classes = int(scores.shape[1]) // 2

    def work(index: Any, numbers: Any, steps: Any) -> tuple[Any, tuple[Any, Any]]:
        waiting = space.kept(X, numbers, first_row)
        now = space.arrays.rows(scores, index)[:, :classes]
        if numbers.shape[0]:
            rows = at_hand[0] if space.arrays.here else space.arrays.rows(X, index)
            now = now + space.times(rows, waiting, steps[:, :classes])
        return now.T, (waiting, steps)

    return Errand(space.arrays, work, "int64", "int64", space.arrays.dtype, recorded=space.recordable)


def lengthened(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Add zeros below."""
    out = np.zeros((rows, *array.shape[1:]), array.dtype)
    out[: array.shape[0]] = array
    return out


def fold_columns(told: Any, c: int, scale: float, scale_sum: float) -> None:
    """Fold a scale into columns that hold ``W`` in their first half and ``A`` in their second."""
    classes = int(told.shape[1]) // 2
    own = slice(0, classes) if c < 0 else slice(c, c + 1)
    beside = slice(classes, 2 * classes) if c < 0 else slice(classes + c, classes + c + 1)
    told[:, beside] -= scale_sum * told[:, own]
    told[:, own] *= scale
