"""The ledger of a kernel learner: its support rows are named by slots, in the order they came."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.ledger import Ledger
from rosenblatt.passes.kernel_votes import coefficients_after


class DualLedger(Ledger):
    """Every update of a run, told in coefficients of support rows instead of weights of features."""

    def __init__(self) -> None:
        super().__init__(np.zeros((1, 1)))

    def support_index(self) -> NDArray[np.int64]:
        """Return, for every line, the slot of the row it speaks of."""
        ascending = np.argsort(self.support_rows)
        place = np.searchsorted(self.support_rows, self.entries["row"], sorter=ascending)
        return ascending[place] if ascending.size else place

    def weights_after(self, numbers: NDArray[np.int64], unit: float = 0.0) -> NDArray[Any]:
        """Return ``(numbers, rows, slots)`` coefficients as they were after each number of lines (ascending)."""
        classes = self.start.shape[0]
        coefficients = np.zeros((classes, self.support_rows.size))
        out = np.empty((numbers.size, *coefficients.shape))
        coefficients_after(self.entries, self.support_index(), coefficients, numbers, out)
        return out
