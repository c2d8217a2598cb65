"""Probabilities that a stream keeps current: as good as they should be, stored, and read by every command."""

import copy
import math

import numpy as np
import pytest

from rosenblatt.learner.models import load
from rosenblatt.learner.models.folds import probabilities_of
from rosenblatt.storage import read_model
from rosenblatt.storage.models import running_calibration
from rosenblatt.streams.online import OnlineLearner


def one_by_one(learner, X, y):
    for x, label in zip(X, y, strict=True):
        learner.learn_one(x, label)
    return learner


def noisy(n=1500, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    score = rows[:, 0] + rng.normal(size=n)
    labels = np.array(["down", "up", "far"])[np.digitize(score, [0.0, 1.0][: classes - 1])]
    return [dict(zip("abc", row, strict=True)) for row in rows.tolist()], labels.tolist()


@pytest.mark.parametrize(
    "options", [{}, {"hypothesis": "last", "rule": "arow"}, {"hypothesis": "auto"}], ids=str
)
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_kept_current(options, classes, tmp_path):
    X, y = noisy(classes=classes)
    learner = one_by_one(OnlineLearner(**options), X[:1000], y[:1000])
    losses = [
        -math.log(learner.predict_proba_one(x)[label]) for x, label in zip(X[1000:], y[1000:], strict=True)
    ]
    chance = [y[:1000].count(label) / 1000 for label in y[1000:]]
    assert np.mean(losses) < np.mean(-np.log(chance)) - 0.05
    learner.save(tmp_path / "m")
    resumed = OnlineLearner.load(tmp_path / "m")
    assert resumed.predict_proba_one(X[0]) == learner.predict_proba_one(X[0])
    for other in (learner, resumed):
        one_by_one(other, X[1000:], y[1000:])
    assert resumed.running_calibration.to_json() == learner.running_calibration.to_json()
    stored = load(str(tmp_path / "m"))  # as the command predict reads it
    matrix = np.array([[x[name] for name in learner.names] for x in X[:5]])
    scores = stored.scores(matrix, stored.hypothesis)
    by_file = probabilities_of(stored, scores, stored.hypothesis)
    again = OnlineLearner.load(tmp_path / "m")
    by_stream = [list(again.predict_proba_one(x).values()) for x in X[:5]]
    if learner.statistics is None:  # else a row joins the statistics before it is predicted
        np.testing.assert_allclose(by_file, by_stream, rtol=1e-9)
    else:
        np.testing.assert_allclose(by_file, by_stream, atol=0.02)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"hypothesis": "auto"}, {"multi_class": "ovr"}], ids=str)
def test_probabilities_are_the_same_whenever_they_are_asked_for(options, classes, monkeypatch):
    """Scores wait until they are needed; a copy takes those of its own."""
    X, y = noisy(700, classes)
    asked, waiting, full = (OnlineLearner(**options) for _ in range(3))
    for x, label in zip(X, y, strict=True):
        asked.learn_one(x, label)
        asked.predict_proba_one(x)
        waiting.learn_one(x, label)
    twin = copy.copy(waiting)
    for other in (waiting, twin):
        assert other.running_calibration.to_json() == asked.running_calibration.to_json()
    monkeypatch.setattr("rosenblatt.streams.online.MOST_PENDING", 7)
    one_by_one(full, X, y)
    assert full.running_calibration.to_json() == asked.running_calibration.to_json()


@pytest.mark.parametrize("options", [{}, {"hypothesis": "auto"}], ids=str)
def test_blocks_keep_probabilities_current_too(options):
    X, y = noisy()
    one_block = OnlineLearner(**options).learn_many(X[:1000], y[:1000])
    blocks = OnlineLearner(**options)
    for start in range(0, 1000, 50):
        blocks.learn_many(X[start : start + 50], y[start : start + 50])
    for learner in (one_block, blocks):
        losses = [
            -math.log(learner.predict_proba_one(x)[label])
            for x, label in zip(X[1000:], y[1000:], strict=True)
        ]
        assert np.mean(losses) < 0.66


def test_a_stream_without_probabilities():
    X, y = noisy(100)
    learner = one_by_one(OnlineLearner(calibrated=False), X, y)
    assert learner.running_calibration is None
    assert sum(learner.predict_proba_one(X[0]).values()) == pytest.approx(1.0)


def test_a_changed_state_of_probabilities_is_refused(tmp_path):
    X, y = noisy(100)
    one_by_one(OnlineLearner(), X, y).save(tmp_path / "m")
    content = read_model(tmp_path / "m", "learner")
    state = content.about["stream"]["calibration"]
    for change in (
        {"rows": -1},
        {"half_life": 0},
        {"columns": [{"limit": -1.0, "groups": []}]},
        {"columns": [{"limit": 1.0, "groups": [[0, 128, 1.0, 0.0]]}]},
        {"columns": []},
    ):
        with pytest.raises(ValueError, match="calibration"):
            running_calibration({**state, **change}, "about.stream.calibration")


def test_blocks_add_the_scores_of_one_row_in_64_as_single_rows_do():
    X, y = noisy(64 * 250)
    single, blocks = OnlineLearner(), OnlineLearner()
    one_by_one(single, X, y)
    for first in range(0, len(X), 500):
        blocks.learn_many(X[first : first + 500], y[first : first + 500])
    later = len(X) // 64
    assert single.running_calibration.rows <= 512 + later
    assert later // 2 <= blocks.running_calibration.rows <= 3 * 64 + later
