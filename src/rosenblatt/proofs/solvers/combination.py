"""From approximate weights to an exact contradiction: ``λ ≥ 0``, ``Σ λ = 1``, ``Σ λᵢ aᵢ = 0``, all rational.

**Problem.** A search in floating point names a few rows and guesses their weights. The rows are written as
integers, a regular square part of the equations is chosen modulo a prime, weights that this leaves free are
fixed to short dyadic roundings of their guesses, and one exact solve gives the rest. Then every sign and
every equation is checked over the integers; neither the guess nor the modular rank is trusted.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from rosenblatt.proofs.exact import (
    Integers,
    adds_up_to_zero,
    longest,
    pivots,
    pivots_cost,
    solve_cost,
    solve_integers,
)
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids

NOISE = 1e-12  # guesses this small beside the largest are tried as zero first
UNIT = 2**20  # guesses that the equations leave free are rounded to multiples of one over this


class Combination(NamedTuple):
    """Demands whose rows, weighted, add up to zero."""

    ids: Ids
    weights: list[Fraction]  # positive, sum 1


def exact_combination(cone: Cone, ids: Ids, guesses: Float64s, clock: Clock) -> Combination | None:
    """Return exact weights on (some of) the demands ``ids``; None where the guess leads to none or time is short."""
    positive = np.flatnonzero(guesses > 0)
    if not len(positive):
        return None
    order = positive[np.argsort(-guesses[positive], kind="stable")]
    ids, guesses = np.asarray(ids)[order], guesses[order]
    whole = cone.equations(ids)
    rows = np.array(whole.rows)
    scaled = np.ldexp(guesses, np.clip(rows - rows.max(), -1000, 1000).astype(np.int64))
    scaled /= scaled.sum() or 1.0
    likely = np.flatnonzero(scaled > NOISE * scaled.max())
    for chosen in (likely, np.arange(len(ids)))[: 1 + (len(likely) < len(ids))]:
        part = Integers([whole.matrix[i] for i in chosen], rows[chosen].tolist(), whole.columns)
        weights = _solve_for_weights(part.matrix, scaled[chosen].tolist(), clock)
        if weights is not None:
            return combination(ids[chosen], weights, part)
    return None


def combination(ids: Ids, weights: Sequence[int], whole: Integers) -> Combination:
    """Undo the row scales of ``whole`` and bring the weights to sum one."""
    used = [i for i, weight in enumerate(weights) if weight]
    lowest = max(whole.rows[i] for i in used)
    true = [weights[i] << (lowest - whole.rows[i]) for i in used]
    total = sum(true)
    return Combination(np.asarray(ids)[used], [Fraction(weight, total) for weight in true])


def _solve_for_weights(rows: list[list[int]], guesses: list[float], clock: Clock) -> list[int] | None:
    """Solve ``Σ μᵢ rowᵢ = 0`` for integers μ ≥ 0 in about the proportions of the guesses; None where that fails."""
    equations = [[1] * len(rows), *(list(column) for column in zip(*rows, strict=True) if any(column))]
    if not clock.affords(pivots_cost(len(equations), len(rows))):
        return None
    chosen_rows, chosen_columns = pivots(equations)
    if not clock.affords(solve_cost(len(chosen_rows), longest(rows))):
        return None
    free = sorted(set(range(len(rows))) - set(chosen_columns))
    fixed = {i: round(guesses[i] * UNIT) for i in free}
    right = [
        (UNIT if r == 0 else 0) - sum(equations[r][i] * fixed[i] for i in free) for r in chosen_rows
    ]  # equation 0: all weights together are one unit
    solved, denominator = solve_integers(
        [[equations[r][c] for c in chosen_columns] for r in chosen_rows], right
    )
    weights = [0] * len(rows)
    for i, value in fixed.items():
        weights[i] = value * denominator
    for i, value in zip(chosen_columns, solved, strict=True):
        weights[i] = value
    if min(weights) < 0 or not any(weights) or not adds_up_to_zero(rows, weights):
        return None
    return weights
