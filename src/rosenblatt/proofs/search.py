"""Is there a ``w`` with ``a·w > 0`` for every demand? A portfolio of searches; the answer is always exact.

The perceptron (wide margins), equal rows with different labels (many real sets), Wolfe's point of least norm,
HiGHS under magnification (thin margins), an exact simplex that cannot fail. Whoever finds it, the answer is
either weights whose every sign was decided exactly, or an exact combination of rows that adds up to zero.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from rosenblatt.proofs.clock import Clock
from rosenblatt.proofs.combination import Combination, exact_combination
from rosenblatt.proofs.cone import Cone, Float64s, Ids
from rosenblatt.proofs.duplicates import contradictions
from rosenblatt.proofs.exact_simplex import exact_simplex
from rosenblatt.proofs.perceptron_search import perceptron_search
from rosenblatt.proofs.wolfe_search import wolfe_search
from rosenblatt.proofs.zoom_search import zoom_search


class Strict(NamedTuple):
    """Weights for the rows as they are, with ``a·w > 0`` decided exactly for every demand."""

    w: list[Fraction] | Float64s
    by: str


class Contradiction(NamedTuple):
    """Demands and positive rational weights with ``Σ λᵢ aᵢ = 0`` exactly."""

    ids: Ids
    weights: list[Fraction]
    by: str


class OutOfTime(NamedTuple):
    """What was known when the time was up."""

    w: Float64s  # the best direction so far, for the rows as they are
    ids: Ids
    weights: Float64s  # λ ≥ 0 of the rows as they are: ‖Σ λ a‖/Σλ bounds the margin from above


def search(cone: Cone, clock: Clock) -> Strict | Contradiction | OutOfTime:
    """Run the portfolio until one answer is proved or the time is up."""
    w, clean = perceptron_search(cone, clock)
    if clean and (found := _strict(cone, w, "perceptron")):
        return found
    opposite = contradictions(cone)
    if opposite:
        ids = opposite[0]
        return Contradiction(ids, _equal_weights(len(ids)), "duplicates")
    ids, weights = np.array([0]), np.ones(1)
    if not clock.out_of_time():
        point = wolfe_search(cone, w, clock)
        if point.separates and (found := _strict(cone, point.w, "wolfe")):
            return found
        w, ids = point.w, point.ids
        weights = point.weights / cone.norms[cone.example_and_rival(ids)[0]]
        if point.norm < 1e-6 and (exact := exact_combination(cone, ids, weights)):
            return Contradiction(*exact, "wolfe")
    if not clock.out_of_time():
        answer, tight = zoom_search(cone, ids, clock)
        if isinstance(answer, Combination):
            return Contradiction(*answer, "highs")
        if answer is not None:
            return Strict(answer, "highs")
        last = exact_simplex(cone, ids if len(ids) > 1 else tight, clock.out_of_time)
        if isinstance(last, Combination):
            return Contradiction(*last, "simplex")
        if last is not None:
            return Strict(last, "simplex")
    return OutOfTime(np.asarray(cone.unscaled(w), dtype=np.float64), ids, weights)


def _strict(cone: Cone, w: Float64s, by: str) -> Strict | None:
    """Accept weights of the working copy if every exact sign is positive."""
    exact = cone.unscaled(w)
    return Strict(exact, by) if cone.exact_signs(exact).min() > 0 else None


def _equal_weights(n: int) -> list[Fraction]:
    return [Fraction(1, n)] * n
