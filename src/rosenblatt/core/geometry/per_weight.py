"""Several numbers for every weight: what the geometries with sums and with rates of coordinates share.

``state.auxiliary`` holds the numbers of one weight side by side; the first is the largest ``|xᵢ|`` of its feature. The
running ``sqnorm`` holds ``Σ (wᵢ maxᵢ)²``, which does not depend on the units of the columns and so does not lose its
digits where they differ by orders of magnitude.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rosenblatt.core.geometry.euclidean import EUCLIDEAN
from rosenblatt.core.rows import FOUR, INLINED, ONE, THREE, TWO
from rosenblatt.jit import compiled_part
from rosenblatt.rules.base import add_gradient, hook_of


def initial_numbers(geometry: Any) -> tuple[float, ...]:
    """Return the numbers of a weight before any example."""
    numbers: tuple[float, ...] = geometry.initial
    return numbers


def no_x_sqnorm(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
    """Return zero, by which the rule is first asked."""
    return 0.0


def numbers_of(geometry: Any, auxiliary: Any, at: Any) -> Any:
    """Return the numbers of the weight with the index ``at``, a tuple."""
    raise RuntimeError("numbers_of runs inside compiled loops only")


@overload(numbers_of, strict=False, **INLINED)
def _numbers_of(geometry: Any, auxiliary: Any, at: Any) -> Callable[..., Any]:
    by_count: list[Callable[..., Any]] = [
        lambda geometry, auxiliary, at: (auxiliary[at],),
        lambda geometry, auxiliary, at: (auxiliary[TWO * at], auxiliary[TWO * at + ONE]),
        lambda geometry, auxiliary, at: (
            auxiliary[THREE * at],
            auxiliary[THREE * at + ONE],
            auxiliary[THREE * at + TWO],
        ),
        lambda geometry, auxiliary, at: (
            auxiliary[FOUR * at],
            auxiliary[FOUR * at + ONE],
            auxiliary[FOUR * at + TWO],
            auxiliary[FOUR * at + THREE],
        ),
    ]
    return by_count[geometry.types[0].count - 1]


@compiled_part
def first_number(geometry: Any, at: Any) -> Any:
    """Return where the numbers of the weight with the index ``at`` begin."""
    return at * np.uint64(len(geometry.initial))


@compiled_part
def store_numbers(geometry: Any, numbers: Any, at: Any, auxiliary: Any) -> None:
    """Store the numbers of a weight."""
    first = first_number(geometry, at)
    for j in range(len(numbers)):
        auxiliary[first + np.uint64(j)] = numbers[j]


@compiled_part
def replace_weight(weights: Any, scalars: Any, at: Any, weight: float, largest: float, before: float) -> None:
    """Store a weight; ``before`` is what it contributed to ``Σ (wᵢ maxᵢ)²``."""
    W, average_offset = weights.W, weights.average_offset
    was = W[at]
    W[at] = weight
    average_offset[at] += scalars.scale_sum * (W[at] - was)
    product = W[at] * largest
    scalars.sqnorm = max(scalars.sqnorm + (product * product - before), 0.0)


@compiled_part
def contribution(weight: float, largest: float) -> float:
    """Return what a weight contributes to ``Σ (wᵢ maxᵢ)²``."""
    product = weight * largest
    return product * product


@overload(add_gradient, strict=False, **INLINED)
def _add_gradient(rule: Any, numbers: Any, weight: Any, gradient: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "add_gradient")


PER_WEIGHT = EUCLIDEAN._replace(initial_auxiliary=initial_numbers, x_sqnorm_bound=no_x_sqnorm)
