"""Running statistics: Welford in row order, the same bits in any split, and rows that never see their label."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt.core.scaling import (
    LARGEST_VALUE,
    folded,
    merge,
    new_statistics,
    scaled_matrix,
    widened_statistics,
)

FEATURES = 5


class Feature(NamedTuple):
    count: int = 0
    mean: float = 0.0
    m2: float = 0.0


def oracle(rows):
    """Standardise rows of ``{feature: value}`` in plain Python; return them and the statistics."""
    statistics, standardised = {}, []
    for n, row in enumerate(rows, 1):
        out = {}
        for feature, x in row.items():
            count, mean, m2 = statistics.get(feature, Feature())
            count += 1
            delta = x - mean
            mean += delta / count
            m2 += delta * (x - mean)
            statistics[feature] = Feature(count, mean, m2)
            if m2 > 0 and 2 * count >= n:
                out[feature] = (x - mean) / math.sqrt(m2 / count)
            elif count == n:
                out[feature] = 0.0
            else:
                square = m2 / count + mean * mean
                out[feature] = x / math.sqrt(square) if square > 0 else 0.0
        standardised.append(out)
    return standardised, statistics


def as_csr(rows):
    indices = [feature for row in rows for feature in sorted(row)]
    values = [row[feature] for row in rows for feature in sorted(row)]
    starts = np.cumsum([0] + [len(row) for row in rows])
    return csr_array(
        (np.array(values, float), np.array(indices, np.int32), starts), shape=(len(rows), FEATURES)
    )


ROWS = st.lists(
    st.dictionaries(
        st.integers(0, FEATURES - 1),
        st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x if abs(x) > 1e-6 else 0.0),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(0, 30))
def test_any_split_has_the_bits_of_plain_python(rows, cut):
    expected, counted = oracle([dict(sorted(row.items())) for row in rows])
    statistics = new_statistics(FEATURES)
    parts = [
        scaled_matrix(statistics, as_csr(part), update=True) for part in (rows[:cut], rows[cut:]) if part
    ]
    got = np.concatenate([part.data for part in parts])
    assert got.tolist() == [row[feature] for row in expected for feature in sorted(row)]
    assert statistics["count"][0] == len(rows)
    assert {k: Feature(*statistics[1 + k].item()) for k in counted} == counted


def test_a_prediction_is_by_the_row_itself_too_and_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, FEATURES))
    statistics = new_statistics(FEATURES)
    for k in range(30):
        before = statistics.copy()
        predicted = scaled_matrix(statistics, X[k : k + 1]).data
        assert np.array_equal(statistics, before)
        assert np.array_equal(predicted, scaled_matrix(statistics, X[k : k + 1], update=True).data)


def test_columns_of_any_scale_and_shift_become_the_same_rows():
    X = np.random.default_rng(1).normal(size=(200, FEATURES))
    scale = np.array([1e4, 1.0, 1e-4, -1.0, 7.0])
    one = scaled_matrix(new_statistics(FEATURES), X, update=True)
    other = scaled_matrix(new_statistics(FEATURES), X * scale + 100.0 * np.abs(scale), update=True)
    np.testing.assert_allclose(other.toarray(), one.toarray() * np.sign(scale), rtol=1e-6, atol=1e-9)


def test_words_and_indicators_are_never_centred():
    rows = [{0: 1.0, 1 + k % 4: 3.0} for k in range(40)]
    scaled = scaled_matrix(new_statistics(FEATURES), as_csr(rows), update=True).toarray()
    assert not scaled[:, 0].any()  # the same in every row: a second bias
    assert scaled[10:, 1:].max() == 1.0
    assert scaled[:, 1:].min() == 0.0


def test_parts_merged_are_the_whole():
    X = np.random.default_rng(2).normal(size=(90, FEATURES)) * 10 + 3
    whole, parts = (
        new_statistics(FEATURES),
        [new_statistics(FEATURES), new_statistics(2), new_statistics(FEATURES)],
    )
    scaled_matrix(whole, X, update=True)
    for part, rows in zip(parts, (X[:30], X[30:60, :2], X[60:]), strict=True):
        scaled_matrix(part, rows, update=True)
    merged = merge(merge(parts[0], parts[2]), parts[1])
    assert merged["count"].tolist() == [90, 90, 90, 60, 60, 60]
    for name in ("mean", "m2"):
        np.testing.assert_allclose(merged[name][:3], whole[name][:3], rtol=1e-12)
    assert np.array_equal(merge(new_statistics(), whole), whole)


def test_weights_fold_back_to_the_values_as_they_are():
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(500, FEATURES)) * 5 - 7, rng.normal(size=(2, 1 + FEATURES))
    statistics = new_statistics(FEATURES)
    scaled_matrix(statistics, X, update=True)
    raw = folded(weights, statistics)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(
        X @ raw[:, 1:].T + raw[:, 0], Z @ weights[:, 1:].T + weights[:, 0], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2 * LARGEST_VALUE])
def test_a_value_that_cannot_be_summed_changes_nothing(bad):
    statistics = new_statistics(1)
    with pytest.raises(ValueError, match="1e146"):
        scaled_matrix(statistics, np.array([[1.0], [bad]]), update=True)
    assert np.array_equal(statistics, new_statistics(1))


def test_new_features_have_no_values():
    statistics = new_statistics(1)
    scaled_matrix(statistics, np.array([[2.0]]), update=True)
    wide = widened_statistics(statistics, 3)
    assert wide["count"].tolist() == [1, 1, 0, 0]
    assert widened_statistics(wide, 2) is wide
