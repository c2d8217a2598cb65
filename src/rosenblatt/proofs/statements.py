"""Numbers that a proof may state: rounded to the safe side from exact values."""

from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.proofs.cone import Cone, Float64s, Ids
from rosenblatt.proofs.exact import ceil_sqrt, floor_sqrt, mantissas, sqnorm_of_sum
from rosenblatt.proofs.examples import Examples
from rosenblatt.proofs.separable import MOST_ROWS
from rosenblatt.proofs.signs import ExactVector, Scores

Planes = tuple[tuple[Fraction, ...], ...]
ON_MARGIN = 1 + Fraction(1, 2**20)
FEW = 2000  # rows looked at exactly in one go


def margin_statement(examples: Examples, planes: Planes) -> dict[str, Any]:
    """Return least, margin, radius, bound and rows of a hyperplane known to separate the examples."""
    parts = scored(examples, planes)
    least = min(_least(part, sides) for _, sides, part in parts)
    rows: set[int] = set()
    for ids, sides, part in parts:
        close = part.near(sides, least * ON_MARGIN)
        sided = sides if isinstance(sides, float) else sides[close]
        rows.update(ids[close[part.subset(close).compared(sided, least * ON_MARGIN) <= 0]].tolist())
    sqnorm = ExactVector(tuple(value for plane in planes for value in plane), False).sqnorm
    margin = floor_sqrt(least**2 / sqnorm)
    radius = _radius(examples, [(ids, part) for ids, _, part in parts])
    return {
        "least": least,
        "margin": margin,
        "radius": radius,
        "bound": ratio_up(radius, margin),
        "rows": tuple(sorted(rows)[:MOST_ROWS]),
    }


def scored(examples: Examples, planes: Planes) -> list[tuple[Ids, Any, Scores]]:
    """Return (rows, ±1 per row, scores) for every demand; planes are one for two classes, else one per class."""
    cone = Cone(examples, kept=True)
    flat = [value for plane in planes for value in plane]
    parts = cone.exact_scores(flat)
    return [(cone.example_and_rival(ids)[0], side or examples.signs, part) for ids, side, part in parts]


def _least(part: Scores, sides: Any) -> Fraction:
    """Return the smallest ``side·score``, exactly."""
    values = part.values * sides
    with np.errstate(invalid="ignore"):
        near = np.flatnonzero(~(values - part.errors > (values + part.errors).min()))  # all, on overflow
    near = near[np.argsort(values[near], kind="stable")][:FEW]
    while True:
        sided = np.broadcast_to(sides, values.shape)[near].tolist()
        exact = [int(side) * value for side, value in zip(sided, part.exactly(near), strict=True)]
        least = min(exact)
        lower = np.flatnonzero(part.compared(sides, least) < 0)
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
        m, e = mantissas(np.asarray(row).ravel() if isinstance(row, np.ndarray) else row.data)
        squares = (Fraction(a * a) * Fraction(4) ** b for a, b in zip(m.tolist(), e.tolist(), strict=True))
        largest = max(largest, sum(squares, Fraction(0)))
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


def two_sided_statement(cone: Cone, planes: Planes, ids: Ids, weights: Float64s) -> dict[str, Any]:
    """Return lower and upper bounds on the largest margin, with what proves them."""
    if not any(value for plane in planes for value in plane):
        planes = ((Fraction(1),) * len(planes[0]), *planes[1:])
    least = min(_lower_score(part, sides) for _, sides, part in scored(cone.examples, planes))
    sqnorm = ExactVector(tuple(value for plane in planes for value in plane), False).sqnorm
    lower = floor_sqrt(least**2 / sqnorm) if least >= 0 else -ceil_sqrt(least**2 / sqnorm)
    lambdas = [Fraction(weight) for weight in weights.tolist()]
    reach = sqnorm_of_sum(_full_rows(cone, ids), lambdas) / sum(lambdas, Fraction(0)) ** 2
    return {
        "hyperplanes": planes,
        "least": least,
        "lower": lower,
        "upper": ceil_sqrt(reach),
        "weights": tuple(lambdas),
    }


def _lower_score(part: Scores, sides: Any) -> Fraction:
    """Return a rational that no ``side·score`` falls below."""
    with np.errstate(invalid="ignore"):
        low = float((part.values * sides - part.errors * (1 + 1e-9)).min())
    if not np.isfinite(low):
        return _least(part, sides)
    scaled = Fraction(np.nextafter(low, -np.inf))
    return scaled * Fraction(2) ** part.w.exponent


def _full_rows(cone: Cone, ids: Ids) -> Float64s:
    """Write out demands with the weights of all classes."""
    return Cone(cone.examples, kept=True).rows(np.asarray(ids, dtype=np.intp))
