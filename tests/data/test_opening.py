import numpy as np
import pytest

from rosenblatt.data import open_examples, read_all


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
