"""What comes through a pipe is what a file holds, and nobody waits for more than is needed."""

import gzip
import io

import pytest
from tests.sources import SVM, Stalling, Stdin, as_arrow, as_parquet, by_name, dense

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.arrow_batches import write_batches


@pytest.mark.parametrize("piece", [7, 100, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(tmp_path, monkeypatch, piece, pack):
    monkeypatch.setattr("sys.stdin", Stdin(pack(SVM), piece))
    (tmp_path / "a.svm").write_bytes(SVM)
    assert (dense(read_all("-")) == dense(read_all(tmp_path / "a.svm"))).all()
    with pytest.raises(BadInput, match="only once"):
        read_all("-", format="libsvm")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "batches"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_binary_files_may_come_through_a_pipe(tmp_path, monkeypatch, kind, pack):
    path = as_arrow(tmp_path) if kind == "arrow" else as_parquet(tmp_path)
    expected = read_all(path, target="play")
    if kind == "batches":
        with (tmp_path / "b.arrow").open("wb") as file:
            write_batches(file, open_examples(path, target="play"))
        path = tmp_path / "b.arrow"
    monkeypatch.setattr("sys.stdin", Stdin(pack(path.read_bytes()), 100))
    found = read_all("-", target="play")
    assert (dense(found) == dense(expected)).all()
    assert found.y.tolist() == expected.y.tolist()


@pytest.mark.parametrize(
    "line", ["1 1:2\n", "1 |n a\n", "1,2,0\n", '{"a": 1, "y": 0}\n'], ids=["libsvm", "vw", "csv", "jsonl"]
)
def test_what_has_arrived_waits_for_no_more(monkeypatch, line):
    text = ("a,b,y\n" if "," in line and line[0] != "{" else "") + line * 30
    stdin, arriving = Stdin(b"", 0), Stalling(text.encode())
    stdin.buffer = io.BufferedReader(arriving)
    monkeypatch.setattr("sys.stdin", stdin)
    batches = iter(open_examples("-", batch_rows=None, at_once=True))
    assert next(batches).lines.size == 30
    assert not arriving.over.is_set()
    arriving.over.set()
    assert not list(batches)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_endless_standard_input_is_kept_up_to_a_limit(monkeypatch, tmp_path, pack):
    text = b"a,b,y\n" + b"1,2,0\n3,4,1\n" * 100_000
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("ROSENBLATT_SPOOL", "1MB")
    monkeypatch.setattr("sys.stdin", Stdin(pack(text), 1 << 16))
    with pytest.raises(
        BadInput, match=r"<stdin>: more than 1,048,576 bytes .* write them to a file .*ROSENBLATT_SPOOL"
    ):
        read_all("-")
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("sys.stdin", Stdin(pack(text), 1 << 16))  # read as it arrives, nothing is kept
    assert sum(batch.lines.size for batch in open_examples("-", at_once=True)) == 200_000
    monkeypatch.setenv("ROSENBLATT_SPOOL", "2MB")
    monkeypatch.setattr("sys.stdin", Stdin(pack(text), 1 << 16))
    assert read_all("-").y.size == 200_000
    monkeypatch.setenv("ROSENBLATT_SPOOL", "much")
    monkeypatch.setattr("sys.stdin", Stdin(pack(text), 1 << 16))
    with pytest.raises(ValueError, match="ROSENBLATT_SPOOL='much' is not a size"):
        read_all("-")


def test_the_first_rows_to_be_predicted_wait_for_no_more(monkeypatch, tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n5,7,1\n")
    schema = read_all(tmp_path / "a.csv").schema
    stdin, arriving = Stdin(b"", 0), Stalling(b"a,b\n1,2\n")
    stdin.buffer = io.BufferedReader(arriving)
    monkeypatch.setattr("sys.stdin", stdin)
    batches = iter(open_examples("-", schema=schema, batch_rows=None))
    assert next(batches).X.tolist() == [[1, 2]]
    assert not arriving.over.is_set()
    arriving.over.set()
    assert not list(batches)


def test_a_table_on_standard_input_is_kept_to_be_read_twice(monkeypatch):
    monkeypatch.setattr("sys.stdin", Stdin(b"a,b,y\n1,x,0\n2,z,1\n", 5))
    found = read_all("-")
    assert by_name(found) == [{"a": 1, "b=x": 1}, {"a": 2, "b=z": 1}]
