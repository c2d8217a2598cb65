"""The geometry of most rules: ``w ← shrink·w + τ y x``. Other geometries replace some of its operations."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rosenblatt.core.geometry.base import (
    MAX_SCALE,
    MIN_SCALE,
    Example,
    Operations,
    VisitedRows,
    Weights,
)
from rosenblatt.core.rows import ONE, PART, add_to_both, class_extent, is_dense, score_row
from rosenblatt.jit import compiled_part

# Few rows are visited while this many times their values are fewer than the features.
FEW_VISITED = np.uint64(4)


def no_auxiliary(geometry: Any) -> None:
    """Return None: no weight has further numbers."""


def score_by_weights(geometry: Any, rule: Any, example: Any, weights: Any, running: Any, scores: Any) -> Any:
    """Score the example by the stored weights."""
    return score_row(example.rows, example.i, example.layout, weights.W, scores)


def linear_score(geometry: Any, scalars: Any, score: Any) -> Any:
    """Multiply by the scale."""
    return scalars.scale * score


def stored_sqnorm(geometry: Any, scalars: Any) -> Any:
    """Return the norm that every update keeps current."""
    return scalars.sqnorm


def x_sqnorm_of_pair(geometry: Any, example: Any, weights: Any, pair: Any, x_sqnorm: Any) -> Any:
    """Return ``‖x‖²``, twice where two classes are moved: an example of Kesler's construction contains x twice."""
    return 2.0 * x_sqnorm if pair.rival >= 0 else 1.0 * x_sqnorm


def bound_itself(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, pair: Any, decision: Any, bound: Any,
    weight: Any,
) -> Any:  # fmt: skip
    """Return the bound, which is exact, and one."""
    return bound, 1.0


def shrink_by_scale(
    geometry: Any, example: Any, weights: Any, scalars: Any, c: Any, shrink: Any, visited: Any
) -> None:
    """Multiply the scale, and fold it into the weights where it leaves its range."""
    scalars.sqnorm *= shrink * shrink
    scalars.decay *= shrink
    scalars.scale *= shrink
    if not MIN_SCALE < scalars.scale < MAX_SCALE:
        fold(example, weights, c, scalars.scale, scalars.scale_sum, visited)
        scalars.scale, scalars.scale_sum = 1.0, 0.0


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


def move(
    geometry: Any, rule: Any, example: Any, weights: Any, scalars: Any, c: Any, pair: Any, score: Any, step: Any
) -> None:  # fmt: skip
    """Add the row to the weights and their offset, and update the norm from the score."""
    rows, i, layout = example
    W, average_offset = weights.W, weights.average_offset
    unscaled = step if scalars.scale == 1.0 else step / scalars.scale
    sqnorm = add_to_both(rows, i, layout, pair.target, unscaled, scalars.scale_sum, W, average_offset)
    if pair.rival >= 0:
        sqnorm += add_to_both(rows, i, layout, pair.rival, -unscaled, scalars.scale_sum, W, average_offset)
    scalars.sqnorm += step * (2.0 * score + step * sqnorm)


EUCLIDEAN = Operations(
    initial_auxiliary=no_auxiliary,
    score_example=score_by_weights,
    scaled_score=linear_score,
    w_sqnorm=stored_sqnorm,
    x_sqnorm_bound=x_sqnorm_of_pair,
    bound_is_loose=False,
    x_sqnorm_exact=bound_itself,
    shrink_weights=shrink_by_scale,
    move=move,
)
