"""What callers hand in is checked once, at the door."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from rosenblatt.data.matrix import checked_matrix, checked_weight, encoded
from rosenblatt.learner.examples import canonical_matrix

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1) | st.lists(TEXT, min_size=1))
def test_labels_are_encoded_as_unique_would(labels):
    labels = np.array(labels)
    classes, index = encoded(labels)
    expected, expected_index = np.unique(labels, return_inverse=True)
    assert np.array_equal(classes, expected)
    assert np.array_equal(index, expected_index)
    assert classes.dtype == labels.dtype


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, bool])
def test_small_types_do_not_overflow(kind):
    labels = np.array([1, 0, 1], dtype=kind)
    if kind not in (bool,):
        labels[0] = np.iinfo(kind).max
        labels[1] = np.iinfo(kind).min
    classes, index = encoded(labels)
    assert np.array_equal(classes[index], labels)


def test_float_kinds_are_kept_and_others_become_float64():
    for dtype in (np.float32, np.float64):
        X = np.ones((2, 2), dtype)
        assert checked_matrix(X) is X
    for dtype in (np.int32, bool, np.float16):
        assert checked_matrix(np.ones((2, 2), dtype)).dtype == np.float64


def test_repeated_indices_are_summed():
    X = csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    checked = checked_matrix(X)
    assert checked.toarray().tolist() == [[0.0, 3.0, 0.0]]
    assert X.nnz == 2  # the caller's matrix is left alone
    assert checked_matrix(coo_array(np.eye(3))).format == "csr"


def test_large_finite_values_are_not_mistaken_for_infinite():
    X = np.full((3, 3), np.finfo(np.float64).max)
    assert checked_matrix(X) is X


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_place_of_a_bad_value_is_named(bad):
    X = np.zeros((5, 4))
    X[3, 2] = bad
    for stored in (X, csr_array(X)):
        with pytest.raises(ValueError, match="row 3, column 2"):
            checked_matrix(stored)


def test_weights():
    assert checked_weight(None, 3) is None
    assert checked_weight([1, 1, 1], 3) is None
    assert checked_weight(2.0, 2).tolist() == [2.0, 2.0]
    for bad, message in (([1.0], "one number"), ([1, np.nan], "row 1"), ([0, 0], "nothing to learn")):
        with pytest.raises(ValueError, match=message):
            checked_weight(bad, 2)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_labels_at_the_ends_of_their_type_are_encoded(dtype):
    ends = np.iinfo(dtype)
    for labels in ([ends.max, ends.max - 5, ends.max], [ends.min, ends.max, ends.min + 3]):
        y = np.array(labels, dtype)
        classes, index = encoded(y)
        assert classes.dtype == dtype
        assert classes.tolist() == sorted(set(labels))
        assert classes[index].tolist() == labels


@pytest.mark.parametrize("way_in", [checked_matrix, canonical_matrix], ids=["matrix", "examples"])
def test_indices_of_64_bits_are_checked_before_they_are_shortened(way_in):
    short = csr_array(np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]))
    X = csr_array(short)
    X.indices, X.indptr = short.indices.astype(np.int64), short.indptr.astype(np.int64)
    assert way_in(X).indices.dtype == np.int32
    assert (way_in(X) != short).nnz == 0
    assert X.indices.dtype == np.int64  # the caller's matrix is left alone
    for wrong in (2**32 + 1, -1, 3):  # the first would be 1 in 32 bits
        X.indices[0] = wrong
        with pytest.raises(ValueError, match="not a valid"):
            way_in(X)


def test_more_columns_than_indices_can_name_are_refused():
    X = csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1])), shape=(1, 2**33))
    with pytest.raises(ValueError, match=r"8,589,934,592 columns; at most 2,147,483,647"):
        canonical_matrix(X)
