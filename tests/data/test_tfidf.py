"""Counts become tf-idf rows by document counts that are fitted on any rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from rosenblatt.data.words import DocumentCounts, TfidfPlan

COUNTS = arrays(np.float64, (6, 5), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 7.0])).map(csr_array)


def plain(train, rows, groups=(0,) * 5):
    """Return the weights by the formula, one entry after the other."""
    train, rows = train.toarray(), rows.toarray()
    n, df = train.shape[0], (train > 0).sum(axis=0)
    out = np.zeros(rows.shape)
    for i, row in enumerate(rows):
        for j, count in enumerate(row):
            if groups[j] < 0:
                out[i, j] = count
            elif count and df[j]:
                out[i, j] = (1 + np.log(count)) * (1 + np.log((1 + n) / (1 + df[j])))
        for group in {group for group in groups if group >= 0}:
            members = [j for j in range(len(row)) if groups[j] == group]
            length = np.sqrt((out[i, members] ** 2).sum())
            out[i, members] /= length or 1.0
    return out


@settings(deadline=None)
@given(COUNTS, st.integers(0, 6))
def test_weights_come_from_the_training_rows_alone(X, n):
    fitted = TfidfPlan().fit(X[:n])
    np.testing.assert_allclose(fitted.apply(X).toarray(), plain(X[:n], X), rtol=1e-13)


@settings(deadline=None)
@given(COUNTS)
def test_every_group_of_a_row_has_unit_length(X):
    groups = np.array([0, 1, -1, 0, 1], np.int32)
    weighted = TfidfPlan(groups).fit(X).apply(X).toarray()
    np.testing.assert_allclose(weighted, plain(X, X, groups), rtol=1e-13)


@settings(deadline=None)
@given(COUNTS, st.integers(0, 6))
def test_rows_weighed_in_turn_do_not_depend_on_the_batches(X, cut):
    groups = np.array([0, 0, -1, 1, 1], np.int32)
    whole, parts = DocumentCounts(), DocumentCounts()
    expected = whole.learn_rows(X, groups).toarray()
    halves = [parts.learn_rows(half, groups).toarray() for half in (X[:cut], X[cut:])]
    assert np.vstack(halves).tolist() == expected.tolist()
    assert (parts.documents, parts.frequency.tolist()) == (whole.documents, whole.frequency.tolist())
    for row in range(6):  # each row by the documents up to it
        np.testing.assert_allclose(
            expected[row], plain(X[: row + 1], X[row : row + 1], groups)[0], rtol=1e-13
        )


def test_counts_of_shards_merge():
    X = csr_array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    whole, first, second = DocumentCounts(), DocumentCounts(), DocumentCounts()
    whole.update(X)
    first.update(X[:1])
    second.update(X[1:, :2])
    first.merge(second)
    assert (first.documents, first.frequency.tolist()) == (3, whole.frequency.tolist())


def test_features_beyond_those_fitted_are_unknown_words():
    fitted = TfidfPlan().fit(csr_array([[1.0]]))
    assert fitted.apply(csr_array([[1.0, 5.0]])).toarray().tolist() == [[1.0, 0.0]]


def test_it_is_the_sublinear_tfidf_of_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    X = csr_array([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    peer = text.TfidfTransformer(sublinear_tf=True).fit_transform(X)
    np.testing.assert_allclose(TfidfPlan().fit(X).apply(X).toarray(), peer.toarray(), rtol=1e-14)
