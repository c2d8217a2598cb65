"""Iterative parameter mixing: its bound, its average, and what one shard is."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from tests.engines.data import noisy, same_learner

from rosenblatt import LogisticRegression, Perceptron, merge, rules
from rosenblatt.engines import fit_local
from rosenblatt.engines.mixing import combine_outcomes, mix, pass_request, resize_for, run_pass
from rosenblatt.engines.protocol import reduce_tree
from rosenblatt.engines.shards import Shard, TrainingSetup
from rosenblatt.learner import Learner

ESTIMATORS = [
    Perceptron(),
    Perceptron(multi_class="ovr", class_weight="balanced"),
    Perceptron("margin", shuffle=False),
    Perceptron("pegasos", max_iter=3),
    Perceptron("arow", max_iter=3),
    Perceptron("nag", max_iter=3),
    Perceptron("scinol", multi_class="ovr", max_iter=3),
    Perceptron(rules.ALMA(p=4.0), max_iter=3),
    LogisticRegression("online", lam=0.01, max_iter=3),
]


@pytest.mark.parametrize("form", [np.asarray, csr_array, np.float32], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_one_shard_is_the_local_learner_bit_for_bit(estimator, classes, form):
    X, y = noisy(classes=classes)
    X = X.astype(np.float32) if form is np.float32 else form(X)
    there = clone(estimator).fit(X, y)
    here = fit_local(clone(estimator), X, y, shards=1)
    same_learner(here.learner_, there.learner_)
    for name, standing in here.learner_.evaluations.items():
        assert standing == there.learner_.evaluations[name]


@pytest.mark.parametrize("rule", ["nag", "scinol-hinge"])
def test_weights_that_relate_to_the_largest_values_of_a_shard_are_not_mixed(rule):
    X, y = noisy()
    with pytest.raises(ValueError, match="shards have seen different ones, so their weights cannot be mixed"):
        fit_local(Perceptron(rule), X, y, shards=2)


def test_one_shard_among_empty_ones_is_alone():
    X, y = noisy()
    here = fit_local(Perceptron(), X, y, shards=[[], np.arange(len(y)), []])
    same_learner(here.learner_, Perceptron().fit(X, y).learner_)
    assert here.mixing_.shard_rows == (0, len(y), 0)


@st.composite
def separable(draw):
    """Integer rows on two sides of a hyperplane, in any sharding: shards of one class, and without rows, too."""
    features = draw(st.integers(1, 4))
    u = np.array(draw(st.lists(st.integers(-3, 3), min_size=features, max_size=features).filter(any)))
    rows = draw(
        st.lists(st.lists(st.integers(-4, 4), min_size=features, max_size=features), min_size=4, max_size=30)
    )
    X = np.array([row for row in rows if np.dot(row, u)], dtype=float).reshape(-1, features)
    X = np.concatenate([X, [u, -u]])
    owner = np.array(draw(st.lists(st.integers(0, 5), min_size=len(X), max_size=len(X))))
    return X, np.sign(X @ u).astype(int), [np.flatnonzero(owner == shard) for shard in range(6)]


@settings(max_examples=120, deadline=None)
@given(
    data=separable(),
    mixing=st.sampled_from(["uniform", "mistakes"]),
    rule=st.sampled_from(["rosenblatt", "margin"]),
)
def test_separable_data_are_separated_within_the_bound_in_any_sharding(data, mixing, rule):
    X, y, shards = data
    clf = fit_local(Perceptron(rule, max_iter=5000), X, y, shards=shards, threads=2, mixing=mixing)
    assert clf.converged_
    last = clf.use("last")
    nothing = 1e-12 * (np.abs(X).sum(axis=1) + 1) * np.abs(np.append(last.coef_, last.intercept_)).max()
    # A mean of weights is rounded. A row whose score is nothing but rounding is right or wrong by the order of a sum.
    assume((np.abs(last.decision_function(X)) > nothing).all())
    assert (last.predict(X) == y).all()
    assert np.isfinite(clf.mixing_.bound)
    assert clf.mixing_.holds
    assert clf.mixing_.mistakes.sum() == clf.n_mistakes_ <= clf.use("last").mistake_bound_


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_the_bound_holds_for_several_classes(multi_class):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 6)) * 0.4, np.arange(150) % 3
    X[np.arange(150), y] += 4.0
    clf = fit_local(Perceptron(multi_class=multi_class, max_iter=500), X, y, shards=7)
    assert clf.converged_
    assert clf.mixing_.mixed <= clf.mixing_.bound < np.inf


@pytest.mark.parametrize("rule", [rules.Rosenblatt(), rules.Pegasos(), rules.Logistic(0.1, 0.05)], ids=str)
def test_the_average_is_over_every_example_any_shard_has_seen(rule):
    """Against plain loops that hold every hypothesis of every shard."""
    X, y = noisy(rows=30)
    setup = TrainingSetup(rule, "joint", True, 0, False, np.unique(y), X.shape[1], "float64", None)
    shards = [Shard(X[part], y[part], None, at) for at, part in enumerate(np.array_split(np.arange(30), 3))]
    learner = Learner(rule, keep_ledger=False)
    resize_for(learner, setup)
    total = np.zeros_like(learner.average_offset)
    for _ in range(4):
        start = pass_request(learner, setup, "uniform", single_shard=False)
        ends = []
        for shard in shards:
            plain = Learner(rule, keep_ledger=False)
            resize_for(plain, setup)
            plain.W, plain.running = learner.W.copy(), start.running.copy()
            plain.totals = learner.totals.copy()
            for row in range(len(shard.y)):
                plain.learn(shard.X[row : row + 1], shard.y[row : row + 1], classes=setup.classes)
                total += plain.weights("last")
            ends.append(plain.weights("last"))
        mix(learner, combine_outcomes([run_pass(shard, start) for shard in shards]))
        np.testing.assert_allclose(learner.weights("last"), np.mean(ends, axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(learner.weights("averaged"), total / 120, rtol=1e-9, atol=1e-12)
    assert learner.clock == 120


def test_who_errs_more_moves_more():
    X, y = noisy(rows=40)
    rule = rules.Rosenblatt()
    setup = TrainingSetup(rule, "joint", True, 0, False, np.unique(y), X.shape[1], "float64", None)
    shards = [Shard(X[:10], y[:10], None, 0), Shard(X[10:], y[10:], None, 1)]
    learner = Learner(rule, keep_ledger=False)
    resize_for(learner, setup)
    start = pass_request(learner, setup, "mistakes", single_shard=False)
    outcomes = [run_pass(shard, start) for shard in shards]
    ends = [
        run_pass(shard, pass_request(learner, setup, "uniform", single_shard=True)).state[0]
        for shard in shards
    ]
    shares = np.array([1.0 + outcome.passes[0].updates for outcome in outcomes])
    mix(learner, reduce_tree(outcomes, combine_outcomes))
    expected = sum(share * end for share, end in zip(shares / shares.sum(), ends, strict=True))
    np.testing.assert_allclose(learner.weights("last"), expected, rtol=1e-12)


def test_threads_do_not_change_the_result():
    X, y = noisy(rows=400, classes=4)
    one, many = (fit_local(Perceptron(), X, y, shards=20, threads=threads) for threads in (1, 4))
    same_learner(one.learner_, many.learner_)


def test_merging_mixes_models_that_depend_on_order():
    X, y = noisy(classes=3)
    models = [Perceptron(max_iter=2).fit(X[part], y[part]) for part in (slice(0, 100), slice(100, 240))]
    merged = merge(models)
    last = np.mean([model.learner_.weights("last") for model in models], axis=0)
    np.testing.assert_allclose(merged.use("last").coef_, last[:, 1:], rtol=1e-12)
    mean = sum(model.clock_ * model.learner_.weights("averaged") for model in models) / merged.clock_
    np.testing.assert_allclose(merged.coef_, mean[:, 1:], rtol=1e-9)
    assert merged.n_mistakes_ == sum(model.n_mistakes_ for model in models)
    assert np.array_equal(merge(models[:1]).coef_, models[0].coef_)
