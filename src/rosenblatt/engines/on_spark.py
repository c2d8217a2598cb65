"""Fit, predict and evaluate where Spark keeps the data."""

import copy
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from rosenblatt.engines.encoding import Glance, Moments, fit_encoder, glance_over, is_encoder, is_pipeline
from rosenblatt.engines.recipes import fit_on, maker_for
from rosenblatt.engines.scoring import Evaluation, evaluate_on, hypothesis_of
from rosenblatt.engines.shard import Shard
from rosenblatt.engines.spark_engine import SparkEngine, plain_errors
from rosenblatt.engines.spark_frames import (
    LABEL,
    PIECES,
    WEIGHT,
    from_row,
    in_arrow,
    labels_of,
    layout_of,
    matrix_of,
    to_rows,
)
from rosenblatt.engines.training import Tell


def fit_spark(
    estimator: Any,
    frame: Any,
    *,
    features: str | list[str] | None = None,
    label: str = "label",
    weight: str | None = None,
    shards: int | None = None,
    mixing: str = "uniform",
    checkpoint: str | os.PathLike[str] | None = None,
    tell: Tell | None = None,
) -> Any:
    """Fit an estimator on a Spark DataFrame, and return it: an ordinary fitted estimator.

    Parameters
    ----------
    estimator : Perceptron or LogisticRegression (mixing), ClosestCentroid or NaiveBayes (one pass, exact), Attributes,
        or a pipeline of Attributes and one of these
    frame : a Spark DataFrame
    features : a column of vectors, arrays or maps (from a number or a name to a value); or a list of columns of
        numbers; every column but the label by default
    label, weight : the columns of labels and, where there is one, of weights
    shards : how many; one for each partition by default. Fewer join partitions without a shuffle
    mixing, checkpoint, tell : as in :func:`~rosenblatt.engines.fit_dask`

    Guarantee
    ---------
    A function of the partitions, not of the executors: those that die on the way change no bit. With ``shards=1`` the
    result is that of ``estimator.fit`` on all rows. See :mod:`rosenblatt.engines.mixing`.
    """
    encoder, last = None, estimator
    if is_encoder(estimator):
        return _fit_encoder(estimator, frame.drop(label))
    if is_pipeline(estimator):
        (_, encoder), (_, last) = _two_steps(estimator)
    maker_for(last)
    engine = SparkEngine(frame.sparkSession.sparkContext)
    try:
        if encoder is not None:
            columns = (
                [name for name in frame.columns if name not in (label, weight)]
                if features is None
                else features
            )
            _checked(frame, columns, label, weight)
            _fit_encoder(encoder, frame.select(*columns))
        names = _hold(engine, frame, features, label, weight, shards, encoder)
        fit_on(engine, last, mixing=mixing, checkpoint=checkpoint, tell=tell, names=names)
    finally:
        engine.release()
    return estimator


def transform_spark(
    model: Any, frame: Any, *, features: str | list[str] | None = None, prediction: str = "prediction"
) -> Any:
    """Return the DataFrame with a column of predictions, made where the rows are, when they are asked for.

    ``features`` as in :func:`fit_spark`; by default the names a model was fitted with, or the column ``features``.
    """
    from pyspark.sql import functions as sf

    encoder, last = (None, model) if not is_pipeline(model) else (model[0], model[-1])
    known = getattr(encoder or last, "feature_names_in_", None)
    if features is None:
        features = [str(name) for name in known] if known is not None else "features"
        if isinstance(features, list) and not set(features) <= set(frame.columns):
            features = "features" if "features" in frame.columns else features
    layout = None if encoder is not None else layout_of(frame, features, [])
    if layout is not None and layout.kind == "map" and layout.keys is not None:
        layout = layout._replace(keys=[str(name) for name in known] if known is not None else layout.keys)
    if encoder is not None:
        _checked(frame, features, None, None)
    columns = [features] if isinstance(features, str) else list(features)
    encode = getattr(encoder, "transform", None) or (lambda table: table)
    learner, hypothesis = last.learner_, hypothesis_of(last)
    kind = {"U": "string", "O": "string", "i": "long", "u": "long", "b": "boolean"}.get(
        last.classes_.dtype.kind, "double"
    )

    def predict(rows: Any) -> Any:
        import pyarrow as pa

        table = pa.Table.from_arrays(rows.flatten(), names=[field.name for field in rows.type])
        X = encode(table) if layout is None else matrix_of(table, layout)
        return pa.array(learner.predict(_as_wide(X, learner.n_features), *hypothesis).tolist())

    import pyarrow as pa

    predict.__annotations__ = {"rows": pa.Array, "return": pa.Array}
    return frame.withColumn(prediction, sf.arrow_udf(predict, kind)(sf.struct(*columns)))


def evaluate_spark(
    model: Any, frame: Any, *, features: str | list[str] | None = None, label: str = "label"
) -> Evaluation:
    """Count a model's right and wrong predictions where the rows are."""
    encoder, last = (None, model) if not is_pipeline(model) else (model[0], model[-1])
    engine = SparkEngine(frame.sparkSession.sparkContext)
    try:
        _hold(engine, frame, features, label, None, None, encoder)
        return evaluate_on(engine, last)
    finally:
        engine.release()


def _hold(
    engine: SparkEngine,
    frame: Any,
    features: Any,
    label: str,
    weight: str | None,
    shards: int | None,
    encoder: Any,
) -> list[str] | None:
    """Turn every partition into a shard; return the names of the features, where they have some."""
    if shards is not None and shards < 1:
        raise ValueError(f"shards must be 1 or more, got {shards}")
    from pyspark.sql import functions as sf

    layout = None
    if encoder is not None:
        columns = [str(name) for name in encoder.feature_names_in_]
        _checked(frame, columns, label, weight)
    else:
        layout = layout_of(frame, features, [label, weight])
        columns = layout.columns
    wanted = [*columns, sf.col(label).alias(LABEL), *([sf.col(weight).alias(WEIGHT)] if weight else [])]
    frame = frame.select(*wanted)
    count = frame.rdd.getNumPartitions()
    if shards is not None and shards < count:
        frame, count = frame.coalesce(shards), shards

    def make(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        every = [batch for batch in batches if batch.num_rows]
        if not every:
            return
        table = pa.Table.from_batches(every)
        try:
            X = encoder.transform(table.select(columns)) if layout is None else matrix_of(table, layout)
            given = np.asarray(table.column(WEIGHT), dtype=np.float64) if weight else None
            shard = Shard(X, labels_of(table, LABEL), given)
        except ValueError as error:
            raise ValueError(f"partition {TaskContext.get().partitionId()}: {error}") from None
        from rosenblatt.engines.spark_engine import pieces_of

        for piece in pieces_of(shard):
            yield pa.RecordBatch.from_pydict(to_rows(_piece(piece)), schema=_piece_schema())

    engine.hold_pieces(in_arrow(frame, make, PIECES).rdd.map(from_row), count)
    return layout.names if layout is not None else None


def _piece(piece: tuple[Any, ...]) -> Shard:
    shard = copy.copy(_EMPTY)
    shard.X, shard.y, shard.weight = piece
    return shard


def _piece_schema() -> Any:
    import pyarrow as pa

    from rosenblatt.engines.spark_frames import ARRAYS

    return pa.schema(
        [
            ("shape", pa.list_(pa.int64())),
            ("types", pa.list_(pa.string())),
            *((name, pa.binary()) for name in ARRAYS),
        ]
    )


def _fit_encoder(encoder: Any, frame: Any) -> Any:
    """Ask every partition by Arrow; answers come back as JSON."""

    def ask(question: Any, sent: Any) -> list[Any]:
        def answer(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            every = [batch for batch in batches if batch.num_rows]
            if every:
                found = question(pa.Table.from_batches(every), sent)
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(found)]})

        with plain_errors():
            rows = in_arrow(frame, answer, "answer string").collect()
        found = [json.loads(row["answer"]) for row in rows]
        return [_glances(each) for each in found] if question is glance_over else found

    return fit_encoder(encoder, ask)


def _glances(found: dict[str, list[Any]]) -> dict[str, Glance]:
    """Rebuild from JSON what a partition says about its columns."""
    return {
        name: Glance(all_numbers, any_value, sample, Moments._make(moments))
        for name, (all_numbers, any_value, sample, moments) in found.items()
    }


def _two_steps(pipeline: Any) -> list[Any]:
    if len(pipeline.steps) != 2 or not is_encoder(pipeline.steps[0][1]):
        raise TypeError("a pipeline on an engine is Attributes and then one estimator")
    return list(pipeline.steps)


def _checked(frame: Any, columns: Any, label: str | None, weight: str | None) -> None:
    for name in [*([columns] if isinstance(columns, str) else columns), label, weight]:
        if name is not None and name not in frame.columns:
            raise ValueError(f"no column is called {name!r}; there are {', '.join(frame.columns)}")


def _as_wide(X: Any, n_features: int) -> Any:
    """Give sparse rows as many columns as the model has features."""
    if isinstance(X, np.ndarray) or X.shape[1] == n_features:
        return X
    if X.shape[1] > n_features:
        return X[:, :n_features]  # features that training never saw
    X = X.copy()
    X.resize((X.shape[0], n_features))
    return X


_EMPTY = Shard(np.empty((0, 0)), np.empty(0))
