"""What each rule promises, on sequences made to test it."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import plain_loop
from tests.rules.table import TABLE
from tests.strategies import separable_data

from rosenblatt import Perceptron, rules
from rosenblatt.learner import Learner
from rosenblatt.learner.regression import RealLearner
from rosenblatt.rules import Seen, step

seeds = st.integers(0, 2**32 - 1)


def homogeneous(X):
    return np.column_stack([np.ones(len(X)), X])


def clear_data(seed, n=40, d=3):
    """Two classes with a unit normal ``u`` (homogeneous) and its margin."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=d + 1)
    u[0] *= 0.05  # most draws have points on both sides
    u /= np.linalg.norm(u)
    labels = np.zeros(n, np.int64)
    while labels.min() == labels.max():  # a few draws in a thousand have all points on one side
        X = rng.normal(size=(30 * n, d)) * rng.choice([0.3, 1.0, 3.0])
        scores = homogeneous(X) @ u
        far = np.argsort(-np.abs(scores))[: 10 * n]
        keep = rng.permutation(far)[:n]
        X, scores = X[keep], scores[keep]
        labels = (scores > 0).astype(np.int64)
    return X, labels, u, float(np.abs(scores).min())


EVERY = [rule for name, row in TABLE.items() for rule in (rules.BY_NAME[name](), *row.tried)]
BOUNDED = [rule for rule in EVERY if hasattr(rule, "mistakes_at_most")]


@pytest.mark.parametrize("rule", BOUNDED, ids=str)
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_mistakes_on_separable_data_are_bounded(rule, seed):
    X, labels, _, margin = clear_data(seed)
    radius = float(np.linalg.norm(homogeneous(X), axis=1).max())
    learner = Learner(rule)
    learner.learn(X, labels, classes=[0, 1])
    for _ in range(30):
        learner.learn(X, labels)
    bound = rule.mistakes_at_most(radius, margin)
    assert learner.mistakes <= bound * (1 + 1e-9)


@pytest.mark.parametrize("rule", BOUNDED, ids=str)
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_mistakes_from_any_start_are_bounded(rule, seed):
    X, labels, _, margin = clear_data(seed)
    start = np.random.default_rng(seed).normal(size=4)
    radius = float(np.linalg.norm(homogeneous(X), axis=1).max())
    bound = rule.mistakes_at_most(radius, margin, float(np.linalg.norm(start)))
    if math.isfinite(bound):
        learner = Learner(rule)
        learner.start_from(start[1:], start[0], classes=[0, 1])
        for _ in range(30):
            learner.learn(X, labels)
        assert learner.mistakes <= bound * (1 + 1e-9)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("rule", [rule for rule in EVERY if hasattr(rule, "bound_coefficients")], ids=str)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_mistakes_on_any_data_are_bounded_by_the_loss_of_any_hyperplane(rule, multi_class, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) * rng.choice([0.1, 1.0, 10.0])
    labels = np.where(rng.random(60) < 0.2, rng.integers(0, 3, 60), np.argmax(X, axis=1))
    clf = Perceptron(rule, multi_class=multi_class, max_iter=5).fit(X, labels)
    assert clf.n_mistakes_ <= clf.mistake_bound_ * (1 + 1e-9)
    assert clf.n_mistakes_ <= clf.use("last").mistake_bound_ * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    seed=seeds, rule=st.sampled_from([rules.PAUM(1.0, 2.0, 0.1), rules.PAUM(0.3, 0.0, 5.0), rules.Margin()])
)
def test_updates_of_margin_rules_are_bounded_too(rule, seed):
    X, labels, _, margin = clear_data(seed)
    learner = Learner(rule)
    learner.learn(X, labels, classes=[0, 1])
    for _ in range(30):
        learner.learn(X, labels)
    radius = float(np.linalg.norm(homogeneous(X), axis=1).max())
    assert learner.updates <= rule.mistakes_at_most(radius, margin) * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(data=separable_data(classes=st.just(2)))
def test_paum_leaves_each_class_its_own_margin(data):
    X, labels, _ = data
    if np.unique(labels).size < 2:
        return
    rule = rules.PAUM(1.0, 3.0, 0.5)
    learner = Learner(rule)
    learner.train(X, labels, max_iter=4000)
    if learner.converged:
        scores = learner.scores(X, "last")
        assert (scores[labels == 1] > rule.tau_plus).all()
        assert (scores[labels == 0] < -rule.tau_minus).all()


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_romma_grows_no_longer_than_one_over_the_margin(seed):
    X, labels, _, margin = clear_data(seed)
    run = plain_loop(rules.ROMMA(), X, labels, 2, np.tile(np.arange(len(X)), 5))
    norms = [np.linalg.norm(W) for W in run.after]
    assert norms[-1] <= (1 + 1e-6) / margin
    assert all(later >= earlier * (1 - 1e-9) for earlier, later in pairwise(norms))


@settings(max_examples=40, deadline=None)
@given(seed=seeds, margin=st.sampled_from([0.0, 0.5]))
def test_romma_is_the_shortest_vector_that_agrees(seed, margin):
    rng = np.random.default_rng(seed)
    w, x, y = rng.normal(size=3), rng.normal(size=3), rng.choice([-1.0, 1.0])
    shrink, tau = step(rules.ROMMA(margin), Seen(w @ x, y, x @ x, w @ w, 3.0, 9.0))
    moved = shrink * w + tau * y * x
    if y * (w @ x) > margin:
        assert np.array_equal(moved, w)
        return
    assert y * (moved @ x) == pytest.approx(1.0)
    assert moved @ w >= w @ w * (1 - 1e-9)
    for other in moved + 0.1 * rng.normal(size=(200, 3)):  # no neighbour in both half-spaces is shorter
        if y * (other @ x) >= 1.0 and other @ w >= w @ w:
            assert np.linalg.norm(other) >= np.linalg.norm(moved) * (1 - 1e-9)


@pytest.mark.parametrize("alpha", [0.3, 0.7, 1.0])
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_alma_corrects_seldom_and_reaches_its_margin(alpha, seed):
    X, labels, u, _ = clear_data(seed)
    unit = homogeneous(X) / np.linalg.norm(homogeneous(X), axis=1)[:, None]
    signs = 2.0 * labels - 1.0
    margin = float((signs * (unit @ u)).min())  # of u; the best there is can only be larger
    rule = rules.ALMA(alpha)
    learner = Learner(rule)
    learner.train(X, labels, max_iter=3000, shuffle=False)
    assert learner.updates <= rule.corrections_at_most(margin)
    w = learner.weights("last")[0]
    assert np.linalg.norm(w) <= 1 + 1e-9
    if learner.converged and np.linalg.norm(w) > 0:
        reached = float((signs * (unit @ w)).min()) / np.linalg.norm(w)
        assert reached >= (1 - alpha) * margin * (1 - 1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("p", [2.5, 4.0, 10.0])
@settings(max_examples=20, deadline=None)
@given(seed=seeds, few=st.booleans())
def test_alma_p_corrects_seldom_and_reaches_its_margin_in_its_norms(p, alpha, seed, few):
    rng = np.random.default_rng(seed)
    q, d = p / (p - 1.0), 8
    u = rng.normal(size=d + 1) * (np.arange(d + 1) < (3 if few else d + 1))
    u /= np.linalg.norm(u, q)
    X = rng.normal(size=(600, d))
    unit = homogeneous(X) / np.linalg.norm(homogeneous(X), p, axis=1)[:, None]
    keep = np.argsort(-np.abs(unit @ u))[:60]
    X, unit, signs = X[keep], unit[keep], np.sign(unit[keep] @ u)
    margin = float((signs * (unit @ u)).min())  # of u; the best there is can only be larger
    rule = rules.ALMA(alpha, p=p)
    learner = Learner(rule)
    learner.learn(X[:1], [int(signs[0] > 0)], classes=[0, 1])
    for _ in range(2000):
        if not learner.learn(X, (signs > 0).astype(np.int64)).updates:
            break
    else:
        pytest.fail("corrections never ceased")
    assert learner.mistakes <= learner.updates <= rule.corrections_at_most(margin)
    w = learner.weights("last")[0]
    assert np.linalg.norm(w, q) <= 1 + 1e-9
    assert float((signs * (unit @ w)).min()) / np.linalg.norm(w, q) >= (1 - alpha) * margin * (1 - 1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, lam=st.sampled_from([1e-3, 0.1, 2.0]))
def test_pegasos_regrets_little_and_stays_in_its_ball(seed, lam):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    signs, H = 2.0 * labels - 1.0, homogeneous(X)
    rule = rules.Pegasos(lam)
    run = plain_loop(rule, X, labels, 2, np.arange(120))
    before = [np.zeros(4), *(W[0] for W in run.after[:-1])]

    def loss(t, w):
        return lam / 2 * w @ w + max(0.0, 1.0 - signs[t] * (w @ H[t]))

    assert all(np.linalg.norm(w) <= (1 + 1e-9) / math.sqrt(lam) for w in before)
    suffered = sum(loss(t, w) for t, w in enumerate(before))
    regret = rule.regret_at_most(float(np.linalg.norm(H, axis=1).max()), 120)
    for u in (run.averaged[0], run.W[0], np.zeros(4), rng.normal(size=4)):
        assert suffered <= sum(loss(t, u) for t in range(120)) + regret * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, eta=st.sampled_from([0.01, 0.5, 2.0]), lam=st.sampled_from([0.0, 0.01, 0.4]))
def test_norma_regrets_no_more_than_it_promises(seed, eta, lam):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    signs, H = 2.0 * labels - 1.0, homogeneous(X)
    rule = rules.NORMA(eta, lam, rho=float(rng.choice([0.0, 1.0])))
    run = plain_loop(rule, X, labels, 2, np.arange(120))
    before = [np.zeros(4), *(W[0] for W in run.after[:-1])]
    radius = float(np.linalg.norm(H, axis=1).max())

    def loss(t, w):
        return lam / 2 * w @ w + max(0.0, rule.rho - signs[t] * (w @ H[t]))

    assert all(lam * np.linalg.norm(w) <= radius * (1 + 1e-9) for w in before)
    suffered = sum(loss(t, w) for t, w in enumerate(before))
    for u in (run.averaged[0], run.W[0], np.zeros(4), rng.normal(size=4)):
        regret = rule.regret_at_most(radius, 120, float(u @ u))
        assert suffered <= sum(loss(t, u) for t in range(120)) + regret * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, part=st.sampled_from([0.1, 1.0, 1.9]))
def test_logistic_suffers_no_more_than_it_promises(seed, part):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    signs, H = 2.0 * labels - 1.0, homogeneous(X)
    radius = float(np.linalg.norm(H, axis=1).max())
    rule = rules.Logistic(part / radius**2)
    run = plain_loop(rule, X, labels, 2, np.arange(120))
    before = [np.zeros(4), *(W[0] for W in run.after[:-1])]
    losses = [np.logaddexp(0.0, -signs[t] * (w @ H[t])) for t, w in enumerate(before)]
    for u in (run.averaged[0], np.zeros(4), rng.normal(size=4)):
        of_u = float(np.logaddexp(0.0, -signs * (H @ u)).sum())
        bound = rule.loss_at_most(radius, of_u, float(u @ u))
        assert sum(losses) <= bound * (1 + 1e-9)
        assert run.mistakes <= bound / math.log(2.0) * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, part=st.sampled_from([0.1, 0.5, 0.9]))
def test_the_delta_rule_errs_no_more_than_it_promises(seed, part):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = X @ rng.normal(size=3) + rng.normal(size=80) * rng.choice([0.0, 1.0])
    H = homogeneous(X)
    radius = float(np.linalg.norm(H, axis=1).max())
    rule = rules.WidrowHoff(part / radius**2)
    learner, squared = RealLearner(rule), 0.0
    for t in range(80):
        told = learner.scores(X[t : t + 1], "last")[0] if t else 0.0
        squared += float((y[t] - told) ** 2)
        learner.learn(X[t : t + 1], y[t : t + 1])
    for u in (np.linalg.lstsq(H, y)[0], np.zeros(4), rng.normal(size=4)):
        of_u = float(((y - H @ u) ** 2).sum())
        assert squared <= rule.loss_at_most(radius, of_u, float(u @ u)) * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, r=st.sampled_from([0.1, 1.0, 10.0]))
def test_arow_makes_the_best_move_there_is(seed, r):
    rng = np.random.default_rng(seed)
    w, x, y = rng.normal(size=4), rng.normal(size=4), rng.choice([-1.0, 1.0])
    spread = rng.random(4) + 0.1
    _, tau = step(rules.AROW(r), Seen(w @ x, y, spread @ x**2, 0.0, 0.0, 0.0))
    moved = w + tau * y * spread * x

    def cost(v):
        return ((v - w) ** 2 / spread).sum() + max(0.0, 1.0 - y * (v @ x)) ** 2 / r

    assert all(cost(moved) <= cost(moved + 0.05 * rng.normal(size=4)) + 1e-12 for _ in range(100))
    assert all(rules.AROW(r).narrow(s, v) <= s for s, v in zip(spread, x, strict=True))


@settings(max_examples=30, deadline=None)
@given(seed=seeds, r=st.sampled_from([0.1, 1.0, 10.0]))
def test_arow_keeps_the_bound_of_its_paper_where_the_matrix_stays_diagonal(seed, r):
    rng = np.random.default_rng(seed)
    n, d = 200, 6
    X = np.zeros((n, d))
    X[np.arange(n), rng.integers(0, d, n)] = rng.normal(size=n)
    u = rng.normal(size=d) * 5
    labels = ((X @ u > 0) ^ (rng.random(n) < 0.05)).astype(np.int64)
    signs = 2.0 * labels - 1.0
    learner, updated, mistakes = Learner(rules.AROW(r), fit_intercept=False), [], 0
    for t in range(n):
        before = learner.updates
        learner.learn(X[t : t + 1], labels[t : t + 1], classes=[0, 1])
        if learner.updates > before:
            updated.append(t)
    mistakes = learner.mistakes
    A, s = X[updated], signs[updated]
    hinge = np.maximum(0.0, 1.0 - s * (A @ u)).sum()
    spectrum = np.log1p((A**2).sum(axis=0) / r).sum()
    narrow = len(updated) - mistakes  # updates that were no mistakes
    root = math.sqrt(r * (u @ u) + ((A @ u) ** 2).sum()) * math.sqrt(spectrum + narrow)
    assert mistakes <= root + hinge - narrow + 1e-9


def test_a_bound_is_stated_where_a_rule_has_one():
    X, labels, _, _ = clear_data(3)
    for rule in (rules.ROMMA(), rules.PAUM()):
        learner = Learner(rule)
        learner.train(X, labels, max_iter=200)
        assert learner.mistakes <= learner.evaluations["last"].bound
    learner = Learner(rules.Logistic())
    learner.train(X, labels, max_iter=5)
    assert learner.evaluations["last"].bound == math.inf
