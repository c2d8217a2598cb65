"""Mixing learners that were trained apart, once and for all: what ``merge`` does for models that depend on order."""

import copy
from collections.abc import Sequence
from functools import reduce

import numpy as np

from rosenblatt.data.labels import joined_classes
from rosenblatt.engines.mixing import check_mixing, settle
from rosenblatt.learner import Epoch, Learner
from rosenblatt.learner.training import forget_evaluations


def mixed_learners(learners: Sequence[Learner]) -> Learner:
    """Return the uniform mix of learners: the mean of their last weights, and the average over all their examples.

    Clock, mistakes and updates add up. Mixing once has no mistake bound (McDonald, Hall, Mann 2010, Theorem 2: it may
    not even separate what every learner separated); training goes on from it as from any learner.
    """
    first = learners[0]
    for other in learners[1:]:
        if (other.rule, other.bias_input) != (
            first.rule,
            first.bias_input,
        ) or other.multi_class != first.multi_class:
            raise ValueError(
                f"models mix where rule, multi_class and fit_intercept are the same, got {first.rule} "
                f"({first.multi_class}) and {other.rule} ({other.multi_class})"
            )
    if len(learners) == 1:
        return copy.deepcopy(first)
    check_mixing(first, "models")
    classes = reduce(joined_classes, (learner.classes for learner in learners))
    width = max(learner.n_features for learner in learners)
    every = []
    for learner in learners:
        own = copy.copy(learner)
        own.ledger, own.running = None, learner.running.copy()
        own.add_classes(classes)
        own.add_features(width)
        every.append(own)
    mixed = copy.deepcopy(every[0])
    last = [own.running["scale"][:, None] * own.W.astype(np.float64) for own in every]
    seen = [
        own.running["scale_sum"][:, None] * own.W - own.average_offset for own in every
    ]  # Σ of the weights after each example
    mixed.totals = np.zeros_like(mixed.totals)
    for name in ("clock", "mistakes", "updates"):
        mixed.totals[name] = sum(own.totals[name] for own in every)
    mixed.totals["max_sqnorm"] = max(own.totals["max_sqnorm"] for own in every)
    mixed.running["updates"] = sum(own.running["updates"] for own in every)
    mixed.W = np.mean(last, axis=0)
    mixed.average_offset = mixed.clock * mixed.W - sum(seen)
    if mixed.S is not None:
        mixed.S = np.mean([own.S for own in every if own.S is not None], axis=0)
    settle(mixed)
    mixed.rows_seen = sum(own.rows_seen for own in every)
    mixed.epochs = [Epoch(1, mixed.mistakes, mixed.updates)]
    mixed.learned_from = None
    forget_evaluations(mixed)
    return mixed
