"""Predicting from files: the labels of the library, whoever wrote the model."""

import io

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import run, run_well

from rosenblatt import Perceptron
from rosenblatt.learner.models import load
from rosenblatt.storage import read_file, write_file

X = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 3.0], [-1.0, -2.0, 0.5], [-2.0, 0.0, 0.0], [0.5, 0.0, -1.0]])
LABELS = {
    "numbers": np.array([1, 1, 0, 0, 2]),
    "floats": np.array([1.0, 1.0, 0.0, 0.0, 2.0]),
    "words": np.array(["in", "in", "out", "out", "éloigné"]),
    "truths": np.array([True, True, False, False, True]),
}


def csv_of(rows, names=("a", "b", "c")):
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", LABELS)
def test_a_model_of_perceptron_predicts_files(tmp_path, kind):
    y = LABELS[kind]
    clf = Perceptron().fit(X, y)
    clf.save(tmp_path / "m")
    wanted = "".join(f"{label}\n" for label in clf.predict(X).tolist())
    (tmp_path / "bare.csv").write_text(csv_of(X.tolist()))
    labelled = [[*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "labelled.csv").write_text(csv_of(labelled, ("a", "b", "c", "y")))
    (tmp_path / "rows.svm").write_text(
        "".join("0 " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row)) + "\n" for row in X.tolist())
    )
    for source in ("bare.csv", "labelled.csv", "rows.svm"):
        assert run_well(f"predict {tmp_path / 'm'} {tmp_path / source}").stdout == wanted
    answer = run_well(f"evaluate {tmp_path / 'm'} {tmp_path / 'labelled.csv'}")
    assert f"{clf.score(X, y):.4f} (averaged)" in answer.stdout


def test_a_model_of_a_data_frame_goes_by_names(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    Perceptron().fit(frame, LABELS["words"]).save(tmp_path / "m")
    shuffled = frame[["c", "a", "b"]].assign(y=LABELS["words"])
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    wanted = "".join(f"{label}\n" for label in Perceptron.load(tmp_path / "m").predict(frame))
    assert run_well(f"predict {tmp_path / 'm'} {tmp_path / 'new.csv'}").stdout == wanted
    (tmp_path / "short.csv").write_text("a,b,y\n1,2,in\n")
    answer = run(f"predict {tmp_path / 'm'} {tmp_path / 'short.csv'}")
    assert answer.exit_code == 65
    assert "the model needs 'c'" in answer.stderr


def test_a_model_without_names_counts_the_columns(tmp_path):
    Perceptron().fit(X, LABELS["numbers"]).save(tmp_path / "m")
    (tmp_path / "wide.csv").write_text("a,b,c,d,y\n1,2,3,4,0\n")
    answer = run(f"predict {tmp_path / 'm'} {tmp_path / 'wide.csv'}")
    assert answer.exit_code == 2
    assert "4 feature columns, but the model has 3 features" in answer.stderr


def test_scores_are_those_of_the_library_to_the_last_bit(tmp_path):
    Perceptron().fit(X, LABELS["numbers"]).save(tmp_path / "m")
    (tmp_path / "new.csv").write_text(csv_of(X.tolist()))
    written = run_well(f"predict {tmp_path / 'm'} {tmp_path / 'new.csv'} --scores").stdout
    rows = [list(map(float, line.split("\t"))) for line in written.splitlines()]
    clf = Perceptron.load(tmp_path / "m")
    assert np.array_equal(np.array(rows)[:, 1:], clf.decision_function(X))


@pytest.mark.parametrize(
    ("name", "first"), [("out.csv", "label"), ("out.json", '{"line": 2, "label": 1}'), ("out.txt", "1")]
)
def test_the_name_of_the_output_says_its_format(tmp_path, name, first):
    Perceptron().fit(X, LABELS["numbers"]).save(tmp_path / "m")
    (tmp_path / "new.csv").write_text(csv_of(X.tolist()))
    run_well(f"predict {tmp_path / 'm'} {tmp_path / 'new.csv'} -o {tmp_path / name}")
    assert (tmp_path / name).read_text().splitlines()[0] == first


def test_a_model_of_several_batches_is_the_same_as_of_one(tmp_path, monkeypatch):
    Perceptron().fit(X, LABELS["words"]).save(tmp_path / "m")
    (tmp_path / "new.csv").write_text(csv_of(np.tile(X, (30, 1)).tolist()))
    whole = run_well(
        f"predict {tmp_path / 'm'} {tmp_path / 'new.csv'} --scores --lines --output-format csv"
    ).stdout
    monkeypatch.setattr("rosenblatt.cli.reading.BATCH_ROWS", 7)
    parts = run_well(
        f"predict {tmp_path / 'm'} {tmp_path / 'new.csv'} --scores --lines --output-format csv"
    ).stdout
    assert parts == whole
    assert whole.startswith("line,label,score:in,score:out,score:éloigné\n2,")


def test_a_truncated_model_says_so(tmp_path):
    Perceptron().fit(X, LABELS["words"]).save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    (tmp_path / "new.csv").write_text(csv_of(X.tolist()))
    for size in (0, 7, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "cut").write_bytes(content[:size])
        for command in ("predict {} {}", "evaluate {} {}", *(["info {}"] if size >= 100 else [])):
            answer = run(command.format(tmp_path / "cut", tmp_path / "new.csv"))
            assert answer.exit_code == 65
            assert "cut: not a model file, or a damaged one" in answer.stderr


def test_a_model_of_an_unknown_learner_says_so(tmp_path):
    run_well(f"fit sample:iris -m {tmp_path / 'm'}")
    model = load(str(tmp_path / "m"))
    model.save(str(tmp_path / "other"), {"learner": "oracle"}, False)
    answer = run(f"info {tmp_path / 'other'}")
    assert answer.exit_code == 65
    assert "a model of 'oracle', but this rosenblatt knows perceptron" in answer.stderr


@pytest.mark.parametrize(
    "about",
    [
        {"schema": {"kind": "libsvm", "n_features": 99}},
        {"schema": {"kind": "libsvm", "n_features": "4"}},
        {"schema": {"kind": "cloud"}},
        {"schema": []},
        {"schema": {"kind": "table", "columns": [{"name": 3}], "target": None, "labels": "text"}},
        {"hypothesis": "best"},
        {"learner": ["perceptron"]},
    ],
)
def test_a_hostile_model_gets_a_clear_error(tmp_path, about):
    run_well(f"fit sample:iris -m {tmp_path / 'm'}")
    header, arrays = read_file(tmp_path / "m")
    write_file(tmp_path / "other", header | {"about": header["about"] | about}, arrays)
    for command in (f"info {tmp_path / 'other'}", f"predict {tmp_path / 'other'} sample:iris"):
        answer = run(command)
        assert answer.exit_code == 65
        assert answer.stderr.startswith(f"{tmp_path / 'other'}: ")


def test_names_that_do_not_fit_are_no_names(tmp_path):
    run_well(f"fit sample:iris --no-scale -m {tmp_path / 'm'}")
    load(str(tmp_path / "m")).save(str(tmp_path / "wrong"), {"feature_names": 7}, False)
    assert "about.feature_names" in run(f"info {tmp_path / 'wrong'}").stderr
    load(str(tmp_path / "m")).save(str(tmp_path / "other"), {"feature_names": None, "schema": None}, False)
    assert "feature 1" in run_well(f"info {tmp_path / 'other'}").stdout
    assert run_well(f"predict {tmp_path / 'other'} sample:iris").stdout.startswith("setosa\n")


def test_a_line_of_several_files_must_be_told_apart(tmp_path):
    for name, first in (("a.svm", "1 1:1"), ("b.svm", "0 1:-1")):
        (tmp_path / name).write_text(f"{first}\n0 2:1\n1 1:3\n" + ("1 1:2\n" if name == "b.svm" else ""))
    model, both = tmp_path / "m", tmp_path / "*.svm"
    run_well(f"fit {tmp_path / 'a.svm'} --model {model}")
    answer = run(f"explain {model} '{both}' --line 1")
    assert answer.exit_code == 2
    assert "line 1 holds a row in 2 files: name one of them, or give --row N" in answer.stderr
    assert "a.svm:1 is row 1" in answer.stderr
    assert "b.svm:1 is row 4" in answer.stderr
    assert run_well(f"explain {model} '{both}' --line 4 --json").exit_code == 0  # only one has a fourth line
    assert run_well(f"explain {model} {tmp_path / 'b.svm'} --line 1").exit_code == 0


@pytest.mark.parametrize("form", ["", "--json"])
def test_info_describes_a_kernel_model(tmp_path, form):
    model = tmp_path / "m"
    run_well(f"fit sample:moons --learner kernel --kernel rbf --passes 2 --model {model}")
    told = run_well(f"info {model} {form}").stdout
    assert "rbf" in told
    assert "support" in told


def test_an_export_to_sql_says_which_columns_the_table_must_hold_as_numbers(tmp_path):
    rows = [
        f"$1,{100 + 7 * k % 900},2024-01-{1 + k % 28:02},{'ab'[k % 2]},{'xy'[k % 3 // 2]}" for k in range(40)
    ]
    (tmp_path / "t.csv").write_text(
        "price,day,kind,y\n" + "\n".join(f'"{r[:6]}"{r[6:]}' for r in rows) + "\n"
    )
    model = tmp_path / "m"
    run_well(["fit", str(tmp_path / "t.csv"), "--model", str(model), "--no-estimate"])
    notes = run_well(["export", str(model), str(tmp_path / "m.sql")]).stderr
    assert "needs 'price' as numbers" in notes
    assert 'needs the columns "day.days" and "day.weekday"' in notes
    assert "kind" not in notes
    assert not run_well(["export", str(model), str(tmp_path / "m.py")]).stderr


def test_an_exported_model_has_the_probabilities_of_predict(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3)) * [1.0, 100.0, 0.1] + [0.0, 7.0, 1.0]
    y = np.where(rows[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    table = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(y=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    run_well(f"fit {tmp_path / 't.csv'} --model {tmp_path / 'm'}")
    run_well(f"export {tmp_path / 'm'} {tmp_path / 'm.py'}")
    answer = run_well(f"predict {tmp_path / 'm'} {tmp_path / 't.csv'} --proba --output-format csv").stdout
    wanted = pd.read_csv(io.StringIO(answer))
    module = {}
    exec((tmp_path / "m.py").read_text(), module)
    exported = np.array([module["predict_proba"](row) for row in rows.tolist()])
    np.testing.assert_allclose(exported, wanted.iloc[:, -2:].to_numpy(), atol=1e-5)
    assert [module["predict"](row) for row in rows.tolist()] == wanted.iloc[:, 0].tolist()
