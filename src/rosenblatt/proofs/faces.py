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

from rosenblatt.proofs.clock import Clock
from rosenblatt.proofs.combination import Combination, exact_combination
from rosenblatt.proofs.cone import Cone, Ids
from rosenblatt.proofs.duplicates import contradictions
from rosenblatt.proofs.exact import null_space, pivots, solve
from rosenblatt.proofs.exact_simplex import exact_simplex
from rosenblatt.proofs.examples import Examples
from rosenblatt.proofs.projected_cone import ProjectedCone
from rosenblatt.proofs.wolfe_search import wolfe_search

MOST_BITS = 1_000_000  # in an exact basis of a subspace; past it the question is left open
MOST_WORK = 500_000_000  # values × dimensions of the subspace, per round; past it the question is left open
MANY = 4000  # contradictions looked at when the first face is built from equal rows


class Face(NamedTuple):
    """The demands that every separator touches, why, and a separator that touches no others."""

    core: Combination  # a contradiction whose rows span all touched rows
    touched: npt.NDArray[np.bool_]  # (n_rows,)
    w: list[Fraction]  # all zero when every demand is touched


def face(cone: Cone, start: Combination, opposite: Sequence[Ids], clock: Clock) -> Face | None:
    """Grow the contradiction ``start`` until it forces all that can be forced; None if it is too much work."""
    core = _with_opposites(cone, start, opposite)
    rivals = cone.n_rows // len(cone.examples.codes)
    part, where = (
        cone,
        np.arange(len(cone.examples.codes)),
    )  # the examples that are not yet known to be touched
    while not clock.out_of_time():
        basis = orthogonal_to(cone, core.ids)
        if basis is None or part.n_values * len(basis) > MOST_WORK:
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
        core = _joined(cone, core, Combination(alive[answer.ids], answer.weights))
        keep = np.unique(left.ids // rivals)
        if len(keep) < 0.7 * len(where):
            part, where = part.restricted(keep), where[keep]
    return None


def _opposites_within(left: ProjectedCone, clock: Clock) -> Combination | None:
    """Return pairs of demands that are opposite within the subspace, as many as enlarge the span."""
    examples = Examples(
        np.ascontiguousarray(left.B), np.zeros(left.n_rows, dtype=np.intp), np.zeros(1), False
    )
    pairs = contradictions(Cone(examples))[:MANY]
    if not pairs:
        return None
    chosen, _ = pivots(left.integer_rows(np.array([pair[0] for pair in pairs])).matrix)
    ids = np.concatenate([pairs[c] for c in chosen])
    return exact_combination(left, ids, np.ones(len(ids)), clock)


def orthogonal_to(cone: Cone, ids: Ids) -> list[list[int]] | None:
    """Return integer vectors that span all ``w`` with ``a·w = 0`` for the demands ``ids``; None if too long."""
    whole = cone.integer_rows(ids)
    longest = max((max(map(abs, row)).bit_length() for row in whole.matrix if row), default=0)
    used = sum(map(any, zip(*whole.matrix, strict=True)))
    rank = len(pivots(whole.matrix)[1])
    if rank < used and rank * longest * cone.dim > MOST_BITS:
        return None
    lowest = max(whole.columns)
    return [
        [value << (lowest - exponent) for value, exponent in zip(vector, whole.columns, strict=True)]
        for vector in null_space(whole.matrix, cone.dim)
    ]


def _search(left: ProjectedCone, clock: Clock) -> Combination | Sequence[Fraction] | None:
    """Answer the question in the subspace: Wolfe's point, made exact, else the exact simplex."""
    point = wolfe_search(left, np.zeros(left.dim), clock)
    if point.separates and left.exact_signs(point.w).min() > 0:
        return [Fraction(value) for value in point.w.tolist()]
    if point.norm < 1e-6:
        found = exact_combination(left, point.ids, point.weights / left.norms[point.ids], clock)
        if found is not None:
            return found
    return exact_simplex(left, point.ids, clock)


def _joined(cone: Cone, core: Combination, more: Combination) -> Combination:
    """Return one contradiction on the rows of both; ``more`` adds up to something in the span of ``core``.

    ``Σ λ'ᵢ aᵢ + Σ μₜ aₜ = 0`` is solved for μ of any sign; adding a multiple of the core makes all positive.
    """
    both = np.concatenate([core.ids, more.ids])
    whole = cone.integer_rows(both)
    n = len(core.ids)
    lowest = min(whole.rows)
    scales = [1 << (row - lowest) for row in whole.rows]
    extra = [weight * scale for weight, scale in zip(more.weights, scales[n:], strict=True)]
    columns = [list(column) for column in zip(*whole.matrix, strict=True)]
    equations, chosen = pivots([column[:n] for column in columns])
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


def _with_opposites(cone: Cone, start: Combination, opposite: Sequence[Ids]) -> Combination:
    """Add those pairs of opposite rows that enlarge the span."""
    opposite = opposite[:MANY]
    if not opposite:
        return start
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
