"""The same learners on a real Spark with two executors in processes of their own; one of them is killed."""

import json
import os
import shutil
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.cli.commands import run_well
from tests.engines.data import deadly_makers, noisy, same_learner

from rosenblatt import Attributes, LogisticRegression, NaiveBayes, Perceptron
from rosenblatt.engines import evaluate_spark, fit_local, fit_spark, transform_spark
from rosenblatt.engines.recipes import fit_on
from rosenblatt.engines.spark_engine import SparkEngine

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


@pytest.mark.parametrize("estimator", [NaiveBayes(binarize=0.5), LogisticRegression(max_iter=1)], ids=str)
def test_other_estimators(frame, estimator):
    X, y = noisy()
    here = fit_spark(clone(estimator), frame, features="vector")
    there = fit_local(clone(estimator), X, y, shards=4)
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-9)
    found = evaluate_spark(here, frame, features="vector")
    assert found.accuracy == pytest.approx(there.score(X, y))


def test_a_tree_of_many_shards_has_the_shape_it_has_everywhere(spark):
    X, y = noisy(rows=60)
    makers = deadly_makers(X, y, 20, None, "")
    engine = SparkEngine(spark.sparkContext)
    try:
        engine.hold(makers)
        here = fit_on(engine, Perceptron(max_iter=2))
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
    told = json.loads(run_well(f"fit {tmp_path} --target y --engine spark --json --passes 2").stdout)
    assert (told["engine"], told["shard_rows"]) == ("spark", [120, 120])
    there = fit_local(Perceptron(max_iter=2), X, y, shards=2)
    assert told["mistakes_by_shard"] == there.mixing_.mistakes.tolist()


@pytest.mark.parametrize("epoch", [0, 1])
def test_an_executor_killed_in_the_middle_of_an_epoch_changes_nothing(spark, tmp_path, epoch):
    X, y = noisy(classes=3)
    marker = tmp_path / "killed"
    engine = SparkEngine(spark.sparkContext)
    try:
        engine.hold(deadly_makers(X, y, 4, epoch, str(marker), "executor"))
        here = fit_on(engine, Perceptron(max_iter=2))
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
