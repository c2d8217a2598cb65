"""What a kernel learner knows: coefficients of support rows, running scalars, classes, and room for new ones."""

import numpy as np

from rosenblatt.core.ledger import widened
from rosenblatt.learner.dual.arrays import Arrays
from rosenblatt.learner.dual.ledger import DualLedger
from rosenblatt.learner.dual.rowstore import RowStore
from rosenblatt.learner.dual.space import FeatureSpace
from rosenblatt.learner.state import LearnerState


class DualState(LearnerState):
    """The numbers of a kernel learner: as a linear one's, with support rows in the place of features.

    ``W[c, s]`` is the coefficient of support row ``s`` for class ``c``, to be multiplied by the running scale. There
    may be more columns than support rows; those are zero.
    """

    ledger: DualLedger | None

    def __init__(self, multi_class: str, fit_intercept: bool, keep_ledger: bool) -> None:
        super().__init__(multi_class, 1.0 if fit_intercept else 0.0, keep_ledger=False)
        self.ledger = DualLedger() if keep_ledger else None
        self.space: FeatureSpace | None = None  # known with the first rows
        self.support: RowStore = RowStore(Arrays(np.empty((0, 0))))
        self.support_rows = np.empty(0, np.int64)  # the example in each slot
        self._n_features = 0

    @property
    def n_features(self) -> int:
        """How many features, or columns of a Gram matrix, its rows have."""
        return self._n_features

    @property
    def n_support(self) -> int:
        """How many rows the model remembers."""
        return int(self.support_rows.size)

    def reserve(self, slots: int) -> None:
        """Make room for so many support rows."""
        if slots > self.W.shape[1]:
            room = max(slots, 2 * self.W.shape[1])
            self.W, self.average_offset = widened(self.W, room), widened(self.average_offset, room)

    def fitted_space(self) -> FeatureSpace:
        """Return the space, or say that nothing has been learned."""
        if self.space is None or not self.classes.size:
            raise ValueError("the learner has not learned yet: call learn or train first")
        return self.space
