"""Training on Spark: shards are files beside the executors, and a persisted RDD holds their locations.

Rows cross from Java to Python once, when the shards are written; a pass then maps the files of its shard. Spark prefers
to run a task where the partition of the RDD is stored, which is where the files are. A lost executor takes its
partition with it, and Spark computes the shard again from its lineage; a task that runs on another machine all the same
answers ``NOT_HERE``, and its request is repeated.

Stages have no barriers: a barrier stage waits for all its slots at once, and never gets them under dynamic allocation.
"""

import contextlib
import gc
import json
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from rosenblatt.engines.estimators import (
    check_estimator,
    fit_encoder,
    fit_estimator,
    is_encoder,
    is_pipeline,
    pipeline_steps,
)
from rosenblatt.engines.protocol import FAN_IN, Answer, Loader, Reduction, Request, reduce_tree
from rosenblatt.engines.shards import (
    Shard,
    ShardSummary,
    ShardWriter,
    StoredShard,
    SummaryRequest,
    shard_max_sqnorm,
    summarize,
)
from rosenblatt.engines.spark_frames import (
    LABEL,
    STRUCT,
    WEIGHT,
    Layout,
    check_names,
    label_column,
    labels_of,
    layout_of,
    map_in_arrow,
    matrix_of,
    table_expressions,
    table_of,
    weight_column,
    weights_of,
)
from rosenblatt.engines.training import ConfusionMatrix, OnEpoch, evaluate_model, hypothesis_of

T = TypeVar("T")
NOT_HERE = "shard not here"  # the answer of a task that does not find the files of its shard
WrittenShard = dict[str, Any]  # a row of the RDD: the number, location and summary of a shard


class SparkEngine:
    """Shards and passes on the executors of a ``SparkContext``."""

    name = "spark"

    def __init__(self, context: Any) -> None:
        self._context = context
        self.run = f"rosenblatt-{uuid4().hex[:8]}"
        self._shards: Any = None  # the persisted RDD
        self._recompute: Callable[[], Any] | None = None  # the same RDD without persistence
        self._count = 0
        self._summaries: list[ShardSummary] | None = (
            None  # where they were computed as the shards were written
        )
        self._folders: set[str] = set()  # of this run on executors
        self._interrupted = False  # whether an interrupted job may have left other folders

    def load(self, loaders: Sequence[Loader]) -> None:
        """Load the shards, one in each partition, and write them to files."""
        loaders, run = list(loaders), self.run

        def shards() -> Any:
            numbers = self._context.parallelize(range(len(loaders)), len(loaders))
            return numbers.map(lambda at: _stored(loaders[at](at), run, at))

        self._persist(shards)

    def load_written(self, shards: Callable[[], Any]) -> None:
        """Load the shards of an RDD of :data:`WrittenShard` rows; their summaries come with them."""
        self._persist(shards)
        with self._job():
            rows = {row["at"]: row for row in self._shards.collect()}
        empty = summarize(_empty_shard(0))
        self._summaries = [_read_summary(rows[at]) if at in rows else empty for at in range(self._count)]
        self._folders = {
            str(Path(StoredShard.from_json(row["shard"]).folder).parent) for row in rows.values()
        }

    def summaries(self) -> list[ShardSummary]:
        """Return the summary of every shard."""
        return self.gather(SummaryRequest()) if self._summaries is None else self._summaries

    def gather(self, request: Request[Answer]) -> list[Answer]:
        """Return the answer of every shard, in order; shards that were not found are asked again."""
        assert self._recompute is not None, "no shards are loaded"
        answers: dict[int, Any] = {}
        missing = list(range(self._count))
        with self._job():
            for last_attempt in (False, False, True):
                shards = self._recompute() if last_attempt else self._shards
                results = shards.mapPartitionsWithIndex(_answer_with(request))
                for at, folder, answer in (
                    results.collect()
                    if len(missing) == self._count
                    else self._context.runJob(results, list, missing)
                ):
                    answers[at] = answer
                    self._folders |= {folder} if folder else set()
                missing = [at for at in missing if _is_not_here(answers[at])]
                if not missing:
                    return [answers[at] for at in range(self._count)]
        raise RuntimeError(f"shards {missing} were not found by the tasks that wrote them: is the disk full?")

    def reduce(self, request: Reduction[Answer]) -> Answer:
        """Return the answers combined up a tree on the executors; the driver combines the last level."""
        if self._count <= FAN_IN:
            return reduce_tree(self.gather(request), request.combine)
        with self._job():
            level = self._shards.mapPartitionsWithIndex(_answer_with(request)).map(lambda result: result[::2])
            count = self._count
            while count > FAN_IN:
                count = -(-count // FAN_IN)
                level = level.map(lambda pair: (pair[0] // FAN_IN, pair)).groupByKey(count)
                level = level.map(_combine_with(request))
            answers: list[Answer] = [answer for _, answer in sorted(level.collect(), key=_number)]
        if any(_is_not_here(answer) for answer in answers):
            return reduce_tree(self.gather(request), request.combine)
        return reduce_tree(answers, request.combine)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """Call a function on every item, on the executors."""
        with self._job():
            return list(self._context.parallelize(list(items), max(1, len(items))).map(function).collect())

    def release(self) -> None:
        """Release the shards and remove their files."""
        if self._shards is None or self._context._jsc is None:  # Spark removes its folders when it stops
            return
        local = [folder for folder in self._folders if Path(folder).exists()]
        for folder in local:
            shutil.rmtree(folder, ignore_errors=True)
        if self._interrupted or len(local) < len(self._folders):
            run, tasks = self.run, max(self._count, self._context.defaultParallelism)
            with contextlib.suppress(Exception):  # files that are left are removed with the executor's folder
                self._context.parallelize(range(tasks), tasks).foreach(lambda _: _remove_run(run))
        self._shards.unpersist()
        self._shards = self._recompute = self._summaries = None
        self._folders, self._interrupted = set(), False

    def _persist(self, shards: Callable[[], Any]) -> None:
        from pyspark import StorageLevel

        self.release()
        self._recompute, self._shards = shards, shards().persist(StorageLevel.MEMORY_AND_DISK)
        self._count = self._shards.getNumPartitions()

    @contextlib.contextmanager
    def _job(self) -> Iterator[None]:
        """Run jobs in a group that is cancelled on the executors when the driver is interrupted."""
        self._context.setJobGroup(self.run, "rosenblatt", interruptOnCancel=True)
        try:
            with short_errors():
                yield
        except BaseException:
            self._interrupted = True
            self._context.cancelJobGroup(self.run)
            raise
        finally:
            self._context.setLocalProperty("spark.jobGroup.id", None)


# On the executors


def _stored(shard: Shard, run: str, at: int) -> Any:
    """Write a shard to files and return its location; a shard of a derived class is kept as it is."""
    if type(shard) is not Shard:
        return shard
    writer = ShardWriter(_new_folder(run, at))
    try:
        writer.add(shard)
        return {"shard": writer.close().to_json()}
    except BaseException:
        writer.discard()
        raise


def _written_row(writer: ShardWriter, at: int, max_sqnorm: float | None) -> WrittenShard:
    """Return the number, location and summary of a shard that is written."""
    stored = writer.close()
    shard = stored._replace(max_sqnorm=max_sqnorm).open(at)
    assert shard is not None
    summary = summarize(shard)
    fields = summary._asdict()
    fields["classes"] = [summary.classes.dtype.str, summary.classes.tolist()]
    fields["counts"] = summary.counts.tolist()
    return {
        "at": at,
        "shard": stored._replace(max_sqnorm=summary.max_sqnorm).to_json(),
        "summary": json.dumps(fields),
    }


def _read_summary(row: Any) -> ShardSummary:
    fields = json.loads(row["summary"])
    dtype, classes = fields["classes"]
    fields |= {"classes": np.array(classes, dtype), "counts": np.array(fields["counts"], np.int64)}
    return ShardSummary(**fields)


def _new_folder(run: str, at: int) -> Path:
    """Return the path of a new folder for a shard, inside those that Spark removes with the executor."""
    roots = _local_folders()
    return Path(roots[at % len(roots)], run, f"{at}-{uuid4().hex[:8]}")


def _local_folders() -> list[str]:
    return os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")


def _remove_run(run: str) -> None:
    for root in _local_folders():
        shutil.rmtree(Path(root, run), ignore_errors=True)


class WorkerTuning:
    """Removes two waits of PySpark's workers, a fifth of a fit of 1 GB (docs/engines.md); called within a task."""

    MOST_DESCRIPTORS = 64  # that are looked at: a worker has its socket among the first ones
    modules = 0  # how many were loaded when garbage collection last excluded them

    @classmethod
    def apply(cls) -> None:
        """Exclude what imports made from garbage collection, and acknowledge what Java has sent, at once.

        PySpark collects garbage after every task, which takes 50 ms of a core where numba and SciPy are loaded. Java
        sends the rest of a task when its beginning is acknowledged (Nagle's algorithm), and the system delays that by
        40 ms where nothing is to be sent back.
        """
        if len(sys.modules) > cls.modules:
            gc.collect()
            gc.freeze()
            cls.modules = len(sys.modules)
        if not hasattr(socket, "TCP_QUICKACK"):
            return
        for descriptor in range(3, cls.MOST_DESCRIPTORS):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    blocking = os.get_blocking(
                        descriptor
                    )  # a default timeout would change it for PySpark too
                    with socket.socket(fileno=os.dup(descriptor)) as own:
                        os.set_blocking(descriptor, blocking)
                        if own.family in (socket.AF_INET, socket.AF_INET6):
                            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _answer_with(
    request: Request[Any],
) -> Callable[[int, Iterable[Any]], Iterator[tuple[int, str | None, Any]]]:
    def answer(at: int, shards: Iterable[Any]) -> Iterator[tuple[int, str | None, Any]]:
        WorkerTuning.apply()
        folder = None
        rows: list[Any] = list(shards)  # read to the end: Spark stops a Python worker that leaves rows unread
        shard: Any = rows[0] if rows else _empty_shard(at)
        if isinstance(shard, dict) or hasattr(shard, "asDict"):  # a location: a dict, or a Row of Spark
            stored = StoredShard.from_json(shard["shard"])
            folder = str(Path(stored.folder).parent)
            shard = stored.open(at)
        yield at, folder, NOT_HERE if shard is None else request.answer(shard)

    return answer


def _combine_with(request: Reduction[Any]) -> Callable[[Any], tuple[int, Any]]:
    def combine(group: tuple[int, Iterable[tuple[int, Any]]]) -> tuple[int, Any]:
        answers = [answer for _, answer in sorted(group[1], key=_number)]
        missing = any(_is_not_here(answer) for answer in answers)
        return group[0], NOT_HERE if missing else request.combine(answers)

    return combine


def _empty_shard(at: int) -> Shard:
    return Shard(np.empty((0, 0)), np.empty(0), None, at)


def _is_not_here(answer: Any) -> bool:
    return isinstance(answer, str) and answer == NOT_HERE


def _number(pair: tuple[int, Any]) -> int:
    return pair[0]


# DataFrames


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
    on_epoch: OnEpoch | None = None,
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
    shards : number of shards; one for each partition by default. Fewer join partitions without a shuffle
    mixing, checkpoint, on_epoch : as in :func:`~rosenblatt.engines.fit_dask`

    Notes
    -----
    **Guarantee.** A function of the partitions, not of the executors: those that die during training change no bit.
    With ``shards=1`` the result is that of ``estimator.fit`` on all rows. See :mod:`rosenblatt.engines.mixing`.
    """
    if is_encoder(estimator):
        return _fit_encoder(estimator, frame, [name for name in frame.columns if name != label])
    encoder, last = pipeline_steps(estimator) if is_pipeline(estimator) else (None, estimator)
    check_estimator(last)
    engine = SparkEngine(context_of(frame))
    try:
        if encoder is not None:
            if features is None:
                features = [name for name in frame.columns if name not in (label, weight)]
            columns = [features] if isinstance(features, str) else list(features)
            check_names(frame, [*columns, label, weight])
            _fit_encoder(encoder, frame, columns)
        names = _load_frame(engine, frame, features, label, weight, shards, encoder)
        fit_estimator(engine, last, mixing=mixing, checkpoint=checkpoint, on_epoch=on_epoch, names=names)
    finally:
        engine.release()
    return estimator


def transform_spark(
    model: Any, frame: Any, *, features: str | list[str] | None = None, prediction: str = "prediction"
) -> Any:
    """Return the DataFrame with a column of predictions, computed lazily where the rows are.

    ``features`` as in :func:`fit_spark`; by default the names the model was fitted with, or the column ``features``.
    """
    from pyspark.sql import functions as sf

    encoder: Any
    encoder, last = (model[0], model[-1]) if is_pipeline(model) else (None, model)
    features, names = _features_for(encoder or last, frame, features, None)
    layout = None
    if encoder is None:
        layout = layout_of(frame, features, [], names)
        expressions = layout.expressions()
    else:
        columns = [features] if isinstance(features, str) else list(features)
        check_names(frame, columns)
        expressions = table_expressions(frame, columns)
    learner, hypothesis = last.learner_, hypothesis_of(last)
    kind = {"U": "string", "O": "string", "i": "long", "u": "long", "b": "boolean"}.get(
        last.classes_.dtype.kind, "double"
    )

    def predict(rows: Any) -> Any:
        import pyarrow as pa

        batch = pa.RecordBatch.from_struct_array(rows)
        X = encoder.transform(table_of([batch], columns)) if layout is None else matrix_of(batch, layout)
        return pa.array(learner.predict(_resized(X, learner.n_features), *hypothesis).tolist())

    import pyarrow as pa

    predict.__annotations__ = {"rows": pa.Array, "return": pa.Array}
    inputs = sf.struct(*(sf.expr(expression) for expression in expressions))
    if layout is None or layout.kind != "vector":
        return frame.withColumn(prediction, sf.arrow_udf(predict, kind)(inputs))
    with_struct = layout.with_struct(frame)
    return with_struct.withColumn(prediction, sf.arrow_udf(predict, kind)(inputs)).drop(STRUCT)


def evaluate_spark(
    model: Any, frame: Any, *, features: str | list[str] | None = None, label: str = "label"
) -> ConfusionMatrix:
    """Count the right and wrong predictions of a model where the rows are."""
    encoder, last = (model[0], model[-1]) if is_pipeline(model) else (None, model)
    features, names = _features_for(encoder or last, frame, features, label)
    engine = SparkEngine(context_of(frame))
    try:
        _load_frame(engine, frame, features, label, None, None, encoder, names)
        return evaluate_model(engine, last)
    finally:
        engine.release()


def context_of(frame: Any) -> Any:
    """Return the ``SparkContext`` of a DataFrame; raise where it has none, or no end."""
    if not hasattr(frame, "sparkSession"):
        raise TypeError(f"frame must be a Spark DataFrame, got {type(frame).__name__}")
    if frame.isStreaming:
        raise ValueError(
            "the DataFrame is a stream, which has no end: learn from its batches with foreachBatch"
        )
    if "connect" in type(frame).__module__:
        raise TypeError(
            "frame belongs to Spark Connect, which gives no access to executors: use a classic SparkSession"
        )
    return frame.sparkSession.sparkContext


def _features_for(
    model: Any, frame: Any, features: str | list[str] | None, label: str | None
) -> tuple[str | list[str], list[str] | None]:
    """Return the columns that a fitted model reads, and the names of its features, where it has any."""
    stored = getattr(model, "feature_names_in_", None)
    names = None if stored is None else [str(name) for name in stored]
    if features is None:
        if names is not None and ("features" not in frame.columns or set(names) <= set(frame.columns)):
            features = names
        elif "features" in frame.columns or label is None:
            features = "features"
        else:
            features = [name for name in frame.columns if name != label]
    return features, names


def _load_frame(
    engine: SparkEngine,
    frame: Any,
    features: Any,
    label: str,
    weight: str | None,
    shards: int | None,
    encoder: Any,
    names: list[str] | None = None,
) -> list[str] | None:
    """Write every partition as a shard; return the names of the features, where they have any."""
    if shards is not None and shards < 1:
        raise ValueError(f"shards must be 1 or more, got {shards}")
    layout: Layout | None = None
    columns: list[str] = []
    if encoder is not None:
        columns = [str(name) for name in encoder.feature_names_in_]
        check_names(frame, [*columns, label, weight])
        expressions = table_expressions(frame, columns)
    else:
        layout = layout_of(frame, features, [label, weight], names)
        expressions = layout.expressions()
    expressions.append(label_column(frame, label))
    if weight is not None:
        expressions.append(weight_column(frame, weight))
    rows = (frame if layout is None else layout.with_struct(frame)).selectExpr(*expressions)
    if shards is not None:
        rows = rows.coalesce(shards)
    run = engine.run

    def part_of(batch: Any) -> Shard:
        X = encoder.transform(table_of([batch], columns)) if layout is None else matrix_of(batch, layout)
        return Shard(X, labels_of(batch, LABEL), weights_of(batch, WEIGHT) if weight is not None else None)

    def write_shard(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        at, done = TaskContext.get().partitionId(), 0
        writer = ShardWriter(_new_folder(run, at))
        max_sqnorm: dict[bool, float] = {}  # of dense parts, and of sparse ones
        try:
            for batch in batches:
                if batch.num_rows:
                    part = part_of(batch)
                    dense = isinstance(part.X, np.ndarray)
                    max_sqnorm[dense] = max(max_sqnorm.get(dense, 0.0), shard_max_sqnorm(part))
                    writer.add(part)
                    done += batch.num_rows
            done = 0  # errors from here on concern the whole partition
            row = _written_row(writer, at, max(max_sqnorm.values()) if len(max_sqnorm) == 1 else None)
        except ValueError as error:
            writer.discard()
            place = f"partition {at}, after {done} rows" if done else f"partition {at}"
            raise ValueError(f"{place}: {error}") from None
        except BaseException:
            writer.discard()
            raise
        schema = pa.schema([("at", pa.int32()), ("shard", pa.string()), ("summary", pa.string())])
        yield pa.RecordBatch.from_pylist([row], schema)

    engine.load_written(lambda: map_in_arrow(rows, write_shard, "at int, shard string, summary string").rdd)
    return layout.names if layout is not None else None


def _fit_encoder(encoder: Any, frame: Any, columns: list[str]) -> Any:
    """Fit an encoder on every partition, by Arrow; answers come back as JSON."""
    frame = frame.selectExpr(*table_expressions(frame, columns))

    def map_partitions(function: Callable[[Any], Any]) -> list[Any]:
        def answer(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            filled = [batch for batch in batches if batch.num_rows]
            if filled:
                result = function(table_of(filled, columns))
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(result)]})

        with short_errors():
            rows = map_in_arrow(frame, answer, "answer string").collect()
        return [json.loads(row["answer"]) for row in rows]

    return fit_encoder(encoder, map_partitions)


def _resized(X: Any, n_features: int) -> Any:
    """Give sparse rows as many columns as the model has features."""
    if isinstance(X, np.ndarray) or X.shape[1] == n_features:
        return X
    if X.shape[1] > n_features:
        return X[:, :n_features]  # features that training never saw
    X = X.copy()
    X.resize((X.shape[0], n_features))
    return X


# Errors


_ERROR = re.compile(r"^(?:[\w.]+\.)?(ValueError|TypeError|BadInput|FileNotFoundError): (.*)$", re.MULTILINE)
_VERSIONS = re.compile(r"Python in worker has different version: ([\d.]+) than that in driver: ([\d.]+)")
_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_PROGRAM = re.compile(r'Cannot run program "([^"]*)"')


@contextlib.contextmanager
def short_errors() -> Iterator[None]:
    """Raise the Python error of an executor without the stack traces of two languages around it."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PythonException

    try:
        yield
    except (PythonException, Py4JJavaError) as error:
        text = str(error)
        problem = wrong_python(text)
        if problem is not None:
            raise RuntimeError(problem) from None
        errors = _ERROR.findall(text) if isinstance(error, PythonException) else []
        if not errors:
            raise
        kind, message = errors[-1]
        raise (TypeError if kind == "TypeError" else ValueError)(message) from None


def wrong_python(text: str) -> str | None:
    """Return what is wrong with the Python of Spark's workers according to an error text; None where nothing is.

    >>> wrong_python("ModuleNotFoundError: No module named 'rosenblatt'").partition(":")[0]
    "the Python of Spark's workers has no module 'rosenblatt'"
    """
    versions, module, program = (pattern.search(text) for pattern in (_VERSIONS, _MODULE, _PROGRAM))
    if versions:
        wrong = f"Spark's workers run Python {versions[1]}, and this is {versions[2]}"
    elif module:
        wrong = f"the Python of Spark's workers has no module {module[1]!r}"
    elif program:
        wrong = f"Spark's workers cannot run {program[1]!r}"
    else:
        return None
    way_out = f"or choose another before Spark starts: PYSPARK_PYTHON={sys.executable}"
    return f"{wrong}: install rosenblatt for the Python they run, {way_out}"
