"""Exact arithmetic: floats as the integers they are, rational solves, ranks and null spaces (FLINT)."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

PRIME = (1 << 61) - 1  # residues modulo a Mersenne prime; only lower bounds on ranks are drawn from them
MOST_BITS = 1 << 31  # of the numerators of rationals over their common denominator, all together
MOST_DENOMINATOR_BITS = 400_000  # of a common denominator: arithmetic with longer ones takes minutes
Float64s = npt.NDArray[np.float64]


class Integers(NamedTuple):
    """A float matrix as integers: entry (i, j) is ``matrix[i][j] · 2**(rows[i] + columns[j])``."""

    matrix: list[list[int]]
    rows: list[int]
    columns: list[int]


def mantissas(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return odd integers ``m`` (or 0) and exponents ``e`` with ``values = m · 2**e`` exactly.

    >>> m, e = mantissas(np.array([0.75, -6.0, 0.0]))
    >>> m.tolist(), e.tolist()
    ([3, -3, 0], [-2, 1, 0])
    """
    fraction, exponent = np.frexp(values.astype(np.float64))
    m = np.ldexp(fraction, 53).astype(np.int64)
    e = exponent.astype(np.int64) - 53
    lowest = m & -m
    shift = np.where(m == 0, 0, np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.int64))
    return m >> shift, np.where(m == 0, 0, e + shift)


def integers(A: Float64s, scales: npt.NDArray[np.int64] | None = None) -> Integers:
    """Write a float matrix as small integers, powers of two taken out of its rows and columns.

    Given ``scales``, column j is multiplied by ``2**scales[j]`` and one more power of two is taken out of the
    whole matrix, so that columns keep their sizes relative to each other.
    """
    m, e = mantissas(A)
    used = m != 0
    far = 1 << 40
    if scales is not None:
        e = e + scales
    rows = np.where(used, e + _bits(m), -far).max(axis=1, initial=-far)
    rows = np.where(used.any(axis=1), rows, 0)
    shifted = np.where(used, e - rows[:, None], far)
    columns = shifted.min(axis=0, initial=far)
    columns = np.where(used.any(axis=0), columns, far)
    columns = (
        np.where(columns == far, 0, columns)
        if scales is None
        else np.full(len(columns), columns.min(initial=far))
    )
    shift = np.where(used, shifted - columns, 0)
    matrix = (
        (m << shift).tolist()
        if int((shift + _bits(m)).max(initial=0)) < 63
        else [
            [a << b for a, b in zip(*pair, strict=True)]
            for pair in zip(m.tolist(), shift.tolist(), strict=True)
        ]
    )
    return Integers(matrix, rows.tolist(), columns.tolist())


def _bits(m: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.frexp(np.abs(m).astype(np.float64))[1].astype(np.int64)


def fraction_of(value: Any) -> Fraction:
    """Return a FLINT rational, an integer or a float as a Fraction of the same value."""
    return Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else Fraction(value)


def over_common_denominator(values: Iterable[Fraction]) -> tuple[list[int], int]:
    """Return integers ``nᵢ`` and ``D > 0`` with ``values = nᵢ / D``; a ValueError past MOST_BITS."""
    import math

    values = list(values)
    denominator = 1
    for value in values:
        if denominator % value.denominator:
            denominator = math.lcm(denominator, value.denominator)
            bits = denominator.bit_length()
            if bits > MOST_DENOMINATOR_BITS or bits * len(values) > MOST_BITS:
                raise ValueError("the rationals have a common denominator too large to work with")
    return [value.numerator * (denominator // value.denominator) for value in values], denominator


def pivots(matrix: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return row and column indices of a square submatrix that is certainly regular.

    Found by row reduction modulo a prime: a minor that does not vanish modulo a prime does not vanish.
    The converse may fail, so the true rank may be larger, never smaller. Earlier columns are preferred.
    """
    import flint

    if not matrix or not matrix[0]:
        return [], []
    reduced, rank = flint.nmod_mat(flint.fmpz_mat([list(row) for row in matrix]), PRIME).rref()
    columns = _leading(reduced, rank)
    chosen = [[row[j] for row in matrix] for j in columns]
    reduced, rank = flint.nmod_mat(flint.fmpz_mat(chosen), PRIME).rref() if chosen else (None, 0)
    return _leading(reduced, rank), columns


def pivots_cost(n_rows: int, n_columns: int) -> float:
    """Predict the seconds that :func:`pivots` takes, rather too many than too few: measured, times two to eight."""
    return n_rows * n_columns * (2e-6 + 4e-9 * min(n_rows, n_columns))


def solve_cost(n: int, bits: int) -> float:
    """Predict the seconds that :func:`solve_integers` takes on n equations of ``bits`` bits: measured, times 2 to 4."""
    return n * n * 2e-6 + 6e-8 * n**3 * float((max(bits, 8) / 53) ** 1.4)


def longest(matrix: Sequence[Sequence[int]]) -> int:
    """Return the number of bits of the largest entry."""
    return max((max(map(abs, row)).bit_length() for row in matrix if row), default=0)


def _leading(reduced: Any, rank: int) -> list[int]:
    """Return the column of the first non-zero entry of each of the first ``rank`` rows."""
    columns: list[int] = []
    start = 0
    for i in range(rank):
        start = next(j for j in range(start, reduced.ncols()) if int(reduced[i, j]))
        columns.append(start)
        start += 1
    return columns


def solve(matrix: Sequence[Sequence[int]], right: Sequence[int | Fraction]) -> list[Fraction]:
    """Solve a regular square integer system exactly (Dixon lifting in FLINT)."""
    numerators, denominator = over_common_denominator([Fraction(value) for value in right])
    solution, divisor = solve_integers(matrix, numerators)
    return [Fraction(value, divisor * denominator) for value in solution]


def solve_integers(matrix: Sequence[Sequence[int]], right: Sequence[int]) -> tuple[list[int], int]:
    """Solve a regular square integer system exactly: integers and the positive denominator of all of them."""
    import flint

    if not right:
        return [], 1
    solution = flint.fmpz_mat([list(row) for row in matrix]).solve(flint.fmpz_mat([[n] for n in right]))
    numerators, denominator = solution.numer_denom()
    return [int(value) for value in numerators.entries()], int(denominator)


def weighted_total(rows: Sequence[Sequence[int]], weights: Sequence[int]) -> list[int]:
    """Return ``Σ weightᵢ · rowᵢ``, column by column."""
    import flint

    if not rows or not rows[0]:
        return []
    total = flint.fmpz_mat([list(weights)]) * flint.fmpz_mat([list(row) for row in rows])
    return [int(value) for value in total.entries()]


def adds_up_to_zero(rows: Sequence[Sequence[int]], weights: Sequence[int]) -> bool:
    """Return whether ``Σ weightᵢ · rowᵢ`` is zero in every column."""
    return not any(weighted_total(rows, weights))


def null_space(matrix: Sequence[Sequence[int]], width: int) -> list[list[int]]:
    """Return integer vectors that span ``{v : matrix · v = 0}`` over the rationals."""
    import flint

    if not matrix:
        return [[int(i == j) for j in range(width)] for i in range(width)]
    used = [j for j in range(width) if any(row[j] for row in matrix)]
    unused = sorted(set(range(width)) - set(used))
    basis = [[int(i == j) for i in range(width)] for j in unused]
    if len(pivots(matrix)[1]) == len(used):  # the rank is certain: only unused columns are left
        return basis
    reduced, denominator, rank = flint.fmpz_mat([[row[j] for j in used] for row in matrix]).rref()
    leading = _leading(reduced, rank)
    for free in sorted(set(range(len(used))) - set(leading)):
        vector = [0] * width
        vector[used[free]] = int(denominator)
        for i, lead in enumerate(leading):
            vector[used[lead]] = -int(reduced[i, free])
        basis.append(_primitive(vector))
    return basis


def _primitive(vector: list[int]) -> list[int]:
    import math

    divisor = math.gcd(*vector)
    return [value // divisor for value in vector] if divisor > 1 else vector


def exact_sqnorm(values: npt.NDArray[Any]) -> Fraction:
    """Return the sum of squares of floats, exactly.

    >>> exact_sqnorm(np.array([1.5, -0.25]))
    Fraction(37, 16)
    """
    m, e = mantissas(values)
    lowest = int(e.min(initial=0))
    pairs = zip(m.tolist(), (e - lowest).tolist(), strict=True)
    return Fraction(sum((a << b) ** 2 for a, b in pairs)) * Fraction(4) ** lowest


def floor_sqrt(value: Fraction) -> float:
    """Return the largest float we can whose square is at most ``value >= 0`` (0.0 below the float range)."""
    guess = _sqrt(value)
    while guess > 0 and (guess == float("inf") or Fraction(guess) ** 2 > value):
        guess = float(np.nextafter(guess, 0.0))
    return guess


def ceil_sqrt(value: Fraction) -> float:
    """Return the smallest float we can whose square is at least ``value >= 0`` (inf past the float range)."""
    guess = _sqrt(value)
    while guess != float("inf") and Fraction(guess) ** 2 < value:
        guess = float(np.nextafter(guess, np.inf))
    return guess


def _sqrt(value: Fraction) -> float:
    """Return the square root of a rational to float precision, whatever its size."""
    import math

    if value <= 0:
        return 0.0
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2 * 2
    scaled = value / (1 << shift) if shift >= 0 else value * (1 << -shift)
    try:
        return math.ldexp(math.sqrt(scaled), shift // 2)
    except OverflowError:
        return float("inf")
