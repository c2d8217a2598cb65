"""The margin is what it says, and no run makes more mistakes than its bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import integer_data, separable_data

from rosenblatt import rules
from rosenblatt.learner import Learner

PROMISING = [rules.Rosenblatt, rules.Margin, rules.PassiveAggressive, rules.PassiveAggressiveSquared]


def best_known_margin(X, labels, U):
    """The margin of the hidden separator in the space in which learning happens."""
    scores = np.column_stack([np.ones(len(X)), X]) @ U.T
    if U.shape[0] == 1:
        return ((2 * labels - 1) * scores[:, 0]).min() / np.linalg.norm(U)
    own = scores[np.arange(len(X)), labels]
    scores[np.arange(len(X)), labels] = -np.inf
    return (own - scores.max(axis=1)).min() / np.linalg.norm(U)


@pytest.mark.parametrize("rule", PROMISING)
@settings(max_examples=30, deadline=None)
@given(data=separable_data(), eta=st.floats(0.05, 1.0), order=st.integers(0, 1000), start=st.booleans())
def test_separable_data_are_learned_within_the_bound(rule, data, eta, order, start):
    X, labels, U = data
    margin = best_known_margin(X, labels, U)
    if margin <= 0 or len(np.unique(labels)) < max(2, len(U)):
        return
    own = rule(eta=eta) if "eta" in rule._fields else rule()
    learner = Learner(own, seed=order)
    start_norm = 0.0
    if start:
        w0 = np.random.default_rng(order).normal(size=U.shape)
        learner.start_from(w0[:, 1:], w0[:, 0], np.arange(max(2, len(U))))
        start_norm = float(np.linalg.norm(w0))
    most = own.mistakes_at_most(
        math.sqrt(2 if len(U) > 1 else 1) * np.sqrt((X**2).sum(1) + 1).max(), margin, start_norm
    )
    learner.train(X, labels, max_iter=min(3000, int(most) + 2))
    assert learner.mistakes <= most * (1 + 1e-9)
    if rule in (rules.Rosenblatt, rules.Margin) and most < 2900:
        assert learner.converged
        assert learner.updates <= most * (1 + 1e-9)
        assert learner.mistakes <= learner.evaluations["last"].bound * (1 + 1e-9)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@settings(max_examples=60, deadline=None)
@given(data=integer_data(), passes=st.integers(1, 3), order=st.integers(0, 1000), heavy=st.integers(2, 40))
def test_examples_presented_several_times_keep_within_the_bound(multi_class, data, passes, order, heavy):
    X, labels, _ = data
    weight = np.ones(len(X))
    weight[order % len(X)] = heavy  # whose every presentation may be a mistake
    learner = Learner(multi_class=multi_class, seed=order)
    learner.train(X, labels, max_iter=passes, sample_weight=weight)
    again = Learner(multi_class=multi_class, seed=order)
    copies = weight.astype(np.int64)
    again.train(np.repeat(X, copies, axis=0), np.repeat(labels, copies), max_iter=passes)
    for name in ("last", "averaged"):
        assert learner.mistakes <= learner.evaluations[name].bound * (1 + 1e-9)
        assert learner.evaluations[name].bound == pytest.approx(again.evaluations[name].bound, rel=1e-9)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@settings(max_examples=60, deadline=None)
@given(data=integer_data(), passes=st.integers(1, 6), rule=st.sampled_from(PROMISING))
def test_any_data_keep_within_the_bound_of_every_hypothesis(multi_class, data, passes, rule):
    X, labels, _ = data
    learner = Learner(rule(), multi_class=multi_class)
    learner.train(X, labels, max_iter=passes)
    for standing in learner.evaluations.values():
        assert learner.mistakes <= standing.bound * (1 + 1e-9)


def test_the_margin_is_normalised_and_signed():
    X, labels = np.array([[2.0, 0.0], [-2.0, 0.0], [0.5, 1.0]]), np.array([1, 0, 1])
    learner = Learner()
    learner.train(X, labels, max_iter=100)
    for name, standing in learner.evaluations.items():
        w = learner.weights(name)[0]
        scores = np.column_stack([np.ones(3), X]) @ w
        assert standing.margin == pytest.approx(((2 * labels - 1) * scores).min() / np.linalg.norm(w))


def test_fractions_of_weight_void_the_promise():
    learner = Learner()
    learner.train([[1.0], [-1.0]], [1, 0], sample_weight=[0.5, 1.0])
    assert learner.evaluations["last"].bound == math.inf
