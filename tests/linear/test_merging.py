"""Models trained apart merge into the one trained on everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.strategies import integer_data

from rosenblatt.linear.closest_centroid import ClosestCentroid
from rosenblatt.linear.logistic_regression import LogisticRegression
from rosenblatt.linear.merging import merge
from rosenblatt.linear.naive_bayes import NaiveBayes
from rosenblatt.linear.perceptron import Perceptron


@pytest.mark.parametrize("model", [ClosestCentroid(), NaiveBayes(binarize=0.0)], ids=str)
@settings(max_examples=40, deadline=None)
@given(data=integer_data(), sparse=st.booleans(), cuts=st.lists(st.integers(1, 3), max_size=2))
def test_merging_is_fitting_the_union(model, data, sparse, cuts):
    X, y, _ = data
    stored = csr_array(X) if sparse else X
    parts = np.array_split(np.argsort(y, kind="stable"), 1 + len(cuts))  # classes differ from part to part
    fresh = [type(model)(**model.get_params()) for _ in parts]
    models = [each.partial_fit(stored[part], y[part]) for each, part in zip(fresh, parts, strict=True)]
    whole = type(model)(**model.get_params()).fit(stored, y)
    merged = merge(models)
    assert np.array_equal(merged.classes_, whole.classes_)
    assert np.array_equal(merged.coef_, whole.coef_)
    assert np.array_equal(merged.intercept_, whole.intercept_)


def test_merging_leaves_the_models_as_they_are():
    one, two = (ClosestCentroid().fit([[0.0], [float(k)]], [0, 1]) for k in (2, 4))
    merged = merge([one, two])
    assert merged.centroids_.ravel().tolist() == [0.0, 3.0]
    assert one.centroids_.ravel().tolist() == [0.0, 2.0]
    assert np.isnan(merged.margin_)


def test_what_cannot_be_merged_says_why():
    centroid = ClosestCentroid().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="cannot be merged"):
        merge([LogisticRegression("batch").fit([[0.0], [1.0]], [0, 1])])
    with pytest.raises(ValueError, match="models mix where rule"):
        merge([Perceptron(rule).fit([[0.0], [1.0]], [0, 1]) for rule in ("rosenblatt", "margin")])
    with pytest.raises(TypeError, match="models of one kind"):
        merge([centroid, NaiveBayes().fit([[0.0], [1.0]], [0, 1])])
    with pytest.raises(ValueError, match="1 and 2 features"):
        merge([centroid, ClosestCentroid().fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])])
    with pytest.raises(ValueError, match="where their parameters are the same"):
        merge([NaiveBayes(alpha=s).fit([[0.0], [1.0]], [0, 1]) for s in (1.0, 2.0)])
    with pytest.raises(ValueError, match="at least one"):
        merge([])
