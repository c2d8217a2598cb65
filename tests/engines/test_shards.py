"""Shards in files: what is written in parts is the shard of all of them, and files that are gone are noticed."""

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.engines.data import noisy

from rosenblatt.engines.shards import CHUNK, Shard, ShardWriter, StoredShard, summarize


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 24), max_size=4), sparse=st.lists(st.booleans(), min_size=5, max_size=5))
def test_parts_of_any_size_and_form_are_one_shard(tmp_path_factory, cuts, sparse):
    X, y = noisy(rows=24)
    weight = np.arange(24) % 3  # some weigh nothing, and are left out
    whole = Shard(X, y, weight)
    writer = ShardWriter(tmp_path_factory.mktemp("shard"))
    ends = [0, *sorted(cuts), 24]
    for form, start, end in zip(sparse, ends, ends[1:], strict=False):
        rows = slice(start, end)
        writer.add(Shard(csr_array(X[rows]) if form else X[rows], y[rows], weight[rows]))
    found = StoredShard.from_json(writer.close().to_json()).open(3)
    assert found.index == 3
    assert np.array_equal(found.X if isinstance(found.X, np.ndarray) else found.X.toarray(), whole.X)
    assert np.array_equal(found.y, whole.y)
    assert np.array_equal(found.weight, whole.weight)
    assert summarize(found)._replace(sparse=False)[3:] == summarize(whole)[3:]


def test_what_is_known_of_a_shard_travels_with_it(tmp_path):
    writer = ShardWriter(tmp_path / "a")
    writer.add(Shard([[3.0, 4.0]], [7]))
    stored = writer.close()
    assert StoredShard.from_json(stored.to_json()).open(0).max_sqnorm is None
    assert StoredShard.from_json(stored._replace(max_sqnorm=25.0).to_json()).open(0).max_sqnorm == 25.0


def test_parts_larger_than_one_write_are_written_whole(tmp_path):
    rows = CHUNK // 64 + 5  # a part of more than one write
    X, y = np.arange(8.0 * rows).reshape(rows, 8), np.arange(rows) % 2
    writer = ShardWriter(tmp_path / "a")
    for _ in range(3):
        writer.add(Shard(X, y))
    stored = writer.close()
    assert (tmp_path / "a" / "X").stat().st_size == 3 * X.nbytes
    assert np.array_equal(stored.open(0).X, np.concatenate([X, X, X]))


def test_only_rows_that_weigh_something_tell_how_far_they_reach():
    X = [[3.0, 4.0], [1.0, 0.0]]
    assert [summarize(Shard(X, [0, 1], weight)).max_sqnorm for weight in (None, [1, 2], [0, 1], [0, 0])] == [
        25,
        25,
        1,
        0,
    ]
    with pytest.raises(ValueError, match="the value inf in row 0, column 1"):
        Shard([[1.0, np.inf], [1.0, 0.0]], [0, 1], [0, 1])


def test_a_pass_may_write_to_its_arrays_but_never_to_the_files(tmp_path):
    writer = ShardWriter(tmp_path / "a")
    writer.add(Shard([[1.0, 2.0]], [7]))
    stored = writer.close()
    stored.open(0).X[:] = 0.0
    assert stored.open(0).X.tolist() == [[1.0, 2.0]]
    assert stored.open(0).weight is None
    shutil.rmtree(tmp_path / "a")
    assert stored.open(0) is None


def test_labels_keep_their_length_and_sparse_rows_their_widest(tmp_path):
    writer = ShardWriter(tmp_path)
    writer.add(Shard(csr_array([[0.0, 1.0]]), ["a"]))
    writer.add(Shard(csr_array([[0.0, 0.0, 2.0]]), ["longer"]))
    found = writer.close().open(0)
    assert found.y.tolist() == ["a", "longer"]
    assert found.X.toarray().tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
    writer = ShardWriter(tmp_path / "dense")
    writer.add(Shard([[1.0, 2.0]], [7]))
    with pytest.raises(ValueError, match="rows have 3 values, those before them 2"):
        writer.add(Shard([[1.0, 2.0, 3.0]], [7]))
    writer.discard()
    assert not (tmp_path / "dense").exists()


def test_a_shard_without_rows_is_kept_too(tmp_path):
    found = ShardWriter(tmp_path).close().open(0)
    assert summarize(found).rows == 0


def test_a_shard_in_which_nothing_weighs_is_empty():
    assert summarize(Shard([[1.0], [2.0]], ["a", "b"], [0.0, 0.0])).rows == 0
