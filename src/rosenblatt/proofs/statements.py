"""Numbers that a proof may state: rounded to the safe side from exact values."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.proofs.claims import MOST_ROWS, Hyperplanes
from rosenblatt.proofs.exact import ceil_sqrt, exact_sqnorm, floor_sqrt, over_common_denominator
from rosenblatt.proofs.examples import Examples, product
from rosenblatt.proofs.signs import ExactVector, Scores, U, weighted_sum
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids

ON_MARGIN = 1 + Fraction(1, 2**20)
FEW = 2000  # rows looked at exactly in one go


def statement_cost(cone: Cone) -> float:
    """Predict the seconds that a statement takes: a pass for the scores, another over what is near the least."""
    return 2 * cone.pass_cost


def margin_statement(examples: Examples, hyperplanes: Hyperplanes) -> dict[str, Any] | None:
    """Return what :class:`Separable` states of a hyperplane, or None where it does not separate the examples."""
    parts = scored(examples, hyperplanes)
    least = min(_least(part, sides) for _, sides, part in parts)
    if least <= 0:
        return None
    rows: set[int] = set()
    for ids, sides, part in parts:
        close = part.near(sides, least * ON_MARGIN)
        sided = sides if isinstance(sides, float) else sides[close]
        rows.update(ids[close[part.subset(close).compared(sided, least * ON_MARGIN) <= 0]].tolist())
    whole = (
        parts[0][2].w
        if len(hyperplanes) == 1
        else ExactVector([v for plane in hyperplanes for v in plane], False)
    )
    margin = floor_sqrt(least**2 / whole.sqnorm)
    radius = _radius(examples, [(ids, part) for ids, _, part in parts])
    return {
        "hyperplanes": hyperplanes,
        "least": least,
        "margin": margin,
        "radius": radius,
        "bound": ratio_up(radius, margin),
        "rows": tuple(sorted(rows)[:MOST_ROWS]),
    }


def scored(examples: Examples, hyperplanes: Hyperplanes) -> list[tuple[Ids, Any, Scores]]:
    """Return (rows, ±1 per row, scores) for every demand; planes are one for two classes, else one per class."""
    cone = Cone(examples, keep_lengths=True)
    flat = [value for plane in hyperplanes for value in plane]
    parts = cone.exact_scores(flat)
    return [(cone.example_and_rival(ids)[0], side or examples.signs, part) for ids, side, part in parts]


def _least(part: Scores, sides: Any) -> Fraction:
    """Return the smallest ``side·score``, exactly."""
    values = part.values * sides
    with np.errstate(invalid="ignore"):
        errors = 1.25 * part.errors  # the rounding of the two sums below included
        near = np.flatnonzero(~(values - errors > (values + errors).min()))  # all, on overflow
    complete = len(near) <= FEW  # the smallest is one of them
    near = near[np.argsort(values[near], kind="stable")][:FEW]
    while True:
        sided = np.broadcast_to(sides, values.shape)[near].tolist()
        least = min(int(side) * value for side, value in zip(sided, part.exactly(near), strict=True))
        lower = near[:0] if complete else np.flatnonzero(part.compared(sides, least) < 0)
        if not len(lower):
            return least
        near = lower[:FEW]


def _radius(examples: Examples, parts: list[tuple[Ids, Scores]]) -> float:
    """Return ``max ‖x̃‖`` rounded up, times √2 for three or more classes."""
    bias = int(examples.fit_intercept)
    joint = 2 if len(examples.classes) > 2 else 1
    sqnorms = np.zeros(len(examples.codes))
    for ids, part in parts:
        sqnorms[ids] = part.sqnorms
    slack = (examples.X.shape[1] + 8) * 2.0**-52
    top = float(sqnorms.max())
    near = np.flatnonzero(~(sqnorms < top * (1 - 2 * slack) - 1e-300))
    if len(near) > 100 and np.isfinite(top):
        return ceil_sqrt((Fraction(top) * Fraction(1 + 4 * slack) + bias + Fraction(1e-290)) * joint)
    largest = Fraction(0)
    for i in near.tolist():
        row = examples.X[[i]]
        largest = max(largest, exact_sqnorm(row.ravel() if isinstance(row, np.ndarray) else row.data))
    return ceil_sqrt((largest + bias) * joint)


def ratio_up(radius: float, margin: float) -> float:
    """Return ``(radius/margin)²`` rounded up."""
    if not margin > 0 or radius == float("inf"):
        return float("inf")
    exact = (Fraction(radius) / Fraction(margin)) ** 2
    try:
        guess = float(exact)
    except OverflowError:
        return float("inf")
    return guess if Fraction(guess) >= exact else float(np.nextafter(guess, np.inf))


def two_sided_statement(cone: Cone, hyperplanes: Hyperplanes, ids: Ids, weights: Float64s) -> dict[str, Any]:
    """Return lower and upper bounds on the largest margin, with what proves them."""
    if not any(value for plane in hyperplanes for value in plane):
        hyperplanes = ((Fraction(1),) * len(hyperplanes[0]), *hyperplanes[1:])
    least = min(_lower_score(part, sides) for _, sides, part in scored(cone.examples, hyperplanes))
    sqnorm = ExactVector(tuple(value for plane in hyperplanes for value in plane), False).sqnorm
    lower = floor_sqrt(least**2 / sqnorm) if least >= 0 else -ceil_sqrt(least**2 / sqnorm)
    lambdas = [Fraction(weight) for weight in weights.tolist()]
    total = sum(lambdas, Fraction(0))
    return {
        "hyperplanes": hyperplanes,
        "least": least,
        "lower": lower,
        "upper": ceil_sqrt(_sqnorm_of_sum(cone, ids, lambdas) / total**2),
        "weights": tuple(lambdas),
    }


def _sqnorm_of_sum(cone: Cone, ids: Ids, weights: Sequence[Fraction]) -> Fraction:
    """Return ``‖Σ λ a‖²`` exactly, rows staying sparse."""
    examples = cone.examples
    rows, rivals = cone.example_and_rival(np.asarray(ids, dtype=np.intp))
    numerators, denominator = over_common_denominator(weights)
    terms: list[tuple[int, int, int]] = []
    for i, rival, n in zip(rows.tolist(), rivals.tolist(), numerators, strict=True):
        code = int(examples.codes[i])
        if cone.joint:
            terms += [(i, code, n), (i, rival, -n)]
        else:
            terms.append((i, 0, n if code == cone.k - 1 else -n))
    values, exponent = weighted_sum(examples.X, examples.fit_intercept, terms)
    scale = Fraction(2) ** exponent / denominator
    return sum(value * value for value in values.values()) * scale**2


def hard_margin_statement(
    cone: Cone, hyperplanes: Hyperplanes, ids: Ids, weights: Float64s, penalise_intercept: bool
) -> dict[str, Any] | None:
    """Return what :class:`HardMargin` states of a hyperplane and dual weights, or None where it separates nothing."""
    examples = cone.examples
    least = min(_least(part, sides) for _, sides, part in scored(examples, hyperplanes))
    if least <= 0:
        return None
    used = weights > 0
    ids, weights = np.asarray(ids, dtype=np.intp)[used], weights[used]
    lambdas = [Fraction(weight) for weight in weights.tolist()]
    counted = hyperplanes if penalise_intercept else tuple(plane[:-1] for plane in hyperplanes)
    sqnorm = ExactVector(tuple(value for plane in counted for value in plane), False).sqnorm
    if penalise_intercept:
        sqnorm_of_mean = _sqnorm_of_sum(cone, ids, lambdas) / sum(lambdas, Fraction(0)) ** 2
    else:
        codes = examples.codes[ids].tolist()
        totals = [
            sum((v for v, c in zip(lambdas, codes, strict=True) if c == side), Fraction(0)) for side in (0, 1)
        ]
        if not min(totals):
            return None
        averaged = [value / totals[c] for value, c in zip(lambdas, codes, strict=True)]
        sqnorm_of_mean = _sqnorm_of_sum(cone, ids, averaged) / 4  # the bias cancels: both classes weigh one
    rows, rivals = cone.example_and_rival(ids)
    return {
        "hyperplanes": hyperplanes,
        "penalise_intercept": penalise_intercept,
        "least": least,
        "margin": floor_sqrt(least**2 / sqnorm),
        "upper": ceil_sqrt(sqnorm_of_mean),
        "dual_rows": tuple(rows.tolist()),
        "dual_rivals": tuple(rivals.tolist()) if cone.joint else (),
        "dual_weights": tuple(lambdas),
    }


def soft_margin_statement(
    examples: Examples, hyperplanes: Hyperplanes, alpha: Float64s, C: float
) -> dict[str, Any]:
    """Return what :class:`SoftMargin` states: floating point with proved error bounds, rounded to the safe side."""
    worst = np.full(len(examples.codes), -np.inf)  # the largest 1 − a·w of every row, rounded up
    with np.errstate(over="ignore", invalid="ignore"):
        for ids, sides, part in scored(examples, hyperplanes):
            low = np.ldexp(part.values * sides - part.errors * (1 + 1e-9), part.w.exponent)
            worst[ids] = np.maximum(worst[ids], 1.0 - low + 8 * U * np.abs(low) + 4 * U)
    hinge = float(np.maximum(worst, 0.0).sum()) * (1 + len(worst) * 4 * U)
    sqnorm = ExactVector(tuple(value for plane in hyperplanes for value in plane), False).sqnorm
    alpha = _within_box(alpha, C)
    rows = np.nonzero(alpha)
    return {
        "hyperplanes": hyperplanes,
        "C": float(C),
        "objective": _float_up(sqnorm / 2 + Fraction(C) * Fraction(hinge)) if np.isfinite(hinge) else np.inf,
        "lower": _dual_at_least(examples, alpha),
        "dual_rows": tuple(rows[0].tolist()),
        "dual_rivals": tuple(rows[1].tolist()) if alpha.ndim == 2 else (),
        "dual_weights": tuple(Fraction(value) for value in alpha[rows].tolist()),
    }


def _within_box(alpha: Float64s, C: float) -> Float64s:
    """Return dual weights of which no row spends more than ``C``, exactly."""
    alpha = np.clip(alpha, 0.0, C)
    if alpha.ndim == 1:
        return alpha
    spent = alpha.sum(axis=1)
    over = spent > C * (1 - 1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha[over] *= (C * (1 - 1e-12) / spent[over])[
            :, None
        ]  # far enough inside for any rounding of the sum
    return alpha


def _dual_at_least(examples: Examples, alpha: Float64s) -> float:
    """Return a lower bound on ``Σα − ½‖Σ αa‖²``: the float value less a bound on its error.

    Each entry of the sum of n terms is computed within ``(n + 4)·u·Σ|α||a|`` (Higham 2002, section 3.1).
    """
    n, bias = len(examples.codes), examples.fit_intercept
    if alpha.ndim == 1:
        signed = (alpha * examples.signs)[:, None]
    else:
        signed = -alpha
        signed[np.arange(n), examples.codes] = alpha.sum(axis=1)
    point, sizes = _summed(examples, signed, bias), _summed(examples, np.abs(signed), bias, absolute=True)
    with np.errstate(over="ignore", invalid="ignore"):
        slack = (n + 4 + alpha.shape[-1]) * 2 * U * float(np.sqrt(np.square(sizes).sum())) * (1 + 1e-9)
        norm = float(np.sqrt(np.square(point).sum())) * (1 + (point.size + 8) * U) + slack
        total = float(alpha.sum())
        lower = total * (1 - (alpha.size + 4) * U) - 0.5 * norm * norm * (1 + 8 * U)
        lower -= 8 * U * (abs(total) + 0.5 * norm * norm) + 1e-290
    return lower if np.isfinite(lower) else -np.inf


def _summed(examples: Examples, weights: Float64s, bias: bool, absolute: bool = False) -> Float64s:
    """Return ``Σ αᵢ x̃ᵢ`` for every column of weights, in floating point."""
    X = abs(examples.X) if absolute else examples.X
    total = product(X.T if X.dtype == np.float64 else X.T.astype(np.float64), weights)
    return np.vstack([total, weights.sum(axis=0)]) if bias else total


def _float_up(value: Fraction) -> float:
    """Return a float that is at least ``value``."""
    try:
        guess = float(value)
    except OverflowError:
        return float("inf")
    return guess if Fraction(guess) >= value else float(np.nextafter(guess, np.inf))


def _lower_score(part: Scores, sides: Any) -> Fraction:
    """Return a rational that no ``side·score`` falls below."""
    with np.errstate(invalid="ignore"):
        low = float((part.values * sides - part.errors * (1 + 1e-9)).min())
    if not np.isfinite(low):
        return _least(part, sides)
    scaled = Fraction(np.nextafter(low, -np.inf))
    return scaled * Fraction(2) ** part.w.exponent
