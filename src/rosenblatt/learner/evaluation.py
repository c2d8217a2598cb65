"""How the hypotheses of a run stand on the data they were trained on: margin, bound, accuracy, the pocket."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.proofs.bounds import bound_of, signed_margins

SCORES_AT_ONCE = 1 << 22


class Standing(NamedTuple):
    """How a hypothesis stands on the data it was trained on."""

    margin: float  # min y·score / ‖w‖ in the space in which learning happens; negative where it errs
    bound: float  # on the mistakes of the run: (R/γ)² when it separates, else the hinge-loss bound
    accuracy: float


class Bounded(NamedTuple):
    """What the bound on a run's mistakes depends on beside the data."""

    rule: Any
    radius: float
    passes: int
    start_norm: float
    whole_visits: bool  # no visit weighed less than one example
    copies: NDArray[np.int64] | None = None  # how often a pass visits each row; once where it is not told


def hyperplanes(run: hypotheses.Run, X: Any, labels: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the weights of every hypothesis that has some; the pocket is chosen on the data."""
    found: dict[str, NDArray[Any]] = {"last": hypotheses.last(run), "averaged": hypotheses.averaged(run)}
    if run.ledger is not None:
        candidates = hypotheses.record_setters(run)
        found["survivor"] = hypotheses.survivor(run)
        found["pocket"] = candidates[_most_accurate(X, labels, candidates)]
        found["random"] = hypotheses.drawn(run)
    return found


def standings(
    found: dict[str, NDArray[Any]], X: Any, labels: NDArray[np.int64], joint: bool, bounded: Bounded
) -> dict[str, Standing]:
    """Measure every hypothesis on the data, reading them once for as many as there is room for."""
    names, rows = list(found), next(iter(found.values())).shape[0]
    at_once = max(1, SCORES_AT_ONCE // (rows * max(1, labels.size)))
    told = {}
    for first in range(0, len(names), at_once):
        group = names[first : first + at_once]
        scores = linear_scores(X, np.concatenate([found[name] for name in group]))
        for name, own in zip(group, np.split(scores, len(group), axis=1), strict=True):
            sqnorm = (found[name].astype(np.float64) ** 2).sum(axis=1)
            sqnorm = np.array([sqnorm.sum()]) if joint else sqnorm
            told[name] = measured(own, sqnorm, labels, joint, bounded)
    return told


def measured(
    scores: NDArray[Any],
    sqnorm: NDArray[np.float64],
    labels: NDArray[np.int64],
    joint: bool,
    bounded: Bounded,
) -> Standing:
    """Measure a hypothesis by its scores on the data and its squared norms, one for each column of margins."""
    margins = signed_margins(scores, labels, joint)
    norm = np.where(sqnorm > 0.0, np.sqrt(sqnorm), 1.0)
    margin = float((margins.min(axis=0) / norm).min())
    return Standing(
        margin, _bound(margins, sqnorm, margin, bounded), float(is_correct(scores, labels).mean())
    )


def _bound(
    margins: NDArray[np.float64], sqnorm: NDArray[np.float64], margin: float, bounded: Bounded
) -> float:
    """Return what the rule promises, infinity where it promises nothing."""
    if not bounded.whole_visits or not hasattr(bounded.rule, "bound_coefficients"):
        return math.inf
    if bounded.start_norm > 0.0:
        known = margin > 0.0 and sqnorm.size == 1
        return (
            float(bounded.rule.mistakes_at_most(bounded.radius, margin, bounded.start_norm))
            if known
            else math.inf
        )
    norm, hinge = bounded.rule.bound_coefficients(bounded.radius)
    if bounded.copies is not None:  # every visit may be a mistake
        margins = np.repeat(margins, bounded.copies, axis=0)
    total = 0.0
    for h in range(sqnorm.size):
        if math.isinf(hinge) and margins[:, h].min() <= 0.0:
            return math.inf
        passes = bounded.passes * hinge / 2.0 if math.isfinite(hinge) else 1.0
        total += bound_of(margins[:, h], float(sqnorm[h]), math.sqrt(norm), passes)
    return total


def _most_accurate(X: Any, labels: NDArray[np.int64], candidates: list[NDArray[Any]]) -> int:
    """Return which of several weights err least on the data, the first of equals, reading the data once."""
    rows = candidates[0].shape[0]
    stack = np.concatenate(candidates)
    right = np.zeros(len(candidates))
    block = max(1, SCORES_AT_ONCE // stack.shape[0])
    for lo in range(0, X.shape[0], block):
        truth = labels[lo : lo + block]
        part = X if truth.size == labels.size else X[lo : lo + block]  # sparse rows would be copied
        scores = linear_scores(part, stack).reshape(truth.size, len(candidates), rows)
        for k in range(len(candidates)):
            right[k] += is_correct(scores[:, k], truth).sum()
    return int(np.argmax(right))


def is_correct(scores: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are told their true class."""
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] * (2 * labels - 1) > 0.0)
    return np.asarray(np.argmax(scores, axis=1) == labels)
