"""Preprocessing: what is learned from some rows is applied to any, dense and sparse alike."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from rosenblatt.data.tables.preprocess import Moments, Preprocessing, PreprocessingPlan

VALUES = st.floats(-1e6, 1e6) | st.just(np.nan)
TABLES = arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 4)), elements=VALUES)
POLICIES = st.sampled_from(["indicator", "mean", "median"])


@settings(deadline=None)
@given(TABLES, st.data())
def test_moments_of_blocks_are_those_of_all_rows(X, data):
    cut = data.draw(st.integers(0, len(X)))
    moments = Moments(X.shape[1])
    moments.update(X[:cut])
    moments.update(X[cut:])
    for column, values in enumerate(X.T):
        present = values[~np.isnan(values)]
        assert (moments.count[column], moments.missing[column]) == (present.size, np.isnan(values).sum())
        if present.size:
            assert np.isclose(moments.mean[column], present.mean(), rtol=1e-9, atol=1e-6)
            if present.std() > 1e-3 * (1 + abs(present.mean())):
                assert np.isclose(moments.deviation()[column], present.std(), rtol=1e-6)


def test_numbers_too_large_to_square_are_refused():
    moments = Moments(1)
    moments.update(np.array([[1e300], [-1e300]]))
    with pytest.raises(ValueError, match="too large to be scaled"):
        moments.deviation()


@settings(deadline=None)
@given(TABLES, POLICIES, st.booleans(), st.data())
def test_sparse_rows_are_prepared_as_dense_ones(X, missing, scale, data):
    numeric = data.draw(st.none() | st.just(tuple(range(0, X.shape[1], 2))))
    if numeric is not None:
        others = [column for column in range(X.shape[1]) if column not in numeric]
        X[:, others] = np.nan_to_num(X[:, others])
    fitted = Preprocessing.fit(X, numeric, missing=missing, scale=scale)
    dense, sparse = fitted.apply(X), fitted.apply(csr_array(X))
    assert dense.shape == (len(X), fitted.n_features)
    assert sparse.has_sorted_indices
    assert (np.diff(sparse.indptr) >= 0).all()
    np.testing.assert_array_equal(sparse.toarray(), dense)
    assert not np.isnan(dense).any()
    assert Preprocessing.fit(csr_array(X), numeric, missing=missing, scale=scale) == fitted


def test_filled_by_mean_or_median_with_an_indicator_where_any_is_missing():
    X = np.array([[1.0, 4.0], [np.nan, 5.0], [2.0, 6.0], [9.0, 7.0]])
    assert Preprocessing.fit(X, missing="mean").apply(X)[1].tolist() == [4.0, 5.0]
    assert Preprocessing.fit(X, missing="median").apply(X)[1].tolist() == [2.0, 5.0]
    fitted = Preprocessing.fit(X)
    assert fitted.apply(X)[:, 2].tolist() == [0, 1, 0, 0]
    assert fitted.feature_names(["a", "b"]) == ["a", "b", "a=(missing)"]
    new = fitted.apply(np.array([[3.0, np.nan]]))  # a gap where training had none: the mean, no indicator
    assert new.tolist() == [[3.0, 5.5, 0.0]]


@pytest.mark.parametrize("policy", ["refuse", "drop"])
def test_a_gap_that_must_not_be_is_named(policy):
    fitted = Preprocessing.fit(np.eye(2), missing=policy)
    with pytest.raises(ValueError, match=f"row 1 has no number in column 0, and missing is '{policy}'"):
        fitted.apply(np.array([[1.0, 2.0], [np.nan, 1.0]]))


def test_scaled_columns_have_mean_0_and_deviation_1_and_constants_stay():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(7, 3, 100), np.full(100, 5.0)])
    prepared = Preprocessing.fit(X, scale=True).apply(X)
    assert np.allclose([prepared[:, 0].mean(), prepared[:, 0].std()], [0, 1])
    assert not prepared[:, 1].any()
    only_scaled = Preprocessing.fit(csr_array(X), scale=True, centre=False).apply(csr_array(X)).toarray()
    assert np.allclose(only_scaled[:, 0], X[:, 0] / X[:, 0].std())


def test_statistics_come_from_the_rows_of_the_fit_alone():
    X = np.array([[1.0], [3.0], [100.0], [np.nan]])
    fitted = PreprocessingPlan(scale=True).fit(X[:2])
    assert (fitted.fill, fitted.centre, fitted.indicators) == ((2.0,), (2.0,), ())
    assert fitted.apply(X)[:, 0].tolist() == [-1, 1, 98, 0]
    assert fitted.plan == PreprocessingPlan(scale=True)


@settings(deadline=None)
@given(TABLES, st.integers(1, 3), st.data())
def test_weights_folded_back_score_filled_rows_alike(X, classes, data):
    fitted = Preprocessing.fit(X, scale=True)
    w = np.array(data.draw(arrays(np.float64, (classes, fitted.n_features), elements=st.floats(-9, 9))))
    raw, bias = fitted.fold_back(w, np.zeros(classes))
    filled = Preprocessing(fitted.raw_features, None, "indicator", fitted.fill, indicators=fitted.indicators)
    size = np.abs(filled.apply(X)).max(initial=1.0) * np.abs(raw).max(initial=1.0)
    assert np.allclose(filled.apply(X) @ raw.T + bias, fitted.apply(X) @ w.T, rtol=1e-6, atol=1e-9 * size)


@settings(deadline=None)
@given(TABLES, POLICIES, st.booleans())
def test_it_survives_json(X, missing, scale):
    fitted = Preprocessing.fit(X, missing=missing, scale=scale)
    assert Preprocessing.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


GOOD = Preprocessing.fit(np.array([[1.0, np.nan], [2.0, 3.0]]), scale=True).to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"raw_features": -1},
        {"raw_features": 3},
        {"missing": "guess"},
        {"missing": ["mean"]},
        {"numeric": [1, 0]},
        {"numeric": [0, 2]},
        {"fill": [1.0]},
        {"fill": [1.0, "x"]},
        {"fill": [1.0, float("inf")]},
        {"spread": [1.0, 0.0]},
        {"spread": None},
        {"centre": [True, 1.0]},
        {"indicators": [2]},
        {"numeric": [0], "fill": [1.0], "centre": [1.0], "spread": [1.0], "indicators": [1]},
        {"more": 1},
    ],
)
def test_anything_else_is_refused(change):
    with pytest.raises(ValueError, match="not a preprocessing"):
        Preprocessing.from_dict({**GOOD, **change})
    with pytest.raises(ValueError, match="not a preprocessing"):
        Preprocessing.from_dict([GOOD])
