"""Tasks on the device of the matrices: the same results call by call and replayed from a CUDA graph."""

import gc
import weakref

import numpy as np
import pytest
from tests.kernel.test_arrays import strict, torch_here, torch_there
from tests.kernel.test_exact import whole_numbers

from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.device import MAX_GRAPHS, Arrays, DeviceTask, to_numpy


def tasks(library, **options):
    """Return a matrix, and two tasks that compute the products of some of its rows with all of them."""
    X = np.random.default_rng(0).integers(-3, 4, (200, 30)).astype(float)
    matrix = library(X)
    arrays = Arrays(matrix)

    def work(index, steps):
        rows = arrays.rows(matrix, index)
        return (rows @ matrix.T) @ steps, rows

    return X, [DeviceTask(arrays, work, "int64", arrays.dtype, **options) for _ in range(2)]


@pytest.mark.parametrize("own_stream", [False, True])
@pytest.mark.parametrize("use_graphs", [False, True])
@pytest.mark.parametrize("library", [np.asarray, strict, torch_here, torch_there])
def test_a_task_returns_the_result_of_its_function_every_time(library, use_graphs, own_stream):
    X, pair = tasks(library, use_graphs=use_graphs, own_stream=own_stream)
    rng = np.random.default_rng(1)
    for number in range(12):
        index = rng.integers(
            0, 200, (64, 64, 7)[number % 3]
        )  # sizes that come again, and others between them
        steps = rng.integers(-2, 3, (200, 5)).astype(float)
        result, stays = pair[number % 2].run(index, steps)
        np.testing.assert_array_equal(result.wait(), X[index] @ X.T @ steps)
        np.testing.assert_array_equal(to_numpy(stays), X[index])


@pytest.mark.parametrize("library", [np.asarray, torch_here, torch_there])
def test_a_task_records_a_limited_number_of_shapes(library):
    X, (task, _) = tasks(library, use_graphs=True)
    steps = np.ones((200, 5))
    for number in [*range(1, 40), *range(39, 0, -1), *range(1, 40)]:
        result, _ = task.run(np.arange(number), steps)
        np.testing.assert_array_equal(result.wait(), X[:number] @ X.T @ steps)
    assert len(task._graphs) <= MAX_GRAPHS


@pytest.mark.parametrize("library", [np.asarray, torch_here, torch_there])
def test_one_result_is_copied_while_the_other_is_read(library):
    X, pair = tasks(library, use_graphs=True, own_stream=True)
    steps = np.ones((200, 5))
    blocks = [np.arange(k, k + 50) for k in range(0, 150, 10)]
    transfer, _ = pair[0].run(blocks[0], steps)
    for number, block in enumerate(blocks[1:], 1):
        read = transfer.wait()
        transfer, _ = pair[number % 2].run(block, steps)
        np.testing.assert_array_equal(read, X[blocks[number - 1]] @ X.T @ steps)


@pytest.mark.parametrize("library", [np.asarray, torch_here, torch_there])
def test_a_learner_releases_the_training_matrix(library):
    X, y = whole_numbers(n=200, classes=3)
    matrix = library(X + 0.5)
    gone = weakref.ref(matrix)
    gc.collect()
    gc.disable()  # nothing may wait for the collector: a GPU's memory is dear
    try:
        KernelLearner(kernel="poly", block_size=16).train(matrix, y, max_iter=2)
        del matrix
        assert gone() is None
    finally:
        gc.enable()
