"""Training rows whose Gram matrix fits in memory: every Gram row is computed once, and the model is the same."""

import numpy as np
import pytest
from scipy import sparse
from tests.kernel.test_exact import MODES, whole_numbers

from rosenblatt.learner.kernel import KernelLearner, blocks
from rosenblatt.rules import Pegasos

NAMES = ("last", "averaged", "voted", "survivor", "pocket", "random")


def noisy(n=300, d=6, seed=0):
    """Return rows of two classes, a tenth of the labels wrong: no number of epochs converges quickly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, np.where(rng.random(n) < 0.1, 1 - y, y)


def counting_kernel(counts):
    """Return an RBF kernel that records the sizes of the blocks it is called with."""

    def kernel(A, B):
        counts.append((A.shape[0], B.shape[0]))
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / A.shape[1])

    return kernel


def same_model(one, other, X):
    """Assert that two learners made the same updates and predict by the same hypotheses."""
    assert one.epochs == other.epochs
    assert one.support_rows.tolist() == other.support_rows.tolist()
    np.testing.assert_array_equal(one.ledger.entries["row"], other.ledger.entries["row"])
    for name in NAMES:
        np.testing.assert_allclose(one.scores(X, name), other.scores(X, name), rtol=1e-9, atol=1e-9)
        if name != "voted":
            np.testing.assert_allclose(one.evaluations[name], other.evaluations[name], rtol=1e-9)


def test_ten_epochs_compute_every_gram_row_at_most_once():
    X, y = noisy()
    counts = []
    learner = KernelLearner(kernel=counting_kernel(counts))
    learner.train(X, y, max_iter=10, evaluate=True)
    gram_rows = sum(a for a, b in counts if b == len(X))
    assert learner.n_support <= gram_rows <= len(X)
    assert sum(a * b for a, b in counts) <= len(X) ** 2 + 64 * len(
        X
    )  # the diagonal is computed in squares of 64


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_the_model_is_that_of_blocks(classes, mode, normalise, monkeypatch):
    X, y = whole_numbers(n=90, classes=classes)
    X = X + 0.01 * np.random.default_rng(3).random(X.shape)
    options = {"kernel": "rbf", "multi_class": mode, "fit_intercept": True, "delta": 0.3}
    cached, in_blocks, too_large = (KernelLearner(block_size=size, **options) for size in (None, 512, None))
    cached.train(X, y, max_iter=5)
    in_blocks.train(X, y, max_iter=5)
    monkeypatch.setattr(blocks, "GRAM_BYTES", 8 * len(X) ** 2 - 1)
    too_large.train(X, y, max_iter=5)
    for other in (in_blocks, too_large):
        same_model(cached, other, X)
        for name in ("last", "averaged", "survivor"):
            own, others = cached.weights(name, normalise), other.weights(name, normalise)
            np.testing.assert_allclose(own, others, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", ["rosenblatt", Pegasos(lam=0.01)], ids=["rosenblatt", "pegasos"])
def test_training_goes_on_from_other_data(rule):
    X, y = noisy(n=160)
    cached, in_blocks = (KernelLearner(rule, kernel="rbf", block_size=size) for size in (None, 512))
    for learner in (cached, in_blocks):
        learner.learn(X[:70], y[:70])
        learner.train(X[70:], y[70:], max_iter=2)
        learner.train(X[70:], y[70:], max_iter=2)
    same_model(cached, in_blocks, X)


def test_a_sparse_gram_matrix_is_read_row_by_row():
    X, y = whole_numbers(n=80, classes=3)
    gram = (X @ X.T + 1.0) ** 2
    dense, rows = (KernelLearner(kernel="precomputed") for _ in range(2))
    dense.train(gram, y, max_iter=4)
    rows.train(sparse.csr_array(gram), y, max_iter=4)
    assert dense.epochs == rows.epochs
    np.testing.assert_array_equal(rows.weights("averaged"), dense.weights("averaged"))


def test_a_kernel_that_fails_in_the_middle_leaves_a_model_of_what_was_learned():
    X, y = noisy()
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) > 12:
            raise RuntimeError("no more values")
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / A.shape[1])

    learner = KernelLearner(kernel=kernel)
    with pytest.raises(RuntimeError, match="no more values"):
        learner.train(X, y, max_iter=10)
    calls.clear()
    assert learner.n_support == len(learner.support) > 0
    assert set(learner.ledger.entries["row"]) == set(learner.support_rows)
    assert np.isfinite(learner.scores(X[:5], "last")).all()
