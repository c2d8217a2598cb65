"""``fit --engine``: the shards of files, one schema for all of them, checkpoints, and what is refused."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import run, run_well
from tests.engines.data import noisy, same_learner

from rosenblatt import ClosestCentroid, LogisticRegression, NaiveBayes, Perceptron
from rosenblatt.data import read_all
from rosenblatt.engines import fit_local
from rosenblatt.learner.files import load_learner
from rosenblatt.storage import BadModel


@pytest.fixture
def folder(tmp_path):
    """Four files of one table; a category that only the last has, and integers that turn out to be labels."""
    X, y = noisy()
    table = pd.DataFrame(X, columns=list("abcde")).assign(colour=["red", "green"] * 120, y=y)
    table.loc[239, "colour"] = "amber"
    for at in range(4):
        table.iloc[60 * at : 60 * at + 60].to_parquet(tmp_path / f"part{at}.parquet")
    table.to_csv(tmp_path / "all.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("missing", [False, True])
def test_files_in_one_shard_each_are_encoded_by_one_schema(folder, monkeypatch, scale, missing):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    if missing:  # in one shard only, encoded as in all others
        part = pd.read_parquet(folder / "part2.parquet")
        part.loc[part.index[:20], "b"] = np.nan
        part.to_parquet(folder / "part2.parquet")
    source = f"'{folder}/*.parquet'"
    flags = "--target y --engine local --rule rosenblatt " + ("--no-shuffle" if scale else "--no-scale")
    answer = run_well(f"fit {source} {flags} -m {folder / 'm'} --json")
    whole = read_all(f"{folder}/*.parquet", target="y", scale=scale)
    there = fit_local(Perceptron("rosenblatt", shuffle=not scale), whole.X, whole.y, shards=4)
    here, about = load_learner(folder / "m")
    same_learner(here, there.learner_)
    assert about["feature_names"] == whole.feature_names
    told = json.loads(answer.stdout)
    assert told["shard_rows"] == [60, 60, 60, 60]
    assert np.array(told["mistakes_by_shard"]).sum() == told["n_mistakes"]
    shown = run_well(f"fit {source} {flags}").stdout
    assert "local, 4 shards" in shown
    assert "colour  category" in shown
    assert [each["kind"] for each in told["columns"]] == ["numeric"] * 5 + ["category", "target"]
    predicted = run_well(f"predict {folder / 'm'} {source}").stdout.split()
    assert predicted == there.predict(whole.X).tolist()


def test_one_small_file_is_one_shard_and_the_model_of_a_plain_fit(folder):
    run_well(f"fit {folder / 'all.csv'} --target y --engine local -m {folder / 'm'}")
    run_well(f"fit {folder / 'all.csv'} --target y --ledger none -m {folder / 'plain'}")
    same_learner(load_learner(folder / "m")[0], load_learner(folder / "plain")[0])


def test_a_file_is_dealt_out_by_blocks(folder, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    monkeypatch.setattr("rosenblatt.engines.files.BLOCK_ROWS", 20)
    told = json.loads(run_well(f"fit {folder / 'all.csv'} --target y --engine local --json").stdout)
    assert told["shard_rows"] == [80, 80, 80]


def test_libsvm_files_agree_on_where_indices_begin(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 3:2\n-1 2:1\n")
    (tmp_path / "b.svm").write_text("1 1:1\n-1 5:1 2:1\n".replace("5:1 2:1", "2:1 5:1"))
    run_well(f"fit '{tmp_path}/*.svm' --engine local -m {tmp_path / 'm'}")
    assert Perceptron.load(tmp_path / "m").n_features_in_ == 5
    assert run_well(f"predict {tmp_path / 'm'} {tmp_path / 'a.svm'}").stdout.split() == ["1", "-1"]


@pytest.mark.parametrize(
    ("flags", "estimator"),
    [
        ("--learner centroid", ClosestCentroid()),
        ("--learner naive-bayes --param binarize=0.5", NaiveBayes(binarize=0.5)),
        ("--learner logistic --passes 3", LogisticRegression("online", max_iter=3)),
    ],
)
def test_other_learners(folder, monkeypatch, flags, estimator):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    source = f"{folder}/*.parquet"
    told = json.loads(
        run_well(
            f"fit '{source}' --target y --engine local --no-scale {flags} -m {folder / 'm'} --json"
        ).stdout
    )
    whole = read_all(source, target="y")
    there = fit_local(estimator, whole.X, whole.y, shards=4)
    here = type(estimator).load(folder / "m")
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-12)
    scored = told["accuracy"]["train"]
    named = "hyperplane" if "hyperplane" in scored else "averaged"
    assert scored[named]["accuracy"] == pytest.approx(there.score(whole.X, whole.y))


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("mixing", ["uniform", "mistakes"])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, shards, mixing):
    X, y = noisy(classes=3)
    kept = tmp_path / "kept"

    def interrupt(epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt

    def fit(**more):
        return fit_local(Perceptron(max_iter=4), X, y, shards=shards, mixing=mixing, **more)

    whole = fit()
    with pytest.raises(KeyboardInterrupt):
        fit(checkpoint=kept, on_epoch=interrupt)
    assert kept.exists()
    seen = []
    resumed = fit(checkpoint=kept, on_epoch=lambda epoch: seen.append(epoch.number))
    assert seen == [3, 4]
    same_learner(resumed.learner_, whole.learner_)
    assert np.array_equal(resumed.mixing_.mistakes, whole.mixing_.mistakes)
    assert resumed.learner_.evaluations == whole.learner_.evaluations
    assert list(tmp_path.iterdir()) == []  # the run is over


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    X, y = noisy()
    kept = tmp_path / "kept"

    def interrupt(epoch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_local(Perceptron(), X, y, shards=3, checkpoint=kept, on_epoch=interrupt)
    with pytest.raises(BadModel, match=r"another run: its shard_rows is \[80, 80, 80\], here \[120, 120\]"):
        fit_local(Perceptron(), X, y, shards=2, checkpoint=kept)
    with pytest.raises(BadModel, match="another run: its rule"):
        fit_local(Perceptron("margin"), X, y, shards=3, checkpoint=kept)
    with pytest.raises(BadModel, match="another run: its class_weight is None"):
        fit_local(Perceptron(class_weight="balanced"), X, y, shards=3, checkpoint=kept)
    with pytest.raises(BadModel, match=r"another run: its weight is 240\.0, here 480\.0"):
        fit_local(Perceptron(), X, y, shards=3, checkpoint=kept, sample_weight=2.0)
    with pytest.raises(BadModel, match="another run: its dtype"):
        fit_local(Perceptron(), X.astype(np.float32), y, shards=3, checkpoint=kept)
    Perceptron().fit(X, y).save(kept)
    with pytest.raises(BadModel, match="not a checkpoint"):
        fit_local(Perceptron(), X, y, shards=3, checkpoint=kept)


@pytest.mark.parametrize(
    "labels", [[Decimal("1.5"), Decimal(2)], [1, 2.5], [True, False], ["b", "a"], [7, 8]]
)
def test_labels_that_are_objects_are_what_they_are(labels):
    clf = fit_local(Perceptron(), [[1.0], [-1.0]], np.array(labels, dtype=object), shards=1)
    assert clf.classes_.tolist() == sorted(labels)
    assert clf.classes_.dtype.kind != "O"


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([None, "a"], "y has no label in row 0"),
        (["a", float("nan")], "y has no label in row 1"),
        (["a", 1], "y has the labels 'a' and 1: expected all text, or all numbers"),
        ([1.0, float("inf")], "not finite"),
    ],
)
def test_labels_that_cannot_be_are_refused(labels, why):
    with pytest.raises(ValueError, match=why):
        fit_local(Perceptron(), [[1.0], [2.0]], np.array(labels, dtype=object), shards=1)


@pytest.mark.parametrize(
    ("flags", "why", "code"),
    [
        ("sample:iris --engine local", "samples are inside the package", 2),
        ("- --engine local", "standard input can be read by one process only", 2),
        (
            "{csv} --engine local --learner kernel",
            "--learner kernel runs in one process: leave out --engine",
            2,
        ),
        ("{csv} --engine local --skip-bad", "an engine stops at a bad line", 2),
        ("{csv} --engine local --cluster tcp://a:1", "option of --engine dask and spark: leave it out", 2),
        ("{csv} --cluster tcp://a:1", "options of --engine: name one", 2),
        ("{csv} --engine local --hypothesis voted", "read from the ledger", 2),
        ("{csv} --engine local --learner centroid --checkpoint c", "no passes to continue: leave out", 2),
        ("{csv} --engine local --report r.html", "need the rows in one process", 2),
        ("{csv} --engine local --target nope", "no column is called 'nope'", 2),
        ("{csv} --engine dask --cluster tcp://127.0.0.1:1", "no Dask scheduler answers there", 2),
    ],
)
def test_what_an_engine_cannot_do_is_said(folder, monkeypatch, flags, why, code):
    monkeypatch.setattr("rosenblatt.cli.fit.engine.CONNECT_SECONDS", 1)
    answer = run("fit " + flags.format(csv=folder / "all.csv"))
    assert answer.exit_code == code
    assert why in answer.stderr
