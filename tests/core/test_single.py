"""One example at a time."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.rows import flat, rows_of
from rosenblatt.core.single import predict_then_learn
from rosenblatt.core.state import State, Visits
from rosenblatt.learner import Learner


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
        guesses = np.empty(order.size, np.int64)
        visits = Visits(order.astype(np.uintp), np.ones(order.size))
        predict_then_learn(
            learner.rule, learner.geometry, rows, truth, visits, 1.0, state, averaged, guesses, NO_LEDGER
        )
        return guesses.tolist(), state.W.tolist()

    assert swept(X, labels, order) == swept(X[order], labels[order], np.arange(40))
