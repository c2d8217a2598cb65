import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import Column, LibsvmSchema, TableSchema, Words, schema_from_dict
from rosenblatt.data.schema import Headerless
from rosenblatt.data.tables.preprocess import Preprocessing
from rosenblatt.data.tables.values import NumberFormat

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.builds(
    Words,
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.booleans(),
    st.sampled_from(["binary", "counts", "tfidf"]),
    st.sampled_from([0, 1, 16]),
)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
CATEGORIES = st.none() | st.lists(st.text(), unique=True).map(tuple)
COLUMNS = st.lists(
    st.builds(Column, NAMES, CATEGORIES)
    | st.builds(Column, NAMES, parts=st.sampled_from([("days",), ("days", "weekday", "hour"), ("hour",)]))
    | st.builds(Column, NAMES, boolean=st.just(True))
    | st.builds(Column, NAMES, format=st.sampled_from([NumberFormat(","), NumberFormat(".", True, "")]))
    | st.builds(Column, NAMES, st.lists(st.text(), unique=True).map(tuple), WORDS),
    min_size=1,
    unique_by=lambda column: column.name,
).map(tuple)


@st.composite
def tables(draw):
    columns = draw(COLUMNS)
    names = [column.name for column in columns]
    target = draw(st.none() | NAMES.filter(lambda name: name not in names))
    every = (*names, *([] if target is None else [target]))
    headerless = draw(st.none() | st.builds(Headerless, st.just(every), st.sampled_from(",\t;")))
    schema = TableSchema(columns, target, draw(st.sampled_from(["integer", "number", "text"])), headerless)
    width = schema.raw_features if schema.numeric is None else len(schema.numeric)
    values = tuple(draw(st.lists(FINITE, min_size=width, max_size=width)))
    spread = draw(st.none() | st.just((2.0,) * width))
    centre = None if spread is None else values
    fitted = Preprocessing(schema.raw_features, schema.numeric, "indicator", values, centre, spread)
    return replace(schema, preprocessing=draw(st.none() | st.just(fitted)))


SCHEMAS = st.builds(LibsvmSchema, st.integers(0, 2**31), st.booleans()) | tables()


@settings(deadline=None)
@given(SCHEMAS)
def test_it_survives_json(schema):
    assert schema_from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@settings(deadline=None)
@given(SCHEMAS.filter(lambda schema: isinstance(schema, TableSchema)))
def test_every_feature_has_a_name(schema):
    assert len(schema.feature_names) == schema.n_features


ONE = {"kind": "table", "columns": [{"name": "a", "categories": None}], "target": None, "labels": "text"}
WORDS_OF_JSON = {"ngrams": [1, 1], "lowercase": True, "binary": True, "buckets": 0}


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "pickle"},
        {"kind": "libsvm"},
        {"kind": "libsvm", "n_features": "many"},
        {"kind": "libsvm", "n_features": -1},
        {"kind": "table", "columns": 3, "target": None, "labels": "text"},
        {"kind": "table", "columns": [{"name": 1, "categories": None}], "target": None, "labels": "text"},
        {"kind": "table", "columns": [{"name": "a", "categories": [1]}], "target": None, "labels": "text"},
        {"kind": "table", "columns": [], "target": None, "labels": "text"},
        {
            "kind": "table",
            "columns": [{"name": "a", "categories": None}] * 2,
            "target": None,
            "labels": "text",
        },
        {"kind": "table", "columns": [{"name": "a", "categories": None}], "target": 5, "labels": "text"},
        {"kind": "table", "columns": [{"name": "a", "categories": None}], "target": None, "labels": "colour"},
        {**ONE, "columns": [{"name": "a", "categories": None, "words": {"ngrams": [1, 1]}}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "words": WORDS_OF_JSON}]},
        {**ONE, "columns": [{"name": "a", "categories": [], "words": {**WORDS_OF_JSON, "ngrams": [2, 1]}}]},
        {**ONE, "columns": [{"name": "a", "categories": [], "words": {**WORDS_OF_JSON, "buckets": 2**60}}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "scale": [0.0, 0.0]}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "scale": ["nan", 1.0]}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "scale": 3}]},
        {**ONE, "headerless": {"names": [1], "separator": ","}},
        {**ONE, "columns": [{"name": "a", "categories": ["x"], "scale": [0.0, 1.0]}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "parts": ["hour", "days"]}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "boolean": 1}]},
        {**ONE, "columns": [{"name": "a", "categories": [], "boolean": True}]},
        {**ONE, "columns": [{"name": "a", "categories": None, "format": {"decimal": "x"}}]},
        {**ONE, "preprocessing": {"raw_features": 1}},
        {**ONE, "preprocessing": Preprocessing(2, None, "mean", (1.0, 2.0)).to_dict()},
        {**ONE, "headerless": 5},
    ],
)
def test_anything_else_is_refused(stored):
    with pytest.raises(ValueError, match="not a schema"):
        schema_from_dict(stored)


def test_a_schema_of_the_version_before_keeps_its_scale_and_refuses_gaps():
    columns = [{"name": "a", "categories": None, "scale": [3.0, 2.0]}, {"name": "b", "categories": None}]
    schema = schema_from_dict({**ONE, "columns": [*columns, {"name": "c", "categories": ["x"]}]})
    fitted = schema.preprocessing
    assert (fitted.centre, fitted.spread, fitted.missing) == ((3.0, 0.0), (2.0, 1.0), "refuse")
    assert schema.feature_names == ["a", "b", "c=x"]
    assert schema_from_dict(ONE).missing == "refuse"
