"""Thin margins: a cutting plane with HiGHS, then the same program again, magnified.

A solver in floating point cannot see margins below its tolerance. So the slacks of the current weights
are computed exactly, multiplied by a power of two, and the same program is solved for a correction, on the
rows that are nearly tight; what was 10⁻¹⁶ becomes one. Iterative refinement: Gleixner, Steffy, Wolter (2016).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.proofs.signs import ExactVector, exact_numerators
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.combination import Combination, exact_combination
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids
from rosenblatt.proofs.solvers.wolfe import working_rows, writing_cost

CUTS = 60  # rounds of added rows per magnification
MAGNIFICATIONS = 12
STEP = 20  # bits of magnification at a time
TOLERANCE = 1e-9  # of HiGHS
EXACT_TIME = 1e-6  # seconds for one value of a row in exact arithmetic, measured, times two


class Optimum(NamedTuple):
    """The answer of HiGHS: it is checked, never trusted."""

    w: Float64s
    t: float
    duals: Float64s  # one weight >= 0 per row


class BoxProgram:
    """A linear program in HiGHS over a growing set of rows; each solve starts from the basis of the one before.

    **Problem.** ``max t`` subject to ``pᵢ·w + oᵢ ≥ t`` for the rows added so far, ``−1 ≤ w ≤ 1``, ``t ≤ 1``.
    """

    def __init__(self, dim: int) -> None:
        import highspy

        self.dim = dim
        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("primal_feasibility_tolerance", TOLERANCE)
        self._highs.setOptionValue("dual_feasibility_tolerance", TOLERANCE)
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("solver", "simplex")
        columns = dim + 1
        lower, upper = np.full(columns, -1.0), np.full(columns, 1.0)
        lower[-1] = -highspy.kHighsInf
        self._highs.addVars(columns, lower, upper)
        self._highs.changeColCost(dim, -1.0)  # minimise -t
        self._infinity = highspy.kHighsInf
        self.n_rows = 0

    def add(self, P: Any, offsets: Float64s) -> None:
        """Add rows ``P w − t ≥ −offsets``; ``P`` is dense or CSR."""
        import scipy.sparse as sp

        k = P.shape[0]
        rows = sp.hstack([sp.csr_array(P), sp.csr_array(np.full((k, 1), -1.0))], format="csr")
        rows.data[np.abs(rows.data) <= 1e-12] = 0.0  # HiGHS ignores smaller ones anyway
        rows.eliminate_zeros()
        starts, columns = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._highs.addRows(k, -offsets, np.full(k, self._infinity), rows.nnz, starts, columns, rows.data)
        self.n_rows += k

    def reward_slack(self, P: Any) -> None:
        """Change the goal to ``max Σ pᵢ·w`` with ``t = 0``: a direction, even where no row can be strict."""
        self._highs.changeColBounds(self.dim, 0.0, 0.0)
        total = np.asarray(P.sum(axis=0)).ravel()
        total = total / (np.abs(total).max(initial=0.0) or 1.0)
        for column, reward in enumerate(total.tolist()):
            self._highs.changeColCost(column, -reward)
        self._highs.changeColCost(self.dim, 0.0)

    def solve(self, time_limit: float) -> Optimum | None:
        """Solve from the last basis; None where HiGHS does not call its answer optimal."""
        import highspy

        self._highs.setOptionValue("time_limit", min(self._highs.getRunTime() + time_limit, 1e9))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        w = np.asarray(solution.col_value)
        return Optimum(w[:-1], float(w[-1]), np.maximum(np.asarray(solution.row_dual), 0.0))


@dataclass
class _Focus:
    """The current weights (working copy, exact) and the magnification ``2**bits`` around them."""

    cone: Cone
    center: list[Fraction]
    bits: int = 0
    ids: Ids = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def offsets(self, ids: Ids) -> Float64s:
        """Return ``2**bits · p·center`` of demands, from exact scores."""
        if not any(self.center):
            return np.zeros(len(ids))
        scales = self.cone.scales_of_weights.tolist()
        w = [value * Fraction(2) ** shift for value, shift in zip(self.center, scales, strict=True)]
        vector = ExactVector.of(w, False)
        rows = exact_numerators(
            self.cone.sparse_rows(ids) if _as_sparse(self.cone) else self.cone.rows(ids), vector
        )
        norms = self.cone.norms[self.cone.example_and_rival(ids)[0]]
        scaled = [
            _to_float(Fraction(n, vector.denominator) * Fraction(2) ** (e + self.bits)) for n, e in rows
        ]
        return np.array(scaled) / norms

    def cost(self, n_rows: int) -> float:
        """Predict the seconds that :meth:`offsets` takes."""
        per_row = self.cone.n_values / len(self.cone.examples.codes) + 1
        return EXACT_TIME * n_rows * per_row * (1 + self.bits / 64) * any(self.center)

    def moved(self, delta: Float64s) -> list[Fraction]:
        """Return the center corrected by ``delta · 2**-bits``, its largest weight brought to about one."""
        shift = Fraction(1, 1 << self.bits)
        return [
            value + Fraction(change) * shift
            for value, change in zip(self.center, delta.tolist(), strict=True)
        ]


def _as_sparse(cone: Cone) -> bool:
    """Return whether demands are written out without their zeros: where the data are, and of three or more classes."""
    return cone.is_sparse or cone.joint


def _program_rows(cone: Cone, ids: Ids) -> Any:
    """Write out demands of the working copy for HiGHS, brought to norm one: sparse where they are."""
    if not _as_sparse(cone):
        return working_rows(cone, ids)
    import scipy.sparse as sp

    norms = cone.norms[cone.example_and_rival(ids)[0]]
    return sp.csr_array(sp.diags_array(1.0 / norms) @ cone.sparse_rows(ids, scaled=True))


def _to_float(value: Fraction) -> float:
    """Round, at most 10¹⁵ either way: farther rows cannot be tight."""
    return float(max(min(value, Fraction(10**15)), Fraction(-(10**15))))


def refinement_search(cone: Cone, ids: Ids, clock: Clock) -> tuple[Combination | list[Fraction] | None, Ids]:
    """Return a contradiction, or strict weights for the rows as they are, or None; and the rows looked at."""
    focus = _Focus(cone, [Fraction(0)] * cone.dim, 0, ids)
    optimum, working = _cutting_plane(focus, clock)
    if optimum is not None and (answer := _conclude(focus, optimum, working, clock)) is not None:
        return answer, working
    direction, working = _cutting_plane(_Focus(cone, focus.center, 0, working), clock, reward_slack=True)
    center = [] if direction is None else [Fraction(value) for value in direction.w.tolist()]
    for level in range(1, MAGNIFICATIONS + 1):
        if not any(center) or clock.out_of_time():
            break
        focus = _Focus(cone, center, level * STEP, working)
        optimum, working = _cutting_plane(focus, clock)
        if optimum is None:
            break
        if (answer := _conclude(focus, optimum, working, clock)) is not None:
            return answer, working
        if optimum.t < -0.5 and np.abs(optimum.w).max() >= 1.0:
            break  # no separator near this center
        center = focus.moved(optimum.w)
    return None, working


def _conclude(
    focus: _Focus, optimum: Optimum, working: Ids, clock: Clock
) -> Combination | list[Fraction] | None:
    """Look for an exact answer in what HiGHS returned."""
    cone = focus.cone
    if optimum.t > 0:
        scales = cone.scales_of_weights.tolist()
        w = [
            value * Fraction(2) ** shift for value, shift in zip(focus.moved(optimum.w), scales, strict=True)
        ]
        if clock.affords(cone.pass_cost) and cone.exact_signs(w).min() > 0:
            return w
    if optimum.t < 1e-6:
        norms = cone.norms[cone.example_and_rival(working)[0]]
        used = np.flatnonzero(optimum.duals > 1e-11)
        return exact_combination(cone, working[used], optimum.duals[used] / norms[used], clock)
    return None


def _adding_cost(focus: _Focus, n_rows: int) -> float:
    """Predict the seconds that it takes to write rows out for HiGHS, with their offsets."""
    sparse = 2e-7 * n_rows * (2 * focus.cone.n_values / len(focus.cone.examples.codes) + 10)
    return focus.cost(n_rows) + (sparse if _as_sparse(focus.cone) else writing_cost(n_rows, focus.cone))


def _cutting_plane(focus: _Focus, clock: Clock, reward_slack: bool = False) -> tuple[Optimum | None, Ids]:
    """Solve over all rows by adding the most violated ones; return the optimum and the rows it knows."""
    cone = focus.cone
    if not clock.affords(cone.pass_cost):
        return None, focus.ids
    program = BoxProgram(cone.dim)
    size = max(2 * cone.dim, 50)
    center = np.array([float(value) for value in focus.center])
    far = cone.prices(center)  # in floating point: tells which rows might be tight
    magnified = 2.0**focus.bits
    tight_below = 2.0 * np.sqrt(cone.dim) + 2.0
    near = np.flatnonzero(magnified * (far - 1e-14 * (1 + cone.dim)) < tight_below) if focus.bits else None
    if near is not None and not len(near):
        near = np.array([int(np.argmin(far))])
    few = near is not None and len(near) <= 20 * size and clock.affords(focus.cost(len(near)))
    offsets_near = focus.offsets(near) if few and near is not None else None
    included = focus.ids if len(focus.ids) else np.argsort(far)[:size]
    if near is not None:
        included = np.intersect1d(included, near)
        if not len(included):
            included = near[np.argsort(far[near])[:size]]
    if not clock.affords(_adding_cost(focus, len(included))):
        return None, included
    program.add(_program_rows(cone, included), focus.offsets(included))
    if reward_slack:
        program.reward_slack(_program_rows(cone, included))
    optimum = None
    for _ in range(CUTS):
        optimum = program.solve(clock.left())
        if optimum is None or not clock.affords(cone.pass_cost):
            return optimum, included
        prices = cone.prices(optimum.w)
        if offsets_near is not None and near is not None:
            total = prices[near] + offsets_near
            violated = near[total < optimum.t - TOLERANCE]
            order = np.argsort(total[total < optimum.t - TOLERANCE])
        else:
            total = prices + magnified * far
            violated = np.flatnonzero(total < optimum.t - TOLERANCE)
            order = np.argsort(total[violated])
        new_rows = violated[order][~np.isin(violated[order], included)][:size]
        if not len(new_rows) or not clock.affords(_adding_cost(focus, len(new_rows))):
            return optimum, included
        program.add(_program_rows(cone, new_rows), focus.offsets(new_rows))
        included = np.append(included, new_rows)
    return optimum, included
