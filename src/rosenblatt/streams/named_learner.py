"""Dicts of named features, brought before the compiled loop: one on the desk, or many as rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import Rows
from rosenblatt.core.single import row_predictor
from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.json_lines import flattened
from rosenblatt.data.labels import checked_label
from rosenblatt.data.named import Vocabulary
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.streams.columns import Names, check_columns, columns_of
from rosenblatt.streams.laying import (
    NOT_NUMBERS,
    BlockMemory,
    Columns,
    Example,
    Layout,
    columns_in,
    laid_row,
    layout_of,
    rows_of_dicts,
)
from rosenblatt.streams.names import NameSketch
from rosenblatt.streams.rows_learner import RowsLearner

# What belongs to the desk of one object, and is found out anew by a copy of it.
DESK = frozenset(
    {"_address", "_answers", "_columns", "_heard", "_held", "_known_desk", "_layout", "_names"}
) | {"_predict", "_room", "_rule", "_size", "_truth_of", "_truth_there", "_value_bytes", "_whole"}


class NamedLearner(RowsLearner):
    """A learner whose examples are dicts: where their names lie, and how they come before the compiled loop.

    The loop reads one example from a *desk* at a fixed address. An example with the names of the one before is only
    its numbers; the desk remembers where they go.
    """

    _of_this_object = RowsLearner._of_this_object | DESK
    _truth_of: dict[Any, int]  # of labels met, as the compiled loop takes them

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget_desk()

    def _forget_desk(self) -> None:
        """Begin with an empty desk and nothing known about the example before."""
        self._truth_of = {}
        self._answers: list[Any] = []  # the label of every answer of the loop, ties counted from the end
        self._held: Example | None = None  # the example on the desk, if it can be predicted as it lies
        self._whole: Example | None = None  # the same, if all its names are known: it can be learned from
        self._layout: Layout | None = None  # how the places on the desk were found
        self._size = -1  # of the layout
        self._names: tuple[Any, ...] = ()  # of the example before
        self._known_desk: Any = None  # whose address this is
        self._address = 0
        self._room = BlockMemory()
        self._heard = Names()
        self._columns: Columns | None = None  # of the table before

    def _set_vocabulary(self, schema: NamedSchema, sketch: NameSketch) -> None:
        self._vocabulary, self._sketch = Vocabulary(schema), sketch
        if schema.bits:
            self._vocabulary.heard = sketch.hear

    def _clear(self) -> None:
        super()._clear()
        self._held = self._whole = self._layout = None
        self._size, self._truth_of = -1, {}

    def _lay(self, x: Example, grow: bool) -> None:
        """Put an example on the desk: at once where it has the names of the one before, else name by name."""
        if len(x) == self._size:
            layout: Any = self._layout
            try:
                layout.pack(self._value_bytes, 0, *layout.pick(x))
            except NOT_NUMBERS:
                self._size = -1
            else:
                self._held = self._whole = dict(x)
                return
        self._lay_anew(x, grow)

    def _lay_anew(self, x: Example, grow: bool) -> None:
        self._sketch.prune(self.learner.W)
        self._vocabulary.grow = grow
        try:
            places, numbers, whole = laid_row(x, self._vocabulary)
        finally:
            self._vocabulary.grow = True
        self.add_features(len(self._vocabulary))
        names, before = tuple(x), self._names
        desk, n = self._set_desk(len(places)), len(places)
        desk.values[:n], desk.indices[:n], desk.starts[1] = numbers, places, n
        self._held = dict(x)
        self._whole = self._held if whole else None
        self._size, self._names = -1, names
        if whole and names == before:  # a stream that says the same names again
            self._layout = layout_of(x, self._vocabulary)
            self._size = -1 if self._layout is None else n

    def _set_desk(self, features: int) -> Any:
        desk = self.desk(features)
        if desk is not self._known_desk:
            self._known_desk = desk
            self._rule, self._geometry = self.learner.rule, self.learner.geometry
            self._predict = row_predictor()
            self._address = desk.places.ctypes.data
            self._value_bytes, self._truth_there = memoryview(desk.values), memoryview(desk.truth)  # type: ignore[arg-type]
            labels = self.labels if len(self.labels) > 1 else self.labels * 2
            self._answers = [*labels, *reversed(labels)]
        return desk

    def _meet_one(self, y: Any) -> int:
        if y is None or (isinstance(y, float) and not np.isfinite(y)):
            raise ValueError(f"y is {y!r}: a label must be a number or text")
        y = checked_label(y)
        self.meet_if_new(y)
        many = len(self.labels) > 2
        self._truth_of = {label: code if many else 2 * code - 1 for code, label in enumerate(self.labels)}
        return self._truth_of[y]

    def _refuse(self, X: Any) -> None:
        """Raise the error of the first number that is none."""
        columns = columns_of(X, Names())
        if columns is not None:
            check_columns(*columns)
        for x in X:
            flattened({str(key): value for key, value in x.items()})
        raise ValueError("a number is not finite")

    def _rows(self, X: Any, grow: bool) -> Rows:
        """Return examples as rows over the vocabulary, features in the order of their places."""
        self._vocabulary.grow = grow
        try:
            columns = columns_of(X, self._heard)
            if columns is not None:
                return self._table(*columns, self._room if grow else BlockMemory())
            layout = layout_of(X[0], self._vocabulary) if len(X) > 1 else None
            rows = None if layout is None else layout.rows(X)
            return rows_of_dicts(X, self._vocabulary) if rows is None else rows
        finally:
            self._vocabulary.grow = True

    def _table(self, names: list[str], block: NDArray[np.float64], room: BlockMemory) -> Rows:
        found = self._columns
        if found is None or names != found.names:
            found = columns_in(names, self._vocabulary)
            self._columns = found if found.for_good else None
        return found.rows(block, room)

    def _matrix(self, rows: Rows, width: int) -> Any:
        """Return rows as a matrix; places beyond its width have no weights yet."""
        values, indices, starts = rows
        return sparse_rows(values, indices, starts, max(width, 0))  # type: ignore[arg-type]
