import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.open import find_format


def test_the_format_can_be_named(tmp_path):
    (tmp_path / "data.csv").write_text("1 1:2\n")
    assert read_all(tmp_path / "data.csv", format="libsvm").X.toarray().tolist() == [[2]]
    with pytest.raises(ValueError, match="format is 'xml': expected one of libsvm, vw, csv, tsv"):
        open_examples(tmp_path / "data.csv", format="xml")


def test_batches_need_a_row():
    with pytest.raises(ValueError, match="batch_rows is 0"):
        open_examples("sample:iris", batch_rows=0)


def test_read_all_is_every_batch():
    whole = read_all("sample:digits")
    batches = list(open_examples("sample:digits", batch_rows=100))
    assert (np.concatenate([batch.X for batch in batches]) == whole.X).all()
    assert np.concatenate([batch.lines for batch in batches]).tolist() == list(range(1, 1798))
    assert whole.skipped == []
    assert whole.unseen == 0


def test_paths_may_be_strings_or_paths(tmp_path):
    (tmp_path / "data.csv").write_text("a,y\n1,2\n")
    assert (
        read_all(str(tmp_path / "data.csv")).y.tolist() == read_all(tmp_path / "data.csv").y.tolist() == [2]
    )
    assert open_examples(tmp_path / "data.csv").path == str(tmp_path / "data.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_that_is_not_standard_input_is_refused_before_anything_is_lost(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="can be read only once: let it be standard input"):
        open_examples(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="standard input has no name here")
def test_standard_input_by_its_name():
    program = "from rosenblatt.data import read_all; print(read_all('/dev/stdin').y.tolist())"
    answer = subprocess.run(
        [sys.executable, "-c", program], input="1 1:1\n0 2:1\n", capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[1, 0]\n"


@pytest.mark.parametrize("format", [None, "libsvm", "csv", "jsonl", "vw", "mbox"])
def test_standard_input_of_nothing_is_empty(monkeypatch, format):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(BadInput, match=r"empty|no messages"):
        list(open_examples("-", format=format))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.svm", "libsvm"),
        ("a.LIBSVM", "libsvm"),
        ("a.svmlight.gz", "libsvm"),
        ("a.CSV", "csv"),
        ("a.tsv.gz", "tsv"),
    ],
)
def test_the_name_says_it(name, expected):
    assert find_format(name) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"# made by hand\n\n1\n+1 3:1 11:1 \n", "libsvm"),
        (b"1 qid:1 1:0.5 # the first, best\r\n", "libsvm"),
        (b"a,b\n1,2\n", "csv"),
        (b"a\tb\n1\t2\n", "csv"),
        (b"time;y\n12:30;2\n", "csv"),
        (b"a b,y\n1:2,2\n", "csv"),
    ],
)
@pytest.mark.parametrize("name", ["data.txt", "a9a", "a9a.t"])
def test_the_content_says_it(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content)
    assert find_format(str(tmp_path / name)) == expected


@pytest.mark.parametrize("content", [b"hello\n", b"3\n4\n", b"\x00\x01\x02"])
def test_otherwise_the_user_must(tmp_path, content):
    (tmp_path / "data.txt").write_bytes(content)
    with pytest.raises(BadInput, match=r"neither LIBSVM text nor CSV.*--format"):
        find_format(str(tmp_path / "data.txt"))
