"""The default ``fit`` does not depend on the units of the columns: labels stay when columns are scaled and shifted."""

import csv

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from tests.cli.commands import run_well

SMALL = 1e-6  # of the largest score: below, rounding may decide


def mixed():
    """Return numbers with gaps, a category, and labels of two classes that overlap."""
    rng = np.random.default_rng(11)
    X = np.column_stack(
        [rng.normal(5, 2, 150), rng.lognormal(0, 1, 150), rng.integers(0, 9, 150).astype(float)]
    )
    colours = rng.choice(["red", "green", "blue"], 150)
    y = X[:, 0] - 5 + np.log(X[:, 1]) + (colours == "red") + rng.normal(0, 0.7, 150) > 0
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, np.where(y, "yes", "no"), colours


def sets():
    for load in (load_iris, load_wine, load_breast_cancer):
        data = load()
        yield load.__name__, np.asarray(data.data, float), np.asarray(data.target_names)[data.target], None
    yield "mixed", *mixed()


def written(path, X, y, colours):
    """Write a table; every number is written so that it is read back as it is."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [*(f"x{j}" for j in range(X.shape[1])), *([] if colours is None else ["colour"]), "class"]
        )
        for i, row in enumerate(X.tolist()):
            cells = ["" if np.isnan(value) else repr(value) for value in row]
            writer.writerow([*cells, *([] if colours is None else [colours[i]]), y[i]])
    return str(path)


def predictions(folder, X, y, colours):
    """Return the predicted labels, and how far each row is from the nearest boundary, as a share of the farthest."""
    table, model = written(folder / "t.csv", X, y, colours), str(folder / "m.safetensors")
    run_well(["fit", table, "--target", "class", "--no-estimate", "--model", model])
    lines = run_well(["predict", model, table, "--scores"]).stdout.splitlines()
    scores = np.array([line.split("\t")[1:] for line in lines], float)
    if scores.shape[1] == 1:
        lead = np.abs(scores[:, 0])
    else:
        ordered = np.sort(scores, axis=1)
        lead = ordered[:, -1] - ordered[:, -2]
    return np.array([line.split("\t")[0] for line in lines]), lead / np.abs(scores).max()


@pytest.mark.parametrize("case", list(sets()), ids=lambda case: case[0])
@pytest.mark.parametrize(
    ("factor", "deviations"),
    [(1e4, 0.0), (1e-4, 0.0), (1.0, 100.0), (1e4, 100.0), (1e-4, -100.0), ("each its own", 100.0)],
)
def test_labels_stay_when_columns_are_scaled_and_shifted(tmp_path, case, factor, deviations):
    _, X, y, colours = case
    factors = 10.0 ** np.linspace(-4, 4, X.shape[1]) if isinstance(factor, str) else factor
    moved = (X + deviations * np.nanstd(X, axis=0)) * factors
    labels, lead = predictions(tmp_path, X, y, colours)
    again, lead_again = predictions(tmp_path, moved, y, colours)
    sure = (lead > SMALL) & (lead_again > SMALL)
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(labels[sure], again[sure])
