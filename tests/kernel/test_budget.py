"""What a budget promises: never too many rows, and mistakes bounded in spite of what is forgotten."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernel.test_exact import MODES, whole_numbers

from rosenblatt.core.kernel_loop import DAMAGE, largest_factor
from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.proofs.bounds import signed_margins
from rosenblatt.rules import PassiveAggressive, Rosenblatt

STRATEGIES = [("oldest", 0.0), ("random", 0.0), ("project", 0.0), ("project", 0.3)]


def stream(n, classes, seed, d=3):
    """Draw a stream of distinct rows; a tenth of the labels is noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    labels = ((X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0) * (classes > 2) + (rng.random(n) < 0.1)) % classes
    labels[:classes] = np.arange(classes)
    return X, labels.astype(int)


def mistakes_at_most(learner, norm, hinge):
    """Return the bound on the mistakes under a budget, against a function of this norm and hinge loss."""
    eta, max_sqnorm = getattr(learner.rule, "eta", 0.0), float(learner.totals["max_sqnorm"][0])
    return learner.budget_slots.mistakes_at_most(eta, learner.radius, max_sqnorm, norm, hinge)


def some_function(learner, X, labels, passes, seed, size):
    """Return the norm and the summed hinge loss, over all visits, of a function made of a few rows, fitted a little."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(X), 20, replace=False)
    hypotheses = learner.W.shape[0]
    targets = np.where(labels[rows][:, None] == np.arange(hypotheses) + (hypotheses == 1), 1.0, -1.0)
    among = np.exp(-((X[rows][:, None] - X[rows][None]) ** 2).sum(axis=2) / X.shape[1])
    alpha = size * np.linalg.solve(among + np.eye(20), targets)
    scores = np.exp(-((X[:, None] - X[rows][None]) ** 2).sum(axis=2) / X.shape[1]) @ alpha
    margins = signed_margins(scores, labels, learner.joint)
    return float(np.sqrt((alpha * (among @ alpha)).sum())), passes * float(
        np.maximum(1.0 - margins, 0.0).sum()
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    strategy=st.sampled_from(STRATEGIES),
    mode=st.sampled_from(MODES),
    budget=st.integers(1, 30),
    eta=st.sampled_from([1.0, 0.3]),
    size=st.floats(0.1, 3.0),
)
def test_forgetting_costs_what_it_says(seed, strategy, mode, budget, eta, size):
    (classes, multi_class), (forget, tolerance) = mode, strategy
    X, labels = stream(120, classes, seed)
    learner = KernelLearner(
        Rosenblatt(eta),
        kernel="rbf",
        multi_class=multi_class,
        budget=budget,
        forget=forget,
        tolerance=tolerance,
    )
    learner.train(X, labels, max_iter=3)
    assert learner.n_support <= budget
    norm, hinge = some_function(learner, X, labels, len(learner.epochs), seed, size)
    assert learner.mistakes <= mistakes_at_most(learner, norm, hinge) * (1 + 1e-9)
    for name in ("last", "averaged"):
        assert learner.mistakes <= learner.evaluations[name].bound * (1 + 1e-9)
    assert np.isfinite(learner.evaluations["last"].bound) == (
        forget != "project" or not learner.budget_slots.lossy
    )


@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_shrinking_is_tuned_to_the_least_that_keeps_the_damage_in_its_share(classes, mode):
    X, labels = stream(400, classes, seed=1)
    learner = KernelLearner(kernel="rbf", multi_class=mode, budget=15)
    tight = 0
    for x, label in zip(X, labels, strict=True):
        before = learner.budget_slots.cost["shrunk"][0] if learner.budget_slots else 0.0
        learner.learn([x], [label], classes=np.arange(classes))
        share, damage = (
            DAMAGE * learner.mistakes,
            learner.budget_slots.damage(learner.rule.eta, learner.radius),
        )
        assert damage <= share + 1e-9
        if learner.budget_slots.cost["shrunk"][0] > before:  # a larger one would have cost too much
            assert damage == pytest.approx(share, abs=1e-9)
            tight += 1
    assert tight > 10


def test_the_forgetron_competes_with_every_small_function():
    """Dekel et al. 2008, self-tuned: M ≤ 2‖g‖² + 4·hinge for ‖g‖ ≤ ¼√((B+1)/log(B+1)), on a stream of distinct rows."""
    budget = 100
    most = 0.25 * np.sqrt((budget + 1) / np.log(budget + 1))
    X, labels = stream(3000, 2, seed=2)
    learner = KernelLearner(kernel="rbf", budget=budget)
    learner.learn(X, labels)
    assert learner.budget_slots.counts[1] > 500
    for seed in range(5):
        norm, hinge = some_function(learner, X, labels, 1, seed, 0.5)
        assert norm <= most
        assert learner.mistakes <= 2 * norm**2 + 4 * hinge


@given(
    square=st.floats(-5.0, 5.0),
    line=st.floats(0.01, 5.0),
    allowed=st.floats(0.01, 5.0),
    more=st.floats(1e-6, 1.0),
)
def test_no_larger_shrink_factor_is_allowed(square, line, allowed, more):
    phi = largest_factor(square, line, allowed)
    assert 0.0 < phi <= 1.0
    assert square * phi**2 + line * phi <= allowed * (1 + 1e-9)
    larger = min(phi * (1 + more), 1.0)
    assert larger == phi or square * larger**2 + line * larger >= allowed * (1 - 1e-9)


def test_what_is_nearly_spanned_takes_no_place():
    X, labels = stream(300, 2, seed=3)
    learner = KernelLearner(kernel="rbf", budget=300, forget="project", tolerance=0.4)
    learner.train(X, labels, max_iter=2)
    exact = KernelLearner(kernel="rbf")
    exact.train(X, labels, max_iter=2)
    assert learner.n_support < exact.n_support
    gram = learner.budget_slots.gram[: learner.n_support, : learner.n_support]
    for s in range(1, learner.n_support):  # each row, when it came, was further from those before it
        k = gram[:s, s]
        assert gram[s, s] - k @ np.linalg.solve(gram[:s, :s], k) > 0.4**2 * gram[s, s]
    # Orabona et al. 2009: with every projection within η, M ≤ (‖g‖² + 2·hinge)/(1 − 2η‖g‖), R = 1.
    norm, hinge = some_function(learner, X, labels, 2, 0, 0.2)
    assert 2 * 0.4 * norm < 1
    assert learner.mistakes <= (norm**2 + 2 * hinge) / (1 - 2 * 0.4 * norm)


def test_copies_and_repeated_corrections_take_one_place():
    X, y = whole_numbers(classes=2)
    learner = KernelLearner(kernel="poly", budget=100, forget="project")
    learner.train(np.concatenate([X, X]), np.concatenate([y, y]), max_iter=5)
    assert len(np.unique(np.concatenate([X, X])[learner.support_rows], axis=0)) == learner.n_support
    heavy = KernelLearner(kernel="poly", budget=100)
    heavy.train(X, y, max_iter=3, sample_weight=np.full(len(y), 4.0))
    assert np.unique(heavy.support_rows).size == heavy.n_support <= len(y)


def test_rows_of_nothing_are_forgotten_like_others():
    X, y = np.zeros((12, 2)), np.arange(12) % 2
    X[8:, 0] = [1.0, -1.0, 1.0, -1.0]
    for forget in ("oldest", "random", "project"):
        learner = KernelLearner(kernel="linear", budget=3, forget=forget)
        learner.learn(X, y)
        assert np.isfinite(learner.scores(X, "last")).all()
        assert learner.n_support <= 3


def test_other_rules_forget_without_shrinking_and_claim_nothing():
    X, y = stream(200, 2, seed=4)
    clf = KernelPerceptron("rbf", rule=PassiveAggressive(C=0.5), budget=10, hypothesis="last").fit(X, y)
    assert clf.learner_.budget_slots.cost["shrunk"][0] == 0.0
    assert clf.learner_.budget_slots.counts[1] > 0
    assert clf.mistake_bound_ == np.inf
    assert mistakes_at_most(clf.learner_, 1.0, 1.0) == np.inf


@pytest.mark.parametrize("options", [{}, {"budget": 5}, {"budget": 5, "forget": "random"}])
def test_tolerance_is_of_projections(options):
    with pytest.raises(ValueError, match="tolerance needs budget= and forget='project'"):
        KernelLearner(tolerance=0.1, **options)
    with pytest.raises(ValueError, match=r"tolerance must be in \[0, 1\)"):
        KernelLearner(budget=3, forget="project", tolerance=1.5)
