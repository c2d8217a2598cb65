"""Examples are checked once: the largest norm and values that are not finite are found in one read."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt import Perceptron, PerceptronRegressor
from rosenblatt.core import threads
from rosenblatt.learner import Learner
from rosenblatt.learner.examples import canonical_matrix, checked_examples, max_row_sqnorm
from rosenblatt.streams.online import OnlineLearner

KINDS = [np.asarray, csr_array, np.asfortranarray]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_sqnorm_is_the_largest_squared_norm_of_a_row_that_weighs_anything(kind, dtype):
    X = np.random.default_rng(0).integers(-9, 10, (40, 7)).astype(dtype)
    sqnorms = (X**2).sum(axis=1)
    assert max_row_sqnorm(kind(X)) == sqnorms.max()
    weight = np.where(sqnorms == sqnorms.max(), 0.0, 2.0)
    y = np.arange(40) % 2
    assert max_row_sqnorm(kind(X), weight) == sqnorms[weight > 0].max() < sqnorms.max()
    assert checked_examples(kind(X), y, weight).max_sqnorm == sqnorms[weight > 0].max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 1.0])])
def test_a_value_that_is_not_finite_is_found_wherever_it_stands(kind, value, weight):
    for at in range(3):
        X = np.ones((3, 5))
        X[at, 4 - at] = value
        with pytest.raises(ValueError, match=f"{value} in row {at}, column {4 - at}"):
            max_row_sqnorm(kind(X), weight)
        learner = Learner()
        with pytest.raises(ValueError, match="remove the row"):
            learner.learn(kind(X), [0, 1, 1], weight)
        assert not learner.classes.size, "what is refused leaves nothing behind"


def test_what_a_row_stores_twice_counts_by_its_sum():
    X = csr_array(([1.0, 3.0, 2.0, 3.0], [1, 0, 1, 1], [0, 3, 4]), shape=(2, 2))
    assert not X.has_canonical_format
    merged = canonical_matrix(X)
    assert merged.has_canonical_format
    assert merged.toarray().tolist() == X.toarray().tolist()
    assert X.nnz == 4, "the caller's matrix stays as it was"
    assert max_row_sqnorm(merged) == max_row_sqnorm(merged, np.array([1.0, 0.0])) == 18.0
    assert Perceptron(fit_intercept=False).fit(X, [0, 1]).radius_ == math.sqrt(18.0)
    regressor = PerceptronRegressor(fit_intercept=False)
    assert np.array_equal(regressor.fit(X, [1.0, 2.0]).coef_, regressor.fit(X.toarray(), [1.0, 2.0]).coef_)


def test_squares_beyond_a_float_are_no_reason_to_refuse_the_values():
    assert max_row_sqnorm(np.array([[1e200]])) == math.inf
    for kind in KINDS:
        assert max_row_sqnorm(kind(np.array([[2.0**66, 0.0], [1.0, 2.0]], np.float32))) == 2.0**132


@pytest.mark.parametrize("rule", ["rosenblatt", "passive-aggressive", "arow", "alma"])
def test_every_way_in_has_the_same_radius(rule):
    rng = np.random.default_rng(1)
    X = rng.integers(-9, 10, (30, 4)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    radius = math.sqrt((X**2).sum(axis=1).max() + 1.0)
    whole, batches, sparse = Learner(rule), Learner(rule), Learner(rule)
    whole.train(X, y, max_iter=3)
    sparse.train(csr_array(X), y, max_iter=3)
    for at in range(0, 30, 7):
        batches.learn(X[at : at + 7], y[at : at + 7])
    one_by_one, many = OnlineLearner(rule=rule), OnlineLearner(rule=rule)
    rows = [dict(zip("abcd", x, strict=True)) for x in X.tolist()]
    for row, label in zip(rows, y.tolist(), strict=True):
        one_by_one.learn_one(row, label)
    many.learn_many(rows, y.tolist())
    for learner in (whole, batches, sparse, one_by_one.learner, many.learner):
        assert learner.radius == radius


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_sparse_rows_are_made_canonical_as_scipy_does(index_type, dtype, monkeypatch):
    monkeypatch.setattr(threads, "parts_of_work", lambda numbers: 3)
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 6, 400).astype(index_type)
    starts = np.concatenate([[0], np.sort(rng.integers(0, 401, 59)), [400]]).astype(index_type)
    X = csr_array((rng.normal(size=400).astype(dtype), columns, starts), shape=(60, 6))
    expected = X.copy()
    expected.sum_duplicates()
    canonical = canonical_matrix(X)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_allclose(getattr(canonical, part), getattr(expected, part), rtol=1e-5)
    assert canonical.indices.dtype == np.int32
    assert canonical.dtype == dtype
    assert canonical_matrix(canonical) is canonical
    assert X.nnz == 400
