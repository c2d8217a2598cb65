"""Hypotheses: six ways to predict, all read from one training run.

Every update makes a new weight vector; its survival is the number of examples until the next update. ``last`` is the
final vector; ``averaged`` the mean of all vectors, weighted by survival; ``voted`` a vote of all, weighted by survival;
``survivor`` the one with the longest survival; ``pocket`` the one with the fewest mistakes on the training set, among
candidates with long survival; ``random`` one drawn with probability proportional to survival.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.ledger import Ledger, fill_products, vote_each, vote_jointly
from rosenblatt.core.rows import rows_of

NAMES = ("last", "averaged", "voted", "survivor", "pocket", "random")
FROM_THE_LEDGER = ("voted", "survivor", "pocket", "random")
MAX_CANDIDATES = 8  # for the pocket: the last hypotheses that survived longer than all before them
# Of the blocks in which rows vote; products with sparse rows stay in the cache.
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 8, 1024
MAX_PRODUCTS, MAX_SPARSE_PRODUCTS = 1 << 23, 1 << 18


class Run(NamedTuple):
    """What hypotheses are computed from; for a kernel learner with support rows in place of features."""

    W: NDArray[Any]  # (rows of weights, 1 + features or support rows), to be multiplied by the running scale
    average_offset: NDArray[np.float64]
    running: NDArray[Any]
    clock: float
    bias_input: float  # 1 where a bias is learned, else 0
    joint: bool  # several classes share one hypothesis
    ledger: Ledger | None
    seed: int


def check_name(name: str) -> str:
    """Return the name; raise ValueError where it is not that of a hypothesis."""
    if name not in NAMES:
        raise ValueError(f"hypothesis must be one of {', '.join(NAMES)}, got {name!r}")
    return name


def last(run: Run) -> NDArray[Any]:
    """Return the final weights."""
    scale = run.running["scale"][:, None]
    return run.W if (scale == 1.0).all() else run.W * scale.astype(run.W.dtype)


def averaged(run: Run) -> NDArray[np.float64]:
    """Return the mean of the weights after each example (Freund, Schapire 1999).

    It is ``(scale_sum·W − average_offset) / clock``.
    """
    if run.clock == 0.0:
        return run.W.astype(np.float64)
    mean: NDArray[np.float64] = (run.running["scale_sum"][:, None] * run.W - run.average_offset) / run.clock
    return mean


def survivor(run: Run) -> NDArray[Any]:
    """Return the hypothesis with the longest survival, the first of equals; one for each class under ovr."""
    return rebuilt(run, survivor_numbers(run)[None])[0]


def drawn(run: Run) -> NDArray[Any]:
    """Return a hypothesis drawn with probability survival / clock; the same one for the same seed."""
    return rebuilt(run, drawn_numbers(run)[None])[0]


def records_and_drawn(run: Run) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Return the hypotheses that survived longer than any before, and the one that is drawn, in one replay.

    The last of the former is the survivor; with the final weights they are the candidates for the pocket.
    """
    *records, random = rebuilt(run, np.concatenate([record_numbers(run), drawn_numbers(run)[None]]))
    return records, random


# A hypothesis of the ledger is identified by its number of updates. Under ovr every class has its own numbers.


def survivor_numbers(run: Run) -> NDArray[np.int64]:
    """Return the number of the longest survivor, the first of equals, for each hypothesis of the run."""
    return np.array([int(np.argmax(survival)) for survival in _survivals(run)])


def drawn_numbers(run: Run) -> NDArray[np.int64]:
    """Return a number drawn with probability survival / clock for each hypothesis of the run."""
    numbers = []
    for hypothesis, survival in enumerate(_survivals(run)):
        draw = np.random.default_rng([run.seed, hypothesis]).random() * survival.sum()
        position = np.searchsorted(np.cumsum(survival), draw, side="right")
        numbers.append(int(min(position, survival.size - 1)))
    return np.array(numbers)


def record_numbers(run: Run) -> NDArray[np.int64]:
    """Return ``(candidates, hypotheses)`` numbers of those that survived longer than any before.

    Under ovr the classes have their own records; a class with fewer of them repeats its first.
    """
    records = []
    for survival in _survivals(run):
        best = np.maximum.accumulate(survival)
        records.append(np.flatnonzero(survival > np.concatenate([[0.0], best[:-1]]))[-MAX_CANDIDATES:])
    most = max(record.size for record in records)
    return np.array([np.pad(record, (most - record.size, 0), mode="edge") for record in records]).T


def rebuilt(run: Run, numbers: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Return the weights after ``numbers[k, h]`` updates of hypothesis ``h``, for all k in one replay."""
    lines = _lines_written(run, numbers)
    if run.joint or numbers.shape[1] == 1:
        stops, place = np.unique(lines[:, 0], return_inverse=True)
        return list(_ledger(run).weights_after(stops, run.bias_input)[place])
    order = np.argsort(lines, axis=None, kind="stable")  # each hypothesis needs only its own row of weights
    classes = np.tile(np.arange(numbers.shape[1]), numbers.shape[0])[order]
    after = _ledger(run).weights_after(lines.reshape(-1)[order], run.bias_input, classes)
    weights = np.empty_like(after)
    weights[order] = after
    return list(weights.reshape(*lines.shape, -1))


def recorded_sqnorms(run: Run, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``‖w‖²`` after ``numbers[k, h]`` updates of hypothesis ``h``, as the ledger recorded it."""
    sqnorms = np.concatenate([[0.0], _ledger(run).entries["sqnorm"]])
    return np.asarray(sqnorms[_lines_written(run, numbers)])


def votes(run: Run, X: Any) -> NDArray[np.float64]:
    """Return ``Σ (m_k/m)·vote of v_k`` for every row, in blocks from the ledger, never storing a v_k."""
    ledger = _ledger(run)
    n, width = X.shape
    total = np.zeros((n, run.W.shape[0]))
    index, start = ledger.support_index(), ledger.start.astype(np.float64)
    stored = 0 if ledger.support is None else ledger.support.shape[0]
    sparse = not isinstance(X, np.ndarray) and not isinstance(ledger.support, np.ndarray)
    block = MAX_SPARSE_PRODUCTS // max(1, stored) if sparse else MAX_PRODUCTS // max(1, stored, width)
    block = int(np.clip(block, MIN_BLOCK_ROWS, MAX_BLOCK_ROWS))
    products_of = (
        _sparse_products(X, ledger.support) if sparse and stored else _dense_products(X, ledger.support)
    )
    at_first = np.ascontiguousarray((X @ start[:, 1:].T).T) + run.bias_input * start[:, :1]
    bias_sqnorm = run.bias_input * run.bias_input
    for lo in range(0, n, block):
        scores = np.ascontiguousarray(at_first[:, lo : lo + block])
        products, block_votes = products_of(lo, lo + scores.shape[1]), np.zeros_like(scores)
        if run.joint:
            vote_jointly(products, ledger.entries, index, scores, run.clock, bias_sqnorm, block_votes)
        else:
            vote_each(products, ledger.entries, index, scores, run.clock, bias_sqnorm, block_votes)
        total[lo : lo + block] = block_votes.T
    return total / run.clock if run.clock else total


def _dense_products(X: Any, support: Any) -> Callable[[int, int], NDArray[Any]]:
    """Return a function that computes the products of the support rows with a block of rows."""

    def products_of(lo: int, hi: int) -> NDArray[Any]:
        if support is None:
            return np.empty((0, hi - lo))
        return _dense(support @ np.ascontiguousarray(_dense(X[lo:hi]).T))

    return products_of


def _sparse_products(X: Any, support: Any) -> Callable[[int, int], NDArray[Any]]:
    """Return the same for sparse rows, in a buffer that is reused."""
    rows, held = rows_of(X), rows_of(support.tocsc())  # the latter feature by feature
    buffers: dict[int, NDArray[Any]] = {}

    def products_of(lo: int, hi: int) -> NDArray[Any]:
        buffer = buffers.setdefault(hi - lo, np.empty((support.shape[0], hi - lo), support.dtype))
        fill_products(*rows, lo, *held, buffer)
        return buffer

    return products_of


def _dense(block: Any) -> NDArray[Any]:
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())


def _survivals(run: Run) -> list[NDArray[np.float64]]:
    """Return, for each hypothesis of the run, the survival of each of its weight vectors."""
    ledger = _ledger(run)
    every = range(run.running.shape[0])
    return [ledger.survivals(ledger.lines_of(each, run.joint), run.clock) for each in every]


def _lines_written(run: Run, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many lines the ledger had after ``numbers[k, h]`` updates of hypothesis ``h``."""
    ledger = _ledger(run)
    lines = np.empty_like(numbers)
    for hypothesis in range(numbers.shape[1]):
        own = np.concatenate([[0], ledger.lines_of(hypothesis, run.joint) + 1])
        lines[:, hypothesis] = own[numbers[:, hypothesis]]
    return lines


def _ledger(run: Run) -> Ledger:
    if run.ledger is None:
        raise ValueError(
            f"the ledger was not recorded, so only 'last' and 'averaged' can predict: "
            f"train with keep_ledger=True for {', '.join(FROM_THE_LEDGER)}"
        )
    return run.ledger
