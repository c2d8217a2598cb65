"""Rows as Spark hands them over, without Spark: vectors dense and sparse, in any order."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.engines.spark_frames import BATCH_BYTES, FEW_ROWS, PLACES, SIZES, VALUES, Layout
from rosenblatt.engines.spark_rows import matrix_of

VECTORS = Layout("vector", ["features"])


def handed_over(X, sparse):
    """Return rows as :meth:`Layout.taken_apart` has them: a sparse one has a size, and places for its values."""
    values, places, sizes = [], [], []
    for row, is_sparse in zip(X, sparse, strict=True):
        used = np.flatnonzero(row)
        values.append(row[used].tolist() if is_sparse else row.tolist())
        places.append(used.tolist() if is_sparse else [])
        sizes.append(row.size if is_sparse else None)
    lists = [pa.array(values, pa.list_(pa.float64())), pa.array(places, pa.list_(pa.int32()))]
    return pa.RecordBatch.from_arrays([*lists, pa.array(sizes, pa.int32())], [VALUES, PLACES, SIZES])


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


def test_batches_of_long_rows_have_few_of_them():
    assert VECTORS.batch_rows(None) == FEW_ROWS
    for length in (0.0, 8.0, 800.0, 8e6):
        rows = VECTORS.batch_rows(length)
        assert rows >= 1
        assert rows == 1 or rows * length <= BATCH_BYTES
