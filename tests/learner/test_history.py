"""The history of a run: the plain Python loop makes the same updates."""

import numpy as np
import pytest

from rosenblatt import Perceptron
from rosenblatt.learner import Learner
from rosenblatt.learner.history import BLOCK, updates_of


def plain_updates(X, y, epochs):
    """Yield (clock, row from 1, score, weights before, weights after) of Rosenblatt's rule, y in ±1."""
    w, clock = np.zeros(1 + X.shape[1]), 0
    for _ in range(epochs):
        for i, x in enumerate(np.column_stack([np.ones(len(X)), X])):
            score = float(w @ x)
            if y[i] * score <= 0:
                before, w = w, w + y[i] * x
                yield clock, i + 1, score, before, w
            clock += 1


@pytest.fixture
def noisy():
    rng = np.random.default_rng(5)
    return rng.integers(-4, 5, (60, 3)).astype(float), rng.choice([-1, 1], 60)


def test_updates_are_those_of_the_plain_loop(noisy):
    X, y = noisy
    learner = Learner()
    learner.train(X, y, max_iter=12, shuffle=False)
    wanted = list(plain_updates(X, y, 12))
    assert len(wanted) > BLOCK  # several blocks are replayed
    for each, (clock, row, score, before, after) in zip(updates_of(learner), wanted, strict=True):
        assert (each.clock, each.row, each.score) == (clock, row, score)
        assert each.label == str(y[row - 1])
        assert np.array_equal(each.before, before)
        assert np.array_equal(each.after, after)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_the_last_update_of_every_class_leaves_its_weights(noisy, multi_class):
    X, _ = noisy
    y = np.arange(60) % 3
    clf = Perceptron(max_iter=4, multi_class=multi_class, hypothesis="last").fit(X, y)
    frame = clf.history()
    names = ["bias", "x1", "x2", "x3"]
    for k, label in enumerate(clf.classes_):
        last = frame[frame["class"] == str(label)].iloc[-1]
        assert [last[f"{name} after"] for name in names] == [clf.intercept_[k], *clf.coef_[k]]
    moved = (
        frame[[f"{name} after" for name in names]].to_numpy() - frame[[f"{name} before" for name in names]]
    )
    rows = np.column_stack([np.ones(60), X])[frame["row"] - 1]
    assert np.allclose(moved, frame["tau"].to_numpy()[:, None] * rows)


def test_without_a_ledger_there_is_no_history(noisy):
    with pytest.raises(ValueError, match="keep_ledger=True"):
        Perceptron(keep_ledger=False).fit(*noisy).history()
