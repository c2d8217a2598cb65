"""Every rule of the table, found by its name: the compiled pass is the plain loop, and files can hold it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.oracle import plain_loop, slow_vote
from tests.rules.plain_alma import plain_alma
from tests.rules.plain_arow import plain_arow
from tests.rules.plain_coordinates import plain_nag, plain_scinol
from tests.rules.table import TABLE
from tests.strategies import integer_data

from rosenblatt import rules
from rosenblatt.learner import Learner

EVERY = [(name, rule) for name, row in TABLE.items() for rule in (rules.BY_NAME[name](), *row.tried)]
SHRINKING = [rules.Pegasos(0.05), rules.Pegasos(1e-5), rules.Logistic(0.5, 0.4), rules.ALMA(0.5)]
STORED = {"dense": lambda X: X, "csr": csr_array}


def test_every_rule_has_its_row_in_the_table():
    assert set(TABLE) == set(rules.BY_NAME)


def data_for(name, classes, seed=5, n=240, d=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    U = rng.normal(size=(classes, d))
    scores = np.sort(X @ U.T, axis=1)
    if TABLE[name].separable_only:
        X = X[scores[:, -1] - scores[:, -2] > 0.5]
        return X, np.argmax(X @ U.T, axis=1)
    return X, rng.integers(0, classes, n)


def plain(rule, X, labels, classes, **asked):
    oracles = {
        rules.SecondOrder: plain_arow,
        rules.PNorm: plain_alma,
        rules.CoordinateSums: plain_scinol,
        rules.CoordinateRates: plain_nag,
        rules.Euclidean: plain_loop,
    }
    loop = oracles[type(rules.geometry_of(rule))]
    return loop(rule, X, labels, classes, np.arange(len(X)), **asked)


# Several classes one against the rest are left out for rules of separable data: no class is separable from all others.
PASSES = [
    pytest.param(name, rule, multi_class, classes, id=f"{rule}-{multi_class}-{classes}")
    for name, rule in EVERY
    for multi_class in ("joint", "ovr")
    for classes in (2, 3)
    if not (TABLE[name].separable_only and multi_class == "ovr" and classes > 2)
]


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(("name", "rule", "multi_class", "classes"), PASSES)
def test_the_pass_is_the_plain_loop(name, rule, multi_class, classes, stored):
    X, labels = data_for(name, classes)
    told = plain(rule, X, labels, classes, joint=multi_class == "joint")
    learner = Learner(rule, multi_class=multi_class)
    learner.learn(STORED[stored](X), labels)
    assert learner.mistakes == told.mistakes
    for hypothesis, expected in (("last", told.W), ("averaged", told.averaged)):
        found = learner.weights(hypothesis)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.exact])
@settings(max_examples=20, deadline=None)
@given(data=integer_data(), ovr=st.booleans())
def test_integers_are_exact(name, stored, data, ovr):
    X, labels, classes = data
    rule = TABLE[name].tried[0]
    told = plain(rule, X, labels, classes, joint=not ovr)
    learner = Learner(rule, multi_class="ovr" if ovr else "joint")
    learner.learn(STORED[stored](X), labels, classes=np.arange(classes))
    assert learner.mistakes == told.mistakes
    assert np.array_equal(learner.weights("last"), told.W)


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("rule", SHRINKING, ids=str)
def test_shrinking_is_told_by_the_ledger(rule, multi_class, stored):
    X, labels = data_for("pegasos", 3, n=150)
    told = plain_loop(rule, X, labels, 3, np.arange(150), joint=multi_class == "joint")
    learner = Learner(rule, multi_class=multi_class)
    learner.learn(STORED[stored](X), labels)
    lines = np.array([len(learner.ledger)])
    rebuilt = learner.ledger.weights_after(lines, learner.bias_input)[0]
    rebuilt = rebuilt * learner.running["decay"][:, None]  # shrinks after the last line
    largest = np.abs(told.W).max()
    np.testing.assert_allclose(rebuilt, told.W, rtol=1e-9, atol=1e-9 * largest)
    sqnorm = (told.W**2).sum(axis=1)
    expected = [sqnorm.sum()] if multi_class == "joint" else sqnorm
    np.testing.assert_allclose(learner.running["sqnorm"], expected, rtol=1e-8)
    votes = learner.scores(STORED[stored](X[:20]), "voted")
    np.testing.assert_allclose(votes, slow_vote(told, X[:20], joint=multi_class == "joint"), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "rule"), [*((name, row.tried[0]) for name, row in TABLE.items()), ("alma", rules.ALMA(p=3.0))]
)
def test_half_a_visit_is_half_a_step_and_batches_do_not_matter(name, rule):
    X, labels = data_for(name, 2, n=80)
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.5, 1.0)
    told = plain(rule, X, labels, 2, weights=weights)
    learner = Learner(rule)
    for lo, hi in ((0, 1), (1, 30), (30, len(X))):
        learner.learn(X[lo:hi], labels[lo:hi], weights[lo:hi], classes=[0, 1])
    np.testing.assert_allclose(learner.weights("last"), told.W, rtol=1e-9, atol=1e-9 * np.abs(told.W).max())


@pytest.mark.parametrize(("name", "rule"), EVERY, ids=[f"{rule}" for _, rule in EVERY])
def test_a_file_can_hold_it(name, rule):
    described = rules.to_dict(rule)
    assert described["name"] == name
    assert rules.from_dict(described) == rule
    assert rules.resolve(name) == rules.BY_NAME[name]()


@pytest.mark.parametrize(
    ("name", "parameters"), [(name, wrong) for name, row in TABLE.items() for wrong in row.wrong]
)
def test_parameters_out_of_range_are_named(name, parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} must be"):
        rules.resolve(rules.BY_NAME[name](**parameters))


def test_float32_averages_keep_their_digits_through_shrinks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).astype(np.float32)
    labels = rng.integers(0, 2, 400)
    rule = rules.Pegasos(0.01)
    told = plain_loop(rule, X, labels, 2, np.arange(400))
    learner = Learner(rule, keep_ledger=False)
    learner.learn(X, labels)
    largest = np.abs(told.averaged).max()
    np.testing.assert_allclose(learner.weights("averaged"), told.averaged, atol=2e-4 * largest)


def test_a_pass_that_only_shrinks_has_not_converged():
    learner = Learner(rules.Pegasos(0.5))
    learner.train([[2.0], [-2.0]], [1, 0], max_iter=40)
    assert not learner.converged
    assert len(learner.epochs) == 40


def test_a_class_in_place_of_a_rule_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match=r"got the class: write AROW\(\)"):
        rules.resolve(rules.AROW)
