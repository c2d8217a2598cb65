"""Statistics of every column of a block of numbers, computed while the block is in the CPU cache."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import compiled
from rosenblatt.data.scanners.decimals import ULL


class BlockStatistics(NamedTuple):
    """Statistics of every column of a block; missing values (NaN) are left out."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    total: NDArray[np.float64]
    missing: NDArray[np.float64]
    jumps: NDArray[np.float64]  # rows whose value is not the previous row's plus 1
    first: NDArray[np.float64]  # value of the first row
    last: NDArray[np.float64]


def block_statistics(values: NDArray[np.float64]) -> BlockStatistics:
    """Return the statistics of a block of at least one row.

    >>> block = block_statistics(np.array([[1.0, 5.0], [2.0, np.nan]]))
    >>> block.low, block.high, block.total, block.missing, block.jumps
    (array([1., 5.]), array([2., 5.]), array([3., 5.]), array([0., 1.]), array([0., 1.]))
    """
    statistics = np.empty((6, values.shape[1]))
    statistics[:] = np.array([np.inf, -np.inf, 0.0, 0.0, -1.0, np.nan])[:, None]
    accumulate(values, statistics)
    low, high, total, missing, jumps = statistics[:5]
    return BlockStatistics(low, high, total, missing, jumps, values[0].copy(), values[-1].copy())


@compiled
def accumulate(values: Any, statistics: Any) -> None:
    """Update the statistics row by row; columns are independent, so LLVM vectorizes over them."""
    for i in range(values.shape[0]):
        for column in range(values.shape[1]):
            c = ULL(column)
            value, low, high = values[ULL(i), c], statistics[ULL(0), c], statistics[ULL(1), c]
            missing = value != value  # noqa: PLR0124 (NaN differs from itself)
            statistics[ULL(0), c] = value if value < low else low
            statistics[ULL(1), c] = value if value > high else high
            statistics[ULL(2), c] += 0.0 if missing else value
            statistics[ULL(3), c] += 1.0 if missing else 0.0
            statistics[ULL(4), c] += 0.0 if value - statistics[ULL(5), c] == 1.0 else 1.0
            statistics[ULL(5), c] = value
