"""The scores of all training rows, kept up to date from pass to pass.

A row's score changes only by what was updated since it was last looked at. So a pass needs the kernel of every row
with the rows updated in that pass, not with all support rows: work falls with the mistakes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import cut
from rosenblatt.learner.dual.rowstore import RowStore
from rosenblatt.learner.dual.space import FeatureSpace


class ScoreBook:
    """Scores of rows under the coefficients ``W`` and ``A`` of a run, ``(rows, 2·classes)``, in kernel units."""

    def __init__(
        self, space: FeatureSpace, X: Any, scores: NDArray[np.float64], block: int, once: bool
    ) -> None:
        self._space = space
        self._X = X
        self.scores = scores
        self._block = block
        self._classes = scores.shape[1] // 2
        self._once = once  # every pass visits a row once
        # Then what a visit computed can be kept. A device rather computes more, in fewer and larger steps.
        self._keep = once and space.arrays.here
        self._known = np.zeros(
            X.shape[0], np.int64
        )  # how many of the recent updates each row's scores include
        self._entry = np.full(X.shape[0], -1)  # which recent update a row's steps are summed in, unless once
        self._rows = RowStore(space.arrays)  # the rows of recent updates
        self._there = RowStore(space.arrays)  # their steps, beside the rows
        self._moves = np.empty((0, scores.shape[1]))  # their steps, here

    def news(self, rows: Any) -> Any:
        """Return what recent updates add to the scores of a block of rows, where matrices live; None if nothing."""
        if not len(self._rows):
            return None
        steps = self._there.all()
        return self._space.times(rows, self._rows.all(), steps if self._keep else steps[:, : self._classes])

    def look(self, numbers: NDArray[np.int64], news: NDArray[Any] | None) -> NDArray[np.float64]:
        """Return the scores of a block of rows under the weights as they are now, those of ``W`` first."""
        now = self.scores[numbers] if self._keep else self.scores[numbers, : self._classes]
        if news is not None:
            now += news
        if self._keep:
            self.scores[numbers] = now
            self._known[numbers] = len(self._rows)
        return now

    def note(
        self,
        numbers: NDArray[np.int64],
        gram: NDArray[Any],
        touched: NDArray[np.int64],
        rows: Any,
        moves: Any,
    ) -> None:
        """Take in the updates that a block made: which of its rows, as remembered, and their steps."""
        if not touched.size:
            return
        if self._once:
            self._append(rows, moves)
            if self._keep:
                self.scores[numbers] += gram[:, touched] @ moves
                self._known[numbers] = len(self._rows)
            return
        # A row that is shown many times in a pass is kept once, with the sum of its steps.
        met, first = np.unique(touched, return_index=True)
        new = first[self._entry[numbers[met]] < 0]
        self._entry[numbers[touched[new]]] = len(self._rows) + np.arange(new.size)
        if new.size:
            self._append(self._space.arrays.rows(rows, new), np.zeros((new.size, moves.shape[1])))
        np.add.at(self._moves, self._entry[numbers[touched]], moves)
        self._there.clear()
        self._there.add(self._space.arrays.put(self._moves))

    def _append(self, rows: Any, moves: NDArray[np.float64]) -> None:
        self._rows.add(rows)
        self._there.add(self._space.arrays.put(moves))
        self._moves = np.concatenate([self._moves, moves])

    def catch_up(self) -> None:
        """Bring every row's scores up to date, and forget the recent updates."""
        if len(self._rows):
            if self._keep:
                self._catch_up_each()
            else:
                self._catch_up_all()
        self._rows.clear()
        self._there.clear()
        self._moves = self._moves[:0]
        self._known[:] = 0
        self._entry[:] = -1

    def _catch_up_each(self) -> None:
        """Add what each row has not seen, the rows that were looked at together together."""
        behind = np.argsort(self._known, kind="stable")
        edges = np.flatnonzero(np.diff(self._known[behind])) + 1
        every, steps = self._rows.all(), self._there.all()
        for group in np.split(behind, edges):
            since = int(self._known[group[0]])
            if since == len(self._rows):
                continue
            for piece in cut(group.size, self._block):
                part = group[piece]
                rows = self._space.arrays.rows(self._X, part)
                self.scores[part] += self._space.times(rows, every[since:, ...], steps[since:, ...])

    def _catch_up_all(self) -> None:
        """Add all recent updates to all rows, in large steps."""
        arrays, every, steps = self._space.arrays, self._rows.all(), self._there.all()
        at_once = self._block if arrays.here else max(self._block, arrays.at_once // len(self._rows))
        for piece in cut(int(self._X.shape[0]), at_once):
            news = self._space.times(self._X[piece, ...], every, steps)
            self.scores[piece] += arrays.fetch(caught=news)[0]

    def fold(self, c: int, scale: float, shadow: float) -> None:
        """Follow ``A ← A − shadow·W`` and ``W ← scale·W`` for class ``c`` (all, when negative)."""
        for told in (self.scores, self._moves):
            fold_columns(told, c, scale, shadow)
        if len(self._there):
            self._there.clear()
            self._there.add(self._space.arrays.put(self._moves))


def fold_columns(told: NDArray[np.float64], c: int, scale: float, shadow: float) -> None:
    """Fold a scale into columns that hold ``W`` in their first half and ``A`` in their second."""
    classes = told.shape[1] // 2
    own = slice(0, classes) if c < 0 else slice(c, c + 1)
    beside = slice(classes, 2 * classes) if c < 0 else slice(classes + c, classes + c + 1)
    told[:, beside] -= shadow * told[:, own]
    told[:, own] *= scale
