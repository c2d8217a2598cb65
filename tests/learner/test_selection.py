"""Out-of-fold scores are exactly those of separate trainings, for every rule and kind of rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.learner import Learner, selection
from rosenblatt.learner.examples import CheckedExamples, checked_examples, max_row_sqnorm
from rosenblatt.learner.kernel.learner import KernelLearner
from rosenblatt.learner.selection import (
    Trial,
    content_folds,
    group_folds,
    holdout,
    out_of_fold,
    out_of_fold_trials,
    stratified_folds,
    time_folds,
)

CLASSIFYING = [name for name in rules.BY_NAME if name != "widrow-hoff"]


def examples_of(classes=2, sparse=False, weighted=False, dtype=np.float64, n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[: n // 4] = X[n // 4 : n // 2]  # equal rows are numbered apart by the shuffle
    y = np.argmax(X[:, :classes] + rng.normal(size=(n, classes)), axis=1)
    y[: n // 4] = y[n // 4 : n // 2]
    weight = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n) if weighted else None
    X = X.astype(dtype)
    return checked_examples(csr_array(X) if sparse else X, np.array(["a", "b", "c"])[y], weight)


def part_of(examples, rows):
    weight = None if examples.weight is None else examples.weight[rows]
    X = examples.X[rows]
    return CheckedExamples(X, examples.classes, examples.labels[rows], weight, max_row_sqnorm(X, weight))


def separate_scores(examples, folds, trial, hypothesis):
    shape = (
        examples.labels.size if examples.classes.size == 2 else (examples.labels.size, examples.classes.size)
    )
    scores = np.full(shape, np.nan)
    for k in range(folds.number):
        learner = trial.new_learner()
        learner.train_checked(
            part_of(examples, folds.train(k)), max_iter=trial.max_iter, shuffle=trial.shuffle
        )
        scores[folds.test(k)] = learner.scores(examples.X[folds.test(k)], hypothesis)
    return scores


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", CLASSIFYING)
def test_scores_are_those_of_separate_trainings(rule, classes, sparse, weighted):
    examples = examples_of(classes, sparse, weighted)
    folds = stratified_folds(examples.labels, 4)
    trial = Trial(lambda: Learner(rule, seed=3), ("averaged", "last"), max_iter=3)
    (ours,) = out_of_fold_trials(examples, folds, [trial])
    for name in trial.hypotheses:
        assert np.array_equal(ours[name].scores, separate_scores(examples, folds, trial, name))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_blocks_and_trials_side_by_side_change_nothing(monkeypatch, multi_class, shuffle):
    monkeypatch.setattr(selection, "CACHED_BYTES", 0)
    monkeypatch.setattr(selection, "BLOCK_BYTES", 500)
    examples = examples_of(3)
    folds = stratified_folds(examples.labels, 5)
    trials = [
        Trial(lambda: Learner("passive-aggressive", multi_class=multi_class), shuffle=shuffle),
        Trial(lambda: Learner("rosenblatt", multi_class=multi_class, seed=1), shuffle=shuffle),
        Trial(lambda: Learner("arow", multi_class=multi_class), ("last",), max_iter=2, shuffle=shuffle),
    ]
    for trial, ours in zip(trials, out_of_fold_trials(examples, folds, trials), strict=True):
        for name in trial.hypotheses:
            assert np.array_equal(ours[name].scores, separate_scores(examples, folds, trial, name))


@pytest.mark.parametrize("hypothesis", ["voted", "survivor", "pocket", "random"])
@pytest.mark.parametrize("classes", [2, 3])
def test_hypotheses_of_the_ledger(hypothesis, classes):
    examples = examples_of(classes)
    folds = stratified_folds(examples.labels, 3)
    trial = Trial(Learner, (hypothesis,))
    expected = separate_scores(examples, folds, trial, hypothesis)
    np.testing.assert_allclose(out_of_fold(examples, folds, trial).scores, expected, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_kernels(kernel, sparse, classes):
    examples = examples_of(classes, sparse)
    folds = stratified_folds(examples.labels, 3)
    trial = Trial(lambda: KernelLearner("passive-aggressive", kernel=kernel), ("averaged", "last"))
    (ours,) = out_of_fold_trials(examples, folds, [trial])
    for name in trial.hypotheses:
        assert np.array_equal(ours[name].scores, separate_scores(examples, folds, trial, name))


def test_a_gram_matrix_is_cut_by_rows_and_columns():
    examples = examples_of(2)
    gram = examples._replace(X=examples.X @ examples.X.T)
    folds = stratified_folds(examples.labels, 3)
    precomputed = Trial(lambda: KernelLearner("passive-aggressive", kernel="precomputed"), shuffle=False)
    linear = Trial(lambda: KernelLearner("passive-aggressive", kernel="linear"), shuffle=False)
    ours, expected = out_of_fold(gram, folds, precomputed), out_of_fold(examples, folds, linear)
    np.testing.assert_allclose(ours.scores, expected.scores, rtol=1e-9, atol=1e-9)


class Standardised:
    def fit(self, X):
        self.fitted_on = getattr(self, "fitted_on", [])
        self.fitted_on.append(X.shape[0])
        mean, scale = X.mean(axis=0), X.std(axis=0)

        class Fitted:
            def apply(self, X):
                return (X - mean) / scale

        return Fitted()


def test_a_preparation_learns_from_the_training_part_alone():
    examples, prepare = examples_of(2), Standardised()
    folds = stratified_folds(examples.labels, 4)
    ours = out_of_fold(examples, folds, Trial(Learner), prepare)
    expected = np.full(examples.labels.size, np.nan)
    for k in range(folds.number):
        train, test = folds.train(k), folds.test(k)
        fitted = Standardised().fit(examples.X[train])
        learner = Learner()
        learner.train(fitted.apply(examples.X[train]), examples.y[train])
        expected[test] = learner.scores(fitted.apply(examples.X[test]))
    assert np.array_equal(ours.scores, expected)
    assert prepare.fitted_on == [folds.train(k).size for k in range(4)]


def test_a_class_that_a_training_part_lacks_is_still_a_class():
    examples = checked_examples(np.eye(5), ["a", "a", "b", "b", "c"])
    scores = out_of_fold(examples, stratified_folds(examples.labels, 5), Trial(Learner)).scores
    assert scores.shape == (5, 3)
    assert np.isfinite(scores).all()


def test_folds_have_the_classes_in_equal_parts():
    labels = np.repeat([0, 1], [50, 23])
    folds = stratified_folds(labels, 5)
    counts = np.array([np.bincount(labels[folds.test(k)], minlength=2) for k in range(5)])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1


def test_folds_by_content_do_not_depend_on_order_nor_separate_equal_rows():
    examples = examples_of(3)
    X, labels = examples.X, examples.labels
    folds = content_folds(X, labels, 4)
    order = np.random.default_rng(0).permutation(labels.size)
    assert np.array_equal(content_folds(csr_array(X[order]), labels[order], 4).fold, folds.fold[order])
    assert np.array_equal(folds.fold[:30], folds.fold[30:60])
    single = content_folds(np.repeat([[0.0], [1.0]], 4, axis=0), np.repeat([0, 1], 4), 2)
    assert all(np.unique(single.train(k) // 4).size == 2 for k in range(2))


def test_groups_stay_together():
    groups = np.random.default_rng(0).integers(0, 20, 200)
    folds = group_folds(groups, 4)
    assert all(np.unique(folds.fold[groups == g]).size == 1 for g in range(20))
    assert sorted(np.unique(folds.fold)) == [0, 1, 2, 3]


def test_in_time_order_a_row_is_scored_by_earlier_rows_only():
    folds = time_folds(25, 4)
    for k in range(4):
        assert folds.train(k).max() < folds.test(k).min()
    assert (folds.fold[:5] == -1).all()


@pytest.mark.parametrize("part", [0.1, 0.2, 0.5, 0.9])
def test_a_holdout_has_its_part_of_every_class(part):
    labels = np.repeat([0, 1], [300, 100])
    held_out = holdout(labels, part).test(0)
    assert abs(held_out.size - 400 * part) <= 1
    assert abs((labels[held_out] == 1).sum() - 100 * part) <= 1


@pytest.mark.parametrize("wrong", [1, 0, 2.5])
def test_a_wrong_number_of_folds_is_refused(wrong):
    with pytest.raises(ValueError, match="number of folds"):
        stratified_folds(np.array([0, 1, 0, 1]), wrong)
