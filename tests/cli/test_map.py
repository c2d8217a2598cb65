"""``fit --map quadratic``: stored in the model file and applied wherever the model is; and the choice of ``--auto``."""

import json
import shlex

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from tests.cli.commands import run, run_well

from rosenblatt import Perceptron
from rosenblatt.cli.fit import auto
from rosenblatt.data.tables.preprocess import (
    PreprocessingPlan,
    features_before,
    quadratic,
    quadratic_names,
    quadratic_size,
)
from rosenblatt.learner.choice import Candidate
from rosenblatt.rules import AROW, PassiveAggressive, Pegasos


@pytest.fixture
def ring(tmp_path):
    """Return a table whose classes a circle separates, with a category, a gap and names that need quotes."""
    rng = np.random.default_rng(4)
    path, lines = tmp_path / "ring.csv", ["x value,y value,side,number,class"]
    for i in range(80):
        x, y = rng.normal(100, 3), rng.normal(-5, 0.1)
        inside = ((x - 100) / 3) ** 2 + ((y + 5) / 0.1) ** 2 < 1.4
        gap = "" if i == 11 else f"{x:.4f}"
        lines.append(
            f"{gap},{y:.5f},{'left' if i % 3 else 'right'},{1000 + 7 * i},{'in' if inside else 'out'}"
        )
    path.write_text("\n".join(lines))
    return str(path)


def test_counts_and_names_of_mapped_features():
    X = np.arange(12.0).reshape(3, 4)
    assert quadratic(X).shape[1] == quadratic_size(4) == len(quadratic_names(list("abcd")))
    assert [features_before(quadratic_size(d)) for d in range(50)] == list(range(50))
    for number in (1, 3, 4, 6, 13):
        with pytest.raises(ValueError, match="no quadratic map"):
            features_before(number)


def test_a_mapped_fit_is_the_perceptron_on_mapped_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, (60, 2))
    y = np.where(((X - 3.0) ** 2).sum(axis=1) < 6.0, "in", "out")
    path, model = tmp_path / "t.csv", str(tmp_path / "m.safetensors")
    path.write_text(
        "a,b,y\n" + "\n".join(f"{a!r},{b!r},{label}" for (a, b), label in zip(X.tolist(), y, strict=True))
    )
    run_well(["fit", str(path), "--map", "quadratic", "--no-shuffle", "--model", model])
    scaled = PreprocessingPlan(scale=True).fit(X).apply(X)
    expected = Perceptron(PassiveAggressive(C=0.1), max_iter=20, shuffle=False).fit(quadratic(scaled), y)
    lines = run_well(["predict", model, str(path), "--scores"]).stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == expected.predict(quadratic(scaled)).tolist()
    scores = [float(line.split("\t")[1]) for line in lines]
    np.testing.assert_allclose(scores, expected.decision_function(quadratic(scaled)), rtol=1e-9)
    assert json.loads(run_well(["evaluate", model, str(path), "--json"]).stdout)["rows"] == 60


def test_every_command_takes_or_refuses_a_mapped_model(ring, tmp_path):
    model, report = str(tmp_path / "m.safetensors"), str(tmp_path / "page.html")
    command = [
        "fit",
        ring,
        "--map",
        "quadratic",
        "--drop",
        "number",
        "--model",
        model,
        "--report",
        report,
        "--json",
    ]
    fitted = json.loads(run_well(command).stdout)
    assert fitted["map"] == "quadratic"
    assert fitted["estimate"]["accuracy"] > 0.8
    assert "quadratic map" in run_well(["info", model]).stdout
    answer = json.loads(run_well(["explain", model, ring, "--row", "3", "--json"]).stdout)
    score = float(run_well(["predict", model, ring, "--scores"]).stdout.splitlines()[2].split("\t")[1])
    assert answer["units"] == "of standardised columns"
    assert abs(answer["score"]) == pytest.approx(abs(score))
    assert "x value^2" in {part["feature"] for part in answer["parts"]}
    assert "standard deviations" in run_well(["explain", model, ring, "--row", "3"]).stdout
    refused = run(["export", model, str(tmp_path / "m.onnx")])
    assert refused.exit_code == 2
    assert "--kernel poly" in refused.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--learner", "centroid"],
        ["--out-of-core"],
        ["--trace", "-"],
        ["--engine", "local"],
        ["--task", "regression"],
        ["--auto"],
    ],
)
def test_a_map_is_refused_where_it_cannot_be(ring, arguments):
    answer = run(["fit", ring, "--map", "quadratic", *arguments])
    assert answer.exit_code == 2
    assert "map" in answer.stderr


def test_a_file_whose_map_does_not_fit_its_weights_is_refused(ring, tmp_path):
    model, wrong = str(tmp_path / "m.safetensors"), str(tmp_path / "wrong.safetensors")
    run_well(["fit", ring, "--drop", "number", "--no-estimate", "--model", model])
    with safe_open(model, "numpy") as file:
        metadata = file.metadata()
    (key,) = (key for key, value in metadata.items() if '"about"' in value)
    header = json.loads(metadata[key])
    header["about"]["map"] = "quadratic"
    save_file(load_file(model), wrong, {**metadata, key: json.dumps(header)})
    answer = run(["predict", wrong, ring])
    assert answer.exit_code == 65
    assert "feature" in answer.stderr


CANDIDATES = {
    "rule": Candidate(PassiveAggressive(C=0.1), ("last",)),
    "pegasos": Candidate(Pegasos(lam=0.01), ("averaged",)),
    "map": Candidate(AROW(r=1.0), ("averaged",), map="quadratic"),
    "poly": Candidate(PassiveAggressive(C=0.1), ("averaged",), kernel="poly", degree=3),
    "rbf": Candidate(PassiveAggressive(C=1.0), ("averaged",), kernel="rbf", gamma=0.25),
}


@pytest.mark.parametrize("kind", CANDIDATES)
@pytest.mark.parametrize("more", [[], ["--certify", "0.9", "--seed", "3"]], ids=["all rows", "certified"])
def test_the_command_that_auto_prints_trains_the_same_model(ring, tmp_path, monkeypatch, kind, more):
    monkeypatch.setattr(auto, "_candidates", lambda rows: [CANDIDATES[kind]])
    first, again = str(tmp_path / "first"), str(tmp_path / "again")
    reading = ["--id", "number", "--category", "side", "--missing", "median", "--target", "class", *more]
    command = ["fit", ring, "--auto", "--model", first, "--json", *reading]
    chosen = json.loads(run_well(command).stdout)["auto"]["command"]
    words = shlex.split(chosen)
    assert words[:2] == ["rosenblatt", "fit"]
    run_well([*words[1:], "--model", again])
    one, two = load_file(first), load_file(again)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    assert run_well(["predict", first, ring]).stdout == run_well(["predict", again, ring]).stdout


def test_auto_tries_a_quadratic_map_of_a_small_table(ring):
    answer = json.loads(run_well(["fit", ring, "--auto", "--json", "--drop", "number"]).stdout)
    assert any("quadratic map" in each["learner"] for each in answer["auto"]["tried"])
    assert "--drop number" in answer["auto"]["command"]
