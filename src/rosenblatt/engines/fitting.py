"""The same learners in this process, on shards of arrays: the embedded engine, and the yardstick of the others."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.data.matrix import checked_matrix
from rosenblatt.engines.local_engine import LocalEngine
from rosenblatt.engines.protocol import Maker
from rosenblatt.engines.recipes import fit_on
from rosenblatt.engines.shard import Shard
from rosenblatt.engines.training import Tell


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
    tell: Tell | None = None,
) -> Any:
    """Fit an estimator by threads over shards of the rows, and return it.

    Parameters
    ----------
    estimator : Perceptron, LogisticRegression, ClosestCentroid or NaiveBayes
    X, y : a matrix, dense or sparse, and a label for each row
    shards : how many pieces of neighbouring rows, one for each thread by default; or the rows of each, as indices
    mixing : ``"uniform"``, or ``"mistakes"``: who corrects more moves more
    checkpoint : a file to keep the state in after every epoch, and to go on from where it is there
    tell : called after every epoch with a :class:`~rosenblatt.engines.record.MixedEpoch`

    Notes
    -----
    **Guarantee.** With one shard, exactly what ``estimator.fit(X, y)`` makes but for the ledger. See
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
    pieces = shards if shards is not None else engine.threads
    cut = np.array_split(np.arange(y.size), pieces) if isinstance(pieces, int) else list(pieces)
    try:
        engine.hold([_maker(X, y, weight, np.asarray(rows, dtype=np.int64)) for rows in cut])
        return fit_on(engine, estimator, mixing=mixing, checkpoint=checkpoint, tell=tell, names=names)
    finally:
        engine.release()


def _maker(X: Any, y: Any, weight: Any, rows: Any) -> Maker:
    def make(index: int) -> Shard:
        neighbours = (
            rows.size > 0 and rows[-1] - rows[0] + 1 == rows.size and bool((np.diff(rows) == 1).all())
        )
        part = slice(int(rows[0]), int(rows[-1]) + 1) if neighbours else rows
        return Shard(X[part], y[part], None if weight is None else weight[part], index)

    return make
