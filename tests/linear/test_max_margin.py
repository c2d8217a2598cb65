"""The largest margin, certified by its gap and compared with what others find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.strategies import separable_data

from rosenblatt import MaxMargin


@parametrize_with_checks([MaxMargin(C=1.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@settings(max_examples=40, deadline=None)
@given(data=separable_data(classes=st.just(2)))
def test_the_margin_is_the_largest_and_its_support_proves_it(data):
    X, labels, U = data
    if len(np.unique(labels)) < 2:
        return
    best = MaxMargin().fit(X, labels)
    signs = 2 * labels - 1
    hidden = (signs * (X @ U[0, 1:] + U[0, 0])).min() / np.linalg.norm(U[0, 1:])
    assert best.margin_ >= hidden * (1 - 1e-7)
    assert best.margin_ == pytest.approx((signs * best.distance(X)).min(), rel=1e-6)
    # The dual weights describe one point in each hull; no margin can exceed half their distance.
    weights, rows = best.dual_coef_ / best.dual_coef_.sum(), best.support_
    apart = (weights * signs[rows]) @ X[rows]
    assert abs((weights * signs[rows]).sum()) < 1e-6
    assert best.margin_ <= np.linalg.norm(apart) * (1 + 1e-6)
    assert best.margin_ + best.gap_ >= np.linalg.norm(apart) * (1 - 1e-6)


def test_it_agrees_with_a_support_vector_machine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    f = X @ [1.0, -2.0, 0.5] + 0.3
    X, y = X[np.abs(f) > 0.3], np.where(f > 0, "in", "out")[np.abs(f) > 0.3]
    theirs = SVC(C=1e10, kernel="linear", tol=1e-10).fit(X, y)
    for stored in (X, csr_array(X)):
        ours = MaxMargin().fit(stored, y)
        assert ours.margin_ == pytest.approx(1 / np.linalg.norm(theirs.coef_), rel=1e-5)
        assert ours.support_.tolist() == sorted(theirs.support_)
    y[:8] = "out"
    soft = LinearSVC(C=2.0, loss="hinge", dual=True, tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(MaxMargin(C=2.0).fit(X, y).coef_, soft.coef_, rtol=1e-4)


def test_data_without_a_hard_margin_name_the_rows_to_blame():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    with pytest.raises(ValueError, match="give C for a soft one"):
        MaxMargin().fit(X, y)
    assert MaxMargin(C=1.0).fit(X, y).predict([[0.5, 0.5]]).shape == (1,)


def test_save_and_load(tmp_path):
    model = MaxMargin(fit_intercept=False).fit([[1.0, 2.0], [-1.0, 1.0]], ["a", "b"])
    model.save(tmp_path / "m")
    back = MaxMargin.load(tmp_path / "m")
    assert back.get_params() == model.get_params()
    assert np.array_equal(back.coef_, model.coef_)


@pytest.mark.parametrize("C", [None, 1.0])
def test_the_margin_is_that_of_the_problem_and_the_same_on_the_same_data(C):
    X, y = [[3.0, 1.0], [4.0, 3.0], [1.0, 1.0], [0.0, 2.0]], [1, 1, 0, 0]
    best = MaxMargin(C).fit(X, y)
    assert best.margin_ == best.margin(X, y)
    assert (best.margin_ == pytest.approx(best.geometric_margin(X, y), rel=1e-9)) == (C is None)
