"""What fit is asked for: options that a learner refuses, regression, scaling, the trace, old spellings."""

import csv
import json

import numpy as np
import pytest
from tests.cli.commands import run, run_well

from rosenblatt import Perceptron, PerceptronRegressor
from rosenblatt.rules import PassiveAggressive


@pytest.fixture
def houses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2)) * [30.0, 2.0] + [100.0, 3.0]
    y = 2.5 * X[:, 0] - 7.0 * X[:, 1] + rng.normal(size=80)
    rows = np.column_stack([X, y]).tolist()
    (tmp_path / "houses.csv").write_text(
        "size,age,price\n" + "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in rows)
    )
    return X, y


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("--learner centroid --passes 3", "--learner centroid takes no --passes"),
        ("--learner centroid --seed 3", "--learner centroid takes no --seed"),
        ("--learner naive-bayes --no-intercept", "--learner naive-bayes takes no --no-intercept"),
        ("--learner kernel --no-intercept", "--learner kernel takes no --no-intercept"),
        ("--learner logistic --multi-class ovr", "--learner logistic takes no --multi-class"),
        ("--learner logistic --ledger save -m m", "--learner logistic takes no --ledger"),
        ("--degree 3", "--degree: options of --learner kernel"),
        ("--task regression --rule margin", "--task regression takes no --rule"),
        ("--task regression --hypothesis voted", "of a regression choose last or averaged"),
        ("--param speed=1", "--rule rosenblatt has no parameter speed"),
        ("--trace t.csv --ledger none", "leave out --ledger none"),
        ("--trace t.csv --learner centroid", "centroid records no updates"),
        ("--out-of-core --task regression", "--task regression holds all rows in memory"),
        ("--engine local --task regression", "--task regression runs in one process"),
    ],
)
def test_what_cannot_be_done_is_refused(houses, options, refused):
    answer = run(f"fit houses.csv {options}")
    assert answer.exit_code == 2, answer.output
    assert refused in answer.stderr


def test_a_measured_target_is_no_class(houses):
    answer = run("fit houses.csv")
    assert answer.exit_code == 65
    assert "--task regression" in answer.stderr
    assert "80 different numbers" in answer.stderr
    assert len(json.loads(run_well("fit houses.csv --task classification --json").stdout)["classes"]) == 80


@pytest.mark.parametrize(("option", "hypothesis"), [("", "averaged"), ("--hypothesis last", "last")])
def test_a_regression_from_the_command_line_is_that_of_the_library(houses, option, hypothesis):
    X, y = houses
    report = json.loads(run_well(f"fit houses.csv --task regression --no-scale {option} -m m --json").stdout)
    model = PerceptronRegressor(hypothesis=hypothesis).fit(X, y)
    residual = model.predict(X) - y
    errors = report["error"]["train"][hypothesis]
    assert errors["mae"] == pytest.approx(np.abs(residual).mean())
    assert errors["rmse"] == pytest.approx(np.sqrt((residual**2).mean()))
    assert errors["r2"] == pytest.approx(model.score(X, y))
    assert np.array_equal(PerceptronRegressor.load("m").coef_, model.coef_)
    labels = [float(line) for line in run_well("predict m houses.csv").stdout.split()]
    np.testing.assert_allclose(labels, model.predict(X), rtol=1e-12)


def test_a_scaled_regression_is_better_and_says_so(houses):
    answer = run_well("fit houses.csv --task regression --test houses.csv")
    assert "scaled" in answer.stdout
    assert all(head in answer.stdout for head in ("train MAE", "train RMSE", "test R²"))
    report = json.loads(run_well("fit houses.csv --task regression --json").stdout)
    assert report["scaled"] is True
    assert report["error"]["train"]["averaged"]["r2"] > 0.95


def test_a_scaled_fit_learns_from_standardised_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)) * [1000.0, 0.1] + 5.0, rng.integers(0, 2, 50)
    lines = (f"{a!r},{b!r},{label}\n" for (a, b), label in zip(X.tolist(), y.tolist(), strict=True))
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(lines))
    report = json.loads(run_well("fit a.csv --no-shuffle --json").stdout)  # the shuffle depends on every bit
    assert report["scaled"] is True
    clf = Perceptron(PassiveAggressive(C=0.1), max_iter=20, shuffle=False).fit(
        (X - X.mean(axis=0)) / X.std(axis=0), y
    )
    assert report["radius"] == pytest.approx(clf.radius_)
    assert report["mistakes"] == clf.mistakes_.tolist()
    assert "radius, margin and bound" in run_well("fit a.csv").stdout
    raw = json.loads(run_well("fit a.csv --no-scale --json").stdout)
    assert raw["scaled"] is False
    assert raw["radius"] == pytest.approx(Perceptron().fit(X, y).radius_)


def test_sparse_vectors_are_not_scaled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:5 2:1\n-1 1:-5\n1 1:4\n-1 2:-9\n")
    assert json.loads(run_well("fit a.svm --json").stdout)["scaled"] is False
    answer = run("fit a.svm --scale")
    assert answer.exit_code == 2
    assert "--scale: libsvm has no numeric columns" in answer.stderr


def test_every_update_is_a_line_of_the_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "and.csv").write_text("a,b,y\n0,0,no\n0,1,no\n1,0,no\n1,1,yes\n")
    words = "fit and.csv --no-scale --no-shuffle --hypothesis last"
    report = json.loads(run_well(f"{words} --trace t.csv --json").stdout)
    with (tmp_path / "t.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == report["trace"]["updates"] == report["updates"]
    assert "from 1" in report["trace"]["rows_counted"]
    assert all(int(line["line"]) == int(line["row"]) + 1 for line in lines)  # after the header
    assert lines[0] | {"score": "", "tau": ""} == {
        **{
            "update": "1",
            "clock": "0",
            "row": "1",
            "line": "2",
            "label": "no",
            "class": "yes",
            "score": "",
            "tau": "",
        },
        **{"bias before": "0.0", "a before": "0.0", "b before": "0.0"},
        **{"bias after": "-1.0", "a after": "0.0", "b after": "0.0"},
    }
    for before, after in zip(lines[1:], lines, strict=False):
        assert [before[f"{name} before"] for name in "ab"] == [after[f"{name} after"] for name in "ab"]
    table = run_well(f"{words} --trace -").stdout
    assert "rows count from 1 in the order of the file" in table
    assert "w before" in table
    inside = json.loads(run_well(f"{words} --trace - --json").stdout)["trace"]
    assert [each["row"] for each in inside["updates"]] == [int(line["row"]) for line in lines]


@pytest.mark.parametrize(
    ("old", "new"),
    [("--no-ledger", "--ledger none"), ("--beta 2 --rule margin", "--param beta=2 --rule margin")],
)
def test_old_spellings_work_and_name_the_new_one(old, new):
    was, now = run_well(f"fit sample:iris {old} --json"), run_well(f"fit sample:iris {new} --json")
    assert new.partition(" --rule")[0] in was.stderr
    assert now.stderr == ""
    reports = [json.loads(each.stdout) | {"seconds": None} for each in (was, now)]
    assert reports[0] == reports[1]


def test_the_old_meaning_of_predicts_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_well("fit sample:iris -m m")
    answer = run("predict m sample:iris --format json")
    assert answer.exit_code == 2
    assert "--output-format json" in answer.stderr


@pytest.mark.parametrize(("rows", "passes"), [(600, 20), (3000, 16), (6000, 10)])
def test_few_rows_are_passed_over_more_often_however_they_are_read(tmp_path, monkeypatch, rows, passes):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, 2)), rng.integers(0, 2, rows)
    np.savetxt("a.csv", np.column_stack([X, y]), "%.6f,%.6f,%d", header="a,b,y", comments="")
    options = "--target y --no-shuffle --no-estimate --json"
    here, out_of_core, engine = (
        json.loads(run_well(f"fit a.csv {options} {more}").stdout)
        for more in ("", "--out-of-core", "--engine local")
    )
    assert here["passes"] == out_of_core["passes"] == engine["passes"] == passes
    assert here["mistakes"] == out_of_core["mistakes"]
    assert json.loads(run_well(f"fit a.csv {options} --passes 3").stdout)["passes"] == 3
    assert json.loads(run_well(f"fit a.csv {options} --passes 3 --out-of-core").stdout)["passes"] == 3
    assert json.loads(run_well(f"fit a.csv {options} --no-scale").stdout)["passes"] == 10
