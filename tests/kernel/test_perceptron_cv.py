"""``PerceptronCV``: scikit-learn's conventions, and the model that it trains is the one it chose."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import PerceptronCV, rules
from rosenblatt.learner.choice import Candidate

FEW = [Candidate(rules.PassiveAggressive(C=0.1)), Candidate(rules.Rosenblatt(), ("last",))]
RBF = Candidate(rules.PassiveAggressive(C=1.0), ("averaged",), kernel="rbf")


# As in SVC(probability=True).
DIFFERS = {"check_classifiers_train": "the most probable class can differ from the predicted one"}


@parametrize_with_checks(
    [PerceptronCV(), PerceptronCV(FEW, probability=True)],
    expected_failed_checks=lambda estimator: DIFFERS if estimator.probability else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_attributes_of_a_cv_estimator():
    X, y = load_iris(return_X_y=True)
    model = PerceptronCV(FEW).fit(X, y)
    assert model.best_params_ == model.choice_.best.options
    assert len(model.cv_results_["params"]) == 3
    best = model.cv_results_["mean_test_score"].max()
    assert best >= model.best_score_ >= best - model.cv_results_["std_test_score"].max()
    assert sorted(model.cv_results_["rank_test_score"]) == [1, 2, 3]
    expected = clone(model.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_a_ring_needs_more_than_a_line():
    X, y = make_circles(300, noise=0.1, factor=0.5, random_state=0)
    assert cross_val_score(PerceptronCV(), X, y, cv=3).mean() > 0.95
    model = PerceptronCV([*FEW, RBF], probability=True).fit(X, y)
    assert model.best_params_["kernel"] == "rbf"
    assert model.predict_proba(X).shape == (300, 2)


def test_sparse_rows_are_not_centred():
    X, y = load_iris(return_X_y=True)
    model = PerceptronCV(FEW).fit(csr_array(X), y)
    assert model.score(csr_array(X), y) > 0.85


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4), "groups"])
def test_folds_of_the_caller(cv):
    X, y = load_iris(return_X_y=True)
    if cv == "groups":
        cv = list(GroupKFold(3).split(X, y, groups=np.arange(150) % 10))
    model = PerceptronCV(FEW, cv=cv).fit(X, y)
    assert model.best_score_ > 0.8


def test_folds_that_leave_rows_out_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="cv must divide all rows into folds"):
        PerceptronCV(FEW, cv=TimeSeriesSplit(3)).fit(X, y)
