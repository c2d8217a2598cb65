"""The learner: growth, starts, clean passes, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.oracle import plain_loop
from tests.strategies import integer_data

from rosenblatt.learner import Learner
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.rules import Rosenblatt


@settings(max_examples=60, deadline=None)
@given(data=integer_data(classes=st.just(2)), cut=st.integers(1, 5))
def test_two_classes_met_in_any_order_give_the_same_weights(data, cut):
    X, labels, _ = data
    names = np.array(["no", "yes"])[labels]
    whole, parts = Learner(), Learner()
    whole.learn(X, names)
    for lo in range(0, len(X), cut):
        parts.learn(X[lo : lo + cut], names[lo : lo + cut])
    assert parts.classes.tolist() == whole.classes.tolist()
    for hypothesis in ("last", "averaged", "survivor", "random"):
        assert np.array_equal(parts.weights(hypothesis), whole.weights(hypothesis))
    assert np.array_equal(parts.scores(X, "voted"), whole.scores(X, "voted"))
    assert np.array_equal(parts.ledger.entries, whole.ledger.entries)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_a_class_that_appears_later_changes_no_decision_made_so_far(multi_class):
    rng = np.random.default_rng(0)
    X, labels = rng.integers(-3, 4, size=(40, 3)).astype(float), np.repeat(["b", "c"], 20)
    learner = Learner(multi_class=multi_class)
    learner.learn(X, labels)
    before = {name: learner.scores(X, name) for name in ("last", "averaged", "survivor", "voted")}
    learner.add_classes(np.array(["a"]))
    assert learner.classes.tolist() == ["a", "b", "c"]
    for name, scores in before.items():
        after = learner.scores(X, name)
        if name == "voted":
            assert np.array_equal(np.sign(after[:, 2] - after[:, 1]), np.sign(scores))
        elif multi_class == "joint":
            np.testing.assert_allclose(after[:, 2] - after[:, 1], scores, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_allclose(after[:, 2], scores, rtol=1e-12)
            np.testing.assert_allclose(after[:, 1], -scores, rtol=1e-12)
    learner.learn([[1.0, 2.0, 3.0]] * 3, ["a"] * 3)
    assert learner.predict([[1.0, 2.0, 3.0]], "last").tolist() == ["a"]


def test_ovr_hypotheses_of_old_classes_go_on_as_if_nothing_had_happened():
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, size=(60, 3)).astype(float)
    labels = np.concatenate([rng.integers(1, 3, 30), rng.integers(1, 4, 30)])
    grown, known = Learner(multi_class="ovr"), Learner(multi_class="ovr")
    grown.learn(X[:30], labels[:30])
    grown.learn(X[30:], labels[30:])
    known.learn(X, labels, classes=[1, 2, 3])
    for name in ("last", "averaged"):
        assert np.array_equal(grown.weights(name)[:2], known.weights(name)[:2])


def test_a_feature_that_appears_later_has_weighed_nothing_so_far():
    rng = np.random.default_rng(2)
    X, labels = rng.integers(-3, 4, size=(60, 5)).astype(float), rng.integers(0, 2, 60)
    X[:30, 3:] = 0.0
    grown, known = Learner(), Learner()
    grown.learn(X[:30, :3], labels[:30])
    grown.learn(X[30:], labels[30:])
    known.learn(X, labels)
    for name in ("last", "averaged", "survivor", "random"):
        assert np.array_equal(grown.weights(name), known.weights(name))
    assert np.array_equal(grown.scores(X, "voted"), known.scores(X, "voted"))


def test_dense_and_sparse_batches_mix():
    rng = np.random.default_rng(3)
    X, labels = rng.integers(-3, 4, size=(60, 4)).astype(float), rng.integers(0, 3, 60)
    mixed, dense = Learner(), Learner()
    mixed.learn(X[:20], labels[:20], classes=[0, 1, 2])
    mixed.learn(csr_array(X[20:40]), labels[20:40])
    mixed.learn(X[40:], labels[40:])
    dense.learn(X, labels)
    assert np.array_equal(mixed.weights("averaged"), dense.weights("averaged"))
    assert np.array_equal(mixed.scores(X, "voted"), dense.scores(X, "voted"))


@pytest.mark.parametrize("classes", [2, 3])
def test_learning_starts_from_the_weights_given(classes):
    rng = np.random.default_rng(4)
    X, labels = rng.integers(-3, 4, size=(50, 3)).astype(float), rng.integers(0, classes, 50)
    start = rng.integers(-2, 3, size=(1 if classes == 2 else 3, 4)).astype(float)
    learner = Learner()
    learner.start_from(start[:, 1:], start[:, 0], np.arange(classes))
    learner.learn(X, labels)
    plain = plain_loop(Rosenblatt(), X, labels, classes, np.arange(50), start=start)
    assert np.array_equal(learner.weights("last"), plain.W)
    np.testing.assert_allclose(learner.weights("averaged"), plain.averaged, rtol=1e-12, atol=1e-12)


def test_training_stops_at_a_clean_pass_and_only_then_says_converged():
    X, labels = [[1.0], [-1.0]], [1, 0]
    learner = Learner()
    learner.train(X, labels, max_iter=50)
    assert learner.converged
    assert learner.epochs[-1].updates == 0
    assert all(epoch.updates for epoch in learner.epochs[:-1])
    xor = Learner()
    xor.train([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], max_iter=50)
    assert not xor.converged
    assert len(xor.epochs) == 50


def test_the_order_of_the_rows_does_not_matter_when_shuffled():
    rng = np.random.default_rng(5)
    X, labels = rng.integers(-3, 4, size=(80, 3)).astype(float), rng.integers(0, 3, 80)
    moved = rng.permutation(80)
    one, other = Learner(), Learner()
    one.train(X, labels, max_iter=4)
    other.train(X[moved], labels[moved], max_iter=4)
    assert np.array_equal(one.weights("averaged"), other.weights("averaged"))
    third = Learner(seed=1)
    third.train(X, labels, max_iter=4)
    assert not np.array_equal(one.weights("averaged"), third.weights("averaged"))


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[1.0, np.nan]], [1], None, "row 0, column 1"),
        (csr_array([[0.0, 1.0], [0.0, np.inf]]), [1, 0], None, "row 1, column 1"),
        ([1.0, 2.0], [1, 0], None, "two-dimensional"),
        ([[1.0], [2.0]], [1], None, "one label for each"),
        ([[1.0], [2.0]], [1.0, np.nan], None, "not finite"),
        (np.zeros((0, 2)), [], None, "no rows"),
        ([[1.0], [2.0]], [1, 0], [1.0], "one number for each"),
        ([[1.0], [2.0]], [1, 0], [1.0, -1.0], "row 1"),
        ([[1.0], [2.0]], [1, 0], [0.0, 0.0], "nothing to learn"),
        ([[1j]], [1], None, "complex"),
    ],
)
def test_bad_input_is_refused_by_name(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        Learner().learn(X, y, weight)


def test_bad_parameters_are_refused_by_name():
    with pytest.raises(ValueError, match="multi_class"):
        Learner(multi_class="pairs")
    with pytest.raises(ValueError, match="eta"):
        Learner(Rosenblatt(eta=0.0))
    with pytest.raises(ValueError, match="rule must be one of"):
        Learner("delta")
    with pytest.raises(TypeError, match="not a rule"):
        Learner((1.0,))


def test_overflow_is_an_error_not_a_silent_infinity():
    learner = Learner()
    with pytest.raises(ValueError, match="scale the features"):
        learner.learn([[1e200], [-1e200], [1e200]], [0, 0, 1])


@pytest.mark.parametrize("learner", [Learner, KernelLearner])
@pytest.mark.parametrize("classes", [2, 3])
def test_after_an_overflow_the_ledger_names_only_rows_that_it_stores(learner, classes):
    """Compiled code reads the row of every line: one that is not stored would be read outside of memory."""
    model = learner(Rosenblatt(eta=1e300), multi_class="joint", keep_ledger=True)
    X, y = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12) % classes
    for turn in range(2):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="grew beyond"):
            model.learn(X * 10.0 ** (8 + turn), y)
    assert model.rows_seen == 24
    assert len(model.ledger.support_rows) == len(set(model.ledger.support_rows.tolist()))
    assert set(model.ledger.entries["row"].tolist()) <= set(model.ledger.support_rows.tolist())


def test_labels_of_another_kind_are_refused():
    learner = Learner()
    learner.learn([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="labels like"):
        learner.learn([[1.0]], [1])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_the_running_norm_is_that_of_the_weights_when_narrower_rows_follow(kind, scale):
    rng = np.random.default_rng(3)
    learner = Learner(keep_ledger=False)
    learner.learn(kind(rng.normal(size=(20, 9))), rng.integers(0, 2, 20))
    for _ in range(20):
        X = (scale * rng.normal(size=(20, 9))).astype(np.float32)
        learner.learn(kind(X), rng.integers(0, 2, 20))
    assert learner.W.dtype == np.float64
    assert learner.running["sqnorm"][0] == pytest.approx((learner.W**2).sum(), rel=1e-12)


def test_weights_that_no_memory_holds_are_refused_before_they_are_allocated():
    learner = Learner()
    with pytest.raises(MemoryError, match=r"features need about [\d,]+ GB of weights, more than there is"):
        learner.add_features(1 << 40)
    assert learner.n_features == 0
