"""Work done where matrices live: the same whether asked for call by call or played from a recording."""

import gc
import weakref

import numpy as np
import pytest
from tests.kernel.test_arrays import strict, torch_here, torch_there
from tests.kernel.test_exact import whole_numbers

from rosenblatt.learner.dual import DualLearner
from rosenblatt.learner.dual.arrays import Arrays, to_numpy
from rosenblatt.learner.dual.errand import MOST_RECORDINGS, Errand


def errands(library, **options):
    """Return a matrix where it lives, and errands that bring the products of some of its rows with all."""
    X = np.random.default_rng(0).integers(-3, 4, (200, 30)).astype(float)
    matrix = library(X)
    arrays = Arrays(matrix)

    def work(index, steps):
        rows = arrays.rows(matrix, index)
        return (rows @ matrix.T) @ steps, rows

    return X, [Errand(arrays, work, "int64", arrays.dtype, **options) for _ in range(2)]


@pytest.mark.parametrize("aside", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("library", [np.asarray, strict, torch_here, torch_there])
def test_an_errand_brings_what_the_function_says_every_time(library, recorded, aside):
    X, pair = errands(library, recorded=recorded, aside=aside)
    rng = np.random.default_rng(1)
    for number in range(12):
        index = rng.integers(
            0, 200, (64, 64, 7)[number % 3]
        )  # sizes that come again, and others between them
        steps = rng.integers(-2, 3, (200, 5)).astype(float)
        told, stays = pair[number % 2].run(index, steps)
        np.testing.assert_array_equal(told.arrived(), X[index] @ X.T @ steps)
        np.testing.assert_array_equal(to_numpy(stays), X[index])


@pytest.mark.parametrize("library", [np.asarray, torch_here, torch_there])
def test_sizes_without_end_are_not_all_recorded(library):
    X, (errand, _) = errands(library, recorded=True)
    steps = np.ones((200, 5))
    for number in [*range(1, 40), *range(39, 0, -1), *range(1, 40)]:
        told, _ = errand.run(np.arange(number), steps)
        np.testing.assert_array_equal(told.arrived(), X[:number] @ X.T @ steps)
    assert len(errand._recordings) <= MOST_RECORDINGS


@pytest.mark.parametrize("library", [np.asarray, torch_here, torch_there])
def test_one_is_on_its_way_while_the_other_is_read(library):
    X, pair = errands(library, recorded=True, aside=True)
    steps = np.ones((200, 5))
    blocks = [np.arange(k, k + 50) for k in range(0, 150, 10)]
    on_its_way, _ = pair[0].run(blocks[0], steps)
    for number, block in enumerate(blocks[1:], 1):
        read = on_its_way.arrived()
        on_its_way, _ = pair[number % 2].run(block, steps)
        np.testing.assert_array_equal(read, X[blocks[number - 1]] @ X.T @ steps)


@pytest.mark.parametrize("library", [np.asarray, torch_here, torch_there])
def test_what_a_run_held_is_let_go_with_it(library):
    X, y = whole_numbers(n=200, classes=3)
    matrix = library(X + 0.5)
    gone = weakref.ref(matrix)
    gc.collect()
    gc.disable()  # nothing may wait for the collector: a GPU's memory is dear
    try:
        DualLearner(kernel="poly", block_size=16).train(matrix, y, max_iter=2)
        del matrix
        assert gone() is None
    finally:
        gc.enable()
