"""Perceptron with scikit-learn's manners."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.strategies import separable_data

from rosenblatt import ClosestCentroid, Perceptron, proof_trace, rules
from rosenblatt.core.hypotheses import NAMES


@parametrize_with_checks(
    [
        Perceptron(),
        Perceptron(hypothesis="voted"),
        Perceptron("passive-aggressive", multi_class="ovr", hypothesis="last", keep_ledger=False),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_it_works_in_a_pipeline_a_search_a_calibration_and_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), Perceptron())
    search = GridSearchCV(
        model, {"perceptron__rule": ["rosenblatt", "margin"], "perceptron__max_iter": [2, 5]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.93
    proba = CalibratedClassifierCV(model, cv=3).fit(X, y).predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert (cross_val_predict(model, X, y, cv=3) == y).mean() > 0.93


@pytest.mark.parametrize("container", [csr_array, csr_matrix, csc_array, coo_array])
def test_every_sparse_container_gives_the_same_model(container):
    X, y = load_iris(return_X_y=True)
    dense, sparse = Perceptron().fit(X, y), Perceptron().fit(container(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-9)
    assert np.array_equal(sparse.predict(container(X)), dense.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_names(frame):
    X, y = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    clf = Perceptron().fit(frame({name: X[:, k] for k, name in enumerate(names)}), y)
    assert clf.feature_names_in_.tolist() == names
    assert np.array_equal(clf.coef_, Perceptron().fit(X, y).coef_)


def test_any_hypothesis_predicts_without_training_again():
    X, y = load_iris(return_X_y=True)
    clf = Perceptron(max_iter=5).fit(X, y)
    learner = clf.learner_
    for name in NAMES:
        other = clf.use(name)
        assert other.learner_ is learner
        assert other.score(X, y) > 0.6
        assert other.hypothesis == name
    assert clf.hypothesis == "averaged"
    assert clf.use("voted").decision_function(X).min() >= 0.0
    with pytest.raises(AttributeError, match="no weights"):
        clf.use("voted").coef_  # noqa: B018
    with pytest.raises(ValueError, match="hypothesis must be one of"):
        clf.use("best")


def test_undecided_is_reported_where_the_score_is_exactly_zero():
    clf = Perceptron(fit_intercept=False).fit([[1.0], [-1.0]], ["yes", "no"])
    assert clf.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]
    assert clf.predict([[0.0], [1.0]], undecided="?").tolist() == ["?", "yes"]
    three = Perceptron(fit_intercept=False).fit([[1.0, 0], [-1, 0], [0, 1.0]], [1, 2, 3])
    assert three.predict([[0.0, 0.0]], undecided=-1).tolist() == [-1]


def test_distance_is_geometric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] + 0.3 > 0).astype(int)
    clf = Perceptron().fit(X, y)
    d = clf.distance(X)
    foot = X - d[:, None] * clf.coef_ / np.linalg.norm(clf.coef_)
    np.testing.assert_allclose(clf.decision_function(foot), 0.0, atol=1e-9)
    X, y = load_iris(return_X_y=True)
    clf = Perceptron().fit(X, y)
    d = clf.distance(X)
    assert (d >= 0).all()
    i = int(np.argmax(d))
    best = clf.decision_function(X[i : i + 1]).argmax()
    for c in set(range(3)) - {best}:
        w = clf.coef_[best] - clf.coef_[c]
        nearer = X[i] - 0.999 * d[i] * w / np.linalg.norm(w)
        assert clf.predict([nearer]) == clf.classes_[best]


@settings(max_examples=30, deadline=None)
@given(data=separable_data())
def test_the_two_lemmas_of_the_proof_hold_at_every_update(data):
    X, labels, U = data
    if len(np.unique(labels)) < max(2, len(U)):
        return
    clf = Perceptron(max_iter=30, eta=0.5).fit(X, labels, reference=(U[:, 1:], U[:, 0]))
    trace = clf.trace_
    assert all(
        np.array_equal(a, b) for a, b in zip(trace, proof_trace(clf, (U[:, 1:], U[:, 0])), strict=True)
    )
    assert (trace.dot >= trace.floor - 1e-7 * np.abs(trace.dot)).all()
    assert (trace.sqnorm <= trace.ceiling * (1 + 1e-9)).all()
    assert (trace.dot**2 <= trace.sqnorm * (1 + 1e-7) + 1e-9).all()
    if len(U) == 1:
        last = np.concatenate([clf.use("last").intercept_, clf.use("last").coef_[0]])
        np.testing.assert_allclose(trace.dot[-1], last @ U[0] / np.linalg.norm(U), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(trace.sqnorm[-1], last @ last, rtol=1e-7)


def test_class_weight_is_a_number_of_presentations():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 1.0).astype(int)
    weighted = Perceptron(class_weight={0: 1, 1: 3}).fit(X, y)
    repeated = Perceptron().fit(np.repeat(X, np.where(y, 3, 1), axis=0), np.repeat(y, np.where(y, 3, 1)))
    assert np.array_equal(weighted.coef_, repeated.coef_)
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(X, y)


def test_warm_start_goes_on():
    X, y = load_iris(return_X_y=True)
    once = Perceptron(max_iter=6).fit(X, y)
    twice = Perceptron(max_iter=3, warm_start=True).fit(X, y).fit(X, y)
    assert np.array_equal(once.coef_, twice.coef_)
    assert twice.mistakes_.size == 6
    assert twice.n_iter_ == 3


def test_save_load_and_resume(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = Perceptron(rules.PassiveAggressive(C=0.1), hypothesis="voted").fit(X, y)
    clf.save(tmp_path / "m.safetensors")
    back = Perceptron.load(tmp_path / "m.safetensors")
    assert np.array_equal(back.predict(X), clf.predict(X))
    assert back.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    assert back.get_params()["rule"] == rules.PassiveAggressive(C=0.1)
    assert np.array_equal(
        back.partial_fit(X, y).use("averaged").coef_, clf.partial_fit(X, y).use("averaged").coef_
    )


def test_partial_fit_takes_in_new_classes_with_or_without_naming_them():
    X, y = load_iris(return_X_y=True)
    unnamed = Perceptron()
    for c in range(3):
        unnamed.partial_fit(X[y == c], y[y == c])
    assert unnamed.classes_.tolist() == [0, 1, 2]
    named = Perceptron().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    named.partial_fit(X[y == 2], y[y == 2])
    assert named.classes_.tolist() == [0, 1, 2]
    assert named.coef_.shape == (3, 4)


def test_a_rule_of_ones_own_runs_compiled():
    from tests.linear.own_rule import Halved

    X, y = load_iris(return_X_y=True)
    mine = Perceptron(Halved()).fit(X, y)
    assert np.array_equal(mine.coef_, Perceptron(eta=0.5).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "max_iter"),
        ({"hypothesis": "best"}, "hypothesis"),
        ({"multi_class": "pairs"}, "multi_class"),
        ({"rule": "delta"}, "rule"),
        ({"eta": 0.0}, "eta"),
        ({"eta": np.inf}, "eta"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        Perceptron().fit([[1.0], [2.0]], ["a", "a"])


def test_verbose_shows_progress(capsys):
    Perceptron(verbose=1).fit([[1.0], [-1.0]], [1, 0])
    shown = capsys.readouterr()
    assert "mistakes" in shown.err
    assert not shown.out


@pytest.mark.parametrize("each", [Perceptron, ClosestCentroid])
def test_many_classes_that_have_many_rows_are_no_reason_to_warn(each):
    y = np.arange(130) % 26
    X = np.eye(26)[y]
    assert each().fit(X, y).classes_.size == 26
    assert each().partial_fit(X, y).classes_.size == 26
    with pytest.warns(UserWarning, match="unique classes is greater than 50%"):
        each().fit(X[:40], np.arange(40))


@pytest.mark.parametrize(
    ("y", "reason"),
    [([1, "a", 2.5], "expected all text, or all numbers"), ([None, "a", "b"], "y has no label in row 0")],
)
def test_labels_that_cannot_be_ordered_are_refused_by_name(y, reason):
    for learn in (Perceptron().fit, Perceptron().partial_fit, ClosestCentroid().fit):
        with pytest.raises(ValueError, match=reason):
            learn(np.eye(3), np.array(y, object))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_fit_that_is_refused_leaves_the_model_as_it_was(kind):
    X, y = np.array([[2.0, 1.0, 0.0], [-1.0, -1.0, 1.0]]), [1, 0]
    clf = Perceptron().fit(X, y)
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match="\nPerceptron does not accept missing values"):
        clf.fit(kind([[1.0, np.nan], [1.0, 1.0]]), y)
    with pytest.raises(ValueError, match="only one class"):
        clf.fit(kind([[1.0, 2.0], [1.0, 1.0]]), [1, 1])
    with pytest.raises(ValueError, match="X contains NaN"):
        Perceptron().fit(kind([[1.0, np.nan], [1.0, 1.0]]), y, sample_weight=[0.0, 1.0])
    assert clf.n_features_in_ == 3
    assert clf.predict(X).tolist() == y
    assert np.array_equal(clf.coef_, coef)


ALL_HYPOTHESES = ("last", "averaged", "survivor", "pocket", "random")


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_margin_of_the_training_is_the_margin_on_the_same_data(
    kind, dtype, multi_class, classes, fit_intercept
):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(80, 5)).astype(dtype)
    y = np.argmax(X @ rng.normal(size=(5, classes)) + rng.normal(0.0, 0.2, (80, classes)), axis=1)
    clf = Perceptron(multi_class=multi_class, fit_intercept=fit_intercept, max_iter=5).fit(kind(X), y)
    for hypothesis in ALL_HYPOTHESES:
        own = clf.use(hypothesis)
        assert own.margin_ == own.margin(kind(X), y), "the same number, not nearly"
        if classes == 2:
            w, b = own.coef_[0].astype(float), float(own.intercept_[0])
            scores = (2 * y - 1) * (X.astype(float) @ w + b)
            assert own.margin_ == pytest.approx(scores.min() / np.linalg.norm([b, *w]), rel=1e-4, abs=1e-6)
            assert own.geometric_margin(kind(X), y) == pytest.approx(
                scores.min() / np.linalg.norm(w), rel=1e-4, abs=1e-6
            )
    with pytest.raises(AttributeError, match="voted"):
        clf.use("voted").margin(X, y)


def test_repeated_indices_are_added_up_once_for_fit_and_margin():
    X = csr_array(([1.0, 3.0, 2.0, 3.0, -1.0], [0, 1, 1, 1, 0], [0, 3, 4, 5]), shape=(3, 2))
    assert not X.has_canonical_format
    y = [0, 1, 1]
    clf, dense = Perceptron(max_iter=3).fit(X, y), Perceptron(max_iter=3).fit(X.toarray(), y)
    assert np.array_equal(clf.coef_, dense.coef_)
    assert clf.margin_ == clf.margin(X, y) == pytest.approx(dense.margin_, rel=1e-12)
    assert X.nnz == 5, "the caller's matrix stays as it was"
    unsorted = csr_array(([3.0, 1.0, 2.0, 3.0, -1.0], [1, 0, 1, 1, 0], [0, 3, 4, 5]), shape=(3, 2))
    assert np.array_equal(Perceptron(max_iter=3).fit(unsorted, y).coef_, dense.coef_)


def test_an_invalid_sparse_matrix_is_refused_before_any_loop_reads_it():
    X = csr_array(([1.0, 3.0, 2.0], [0, 1, 1], [0, 1, 2, 3]), shape=(3, 2))
    X.indices[1] = 1_000_000_000
    with pytest.raises(ValueError, match="not a valid CSR matrix: row 1"):
        Perceptron().fit(X, [0, 1, 1])
    X.indices[1] = 1
    X.indptr[1:] = [3, 2, 3]
    with pytest.raises(ValueError, match="not a valid CSR matrix: row 1"):
        Perceptron().fit(X, [0, 1, 1])


@pytest.mark.parametrize("keep_ledger", [True, False])
def test_mistakes_of_earlier_fits_are_within_the_bound_or_there_is_none(keep_ledger):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    noise, y = rng.integers(0, 2, 400), (X[:, 0] > 0.0).astype(int)
    clf = Perceptron(warm_start=True, max_iter=20, keep_ledger=keep_ledger).fit(X, noise).fit(X, y)
    assert clf.n_mistakes_ > 3000
    batches = Perceptron(warm_start=True, max_iter=20, keep_ledger=keep_ledger)
    for _ in range(10):
        batches.partial_fit(X, noise)
    batches.fit(X, y)
    for model in (clf, batches):
        for hypothesis in ALL_HYPOTHESES if keep_ledger else ("last", "averaged"):
            assert model.n_mistakes_ <= model.use(hypothesis).mistake_bound_
    again = Perceptron(warm_start=True, max_iter=2).fit(X, noise).fit(X, noise)
    assert again.n_mistakes_ <= again.mistake_bound_ < np.inf


def test_examples_are_checked_once(monkeypatch):
    """Rows are read once for their norms, labels are encoded once, and the rule is resolved once."""
    from rosenblatt import rules as all_rules
    from rosenblatt.learner import examples
    from rosenblatt.linear import base

    calls = []

    def counted(name, function):
        return lambda *arguments, **options: (calls.append(name), function(*arguments, **options))[1]

    for module, name in (
        (base, "encoded"),
        (base, "canonical_matrix"),
        (base, "max_row_sqnorm"),
        (examples, "checked_labels"),
        (examples, "max_row_sqnorm"),
        (all_rules, "resolve"),
    ):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0]], ["in", "in", "out"]
    clf = Perceptron().fit(X, y)
    assert sorted(calls) == ["canonical_matrix", "encoded", "max_row_sqnorm", "resolve"]
    calls.clear()
    clf.partial_fit(X, y)
    assert sorted(calls) == ["canonical_matrix", "encoded", "max_row_sqnorm"]
