"""Engines: accuracy of mixing, Dask against one process, the overhead of an epoch, and Spark's own learner.

``python -m benchmarks engines`` runs what is installed; ``ROSENBLATT_GIGABYTES`` sets the size of the shards (1; 4 was
asked for).
"""

import copy
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import large_pages
from benchmarks.against_spark import against_spark, spark_session
from benchmarks.measure import Ratios, best_of, data_folder, mnist
from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.engines import fit_local
from rosenblatt.engines.dask import DaskEngine
from rosenblatt.engines.mixing import mix, pass_request, resize_for
from rosenblatt.engines.shards import Shard, TrainingSetup
from rosenblatt.learner import Learner
from rosenblatt.learner.training import run_epochs
from rosenblatt.rules import Rosenblatt

FEATURES, EPOCHS = 200, 5
SEEDS = range(4)
WIDE = 1_000_000


def main() -> None:
    accuracy()
    if find_spec("distributed"):
        dask_against_one_process(float(os.environ.get("ROSENBLATT_GIGABYTES", "1")))
        overhead("Dask", dask_engines, 0.3)
    else:
        not_here("Dask", "distributed is not installed: pip install 'rosenblatt[dask]'")
    if find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME")):
        overhead("Spark", spark_engines, 1.5)
        against_spark()
    else:
        not_here("Spark", "needs pyspark and Java: pip install 'rosenblatt[spark]'")


def not_here(engine: str, why: str) -> None:
    table = Ratios(engine)
    table.left_out("every question of it", why)
    table.show()


def accuracy() -> None:
    """Mixing eight shards against one process, after ten epochs."""
    folder = data_folder()
    if folder is None:
        not_here("Accuracy of mixing", "needs libsvm/a9a.gz and mnist in ROSENBLATT_DATA")
        return
    table = Ratios("Accuracy on the test set after 10 epochs: 8 shards against one process (mean of 4 seeds)")
    train = read_all(folder / "libsvm" / "a9a.gz")
    test = read_all(folder / "libsvm" / "a9a.t.gz", schema=train.schema)
    sets = {
        "a9a": (train.X, train.y, test.X, test.y),
        "MNIST": (*mnist(folder, "train"), *mnist(folder, "t10k")),
    }
    for name, (X, y, X_test, y_test) in sets.items():
        alone = np.mean(
            [Perceptron(random_state=k, keep_ledger=False).fit(X, y).score(X_test, y_test) for k in SEEDS]
        )
        for mixing in ("uniform", "mistakes"):
            mixed = np.mean(
                [
                    fit_local(Perceptron(random_state=k), X, y, shards=8, mixing=mixing).score(X_test, y_test)
                    for k in SEEDS
                ]
            )
            lost = 100 * (alone - mixed)
            table.add(
                f"{name}, {mixing}",
                f"{100 * mixed:.2f}%",
                f"{100 * alone:.2f}%",
                -round(lost, 9),
                -0.5,
                " points",
            )
    table.show()


def made_shard(index: int, rows: int, seed: int = 0) -> Shard:
    """Rows on two sides of a hyperplane, some on the wrong one; made where they stay."""
    rng = np.random.default_rng([seed, index])
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    y = (X[:, :20].sum(axis=1) + 0.5 * rng.standard_normal(rows) > 0).astype(np.int64)
    return Shard(X, y, None, index)


def learner_and_setup(width: int, dtype: str) -> tuple[Learner, TrainingSetup]:
    setup = TrainingSetup(Rosenblatt(), "joint", True, 0, True, np.array([0, 1]), width, dtype, None)
    learner = Learner(keep_ledger=False)
    resize_for(learner, setup)
    return learner, setup


def dask_against_one_process(gigabytes: float) -> None:
    """Time of an epoch over the same rows: two Dask workers with half each, and one process with all of them.

    They take turns, with all rows in memory all the time (twice the gigabytes). Then, instead of Dask, two plain
    processes that share nothing but the machine: the most that two workers can reach on it. Rows lie in large pages
    everywhere before anything is timed: in small ones a pass takes 1.4 times as long, and who comes last gets those.
    """
    rows = int(gigabytes * 2**30 / 4 / FEATURES / 2)
    whole = both_shards(rows)
    alone, setup = learner_and_setup(FEATURES, "float32")
    pages = {"one process": in_large_pages(whole)}
    table = Ratios(
        f"An epoch over {gigabytes:g} GB of dense float32 rows, two processes on two cores (best of {EPOCHS})"
    )

    def here() -> None:
        request = pass_request(alone, setup, "uniform", single_shard=True)
        run_epochs(alone, lambda number: mix(alone, request.answer(whole)), 1)

    with dask_engines() as engine:
        engine.load([lambda index: made_shard(index, rows)] * 2)
        pages["Dask"] = min(engine.gather(LargePages()))
        learner, _ = learner_and_setup(FEATURES, "float32")
        outcomes = []

        def on_dask() -> None:
            outcomes.append(engine.reduce(pass_request(learner, setup, "uniform", single_shard=False)))
            run_epochs(learner, lambda number: mix(learner, outcomes[-1]), 1)

        ours, theirs = best_of(EPOCHS, on_dask, here)
        engine.release()
    longest = min(max(each.seconds for each in outcome.passes) for outcome in outcomes[1:])
    table.add(f"2 × {rows:,} × {FEATURES}", f"{ours:.2f} s", f"{theirs:.2f} s", theirs / ours, 1.6)
    table.add(
        "  the longer of the two passes alone", f"{longest:.2f} s", f"{theirs:.2f} s", theirs / longest, 0.0
    )
    with plain_processes(rows, pages) as plain:
        most, theirs = best_of(EPOCHS, plain, here)
    table.add("  two processes without Dask", f"{most:.2f} s", f"{theirs:.2f} s", theirs / most, 0.0)
    shares = ", ".join(f"{name} {100 * share:.0f}%" for name, share in pages.items())
    table.note(f"Rows in large pages: {shares}.")
    table.show()


def in_large_pages(shard: Shard) -> float:
    return large_pages.lay(shard.X)


class LargePages:
    """A request to put a shard in large pages; the answer is the share that is."""

    def answer(self, shard: Shard) -> float:
        """Return the share of the rows in large pages."""
        return in_large_pages(shard)


def both_shards(rows: int) -> Shard:
    """Return the rows of both shards as one, made in place."""
    X, y = np.empty((2 * rows, FEATURES), np.float32), np.empty(2 * rows, np.int64)
    for index in range(2):
        half = made_shard(index, rows)
        X[index * rows : (index + 1) * rows], y[index * rows : (index + 1) * rows] = half.X, half.y
    return Shard(X, y)


@contextmanager
def plain_processes(rows: int, pages: dict[str, float]) -> Iterator[Any]:
    """Give a function that lets two processes run a pass each, at the same time."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    every = [context.Process(target=passes_on_demand, args=(at, rows, pipes[at][1])) for at in range(2)]
    for process in every:
        process.start()

    def both() -> None:
        for own, _ in pipes:
            own.send(True)
        for own, _ in pipes:
            own.recv()

    try:
        pages["two processes"] = min(own.recv() for own, _ in pipes)
        yield both
    finally:
        for own, _ in pipes:
            own.send(False)
        for process in every:
            process.join()


def passes_on_demand(index: int, rows: int, pipe: Any) -> None:
    shard = made_shard(index, rows)
    pipe.send(in_large_pages(shard))
    learner, setup = learner_and_setup(FEATURES, "float32")
    while pipe.recv():
        pass_request(learner, setup, "uniform", single_shard=False).answer(shard)
        pipe.send(True)


@contextmanager
def dask_engines() -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield DaskEngine(client)


@contextmanager
def spark_engines() -> Iterator[Any]:
    from rosenblatt.engines.spark import SparkEngine

    with spark_session() as session:
        yield SparkEngine(session.sparkContext)


def wide_shard(index: int, nonzeros: int) -> Shard:
    """A few sparse rows over a million features; with many of them, all weights move and dense vectors travel."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(index)
    rows = 200
    places = np.sort(rng.integers(0, WIDE, (rows, nonzeros)), axis=1)
    X = csr_array(
        (rng.standard_normal(places.size), places.ravel(), np.arange(rows + 1) * nonzeros), shape=(rows, WIDE)
    )
    return Shard(X, rng.integers(0, 2, rows), None, index)


def overhead(name: str, engines: Any, asked: float) -> None:
    """What an epoch takes beside its passes at a million weights: the two shards' passes take milliseconds."""
    table = Ratios(f"{name}: an epoch less its longest pass, 2 shards, 10⁶ weights (seconds; best of 8)")
    with engines() as engine:
        for what, nonzeros in (("every weight moves", 20_000), ("few weights move", 50)):
            engine.load([lambda index, nonzeros=nonzeros: wide_shard(index, nonzeros)] * 2)
            learner, setup = learner_and_setup(WIDE, "float64")
            if nonzeros > 1000:
                learner.W = 1e-3 * np.random.default_rng(0).standard_normal(learner.W.shape)
            beside, travelled = [], 0
            for _ in range(9):  # every epoch from the same weights, so that every one moves as many
                began = time.perf_counter()
                request = pass_request(learner, setup, "uniform", single_shard=False)
                outcome = engine.reduce(request)
                mix(copy.deepcopy(learner), outcome)
                spent = time.perf_counter() - began
                beside.append(spent - max(each.seconds for each in outcome.passes))
                travelled = 2 * request.nbytes + sum(each.nbytes for each in outcome.passes)
            best = min(beside[1:])
            table.add(f"{what}, {travelled / 1e6:.1f} MB", f"{best:.3f} s", f"{asked:g} s", asked / best, 1.0)
        engine.release()
    table.show()


if __name__ == "__main__":
    main()
