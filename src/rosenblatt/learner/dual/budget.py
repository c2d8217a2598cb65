"""Passes under a budget: never more support rows than asked for."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import to_numpy
from rosenblatt.learner.dual.blocks import Data, parts, slots_of
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
        self.inverse: NDArray[np.float64] = np.empty((0, 0))
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
        for part in parts(learner, data, visits):
            support = learner.support.all()
            if support is None:
                gram = arrays.fetch(gram=part.gram)[0]
                beside = gram[:, :0]
            else:
                gram, beside = arrays.fetch(gram=part.gram, beside=space.values(part.rows, support))
            beside = np.ascontiguousarray(beside)
            block = BudgetBlock(part.visits, part.weight, part.shown, truth[part.shown], beside, gram)
            budget.home[:] = -1
            first = 0
            while first < part.visits.size:
                W, A = learner.W[:, :room], learner.A[:, :room]
                state = State(W, A, learner.running, scores, learner.totals)
                first = visit_block_on_budget(
                    learner.rule, block, in_space, state, budget, data.first_row, first
                )
                learner.fold()
                if self._strategy == PROJECT and budget.counts[0] == room and not self.inverse.size:
                    self.inverse = _inverse(self.gram)
                    budget = budget._replace(inverse=self.inverse)
            self.forgotten = int(budget.counts[1])
            for slot in range(int(budget.counts[0])):
                place = int(budget.home[slot])
                if place >= 0:
                    row = arrays.rows(part.kept, np.array([place]))
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
            again.inverse = _inverse(again.gram)
    return again


def _inverse(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse on what the rows span; rows that say the same share the step."""
    return np.asarray(np.linalg.pinv(gram, hermitian=True), dtype=np.float64)
