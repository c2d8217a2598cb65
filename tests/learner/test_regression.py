"""The learner of real targets: batches, files, bad input."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.learner.files import load_model, save_model
from rosenblatt.learner.regression import RealLearner


def examples(n=60, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 1.0


@pytest.mark.parametrize("hypothesis", ["last", "averaged"])
def test_batches_do_not_matter_and_features_join(hypothesis):
    X, y = examples()
    whole, split = RealLearner(rules.WidrowHoff(0.05)), RealLearner(rules.WidrowHoff(0.05))
    X[:20, 2] = 0.0
    whole.learn(X, y)
    split.learn(X[:20, :2], y[:20])
    split.learn(csr_array(X[20:25]), y[20:25])
    split.learn(X[25:], y[25:])
    np.testing.assert_allclose(split.weights(hypothesis), whole.weights(hypothesis), rtol=1e-9)


def test_a_weight_is_a_number_of_visits():
    X, y = examples(6)
    twice, weighted = RealLearner(), RealLearner()
    twice.learn(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted.learn(X, y, np.full(6, 2.0))
    np.testing.assert_allclose(weighted.weights(), twice.weights(), rtol=1e-12)


def test_the_shuffle_does_not_depend_on_how_the_rows_were_ordered():
    X, y = examples()
    one, other = RealLearner(seed=3), RealLearner(seed=3)
    one.train(X, y, max_iter=3)
    other.train(X[::-1].copy(), y[::-1].copy(), max_iter=3)
    assert np.array_equal(one.weights(), other.weights())


def test_a_file_goes_on_where_it_stopped(tmp_path):
    X, y = examples()
    learner = RealLearner(rules.WidrowHoff(0.05))
    learner.train(X, y, max_iter=2)
    save_model(learner, tmp_path / "m")
    back, _ = load_model(tmp_path / "m")
    for each in (learner, back):
        each.train(X, y, max_iter=2)
    assert np.array_equal(back.weights("averaged"), learner.weights("averaged"))
    before = (tmp_path / "m").read_bytes()
    learner.W = learner.W[:, :2]
    with pytest.raises(ValueError, match=r"cannot be saved.* A has shape \(1, 4\), but width is 2"):
        save_model(learner, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


def test_bad_targets_are_named():
    learner = RealLearner()
    for X, y, message in (
        ([[1.0]], [np.nan], "y has the value nan in row 0"),
        ([[1.0]], [1.0, 2.0], "one number for each of the 1 rows"),
        (np.empty((0, 2)), [], "X has no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(X, y)
    with pytest.raises(TypeError, match="is a rule for classes"):
        RealLearner("rosenblatt")
    with pytest.raises(ValueError, match="is not trained yet"):
        learner.weights()
