import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import BadInput, read_all
from rosenblatt.data.lines import blocks_of_lines

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
    path.write_bytes(gzip.compress(lines)[:-1000])
    with pytest.raises(BadInput, match=r"data.svm.gz:\d+: the gzip data ends early") as caught:
        read_all(path, skip_bad=skip_bad)
    assert caught.value.line >= 1


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
    monkeypatch.setattr("rosenblatt.data.lines.LONGEST_LINE", 1000)
    monkeypatch.setattr("rosenblatt.data.lines.BLOCK_BYTES", 100)
    (tmp_path / "data.svm").write_bytes(b"1 1:1\n" + b"1" * 2000)
    with pytest.raises(BadInput, match=r":2: a line of more than 1,000 bytes"):
        read_all(tmp_path / "data.svm")
