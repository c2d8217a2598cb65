"""Shards in this process, one thread each at a time: compiled passes release the interpreter lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from rosenblatt.data.matrix import checked_matrix
from rosenblatt.engines.estimators import fit_estimator
from rosenblatt.engines.protocol import Answer, Loader, Reduction, Request, reduce_tree
from rosenblatt.engines.shards import Shard, ShardSummary, summarize
from rosenblatt.engines.training import OnEpoch

T = TypeVar("T")


class LocalEngine:
    """Threads over shards in memory; the reference for the other engines.

    >>> engine = LocalEngine(threads=2)
    >>> engine.load([lambda index: Shard([[1.0], [-1.0]], [0, 1], None, index)] * 3)
    >>> [summary.rows for summary in engine.summaries()]
    [2, 2, 2]
    >>> engine.release()
    """

    name = "local"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="rosenblatt")
        self._shards: list[Shard] = []

    def load(self, loaders: Sequence[Loader]) -> None:
        """Load the shards, as many at a time as there are threads."""
        self._shards = list(self._pool.map(lambda at: loaders[at](at), range(len(loaders))))

    def summaries(self) -> list[ShardSummary]:
        """Return the summary of every shard."""
        return list(self._pool.map(summarize, self._shards))

    def gather(self, request: Request[Answer]) -> list[Answer]:
        """Return the answer of every shard, in order."""
        return list(self._pool.map(request.answer, self._shards))

    def reduce(self, request: Reduction[Answer]) -> Answer:
        """Return the answers of all shards combined up a tree."""
        return reduce_tree(self.gather(request), request.combine)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """Call a function on every item, in threads."""
        return list(self._pool.map(function, items))

    def release(self) -> None:
        """Release the shards and the threads; calls that have not begun are cancelled."""
        self._shards = []
        self._pool.shutdown(wait=True, cancel_futures=True)


def fit_local(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    shards: int | Sequence[Any] | None = None,
    threads: int | None = None,
    sample_weight: Any = None,
    mixing: str = "uniform",
    checkpoint: str | os.PathLike[str] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Any:
    """Fit an estimator by threads over shards of the rows, and return it.

    Parameters
    ----------
    estimator : Perceptron, LogisticRegression, ClosestCentroid or NaiveBayes
    X, y : a matrix, dense or sparse, and a label for each row
    shards : number of shards of neighbouring rows, one for each thread by default; or the row indices of each shard
    threads : number of threads, one for each core by default
    sample_weight : weight of each row; 1 by default
    mixing : ``"uniform"``, or ``"mistakes"``: shards with more corrections count more
    checkpoint : a file that holds the state after every epoch; where it exists, training continues from it
    on_epoch : called after every epoch with a :class:`~rosenblatt.engines.history.MixedEpoch`

    Notes
    -----
    **Guarantee.** With one shard, exactly what ``estimator.fit(X, y)`` learns, without the ledger. See
    :mod:`rosenblatt.engines.mixing`.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], ["in", "in", "out", "out"]
    >>> clf = fit_local(Perceptron(), X, y, shards=2)
    >>> clf.predict([[1.0, 1.0]]), clf.converged_, clf.mixing_.holds
    (array(['in'], dtype='<U3'), True, True)
    """
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X, y = checked_matrix(X.to_numpy() if hasattr(X, "to_numpy") else X), np.asarray(y)
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must hold one label for each of the {X.shape[0]} rows of X, got {y.size}")
    weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), y.shape)
    engine = LocalEngine(threads)
    parts = shards if shards is not None else engine.threads
    parts = np.array_split(np.arange(y.size), parts) if isinstance(parts, int) else list(parts)
    try:
        engine.load([_loader(X, y, weight, np.asarray(rows, dtype=np.int64)) for rows in parts])
        return fit_estimator(
            engine, estimator, mixing=mixing, checkpoint=checkpoint, on_epoch=on_epoch, names=names
        )
    finally:
        engine.release()


def _loader(X: Any, y: Any, weight: Any, rows: Any) -> Loader:
    def load(index: int) -> Shard:
        contiguous = (
            rows.size > 0 and rows[-1] - rows[0] + 1 == rows.size and bool((np.diff(rows) == 1).all())
        )
        part = slice(int(rows[0]), int(rows[-1]) + 1) if contiguous else rows  # a slice copies nothing
        return Shard(X[part], y[part], None if weight is None else weight[part], index)

    return load
