"""Geometries: how a row is scored and how an update changes the weights. One loop serves all of them.

A rule names its geometry (:func:`rosenblatt.rules.geometry_of`), and every module here has one geometry with the table
of its operations. The loop calls the functions of this module; numba compiles the operation of the geometry in their
place. Where a geometry needs more numbers per weight, ``state.auxiliary`` holds them, laid out as the weights are.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload
from numpy.typing import NDArray

from rosenblatt.core.geometry.base import (
    MAX_SCALE,
    MIN_SCALE,
    Example,
    Operations,
    VisitedRows,
    Weights,
)
from rosenblatt.core.geometry.coordinate_rates import COORDINATE_RATES
from rosenblatt.core.geometry.coordinate_sums import COORDINATE_SUMS
from rosenblatt.core.geometry.euclidean import EUCLIDEAN
from rosenblatt.core.geometry.p_norm import P_NORM, powers_of, through_link
from rosenblatt.core.geometry.second_order import SECOND_ORDER
from rosenblatt.core.rows import INLINED, PART
from rosenblatt.rules import CoordinateRates, CoordinateSums, Euclidean, PNorm, SecondOrder

OPERATIONS: dict[type, Operations] = {
    Euclidean: EUCLIDEAN,
    SecondOrder: SECOND_ORDER,
    PNorm: P_NORM,
    CoordinateSums: COORDINATE_SUMS,
    CoordinateRates: COORDINATE_RATES,
}

__all__ = [
    "MAX_SCALE",
    "MIN_SCALE",
    "Example",
    "VisitedRows",
    "Weights",
    "bound_is_loose",
    "initial_auxiliary",
    "move",
    "powers_of",
    "scaled_score",
    "score_example",
    "shrink_weights",
    "through_link",
    "w_sqnorm",
    "x_sqnorm_bound",
    "x_sqnorm_exact",
]


def initial_auxiliary(geometry: Any) -> tuple[float, ...] | None:
    """Return the initial values of the geometry's further numbers per weight, None where it has none."""
    return OPERATIONS[type(geometry)].initial_auxiliary(geometry)


def by_geometry(function: Callable[..., Any], **options: Any) -> None:
    """Compile calls of a function as calls of the operation of this name of the geometry, its first argument."""

    @overload(function, strict=False, **options)
    def _operation(geometry: Any, *arguments: Any) -> Callable[..., Any]:
        operation: Callable[..., Any] = getattr(OPERATIONS[geometry.instance_class], function.__name__)
        return operation


def score_example(
    geometry: Any, rule: Any, example: Example, weights: Weights, running: Any, scores: NDArray[Any]
) -> float:
    """Fill the unscaled score of every class and return ``‖xᵢ‖² + bias_input²``."""
    raise RuntimeError("score_example runs inside compiled loops only")


def scaled_score(geometry: Any, scalars: Any, score: float) -> float:
    """Return ``w·x`` from the unscaled score and the running scalars of a hypothesis."""
    raise RuntimeError("scaled_score runs inside compiled loops only")


def w_sqnorm(geometry: Any, scalars: Any) -> float:
    """Return ``‖w‖²`` of a hypothesis (``‖θ‖_p²`` under the p-norm)."""
    raise RuntimeError("w_sqnorm runs inside compiled loops only")


def x_sqnorm_bound(geometry: Any, example: Example, weights: Weights, pair: Any, x_sqnorm: float) -> float:
    """Return the squared norm of the example as the rule reads it, or an upper bound that needs no powers."""
    raise RuntimeError("x_sqnorm_bound runs inside compiled loops only")


def bound_is_loose(geometry: Any) -> bool:
    """Return whether the rule is asked again once :func:`x_sqnorm_exact` is known; evaluated at compile time."""
    raise RuntimeError("bound_is_loose runs inside compiled loops only")


@overload(bound_is_loose, strict=False, **INLINED)
def _bound_is_loose(geometry: Any) -> Callable[..., Any]:
    if OPERATIONS[geometry.instance_class].bound_is_loose:
        return lambda geometry: True
    return lambda geometry: False


def x_sqnorm_exact(
    geometry: Any, rule: Any, example: Example, weights: Weights, scalars: Any, pair: Any, decision: Any, bound: float,
    weight: float,
) -> tuple[float, float]:  # fmt: skip
    """Return the squared norm of the example as the rule reads it, and the unit of the rule's step.

    ``decision`` is that for the bound, ``weight`` that of the visit. With a rate for every weight the gradients of the
    example are added on the way, and the unit is the factor that the rates of an example have in common.
    """
    raise RuntimeError("x_sqnorm_exact runs inside compiled loops only")


def shrink_weights(
    geometry: Any, example: Example, weights: Weights, scalars: Any, c: int, shrink: float, visited: VisitedRows
) -> None:  # fmt: skip
    """Multiply the weights of a hypothesis: class ``c``, or all classes when negative."""
    raise RuntimeError("shrink_weights runs inside compiled loops only")


def move(
    geometry: Any, rule: Any, example: Example, weights: Weights, scalars: Any, c: int, pair: Any, score: float,
    step: float,
) -> None:  # fmt: skip
    """Add ``step·x`` to the target class and subtract it from the rival, where there is one; update the norm.

    ``c`` is the hypothesis, and ``score`` its score of the example, shrunk as the weights are.
    """
    raise RuntimeError("move runs inside compiled loops only")


for function in (score_example, scaled_score, w_sqnorm, x_sqnorm_bound, x_sqnorm_exact, shrink_weights):
    by_geometry(function, **INLINED)
by_geometry(move, **PART)
