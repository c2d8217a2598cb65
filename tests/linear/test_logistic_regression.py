"""Logistic regression, in batch and online."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rosenblatt.export.form import form_of
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.linear.logistic_regression import LogisticRegression

SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def scaled(**parameters):
    """Return scikit-learn's, with a scaler before it."""
    return make_pipeline(StandardScaler(), Theirs(max_iter=1000, **parameters))


@pytest.mark.parametrize("name", SETS)
def test_batch_gives_the_probabilities_of_scikit_learns_behind_a_scaler(name):
    X, y = SETS[name](return_X_y=True)
    for parameters in ({}, {"C": 0.01}, {"class_weight": "balanced"}):
        ours, theirs = LogisticRegression(**parameters).fit(X, y), scaled(**parameters).fit(X, y)
        if not parameters.get("class_weight"):  # the scaler there knows no class weights
            np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        assert abs(ours.score(X, y) - theirs.score(X, y)) <= 0.005
    folds = [cross_val_score(each, X, y).mean() for each in (LogisticRegression(), scaled())]
    assert abs(folds[0] - folds[1]) <= 0.005


@pytest.mark.parametrize("name", SETS)
def test_batch_does_not_depend_on_the_scale_of_columns(name):
    X, y = SETS[name](return_X_y=True)
    rng = np.random.default_rng(0)
    factor = 10.0 ** rng.choice([-4, 4], X.shape[1])
    shift = 100.0 * X.std(axis=0) * factor * rng.choice([-1, 1], X.shape[1])
    plain, other = LogisticRegression().fit(X, y), LogisticRegression().fit(X * factor + shift, y)
    scores, moved = plain.decision_function(X), other.decision_function(X * factor + shift)
    np.testing.assert_allclose(moved, scores, atol=1e-6 * np.abs(scores).max())
    assert np.array_equal(other.predict(X * factor + shift), plain.predict(X))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_are_scaled_and_give_the_dense_model(fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(400, 12)) * (rng.random((400, 12)) < 0.3) * 10.0 ** np.arange(-6, 6)
    y = np.argmax((X / X.std(axis=0)) @ rng.normal(size=(12, 3)), axis=1)
    dense, sparse = (
        LogisticRegression(tol=1e-8, fit_intercept=fit_intercept).fit(rows, y) for rows in (X, csr_array(X))
    )
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(sparse.predict_proba(csr_array(X)), dense.predict_proba(X), atol=1e-5)
    assert fit_intercept or not sparse.intercept_.any()


def test_a_weight_of_two_is_the_row_twice(cancer):
    X, y = cancer
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = LogisticRegression().fit(X, y, sample_weight=weight)
    repeated = LogisticRegression().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_columns_that_are_constant_and_rows_that_are_few_are_no_obstacle():
    X, y = np.array([[1e8, 0.0], [1e8, 1.0]]), ["a", "b"]
    clf = LogisticRegression().fit(X, y)
    assert clf.predict(X).tolist() == y
    assert np.isfinite(clf.coef_).all()
    constant = LogisticRegression().fit(np.ones((4, 2)), [0, 1, 1, 1])
    np.testing.assert_allclose(constant.predict_proba([[1.0, 1.0]]), [[0.25, 0.75]], atol=1e-3)


def test_the_solver_says_where_it_did_not_converge(cancer):
    with pytest.warns(ConvergenceWarning):
        LogisticRegression(max_iter=2).fit(*cancer)


def test_online_comes_near_the_batch_optimum(cancer):
    X, y = cancer
    online = LogisticRegression("online", max_iter=200, lam=0.01).fit(X, y)
    batch = LogisticRegression(C=1 / (0.01 * len(y))).fit(X, y)

    def objective(model):
        signs = 2.0 * y - 1.0
        loss = np.logaddexp(0.0, -signs * model.decision_function(X)).mean()
        return loss + 0.005 * (model.coef_**2).sum()

    assert objective(batch) <= objective(online) * (1 + 1e-6) <= objective(batch) * 1.05


@pytest.mark.parametrize("solver", ["online", "batch"])
@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_are_probabilities_and_agree_with_the_prediction(solver, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.argmax(X @ rng.normal(size=(3, classes)), axis=1)
    clf = LogisticRegression(solver).fit(X, y)
    proba = clf.predict_proba(X)
    assert proba.shape == (200, classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (clf.classes_[proba.argmax(axis=1)] == clf.predict(X)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_partial_fit_continues_online_from_the_weights_of_a_batch_fit(classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    clf = LogisticRegression(eta=1e-9).fit(X, y)
    before, scores = clf.coef_.copy(), clf.decision_function(X)
    clf.save(tmp_path / "m")
    back = LogisticRegression.load(tmp_path / "m")
    for model in (clf, back):
        assert isinstance(model.learner_, FixedWeights)
        model.partial_fit(X, y)
        np.testing.assert_allclose(model.coef_, before, atol=1e-5)  # with so small a rate it stays there
        np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-4)
    assert np.array_equal(back.coef_, clf.coef_)
    free = LogisticRegression().fit(X, y)
    for _ in range(3):
        free.partial_fit(X, y)
    assert free.score(X, y) > 0.6
    assert free.predict_proba(X).shape == (len(y), classes)


def test_partial_fit_alone_is_online_whatever_the_solver():
    X, y = load_iris(return_X_y=True)
    batch, online = (LogisticRegression(solver).partial_fit(X, y) for solver in ("batch", "online"))
    assert np.array_equal(batch.coef_, online.coef_)


def test_weights_of_raw_columns_are_saved_and_exported(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = LogisticRegression(C=2.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        X @ clf.coef_.T + clf.intercept_, clf.decision_function(X), rtol=1e-9, atol=1e-9
    )
    clf.save(tmp_path / "m")
    back = LogisticRegression.load(tmp_path / "m")
    assert (back.C, back.tol, back.solver) == (2.0, 1e-6, "batch")
    assert np.array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert np.array_equal(form_of(clf).weights, clf.coef_)
    assert clone(clf).get_params() == clf.get_params()


def test_the_step_is_the_probability_of_the_wrong_class():
    clf = LogisticRegression(eta=0.5, fit_intercept=False).partial_fit([[2.0]], [1], classes=[0, 1])
    assert clf.learner_.weights("last").tolist() == [[0.0, 0.5 * 0.5 * 2.0]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "newton"}, "solver must be"),
        ({"solver": "online", "lam": -1.0}, "lam must be"),
        ({"lam": 0.1}, r"lam=0.1 is of solver='online'.*give C"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"C": 0.0}, "C must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"penalty": "l1"}, r"penalty must be 'l2' or None.*l1_ratio=1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_balanced_weights_need_all_labels():
    with pytest.raises(ValueError, match="needs all labels at once"):
        LogisticRegression(class_weight="balanced").partial_fit([[0.0], [1.0]], [0, 1])
