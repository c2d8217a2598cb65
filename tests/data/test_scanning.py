"""Whatever the blocks are, and whoever reads them, every line comes once and in order."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import open_examples, read_all
from rosenblatt.data.scanning import scanned

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
        patch.setattr("rosenblatt.data.lines.BLOCK_BYTES", block_bytes)
        patch.setattr("rosenblatt.data.scanning.MORE", 7)
        found = list(scanned(str(path), lambda text, _, first: (bytes(text), first), head, skip))
    assert all(block.endswith(b"\n") for block, _ in found)
    assert [first for _, first in found] == [at == 0 for at in range(len(found))]
    expected = (text if text.endswith(b"\n") else text + b"\n").split(b"\n", skip)
    assert b"".join(block for block, _ in found) == (expected[-1] if len(expected) > skip else b"")


def test_what_is_taken_from_the_room_stays(tmp_path, monkeypatch):
    """Blocks are read into memory that is used again; what somebody holds is not overwritten."""
    monkeypatch.setattr("rosenblatt.data.lines.BLOCK_BYTES", 64)
    path = tmp_path / "a.svm"
    path.write_bytes(b"".join(b"%d 1:%d 7:0.5\n" % (row % 2, row) for row in range(500)))
    batches = list(open_examples(path, batch_rows=None))
    assert len(batches) > 50
    assert np.concatenate([batch.X.data[::2] for batch in batches]).tolist() == list(range(500))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("rosenblatt.data.lines.BLOCK_BYTES", 300)
    monkeypatch.setattr("rosenblatt.data.lines.HEAD_BYTES", 100)
    monkeypatch.setattr("rosenblatt.data.delimited.GUESSED_BYTES", 100)
    monkeypatch.setattr("rosenblatt.data.header.SAMPLED_LINES", 10)


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
