"""The pass with a variance per weight: growth, files and what it does not know."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.rules.plain_arow import plain_arow

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner


@pytest.mark.parametrize("stored", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_variances_are_those_of_the_plain_loop_and_survive_a_file(multi_class, stored, tmp_path):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(90, 5)) * (rng.random((90, 5)) < 0.6), rng.integers(0, 3, 90)
    learner = Learner(rules.AROW(0.5), multi_class=multi_class)
    learner.learn(stored(X[:40]), labels[:40], classes=[0, 1, 2])
    save_learner(learner, tmp_path / "m")
    learner, _ = load_learner(tmp_path / "m")
    learner.learn(stored(X[40:]), labels[40:])
    told = plain_arow(rules.AROW(0.5), X, labels, 3, np.arange(90), joint=multi_class == "joint")
    np.testing.assert_allclose(learner.S, told.S, rtol=1e-9)
    np.testing.assert_allclose(learner.weights("last"), told.W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner.running["sqnorm"].sum(), (told.W**2).sum(), rtol=1e-9)


def test_features_and_classes_join_with_a_variance_of_one():
    learner = Learner(rules.AROW())
    learner.learn([[1.0]], ["a"], classes=["a", "b"])
    learner.learn([[0.0, 1.0]], ["c"])
    assert learner.S.shape == learner.W.shape == (3, 3)
    assert (learner.S <= 1.0).all()
    assert learner.S[2, 1] == 1.0  # class c has not seen the first feature


def test_there_is_no_ledger_to_read_from():
    learner = Learner(rules.AROW())
    learner.train([[1.0], [-1.0]], [0, 1])
    assert learner.ledger is None
    with pytest.raises(ValueError, match="only 'last' and 'averaged' can predict"):
        learner.scores([[1.0]], "voted")
