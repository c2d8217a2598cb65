"""Learners that only add: any order, any batches, classes and features that come late, files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.strategies import integer_data

from rosenblatt.learner.additive import BinaryBayes, Centroids, CountBayes
from rosenblatt.learner.files import load_model, save_model
from rosenblatt.storage import BadModel, read_file, write_file

KINDS = [Centroids, lambda: BinaryBayes(binarize=0.0)]
SPREAD = [lambda: Centroids(0.2), lambda: Centroids(priors="empirical"), lambda: Centroids(0.1, [0.5, 0.5])]


@pytest.mark.parametrize("kind", KINDS, ids=["centroids", "bayes"])
@settings(max_examples=40, deadline=None)
@given(data=integer_data(), seed=st.integers(0, 2**32 - 1))
def test_order_batches_and_storage_do_not_matter(kind, data, seed):
    X, y, _ = data
    rng = np.random.default_rng(seed)
    whole = kind()
    whole.train(X, y, max_iter=7)
    split = kind()
    for part in np.array_split(rng.permutation(len(y)), 3):
        if part.size:
            split.learn(csr_array(X[part]) if rng.random() < 0.5 else X[part].astype(np.float32), y[part])
    assert np.array_equal(split.classes, whole.classes)
    assert np.array_equal(split.weights(), whole.weights())
    assert np.array_equal(split.predict(X), whole.predict(X))


def test_classes_and_features_join_at_any_time():
    learner = Centroids()
    learner.learn([[1.0]], ["b"])
    learner.learn([[0.0, 4.0]], ["a"])
    learner.learn([[0.0, 0.0, 6.0], [0.0, 0.0, 0.0]], ["c", "c"])
    assert learner.classes.tolist() == ["a", "b", "c"]
    assert learner.means().tolist() == [[0.0, 4.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]]
    assert learner.predict([[0.0, 0.0, 2.9]]) == ["c"]


def test_weights_count():
    twice, weighted = Centroids(), Centroids()
    twice.learn([[1.0], [1.0], [4.0], [0.0]], [0, 0, 0, 1])
    weighted.learn([[1.0], [4.0], [0.0]], [0, 0, 1], sample_weight=[2.0, 1.0, 1.0])
    assert np.array_equal(twice.weights(), weighted.weights())


@pytest.mark.parametrize("kind", KINDS, ids=["centroids", "bayes"])
def test_a_file_goes_on_where_it_stopped(kind, tmp_path):
    learner = kind()
    learner.learn([[1.0, 0.0], [0.0, 1.0]], ["x", "y"])
    save_model(learner, tmp_path / "m", about={"note": "half"})
    back, about = load_model(tmp_path / "m")
    assert about == {"note": "half"}
    for each in (learner, back):
        each.learn([[1.0, 1.0]], ["z"])
    assert np.array_equal(back.weights(), learner.weights())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("counts", np.ones(1), "counts has shape"),
        ("counts", -np.ones(2), r"counts\[0\] is -1.0"),
        ("sums", np.full((2, 2), np.nan), r"sums\[0, 0\] is nan"),
        ("sums", np.eye(2, dtype=np.float32), "sums is float32"),
        ("smoothing", -3.0, "model.smoothing is -3.0"),
    ],
)
def test_a_spoiled_model_is_refused_by_writer_and_reader(name, value, message, tmp_path):
    learner = BinaryBayes()
    learner.learn([[1.0, 0.0], [0.0, 1.0]], ["x", "y"])
    save_model(learner, tmp_path / "m")
    header, arrays = read_file(tmp_path / "m")
    (header["model"] if name == "smoothing" else arrays)[name] = value
    write_file(tmp_path / "m", header, arrays)
    with pytest.raises(BadModel, match=message):
        load_model(tmp_path / "m")
    setattr(learner, name, value)
    with pytest.raises(ValueError, match=message):
        save_model(learner, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_bad_examples_are_named_and_teach_nothing():
    learner = BinaryBayes()
    learner.learn([[1.0], [0.0]], [0, 1])
    before = learner.weights().copy()
    for X, y, message in (
        ([[0.5]], [1], "value 0.5 in row 0, column 0"),
        ([[np.nan]], [1], "value nan in row 0, column 0"),
        ([[1.0]], ["spam"], "y has labels like"),
        ([[1.0]], [1, 0], "y must hold one label"),
        (np.empty((0, 1)), [], "X has no rows"),
        ([[1.0]], [np.inf], "label inf, which is not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(X, y)
    assert np.array_equal(learner.weights(), before)
    with pytest.raises(ValueError, match="is not trained yet"):
        Centroids().weights()
    with pytest.raises(TypeError, match="can be merged with another one"):
        learner.merge(Centroids())


@pytest.mark.parametrize("kind", [*SPREAD, CountBayes, lambda: CountBayes(0.5, class_prior=[0.3, 0.7])])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_spread_and_counts_do_not_depend_on_batches_and_merge(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (40, 6)) + 100.0 * np.arange(6)
    y = np.concatenate([[0, 1, 0, 1], rng.integers(0, 2, 36)])
    weight = rng.integers(1, 4, 40).astype(float)
    whole, split, other = kind(), kind(), kind()
    whole.learn(X, y, weight)
    for first in range(0, 30, 7):
        part = slice(first, min(first + 7, 30))
        split.learn(csr_array(X[part]) if isinstance(split, CountBayes) else X[part], y[part], weight[part])
    other.learn(X[30:], y[30:], weight[30:])
    split.merge(other)
    scale = np.abs(whole.weights()).max()
    np.testing.assert_allclose(split.weights(), whole.weights(), rtol=1e-7, atol=1e-9 * scale)
    repeated = kind()
    repeated.learn(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    np.testing.assert_allclose(repeated.weights(), whole.weights(), rtol=1e-7, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", [*SPREAD, lambda: CountBayes(0.5, fit_prior=False)])
def test_a_file_holds_the_spread_and_the_priors(kind, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (20, 3)).astype(float), np.arange(20) % 2
    learner = kind()
    learner.learn(X, y)
    save_model(learner, tmp_path / "m")
    back, _ = load_model(tmp_path / "m")
    assert back.parameters() == learner.parameters()
    assert np.array_equal(back.weights(), learner.weights())
    for each in (learner, back):
        each.learn(X[:5] + 1.0, y[:5])
    assert np.array_equal(back.weights(), learner.weights())


def test_sparse_rows_have_the_spread_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8)) * (rng.random((50, 8)) < 0.3)
    y, weight = rng.integers(0, 3, 50), rng.random(50) + 0.5
    dense, sparse = Centroids(0.3, "empirical"), Centroids(0.3, "empirical")
    dense.learn(X, y, weight)
    sparse.learn(csr_array(X), y, weight)
    np.testing.assert_allclose(sparse.deviations(), dense.deviations())
    np.testing.assert_allclose(sparse.weights(), dense.weights())


def test_a_file_with_a_spoiled_spread_is_refused(tmp_path):
    learner = Centroids(0.1)
    learner.learn([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], ["x", "y", "y"])
    save_model(learner, tmp_path / "m")
    header, arrays = read_file(tmp_path / "m")
    for field, value, message in (
        ("shrink_threshold", 0.0, "model.shrink_threshold is 0.0"),
        ("priors", "flat", "model.priors is 'flat'"),
        ("priors", [-1.0, 2.0], r"model.priors\[0\] is -1.0"),
        ("shrink_threshold", None, "tensor squares must not be there"),
    ):
        write_file(tmp_path / "m", {**header, "model": {**header["model"], field: value}}, arrays)
        with pytest.raises(BadModel, match=message):
            load_model(tmp_path / "m")
    write_file(tmp_path / "m", header, {**arrays, "squares": -arrays["squares"] - 1.0})
    with pytest.raises(BadModel, match=r"squares\[0\] is"):
        load_model(tmp_path / "m")


def test_counts_below_zero_are_named():
    with pytest.raises(ValueError, match=r"Negative values .* value -2.0 in row 1, column 0"):
        CountBayes().learn([[1.0, 0.0], [-2.0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"value -2.0 in row 1, column 1"):
        CountBayes().learn(csr_array([[1.0, 0.0], [0.0, -2.0]]), [0, 1])
    learner = CountBayes(0.0)
    learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"choose smoothing \(alpha\) above zero"):
        learner.weights()


def test_a_mean_far_from_zero_costs_the_spread_no_digits():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (40, 6)).astype(float), np.arange(40) % 2
    near, far = Centroids(0.1), Centroids(0.1)
    near.learn(X, y)
    for first in (0, 13, 26):
        far.learn(X[first : first + 13] + 1e9, y[first : first + 13])
    far.learn(X[39:] + 1e9, y[39:])
    np.testing.assert_allclose(far.deviations(), near.deviations(), rtol=1e-6)
