"""An epoch by several threads is that of one thread, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.learner import learner as driver

NAMES = sorted(rules.BY_NAME)


@pytest.fixture(autouse=True)
def parts_of_any_size(monkeypatch):
    monkeypatch.setattr(driver, "MIN_NUMBERS", 1)


def labelled_rows(seed, rows, features, classes, wrong):
    """Return integer rows whose sums are exact, and labels of a hidden model, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rows, features)).astype(float)
    labels = (X @ rng.normal(size=(features, classes))).argmax(axis=1)
    at = rng.random(rows) < wrong
    labels[at] = rng.integers(0, classes, at.sum())
    return X, labels


def same_run(one, other):
    for name in ("W", "average_offset", "running", "totals", "classes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.epochs == other.epochs
    assert one.converged == other.converged
    if one.ledger is not None:
        np.testing.assert_array_equal(one.ledger.entries, other.ledger.entries)


@given(
    seed=st.integers(0, 2**32 - 1),
    rule=st.sampled_from(NAMES),
    classes=st.integers(2, 4),
    wrong=st.sampled_from([0.0, 0.02, 0.3]),
    threads=st.integers(2, 5),
    sparse=st.booleans(),
    ovr=st.booleans(),
    ledger=st.booleans(),
    shuffle=st.booleans(),
    bias=st.booleans(),
    weight=st.sampled_from([None, 2.0, 0.3]),
)
@settings(max_examples=150, deadline=None)
def test_threads_change_nothing(
    seed, rule, classes, wrong, threads, sparse, ovr, ledger, shuffle, bias, weight
):
    X, y = labelled_rows(seed, 120, 4, classes, wrong)
    X[60::20] = 0.0  # without a bias nothing moves for them, and they are mistakes
    X = csr_array(X) if sparse else X
    own = {"multi_class": "ovr" if ovr else "joint", "keep_ledger": ledger, "fit_intercept": bias}
    alone, many = Learner(rule, **own), Learner(rule, **own)
    alone.train(X, y, max_iter=12, shuffle=shuffle, sample_weight=weight)
    many.train(X, y, max_iter=12, shuffle=shuffle, sample_weight=weight, threads=threads)
    same_run(alone, many)


def test_results_of_other_threads_are_used_where_nothing_was_updated(monkeypatch):
    X, y = labelled_rows(0, 1000, 5, 2, 0.0)
    learner = Learner(keep_ledger=False)
    learner.train(X, y, max_iter=1000, shuffle=False)
    assert learner.converged
    sizes = []
    plain = driver.learn

    def learn(rule, geometry, rows, labels, visits, bias_input, state, ledger, stop_before_update):
        made = plain(rule, geometry, rows, labels, visits, bias_input, state, ledger, stop_before_update)
        sizes.append((stop_before_update, visits.order.size, made))
        return made

    monkeypatch.setattr(driver, "learn", learn)
    before = learner.clock
    learner.train(X, y, max_iter=1, shuffle=False, threads=4)
    assert sorted(sizes) == [(False, 250, 250), *[(True, 250, 250)] * 3]
    assert learner.clock == before + 1000


def test_results_of_other_threads_are_discarded_after_an_update(monkeypatch):
    """The first row reverses the weights: later rows are classified correctly only before it."""
    X = np.array([[-1.0], *[[1.0]] * 99])
    y = np.array([1, *[1] * 99])
    for threads in (1, 4):
        learner = Learner(fit_intercept=False)
        learner.start_from([[1.0]], classes=[0, 1])
        learner._few_updates = True
        learner.train(X, y, max_iter=1, shuffle=False, threads=threads)
        run = learner.mistakes, learner.updates, learner.W.tolist()
        assert run == (2, 2, [[0.0, 1.0]])


def test_clocks_that_are_no_integers_are_not_predicted():
    """Ones added to seven thirds one by one, or all at once, differ in the last bit."""
    clocks = set()
    for threads in (1, 4):
        learner = Learner(keep_ledger=False)
        learner.start_from([[1.0]], classes=[0, 1])
        learner.train(np.ones((7, 1)), np.ones(7, int), max_iter=1, sample_weight=np.full(7, 1 / 3))
        learner.train(np.ones((3000, 1)), np.ones(3000, int), max_iter=1, threads=threads)
        clocks.add(learner.clock)
    assert len(clocks) == 1


def test_mistakes_without_an_update_are_all_counted():
    """Passive-aggressive makes mistakes on rows of zeros without a bias, and no update."""
    y = np.arange(400) % 2
    X = (2.0 * y - 1.0).reshape(-1, 1)
    X[100:300:10] = 0.0
    epochs = set()
    for threads in (1, 4):
        learner = Learner("passive-aggressive", fit_intercept=False)
        learner.train(X, y, max_iter=30, shuffle=False, threads=threads)
        epochs.add(tuple(learner.epochs))
    assert len(epochs) == 1
    assert learner.epochs[-1].mistakes == 20
    assert learner.epochs[-1].updates == 0


def test_errors_of_discarded_results_are_ignored(monkeypatch):
    """The first row makes an update, so that the results of other threads are discarded, with their errors."""
    plain = driver.learn

    def learn(rule, geometry, rows, labels, visits, bias_input, state, ledger, stop_before_update):
        if stop_before_update:
            raise ZeroDivisionError
        return plain(rule, geometry, rows, labels, visits, bias_input, state, ledger, stop_before_update)

    monkeypatch.setattr(driver, "learn", learn)
    X, y = labelled_rows(3, 400, 5, 2, 0.0)
    alone, many = Learner(), Learner()
    alone.train(X, y, max_iter=30, shuffle=False)
    many.train(X, y, max_iter=30, shuffle=False, threads=4)
    same_run(alone, many)


def test_fewer_visits_than_threads_come_to_an_end():
    """The first part is never empty: only there the weights may move."""
    learner = Learner(fit_intercept=False)
    learner.start_from([[1.0]], classes=[0, 1])
    learner.train(np.ones((50, 1)), np.ones(50, int), max_iter=1, shuffle=False)  # nothing moves
    learner.train(-np.ones((3, 1)), np.ones(3, int), max_iter=1, shuffle=False, threads=8)
    assert learner.mistakes == learner.updates == 2
