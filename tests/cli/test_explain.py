"""``explain`` and ``info`` show a model of standardised columns in the units of the columns."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import run_well

from rosenblatt.data.tables.preprocess import Preprocessing
from rosenblatt.learner.explain import BIAS, explain_row, in_own_units

ROWS = 60


@pytest.fixture
def table(tmp_path):
    """Return a table of measurements far from zero, a category, a date, a text and gaps."""
    rng = np.random.default_rng(3)
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["day", "colour", "size", "weight", "remark", "kind"])
        for i in range(ROWS):
            size, weight = rng.normal(50, 10), rng.normal(2e6, 300)
            colour = ("red", "green", "blue")[i % 3]
            total = (size - 50) / 10 + (weight - 2e6) / 300 + (colour == "red")
            kind = "high" if total > 0.7 else "low" if total < -0.4 else "middle"
            remark = f"{'heavy' if weight > 2e6 else 'light'} thing number {i % 7} seen"
            writer.writerow(
                [
                    f"2024-0{1 + i % 9}-1{i % 10}",
                    colour,
                    "" if i % 7 == 0 else f"{size:.3f}",
                    f"{weight:.2f}",
                    remark,
                    kind,
                ]
            )
    return str(path)


def explained(model, table, row, *more):
    return json.loads(run_well(["explain", model, table, "--row", str(row), "--json", *more]).stdout)


@pytest.mark.parametrize("learner", ["perceptron", "logistic", "centroid"])
def test_contributions_in_the_units_of_the_columns_add_up_to_the_score(table, tmp_path, learner):
    model = str(tmp_path / "m.safetensors")
    run_well(["fit", table, "--text", "remark", "--learner", learner, "--no-estimate", "--model", model])
    scores = [
        json.loads(line)["score"]
        for line in run_well(
            ["predict", model, table, "--scores", "--output-format", "json"]
        ).stdout.splitlines()
    ]
    with Path(table).open() as file:
        cells = list(csv.DictReader(file))
    for row in (1, 2, 8, 30):  # rows 1 and 8 have a gap
        answer = explained(model, table, row)
        expected = scores[row - 1][answer["for"]]
        parts = {part["feature"]: part for part in answer["parts"]}
        assert math.fsum(part["contribution"] for part in answer["parts"]) == answer["score"]
        assert answer["score"] == pytest.approx(expected, rel=1e-7, abs=1e-6)
        assert math.fsum(part["from_average"] for part in answer["parts"]) == pytest.approx(
            expected, abs=1e-6
        )
        assert parts["weight"]["value"] == float(cells[row - 1]["weight"])
        assert parts["weight"]["contribution"] == parts["weight"]["value"] * parts["weight"]["weight"]
        assert ("size=(missing)" in parts) == (cells[row - 1]["size"] == "")
        order = [abs(part["from_average"]) for part in answer["parts"]]
        assert order == sorted(order, reverse=True)
        against = explained(model, table, row, "--label", "low", "--against", "high")
        difference = scores[row - 1]["low"] - scores[row - 1]["high"]
        assert against["score"] == pytest.approx(difference, rel=1e-7, abs=1e-6)


def test_weights_of_info_are_those_of_an_export(table, tmp_path):
    model, source = str(tmp_path / "m.safetensors"), str(tmp_path / "model.py")
    run_well(["fit", table, "--drop", "remark", "--no-estimate", "--model", model])
    report = json.loads(run_well(["info", model, "--top", "99", "--json"]).stdout)
    weights = {name: dict(own["towards"]) for name, own in report["weights"].items()}
    answer = explained(model, table, 2, "--label", "high")
    for part in answer["parts"]:
        if part["feature"] in weights["high"]:
            assert part["weight"] == weights["high"][part["feature"]]
        if part["feature"] == BIAS:
            assert part["weight"] == report["weights"]["high"]["bias"]
    for own in report["weights"].values():
        assert own["standardised"] == sorted(own["standardised"], reverse=True)
    assert "units of the columns" in run_well(["info", model]).stdout
    assert "from average" in run_well(["explain", model, table, "--row", "2"]).stdout
    run_well(["export", model, source])


def test_a_model_of_columns_as_they_are_has_no_average(table, tmp_path):
    model = str(tmp_path / "m.safetensors")
    run_well(["fit", table, "--no-scale", "--drop", "remark", "--no-estimate", "--model", model])
    answer = explained(model, table, 2)
    assert all("from_average" not in part for part in answer["parts"])
    assert "units of the columns" not in run_well(["info", model]).stdout
    assert "from average" not in run_well(["explain", model, table, "--row", "2"]).stdout


def test_a_regression_is_explained_in_the_units_of_the_columns(tmp_path):
    rng = np.random.default_rng(5)
    lines = [
        f"{a:.3f},{b:.1f},{2 * a + b / 100:.4f}"
        for a, b in zip(rng.normal(5, 1, 50), rng.normal(1e4, 99, 50), strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *lines]))
    model = str(tmp_path / "m.safetensors")
    run_well(["fit", str(tmp_path / "t.csv"), "--task", "regression", "--no-estimate", "--model", model])
    answer = explained(model, str(tmp_path / "t.csv"), 4)
    values = {part["feature"]: part["value"] for part in answer["parts"]}
    assert values["a"] == float(lines[3].split(",")[0])
    assert answer["score"] == pytest.approx(float(answer["predicted"]), rel=1e-9)


def test_a_value_of_zero_is_a_distance_from_the_average():
    fitted = Preprocessing.fit(np.array([[1.0, 0.0], [5.0, 0.0], [3.0, 1.0]]), numeric=[0], scale=True)
    weights, average = in_own_units(np.array([[0.5, 2.0, 1.0]]), fitted)
    explanation = explain_row(weights, [0.0, 0.0], ["no", "yes"], ["a", "b"], average=average)
    assert [part.feature for part in explanation.parts] == ["a", BIAS]
    assert explanation.parts[0].contribution == 0.0
    assert explanation.parts[0].from_average == pytest.approx(-2.0 * 3.0 / np.std([1.0, 5.0, 3.0]))
    assert explanation.parts[1].from_average == pytest.approx(0.5)
