"""A first pass made before it is asked for is used only where it is the one that is asked for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt import LogisticRegression, Perceptron
from rosenblatt.engines.foretold import FEW_NUMBERS, came_true, foretell
from rosenblatt.engines.mixing import joined, one_pass, shape_for, start_of
from rosenblatt.engines.recipes import beginning_of
from rosenblatt.engines.shard import Shard, facts_of, facts_of_all
from rosenblatt.engines.training import setup_of


def some_shards(classes=3, sparse=False):
    """Return two shards of as many ones in every row, so that rows of both reach as far."""
    rng = np.random.default_rng(7)
    X = np.array([rng.permutation([1.0] * 4 + [0.0] * 8) for _ in range(80)])
    y = np.arange(80) % classes
    return [
        Shard(csr_array(X[part]) if sparse else X[part], y[part], None, at) for at, part in enumerate(HALVES)
    ]


HALVES = (slice(0, 40), slice(40, 80))


def asked_for(begin, shards):
    """Return what the driver starts the first pass from."""
    facts = facts_of_all([facts_of(shard) for shard in shards])
    learner = begin.learner(facts)
    setup = setup_of(learner, facts, begin.plan)
    shape_for(learner, setup)
    return start_of(learner, setup, begin.plan.mixing, alone=False)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "estimator", [Perceptron(), Perceptron(rule="arow"), LogisticRegression("online")], ids=str
)
def test_shards_that_are_alike_foretell_the_pass_they_are_asked_for(estimator, sparse):
    shards, begin = some_shards(sparse=sparse), beginning_of(estimator)
    start = asked_for(begin, shards)
    foretold = [foretell(shard, facts_of(shard), begin) for shard in shards]
    assert came_true(foretold, start)
    here = joined([each.outcome for each in foretold])
    there = joined([one_pass(shard, start) for shard in shards])
    assert np.array_equal(here.moves.values, there.moves.values)
    assert [each.mistakes for each in here.passes] == [each.mistakes for each in there.passes]


@pytest.mark.parametrize(
    "other",
    [
        Shard(np.eye(12), np.zeros(12, int)),  # of one class: it does not even try
        Shard(np.eye(12), np.arange(12) % 4),  # a class that the first has not
        Shard(2.0 * np.eye(12), np.arange(12) % 3),  # reaches as far, squared: 4
        Shard(3.0 * np.eye(12), np.arange(12) % 3),  # further
        Shard(csr_array(np.eye(13)), np.arange(13) % 3),  # a wider row
    ],
)
def test_shards_that_differ_are_asked(other):
    first = some_shards(sparse=not isinstance(other.X, np.ndarray))[0]
    begin, shards = beginning_of(LogisticRegression("online")), [first, other]
    foretold = [foretell(shard, facts_of(shard), begin) for shard in shards]
    alike = bool((other.X == 2.0).any()) if isinstance(other.X, np.ndarray) else False
    assert came_true(foretold, asked_for(begin, shards)) == alike


def test_what_is_wrong_or_large_is_left_to_the_question():
    shard = some_shards()[0]
    odd = beginning_of(Perceptron(class_weight="odd"))
    assert foretell(shard, facts_of(shard), odd) is None
    rows = FEW_NUMBERS // 8 + 1
    large = Shard.trusted(np.zeros((rows, 8)), np.arange(rows) % 2, None, 0)
    assert foretell(large, facts_of(shard), beginning_of(Perceptron())) is None
    assert not came_true([], asked_for(beginning_of(Perceptron()), [shard]))
