"""Passes under a budget: never more support rows than asked for."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.kernel_block import Space
from rosenblatt.core.kernel_budget import (
    OLDEST,
    PROJECT,
    RANDOM,
    Budget,
    BudgetBlock,
    visit_block_on_budget,
)
from rosenblatt.core.kernel_forget import TOLL
from rosenblatt.core.state import State, Visits
from rosenblatt.learner.dual.arrays import to_numpy
from rosenblatt.learner.dual.blocks import Data, parts, slots_of
from rosenblatt.learner.dual.kernels import Precomputed
from rosenblatt.learner.training import BoundTerms
from rosenblatt.rules import Rosenblatt

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner

# What happens when the budget is full: the row corrected the longest ago is forgotten after a shrink that keeps the
# damage bounded (the self-tuned Forgetron), or one drawn by chance (the randomised budget perceptron), or the update
# is projected onto the rows that are there (the Projectron).
FORGET = {"oldest": OLDEST, "random": RANDOM, "project": PROJECT}


class BudgetPass:
    """The slots of a budget and the Gram matrix of the rows in them, kept from pass to pass.

    **Guarantee** (Rosenblatt's rule). For every ``g``, on examples of norm at most ``R`` on which its hinge losses sum
    to ``L``, the mistakes are at most :meth:`mistakes_at_most`.
    """

    def __init__(self, budget: int, forget: str, tolerance: float) -> None:
        self.forget = forget
        self.tolerance = tolerance
        self.gram = self.factor = np.zeros((0, 0))  # of all slots, from the first pass on
        self.since = np.zeros(budget, np.int64)
        self.counts = np.zeros(3, np.int64)
        self.toll = np.zeros(1, TOLL)
        self._bounded = True  # whether every step so far was Rosenblatt's, from zero

    def run(self, learner: "DualLearner", data: Data, visits: Visits) -> None:
        """Visit every example in order."""
        space, arrays = learner.fitted_space(), learner.fitted_space().arrays
        room, classes = self.since.size, learner.W.shape[0]
        if not self.gram.size:
            self._fill_gram(learner)
        learner.reserve(room)
        truth = data.labels if classes > 1 else 2 * data.labels - 1
        budget = self._slots(learner, data)
        in_space, scores = Space(space.value_scale, learner.delta**2), np.empty(classes)
        for part in parts(learner, data, visits):
            support, gram = learner.support.all(), part.gram.arrived()
            beside = np.empty((part.shown.size, 0), gram.dtype)
            if support is not None:
                beside = arrays.fetch("beside", space.values(part.rows, support))
            block = BudgetBlock(part.visits, part.weight, part.shown, truth[part.shown], beside, gram)
            budget.home[:] = -1
            state = State(
                learner.W[:, :room], learner.average_offset[:, :room], learner.running, scores, learner.totals
            )
            visit_block_on_budget(learner.rule, block, in_space, state, budget, data.first_row)
            self._store(learner, data, part.shown, budget)

    def _slots(self, learner: "DualLearner", data: Data) -> Budget:
        room, hypotheses, rule = self.since.size, learner.running.size, learner.rule
        self._bounded = self._bounded and isinstance(rule, Rosenblatt)
        holder = np.full(room, -1)
        holder[: learner.n_support] = learner.support_rows
        return Budget(
            holder,
            np.full(room, -1),
            slots_of(learner, data),
            self.since,
            self.gram,
            self.factor,
            self.counts,
            self.toll,
            np.empty(hypotheses),
            np.empty(hypotheses, np.int64),
            np.zeros(room),
            np.zeros(room),
            FORGET[self.forget],
            float(rule.eta) if isinstance(rule, Rosenblatt) else 0.0,
            self.tolerance,
            learner.seed,
        )

    def _store(self, learner: "DualLearner", data: Data, shown: NDArray[np.int64], budget: Budget) -> None:
        """Bring the rows that a block put into slots to where support rows are."""
        used = int(self.counts[0])
        for slot in np.flatnonzero(budget.home[:used] >= 0).tolist():
            place = budget.home[slot]
            row = learner.fitted_space().kept(data.X, shown[place : place + 1], data.first_row)
            if slot < len(learner.support):
                learner.support.replace(slot, row)
            else:
                learner.support.add(row)
        learner.support_rows = budget.holder[:used].copy()

    def mistakes_at_most(self, learner: "DualLearner", norm: float, hinge: float) -> float:
        """Return ``G²(1 + S) + 2GD + Q + 2L`` with ``G = R‖g‖``: the bound without a budget, and what forgetting cost.

        ``S`` is what shrinking took, ``D`` what projections fell short of, ``Q`` the damage of removals; tuned
        shrinking keeps ``Q`` at or below 15/32 of the mistakes. Infinite for other rules.
        """
        if not self._bounded:
            return float("inf")
        toll, size = self.toll[0], learner.radius * norm
        max_sqnorm = float(learner.totals["max_sqnorm"][0])
        short = float(toll["short"]) / math.sqrt(max_sqnorm) if max_sqnorm else 0.0
        return float(
            size**2 * (1.0 + toll["shrunk"]) + 2.0 * size * short + self.damage(learner) + 2.0 * hinge
        )

    def damage(self, learner: "DualLearner") -> float:
        """Return ``Q``: what the removed rows took from the progress of the mistakes, in mistakes."""
        eta, sqradius = float(learner.rule.eta), learner.radius**2
        return (
            float(self.toll["squares"][0] / (eta**2 * sqradius) + self.toll["lengths"][0])
            if sqradius
            else 0.0
        )

    def bound_terms(self, learner: "DualLearner", without: BoundTerms) -> BoundTerms:
        """Return what the bound of a hypothesis depends on, given the same without a budget: see the guarantee."""
        if not self._bounded or self.toll["short"][0] > 0.0:
            return without._replace(holds=False)
        wider = without.radius * math.sqrt(1.0 + float(self.toll["shrunk"][0]))
        return without._replace(radius=wider, added=self.damage(learner))

    @property
    def lossy(self) -> bool:
        """Whether anything was forgotten or projected, so that the bound of a run without a budget does not hold."""
        return bool(self.counts[1] > 0 or self.toll["short"][0] > 0.0)

    def _fill_gram(self, learner: "DualLearner") -> None:
        """Compute the products of the support rows that there are: only who learns on needs them."""
        space, support, n = learner.fitted_space(), learner.support.all(), learner.n_support
        if support is not None and isinstance(space.kernel, Precomputed):
            raise ValueError("a precomputed kernel with a budget cannot go on from a file: fit it anew")
        gram = np.zeros((self.since.size, self.since.size))
        factor = np.zeros(gram.shape if self.forget == "project" else (0, 0))
        if support is not None:
            among: NDArray[np.float64] = to_numpy(space.values(support, support)).astype(np.float64)
            gram[:n, :n] = space.value_scale * among + learner.delta**2 * np.eye(n)
            if factor.size:
                factor[:n, :n] = np.linalg.cholesky(gram[:n, :n])
                if not (factor.diagonal()[:n] > 0.0).all():
                    raise ValueError(
                        "the support rows depend on each other: nothing can be projected onto them"
                    )
        self.gram, self.factor = gram, factor
