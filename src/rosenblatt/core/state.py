"""The state that the loop reads and writes: weights, running scalars and totals."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The running scalars of one hypothesis w = scale × vector (one per class under "ovr", else one in all).
RUNNING = np.dtype(
    [
        ("scale", np.float64),  # w = scale × the stored vector, so that a shrink changes no coordinate
        ("scale_sum", np.float64),  # Σ scale over the clock: what averaging needs instead of a sum over d
        ("sqnorm", np.float64),  # ‖w‖² (or what a geometry has in its place), updated, never recomputed
        ("decay", np.float64),  # product of the shrinks since the last ledger line of this hypothesis
        ("updates", np.int64),
    ]
)

# Counted over all hypotheses.
TOTALS = np.dtype(
    [
        ("clock", np.float64),  # examples seen; a weighted visit counts its weight
        ("mistakes", np.int64),  # y·score ≤ 0
        ("updates", np.int64),
        ("max_sqnorm", np.float64),  # the largest ‖x‖² so far, the constant input of the bias included
        ("written", np.int64),  # lines written into the ledger
    ]
)

NOTHING = np.empty(0)
NO_MARKS = np.empty(0, np.uint8)


class Visits(NamedTuple):
    """The rows that an epoch visits, in order, and the weight of each visit (empty: one each)."""

    order: NDArray[np.uintp]
    weight: NDArray[np.float64]


class State(NamedTuple):
    """Everything that the loop changes."""

    W: NDArray[Any]  # weights, laid out for the rows
    # Σ over updates of scale_sum × step: the averaged weights are (scale_sum·W − average_offset) / clock.
    average_offset: NDArray[np.float64]
    running: NDArray[Any]  # RUNNING, one per hypothesis
    scores: NDArray[Any]  # buffer for the scores of one example, one per row of weights
    totals: NDArray[Any]  # TOTALS, one
    auxiliary: NDArray[np.float64] = NOTHING  # the geometry's further numbers per weight, in the layout of W
    # Zeros, one per feature of sparse rows: scratch for folding the scale.
    marks: NDArray[np.uint8] = NO_MARKS


def new_running(hypotheses: int) -> NDArray[Any]:
    """Return the initial running scalars of hypotheses."""
    running = np.zeros(hypotheses, RUNNING)
    running["scale"] = running["decay"] = 1.0
    return running
