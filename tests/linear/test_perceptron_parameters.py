"""The parameters that scikit-learn's Perceptron has, with their meaning there."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as Theirs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rosenblatt import KernelPerceptron, Perceptron, rules

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def test_every_parameter_attribute_and_method_of_theirs_is_there():
    theirs, ours = (set(inspect.signature(each).parameters) for each in (Theirs, Perceptron))
    assert theirs <= ours
    fit = inspect.signature(Perceptron.fit).parameters
    assert set(inspect.signature(Theirs.fit).parameters) <= set(fit)
    fitted = Perceptron().fit(*IRIS)
    public = {name for name in dir(Theirs().fit(*IRIS)) if not name.startswith("_")}
    assert not {name for name in public - {"loss_functions"} if not hasattr(fitted, name)} - {
        "C", "average", "epsilon", "learning_rate", "loss", "power_t",  # of stochastic gradient descent in general
    }  # fmt: skip
    assert fitted.t_ == 10 * 150 + 1
    assert Perceptron(max_iter=10).fit(*IRIS).n_iter_ == 10


# Stopping


def test_tol_stops_when_the_loss_no_longer_falls():
    X, y = load_digits(return_X_y=True)
    clf = Perceptron(tol=1e-3, max_iter=1000, hypothesis="last").fit(X, y)
    assert 5 < clf.n_iter_ < 1000
    patient = Perceptron(tol=1e-3, max_iter=1000, hypothesis="last", n_iter_no_change=20).fit(X, y)
    assert patient.n_iter_ >= clf.n_iter_ + 15 or patient.converged_
    impossible = Perceptron(tol=1e9, max_iter=50, n_iter_no_change=3).fit(X, y)
    assert impossible.n_iter_ == 4  # the first epoch improves on nothing


def test_a_run_that_stops_is_the_run_of_so_many_epochs():
    clf = Perceptron(tol=0.5, max_iter=100).fit(*CANCER)
    same = Perceptron(max_iter=clf.n_iter_).fit(*CANCER)
    assert np.array_equal(clf.coef_, same.coef_)
    assert clf.mistake_bound_ == same.mistake_bound_


def test_a_warning_where_tol_is_not_reached_and_only_there():
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration reached"):
        Perceptron(tol=1e-3, max_iter=2).fit(*CANCER)
    separable = [[1.0], [2.0], [-1.0], [-2.0]], [1, 1, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Perceptron(max_iter=2).fit(*CANCER)
        Perceptron(tol=1e-3, max_iter=1000).fit(*CANCER)
        assert Perceptron(tol=1e-3, max_iter=10).fit(*separable).converged_  # a clean epoch
        Perceptron(early_stopping=True, max_iter=2).fit(*CANCER)


def test_early_stopping_holds_out_a_stratified_part():
    X, y = load_digits(return_X_y=True)
    clf = Perceptron(early_stopping=True, max_iter=200, validation_fraction=0.25).fit(X, y)
    assert clf.n_iter_ < 200
    assert clf.clock_ == clf.n_iter_ * int(0.75 * len(y))
    again = Perceptron(early_stopping=True, max_iter=200, validation_fraction=0.25).fit(X, y)
    assert np.array_equal(again.coef_, clf.coef_)
    other = Perceptron(early_stopping=True, max_iter=200, validation_fraction=0.25, random_state=1).fit(X, y)
    assert not np.array_equal(other.coef_, clf.coef_)
    weighted = Perceptron(early_stopping=True, class_weight="balanced").fit(X, y, np.full(len(y), 2.0))
    assert weighted.score(X, y) > 0.8
    with pytest.raises(ValueError, match="early_stopping holds out"):
        Perceptron(early_stopping=True).partial_fit(X, y)
    with pytest.raises(ValueError, match="least populated class"):
        Perceptron(early_stopping=True).fit([[0.0], [1.0]], [0, 1])


def test_stopping_is_saved_with_the_model(tmp_path):
    clf = Perceptron(tol=0.5, n_iter_no_change=2, early_stopping=True, max_iter=50).fit(*CANCER)
    clf.save(tmp_path / "m")
    back = Perceptron.load(tmp_path / "m")
    assert (back.tol, back.n_iter_no_change, back.early_stopping) == (0.5, 2, True)
    assert np.array_equal(back.fit(*CANCER).coef_, clf.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": float("nan")}, "tol must be a number or None"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number, 1 or more"),
        ({"validation_fraction": 1.0}, "validation_fraction must be in"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"eta": 0.5, "eta0": 1.0}, "eta=0.5 and eta0=1.0 are names of one learning rate"),
        ({"penalty": "l1"}, r"penalty='l1' is not available.*SelectFromModel"),
        ({"penalty": "l2", "rule": "arow"}, "penalty='l2' works with the rules"),
        ({"penalty": "l2", "alpha": -1.0}, "lam must be zero or more"),
    ],
)
def test_parameters_are_checked_with_the_way_out(parameters, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**parameters).fit(*IRIS)


# Steps


def test_eta0_is_eta_and_scales_the_weights():
    one, ten = (Perceptron(eta0=eta0, hypothesis="last").fit(*IRIS) for eta0 in (1.0, 16.0))
    assert np.array_equal(16.0 * one.coef_, ten.coef_)
    assert np.array_equal(one.coef_, Perceptron(hypothesis="last").fit(*IRIS).coef_)
    assert Perceptron(eta0=0.5, rule="margin").resolved_rule() == rules.Margin(0.5)


def test_l2_shrinks_as_their_steps_do():
    X, y = CANCER
    X, y = StandardScaler().fit_transform(X), (y > 0).astype(int)
    parameters = {"penalty": "l2", "alpha": 0.01, "eta0": 0.5, "max_iter": 3, "tol": None, "shuffle": False}
    ours = Perceptron(hypothesis="last", fit_intercept=False, **parameters).fit(X, y)
    theirs = Theirs(fit_intercept=False, **parameters).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.learner_.rule == rules.NORMA(0.5, 0.01)
    assert Perceptron("pegasos", penalty="l2", alpha=0.1).resolved_rule() == rules.Pegasos(0.1)


def test_threads_change_nothing_but_time():
    X, y = load_digits(return_X_y=True)
    one, all_cores = (Perceptron(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, -1))
    assert np.array_equal(one.coef_, all_cores.coef_)


def test_sparsify_changes_the_container_of_the_weights_alone():
    X, y = IRIS
    clf = Perceptron().fit(X, y)
    dense, predicted, distance = clf.coef_, clf.predict(X), clf.distance(X)
    assert issparse(clf.sparsify().coef_)
    assert np.array_equal(clf.coef_.toarray(), dense)
    assert np.array_equal(clf.predict(X), predicted)
    assert np.array_equal(clf.distance(X), distance)
    assert np.array_equal(clf.densify().coef_, dense)
    assert not issparse(clf.sparsify().fit(X, y).coef_)
    assert not hasattr(clf.use("voted"), "sparsify")


# Parameters of the rule


@pytest.mark.parametrize("model", [Perceptron, KernelPerceptron])
def test_the_parameters_of_a_rule_are_parameters_of_the_estimator(model):
    clf = model(rule="passive-aggressive")
    assert clf.get_params()["rule__C"] == 1.0
    assert "rule__C" not in clf.get_params(deep=False)
    assert clf.set_params(**clf.get_params()).rule == "passive-aggressive"
    assert clf.set_params(rule__C=0.1).rule == rules.PassiveAggressive(0.1)
    assert clone(clf).rule == rules.PassiveAggressive(0.1)
    both = model().set_params(rule__lam=0.5, rule="pegasos", max_iter=3)
    assert (both.rule, both.max_iter) == (rules.Pegasos(0.5), 3)
    assert model(rule="margin", eta=0.5).set_params(rule__beta=2.0).rule == rules.Margin(0.5, 2.0)
    with pytest.raises(ValueError, match=r"Invalid parameter 'D' for rule PassiveAggressive.*\['C'\]"):
        clf.set_params(rule__D=1.0)
    assert model(rule="unknown").get_params()["rule"] == "unknown"  # refused by fit, not here


def test_a_grid_over_a_rule_in_a_pipeline_is_searched():
    pipeline = make_pipeline(StandardScaler(), Perceptron("passive-aggressive"))
    grid = {"perceptron__rule__C": [1e-9, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(*CANCER)
    assert search.best_params_["perceptron__rule__C"] == search.best_estimator_[-1].rule.C
    scores = search.cv_results_["mean_test_score"]
    assert scores.min() > 0.9


def test_metadata_is_routed_to_fit_and_partial_fit():
    X, y = CANCER
    weight = np.where(y == 1, 1.0, 3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = Perceptron().set_fit_request(sample_weight=True).set_partial_fit_request(classes=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, clf).fit(X, y, sample_weight=weight)
    direct = Perceptron().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert np.array_equal(routed[-1].coef_, direct.coef_)
