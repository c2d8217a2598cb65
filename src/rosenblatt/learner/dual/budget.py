"""Passes under a budget: never more support rows than asked for."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import to_numpy
from rosenblatt.learner.dual.blocks import Data, slots_of
from rosenblatt.passes.kernel_block import Space
from rosenblatt.passes.kernel_budget import (
    OLDEST,
    PROJECT,
    RANDOM,
    Budget,
    BudgetBlock,
    visit_block_on_budget,
)
from rosenblatt.passes.records import State, Visits

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner

# What happens when the budget is full: the oldest row is forgotten (as by the Forgetron), or one drawn by chance
# (the randomised budget perceptron), or the update is projected onto the rows that are there (the Projectron).
FORGET = {"oldest": OLDEST, "random": RANDOM, "project": PROJECT}


class BudgetPass:
    """The slots of a budget and the Gram matrix of the rows in them, kept from pass to pass."""

    def __init__(self, budget: int, forget: str) -> None:
        self.gram = np.zeros((budget, budget))
        self.inverse: NDArray[Any] = np.empty((0, 0))
        self.forgotten = 0
        self._strategy = FORGET[forget]

    def run(self, learner: "DualLearner", data: Data, visits: Visits) -> None:
        """Visit every example in order."""
        space, arrays = learner.unstarted(), learner.unstarted().arrays
        room, classes, hypotheses = self.gram.shape[0], learner.W.shape[0], learner.running.size
        learner.reserve(room)
        truth = data.labels if classes > 1 else 2 * data.labels - 1
        holder = np.full(room, -1)
        holder[: learner.n_support] = learner.support_rows
        budget = Budget(
            holder,
            np.full(room, -1),
            slots_of(learner, data),
            self.gram,
            self.inverse,
            np.array([learner.n_support, self.forgotten]),
            np.empty(hypotheses),
            np.empty(hypotheses, np.int64),
            np.zeros(room),
            np.zeros(room),
            self._strategy,
            learner.seed,
        )
        in_space = Space(space.unit, learner.delta**2)
        scores = np.empty(classes)
        for lo in range(0, visits.order.size, learner.block_size):
            part = visits.order[lo : lo + learner.block_size].astype(np.int64)
            rows = arrays.rows(data.X, part)
            kept = space.remembered(rows, part + data.first_row)
            gram = np.ascontiguousarray(to_numpy(space.values(rows, kept)))
            support = learner.support.all()
            beside = gram[:, :0] if support is None else to_numpy(space.values(rows, support))
            weight = visits.weight[lo : lo + learner.block_size]
            block = BudgetBlock(part, truth[part], weight, np.ascontiguousarray(beside), gram)
            budget.home[:] = -1
            first = 0
            while first < part.size:
                W, A = learner.W[:, :room], learner.A[:, :room]
                state = State(W, A, learner.running, scores, learner.totals)
                first = visit_block_on_budget(
                    learner.rule, block, in_space, state, budget, data.first_row, first
                )
                learner.fold()
                if self._strategy == PROJECT and budget.counts[0] == room and not self.inverse.size:
                    self.inverse = np.linalg.pinv(self.gram, hermitian=True)
                    budget = budget._replace(inverse=self.inverse)
            self.forgotten = int(budget.counts[1])
            for slot in range(int(budget.counts[0])):
                place = int(budget.home[slot])
                if place >= 0:
                    row = arrays.rows(kept, np.array([place]))
                    if slot < len(learner.support):
                        learner.support.replace(slot, row)
                    else:
                        learner.support.add(row)
            learner.support_rows = holder[: budget.counts[0]].copy()

    @property
    def lossy(self) -> bool:
        """Whether anything was forgotten or projected, so that no bound holds."""
        return self.forgotten > 0 or self.inverse.size > 0


def restored(learner: "DualLearner", forgotten: int) -> BudgetPass:
    """Rebuild the slots of a saved learner from its support rows."""
    assert learner.budget is not None
    space, again = learner.unstarted(), BudgetPass(learner.budget, learner.forget)
    again.forgotten = forgotten
    support, n = learner.support.all(), learner.n_support
    if support is not None:
        among: NDArray[np.float64] = space.unit * to_numpy(space.values(support, support)).astype(np.float64)
        again.gram[:n, :n] = among + learner.delta**2 * np.eye(n)
        if again._strategy == PROJECT and n == learner.budget:
            again.inverse = np.linalg.pinv(again.gram, hermitian=True)
    return again
