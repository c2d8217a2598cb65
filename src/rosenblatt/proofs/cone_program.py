"""Cone programs ``A w ≥ 1``, solved by the perceptron and, where that is slow, by the rest of the portfolio."""

from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.proofs.claims import Feasible, Infeasible, Undecided
from rosenblatt.proofs.examples import Examples, as_matrix
from rosenblatt.proofs.signs import ExactVector, scores
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone
from rosenblatt.proofs.solvers.search import OutOfTime, Strict, heaviest, search
from rosenblatt.proofs.statements import statement_cost, two_sided_statement


def solve_cone(A: Any, time_limit: float | None = None) -> Feasible | Infeasible | Undecided:
    """Find ``w`` with ``A w ≥ 1`` in every row, or prove that there is none.

    **Problem.** Feasible exactly when some ``w`` has ``A w > 0`` (scale it). Otherwise some ``weights ≥ 0`` that
    sum to one have ``Aᵀ weights = 0`` (Gordan).

    Parameters
    ----------
    A : (n, d) dense or sparse
    time_limit : seconds after which :class:`Undecided` is returned

    Notes
    -----
    **Guarantee.** Both answers are exact for the numbers given, and ``verify(A)`` re-checks them with independent
    code.

    Examples
    --------
    >>> answer = solve_cone([[1.0, 0.0], [1.0, 1.0]])
    >>> answer.verify([[1.0, 0.0], [1.0, 1.0]])
    True
    >>> print(solve_cone([[1.0], [-2.0]]))
    Infeasible. 2/3 × row 0 and 1/3 × row 1 add up to exactly zero, ...

    References
    ----------
    Dunagan and Vempala (2008) for the perceptron on cone programs. Gordan (1873).
    """
    clock = Clock(time_limit)
    matrix = as_matrix(A, "A")
    n, d = matrix.shape
    cone = Cone(Examples(matrix, np.zeros(n, dtype=np.intp), np.ones(1, dtype=np.int64), False))
    clock.reserve(statement_cost(cone))
    answer = search(cone, clock)
    about: dict[str, Any] = {"classes": (), "fit_intercept": False, "n_rows": int(n), "n_features": int(d)}
    if isinstance(answer, Strict):
        return Feasible(**about, hyperplanes=(_scaled(cone, answer.w),))
    if isinstance(answer, OutOfTime):
        hyperplanes = (tuple(Fraction(value) for value in answer.w.tolist()),)
        ids, weights = heaviest(cone, answer.ids, answer.weights, clock)
        bounds = two_sided_statement(cone, hyperplanes, ids, weights)
        return Undecided(**about, rows=tuple(ids.tolist()), rivals=(), **bounds)
    order = np.argsort(answer.ids)
    exact = tuple(answer.weights[i] for i in order)
    return Infeasible(**about, rows=tuple(answer.ids[order].tolist()), weights=exact)


def _scaled(cone: Cone, w: Any) -> tuple[Fraction, ...]:
    """Multiply ``w`` by a power of two so that every row of ``A w`` is at least one."""
    vector = ExactVector.of(w, False)
    scored = scores(cone.examples.X, vector)
    low = float((scored.values - scored.errors).min())
    if not low > 0:  # too thin for floating point: take the exact least
        near = np.flatnonzero(~(scored.values - scored.errors > 2 * max(float(scored.errors.max()), 0.0)))
        low_exact = min(scored.exactly(near))
    else:
        low_exact = Fraction(low) * Fraction(2) ** vector.exponent
    power = 0
    while low_exact * Fraction(2) ** power < 1:
        power += max(1, low_exact.denominator.bit_length() - low_exact.numerator.bit_length() - power)
    scale = Fraction(2) ** power
    return tuple(value * scale for value in vector.values)
