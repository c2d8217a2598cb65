"""Rows as Spark hands them over, without Spark: vectors dense and sparse, in any order."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.engines.spark_frames import INDICES, SIZES, VALUES, Layout, matrix_of

VECTORS = Layout("vector", ["features"])


def handed_over(X, sparse):
    """Return rows as :meth:`Layout.expressions` has them: a sparse one has a size, and indices for its values."""
    values, indices, sizes = [], [], []
    for row, is_sparse in zip(X, sparse, strict=True):
        used = np.flatnonzero(row)
        values.append(row[used].tolist() if is_sparse else row.tolist())
        indices.append(used.tolist() if is_sparse else [])
        sizes.append(row.size if is_sparse else None)
    lists = [pa.array(values, pa.list_(pa.float64())), pa.array(indices, pa.list_(pa.int32()))]
    return pa.RecordBatch.from_arrays([*lists, pa.array(sizes, pa.int32())], [VALUES, INDICES, SIZES])


@settings(deadline=None)
@given(sparse=st.lists(st.booleans(), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_vectors_are_the_rows_they_stand_for(sparse, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (len(sparse), 4)).astype(float)  # some rows hold nothing but zeros
    found = matrix_of(handed_over(X, sparse), VECTORS)
    assert found.shape == X.shape
    assert isinstance(found, np.ndarray) == (not any(sparse))
    assert np.array_equal(found if isinstance(found, np.ndarray) else found.toarray(), X)
    part = handed_over(X, sparse).slice(len(sparse) // 2)  # lists that do not begin with the buffer
    found = matrix_of(part, VECTORS)
    assert np.array_equal(
        found if isinstance(found, np.ndarray) else found.toarray()[:, :4], X[len(sparse) // 2 :]
    )
