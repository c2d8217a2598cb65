"""Per-class sums against numpy, for every kind of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt.core.rows import rows_of
from rosenblatt.core.sums import (
    add_dense,
    add_dense_binary,
    add_sparse,
    count_different,
    largest_sqnorm,
    tally_sparse,
)


def by_hand(X, labels, weight, classes):
    return np.array([(weight[:, None] * X)[labels == c].sum(axis=0) for c in range(classes)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), d=st.integers(1, 12), weighted=st.booleans())
def test_sums_are_exact_on_integers(dtype, seed, n, d, weighted):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.6)).astype(dtype)
    labels = rng.integers(0, 3, n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    expected = by_hand(X.astype(float), labels, weight, 3)
    given_weight = weight if weighted else np.empty(0)
    dense, sparse = np.zeros(3 * d), np.zeros(3 * d)
    add_dense(X.reshape(-1), labels, given_weight, dense, 3)
    again = np.zeros(3 * d)
    strange = add_dense_binary(X.reshape(-1), labels, given_weight, again, 3)
    assert np.array_equal(again, dense)
    add_sparse(*rows_of(csr_array(X)), labels, given_weight, sparse, 3)
    assert np.array_equal(dense.reshape(3, d), expected)
    assert np.array_equal(sparse.reshape(3, d), expected)
    assert (strange == 0.0) == bool(np.isin(X, (0, 1)).all())
    assert largest_sqnorm(*rows_of(X), n, 0, n) == (X.astype(float) ** 2).sum(axis=1).max()
    assert largest_sqnorm(*rows_of(csr_array(X)), n, 0, n) == (X.astype(float) ** 2).sum(axis=1).max()
    ones = csr_array((X != 0).astype(dtype))
    tally = np.zeros(3 * d, np.uint32)
    tally_sparse(rows_of(ones).indices, rows_of(ones).starts, labels, tally, 3)
    assert np.array_equal(tally.reshape(3, d), by_hand(ones.toarray(), labels, np.ones(n), 3))


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 0.5, -1.0, 2.0, 1.0000001, 5e-324, -1e-300])
def test_a_value_that_is_not_binary_is_seen(odd):
    X = np.array([[0.0, 1.0, 1.0], [1.0, odd, 0.0]])
    strange = add_dense_binary(X.reshape(-1), np.array([0, 1]), np.empty(0), np.zeros(6), 2)
    assert strange != 0.0
    assert count_different(np.array([1.0, odd]), 1.0) == 1
