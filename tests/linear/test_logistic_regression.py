"""Logistic regression, online and handed over."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

from rosenblatt.linear.logistic_regression import LogisticRegression


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_online_comes_near_the_batch_optimum(cancer):
    X, y = cancer
    online = LogisticRegression(max_iter=200, lam=0.01).fit(X, y)
    batch = LogisticRegression("batch", lam=0.01).fit(X, y)

    def objective(model):
        signs = 2.0 * y - 1.0
        loss = np.logaddexp(0.0, -signs * model.decision_function(X)).mean()
        return loss + 0.005 * (model.coef_**2).sum()

    assert objective(batch) <= objective(online) * (1 + 1e-6) <= objective(batch) * 1.05


def test_batch_is_scikit_learns(cancer):
    X, y = cancer
    ours, theirs = (
        LogisticRegression("batch", lam=0.1).fit(X, y),
        Theirs(C=1 / (0.1 * len(y)), max_iter=1000).fit(X, y),
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("solver", ["online", "batch"])
@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_are_probabilities_and_agree_with_the_prediction(solver, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.argmax(X @ rng.normal(size=(3, classes)), axis=1)
    clf = LogisticRegression(solver, lam=0.001).fit(X, y)
    proba = clf.predict_proba(X)
    assert proba.shape == (200, classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (clf.classes_[proba.argmax(axis=1)] == clf.predict(X)).all()


def test_the_step_is_the_probability_of_the_wrong_class():
    clf = LogisticRegression(eta=0.5, fit_intercept=False).partial_fit([[2.0]], [1], classes=[0, 1])
    assert clf.learner_.weights("last").tolist() == [[0.0, 0.5 * 0.5 * 2.0]]


def test_parameters_are_checked():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ValueError, match="solver must be"):
        LogisticRegression("newton").fit(X, y)
    with pytest.raises(ValueError, match="lam must be"):
        LogisticRegression(lam=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="max_iter must be"):
        LogisticRegression(max_iter=0).fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit"):
        LogisticRegression("batch").partial_fit(X, y)
