"""``predict_proba`` of estimators: what it is fitted on, how it stays current, and where it is stored."""

import pickle

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import BatchPerceptron, ClosestCentroid, KernelPerceptron, MaxMargin, Perceptron, rules
from rosenblatt.learner.calibration import fit_calibration
from rosenblatt.learner.examples import checked_examples
from rosenblatt.learner.selection import Trial, content_folds, out_of_fold

MODELS = [
    Perceptron(),
    Perceptron("arow", hypothesis="last"),
    Perceptron(hypothesis="voted"),
    KernelPerceptron("rbf"),
    KernelPerceptron("rbf", normalise=True),
    BatchPerceptron(max_iter=50),
    MaxMargin(C=1.0, tol=1e-3),
    ClosestCentroid(),
]


def table(classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :classes] + rng.normal(size=(n, classes)), axis=1)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_model_has_probabilities_where_asked(model, classes, tmp_path):
    X, y = table(classes)
    assert not hasattr(model, "predict_proba")
    model = pickle.loads(pickle.dumps(model)).set_params(probability=True).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities)
    labels = np.searchsorted(model.classes_, y)
    chance = -np.log(np.bincount(labels) / labels.size)[labels].mean()
    assert log_loss(y, probabilities) < chance
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = type(model).load(path)
    assert again.probability
    np.testing.assert_allclose(again.predict_proba(X), probabilities)
    with pytest.raises(AttributeError, match="predict_proba"):
        model.set_params(probability=False).fit(X, y).predict_proba  # noqa: B018


def test_they_are_fitted_on_out_of_fold_scores():
    X, y = table(3)
    model = Perceptron(probability=True).fit(X, y)
    examples = checked_examples(X, y)
    folds = content_folds(examples.X, examples.labels, 5)
    scores = out_of_fold(examples, folds, Trial(model._new_learner, ("averaged",), model.n_iter_))
    expected = fit_calibration(scores.normalised, examples.labels)
    np.testing.assert_array_equal(model.calibration_.slope, expected.slope)


def test_another_hypothesis_has_no_probabilities():
    X, y = table()
    model = Perceptron(probability=True).fit(X, y)
    with pytest.raises(ValueError, match="fitted for 'averaged', not for 'last'"):
        model.use("last").predict_proba(X)


def test_partial_fit_keeps_them_current():
    X, y = table(n=2000)
    model = Perceptron(probability=True)
    with pytest.raises(ValueError, match="there are no probabilities yet"):
        model.partial_fit(X[:10], y[:10]).predict_proba(X)
    for a in range(10, 1000, 30):
        model.partial_fit(X[a : a + 30], y[a : a + 30])
    fitted = Perceptron(probability=True).fit(X[:1000], y[:1000])
    streamed, batch = (log_loss(y[1000:], each.predict_proba(X[1000:])) for each in (model, fitted))
    assert streamed < batch + 0.05
    before = fitted.calibration_
    fitted.partial_fit(X[1000:1500], y[1000:1500])
    fitted.predict_proba(X)
    assert fitted.calibration_ is not before


def test_probabilities_change_no_weights():
    X, y = table(3)
    np.testing.assert_array_equal(
        Perceptron().fit(X, y).coef_, Perceptron(probability="venn-abers").fit(X, y).coef_
    )


@pytest.mark.parametrize("wrong", ["isotonic", 2, None.__class__])
def test_a_wrong_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="probability must be"):
        Perceptron(probability=wrong).fit(*table())


def test_log_loss_is_no_worse_than_that_of_logistic_regression():
    ours, theirs, calibrated = [], [], []
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        for losses, model in (
            (ours, Perceptron(rules.PassiveAggressive(C=0.1), probability=True)),
            (theirs, LogisticRegression(max_iter=1000)),
            (calibrated, CalibratedClassifierCV(TheirPerceptron())),
        ):
            scaled = make_pipeline(StandardScaler(), model)
            losses.append(log_loss(y, cross_val_predict(scaled, X, y, method="predict_proba")))
    assert np.mean(ours) <= np.mean(theirs)
    assert np.mean(ours) < np.mean(calibrated)


# The most probable class can differ from the predicted one, as in SVC(probability=True).
DIFFERS = {"check_classifiers_train": "the most probable class can differ from the predicted one"}


@parametrize_with_checks(
    [Perceptron(probability=True), MaxMargin(C=1.0, tol=1e-3, probability=True)],
    expected_failed_checks=lambda estimator: DIFFERS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
