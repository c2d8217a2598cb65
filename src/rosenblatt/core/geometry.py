"""Geometries: how a row is scored and how an update changes the weights. One loop serves all of them.

A rule names its geometry (:func:`rosenblatt.rules.geometry_of`), which overloads score, norms and move. Where a
geometry needs more numbers per weight, the array ``state.auxiliary`` holds them, laid out as the weights are.

- **Euclidean**: ``w ← shrink·w + τ y x``. It needs no second array.
- **SecondOrder**: every weight has a variance ``Σᵢᵢ``; ``w ← shrink·w + τ y Σx`` and the rule narrows the variances
  of the example's features. The rule reads ``x·Σx`` as ``x_sqnorm``.
- **PNorm**: the weights are a vector ``θ`` seen through the p-norm link, ``wᵢ = sign(θᵢ)|θᵢ|^(p−1)/‖θ‖_p^(p−2)``, and
  ``θ ← shrink·θ + τ y x``. ``θ = scale × V`` is stored in place of the weights. The second array is
  ``Uᵢ = sign(Vᵢ)|Vᵢ|^(p−1)``, so that a score is one product, ``w·x = scale·(U·x)/‖V‖_p^(p−2)``, and powers are
  computed only for coordinates that an update changes. The running ``sqnorm`` holds ``Σ|Vᵢ|^p = V·U``, updated from
  the changed coordinates. The rule reads ``(p−1)‖x‖_p²`` as ``x_sqnorm`` and ``‖θ‖_p²`` as ``w_sqnorm``.
- **CoordinateSums**: every weight follows from numbers of its own: the largest ``|xᵢ|`` of its feature, which is
  updated before the score, and sums over gradients, which the rule updates.
- **CoordinateRates**: ``w ← w + τ y Dx``, where the diagonal ``D`` follows from numbers of every weight: the largest
  ``|xᵢ|`` of its feature in an update, and what the rule sums up. ``D`` depends on the derivative of the loss, so the
  loop asks the rule for it first, and then for the step.

In the last two ``sqnorm`` holds ``Σ (wᵢ maxᵢ)²``, which does not depend on the units of the columns and so does not
lose its digits where they differ by orders of magnitude.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rosenblatt.core.rows import (
    FOUR,
    INLINED,
    ONE,
    PART,
    THREE,
    TWO,
    Layout,
    Rows,
    add_to_both,
    bias_index,
    class_extent,
    extent,
    is_dense,
    score_row,
    weight_index,
)
from rosenblatt.core.simd import fused_multiply_add, sqnorm_growth, weighted_squares
from rosenblatt.jit import compiled_part, exactly_compiled_part, inlined_part
from rosenblatt.rules import CoordinateRates, CoordinateSums, Euclidean, PNorm, SecondOrder, narrow
from rosenblatt.rules.base import PER_COORDINATE, add_gradient, hook_of, rate, weight_of

# Outside this range the scale is folded into the weights: the mean of the weights is a difference,
# scale_sum·W − offset, and loses as many digits as the scale differs from one.
MIN_SCALE, MAX_SCALE = 1e-3, 1e3
# Outside this range V is divided by its norm and its sum of powers recomputed, which happens O(log updates) times: the
# sum is updated by differences, and loses digits as it grows or shrinks.
MIN_POWER, MAX_POWER = 2.0**-8, 2.0**8
ABOVE_ROUNDING = 1.0 + 1e-6  # exceeds the rounding error of ‖x‖₂² in float32
FEW_VISITED = np.uint64(
    4
)  # few rows are visited while this many times their values are fewer than the features


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


def _choose(geometry: Any, euclidean: Any, second_order: Any, p_norm: Any, sums: Any, rates: Any) -> Any:
    """Return the implementation for the numba type of a geometry."""
    by_class = {
        Euclidean: euclidean,
        SecondOrder: second_order,
        PNorm: p_norm,
        CoordinateSums: sums,
        CoordinateRates: rates,
    }
    return by_class[geometry.instance_class]


# Scores


def score_example(
    geometry: Any, rule: Any, example: Example, weights: Weights, running: Any, scores: NDArray[Any]
) -> float:
    """Fill the unscaled score of every class and return ``‖xᵢ‖² + bias_input²``."""
    raise RuntimeError("score_example runs inside compiled loops only")


@overload(score_example, **INLINED)
def _score_example(
    geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any
) -> Callable[..., Any]:
    def by_weights(geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any) -> Any:
        return score_row(example.rows, example.i, example.layout, weights.W, scores)

    def by_powers(geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any) -> Any:
        return score_row(example.rows, example.i, example.layout, weights.auxiliary, scores)

    def after_widening(
        geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any
    ) -> Any:
        widen_row(geometry, rule, example, weights, running)
        return score_row(example.rows, example.i, example.layout, weights.W, scores)

    chosen: Callable[..., Any] = _choose(
        geometry, by_weights, by_weights, by_powers, after_widening, by_weights
    )
    return chosen


def scaled_score(geometry: Any, scalars: Any, score: float) -> float:
    """Return ``w·x`` from the unscaled score and the running scalars of a hypothesis."""
    raise RuntimeError("scaled_score runs inside compiled loops only")


@overload(scaled_score, **INLINED)
def _scaled_score(geometry: Any, scalars: Any, score: Any) -> Callable[..., Any]:
    def linear(geometry: Any, scalars: Any, score: Any) -> Any:
        return scalars.scale * score

    def linked(geometry: Any, scalars: Any, score: Any) -> Any:
        return (
            score * scalars.scale * scalars.sqnorm ** ((2.0 - geometry.p) / geometry.p)
            if scalars.sqnorm > 0.0
            else score
        )

    chosen: Callable[..., Any] = _choose(geometry, linear, linear, linked, linear, linear)
    return chosen


# Norms


def w_sqnorm(geometry: Any, scalars: Any) -> float:
    """Return ``‖w‖²`` of a hypothesis (``‖θ‖_p²`` under the p-norm)."""
    raise RuntimeError("w_sqnorm runs inside compiled loops only")


@overload(w_sqnorm, **INLINED)
def _w_sqnorm(geometry: Any, scalars: Any) -> Callable[..., Any]:
    def stored(geometry: Any, scalars: Any) -> Any:
        return scalars.sqnorm

    def powered(geometry: Any, scalars: Any) -> Any:
        return (
            scalars.scale * scalars.scale * scalars.sqnorm ** (2.0 / geometry.p)
            if scalars.sqnorm > 0.0
            else 0.0
        )

    chosen: Callable[..., Any] = _choose(geometry, stored, stored, powered, stored, stored)
    return chosen


def x_sqnorm_bound(geometry: Any, example: Example, weights: Weights, pair: Any, x_sqnorm: float) -> float:
    """Return the squared norm of the example as the rule reads it, or an upper bound that needs no powers."""
    raise RuntimeError("x_sqnorm_bound runs inside compiled loops only")


@overload(x_sqnorm_bound, **INLINED)
def _x_sqnorm_bound(
    geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any
) -> Callable[..., Any]:
    def euclidean(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
        return 2.0 * x_sqnorm if pair.rival >= 0 else 1.0 * x_sqnorm

    def variance(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
        total = variance_along(example, np.uint64(pair.target), weights.auxiliary)
        if pair.rival >= 0:
            total += variance_along(example, np.uint64(pair.rival), weights.auxiliary)
        return total

    def longer(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
        sides = 2.0 if pair.rival >= 0 else 1.0  # an example of Kesler's construction contains x twice
        return (geometry.p - 1.0) * sides * x_sqnorm * ABOVE_ROUNDING  # ‖x‖_p ≤ ‖x‖₂

    def none(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
        return 0.0

    chosen: Callable[..., Any] = _choose(geometry, euclidean, variance, longer, none, none)
    return chosen


def bound_is_loose(geometry: Any) -> bool:
    """Return whether the rule is asked again once :func:`x_sqnorm_exact` is known; evaluated at compile time."""
    raise RuntimeError("bound_is_loose runs inside compiled loops only")


@overload(bound_is_loose, strict=False, **INLINED)
def _bound_is_loose(geometry: Any) -> Callable[..., Any]:
    def loose(geometry: Any) -> Any:
        return True

    def tight(geometry: Any) -> Any:
        return False

    chosen: Callable[..., Any] = _choose(geometry, tight, tight, loose, tight, loose)
    return chosen


def x_sqnorm_exact(
    geometry: Any, rule: Any, example: Example, weights: Weights, scalars: Any, pair: Any, decision: Any, bound: float,
    weight: float,
) -> float:  # fmt: skip
    """Return the squared norm of the example as the rule reads it, given its decision for the bound.

    ``weight`` is that of the visit. With a rate for every weight the gradients of the example are added on the way.
    """
    raise RuntimeError("x_sqnorm_exact runs inside compiled loops only")


@overload(x_sqnorm_exact, **INLINED)
def _x_sqnorm_exact(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
    weight: Any,
) -> Callable[..., Any]:  # fmt: skip
    def same(
        geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
        weight: Any,
    ) -> Any:  # fmt: skip
        return bound

    def powered(
        geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
        weight: Any,
    ) -> Any:  # fmt: skip
        return x_sqnorm_in_p_norm(geometry, example, pair)

    def along_rates(
        geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
        weight: Any,
    ) -> Any:  # fmt: skip
        gradient = -weight * decision.tau * pair.y
        total, length = add_gradients(
            geometry, rule, example, weights, scalars, np.uint64(pair.target), gradient
        )
        if pair.rival >= 0:
            more = add_gradients(geometry, rule, example, weights, scalars, np.uint64(pair.rival), -gradient)
            total, length = total + more[0], length + more[1]
        return weight * total / math.sqrt(length) if length > 0.0 else 0.0

    chosen: Callable[..., Any] = _choose(geometry, same, same, powered, same, along_rates)
    return chosen


@compiled_part
def x_sqnorm_in_p_norm(geometry: Any, example: Any, pair: Any) -> float:
    """Return ``(p−1)‖x‖_p²``, of both copies of ``x`` where two classes are moved."""
    rows, i, layout = example
    p, bias_input = geometry.p, layout.bias_input
    start, stop = extent(rows, i, layout)
    most = bias_input
    for k in range(start, stop):
        most = max(most, abs(float(rows.values[k])))
    if most == 0.0:
        return 0.0
    total = (bias_input / most) ** p
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            total += (abs(float(rows.values[k])) / most) ** p
    norm = most * total ** (1.0 / p)
    sides = 2.0 if pair.rival >= 0 else 1.0
    return (p - 1.0) * sides ** (2.0 / p) * norm * norm


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


# Shrinking


def shrink_weights(
    geometry: Any, example: Example, weights: Weights, scalars: Any, c: int, shrink: float, visited: VisitedRows
) -> None:  # fmt: skip
    """Multiply the weights of a hypothesis: class ``c``, or all classes when negative."""
    raise RuntimeError("shrink_weights runs inside compiled loops only")


@overload(shrink_weights, **INLINED)
def _shrink_weights(
    geometry: Any, example: Any, weights: Any, scalars: Any, c: Any, shrink: Any, visited: Any
) -> Callable[..., Any]:
    def by_scale(
        geometry: Any, example: Any, weights: Any, scalars: Any, c: Any, shrink: Any, visited: Any
    ) -> None:
        scalars.sqnorm *= shrink * shrink
        scalars.decay *= shrink
        scalars.scale *= shrink
        if not MIN_SCALE < scalars.scale < MAX_SCALE:
            fold(example, weights, c, scalars.scale, scalars.scale_sum, visited)
            scalars.scale, scalars.scale_sum = 1.0, 0.0

    def of_theta(
        geometry: Any, example: Any, weights: Any, scalars: Any, c: Any, shrink: Any, visited: Any
    ) -> None:
        scalars.decay *= shrink
        scalars.scale *= shrink

    chosen: Callable[..., Any] = _choose(geometry, by_scale, by_scale, of_theta, by_scale, by_scale)
    return chosen


def fold(
    example: Example, weights: Weights, c: int, scale: float, scale_sum: float, visited: VisitedRows
) -> None:
    """Make the scale one for class ``c`` (all, when negative): ``offset ← offset − scale_sum·W``, ``W ← scale·W``.

    While few rows have been visited, only the features of those rows are folded: a rule whose first steps are long
    (Pegasos with a small λ) folds at every other step, and there may be a million features.
    """
    raise RuntimeError("fold runs inside compiled loops only")


@overload(fold, **PART)
def _fold(example: Any, weights: Any, c: Any, scale: Any, scale_sum: Any, visited: Any) -> Callable[..., Any]:
    def all_weights(example: Any, weights: Any, c: Any, scale: Any, scale_sum: Any, visited: Any) -> None:
        start, stop, stride = class_extent(example.rows, example.layout, c)
        fold_range(weights, start, stop, stride, scale, scale_sum)

    def visited_features(
        example: Any, weights: Any, c: Any, scale: Any, scale_sum: Any, visited: Any
    ) -> None:
        rows, _, layout = example
        start, stop, stride = class_extent(rows, layout, c)
        order, count, marks, from_zero = visited
        mean_length = np.uint64(rows.values.shape[0] // max(rows.starts.shape[0] - 1, 1) + 1)
        if not from_zero or FEW_VISITED * mean_length * np.uint64(count) > np.uint64(marks.shape[0]):
            fold_range(weights, start, stop, stride, scale, scale_sum)
            return
        classes = layout.classes
        first, number = (np.uint64(0), classes) if c < 0 else (np.uint64(c), ONE)
        fold_range(weights, first, first + number, ONE, scale, scale_sum)  # the bias
        for t in range(count):
            for k in range(rows.starts[order[t]], rows.starts[order[t] + ONE]):
                feature = np.uint64(rows.indices[k])
                if marks[feature] == 0:
                    marks[feature] = 1
                    at = (ONE + feature) * classes + first
                    fold_range(weights, at, at + number, ONE, scale, scale_sum)
        for t in range(count):
            for k in range(rows.starts[order[t]], rows.starts[order[t] + ONE]):
                marks[np.uint64(rows.indices[k])] = 0

    return all_weights if is_dense(example.types[0]) else visited_features


@compiled_part
def fold_range(weights: Any, start: Any, stop: Any, stride: Any, scale: float, scale_sum: float) -> None:
    """Fold the scale into the weights from ``start`` to ``stop``."""
    W, average_offset = weights.W, weights.average_offset
    if stride == ONE:  # no branch: LLVM makes vectors of it
        for own in range(start, stop):
            weight = W[own]
            average_offset[own] -= scale_sum * weight
            W[own] = weight * scale
        return
    at = start
    while at < stop:
        if W[at] != 0.0:  # with wide sparse data most weights are zero, and reading is cheaper than writing
            average_offset[at] -= scale_sum * W[at]
            W[at] *= scale
        at += stride


# Moving


def move(
    geometry: Any, rule: Any, example: Example, weights: Weights, scalars: Any, c: int, pair: Any, score: float,
    step: float,
) -> None:  # fmt: skip
    """Add ``step·x`` to the target class and subtract it from the rival, where there is one; update the norm.

    ``c`` is the hypothesis, and ``score`` its score of the example, shrunk as the weights are.
    """
    raise RuntimeError("move runs inside compiled loops only")


@overload(move, **PART)
def _move(
    geometry: Any,
    rule: Any,
    example: Any,
    weights: Any,
    scalars: Any,
    c: Any,
    pair: Any,
    score: Any,
    step: Any,
) -> Callable[..., Any]:
    chosen: Callable[..., Any] = _choose(
        geometry, _move_euclidean, _move_second_order, _move_p_norm, _move_sums, _move_rates
    )
    return chosen


def _move_euclidean(
    geometry: Any,
    rule: Any,
    example: Any,
    weights: Any,
    scalars: Any,
    c: Any,
    pair: Any,
    score: Any,
    step: Any,
) -> None:
    rows, i, layout = example
    W, average_offset = weights.W, weights.average_offset
    unscaled = step if scalars.scale == 1.0 else step / scalars.scale
    sqnorm = add_to_both(rows, i, layout, pair.target, unscaled, scalars.scale_sum, W, average_offset)
    if pair.rival >= 0:
        sqnorm += add_to_both(rows, i, layout, pair.rival, -unscaled, scalars.scale_sum, W, average_offset)
    scalars.sqnorm += step * (2.0 * score + step * sqnorm)


# Moving: a variance for every weight


def _move_second_order(
    geometry: Any,
    rule: Any,
    example: Any,
    weights: Any,
    scalars: Any,
    c: Any,
    pair: Any,
    score: Any,
    step: Any,
) -> None:
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


# Moving: weights seen through the p-norm link


def _move_p_norm(
    geometry: Any,
    rule: Any,
    example: Any,
    weights: Any,
    scalars: Any,
    c: Any,
    pair: Any,
    score: Any,
    step: Any,
) -> None:
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
def add_to_one(p: float, weights: Any, at: Any, step: float, scale_sum: float) -> float:
    """Add ``step`` to one coordinate and return by how much ``|Vᵢ|^p`` grew."""
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
        grown += add_to_one(p, weights, bias_index(rows, layout, c), step * layout.bias_input, scale_sum)
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            at = weight_index(rows, start, k, layout, c)
            grown += add_to_one(p, weights, at, step * rows.values[k], scale_sum)
    return grown


@exactly_compiled_part  # else the order of the sums would depend on how many weights are reserved
def normalise(p: float, example: Any, weights: Any, c: int, scale_sum: float) -> tuple[float, float]:
    """Divide the vector of class ``c`` (all, when negative) by its norm; return that norm, and the new ``Σ|Vᵢ|^p``."""
    V, average_offset, powers = weights
    start, stop, stride = class_extent(example.rows, example.layout, c)
    most = 0.0
    at = start
    while at < stop:
        most = max(most, abs(float(V[at])))
        at += stride
    if most == 0.0:
        return 1.0, 0.0
    total = 0.0
    at = start
    while at < stop:
        if V[at] != 0.0:
            total += (abs(float(V[at])) / most) ** p
        at += stride
    norm = most * total ** (1.0 / p)
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


# Several numbers for every weight


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


@overload(weight_of, strict=False, **INLINED)
def _weight_of(rule: Any, numbers: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "weight_of")


@overload(add_gradient, strict=False, **INLINED)
def _add_gradient(rule: Any, numbers: Any, weight: Any, gradient: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "add_gradient")


@overload(rate, strict=False, **INLINED)
def _rate(rule: Any, numbers: Any) -> Callable[..., Any]:
    """Compile the rule's Python method unchanged."""
    return hook_of(rule.instance_class, "rate")


@compiled_part
def widen_row(geometry: Any, rule: Any, example: Any, weights: Any, running: Any) -> None:
    """Update the largest values of the features of an example, and the weights that follow from them.

    All classes have seen the same values, so those of the first one are compared.
    """
    rows, i, layout = example
    none, auxiliary = np.uint64(0), weights.auxiliary
    at = bias_index(rows, layout, none)
    if layout.bias_input > auxiliary[first_number(geometry, at)]:
        for c in range(layout.classes):
            at = bias_index(rows, layout, c)
            widen_weight(geometry, rule, weights, running, at, c, layout.bias_input)
    start, stop = extent(rows, i, layout)
    for k in range(start, stop):
        value = abs(float(rows.values[k]))
        at = weight_index(rows, start, k, layout, none)
        if value > auxiliary[first_number(geometry, at)]:
            for c in range(layout.classes):
                at = weight_index(rows, start, k, layout, c)
                widen_weight(geometry, rule, weights, running, at, c, value)


@compiled_part
def widen_weight(geometry: Any, rule: Any, weights: Any, running: Any, at: Any, c: Any, value: float) -> None:
    """Store the largest value of a weight's feature, and the weight that follows from it."""
    W, auxiliary = weights.W, weights.auxiliary
    scalars = running[min(np.int64(c), running.shape[0] - 1)]
    first = first_number(geometry, at)
    before = contribution(float(W[at]), auxiliary[first])
    auxiliary[first] = max(value, auxiliary[first])
    if W[at] != 0.0:
        weight = weight_of(rule, numbers_of(geometry, auxiliary, at))
        scalars.decay *= weight / W[at]
        replace_weight(weights, scalars, at, weight, auxiliary[first], before)


# Moving: weights that follow from sums over gradients


def _move_sums(
    geometry: Any,
    rule: Any,
    example: Any,
    weights: Any,
    scalars: Any,
    c: Any,
    pair: Any,
    score: Any,
    step: Any,
) -> None:
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


# Moving: a learning rate for every weight


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


def _move_rates(
    geometry: Any,
    rule: Any,
    example: Any,
    weights: Any,
    scalars: Any,
    c: Any,
    pair: Any,
    score: Any,
    step: Any,
) -> None:
    length = length_in_largest(geometry, example, np.uint64(pair.target), weights.auxiliary)
    if pair.rival >= 0:
        length += length_in_largest(geometry, example, np.uint64(pair.rival), weights.auxiliary)
    if length > 0.0:
        along = step / math.sqrt(length)
        move_along_rates(geometry, rule, example, weights, scalars, np.uint64(pair.target), along)
        if pair.rival >= 0:
            move_along_rates(geometry, rule, example, weights, scalars, np.uint64(pair.rival), -along)


@compiled_part
def length_in_largest(geometry: Any, example: Any, c: Any, auxiliary: Any) -> float:
    """Return ``Σ (xᵢ/maxᵢ)²`` for class ``c``."""
    rows, i, layout = example
    length = 0.0
    if layout.bias_input != 0.0:
        part = layout.bias_input / auxiliary[first_number(geometry, bias_index(rows, layout, c))]
        length += part * part
    start, stop = extent(rows, i, layout)
    for k in range(start, stop):
        if rows.values[k] != 0.0:
            at = weight_index(rows, start, k, layout, c)
            part = float(rows.values[k]) / auxiliary[first_number(geometry, at)]
            length += part * part
    return length


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


# Outside the loop


def initial_auxiliary(geometry: Any) -> tuple[float, ...] | None:
    """Return the initial values of the geometry's further numbers per weight, None where it has none."""
    if isinstance(geometry, SecondOrder):
        return (geometry.initial_variance,)
    if isinstance(geometry, PER_COORDINATE):
        return geometry.initial
    return (0.0,) if isinstance(geometry, PNorm) else None


def through_link(theta: NDArray[Any], p: float, joint: bool) -> NDArray[np.float64]:
    """Return ``sign(θᵢ)|θᵢ|^(p−1)/‖θ‖_p^(p−2)`` of each row, or of all rows as one vector; with q it is the inverse.

    >>> w = through_link(np.array([[3.0, -1.0]]), 4.0, joint=False)
    >>> through_link(w, 4.0 / 3.0, joint=False).round(12)
    array([[ 3., -1.]])
    """
    V = theta.astype(np.float64, order="C")  # the order of sums does not depend on the layout
    axis = None if joint else 1
    most = np.abs(V).max(axis=axis, keepdims=True)
    most[most == 0.0] = 1.0  # leaves a zero vector as it is
    V /= most
    power = np.maximum(
        (np.abs(V) ** p).sum(axis=axis, keepdims=True), 1.0
    )  # one coordinate is ±1, or all are 0
    linked: NDArray[np.float64] = most * power ** ((2.0 - p) / p) * powers_of(V, p)
    return linked


def powers_of(V: NDArray[Any], p: float) -> NDArray[np.float64]:
    """Return ``sign(Vᵢ)|Vᵢ|^(p−1)``, the second array of the p-norm geometry."""
    wide = V.astype(np.float64)
    return np.copysign(np.abs(wide) ** (p - 1.0), wide)
