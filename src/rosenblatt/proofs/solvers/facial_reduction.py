"""Not separable; but can a separator touch some rows and have the others strictly on their sides?

**Problem.** Find the rows that *every* ``w`` with ``A w ≥ 0`` touches, and a ``w`` that touches no others
(facial reduction). A contradiction ``Σ λ a = 0`` forces ``w`` to be orthogonal to its rows; within what is
left the same question is asked again, until the remaining rows are strictly separated or nothing remains.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.exact import longest, null_space, pivots, pivots_cost, solve, solve_cost
from rosenblatt.proofs.examples import Examples
from rosenblatt.proofs.signs import as_fractions
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.combination import Combination, exact_combination
from rosenblatt.proofs.solvers.cone import Cone, Ids
from rosenblatt.proofs.solvers.duplicates import contradictions
from rosenblatt.proofs.solvers.projected_cone import ProjectedCone
from rosenblatt.proofs.solvers.pure_columns import reduced
from rosenblatt.proofs.solvers.simplex import exact_simplex
from rosenblatt.proofs.solvers.wolfe import wolfe_search

MOST_BITS = 1_000_000  # in an exact basis of a subspace; past it the question is left open
MOST_WORK = 500_000_000  # values × dimensions of the subspace, per round; past it the question is left open
MOST_CELLS = 4_000_000  # integers in a basis, or in the equal rows looked at in one go
MANY = 4000  # contradictions looked at when the first face is built from equal rows


class Face(NamedTuple):
    """The demands that every separator touches, why, and a separator that touches no others."""

    core: Combination  # a contradiction whose rows span all touched rows
    touched: npt.NDArray[np.bool_]  # (n_rows,)
    w: list[Fraction]  # all zero when every demand is touched


def face(cone: Cone, start: Combination, clock: Clock) -> Face | None:
    """Return the face of a contradiction, grown until it forces all that can be forced; None if it is too much work.

    Rows that columns of one sign settle are left out first: no separator has to touch them.
    """
    reduction = reduced(cone) if clock.affords(2 * cone.pass_cost) else None
    if reduction is None or reduction.core is None:
        return _grown(cone, start, clock)
    inside = np.searchsorted(reduction.rows, start.ids)
    known = _grown(reduction.core, Combination(inside, start.weights), clock)
    if known is None:
        return None
    w = reduction.lifted(known.w)
    if not clock.affords(cone.pass_cost):
        return None
    touched = np.zeros(cone.n_rows, dtype=np.bool_)
    touched[reduction.rows] = known.touched
    if w is None or not np.array_equal(cone.exact_signs(w), np.where(touched, 0, 1)):
        return _grown(cone, start, clock)  # floats cannot hold the weights of settled rows
    return Face(
        Combination(reduction.rows[known.core.ids], known.core.weights), touched, list(as_fractions(w))
    )


def _grown(cone: Cone, start: Combination, clock: Clock) -> Face | None:
    """Grow the contradiction ``start``, a face at a time."""
    if not cone.dim:
        return Face(start, np.ones(cone.n_rows, dtype=np.bool_), [])
    if not clock.affords(2 * cone.pass_cost):
        return None
    core = _with_opposites(cone, start, contradictions(cone), clock)
    rivals = cone.n_rows // len(cone.examples.codes)
    part, where = (
        cone,
        np.arange(len(cone.examples.codes)),
    )  # the examples that are not yet known to be touched
    while core is not None and not clock.out_of_time():
        basis = orthogonal_to(cone, core.ids, part, clock)
        if basis is None:
            return None
        left = ProjectedCone(part, basis)
        alive = where[left.ids // rivals] * rivals + left.ids % rivals
        touched = np.ones(cone.n_rows, dtype=np.bool_)
        touched[alive] = False
        if not left.n_rows:
            return Face(core, touched, [Fraction(0)] * cone.dim)
        answer = _opposites_within(left, clock) or _search(left, clock)
        if answer is None:
            return None
        if not isinstance(answer, Combination):
            return Face(core, touched, left.lifted(answer))
        core = _joined(cone, core, Combination(alive[answer.ids], answer.weights), clock)
        keep = np.unique(left.ids // rivals)
        if len(keep) < 0.7 * len(where):
            part, where = part.restricted(keep), where[keep]
    return None


def _opposites_within(left: ProjectedCone, clock: Clock) -> Combination | None:
    """Return pairs of demands that are opposite within the subspace, as many as enlarge the span."""
    examples = Examples(
        np.ascontiguousarray(left.B), np.zeros(left.n_rows, dtype=np.intp), np.zeros(1), False
    )
    pairs = contradictions(Cone(examples))[: _how_many(left.dim)]
    if not pairs or not clock.affords(pivots_cost(len(pairs), left.dim)):
        return None
    chosen, _ = pivots(left.integer_rows(np.array([pair[0] for pair in pairs])).matrix)
    ids = np.concatenate([pairs[c] for c in chosen])
    return exact_combination(left, ids, np.ones(len(ids)), clock)


def orthogonal_to(cone: Cone, ids: Ids, part: Cone, clock: Clock) -> list[list[int]] | None:
    """Return integer vectors that span all ``w`` with ``a·w = 0`` for the demands ``ids``.

    None if they are too long, or scoring the demands of ``part`` with each of them takes too long.
    """
    cells = len(ids) * cone.dim
    if cells > MOST_CELLS or not clock.affords(1e-6 * cells + pivots_cost(len(ids), cone.dim)):
        return None
    whole = cone.integer_rows(ids)
    bits = longest(whole.matrix)
    used = sum(map(any, zip(*whole.matrix, strict=True)))
    rank = len(pivots(whole.matrix)[1])
    size = cone.dim - rank
    if rank < used and rank * bits * cone.dim > MOST_BITS:
        return None
    if part.n_values * size > MOST_WORK or cone.dim * size > MOST_CELLS:
        return None
    reducing = solve_cost(rank, bits) * (used / max(rank, 1)) if rank < used else 0.0
    if not clock.affords(reducing + size * (2 * part.pass_cost + 5e-6 * cone.dim + 2e-4)):
        return None
    lowest = max(whole.columns)
    return [
        [value << (lowest - exponent) for value, exponent in zip(vector, whole.columns, strict=True)]
        for vector in null_space(whole.matrix, cone.dim)
    ]


def _search(left: ProjectedCone, clock: Clock) -> Combination | Sequence[Fraction] | None:
    """Answer the question in the subspace: Wolfe's point, made exact, else the exact simplex."""
    point = wolfe_search(left, np.zeros(left.dim), clock)
    if point.separates and clock.affords(left.pass_cost) and left.exact_signs(point.w).min() > 0:
        return [Fraction(value) for value in point.w.tolist()]
    if point.norm < 1e-6:
        combination = exact_combination(left, point.ids, point.weights / left.norms[point.ids], clock)
        if combination is not None:
            return combination
    return exact_simplex(left, point.ids, clock)


def _joined(cone: Cone, core: Combination, more: Combination, clock: Clock) -> Combination | None:
    """Return one contradiction on the rows of both; ``more`` adds up to something in the span of ``core``.

    None when time is too short.

    ``Σ λ'ᵢ aᵢ + Σ μₜ aₜ = 0`` is solved for μ of any sign; adding a multiple of the core makes all positive.
    """
    both = np.concatenate([core.ids, more.ids])
    if not clock.affords(1e-6 * len(both) * cone.dim + pivots_cost(cone.dim, len(core.ids))):
        return None
    whole = cone.integer_rows(both)
    n = len(core.ids)
    lowest = min(whole.rows)
    scales = [1 << (row - lowest) for row in whole.rows]
    extra = [weight * scale for weight, scale in zip(more.weights, scales[n:], strict=True)]
    columns = [list(column) for column in zip(*whole.matrix, strict=True)]
    equations, chosen = pivots([column[:n] for column in columns])
    if not clock.affords(solve_cost(len(chosen), longest(whole.matrix))):
        return None
    right = [
        -sum((a * x for a, x in zip(columns[r][n:], extra, strict=True)), Fraction(0)) for r in equations
    ]
    solved = solve([[columns[r][c] for c in chosen] for r in equations], right)
    mu = [Fraction(0)] * n
    for c, value in zip(chosen, solved, strict=True):
        mu[c] = value / scales[c]
    lift = max((-value / weight for value, weight in zip(mu, core.weights, strict=True)), default=Fraction(0))
    multiple = max(int(lift) + 1, 1)
    weights = [value + multiple * weight for value, weight in zip(mu, core.weights, strict=True)] + list(
        more.weights
    )
    total = sum(weights, Fraction(0))
    merged: dict[int, Fraction] = {}
    for i, weight in zip(both.tolist(), weights, strict=True):
        merged[i] = merged.get(i, Fraction(0)) + weight / total
    return Combination(np.array(list(merged)), list(merged.values()))


def _how_many(dim: int) -> int:
    """Return how many contradictions are looked at in one go."""
    return min(MANY, 1 + MOST_CELLS // max(dim, 1))


def _with_opposites(
    cone: Cone, start: Combination, opposite: Sequence[Ids], clock: Clock
) -> Combination | None:
    """Add those pairs of opposite rows that enlarge the span; None when time is too short."""
    opposite = opposite[: _how_many(cone.dim)]
    if not opposite:
        return start
    n = len(start.ids) + len(opposite)
    if not clock.affords(1e-6 * n * cone.dim + pivots_cost(n, cone.dim)):
        return None
    heads = np.array([ids[0] for ids in opposite])
    rows = cone.integer_rows(np.concatenate([start.ids, heads])).matrix
    chosen, _ = pivots(rows)
    merged = dict(zip(start.ids.tolist(), start.weights, strict=True))
    for c in chosen:
        if c >= len(start.ids):
            for i in opposite[c - len(start.ids)].tolist():
                merged[i] = merged.get(i, Fraction(0)) + 1
    total = sum(merged.values(), Fraction(0))
    return Combination(np.array(list(merged)), [weight / total for weight in merged.values()])
