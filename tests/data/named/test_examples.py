"""Sources of named features: words are weighed by tf-idf, from a first read or as rows arrive."""

import json

import numpy as np
import pytest

from rosenblatt.data import BadInput, NamedSchema, Words, open_examples, read_all, schema_from_dict
from rosenblatt.data.named import examples as named_examples
from rosenblatt.data.named.json_lines import flattened

TEXTS = [
    ("free prize call now free", "spam"),
    ("see you at lunch then", "ham"),
    ("call me about the prize lunch", "ham"),
    ("now or never: free free free", "spam"),
]


@pytest.fixture
def folder(tmp_path):
    for at, (text, label) in enumerate(TEXTS):
        file = tmp_path / "texts" / label / f"{at}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "texts"


@pytest.fixture
def lines(tmp_path):
    records = [{"label": label, "size": len(text), "body": text} for text, label in TEXTS]
    path = tmp_path / "mails.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def by_name(rows):
    return [
        {
            rows.feature_names[j]: value
            for j, value in zip(row.indices.tolist(), row.data.tolist(), strict=True)
        }
        for row in (rows.X[[i]] for i in range(rows.X.shape[0]))
    ]


def tfidf_by_hand(counted):
    n = len(counted)
    df = {name: sum(name in row for row in counted) for row in counted for name in row}
    weights = []
    for row in counted:
        values = {name: (1 + np.log(c)) * (1 + np.log((1 + n) / (1 + df[name]))) for name, c in row.items()}
        length = np.sqrt(sum(value**2 for value in values.values()))
        weights.append({name: value / length for name, value in values.items()})
    return weights


def test_folders_of_text_become_tfidf_rows_of_unit_length(folder):
    rows, counted = read_all(folder), read_all(folder, words=Words(weighting="counts"))
    expected = tfidf_by_hand(by_name(counted))
    assert [row.keys() for row in by_name(rows)] == [row.keys() for row in expected]
    for row, values in zip(by_name(rows), expected, strict=True):
        assert list(row.values()) == pytest.approx(list(values.values()), rel=1e-13)
    assert read_all(folder, words=Words()).X.data.tolist() == [1.0] * counted.X.nnz


def test_new_texts_are_weighed_as_in_training(folder, tmp_path):
    schema = schema_from_dict(json.loads(json.dumps(read_all(folder).schema.to_dict())))
    assert schema.documents == 4
    assert dict(zip(schema.names, schema.frequency, strict=True))["free"] == 2
    again = read_all(folder, schema=schema)
    assert (again.X.toarray() == read_all(folder).X.toarray()).all()
    (tmp_path / "new" / "x").mkdir(parents=True)
    (tmp_path / "new" / "x" / "1").write_text("free unheard")
    (tmp_path / "new" / "x" / "2").write_text("unheard")
    new = read_all(tmp_path / "new", schema=schema, format="folders")
    assert by_name(new) == [{"free": 1.0}, {}]
    assert new.unseen == 2


def test_words_of_json_lines_are_weighed_and_other_fields_are_not(lines):
    rows = read_all(lines)
    assert rows.schema.text == ("body",)
    words = tfidf_by_hand(
        [flattened({"body": text}, ["body"], Words(weighting="counts")) for text, _ in TEXTS]
    )
    for row, (text, _), expected in zip(by_name(rows), TEXTS, words, strict=True):
        assert row.pop("size") == len(text)
        assert row == pytest.approx(expected, rel=1e-13)
    assert (read_all(lines, schema=rows.schema).X.toarray() == rows.X.toarray()).all()


def test_rows_that_do_not_fit_into_memory_are_read_twice(folder, lines, monkeypatch):
    expected = [read_all(source).X.toarray() for source in (folder, lines)]
    with lines.open("a") as file:
        file.write("not JSON\n")
    monkeypatch.setattr(named_examples, "BUFFERED_SHARE", 0.0)
    assert (read_all(folder).X.toarray() == expected[0]).all()
    again = open_examples(lines, skip_bad=True, batch_rows=1)
    assert (np.vstack([batch.X.toarray() for batch in again]) == expected[1]).all()
    assert again.skipped.total == 1


def test_as_they_arrive_rows_are_weighed_by_those_before(lines):
    whole = read_all(lines, at_once=True)
    examples = open_examples(lines, at_once=True, batch_rows=1)
    batches = list(examples)
    width = examples.n_features
    for row, batch in enumerate(batches):
        dense = np.zeros(width)
        dense[: batch.X.shape[1]] = batch.X.toarray()[0]
        assert dense.tolist() == whole.X.toarray()[row].tolist()
    assert examples.schema == whole.schema
    assert examples.schema.documents == 4
    resumed = open_examples(lines, schema=examples.schema, grow=True, at_once=True)
    list(resumed)
    assert resumed.schema.documents == 8


def test_raw_rows_are_weighed_by_any_part_of_them(folder, lines):
    for source in (folder, lines):
        raw, prepared = read_all(source, prepared=False), read_all(source)
        assert raw.schema.documents == 0
        fitted = raw.plan.fit(raw.X)
        np.testing.assert_allclose(fitted.apply(raw.X).toarray(), prepared.X.toarray(), rtol=1e-14)
        part = raw.plan.fit(raw.X[:2])
        schema = raw.schema.weighed_by(part)
        read = read_all(source, schema=schema)
        np.testing.assert_allclose(read.X.toarray(), part.apply(raw.X).toarray(), rtol=1e-14)


def test_hashed_words_and_exact_reading_count_once(folder):
    for options in ({"hash_bits": 10}, {"exact": True}):
        rows = read_all(folder, **options)
        assert rows.schema.words.weighting == "binary"
        assert set(rows.X.data.tolist()) <= {1.0, 2.0}


def test_names_are_the_same_however_lines_are_cut(lines, monkeypatch):
    whole = read_all(lines)
    for characters in (1 << 15, 0):  # by plain Python, by the compiled scanner
        monkeypatch.setattr("rosenblatt.data.words.MANY_CHARACTERS", characters)
        for rows in (1, 2, 3):
            examples = open_examples(lines, batch_rows=rows)
            list(examples)
            assert examples.feature_names == whole.feature_names


def test_a_name_that_two_fields_make_is_refused_beside_scanned_words(tmp_path):
    path = tmp_path / "a.jsonl"
    record = {"y": 1, "body": "one two three", "body:two": 1}
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(BadInput, match="'body:two' comes from two fields"):
        read_all(path, text="body")


@pytest.mark.parametrize(
    ("documents", "frequency"), [(2, [1]), (2, [1, 3]), (-1, []), (True, [1, 1]), (2, [1, 0.5]), (0, [1, 1])]
)
def test_document_counts_must_be_those_of_the_features(documents, frequency):
    stored = NamedSchema(("a", "b")).to_dict() | {"documents": documents, "frequency": frequency}
    with pytest.raises(ValueError, match="not a schema"):
        schema_from_dict(stored)
