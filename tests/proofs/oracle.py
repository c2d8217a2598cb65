"""An independent answer for small data: Bland's simplex over the rationals, shared with no prover."""

from typing import Any

import flint


def demands(X: list[list[float]], y: list[int], fit_intercept: bool) -> list[list[Any]]:
    """Write out every demand ``a·w > 0`` as rationals: binary rows, or Kesler's with all classes kept."""
    classes = sorted(set(y))
    rows = [
        [flint.fmpq(*float(v).as_integer_ratio()) for v in x] + [flint.fmpq(1)] * fit_intercept for x in X
    ]
    if len(classes) <= 2:
        return [[v if label == classes[-1] else -v for v in row] for row, label in zip(rows, y, strict=True)]
    width = len(rows[0])
    out = []
    for row, label in zip(rows, y, strict=True):
        for c in classes:
            if c != label:
                a = [flint.fmpq(0)] * (width * len(classes))
                for j, v in enumerate(row):
                    a[classes.index(label) * width + j] = v
                    a[classes.index(c) * width + j] = -v
                out.append(a)
    return out


def touched(rows: list[list[Any]]) -> set[int]:
    """Return the demands that can have positive weight in a combination ``λ ≥ 0, Σλ = 1, Σ λ a = 0``.

    Empty: strictly separable (Gordan). All: no separator. Else: those that every separator touches.
    """
    tableau = _Tableau(rows)
    if not tableau.feasible():
        return set()
    found: set[int] = set()
    for i in range(len(rows)):
        if i not in found:
            found |= tableau.positive_when_maximising(i)
    return found


class _Tableau:
    """Equations ``Aᵀλ = 0, Σλ = 1`` with one artificial variable each; Bland's rule throughout."""

    def __init__(self, rows: list[list[Any]]) -> None:
        self.n = len(rows)
        zero, one = flint.fmpq(0), flint.fmpq(1)
        # each column of A may be scaled freely: bring sizes together so that numbers stay short
        equations = [[row[j] for row in rows] for j in range(len(rows[0]))] + [[one] * self.n]
        self.table = []
        for r, equation in enumerate(equations):
            identity = [one if s == r else zero for s in range(len(equations))]
            self.table.append(equation + identity + [one if r == len(equations) - 1 else zero])
        self.basis = [self.n + r for r in range(len(equations))]

    def _pivot(self, row: int, column: int) -> None:
        scale = self.table[row][column]
        self.table[row] = [v / scale for v in self.table[row]]
        for r, other in enumerate(self.table):
            if r != row and other[column] != 0:
                factor = other[column]
                self.table[r] = [v - factor * p for v, p in zip(other, self.table[row], strict=True)]
        self.basis[row] = column

    def _minimise(self, cost: list[Any], allowed: int) -> Any:
        while True:
            reduced = [
                cost[j]
                - sum(
                    (cost[b] * row[j] for b, row in zip(self.basis, self.table, strict=True)), flint.fmpq(0)
                )
                for j in range(allowed)
            ]
            entering = next((j for j in range(allowed) if reduced[j] < 0), None)
            if entering is None:
                return sum(
                    (cost[b] * row[-1] for b, row in zip(self.basis, self.table, strict=True)), flint.fmpq(0)
                )
            ratios = [
                (row[-1] / row[entering], self.basis[r], r)
                for r, row in enumerate(self.table)
                if row[entering] > 0
            ]
            self._pivot(min(ratios)[2], entering)

    def feasible(self) -> bool:
        width = len(self.table[0]) - 1
        cost = [flint.fmpq(int(j >= self.n)) for j in range(width)]
        if self._minimise(cost, self.n) != 0:
            return False
        for r, b in enumerate(self.basis):  # artificials that stayed at zero: drive out where possible
            if b >= self.n:
                column = next((j for j in range(self.n) if self.table[r][j] != 0), None)
                if column is not None:
                    self._pivot(r, column)
        keep = [r for r, b in enumerate(self.basis) if b < self.n]
        self.table = [self.table[r] for r in keep]
        self.basis = [self.basis[r] for r in keep]
        return True

    def positive_when_maximising(self, i: int) -> set[int]:
        width = len(self.table[0]) - 1
        cost = [flint.fmpq(-int(j == i)) for j in range(width)]
        self._minimise(cost, self.n)
        return {b for b, row in zip(self.basis, self.table, strict=True) if row[-1] > 0}
