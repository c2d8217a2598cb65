"""Models that only the library trains are read by every command."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import run, run_well

from rosenblatt import BatchPerceptron, GaussianDiscriminant, LogisticRegression, PerceptronRegressor
from rosenblatt.storage import read_file, write_file

LINEAR = {
    "gaussian": GaussianDiscriminant,
    "batch perceptron": BatchPerceptron,
    "batch logistic": lambda: LogisticRegression(solver="batch"),
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    kind = np.select([X.a > 0.5, X.b > 0], ["up", "flat"], "down")
    X.assign(kind=kind).to_csv("kinds.csv", index=False)
    X.assign(size=2 * X.a - X.b + 0.5).to_csv("sizes.csv", index=False)
    return X, kind


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("classes", [2, 3])
def test_hyperplanes_of_other_methods(table, name, classes):
    X, kind = table
    rows = np.flatnonzero(kind != "flat") if classes == 2 else np.arange(80)
    X, kind = X.iloc[rows], kind[rows]
    X.assign(kind=kind).to_csv("these.csv", index=False)
    model = LINEAR[name]().fit(X, kind)
    model.save("m")
    assert run_well("predict m these.csv").stdout.split() == model.predict(X).tolist()
    told = json.loads(run_well("evaluate m these.csv --json").stdout)
    assert told["accuracy"] == pytest.approx(model.score(X, kind))
    told = json.loads(run_well("info m --json --top 3").stdout)
    assert told["learner"] == type(model).__name__
    assert told["classes"] == model.classes_.tolist()
    assert set(told["weights"]) == set(model.classes_.tolist())
    explained = json.loads(run_well("explain m these.csv --row 4 --json").stdout)
    assert explained["predicted"] == model.predict(X)[3]
    assert math.fsum(part["contribution"] for part in explained["parts"]) == explained["score"]
    for command in ("info m", "evaluate m these.csv", "explain m these.csv --row 1"):
        assert run_well(command).stdout


def test_a_regression(table):
    X, _ = table
    y = 2 * X.a - X.b + 0.5
    model = PerceptronRegressor(max_iter=5).fit(X, y)
    model.save("m")
    expected = model.predict(X)
    found = [float(line) for line in run_well("predict m sizes.csv").stdout.split()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    lines = [
        json.loads(line) for line in run_well("predict m sizes.csv --output-format json").stdout.splitlines()
    ]
    np.testing.assert_allclose([line["label"] for line in lines], expected, rtol=1e-12)
    told = json.loads(run_well("evaluate m sizes.csv --json").stdout)
    assert told["rmse"] ** 2 == pytest.approx(((expected - y) ** 2).mean())
    assert told["mae"] == pytest.approx(np.abs(expected - y).mean())
    assert told["r2"] == pytest.approx(model.score(X, y))
    assert set(told["hypotheses"]) == {"last", "averaged"}
    assert "predicts" in run_well("evaluate m sizes.csv --hypothesis averaged").stdout
    told = json.loads(run_well("info m --json").stdout)
    assert told["classes"] is None
    assert [name for name, _ in told["weights"]["the number"]["towards"]][:2] == ["a", "b"]
    assert "it predicts a number" in run_well("info m").stdout
    explained = json.loads(run_well("explain m sizes.csv --row 3 --json").stdout)
    assert explained["score"] == pytest.approx(expected[2])
    assert "and it is" in run_well("explain m sizes.csv --row 3").stdout


def test_what_a_regression_cannot_do_is_said(table):
    X, _ = table
    PerceptronRegressor(max_iter=2).fit(X, X.a).save("m")
    answer = run("explain m sizes.csv --row 1 --label up")
    assert answer.exit_code == 2
    assert "no classes for --label" in answer.stderr
    answer = run("evaluate m kinds.csv")
    assert answer.exit_code == 65
    assert "not a number" in answer.stderr
    assert "last and averaged" in run("predict m sizes.csv --hypothesis voted").stderr


@pytest.mark.parametrize("claim", ["planes", "real", "nobody"])
def test_a_file_that_is_not_what_it_says(table, claim):
    X, kind = table
    (PerceptronRegressor() if claim == "planes" else GaussianDiscriminant()).fit(
        X, X.a if claim == "planes" else kind
    ).save("m")
    header, arrays = read_file("m")
    header["about"]["learner"] = claim
    write_file("m", header, arrays)
    answer = run("info m")
    assert answer.exit_code == 65
    assert answer.stderr.startswith("m: ")
    assert "internal error" not in answer.stderr
