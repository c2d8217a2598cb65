"""How the hypotheses of a kernel run stand on the data they were trained on: margin, bound, the pocket."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual import reading
from rosenblatt.learner.dual.arrays import to_numpy
from rosenblatt.learner.dual.blocks import Data, slots_of
from rosenblatt.learner.dual.scorebook import ScoreBook
from rosenblatt.learner.evaluation import Bounded, is_correct, measured

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner

QUICK = 1 << 25  # kernel values: fewer, and every hypothesis is measured unasked


def take_stock(
    learner: "DualLearner",
    data: Data,
    book: ScoreBook | None,
    weight: NDArray[np.float64] | None,
    every: bool | None,
) -> None:
    """Measure ``last`` and ``averaged``, and the hypotheses of the ledger where asked for or quick.

    Examples of weight zero are not looked at; a weight that is no whole number voids every bound.
    """
    learner.standings, learner.pocket = {}, None
    n = data.labels.size
    counted = np.ones(n, dtype=bool) if weight is None else weight > 0.0
    whole_visits = weight is None or bool((weight == np.ceil(weight)).all())
    copies = None if weight is None else np.ceil(weight[counted]).astype(np.int64)
    bounded = Bounded(learner.rule, learner.radius, len(learner.epochs), 0.0, whole_visits, copies)
    damage = 0.0
    if learner.on_budget is not None and learner.on_budget.lossy:
        bounded, damage = learner.on_budget.bounded(learner, bounded)
    slots = slots_of(learner, data)
    told: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    W, A = learner.W[:, : learner.n_support], learner.average_offset[:, : learner.n_support]
    if book is None:
        both = learner.fitted_space().all_times(data.X, learner.support.all(), np.concatenate([W, A]).T)
    else:
        both = to_numpy(book.scores) * learner.fitted_space().value_scale
    scale, scale_sum = learner.running["scale"], learner.running["scale_sum"]
    rows = W.shape[0]
    last = both[:, :rows] * scale + _slack(learner, slots, learner.weights("last"))
    told["last"] = (last, learner.running["sqnorm"].copy())
    if learner.clock:
        mean = (both[:, :rows] * scale_sum - both[:, rows:]) / learner.clock
        coefficients = learner.weights("averaged")
        mean += _slack(learner, slots, coefficients)
        told["averaged"] = (mean, _sqnorms(learner, data, mean, slots, coefficients))
    if learner.ledger is not None and (n * learner.n_support <= QUICK if every is None else every):
        told |= _from_the_ledger(learner, data, slots, counted)
    for name, (scores, sqnorm) in told.items():
        # A kernel that is none may give a norm below zero: then there is no margin to speak of.
        own = np.maximum(sqnorm, 0.0)
        standing = measured(scores[counted], own, data.labels[counted], learner.joint, bounded)
        learner.standings[name] = standing._replace(bound=standing.bound + damage)


def _from_the_ledger(
    learner: "DualLearner", data: Data, slots: NDArray[np.int64], counted: NDArray[np.bool_]
) -> dict[str, Any]:
    """Score the survivor, the drawn one and the candidates for the pocket, in one look at every row."""
    ledger, rows = learner.ledger, learner.W.shape[0]
    assert ledger is not None
    lived = reading.survivals(ledger, learner.running.size, learner.joint, learner.clock)
    numbers = np.concatenate(
        [
            [reading.longest(lived)],
            [reading.drawn(lived, learner.seed)],
            reading.record_setters(lived),
        ]
    )
    found = reading.read(ledger, numbers, learner.joint)
    stack = np.concatenate([each.coefficients for each in found])
    scores = learner.fitted_space().all_times(data.X, learner.support.all(), stack.T)
    scores += _slack(learner, slots, stack)
    of = [(scores[:, k * rows : (k + 1) * rows], each.sqnorm) for k, each in enumerate(found)]
    right = [int(is_correct(own[counted], data.labels[counted]).sum()) for own, _ in of[2:]]
    best = 2 + int(np.argmax(right))
    learner.pocket = found[best].numbers
    return {"survivor": of[0], "random": of[1], "pocket": of[best]}


def _slack(learner: "DualLearner", slots: NDArray[np.int64], coefficients: NDArray[Any]) -> NDArray[Any]:
    """Return what the coordinates of their own add to the scores of examples, ``(rows, hypotheses)``."""
    if not learner.delta or not coefficients.shape[1]:
        return np.zeros((1, coefficients.shape[0]))
    own = np.where(slots[:, None] >= 0, coefficients.T[slots], 0.0)
    return np.asarray(learner.delta**2 * own)


def _sqnorms(
    learner: "DualLearner",
    data: Data,
    scores: NDArray[np.float64],
    slots: NDArray[np.int64],
    coefficients: NDArray[Any],
) -> NDArray[np.float64]:
    """Return ``‖w‖² = Σ αₛ w·xₛ`` of hypotheses from the scores of their support rows."""
    if (slots >= 0).sum() == learner.n_support:  # all of them are among the data
        at = np.empty(learner.n_support, np.int64)
        at[slots[slots >= 0]] = np.flatnonzero(slots >= 0)
        own = scores[at]
    else:
        support = learner.support.all()
        own = learner.fitted_space().all_times(support, support, coefficients.T)
        own += learner.delta**2 * coefficients.T
    sqnorm = np.maximum((own * coefficients.T).sum(axis=0), 0.0)
    return np.array([sqnorm.sum()]) if learner.joint else sqnorm
