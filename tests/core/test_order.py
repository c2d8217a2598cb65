"""The shuffle: decided by what rows say, not by where or how they stand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.oracle import plain_loop
from tests.strategies import integer_data

from rosenblatt.core.order import FIRST, SECOND, Shuffle, _argsort, _mixed, in_given_order
from rosenblatt.core.rows import rows_of
from rosenblatt.learner import Learner
from rosenblatt.rules import Rosenblatt


def visited(X, labels, visits):
    """The examples in the order in which they are visited."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    return np.column_stack([dense, labels])[visits.order]


@settings(max_examples=60, deadline=None)
@given(data=integer_data(), epoch=st.integers(0, 5), seed=st.integers(-5, 2**40))
def test_neither_the_order_nor_the_storage_of_rows_matters(data, epoch, seed):
    X, labels, _ = data
    moved = np.random.default_rng(0).permutation(len(X))
    as_given = visited(X, labels, Shuffle(rows_of(X), labels, seed).epoch(epoch))
    for stored, names in (
        (X[moved], labels[moved]),
        (csr_array(X), labels),
        (csr_array(X[moved]), labels[moved]),
    ):
        assert np.array_equal(
            visited(stored, names, Shuffle(rows_of(stored), names, seed).epoch(epoch)), as_given
        )


@settings(max_examples=60, deadline=None)
@given(data=integer_data(), epoch=st.integers(0, 3))
def test_a_weight_is_so_many_copies(data, epoch):
    X, labels, _ = data
    copies = np.random.default_rng(epoch).integers(0, 4, len(X))
    copies[0] = 2
    weighted = Shuffle(rows_of(X), labels, 0, copies.astype(float)).epoch(epoch)
    repeated_X, repeated = np.repeat(X, copies, axis=0), np.repeat(labels, copies)
    plain = Shuffle(rows_of(repeated_X), repeated, 0).epoch(epoch)
    assert np.array_equal(visited(X, labels, weighted), visited(repeated_X, repeated, plain))
    assert (weighted.weight == 1.0).all()


def test_every_row_is_visited_once_and_epochs_and_seeds_differ():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    shuffle = Shuffle(rows_of(X), labels, 0)
    orders = [shuffle.epoch(k).order for k in range(3)] + [Shuffle(rows_of(X), labels, 1).epoch(0).order]
    for order in orders:
        assert np.array_equal(np.sort(order), np.arange(500))
    for a in range(4):
        for b in range(a):
            assert (orders[a] == orders[b]).mean() < 0.05


def test_the_shuffle_looks_uniform():
    rng = np.random.default_rng(1)
    X, labels = rng.integers(0, 2, size=(300, 12)).astype(float), np.zeros(300, np.int64)
    place = np.zeros(300)
    epochs = 400
    shuffle = Shuffle(rows_of(X), labels, 0)
    for k in range(epochs):
        place[shuffle.epoch(k).order] += np.arange(300)
    spread = (place / epochs - 149.5) / (np.sqrt(300**2 / 12) / np.sqrt(epochs))
    assert np.abs(spread).max() < 5.0
    assert 0.8 < spread.std() < 1.2


def test_fractions_are_split_into_equal_visits():
    visits = in_given_order(3, np.array([0.5, 2.5, 0.0]))
    assert visits.order.tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(visits.weight, [0.5, 2.5 / 3, 2.5 / 3, 2.5 / 3])


def test_a_shuffled_training_is_the_plain_loop_in_that_order():
    rng = np.random.default_rng(2)
    X, labels = rng.integers(-3, 4, size=(90, 40)).astype(float), rng.integers(0, 3, 90)
    for stored in (X, csr_array(X)):
        learner = Learner(seed=7)
        learner.train(stored, labels, max_iter=3)
        shuffle = Shuffle(rows_of(stored), labels, 7)
        order = np.concatenate([shuffle.epoch(k).order for k in range(len(learner.epochs))])
        assert np.array_equal(learner.weights("last"), plain_loop(Rosenblatt(), X, labels, 3, order).W)


def unmixed(mixed):
    """The keys that are mixed into these: every step of the mixing can be undone."""
    undone = [mixed]
    for shift, factor in ((31, SECOND), (27, FIRST), (30, None)):
        z = undone[-1]
        for _ in range(64 // shift):
            z = undone[-1] ^ (z >> np.uint64(shift))
        undone.append(z if factor is None else z * np.uint64(pow(int(factor), -1, 2**64)))
    return undone[-1]


@settings(max_examples=60, deadline=None)
@given(n=st.integers(0, 3000), halves=st.integers(1, 2**32), seed=st.integers(0, 2**32))
def test_keys_are_sorted_by_all_their_bits_also_where_many_share_the_first_half(n, halves, seed):
    rng = np.random.default_rng(seed)
    wanted = rng.integers(0, halves, n, dtype=np.uint64) << np.uint64(32)
    wanted |= rng.choice(2**32, n, replace=False).astype(np.uint64)
    salt = rng.integers(0, 2**64, dtype=np.uint64)
    keys = unmixed(wanted) ^ salt
    assert np.array_equal(_mixed(keys ^ salt), wanted)
    assert np.array_equal(_argsort(keys, salt, np.empty_like(keys)), np.argsort(wanted))
