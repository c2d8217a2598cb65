"""The demands seen within a subspace: what is left to ask once some rows must be touched.

Every separator must be orthogonal to the rows of a contradiction. Written as ``w = Σ z_l v_l`` over a basis
of the vectors orthogonal to them, the other demands become ``Σ z_l (a·v_l) > 0``: the same question, smaller.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.exact import Integers, over_common_denominator
from rosenblatt.proofs.signs import ExactVector, exact_numerators
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids


class ProjectedCone(Cone):
    """A cone restricted to ``w = Σ z_l v_l``; its demands are those that this does not force to zero."""

    def __init__(self, whole: Cone, basis: Sequence[Sequence[int]]) -> None:
        super().__init__(whole.examples)
        signs = [whole.exact_signs([Fraction(value) for value in vector]) for vector in basis]
        alive = np.zeros(whole.n_rows, dtype=np.bool_)
        for sign in signs:
            alive |= sign != 0
        columns = [
            self._column(whole, vector, sign)[alive] for vector, sign in zip(basis, signs, strict=True)
        ]
        self.__dict__.update(
            whole=whole,
            basis=basis,
            touched=~alive,
            ids=np.flatnonzero(alive),
            B=np.column_stack(columns) if columns else np.empty((0, 0)),
            dim=len(basis),
            n_rows=int(alive.sum()),
            scales_of_weights=np.zeros(len(basis), dtype=np.int64),
        )

    @staticmethod
    def _column(whole: Cone, vector: Sequence[int], sign: npt.NDArray[np.int8]) -> Float64s:
        """Return ``a·v`` of every demand in floating point, of the true sign, the largest about one."""
        out = np.empty(whole.n_rows)
        for ids, side, part in whole.exact_scores([Fraction(value) for value in vector]):
            out[ids] = part.values * (side or whole.examples.signs)
        out = np.where(np.sign(out) == sign, out, sign * 1e-17)
        out[sign == 0] = 0.0
        return out / (np.abs(out).max() or 1.0)

    touched: npt.NDArray[np.bool_]
    ids: Ids
    whole: Cone
    basis: Sequence[Sequence[int]]
    B: Float64s

    @property
    def is_sparse(self) -> bool:
        """Whether rows are stored without their zeros; here they are not."""
        return False

    def example_and_rival(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return positions among the demands left; there are no rivals here."""
        return np.asarray(ids, dtype=np.intp), np.asarray(ids, dtype=np.intp)

    @cached_property
    def norms(self) -> Float64s:
        """The lengths of the rows as seen in the subspace."""
        norms = np.linalg.norm(self.B, axis=1)
        return np.where(norms > 0, norms, 1.0)

    def rows(self, ids: Ids, scaled: bool = False) -> Float64s:
        """Write out rows in floating point; only searches use them."""
        return self.B[ids].copy()

    def prices(self, w: Float64s) -> Float64s:
        """Return ``a·w/‖a‖`` in floating point."""
        return np.asarray(self.B @ w) / self.norms

    def integer_rows(self, ids: Ids, evenly: bool = False) -> Integers:
        """Write out rows as integers, exactly."""
        rows = self.whole.rows(self.ids[ids])
        columns = []
        for vector in self.basis:
            exact = ExactVector.of([Fraction(value) for value in vector], False)
            columns.append([Fraction(n) * Fraction(2) ** e for n, e in exact_numerators(rows, exact)])
        matrix = [over_common_denominator(row) for row in zip(*columns, strict=True)]
        lengths = [max(max(map(abs, row)).bit_length(), 1) for row, _ in matrix]
        longest = max(lengths)
        # rows are brought to one size by powers of two; the true row is matrix[i] · 2**(rows[i] + columns)
        sizes = zip(matrix, lengths, strict=True)
        scaled = [[value << (longest - length) for value in row] for (row, _), length in sizes]
        sizes = zip(matrix, lengths, strict=True)
        exponents = [length - (denominator.bit_length() - 1) for (_, denominator), length in sizes]
        return Integers(scaled, exponents, [-longest] * self.dim)

    def equations(self, ids: Ids) -> Integers:
        """Write out rows as integers, exactly."""
        return self.integer_rows(ids)

    def lifted(self, z: Sequence[Any] | Float64s) -> list[Fraction]:
        """Return ``w = Σ z_l v_l``."""
        values = [Fraction(value) for value in (z.tolist() if isinstance(z, np.ndarray) else z)]
        return [
            sum((a * b for a, b in zip(values, column, strict=True)), Fraction(0))
            for column in zip(*self.basis, strict=True)
        ]

    def exact_signs(self, w: Sequence[Any] | Float64s) -> npt.NDArray[np.int8]:
        """Return the sign of every demand left, decided exactly on the rows as they are."""
        return self.whole.exact_signs(self.lifted(w))[self.ids]

    def unscaled(self, w: Float64s) -> list[Fraction] | Float64s:
        """Return weights as they are: nothing is scaled here."""
        return w
