"""The same learners on a real Spark with two executors in processes of their own; one of them is killed."""

import json
import os
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.cli.commands import run_well
from tests.engines.data import deadly_loaders, noisy, same_learner
from tests.patience import SECONDS

from rosenblatt import Attributes, LogisticRegression, NaiveBayes, Perceptron
from rosenblatt.engines import evaluate_spark, fit_local, fit_spark, transform_spark
from rosenblatt.engines.estimators import fit_estimator
from rosenblatt.engines.spark import SparkEngine, _load_frame

if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip("no Java on this machine: Spark needs 17 or newer", allow_module_level=True)
pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rosenblatt[spark]'")

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sf
    from pyspark.sql.types import (
        ArrayType,
        DoubleType,
        IntegerType,
        MapType,
        StringType,
        StructField,
        StructType,
    )


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", category=ResourceWarning
        )  # of the gateway to Java, which pyspark leaves open
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_WORKER_DIR", str(folder / "work"))
        session = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.local.dir", str(folder / "local"))
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.task.maxFailures", "2")  # what is wrong is said at the second time
            .config("spark.network.timeout", f"{SECONDS}s")  # an executor is not lost because it is slow
            .config("spark.python.authenticate.socketTimeout", f"{SECONDS}s")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


NAMES = list("abcde")
SCHEMA = StructType(
    [StructField(name, DoubleType()) for name in NAMES]
    + [
        StructField("label", StringType()),
        StructField("vector", VectorUDT()),
        StructField("numbered", MapType(IntegerType(), DoubleType())),
        StructField("named", MapType(StringType(), DoubleType())),
        StructField("array", ArrayType(DoubleType())),
        StructField("colour", StringType()),
    ]
)


def frame_of(spark, X, y, partitions):
    """Return the same rows in every form, in as many partitions of neighbours."""
    rows = []
    for at, (values, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        sparse = {place: value for place, value in enumerate(values) if value}
        vector = Vectors.dense(values) if at % 2 else Vectors.sparse(5, sparse)
        named = {NAMES[place]: value for place, value in sparse.items()}
        rows.append((*values, label, vector, sparse, named, values, "red" if at % 3 else "green"))
    parts = [[rows[at] for at in part] for part in np.array_split(np.arange(len(rows)), partitions)]
    nested = spark.sparkContext.parallelize(parts, partitions).flatMap(lambda part: part)
    return spark.createDataFrame(nested, SCHEMA)


@pytest.fixture(scope="module")
def frame(spark):
    return frame_of(spark, *noisy(), 4).persist()


def test_every_form_of_features_gives_what_threads_give(frame):
    X, y = noisy()
    there = fit_local(Perceptron(max_iter=1), X, y, shards=4)
    for features in (NAMES, "array", "vector", "numbered", "named"):
        here = fit_spark(Perceptron(max_iter=1), frame, features=features)
        np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-9)
        assert np.array_equal(here.mixing_.mistakes, there.mixing_.mistakes)
        if features in (NAMES, "array"):
            same_learner(here.learner_, there.learner_)
        named = features in (NAMES, "named")
        assert getattr(here, "feature_names_in_", np.array([])).tolist() == (NAMES if named else [])
        if features in (NAMES, "vector"):
            rows = transform_spark(here, frame, features=features).select("prediction").collect()
            assert [row["prediction"] for row in rows] == there.predict(X).tolist()


def test_one_shard_is_the_local_learner(frame):
    X, y = noisy()
    here = fit_spark(Perceptron(max_iter=3), frame, features="array", shards=1)
    there = Perceptron(max_iter=3).fit(X, y)
    same_learner(here.learner_, there.learner_)
    assert (here.margin_, here.mistake_bound_) == (there.margin_, there.mistake_bound_)


@pytest.mark.parametrize(
    "estimator", [NaiveBayes(binarize=0.5), LogisticRegression("online", max_iter=1)], ids=str
)
def test_other_estimators(frame, estimator):
    X, y = noisy()
    here = fit_spark(clone(estimator), frame, features="vector")
    there = fit_local(clone(estimator), X, y, shards=4)
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-9)
    found = evaluate_spark(here, frame, features="vector")
    assert found.accuracy == pytest.approx(there.score(X, y))


def test_a_tree_of_many_shards_has_the_shape_it_has_everywhere(spark):
    X, y = noisy(rows=60)
    loaders = deadly_loaders(X, y, 20, None, "")
    engine = SparkEngine(spark.sparkContext)
    try:
        engine.load(loaders)
        here = fit_estimator(engine, Perceptron(max_iter=2))
    finally:
        engine.release()
    same_learner(here.learner_, fit_local(Perceptron(max_iter=2), X, y, shards=20).learner_)


def test_attributes_are_fitted_on_the_executors(frame):
    X, y = noisy()
    table = pd.DataFrame(X, columns=NAMES).assign(colour=["red" if at % 3 else "green" for at in range(240)])
    columns = [*NAMES, "colour"]
    here = fit_spark(
        make_pipeline(Attributes(scale=True), Perceptron(max_iter=2)), frame.select(*columns, "label")
    )
    there = Attributes(scale=True).fit(table)
    assert here[0].schema_.feature_names == there.schema_.feature_names
    np.testing.assert_allclose(
        here[0].transform(table).toarray(), there.transform(table).toarray(), rtol=1e-9, atol=1e-12
    )
    rows = transform_spark(here, frame).select("prediction").collect()
    assert [row["prediction"] for row in rows] == here.predict(table).tolist()
    assert evaluate_spark(here, frame).accuracy == pytest.approx(here.score(table, y))


def test_the_command_line_learns_on_spark(spark, tmp_path):
    X, y = noisy()
    table = pd.DataFrame(X, columns=NAMES).assign(y=y)
    for at in range(2):
        table.iloc[120 * at : 120 * at + 120].to_parquet(tmp_path / f"{at}.parquet")
    command = f"fit {tmp_path} --target y --no-scale --engine spark --json --passes 2"
    told = json.loads(run_well(command).stdout)
    assert (told["engine"], told["shard_rows"]) == ("spark", [120, 120])
    there = fit_local(Perceptron(max_iter=2), X, y, shards=2)
    assert told["mistakes_by_shard"] == there.mixing_.mistakes.tolist()


@pytest.mark.parametrize("epoch", [0, 1])
def test_an_executor_killed_in_the_middle_of_an_epoch_changes_nothing(spark, tmp_path, epoch):
    X, y = noisy(classes=3)
    marker = tmp_path / "killed"
    engine = SparkEngine(spark.sparkContext)
    try:
        engine.load(deadly_loaders(X, y, 4, epoch, str(marker), "executor"))
        here = fit_estimator(engine, Perceptron(max_iter=2))
    finally:
        engine.release()
    assert marker.exists()
    there = fit_local(Perceptron(max_iter=2), X, y, shards=4)
    same_learner(here.learner_, there.learner_)
    assert np.array_equal(here.mixing_.mistakes, there.mixing_.mistakes)


def test_empty_partitions_and_partitions_of_one_class_are_no_trouble(spark):
    X, y = noisy(rows=60)
    order = np.argsort(y, kind="stable")
    frame = frame_of(spark, X[order], y[order], 3).filter((sf.col("label") == "a") | (sf.col("a") < 10))
    empty = frame.filter("label = 'c'").union(frame)
    here = fit_spark(Perceptron(max_iter=2), empty, features="array")
    assert here.mixing_.shard_rows == (0, 0, 0, 20, 20, 20)
    parts = np.array_split(np.arange(60), 3)
    there = fit_local(Perceptron(max_iter=2), X[order], y[order], shards=parts)
    same_learner(here.learner_, there.learner_)


def test_what_is_wrong_is_said(spark, frame):
    for wrong in ({"features": "vectors"}, {"label": "class"}, {"weight": "heavy"}):
        with pytest.raises(
            ValueError, match=rf"no column is called '{next(iter(wrong.values()))}'; there are a, b"
        ):
            fit_spark(Perceptron(), frame, **wrong)
    with pytest.raises(ValueError, match="column 'colour' holds string, not numbers"):
        fit_spark(Perceptron(), frame, features=["a", "colour"])
    holes = frame.withColumn("a", sf.when(sf.col("b") <= 0, sf.col("a")))
    with pytest.raises(ValueError, match=r"partition \d: column 'a' has no value in row \d+"):
        fit_spark(Perceptron(), holes, features=["a", "b"])
    with pytest.raises(ValueError, match=r"partition \d: .*the value inf"):
        fit_spark(Perceptron(), frame.withColumn("a", sf.lit(float("inf"))), features=["a", "b"])
    with pytest.raises(ValueError, match="only one class, 'a'"):
        fit_spark(Perceptron(), frame.filter("label = 'a'"), features="vector")
    assert (
        len(spark.sparkContext._jsc.getPersistentRDDs()) == 1
    )  # the frame of the tests, and nothing of ours


# Shards in files beside the executors


def files_of(spark):
    """Return what runs of ours have beside the executors.

    A job that fails may leave a shard there, of a task that was still writing when the others were told to stop; it
    goes with its executor. So a test looks at what was not there before.
    """
    return set(Path(spark.conf.get("spark.local.dir")).rglob("rosenblatt-*/*"))


def test_shards_that_vanish_are_made_again(spark, frame):
    X, y = noisy()
    before = files_of(spark)
    seen = []

    def remove_some(epoch):
        found = sorted(files_of(spark) - before)
        seen.append(len(found))
        if epoch.number == 1:
            shutil.rmtree(found[0])

    here = fit_spark(Perceptron(max_iter=3), frame, features="array", on_epoch=remove_some)
    assert seen[0] == 4
    same_learner(here.learner_, fit_local(Perceptron(max_iter=3), X, y, shards=4).learner_)
    assert files_of(spark) <= before


class Counting(SparkEngine):
    """Counts the jobs that ask the shards."""

    jobs = 0

    def gather(self, request):
        self.jobs += 1
        return super().gather(request)


@pytest.mark.parametrize(
    ("estimator", "shards", "jobs"),
    [
        (Perceptron(max_iter=1), None, 2),  # a pass, and the margins
        (Perceptron(max_iter=3), None, 4),
        (Perceptron(max_iter=1), 1, 3),  # and the evaluations of a single shard
        (LogisticRegression("online", max_iter=1), None, 1),
    ],
    ids=str,
)
def test_shards_of_a_frame_bring_their_summaries(spark, frame, estimator, shards, jobs):
    X, y = noisy()
    engine = Counting(spark.sparkContext)
    try:
        _load_frame(engine, frame, "array", "label", None, shards, None)
        summaries = engine.summaries()
        here = fit_estimator(engine, clone(estimator))
    finally:
        engine.release()
    assert engine.jobs == jobs
    assert sum(summary.rows for summary in summaries) == len(y)
    there = fit_local(clone(estimator), X, y, shards=shards or 4)
    same_learner(here.learner_, there.learner_)
    assert np.array_equal(here.mixing_.mistakes, there.mixing_.mistakes)
    assert all(epoch.seconds > 0.0 for epoch in here.mixing_.epochs)


def test_an_interrupted_run_leaves_nothing_behind(spark, frame):
    def interrupt(epoch):
        raise KeyboardInterrupt

    before = files_of(spark)
    with pytest.raises(KeyboardInterrupt):
        fit_spark(Perceptron(), frame, features="array", on_epoch=interrupt)
    assert files_of(spark) <= before
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == 1


def test_a_run_that_fails_keeps_nothing_in_memory(spark, frame):
    with pytest.raises(ValueError, match="the value nan"):
        fit_spark(
            Perceptron(),
            frame.withColumn("array", sf.expr("array(if(b > 1, double('nan'), a))")),
            features="array",
        )
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == 1


BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


def test_the_settings_of_the_session_are_never_changed(spark, frame, monkeypatch):
    def refuse(*setting):
        raise AssertionError(f"sets {setting}")

    monkeypatch.setattr(type(spark.conf), "set", refuse)
    monkeypatch.setattr(type(spark.conf), "unset", refuse)
    fit_spark(Perceptron(max_iter=1), frame, features="vector")


@pytest.mark.parametrize("rows", ["3", "0"])  # 0: all rows of a partition in one batch
def test_batches_of_any_size_are_the_same_rows(spark, frame, rows):
    X, y = noisy()
    spark.conf.set(BATCH, rows)
    try:
        here = fit_spark(Perceptron(max_iter=1), frame, features="array")
    finally:
        spark.conf.unset(BATCH)
    same_learner(here.learner_, fit_local(Perceptron(max_iter=1), X, y, shards=4).learner_)


# Columns of every type


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ("label = 'a'", [False, True]),
        ("cast(if(label = 'a', 1, 2) as decimal(5, 0))", [1, 2]),
        ("cast(if(label = 'a', 0.5, 2) as decimal(5, 1))", [0.5, 2.0]),
        ("cast(if(label = 'a', 1, 2) as tinyint)", [1, 2]),
    ],
)
def test_labels_are_what_they_are(frame, label, classes):
    told = frame.withColumn("label", sf.expr(label))
    here = fit_spark(Perceptron(max_iter=1), told, features="array")
    assert here.classes_.tolist() == classes
    assert {row["prediction"] for row in transform_spark(here, told, features="array").collect()} <= set(
        classes
    )


def test_decimals_and_names_with_dots_are_features_too(frame):
    X, y = noisy()
    odd = frame.select(sf.col("a").alias("a.b `c`"), sf.expr("cast(b as decimal(10, 2)) as b"), "label")
    here = fit_spark(Perceptron(max_iter=1), odd)
    same_learner(here.learner_, fit_local(Perceptron(max_iter=1), X[:, :2], y, shards=4).learner_)
    assert here.feature_names_in_.tolist() == ["a.b `c`", "b"]
    table = pd.DataFrame(X[:, :2], columns=["a.b `c`", "b"])
    assert evaluate_spark(here, odd.select("label", "b", "`a.b ``c```")).accuracy == here.score(table, y)
    both = fit_spark(make_pipeline(Attributes(), Perceptron(max_iter=1)), odd)
    assert both[0].schema_.feature_names == ["a.b `c`", "b"]


def test_a_map_is_read_by_the_names_that_the_model_knows(frame):
    X, y = noisy()
    here = fit_spark(Perceptron(max_iter=1), frame, features="named")
    fewer = frame.withColumn("named", sf.expr("map('zebra', 7D, 'e', e, 'aardvark', 1D, 'b', b)"))
    only = pd.DataFrame(np.where(np.isin(NAMES, ["b", "e"]), X, 0.0), columns=NAMES)
    assert evaluate_spark(here, fewer, features="named").accuracy == here.score(only, y)
    rows = transform_spark(here, fewer, features="named").select("prediction").collect()
    assert [row["prediction"] for row in rows] == here.predict(only).tolist()


def test_weights_count_and_nothing_may_weigh_in_a_partition(frame):
    X, y = noisy()
    numbered = frame.withColumn(
        "weight", sf.expr("cast(if(spark_partition_id() = 0, 0, if(colour = 'red', 2, 1)) as decimal(3, 0))")
    )
    here = fit_spark(Perceptron(max_iter=1), numbered, features="array", weight="weight")
    weight = np.where(np.arange(240) < 60, 0, np.where(np.arange(240) % 3, 2, 1))
    there = fit_local(Perceptron(max_iter=1), X, y, shards=4, sample_weight=weight)
    same_learner(here.learner_, there.learner_)
    assert here.mixing_.shard_rows == (0, 60, 60, 60)


@pytest.mark.parametrize(
    ("changed", "options", "why"),
    [
        ({"label": "current_date()"}, {}, r"the label 'label' holds date"),
        ({"label": "if(a > 0, label, null)"}, {}, r"partition \d: the label has no value in row \d+"),
        (
            {"label": "if(a > 0, 1D, double('nan'))"},
            {},
            r"partition \d: y has the label nan, which is not finite",
        ),
        ({"w": "'x'"}, {"weight": "w"}, "the weight 'w' holds string"),
        ({"w": "if(a > 0, 1D, null)"}, {"weight": "w"}, "column 'weight' has no value in row"),
        ({"array": "array('x')"}, {}, r"column 'array' holds array<string>, not numbers"),
        ({"array": "if(a > 0, array, null)"}, {}, r"partition \d: column 'array' has no value in row \d+"),
        ({"array": "array(a, if(b > 0, b, null))"}, {}, r"column 'array' has a missing value in row \d+"),
        (
            {"array": "if(a > 0, array(a), array(a, b))"},
            {},
            r"column 'array': row \d+ has \d values, the first",
        ),
        ({"numbered": "map(-1, 1D)"}, {"features": "numbered"}, "a map has the key -1"),
        (
            {"numbered": "map(1.5D, 1D)"},
            {"features": "numbered"},
            "the keys of a map are names or whole numbers",
        ),
    ],
)
def test_columns_that_cannot_be_are_refused(frame, changed, options, why):
    wrong = frame.withColumns({name: sf.expr(told) for name, told in changed.items()})
    with pytest.raises(ValueError, match=why):
        fit_spark(Perceptron(), wrong, **{"features": "array", **options})


def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(TypeError, match="must be a Spark DataFrame, got DataFrame"):
        fit_spark(Perceptron(), pd.DataFrame({"a": [1.0]}))
    with pytest.raises(ValueError, match="several columns are called 'a'"):
        fit_spark(Perceptron(), frame.select("a", "a", "label"))
