"""Fit, predict and evaluate where Spark keeps the data."""

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from rosenblatt.engines.encoding import fit_encoder, is_encoder, is_pipeline
from rosenblatt.engines.recipes import Mixed, beginning_of, fit_on
from rosenblatt.engines.scoring import ConfusionMatrix, evaluate_on, hypothesis_of
from rosenblatt.engines.shard import Shard, shard_max_sqnorm
from rosenblatt.engines.shard_files import Writer
from rosenblatt.engines.spark_engine import SparkEngine, folder_for, told, told_schema
from rosenblatt.engines.spark_errors import plain_errors
from rosenblatt.engines.spark_frames import (
    FEW_ROWS,
    LABEL,
    PARTS,
    WEIGHT,
    as_they_are,
    check_names,
    in_arrow,
    in_batches,
    is_cached,
    label_column,
    layout_of,
    row_bytes,
    weight_column,
)
from rosenblatt.engines.spark_rows import labels_of, matrix_of, table_of, weights_of
from rosenblatt.engines.spark_workers import acknowledge, set_aside
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

    Notes
    -----
    **Guarantee.** A function of the partitions, not of the executors: those that die on the way change no bit. With
    ``shards=1`` the result is that of ``estimator.fit`` on all rows. See :mod:`rosenblatt.engines.mixing`.
    """
    encoder, last = None, estimator
    if is_encoder(estimator):
        return _fit_encoder(estimator, frame, [name for name in frame.columns if name != label])
    if is_pipeline(estimator):
        (_, encoder), (_, last) = _two_steps(estimator)
    begin = beginning_of(last, mixing)
    engine = SparkEngine(context_of(frame))
    try:
        if encoder is not None:
            columns = (
                [name for name in frame.columns if name not in (label, weight)]
                if features is None
                else features
            )
            columns = [columns] if isinstance(columns, str) else columns
            check_names(frame, [*columns, label, weight])
            _fit_encoder(encoder, frame, list(columns))
        first = begin if isinstance(begin, Mixed) and checkpoint is None else None
        names = _hold(engine, frame, features, label, weight, shards, encoder, begin=first)
        fit_on(engine, last, checkpoint=checkpoint, tell=tell, names=names, begin=begin)
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
    features, known = _features_for(encoder or last, frame, features, None)
    layout = None
    if encoder is None:
        layout = layout_of(frame, features, [], known)
        wanted = layout.taken_apart()
    else:
        columns = [features] if isinstance(features, str) else list(features)
        check_names(frame, columns)
        wanted = as_they_are(frame, columns)
    encode = getattr(encoder, "transform", None) or (lambda table: table)
    learner, hypothesis = last.learner_, hypothesis_of(last)
    kind = {"U": "string", "O": "string", "i": "long", "u": "long", "b": "boolean"}.get(
        last.classes_.dtype.kind, "double"
    )

    def predict(rows: Any) -> Any:
        import pyarrow as pa

        batch = pa.RecordBatch.from_struct_array(rows)
        X = encode(table_of([batch], columns)) if layout is None else matrix_of(batch, layout)
        return pa.array(learner.predict(_as_wide(X, learner.n_features), *hypothesis).tolist())

    import pyarrow as pa

    predict.__annotations__ = {"rows": pa.Array, "return": pa.Array}
    given = sf.struct(*(sf.expr(text) for text in wanted))
    if layout is None or layout.kind != "vector":
        return frame.withColumn(prediction, sf.arrow_udf(predict, kind)(given))
    opened = layout.opened_up(frame)
    return opened.withColumn(prediction, sf.arrow_udf(predict, kind)(given)).drop(PARTS)


def evaluate_spark(
    model: Any, frame: Any, *, features: str | list[str] | None = None, label: str = "label"
) -> ConfusionMatrix:
    """Count a model's right and wrong predictions where the rows are."""
    encoder, last = (None, model) if not is_pipeline(model) else (model[0], model[-1])
    features, known = _features_for(encoder or last, frame, features, label)
    engine = SparkEngine(context_of(frame))
    try:
        _hold(engine, frame, features, label, None, None, encoder, known)
        return evaluate_on(engine, last)
    finally:
        engine.release()


def context_of(frame: Any) -> Any:
    """Return the ``SparkContext`` behind a DataFrame, or say why there is none to run on."""
    if not hasattr(frame, "sparkSession"):
        raise TypeError(f"frame must be a Spark DataFrame, got {type(frame).__name__}")
    if frame.isStreaming:
        raise ValueError(
            "the DataFrame is a stream, which has no end: learn from its batches with foreachBatch"
        )
    if "connect" in type(frame).__module__:
        raise TypeError(
            "frame belongs to Spark Connect, which has no executors to ask: use a session of its own"
        )
    return frame.sparkSession.sparkContext


def _features_for(
    model: Any, frame: Any, features: str | list[str] | None, label: str | None
) -> tuple[str | list[str], list[str] | None]:
    """Return the columns that a fitted model reads, and the names it knows: not those a frame happens to have."""
    names = getattr(model, "feature_names_in_", None)
    known = None if names is None else [str(name) for name in names]
    if features is None:
        if known is not None and ("features" not in frame.columns or set(known) <= set(frame.columns)):
            features = known  # what is missing is then named
        elif "features" in frame.columns or label is None:
            features = "features"
        else:
            features = [name for name in frame.columns if name != label]
    return features, known


def _hold(
    engine: SparkEngine,
    frame: Any,
    features: Any,
    label: str,
    weight: str | None,
    shards: int | None,
    encoder: Any,
    known: list[str] | None = None,
    begin: Mixed | None = None,
) -> list[str] | None:
    """Turn every partition into a shard; return the names of the features, where they have some.

    ``begin`` where the first pass will be asked for as it says: small shards then make it at once.
    """
    if shards is not None and shards < 1:
        raise ValueError(f"shards must be 1 or more, got {shards}")
    layout, rows, length = None, FEW_ROWS, None
    if encoder is not None:
        columns = [str(name) for name in encoder.feature_names_in_]
        check_names(frame, [*columns, label, weight])
        wanted = as_they_are(frame, columns)
    else:
        layout = layout_of(frame, features, [label, weight], known)
        length = row_bytes(frame, layout)
        wanted, rows = layout.taken_apart(), layout.batch_rows(length)
    wanted.append(label_column(frame, label))
    if weight is not None:
        wanted.append(weight_column(frame, weight))
    adaptive = not is_cached(frame)
    frame = (frame if layout is None else layout.opened_up(frame)).selectExpr(*wanted)
    run = engine.run
    if shards is not None:
        frame = frame.coalesce(shards)

    def part_of(batch: Any) -> Shard:
        X = encoder.transform(table_of([batch], columns)) if layout is None else matrix_of(batch, layout)
        return Shard(X, labels_of(batch, LABEL), weights_of(batch, WEIGHT) if weight is not None else None)

    def make(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        acknowledge()
        at, seen = TaskContext.get().partitionId(), 0
        writer = Writer(folder_for(run, at))
        max_sqnorm: dict[bool, float] = {}  # of the dense parts, and of the sparse ones
        try:
            for batch in batches:
                if batch.num_rows:
                    part = part_of(batch)
                    dense = isinstance(part.X, np.ndarray)
                    max_sqnorm[dense] = max(
                        max_sqnorm.get(dense, 0.0), shard_max_sqnorm(part)
                    )  # while it is in the caches
                    writer.add(part)
                    seen += batch.num_rows
            seen = 0  # what is said now is said of the whole partition
            one_kind = len(max_sqnorm) == 1
            found = told(writer, at, max(max_sqnorm.values()) if one_kind else None, begin)
        except ValueError as error:
            writer.discard()
            place = f"partition {at}, after {seen} rows" if seen else f"partition {at}"
            raise ValueError(f"{place}: {error}") from None
        except BaseException:
            writer.discard()
            raise
        kinds = [("at", pa.int32()), ("shard", pa.string()), ("facts", pa.string()), ("first", pa.binary())]
        set_aside()
        yield pa.RecordBatch.from_pydict(found, pa.schema(kinds))

    def shards_of_rows() -> Any:
        with in_batches(frame.sparkSession, rows, length is None, adaptive):
            return in_arrow(frame, make, told_schema()).rdd

    engine.hold_rows(shards_of_rows)
    return layout.names if layout is not None else None


def _fit_encoder(encoder: Any, frame: Any, columns: list[str]) -> Any:
    """Ask every partition by Arrow; answers come back as JSON."""
    frame = frame.selectExpr(*as_they_are(frame, columns))

    def ask(question: Any, sent: Any) -> list[Any]:
        def answer(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            every = [batch for batch in batches if batch.num_rows]
            if every:
                found = question(table_of(every, columns), sent)
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(found)]})

        with plain_errors():
            rows = in_arrow(frame, answer, "answer string").collect()
        return [json.loads(row["answer"]) for row in rows]

    return fit_encoder(encoder, ask)


def _two_steps(pipeline: Any) -> list[Any]:
    if len(pipeline.steps) != 2 or not is_encoder(pipeline.steps[0][1]):
        raise TypeError("a pipeline on an engine is Attributes and then one estimator")
    return list(pipeline.steps)


def _as_wide(X: Any, n_features: int) -> Any:
    """Give sparse rows as many columns as the model has features."""
    if isinstance(X, np.ndarray) or X.shape[1] == n_features:
        return X
    if X.shape[1] > n_features:
        return X[:, :n_features]  # features that training never saw
    X = X.copy()
    X.resize((X.shape[0], n_features))
    return X
