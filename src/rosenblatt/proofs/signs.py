"""Exact signs of ``w·x + b``: a floating-point filter decides the easy ones, integers the rest.

**Bound.** Let ``u = 2⁻⁵³``, ``n`` the number of terms (stored values of the row, and the bias) and ``ŵ`` the weights
scaled so that the largest is in [1, 2] and rounded to float64. Whatever the order of summation, the computed score
differs from the true one by at most ``(n + 6)·u·Σ|xⱼ||ŵⱼ| + n·2⁻¹⁰⁷⁴`` (Higham 2002, section 3.1; the 6 covers the
rounding of w), and by Cauchy and Schwarz ``Σ|xⱼ||ŵⱼ| ≤ ‖x̃‖‖ŵ‖``. A score past its bound has a certain sign. What is
left is tried once more in twice the precision (Ogita, Rump and Oishi 2005), then as integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.exact import mantissas, over_common_denominator
from rosenblatt.proofs.examples import BLOCK, Matrix
from rosenblatt.proofs.loops import signs as loops

U = 2.0**-53
TINY = 5e-324
WORTH = 8  # values multiplied as integers in the time that it takes to shift one weight
Float64s = npt.NDArray[np.float64]


class ExactVector:
    """Weights that are exactly rational; the last is the bias where ``bias`` says so.

    ``values = 2**exponent · (high + low + something below 2⁻¹⁰⁵·|high|)``, the largest ``|high|`` in [1, 2].
    Weights that come as an array of floats stay one: no Fraction is built until ``values`` is read.
    """

    def __init__(self, values: Sequence[Any] | Float64s, bias: bool) -> None:
        self._source = values
        self.bias = bias

    @classmethod
    def of(cls, values: Sequence[Any] | Float64s, bias: bool) -> "ExactVector":
        """Take floats, integers or Fractions as they are."""
        return cls(values, bias)

    @classmethod
    def difference(cls, a: Float64s, b: Float64s, bias: bool) -> "ExactVector":
        """Return ``a − b`` of floats without rounding, and without Fractions where their sizes are moderate."""
        with np.errstate(over="ignore", invalid="ignore"):
            high = a - b
            back = high - a  # Knuth's two-sum: what the rounding of a − b left out
            low = (a - (high - back)) - (b + back)
        if not (np.isfinite(low).all() and _moderate(high) and _moderate(low)):
            return cls([x - y for x, y in zip(as_fractions(a), as_fractions(b), strict=True)], bias)
        return _Sum(high, low, bias) if low.any() else cls(high, bias)

    def __len__(self) -> int:
        return len(self._source)

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The weights as Fractions."""
        return as_fractions(self._source)

    @cached_property
    def numerators(self) -> list[int]:
        """The weights times their common denominator."""
        return self._over_denominator[0]

    @cached_property
    def denominator(self) -> int:
        """The common denominator of the weights, positive."""
        return self._over_denominator[1]

    @cached_property
    def _over_denominator(self) -> tuple[list[int], int]:
        floats = self._source if isinstance(self._source, np.ndarray) else self.as_floats
        if floats is None:
            return over_common_denominator(self.values)
        return _dyadic(floats)

    @cached_property
    def exponent(self) -> int:
        """The power of two taken out of ``high`` and ``low``."""
        if self.as_floats is not None:
            return int(np.frexp(np.abs(self.as_floats).max(initial=0.0) or 1.0)[1]) - 1
        largest = max((abs(value) for value in self.values), default=Fraction(0))
        if not largest:
            return 0
        guess = largest.numerator.bit_length() - largest.denominator.bit_length()
        return guess - 1 if largest < _power(guess) else guess

    @cached_property
    def high(self) -> Float64s:
        """The scaled weights rounded to float64."""
        if self.as_floats is not None:
            return np.ldexp(self.as_floats, -self.exponent)
        scale = _power(-self.exponent)
        return np.array([float(value * scale) for value in self.values], dtype=np.float64)

    @cached_property
    def low(self) -> Float64s:
        """What ``high`` leaves out of the scaled weights, rounded to float64."""
        if self.as_floats is not None:
            return np.zeros(len(self))
        scale = _power(-self.exponent)
        pairs = zip(self.values, self.high.tolist(), strict=True)
        return np.array([float(value * scale - Fraction(high)) for value, high in pairs], dtype=np.float64)

    @cached_property
    def as_floats(self) -> Float64s | None:
        """The weights where all of them are floats that can be scaled without loss, else None."""
        if isinstance(self._source, np.ndarray):
            return self._source if _moderate(self._source) else None
        short = self._short_dyadics()
        if short is not None:
            return short if _moderate(short) else None
        try:
            floats = [value.numerator / value.denominator for value in self.values]
        except OverflowError:
            return None
        pairs = zip(floats, self.values, strict=True)
        if any(each.as_integer_ratio() != (value.numerator, value.denominator) for each, value in pairs):
            return None
        exact = np.array(floats, dtype=np.float64)
        return exact if _moderate(exact) else None

    def _short_dyadics(self) -> Float64s | None:
        """Return the weights as floats where each is an integer up to 2⁵³ over a small power of two, else None."""
        try:
            numerators = np.array([value.numerator for value in self.values], dtype=np.int64)
            denominators = np.array([value.denominator for value in self.values], dtype=np.int64)
        except OverflowError:
            return None
        if (denominators & (denominators - 1)).any() or np.abs(numerators).max(initial=0) > 1 << 53:
            return None
        return numerators / denominators

    @cached_property
    def sqnorm(self) -> Fraction:
        """``‖w̃‖²``, exactly."""
        return Fraction(sum(value * value for value in self.numerators), self.denominator**2)


def _dyadic(floats: Float64s) -> tuple[list[int], int]:
    """Return floats as integers over one power of two."""
    m, e = mantissas(floats)
    lowest = min(int(e.min(initial=0)), 0)
    return [a << b for a, b in zip(m.tolist(), (e - lowest).tolist(), strict=True)], 1 << -lowest


class _Sum(ExactVector):
    """Weights that are each the sum of two floats, the second below half a unit in the last place of the first."""

    def __init__(self, high: Float64s, low: Float64s, bias: bool) -> None:
        super().__init__(high, bias)
        self._low = low

    as_floats = None

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        pairs = zip(as_fractions(self._source), as_fractions(self._low), strict=True)
        return tuple(a + b for a, b in pairs)

    @cached_property
    def _over_denominator(self) -> tuple[list[int], int]:
        numerators, denominator = _dyadic(np.concatenate([self._source, self._low]))
        n = len(self)
        return [a + b for a, b in zip(numerators[:n], numerators[n:], strict=True)], denominator

    @cached_property
    def exponent(self) -> int:
        return int(np.frexp(np.abs(self._source).max())[1]) - 1

    @cached_property
    def high(self) -> Float64s:
        return np.ldexp(self._source, -self.exponent)

    @cached_property
    def low(self) -> Float64s:
        return np.ldexp(self._low, -self.exponent)


def as_fractions(values: Sequence[Any] | Float64s) -> tuple[Fraction, ...]:
    """Return floats, integers or Fractions as Fractions of the same value; zeros share one object."""
    zero = Fraction(0)
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return tuple(
        value if isinstance(value, Fraction) else Fraction(value) if value else zero for value in plain
    )


def _moderate(values: Float64s) -> bool:
    """Say whether scaling by powers of two loses nothing: no value is near the ends of the float range."""
    sizes = np.abs(values)
    sizes = sizes[sizes > 0]
    return not sizes.size or bool(sizes.max() < 1e150 and sizes.min() > 1e-150)


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _sign(value: int | Fraction) -> int:
    return (value > 0) - (value < 0)


def _rounded(value: Fraction) -> float:
    """Round to float64, to infinity past its range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


@dataclass(frozen=True)
class Scores:
    """Scores ``w·x + b`` in units of ``2**w.exponent``, each within ``errors`` of the truth."""

    X: Matrix
    w: ExactVector
    values: Float64s
    errors: Float64s
    sqnorms: Float64s  # ‖x‖² in floating point, without the bias

    def signs(self) -> npt.NDArray[np.int8]:
        """Return the exact sign of every score."""
        out = np.zeros(len(self.values), dtype=np.int8)
        out[self.values > self.errors] = 1
        out[self.values < -self.errors] = -1
        doubtful = np.flatnonzero(~(np.abs(self.values) > self.errors))
        self._decide(doubtful, self.w, out)
        return out

    def compared(self, sides: Float64s | float, threshold: Fraction) -> npt.NDArray[np.int8]:
        """Return the exact sign of ``side·score − threshold`` for every row, the sides being ±1."""
        level = _rounded(threshold * _power(-self.w.exponent))
        with np.errstate(over="ignore", invalid="ignore"):
            away = self.values * sides - level
            errors = self.errors + (abs(level) * 4 * U + TINY)
            doubtful = np.flatnonzero(~(np.abs(away) > errors * (1 + 1e-9)))
        out = np.sign(np.where(np.isnan(away), 0.0, away)).astype(np.int8)
        sides = np.broadcast_to(sides, away.shape)[doubtful]
        if _stored(self.X, doubtful) <= WORTH * len(self.w):  # else another vector as long as w costs less
            exact = zip(sides.tolist(), self.exactly(doubtful), strict=True)
            out[doubtful] = [_sign(int(side) * value - threshold) for side, value in exact]
            return out
        for side in (1, -1):
            if not (sides == side).any():
                continue
            values = [side * value for value in self.w.values]
            last = values.pop() if self.w.bias else Fraction(0)
            shifted = ExactVector((*values, last - threshold), True)
            self._decide(doubtful[sides == side], shifted, out)
        return out

    def near(self, sides: Float64s | float, threshold: Fraction) -> npt.NDArray[np.intp]:
        """Return the rows whose ``side·score`` is not certainly above the threshold."""
        level = _rounded(threshold * _power(-self.w.exponent))
        level += abs(level) * 8 * U + TINY
        with np.errstate(invalid="ignore"):
            lowest = self.values * sides
            lowest -= self.errors
            lowest -= U * np.abs(lowest)  # the rounding of this very subtraction
        return np.flatnonzero(~(lowest > level))

    def subset(self, ids: npt.NDArray[np.intp]) -> "Scores":
        """Return the scores of some rows."""
        return Scores(self.X[ids], self.w, self.values[ids], self.errors[ids], self.sqnorms[ids])

    def _decide(self, doubtful: npt.NDArray[np.intp], w: ExactVector, out: npt.NDArray[np.int8]) -> None:
        """Write the exact signs of ``w·x + b`` on doubtful rows, a block at a time."""
        if len(doubtful) > 100 and w is self.w and self._is_exact:
            out[doubtful] = np.sign(self.values[doubtful])
            return
        for start in range(0, len(doubtful), BLOCK):
            ids = doubtful[start : start + BLOCK]
            out[ids] = _signs_of_few(self.X[ids], w)

    @cached_property
    def _is_exact(self) -> bool:
        """Whether no score was rounded."""
        return _sums_are_exact(self.X, self.w)

    def exactly(self, ids: Sequence[int] | npt.NDArray[np.intp]) -> list[Fraction]:
        """Return the true scores ``w·x + b`` of a few rows."""
        if len(ids) > 100 and self._is_exact:
            unit = _power(self.w.exponent)
            return [Fraction(value) * unit for value in self.values[np.asarray(ids, dtype=np.intp)].tolist()]
        return [
            Fraction(number, self.w.denominator) * _power(exponent)
            for number, exponent in exact_numerators(self.X[np.asarray(ids, dtype=np.intp)], self.w)
        ]


def scores(X: Matrix, w: ExactVector) -> Scores:
    """Score all rows once in floating point, with proved error bounds."""
    n, d = X.shape
    values, sqnorms = np.empty(n), np.empty(n)
    high = w.high
    b = float(high[-1]) if w.bias else 0.0
    if isinstance(X, np.ndarray):
        loops.dense_scores(X, high[:d], b, values, sqnorms)
    else:
        loops.sparse_scores(loops.csr_rows(X), high[:d], b, values, sqnorms)
    terms = _terms(X)
    norm = float(np.sqrt(high @ high)) * (1 + 1e-9)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.sqrt(sqnorms + (terms * TINY + w.bias))
        errors *= (
            (terms + 6) * U * 1.01 * norm
        )  # not a number where a row overflows: no sign is certain there
        errors += terms * TINY
    return Scores(X, w, values, errors, sqnorms)


def _terms(X: Matrix) -> Any:
    """Return the number of terms in a score, or in each: stored values and the bias."""
    return X.shape[1] + 1 if isinstance(X, np.ndarray) else np.diff(X.indptr).astype(np.float64) + 1.0


def _stored(X: Matrix, ids: npt.NDArray[np.intp]) -> int:
    """Return the number of stored values of some rows."""
    return len(ids) * X.shape[1] if isinstance(X, np.ndarray) else int(np.diff(X.indptr)[ids].sum())


def exact_signs(X: Matrix, w: ExactVector) -> npt.NDArray[np.int8]:
    """Return the sign of ``w·x + b`` for every row, decided exactly.

    >>> X = np.array([[0.1, 0.2], [0.1, 0.1]])
    >>> exact_signs(X, ExactVector.of([1.0, 1.0, -(0.1 + 0.2)], bias=True)).tolist()
    [-1, -1]
    """
    return scores(X, w).signs()


def _signs_of_few(X: Matrix, w: ExactVector) -> npt.NDArray[np.int8]:
    """Try twice the precision, then integers."""
    values, sizes = np.empty(X.shape[0]), np.empty(X.shape[0])
    if isinstance(X, np.ndarray):
        loops.dense_compensated(X, w.high, w.low, values, sizes)
    else:
        loops.sparse_compensated((*loops.csr_rows(X), w.bias), w.high, w.low, values, sizes)
    terms = _terms(X)
    with np.errstate(over="ignore", invalid="ignore"):
        row_sums = np.asarray(np.abs(X).sum(axis=1), dtype=np.float64).ravel() + 1.0
        errors = 2.02 * U * np.abs(values) + 4.04 * ((terms + 8) * U) ** 2 * sizes
        errors += (
            20 * terms * TINY + 8 * TINY * row_sums
        )  # products, and weights, below the smallest normal float
        decided = np.abs(values) > errors
    out = np.where(decided, np.sign(np.where(decided, values, 0.0)), 0).astype(np.int8)
    left = np.flatnonzero(~decided)
    if len(left) and np.isfinite(values[left]).all() and _sums_are_exact(X, w):
        out[left] = np.sign(values[left])
        return out
    if len(left):
        out[left] = [_sign(number) for number, _ in exact_numerators(X[left], w)]
    return out


def _sums_are_exact(X: Matrix, w: ExactVector) -> bool:
    """Say whether every product and partial sum is a multiple of one power of two below 2⁵³ times it."""
    if w.as_floats is None:
        return False
    data = X if isinstance(X, np.ndarray) else X.data
    if not data.size:
        return True
    m, e = mantissas(w.as_floats)
    lowest = int(e[m != 0].min()) if m.any() else 0
    weight = float(np.abs(np.ldexp(w.as_floats, -lowest)).sum())  # inexact only past 2⁵³
    largest = max(float(np.abs(data).max()), 1.0)
    return largest * max(weight, 1.0) * (1 + 1e-9) < 2**53 and bool(np.all(np.rint(data) == data))


def exact_numerators(X: Matrix, w: ExactVector) -> list[tuple[int, int]]:
    """Return ``(n, e)`` for every row: its score is ``n · 2**e / w.denominator``."""
    weights = w.numerators
    bias = weights[-1] if w.bias else 0
    out = []
    for m, e, columns in _integer_rows(X):
        lowest = min((*e, 0)) if bias else min(e, default=0)
        total = sum((a << (b - lowest)) * weights[j] for a, b, j in zip(m, e, columns, strict=True) if a)
        out.append((total + (bias << -lowest if bias else 0), lowest))
    return out


def weighted_sum(
    X: Matrix, bias: bool, terms: Sequence[tuple[int, int, int]]
) -> tuple[dict[tuple[int, int], int], int]:
    """Return ``Σ c·x̃ᵢ`` of terms (row i, block, integer c) in sparse form: ``{(block, column): n}`` and ``e``.

    The entry is ``n · 2**e`` exactly; blocks are summed apart from each other, and the always-one feature is the
    column after the last. Linear in the stored values of the rows named.
    """
    rows = {i: at for at, i in enumerate(dict.fromkeys(i for i, _, _ in terms))}
    parts = list(_integer_rows(X[np.array(list(rows), dtype=np.intp)])) if rows else []
    lowest = min((e for _, exponents, _ in parts for e in exponents), default=0)
    lowest = min(lowest, 0) if bias else lowest
    total: dict[tuple[int, int], int] = {}
    for i, block, c in terms:
        for m, e, column in zip(*parts[rows[i]], strict=True):
            if m:
                total[block, column] = total.get((block, column), 0) + c * (m << (e - lowest))
        if bias:
            total[block, X.shape[1]] = total.get((block, X.shape[1]), 0) + (c << -lowest)
    return total, lowest


def _integer_rows(X: Matrix) -> Any:
    """Yield mantissas, exponents and column numbers of every row."""
    if isinstance(X, np.ndarray):
        m, e = mantissas(X)
        columns = range(X.shape[1])
        for mi, ei in zip(m.tolist(), e.tolist(), strict=True):
            yield mi, ei, columns
        return
    m, e = mantissas(X.data)
    mantissa, exponent, where, starts = m.tolist(), e.tolist(), X.indices.tolist(), X.indptr.tolist()
    for lo, hi in pairwise(starts):
        yield mantissa[lo:hi], exponent[lo:hi], where[lo:hi]
