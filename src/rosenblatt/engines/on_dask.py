"""Fit, predict and evaluate where a Dask cluster keeps the data."""

import os
from collections.abc import Sequence
from typing import Any

from rosenblatt.engines import dask_blocks
from rosenblatt.engines.dask_engine import DaskEngine
from rosenblatt.engines.encoding import fit_encoder, is_encoder, is_pipeline
from rosenblatt.engines.recipes import check_estimator, fit_on
from rosenblatt.engines.scoring import ConfusionMatrix, evaluate_on
from rosenblatt.engines.training import Tell


def fit_dask(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    client: Any = None,
    shards: int | None = None,
    mixing: str = "uniform",
    checkpoint: str | os.PathLike[str] | None = None,
    tell: Tell | None = None,
) -> Any:
    """Fit an estimator on a Dask cluster, and return it: an ordinary fitted estimator.

    Parameters
    ----------
    estimator : Perceptron or LogisticRegression (mixing), ClosestCentroid or NaiveBayes (one pass, exact), Attributes,
        or a pipeline of Attributes and one of these
    X : a dask array; a dask dataframe; a list of ``dask.delayed`` blocks, dense or CSR; or a bag of batches ``(X, y)``
    y : a dask array, series or list of blocks as X is cut; or the name of a column of the dataframe; nothing for a bag
    client : a ``distributed.Client``; the current one by default
    shards : how many; one for each block by default, which moves no data. Fewer join neighbouring blocks
    mixing : ``"uniform"``, or ``"mistakes"``: who corrects more moves more
    checkpoint : a file to keep the state in after every epoch, and to go on from where it is there
    tell : called after every epoch with a :class:`~rosenblatt.engines.record.MixedEpoch`

    Notes
    -----
    **Guarantee.** A function of the blocks, not of the cluster: any number of workers, and workers that die on the
    way, give the same bits. With ``shards=1`` the result is that of ``estimator.fit`` on all rows. See
    :mod:`rosenblatt.engines.mixing`.
    """
    client = client or _current()
    if is_pipeline(estimator):
        return _fit_pipeline(estimator, X, y, client, shards, mixing, checkpoint, tell)
    if is_encoder(estimator):
        parts = dask_blocks.frames(X)
        return fit_encoder(estimator, lambda ask, sent: _asked(client, ask, parts, sent))
    check_estimator(estimator)
    blocks = dask_blocks.blocks_of(X, y)
    engine = DaskEngine(client)
    try:
        engine.hold(dask_blocks.delayed_shards(blocks, shards))
        return fit_on(engine, estimator, mixing=mixing, checkpoint=checkpoint, tell=tell, names=blocks.names)
    finally:
        engine.release()


def predict_dask(model: Any, X: Any) -> Any:
    """Predict where the blocks lie, when asked for: an array, a series, a list of delayed blocks or a bag, as X is."""
    return dask_blocks.mapped(model, "predict", X)


def transform_dask(encoder: Any, X: Any) -> list[Any]:
    """Encode the partitions of a dataframe where they lie; return delayed blocks, which :func:`fit_dask` takes."""
    import dask

    call = dask.delayed(dask_blocks.called, pure=False)
    return [call(encoder, "transform", part) for part in dask_blocks.frames(X)]


def evaluate_dask(model: Any, X: Any, y: Any = None, *, client: Any = None) -> ConfusionMatrix:
    """Count a model's right and wrong predictions where the blocks lie."""
    if is_pipeline(model):
        frame, y = dask_blocks.without_target(X, y)
        X, model = transform_dask(model[:-1], frame), model[-1]
    engine = DaskEngine(client or _current())
    try:
        engine.hold(dask_blocks.delayed_shards(dask_blocks.blocks_of(X, y), None))
        return evaluate_on(engine, model)
    finally:
        engine.release()


def _fit_pipeline(
    pipeline: Any, X: Any, y: Any, client: Any, shards: int | None, mixing: str, checkpoint: Any, tell: Any
) -> Any:
    """Fit an encoder on the cluster, encode there, and fit the last step on what it gives."""
    *before, (_, last) = pipeline.steps
    if len(before) != 1 or not is_encoder(before[0][1]):
        raise TypeError("a pipeline on an engine is Attributes and then one estimator")
    check_estimator(last)
    frame, y = dask_blocks.without_target(X, y)
    encoder = fit_dask(before[0][1], frame, client=client)
    blocks = transform_dask(encoder, frame)
    labels = dask_blocks.label_blocks(y, len(blocks))
    fit_dask(
        last, blocks, labels, client=client, shards=shards, mixing=mixing, checkpoint=checkpoint, tell=tell
    )
    return pipeline


def _asked(client: Any, ask: Any, parts: Sequence[Any], sent: Any) -> list[Any]:
    import dask

    call = dask.delayed(ask, pure=False)
    return list(DaskEngine(client).results(client.compute([call(part, sent) for part in parts])))


def _current() -> Any:
    try:
        from distributed import get_client
    except ImportError:
        raise ImportError("fit_dask needs Dask: pip install 'rosenblatt[dask]'") from None
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "no Dask client: give client=distributed.Client(...), as in Client() for this machine"
        ) from None
