"""What a model trained by passes says about its training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rosenblatt.learner import Learner
from rosenblatt.learner.trace import Trace, trace_of


class TrainingRecord:
    """Mistakes, clock, radius, margin, bound and ledger of the training run behind ``hypothesis``."""

    learner_: Learner
    hypothesis: str

    @property
    def mistakes_(self) -> NDArray[np.int64]:
        """Mistakes of every pass."""
        return np.array([epoch.mistakes for epoch in self._learner().epochs], dtype=np.int64)

    @property
    def n_mistakes_(self) -> int:
        """Mistakes in all."""
        return self._learner().mistakes

    @property
    def clock_(self) -> float:
        """Examples seen in all."""
        return self._learner().clock

    @property
    def radius_(self) -> float:
        """The largest norm of an example, in the space in which learning happens."""
        return self._learner().radius

    @property
    def margin_(self) -> float:
        """The margin of the predicting hypothesis on the training data."""
        standing = self._learner().standings.get(self.hypothesis)
        return standing.margin if standing else float("nan")

    @property
    def mistake_bound_(self) -> float:
        """What the rule promises about the mistakes of this run."""
        standing = self._learner().standings.get(self.hypothesis)
        return standing.bound if standing else float("inf")

    @property
    def converged_(self) -> bool:
        """Whether the last training ended with a pass that made no update."""
        return self._learner().converged

    @property
    def ledger_(self) -> NDArray[Any]:
        """The ledger: one line per update."""
        ledger = self._learner().ledger
        if ledger is None:
            raise AttributeError("the ledger was not kept: train with keep_ledger=True")
        return ledger.entries

    def trace(self, reference: Any) -> Trace:
        """Return ``v·u`` and ``‖v‖²`` after every update, against a reference hyperplane ``u``."""
        check_is_fitted(self)
        return trace_of(self.learner_, reference)

    def _learner(self) -> Learner:
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} has not learned yet: call fit first")
        return self.learner_
