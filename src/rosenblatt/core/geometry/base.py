"""What every geometry is made of: the example, the arrays of weights, and the table of its operations."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import Layout, Rows

# Outside this range the scale is folded into the weights: the mean of the weights is a difference,
# scale_sum·W − offset, and loses as many digits as the scale differs from one.
MIN_SCALE, MAX_SCALE = 1e-3, 1e3


class Example(NamedTuple):
    """A row and where its weights are."""

    rows: Rows
    i: Any
    layout: Layout


class Weights(NamedTuple):
    """The arrays that an update changes; see :class:`rosenblatt.core.state.State`."""

    W: NDArray[Any]
    average_offset: NDArray[np.float64]
    auxiliary: NDArray[np.float64]


class VisitedRows(NamedTuple):
    """The rows visited by this call of the loop, and whether all weights were zero when it began."""

    order: Any  # of all visits
    count: Any  # of the visits made so far
    marks: Any  # uint8 zeros, one per feature, or empty
    from_zero: bool


class Operations(NamedTuple):
    """The operations of a geometry: Python functions that become parts of the compiled loop.

    Their arguments and results are those of the functions of the same names in :mod:`rosenblatt.core.geometry`.
    """

    initial_auxiliary: Callable[[Any], tuple[float, ...] | None]  # called in Python
    score_example: Callable[..., float]
    scaled_score: Callable[..., float]
    w_sqnorm: Callable[..., float]
    x_sqnorm_bound: Callable[..., float]
    bound_is_loose: bool  # then x_sqnorm_exact is computed for examples that the rule would update by
    x_sqnorm_exact: Callable[..., tuple[float, float]]
    shrink_weights: Callable[..., None]
    move: Callable[..., None]
