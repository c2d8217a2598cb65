"""Whatever the blocks are, and whoever reads them, every line comes once and in order."""

import gzip
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.textblocks import blocks_of_lines, scanned

LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=30)


@settings(max_examples=150, deadline=None)
@given(
    LINES, st.integers(1, 80), st.none() | st.integers(1, 80), st.integers(0, 5), st.booleans(), st.booleans()
)
def test_every_line_comes_once_and_in_order(tmp_path_factory, lines, block_bytes, head, skip, ended, packed):
    text = b"x\n" + b"\n".join(lines) + (b"\n" if ended and lines else b"")
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block_bytes)
        patch.setattr("rosenblatt.data.textblocks.OVERREAD", 7)
        found = list(scanned(str(path), lambda text, _, first: (bytes(text), first), head, skip))
    assert all(block.endswith(b"\n") for block, _ in found)
    assert [first for _, first in found] == [at == 0 for at in range(len(found))]
    expected = (text if text.endswith(b"\n") else text + b"\n").split(b"\n", skip)
    assert b"".join(block for block, _ in found) == (expected[-1] if len(expected) > skip else b"")


def test_what_is_taken_from_the_room_stays(tmp_path, monkeypatch):
    """Blocks are read into memory that is used again; what somebody holds is not overwritten."""
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 64)
    path = tmp_path / "a.svm"
    path.write_bytes(b"".join(b"%d 1:%d 7:0.5\n" % (row % 2, row) for row in range(500)))
    batches = list(open_examples(path, batch_rows=None))
    assert len(batches) > 50
    assert np.concatenate([batch.X.data[::2] for batch in batches]).tolist() == list(range(500))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 300)
    monkeypatch.setattr("rosenblatt.data.textblocks.HEAD_BYTES", 100)
    monkeypatch.setattr("rosenblatt.data.tables.delimited.INFERENCE_BYTES", 100)
    monkeypatch.setattr("rosenblatt.data.tables.header.SAMPLED_LINES", 10)


@pytest.mark.parametrize("label", ["%d", "%d.5"])
def test_the_first_reading_of_a_table_is_the_table(tmp_path, small_blocks, label):
    path = tmp_path / "a.csv"
    rows = "".join(f"{k},{k / 7:.5f},{label % (k % 2)}\n" for k in range(200))
    path.write_text("a,b,y\n" + rows)
    sight, slow = open_examples(path, batch_rows=None), open_examples(path, batch_rows=None)
    batches = list(sight.first_reading())
    assert len(batches) > 3
    expected = read_all(path)
    assert np.concatenate([batch.X for batch in batches]).tobytes() == expected.X.tobytes()
    assert np.concatenate([batch.y for batch in batches]).tolist() == expected.y.tolist()
    assert batches[-1].y.dtype == expected.y.dtype
    assert np.concatenate([batch.lines for batch in batches]).tolist() == expected.lines.tolist()
    assert sight.schema == slow.schema


@pytest.mark.parametrize("late", ["7,x,1", "7,,1", "7,8,0.5", "7,8,spam", "7,8", '7,"8",1', "7,nan,1"])
def test_a_late_disagreement_ends_the_first_reading(tmp_path, small_blocks, late):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1,2,0\n3,4,1\n" * 100 + late + "\n" + "1,2,0\n" * 50)
    examples = open_examples(path, batch_rows=None, skip_bad=True)
    list(examples.first_reading())
    assert examples.revised
    again = [batch.y.tolist() for batch in examples]  # as if nothing had been guessed
    fresh = open_examples(path, batch_rows=None, skip_bad=True)
    assert again == [batch.y.tolist() for batch in fresh]
    assert (examples.schema, examples.skipped) == (fresh.schema, fresh.skipped)


@pytest.mark.parametrize("head", ["x,2,0", ",2,0", "1,2,spam"])
def test_a_table_that_is_not_all_numbers_is_not_guessed(tmp_path, small_blocks, head):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + head + "\n" + "1,2,0\n3,4,1\n" * 100)
    examples, fresh = (open_examples(path, batch_rows=None, skip_bad=True) for _ in range(2))
    assert [b.y.tolist() for b in examples.first_reading()] == [b.y.tolist() for b in fresh]


CSV = b"a,y\n" + b"1.25,3\n" * 5000


@settings(deadline=None)
@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b""))), st.integers(1, 40))
def test_blocks_are_whole_lines_numbered(tmp_path_factory, lines, block_bytes):
    path = tmp_path_factory.mktemp("lines") / "file"
    text = b"x" + b"\n".join(lines)  # no magic bytes in front
    path.write_bytes(text)
    blocks = list(blocks_of_lines(str(path), block_bytes))
    assert all(block.text.endswith(b"\n") for block in blocks)
    assert b"".join(block.text for block in blocks) == text + (b"" if text.endswith(b"\n") else b"\n")
    before = 0
    for block in blocks:
        assert block.first_line == 1 + before
        before += block.text.count(b"\n")


def test_gzip_is_known_by_its_content(tmp_path):
    path = tmp_path / "plain_name.csv"
    path.write_bytes(gzip.compress(CSV[:100]) + gzip.compress(CSV[100:]))
    assert read_all(path).y.size == 5000


@pytest.mark.parametrize("name", ["data.csv.gz", "data.svm.gz"])
def test_a_name_that_lies_about_gzip(tmp_path, name):
    (tmp_path / name).write_bytes(b"a,y\n1,2\n")
    with pytest.raises(BadInput, match=r"data.*gz: is named .gz but is not gzip: rename it"):
        read_all(tmp_path / name)


@pytest.mark.parametrize("skip_bad", [False, True])
def test_truncated_gzip(tmp_path, skip_bad):
    lines = b"".join(b"%d 1:%d\n" % (i % 2, i * i) for i in range(1, 60_000))
    path = tmp_path / "data.svm.gz"
    packed = gzip.compress(lines)[:-1000]
    path.write_bytes(packed)
    readable = zlib.decompressobj(wbits=31).decompress(packed)
    with pytest.raises(BadInput, match=r"data.svm.gz:\d+: the gzip data ends early") as caught:
        read_all(path, skip_bad=skip_bad)
    assert caught.value.line == 1 + readable.count(b"\n")


def test_damaged_gzip(tmp_path):
    packed = bytearray(gzip.compress(b"1 1:1\n" * 10))
    packed[-6] ^= 255  # the checksum
    (tmp_path / "data.svm.gz").write_bytes(packed)
    with pytest.raises(BadInput, match="damaged gzip data"):
        read_all(tmp_path / "data.svm.gz")


@pytest.mark.parametrize(
    ("start", "told"),
    [(b"PK\x03\x04", "a zip archive"), (b"PAR1\x15", "Parquet")],
)
def test_other_kinds_of_files_are_told(tmp_path, start, told):
    (tmp_path / "data.svm").write_bytes(start)
    with pytest.raises(BadInput, match=f"is {told}"):
        read_all(tmp_path / "data.svm")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"nothing.csv: no such file") as caught:
        read_all(tmp_path / "nothing.csv")
    assert caught.value.line is None
    with pytest.raises(BadInput, match="is a folder"):
        read_all(tmp_path)


@pytest.mark.parametrize("name", ["empty.csv", "empty.svm", "empty.txt", "empty"])
@pytest.mark.parametrize("content", [b"", b"\n\n  \n"])
def test_empty_files(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=r"empty.*: the file is empty"):
        read_all(tmp_path / name)


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.data.textblocks.LONGEST_LINE", 1000)
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 100)
    (tmp_path / "data.svm").write_bytes(b"1 1:1\n" + b"1" * 2000)
    with pytest.raises(BadInput, match=r":2: a line of more than 1,000 bytes"):
        read_all(tmp_path / "data.svm")
