"""The compiled loop against the plain one: same mistakes, same weights, same averages, same ledger."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.oracle import plain_loop
from tests.strategies import integer_data

from rosenblatt.learner import Learner
from rosenblatt.learner import learner as learner_module
from rosenblatt.rules import Margin, PassiveAggressive, Rosenblatt

STORED = {
    "dense": lambda X: X,
    "csr int32": csr_array,
    "csr int64": lambda X: csr_array(
        (csr_array(X).data, csr_array(X).indices.astype(np.int64), csr_array(X).indptr.astype(np.int64)),
        shape=X.shape,
    ),
}


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("stored", STORED)
@settings(max_examples=60, deadline=None)
@given(data=integer_data(), unit=st.booleans())
def test_integer_data_give_exactly_the_plain_loop(stored, multi_class, data, unit):
    X, labels, classes = data
    learner = Learner(multi_class=multi_class, fit_intercept=unit)
    learner.learn(STORED[stored](X), labels, classes=np.arange(classes))
    learner.learn(STORED[stored](X[::-1].copy()), labels[::-1], classes=np.arange(classes))
    order = np.concatenate([np.arange(len(X)), np.arange(len(X))[::-1]])
    plain = plain_loop(
        Rosenblatt(), X, labels, classes, order, joint=multi_class == "joint", unit=float(unit)
    )
    assert learner.mistakes == plain.mistakes
    assert np.array_equal(learner.weights("last"), plain.W)
    assert np.allclose(learner.weights("averaged"), plain.averaged, rtol=1e-13, atol=1e-13)
    entries = learner.ledger.entries
    told = [(e["target"], e["rival"], e["tau"], e["clock"]) for e in entries]
    assert told == [update[1:] for update in plain.updates]


@pytest.mark.parametrize("rule", [Rosenblatt(0.3), Margin(0.5, 2.0), PassiveAggressive(0.2)])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_float_data_give_the_same_mistakes_and_weights(rule, multi_class, classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 7))
    labels = rng.integers(0, classes, 300)
    plain = plain_loop(rule, X, labels, classes, np.arange(300), joint=multi_class == "joint")
    for stored in (X, csr_array(X)):
        learner = Learner(rule, multi_class=multi_class)
        learner.learn(stored, labels)
        assert learner.mistakes == plain.mistakes
        np.testing.assert_allclose(learner.weights("last"), plain.W, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(learner.weights("averaged"), plain.averaged, rtol=1e-9, atol=1e-12)
        sqnorm = (plain.W**2).sum(axis=1)
        expected = [sqnorm.sum()] if learner.joint else sqnorm
        np.testing.assert_allclose(learner.running["sqnorm"], expected, rtol=1e-9)


def test_float32_stays_float32_and_integers_are_exact_in_it():
    rng = np.random.default_rng(1)
    X = rng.integers(-4, 5, size=(200, 9)).astype(np.float32)
    labels = rng.integers(0, 2, 200)
    learner = Learner()
    learner.learn(X, labels)
    plain = plain_loop(Rosenblatt(), X, labels, 2, np.arange(200))
    assert learner.W.dtype == np.float32
    assert np.array_equal(learner.weights("last"), plain.W)
    np.testing.assert_allclose(learner.weights("averaged"), plain.averaged, rtol=1e-13)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_a_ledger_that_fills_up_in_the_middle_of_a_pass_changes_nothing(monkeypatch, multi_class):
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(120, 3)), rng.integers(0, 3, 120)
    whole = Learner(multi_class=multi_class)
    whole.learn(X, labels)
    monkeypatch.setattr(learner_module, "LEDGER_AT_ONCE", 1)
    monkeypatch.setattr("rosenblatt.core.ledger.MIN_CAPACITY", 1)
    pieces = Learner(multi_class=multi_class)
    pieces.learn(X, labels)
    assert np.array_equal(whole.ledger.entries, pieces.ledger.entries)
    assert np.array_equal(whole.weights("averaged"), pieces.weights("averaged"))


def test_a_weight_is_a_number_of_presentations():
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    copies = rng.integers(0, 4, 60)
    weighted, repeated = Learner(), Learner()
    weighted.learn(X, labels, copies)
    repeated.learn(np.repeat(X, copies, axis=0), np.repeat(labels, copies))
    assert np.array_equal(weighted.weights("averaged"), repeated.weights("averaged"))
    assert weighted.clock == repeated.clock == copies.sum()


def test_a_fraction_of_weight_scales_the_step_and_the_clock():
    rng = np.random.default_rng(4)
    X, labels = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    weights = rng.uniform(0.1, 1.0, 50)
    learner = Learner()
    learner.learn(X, labels, weights)
    plain = plain_loop(Rosenblatt(), X, labels, 2, np.arange(50), weights=weights)
    np.testing.assert_allclose(learner.weights("averaged"), plain.averaged, rtol=1e-9)
    assert learner.clock == pytest.approx(weights.sum())


def test_passive_aggressive_reaches_margin_one_with_the_bias_learned():
    rng = np.random.default_rng(6)
    for _ in range(50):
        learner = Learner(PassiveAggressive(C=float("inf")))
        learner.start_from(rng.normal(size=(1, 5)), rng.normal(size=1), [0, 1])
        x, label = rng.normal(size=(1, 5)), rng.integers(0, 2)
        moved = learner.learn(x, [label]).updates
        functional = (2 * label - 1) * learner.scores(x, "last")[0]
        if moved:
            assert functional == pytest.approx(1.0, rel=1e-12)
        else:
            assert functional >= 1.0
