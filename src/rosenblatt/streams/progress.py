"""Predict each row, then learn from it: the guesses of progressive validation, in one compiled sweep if it serves."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.order import in_given_order
from rosenblatt.core.rows import rows_of
from rosenblatt.core.single import label_dtype, predict_then_learn
from rosenblatt.core.state import Visits

if TYPE_CHECKING:
    from rosenblatt.streams.rows_learner import RowsLearner


def guesses_of(
    stream: "RowsLearner", X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Return the class (its number) that each row was given before it was learned from; all classes have been met."""
    if not stream.compiled or X.dtype != np.float64 or isinstance(X, np.ndarray):
        return _one_by_one(stream, X, y, weight)
    if weight is None:
        return _swept(stream, X, y, np.ones(y.size))
    guesses = np.zeros(y.size, np.int64)
    start = 0
    for stop in [*np.flatnonzero(weight == 0.0).tolist(), y.size]:  # what weighs nothing is only predicted
        if stop > start:
            visits = in_given_order(stop - start, weight[start:stop])
            rows = visits.order.astype(np.intp) + start
            first = np.searchsorted(visits.order, np.arange(stop - start))
            guesses[start:stop] = _swept(stream, X[rows], y[rows], visits.weight)[first]
        if stop < y.size:
            guesses[stop] = _guess(stream, X[stop : stop + 1])
        start = stop + 1
    return guesses


def _swept(stream: "RowsLearner", X: Any, y: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.int64]:
    learner, state = stream.learner, stream.state()
    labels = np.searchsorted(learner.classes, y)
    if state.scores.size == 1:
        labels = (2 * labels - 1).astype(label_dtype(1))
    guesses = np.empty(y.size, np.int64)
    predict_then_learn(
        learner.rule,
        learner.geometry,
        rows_of(X),
        labels,
        Visits(np.arange(y.size, dtype=np.uintp), weight),
        learner.bias_input,
        state,
        stream.hypothesis == "averaged",
        guesses,
        NO_LEDGER,
    )
    return np.where(guesses < 0, -1 - guesses, guesses)


def _one_by_one(
    stream: "RowsLearner", X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    guesses = np.zeros(y.size, np.int64)
    for at in range(y.size):
        row = as_wide(X[at : at + 1], stream.learner.n_features)
        guesses[at] = _guess(stream, row)
        own = None if weight is None else weight[at : at + 1]
        if own is None or own[0]:
            stream.learner.learn(row, y[at : at + 1], own)
        else:
            stream.learner.rows_seen += 1
    return guesses


def _guess(stream: "RowsLearner", row: Any) -> int:
    """Return the class of a row; the first before anything was learned."""
    learner = stream.learner
    if not learner.clock:
        return 0
    found = learner.predict(as_wide(row, learner.n_features), stream.hypothesis)[0]
    return int(np.searchsorted(learner.classes, found))


def as_wide(X: Any, n_features: int) -> Any:
    """Return rows with so many columns, the new ones of zeros."""
    if X.shape[1] == n_features:
        return X
    if isinstance(X, np.ndarray):
        return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))
    wide = X.copy()
    wide.resize((X.shape[0], n_features))
    return wide
