"""Largest and soft margins are certified by their gaps; slack and trace do what the theorems say."""

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.data import read_all
from rosenblatt.learner import Learner
from rosenblatt.proofs import (
    Feasible,
    Infeasible,
    Separable,
    Undecided,
    add_slack,
    hard_margin,
    margin,
    separability,
    slack_bound,
    soft_margin,
    solve_cone,
)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("penalise", [True, False])
def test_largest_margin_is_certified(seed, penalise):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 400)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) * 3
    w = rng.standard_normal(d)
    X += 0.3 * np.sign(X @ w + 0.2)[:, None] * w / np.linalg.norm(w)
    y = np.where(X @ w + 0.2 > 0, "up", "down")
    y[:2] = ["up", "down"]
    X[:2] = np.array([[4.0], [-4.0]]) * w / np.linalg.norm(w)
    best = hard_margin(sp.csr_array(X) if seed % 2 else X, y, penalise_intercept=penalise)
    signs = np.where(y == "up", 1, -1)
    norm = np.sqrt(best.w @ best.w + (best.b**2 if penalise else 0.0))
    attained = (signs * (X @ best.w + best.b)).min()
    assert attained == pytest.approx(1.0)
    assert attained / norm == pytest.approx(best.margin)
    assert best.gap <= 1e-6 * best.margin
    assert best.weights.sum() == pytest.approx(1.0)
    assert np.all(best.weights > 0)


def test_largest_margin_of_three_classes():
    rng = np.random.default_rng(0)
    centers = np.array([[6.0, 0.0], [-6.0, 1.0], [0.0, 7.0]])
    y = rng.integers(0, 3, 90)
    X = centers[y] + rng.standard_normal((90, 2))
    best = hard_margin(X, y)
    assert best.gap <= 1e-6 * best.margin
    assert margin(X, y, best.w, best.b) == pytest.approx(best.margin)
    proof = separability(X, y)
    assert isinstance(proof, Separable)
    assert proof.margin == pytest.approx(best.margin)


def test_no_hard_margin_names_the_culprits():
    with pytest.raises(
        ValueError, match=r"give C for a soft one\. Inseparable.*on row 0, .* and 1/4 on row 3"
    ):
        hard_margin([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])


def test_a_thin_margin_among_large_numbers_is_found():
    data = read_all("sample:breast-cancer")
    best = hard_margin(data.X, data.y, penalise_intercept=False)
    assert margin(data.X, data.y, best.w, best.b) == pytest.approx(best.margin, rel=1e-3)
    assert 0 < best.margin <= best.upper <= 1.01 * best.margin < 1e-4


def test_a_margin_too_thin_is_said_to_be_one():
    X, y = np.array([[1e8, 1.0], [1e8 + 2.0**-26, 1.0], [-3.0, 5e7]]), [0, 1, 1]
    assert isinstance(separability(X, y), Separable)
    with pytest.raises(ValueError, match="separable, by a margin too thin"):
        hard_margin(X, y, penalise_intercept=False)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_soft_margin_closes_its_gap(classes, C):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((120, 4))
    y = rng.integers(0, classes, 120)
    dense = soft_margin(X, y, C, tolerance=1e-4, max_iter=5000)
    assert dense.gap <= 1e-4 * dense.objective
    sparse = soft_margin(sp.csr_array(X), y, C, tolerance=1e-4, max_iter=5000)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-3)


def test_cone_programs():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((500, 6))
    A *= np.sign(A @ np.ones(6))[:, None]
    answer = solve_cone(A)
    assert isinstance(answer, Feasible)
    assert (A @ answer.w >= 1 - 1e-12).all()
    assert answer.verify(A)
    assert answer.verify(sp.csr_array(A))
    none = solve_cone(sp.csr_array(np.vstack([A, -A[:30]])))
    assert isinstance(none, Infeasible)
    assert none.verify(np.vstack([A, -A[:30]]))
    assert isinstance(solve_cone(rng.standard_normal((300, 6)), time_limit=0.0), Undecided)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("classes", [2, 3])
def test_slack_makes_any_data_separable_and_a_learner_finds_it(seed, classes):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 2))
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 24 - classes)])
    loose = add_slack(X, 1.0)
    proof = separability(loose, y)
    assert isinstance(proof, Separable)
    learner = Learner()
    learner.train(loose, y, max_iter=int(proof.bound) + 2)
    assert learner.converged
    assert learner.mistakes <= proof.bound


@pytest.mark.parametrize("seed", range(20))
def test_one_pass_over_imperfect_data_keeps_to_the_slack_bound(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 3))
    hidden = rng.standard_normal(3)
    y = np.where(X @ hidden + 0.7 * rng.standard_normal(120) > 0, 1, -1)
    plain, loose = Learner(), Learner()
    plain.learn(X, y)
    loose.learn(add_slack(X, 0.5), y)
    assert plain.mistakes == loose.mistakes  # the coordinate of an example is untouched when it first comes
    bounds = [slack_bound(X, y, hidden, gamma=gamma) for gamma in (0.1, 0.5, 1.0, 2.0, 4.0)]
    assert plain.mistakes <= min(bounds)
    assert min(bounds) < 40 * len(X)  # not a bound that says nothing at all
