import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn import datasets

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.samples import SAMPLES, load_sample

LOADERS = {
    "breast-cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
}


@pytest.mark.parametrize("name", LOADERS)
def test_shipped_samples_are_those_of_scikit_learn(name):
    theirs = LOADERS[name]()
    ours = read_all(f"sample:{name}")
    assert ours.X.dtype == np.float64
    assert (theirs.data == ours.X).all()
    assert ours.feature_names == list(theirs.feature_names)
    assert ours.y.tolist() == theirs.target_names[theirs.target].tolist()
    assert ours.y.dtype.kind == ("i" if name == "digits" else "U")


@pytest.mark.parametrize("name", ["separable", "xor", "circles", "moons"])
def test_drawn_samples_are_the_same_every_time(name):
    one, other = load_sample(name), load_sample(name)
    assert one.X.tobytes() == other.X.tobytes()
    assert one.X.shape == (200, 2)
    assert sorted(set(one.y.tolist())) == [-1, 1]
    assert 60 <= (one.y == 1).sum() <= 140
    assert one.y.dtype == np.int64


def test_separable_has_a_clear_margin():
    sample = load_sample("separable")
    margin = (sample.y * (sample.X @ [2, -1] - 0.3)).min() / np.sqrt(5)
    assert margin >= 0.15 - 1e-12


def separating(X, y):
    """Whether some (w, b) has y·(w·x + b) ≥ 1 on every row, by linear programming."""
    A = -y[:, None] * np.column_stack([X, np.ones(y.size)])
    return linprog(np.zeros(A.shape[1]), A, -np.ones(y.size), bounds=(None, None)).status == 0


@pytest.mark.parametrize("name", ["xor", "circles", "moons"])
def test_the_others_are_separable_only_after_a_feature_map(name):
    X, y, _ = load_sample(name)
    powers = [X[:, 0] ** i * X[:, 1] ** j for i in range(4) for j in range(4 - i)]
    assert separating(load_sample("separable").X, load_sample("separable").y)
    assert not separating(X, y)
    assert separating(np.column_stack(powers), y)


def test_an_unknown_name_lists_the_names():
    with pytest.raises(BadInput) as caught:
        open_examples("sample:irises")
    assert all(name in str(caught.value) for name in SAMPLES)


def test_scikit_learn_and_pyarrow_are_not_imported(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    code = (
        "import sys; from rosenblatt.data import read_all\n"
        f"read_all('sample:wine'); read_all({str(tmp_path / 'a.svm')!r})\n"
        "assert not {'sklearn', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_sample_is_encoded_as_the_model_was_trained():
    whole = read_all("sample:iris")
    stored = whole.schema.to_dict()
    stored["columns"] = stored["columns"][::-1]
    assert (whole.X[:, ::-1] == read_all("sample:iris", schema=stored).X).all()
    with pytest.raises(BadInput, match="does not fit the model"):
        open_examples("sample:wine", schema=stored)
    with pytest.raises(BadInput, match="does not fit the model, which was trained on LIBSVM text"):
        open_examples("sample:wine", schema={"kind": "libsvm", "n_features": 13})


def test_a_model_of_a_sample_reads_a_table(tmp_path):
    iris = read_all("sample:iris")
    table = [",".join([*iris.feature_names, "class"])]
    table += [",".join([*map(repr, row), label]) for row, label in zip(iris.X.tolist(), iris.y, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(table))
    found = read_all(tmp_path / "iris.csv", schema=iris.schema)
    assert (found.X == iris.X).all()
    assert (found.y == iris.y).all()


def test_the_target_of_a_sample_is_fixed():
    with pytest.raises(BadInput, match="its target is 'class'"):
        open_examples("sample:iris", target="petal width (cm)")


def test_a_sample_is_scaled_when_asked_and_as_it_was_when_trained():
    plain, scaled = read_all("sample:wine"), read_all("sample:wine", scale=True)
    expected = (plain.X - plain.X.mean(axis=0)) / plain.X.std(axis=0)
    np.testing.assert_allclose(scaled.X, expected, atol=1e-9)
    assert np.array_equal(read_all("sample:wine", schema=scaled.schema).X, scaled.X)
