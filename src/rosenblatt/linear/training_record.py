"""What a model trained by passes says about its training."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

LearnerT = TypeVar("LearnerT")


class TrainingRecord(Generic[LearnerT]):
    """Mistakes, clock, radius, margin, bound and ledger of the training run behind ``hypothesis``."""

    learner_: LearnerT  # a Learner, or one in dual form
    hypothesis: str

    @property
    def mistakes_(self) -> NDArray[np.int64]:
        """Mistakes of every pass."""
        return np.array([epoch.mistakes for epoch in self._run().epochs], dtype=np.int64)

    @property
    def n_mistakes_(self) -> int:
        """Mistakes in all."""
        return int(self._run().mistakes)

    @property
    def clock_(self) -> float:
        """Examples seen in all."""
        return float(self._run().clock)

    @property
    def radius_(self) -> float:
        """The largest norm of an example, in the space in which learning happens."""
        return float(self._run().radius)

    @property
    def margin_(self) -> float:
        """The margin of the predicting hypothesis on the training data."""
        evaluation = self._run().evaluations.get(self.hypothesis)
        return float(evaluation.margin) if evaluation else float("nan")

    @property
    def mistake_bound_(self) -> float:
        """What the rule promises about the mistakes of this run."""
        evaluation = self._run().evaluations.get(self.hypothesis)
        return float(evaluation.bound) if evaluation else float("inf")

    @property
    def converged_(self) -> bool:
        """Whether the last training ended with a pass that made no update."""
        return bool(self._run().converged)

    @property
    def ledger_(self) -> NDArray[Any]:
        """The ledger: one line per update."""
        ledger = self._run().ledger
        if ledger is None:
            raise AttributeError("the ledger was not kept: train with keep_ledger=True and without a budget")
        entries: NDArray[Any] = ledger.entries
        return entries

    def _run(self) -> Any:
        return self._learner()

    def _learner(self) -> LearnerT:
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} has not learned yet: call fit first")
        return self.learner_
