"""Gradient descent on the perceptron criterion."""

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.strategies import separable_data

from rosenblatt.linear.batch_perceptron import BatchPerceptron


def criterion(w, H, signs):
    right_by = signs * (H @ w)
    return -right_by[right_by <= 0].sum()


@settings(max_examples=30, deadline=None)
@given(data=separable_data(classes=st.just(2)), eta=st.sampled_from([0.1, 1.0]))
def test_it_descends_along_the_gradient_and_ends_in_time(data, eta):
    X, labels, U = data
    if np.unique(labels).size < 2:
        return
    clf = BatchPerceptron(eta=eta, max_iter=3000).fit(X, labels)
    H, signs = np.column_stack([np.ones(len(X)), X]), 2.0 * labels - 1.0
    path = clf.trajectory_[:, 0]
    for before, after in islice(pairwise(path), 20):
        wrong = signs * (H @ before) <= 0
        np.testing.assert_allclose(after - before, eta * (signs[wrong] @ H[wrong]), rtol=1e-9, atol=1e-9)
    assert clf.criterion_[-1] == pytest.approx(criterion(path[-1], H, signs), abs=1e-9)
    radius = np.linalg.norm(H, axis=1).max()
    margin = (signs * (H @ U[0])).min() / np.linalg.norm(U[0])
    assert clf.mistakes_.sum() <= clf.steps_at_most(len(X), radius, margin) * (1 + 1e-9)
    if clf.converged_:
        assert (clf.predict(X) == labels).all()


def test_sparse_weighted_and_several_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    dense, sparse = BatchPerceptron(max_iter=20).fit(X, y), BatchPerceptron(max_iter=20).fit(csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-9)
    assert dense.trajectory_.shape == (21, 3, 4)
    twice = BatchPerceptron(max_iter=20).fit(np.vstack([X, X[:10]]), np.append(y, y[:10]))
    weighted = BatchPerceptron(max_iter=20).fit(X, y, np.where(np.arange(60) < 10, 2.0, 1.0))
    np.testing.assert_allclose(twice.coef_, weighted.coef_, rtol=1e-9)
    assert not hasattr(BatchPerceptron(keep_trajectory=False).fit(X, y), "trajectory_")


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="eta must be above 0"):
        BatchPerceptron(eta=0.0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="max_iter must be"):
        BatchPerceptron(max_iter=0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"a whole number, 1 or more, got 2\.5"):
        BatchPerceptron(max_iter=2.5).fit([[0.0], [1.0]], [0, 1])
