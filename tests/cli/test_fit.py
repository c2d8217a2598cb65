"""Fitting from files: the same model as from arrays, in a file that both sides read."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import run, run_well
from typer.testing import CliRunner

from rosenblatt import Perceptron, rules
from rosenblatt.cli.app import app
from rosenblatt.cli.scoring import MOST_WORK
from rosenblatt.core.hypotheses import NAMES
from rosenblatt.data import read_all
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner


def write_libsvm(path, X, y):
    lines = []
    for row, label in zip(X, y, strict=True):
        pairs = [f"{at + 1}:{value!r}" for at, value in enumerate(row.tolist()) if value]
        lines.append(" ".join([str(label), *pairs]))
    path.write_text("\n".join(lines) + "\n")


def write_csv(path, X, y):
    names = ",".join([*(f"x{at}" for at in range(X.shape[1])), "y"])
    rows = [
        ",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    path.write_text("\n".join([names, *rows]) + "\n")


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    X[:, 4] = 1.0  # so that LIBSVM text is as wide as the array
    return X, rng.integers(0, 3, 60)


@pytest.mark.parametrize("write", [write_csv, write_libsvm])
@pytest.mark.parametrize(
    ("flags", "parameters"),
    [
        ("", {}),
        ("--no-shuffle --passes 3", {"shuffle": False, "max_iter": 3}),
        ("--multi-class ovr --seed 7", {"multi_class": "ovr", "random_state": 7}),
        (
            "--no-intercept --eta 0.5 --hypothesis pocket",
            {"fit_intercept": False, "eta": 0.5, "hypothesis": "pocket"},
        ),
        ("--rule passive-aggressive --C 0.1", {"rule": rules.PassiveAggressive(C=0.1)}),
        ("--ledger none", {"keep_ledger": False}),
    ],
)
def test_a_file_and_an_array_give_the_same_model(tmp_path, data, write, flags, parameters):
    source, model = tmp_path / "data.txt", tmp_path / "m.safetensors"
    write(source, *data)
    form = "csv" if write is write_csv else "libsvm"
    run_well(f"fit {source} --format {form} -m {model} --no-scale {flags}")
    X, y = (read_all(source, format=form)[k] for k in (0, 1))
    there = Perceptron(**parameters).fit(X, y)
    here = Perceptron.load(model)
    assert np.array_equal(here.coef_, there.coef_)
    assert np.array_equal(here.intercept_, there.intercept_)
    assert here.mistakes_.tolist() == there.mistakes_.tolist()
    assert here.get_params().keys() == there.get_params().keys()
    assert (here.hypothesis, here.max_iter, here.shuffle) == (there.hypothesis, there.max_iter, there.shuffle)


def test_the_report_is_the_learners_own_word(tmp_path, data):
    X, y = data
    write_csv(tmp_path / "a.csv", X, y)
    told = json.loads(run_well(f"fit {tmp_path / 'a.csv'} --no-scale --numeric x4 --json").stdout)
    learner = Learner()
    learner.train(X, y)
    assert told["mistakes"] == [epoch.mistakes for epoch in learner.epochs]
    assert told["radius"] == learner.radius
    assert told["margin"] == learner.evaluations["averaged"].margin
    assert told["bound"] == learner.evaluations["averaged"].bound
    assert told["converged"] == learner.converged
    assert set(told["accuracy"]["train"]) == set(NAMES)
    for name in NAMES:
        right = (learner.predict(X, name) == y).mean()
        assert told["accuracy"]["train"][name]["accuracy"] == pytest.approx(right)


def test_json_is_json_where_numbers_are_not_finite(tmp_path, data):
    write_csv(tmp_path / "a.csv", *data)
    answer = run_well(f"fit {tmp_path / 'a.csv'} --rule pegasos --hypothesis voted --json")
    told = json.loads(answer.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert told["margin"] is None
    assert told["bound"] is None


def test_saving_the_ledger_keeps_every_hypothesis(tmp_path, data):
    write_csv(tmp_path / "a.csv", *data)
    model = tmp_path / "m.safetensors"
    run_well(f"fit {tmp_path / 'a.csv'} -m {model} --ledger save --no-scale --numeric x4")
    learner, about = load_learner(model)
    assert learner.ledger is not None
    assert about["schema"]["target"] == "y"
    assert about["feature_names"] == ["x0", "x1", "x2", "x3", "x4"]
    frame = pd.DataFrame(data[0], columns=about["feature_names"])
    for name in NAMES:
        there = Perceptron(hypothesis=name).fit(*data).predict(data[0])
        assert np.array_equal(Perceptron.load(model).use(name).predict(frame), there)


def test_an_expensive_vote_is_scored_on_some_rows_and_says_so(tmp_path, data, monkeypatch):
    write_csv(tmp_path / "a.csv", *(np.concatenate([each] * 4) for each in data))
    monkeypatch.setattr("rosenblatt.cli.scoring.MOST_WORK", 1)
    assert MOST_WORK > 1
    told = json.loads(run_well(f"fit {tmp_path / 'a.csv'} --json").stdout)["accuracy"]["train"]
    assert told["voted"]["rows"] == 100
    assert told["averaged"]["rows"] == 240
    shown = run_well(f"fit {tmp_path / 'a.csv'}").stdout
    assert "train: on 100 rows" in shown
    assert "~0." in shown
    told = json.loads(run_well(f"fit {tmp_path / 'a.csv'} --hypothesis voted --json").stdout)
    assert told["accuracy"]["train"]["voted"]["rows"] == 240


def test_labels_unseen_in_training_are_wrong_and_lower_the_score(tmp_path):
    (tmp_path / "train.csv").write_text("a,y\n1,up\n-1,down\n2,up\n-2,down\n")
    (tmp_path / "test.csv").write_text("a,y\n1,up\n-1,down\n1,sideways\n-1,sideways\n")
    answer = run_well(f"fit {tmp_path / 'train.csv'} --test {tmp_path / 'test.csv'} --json")
    told = json.loads(answer.stdout)
    assert told["accuracy"]["test"]["averaged"]["accuracy"] == 0.5
    assert told["test"]["unseen_labels"] == {"sideways": 2}
    assert "2 rows with label unseen in training (sideways)" in answer.stderr
    assert "meant" not in answer.stderr


def test_labels_that_differ_by_a_full_stop_are_pointed_at(tmp_path):
    """The test file of UCI's Adult writes its labels so."""
    (tmp_path / "train.csv").write_text("a,y\n1,>50K\n-1,<=50K\n2,>50K\n-2,<=50K\n")
    (tmp_path / "test.csv").write_text("a,y\n1,>50K.\n-1,<=50K.\n")
    answer = run_well(f"fit {tmp_path / 'train.csv'} --test {tmp_path / 'test.csv'}")
    assert "can only be wrong; is '<=50K.' meant to be '<=50K'?" in answer.stderr


def test_a_model_is_not_written_when_learning_fails(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1e200,0\n-1e200,1\n1e308,0\n-1e308,1\n")
    answer = run(f"fit {tmp_path / 'a.csv'} --no-scale -m {tmp_path / 'm.safetensors'}")
    assert answer.exit_code == 2
    assert "scale the features" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("how", ["", "--out-of-core"])
@pytest.mark.parametrize("hypothesis", ["voted", "pocket"])
def test_a_hypothesis_that_the_rule_cannot_give_is_refused(tmp_path, data, how, hypothesis):
    write_csv(tmp_path / "a.csv", *data)
    answer = run(f"fit {tmp_path / 'a.csv'} --rule arow --hypothesis {hypothesis} -m {tmp_path / 'm'} {how}")
    assert answer.exit_code == 2
    assert (
        f"--hypothesis {hypothesis} is read from the ledger, which --rule arow does not keep" in answer.stderr
    )
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("how", ["", "--out-of-core", "convert"])
@pytest.mark.parametrize("first", [0, 1])
def test_from_where_indices_count_is_told_also_where_it_is_seen_late(tmp_path, how, first):
    """In what is packed only the head is looked at."""
    lines = "".join(f"{k % 2} 1:{k} 2:{-k}\n" for k in range(9000)) + f"1 {first}:5 3:1\n"
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(lines.encode()))
    if how == "convert":
        command = f"convert {path} {tmp_path / 'a.arrow'}"
    else:
        command = f"fit {path} --passes 1 --no-cache {how}"
    told = json.loads(run_well(f"{command} --json").stdout)
    assert told["zero_based"] is (first == 0)
    assert told["features"] == 4 - first
    assert f"indices from {first}" in run_well(command).stdout
    if how == "convert":
        assert read_all(tmp_path / "a.arrow").X[9000].sum() == 6


def test_an_index_zero_that_comes_late_in_a_pipe_shifts_no_column():
    lines = "".join(f"{k % 2} 1:{k} 2:{-k}\n" for k in range(9000)) + "1 0:5\n"
    answer = CliRunner().invoke(app, ["fit", "-", "--json"], input=lines)
    assert answer.exit_code == 0, answer.stderr
    report = json.loads(answer.stdout)
    assert (report["rows"], report["features"]) == (9001, 3)


TEXTS = [
    ("free prize now", "spam"),
    ("lunch at noon", "ham"),
    ("win money free", "spam"),
    ("see you at home", "ham"),
] * 5


def text_source(kind, folder):
    if kind == "csv":
        (folder / "t.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in TEXTS))
        return f"{folder / 't.csv'} --text text"
    if kind == "jsonl":
        lines = [json.dumps({"text": text, "label": label}) for text, label in TEXTS]
        (folder / "t.jsonl").write_text("\n".join(lines) + "\n")
        return f"{folder / 't.jsonl'} --text text --target label"
    for number, (text, label) in enumerate(TEXTS):
        (folder / "mail" / label).mkdir(parents=True, exist_ok=True)
        (folder / "mail" / label / f"{number}.txt").write_text(text)
    return str(folder / "mail")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "folders"])
def test_text_is_learned_by_arow_unless_told_otherwise(kind, tmp_path):
    source = text_source(kind, tmp_path)

    def rule(options=""):
        return json.loads(run_well(f"fit {source} --json --no-estimate {options}").stdout)["rule"]["name"]

    for way in ("", "--out-of-core", "--engine local"):
        assert rule(way) == "arow"
    assert rule("--rule rosenblatt") == "rosenblatt"
    assert rule("--hypothesis voted") == "rosenblatt"
    assert rule("--param eta=0.5") == "rosenblatt"
    assert rule("--ledger memory") == "rosenblatt"


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("", {"name": "passive-aggressive", "C": 0.1}),
        ("--hypothesis voted", {"name": "passive-aggressive", "C": 0.1}),
        ("--out-of-core", {"name": "passive-aggressive", "C": 0.1}),
        ("--engine local", {"name": "passive-aggressive", "C": 0.1}),
        ("--passes 3", {"name": "passive-aggressive", "C": 0.1}),  # of categories alone
        ("--no-scale", {"name": "rosenblatt", "eta": 1.0}),
        ("--eta 0.5", {"name": "rosenblatt", "eta": 0.5}),
    ],
)
def test_standardised_columns_are_learned_by_the_passive_aggressive_rule(flags, rule, tmp_path):
    cells = "r,s,x\ng,s,z\nr,t,x\nb,t,z\n" if flags == "--passes 3" else "1,3,x\n2,1,z\n3,2,x\n0,5,z\n"
    (tmp_path / "a.csv").write_text("a,b,y\n" + cells * 3)
    assert (
        json.loads(run_well(f"fit {tmp_path / 'a.csv'} --json --no-estimate {flags}").stdout)["rule"] == rule
    )
