"""The leader is the predictor with the fewest decayed mistakes on the rows before."""

import numpy as np

from rosenblatt.core.leader import GUESS_BITS, follow_leader, leader_of_one


def oracle(guesses, labels, weights, losses, leader, decay):
    leaders = []
    for row, label, weight in zip(guesses, labels, weights, strict=True):
        leaders.append(leader)
        losses = [
            decay * loss + (weight if guess != label else 0.0)
            for loss, guess in zip(losses, row, strict=True)
        ]
        if min(losses) < losses[leader]:
            leader = losses.index(min(losses))
    return leaders, losses, leader


def test_the_leader_is_that_of_plain_python_in_any_split():
    rng = np.random.default_rng(0)
    guesses, labels, weights = rng.integers(0, 3, (300, 4)), rng.integers(0, 3, 300), rng.random(300)
    expected, expected_losses, last = oracle(guesses.tolist(), labels, weights, [0.0] * 4, 2, 0.9)
    losses, leaders, leader = np.zeros(4), np.empty(300, np.int64), 2
    for part in (slice(0, 1), slice(1, 170), slice(170, 300)):
        leader = follow_leader(guesses[part], labels[part], weights[part], losses, leader, 0.9, leaders[part])
    assert leaders.tolist() == expected
    assert losses.tolist() == expected_losses
    assert leader == last
    assert len(set(expected)) > 1


def test_an_answer_does_not_depend_on_its_own_label():
    guesses = np.array([[0, 1], [0, 1]])
    for label in (0, 1):
        leaders = np.empty(2, np.int64)
        follow_leader(guesses, np.array([label, 0]), np.ones(2), np.zeros(2), 0, 1.0, leaders)
        assert leaders.tolist() == [0, label]


def test_one_row_moves_the_lead_as_many_do():
    rng = np.random.default_rng(1)
    guesses, labels = rng.integers(0, 3, (200, 4)), rng.integers(0, 3, 200)
    expected, expected_losses, last = oracle(guesses.tolist(), labels, np.ones(200), [0.0] * 4, 1, 0.9)
    losses, packed, leader, leaders = np.zeros(4), np.empty(2, np.int64), 1, []
    for row, label in zip(guesses, labels.tolist(), strict=True):
        leaders.append(leader)
        packed[:] = row[::2] << GUESS_BITS | row[1::2]
        leader = leader_of_one()(packed.ctypes.data, losses.ctypes.data, 2, label, leader, 0.9)
    assert (leaders, losses.tolist(), leader) == (expected, expected_losses, last)
    packed[1] = -7
    assert leader_of_one()(packed.ctypes.data, losses.ctypes.data, 2, 0, leader, 0.9) == -7
    assert losses.tolist() == expected_losses  # a row that is refused counts for nobody
