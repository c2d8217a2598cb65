"""``PerceptronCV``: scikit-learn's conventions, and the model that it trains is the one it chose."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_circles
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import Perceptron, PerceptronCV, rules
from rosenblatt.kernel.perceptron_cv import RoundedScaler
from rosenblatt.learner import selection
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
    assert best >= model.best_score_ >= best - model.cv_results_["standard_error"].max()
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


@pytest.mark.parametrize(
    "scoring", ["f1_macro", "neg_log_loss", "roc_auc_ovr", make_scorer(accuracy_score), None], ids=str
)
def test_scorers_of_scikit_learn(scoring):
    X, y = load_iris(return_X_y=True)
    model = PerceptronCV(FEW, scoring=scoring).fit(X, y)
    assert np.isfinite(model.best_score_)
    assert model.best_score_ > (-0.5 if scoring == "neg_log_loss" else 0.8)
    assert (model.cv_results_["std_test_score"] >= 0.0).all()


def test_a_scorer_counts_what_it_should():
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    folds = StratifiedKFold(5)
    by_scorer = PerceptronCV(FEW, cv=folds, scoring=make_scorer(accuracy_score)).fit(X, y)
    by_name = PerceptronCV(FEW, cv=folds).fit(X, y)
    np.testing.assert_allclose(  # folds of equal size: the mean of the folds is that of the rows
        sorted(by_scorer.cv_results_["mean_test_score"]), sorted(by_name.cv_results_["mean_test_score"])
    )
    with pytest.raises(ValueError, match="nonsense"):
        PerceptronCV(FEW, scoring="nonsense").fit(X, y)


@pytest.mark.parametrize(
    ("scoring", "function"), [("accuracy", accuracy_score), ("balanced_accuracy", balanced_accuracy_score)]
)
def test_results_of_every_split_as_scikit_learn_has_them(scoring, function):
    X, y = load_wine(return_X_y=True)
    folds = list(StratifiedKFold(4).split(X, y))
    candidates = [Candidate(rules.PassiveAggressive(C=0.1), ("averaged",)), RBF]
    results = PerceptronCV(candidates, cv=folds, scoring=scoring).fit(X, y).cv_results_
    splits = np.array([results[f"split{k}_test_score"] for k in range(4)])
    by_scorer = PerceptronCV(candidates, cv=folds, scoring=make_scorer(function)).fit(X, y).cv_results_
    for i, params in enumerate(results["params"]):
        other = by_scorer["params"].index(params)
        assert results["param_rule"][i] == params["rule"]
        assert np.ma.is_masked(results["param_kernel"][i]) == ("kernel" not in params)
        np.testing.assert_allclose(splits[:, i], [by_scorer[f"split{k}_test_score"][other] for k in range(4)])
        np.testing.assert_allclose(results["std_test_score"][i], splits[:, i].std())
        if "kernel" not in params:
            model = make_pipeline(RoundedScaler(), Perceptron(rules.PassiveAggressive(C=0.1), random_state=0))
            np.testing.assert_allclose(splits[:, i], cross_val_score(model, X, y, cv=folds, scoring=scoring))


def test_n_jobs_limits_threads_and_changes_nothing(monkeypatch):
    X, y = make_circles(4000, noise=0.1, factor=0.5, random_state=0)
    limits = []
    original = selection.parts_of_work
    monkeypatch.setattr(selection, "parts_of_work", lambda n: limits.append(original(n)) or limits[-1])
    one, many = (PerceptronCV(FEW, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, None))
    assert 1 in limits
    np.testing.assert_array_equal(one.decision_function(X), many.decision_function(X))
    limits.clear()
    PerceptronCV(FEW, n_jobs=1).fit(X, y)
    assert set(limits) == {1}


def test_random_labels_show_nothing_outside_the_choice():
    """Standardisation and the choice are learned from the training part alone."""
    rng = np.random.default_rng(0)
    accuracies = [
        cross_val_score(
            PerceptronCV([*FEW, RBF]), rng.normal(size=(120, 8)), rng.permutation([0, 1] * 60), cv=3
        ).mean()
        for _ in range(8)
    ]
    assert abs(np.mean(accuracies) - 0.5) < 0.06
