"""Read-only data are no other type to a compiled loop: each would be compiled again for them."""

import numba
import numpy as np
import pytest
import scipy.sparse

from rosenblatt.core.rows import as_writable, rows_of
from rosenblatt.proofs.examples import as_matrix

X = np.arange(12.0).reshape(4, 3)


def parts(matrix):
    return [matrix] if isinstance(matrix, np.ndarray) else [matrix.data, matrix.indices, matrix.indptr]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_read_only_rows_have_the_type_of_others(kind, dtype):
    usual, read_only = kind(X.astype(dtype)), kind(X.astype(dtype))
    for part in parts(read_only):
        part.setflags(write=False)
    assert numba.typeof(rows_of(read_only)) == numba.typeof(rows_of(usual))
    assert np.shares_memory(rows_of(read_only).values, parts(read_only)[0])
    own, other = parts(as_matrix(read_only)), parts(as_matrix(usual))
    assert [numba.typeof(each) for each in own] == [numba.typeof(each) for each in other]
    assert all(np.array_equal(a, b) for a, b in zip(own, other, strict=True))
    assert not any(part.flags.writeable for part in parts(read_only))


def test_the_view_keeps_the_memory():
    data = np.frombuffer(np.arange(1000.0).tobytes())
    view = as_writable(data)
    del data
    assert np.array_equal(view, np.arange(1000.0))
