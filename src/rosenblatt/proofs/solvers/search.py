"""Is there a ``w`` with ``a·w > 0`` for every demand? A portfolio of searches; the answer is always exact.

The perceptron (wide margins), equal rows with different labels (many real sets), columns of one sign (text), the
perceptron again for as long as its mistakes fall, Wolfe's point of least norm where its working set is small,
HiGHS under magnification (thin margins), an exact simplex that cannot fail. Whoever finds it, the answer is
either weights whose every sign was decided exactly, or an exact combination of rows that adds up to zero.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.combination import Combination, exact_combination
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids
from rosenblatt.proofs.solvers.duplicates import contradictions
from rosenblatt.proofs.solvers.perceptron import ActivePerceptron
from rosenblatt.proofs.solvers.pure_columns import Reduction, reduced
from rosenblatt.proofs.solvers.refinement import refinement_search
from rosenblatt.proofs.solvers.simplex import exact_simplex
from rosenblatt.proofs.solvers.wolfe import is_small, least_work, wolfe_search

SUM_TIME = 2e-6  # seconds to add one value of a row to an exact sum
MOST_WRITTEN = 500_000  # values of the rows that bound an undecided margin from above


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
    perceptron = ActivePerceptron(cone)
    if perceptron.run(clock) and (strict := _strict(cone, perceptron.w, "perceptron", clock)):
        return strict
    if clock.affords(2 * cone.pass_cost) and (opposite := contradictions(cone)):
        ids = opposite[0]
        return Contradiction(ids, _equal_weights(len(ids)), "duplicates")
    reduction = reduced(cone) if clock.affords(2 * cone.pass_cost) else None
    if reduction is None:
        return _search_core(cone, perceptron, clock)
    if reduction.core is None:
        w = reduction.lifted([])
        strict = None if w is None else _short_or_whole(cone, w, "pure columns", clock)
        return strict or _search_core(cone, perceptron, clock)
    answer = _lifted(reduction, search(reduction.core, clock), clock)
    return answer or _search_core(cone, perceptron, clock)


def _lifted(reduction: Reduction, answer: Strict | Contradiction | OutOfTime, clock: Clock) -> Any:
    """Turn an answer about the core into one about the whole; None where floats cannot hold its weights."""
    if isinstance(answer, Contradiction):
        return answer._replace(ids=reduction.rows[answer.ids])
    w = reduction.lifted(answer.w)
    if isinstance(answer, Strict):
        return None if w is None else _short_or_whole(reduction.whole, w, answer.by, clock)
    best = np.zeros(reduction.whole.dim) if w is None else np.asarray(w, dtype=np.float64)
    return OutOfTime(best, reduction.rows[answer.ids], answer.weights)


def _search_core(
    cone: Cone, perceptron: ActivePerceptron, clock: Clock
) -> Strict | Contradiction | OutOfTime:
    """Search where neither a short run of the perceptron, nor equal rows, nor pure columns gave the answer."""
    small = is_small(cone)
    if cone.is_sparse or not small:  # of dense rows a short run is the better start for the next solver
        budget = least_work(cone) / 4 if small else np.inf
        if perceptron.go_on(clock, budget) and (strict := _strict(cone, perceptron.w, "perceptron", clock)):
            return strict
    w = perceptron.w
    ids, weights = np.array([0]), np.ones(1)
    if small and not clock.out_of_time():
        point = wolfe_search(cone, w, clock)
        if point.separates and (strict := _strict(cone, point.w, "wolfe", clock)):
            return strict
        if len(point.ids):
            w, ids = point.w, point.ids
            weights = point.weights / cone.norms[cone.example_and_rival(ids)[0]]
        if point.norm < 1e-6 and (exact := exact_combination(cone, ids, weights, clock)):
            return Contradiction(*exact, "wolfe")
    if not clock.out_of_time():
        answer, tight = refinement_search(cone, ids, clock)
        if isinstance(answer, Combination):
            return Contradiction(*answer, "highs")
        if answer is not None:
            return Strict(answer, "highs")
        last = exact_simplex(cone, ids if len(ids) > 1 else tight, clock)
        if isinstance(last, Combination):
            return Contradiction(*last, "simplex")
        if last is not None:
            return Strict(last, "simplex")
    return OutOfTime(np.asarray(cone.unscaled(w), dtype=np.float64), ids, weights)


def _strict(cone: Cone, w: Float64s, by: str, clock: Clock) -> Strict | None:
    """Accept weights of the working copy if every exact sign is positive."""
    return _short_or_whole(cone, cone.unscaled(w), by, clock)


def _short_or_whole(cone: Cone, w: list[Fraction] | Float64s, by: str, clock: Clock) -> Strict | None:
    """Accept weights if every exact sign is positive; floats of sparse rows, often many, are tried shortened first."""
    for candidate in (shortened(w), w) if isinstance(w, np.ndarray) and cone.is_sparse else (w,):
        if clock.affords(cone.pass_cost) and cone.exact_signs(candidate).min() > 0:
            return Strict(candidate, by)
    return None


def shortened(w: Float64s) -> Float64s:
    """Round to multiples of one power of two, the largest weight to 26 bits: short numbers are quick to prove with."""
    exponent = int(np.frexp(np.abs(w).max(initial=0.0))[1])
    return np.asarray(np.ldexp(np.rint(np.ldexp(w, 26 - exponent)), exponent - 26))


def heaviest(cone: Cone, ids: Ids, weights: Float64s, clock: Clock) -> tuple[Ids, Float64s]:
    """Return the demands of largest weight, few enough to be summed exactly: any weights prove an upper bound."""
    values = MOST_WRITTEN
    while values and not clock.affords(SUM_TIME * values):
        values //= 2
    most = max(1, values // max(cone.width * cone.k, 1))
    order = np.sort(np.argsort(-weights, kind="stable")[:most])
    return ids[order], weights[order]


def _equal_weights(n: int) -> list[Fraction]:
    return [Fraction(1, n)] * n
