"""Probabilities from scores: the optimum of Platt's problem, Venn–Abers by brute force, and hostile files."""

import copy
import json
import math
import random

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from rosenblatt.learner import Learner
from rosenblatt.learner.calibration import (
    Calibration,
    ProgressiveScores,
    RunningCalibration,
    _isotonic_with_one_more,
    fit_calibration,
    platt,
)
from rosenblatt.learner.estimate import log_loss
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.storage import BadModel, read_file, write_file


def draws(n, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=n)
    return scores, (rng.random(n) < expit(2.0 * scores / scale - 0.5)).astype(np.int64)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_platt_reaches_the_optimum_at_any_scale(scale):
    scores, labels = draws(400, scale)
    slope, offset = platt(scores, labels == 1, np.ones(400))
    positives = labels.sum()
    target = np.where(labels == 1, (positives + 1) / (positives + 2), 1 / (400 - positives + 2))

    def loss(p):
        z = p[0] * scores / scale + p[1]
        return np.sum(np.logaddexp(0, z) - target * z)

    best = minimize(loss, [1.0, 0.0], tol=1e-12)
    assert loss([slope * scale, offset]) <= best.fun + 1e-6


def test_separable_scores_have_a_finite_slope():
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    slope, offset = platt(scores, scores > 0, np.ones(4))
    assert 0.0 < slope < 100.0
    assert abs(offset) < 1e-6


def test_scores_that_say_the_opposite_say_nothing():
    scores, labels = draws(300)
    slope, offset = platt(-scores, labels == 1, np.ones(300))
    assert slope == 0.0
    assert expit(offset) == pytest.approx(labels.mean(), abs=0.01)


def test_a_weight_counts_as_copies():
    scores, labels = draws(60)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    weighted = platt(scores, labels == 1, weight.astype(float))
    assert weighted == pytest.approx(platt(scores[copies], labels[copies] == 1, np.ones(copies.size)))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_venn_abers_is_isotonic_regression_with_one_more_row(label):
    rng = np.random.default_rng(0)
    right, total = rng.integers(0, 4, 15).astype(float), np.full(15, 4.0)
    values = _isotonic_with_one_more(right, total, label)
    for i in range(15):
        x = np.append(np.arange(15), i)
        fitted = IsotonicRegression().fit(
            x, np.append(right / total, label), sample_weight=np.append(total, 1.0)
        )
        assert values[i] == pytest.approx(float(fitted.predict([i])[0]))


@pytest.mark.parametrize("method", ["platt", "venn-abers"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_calibrated(method, classes):
    rng = np.random.default_rng(classes)
    scores = rng.normal(size=(4000, classes)) * 2
    true = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    labels = (rng.random(4000)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    given = scores[:, 1] - scores[:, 0] if classes == 2 else scores
    calibration = fit_calibration(given[:2000], labels[:2000], method)
    probabilities = calibration.probabilities(given[2000:])
    assert probabilities.shape == (2000, classes)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert log_loss(probabilities, labels[2000:]) < log_loss(true[2000:], labels[2000:]) + 0.03
    again = Calibration.from_json(calibration.to_json())
    assert np.array_equal(again.probabilities(given[2000:]), probabilities)


def test_the_formula_for_exports():
    scores, labels = draws(300)
    calibration = fit_calibration(scores, labels)
    link = calibration.folded(norm=4.0)
    expected = calibration.probabilities(4.0 * scores, norm=4.0)[:, 1]
    np.testing.assert_allclose(expit(link.slope * 4.0 * scores + link.offset), expected)
    table = fit_calibration(scores, labels, "venn-abers")
    link = table.folded(norm=4.0)
    steps = link.values[0][np.searchsorted(link.edges[0], 4.0 * scores, "right")]
    np.testing.assert_array_equal(steps, table.probabilities(4.0 * scores, norm=4.0)[:, 1])


def test_few_rows_are_refused_by_venn_abers():
    with pytest.raises(ValueError, match="200 rows or more, got 50"):
        fit_calibration(*draws(50), "venn-abers")


def test_progressive_scores_hold_the_last_rows():
    progressive = ProgressiveScores(capacity=100)
    scores, labels = draws(250)
    progressive.add(scores[:10], labels[:10])
    assert progressive.calibration() is None
    for a in range(10, 250, 30):
        progressive.add(scores[a : a + 30], labels[a : a + 30])
    expected = fit_calibration(scores[-100:], labels[-100:])
    assert progressive.calibration().slope == pytest.approx(expected.slope)
    progressive.add(np.zeros((5, 3)), np.arange(5) % 3)  # classes were added
    assert progressive.rows == 5


# Files


@pytest.fixture(params=["platt", "venn-abers"])
def saved(request, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(300, 3)), axis=1)
    learner = Learner()
    learner.train(X, y)
    calibration = fit_calibration(learner.scores(X), y, request.param)
    path = tmp_path / "model.safetensors"
    save_learner(learner, path, about={"calibration": calibration.to_json()})
    return path


HOSTILE = [
    *(-1, 0, 1, 2**53, 1e308, -1e308, 0.5, "", "inf", "platt", "venn-abers", None, True),
    *([], {}, [[]], [0.0], [1.0, 2.0], [[1.0], [2.0]], [0.0, 0.0, 0.0], [[2.0, 1.0]] * 3, ["a"] * 3),
]


def test_mutated_probabilities_are_refused_or_usable(saved):
    header, arrays = read_file(saved)
    chooser = random.Random(0)
    refused = 0
    for _ in range(400):
        mutant = copy.deepcopy(header)
        inside = mutant["about"]
        keys = ["calibration"]
        while True:
            at = inside[keys[-1]]
            if isinstance(at, dict) and at and chooser.random() < 0.9:
                inside, key = at, chooser.choice([*at])
            elif isinstance(at, list) and at and chooser.random() < 0.6:
                inside, key = at, chooser.randrange(len(at))
            else:
                break
            keys.append(key)
        inside[keys[-1]] = copy.deepcopy(chooser.choice(HOSTILE))
        write_file(saved, mutant, arrays)
        try:
            learner, about = load_learner(saved)
        except BadModel:
            refused += 1
            continue
        if about["calibration"] is not None:
            scores = learner.scores(np.eye(4) * [[1e3], [1.0], [0.0], [-1e3]])
            probabilities = Calibration.from_json(about["calibration"]).probabilities(scores)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert refused > 200


def test_the_number_of_columns_is_that_of_the_classes(saved):
    header, arrays = read_file(saved)
    header["about"]["calibration"] = {"method": "platt", "slope": [1.0], "offset": [0.0]}
    write_file(saved, header, arrays)
    with pytest.raises(BadModel, match="calibration is 1, expected columns of scores for 3 classes"):
        load_learner(saved)


GOOD = {
    "rows": 10,
    "wrong": 2,
    "confidence": 0.95,
    "thresholds": [1.0, 0.0],
    "answered": [4, 10],
    "errors": [0, 2],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", 0),
        ("rows", 11),
        ("wrong", 3),
        ("confidence", 1.0),
        ("confidence", 0.0),
        ("thresholds", [0.5, 1.0]),
        ("thresholds", [1.0]),
        ("answered", [11, 10]),
        ("errors", [5, 2]),
        ("errors", [3, 2]),
        ("errors", [-1, 2]),
    ],
)
def test_results_on_rows_held_out_are_checked(saved, name, value):
    header, arrays = read_file(saved)
    header["about"]["held_out"] = GOOD
    write_file(saved, header, arrays)
    load_learner(saved)
    header["about"]["held_out"] = {**GOOD, name: value}
    write_file(saved, header, arrays)
    with pytest.raises(BadModel, match="held_out"):
        load_learner(saved)


# Running calibration


@pytest.mark.parametrize("classes", [2, 3])
def test_running_calibration_is_as_good_as_one_of_all_rows(classes):
    rng = np.random.default_rng(classes)
    scores = rng.normal(size=(4000, classes)) * 2
    true = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    labels = (rng.random(4000)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    given = scores[:, 1] - scores[:, 0] if classes == 2 else scores
    running = RunningCalibration(half_life=1 << 20)
    for row, label in zip(np.atleast_2d(given.T).T.tolist(), labels.tolist(), strict=True):
        running.add(row, label)
    rows = np.atleast_2d(given.T).T.tolist()
    own = np.array([running.probabilities(row) for row in rows])
    batch = fit_calibration(given, labels).probabilities(given)
    assert log_loss(own, labels) < log_loss(batch, labels) + 0.003
    np.testing.assert_allclose(own, batch, atol=0.05)


def test_running_calibration_goes_on_from_its_state():
    scores, labels = draws(900)
    running, resumed = RunningCalibration(256), RunningCalibration(256)
    for at, (score, label) in enumerate(zip(scores.tolist(), labels.tolist(), strict=True)):
        norm = 1.0 + at / 100.0
        running.add([score * norm], label, norm)
        if at % 37 == 0:  # as a snapshot does, with predictions in between that change nothing
            resumed = RunningCalibration.from_json(json.loads(json.dumps(resumed.to_json())))
        resumed.probabilities([score])
        resumed.add([score * norm], label, norm)
    assert resumed.to_json() == running.to_json()
    assert resumed.probabilities([0.3]) == running.probabilities([0.3])


def test_running_calibration_needs_rows_and_forgets():
    running = RunningCalibration(half_life=64)
    for at in range(19):
        running.add([1.0 if at % 2 else -1.0], at % 2)
    assert running.probabilities([1.0]) is None
    for at in range(400):
        running.add([1.0 if at % 2 else -1.0], at % 2)
    assert running.probabilities([1.0])[1] > 0.9
    for at in range(2000):  # now the scores say nothing
        running.add([1.0 if at % 3 else -1.0], at % 2)
    assert abs(running.probabilities([1.0])[1] - 0.5) < 0.1
    running.add([0.0, 1.0, 2.0], 2)  # a class more
    assert running.rows == 1
    assert running.probabilities([0.0, 1.0, 2.0]) is None


def test_a_score_right_below_a_power_of_two_is_counted():
    running = RunningCalibration()
    for label in (0, 1) * 20:
        for score in (np.nextafter(1.0, 0.0), -np.nextafter(1.0, 0.0), 0.5):
            running.add([float(score)], label)
    assert running.rows == 120
    assert running.probabilities([0.9])[1] == pytest.approx(0.5, abs=0.05)


def test_running_calibration_takes_scores_of_any_size():
    rng = np.random.default_rng(1)
    running = RunningCalibration(half_life=1 << 20)
    for size in (0.0, 1e-300, 1e-3, 1.0, 1e6, 1e120):
        for _ in range(30):
            label = int(rng.random() < 0.5)
            running.add([size if label else -size], label)
    probabilities = running.probabilities([1e120])
    assert 0.5 < probabilities[1] <= 1.0
    assert sum(map(sum, running._counts[0])) == 180.0
    running.add([math.inf], 1)
    assert running.rows == 180


def test_running_calibration_fits_nothing_until_it_is_asked(monkeypatch):
    fits = []
    monkeypatch.setattr("rosenblatt.learner.calibration.platt", lambda *rows: fits.append(rows) or (1.0, 0.0))
    running = RunningCalibration()
    for row in range(200):
        running.add([float(row % 3), 1.0, 0.5], row % 3)
    assert not fits
    assert running.probabilities([1.0, 0.0, 0.0]) is not None
    assert running.calibration is running.calibration
    assert len(fits) == 3  # one for each class, of the rows up to the last time it was due


def test_running_calibration_is_that_of_its_last_due_row_whenever_it_is_asked():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(150, 3)), rng.integers(0, 3, 150)
    often, once = RunningCalibration(), RunningCalibration()
    for row, label in zip(scores.tolist(), labels.tolist(), strict=True):
        often.add(row, label)
        often.probabilities(row)
        once.add(row, label)
    assert often.to_json() == once.to_json()
