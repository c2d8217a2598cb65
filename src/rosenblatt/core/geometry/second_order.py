"""A variance for every weight: ``w ← shrink·w + τ y Σx``; the rule narrows the variances of the example's features.

``state.auxiliary`` holds the variances ``Σᵢᵢ``. The rule reads ``x·Σx`` as ``x_sqnorm``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rosenblatt.core.geometry.base import Example
from rosenblatt.core.geometry.euclidean import EUCLIDEAN
from rosenblatt.core.rows import INLINED, ONE, bias_index, extent, is_dense, weight_index
from rosenblatt.core.simd import fused_multiply_add, sqnorm_growth, weighted_squares
from rosenblatt.jit import compiled_part, inlined_part
from rosenblatt.rules import narrow
from rosenblatt.rules.base import hook_of


def initial_variance(geometry: Any) -> tuple[float]:
    """Return the variance that every weight starts with."""
    return (geometry.initial_variance,)


def x_sqnorm_along_variances(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
    """Return ``x·Σx``, summed over both classes where two are moved."""
    total = variance_along(example, np.uint64(pair.target), weights.auxiliary)
    if pair.rival >= 0:
        total += variance_along(example, np.uint64(pair.rival), weights.auxiliary)
    return total


def variance_along(example: Example, c: Any, variances: Any) -> float:
    """Return ``x·Σx`` for the variances of class ``c``, summed in the same order on every CPU."""
    raise RuntimeError("variance_along runs inside compiled loops only")


@overload(variance_along, **INLINED)
def _variance_along(example: Any, c: Any, variances: Any) -> Callable[..., Any]:
    def dense(example: Any, c: Any, variances: Any) -> Any:
        rows, i, layout = example
        bias, width = bias_index(rows, layout, c), layout.features
        along_bias = layout.bias_input * layout.bias_input * variances[bias]
        return along_bias + weighted_squares(rows.values, i * width, variances, bias + ONE, width)

    def sparse(example: Any, c: Any, variances: Any) -> Any:
        return _sparse_variance_along(example, c, variances)

    return dense if is_dense(example.types[0]) else sparse


@inlined_part
def _sparse_variance_along(example: Any, c: Any, variances: Any) -> float:
    rows, i, layout = example
    start, stop = extent(rows, i, layout)
    total = layout.bias_input * layout.bias_input * variances[bias_index(rows, layout, c)]
    other, k = 0.0, start
    while k + ONE < stop:
        total += rows.values[k] * rows.values[k] * variances[weight_index(rows, start, k, layout, c)]
        k += ONE
        other += rows.values[k] * rows.values[k] * variances[weight_index(rows, start, k, layout, c)]
        k += ONE
    if k < stop:
        total += rows.values[k] * rows.values[k] * variances[weight_index(rows, start, k, layout, c)]
    return total + other


def move(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, pair: Any, score: Any, step: Any
) -> None:  # fmt: skip
    """Add ``τ y Σx`` to the weights, narrow the variances, and update the norm."""
    unscaled, scale_sum = step / scalars.scale, scalars.scale_sum
    grown = move_along_variances(rule, example, weights, np.uint64(pair.target), unscaled, scale_sum)
    if pair.rival >= 0:
        grown += move_along_variances(rule, example, weights, np.uint64(pair.rival), -unscaled, scale_sum)
    scalars.sqnorm = max(scalars.sqnorm + scalars.scale * scalars.scale * grown, 0.0)


@compiled_part
def move_along_variances(
    rule: Any, example: Any, weights: Any, c: Any, step: float, scale_sum: float
) -> float:
    """Add ``step·Σx`` to the weights of class ``c`` and narrow their variances; return by how much ``‖W‖²`` grew."""
    rows, i, layout = example
    W, average_offset, variances = weights
    start, stop = extent(rows, i, layout)
    # In a loop of its own, so that weights are rounded as in version 0.1: its journals replay to the same bits.
    grown = growth_along(example, c, weights, step)
    at = bias_index(rows, layout, c)
    before = W[at]
    W[at] = fused_multiply_add(step * layout.bias_input, variances[at], W[at])
    grown += (W[at] - before) * (W[at] + before)
    average_offset[at] += scale_sum * step * variances[at] * layout.bias_input
    variances[at] = narrow(rule, variances[at], layout.bias_input)
    for k in range(start, stop):
        at = weight_index(rows, start, k, layout, c)
        along = step * variances[at] * rows.values[k]
        W[at] += along
        average_offset[at] += scale_sum * along
        variances[at] = narrow(rule, variances[at], float(rows.values[k]))
    return grown


def growth_along(example: Example, c: Any, weights: Any, step: float) -> float:
    """Return by how much ``step·Σx`` increases ``‖W‖²`` of class ``c``, bias excluded, summed in a fixed order."""
    raise RuntimeError("growth_along runs inside compiled loops only")


@overload(growth_along, **INLINED)
def _growth_along(example: Any, c: Any, weights: Any, step: Any) -> Callable[..., Any]:
    def dense(example: Any, c: Any, weights: Any, step: Any) -> Any:
        rows, i, layout = example
        W, _, variances = weights
        width, first = layout.features, bias_index(rows, layout, c) + ONE
        return sqnorm_growth(rows.values, i * width, step, W, variances, first, width)

    def sparse(example: Any, c: Any, weights: Any, step: Any) -> Any:
        rows, i, layout = example
        W, _, variances = weights
        start, stop = extent(rows, i, layout)
        grown = 0.0
        for k in range(start, stop):
            at = weight_index(rows, start, k, layout, c)
            along = step * variances[at] * rows.values[k]
            grown += along * (2.0 * W[at] + along)
        return grown

    return dense if is_dense(example.types[0]) else sparse


@overload(narrow, strict=False, **INLINED)
def _narrow(rule: Any, variance: Any, value: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "narrow")


SECOND_ORDER = EUCLIDEAN._replace(
    initial_auxiliary=initial_variance, x_sqnorm_bound=x_sqnorm_along_variances, move=move
)
