"""The last resort, finite and exact: phase one of the simplex method over the rationals.

**Problem.** ``min Σ|sⱼ|`` subject to ``Σ λᵢ aᵢ + s = 0``, ``Σ λᵢ = 1``, ``λ ≥ 0``. Either the least value is
zero and λ is a contradiction, or the dual solution ``w`` has ``a·w > 0`` for every row. Only rows that the
current ``w`` gets wrong may enter, so the search stops as soon as ``w`` is strict. It starts from the rows
that a floating-point search ended with; from there few pivots are needed. Ties are broken at random, so it
cannot cycle for ever.
"""

from fractions import Fraction

import numpy as np

from rosenblatt.proofs.exact import (
    Integers,
    longest,
    over_common_denominator,
    pivots,
    pivots_cost,
    solve,
    solve_cost,
    solve_integers,
    weighted_total,
)
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.combination import Combination, combination
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids


def exact_simplex(cone: Cone, start: Ids, clock: Clock) -> Combination | list[Fraction] | None:
    """Return a contradiction or strict weights ``w``; None when time is too short for another pivot."""
    if not clock.affords(len(start) * cone.dim * 1e-6 + pivots_cost(cone.dim + 1, len(start))):
        return None
    basis = _Basis(cone, [int(i) for i in start] or [0])
    if not basis.shed_negative_weights(clock):
        return None
    rng = np.random.default_rng(0)
    stuck = 0
    while clock.affords(basis.cost()):
        weights, slacks = basis.values()
        if not any(slacks.values()):
            numerators, _ = over_common_denominator(weights)
            return combination(np.array(basis.support), numerators, basis.table)
        w = basis.dual(slacks)
        signs = cone.exact_signs(w)
        wrong = np.flatnonzero(signs <= 0)
        if not len(wrong):
            return w
        prices = cone.prices(_as_floats(w, cone.scales_of_weights.tolist()))
        entering = int(wrong[np.argmin(prices[wrong])]) if stuck < 5 else int(rng.choice(wrong))
        stuck = 0 if basis.pivot(entering, weights, slacks, rng) else stuck + 1
    return None


def _as_floats(w: list[Fraction], scales: list[int]) -> Float64s:
    """Return w for the working copy, scaled to one; it only chooses among rows known to be wrong."""
    scaled = [value * Fraction(2) ** -shift for value, shift in zip(w, scales, strict=True)]
    largest = max(abs(value) for value in scaled) or Fraction(1)
    return np.array([float(value / largest) for value in scaled])


class _Basis:
    """Rows in use (``support``), the equations they solve (``tight``), and slack in all other equations."""

    def __init__(self, cone: Cone, start: list[int]) -> None:
        self.cone = cone
        self.support = start
        self._load()
        _, chosen = pivots([[1] * len(start), *map(list, zip(*self.table.matrix, strict=True))])
        self.support = [start[i] for i in chosen]

    def _load(self) -> None:
        self.table: Integers = self._table(self.support)

    def _table(self, demands: list[int]) -> Integers:
        """Write rows as integers, columns scaled once and for all, each row by its own largest entry."""
        return self.cone.integer_rows(np.array(demands), evenly=True)

    def shed_negative_weights(self, clock: Clock) -> bool:
        """Leave out rows, one by one, until no weight is negative; return False when time is too short for another."""
        while True:
            self._load()
            if not clock.affords(self.cost() + pivots_cost(self.cone.dim + 1, len(self.support))):
                return False
            equations = [[1] * len(self.support), *map(list, zip(*self.table.matrix, strict=True))]
            self.tight, _ = pivots(equations)  # equation 0 says that the weights sum to one
            weights, _ = self._solved([int(r == 0) for r in self.tight])
            worst = min(range(len(weights)), key=weights.__getitem__)
            if weights[worst] >= 0:
                return True
            del self.support[worst]

    def cost(self) -> float:
        """Predict the seconds of one pivot: three solves, integer rows written out anew, all rows scored twice."""
        n = len(self.support)
        written = 4e-6 * n * self.cone.dim
        return 3 * solve_cost(n, longest(self.table.matrix)) + written + 2 * self.cone.pass_cost

    def _square(self) -> list[list[int]]:
        return [[1 if r == 0 else row[r - 1] for row in self.table.matrix] for r in self.tight]

    def _loose(self) -> list[int]:
        return sorted(set(range(self.cone.dim)) - {r - 1 for r in self.tight})

    def _solved(self, right: list[int]) -> tuple[list[int], int]:
        """Solve the tight equations: integers over one positive denominator."""
        return solve_integers(self._square(), right)

    def _added_up(self, weights: list[int], columns: list[int]) -> list[int]:
        """Return ``Σ weightᵢ · rowᵢ`` of the rows in use, in some columns."""
        return weighted_total([[row[j] for j in columns] for row in self.table.matrix], weights)

    def values(self) -> tuple[list[Fraction], dict[int, Fraction]]:
        """Return the weights of the rows in use and the slack ``sⱼ`` of every equation not held tight."""
        weights, divisor = self._solved([int(r == 0) for r in self.tight])
        loose = self._loose()
        slacks = zip(loose, self._added_up(weights, loose), strict=True)
        return [Fraction(n, divisor) for n in weights], {j: Fraction(-n, divisor) for j, n in slacks}

    def dual(self, slacks: dict[int, Fraction]) -> list[Fraction]:
        """Return ``w``: −sign of the slack on loose coordinates, and ``a·w`` equal on all rows in use."""
        self.signs = {j: (1 if s >= 0 else -1) for j, s in slacks.items()}
        right = [-sum(row[j] * sign for j, sign in self.signs.items()) for row in self.table.matrix]
        transposed = [list(column) for column in zip(*self._square(), strict=True)]
        y = dict(zip(self.tight, solve(transposed, right), strict=True))
        scaled = [
            Fraction(-self.signs[j]) if j in self.signs else -y[j + 1] for j in range(self.cone.dim)
        ]  # for the rows as integers
        scales = self.cone.scales_of_weights.tolist()
        return [value * Fraction(2) ** exponent for value, exponent in zip(scaled, scales, strict=True)]

    def pivot(
        self, entering: int, weights: list[Fraction], slacks: dict[int, Fraction], rng: np.random.Generator
    ) -> bool:
        """Exchange; return whether the objective moved."""
        unit = self.table.columns[0]
        self.table = self._table([*self.support, entering])
        column = self.table.matrix.pop()
        rescale = Fraction(2) ** (unit - self.table.columns[0])  # slacks were computed in another unit
        numerators, divisor = self._solved([1 if r == 0 else column[r - 1] for r in self.tight])
        direction = [Fraction(n, divisor) for n in numerators]
        candidates: list[tuple[Fraction, str, int]] = []
        for at, (value, change) in enumerate(zip(weights, direction, strict=True)):
            if change > 0:
                candidates.append((value / change, "row", at))
        loose = list(self.signs)
        for j, moved in zip(loose, self._added_up(numerators, loose), strict=True):
            change = Fraction(self.signs[j] * (column[j] * divisor - moved), divisor)
            if change > 0:
                candidates.append((self.signs[j] * slacks[j] * rescale / change, "slack", j))
        least = min(candidate[0] for candidate in candidates)
        ties = [candidate for candidate in candidates if candidate[0] == least]
        _, kind, at = ties[int(rng.integers(len(ties)))]
        if kind == "row":
            self.support[at] = entering
        else:
            self.support.append(entering)
            self.tight.append(at + 1)
        self._load()
        return least > 0
