import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.linear.encoders import Attributes

TENNIS = {"Outlook": ["Sunny", "Rainy", "Sunny"], "Wind": [3.5, 0.0, 10.0], "Warm": [True, False, True]}
ROWS = [dict(zip(TENNIS, values, strict=True)) for values in zip(*TENNIS.values(), strict=True)]
MAKES = {
    "pandas": pd.DataFrame(TENNIS),
    "pandas category": pd.DataFrame(TENNIS).astype({"Outlook": "category"}),
    "polars": pl.DataFrame(TENNIS),
    "polars categorical": pl.DataFrame(TENNIS).with_columns(pl.col("Outlook").cast(pl.Categorical)),
    "pyarrow": pa.table(TENNIS),
    "pyarrow dictionary": pa.table({**TENNIS, "Outlook": pa.array(TENNIS["Outlook"]).dictionary_encode()}),
    "dicts": ROWS,
    "numpy objects": np.array([list(row.values()) for row in ROWS], dtype=object),
}


@parametrize_with_checks(
    [Attributes(), Attributes(scale=True, missing="mean"), Attributes(missing="error", sparse=False)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", MAKES)
def test_every_make_of_table_is_encoded_alike(make):
    attributes = Attributes().fit(MAKES[make])
    X = attributes.transform(MAKES[make])
    assert X.toarray().tolist() == [[0, 1, 3.5, 1], [1, 0, 0, 0], [0, 1, 10, 1]]
    if make != "numpy objects":
        assert attributes.get_feature_names_out().tolist() == [
            "Outlook=Rainy",
            "Outlook=Sunny",
            "Wind",
            "Warm",
        ]
        for other in MAKES.values():
            if not isinstance(other, np.ndarray):
                assert (attributes.transform(other) != X).sum() == 0


CATEGORIES = st.sampled_from(["a", "b", "c d", "ä"])


@settings(deadline=None)
@given(st.lists(st.tuples(CATEGORIES, st.floats(-1e9, 1e9), CATEGORIES), min_size=1, max_size=12))
def test_round_trip(rows):
    table = [{"p": p, "n": n, "q": q} for p, n, q in rows]
    attributes = Attributes(discrete=["p", "q"], numeric=["n"]).fit(table)
    names = attributes.get_feature_names_out()
    for row, vector in zip(table, attributes.transform(table).toarray(), strict=True):
        told = {name: x for name, x in zip(names, vector, strict=True) if x}
        back = {key: value for key, _, value in (name.partition("=") for name in told if "=" in name)}
        assert {**back, "n": told.get("n", 0.0)} == row


def test_the_same_as_the_command_line_reads_from_a_file(tmp_path):
    (tmp_path / "a.csv").write_text(
        "kind,n,mail,y\nu,1.5,win a prize now,1\nv,2,see you at nine,0\nu,3,all is well,1\n"
    )
    table = pd.read_csv(tmp_path / "a.csv").drop(columns="y")
    file = read_all(tmp_path / "a.csv", words="binary")
    attributes = Attributes().fit(table)
    assert attributes.get_feature_names_out().tolist() == file.feature_names
    assert (attributes.transform(table) != file.X).sum() == 0


def test_unseen_categories():
    new = [{"Outlook": "Foggy", "Wind": 1.0, "Warm": 1}]
    assert Attributes().fit(ROWS).transform(new).toarray().tolist() == [[0, 0, 1, 1]]
    with pytest.raises(ValueError, match=r"column 'Outlook' has 1 value\(s\) that training never saw"):
        Attributes(unseen="error").fit(ROWS).transform(new)


def test_missing_values():
    rows = [*ROWS, {"Outlook": None, "Warm": 1}]
    with pytest.raises(ValueError, match=r"X, row 3: column 'Wind' has no value: .* missing='mean'"):
        Attributes(missing="error").fit(rows)
    assert Attributes().fit(rows).get_feature_names_out()[-1] == "Wind=(missing)"
    assert Attributes().fit_transform(rows).toarray()[3].tolist() == [1, 0, 0, 4.5, 1, 1]
    attributes = Attributes(missing="mean").fit(rows)
    assert attributes.get_feature_names_out()[0] == "Outlook=(missing)"
    assert attributes.transform(rows).toarray()[3].tolist() == [1, 0, 0, 4.5, 1]
    assert attributes.transform([{"Outlook": "Rainy", "Wind": np.nan, "Warm": 0}]).toarray()[0, 3] == 4.5
    frame = pd.DataFrame(rows)
    assert (attributes.transform(frame) != attributes.transform(rows)).sum() == 0


def test_text_where_training_had_numbers_is_named():
    attributes = Attributes().fit(ROWS)
    with pytest.raises(ValueError, match="X, row 0: column 'Wind' is 'strong', not a number"):
        attributes.transform([{"Outlook": "Sunny", "Wind": "strong", "Warm": 1}])
    with pytest.raises(ValueError, match="X lacks the column 'Wind'"):
        attributes.transform([{"Outlook": "Sunny"}])


def test_what_the_caller_says_a_column_is():
    rows = [{"zip": 10, "n": 1}, {"zip": 20, "n": 2}]
    assert Attributes(discrete=["zip"]).fit(rows).get_feature_names_out().tolist() == [
        "zip=10",
        "zip=20",
        "n",
    ]
    words = Attributes(text=["t"]).fit([{"t": "a b"}, {"t": "b"}])
    assert words.transform([{"t": "b b z"}]).toarray().tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="no column is called 'x'"):
        Attributes(discrete=["x"]).fit(rows)


def test_in_a_pipeline():
    model = make_pipeline(Attributes(scale=True), Perceptron()).fit(MAKES["pandas"], ["no", "yes", "no"])
    assert model.predict(MAKES["polars"]).tolist() == ["no", "yes", "no"]
    assert model[:-1].get_feature_names_out()[0] == "Outlook=Rainy"


def test_scaled_columns_have_mean_0_and_deviation_1():
    rng = np.random.default_rng(0)
    X = Attributes(scale=True).fit_transform(rng.normal(5, 3, (50, 2)))
    assert np.allclose(X.mean(axis=0), 0)
    assert np.allclose(X.std(axis=0), 1)
