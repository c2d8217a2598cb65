"""Geometries with several numbers per weight: units of columns, growth, files, and what is refused."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy.sparse import csr_array
from tests.rules.plain_coordinates import closed_form, flow, plain_nag, plain_scinol

from rosenblatt import OnlineLearner, Perceptron, rules
from rosenblatt.core.geometry import initial_auxiliary
from rosenblatt.engines.mixing import mixed_learners
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.rules.base import geometry_of, step
from rosenblatt.storage import BadModel

EVERY = [rules.ScInOL(), rules.ScInOLHinge(), rules.NAG(), rules.NAG(1.0, 1.0), rules.NAGLogistic()]
STORED = {"dense": np.asarray, "csr": csr_array}


def rows_of(seed=0, n=120, d=6, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.argmax(X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes)), axis=1)


def plain(rule):
    return plain_scinol if isinstance(rule, rules.ScInOL) else plain_nag


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("rule", EVERY, ids=str)
@settings(max_examples=5, deadline=None)
@given(powers=st.lists(st.integers(-60, 60), min_size=6, max_size=6), seed=st.integers(0, 1000))
def test_no_prediction_depends_on_the_units_of_the_columns(rule, multi_class, stored, powers, seed):
    X, y = rows_of(seed)
    scale = 2.0 ** np.array(powers)  # exact in floating point, so that everything is equal to the last bit
    one, other = (Learner(rule, multi_class=multi_class) for _ in range(2))
    for lo, hi in ((0, 50), (50, 120)):
        one.learn(STORED[stored](X[lo:hi]), y[lo:hi], classes=[0, 1, 2])
        other.learn(STORED[stored](X[lo:hi] * scale), y[lo:hi], classes=[0, 1, 2])
    assert one.mistakes == other.mistakes
    for hypothesis in ("last", "averaged"):
        np.testing.assert_array_equal(
            one.weights(hypothesis)[:, 1:], other.weights(hypothesis)[:, 1:] * scale
        )
        np.testing.assert_array_equal(one.predict(X, hypothesis), other.predict(X * scale, hypothesis))


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("rule", EVERY, ids=str)
def test_numbers_are_those_of_the_plain_loop_and_survive_a_file(rule, multi_class, stored, tmp_path):
    X, labels = rows_of()
    learner = Learner(rule, multi_class=multi_class)
    learner.learn(STORED[stored](X[:40]), labels[:40], classes=[0, 1, 2])
    save_learner(learner, tmp_path / "m")
    learner, _ = load_learner(tmp_path / "m")
    learner.learn(STORED[stored](X[40:]), labels[40:])
    run = plain(rule)(rule, X, labels, 3, np.arange(len(X)), joint=multi_class == "joint")
    np.testing.assert_allclose(learner.S, run.S, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner.weights("last"), run.W, rtol=1e-9, atol=1e-12)
    sqnorm = ((run.W * run.S[..., 0]) ** 2).sum()
    np.testing.assert_allclose(learner.running["sqnorm"].sum(), sqnorm, rtol=1e-9)


HOSTILE = [
    (rules.NAG(), "S", (0, 1, 0), -1.0, "is -1.0, expected a value from 0 to"),
    (rules.NAG(), "S", (0, 1, 0), 1e9, "expected a value from 0 to"),
    (rules.NAG(), "S", (0, 1, 1), -1.0, "expected numbers of this rule"),
    (rules.NAG(), "S", (0, 1, 1), math.nan, "S"),
    (rules.NAG(), "running.sqnorm", 0, 1e6, "running.sqnorm"),
    (rules.ScInOL(), "S", (0, 1, 3), 0.0, "expected numbers of this rule"),
    (rules.ScInOL(), "S", (0, 1, 3), 50.0, "expected the weight that follows from S"),
    (rules.ScInOL(), "W", (0, 1), 0.5, "expected the weight that follows from S"),
]


@pytest.mark.parametrize(("rule", "name", "place", "value", "why"), HOSTILE)
def test_a_file_whose_numbers_are_impossible_is_refused(rule, name, place, value, why, tmp_path):
    X, labels = rows_of(classes=2)
    learner = Learner(rule)
    learner.learn(X, labels)
    save_learner(learner, tmp_path / "m")
    with safe_open(tmp_path / "m", "numpy") as file:
        arrays = {key: file.get_tensor(key).copy() for key in file.keys()}  # noqa: SIM118 (not a dict)
        about = file.metadata()
    arrays[name][place] = value
    save_file(arrays, tmp_path / "m", about)
    with pytest.raises(BadModel, match=re.escape(why)):
        load_learner(tmp_path / "m")


@pytest.mark.parametrize("shape", [(1, 7), (1, 7, 3)])
def test_a_file_with_another_count_of_numbers_is_refused(shape, tmp_path):
    X, labels = rows_of(classes=2)
    learner = Learner(rules.NAG())
    learner.learn(X, labels)
    save_learner(learner, tmp_path / "m")
    with safe_open(tmp_path / "m", "numpy") as file:
        arrays = {key: file.get_tensor(key).copy() for key in file.keys()}  # noqa: SIM118 (not a dict)
        about = file.metadata()
    save_file(arrays | {"S": np.zeros(shape)}, tmp_path / "m", about)
    with pytest.raises(BadModel, match="S "):
        load_learner(tmp_path / "m")


@pytest.mark.parametrize("rule", EVERY, ids=str)
def test_columns_that_differ_by_orders_of_magnitude_fit_into_a_file(rule, tmp_path):
    X, labels = rows_of(classes=2)
    learner = Learner(rule)
    learner.learn(X * 10.0 ** np.array([-9, -4, 0, 2, 5, 9]) * np.linspace(1e-4, 1.0, 120)[:, None], labels)
    save_learner(learner, tmp_path / "m")
    assert load_learner(tmp_path / "m")[0].mistakes == learner.mistakes


@pytest.mark.parametrize("rule", EVERY, ids=str)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_features_that_appear_later_had_a_weight_of_zero_all_along(rule, multi_class):
    X, labels = rows_of()
    X[:60, 3:] = 0.0
    whole, growing = (Learner(rule, multi_class=multi_class) for _ in range(2))
    whole.learn(csr_array(X), labels, classes=[0, 1, 2])
    growing.learn(csr_array(X[:60, :3]), labels[:60], classes=[0, 1, 2])
    growing.learn(csr_array(X[60:]), labels[60:])
    np.testing.assert_array_equal(whole.S, growing.S)
    for hypothesis in ("last", "averaged"):
        np.testing.assert_array_equal(whole.weights(hypothesis), growing.weights(hypothesis))


@pytest.mark.parametrize("rule", EVERY, ids=str)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_a_third_class_keeps_the_scores_of_two(rule, multi_class, tmp_path):
    X, labels = rows_of(classes=2)
    learner = Learner(rule, multi_class=multi_class)
    learner.learn(X, np.array(["a", "c"])[labels])
    before = learner.scores(X, "last")
    learner.add_classes(np.array(["a", "b", "c"]))
    scores = learner.scores(X, "last")
    difference = scores[:, 2] - scores[:, 0]
    np.testing.assert_allclose(difference, before if multi_class == "joint" else 2.0 * before, rtol=1e-12)
    learner.learn(X, np.array(["b", "c"])[labels])
    save_learner(learner, tmp_path / "m")  # whose check knows how weights and numbers belong together
    np.testing.assert_array_equal(load_learner(tmp_path / "m")[0].S, learner.S)


@pytest.mark.parametrize("rule", EVERY, ids=str)
def test_the_class_that_comes_first_may_be_the_positive_one(rule):
    X, labels = rows_of(classes=2)
    late, early = Learner(rule), Learner(rule)
    late.learn(X[:1], ["b"])
    late.learn(X[1:], np.array(["a", "b"])[labels[1:]])
    early.learn(X[:1], ["b"], classes=["a", "b"])
    early.learn(X[1:], np.array(["a", "b"])[labels[1:]])
    np.testing.assert_allclose(late.weights("last"), early.weights("last"), rtol=1e-12)
    np.testing.assert_allclose(late.S, early.S, rtol=1e-12)


@pytest.mark.parametrize("rule", EVERY, ids=str)
def test_one_row_at_a_time_by_name_is_the_batch(rule):
    X, labels = rows_of()
    online = OnlineLearner(rule=rule, hypothesis="averaged")
    for x, y in zip(X, labels, strict=True):
        example = {f"f{k}": v for k, v in enumerate(x.tolist()) if v}
        online.predict_one(example)
        online.learn_one(example, int(y))
    learner = Learner(rule)
    order = [int(name[1:]) for name in online.names]
    for x, y in zip(X, labels, strict=True):
        learner.learn(csr_array(x[None, order]), [y])
    width = 1 + len(order)
    for hypothesis in ("last", "averaged"):
        np.testing.assert_allclose(
            online.learner.weights(hypothesis)[:, :width], learner.weights(hypothesis), rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("rule", [rules.NAG(), rules.NAG(1.0, 1.0), rules.NAG(0.4, 1.3), rules.NAGLogistic()])
@settings(max_examples=20, deadline=None)
@given(margin=st.floats(-3.0, 0.9), size=st.floats(0.01, 3.0))
def test_the_step_is_that_of_the_gradient_flow(rule, margin, size):
    seen = rules.Seen(margin, 1.0, size, 0.0, 0.0, 0.0)
    tau = step(rule, seen)[1]
    assert tau == pytest.approx(closed_form(rule, margin, size), rel=1e-7)
    assert tau * size == pytest.approx(flow(rule, margin, size), rel=2e-3, abs=1e-6)
    if isinstance(rule, rules.NAG):
        assert margin + tau * size <= 1.0 + 1e-12


def test_a_very_confident_logistic_score_makes_a_small_finite_step():
    for margin in (29.9, 30.1, 800.0, 1e300):
        tau = step(rules.NAGLogistic(), rules.Seen(margin, 1.0, 1.0, 0.0, 0.0, 0.0))[1]
        assert 0.0 <= tau <= 2.0 * math.exp(-min(margin, 700.0))
    for margin in (-1e6, -800.0):
        tau = step(rules.NAGLogistic(), rules.Seen(margin, 1.0, 1.0, 0.0, 0.0, 0.0))[1]
        assert tau == pytest.approx(1.0)


@pytest.mark.parametrize("hinge", [False, True])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), epsilon=st.sampled_from([0.1, 1.0, 3.0]))
def test_the_regret_of_scinol_is_bounded(hinge, seed, epsilon):
    rng = np.random.default_rng(seed)
    n, d = 80, 3
    X = rng.standard_cauchy(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d) * (rng.random((n, d)) < 0.8)
    u = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3, d)
    y = np.where(rng.random(n) < 0.8, np.sign(X @ u + 1e-12), rng.choice([-1.0, 1.0], n))
    rule = rules.ScInOLHinge(epsilon) if hinge else rules.ScInOL(epsilon)

    def loss(margin):
        return np.maximum(0.0, 1.0 - margin) if hinge else np.logaddexp(0.0, -margin)

    M, G, S, eta = np.zeros(d), np.zeros(d), np.zeros(d), np.full(d, epsilon)
    total = 0.0
    for x, label in zip(X, y, strict=True):
        M = np.maximum(M, np.abs(x))
        w = rule.weight_of((M, G, S, eta))
        total += loss(label * (w @ x))
        g = -label * step(rule, rules.Seen(w @ x, label, 0.0, 0.0, 0.0, 0.0))[1]
        eta, G, S = eta - g * x * w, G - g * x, S + (g * x) ** 2
    met = np.abs(X).max(axis=0) > 0.0
    first = np.array([np.abs(column[column != 0.0][0]) if column.any() else 1.0 for column in X.T])
    bound = rule.regret_at_most(u[met], M[met], S[met], first[met])
    assert total - loss(y * (X @ u)).sum() <= bound + 1e-9


def test_an_epoch_that_widens_a_feature_has_not_converged():
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    learner = Learner(rules.ScInOLHinge(), fit_intercept=False)
    learner.train(X, y, max_iter=200)
    assert learner.converged
    learner.train(X * 4.0, y, max_iter=1, shuffle=False)
    assert learner.epochs[-1].updates == 0 or not learner.converged
    if not learner.epochs[-1].updates:
        assert not learner.converged
    learner.train(X * 4.0, y, max_iter=200, shuffle=False)
    assert learner.converged


def test_weights_that_follow_from_sums_cannot_be_set():
    X, y = rows_of(classes=2)
    start = {"coef_init": np.ones((1, 6)), "intercept_init": [0.0]}
    with pytest.raises(ValueError, match="the weights of ScInOL follow from its sums"):
        Perceptron("scinol").fit(X, y, **start)
    assert Perceptron("nag").fit(X, y, **start).score(X, y) > 0.5


@pytest.mark.parametrize("rule", EVERY, ids=str)
def test_there_is_no_ledger_and_no_mixing(rule):
    X, y = rows_of(classes=2)
    learner = Learner(rule)
    learner.train(X, y, max_iter=2)
    assert learner.ledger is None
    with pytest.raises(ValueError, match="only 'last' and 'averaged' can predict"):
        learner.scores(X, "voted")
    with pytest.raises(ValueError, match="cannot be mixed: train in one piece"):
        mixed_learners([learner, learner])


def test_a_rule_outside_the_package_can_have_the_geometry():
    class Plain(rules.NAG):
        __slots__ = ()

    with pytest.raises(TypeError, match="is not a rule"):
        rules.resolve(Plain())
    rules.rule(Plain)(lambda plain, seen: (1.0, 0.1 if seen.y * seen.score <= 0.0 else 0.0))
    X, y = rows_of(classes=2)
    assert Perceptron(Plain()).fit(X, y).score(X, y) > 0.6
    assert initial_auxiliary(geometry_of(Plain())) == (0.0, 0.0)


def test_a_geometry_says_which_method_its_rule_lacks():
    class Bare(rules.AROW):
        __slots__ = ()

        def geometry(self):
            return rules.CoordinateRates((0.0,))

    with pytest.raises(TypeError, match="Bare needs a method add_gradient"):
        geometry_of(Bare())


@pytest.mark.parametrize("initial", [(), (1.0,), (0.0,) * 5])
def test_the_first_number_is_the_largest_value(initial):
    class Odd(rules.NAG):
        __slots__ = ()

        def geometry(self):
            return rules.CoordinateRates(initial)

    with pytest.raises(ValueError, match="one to 4 numbers"):
        geometry_of(Odd())
