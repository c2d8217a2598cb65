"""The slots of a budget, between epochs, and the cost of forgetting."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.kernel_loop import FORGETTING_COST, OLDEST, PROJECT, RANDOM, REMOVED, USED, Budget
from rosenblatt.learner.training import BoundTerms
from rosenblatt.rules import Rosenblatt

# What happens when the budget is full: the row corrected the longest ago is removed after a shrink that keeps the
# damage bounded (the self-tuned Forgetron), or a random one (the randomised budget perceptron), or the update is
# projected onto the rows in the slots (the Projectron).
FORGET = {"oldest": OLDEST, "random": RANDOM, "project": PROJECT}


class BudgetSlots:
    """The slots of a budget and the Gram matrix of the rows in them.

    Notes
    -----
    With Rosenblatt's rule, for every ``g``, on examples of norm at most ``R`` on which its hinge losses sum to ``L``,
    the mistakes are at most :meth:`mistakes_at_most`.
    """

    def __init__(self, budget: int, forget: str, tolerance: float) -> None:
        self.forget = forget
        self.tolerance = tolerance
        self.gram = self.factor = np.zeros((0, 0))  # of all slots, from the first epoch on
        self.last_correction = np.zeros(budget, np.int64)
        self.counts = np.zeros(3, np.int64)  # at USED, REMOVED and CORRECTIONS
        self.cost = np.zeros(1, FORGETTING_COST)
        self._bounded = True  # whether every step so far was Rosenblatt's, from zero

    @property
    def size(self) -> int:
        """How many slots there are."""
        return self.last_correction.size

    @property
    def used(self) -> int:
        """How many slots hold a row."""
        return int(self.counts[USED])

    def start(
        self, rule: Any, examples: NDArray[np.int64], slots: NDArray[np.int64], hypotheses: int, seed: int
    ) -> Budget:
        """Return the budget as the compiled loop takes it.

        Parameters
        ----------
        rule : rule
            The rule of this epoch.
        examples : ndarray
            The examples in the slots.
        slots : ndarray
            Of every example of the data, its slot or -1.
        hypotheses : int
            The number of hypotheses.
        seed : int
            Seed of random removals.
        """
        self._bounded = self._bounded and isinstance(rule, Rosenblatt)
        slot_examples = np.full(self.size, -1)
        slot_examples[: examples.size] = examples
        return Budget(
            slot_examples,
            np.full(self.size, -1),
            slots,
            self.last_correction,
            self.gram,
            self.factor,
            self.counts,
            self.cost,
            np.empty(hypotheses),
            np.empty(hypotheses, np.int64),
            np.zeros(self.size),
            np.zeros(self.size),
            FORGET[self.forget],
            float(rule.eta) if isinstance(rule, Rosenblatt) else 0.0,
            self.tolerance,
            seed,
        )

    def fill_gram(self, products: NDArray[np.float64]) -> None:
        """Take the products of the rows in the slots with each other."""
        n = products.shape[0]
        gram = np.zeros((self.size, self.size))
        factor = np.zeros(gram.shape if self.forget == "project" else (0, 0))
        gram[:n, :n] = products
        if n and factor.size:
            factor[:n, :n] = np.linalg.cholesky(products)
            if not (factor.diagonal()[:n] > 0.0).all():
                raise ValueError(
                    "the support rows are linearly dependent, so that projections onto them are not defined: fit again"
                )
        self.gram, self.factor = gram, factor

    # The cost of forgetting

    def mistakes_at_most(
        self, eta: float, radius: float, max_sqnorm: float, norm: float, hinge: float
    ) -> float:
        """Return ``G²(1 + S) + 2GD + Q + 2L`` with ``G = R‖g‖``: the bound without a budget plus forgetting's cost.

        ``S`` is the cost of shrinking, ``D`` that of projections, ``Q`` the damage of removals; tuned shrinking keeps
        ``Q`` at or below 15/32 of the mistakes. Infinite for rules other than Rosenblatt's.

        Parameters
        ----------
        eta : float
            The step of Rosenblatt's rule.
        radius, max_sqnorm : float
            The largest norm of an example (√2 larger with joint classes), and its square without the √2.
        norm, hinge : float
            The norm of ``g``, and the sum of its hinge losses.

        Returns
        -------
        float
        """
        if not self._bounded:
            return math.inf
        cost, size = self.cost[0], radius * norm
        short = float(cost["short"]) / math.sqrt(max_sqnorm) if max_sqnorm else 0.0
        removals = self.damage(eta, radius)
        return float(size**2 * (1.0 + cost["shrunk"]) + 2.0 * size * short + removals + 2.0 * hinge)

    def damage(self, eta: float, radius: float) -> float:
        """Return ``Q``, the damage of removed rows, in mistakes."""
        if not radius:
            return 0.0
        return float(self.cost["squares"][0] / (eta**2 * radius**2) + self.cost["lengths"][0])

    def bound_terms(self, without: BoundTerms) -> BoundTerms:
        """Return the terms of a hypothesis' bound under a budget, given those without one."""
        if not self._bounded or self.cost["short"][0] > 0.0:
            return without._replace(holds=False)
        wider = without.radius * math.sqrt(1.0 + float(self.cost["shrunk"][0]))
        return without._replace(radius=wider, added=self.damage(float(without.rule.eta), without.radius))

    @property
    def lossy(self) -> bool:
        """Whether a row was removed or an update projected, so that the bound without a budget does not hold."""
        return bool(self.counts[REMOVED] > 0 or self.cost["short"][0] > 0.0)
