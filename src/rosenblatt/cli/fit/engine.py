"""``fit --engine``: shards of the source where an engine keeps them, passes side by side, one model."""

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import note
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import read
from rosenblatt.learner.models import Options

if TYPE_CHECKING:
    from rosenblatt.data import ReadOptions
    from rosenblatt.engines.protocol import Engine
    from rosenblatt.engines.record import MixedEpoch

CONNECT_SECONDS = 10


class OnEngine(NamedTuple):
    """What the flags say about the engine."""

    engine: str
    cluster: str | None = None
    checkpoint: str | None = None


def fit_on_engine(
    source: str, reading: "ReadOptions", asked: Options, on: OnEngine, test: str | None, model: str | None
) -> dict[str, Any]:
    """Train on an engine, write the model, and return what is to be printed."""
    _refuse_what_it_cannot(source, reading, asked, on)
    started = time.perf_counter()
    with Progress() as progress:
        progress.tell(f"starting {on.engine}")
        with _opened(on) as (new_engine, width):
            progress.tell(f"reading {source}")
            held, schema, fitted, report = _train(source, reading, asked, on, new_engine, width, progress)
    report = {"source": source, **report}
    if getattr(schema, "n_features", 0) != fitted.n_features:
        from rosenblatt.data.schema import LibsvmSchema

        schema = LibsvmSchema(fitted.n_features, bool(getattr(schema, "zero_based", False)))
    if test is not None:
        _score(test, reading, schema, fitted, report)
    report["seconds"] = {"read": held - started, "learn": report.pop("learned") - held}
    if model is not None:
        about = {"learner": fitted.name, "schema": schema.to_dict(), "feature_names": schema.feature_names}
        fitted.save(model, about, False)
        report["model"] = model
    return report


def _train(
    source: str,
    reading: "ReadOptions",
    asked: Options,
    on: OnEngine,
    new_engine: "Callable[[], Engine]",
    width: int,
    progress: Progress,
) -> tuple[float, Any, Any, dict[str, Any]]:
    from rosenblatt.engines.files import split, with_schema
    from rosenblatt.engines.training import look_over

    files, schema = with_schema(split(source, width, reading), new_engine)
    engine = new_engine()
    try:
        engine.hold(files)
        facts, shard_rows = look_over(engine)
        held = time.perf_counter()

        def tell(epoch: "MixedEpoch") -> None:
            progress.tell(f"pass {epoch.number}: {epoch.mistakes:,} mistakes", epoch.number, asked.passes)

        progress.tell("learning", 0, asked.passes)
        fitted, told = _learned(engine, asked, facts, shard_rows, on, tell)
        learned = time.perf_counter()
    except KeyboardInterrupt:
        if on.checkpoint is not None and Path(on.checkpoint).exists():
            note(f"{on.checkpoint} holds the last whole pass: the same command goes on from it")
        raise
    finally:
        engine.release()
    counts = dict(zip(map(str, facts.classes.tolist()), facts.counts.tolist(), strict=True))
    report = {
        "rows": facts.rows,
        "features": fitted.n_features,
        "classes": counts,
        "learner": fitted.name,
        "hypothesis": fitted.hypothesis,
        **fitted.facts(),
        **told,
        "interrupted": False,
        "learned": learned,
    }
    return held, schema, fitted, report


def _learned(
    engine: "Engine",
    asked: Options,
    facts: Any,
    shard_rows: Any,
    on: OnEngine,
    tell: "Callable[[MixedEpoch], None]",
) -> tuple[Any, dict[str, Any]]:
    """Train what was asked for; return the model, and what the engine tells of it."""
    from rosenblatt.engines.training import Plan, add_up, train_by_mixing

    if asked.learner in ("centroid", "naive-bayes", "multinomial-bayes"):
        from rosenblatt.engines.scoring import evaluate_on
        from rosenblatt.learner.models.sums import SummedModel, new_sums

        sums, about = new_sums(asked)
        add_up(engine, sums)
        summed = SummedModel(sums, about)
        found = evaluate_on(engine, SimpleNamespace(learner_=sums, classes_=sums.classes))
        scored = {summed.hypothesis: {"accuracy": found.accuracy, "rows": found.rows}}
        return summed, {"accuracy": {"train": scored}, "engine": engine.name, "shards": len(shard_rows)}
    learner, wrap = _mixed_learner(asked, facts)
    plan = Plan(
        asked.passes,
        asked.shuffle,
        hypothesis=asked.hypothesis or "averaged",
        checkpoint=on.checkpoint,
        tell=tell,
    )
    learner, record = train_by_mixing(engine, learner, facts, shard_rows, plan)
    scored = {
        name: {"accuracy": evaluation.accuracy, "rows": facts.rows}
        for name, evaluation in learner.evaluations.items()
    }
    return wrap(learner), {"accuracy": {"train": scored}, **record.as_json()}


def _mixed_learner(asked: Options, facts: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a learner that has seen nothing, and what makes a model of it when it has."""
    from rosenblatt.learner.models import logistic, perceptron

    plain = asked._replace(keep_ledger=False)
    about: dict[str, Any] = {
        "estimator": "Perceptron",
        "hypothesis": asked.hypothesis or "averaged",
        "parameters": {
            "max_iter": asked.passes,
            "shuffle": asked.shuffle,
            "warm_start": False,
            "keep_ledger": False,
        },
    }
    cls: Any = perceptron.PerceptronModel
    if asked.learner == "logistic":
        parameters = dict(asked.parameters)
        if "eta" not in parameters:
            parameters["eta"] = logistic.SAFE_PART / (facts.max_sqnorm + asked.fit_intercept or 1.0)
        plain = plain._replace(rule="logistic", parameters=parameters, multi_class="ovr")
        told = {"solver": "online", "eta": parameters["eta"], "lam": parameters.get("lam", 0.0)}
        told |= {"max_iter": asked.passes, "fit_intercept": asked.fit_intercept, "shuffle": asked.shuffle}
        about |= {"estimator": "LogisticRegression", "parameters": told}
        cls = logistic.LogisticModel

    def wrap(learner: Any) -> Any:
        return cls(learner, asked.hypothesis or "averaged", {**about, "n_iter": len(learner.epochs)})

    return perceptron.new_learner(plain), wrap


def _score(test: str, reading: "ReadOptions", schema: Any, fitted: Any, report: dict[str, Any]) -> None:
    from rosenblatt.cli.reading import note_unseen_labels
    from rosenblatt.cli.scoring import accuracy_of, codes_of, unseen_labels

    rows = read(test, reading, schema)
    if rows.y is None:
        refuse(f"{test}: has no target column to score against")
    codes = codes_of(rows.y, fitted.classes)
    note_unseen_labels(test, unseen_labels(rows.y, codes), fitted.classes)
    report["test"] = rows.about()
    found = {name: accuracy_of(fitted, name, rows.X, codes, asked=True) for name in fitted.hypotheses()}
    report["accuracy"]["test"] = {name: each._asdict() for name, each in found.items()}


def _refuse_what_it_cannot(source: str, reading: "ReadOptions", asked: Options, on: OnEngine) -> None:
    if asked.learner == "kernel":
        refuse("--engine: the kernel perceptron remembers rows, and runs in one process")
    if source == STANDARD_INPUT:
        refuse("--engine: standard input can be read by one process only: write it to a file")
    if source.startswith("sample:"):
        refuse("--engine: the samples are small, and built in: name a file, a pattern or a folder")
    if reading.skip_bad:
        refuse("--skip-bad: an engine stops at a bad line; correct it, or fit without --engine")
    if on.cluster is not None and on.engine == "local":
        refuse("--cluster belongs to --engine dask or spark")
    if on.checkpoint is not None and asked.learner in ("centroid", "naive-bayes", "multinomial-bayes"):
        refuse(f"--checkpoint: {asked.learner} reads the data once; there is nothing to go on from")


@contextlib.contextmanager
def _opened(on: OnEngine) -> "Iterator[tuple[Callable[[], Engine], int]]":
    """Open an engine; give a way to make one, and how many shards it runs side by side."""
    if on.engine == "local":
        from rosenblatt.engines.local_engine import LocalEngine

        threads = os.cpu_count() or 1
        yield lambda: LocalEngine(threads), threads
    elif on.engine == "dask":
        with _dask_client(on.cluster) as client:
            from rosenblatt.engines.dask_engine import DaskEngine

            yield lambda: DaskEngine(client), max(1, sum(client.nthreads().values()))
    else:
        with _spark_context(on.cluster) as context:
            from rosenblatt.engines.spark_engine import SparkEngine

            yield lambda: SparkEngine(context), max(1, int(context.defaultParallelism))


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
    """Start Spark here, or with another master, and stop it at the end; a session that is there is used, and stays."""
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
    there = SparkSession.getActiveSession()
    session = there or builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session.sparkContext
    finally:
        if there is None:
            session.stop()
