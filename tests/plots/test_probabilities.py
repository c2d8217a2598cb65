"""Calibration and ROC curves: the numbers that are drawn."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sklearn.metrics import roc_auc_score

from rosenblatt.plots.probabilities import calibration, roc, wilson_interval

RNG = np.random.default_rng(0)


def drawn(ax, gid):
    (line,) = [line for line in ax.lines if line.get_gid() == gid]
    return np.asarray(line.get_xydata())


def test_believable_probabilities_lie_on_the_diagonal():
    p = RNG.random(20_000)
    points = drawn(calibration(RNG.random(20_000) < p, p), "groups")
    assert len(points) == 10
    assert np.abs(points[:, 0] - points[:, 1]).max() < 0.05


def test_every_row_counts_once():
    p = RNG.random(1003)
    happened = RNG.random(1003) < 0.3
    points = drawn(calibration(happened, p, groups=1), "groups")
    assert points[0] == pytest.approx([p.mean(), happened.mean()])


def test_the_area_is_that_of_scikit_learn_with_ties():
    scores = RNG.integers(0, 7, 300).astype(float)
    happened = RNG.random(300) < scores / 10
    curve = drawn(roc(happened, scores), "roc")
    area = np.sum(np.diff(curve[:, 0]) * (curve[1:, 1] + curve[:-1, 1]) / 2)
    assert area == pytest.approx(roc_auc_score(happened, scores))


def test_wilson_contains_the_share():
    low, high = wilson_interval(np.array([0.0, 0.5, 1.0]), np.array([5, 5, 5]))
    assert (low >= -1e-12).all()
    assert (high <= 1 + 1e-12).all()
    assert ((low <= [0.0, 0.5, 1.0]) & (high >= np.array([0.0, 0.5, 1.0]) - 1e-12)).all()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="one length"):
        roc([True, False], [0.5])
