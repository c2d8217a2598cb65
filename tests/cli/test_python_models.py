"""A model of the command line in Python: rows must be prepared as in training, and loading says so."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import run_well

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.storage import read_about


def test_a_model_of_scaled_rows_warns_and_predicts_prepared_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(3) * [1.0, 1000.0]
    y = np.where(X[:, 0] + X[:, 1] / 1000 > 0, "yes", "no")
    rows = "\n".join(f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y, strict=True))
    (tmp_path / "t.csv").write_text(f"a,b,y\n{rows}\n")
    run_well("fit t.csv --model m.safetensors")
    with pytest.warns(UserWarning, match="trained on scaled rows"):
        clf = Perceptron.load("m.safetensors")
    prepared = read_all("t.csv", schema=read_about("m.safetensors")["schema"])
    frame = pd.DataFrame(prepared.X, columns=prepared.feature_names)
    assert clf.predict(frame).tolist() == run_well("predict m.safetensors t.csv").stdout.split()


def test_a_model_of_rows_as_they_are_does_not_warn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_well("fit sample:iris --no-scale --model m.safetensors")
    Perceptron.load("m.safetensors")
