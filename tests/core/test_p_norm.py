"""The pass through the p-norm link: every coordinate counts, digits last, growth, files and what it does not know."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.rules.plain_alma import f, norm, plain_alma

from rosenblatt import rules
from rosenblatt.core.geometry import through_link
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.learner.kernel import KernelLearner

STORED = {"dense": np.asarray, "csr": csr_array}


def some_data(classes=3, n=90, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6), rng.integers(0, classes, n)


def parts(learner):
    return learner.W, learner.average_offset, learner.S, learner.running, learner.totals


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_file_and_any_batches_go_on_bit_for_bit(classes, multi_class, stored, tmp_path):
    X, labels = some_data(classes)
    rule = rules.ALMA(0.5, p=5.5)
    whole, resumed = (Learner(rule, multi_class=multi_class) for _ in range(2))
    whole.learn(STORED[stored](X), labels, classes=np.arange(classes))
    for lo, hi in ((0, 1), (1, 40), (40, 90)):
        resumed.learn(STORED[stored](X[lo:hi]), labels[lo:hi], classes=np.arange(classes))
        save_learner(resumed, tmp_path / "m")
        resumed, _ = load_learner(tmp_path / "m")
    assert all(np.array_equal(a, b) for a, b in zip(parts(whole), parts(resumed), strict=True))
    assert resumed.rule == rule
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(whole.weights(hypothesis), resumed.weights(hypothesis))


@pytest.mark.parametrize("p", [2.1, 3.0, 20.0])
@pytest.mark.parametrize("unit", [0.0, 1.0])
def test_a_projection_counts_the_coordinates_that_the_row_lacks(p, unit):
    X = np.eye(5)[np.arange(40) % 5] * np.where(np.arange(40) % 3, 1.0, -2.0)[:, None]
    labels = (np.arange(40) % 7 < 3).astype(np.int64)
    rule = rules.ALMA(0.4, p=p)
    told = plain_alma(rule, X, labels, 2, np.arange(40), unit=unit)
    for stored in STORED.values():
        learner = Learner(rule, fit_intercept=bool(unit))
        learner.learn(stored(X), labels)
        w = learner.weights("last")
        assert norm(w, p / (p - 1.0)) <= 1.0 + 1e-12
        assert learner.mistakes == told.mistakes
        np.testing.assert_allclose(w, told.W, rtol=1e-9, atol=1e-12)
        assert unit or not w[0, 0]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), p=st.sampled_from([2.5, 8.0, 30.0]), joint=st.booleans())
def test_the_sum_of_powers_keeps_its_digits(seed, p, joint):
    """Features take turns at being large: what was the whole sum is a thousandth part of it later."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 5)) * np.exp(3.0 * rng.normal(size=(400, 5)))
    labels = rng.integers(0, 3, 400)
    learner = Learner(rules.ALMA(0.8, p=p), multi_class="joint" if joint else "ovr")
    learner.learn(X, labels)
    power = (np.abs(learner.W) ** p).sum(axis=1)
    np.testing.assert_allclose(learner.running["sqnorm"], power.sum() if joint else power, rtol=1e-9)
    norms = (power.sum() if joint else power) ** (1 / p) * learner.running["scale"]
    assert (norms <= 1.0 + 1e-9).all()


@pytest.mark.parametrize("p", [3.0, 200.0])
def test_large_values_and_a_large_p_stay_finite(p):
    X, labels = some_data(2)
    learner = Learner(rules.ALMA(p=p))
    learner.learn(X * 10.0 ** np.arange(-60, 60, 20), labels)
    assert np.isfinite(learner.weights("last")).all()
    assert np.isfinite(learner.weights("averaged")).all()
    assert norm(learner.weights("last"), p / (p - 1.0)) <= 1.0 + 1e-9


def test_float32_rows_give_nearly_the_weights_of_float64():
    X, labels = some_data(2, n=300)
    X = X.astype(np.float32)
    narrow, wide = Learner(rules.ALMA(p=4.0)), Learner(rules.ALMA(p=4.0))
    narrow.learn(X, labels)
    wide.learn(X.astype(np.float64), labels)
    assert narrow.W.dtype == np.float32
    for hypothesis in ("last", "averaged"):
        np.testing.assert_allclose(narrow.weights(hypothesis), wide.weights(hypothesis), atol=1e-4)


@pytest.mark.parametrize("p", [2.0, 3.0, 7.0])
def test_a_third_class_leaves_the_contest_of_the_first_two_as_it_was(p):
    X, labels = some_data(2)
    learner = Learner(rules.ALMA(p=p))
    learner.learn(X, np.array(["b", "c"])[labels])
    before = {name: learner.scores(X, name) for name in ("last", "averaged")}
    learner.add_classes(np.array(["a"]))
    for name, score in before.items():
        after = learner.scores(X, name)
        np.testing.assert_allclose(after[:, 2] - after[:, 1], score, rtol=1e-9, atol=1e-12)
    learner.learn(np.hstack([X, X]), np.array(["a", "b", "c"])[np.arange(90) % 3])
    assert learner.weights("last").shape == (3, 13)


@pytest.mark.parametrize("p", [2.0, 4.0])
def test_the_class_met_first_may_turn_out_to_be_the_second(p):
    X, labels = some_data(2)
    labels[:10] = 1
    met, known = Learner(rules.ALMA(p=p)), Learner(rules.ALMA(p=p))
    for lo, hi in ((0, 10), (10, 90)):
        met.learn(X[lo:hi], labels[lo:hi])
        known.learn(X[lo:hi], labels[lo:hi], classes=[0, 1])
    for hypothesis in ("last", "averaged"):
        np.testing.assert_allclose(met.weights(hypothesis), known.weights(hypothesis), rtol=1e-9)


@pytest.mark.parametrize(("rows", "multi_class"), [(1, "joint"), (3, "joint"), (3, "ovr")])
def test_it_can_start_from_weights(rows, multi_class):
    rng = np.random.default_rng(2)
    coef, intercept = rng.normal(size=(rows, 4)) * 1e3, rng.normal(size=rows)
    learner = Learner(rules.ALMA(p=6.0), multi_class=multi_class)
    learner.start_from(coef, intercept, classes=np.arange(max(2, rows)))
    np.testing.assert_allclose(learner.weights("last"), np.column_stack([intercept, coef]), rtol=1e-9)


def test_the_link_is_that_of_the_paper():
    w = np.random.default_rng(0).normal(size=(3, 5))
    for p in (2.0, 2.5, 9.0):
        theta = through_link(w, p / (p - 1.0), joint=False)
        np.testing.assert_allclose(theta, [f(row, p) for row in w], rtol=1e-12)
        np.testing.assert_allclose(through_link(theta, p, joint=False), w, rtol=1e-12)
        np.testing.assert_allclose(through_link(w, p / (p - 1.0), joint=True), f(w, p), rtol=1e-12)
    assert not through_link(np.zeros((2, 2)), 3.0, joint=True).any()


def test_what_has_no_ledger_has_no_votes_and_no_kernels():
    learner = Learner(rules.ALMA(p=3.0))
    learner.train([[1.0], [-1.0]], [0, 1])
    assert learner.ledger is None
    with pytest.raises(ValueError, match="only 'last' and 'averaged' can predict"):
        learner.scores([[1.0]], "voted")
    with pytest.raises(ValueError, match="no dual form"):
        KernelLearner(rules.ALMA(p=3.0))
    assert Learner(rules.ALMA(p=2.0)).ledger is not None


def test_a_file_from_before_there_was_a_p_means_two():
    described = rules.to_dict(rules.ALMA(0.5))
    del described["p"]
    assert rules.from_dict(described) == rules.ALMA(0.5, p=2.0)
    with pytest.raises(ValueError, match="has parameters"):
        rules.from_dict({**described, "q": 2.0})
