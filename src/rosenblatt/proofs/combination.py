"""From approximate weights to an exact contradiction: ``λ ≥ 0``, ``Σ λ = 1``, ``Σ λᵢ aᵢ = 0``, all rational.

**Problem.** A search in floating point names a few rows and guesses their weights. The rows are written as
integers, a regular square part of the equations is chosen modulo a prime, weights that this leaves free are
fixed to short dyadic roundings of their guesses, and one exact solve gives the rest. Then every sign and
every equation is checked over the integers; neither the guess nor the modular rank is trusted.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from rosenblatt.proofs.clock import Clock
from rosenblatt.proofs.cone import Cone, Float64s, Ids
from rosenblatt.proofs.exact import (
    Integers,
    longest,
    over_common_denominator,
    pivots,
    pivots_cost,
    solve,
    solve_cost,
)


class Combination(NamedTuple):
    """Demands whose rows, weighted, add up to zero."""

    ids: Ids
    weights: list[Fraction]  # positive, sum 1


def exact_combination(cone: Cone, ids: Ids, guesses: Float64s, clock: Clock) -> Combination | None:
    """Return exact weights on (some of) the demands ``ids``; None where the guess leads to none or time is short."""
    keep = np.flatnonzero(guesses > 0)
    if not len(keep):
        return None
    order = keep[np.argsort(-guesses[keep], kind="stable")]
    ids, guesses = np.asarray(ids)[order], guesses[order]
    whole = cone.equations(ids)
    scaled = [
        math.ldexp(g, max(-1000, min(1000, r - max(whole.rows))))
        for g, r in zip(guesses, whole.rows, strict=True)
    ]
    total = sum(scaled) or 1.0
    weights = _solve_for_weights(whole.matrix, [g / total for g in scaled], clock)
    return None if weights is None else combination(ids, weights, whole)


def combination(ids: Ids, weights: Sequence[Fraction], whole: Integers) -> Combination:
    """Undo the row scales of ``whole`` and bring the weights to sum one."""
    used = [i for i, weight in enumerate(weights) if weight]
    lowest = max(whole.rows[i] for i in used)
    true = [weights[i] * (1 << (lowest - whole.rows[i])) for i in used]
    total = sum(true, Fraction(0))
    return Combination(np.asarray(ids)[used], [weight / total for weight in true])


def _solve_for_weights(rows: list[list[int]], guesses: list[float], clock: Clock) -> list[Fraction] | None:
    """Solve ``Σ μᵢ rowᵢ = 0``, ``Σ μᵢ = 1`` for non-negative μ near the guesses; None where that fails."""
    equations = [[1] * len(rows), *(list(column) for column in zip(*rows, strict=True) if any(column))]
    if not clock.affords(pivots_cost(len(equations), len(rows))):
        return None
    chosen_rows, chosen_columns = pivots(equations)
    if not clock.affords(solve_cost(len(chosen_rows), longest(rows))):
        return None
    free = sorted(set(range(len(rows))) - set(chosen_columns))
    fixed = {i: Fraction(round(guesses[i] * 2**20), 2**20) for i in free}
    right = [
        Fraction(int(r == 0)) - sum((equations[r][i] * fixed[i] for i in free), Fraction(0))
        for r in chosen_rows
    ]
    solved = solve([[equations[r][c] for c in chosen_columns] for r in chosen_rows], right)
    weights = [Fraction(0)] * len(rows)
    for i, value in [*fixed.items(), *zip(chosen_columns, solved, strict=True)]:
        weights[i] = value
    if any(weight < 0 for weight in weights) or not any(weights):
        return None
    numerators, _ = over_common_denominator(weights)
    balanced = all(not sum(map(int.__mul__, numerators, column)) for column in equations[1:])
    return weights if balanced else None
