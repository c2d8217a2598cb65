import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt.data.batch import Batch, as_written, concatenate, rebatch, sparse_rows


def batch_of(rows, sparse):
    X = np.arange(1.0, 2 * rows + 1).reshape(rows, 2)
    return Batch(csr_array(X) if sparse else X, np.arange(rows), np.arange(rows))


@settings(deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1), st.integers(1, 20), st.booleans())
def test_every_row_comes_once_and_in_order(sizes, batch_rows, sparse):
    blocks = [batch_of(rows, sparse) for rows in sizes]
    cut = list(rebatch(blocks, batch_rows))
    assert [batch.y.size for batch in cut[:-1]] == [batch_rows] * (len(cut) - 1)
    one, other = concatenate(cut), concatenate(blocks)
    assert one.y.tolist() == other.y.tolist() == [row for rows in sizes for row in range(rows)]
    dense = [batch.X.toarray() if sparse else batch.X for batch in (one, other)]
    assert dense[0].tolist() == dense[1].tolist()


def test_labels_may_be_absent():
    joined = concatenate([batch_of(2, sparse=False)._replace(y=None)] * 2)
    assert joined.y is None
    assert joined.X.shape == (4, 2)


@pytest.mark.parametrize(("n_features", "index"), [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_indices_are_int32_where_they_fit(n_features, index):
    X = sparse_rows(np.ones(1), np.array([n_features - 1]), np.array([0, 1]), n_features)
    assert X.indices.dtype == X.indptr.dtype == index


@pytest.mark.parametrize(
    ("labels", "kind"), [([1, -1], "i"), ([1.5, 1], "f"), ([2.0**53, 1], "f"), ([1e300], "f")]
)
def test_labels_become_integers_only_when_exact(labels, kind):
    written = as_written(np.array(labels, float))
    assert written.dtype.kind == kind
    assert written.tolist() == labels
