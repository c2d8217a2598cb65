"""Signs are those of exact rational arithmetic, at every scale."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.proofs.exact import ceil_sqrt, floor_sqrt, integers, mantissas, null_space, pivots, solve
from rosenblatt.proofs.signs import ExactVector, exact_signs, scores

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)


def truth(X, w, bias):
    """Sign and value by Fractions, the slow way."""
    out = []
    for row in np.asarray(X, dtype=np.float64).tolist():
        x = [Fraction(v) for v in row] + [Fraction(1)] * bias
        out.append(sum((a * b for a, b in zip(x, w, strict=True)), Fraction(0)))
    return out


def sign(value):
    return (value > 0) - (value < 0)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_signs_of_any_floats(data):
    d, n, bias = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)), data.draw(st.booleans())
    X = np.array(data.draw(st.lists(st.lists(FLOATS, min_size=d, max_size=d), min_size=n, max_size=n)))
    w = [Fraction(v) for v in data.draw(st.lists(FLOATS, min_size=d + bias, max_size=d + bias))]
    expected = truth(X, w, bias)
    for matrix in (X, sp.csr_array(X)):
        assert exact_signs(matrix, ExactVector.of(w, bias)).tolist() == [sign(v) for v in expected]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=4), st.lists(FLOATS, min_size=1, max_size=4))
def test_a_difference_of_floats_is_exact(pairs, values):
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    gap = ExactVector.difference(a, b, False)
    expected = [Fraction(x) - Fraction(y) for x, y in pairs]
    assert list(gap.values) == expected
    assert [Fraction(n, gap.denominator) for n in gap.numerators] == expected
    X = np.outer(np.array(values), np.ones(len(pairs)))
    assert exact_signs(X, gap).tolist() == [sign(v) for v in truth(X, expected, False)]


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-10, 1.0, 1e10, 1e150])
def test_near_ties_at_every_scale(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * scale
    w = rng.standard_normal(6)
    X[:, 5] = -(X[:, :5] @ w[:5]) / w[5]  # scores are rounding noise
    X[::3, 5] = np.nextafter(X[::3, 5], np.inf)
    exact = ExactVector.of(w, False)
    expected = truth(X, exact.values, False)
    assert exact_signs(X, exact).tolist() == [sign(v) for v in expected]
    scored = scores(X, exact)
    unit = Fraction(2) ** exact.exponent
    for value, error, true in zip(scored.values.tolist(), scored.errors.tolist(), expected, strict=True):
        assert abs(Fraction(value) * unit - true) <= Fraction(error) * unit


def test_comparison_with_a_threshold_is_exact():
    rng = np.random.default_rng(1)
    X = rng.integers(-5, 6, (200, 3)).astype(float)
    w = ExactVector.of([Fraction(1, 3), Fraction(2), Fraction(-1, 7), Fraction(1)], True)
    sides = rng.choice([-1.0, 1.0], 200)
    true = [int(s) * v for s, v in zip(sides, truth(X, w.values, True), strict=True)]
    for threshold in (Fraction(0), true[0], true[1] + Fraction(1, 10**40), Fraction(-7, 3)):
        assert scores(X, w).compared(sides, threshold).tolist() == [sign(v - threshold) for v in true]


def test_rational_weights_beyond_floats():
    X = np.array([[1.0, 1.0], [1.0, -1.0]])
    w = ExactVector.of([Fraction(1), Fraction(-1) + Fraction(1, 10**60)], False)
    assert exact_signs(X, w).tolist() == [1, 1]
    assert scores(X, w).exactly([0]) == [Fraction(1, 10**60)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=1, max_size=4))
def test_floats_are_integers_times_powers_of_two(rows):
    A = np.array(rows)
    m, e = mantissas(A)
    for a, b, v in zip(m.ravel().tolist(), e.ravel().tolist(), A.ravel().tolist(), strict=True):
        assert Fraction(a) * Fraction(2) ** b == Fraction(v)
    whole = integers(A)
    for i, row in enumerate(whole.matrix):
        for j, value in enumerate(row):
            assert value * Fraction(2) ** (whole.rows[i] + whole.columns[j]) == Fraction(A[i, j])


def test_solves_ranks_and_null_spaces():
    matrix = [[1, 2, 3], [2, 4, 6], [1, 0, 1]]
    rows, columns = pivots(matrix)
    assert (rows, columns) == ([0, 2], [0, 1])
    assert solve([[2, 1], [1, 3]], [3, Fraction(1, 2)]) == [Fraction(17, 10), Fraction(-2, 5)]
    (vector,) = null_space(matrix, 3)
    assert all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in matrix)
    assert len(null_space([[0, 5, 0]], 3)) == 2


@pytest.mark.parametrize(
    "value", [Fraction(2), Fraction(1, 3), Fraction(10) ** 500, Fraction(1, 10**500), Fraction(0)]
)
def test_square_roots_are_rounded_to_the_safe_side(value):
    low, high = floor_sqrt(value), ceil_sqrt(value)
    assert Fraction(low) ** 2 <= value
    assert high == float("inf") or Fraction(high) ** 2 >= value
    if 0 < value < 10**300 and value > Fraction(1, 10**300):
        assert np.nextafter(low, np.inf) >= high
