"""A learner that takes rows as they come, and its weights laid out to be reached at once."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.core.order import in_given_order
from rosenblatt.core.rows import Rows, feature_by_feature, rows_of
from rosenblatt.core.single import (
    NOT_FINITE,
    OVERFLOW,
    RowBuffer,
    addresses_of,
    label_dtype,
    new_row_buffer,
    rows_learner,
)
from rosenblatt.core.state import State, Visits
from rosenblatt.data.labels import EXACT, checked_classes, checked_label
from rosenblatt.data.matrix import check_finite, checked_weight, encoded
from rosenblatt.learner import Learner
from rosenblatt.streams.progress import as_wide, guesses_of

ROW_SIZE = 256  # features of a row buffer, at least
PARTS_OF_A_HALF_LIFE = 32
TOO_LARGE = "the weights grew beyond what a float can hold: scale the features, or clip them"


class RowsLearner:
    """Rows of numbered features, in order: predict, be told the labels, learn.

    Classes and features join as they appear. With ``forget``, a hypothesis counts half as much in the average after
    so many examples, and half of that after as many again; how much it counts is set anew 32 times in a half-life.
    """

    def __init__(
        self,
        hypothesis: str = "averaged",
        *,
        rule: Any = "rosenblatt",
        multi_class: str = "joint",
        fit_intercept: bool = True,
        forget: float | None = None,
        seed: int = 0,
    ) -> None:
        hypotheses.check_name(hypothesis)
        if hypothesis == "pocket":
            raise ValueError(
                "the pocket is chosen on a whole training set; a stream has none: use 'survivor'"
            )
        if forget is not None and not forget >= 1.0:
            raise ValueError(f"forget is a half-life in examples, 1 or more, got {forget}")
        if forget is not None and hypothesis not in ("averaged", "last"):
            raise ValueError(
                f"forget weighs the average; {hypothesis!r} is read from the ledger, which forgets nothing"
            )
        self.hypothesis = hypothesis
        self.forget = forget
        ledger = hypothesis in hypotheses.FROM_THE_LEDGER
        self.learner = Learner(
            rule, multi_class=multi_class, fit_intercept=fit_intercept, keep_ledger=ledger, seed=seed
        )
        if ledger and self.learner.ledger is None:
            raise ValueError(
                f"{hypothesis!r} is read from the ledger, which the rule {type(self.learner.rule).__name__} does not "
                "keep: choose 'last' or 'averaged'"
            )
        self.rows = 0  # learned from
        self._since = 0  # rows since the average was last weighed down
        self._row_buffer: RowBuffer | None = None

    @property
    def learner(self) -> Learner:
        """The learner that learns."""
        return self._learner

    @learner.setter
    def learner(self, learner: Learner) -> None:
        self._learner = learner
        self.compiled = learner.ledger is None  # single rows are predicted and learned by compiled code
        self.labels: list[Any] = learner.classes.tolist()  # classes in order, as Python values
        self._learn: Any = None  # the compiled loop of rows, once it is needed
        self._row_buffer = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not the row buffer, whose address is its own."""
        return {name: value for name, value in vars(self).items() if name not in self._of_this_object}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._learn = self._row_buffer = None

    _of_this_object: ClassVar[frozenset[str]] = frozenset(("_learn", "_row_buffer"))

    # Growing

    def add_classes(self, labels: Any) -> None:
        """Take in classes not met before."""
        self._add_new_classes(encoded(labels)[0])

    def _add_new_classes(self, classes: NDArray[Any]) -> None:
        self.learner.add_classes(classes)
        self.labels = self.learner.classes.tolist()
        self._clear()

    def add_features(self, n_features: int) -> None:
        """Make room for so many features, and as many again, so that growing stays cheap."""
        if n_features > self.learner.n_features:
            room = max(n_features, 2 * self.learner.n_features, 64) if self.compiled else n_features
            self.learner.add_features(room)
            self._clear()

    def insert_first_feature(self) -> None:
        """Add a feature before all others, whose weight has been zero so far."""
        self.learner.insert_first_feature()
        self._clear()

    def _fitted(self, X: Any) -> Any:
        """Make room for the features of the rows; dense rows and ledgers need as many as the learner has."""
        if self.compiled and not isinstance(X, np.ndarray):
            self.add_features(X.shape[1])
            return X
        self.learner.add_features(X.shape[1])
        return as_wide(X, self.learner.n_features)

    # Many rows

    def learn_rows(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Learn from the rows in order, exactly as from one after the other."""
        y = np.asarray(y)
        if self.compiled and X.dtype == np.float64 and not isinstance(X, np.ndarray):
            self.add_features(X.shape[1])
            rows = rows_of(X)
            rows = rows._replace(indices=rows.indices.astype(np.uint32, copy=False))  # type: ignore[union-attr]
            if not self._learn_block(rows, y, sample_weight):
                check_finite(X, "X")
            return
        for start, stop in self._stretches(y):
            weight = None if sample_weight is None else np.asarray(sample_weight)[start:stop]
            self.add_class_if_new(y[start])
            part = self._fitted(X if start == 0 and stop == X.shape[0] else X[start:stop])
            if weight is None or weight.any():
                self.learner.learn(part, y[start:stop], weight)
            else:  # seen, though nothing is learned: the ledger numbers what comes after it
                self.learner.rows_seen += stop - start
            self._passed(stop - start)
        self._clear()  # the learner may have laid its weights out anew

    def _learn_block(self, rows: Rows, y: NDArray[Any], sample_weight: Any = None) -> bool:
        """Learn from sparse rows whose features there is room for; from none, and False, where one is not finite."""
        n = rows.starts.size - 1  # type: ignore[union-attr]
        if y.shape != (n,):
            raise ValueError(f"y must hold one label for each of the {n} rows, got {y.size}")
        weight = _weights(sample_weight, n)
        everything = np.arange(n, dtype=np.uintp)
        labels = self._known_labels(y) if self.forget is None else None
        if labels is not None and weight is None:  # nothing new, nothing to forget: all at once
            if not self._learn_visits(rows, labels, Visits(everything, _NO_WEIGHTS)):
                return False
            self._passed(n)
            return True
        if not np.isfinite(rows.values).all():
            return False  # and no class joins
        for start, stop in self._stretches(y):
            self.add_class_if_new(y[start])
            labels = self._codes_so_far(y)
            visits = Visits(everything[start:stop], _NO_WEIGHTS)
            if weight is not None:
                own = in_given_order(stop - start, weight[start:stop])
                visits = Visits(own.order + np.uintp(start), own.weight)
            self._learn_visits(rows, labels, visits)
            self._passed(stop - start)
        return True

    def _learn_visits(self, rows: Rows, labels: NDArray[Any], visits: Visits) -> bool:
        addresses = addresses_of(self.row_buffer(), rows, labels, visits)
        result = self._learn(self.learner.rule, self.learner.geometry, addresses.ctypes.data)
        if result == OVERFLOW:
            raise ValueError(TOO_LARGE)
        return bool(result != NOT_FINITE)

    def _known_labels(self, y: NDArray[Any]) -> NDArray[Any] | None:
        """Return labels as the compiled loop takes them, None where one has not been met."""
        known = self.learner.classes
        if known.size == 2:  # two comparisons beat a search
            second = np.asarray(y == known[1])
            return 2 * second.view(np.int8) - 1 if (second | (y == known[0])).all() else None
        return self._codes_so_far(y) if self._all_known(y) else None

    def _codes_so_far(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return labels as the compiled loop takes them; those of classes not met yet are anything."""
        known = self.learner.classes
        codes: NDArray[np.int64] = np.minimum(np.searchsorted(known, y), known.size - 1)
        return codes if known.size > 2 else (2 * codes - 1).astype(label_dtype(1))

    def progress(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray[np.bool_]:
        """Predict each row and then learn from it; return which predictions were right.

        A class that has not been met cannot be predicted, so its first example never is.
        """
        y = np.asarray(y)
        right = np.zeros(y.size, np.bool_)
        weight = _weights(sample_weight, y.size)
        for start, stop in self._stretches(y):
            new = self.add_class_if_new(y[start])
            own = None if weight is None else weight[start:stop]
            guesses = guesses_of(self, self._fitted(X[start:stop]), y[start:stop], own)
            labels = np.searchsorted(self.learner.classes, y[start:stop])
            right[start:stop] = guesses == labels
            if new:
                right[start] = False
            self._passed(stop - start)
        self._clear()
        return right

    def add_class_if_new(self, label: Any) -> bool:
        """Take in the class of a label; return whether it had not been met."""
        known = self.learner.classes
        at = int(np.searchsorted(known, label)) if known.size else 0
        if at < known.size and known[at] == label:
            return False
        self._add_new_classes(np.asarray([checked_label(label)]))
        return True

    def _stretches(self, y: NDArray[Any]) -> Iterator[tuple[int, int]]:
        """Cut rows where a class appears for the first time, and where the average is weighed down."""
        known = self._all_known(y)
        if known and self.forget is None:
            if y.size:
                yield 0, y.size
            return
        cuts = {0, y.size}
        if not known:
            classes, first = np.unique(y, return_index=True)
            cuts |= set(first[~np.isin(classes, self.learner.classes)].tolist())
        if self.forget is not None:
            every = self._forget_every()
            cuts |= set(range(every - self._since, y.size, every))
        marks = sorted(cuts)
        yield from pairwise(marks)

    def _all_known(self, y: NDArray[Any]) -> bool:
        _check_labels(y)
        known = self.learner.classes
        if not known.size:
            return False
        return bool((known[np.minimum(np.searchsorted(known, y), known.size - 1)] == y).all())

    # The average

    def _forget_every(self) -> int:
        return max(1, round((self.forget or 1.0) / PARTS_OF_A_HALF_LIFE))

    def _passed(self, rows: int) -> None:
        """Count rows that were learned from, and weigh the average down when it is time."""
        self.rows += rows
        self.learner.epochs.clear()
        if self.forget is None:
            return
        self._since += rows
        if self._since >= self._forget_every():
            factor = 0.5 ** (self._since / self.forget)
            self.learner.average_offset *= factor
            self.learner.running["scale_sum"] *= factor
            self._since = 0

    # Layout

    def state(self) -> State:
        """Return the weights laid out for sparse rows, as passes take them."""
        learner = self.learner
        if not learner.W.flags.f_contiguous or learner.W.dtype != np.float64:
            learner.W = np.asfortranarray(learner.W, dtype=np.float64)
        if not learner.average_offset.flags.f_contiguous:
            learner.average_offset = np.asfortranarray(learner.average_offset)
        scores = np.zeros(learner.W.shape[0])
        state = State(
            learner.W.T.reshape(-1),
            learner.average_offset.T.reshape(-1),
            learner.running,
            scores,
            learner.totals,
        )
        if learner.S is None:
            return state
        learner.S = feature_by_feature(learner.S)
        return state._replace(beside=learner.S.swapaxes(0, 1).reshape(-1))

    def _clear(self) -> None:
        """Drop the row buffer: the learner grew, or its weights are laid out anew."""
        self._row_buffer = None

    def row_buffer(self, features: int = 0) -> RowBuffer:
        """Return the buffer for single rows of up to so many features; a new one when the learner grew."""
        if self._row_buffer is None or self._row_buffer.values.size < features:
            if self._learn is None:
                self._learn = rows_learner(self.learner.rule, self.learner.geometry)
            averaged = self.hypothesis == "averaged"
            size = max(ROW_SIZE, 2 * features)
            self._row_buffer = new_row_buffer(size, self.state(), self.learner.bias_input, averaged)
        return self._row_buffer


def _weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return weights, checked, None where all are one; all of them may be nothing."""
    if sample_weight is None:
        return None
    return checked_weight(sample_weight, n) if np.any(sample_weight) else np.zeros(n)


def _check_labels(y: NDArray[Any]) -> None:
    missing = y == None if y.dtype.kind == "O" else ~np.isfinite(y) if y.dtype.kind == "f" else None  # noqa: E711 (of each)
    if missing is not None and missing.any():
        raise ValueError(f"y is {y[missing][0]!r}: a label must be a number or text")
    if y.dtype.kind == "f" and not (np.abs(y) < EXACT).all():
        checked_classes(y)


_NO_WEIGHTS = np.empty(0)
