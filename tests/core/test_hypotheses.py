"""Six hypotheses from one run, each against its definition done the slow way."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from tests.oracle import plain_loop, slow_vote
from tests.strategies import integer_data

from rosenblatt.core import hypotheses
from rosenblatt.core.hypotheses import NAMES
from rosenblatt.learner import Learner
from rosenblatt.rules import PassiveAggressive, Rosenblatt

MULTI = ["joint", "ovr"]


def trained(X, labels, classes, multi_class, rule=None):
    learner = Learner(rule or Rosenblatt(), multi_class=multi_class)
    learner.learn(X, labels, classes=np.arange(classes))
    plain = plain_loop(
        rule or Rosenblatt(), X, labels, classes, np.arange(len(labels)), joint=multi_class == "joint"
    )
    return learner, plain


def survivals(plain, row=None):
    """Return (weights, survival) of every hypothesis in order, of one row of weights where given."""
    runs = []
    for weight, W in zip(plain.weight, plain.after, strict=True):
        own = W if row is None else W[row : row + 1]
        if runs and np.array_equal(runs[-1][0], own):
            runs[-1][1] += weight
        else:
            runs.append([own, weight])
    return runs


@pytest.mark.parametrize("multi_class", MULTI)
@settings(max_examples=60, deadline=None)
@given(data=integer_data())
def test_voted_is_the_vote_done_the_slow_way(multi_class, data):
    X, labels, classes = data
    learner, plain = trained(X, labels, classes, multi_class)
    fresh = np.random.default_rng(0).integers(-3, 4, size=(20, X.shape[1])).astype(float)
    expected = slow_vote(plain, fresh, joint=multi_class == "joint")
    expected = expected[:, 0] if classes == 2 else expected
    np.testing.assert_allclose(learner.scores(fresh, "voted"), expected, rtol=0, atol=1e-12)
    sparse, _ = trained(csr_array(X), labels, classes, multi_class)
    assert np.array_equal(sparse.scores(csr_array(fresh), "voted"), learner.scores(fresh, "voted"))


@pytest.mark.parametrize("dense", [True, False])
def test_blocks_change_no_vote(dense, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, size=(60, 7)).astype(float)
    learner, _ = trained(X if dense else csr_array(X), rng.integers(0, 3, 60), 3, "joint")
    fresh = rng.integers(-3, 4, size=(37, 7)).astype(float)  # four blocks of eight and a shorter one
    fresh = fresh if dense else csr_array(fresh)
    at_once = learner.scores(fresh, "voted")
    monkeypatch.setattr(hypotheses, "MAX_PRODUCTS", 0)
    monkeypatch.setattr(hypotheses, "MAX_SPARSE_PRODUCTS", 0)
    assert np.array_equal(learner.scores(fresh, "voted"), at_once)


@pytest.mark.parametrize("multi_class", MULTI)
@settings(max_examples=40, deadline=None)
@given(data=integer_data())
def test_survivor_lived_longest(multi_class, data):
    X, labels, classes = data
    learner, plain = trained(X, labels, classes, multi_class)
    found = learner.weights("survivor")
    rows = [None] if classes == 2 or multi_class == "joint" else range(classes)
    for row in rows:
        runs = survivals(plain, row)
        longest = max(survival for _, survival in runs)
        own = found if row is None else found[row : row + 1]
        assert any(survival == longest and np.array_equal(own, W) for W, survival in runs)


def test_random_is_drawn_in_proportion_to_survival_and_is_reproducible():
    rng = np.random.default_rng(3)
    X, labels = rng.integers(-2, 3, size=(12, 2)).astype(float), rng.integers(0, 2, 12)
    drawn = {}
    trials = 4000
    for seed in range(trials):
        learner = Learner(seed=seed)
        learner.learn(X, labels)
        key = learner.weights("random").tobytes()
        drawn[key] = drawn.get(key, 0) + 1
    assert np.array_equal(learner.weights("random"), learner.weights("random"))
    plain = plain_loop(Rosenblatt(), X, labels, 2, np.arange(12))
    share = {}
    for weight, W in zip(plain.weight, plain.after, strict=True):
        share[W.tobytes()] = share.get(W.tobytes(), 0) + weight / 12
    assert set(drawn) <= set(share)
    for key, p in share.items():
        assert abs(drawn.get(key, 0) / trials - p) < 5 * np.sqrt(p * (1 - p) / trials) + 1e-9


@pytest.mark.parametrize("multi_class", MULTI)
@settings(max_examples=40, deadline=None)
@given(data=integer_data())
def test_pocket_errs_no_more_than_the_longest_survivor(multi_class, data):
    X, labels, classes = data
    learner = Learner(multi_class=multi_class)
    learner.train(X, labels, max_iter=3)
    accuracy = {name: (learner.predict(X, name) == labels).mean() for name in NAMES}
    stands = learner.evaluations
    assert stands["pocket"].accuracy >= stands["survivor"].accuracy
    if (
        classes == 2
    ):  # a row of score zero falls to the first class when predicting, but is no success in training
        assert accuracy["pocket"] >= stands["pocket"].accuracy
    else:
        assert accuracy["pocket"] == stands["pocket"].accuracy


def test_all_six_come_from_one_run_and_agree_when_it_converged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    labels = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    keep = np.abs(X @ [1.0, -2.0, 0.5]) > 0.5
    learner = Learner()
    learner.train(X[keep], labels[keep], max_iter=1000)
    assert learner.converged
    for name in ("last", "survivor", "pocket"):
        assert np.array_equal(learner.predict(X[keep], name), labels[keep])


def test_a_rule_that_steps_unevenly_is_rebuilt_exactly_from_its_ledger():
    rng = np.random.default_rng(8)
    X, labels = rng.normal(size=(80, 4)), rng.integers(0, 3, 80)
    learner, plain = trained(X, labels, 3, "joint", PassiveAggressive(0.3))
    runs = survivals(plain)
    best = max(runs, key=lambda run: run[1])[0]
    np.testing.assert_allclose(learner.weights("survivor"), best, rtol=1e-9)


def test_without_a_ledger_only_last_and_averaged_are_known():
    learner = Learner(keep_ledger=False)
    learner.train([[1.0], [-1.0]], [1, 0])
    assert learner.predict([[2.0]], "last") == learner.predict([[2.0]], "averaged") == 1
    for name in ("voted", "survivor", "random"):
        with pytest.raises(ValueError, match="keep_ledger=True"):
            learner.scores([[2.0]], name)
    with pytest.raises(ValueError, match="keep_ledger=True"):
        learner.weights("pocket")


def test_the_pocket_is_unknown_after_learning_batch_by_batch():
    learner = Learner()
    learner.learn([[1.0], [-1.0]], [1, 0])
    with pytest.raises(ValueError, match="survivor"):
        learner.weights("pocket")


def test_an_unknown_hypothesis_is_named():
    learner = Learner()
    learner.learn([[1.0], [-1.0]], [1, 0])
    with pytest.raises(ValueError, match="best"):
        learner.scores([[1.0]], "best")
