"""Tables read as they arrive: the same examples however they come in pieces, and nothing from bad rows."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from rosenblatt.data import BadInput, Column, open_examples, read_all
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.schema import schema_from_dict


class Dripping(io.RawIOBase):
    """Standard input of which so many lines arrive at a time."""

    def __init__(self, text, lines):
        self.buffer = io.BufferedReader(self)
        lists = text.splitlines(keepends=True)
        self._pieces = ["".join(lists[at : at + lines]).encode() for at in range(0, len(lists), lines)]

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self._pieces.pop(0) if self._pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


TABLE = "c,n,d,y\n" + "".join(
    f"{'abc'[i % 3]}{i // 7},{i % 4},{'xyz'[i % 3]}{i // 5},{i % 2}\n" for i in range(150)
)
PROSE = "".join(
    f"{'ham' if i % 3 else 'spam'}\t{'see you at' if i % 3 else 'win a prize'} {i} again\n" for i in range(60)
)


@pytest.mark.parametrize("text", [TABLE, PROSE], ids=["categories", "prose without a header"])
@pytest.mark.parametrize("lines", [1, 13, 1000])
def test_how_much_arrives_at_a_time_does_not_matter(tmp_path, monkeypatch, text, lines):
    (tmp_path / "a.csv").write_text(text)
    whole = read_all(tmp_path / "a.csv", at_once=True)
    monkeypatch.setattr("sys.stdin", Dripping(text, lines))
    found = read_all("-", at_once=True)
    assert found.feature_names == whole.feature_names
    assert found.y.tolist() == whole.y.tolist()
    assert (found.X != whole.X).nnz == 0


def test_names_join_row_by_row(tmp_path):
    (tmp_path / "a.csv").write_text("c,n,d,y\na,1,x,0\nb,2,x,1\na,,z,1\n")
    names = ["c=a", "n", "d=x", "c=b", "n=(missing)", "d=z"]
    assert read_all(tmp_path / "a.csv", at_once=True).feature_names == names
    names.remove("n=(missing)")
    assert read_all(tmp_path / "a.csv", at_once=True, missing="mean").feature_names == names


@pytest.mark.parametrize("kind", ["tsv", "parquet", "files"])
def test_prose_is_words_and_the_target_is_not_the_prose(tmp_path, kind):
    labels, texts = zip(*(line.split("\t") for line in PROSE.splitlines()), strict=True)
    source, options = tmp_path / f"a.{kind}", {}
    if kind == "parquet":
        parquet.write_table(pa.table({"text": texts, "label": labels}), source)
    elif kind == "tsv":
        source.write_text("label\ttext\n" + PROSE)
    else:
        for name in "ab":
            (tmp_path / f"{name}.tsv").write_text("label\ttext\n" + PROSE)
        source = str(tmp_path / "?.tsv")
    found = read_all(source, at_once=True, **options)
    assert set(found.y) == {"ham", "spam"}
    assert {"text:prize", "text:you"} <= set(found.feature_names)
    assert set(read_all(source, **options).y) == {"ham", "spam"}


BAD = {
    "1e999,x,1": "column 'a' is '1e999', not a finite number",
    "-inf,x,1": "column 'a' is '-inf', not a finite number",
    "2,new,": "the target 'y' is '': expected a label",
    "2,new,maybe": "the target 'y' is 'maybe': expected a label",
    "2,new": "2 values where the header names 3",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items())
def test_bad_rows_are_named_and_teach_no_name(tmp_path, line, reason):
    path = tmp_path / "a.csv"
    path.write_text(f"a,b,y\n1,x,0\n{line}\n3,z,1\n")
    with pytest.raises(BadInput) as caught:
        read_all(path, at_once=True)
    assert str(caught.value).startswith(f"{path}:3:")
    assert reason in caught.value.reason
    found = read_all(path, at_once=True, skip_bad=True)
    assert found.lines.tolist() == [2, 4]
    assert found.feature_names == ["a", "b=x", "b=z"]


LATER = {
    "spam": "'spam', not a number",
    "12%": "'12%', not a number",
    "2024-02-29": "'2024-02-29', not a number",
}


@pytest.mark.parametrize("lines", [1, 7, 1000])
@pytest.mark.parametrize(("value", "reason"), LATER.items())
def test_a_value_that_disagrees_with_the_first_is_an_error_with_its_line(monkeypatch, value, reason, lines):
    text = "a,b,y\n" + "1,x,0\n2,3,1\n" * 20 + f"{value},x,0\n5,x,1\n"
    monkeypatch.setattr("sys.stdin", Dripping(text, lines))
    with pytest.raises(BadInput) as caught:
        read_all("-", at_once=True)
    assert str(caught.value).startswith("<stdin>:42:1: column 'a' is " + reason)
    assert "--category a" in caught.value.reason
    monkeypatch.setattr("sys.stdin", Dripping(text, lines))
    assert read_all("-", at_once=True, skip_bad=True).feature_names == ["a", "b=x", "b=3"]
    monkeypatch.setattr("sys.stdin", Dripping(text, lines))
    names = read_all("-", at_once=True, category="a").feature_names
    assert names == ["a=1", "b=x", "a=2", "b=3", f"a={value}", "a=5"]


def test_the_first_value_decides_number_formats_and_dates(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('p,day,q,y\n$5,2024-02-29,7 %,0\n,2024-03-01,12.5%,1\n"$1,299.5",,3%,1\n')
    found = read_all(path, at_once=True)
    names = ["p", "day.days", "day.weekday", "q", "p=(missing)", "day=(missing)"]
    assert found.feature_names == names
    assert found.X.toarray()[:, names.index("p")].tolist() == [5, 0, 1299.5]
    assert found.X.toarray()[:, names.index("day.weekday")].tolist() == [4, 5, 0]
    assert np.allclose(found.X.toarray()[:, names.index("q")], [0.07, 0.125, 0.03])
    again = schema_from_dict(json.loads(json.dumps(found.schema.to_dict())))
    assert again == found.schema
    path.write_text("p,day,q,y\nfree,2024-02-29,7%,0\n")
    with pytest.raises(
        BadInput, match=r"a.csv:2:1: column 'p' is 'free', not a number written as in training"
    ):
        read_all(path, schema=again)


def test_a_first_number_that_can_be_read_two_ways_is_refused_naming_the_option(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;y\n1;1,234;0\n2;1,5;1\n")
    with pytest.raises(BadInput, match=r"a.csv:2:3: column 'b' holds numbers .* \(--decimal\)"):
        read_all(path, at_once=True)
    assert read_all(path, at_once=True, decimal=",").X.toarray()[:, 1].tolist() == [1.234, 1.5]


def test_models_that_did_not_store_their_columns_know_numbers_by_their_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\nspam,x,0\n")
    with pytest.raises(BadInput, match="column 'a' is 'spam', not a number"):
        read_all(path, schema=NamedSchema(("a", "b=x"), target="y", labels="integer"))


def test_columns_of_a_schema_have_names_of_their_own():
    stored = NamedSchema(target="y", columns=(Column("a"), Column("b", ()))).to_dict()
    for names in (["a", "a"], ["a", "y"]):
        for column, name in zip(stored["columns"], names, strict=True):
            column["name"] = name
        with pytest.raises(ValueError, match="columns must have different names, and none is the target"):
            schema_from_dict(stored)


def test_skipped_rows_are_listed_in_their_order_and_a_first_label_that_is_missing_decides_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,?\n2,0\ninf,1\n4\n5,\n6,1\n")
    examples = open_examples(path, at_once=True, skip_bad=True)
    (batch,) = examples
    assert [line.line for line in examples.skipped] == [2, 4, 5, 6]
    assert np.array_equal(batch.y, [0, 1])


@pytest.mark.parametrize("wish", ["at_once", "tight"])
def test_tables_with_text_come_in_small_blocks_where_asked(tmp_path, wish):
    """Strings take many times the memory of their text."""
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "".join(f"{k},word{k % 9},{k % 2}\n" for k in range(60_000)))
    batches = list(open_examples(path, batch_rows=None, **{wish: True}))
    assert max(batch.lines.size for batch in batches) < 30_000
    assert np.concatenate([batch.lines for batch in batches]).tolist() == list(range(2, 60_002))
