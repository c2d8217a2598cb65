"""The ledger of a kernel learner: its support rows are named by slots, in the order they came."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.ledger import Ledger, replayed
from rosenblatt.core.rows import Rows


class DualLedger(Ledger):
    """Every update of a run, told in coefficients of support rows instead of weights of features."""

    def __init__(self) -> None:
        super().__init__(np.zeros((1, 1)))

    def support_index(self) -> NDArray[np.int64]:
        """Return, for every line, the slot of the row it speaks of."""
        ascending = np.argsort(self.support_rows)
        place = np.searchsorted(self.support_rows, self.entries["row"], sorter=ascending)
        return ascending[place] if ascending.size else place

    def weights_after(
        self,
        numbers: NDArray[np.int64],
        bias_input: float = 0.0,
        classes: NDArray[np.int64] | None = None,
    ) -> NDArray[Any]:
        """Return ``(numbers, rows, slots)`` coefficients after each number of lines (ascending).

        A coefficient is the weight of a feature that only its own support row has: the rows are an identity matrix.
        """
        slots = self.support_rows.size
        identity = Rows(
            np.ones(slots), np.arange(slots, dtype=np.uint64), np.arange(slots + 1, dtype=np.uint64)
        )
        start = np.zeros((self.start.shape[0], 1 + slots), order="F")
        return replayed(identity, start, self.entries, self.support_index(), bias_input, numbers, classes)[
            ..., 1:
        ]
