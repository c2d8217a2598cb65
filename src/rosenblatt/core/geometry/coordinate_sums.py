"""Weights that follow from sums over gradients: the rule updates the sums, and says which weight follows from them.

The largest ``|xᵢ|`` of a feature, the first number of its weights, is updated before the example is scored.
"""

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
from rosenblatt.core.rows import INLINED, bias_index, extent, score_row, weight_index
from rosenblatt.jit import compiled_part
from rosenblatt.rules.base import add_gradient, hook_of, weight_of


@overload(weight_of, strict=False, **INLINED)
def _weight_of(rule: Any, numbers: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "weight_of")


def update_and_score(geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any) -> Any:
    """Update the largest values and the weights that follow from them, then score the example."""
    update_largest_values(geometry, rule, example, weights, running)
    return score_row(example.rows, example.i, example.layout, weights.W, scores)


@compiled_part
def update_largest_values(geometry: Any, rule: Any, example: Any, weights: Any, running: Any) -> None:
    """Update the largest values of the features of an example, and the weights that follow from them.

    All classes have seen the same values, so those of the first one are compared.
    """
    rows, i, layout = example
    none, auxiliary = np.uint64(0), weights.auxiliary
    at = bias_index(rows, layout, none)
    if layout.bias_input > auxiliary[first_number(geometry, at)]:
        for c in range(layout.classes):
            at = bias_index(rows, layout, c)
            update_largest_value(geometry, rule, weights, running, at, c, layout.bias_input)
    start, stop = extent(rows, i, layout)
    for k in range(start, stop):
        value = abs(float(rows.values[k]))
        at = weight_index(rows, start, k, layout, none)
        if value > auxiliary[first_number(geometry, at)]:
            for c in range(layout.classes):
                at = weight_index(rows, start, k, layout, c)
                update_largest_value(geometry, rule, weights, running, at, c, value)


@compiled_part
def update_largest_value(
    geometry: Any, rule: Any, weights: Any, running: Any, at: Any, c: Any, value: float
) -> None:
    """Store the largest value of the feature of one weight, and the weight that follows from it."""
    W, auxiliary = weights.W, weights.auxiliary
    scalars = running[min(np.int64(c), running.shape[0] - 1)]
    first = first_number(geometry, at)
    before = contribution(float(W[at]), auxiliary[first])
    auxiliary[first] = max(value, auxiliary[first])
    if W[at] != 0.0:
        weight = weight_of(rule, numbers_of(geometry, auxiliary, at))
        scalars.decay *= weight / W[at]
        replace_weight(weights, scalars, at, weight, auxiliary[first], before)


def move(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, pair: Any, score: Any, step: Any
) -> None:  # fmt: skip
    """Add the gradients of the example to the sums, and store the weights that follow from them."""
    add_to_sums(geometry, rule, example, weights, scalars, np.uint64(pair.target), -step)
    if pair.rival >= 0:
        add_to_sums(geometry, rule, example, weights, scalars, np.uint64(pair.rival), step)


@compiled_part
def add_to_sums(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, gradient: float
) -> None:
    """Add the gradients of an example to the sums of class ``c``; ``gradient`` is the derivative by its score."""
    rows, i, layout = example
    if layout.bias_input != 0.0:
        at = bias_index(rows, layout, c)
        add_to_sums_of(geometry, rule, weights, scalars, at, gradient * layout.bias_input)
    start, stop = extent(rows, i, layout)
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            at = weight_index(rows, start, k, layout, c)
            add_to_sums_of(geometry, rule, weights, scalars, at, gradient * float(rows.values[k]))


@compiled_part
def add_to_sums_of(geometry: Any, rule: Any, weights: Any, scalars: Any, at: Any, gradient: float) -> None:
    """Add a gradient to the sums of one weight, and store the weight that follows from them."""
    W, auxiliary = weights.W, weights.auxiliary
    numbers = numbers_of(geometry, auxiliary, at)
    before = contribution(float(W[at]), numbers[0])
    numbers = add_gradient(rule, numbers, float(W[at]), gradient)
    store_numbers(geometry, numbers, at, auxiliary)
    replace_weight(weights, scalars, at, weight_of(rule, numbers), numbers[0], before)


COORDINATE_SUMS = PER_WEIGHT._replace(score_example=update_and_score, move=move)
