"""Evaluation of the hypotheses of a kernel run: their scores and norms on the training data, for the shared driver."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual import reading
from rosenblatt.learner.dual.arrays import to_numpy
from rosenblatt.learner.dual.blocks import Data, slots_of
from rosenblatt.learner.dual.scorebook import ScoreBook
from rosenblatt.learner.training import CANDIDATE, BoundTerms, Evaluator

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner

QUICK = 1 << 25  # kernel values: fewer, and every hypothesis is evaluated unasked

Scored = tuple[NDArray[np.float64], NDArray[np.float64]]  # (rows, rows of weights) scores, and squared norms


def evaluate_kernel(
    learner: "DualLearner",
    data: Data,
    book: ScoreBook | None,
    weight: NDArray[np.float64] | None,
    every: bool | None,
    only_these: bool,
) -> None:
    """Evaluate ``last`` and ``averaged``, and the hypotheses of the ledger where asked for or quick."""
    copies = None if weight is None else np.ceil(weight).astype(np.int64)
    whole = weight is None or bool((weight == copies).all())
    terms = BoundTerms(learner.rule, learner.radius, len(learner.epochs), 0.0, whole and only_these)
    if learner.on_budget is not None and learner.on_budget.lossy:
        terms = learner.on_budget.bound_terms(learner, terms)
    slots = slots_of(learner, data)
    scored = _last_and_averaged(learner, data, book, slots)
    quick = data.labels.size * learner.n_support <= QUICK
    candidates = np.empty((0, 0), np.int64)
    if learner.ledger is not None and (quick if every is None else every):
        from_ledger, candidates = _from_the_ledger(learner, data, slots)
        scored |= from_ledger
    evaluator = Evaluator([*scored], learner.joint)
    evaluator.add(np.concatenate([scores for scores, _ in scored.values()], axis=1), data.labels, copies)
    names = {name: name for name in scored if not name.startswith(CANDIDATE)}
    if candidates.size:
        names["pocket"] = evaluator.best([name for name in scored if name.startswith(CANDIDATE)])
        learner.pocket = candidates[int(names["pocket"].removeprefix(CANDIDATE))]
    for name, column in names.items():
        # A function that is no kernel may give a norm below zero: then there is no margin.
        sqnorm = np.maximum(scored[column][1], 0.0)
        learner.evaluations[name] = evaluator.evaluation(column, sqnorm, terms)


def _last_and_averaged(
    learner: "DualLearner", data: Data, book: ScoreBook | None, slots: NDArray[np.int64]
) -> dict[str, Scored]:
    W, A = learner.W[:, : learner.n_support], learner.average_offset[:, : learner.n_support]
    if book is None:
        both = learner.fitted_space().all_times(data.X, learner.support.all(), np.concatenate([W, A]).T)
    else:
        both = to_numpy(book.scores) * learner.fitted_space().value_scale
    scale, scale_sum = learner.running["scale"], learner.running["scale_sum"]
    rows = W.shape[0]
    last = both[:, :rows] * scale + _slack(learner, slots, learner.weights("last"))
    scored = {"last": (last, learner.running["sqnorm"].copy())}
    if learner.clock:
        mean = (both[:, :rows] * scale_sum - both[:, rows:]) / learner.clock
        coefficients = learner.weights("averaged")
        mean += _slack(learner, slots, coefficients)
        scored["averaged"] = (mean, _sqnorms(learner, data, mean, slots, coefficients))
    return scored


def _from_the_ledger(
    learner: "DualLearner", data: Data, slots: NDArray[np.int64]
) -> tuple[dict[str, Scored], NDArray[np.int64]]:
    """Score the survivor, the drawn one and the candidates for the pocket, in one look at every row.

    Also returns the number of updates that each candidate had.
    """
    ledger, rows = learner.ledger, learner.W.shape[0]
    assert ledger is not None
    lived = reading.survivals(ledger, learner.running.size, learner.joint, learner.clock)
    candidates = reading.record_setters(lived)
    numbers = np.concatenate([[reading.longest(lived)], [reading.drawn(lived, learner.seed)], candidates])
    rebuilt = reading.read(ledger, numbers, learner.joint)
    stack = np.concatenate([each.coefficients for each in rebuilt])
    scores = learner.fitted_space().all_times(data.X, learner.support.all(), stack.T)
    scores += _slack(learner, slots, stack)
    names = ["survivor", "random", *(f"{CANDIDATE}{k}" for k in range(len(candidates)))]
    scored = {
        name: (scores[:, k * rows : (k + 1) * rows], each.sqnorm)
        for k, (name, each) in enumerate(zip(names, rebuilt, strict=True))
    }
    return scored, candidates


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
