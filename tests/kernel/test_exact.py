"""Blocks make exactly the updates of the plain loop: every kernel, class mode, block size, rule and budget."""

import numpy as np
import pytest
from scipy import sparse
from tests.kernel.oracle import plain_kernel_loop, slow_kernel_vote

from rosenblatt.core.order import Shuffle, in_given_order
from rosenblatt.core.rows import rows_of
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.rules import (
    ALMA,
    PAUM,
    ROMMA,
    Logistic,
    Margin,
    PassiveAggressive,
    PassiveAggressiveSquared,
    Pegasos,
    Rosenblatt,
    WidrowHoff,
)

KERNELS = {
    "linear": lambda A, B: A @ B.T,
    "poly": lambda A, B: (A @ B.T + 1.0) ** 3,
    "rbf": lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / A.shape[1]),
}
MODES = [(2, "joint"), (4, "joint"), (4, "ovr")]


def whole_numbers(n=60, d=5, classes=2, seed=0):
    """Draw small whole numbers, some rows twice, and labels that no boundary fits at first sight."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    X[n // 2 : n // 2 + 5] = X[:5]
    labels = (np.abs(X[:, 0]) + np.abs(X[:, 1] * X[:, 2]) + rng.integers(0, 2, n)).astype(int) % classes
    labels[:classes] = np.arange(classes)
    return X, labels


def same(learner, run, exactly=True):
    """Assert that a learner has gone through what the plain loop went through."""
    assert learner.mistakes == run.mistakes
    if learner.ledger is not None:
        told = learner.ledger.entries
        wanted = np.array([u[:3] for u in run.updates], dtype=int).reshape(-1, 3)
        got = np.column_stack([told["row"], told["target"], told["rival"]])
        np.testing.assert_array_equal(got, wanted)
        close(told["tau"], np.array([u[3] for u in run.updates]), exactly)
        close(told["clock"], np.array([u[4] for u in run.updates]), exactly)
    assert learner.support_rows.tolist() == run.order
    for name, alpha in (("last", run.alpha), ("averaged", run.averaged)):
        close(learner.weights(name), alpha[:, run.order], exactly and name == "last")
    sqnorm = [run.sqnorm(h) for h in range(learner.running.size)]
    np.testing.assert_allclose(learner.running["sqnorm"], sqnorm, rtol=1e-8, atol=1e-8)


def close(got, wanted, exactly):
    if exactly:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(
            got, wanted, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(wanted).max(initial=0.0))
        )


def epochs_of(X, labels, passes, seed=0, weight=None):
    shuffle = Shuffle(rows_of(X), labels, seed, weight)
    visits = [shuffle.epoch(k) for k in range(passes)]
    order = np.concatenate([v.order for v in visits]).astype(int)
    return order, np.concatenate([v.weight for v in visits])


@pytest.mark.parametrize("block", [None, 1, 7, 512])  # None: Gram rows are computed once
@pytest.mark.parametrize(("classes", "mode"), MODES)
@pytest.mark.parametrize("kernel", [*KERNELS, "callable", "precomputed", "sparse"])
def test_every_kernel_class_mode_and_block_size(kernel, classes, mode, block):
    X, labels = whole_numbers(classes=classes)
    of = KERNELS[{"callable": "poly", "precomputed": "poly", "sparse": "poly"}.get(kernel, kernel)]
    gram = of(X, X)
    given = {"precomputed": gram, "sparse": sparse.csr_array(X)}.get(kernel, X)
    name = {"callable": of, "sparse": "poly"}.get(kernel, kernel)
    learner = KernelLearner(kernel=name, degree=3, multi_class=mode, block_size=block)
    learner.train(given, labels, max_iter=4)
    order, _ = epochs_of(gram if kernel == "precomputed" else X, labels, len(learner.epochs))
    run = plain_kernel_loop(Rosenblatt(), gram, labels, classes, order, joint=mode == "joint")
    same(learner, run, exactly=kernel != "rbf")
    new = np.random.default_rng(1).integers(-3, 4, (20, 5)).astype(float)
    values = of(new, X)
    shown = {"precomputed": values, "sparse": sparse.csr_array(new)}.get(kernel, new)
    close(learner.scores(shown, "last").reshape(20, -1), values @ run.alpha.T, exactly=kernel != "rbf")
    if kernel != "rbf":
        np.testing.assert_allclose(
            learner.scores(shown, "voted").reshape(20, -1), slow_kernel_vote(run, values), atol=1e-12
        )


RULES = [
    Margin(beta=3.0),
    PassiveAggressive(C=0.1),
    PassiveAggressiveSquared(C=2.0),
    PAUM(),
    ALMA(),
    ROMMA(),  # forgets all at once where an example contradicts what was learned
    Pegasos(lam=0.01),  # the first example is all there is after it
    Logistic(),
    WidrowHoff(eta=1e-4),
]


@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_every_rule_steps_in_the_dual_as_it_does_with_weights(rule, classes, mode, block):
    X, labels = whole_numbers(classes=classes)
    X = X + 0.01 * np.random.default_rng(3).random(X.shape)
    gram = KERNELS["poly"](X, X)
    learner = KernelLearner(rule, kernel="poly", degree=3, multi_class=mode, block_size=block)
    learner.train(X, labels, max_iter=3)
    order, _ = epochs_of(X, labels, len(learner.epochs))
    run = plain_kernel_loop(rule, gram, labels, classes, order, joint=mode == "joint")
    # An example brought to margin one exactly is right or not by a rounding, so steps are compared by their sum.
    assert learner.mistakes == run.mistakes
    np.testing.assert_allclose(learner.weights("last"), run.alpha[:, learner.support_rows], atol=1e-9)
    np.testing.assert_allclose(learner.weights("averaged"), run.averaged[:, learner.support_rows], atol=1e-9)


@pytest.mark.parametrize(
    ("forget", "tolerance"), [("oldest", 0.0), ("random", 0.0), ("project", 0.0), ("project", 0.6)]
)
@pytest.mark.parametrize("block", [1, 7, 512])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_a_budget_forgets_as_one_by_one(forget, tolerance, block, classes, mode):
    X, labels = whole_numbers(classes=classes)
    gram = KERNELS["poly"](X, X)
    options = {"budget": 12, "forget": forget, "tolerance": tolerance, "seed": 5}
    learner = KernelLearner(kernel="poly", degree=3, multi_class=mode, block_size=block, **options)
    learner.train(X, labels, max_iter=3)
    order, _ = epochs_of(X, labels, len(learner.epochs), seed=5)
    run = plain_kernel_loop(Rosenblatt(), gram, labels, classes, order, joint=mode == "joint", **options)
    assert learner.n_support <= 12
    assert learner.mistakes == run.mistakes
    assert learner.support_rows.tolist() == run.order
    close(learner.weights("last"), run.alpha[:, run.order], exactly=forget == "random")
    toll = learner.budget_slots.cost[0]
    for part in ("mistakes", "squares", "lengths", "shrunk", "short"):
        np.testing.assert_allclose(toll[part], getattr(run.spent, part), rtol=1e-6, atol=1e-6, err_msg=part)
    sqnorm = [run.sqnorm(h) for h in range(learner.running.size)]
    np.testing.assert_allclose(learner.running["sqnorm"], sqnorm, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("budget", "block"), [(None, None), (None, 16), (12, 16)])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_delta_gives_every_example_a_coordinate_of_its_own(classes, mode, budget, block):
    X, labels = whole_numbers(classes=classes)
    gram = KERNELS["poly"](X, X) + 4.0 * np.eye(len(X))
    options = {"delta": 2.0, "block_size": block, "budget": budget}
    learner = KernelLearner(kernel="poly", degree=3, multi_class=mode, **options)
    learner.train(X, labels, max_iter=4)
    order, _ = epochs_of(X, labels, len(learner.epochs))
    run = plain_kernel_loop(Rosenblatt(), gram, labels, classes, order, joint=mode == "joint", budget=budget)
    assert learner.mistakes == run.mistakes
    close(learner.weights("last"), run.alpha[:, run.order], exactly=budget is None)


@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_a_weight_is_a_number_of_presentations(classes, mode, block):
    X, labels = whole_numbers(classes=classes)
    weight = np.random.default_rng(2).choice([0.5, 1.0, 2.0, 3.0], len(X))
    learner = KernelLearner(kernel="poly", degree=3, multi_class=mode, block_size=block)
    learner.train(X, labels, max_iter=3, sample_weight=weight)
    order, weights = epochs_of(X, labels, len(learner.epochs), weight=weight)
    run = plain_kernel_loop(
        Rosenblatt(), KERNELS["poly"](X, X), labels, classes, order, joint=mode == "joint", weights=weights
    )
    same(learner, run)


@pytest.mark.parametrize("budget", [None, 12])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_batches_of_any_size_give_the_same_model(classes, mode, budget):
    X, labels = whole_numbers(classes=classes)
    learner = KernelLearner(kernel="poly", degree=3, multi_class=mode, budget=budget, block_size=8)
    for lo, hi in ((0, 1), (1, 20), (20, 21), (21, 60)):
        learner.learn(X[lo:hi], labels[lo:hi], classes=np.arange(classes))
    order = in_given_order(len(X)).order.astype(int)
    run = plain_kernel_loop(
        Rosenblatt(), KERNELS["poly"](X, X), labels, classes, order, joint=mode == "joint", budget=budget
    )
    same(learner, run, exactly=budget is None)


@pytest.mark.parametrize("mode", ["joint", "ovr"])
def test_classes_that_join_later_leave_every_score_as_it_was(mode):
    X, labels = whole_numbers(classes=4)
    two = labels < 2
    learner = KernelLearner(kernel="poly", degree=3, multi_class=mode)
    learner.learn(X[two], labels[two])
    before = learner.scores(X, "last")
    learner.learn(X[~two], labels[~two])
    again = KernelLearner(kernel="poly", degree=3, multi_class=mode)
    again.learn(X[two], labels[two])
    again.add_classes(np.arange(4))
    after = again.scores(X, "last")
    np.testing.assert_allclose(after[:, 1] - after[:, 0], before if mode == "joint" else 2 * before)
    assert learner.classes.tolist() == [0, 1, 2, 3]
    for name in ("last", "averaged", "voted", "survivor", "random"):
        assert np.isfinite(learner.scores(X, name)).all()


@pytest.mark.parametrize("forget", ["oldest", "random", "project"])
@pytest.mark.parametrize("rule", [ROMMA(), Pegasos(lam=0.01)], ids=lambda rule: type(rule).__name__)
def test_under_a_budget_rules_that_shrink_are_the_same_in_blocks_of_any_size(rule, forget):
    X, labels = whole_numbers(classes=4)
    X = X + 0.01 * np.random.default_rng(3).random(X.shape)
    one, many = (
        KernelLearner(rule, degree=3, multi_class="ovr", budget=12, forget=forget, block_size=size)
        for size in (1, 512)
    )
    for learner in (one, many):
        learner.train(X, labels, max_iter=3)
    assert one.n_support <= 12
    assert one.support_rows.tolist() == many.support_rows.tolist()
    for name in ("last", "averaged"):
        assert np.isfinite(one.weights(name)).all()
        largest = np.abs(one.weights(name)).max()
        np.testing.assert_allclose(many.weights(name), one.weights(name), rtol=1e-6, atol=1e-6 * largest)
