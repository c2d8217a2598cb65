"""The cone of separators: one signed row per demand ``a·w > 0``, whatever the number of classes.

Two classes: ``a = y (x, 1)``. Three or more: for every example of class ``y`` and every other class ``c`` the
row ``(x, 1) ⊗ (e_y − e_c)`` (Kesler's construction), the weights of the last class held at zero. Rows are
never stored: searches ask for scores of all of them and for a few of them written out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.exact import Integers, integers
from rosenblatt.proofs.examples import Examples, Matrix, product, row_sqnorms
from rosenblatt.proofs.loops.min_norm_point import dense_prices
from rosenblatt.proofs.signs import ExactVector, Scores, as_fractions, scores

Ids = npt.NDArray[np.intp]
Float64s = npt.NDArray[np.float64]
UNEVEN = 64.0  # columns whose largest values differ by more than this are scaled in a working copy
VALUE_TIME = (
    2e-9  # seconds that a pass over the rows takes for each value, and for each demand and each weight:
)
DEMAND_TIME, WEIGHT_TIME = (
    5e-8,
    1e-6,
)  # measured for sweeps, prices, exact signs and statements, times two to ten
FEW_CELLS = 20_000  # values of rows that are written out densely sooner than their columns are compared


@dataclass(frozen=True)
class Cone:
    """The demands ``a·w > 0`` of checked examples.

    ``keep_lengths`` keeps the geometry, for margins: rows at their own lengths, and with three or more classes the
    weights of all of them. Without it rows are brought to norm one and columns to one size, for searches.
    """

    examples: Examples
    keep_lengths: bool = False
    bias_exponent: int = 0  # with ``keep_lengths``: the always-one feature is 2**this in the working copy

    @property
    def k(self) -> int:
        """The number of classes."""
        return len(self.examples.classes)

    @property
    def joint(self) -> bool:
        """Whether there are three or more classes."""
        return self.k > 2

    @cached_property
    def width(self) -> int:
        """The number of features, the always-one feature included."""
        return int(self.examples.X.shape[1]) + self.examples.fit_intercept

    @property
    def n_values(self) -> int:
        """The number of stored values of X."""
        X = self.examples.X
        return int(X.size if isinstance(X, np.ndarray) else X.nnz)

    @cached_property
    def dim(self) -> int:
        """The number of unknown weights."""
        return self.width * (self.k - (not self.keep_lengths) if self.joint else 1)

    @cached_property
    def n_rows(self) -> int:
        """The number of demands."""
        return len(self.examples.codes) * (self.k - 1 if self.joint else 1)

    def example_and_rival(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the example of each demand and its rival class."""
        ids = np.asarray(ids, dtype=np.intp)
        codes = self.examples.codes
        if not self.joint:
            return ids, (1 - codes[ids]) if self.k == 2 else codes[ids]
        i, rank = np.divmod(ids, self.k - 1)
        return i, rank + (rank >= codes[i])

    @cached_property
    def pass_cost(self) -> float:
        """Predict the seconds that one pass over all demands takes: a sweep, prices, exact signs."""
        values = self.n_values * (self.k - 1 if self.joint else 1)
        return VALUE_TIME * values + DEMAND_TIME * self.n_rows + WEIGHT_TIME * self.dim

    def restricted(self, examples: Ids) -> "Cone":
        """Return the cone of some of the examples."""
        all_examples = self.examples
        return Cone(
            Examples(
                all_examples.X[examples],
                all_examples.codes[examples],
                all_examples.classes,
                all_examples.fit_intercept,
            ),
            self.keep_lengths,
        )

    def rows(self, ids: Ids, scaled: bool = False) -> Float64s:
        """Write out rows ``a``, dense; ``scaled`` takes them from the working copy."""
        i, rival = self.example_and_rival(ids)
        X = self.work if scaled else self.examples.X
        x = X[i]
        x = np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
        if self.examples.fit_intercept:
            x = np.column_stack([x, np.full(len(i), self.bias if scaled else 1.0)])
        if not self.joint:
            signed: Float64s = self.examples.signs[i][:, None] * x + 0.0
            return signed
        out = np.zeros((len(i), self.k, self.width))
        at = np.arange(len(i))
        out[at, self.examples.codes[i]] = x
        out[at, rival] = -x
        return out.reshape(len(i), -1)[:, : self.dim] + 0.0

    @property
    def is_sparse(self) -> bool:
        """Whether rows are stored without their zeros."""
        return not isinstance(self.examples.X, np.ndarray)

    def sparse_rows(self, ids: Ids, scaled: bool = False) -> Any:
        """Write out rows ``a`` as a CSR array; ``scaled`` takes them from the working copy."""
        import scipy.sparse as sp

        i, rival = self.example_and_rival(ids)
        x = sp.csr_array((self.work if scaled else self.examples.X)[i], dtype=np.float64)
        if self.examples.fit_intercept:
            bias = np.full((len(i), 1), self.bias if scaled else 1.0)
            x = sp.hstack([x, sp.csr_array(bias)], format="csr")
        if not self.joint:
            signs = np.repeat(self.examples.signs[i], np.diff(x.indptr))
            return sp.csr_array((x.data * signs, x.indices, x.indptr), shape=x.shape)
        at = np.repeat(np.arange(len(i)), np.diff(x.indptr))
        own, other = self.examples.codes[i][at] * self.width, rival[at] * self.width
        columns = np.concatenate([own + x.indices, other + x.indices])
        values = np.concatenate([x.data, -x.data])
        shape = (len(i), self.k * self.width)
        return sp.csr_array((values, (np.tile(at, 2), columns)), shape=shape)[:, : self.dim]

    def integer_rows(self, ids: Ids, evenly: bool = False) -> Integers:
        """Write out rows as integers, exactly; ``evenly`` with the column scales of the working copy."""
        return integers(self.rows(ids), self.scales_of_weights if evenly else None)

    def equations(self, ids: Ids) -> Integers:
        """Write out rows as integers without repeating a column: for sums of rows each kind of column counts once.

        Rows of text share few columns: this keeps the table about as wide as it is long.
        """
        if not self.is_sparse or len(ids) * self.dim <= FEW_CELLS:
            return self.integer_rows(ids)
        rows = self.sparse_rows(ids)
        used = np.unique(rows.indices[rows.data != 0])
        return integers(np.ascontiguousarray(np.unique(rows[:, used].toarray() + 0.0, axis=1)))

    # The working copy: columns brought to one size by powers of two. Certificates never speak of it.

    @cached_property
    def _exponents(self) -> npt.NDArray[np.int64]:
        """The exponent of the largest value of each column of X."""
        X = self.examples.X
        if not X.shape[1]:
            return np.zeros(0, dtype=np.int64)
        if isinstance(X, np.ndarray):
            largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
        else:
            largest = np.zeros(X.shape[1])
            np.maximum.at(largest, X.indices, np.abs(X.data).astype(np.float64))
        return np.where(largest > 0, np.frexp(largest)[1], -(1 << 20)).astype(np.int64)

    @cached_property
    def _even(self) -> bool:
        """Whether the columns are of one size as they are."""
        used = self._exponents[self._exponents > -(1 << 20)]
        return not used.size or bool(
            2.0 ** float(min(used.max() - used.min(), 1000)) <= UNEVEN and abs(used.max()) < 200
        )

    @cached_property
    def scales(self) -> npt.NDArray[np.int64]:
        """Exponents ``e``: column ``j`` of the working copy is ``2**e[j]`` times column ``j`` of ``x̃``."""
        used = np.where(self._exponents > -(1 << 20), self._exponents, 0)
        if self.keep_lengths:
            top = int(used.max(initial=0))
            shift = np.full(self.width, -top if abs(top) > 200 else 0, dtype=np.int64)
            if self.examples.fit_intercept:
                shift[-1] += self.bias_exponent
            return shift
        shift = np.zeros(len(used), dtype=np.int64) if self._even else -used
        if self.examples.fit_intercept:
            top = int(used.max(initial=0)) if self._even else 0
            shift = np.append(shift, top)
        return shift

    @cached_property
    def scales_of_weights(self) -> npt.NDArray[np.int64]:
        """The exponents for every weight: those of :attr:`scales`, once for each class that has weights."""
        return np.tile(self.scales, self.dim // max(self.width, 1))

    @cached_property
    def bias(self) -> float:
        """The value of the always-one feature in the working copy; zero when there is none."""
        return float(np.ldexp(1.0, self.scales[-1])) if self.examples.fit_intercept else 0.0

    @cached_property
    def size(self) -> float:
        """The size of the largest values in the working copy, a power of two."""
        used = self._exponents + self.scales[: len(self._exponents)]
        return float(np.ldexp(1.0, max(int(used.max(initial=-(1 << 20))), int(self.bias > 0) - 1000)))

    @cached_property
    def work(self) -> Matrix:
        """X itself where its columns are of one size, else a scaled copy."""
        X = self.examples.X
        if not self.scales[: X.shape[1]].any():
            return X
        shift = self.scales[: X.shape[1]]
        if isinstance(X, np.ndarray):
            return np.ldexp(X.astype(np.float64), shift)
        data = np.ldexp(X.data.astype(np.float64), shift[X.indices])
        return type(X)((data, X.indices, X.indptr), shape=X.shape)

    @cached_property
    def norms(self) -> Float64s:
        """``‖x̃‖`` of every example in the working copy; 1 for rows of zeros."""
        norms = np.sqrt(row_sqnorms(self.work) + self.bias**2)
        if self.keep_lengths:
            norms[:] = norms.max() or 1.0
        return np.where(norms > 0, norms, 1.0)

    def unscaled(self, w: Float64s) -> list[Fraction] | Float64s:
        """Turn weights of the working copy into exact weights for the rows as they are."""
        shift = self.scales_of_weights
        if np.abs(shift).max(initial=0) < 900:
            out = np.ldexp(w, shift)
            if np.all((np.abs(out) > 1e-290) | (w == 0)) and np.all(np.isfinite(out)):
                return out
        pairs = zip(w.tolist(), shift.tolist(), strict=True)
        return [Fraction(a) * (Fraction(2) ** b) for a, b in pairs]

    # Scores in floating point (working copy, rows of norm one) and exactly.

    def prices(self, w: Float64s) -> Float64s:
        """Return ``a·w/‖x̃‖`` of every demand in the working copy."""
        d = self.work.shape[1]
        if not self.joint:
            bias = float(w[d]) * self.bias if self.examples.fit_intercept else 0.0
            if not isinstance(self.work, np.ndarray):
                return np.asarray((product(self.work, w[:d]) + bias) * self._signs_over_norms)
            flat = np.empty(self.n_rows)
            dense_prices(self.work, np.ascontiguousarray(w[:d]), bias, self._signs_over_norms, flat)
            return flat
        blocks = w.reshape(-1, self.width)
        out = product(self.work, np.ascontiguousarray(blocks[:, :d].T))  # (n, k - 1)
        if self.examples.fit_intercept:
            out += blocks[:, d] * self.bias
        out /= self.norms[:, None]
        full = out if self.keep_lengths else np.column_stack([out, np.zeros(len(out))])
        codes = self.examples.codes
        gaps = full[np.arange(len(full)), codes][:, None] - full
        demanded: Float64s = gaps[np.arange(self.k) != codes[:, None]]
        return demanded

    @cached_property
    def _signs_over_norms(self) -> Float64s:
        return self.examples.signs / self.norms

    def exact_scores(self, w: Sequence[Any] | Float64s) -> list[tuple[Ids, float, Scores]]:
        """Score every demand with proved error bounds: parts of (ids, sign, scores of the examples)."""
        examples = self.examples
        if not self.joint:
            whole = scores(examples.X, ExactVector.of(w, examples.fit_intercept))
            return [(np.arange(self.n_rows), 0.0, whole)]
        blocks = self._blocks(w)
        parts: list[tuple[Ids, float, Scores]] = []
        for y in range(self.k):
            rows_of_class = np.flatnonzero(examples.codes == y)
            X = examples.X[rows_of_class]
            for c in range(self.k):
                if c != y and len(rows_of_class):
                    gap = _gap(blocks[y], blocks[c], examples.fit_intercept)
                    ids = rows_of_class * (self.k - 1) + c - (c > y)
                    parts.append((ids, 1.0, scores(X, gap)))
        return parts

    def _blocks(self, w: Sequence[Any] | Float64s) -> list[Any]:
        """Return the weights of every class; those of the last are zero where they are not in ``w``."""
        floats = w if isinstance(w, np.ndarray) else ExactVector.of(w, False).as_floats
        values = list(as_fractions(w)) if floats is None else floats
        blocks: list[Any] = [values[c * self.width : (c + 1) * self.width] for c in range(self.k)]
        if not len(blocks[-1]):
            blocks[-1] = [Fraction(0)] * self.width if floats is None else np.zeros(self.width)
        return blocks

    def exact_signs(self, w: Sequence[Any] | Float64s) -> npt.NDArray[np.int8]:
        """Return the sign of ``a·w`` for every demand, decided exactly."""
        out = np.empty(self.n_rows, dtype=np.int8)
        for ids, sign, part in self.exact_scores(w):
            out[ids] = part.signs() * (np.int8(sign) if sign else self.examples.signs.astype(np.int8))
        return out


def _gap(a: Any, b: Any, bias: bool) -> ExactVector:
    """Return ``a − b`` of the weights of two classes, without rounding."""
    if isinstance(a, np.ndarray):
        return ExactVector.difference(a, b, bias)
    return ExactVector([x - y for x, y in zip(a, b, strict=True)], bias)
