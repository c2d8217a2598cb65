"""Whole vectors with a masked end against numpy: every width, both kinds of numbers, and nothing beyond the row."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.core.rows import Rows, fill_scores
from rosenblatt.core.simd import add_scaled, products


@numba.njit
def five_products(values, x, W, w, stride, width):
    return products(values, x, W, w, stride, width, 5)


@numba.njit
def one_product(values, x, W, w, stride, width):
    return products(values, x, W, w, stride, width, 1)


@numba.njit
def add(values, x, step, V, v, width):
    add_scaled(values, x, step, V, v, width)


def fenced(rng, rows, width, dtype):
    """Rows of whole numbers with NaN before, between and after them: reading one would show."""
    room = np.full((rows + 2, width + 1), np.nan, dtype)
    room[1:-1, 1:] = rng.integers(-9, 10, (rows, width))
    return room


KINDS = [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64)]


@pytest.mark.parametrize(("narrow", "wide"), KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), width=st.integers(0, 150))
def test_products_are_exact_on_whole_numbers_and_read_nothing_else(narrow, wide, seed, width):
    rng = np.random.default_rng(seed)
    x, W = fenced(rng, 1, width, narrow), fenced(rng, 5, width, wide)
    start, stride, length = np.uint64(width + 2), np.uint64(width + 1), np.uint64(width)
    expected = [*(W[1:-1, 1:] @ x[1, 1:]), x[1, 1:] @ x[1, 1:]]
    assert list(five_products(x.reshape(-1), start, W.reshape(-1), start, stride, length)) == expected
    assert list(one_product(x.reshape(-1), start, W.reshape(-1), start, stride, length)) == [
        expected[0],
        expected[-1],
    ]


@pytest.mark.parametrize(("narrow", "wide"), KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), width=st.integers(0, 150))
def test_adding_is_exact_on_whole_numbers_and_writes_nothing_else(narrow, wide, seed, width):
    rng = np.random.default_rng(seed)
    x, V = fenced(rng, 1, width, narrow), fenced(rng, 3, width, wide)
    expected = V.copy()
    expected[2, 1:] += 3.0 * x[1, 1:]
    at, start = np.uint64(2 * (width + 1) + 1), np.uint64(width + 2)
    add(x.reshape(-1), start, wide(3.0), V.reshape(-1), at, np.uint64(width))
    assert np.array_equal(V, expected, equal_nan=True)


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
@pytest.mark.parametrize(("narrow", "wide"), KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(1, 60), nonzeros=st.integers(0, 30))
def test_a_sparse_row_meets_every_class_exactly_and_nothing_else(
    narrow, wide, index, seed, classes, nonzeros
):
    rng = np.random.default_rng(seed)
    width = nonzeros + 3
    places = np.sort(rng.choice(width, nonzeros, replace=False)).astype(index)
    x, W = fenced(rng, 1, nonzeros, narrow), fenced(rng, 1 + width, classes, wide)
    own, scores = np.full(classes + 9, np.nan, wide), np.full((3, classes + 1), np.nan, wide)
    weights = np.concatenate([W[1:-1, 1:].reshape(-1), np.full(9, np.nan, wide)])
    values = x.reshape(-1)[nonzeros + 2 :]  # NaN lies behind the row, in the next one
    starts = np.array([0, nonzeros], np.uint64)
    fill_scores(Rows(values, places, starts), width, weights, 0, own[:classes], scores[1:2, :classes])
    expected = W[1, 1:] + x[1, 1:] @ W[2:-1, 1:][places]
    assert np.array_equal(scores[1, :classes], expected)
    assert np.isnan(own[classes:]).all()
    assert np.isnan(scores[[0, 2]]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_a_number_stays_visible(dtype):
    for where in (0, 40, 99):
        x, w = np.ones(100, dtype), np.ones(100, dtype)
        x[where] = np.nan
        assert np.isnan(one_product(x, np.uint64(0), w, np.uint64(0), np.uint64(0), np.uint64(100))).all()
