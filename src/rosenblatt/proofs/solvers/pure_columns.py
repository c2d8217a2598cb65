"""Columns of one sign: a presolve that shrinks text to the few rows where words of both classes meet.

**Problem.** Where ``yᵢ xᵢⱼ ≥ 0`` for all rows i, a large weight on column j puts every row with ``xᵢⱼ ≠ 0`` strictly
on its side and moves no other to the wrong one; in a combination ``Σ λᵢ yᵢ xᵢ = 0`` these rows have ``λᵢ = 0``, since
column j adds up terms of one sign. So they can be left out of the search either way. Without them other columns
become pure, and so on, in time linear in the number of values. The rows that are left are the **core**:
the data are separable exactly when the core is, and every contradiction lies in the core.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.examples import Examples
from rosenblatt.proofs.loops import pure_columns as loops
from rosenblatt.proofs.loops.signs import csr_rows
from rosenblatt.proofs.signs import as_fractions
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids


@dataclass(frozen=True)
class Reduction:
    """What pure columns leave of a cone, and how to go back."""

    whole: Cone
    core: Cone | None  # None where no row is left
    rows: Ids  # of the core, in the whole
    columns: Ids  # of the core, in the whole
    picks: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

    def lifted(self, w: Sequence[Any] | Float64s) -> list[Fraction] | Float64s | None:
        """Return weights of the whole from weights of the core: settled rows are strict, those of the core as before.

        None where floats cannot hold the weights of the picked columns.
        """
        examples = self.whole.examples
        d = examples.X.shape[1]
        w = np.zeros(0) if self.core is None else w
        exponent = _exponent(w)
        small = [float(value * Fraction(2) ** -exponent) for value in as_fractions(w)]
        full = np.zeros(d + 1)
        full[self.columns] = small[: len(self.columns)]
        if examples.fit_intercept and self.core is not None:
            full[d] = small[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            loops.weigh_columns(csr_rows(examples.X), examples.signs, self.picks, 1.0, full)
        if not np.isfinite(full).all():
            return None
        out = full if examples.fit_intercept else full[:-1]
        if isinstance(w, np.ndarray) and abs(exponent) < 900:
            return out  # scaled by a power of two: nothing of w was rounded away
        exact = list(as_fractions(out))
        columns_with_bias = [*self.columns.tolist(), *[d] * examples.fit_intercept]
        for j, value in zip(columns_with_bias, as_fractions(w), strict=True):
            exact[j] = value * Fraction(2) ** -exponent
        return exact


def _exponent(w: Sequence[Any] | Float64s) -> int:
    """Return about the exponent of the largest weight."""
    largest = max((abs(value) for value in as_fractions(w)), default=Fraction(0))
    return largest.numerator.bit_length() - largest.denominator.bit_length() if largest else 0


def reduced(cone: Cone) -> Reduction | None:
    """Leave out rows that pure columns settle; None where data are dense or of many classes, or nothing is settled."""
    examples = cone.examples
    if isinstance(examples.X, np.ndarray) or cone.joint or type(cone) is not Cone:
        return None
    n, d = examples.X.shape
    by_column = examples.X.tocsc()
    picked, stops = np.empty(d + 1, dtype=np.int64), np.zeros(d + 2, dtype=np.int64)
    settled = np.empty(n, dtype=np.int64)
    columns = (by_column.data, by_column.indices, by_column.indptr)
    count = loops.settle_rows(
        csr_rows(examples.X), columns, examples.signs, examples.fit_intercept, picked, stops, settled
    )
    if not count:
        return None
    picks = (picked[:count], stops[: count + 1], settled[: stops[count]])
    live = np.ones(n, dtype=np.bool_)
    live[picks[2]] = False
    rows = np.flatnonzero(live)
    if not len(rows):
        return Reduction(cone, None, rows, rows, picks)
    X = examples.X[rows]
    used = np.zeros(d, dtype=np.bool_)
    used[X.indices[X.data != 0]] = True
    used_columns = np.flatnonzero(used)
    part = Examples(X[:, used_columns], examples.codes[rows], examples.classes, examples.fit_intercept)
    return Reduction(cone, Cone(part), rows, used_columns, picks)
