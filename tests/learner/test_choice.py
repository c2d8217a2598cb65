"""The choice: what it picks where the answer is known, the simpler of equals, halving, and no leak of labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.data.tables.preprocess import quadratic
from rosenblatt.learner import choice as module
from rosenblatt.learner.choice import Candidate, choose, default_candidates
from rosenblatt.learner.estimate import estimate
from rosenblatt.learner.examples import checked_examples
from rosenblatt.learner.selection import holdout, stratified_folds, time_folds

LINEAR = [Candidate(rules.PassiveAggressive(C=0.1)), Candidate(rules.Rosenblatt())]
RICHER = [
    Candidate(rules.PassiveAggressive(C=0.1), map="quadratic"),
    Candidate(rules.PassiveAggressive(C=1.0), ("averaged",), kernel="poly", degree=3),
    Candidate(rules.PassiveAggressive(C=1.0), ("averaged",), kernel="rbf"),
]


def table(shape, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = {"line": X[:, 0] - X[:, 1], "product": X[:, 0] * X[:, 1], "ring": (X**2).sum(axis=1) - 2.4}[shape] > 0
    return checked_examples(X, y.astype(int))


@pytest.mark.parametrize("shape", ["line", "product", "ring"])
def test_the_simplest_that_is_good_enough_is_chosen(shape):
    choice = choose(table(shape), candidates=LINEAR + RICHER)
    chosen = choice.best.candidate.complexity
    assert (chosen == 0) == (shape == "line")
    assert choice.best.score > 0.9
    assert choice.best.behind <= 1.0
    assert all(tried.behind > 1.0 for tried in choice.table if tried.candidate.complexity < chosen)


def test_the_last_hypothesis_is_chosen_only_where_the_averaged_one_is_clearly_worse():
    """Its score depends on the rows that come last, which the mean over the folds hides."""
    overtaken = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 5))
        y = X[:, 0] + rng.normal(size=120) > 0.0
        choice = choose(
            checked_examples(X, y), candidates=[Candidate(rules.PassiveAggressive(C=0.1), max_iter=3)]
        )
        of = {tried.hypothesis: tried for tried in choice.table}
        if of["averaged"].behind <= 1.0:
            assert choice.best.hypothesis == "averaged"
        overtaken += of["averaged"].behind <= 1.0 and of["last"].score > of["averaged"].score
    assert overtaken  # some of these were decided otherwise by the score alone


def test_scores_of_the_choice_are_out_of_fold():
    examples = table("ring")
    folds = stratified_folds(examples.labels, 4, 1)
    choice = choose(examples, candidates=RICHER[2:], folds=folds)
    learner = choice.best.candidate.new_learner(3)
    train, test = folds.train(2), folds.test(2)
    learner.train(examples.X[train], examples.y[train])
    predicted = learner.predict(examples.X[test]) == 1
    assert (predicted == (choice.scores.scores[test] > 0)).all()


def test_candidates_are_fewer_where_rows_are_more(monkeypatch):
    monkeypatch.setattr(module, "FIRST_ROUND_ROWS", 30)
    progress = []
    candidates = [Candidate(rules.PassiveAggressive(C=C)) for C in np.geomspace(1e-4, 10.0, 12)]
    choice = choose(
        table("line", 800), candidates=candidates, on_progress=lambda *step: progress.append(step)
    )
    tried = {rows: {t.candidate for t in choice.table if t.rows == rows} for rows in (50, 200, 800)}
    assert [len(tried[rows]) for rows in (50, 200, 800)] == [12, 6, 3]
    assert tried[800] <= tried[200] <= tried[50]
    assert choice.best.rows == 800
    assert progress[0][:2] == (0, 12)
    assert progress[-1][0] == progress[-1][1]


def test_rows_in_time_order_are_not_thinned_out(monkeypatch):
    monkeypatch.setattr(module, "FIRST_ROUND_ROWS", 30)
    choice = choose(table("line", 400), folds=time_folds(400, 3), candidates=LINEAR * 3)
    assert {tried.rows for tried in choice.table} == {300}


def test_a_candidate_whose_weights_overflow_is_left_out():
    examples = table("line")
    huge = examples._replace(X=examples.X * 1e120)
    choice = choose(huge, candidates=[Candidate(rules.WidrowHoff(eta=1.0)), *LINEAR])
    assert choice.best.candidate in LINEAR


def test_random_labels_show_nothing_on_rows_outside_the_choice():
    rng = np.random.default_rng(0)
    accuracies = []
    for seed in range(12):
        X, y = rng.normal(size=(160, 10)), rng.permutation(np.repeat([0, 1], 80))
        outside = holdout(y, 0.5, seed)
        train, test = outside.train(0), outside.test(0)
        inside = checked_examples(X[train], y[train])
        best = choose(inside, candidates=LINEAR + RICHER, seed=seed).best
        learner = best.candidate.new_learner(10)
        learner.train(best.candidate.mapped(X[train]), y[train])
        scores = learner.scores(best.candidate.mapped(X[test]), best.hypothesis)
        figures = estimate(scores, y[test], np.array([0, 1]), "held out")
        accuracies.append(figures.accuracy)
    assert abs(np.mean(accuracies) - 0.5) < 0.06


def test_balanced_accuracy_counts_classes_alike():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.05).astype(int)
    examples = checked_examples(rng.normal(size=(400, 3)) + y[:, None], y)
    choice = choose(examples, candidates=LINEAR, scoring="balanced_accuracy")
    figures = estimate(choice.scores.scores, y, np.array([0, 1]), "folds")
    assert choice.best.score == pytest.approx(figures.balanced_accuracy)
    with pytest.raises(ValueError, match="scoring must be one of"):
        choose(examples, scoring="r2")


def test_the_options_and_arguments_repeat_the_choice():
    choice = choose(table("ring"), candidates=RICHER[2:])
    assert choice.best.options == {
        "rule": "passive-aggressive",
        "C": 1.0,
        "hypothesis": "averaged",
        "max_iter": 10,
        "kernel": "rbf",
        "gamma": 1.0,
    }
    arguments = " ".join(choice.arguments(4))
    assert arguments == (
        "--learner kernel --rule passive-aggressive --C 1.0 --hypothesis averaged --max-iter 10 --kernel rbf "
        "--gamma 0.25"
    )


@pytest.mark.parametrize(
    ("rows", "features", "sparse", "maps", "kernels"),
    [
        (500, 10, False, True, True),
        (500, 100, False, False, True),
        (500, 10, True, False, True),
        (50_000, 10, False, True, False),
    ],
)
def test_maps_and_kernels_are_tried_where_they_are_small(rows, features, sparse, maps, kernels):
    candidates = default_candidates(rows, features, sparse)
    assert any(each.map for each in candidates) == maps
    assert any(each.kernel for each in candidates) == kernels
    assert len({str(each) for each in candidates}) == len(candidates)


def test_the_map_is_that_of_feature_map():
    from rosenblatt import FeatureMap

    X = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_array_equal(quadratic(X), FeatureMap("polynomial", degree=2).fit_transform(X))
    np.testing.assert_array_equal(quadratic(csr_array(X)), quadratic(X))
