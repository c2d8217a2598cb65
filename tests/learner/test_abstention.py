"""Answers are certified: too many wrong ones are rarer than stated, and too few rows are said to be too few."""

import numpy as np
import pytest

from rosenblatt.learner.abstention import HeldOut, fewest_rows, held_out, score_gaps
from rosenblatt.learner.estimate import clopper_pearson


def draws(rng, n, noise=0.6):
    scores = rng.normal(size=n)
    return scores, (scores + noise * rng.normal(size=n) > 0).astype(np.int64)


def test_answers_are_wrong_too_often_in_at_most_five_percent_of_draws():
    rng = np.random.default_rng(0)
    scores, labels = draws(rng, 200_000)
    wrong, gaps = (scores > 0) != labels, np.abs(scores)
    violated = answered = 0
    for _ in range(500):
        results = held_out(*draws(rng, 600), draws(rng, 300)[0])
        try:
            abstention = results.abstention(0.05)
        except ValueError:
            continue
        answered += 1
        violated += bool(wrong[gaps >= abstention.threshold].mean() > 0.05)
    assert answered > 300
    assert violated <= 500 * 0.07


def test_a_perfect_model_answers_everything():
    scores = np.linspace(-1.0, 1.0, 400)
    abstention = held_out(scores, (scores > 0).astype(np.int64), scores).abstention(0.05)
    assert abstention.threshold == 0.0
    assert abstention.answered == 400
    assert "answers 100.0% of the 400 rows" in str(abstention)


def test_chance_answers_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500)
    with pytest.raises(ValueError, match="no threshold can be certified"):
        held_out(scores, rng.integers(0, 2, 500), scores).abstention(0.05)


def test_too_few_rows_are_said_to_be_too_few():
    scores = np.linspace(-1.0, 1.0, 40)
    with pytest.raises(ValueError, match="needs 59 answers without an error, and 40 rows were held out"):
        held_out(scores, (scores > 0).astype(np.int64), scores).abstention(0.05)


@pytest.mark.parametrize(("max_error", "confidence"), [(0.05, 0.95), (0.01, 0.9), (0.2, 0.99)])
def test_the_fewest_rows_are_as_many_as_the_bound_needs(max_error, confidence):
    fewest = fewest_rows(max_error, confidence)
    assert clopper_pearson(0, fewest, confidence) <= max_error < clopper_pearson(0, fewest - 1, confidence)


def test_predictions_below_the_threshold_are_unanswered():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(3000, 3))
    labels = np.argmax(scores + 0.5 * rng.normal(size=scores.shape), axis=1)
    results = held_out(scores[:2000], labels[:2000], scores[2000:])
    abstention = results.abstention(0.1)
    predicted = abstention.predict(scores[2000:], np.array(["a", "b", "c"]), "don't know")
    assert set(predicted) == {"a", "b", "c", "don't know"}
    assert ((predicted == "don't know") == (score_gaps(scores[2000:]) < abstention.threshold)).all()


def test_results_are_the_same_from_json():
    scores = np.linspace(-1.0, 1.0, 300)
    results = held_out(scores, (scores > 0.1).astype(np.int64), scores, 0.9)
    again = HeldOut.from_json(results.to_json())
    assert all(np.array_equal(one, other) for one, other in zip(results, again, strict=True))
    assert again.certificate == results.certificate
