"""The ledger is the dual form of the model: the weights can be told from it alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from tests.strategies import integer_data

from rosenblatt.learner import Learner
from rosenblatt.rules import ROMMA, Pegasos


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("as_stored", [np.asarray, csr_array])
@settings(max_examples=40, deadline=None)
@given(data=integer_data())
def test_the_sum_of_the_lines_is_the_last_hypothesis(multi_class, as_stored, data):
    X, labels, classes = data
    learner = Learner(multi_class=multi_class)
    learner.train(as_stored(X), labels, max_iter=3)
    ledger = learner.ledger
    homogeneous = np.column_stack([np.ones(len(X)), X])
    W = np.zeros_like(ledger.start)
    for line in ledger.entries:
        W[0 if classes == 2 else line["target"]] += line["tau"] * homogeneous[line["row"]]
        if line["rival"] >= 0:
            W[line["rival"]] -= line["tau"] * homogeneous[line["row"]]
    assert np.array_equal(W, learner.weights("last"))
    assert np.array_equal(ledger.weights_after(np.array([len(ledger)]), 1.0)[0], learner.weights("last"))


def test_every_supporting_example_is_stored_once():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    learner = Learner()
    learner.train(X, labels, max_iter=4)
    rows = np.unique(learner.ledger.entries["row"])
    assert np.array_equal(learner.ledger.support_rows, rows)
    assert np.array_equal(learner.ledger.support, X[rows])


def test_rows_are_counted_through_batches():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(90, 3)), rng.integers(0, 2, 90)
    whole, parts = Learner(), Learner()
    whole.learn(X, labels)
    for lo in range(0, 90, 13):
        parts.learn(X[lo : lo + 13], labels[lo : lo + 13])
    assert np.array_equal(whole.ledger.entries, parts.ledger.entries)
    assert np.array_equal(whole.ledger.support, parts.ledger.support)


def test_survivals_add_up_to_the_clock():
    rng = np.random.default_rng(2)
    learner = Learner(multi_class="ovr")
    learner.train(rng.normal(size=(70, 3)), rng.integers(0, 4, 70), max_iter=2)
    for hypothesis in range(4):
        lines = learner.ledger.lines_of(hypothesis, joint=False)
        survival = learner.ledger.survivals(lines, learner.clock)
        assert survival.sum() == learner.clock
        assert survival.size == lines.size + 1


@pytest.mark.parametrize("as_stored", [np.asarray, csr_array])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("rule", [Pegasos(1e-8), Pegasos(0.5), ROMMA()])
def test_a_replay_with_decays_is_the_replay_done_weight_by_weight(rule, multi_class, as_stored):
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    learner = Learner(rule, multi_class=multi_class)
    learner.train(as_stored(X), labels, max_iter=2)
    ledger, homogeneous = learner.ledger, np.column_stack([np.ones(60), X])
    W, after = ledger.start.copy(), [ledger.start.copy()]
    for line in ledger.entries:
        own = slice(None) if multi_class == "joint" else line["target"]
        W[own] *= line["decay"]
        W[line["target"]] += line["tau"] * homogeneous[line["row"]]
        if line["rival"] >= 0:
            W[line["rival"]] -= line["tau"] * homogeneous[line["row"]]
        after.append(W.copy())
    numbers = np.unique(rng.integers(0, len(after), 30))
    expected = np.array(after)[numbers]
    np.testing.assert_allclose(ledger.weights_after(numbers, 1.0), expected, rtol=1e-9, atol=1e-9)
    classes = rng.integers(0, 3, numbers.size)
    of_one = ledger.weights_after(numbers, 1.0, classes)
    np.testing.assert_allclose(of_one, expected[np.arange(numbers.size), classes], rtol=1e-9, atol=1e-9)
