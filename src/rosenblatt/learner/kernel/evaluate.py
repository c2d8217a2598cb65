"""Evaluation of the hypotheses of a kernel run on the data they were trained on: margin, bound, the pocket."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.learner.kernel.blocks import Data, GramCache, ScoreCache
from rosenblatt.learner.training import CANDIDATE, BoundTerms, Evaluation, Evaluator

if TYPE_CHECKING:
    from rosenblatt.learner.kernel.learner import KernelLearner

QUICK = 1 << 25  # up to this many kernel values, every hypothesis is evaluated by default


Scored = tuple[NDArray[np.float64], NDArray[np.float64]]  # (rows, rows of weights) scores, and squared norms


def evaluate_kernel(
    learner: "KernelLearner",
    data: Data,
    cache: GramCache | ScoreCache | None,
    weight: NDArray[np.float64] | None,
    every: bool | None,
    only_these: bool,
) -> tuple[dict[str, Evaluation], NDArray[np.int64] | None]:
    """Evaluate ``last`` and ``averaged``, and with ``every`` the hypotheses of the ledger; None: where that is quick.

    Returns the evaluations, and the number of updates of the pocket.
    """
    copies = None if weight is None else np.ceil(weight).astype(np.int64)
    integer_weights = weight is None or bool((weight == copies).all())
    holds = integer_weights and only_these
    terms = BoundTerms(learner.rule, learner.radius, len(learner.epochs), 0.0, holds)
    if learner.budget_slots is not None and learner.budget_slots.lossy:
        terms = learner.budget_slots.bound_terms(terms)
    quick = data.labels.size * learner.n_support <= QUICK
    from_ledger = learner.ledger is not None and (quick if every is None else every)
    scored, numbers = _scored(learner, data, cache, from_ledger)
    evaluator = Evaluator([*scored], learner.joint)
    evaluator.add(np.concatenate([scores for scores, _ in scored.values()], axis=1), data.labels, copies)
    pocket, evaluations = None, {}
    names = {name: name for name in scored if not name.startswith(CANDIDATE)}
    if from_ledger:
        names["pocket"] = evaluator.best([name for name in scored if name.startswith(CANDIDATE)])
        pocket = numbers[2 + int(names["pocket"].removeprefix(CANDIDATE))]
    for name, column in names.items():
        # A function that is not a kernel may give a negative squared norm: then no margin is defined.
        sqnorm = np.maximum(scored[column][1], 0.0)
        evaluations[name] = evaluator.evaluation(column, sqnorm, terms)
    return evaluations, pocket


def _scored(
    learner: "KernelLearner", data: Data, cache: GramCache | ScoreCache | None, from_ledger: bool
) -> tuple[dict[str, Scored], NDArray[np.int64]]:
    """Score hypotheses on all rows, in one read of the data; with ``from_ledger`` also those of the ledger.

    Also returns the numbers of updates of the survivor, the random hypothesis and each candidate for the pocket.
    """
    slots, run = learner.slots_of(data), learner.run()
    rows, numbers = run.W.shape[0], np.empty((0, 0), np.int64)
    stacks = [run.W, run.average_offset]
    if from_ledger:
        numbers = _numbers(run)
        stacks += hypotheses.rebuilt(run, numbers)
    scores = _scores(learner, data, cache, np.concatenate(stacks))
    by_W, by_offset = scores[:, :rows], scores[:, rows : 2 * rows]
    last = by_W * learner.running["scale"] + _slack(learner, slots, learner.weights("last"))
    scored = {"last": (last, learner.running["sqnorm"].copy())}
    if learner.clock:
        mean = (by_W * learner.running["scale_sum"] - by_offset) / learner.clock
        coefficients = learner.weights("averaged")
        mean += _slack(learner, slots, coefficients)
        scored["averaged"] = (mean, _sqnorms(learner, mean, slots, coefficients))
    if from_ledger:
        by_ledger = scores[:, 2 * rows :] + _slack(learner, slots, np.concatenate(stacks[2:]))
        names = ["survivor", "random", *(f"{CANDIDATE}{k}" for k in range(len(numbers) - 2))]
        split, sqnorms = np.split(by_ledger, len(numbers), axis=1), hypotheses.recorded_sqnorms(run, numbers)
        scored |= dict(zip(names, zip(split, sqnorms, strict=True), strict=True))
    return scored, numbers


def _numbers(run: hypotheses.Run) -> NDArray[np.int64]:
    """Return the numbers of updates of the survivor, the random hypothesis and each candidate for the pocket."""
    assert run.ledger is not None
    final = [run.ledger.lines_of(h, run.joint).size for h in range(run.running.size)]
    survivor, drawn = hypotheses.survivor_numbers(run), hypotheses.drawn_numbers(run)
    return np.concatenate([[survivor], [drawn], hypotheses.record_numbers(run), [final]])


def _scores(
    learner: "KernelLearner", data: Data, cache: GramCache | ScoreCache | None, coefficients: NDArray[Any]
) -> NDArray[np.float64]:
    """Return scores ``(rows, hypotheses)`` of all examples by ``(hypotheses, support rows)`` coefficients.

    The first coefficients are those of ``W`` and ``average_offset``, whose scores a :class:`ScoreCache` holds.
    """
    space, support = learner.fitted_space(), learner.support
    if isinstance(cache, GramCache):
        return cache.scores_of(coefficients, learner.support_rows, support)
    if cache is None:
        return space.all_times(data.X, support.all(), coefficients.T)
    cached, n_cached = cache.all_scores(), 2 * learner.W.shape[0]
    if coefficients.shape[0] == n_cached:
        return cached
    others = space.all_times(data.X, support.all(), coefficients[n_cached:].T)
    return np.concatenate([cached, others], axis=1)


def _slack(learner: "KernelLearner", slots: NDArray[np.int64], coefficients: NDArray[Any]) -> NDArray[Any]:
    """Return the ``Δ²`` terms of the scores of examples that are support rows, ``(rows, hypotheses)``."""
    if not learner.delta or not coefficients.shape[1]:
        return np.zeros((1, coefficients.shape[0]))
    own = np.where(slots[:, None] >= 0, coefficients.T[slots], 0.0)
    return np.asarray(learner.delta**2 * own)


def _sqnorms(
    learner: "KernelLearner",
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
