"""From weights to scores, and from scores to classes."""

import numpy as np
import pytest
from scipy.sparse import random_array

from rosenblatt.core import threads
from rosenblatt.learner import scoring
from rosenblatt.learner.scoring import decided, linear_scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows_of_weights", [1, 2, 4, 5, 9, 30])
def test_scores_of_many_rows_are_those_of_few(dtype, sparse, rows_of_weights, monkeypatch):
    rng = np.random.default_rng(0)
    X = random_array((60, 17), density=0.4, random_state=rng, format="csr").astype(dtype)
    X.data[:] = rng.integers(-5, 6, X.data.size)
    X = X if sparse else X.toarray()
    weights = rng.integers(-5, 6, (rows_of_weights, 18)).astype(np.float64)
    few = linear_scores(X, weights)
    monkeypatch.setattr(scoring, "MIN_NUMBERS_FOR_LOOP", 0)
    many = linear_scores(X, weights)
    assert many.dtype == few.dtype == dtype
    assert np.array_equal(many, few), "exact on whole numbers, whoever adds them up"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 500])
def test_threads_change_no_bit_of_a_score(sparse, rows, monkeypatch):
    rng = np.random.default_rng(0)
    X = random_array(
        (rows, 90), density=0.5, random_state=rng, format="csr", data_sampler=rng.standard_normal
    )
    X = X if sparse else X.toarray()
    weights = rng.normal(size=(3, 91))
    monkeypatch.setattr(scoring, "MIN_NUMBERS_FOR_LOOP", 0)
    monkeypatch.setattr(threads, "parts_of_work", lambda numbers: 1)
    alone = linear_scores(X, weights)
    monkeypatch.setattr(threads, "parts_of_work", lambda numbers: 3)
    assert np.array_equal(linear_scores(X, weights), alone)


def test_threads_are_as_many_as_linear_algebra_may_use(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.parts_of_work(10 * threads.MIN_NUMBERS) == 4
    assert threads.parts_of_work(2 * threads.MIN_NUMBERS) == 2, "no more than are worth a call"
    assert threads.parts_of_work(0) == 1
    for limit, parts in (("1", 1), ("3", 3), ("64", 4), ("0", 1), ("2,1", 4), ("many", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert threads.parts_of_work(10 * threads.MIN_NUMBERS) == parts, limit


def test_ties_go_to_the_first_class_or_to_the_marker():
    classes = np.array(["a", "b", "c"])
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    assert decided(scores, classes).tolist() == ["a", "b", "a"]
    assert decided(scores, classes, undecided="?").tolist() == ["?", "b", "?"]


def test_two_classes_are_split_at_zero():
    classes = np.array([10, 20])
    scores = np.array([-1.0, 0.0, 1e-300])
    assert decided(scores, classes).tolist() == [10, 10, 20]
    assert decided(scores, classes, undecided=-1).tolist() == [10, -1, 20]
    assert decided(scores, classes, undecided="don't know").tolist() == ["10", "don't know", "20"]


def test_one_class_is_always_said():
    assert decided(np.array([-1.0, 1.0]), np.array(["only"])).tolist() == ["only", "only"]
