"""From floats to exact contradictions: the point of least norm, and the weights that are made exact from it."""

from fractions import Fraction

import numpy as np
import pytest

from rosenblatt.proofs import Inseparable, separability
from rosenblatt.proofs.exact import exact_sqnorm, solve_integers
from rosenblatt.proofs.examples import as_examples
from rosenblatt.proofs.loops.min_norm_point import LISTED, min_norm_point
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.combination import exact_combination
from rosenblatt.proofs.solvers.cone import Cone


def unit_rows(seed, n, d, shift):
    P = np.random.default_rng(seed).standard_normal((n, d))
    P[:, 0] += shift
    return P / np.linalg.norm(P, axis=1)[:, None]


def least_norm(P, support=(), weights=()):
    capacity = min(len(P), P.shape[1] + 1) + 1
    ids, lambdas = np.zeros(capacity, dtype=np.int64), np.zeros(capacity)
    ids[: len(support)], lambdas[: len(support)] = support, weights
    n, r, _, _ = min_norm_point(P, ids, lambdas, len(support), (20 * (P.shape[1] + 10), 1e-10))
    return ids[:n], lambdas[:n], r


@pytest.mark.parametrize("n", [10, LISTED, 20 * LISTED])
@pytest.mark.parametrize("shift", [0.0, 1.0, 6.0])
def test_the_point_of_least_norm_meets_its_optimality_conditions(n, shift):
    for seed in range(10):
        P = unit_rows(seed, n, 2 + seed, shift)
        ids, weights, r = least_norm(P)
        assert len(set(ids.tolist())) == len(ids)
        assert (weights >= 0).all()
        columns = np.vstack([np.ones(len(ids)), P[ids].T])
        expected = np.eye(1, P.shape[1] + 1).ravel() - columns @ weights
        assert np.allclose(r, expected, atol=1e-12)
        assert (r[0] + P @ r[1:]).max() <= 1e-9  # no row left that would bring the point nearer
        assert np.allclose((r[0] + P @ r[1:])[ids], 0.0, atol=1e-12)


def test_a_warm_start_ends_at_the_same_point():
    P = unit_rows(3, 500, 12, 4.0)
    ids, weights, r = least_norm(P)
    again = least_norm(P, ids[::2], weights[::2])
    assert np.allclose(r, again[2], atol=1e-10)


def contradiction(A, guesses):
    cone = Cone(as_examples(np.asarray(A), np.ones(len(A), dtype=np.int64), False))
    return exact_combination(cone, np.arange(len(A)), np.asarray(guesses, dtype=np.float64), Clock(None))


def test_rows_whose_guess_is_noise_are_left_out():
    found = contradiction([[1.0, 0.0], [-3.0, 0.0], [0.1, 1.0]], [0.75, 0.25, 1e-17])
    assert found.ids.tolist() == [0, 1]
    assert found.weights == [Fraction(3, 4), Fraction(1, 4)]


def test_a_weight_that_only_looks_like_noise_is_found():
    tiny = 2.0**-50
    found = contradiction([[1.0, 0.0], [-1.0, tiny], [0.0, -1.0]], [0.5, 0.5, tiny / 2])
    assert found.ids.tolist() == [0, 1, 2]
    total = 2 + Fraction(tiny)
    assert found.weights == [1 / total, 1 / total, Fraction(tiny) / total]


def test_weights_that_the_equations_leave_free_stay_near_their_guesses():
    rows = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    found = contradiction(rows, [0.3, 0.3, 0.2, 0.2])
    assert sum(found.weights) == 1
    assert [float(weight) for weight in found.weights] == pytest.approx([0.3, 0.3, 0.2, 0.2], abs=1e-5)
    for column in zip(*rows, strict=True):
        signed = zip(found.ids.tolist(), found.weights, strict=True)
        assert sum(weight * Fraction(column[i]) for i, weight in signed) == 0


def test_no_weights_where_there_is_no_contradiction():
    assert contradiction([[1.0, 0.0], [-1.0, 1e-9], [1.0, 1.0]], [0.5, 0.5, 1e-13]) is None
    assert contradiction([[1.0, 0.0]], [0.0]) is None


def test_floats_of_all_their_digits_and_columns_used_by_one_row_only():
    rng = np.random.default_rng(0)
    X = np.zeros((240, 60))
    for i in range(240):
        used = rng.choice(30, 12, replace=False)
        X[i, used] = rng.integers(1, 256, 12) / 255
        X[i, 30 + i % 30] = (i < 30) * 0.1  # each of these columns holds one value
    y = rng.integers(0, 2, 240)
    proof = separability(X, y, touching=False)
    assert isinstance(proof, Inseparable)
    assert min(proof.culprits) >= 30  # a row alone in a column is in no contradiction
    assert proof.verify(X, y)


def test_integer_solutions_share_one_positive_denominator():
    numerators, denominator = solve_integers([[2, 1], [1, -3]], [1, 1])
    assert (numerators, denominator) == ([4, -1], 7)
    assert solve_integers([], []) == ([], 1)


def test_sums_of_squares_are_exact_at_both_ends_of_the_float_range():
    values = np.array([1e300, 5e-324, -0.1])
    assert exact_sqnorm(values) == sum(Fraction(value) ** 2 for value in values.tolist())
    assert exact_sqnorm(np.zeros(0)) == 0
