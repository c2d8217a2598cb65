"""A learning rate for every weight: ``w ← w + τ y Dx`` with a diagonal ``D`` of rates that the rule says.

Every weight has numbers of its own: the largest ``|xᵢ|`` of its feature in an update, and what the rule sums up. ``D``
depends on the derivative of the loss, so the loop asks the rule for it first, and then for the step.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rosenblatt.core.geometry.per_weight import (
    PER_WEIGHT,
    contribution,
    first_number,
    numbers_of,
    replace_weight,
    store_numbers,
)
from rosenblatt.core.rows import INLINED, bias_index, extent, weight_index
from rosenblatt.jit import compiled_part
from rosenblatt.rules.base import add_gradient, hook_of, rate


@overload(rate, strict=False, **INLINED)
def _rate(rule: Any, numbers: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "rate")


def x_sqnorm_along_rates(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
    weight: Any,
) -> Any:  # fmt: skip
    """Add the gradients of the example to the numbers of its weights.

    Return ``x·Dx`` times the visit's weight, and ``1/‖x/max‖``.
    """
    gradient = -weight * decision.tau * pair.y
    total, length = add_gradients(geometry, rule, example, weights, scalars, np.uint64(pair.target), gradient)
    if pair.rival >= 0:
        more = add_gradients(geometry, rule, example, weights, scalars, np.uint64(pair.rival), -gradient)
        total, length = total + more[0], length + more[1]
    unit = 1.0 / math.sqrt(length) if length > 0.0 else 0.0
    return weight * total * unit, unit


@compiled_part
def add_gradients(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, gradient: float
) -> tuple[float, float]:
    """Add the gradients of an example to the numbers of class ``c``; return ``Σ rateᵢ xᵢ²`` and ``Σ (xᵢ/maxᵢ)²``."""
    rows, i, layout = example
    total, length = 0.0, 0.0
    if layout.bias_input != 0.0:
        at, value = bias_index(rows, layout, c), layout.bias_input
        numbers = add_gradient_to(geometry, rule, weights, scalars, at, value, gradient)
        total += rate(rule, numbers) * value * value
        length += (value / numbers[0]) * (value / numbers[0])
    start, stop = extent(rows, i, layout)
    for k in range(start, stop):
        value = float(rows.values[k])
        if value != 0.0:
            at = weight_index(rows, start, k, layout, c)
            numbers = add_gradient_to(geometry, rule, weights, scalars, at, value, gradient)
            total += rate(rule, numbers) * value * value
            length += (value / numbers[0]) * (value / numbers[0])
    return total, length


@compiled_part
def add_gradient_to(
    geometry: Any, rule: Any, weights: Any, scalars: Any, at: Any, value: float, gradient: float
) -> Any:
    """Add a gradient to the numbers of one weight, which shrinks where the value is the largest so far."""
    W, auxiliary = weights.W, weights.auxiliary
    first = first_number(geometry, at)
    largest = auxiliary[first]
    if abs(value) > largest:
        auxiliary[first] = abs(value)
        if W[at] != 0.0:
            shrink = largest / abs(value) if largest > 0.0 else 1.0
            before = contribution(float(W[at]), largest)
            replace_weight(weights, scalars, at, shrink * W[at], abs(value), before)
    numbers = add_gradient(rule, numbers_of(geometry, auxiliary, at), float(W[at]), gradient * value)
    store_numbers(geometry, numbers, at, auxiliary)
    return numbers


def move(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, pair: Any, score: Any, step: Any
) -> None:  # fmt: skip
    """Add ``τ y Dx`` to the weights; the step includes the factor of all rates, ``1/‖x/max‖``."""
    move_along_rates(geometry, rule, example, weights, scalars, np.uint64(pair.target), step)
    if pair.rival >= 0:
        move_along_rates(geometry, rule, example, weights, scalars, np.uint64(pair.rival), -step)


@compiled_part
def move_along_rates(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, step: float
) -> None:
    """Add ``step·rateᵢ xᵢ`` to the weights of class ``c``."""
    rows, i, layout = example
    scale_sum, grown = scalars.scale_sum, 0.0
    if layout.bias_input != 0.0:
        at = bias_index(rows, layout, c)
        grown += add_along_rate(geometry, rule, weights, scale_sum, at, step * layout.bias_input)
    start, stop = extent(rows, i, layout)
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            at = weight_index(rows, start, k, layout, c)
            grown += add_along_rate(geometry, rule, weights, scale_sum, at, step * float(rows.values[k]))
    scalars.sqnorm = max(scalars.sqnorm + grown, 0.0)


@compiled_part
def add_along_rate(geometry: Any, rule: Any, weights: Any, scale_sum: float, at: Any, step: float) -> float:
    """Add ``step`` times the rate of a weight to it; return by how much ``(wᵢ maxᵢ)²`` grew."""
    W, average_offset = weights.W, weights.average_offset
    numbers = numbers_of(geometry, weights.auxiliary, at)
    before = W[at]
    W[at] = before + step * rate(rule, numbers)
    average_offset[at] += scale_sum * (W[at] - before)
    return contribution(float(W[at]), numbers[0]) - contribution(float(before), numbers[0])


COORDINATE_RATES = PER_WEIGHT._replace(bound_is_loose=True, x_sqnorm_exact=x_sqnorm_along_rates, move=move)
