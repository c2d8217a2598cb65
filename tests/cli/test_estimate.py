"""The figure of ``fit`` on rows it did not learn from: what it is computed from, and that nothing leaks into it."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.model_selection import PredefinedSplit
from tests.cli.commands import run, run_well

from rosenblatt import Perceptron
from rosenblatt.learner.selection import stratified_folds
from rosenblatt.rules import PassiveAggressive


def write_table(path, X, y, more=None):
    names = [f"x{at}" for at in range(X.shape[1])] + [*(more or {}), "y"]
    columns = [*X.T.astype(str), *(more or {}).values(), np.asarray(y).astype(str)]
    rows = [",".join(cells) for cells in zip(*columns, strict=True)]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")


def fit(command):
    return json.loads(run_well(f"fit {command} --json").stdout)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(3) * [1.0, 100.0, 0.01]
    y = np.where(X[:, 0] + X[:, 1] / 100 + rng.normal(size=120) > 0, "yes", "no")
    write_table(tmp_path / "t.csv", X, y)
    return X, y


def test_every_fold_is_scaled_by_its_training_part_alone(table):
    X, y = table
    estimate = fit("t.csv --no-shuffle")["estimate"]
    labels = (y == "yes").astype(np.int64)
    folds = stratified_folds(labels, 5, 0)
    right = 0
    for train, test in PredefinedSplit(folds.fold).split():
        mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
        model = Perceptron(PassiveAggressive(C=0.1), shuffle=False).fit(
            (X[train] - mean) / deviation, y[train]
        )
        right += int((model.predict((X[test] - mean) / deviation) == y[test]).sum())
    assert estimate["accuracy"] == right / y.size
    assert estimate["how"] == "5 folds"
    assert estimate["majority_accuracy"] == max(labels.mean(), 1 - labels.mean())
    assert np.sum(estimate["confusion"]) == y.size


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--auto",
        "--holdout 0.3",
        "--learner kernel",
        "--learner logistic",
        "--rule arow",
        "--time-order",
        "--auto --time-order",
        "--map quadratic",
        "--certify 0.9",
        "--groups x7",
    ],
)
def test_random_labels_are_not_predicted_above_chance(tmp_path, monkeypatch, flags):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    right, rows = 0, 0
    for draw in range(3):
        write_table(
            tmp_path / f"r{draw}.csv", rng.normal(size=(100, 8)).round(3), rng.permutation([0, 1] * 50)
        )
        estimate = fit(f"r{draw}.csv {flags}")["estimate"]
        right, rows = right + round(estimate["accuracy"] * estimate["rows"]), rows + estimate["rows"]
    assert right <= binom.ppf(0.999, rows, 0.5)


@pytest.mark.parametrize("flags", ["", "--holdout 0.4"])
def test_the_log_loss_of_random_labels_is_not_below_chance(tmp_path, monkeypatch, flags):
    """A calibration on the rows that it is judged by would always be below."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    losses = []
    for draw in range(6):
        write_table(
            tmp_path / f"{draw}.csv", rng.normal(size=(100, 4)).round(3), rng.permutation([0, 1] * 50)
        )
        losses.append(fit(f"{draw}.csv {flags}")["estimate"]["log_loss"])
    assert np.mean(losses) > np.log(2.0)


def test_rows_of_a_class_that_was_not_learned_are_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)).round(3)
    write_table(tmp_path / "train.csv", X, (X[:, 0] > 0.0).astype(int))
    labels = np.where(X[:, 0] > 0.0, 1, 0)
    labels[:20] = 2
    write_table(tmp_path / "test.csv", X, labels)
    estimate = fit("train.csv --test test.csv")["estimate"]
    assert estimate["rows"] == 80
    assert estimate["accuracy"] <= 0.75
    assert np.sum(estimate["confusion"][2]) == 20
    assert estimate["confusion"][2][2] == 0


def test_auto_on_very_few_rows_and_on_classes_of_one_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    write_table(tmp_path / "three.csv", X[:3], [0, 1, 0])
    assert "estimate" not in fit("three.csv --auto")
    write_table(tmp_path / "rare.csv", X, [0] * 30 + [1] * 27 + [2, 3, 4])
    report = fit("rare.csv --auto -m m")
    assert len(report["classes"]) == 5
    assert report["estimate"]["rows"] == 12
    assert run_well("predict m rare.csv").stdout.count("\n") == 60


def test_a_model_no_better_than_the_majority_class_says_so(tmp_path, monkeypatch, table):
    rng = np.random.default_rng(0)
    write_table(tmp_path / "r.csv", rng.normal(size=(60, 3)).round(3), [0, 1, 1] * 20)
    doubt = "the model is not shown to be better than that"
    assert doubt in " ".join(run_well("fit r.csv").stdout.split())
    assert doubt not in " ".join(run_well("fit t.csv").stdout.split())


def test_copies_of_rows_are_mentioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)).round(3), rng.integers(0, 2, 60)
    write_table(tmp_path / "once.csv", X, y)
    write_table(tmp_path / "twice.csv", np.concatenate([X, X]), np.concatenate([y, y]))
    assert "copies" not in run_well("fit once.csv").stderr
    assert "60 of 120 rows are copies of others" in run_well("fit twice.csv").stderr


def test_identical_rows_of_a_group_stay_in_one_fold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(40, 6)).round(3), 5, axis=0)  # each of forty patients five times
    y = np.repeat(rng.permutation([0, 1] * 20), 5)
    patients = np.repeat([f"p{at}" for at in range(40)], 5)
    write_table(tmp_path / "p.csv", X, y, {"patient": patients})
    with_groups = fit("p.csv --groups patient --learner kernel --kernel rbf --gamma 50")
    assert "patient" not in json.dumps([each["name"] for each in with_groups["columns"] if each["features"]])
    assert with_groups["estimate"]["accuracy"] < 0.75
    leaking = fit("p.csv --drop patient --learner kernel --kernel rbf --gamma 50")
    assert leaking["estimate"]["accuracy"] > 0.9


def test_auto_chooses_and_is_judged_by_whole_groups(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(40, 3)).round(3), 5, axis=0)  # each of forty patients five times
    y = np.repeat(rng.permutation([0, 1] * 20), 5)
    write_table(tmp_path / "p.csv", X, y, {"patient": np.repeat([f"p{at}" for at in range(40)], 5)})
    by_groups = fit("p.csv --auto --groups patient --model auto.safetensors")
    assert by_groups["estimate"]["rows"] == 40
    assert "in whole groups (patient)" in by_groups["estimate"]["how"]
    assert max(each["accuracy"] for each in by_groups["auto"]["tried"]) < 0.8
    leaking = fit("p.csv --auto --drop patient")
    assert max(each["accuracy"] for each in leaking["auto"]["tried"]) > 0.9
    run_well(by_groups["auto"]["command"].removeprefix("rosenblatt ") + " --model again.safetensors")
    first, again = (
        run_well(f"predict {name}.safetensors p.csv --scores").stdout for name in ("auto", "again")
    )
    assert first == again


def test_time_order_scores_rows_after_those_learned_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.linspace(0, 1, 100)[:, None].round(4)
    y = np.where(np.arange(100) < 60, "a", "b")  # the second class begins late
    write_table(tmp_path / "time.csv", np.hstack([X, 1 - X]), y)
    assert fit("time.csv --time-order --holdout 0.2")["estimate"]["rows"] == 20


def test_a_certified_model_never_sees_the_rows_held_out(table):
    report = fit("t.csv --certify 0.95 --model m.safetensors")
    assert report["rows"] == 96
    certificate = report["estimate"]["certificate"]
    assert certificate["rows"] == 24
    assert "Clopper–Pearson, 24 rows held out" in certificate["statement"]
    assert certificate["error"] > certificate["wrong"] / certificate["rows"]


def test_answers_with_a_certified_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 2)).round(4)
    write_table(tmp_path / "c.csv", X, np.where(X[:, 0] + 0.4 * rng.normal(size=2000) > 0, "yes", "no"))
    run_well("fit c.csv --certify 0.95 --model m.safetensors")
    answer = run_well("predict m.safetensors c.csv --max-error 0.05")
    labels = answer.stdout.split()
    assert 0 < labels.count("?") < 2000
    assert "at most 5% of the answers are wrong" in answer.stderr
    refused = run("predict m.safetensors c.csv --max-error 0.0001")
    assert refused.exit_code != 0
    assert "too few rows were held out" in refused.stderr
    run_well("fit c.csv --model plain.safetensors")
    assert "--certify" in run("predict plain.safetensors c.csv --max-error 0.05").stderr


def test_probabilities_are_written_and_evaluated(table):
    run_well("fit t.csv --model m.safetensors")
    rows = [json.loads(line) for line in run_well(
        "predict m.safetensors t.csv --proba --output-format json"
    ).stdout.splitlines()]  # fmt: skip
    for row in rows:
        assert sum(row["probability"].values()) == pytest.approx(1.0)
        assert row["label"] == max(row["probability"], key=row["probability"].get) or (
            abs(row["probability"]["yes"] - 0.5) < 0.2
        )
    evaluated = json.loads(run_well("evaluate m.safetensors t.csv --json").stdout)
    assert 0.0 < evaluated["log_loss"] < 0.7
    run_well("fit t.csv --model silent.safetensors --no-estimate")
    assert "holds no probabilities" in run("predict silent.safetensors t.csv --proba").stderr


def test_auto_prints_what_it_tried_and_the_command_that_repeats_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 2)).round(3)
    write_table(tmp_path / "rings.csv", X, (X**2).sum(axis=1) > 1.4)
    report = fit("rings.csv --auto --model auto.safetensors")
    assert len(report["auto"]["tried"]) > 10
    assert "quadratic map" in report["auto"]["chosen"] or "kernel" in report["auto"]["chosen"]
    assert "took no part in the choice" in report["estimate"]["how"]
    assert report["estimate"]["accuracy"] > 0.8
    command = report["auto"]["command"].removeprefix("rosenblatt ")
    run_well(f"{command} --model again.safetensors")
    first, again = (
        run_well(f"predict {name}.safetensors rings.csv --scores").stdout for name in ("auto", "again")
    )
    assert first == again


@pytest.mark.parametrize(
    "flags",
    ["--folds 1", "--holdout 2", "--folds 3 --holdout 0.2", "--no-estimate --certify 0.9", "--certify 95",
     "--auto --rule arow", "--auto --folds 3", "--groups g --time-order", "--out-of-core --folds 3"],
)  # fmt: skip
def test_contradictions_are_refused(table, flags):
    answer = run(f"fit t.csv {flags}")
    assert answer.exit_code == 2, answer.output


def test_few_rows_have_no_estimate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "and.csv").write_text("a,b,y\n0,0,0\n0,1,0\n1,0,0\n1,1,1\n")
    answer = run_well("fit and.csv")
    assert "no estimate from 4 rows" in answer.stderr
    assert "new rows" not in answer.stdout


@pytest.mark.parametrize("flags", ["", "--auto", "--holdout 0.3"])
def test_random_labels_of_texts_are_not_predicted_above_chance(tmp_path, monkeypatch, flags):
    """Vocabulary, document counts and the choice come from the training part alone."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(9)
    right, rows = 0, 0
    for draw in range(2):
        texts = [" ".join(f"w{word}" for word in rng.integers(0, 60, 12)) for _ in range(100)]
        lines = [f"{text},{label}" for text, label in zip(texts, rng.permutation([0, 1] * 50), strict=True)]
        (tmp_path / f"w{draw}.csv").write_text("text,y\n" + "\n".join(lines) + "\n")
        estimate = fit(f"w{draw}.csv --text text {flags}")["estimate"]
        right, rows = right + round(estimate["accuracy"] * estimate["rows"]), rows + estimate["rows"]
    assert right <= binom.ppf(0.999, rows, 0.5)


@pytest.mark.parametrize("flags", ["", "--missing median --words counts", "--auto"])
def test_random_labels_of_groups_are_not_predicted_above_chance(tmp_path, monkeypatch, flags):
    """Rows of a group share their text, category, gaps and label: whatever sees a row of it knows the others."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    accuracy, seen = [], []
    for draw in range(3):
        lines = ["text,colour,x0,x1,group,y"]
        for group, label in enumerate(rng.permutation([0, 1] * 20).tolist()):
            words = " ".join(f"w{word}" for word in rng.integers(0, 200, 8))
            colour, gap = rng.choice(["red", "green", "blue"]), rng.random(2) < 0.3
            for _ in range(5):
                cells = [
                    "" if empty else f"{value:.3f}"
                    for empty, value in zip(gap, rng.normal(size=2), strict=True)
                ]
                lines.append(f"{words},{colour},{','.join(cells)},g{group},{label}")
        (tmp_path / f"g{draw}.csv").write_text("\n".join(lines) + "\n")
        command = f"g{draw}.csv --target y --text text {flags}"
        accuracy.append(fit(f"{command} --groups group")["estimate"]["accuracy"])
        seen.append(fit(f"{command} --drop group")["estimate"]["accuracy"])
    judged = 8 if flags == "--auto" else 40  # groups that a figure comes from
    assert np.mean(accuracy) <= binom.ppf(0.999, 3 * judged, 0.5) / (3 * judged)
    assert np.mean(seen) > 0.9  # there is something to leak


@pytest.mark.parametrize("way", [["--out-of-core", "--no-cache"], ["--engine", "local"]])
def test_a_fit_that_holds_no_rows_prints_the_progressive_figure_of_its_first_pass(tmp_path, way):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0, 1, -1)
    path = tmp_path / "t.svm"
    path.write_text(
        "".join(
            f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) + "\n"
            for label, row in zip(y.tolist(), X.tolist(), strict=True)
        )
    )
    report = json.loads(run_well(["fit", str(path), "--json", *way]).stdout)
    estimate = report["estimate"]
    assert estimate["kind"] == "progressive"
    assert estimate["accuracy"] == 1.0 - report["mistakes"][0] / 400
    assert estimate["bound"]["error"] == pytest.approx(
        report["mistakes"][0] / 400 + np.sqrt(np.log(20.0) / 800), rel=1e-9
    )
    shown = " ".join(run_well(["fit", str(path), *way]).stdout.split())
    assert "each row before it was learned from" in shown
    assert "hypotheses of this pass are wrong on at most" in shown
    assert "estimate" not in json.loads(run_well(["fit", str(path), "--json", "--no-estimate", *way]).stdout)
    refused = run(["fit", str(path), "--holdout", "0.2", *way])
    assert refused.exit_code == 2
    assert "--holdout" in refused.stderr
    assert "--test FILE" in refused.stderr


def test_a_progressive_figure_of_scaled_columns_has_no_bound(tmp_path):
    rng = np.random.default_rng(8)
    lines = [f"{x:.4f},{z:.4f},{'up' if x > z else 'down'}" for x, z in rng.normal(5.0, 2.0, (200, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *lines]))
    command = ["fit", str(tmp_path / "t.csv"), "--out-of-core", "--no-cache", "--json"]
    assert json.loads(run_well(command).stdout)["estimate"]["bound"] is None
    assert json.loads(run_well([*command, "--no-scale"]).stdout)["estimate"]["bound"] is not None
