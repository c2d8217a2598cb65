"""The margin is what it says, and no run makes more mistakes than its bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.strategies import integer_data, separable_data

from rosenblatt import rules
from rosenblatt.data import Batch, open_examples
from rosenblatt.learner import Learner, training
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.streams.train import evaluate_stream, train_on_stream

PROMISING = [rules.Rosenblatt, rules.Margin, rules.PassiveAggressive, rules.PassiveAggressiveSquared]


def best_known_margin(X, labels, U):
    """The margin of the hidden separator in the space in which learning happens."""
    scores = np.column_stack([np.ones(len(X)), X]) @ U.T
    if U.shape[0] == 1:
        return ((2 * labels - 1) * scores[:, 0]).min() / np.linalg.norm(U)
    own = scores[np.arange(len(X)), labels]
    scores[np.arange(len(X)), labels] = -np.inf
    return (own - scores.max(axis=1)).min() / np.linalg.norm(U)


@pytest.mark.parametrize("rule", PROMISING)
@settings(max_examples=30, deadline=None)
@given(data=separable_data(), eta=st.floats(0.05, 1.0), order=st.integers(0, 1000), start=st.booleans())
def test_separable_data_are_learned_within_the_bound(rule, data, eta, order, start):
    X, labels, U = data
    margin = best_known_margin(X, labels, U)
    if margin <= 0 or len(np.unique(labels)) < max(2, len(U)):
        return
    own = rule(eta=eta) if "eta" in rule._fields else rule()
    learner = Learner(own, seed=order)
    start_norm = 0.0
    if start:
        w0 = np.random.default_rng(order).normal(size=U.shape)
        learner.start_from(w0[:, 1:], w0[:, 0], np.arange(max(2, len(U))))
        start_norm = float(np.linalg.norm(w0))
    most = own.mistakes_at_most(
        math.sqrt(2 if len(U) > 1 else 1) * np.sqrt((X**2).sum(1) + 1).max(), margin, start_norm
    )
    learner.train(X, labels, max_iter=min(3000, int(most) + 2))
    assert learner.mistakes <= most * (1 + 1e-9)
    if rule in (rules.Rosenblatt, rules.Margin) and most < 2900:
        assert learner.converged
        assert learner.updates <= most * (1 + 1e-9)
        assert learner.mistakes <= learner.evaluations["last"].bound * (1 + 1e-9)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@settings(max_examples=60, deadline=None)
@given(data=integer_data(), passes=st.integers(1, 3), order=st.integers(0, 1000), heavy=st.integers(2, 40))
def test_examples_presented_several_times_keep_within_the_bound(multi_class, data, passes, order, heavy):
    X, labels, _ = data
    weight = np.ones(len(X))
    weight[order % len(X)] = heavy  # whose every presentation may be a mistake
    learner = Learner(multi_class=multi_class, seed=order)
    learner.train(X, labels, max_iter=passes, sample_weight=weight)
    again = Learner(multi_class=multi_class, seed=order)
    copies = weight.astype(np.int64)
    again.train(np.repeat(X, copies, axis=0), np.repeat(labels, copies), max_iter=passes)
    for name in ("last", "averaged"):
        assert learner.mistakes <= learner.evaluations[name].bound * (1 + 1e-9)
        assert learner.evaluations[name].bound == pytest.approx(again.evaluations[name].bound, rel=1e-9)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@settings(max_examples=60, deadline=None)
@given(data=integer_data(), passes=st.integers(1, 6), rule=st.sampled_from(PROMISING))
def test_any_data_keep_within_the_bound_of_every_hypothesis(multi_class, data, passes, rule):
    X, labels, _ = data
    learner = Learner(rule(), multi_class=multi_class)
    learner.train(X, labels, max_iter=passes)
    for standing in learner.evaluations.values():
        assert learner.mistakes <= standing.bound * (1 + 1e-9)


def test_the_margin_is_normalised_and_signed():
    X, labels = np.array([[2.0, 0.0], [-2.0, 0.0], [0.5, 1.0]]), np.array([1, 0, 1])
    learner = Learner()
    learner.train(X, labels, max_iter=100)
    for name, standing in learner.evaluations.items():
        w = learner.weights(name)[0]
        scores = np.column_stack([np.ones(3), X]) @ w
        assert standing.margin == pytest.approx(((2 * labels - 1) * scores).min() / np.linalg.norm(w))


def test_fractions_of_weight_void_the_promise():
    learner = Learner()
    learner.train([[1.0], [-1.0]], [1, 0], sample_weight=[0.5, 1.0])
    assert learner.evaluations["last"].bound == math.inf


# One driver: the bound covers everything learned from, and convergence means that nothing changed


def halves(n=120, seed=3):
    """Two data sets: labels by chance, and labels that a hyperplane separates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n, 3)).astype(np.float64)
    return X, rng.integers(0, 2, n), (X @ [1.0, 2.0, -1.0] + 0.5 > 0).astype(np.int64)


MAKERS = {
    "linear": Learner,
    "linear without ledger": lambda: Learner(keep_ledger=False),
    "ovr": lambda: Learner(multi_class="ovr"),
    "kernel": lambda: KernelLearner(kernel="linear", fit_intercept=True),
    "kernel with slack": lambda: KernelLearner(kernel="linear", delta=0.1),
    "kernel on a budget": lambda: KernelLearner(kernel="linear", budget=40),
}


def learn_in_batches(learner, X, y):
    for half in (slice(0, 60), slice(60, 120)):
        learner.learn(X[half], y[half])


BEFORE = {
    "another fit": lambda learner, X, y: learner.train(X, y, max_iter=3),
    "another fit in order": lambda learner, X, y: learner.train(X, y, max_iter=3, shuffle=False),
    "batches": learn_in_batches,
}


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_bound_after_other_examples_is_infinite_or_covers_them(kind, before, shuffle):
    X, noise, separable = halves()
    learner = MAKERS[kind]()
    BEFORE[before](learner, X, noise)
    made_before = learner.mistakes
    learner.train(X, separable, max_iter=100, shuffle=shuffle)
    assert learner.mistakes > made_before > 60
    for evaluation in learner.evaluations.values():
        assert learner.mistakes <= evaluation.bound


@pytest.mark.parametrize("kind", ["linear", "linear without ledger", "kernel"])
def test_a_fit_that_goes_on_with_the_same_examples_keeps_its_bound(kind):
    X, noise, _ = halves()
    whole, twice = MAKERS[kind](), MAKERS[kind]()
    whole.train(X, noise, max_iter=6)
    twice.train(X, noise, max_iter=2)
    order = np.random.default_rng(0).permutation(len(X))
    twice.train(X[order], noise[order], max_iter=4)
    assert whole.mistakes == twice.mistakes
    assert math.isfinite(twice.evaluations["last"].bound)
    assert twice.evaluations["last"].bound == pytest.approx(whole.evaluations["last"].bound, rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y, weight: (X, 1 - y, weight),
        lambda X, y, weight: (
            X,
            y[::-1].copy(),
            weight,
        ),  # the same rows and the same labels, joined otherwise
        lambda X, y, weight: (X[:, ::-1].copy(), y, weight),
        lambda X, y, weight: (X[1:], y[1:], weight[1:]),
        lambda X, y, weight: (np.concatenate([X, X[:1]]), np.append(y, y[0]), np.append(weight, weight[0])),
        lambda X, y, weight: (X, y, weight[::-1].copy()),
        lambda X, y, weight: (X + 1e-12, y, weight),
        lambda X, y, weight: (X, np.array(["a", "b"])[y], weight),
    ],
)
def test_other_examples_are_not_taken_for_the_same(change):
    X, y, _ = halves()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(np.float64)
    learner = Learner()
    learner.train(X, y, sample_weight=weight, max_iter=2)
    X, y, weight = change(X, y, weight)
    if y.dtype.kind == "U":
        learner = Learner()
        learner.train(X, np.where(y == "a", "a", "c"), sample_weight=weight, max_iter=2)
    learner.train(X, y, sample_weight=weight, max_iter=2)
    assert {each.bound for each in learner.evaluations.values()} == {math.inf}


def test_a_bound_is_infinite_after_an_interrupted_epoch_and_after_a_file(tmp_path):
    X, y, _ = halves()

    def interrupt(epoch):
        raise KeyboardInterrupt

    learner = Learner()
    with pytest.raises(KeyboardInterrupt):
        learner.train(X, y, max_iter=2, on_epoch=interrupt)
    assert np.array_equal(
        learner.ledger.weights_after(np.array([len(learner.ledger)]), 1.0)[0], learner.weights("last")
    )
    learner.train(X, y, max_iter=2)
    assert learner.evaluations["last"].bound == math.inf
    whole = Learner()
    whole.train(X, y, max_iter=2)
    save_learner(whole, tmp_path / "m.safetensors")
    back, _ = load_learner(tmp_path / "m.safetensors")
    assert back.evaluations == whole.evaluations
    back.train(X, y, max_iter=2)
    assert back.evaluations["last"].bound == math.inf


def test_a_stream_after_other_examples_has_no_bound(tmp_path):
    X, noise, separable = halves()
    path = tmp_path / "rows.csv"
    lines = [
        ",".join(f"{value:g}" for value in row) + f",{label}" for row, label in zip(X, separable, strict=True)
    ]
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    fresh = train_on_stream(Learner(), open_examples(path), path, passes=3, evaluate=True, keep=False)
    assert fresh.learner.mistakes <= fresh.evaluations["last"].bound < math.inf
    learner = Learner()
    learner.train(X, fresh.learner.classes[noise], max_iter=2)
    trained = train_on_stream(learner, open_examples(path), path, passes=3, evaluate=True, keep=False)
    assert {each.bound for each in trained.evaluations.values()} == {math.inf}


SHRINKING = [rules.Pegasos(0.5), rules.Pegasos(1e-6), rules.Logistic(0.5, 0.01)]


@pytest.mark.parametrize("rule", SHRINKING, ids=str)
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_a_rule_that_shrinks_the_weights_never_converges(rule, kind):
    X, y = np.array([[2.0, 0.0], [-2.0, 0.0], [2.0, 1.0]]), np.array([1, 0, 1])
    learner = Learner(rule) if kind == "linear" else KernelLearner(rule, kernel="linear", fit_intercept=True)
    learner.train(X, y, max_iter=20)
    assert not learner.converged
    assert len(learner.epochs) == 20


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_a_rule_that_only_updates_converges(kind):
    X, y = np.array([[2.0, 0.0], [-2.0, 0.0], [2.0, 1.0]]), np.array([1, 0, 1])
    learner = Learner() if kind == "linear" else KernelLearner(kernel="linear")
    learner.train(X, y, max_iter=20)
    assert learner.converged
    assert learner.epochs[-1].updates == 0
    assert len(learner.epochs) < 20
    with pytest.raises(ValueError, match="max_iter must be 1 or more, got 0"):
        learner.train(X, y, max_iter=0)


# Replay in the dtype of training


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize(
    "dtypes", [("float32",), ("float64",), ("float32", "float64"), ("float32", "float64", "float32")]
)
def test_the_ledger_replays_to_the_last_bit(dtypes, multi_class, sparse):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4))
    y = np.argmax(X @ rng.normal(size=(4, 3)), axis=1)
    for classes in (2, 3):
        learner = Learner(rules.PassiveAggressive(0.3), multi_class=multi_class)
        for k, dtype in enumerate(dtypes):
            part = X[30 * k : 30 * (k + 1)].astype(dtype)
            labels = np.minimum(y[30 * k : 30 * (k + 1)], classes - 1)
            learner.learn(csr_array(part) if sparse else part, labels, classes=np.arange(classes))
        ledger, last = learner.ledger, learner.weights("last")
        assert last.dtype == max(dtypes)
        replayed = ledger.weights_after(np.array([0, len(ledger) // 2, len(ledger)]), learner.bias_input)
        assert replayed.dtype == last.dtype
        assert np.array_equal(replayed[-1], last)
        assert not replayed[0].any()


@pytest.mark.parametrize("shape", ["memory", "blocks", "stream"])
def test_every_way_of_evaluation_gives_the_same_figures(shape, monkeypatch, tmp_path):
    X, y, _ = halves()
    weight = np.random.default_rng(2).integers(0, 3, len(X)).astype(np.float64)
    expected = Learner()
    expected.train(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0], max_iter=3)
    if shape == "blocks":
        monkeypatch.setattr(training, "SCORES_AT_ONCE", 100)
    learner = Learner()
    learner.train(X, y, sample_weight=weight, max_iter=3)
    if shape == "stream":
        batches = [
            Batch(X[a : a + 17], y[a : a + 17], np.arange(a, a + len(X[a : a + 17])), weight[a : a + 17])
            for a in range(0, len(X), 17)
        ]
        evaluate_stream(learner, batches)
    assert [*learner.evaluations] == ["last", "averaged", "survivor", "pocket", "random"]
    for name, evaluation in learner.evaluations.items():
        assert evaluation == pytest.approx(expected.evaluations[name], rel=1e-12)
    assert np.array_equal(learner.weights("pocket"), expected.weights("pocket"))
