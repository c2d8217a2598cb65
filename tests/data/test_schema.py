import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import Column, LibsvmSchema, TableSchema, schema_from_dict

CATEGORIES = st.none() | st.lists(st.text(), unique=True).map(tuple)
COLUMNS = st.lists(
    st.builds(Column, st.text(), CATEGORIES), min_size=1, unique_by=lambda column: column.name
).map(tuple)
SCHEMAS = st.builds(LibsvmSchema, st.integers(0, 2**31), st.booleans()) | st.builds(
    TableSchema, COLUMNS, st.none() | st.text(), st.sampled_from(["integer", "number", "text"])
)


@settings(deadline=None)
@given(SCHEMAS)
def test_it_survives_json(schema):
    assert schema_from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@settings(deadline=None)
@given(SCHEMAS.filter(lambda schema: isinstance(schema, TableSchema)))
def test_every_feature_has_a_name(schema):
    assert len(schema.feature_names) == schema.n_features


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
    ],
)
def test_anything_else_is_refused(stored):
    with pytest.raises(ValueError, match="not a schema"):
        schema_from_dict(stored)
