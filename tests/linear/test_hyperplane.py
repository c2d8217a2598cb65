"""A hyperplane by itself, and scikit-learn's linear models as hyperplanes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from rosenblatt.linear.hyperplane import Hyperplane, LinearFunction, as_hyperplane

MODELS = [
    LogisticRegression(max_iter=1000),
    LinearSVC(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_linear_model_keeps_its_predictions(model, classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model.fit(X, y)
    plane = as_hyperplane(model)
    np.testing.assert_allclose(plane.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert (plane.predict(X) == model.predict(X)).all()
    plane.save(tmp_path / "plane")
    assert (Hyperplane.load(tmp_path / "plane").predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("model", [LinearRegression(), Ridge()], ids=str)
def test_a_regression_keeps_its_predictions(model, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    function = as_hyperplane(model.fit(X, y))
    np.testing.assert_allclose(function.predict(X), model.predict(X))
    assert function.explain(X[0]).score == pytest.approx(model.predict(X[:1])[0])
    function.save(tmp_path / "line")
    np.testing.assert_allclose(LinearFunction.load(tmp_path / "line").predict(X), model.predict(X))


def test_scaling_changes_nothing_but_the_scores():
    plane = Hyperplane([3.0, -4.0], 2.0, ["no", "yes"])
    unit = plane.unit()
    X = np.array([[1.0, 0.5], [0.0, 0.5], [-3.0, 1.0]])
    assert np.linalg.norm(unit.coef_) == pytest.approx(1.0)
    np.testing.assert_allclose(unit.decision_function(X), plane.distance(X))
    assert (
        plane.predict(X, undecided="?").tolist()
        == unit.predict(X, undecided="?").tolist()
        == ["yes", "?", "no"]
    )


def test_what_is_no_hyperplane_says_so():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="GaussianNB has no coef_"):
        as_hyperplane(GaussianNB().fit(X, y))
    with pytest.raises(TypeError, match="SVC has no coef_"):
        as_hyperplane(SVC().fit(X, y))
    with pytest.raises(TypeError, match="predicts 2 targets"):
        as_hyperplane(LinearRegression().fit(X, X[:, :2]))
    with pytest.raises(ValueError, match="row"):
        Hyperplane([[1.0], [2.0]], 0.0, ["a", "b"])
    with pytest.raises(ValueError, match="coef is zero"):
        Hyperplane([0.0]).unit()


@pytest.mark.parametrize("intercept", [0.0, 2.0, -2.0])
def test_zero_weights_have_no_boundary(intercept):
    plane = Hyperplane([0.0, 0.0], intercept)
    X, y = [[1.0, 2.0], [-3.0, 0.0]], [1, 1]
    far = np.sign(intercept) * np.inf if intercept else 0.0
    assert plane.distance(X).tolist() == [far, far]
    assert plane.geometric_margin(X, y) == far
    assert plane.margin(X, y) == np.sign(intercept)


def test_classes_with_the_same_weights_have_no_boundary_between_them():
    plane = Hyperplane([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]], [0.0, 0.0, 0.0], classes=["a", "b", "c"])
    assert plane.distance([[2.0, 0.0], [-2.0, 0.0]]).tolist() == [0.0, 2.0]
