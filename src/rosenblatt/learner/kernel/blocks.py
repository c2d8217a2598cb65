"""The training rows cut into blocks of visits, and two caches of their scores.

A row's score changes only by updates. :class:`GramCache` holds the Gram row of every example that made an update, each
computed once, and applies every update immediately: for data whose Gram matrix fits in memory. :class:`ScoreCache`
collects updates and applies them to all rows by one product: for larger data, and on a device.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.state import Visits
from rosenblatt.learner.kernel.device import DeviceTask, RowStore, Transfer, cut, to_numpy
from rosenblatt.learner.kernel.kernels import RBF, FeatureSpace, Precomputed, sqnorms

CPU_BLOCK, DEVICE_BLOCK = 512, 2048  # rows: a device prefers fewer, larger steps
MAX_VISITS = 1 << 16  # in one block
GRAM_BYTES = 1 << 30  # the largest Gram matrix that is held; fixed, since it decides how sums are rounded
# Every block computes the products with pending updates; applying a few of them would read all rows for little.
MAX_PENDING_CPU, MAX_PENDING_DEVICE = 384, 128
MIN_PENDING_GPU = 512  # rows that pending updates are filled up to, so that the same shapes come again


class Data(NamedTuple):
    """Checked examples of a kernel learner."""

    X: Any
    labels: NDArray[np.int64]  # class indices
    first_row: int  # the number of the first one among all the learner has seen
    diagonal: NDArray[np.float64]  # the kernel of each example with itself, in units
    # The Gram matrix of a block; one is copied while the other is read.
    gram_tasks: tuple[DeviceTask, DeviceTask]


class RowBlock(NamedTuple):
    """A block of visits to a few rows."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]
    numbers: NDArray[np.int64]  # of the rows, each once
    rows: Any  # the rows, on the device of the matrices
    gram: Transfer  # among them


def gram_tasks(
    space: FeatureSpace, X: Any, first_row: int, use_graphs: bool
) -> tuple[DeviceTask, DeviceTask]:
    """Return two tasks that compute the Gram matrix of some rows, and keep the rows on the device."""

    def gram(index: Any) -> tuple[Any, Any]:
        rows = space.arrays.rows(X, index)
        support = space.support_rows(X, index, first_row) if isinstance(space.kernel, Precomputed) else rows
        return space.values(rows, support), rows

    use_graphs = use_graphs and space.recordable
    first, second = (
        DeviceTask(space.arrays, gram, "int64", use_graphs=use_graphs, own_stream=True) for _ in range(2)
    )
    return first, second


def row_blocks(data: Data, visits: Visits, size: int) -> Iterator[RowBlock]:
    """Cut visits into blocks of at most ``size`` rows; few rows visited often are one block."""
    repeats = visits.weight.size > 0
    at_once = MAX_VISITS if repeats and data.labels.size <= size else size
    order = visits.order.astype(np.int64)
    for number, piece in enumerate(cut(order.size, at_once)):
        numbers = order[piece]
        place = np.arange(numbers.size)
        if repeats:
            numbers, place = np.unique(numbers, return_inverse=True)
        gram, rows = data.gram_tasks[number % 2].run(numbers)
        yield RowBlock(place.reshape(-1), visits.weight[piece], numbers, rows, gram)


def gram_fits(space: FeatureSpace, n: int) -> bool:
    """Return whether the Gram matrix of ``n`` rows is held in memory."""
    return space.arrays.is_numpy and n * n * np.dtype(space.arrays.dtype).itemsize <= GRAM_BYTES


class GramCache:
    """Scores of all training rows, and the Gram rows of those that made an update.

    Parameters
    ----------
    space : FeatureSpace
    data : Data
        The examples.
    scores : ndarray of shape (rows, classes)
        Scores of the examples by the current coefficients, in kernel units.
    """

    def __init__(self, space: FeatureSpace, data: Data, scores: NDArray[np.float64]) -> None:
        n = data.labels.size
        self._space, self._data = space, data
        self._sqnorm = sqnorms(space.arrays, data.X) if isinstance(space.kernel, RBF) else None
        self.scores = np.ascontiguousarray(scores.T)  # (classes, rows)
        # The system gives memory only to rows that are written.
        self.gram = np.empty((n, n), space.arrays.dtype)
        self.index = np.full(n, -1)  # of every example: its row in `gram`, or -1
        self._used = 0

    def compute(self, numbers: NDArray[np.int64]) -> None:
        """Compute the Gram rows of some examples that have none."""
        numbers = np.unique(numbers)
        end = self._used + numbers.size
        rows = self._space.arrays.rows(self._data.X, numbers)
        self._space.fill_gram_rows(rows, self._data.X, self._sqnorm, self.gram[self._used : end])
        self.index[numbers] = np.arange(self._used, end)
        self._used = end

    def scores_of(
        self, coefficients: NDArray[np.float64], support_rows: NDArray[np.int64], support: RowStore
    ) -> NDArray[np.float64]:
        """Return the scores ``(rows, hypotheses)`` of all examples by ``(hypotheses, support rows)`` coefficients.

        Gram rows in the cache are not computed again.
        """
        numbers = support_rows - self._data.first_row
        cached = (numbers >= 0) & (numbers < self.index.size)
        cached[cached] = self.index[numbers[cached]] >= 0
        by_gram_row = np.zeros((coefficients.shape[0], self._used), self.gram.dtype)
        by_gram_row[:, self.index[numbers[cached]]] = coefficients[:, cached]
        total = np.zeros((coefficients.shape[0], self.index.size))
        for piece in cut(self._used, 2048):  # summed in float64
            total += by_gram_row[:, piece] @ self.gram[piece]
        scores = self._space.value_scale * total.T
        if not cached.all():
            others = support.all()[np.flatnonzero(~cached)]
            scores += self._space.all_times(self._data.X, others, coefficients[:, ~cached].T)
        return scores


class ScoreCache:
    """Scores of all training rows by the coefficients ``W`` and ``average_offset`` of a run, in kernel units.

    Updates are collected and applied to all rows together. So an epoch computes the kernel of every row with the rows
    updated in that epoch, not with all support rows.

    Parameters
    ----------
    space : FeatureSpace
    data : Data
        The examples.
    scores : array of shape (rows, 2·classes)
        Scores of the examples by the current coefficients, on the device of the matrices.
    """

    def __init__(self, space: FeatureSpace, data: Data, scores: Any) -> None:
        self._scores = scores  # always the same memory; without the pending updates
        self._space, self._X, self._first_row = space, data.X, data.first_row
        self._classes = int(scores.shape[1]) // 2
        self._max_pending = MAX_PENDING_CPU if space.arrays.is_numpy else MAX_PENDING_DEVICE
        self._numbers = np.empty(0, np.int64)  # the rows of the pending updates
        self._steps = np.empty((0, 2 * self._classes))  # what they added to W, and to average_offset
        self._on_device: tuple[Any, Any] | None = None  # both, on the device of the matrices
        self._block_rows: list[Any] = [None]
        self._task = _score_task(space, data, scores, self._block_rows)

    def start_scores(self, block: RowBlock) -> Transfer:
        """Begin to compute ``(classes, rows)`` scores of a block by the coefficients as they are."""
        numbers, steps, n = self._numbers, self._steps, self._numbers.size
        if self._space.arrays.on_gpu and self._space.recordable:  # shapes that come again; rows of zero steps
            capacity = max(MIN_PENDING_GPU, 1 << max(n - 1, 0).bit_length())
            numbers, steps = _lengthened(numbers, capacity), _lengthened(steps, capacity)
        self._block_rows[0] = block.rows
        scores, (rows, steps) = self._task.run(block.numbers, numbers, steps)
        self._on_device = rows[:n, ...], steps[:n, ...]
        return scores

    def add_updates(self, numbers: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
        """Take the updates of a block: the rows that made them, and their steps."""
        self._numbers = np.concatenate([self._numbers, numbers])
        self._steps = np.concatenate([self._steps, steps])
        self._on_device = None

    def apply_updates(self, only_many: bool = False) -> None:
        """Apply the pending updates to the scores of all rows; with ``only_many`` only where they are many."""
        if not self._numbers.size or (only_many and self._numbers.size <= self._max_pending):
            return
        arrays, n = self._space.arrays, int(self._X.shape[0])
        if self._on_device is None:
            rows = self._space.support_rows(self._X, self._numbers, self._first_row)
            self._on_device = rows, arrays.send("steps", self._steps)
        rows, steps = self._on_device
        for piece in cut(n, max(1, arrays.at_once // self._numbers.size)):
            scores = self._scores[piece, ...]
            scores += self._space.times(self._X[piece, ...], rows, steps)  # in place
        self._numbers, self._steps, self._on_device = self._numbers[:0], self._steps[:0], None

    def fold(self, c: int, scale: float, scale_sum: float) -> None:
        """Apply ``average_offset −= scale_sum·W`` and ``W ← scale·W`` for class ``c`` (all, when negative)."""
        _fold_columns(self._scores, c, scale, scale_sum)
        _fold_columns(self._steps, c, scale, scale_sum)
        self._on_device = None

    def all_scores(self) -> NDArray[np.float64]:
        """Return ``(rows, 2·classes)`` scores by ``W`` and ``average_offset``, as products."""
        with self._space.arrays.exact_products():
            self.apply_updates()
        return np.asarray(to_numpy(self._scores) * self._space.value_scale)


def _score_task(space: FeatureSpace, data: Data, scores: Any, block_rows: list[Any]) -> DeviceTask:
    """Return the task that computes scores of rows, given pending updates; it keeps their rows and steps.

    On the CPU the rows of the block are passed in ``block_rows``; a device gathers them itself.
    """
    classes = int(scores.shape[1]) // 2

    def score(index: Any, numbers: Any, steps: Any) -> tuple[Any, tuple[Any, Any]]:
        pending = space.support_rows(data.X, numbers, data.first_row)
        current = space.arrays.rows(scores, index)[:, :classes]
        if numbers.shape[0]:
            rows = block_rows[0] if space.arrays.is_numpy else space.arrays.rows(data.X, index)
            current = current + space.times(rows, pending, steps[:, :classes])
        return current.T, (pending, steps)

    return DeviceTask(space.arrays, score, "int64", "int64", space.arrays.dtype, use_graphs=space.recordable)


def _lengthened(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Append rows of zeros."""
    out = np.zeros((rows, *array.shape[1:]), array.dtype)
    out[: array.shape[0]] = array
    return out


def _fold_columns(scores: Any, c: int, scale: float, scale_sum: float) -> None:
    """Fold a scale into columns that hold ``W`` in their first half and ``average_offset`` in their second."""
    classes = int(scores.shape[1]) // 2
    own = slice(0, classes) if c < 0 else slice(c, c + 1)
    average = slice(classes, 2 * classes) if c < 0 else slice(classes + c, classes + c + 1)
    scores[:, average] -= scale_sum * scores[:, own]
    scores[:, own] *= scale
