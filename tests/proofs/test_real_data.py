"""Answers on real data, each with its proof; skipped where the data are not there."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.proofs import Inseparable, QuasiSeparable, Separable, separability

BESIDE = Path(__file__).parents[3] / "shared" / "data"
DATA = Path(os.environ.get("ROSENBLATT_DATA", BESIDE))
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(),
    reason=f"real data not found in {DATA}; set ROSENBLATT_DATA to the folder that holds them",
)


def table(name):
    with (DATA / "uci" / f"{name}.csv").open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows[0][0].replace(".", "").replace("-", "").isdigit():
        rows = rows[1:]
    return np.array([[float(v) for v in row[:-1]] for row in rows]), np.array([row[-1] for row in rows])


def libsvm(name):
    values, columns, starts, labels = [], [], [0], []
    with gzip.open(DATA / "libsvm" / f"{name}.gz", "rt") as file:
        for line in file:
            if not line.strip():
                continue
            label, *pairs = line.split()
            labels.append(float(label))
            for pair in pairs:
                column, value = pair.split(":")
                columns.append(int(column) - 1)
                values.append(float(value))
            starts.append(len(values))
    return sp.csr_array((np.array(values), np.array(columns), np.array(starts))), np.array(labels)


def mnist(first, second):
    with gzip.open(DATA / "mnist" / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), dtype=np.uint8, offset=8)
    with gzip.open(DATA / "mnist" / "train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), dtype=np.uint8, offset=16).reshape(-1, 784)
    keep = (y == first) | (y == second)
    return X[keep], y[keep]


@pytest.mark.parametrize("name", ["sonar", "iris setosa"])
def test_separable_tables(name):
    X, y = table(name.split()[0])
    if name == "iris setosa":
        y = y == "Iris-setosa"
    proof = separability(X, y)
    assert isinstance(proof, Separable)
    assert proof.verify(X, y)


@pytest.mark.parametrize(
    ("name", "kind"), [("ionosphere", QuasiSeparable), ("banknote_authentication", Inseparable)]
)
def test_inseparable_tables(name, kind):
    X, y = table(name)
    proof = separability(X, y)
    assert isinstance(proof, Inseparable)
    assert type(proof) is kind
    assert proof.verify(X, y)
    assert len(proof.culprits) <= X.shape[1] + 2


def test_mushrooms_are_separable():
    X, y = libsvm("mushrooms")
    proof = separability(X, y)
    assert isinstance(proof, Separable)
    assert proof.verify(X, y)


@pytest.mark.parametrize(("name", "touching"), [("heart_scale", True), ("a9a", True), ("w8a", False)])
def test_inseparable_sparse_sets(name, touching):
    X, y = libsvm(name)
    proof = separability(X, y, touching=touching)
    assert isinstance(proof, Inseparable)
    assert proof.verify(X, y)


def test_mnist_zeros_and_ones_are_separable():
    X, y = mnist(0, 1)
    proof = separability(X, y)
    assert isinstance(proof, Separable)
    assert proof.verify(X, y)


def test_mnist_threes_and_fives_are_not():
    X, y = mnist(3, 5)
    proof = separability(X, y)
    assert isinstance(proof, Inseparable)
    assert proof.verify(X, y)
    assert len(proof.culprits) <= 786
