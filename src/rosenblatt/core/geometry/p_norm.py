"""Weights that are a vector ``θ`` seen through the p-norm link: ``wᵢ = sign(θᵢ)|θᵢ|^(p−1)/‖θ‖_p^(p−2)``.

An update is ``θ ← shrink·θ + τ y x``. ``θ = scale × V`` is stored in place of the weights, and ``state.auxiliary``
holds ``Uᵢ = sign(Vᵢ)|Vᵢ|^(p−1)``, so that a score is one product, ``w·x = scale·(U·x)/‖V‖_p^(p−2)``, and powers are
computed only for coordinates that an update changes. The running ``sqnorm`` holds ``Σ|Vᵢ|^p = V·U``, updated from the
changed coordinates. The rule reads ``(p−1)‖x‖_p²`` as ``x_sqnorm`` and ``‖θ‖_p²`` as ``w_sqnorm``.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.geometry.euclidean import EUCLIDEAN
from rosenblatt.core.rows import bias_index, class_extent, extent, score_row, weight_index
from rosenblatt.jit import compiled_part, exactly_compiled_part

# Outside this range V is divided by its norm and its sum of powers recomputed, which happens O(log updates) times: the
# sum is updated by differences, and loses digits as it grows or shrinks.
MIN_POWER, MAX_POWER = 2.0**-8, 2.0**8
ABOVE_ROUNDING = 1.0 + 1e-6  # exceeds the rounding error of ‖x‖₂² in float32


def initial_power(geometry: Any) -> tuple[float]:
    """Return the ``Uᵢ`` of a zero vector."""
    return (0.0,)


def score_by_powers(geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any) -> Any:
    """Score the example by ``U``."""
    return score_row(example.rows, example.i, example.layout, weights.auxiliary, scores)


def linked_score(geometry: Any, scalars: Any, score: Any) -> Any:
    """Return ``scale·(U·x)/‖V‖_p^(p−2)``."""
    return (
        score * scalars.scale * scalars.sqnorm ** ((2.0 - geometry.p) / geometry.p)
        if scalars.sqnorm > 0.0
        else score
    )


def theta_sqnorm(geometry: Any, scalars: Any) -> Any:
    """Return ``‖θ‖_p²``."""
    return (
        scalars.scale * scalars.scale * scalars.sqnorm ** (2.0 / geometry.p) if scalars.sqnorm > 0.0 else 0.0
    )


def x_sqnorm_by_two_norm(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
    """Return a bound of ``(p−1)‖x‖_p²`` that needs no powers: ``‖x‖_p ≤ ‖x‖₂``."""
    sides = 2.0 if pair.rival >= 0 else 1.0  # an example of Kesler's construction contains x twice
    return (geometry.p - 1.0) * sides * x_sqnorm * ABOVE_ROUNDING


def x_sqnorm_by_powers(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
    weight: Any,
) -> Any:  # fmt: skip
    """Return ``(p−1)‖x‖_p²`` and one."""
    return x_sqnorm_in_p_norm(geometry, example, pair), 1.0


@compiled_part
def x_sqnorm_in_p_norm(geometry: Any, example: Any, pair: Any) -> float:
    """Return ``(p−1)‖x‖_p²``, of both copies of ``x`` where two classes are moved."""
    rows, i, layout = example
    p, bias_input = geometry.p, layout.bias_input
    start, stop = extent(rows, i, layout)
    largest = bias_input
    for k in range(start, stop):
        largest = max(largest, abs(float(rows.values[k])))
    if largest == 0.0:
        return 0.0
    total = (bias_input / largest) ** p
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            total += (abs(float(rows.values[k])) / largest) ** p
    norm = largest * total ** (1.0 / p)
    sides = 2.0 if pair.rival >= 0 else 1.0
    return (p - 1.0) * sides ** (2.0 / p) * norm * norm


def shrink_theta(
    geometry: Any, example: Any, weights: Any, scalars: Any, c: Any, shrink: Any, visited: Any
) -> None:
    """Multiply the scale; ``Σ|Vᵢ|^p`` does not contain it."""
    scalars.decay *= shrink
    scalars.scale *= shrink


def move(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, pair: Any, score: Any, step: Any
) -> None:  # fmt: skip
    """Add the row to ``V``, update ``U``, and project onto the ball of the geometry."""
    p, unscaled, scale_sum = geometry.p, step / scalars.scale, scalars.scale_sum
    scalars.sqnorm += add_through_link(p, example, weights, np.uint64(pair.target), unscaled, scale_sum)
    if pair.rival >= 0:
        scalars.sqnorm += add_through_link(p, example, weights, np.uint64(pair.rival), -unscaled, scale_sum)
    if not MIN_POWER < scalars.sqnorm < MAX_POWER:
        whose = -1 if pair.rival >= 0 else c
        norm, power = normalise(p, example, weights, whose, scale_sum)
        scalars.scale, scalars.scale_sum, scalars.sqnorm = scalars.scale * norm, 0.0, power
    if geometry.max_norm < math.inf:  # project onto the ball
        scalars.scale /= max(1.0, scalars.scale * scalars.sqnorm ** (1.0 / p) / geometry.max_norm)


@compiled_part
def add_to_coordinate(p: float, weights: Any, at: Any, step: float, scale_sum: float) -> float:
    """Add ``step`` to a coordinate and return by how much ``|Vᵢ|^p`` grew."""
    V, average_offset, powers = weights
    before = V[at] * powers[at]
    V[at] += step
    average_offset[at] += scale_sum * step
    powers[at] = math.copysign(abs(float(V[at])) ** (p - 1.0), float(V[at]))
    return V[at] * powers[at] - before


@compiled_part
def add_through_link(p: float, example: Any, weights: Any, c: Any, step: float, scale_sum: float) -> float:
    """Add ``step·(bias_input, xᵢ)`` to the vector of class ``c`` and return by how much ``Σ|Vᵢ|^p`` grew."""
    rows, i, layout = example
    start, stop = extent(rows, i, layout)
    grown = 0.0
    if layout.bias_input != 0.0:
        grown += add_to_coordinate(
            p, weights, bias_index(rows, layout, c), step * layout.bias_input, scale_sum
        )
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            at = weight_index(rows, start, k, layout, c)
            grown += add_to_coordinate(p, weights, at, step * rows.values[k], scale_sum)
    return grown


@exactly_compiled_part  # else the order of the sums would depend on how many weights are reserved
def normalise(p: float, example: Any, weights: Any, c: int, scale_sum: float) -> tuple[float, float]:
    """Divide the vector of class ``c`` (all, when negative) by its norm; return that norm, and the new ``Σ|Vᵢ|^p``."""
    V, average_offset, powers = weights
    start, stop, stride = class_extent(example.rows, example.layout, c)
    largest = 0.0
    at = start
    while at < stop:
        largest = max(largest, abs(float(V[at])))
        at += stride
    if largest == 0.0:
        return 1.0, 0.0
    total = 0.0
    at = start
    while at < stop:
        if V[at] != 0.0:
            total += (abs(float(V[at])) / largest) ** p
        at += stride
    norm = largest * total ** (1.0 / p)
    power = 0.0
    at = start
    while at < stop:
        if V[at] != 0.0:
            average_offset[at] -= scale_sum * V[at]
            V[at] /= norm
            powers[at] = math.copysign(abs(float(V[at])) ** (p - 1.0), float(V[at]))
            power += V[at] * powers[at]
        at += stride
    return norm, power


P_NORM = EUCLIDEAN._replace(
    initial_auxiliary=initial_power,
    score_example=score_by_powers,
    scaled_score=linked_score,
    w_sqnorm=theta_sqnorm,
    x_sqnorm_bound=x_sqnorm_by_two_norm,
    bound_is_loose=True,
    x_sqnorm_exact=x_sqnorm_by_powers,
    shrink_weights=shrink_theta,
    move=move,
)


# Outside the loop


def through_link(theta: NDArray[Any], p: float, joint: bool) -> NDArray[np.float64]:
    """Return ``sign(θᵢ)|θᵢ|^(p−1)/‖θ‖_p^(p−2)`` of each row, or of all rows as one vector; with q it is the inverse.

    >>> w = through_link(np.array([[3.0, -1.0]]), 4.0, joint=False)
    >>> through_link(w, 4.0 / 3.0, joint=False).round(12)
    array([[ 3., -1.]])
    """
    V = theta.astype(np.float64, order="C")  # the order of sums does not depend on the layout
    axis = None if joint else 1
    largest = np.abs(V).max(axis=axis, keepdims=True)
    largest[largest == 0.0] = 1.0  # leaves a zero vector as it is
    V /= largest
    # At least one: one coordinate is ±1, or all are 0.
    power = np.maximum((np.abs(V) ** p).sum(axis=axis, keepdims=True), 1.0)
    linked: NDArray[np.float64] = largest * power ** ((2.0 - p) / p) * powers_of(V, p)
    return linked


def powers_of(V: NDArray[Any], p: float) -> NDArray[np.float64]:
    """Return ``sign(Vᵢ)|Vᵢ|^(p−1)``, the second array of the p-norm geometry."""
    wide = V.astype(np.float64)
    return np.copysign(np.abs(wide) ** (p - 1.0), wide)
