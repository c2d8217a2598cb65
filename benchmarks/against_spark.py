"""Spark's LogisticRegression against ours on Spark; part of ``python -m benchmarks engines``."""

import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Ratios, data_folder, mnist
from rosenblatt import LogisticRegression, Perceptron
from rosenblatt.data import read_all

ROUNDS = 10  # Java compiles what plans a query only when it has run some ten times
FEW_ROUNDS = (
    5  # of MNIST, where theirs takes six seconds stopped early, and half a minute to its end: that once
)
MOST = 100  # iterations of theirs, its default
AS_GOOD = 5e-4  # of accuracy that counts as none


class Contest(NamedTuple):
    """Rows to learn from, and rows to be judged by."""

    name: str
    frame: Any
    X: Any
    y: Any
    ours: Any = partial(LogisticRegression, "online")
    rounds: int = ROUNDS
    to_the_end: int = ROUNDS  # rounds in which theirs goes on to its end


@contextmanager
def spark_session() -> Iterator[Any]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "4g")
            .config("spark.driver.maxResultSize", "2g")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()


def against_spark() -> None:
    """Spark's LogisticRegression against ours on Spark: the same cached DataFrame, to the same accuracy on other rows.

    Theirs runs with its own settings until it says it has converged (or 100 times), ours as many passes as it takes to
    be as good on rows that neither has seen, to 0.05 points. A second line reads "to the same accuracy" against us:
    theirs told beforehand to stop at the first iteration that is as good, to the same 0.05 points, which nobody knows
    beforehand. All times are of everything from the DataFrame to the model. They take turns; the best of each counts.
    Beside them: one job that hands the rows to Python through Arrow and does nothing with them, which no fit here can
    undercut.
    """
    table = Ratios(
        f"LogisticRegression on Spark, two cores, to the same accuracy (best of {ROUNDS} in turns; "
        f"MNIST: of {FEW_ROUNDS}, theirs to its end once)"
    )
    with spark_session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for maker in (made, census, digits):
            for contest in maker(session):
                contest.frame.persist()
                compare(table, contest)
                contest.frame.unpersist()
    table.show()


def made(session: Any) -> Iterator[Contest]:
    """Round clouds, the best case of a quasi-Newton method: it needs some fifteen iterations."""
    rows, width = 200_000, 100
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows + 50_000, width))
    y = (X @ rng.standard_normal(width) + 3.0 * rng.standard_normal(len(X)) > 0).astype(np.float64)
    X, X_test, y, y_test = X[:rows], X[rows:], y[:rows], y[rows:]
    yield Contest("made, 200,000 × 100", _vectors(session, X, y), X_test, y_test)


def census(session: Any) -> Iterator[Contest]:
    folder = data_folder()
    if folder is None:
        return
    path = folder / "libsvm" / "a9a.gz"
    train = read_all(path)
    test = read_all(folder / "libsvm" / "a9a.t.gz", schema=train.schema)
    frame = session.read.format("libsvm").option("numFeatures", train.X.shape[1]).load(str(path))
    frame = frame.repartition(2).selectExpr("double(label > 0) as label", "features")
    yield Contest("a9a, 32,561 × 123, sparse", frame, test.X, (test.y > 0).astype(np.float64))


def digits(session: Any) -> Iterator[Contest]:
    """Ten classes, by our perceptron: one fit of theirs to its end takes half a minute, so there is one of these."""
    folder = data_folder()
    if folder is None:
        return
    X, y = mnist(folder, "train")
    frame = _vectors(session, X.astype(np.float64), y.astype(np.float64))
    yield Contest(
        "MNIST, 60,000 × 784, ten classes, our perceptron",
        frame,
        *mnist(folder, "t10k"),
        Perceptron,
        rounds=FEW_ROUNDS,
        to_the_end=1,
    )


def _vectors(session: Any, X: NDArray[np.float64], y: NDArray[np.float64]) -> Any:
    import pyarrow as pa
    from pyspark.ml.functions import array_to_vector

    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1]).cast(pa.list_(pa.float64()))
    frame = session.createDataFrame(pa.table({"values": lists, "label": pa.array(y)})).repartition(2)
    return frame.select(array_to_vector("values").alias("features"), "label")


def compare(table: Ratios, contest: Contest) -> None:
    """Time both on a cached frame, to the same accuracy on rows that neither has seen."""
    from pyspark.ml.classification import LogisticRegression as Theirs

    from rosenblatt.engines import fit_spark

    def spark(iterations: int) -> Any:
        return Theirs(maxIter=iterations, regParam=0.0).fit(contest.frame)

    def ours(passes: int) -> Any:
        return fit_spark(contest.ours(max_iter=passes), contest.frame, features="features")

    contest.frame.count()  # cached, all find it there
    theirs = spark(MOST)
    aim = their_accuracy(theirs, contest)
    enough = least(lambda iterations: their_accuracy(spark(iterations), contest) >= aim - AS_GOOD, MOST)
    passes, reached = 0, 0.0
    while reached < aim - AS_GOOD and passes < 10:  # all have run by then: Java and numba have compiled
        passes += 1
        reached = ours(passes).score(contest.X, contest.y)
    handed_over = hand_over(contest.frame)
    spent = []
    for round_ in range(contest.rounds):
        whole = timed(spark, MOST)[0] if round_ < contest.to_the_end else math.inf
        stopped, early = timed(spark, enough)
        ours_took, model = timed(ours, passes)
        floor, _ = timed(handed_over)
        learning = sum(epoch.seconds for epoch in model.mixing_.epochs)
        spent.append((whole, stopped, ours_took, floor, learning))
    whole, stopped, our_time, floor, learning = map(min, zip(*spent, strict=True))
    us, them = f"{our_time:.2f} s, {100 * reached:.2f}%", f"{whole:.2f} s, {100 * aim:.2f}%"
    table.add(
        f"{contest.name}: our whole fit, {passes} passes / theirs by its defaults to its end",
        us,
        f"{them}, {theirs.summary.totalIterations} iterations",
        whole / our_time,
        5.0,
    )
    table.add(
        f"  the same / theirs stopped at the first iteration that is as good, maxIter={enough}",
        us,
        f"{stopped:.2f} s, {100 * their_accuracy(early, contest):.2f}%",
        stopped / our_time,
        5.0,
    )
    table.add("  our passes alone / their whole fit", f"{learning:.3f} s", them, whole / learning, 0.0)
    table.add(
        "  the rows to Python, nothing else / their whole fit", f"{floor:.2f} s", them, whole / floor, 0.0
    )


def timed(contestant: Any, *given: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    made = contestant(*given)
    return time.perf_counter() - began, made


def their_accuracy(model: Any, contest: Contest) -> float:
    scores = contest.X @ model.coefficientMatrix.toArray().T + model.interceptVector.toArray()
    told = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return float((told == contest.y).mean())


def least(is_enough: Callable[[int], bool], most: int) -> int:
    """Return the least number that is enough, by doubling and then halving: as if more were never worse."""
    below, above = 0, 1
    while above < most and not is_enough(above):
        below, above = above, min(2 * above, most)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if is_enough(middle) else (middle, above)
    return above


def hand_over(frame: Any) -> Callable[[], None]:
    """Return a job that sends the rows to Python as a fit does, and does nothing with them."""
    import pyarrow as pa
    from pyspark.sql import functions as sf

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})

    def run() -> None:
        values = sf.unwrap_udt("features").getField("values").alias("values")
        frame.select(values, "label").mapInArrow(count, "rows long").collect()

    return run
