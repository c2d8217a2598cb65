"""An upper bound on the mistakes of the filter on the messages of its journal, in any order: a theorem.

**Guarantee.** The passive-aggressive rule (PA-I) that starts from nothing makes at most
``max(R², 1/C) (‖u‖² + 2C Σ max(0, 1 − yᵢ u·xᵢ))`` mistakes, whatever ``u`` and the sequence are; where ``u`` separates
with margin γ, that is ``(R/γ)²`` once ``R² ≥ 1/C``. It is computed from the journal for a ``u`` found by more passes.

References: Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006), Theorems 2 and 4.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.mail.marks import matrix_of
from rosenblatt.proofs.bounds import bound_of
from rosenblatt.proofs.examples import row_sqnorms
from rosenblatt.service.learner import Named
from rosenblatt.service.model import Model
from rosenblatt.service.store import Entry, Store

MOST = 20_000  # feedbacks for which it is computed
PASSES = 30


class Bounded(NamedTuple):
    """A bound, and the quantities it was computed from."""

    bound: float
    separable: bool
    radius: float
    margin: float  # of the hyperplane it was computed for; 0 where that separates nothing


def bound_for(store: Store, model: Model) -> Bounded | str:
    """Return the bound for all feedbacks in the journal, or why there is none."""
    if (
        not isinstance(model.learner.learner.rule, rules.PassiveAggressive)
        or model.settings.hypothesis != "last"
    ):
        return "the bound speaks of the passive-aggressive rule and its last weights; this model has others"
    if store.base(model.number) is not None:
        return "the bound speaks of a model that began with nothing; this one began with a file, or was compacted"
    if model.learner.rows > MOST:
        return f"the bound is computed for up to {MOST:,} messages"
    entries = store.entries(model.number, 0, model.counts.seq)
    return bound_on(entries, model.learner.learner.rule.C)


def bound_on(entries: Iterable[Entry], C: float) -> Bounded | str:
    """Return the bound for a sequence of feedbacks with two classes."""
    labels: list[Any] = []

    def features() -> Iterator[Named]:
        for entry in entries:
            labels.append(entry.label)
            yield entry.features

    X, _ = matrix_of(features())
    classes = sorted(set(labels))
    if len(classes) != 2:
        return "the bound needs messages of both kinds"
    y = np.array([1.0 if label == classes[1] else -1.0 for label in labels])
    learner = Learner(rules.PassiveAggressive(C=C), keep_ledger=False)
    for _ in range(PASSES):
        if learner.learn(X, y).updates == 0:
            break
    w = learner.weights("last")[0]
    margins = y * (X @ w[1:] + w[0])
    radius = math.sqrt(float(row_sqnorms(X).max()) + 1.0)
    reach = max(radius * radius, 1.0 / C)
    sqnorm = float(w @ w)
    smallest = float(margins.min())
    bound = bound_of(margins, sqnorm, math.sqrt(reach), reach * C)
    return Bounded(bound, smallest > 0, radius, smallest / math.sqrt(sqnorm) if smallest > 0 else 0.0)
