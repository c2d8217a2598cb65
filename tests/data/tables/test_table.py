import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt.data import BadInput, open_examples, read_all

TENNIS = "Outlook,Wind,Play\nSunny,3.5,no\nRainy,0,yes\nSunny,1e1,yes\n"


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def dense(X):
    return X.toarray() if isinstance(X, csr_array) else X


def test_a_table_with_discrete_columns(write):
    found = read_all(write(TENNIS))
    assert found.feature_names == ["Outlook=Rainy", "Outlook=Sunny", "Wind"]
    assert found.X.toarray().tolist() == [[0, 1, 3.5], [1, 0, 0], [0, 1, 10]]
    assert found.y.tolist() == ["no", "yes", "yes"]
    assert found.lines.tolist() == [2, 3, 4]


def test_the_target_is_the_last_column_unless_named(write):
    path = write("y,a,b\n1,2,3\n0,5,6\n")
    assert read_all(path).feature_names == ["y", "a"]
    named = read_all(path, target="y")
    assert named.feature_names == ["a", "b"]
    assert named.y.tolist() == [1, 0]
    with pytest.raises(BadInput, match=r"data.csv:1: no column is called 'z'; there are 'y', 'a', 'b'"):
        open_examples(path, target="z")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_and_line_ends(write, separator, end):
    text = TENNIS.replace(",", separator).replace("\n", end)
    names = ["data.csv", "data.txt"] + (["data.tsv"] if separator == "\t" else [])
    for name in names:
        assert (read_all(write(text, name)).X.toarray() == read_all(write(TENNIS)).X.toarray()).all()


FINITE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(
    st.tuples(FINITE, st.sampled_from(["a", "b", "c d", ""]), FINITE, st.sampled_from(["no", "yes"])),
    min_size=1,
    max_size=25,
)


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, batch_rows=st.integers(1, 9), block_bytes=st.integers(1, 300), discrete=st.booleans())
def test_what_is_written_is_read_to_the_bit_in_any_split(
    tmp_path_factory, rows, batch_rows, block_bytes, discrete
):
    folder = tmp_path_factory.mktemp("table")
    lines = ["u,d,v,y"] + [f"{u!r},{d if discrete else 0},{v!r},{y}" for u, d, v, y in rows]
    (folder / "a.csv").write_text("\n".join(lines))
    (folder / "b.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    keep = {"numeric": ["u", "v"], "category": ["d"] if discrete else []}
    whole = read_all(folder / "a.csv", **keep)
    X = dense(whole.X)
    numeric = X[:, [0, -1]]
    assert (numeric == np.array([[u, v] for u, _, v, _ in rows])).all()
    assert whole.y.tolist() == [y for *_, y in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block_bytes)
        split = read_all(folder / "a.csv", batch_rows=batch_rows, **keep)
    packed = read_all(folder / "b.csv.gz", **keep)
    for other in (split, packed):
        assert dense(other.X).tobytes() == X.tobytes()
        assert other.schema.columns == whole.schema.columns
        assert other.y.tolist() == whole.y.tolist()
        assert other.lines.tolist() == whole.lines.tolist()


def test_new_files_are_encoded_as_in_training(write):
    schema = json.loads(json.dumps(read_all(write(TENNIS)).schema.to_dict()))
    new = write("Wind,Extra,Outlook\n7,x,Foggy\n8,y,Rainy\n9,,\n", "new.csv")
    found = read_all(new, schema=schema)
    assert found.X.toarray().tolist() == [[0, 0, 7], [1, 0, 8], [0, 0, 9]]
    assert found.y is None
    assert found.unseen == 2  # Foggy, and a missing value where training had none
    labelled = write("Play,Wind,Outlook\nyes,1,Sunny\n", "labelled.csv")
    assert read_all(labelled, schema=schema).y.tolist() == ["yes"]
    renamed = write("Played,Wind,Outlook\nyes,1,Sunny\n", "renamed.csv")
    assert read_all(renamed, schema=schema).y is None
    assert read_all(renamed, schema=schema, target="Played").y.tolist() == ["yes"]


def test_one_column_is_enough_for_a_model_that_needs_one(write):
    schema = read_all(write("a,y\n1,2\n3,4\n")).schema
    assert read_all(write("a\n5\n\n6\n", "new.csv"), schema=schema).X.tolist() == [[5], [6]]
    with pytest.raises(BadInput, match="only one column, 'a'"):
        open_examples(write("a\n5\n", "alone.csv"))


def test_a_column_the_model_needs_is_named(write):
    schema = read_all(write(TENNIS)).schema
    with pytest.raises(
        BadInput, match=r"new.csv:1: the model needs 'Outlook', not among the columns 'Wind', 'z'"
    ):
        open_examples(write("Wind,z\n1,2\n", "new.csv"), schema=schema)
    with pytest.raises(BadInput, match="trained on LIBSVM text"):
        open_examples(write(TENNIS), schema={"kind": "libsvm", "n_features": 3})


BAD = {
    "-inf,a,1": (1, "column 'n' is '-inf', not a finite number"),
    "1e999,a,1": (1, "column 'n' is '1e999', not a finite number"),
    "1,a,?": (5, "the target 'y' has no value"),
    "1,a,": (5, "the target 'y' has no value"),
    "1,a,nan": (5, "the target 'y' has no value"),
    "1,a": (4, "2 values where the header names 3"),
    "1,a,2,3": (7, "4 values where the header names 3"),
    '1,5" a,3': (4, "a quote that does not close"),
    '1,"a\n9,c,1\n"': (5, "2 values where the header names 3"),
    "1,a\0,1": (4, "a NUL byte"),
    "x" * 2_000_000: (2000001, "1 values where the header names 3"),
}


@pytest.mark.parametrize(("line", "told"), BAD.items(), ids=[line[:16] for line in BAD])
def test_a_bad_line_is_named_and_nothing_is_learned_from_it(write, line, told):
    path = write(f"n,d,y\n1,b,0\n{line}\n2,b,1\n")
    with pytest.raises(BadInput) as caught:
        read_all(path)
    column, reason = told
    assert str(caught.value).startswith(f"{path}:3:{column}: ")
    assert reason in caught.value.reason
    found = read_all(path, skip_bad=True)
    assert found.lines.tolist() == [2, 4 + line.count("\n")]
    assert found.feature_names == ["n", "d=b"]  # the category of the bad line is unknown
    assert found.y.tolist() == [0, 1]
    assert [bad.line for bad in found.skipped] == [3]


def test_the_first_bad_line_is_the_one_named(write):
    with pytest.raises(BadInput, match=r":3:1: column 'n' is 'inf'"):
        read_all(write("n,y\n1,0\ninf,0\n1\n2,1\n"))


def test_not_utf8(write):
    path = write("n,d,y\n3,ç,0\n".encode() + b"1,\xe9t\xe9,0\n2,b,1\n")  # among lines that are
    with pytest.raises(BadInput, match=r"data.csv:3:3: not UTF-8 text: convert the file"):
        read_all(path)
    assert read_all(path, skip_bad=True).y.tolist() == [0, 1]


def test_text_where_training_saw_numbers(write):
    schema = read_all(write("a,y\n1,2\n")).schema
    new = write("a,y\n1,2\nabc,2\n1,spam\n", "new.csv")
    with pytest.raises(BadInput, match=r"new.csv:3:1: column 'a' is 'abc', not a number"):
        read_all(new, schema=schema)
    found = read_all(new, schema=schema, skip_bad=True)
    assert found.y.tolist() == [2]
    assert "the target 'y' is 'spam', not a number" in found.skipped[1].reason
    assert [bad.column for bad in found.skipped] == [1, 3]


@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_header_alone_holds_no_examples(write, skip_bad):
    with pytest.raises(BadInput, match="no examples in the file"):
        read_all(write("a,b\n"), skip_bad=skip_bad)


def test_an_interrupted_reading_does_not_shorten_the_next(write, monkeypatch):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 16)
    examples = open_examples(write("a,y\n" + "1,2\n3,2\n" * 50), batch_rows=3)
    next(iter(examples))
    assert sum(batch.y.size for batch in examples) == 100


def test_a_target_of_nothing_but_nan_is_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("c0,c1,y\n1,1,nan")
    assert read_all(path, exact=True).y.tolist() == ["nan"]


@pytest.mark.parametrize("options", [{}, {"scale": True}])
def test_rows_of_numbers_with_gaps_are_scanned_in_every_reading(write, options, monkeypatch):
    """A table whose incomplete rows are dropped is not parsed again as text."""
    text = "".join(f"{k}.5,{k % 7},{k % 2}\n" if k % 9 else f",{k % 7},{k % 2}\n" for k in range(1, 91))
    path = write("a,b,y\n" + text)

    def slow(*_):
        raise AssertionError("cells are looked at one by one")

    for module in ("encode", "learn"):
        monkeypatch.setattr(f"rosenblatt.data.tables.{module}.numeric_columns", slow)
    examples = open_examples(path, missing="drop", **options)
    rows = [batch.X for batch in examples]
    assert sum(X.shape[0] for X in rows) == 80
    assert examples.dropped == 10
    if not options:
        assert np.vstack(rows)[:, 0].tolist() == [k + 0.5 for k in range(1, 91) if k % 9]


def test_a_target_is_read_in_the_notation_of_training(write):
    """Numbers of a later file that are also plain numbers are read with the decimal mark of the model."""
    train = read_all(write("".join(["a;y\n", *(f"{k};{k + 1}.{100 + k},25\n" for k in range(30))])))
    later = read_all(
        write("".join(["a;y\n", *(f"{k};{k + 1}.{100 + k}\n" for k in range(30))])), schema=train.schema
    )
    assert later.y.tolist() == [1000.0 * (k + 1) + 100 + k for k in range(30)]


def test_a_missing_target_names_ways_out_that_exist(write):
    path = write("a,y\n1.5,2.5\n3.5,\n4.5,1.25\n7.5,3.5\n")
    with pytest.raises(
        BadInput, match=r"csv:3:5: the target 'y' has no value: .*missing='drop'.*skip_bad"
    ) as error:
        read_all(path)
    assert "drop the column" not in str(error.value)
    assert read_all(path, missing="drop").y.size == 3


@pytest.mark.parametrize("block", [40, 1 << 20])
@pytest.mark.parametrize(
    ("last", "kind", "features"),
    [("01067", "category", 4), ("late", "category", 4), ("1,5", "numeric", 1), ("12345.5", "numeric", 1)],
)
def test_numbers_beside_text_are_read_as_all_rows_have_them(
    tmp_path, monkeypatch, block, last, kind, features
):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block)
    monkeypatch.setattr("rosenblatt.data.textblocks.HEAD_BYTES", block)
    values = ["10115", "20095", "80331"] * 8 + [last]
    path = tmp_path / "a.csv"
    path.write_text(
        "a;b;y\n" + "".join(f"{value};{k % 7};{'no' if k % 2 else 'yes'}\n" for k, value in enumerate(values))
    )
    table = read_all(path, skip_bad=True)
    assert (table.columns[0].kind, table.columns[1].kind) == (kind, "numeric")
    names = [name for name in table.feature_names if name.startswith("a")]
    assert len(names) == features
    again = read_all(path, schema=table.schema, skip_bad=True)
    dense = [X.toarray() if hasattr(X, "toarray") else X for X in (table.X, again.X)]
    assert dense[0].tolist() == dense[1].tolist()
    assert table.y.tolist() == again.y.tolist()
    as_asked = read_all(path, category=("b",), skip_bad=True)
    assert [name for name in as_asked.feature_names if name.startswith("b")] == [f"b={k}" for k in range(7)]
