"""Figures agree with scikit-learn's, bounds hold as often as they claim, and nothing beats chance on random labels."""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
from sklearn import metrics

from rosenblatt.learner import Learner
from rosenblatt.learner.estimate import (
    auc,
    brier_score,
    certificate,
    clopper_pearson,
    estimate,
    interval,
    log_loss,
    percent,
    progressive_bound,
)
from rosenblatt.learner.examples import checked_examples
from rosenblatt.learner.selection import Trial, holdout, out_of_fold, stratified_folds


def table(rng, n=400, d=5, noise=1.0, classes=2):
    X = rng.normal(size=(n, d))
    y = np.argmax(X[:, :classes] + noise * rng.normal(size=(n, classes)), axis=1)
    return X, y


@pytest.mark.parametrize("classes", [2, 4])
def test_figures_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    labels = rng.integers(0, classes, 300)
    scores = rng.normal(size=(300, classes))
    scores[np.arange(300), labels] += 1.0
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    predicted = np.argmax(scores, axis=1)
    if classes == 2:
        scores = np.round(scores[:, 1] - scores[:, 0], 1)  # with ties
        predicted = (scores > 0).astype(int)
    figures = estimate(scores, labels, np.arange(classes), "test", probabilities=probabilities)
    assert figures.accuracy == pytest.approx(metrics.accuracy_score(labels, predicted))
    assert figures.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(labels, predicted))
    assert figures.confusion.tolist() == metrics.confusion_matrix(labels, predicted).tolist()
    assert figures.log_loss == pytest.approx(metrics.log_loss(labels, probabilities))
    if classes == 2:
        assert figures.f1 == pytest.approx(metrics.f1_score(labels, predicted))
        assert figures.auc == pytest.approx(metrics.roc_auc_score(labels, scores))
        assert figures.brier == pytest.approx(metrics.brier_score_loss(labels, probabilities[:, 1]))
    else:
        assert math.isnan(figures.f1)
        assert math.isnan(figures.auc)


def test_rows_without_a_score_are_left_out():
    figures = estimate(np.array([np.nan, 1.0, -1.0]), np.array([0, 1, 0]), np.array([0, 1]), "test")
    assert figures.rows == 2
    assert figures.accuracy == 1.0
    with pytest.raises(ValueError, match="no scored row"):
        estimate(np.array([np.nan]), np.array([0]), np.array([0, 1]), "test")


@pytest.mark.parametrize(("wrong", "rows"), [(0, 1), (0, 59), (3, 100), (99, 100), (100, 100)])
def test_clopper_pearson_inverts_the_binomial_distribution(wrong, rows):
    from scipy.stats import binom

    bound = clopper_pearson(wrong, rows, 0.95)
    if wrong < rows:
        assert binom.cdf(wrong, rows, bound) == pytest.approx(0.05, rel=1e-6)
    else:
        assert bound == 1.0
    low, high = interval(wrong, rows)
    assert 0.0 <= low <= wrong / rows <= high <= 1.0


def test_the_certificate_is_violated_in_at_most_five_percent_of_draws():
    """500 draws of training and held-out rows; the error on 20,000 other rows stands for the true one."""
    rng = np.random.default_rng(1)
    X_new, y_new = table(rng, 20_000)
    violated = 0
    for _ in range(500):
        X, y = table(rng, 160)
        folds = holdout(y, 0.5)
        train, test = folds.train(0), folds.test(0)
        learner = Learner(keep_ledger=False)
        learner.train(X[train], y[train], max_iter=2)
        bound = certificate(int((learner.predict(X[test]) != y[test]).sum()), test.size)
        violated += bool((learner.predict(X_new) != y_new).mean() > bound.error)
    assert violated <= 500 * 0.07


def test_the_progressive_bound_holds_for_the_mean_of_the_hypotheses():
    rng = np.random.default_rng(2)
    X_new, y_new = table(rng, 4000)
    violated = 0
    for _ in range(60):
        X, y = table(rng, 120)
        learner, errors, mistakes = Learner(keep_ledger=False), [], 0
        learner.start_from(np.zeros((1, X.shape[1])), 0.0, [0, 1])
        for i in range(y.size):
            errors.append((learner.predict(X_new, "last") != y_new).mean())
            mistakes += bool(learner.predict(X[i : i + 1], "last")[0] != y[i])
            learner.learn(X[i : i + 1], y[i : i + 1])
        violated += bool(np.mean(errors) > progressive_bound(mistakes, y.size).error)
    assert violated <= 60 * 0.07


def test_no_figure_is_above_chance_on_random_labels():
    rng = np.random.default_rng(3)
    accuracies, aucs, better = [], [], 0
    for seed in range(40):
        X, y = rng.normal(size=(200, 30)), rng.permutation(np.repeat([0, 1], 100))
        examples = checked_examples(X, y)
        out = out_of_fold(examples, stratified_folds(examples.labels, 5, seed), Trial(Learner))
        figures = estimate(out.scores, examples.labels, examples.classes, "5 folds")
        accuracies.append(figures.accuracy)
        aucs.append(figures.auc)
        better += figures.better_than_majority
    assert np.mean(accuracies) < 0.5 + 0.02
    assert np.mean(aucs) < 0.5 + 0.02
    assert better <= 4  # the interval fails in one case of forty on this side


def test_the_three_kinds_of_statement_are_worded_differently():
    held_out = str(certificate(740, 4884))
    assert held_out.startswith(
        "at most 16.1% wrong on new rows like these, with 95% confidence (Clopper–Pearson"
    )
    progressive = str(progressive_bound(740, 4884))
    assert "on average" in progressive
    assert "hypotheses" in progressive
    scores = np.array([1.0, -1.0, 1.0, -1.0])
    cross_validated = str(estimate(scores, np.array([1, 0, 1, 0]), np.array(["a", "b"]), "5 folds"))
    assert "5 folds" in cross_validated
    assert "at most" not in cross_validated
    assert "no better than that is shown" in cross_validated  # four rows show nothing


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 59, 100, 99_999, 10**8])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999])
def test_clopper_pearson_is_never_below_the_exact_bound(rows, confidence):
    """Against scipy, and against exact sums of the binomial distribution where scipy has only eight digits."""
    from scipy.special import betaincinv

    counts = {0, 1, 2, rows // 100, rows // 3, rows - 2, rows - 1, rows}
    for wrong in sorted(count for count in counts if 0 <= count <= rows):
        bound = clopper_pearson(wrong, rows, confidence)
        if wrong == rows:
            assert bound == 1.0
            continue
        assert bound == pytest.approx(betaincinv(wrong + 1, rows - wrong, confidence), rel=1e-8)
        assert 0.0 < bound <= 1.0
        if wrong < 3 and bound < 1.0:
            with localcontext(Context(prec=60)):
                assert fewer_errors(wrong, rows, Decimal(bound)) <= 1 - Decimal(confidence)
                assert fewer_errors(wrong, rows, Decimal(bound) * (1 - Decimal("2e-10"))) >= 1 - Decimal(
                    confidence
                )


def fewer_errors(wrong: int, rows: int, rate: Decimal) -> Decimal:
    """Return the probability of at most ``wrong`` errors in ``rows``."""
    return sum(math.comb(rows, k) * rate**k * (1 - rate) ** (rows - k) for k in range(wrong + 1))


@pytest.mark.parametrize("confidence", [1e-12, 1.0 - 1e-16])
@pytest.mark.parametrize(("wrong", "rows"), [(0, 1), (5, 10), (0, 10**15), (10**8 - 1, 10**8)])
def test_clopper_pearson_takes_any_confidence(wrong, rows, confidence):
    bound = clopper_pearson(wrong, rows, confidence)
    assert 0.0 < bound <= 1.0
    if wrong == 0:
        exact = -math.expm1(math.log1p(-confidence) / rows)
        assert exact <= bound <= exact * (1.0 + 2e-10)


@pytest.mark.parametrize("digits", [0, 1, 2])
@pytest.mark.parametrize("rounding", ["nearest", "up", "down"])
def test_all_and_none_are_printed_only_where_they_are_exact(digits, rounding):
    everything, nothing = f"{100:.{digits}f}%", f"{0:.{digits}f}%"
    for rows in (3, 100, 9999, 10**6, 10**9):
        assert percent(1.0, digits, rounding=rounding) == everything
        assert percent(0.0, digits, rounding=rounding) == nothing
        for wrong in {1, 2, rows // 2, rows - 1}:
            for short in (False, True):
                words = percent(wrong / rows, digits, rounding=rounding, short=short)
                assert words not in (everything, nothing), (wrong, rows)
                number = float(words.lstrip("<>morelsthan ").rstrip("%")) / 100.0
                assert abs(number - wrong / rows) <= 10.0 ** -(digits + 2) * 1.0001
                if rounding != "nearest":
                    assert (number - wrong / rows) * (1 if rounding == "up" else -1) > -1e-12


def test_a_bound_is_never_printed_below_what_was_shown():
    for wrong, rows in ((740, 4884), (0, 59), (3, 100), (0, 10**6), (99, 100)):
        bound = certificate(wrong, rows)
        printed = float(str(bound).removeprefix("at most ").split("%")[0]) / 100.0
        assert bound.error <= printed <= bound.error + 0.0010001
    assert "99.9% confidence" in str(certificate(3, 10_000, 0.999))


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, float("nan")])
def test_a_wrong_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        certificate(1, 10, confidence)


def test_one_class_has_no_auc():
    assert math.isnan(auc(np.array([1.0, 2.0]), np.array([1, 1])))


def test_certain_and_wrong_has_a_finite_log_loss():
    assert np.isfinite(log_loss(np.array([[1.0, 0.0]]), np.array([1])))
    assert brier_score(np.array([[1.0, 0.0, 0.0]]), np.array([1])) == 2.0
