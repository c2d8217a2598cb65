import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.options import ReadOptions
from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.data.tables.delimited import Rows
from rosenblatt.data.tables.encode import encode
from rosenblatt.data.tables.learn import learn_schema
from rosenblatt.data.tables.values import number, numbers


def schema_of(blocks, names, target=None, **options):
    rows = [Rows(block, np.arange(len(next(iter(block.values())))), []) for block in blocks]
    return learn_schema(lambda: rows, names, target, ReadOptions(**options)).schema


# Seed 004, "encoding attributes": outlook, temperature and whether tennis is played.
TENNIS = {
    "Outlook": pa.array(["Sunny", "Overcast", "Rainy", "Sunny"]),
    "Temperature": pa.array(["30", "22.5", "0", "25"]),
    "Play": pa.array(["no", "yes", "no", "yes"]),
}


def test_discrete_columns_become_one_hot_and_numeric_ones_stay():
    schema = schema_of([TENNIS], ["Outlook", "Temperature"], "Play")
    assert schema.feature_names == ["Outlook=Overcast", "Outlook=Rainy", "Outlook=Sunny", "Temperature"]
    found = encode(TENNIS, schema)
    assert found.X.toarray().tolist() == [[0, 0, 1, 30], [1, 0, 0, 22.5], [0, 1, 0, 0], [0, 0, 1, 25]]
    assert found.X.has_sorted_indices
    assert found.y.tolist() == ["no", "yes", "no", "yes"]


def test_numbers_alone_stay_dense():
    columns = {"a": pa.array(["1", "2"]), "b": pa.array(["+3", " 4e1"])}
    schema = schema_of([columns], ["a", "b"], None)
    found = encode(columns, schema)
    assert isinstance(found.X, np.ndarray)
    assert found.X.tolist() == [[1, 3], [2, 40]]
    assert found.y is None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2", "x"], "discrete"),
        (["1", "", "2"], "numeric"),
        (["1", "?", "NA"], "numeric"),
        (["1", "nan", "inf", "2"], "numeric"),
        (["1_000", "1", "2"], "discrete"),
        (["True", "False", "True"], "boolean"),
    ],
)
def test_a_column_is_numeric_when_every_value_it_has_is_a_number(values, kind):
    blocks = [{"a": pa.array([value])} for value in values]  # the kind may show in a late block
    (column,) = schema_of(blocks, ["a"], None).columns
    assert column.kind == {"discrete": "category"}.get(kind, kind)
    if kind == "discrete":
        assert column.categories == tuple(sorted(set(values)))


@pytest.mark.parametrize(
    ("values", "kind", "dtype"),
    [
        (["1", "-1"], "integer", np.int64),
        (["+1", "1.0"], "integer", np.int64),
        (["9007199254740993", "9007199254740992"], "integer", np.int64),
        (["0.5", "1"], "number", np.float64),
        (["1", "b"], "text", np.str_),
        (["NA", "b"], "text", np.str_),
    ],
)
def test_labels_keep_their_kind(values, kind, dtype):
    columns = {"a": pa.array(["1"] * 2), "y": pa.array(values)}
    schema = schema_of([columns], ["a"], "y")
    assert schema.labels == kind
    y = encode(columns, schema).y
    assert np.issubdtype(y.dtype, dtype)
    read = {"integer": lambda text: int(text.removesuffix(".0")), "number": float, "text": str}[kind]
    assert y.tolist() == [read(text) for text in values]


def test_a_row_that_cannot_be_encoded_teaches_nothing():
    columns = {
        "n": pa.array(["1", "", "inf"]),
        "d": pa.array(["a", "b", "c"]),
        "y": pa.array(["0", "1", "0"]),
    }
    schema = schema_of([columns], ["n", "d"], "y", missing="refuse")
    assert schema.feature_names == ["n", "d=a"]
    encoded = encode(columns, schema)
    assert encoded.rows.tolist() == [0]
    assert list(encoded.bad) == [1, 2]
    assert "column 'n' has no value: fill it in" in encoded.bad[1][0]
    assert "column 'n' is 'inf', not a finite number" in encoded.bad[2][0]


def test_missing_is_a_category_when_seen_in_training():
    schema = TableSchema((Column("with", ("", "a")), Column("without", ("a",))))
    assert schema.feature_names == ["with=(missing)", "with=a", "without=a"]
    found = encode({"with": pa.array(["", "a"]), "without": pa.array(["", "a"])}, schema)
    assert found.X.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]
    assert found.unseen == {"without": 1}


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "", "é", "1"]), min_size=1, max_size=30))
def test_every_row_has_exactly_one_hot_feature(values):
    columns = {"d": pa.array([*values, "text"])}
    schema = schema_of([columns], ["d"], None, category=["d"])
    X = encode(columns, schema).X.toarray()
    assert (X.sum(axis=1) == 1).all()
    hot = [schema.columns[0].categories[place] for place in X.argmax(axis=1)]
    assert hot == [*values, "text"]


@settings(deadline=None)
@given(
    st.lists(st.floats().map(repr) | st.text(max_size=5) | st.sampled_from(["1e5", "+1", ".5", "5.", "1_0"]))
)
def test_the_fast_and_the_slow_reading_of_numbers_agree(texts):
    alone = [numbers(pa.array([text], pa.string()))[0] for text in texts]
    slow = [np.nan if number(text) is None else number(text) for text in texts]
    np.testing.assert_array_equal(numbers(pa.array(texts, pa.string())), np.array(slow, float))
    np.testing.assert_array_equal(alone, slow)


CELL = st.sampled_from(["1", "2.5", "red", "blue", "", "NA", "nan", "x y", "inf"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=12), st.integers(1, 5))
def test_statistics_teach_what_the_values_teach(rows, block_rows):
    """Categories are taken from the statistics where no row is bad, else from one more read."""
    blocks = [
        {name: pa.array([row[at] for row in rows[lo : lo + block_rows]]) for at, name in enumerate("aby")}
        for lo in range(0, len(rows), block_rows)
    ]
    try:
        learned = schema_of(blocks, ["a", "b"], "y")
    except ValueError:  # both columns are constant
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.tables.learn._known_already", lambda *_: None)
        again = schema_of(blocks, ["a", "b"], "y")
    assert again.columns == learned.columns
    assert again.feature_names == learned.feature_names
    assert (again.preprocessing is None) == (learned.preprocessing is None)
    if again.preprocessing is not None:
        assert again.preprocessing.fill == pytest.approx(learned.preprocessing.fill)
