"""One example at a time."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.rows import flat, rows_of
from rosenblatt.core.single import predict_then_learn
from rosenblatt.core.state import State, Visits
from rosenblatt.learner import Learner
from rosenblatt.rules import ALMA, Pegasos
from rosenblatt.streams.online import OnlineLearner


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_predict_then_learn_predicts_the_row_that_it_learns_from(classes, averaged):
    rng = np.random.default_rng(classes)
    X = csr_array(rng.integers(-3, 4, (40, 4)).astype(np.float64))
    labels = rng.integers(0, classes, 40)
    order = rng.permutation(40)

    def swept(X, labels, order):
        learner = Learner(keep_ledger=False)
        learner.add_classes(np.arange(classes))
        learner.add_features(4)
        rows = rows_of(X)
        W, offset = np.asfortranarray(learner.W), np.asfortranarray(learner.average_offset)
        truth = labels if classes > 2 else (2 * labels - 1).astype(np.int8)
        state = State(
            flat(rows, W), flat(rows, offset), learner.running, np.empty(W.shape[0]), learner.totals
        )
        guesses = np.empty((order.size, 1), np.int64)
        visits = Visits(order.astype(np.uintp), np.ones(order.size))
        predict_then_learn(
            learner.rule, learner.geometry, rows, truth, visits, 1.0, state, averaged, guesses, NO_LEDGER
        )
        return guesses.tolist(), state.W.tolist()

    assert swept(X, labels, order) == swept(X[order], labels[order], np.arange(40))


@pytest.mark.parametrize("hypothesis", ["last", "averaged"])
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "joint"), (4, "joint"), (4, "ovr")])
def test_one_row_is_predicted_through_the_p_norm_link_as_many_are(classes, multi_class, hypothesis):
    rng = np.random.default_rng(classes)
    X, y = rng.normal(size=(80, 6)), rng.integers(0, classes, 80)
    xs = [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    online = OnlineLearner(hypothesis, rule=ALMA(p=4.0), multi_class=multi_class)
    batch = Learner(ALMA(p=4.0), multi_class=multi_class)
    assert online.compiled
    online.add_classes(np.arange(classes))
    batch.add_classes(np.arange(classes))
    for x, row, label in zip(xs, X, y.tolist(), strict=True):
        online.predict_one(x)
        online.learn_one(x, label)
        batch.learn(csr_array(row[None]), [label])
    np.testing.assert_allclose(
        online.learner.weights(hypothesis)[:, :7], batch.weights(hypothesis), rtol=1e-9, atol=1e-12
    )
    assert [online.predict_one(x) for x in xs] == batch.predict(X, hypothesis).tolist()


def test_a_long_example_that_grows_the_weights_is_learned_from_whole():
    xs = [{f"w{j}": float(j % 7 + 1) for j in range(start, start + 700)} for start in (0, 300, 5000, 100)]
    xs.append({f"w{j}": 1.0 for j in range(6000, -1, -3)})
    one, many = OnlineLearner("last"), OnlineLearner("last")
    for x, label in zip(xs, "abcab", strict=True):
        one.predict_one(x)
        one.learn_one(x, label)
    many.learn_many(xs, list("abcab"))
    assert one.names == many.names
    width = 1 + len(one.names)
    assert np.array_equal(one.learner.weights("last")[:, :width], many.learner.weights("last")[:, :width])


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("lam", [1e-2, 1e-7])
def test_a_fold_of_the_visited_features_is_a_fold_of_all(multi_class, lam):
    rng = np.random.default_rng(0)
    X = random_array((60, 4000), density=0.002, format="csr", random_state=rng)
    y = rng.integers(0, 4, 60)
    whole, rows = (Learner(Pegasos(lam), multi_class=multi_class, keep_ledger=False) for _ in range(2))
    for learner in (whole, rows):
        learner.add_classes(np.arange(4))
    whole.learn(X, y)  # knows which rows were visited since all weights were zero
    for k in range(y.size):
        rows.learn(X[k : k + 1], y[k : k + 1])
    assert whole.mistakes == rows.mistakes
    for hypothesis in ("last", "averaged"):
        np.testing.assert_allclose(whole.weights(hypothesis), rows.weights(hypothesis), rtol=1e-9, atol=1e-12)
