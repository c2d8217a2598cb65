"""Is the data separable, is a cone program feasible? The answer, with its proof, either way."""

from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.proofs.claims import (
    Feasible,
    Infeasible,
    Inseparable,
    QuasiSeparable,
    Separable,
    Undecided,
)
from rosenblatt.proofs.examples import Examples, as_examples, as_matrix
from rosenblatt.proofs.signs import ExactVector, as_fractions, scores
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.combination import Combination
from rosenblatt.proofs.solvers.cone import Cone, Ids
from rosenblatt.proofs.solvers.facial_reduction import Face, face
from rosenblatt.proofs.solvers.search import OutOfTime, Strict, heaviest, search
from rosenblatt.proofs.solvers.wolfe import wolfe_search
from rosenblatt.proofs.statements import margin_statement, statement_cost, two_sided_statement

SMALL = 200_000  # demands × weights up to which a separator is improved to the largest margin


def separability(
    X: Any, y: Any, fit_intercept: bool = True, time_limit: float | None = None, *, touching: bool = True
) -> Separable | QuasiSeparable | Inseparable | Undecided:
    """Decide whether a hyperplane has every row strictly on the side of its class, and prove the answer.

    **Problem.** Rows ``aᵢ = yᵢ (xᵢ, 1)``. Either some ``w`` has ``aᵢ·w > 0`` for all i, or some ``λ ≥ 0``, ``Σλ = 1``
    has ``Σ λᵢ aᵢ = 0``, never both (Gordan). Three or more classes: one score per class, every example's own class
    strictly best (Kesler's construction).

    Parameters
    ----------
    X : (n, d) array or CSR matrix, float32, float64 or integers; sparse data are never made dense
    y : n labels of any sortable kind, two or more classes (one class is separable with an intercept)
    fit_intercept : whether the hyperplane may miss the origin
    time_limit : seconds after which :class:`Undecided` is returned with two-sided bounds on the margin; the time to
        state them, a few passes over the data, is kept from the start, and is spent however short the limit is
    touching : on inseparable data also ask for a hyperplane that touches some rows and has the others strictly on
        their sides; False answers faster and leaves ``overlap`` open

    Returns
    -------
    Separable, QuasiSeparable (an Inseparable), Inseparable or Undecided; each has ``verify(X, y)``, ``rows``,
    ``to_json(path)`` and prints as a paragraph.

    Notes
    -----
    **Guarantee.** The answer is exact for the floating-point numbers given; ``verify`` re-checks it with independent
    code.

    Examples
    --------
    >>> proof = separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> proof.rows, [str(weight) for weight in proof.weights]
    ((0, 1, 2, 3), ['1/4', '1/4', '1/4', '1/4'])
    >>> separability([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]).margin > 0.18
    True

    References
    ----------
    Gordan (1873). Albert and Anderson (1984) for the three cases. Wolfe (1976), Algorithm of section 4.
    """
    clock = Clock(time_limit)
    examples = as_examples(X, y, fit_intercept)
    cone = Cone(examples)
    clock.reserve(statement_cost(cone))
    answer = search(cone, clock)
    about: dict[str, Any] = {
        "classes": examples.classes,
        "fit_intercept": examples.fit_intercept,
        "n_rows": len(examples.codes),
        "n_features": int(examples.X.shape[1]),
    }
    if isinstance(answer, Strict):
        statement = _widest(cone, clock) or margin_statement(examples, _hyperplanes(cone, answer.w))
        assert statement is not None  # every sign of answer.w was decided exactly
        return Separable(**about, **statement)
    if isinstance(answer, OutOfTime):
        hyperplanes = _hyperplanes(cone, answer.w)
        ids, weights = heaviest(cone, answer.ids, answer.weights, clock)
        rows, rivals = _rows_and_rivals(cone, ids)
        bounds = two_sided_statement(cone, hyperplanes, ids, weights)
        return Undecided(**about, rows=rows, rivals=rivals, **bounds)
    order = np.argsort(answer.ids)
    contradiction = Combination(answer.ids[order], [answer.weights[i] for i in order])
    culprits, rivals = _rows_and_rivals(cone, contradiction.ids)
    about |= {"culprits": culprits, "rivals": rivals, "weights": tuple(contradiction.weights)}
    known = face(cone, contradiction, clock) if touching else None
    return _with_face(cone, known, about)


def _with_face(cone: Cone, known: Face | None, about: dict[str, Any]) -> Inseparable:
    """State what is known beyond the contradiction itself."""
    if known is None:
        return Inseparable(**about, overlap=None, core_rows=(), core_rivals=(), core_weights=())
    rows, rivals = _rows_and_rivals(cone, known.core.ids)
    about |= {"core_rows": rows, "core_rivals": rivals, "core_weights": tuple(known.core.weights)}
    if not any(known.w):
        return Inseparable(**about, overlap=True)
    touched, touched_rivals = _rows_and_rivals(cone, np.flatnonzero(known.touched))
    hyperplanes = _hyperplanes(cone, known.w)
    return QuasiSeparable(
        **about, overlap=False, hyperplanes=hyperplanes, touched=touched, touched_rivals=touched_rivals
    )


def _rows_and_rivals(cone: Cone, ids: Ids) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows of demands, and their rival classes where there are three or more."""
    rows, rivals = cone.example_and_rival(np.asarray(ids, dtype=np.intp))
    return tuple(rows.tolist()), tuple(rivals.tolist()) if cone.joint else ()


def _hyperplanes(cone: Cone, w: Any) -> tuple[tuple[Fraction, ...], ...]:
    """Cut weights into one hyperplane, or one per class; the last class then has zero weights or its own."""
    values = as_fractions(w)
    blocks = [values[i : i + cone.width] for i in range(0, len(values), cone.width)] or [()]
    if cone.joint and len(blocks) < cone.k:
        blocks.append((Fraction(0),) * cone.width)
    return tuple(blocks)


def _widest(cone: Cone, clock: Clock) -> dict[str, Any] | None:
    """State the separator of largest margin, whose ``rows`` are its support; None for many rows or a thin margin."""
    if cone.n_rows * cone.dim > SMALL:
        return None
    margin_cone = Cone(cone.examples, keep_lengths=True)
    point = wolfe_search(margin_cone, np.zeros(margin_cone.dim), clock, first=False)
    if not point.separates or not clock.affords(statement_cost(cone)):
        return None
    return margin_statement(cone.examples, _hyperplanes(margin_cone, margin_cone.unscaled(point.w)))


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
