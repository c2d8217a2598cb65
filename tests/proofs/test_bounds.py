"""Bounds hold for real perceptrons, and are the least of their kind."""

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.proofs import bound_of, hinge_bound, margin, mistake_bound, radius, separability
from rosenblatt.proofs.bounds import scaled_bound


def perceptron_mistakes(X, y, passes, fit_intercept=True):
    """Rosenblatt's rule over ±1 labels, in order; zero scores are mistakes."""
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    v, mistakes = np.zeros(rows.shape[1]), 0
    for _ in range(passes):
        for x, label in zip(rows, y, strict=True):
            if label * (v @ x) <= 0:
                v += label * x
                mistakes += 1
    return mistakes


def joint_mistakes(X, y, k, passes):
    rows = np.column_stack([X, np.ones(len(X))])
    W, mistakes = np.zeros((k, rows.shape[1])), 0
    for _ in range(passes):
        for x, label in zip(rows, y, strict=True):
            scores = W @ x
            rival = max((c for c in range(k) if c != label), key=lambda c: scores[c])
            if scores[label] <= scores[rival]:
                W[label] += x
                W[rival] -= x
                mistakes += 1
    return mistakes


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_for_the_perceptron(seed):
    rng = np.random.default_rng(seed)
    n, d, passes = int(rng.integers(5, 80)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3)
    y = np.where(X[:, 0] + rng.standard_normal(n) * rng.choice([0.0, 1.0]) > 0, 1, -1)
    y[:2] = [1, -1]
    fit_intercept = bool(seed % 2)
    mistakes = perceptron_mistakes(X, y, passes, fit_intercept)
    best = hinge_bound(X, y, fit_intercept, passes)
    assert mistakes <= best.bound
    again = mistake_bound(X, y, best.w, best.b, fit_intercept=fit_intercept, passes=passes)
    if best.kind == again.kind:
        assert again.bound == pytest.approx(best.bound, rel=1e-6)
    other = rng.standard_normal(d)
    assert (
        mistakes
        <= mistake_bound(X, y, other, 0.3 * fit_intercept, fit_intercept=fit_intercept, passes=passes).bound
    )


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_for_three_classes(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    y = np.argmax(X + rng.standard_normal((60, 3)) * (seed % 2), axis=1)
    data = sp.csr_array(X) if seed % 3 else X
    best = hinge_bound(data, y, passes=2)
    assert joint_mistakes(X, y, 3, 2) <= best.bound
    assert best.radius == pytest.approx(np.sqrt(2 * (np.square(X).sum(axis=1) + 1).max()))


def test_hinge_bound_is_nearly_the_least():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(100) > 0, 1, -1)
    best = hinge_bound(X, y, tolerance=1e-6, max_iter=3000)
    R = radius(X)
    for _ in range(300):
        w = best.w + 0.2 * rng.standard_normal(2) * np.linalg.norm(best.w)
        b = best.b + 0.1 * rng.standard_normal()
        m = y * (X @ w + b)
        assert R**2 * (w @ w + b * b) + 2 * np.maximum(0, 1 - m).sum() >= best.bound * (1 - 1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_bound_of_is_the_least_over_all_scales(seed):
    rng = np.random.default_rng(seed)
    m = rng.standard_normal(30) + rng.choice([-1.0, 0.0, 1.0])
    R, sqnorm, passes = 2.0, 3.0, int(rng.integers(1, 4))
    found = bound_of(m, sqnorm, R, passes)
    scales = np.concatenate([[0.0], np.logspace(-6, 6, 4000)])
    values = R**2 * scales**2 * sqnorm + 2 * passes * np.maximum(0, 1 - np.outer(scales, m)).sum(axis=1)
    assert found <= values.min() * (1 + 1e-12)
    assert found >= values.min() * (1 - 1e-2)


@pytest.mark.parametrize("kind", ["spread", "rounded", "few"])
@pytest.mark.parametrize("w_sqnorm", [1e-3, 1.0, 1e3, 1e5])
def test_the_search_among_many_margins_finds_what_a_sort_would(kind, w_sqnorm):
    rng = np.random.default_rng(7)
    m = rng.normal(0.7, 1.0, 20_000)
    m = {"spread": m, "rounded": np.round(4 * m) / 4, "few": rng.choice([2.0, 1.0, -1.0], m.size)}[kind]
    found, scale = scaled_bound(m, w_sqnorm, 1.0)

    def bound(s):
        return w_sqnorm * s * s + 2.0 * np.maximum(0.0, 1.0 - s * m).sum()

    assert found == pytest.approx(min(bound(scale), 2.0 * m.size))
    breakpoints = 1.0 / np.unique(m[m > 0])
    least = min(bound(s) for s in breakpoints[:: breakpoints.size // 500 + 1])
    assert found <= least * (1 + 1e-12)
    if found < 2.0 * m.size:  # convex: nowhere near is it less
        for near in (scale * (1 - 1e-4), scale * (1 + 1e-4)):
            assert bound(near) >= found * (1 - 1e-12)


@pytest.mark.parametrize(("margin", "radius"), [(1e308, 1.0), (1.0, 1e160), (5e-324, 1e160)])
def test_numbers_beyond_a_float_leave_a_bound_that_holds(margin, radius):
    m = np.append(np.full(3000, margin), -margin)
    assert scaled_bound(m, 1.0, radius, 2) == (4.0 * m.size, 0.0)


def test_bound_of_separated_data_is_novikoffs():
    assert bound_of([2.0, 4.0], 9.0, 10.0) == pytest.approx((10 * 3 / 2) ** 2)


def test_margin_and_radius_live_in_homogeneous_coordinates():
    X, y = np.array([[3.0, 4.0], [-3.0, -4.0]]), ["b", "a"]
    assert radius(X) == pytest.approx(np.sqrt(26))
    assert radius(X, fit_intercept=False) == 5.0
    assert margin(X, y, [3.0, 4.0], 0.0) == pytest.approx(5.0)
    assert margin(X, y, [3.0, 4.0], 1.0) == pytest.approx(24 / np.sqrt(26))
    assert margin(X, y, [-3.0, -4.0]) == pytest.approx(-5.0)
    proof = separability(X, y)
    assert margin(X, y, proof.w, proof.b) == pytest.approx(proof.margin)


def test_a_zero_hyperplane_has_no_margin():
    with pytest.raises(ValueError, match="all zero"):
        margin([[1.0]], [1], [0.0])
    with pytest.raises(ValueError, match="2 columns"):
        margin([[1.0, 2.0]], [1], [1.0])
