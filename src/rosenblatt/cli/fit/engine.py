"""``fit --engine``: shards of the source where an engine keeps them, passes side by side, one model."""

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rosenblatt.cli.errors import refuse, refuse_data
from rosenblatt.cli.fit.estimate import progressive_estimate
from rosenblatt.cli.fit.report import Fitted, Stopwatch, report_of, save_model
from rosenblatt.cli.fit.request import refuse_many_numbers
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import note
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import read

if TYPE_CHECKING:
    from rosenblatt.cli.fit.request import EngineFlags, FitRequest
    from rosenblatt.engines.history import MixedEpoch
    from rosenblatt.engines.protocol import Engine
    from rosenblatt.learner.models import Model, TrainingOptions

CONNECT_SECONDS = 10
SUMS = ("centroid", "naive-bayes", "multinomial-bayes")  # learners that add up rows in one read


def fit_on_engine(request: "FitRequest") -> dict[str, Any]:
    """Train on an engine, write the model, and return the report."""
    watch = Stopwatch()
    with Progress() as progress:
        progress.update(f"starting {request.engine.engine}")
        with _open_engine(request.engine) as (engine, shards):
            progress.update(f"reading {request.source}")
            fitted = _train(request, engine, shards, progress, watch)
    if getattr(fitted.schema, "n_features", 0) != fitted.model.n_features:
        from rosenblatt.data.schema import LibsvmSchema

        zero_based = bool(getattr(fitted.schema, "zero_based", False))
        fitted.schema = LibsvmSchema(fitted.model.n_features, zero_based)
    if not request.estimate.no_estimate:
        estimate = progressive_estimate(fitted.model, fitted.schema, fitted.about["rows"])
        fitted.more |= {} if estimate is None else {"estimate": estimate}
    if request.estimate.test is not None:
        _test(request, fitted)
    save_model(request, fitted)
    return report_of(request, fitted)


def _train(
    request: "FitRequest",
    engine: "Engine",
    shards: int,
    progress: Progress,
    watch: Stopwatch,
) -> Fitted:
    from rosenblatt.data.labels import TargetValues
    from rosenblatt.engines.files import split, with_schema
    from rosenblatt.engines.training import summarize_shards
    from rosenblatt.learner.models.options import is_scaled, with_default_rule

    checkpoint = request.engine.checkpoint
    try:
        files, schema, columns = with_schema(split(request.source, shards, request.reading), engine)
        engine.load(files)
        try:
            data, shard_rows = summarize_shards(engine)
        except ValueError as error:  # one class, or labels of two types
            refuse_data(f"{request.source}: {error}")
        training = with_default_rule(request.training, schema, scale=request.reading.scale, rows=data.rows)
        request = replace(request, training=training._replace(standardised=is_scaled(schema)))
        passes = training.max_iter
        values = TargetValues()
        values.update(data.classes)
        values.rows = data.rows
        if values.kind == "numeric":
            refuse_many_numbers(request, data.classes.size, " (in one process: without --engine)")
        watch.lap("read")

        def on_epoch(epoch: "MixedEpoch") -> None:
            progress.update(f"pass {epoch.number}: {epoch.mistakes:,} mistakes", epoch.number, passes)

        progress.update("learning", 0, passes)
        model, scores, record = _learn(request, engine, data, shard_rows, on_epoch)
        watch.lap("learn")
    except KeyboardInterrupt:
        if checkpoint is not None and Path(checkpoint).exists():
            note(f"{checkpoint} holds the last whole pass: the same command continues from it")
        raise
    finally:
        engine.release()
    return Fitted(
        model,
        schema,
        {"source": request.source, "rows": data.rows},
        scores,
        class_counts=dict(zip(map(str, data.classes.tolist()), data.counts.tolist(), strict=True)),
        columns=columns,
        seconds=watch.seconds,
        more=record,
    )


def _learn(
    request: "FitRequest",
    engine: "Engine",
    data: Any,
    shard_rows: Any,
    on_epoch: "Callable[[MixedEpoch], None]",
) -> tuple["Model", dict[str, Any], dict[str, Any]]:
    """Train the learner that was requested; return the model, its scores, and the record of the engine."""
    from rosenblatt.engines.training import Plan, evaluate_model, train_by_mixing, train_by_sums

    training = request.training
    if training.learner in SUMS:
        from rosenblatt.learner.models.sums import SummedModel, new_sums

        sums, about = new_sums(training)
        train_by_sums(engine, sums)
        summed = SummedModel(sums, about)
        evaluation = evaluate_model(engine, SimpleNamespace(learner_=sums, classes_=sums.classes))
        scores = {summed.hypothesis: {"accuracy": evaluation.accuracy, "rows": evaluation.rows}}
        return summed, scores, {"engine": engine.name, "shards": len(shard_rows)}
    learner, model_of = _mixed_learner(training, data)
    plan = Plan(
        training.max_iter,
        training.shuffle,
        hypothesis=training.hypothesis or "averaged",
        checkpoint=request.engine.checkpoint,
        on_epoch=on_epoch,
        standardised=training.standardised,
    )
    learner, record = train_by_mixing(engine, learner, data, shard_rows, plan)
    scores = {
        name: {"accuracy": evaluation.accuracy, "rows": data.rows}
        for name, evaluation in learner.evaluations.items()
    }
    return model_of(learner), scores, record.as_json()


def _mixed_learner(training: "TrainingOptions", data: Any) -> tuple[Any, "Callable[[Any], Model]"]:
    """Return an untrained learner, and what makes a model of it when it is trained."""
    from rosenblatt.learner.models import logistic, perceptron

    hypothesis = training.hypothesis or "averaged"
    options = training._replace(ledger="none", hypothesis=None)
    if training.learner == "logistic":
        options = logistic.as_perceptron(options, data.max_sqnorm)

    def model_of(learner: Any) -> "Model":
        about = perceptron.about_training(options, learner, hypothesis)
        if training.learner == "logistic":
            return logistic.LogisticModel(learner, hypothesis, {**about, **logistic.about_training(options)})
        return perceptron.PerceptronModel(learner, hypothesis, about)

    return perceptron.new_learner(options), model_of


def _test(request: "FitRequest", fitted: Fitted) -> None:
    """Score every hypothesis on the test source, read in this process."""
    from rosenblatt.cli.reading import note_unseen_labels
    from rosenblatt.cli.scoring import accuracy_of, codes_of, unseen_labels

    test, model = str(request.estimate.test), fitted.model
    rows = read(test, request.reading, fitted.schema)
    if rows.y is None:
        refuse_data(f"{test}: has no target column to score against")
    codes = codes_of(rows.y, model.classes)
    note_unseen_labels(test, unseen_labels(rows.y, codes), model.classes)
    fitted.test = rows.about()
    fitted.test_scores = {
        name: accuracy_of(model, name, rows.X, codes, all_rows=True)._asdict() for name in model.hypotheses()
    }


def check_engine(request: "FitRequest") -> None:
    """Refuse what an engine cannot do, before the source is opened."""
    from rosenblatt.learner.models.options import learner_for

    source, training, engine = request.source, request.training, request.engine
    if not learner_for(training).engine:
        who = "--task regression" if training.task == "regression" else f"--learner {training.learner}"
        refuse(f"{who} runs in one process: leave out --engine")
    if source == STANDARD_INPUT:
        refuse("--engine: standard input can be read by one process only: write it to a file")
    if source.startswith("sample:"):
        refuse(
            "--engine: samples are inside the package, and workers read files: name a file, a pattern or a folder"
        )
    if request.reading.skip_bad:
        refuse("--skip-bad: an engine stops at a bad line; correct it, or fit without --engine")
    if engine.cluster is not None and engine.engine == "local":
        refuse("--cluster is an option of --engine dask and spark: leave it out, or name one of them")
    if engine.checkpoint is not None and training.learner in SUMS:
        refuse(
            f"--checkpoint: {training.learner} reads the data once and has no passes to continue: "
            "leave out --checkpoint"
        )


@contextlib.contextmanager
def _open_engine(flags: "EngineFlags") -> "Iterator[tuple[Engine, int]]":
    """Open an engine; yield it, and how many shards it runs side by side."""
    if flags.engine == "local":
        from rosenblatt.engines.local import LocalEngine

        threads = os.cpu_count() or 1
        yield LocalEngine(threads), threads
    elif flags.engine == "dask":
        with _dask_client(flags.cluster) as client:
            from rosenblatt.engines.dask import DaskEngine

            yield DaskEngine(client), max(1, sum(client.nthreads().values()))
    else:
        with _spark_context(flags.cluster) as context:
            from rosenblatt.engines.spark import SparkEngine

            yield SparkEngine(context), max(1, int(context.defaultParallelism))


@contextlib.contextmanager
def _dask_client(cluster: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one of processes here, which ends with the command."""
    try:
        import distributed
    except ImportError:
        refuse("--engine dask needs Dask: pip install 'rosenblatt[dask]'")
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors come back with their tasks
    if cluster is not None:
        try:
            client = distributed.Client(cluster, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            refuse(f"--cluster {cluster}: no Dask scheduler answers there ({error})")
        with client:
            if not client.nthreads():
                refuse(f"--cluster {cluster}: the scheduler has no workers yet")
            yield client
        return
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=os.cpu_count(), threads_per_worker=1, processes=True) as own,
        distributed.Client(own) as client,
    ):
        if sys.stderr.isatty() and client.dashboard_link:
            note(f"dashboard: {client.dashboard_link}")
        yield client


@contextlib.contextmanager
def _spark_context(cluster: str | None) -> Iterator[Any]:
    """Start Spark here, or with another master, and stop it at the end; an active session is used, and left running."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        refuse("--engine spark needs Spark: pip install 'rosenblatt[spark]', and Java 17 or newer")
    import shutil

    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        refuse("--engine spark needs Java 17 or newer: install it, or set JAVA_HOME")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("rosenblatt fit").config("spark.ui.showConsoleProgress", "false")
    if cluster is not None:
        builder = builder.master(cluster)
    elif "SPARK_REMOTE" not in os.environ and "MASTER" not in os.environ:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = (
            builder.master("local[*]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
        )
    active = SparkSession.getActiveSession()
    session = active or builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session.sparkContext
    finally:
        if active is None:
            session.stop()
