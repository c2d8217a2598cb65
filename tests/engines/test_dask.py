"""The same learners on a real Dask cluster: two processes, workers that die, and every way that data come."""

import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.cli.commands import run, run_well
from tests.engines.data import deadly_loaders, noisy, same_learner
from tests.patience import SECONDS as PATIENCE

from rosenblatt import (
    Attributes,
    ClosestCentroid,
    KernelPerceptron,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
)
from rosenblatt.engines import evaluate_dask, fit_dask, fit_local, predict_dask
from rosenblatt.engines.dask import INLINE_BYTES, DaskEngine, NoWorkers
from rosenblatt.engines.estimators import fit_estimator
from rosenblatt.learner.files import load_learner

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'rosenblatt[dask]'")
distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'rosenblatt[dask]'"
)
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
db = pytest.importorskip("dask.bag")


SECONDS = 180  # that anything may take to start, on a machine with much else to do


class Clusters:
    """Two processes; others where a worker that was killed does not come back, as happens on a loaded machine."""

    def __init__(self):
        self.client = None

    def two_workers(self):
        for _ in range(3):
            if self.client is None:
                cluster = distributed.LocalCluster(
                    n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
                )
                self.client = distributed.Client(cluster, timeout=SECONDS)
            try:
                self.client.wait_for_workers(2, timeout=SECONDS)
            except TimeoutError:
                self.close()
            else:
                return self.client
        pytest.fail(f"no Dask cluster with two workers within three times {SECONDS} s")

    def close(self):
        if self.client is not None:
            cluster = self.client.cluster
            self.client.close(timeout=SECONDS)
            cluster.close(timeout=SECONDS)
            self.client = None


@pytest.fixture(scope="module")
def clusters():
    every = Clusters()
    yield every
    every.close()


@pytest.fixture
def client(clusters):
    return clusters.two_workers()  # the one that died in the test before is back


def arrays(X, y, rows=60):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


@pytest.mark.parametrize(
    "estimator",
    [Perceptron(), Perceptron(multi_class="ovr"), LogisticRegression("online", max_iter=3)],
    ids=str,
)
def test_the_cluster_gives_the_bits_that_threads_give(client, estimator):
    X, y = noisy(classes=3)
    there = fit_local(clone(estimator), X, y, shards=4)
    here = fit_dask(clone(estimator), *arrays(X, y), client=client)
    same_learner(here.learner_, there.learner_)
    assert np.array_equal(here.mixing_.mistakes, there.mixing_.mistakes)
    assert here.mixing_.mistakes.shape == (here.n_iter_, 4)
    assert here.predict(X).tolist() == there.predict(X).tolist()


def test_one_shard_is_the_local_learner(client):
    X, y = noisy()
    here = fit_dask(Perceptron(), *arrays(X, y), client=client, shards=1)
    there = Perceptron().fit(X, y)
    same_learner(here.learner_, there.learner_)
    assert (here.margin_, here.mistake_bound_) == (there.margin_, there.mistake_bound_)


def test_a_tree_of_many_shards_has_the_shape_it_has_everywhere(client):
    X, y = noisy(rows=200)
    here = fit_dask(Perceptron(max_iter=2), *arrays(X, y, rows=10), client=client)
    same_learner(here.learner_, fit_local(Perceptron(max_iter=2), X, y, shards=20).learner_)


def test_large_weights_travel_once_and_are_joined_on_the_workers(client, monkeypatch):
    monkeypatch.setattr("rosenblatt.engines.dask.INLINE_BYTES", 0)
    X, y = noisy(classes=3)
    here = fit_dask(Perceptron(max_iter=3), *arrays(X, y), client=client)
    same_learner(here.learner_, fit_local(Perceptron(max_iter=3), X, y, shards=4).learner_)


def test_every_collection_is_the_same_data(client):
    X, y = noisy()
    there = fit_local(Perceptron(), csr_array(X), y, shards=4)
    cuts = [slice(at, at + 60) for at in range(0, 240, 60)]
    blocks = [dask.delayed(csr_array)(X[cut]) for cut in cuts]
    labels = [dask.delayed(y[cut]) for cut in cuts]
    bag = db.from_sequence([(csr_array(X[cut]), y[cut]) for cut in cuts], npartitions=4)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")).assign(label=y), npartitions=4)
    for here in (
        fit_dask(Perceptron(), blocks, labels, client=client),
        fit_dask(Perceptron(), bag, client=client),
        fit_dask(Perceptron(), frame, "label", client=client),
    ):
        np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-9)
        assert here.mistakes_.tolist() == there.mistakes_.tolist()
    assert here.feature_names_in_.tolist() == list("abcde")
    assert here.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("estimator", [ClosestCentroid(), NaiveBayes(binarize=0.5)], ids=str)
def test_what_only_adds_is_exact(client, estimator):
    X, y = noisy(classes=3)
    X = np.rint(X)
    order = np.argsort(y, kind="stable")  # shards of one class
    here = fit_dask(clone(estimator), *arrays(X[order], y[order]), client=client)
    there = clone(estimator).fit(X, y)
    assert np.array_equal(here.coef_, there.coef_)
    assert np.array_equal(here.intercept_, there.intercept_)


def test_predictions_and_evaluation_run_where_the_blocks_are(client):
    X, y = noisy(classes=3)
    dX, dy = arrays(X, y)
    clf = fit_dask(Perceptron(), dX, dy, client=client)
    guesses = predict_dask(clf, dX)
    assert guesses.chunks == (dX.chunks[0],)
    assert guesses.compute().tolist() == clf.predict(X).tolist()
    frame = pd.DataFrame(X, index=np.arange(7, 247))
    series = predict_dask(clf, dd.from_pandas(frame, npartitions=3)).compute()
    assert series.index.tolist() == frame.index.tolist()
    assert series.tolist() == clf.predict(X).tolist()
    found = evaluate_dask(clf, dX, dy, client=client)
    assert found.rows == 240
    assert found.accuracy == pytest.approx(clf.score(X, y))
    assert found.confusion.sum() == 240


def test_attributes_are_fitted_on_the_cluster(client):
    X, y = noisy()
    rng = np.random.default_rng(5)
    table = pd.DataFrame(X, columns=list("abcde")).assign(
        colour=np.where(
            np.arange(240) < 60, "1", rng.choice(["red", "green", "2"], 240)
        ),  # a block of numbers only
        note=[f"this one is number {at}" for at in range(240)],
    )
    table.loc[3, "b"] = np.nan
    table.loc[100, "colour"] = None
    frame = dd.from_pandas(table.assign(label=y), npartitions=4)
    encoder = Attributes(scale=True, missing="mean")
    here = fit_dask(make_pipeline(clone(encoder), Perceptron()), frame, "label", client=client)
    there = clone(encoder).fit(table)
    assert here[0].schema_.feature_names == there.schema_.feature_names
    for mine, theirs in zip(here[0].schema_.columns, there.schema_.columns, strict=True):
        assert (mine.categories, mine.words) == (theirs.categories, theirs.words)
    mine, theirs = here[0].schema_.preprocessing, there.schema_.preprocessing
    assert mine.centre == pytest.approx(theirs.centre, rel=1e-12)
    assert mine.spread == pytest.approx(theirs.spread, rel=1e-12)
    np.testing.assert_allclose(
        here[0].transform(table).toarray(), there.transform(table).toarray(), rtol=1e-9, atol=1e-12
    )
    found = evaluate_dask(here, frame, "label", client=client)
    assert found.accuracy == pytest.approx(here.score(table, y))


def test_the_command_line_uses_the_cluster_it_is_given(client, tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.cli.fit.engine.CONNECT_SECONDS", PATIENCE)
    X, y = noisy()
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    for at in range(2):
        table.iloc[120 * at : 120 * at + 120].to_csv(tmp_path / f"{at}.csv", index=False)
    command = (
        f"fit '{tmp_path}/*.csv' --target y --no-scale --engine dask --cluster {client.scheduler.address}"
    )
    told = json.loads(run_well(f"{command} --json -m {tmp_path / 'm'}").stdout)
    assert (told["engine"], told["shard_rows"]) == ("dask", [120, 120])
    same_learner(load_learner(tmp_path / "m")[0], fit_local(Perceptron(), X, y, shards=2).learner_)
    (tmp_path / "1.csv").write_text("a,b,c,d,e,y\n1,2,3,4,5,a\n1,2,inf,4,5,b\n")
    answer = run(command)
    assert answer.exit_code == 65
    assert answer.stderr.startswith(f"{tmp_path}/1.csv:3:")
    assert "column 'c' is 'inf', not a finite number" in answer.stderr


# Faults


@pytest.mark.parametrize(
    ("epoch", "small"), [(0, INLINE_BYTES), (1, INLINE_BYTES), (2, INLINE_BYTES), (1, 0)]
)
def test_a_worker_that_dies_in_the_middle_of_an_epoch_changes_nothing(
    client, tmp_path, monkeypatch, epoch, small
):
    monkeypatch.setattr("rosenblatt.engines.dask.INLINE_BYTES", small)
    X, y = noisy(classes=3)
    marker = tmp_path / "killed"
    engine = DaskEngine(client)
    try:
        engine.load(deadly_loaders(X, y, 4, epoch, str(marker)))
        here = fit_estimator(engine, Perceptron(max_iter=3))
    finally:
        engine.release()
    assert marker.exists()
    there = fit_local(Perceptron(max_iter=3), X, y, shards=4)
    same_learner(here.learner_, there.learner_)
    assert np.array_equal(here.mixing_.mistakes, there.mixing_.mistakes)  # redone, and counted once


def test_a_worker_that_dies_between_epochs_changes_nothing(client):
    X, y = noisy()
    killed = []

    def kill(epoch):
        if epoch.number == 1:
            address, pid = next(iter(client.run(os.getpid).items()))
            killed.append(address)
            os.kill(pid, signal.SIGKILL)

    here = fit_dask(Perceptron(max_iter=3), *arrays(X, y), client=client, on_epoch=kill)
    assert killed
    same_learner(here.learner_, fit_local(Perceptron(max_iter=3), X, y, shards=4).learner_)


def test_nothing_stays_behind(client):
    X, y = noisy()

    def interrupt(epoch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_dask(Perceptron(), *arrays(X, y), client=client, on_epoch=interrupt)
    fit_dask(Perceptron(), *arrays(X, y), client=client)
    client.run(lambda: None)  # what was let go of before is gone when this has come back

    def left(dask_scheduler):
        return [str(key) for key in dask_scheduler.tasks if "rosenblatt" in str(key)]

    until = time.monotonic() + PATIENCE
    while client.run_on_scheduler(left) and time.monotonic() < until:
        pass  # a scheduler forgets what nobody wants when it comes to it
    assert client.run_on_scheduler(left) == []


# Bad input


def test_empty_blocks_and_blocks_of_one_class_are_no_trouble(client):
    X, y = noisy()
    order = np.argsort(y, kind="stable")
    parts = [order[:0], order[:50], order[50:200], order[:0], order[200:]]
    blocks, labels = [dask.delayed(X[part]) for part in parts], [dask.delayed(y[part]) for part in parts]
    here = fit_dask(Perceptron(), blocks, labels, client=client)
    assert here.mixing_.shard_rows == (0, 50, 150, 0, 40)
    same_learner(
        here.learner_, fit_local(Perceptron(), X, y, shards=[part for part in parts if part.size]).learner_
    )


def test_what_is_wrong_is_said_with_its_block(client):
    X, y = noisy()
    X[130, 2] = np.nan
    with pytest.raises(ValueError, match=r"block 2: X has the value nan in row 10, column 2"):
        fit_dask(Perceptron(), *arrays(X, y), client=client)
    X, y = noisy()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")).assign(label=y, city="Rome"), npartitions=2)
    with pytest.raises(
        ValueError, match="no column is called 'labels'; there are a, b, c, d, e, label, city"
    ):
        fit_dask(Perceptron(), frame, "labels", client=client)
    with pytest.raises(ValueError, match=r"column 'city' holds .*Attributes"):
        fit_dask(Perceptron(), frame, "label", client=client)
    dX, dy = arrays(X, y)
    with pytest.raises(ValueError, match="X has 240 rows, but y has 120"):
        fit_dask(Perceptron(), dX, dy[:120], client=client)
    with pytest.raises(ValueError, match="only one class, 'a'"):
        fit_dask(Perceptron(), dX, da.full(240, "a", chunks=60), client=client)
    with pytest.raises(ValueError, match="read from the ledger"):
        fit_dask(Perceptron(hypothesis="voted"), dX, dy, client=client)
    with pytest.raises(TypeError, match=r"an engine fits Perceptron, .* got KernelPerceptron"):
        fit_dask(KernelPerceptron(), dX, dy, client=client)
    with pytest.raises(TypeError, match="must be a dask array"):
        fit_dask(Perceptron(), {}, dy, client=client)
    mixed = [dask.delayed(y[:120]), dask.delayed(np.arange(120))]
    with pytest.raises(ValueError, match="shard 1 has labels like"):
        fit_dask(Perceptron(), [dask.delayed(X[:120]), dask.delayed(X[120:])], mixed, client=client)
    wide = [dask.delayed(X[:120]), dask.delayed(X[120:, :3])]
    with pytest.raises(ValueError, match="shard 1 has 3 features, but shard 0 has 5"):
        fit_dask(Perceptron(), wide, [dask.delayed(y[:120]), dask.delayed(y[120:])], client=client)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([True, False] * 120), [False, True]),
        (pd.array([3, 1] * 120, dtype="Int64"), [1, 3]),
        (pd.array(["no", "yes"] * 120, dtype="string"), ["no", "yes"]),
    ],
    ids=["booleans", "Int64", "strings"],
)
def test_labels_of_a_frame_are_what_they_are(client, labels, classes):
    X, _ = noisy()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")).assign(label=labels), npartitions=2)
    here = fit_dask(Perceptron(max_iter=1), frame, "label", client=client)
    assert here.classes_.tolist() == classes
    assert here.classes_.dtype.kind != "O"


def test_what_is_missing_in_a_frame_is_said(client):
    X, y = noisy()
    table = pd.DataFrame(X, columns=list("abcde")).assign(label=y.astype(object))
    holes = table.assign(b=pd.array([*range(200), None, *range(39)], dtype="Int64"))
    with pytest.raises(ValueError, match=r"block 1: X has the value nan in row 80, column 1"):
        fit_dask(Perceptron(), dd.from_pandas(holes, npartitions=2), "label", client=client)
    table.loc[130, "label"] = None
    with pytest.raises(ValueError, match=r"block 1: y has no label in row 10"):
        fit_dask(Perceptron(), dd.from_pandas(table, npartitions=2), "label", client=client)
    days = [dask.delayed(np.array(["2024-01-01"] * 240, dtype="datetime64[D]"))]
    with pytest.raises(ValueError, match="labels are numbers, booleans or strings"):
        fit_dask(Perceptron(), [dask.delayed(X)], days, client=client)


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("rosenblatt.engines.dask.POLL_SECONDS", 0.05)
    monkeypatch.setattr("rosenblatt.engines.dask.EMPTY_POLLS", 3)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as nobody,
        distributed.Client(nobody, timeout=SECONDS) as client,
        pytest.raises(NoWorkers, match="has had no worker for"),
    ):
        fit_dask(Perceptron(), *arrays(*noisy()), client=client)
