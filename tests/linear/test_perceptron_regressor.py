"""The delta rule for numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt.linear.perceptron_regressor import PerceptronRegressor


def plain_delta(X, y, eta, order, weights=None):
    """The rule of seed 001, example by example; the last weights and the mean of all."""
    w, total = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1)
    weights = np.ones(len(order)) if weights is None else weights
    for i, weight in zip(order, weights, strict=True):
        x = np.concatenate([[1.0], X[i]])
        w = w + weight * eta * (y[i] - w @ x) * x
        total += weight * w
    return w, total / weights.sum()


@pytest.mark.parametrize("hypothesis", ["last", "averaged"])
@pytest.mark.parametrize("stored", [np.asarray, csr_array], ids=["dense", "csr"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_it_is_the_plain_loop(stored, hypothesis, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    model = PerceptronRegressor(eta=0.02, hypothesis=hypothesis, max_iter=3, shuffle=False).fit(stored(X), y)
    last, mean = plain_delta(X, y, 0.02, np.tile(np.arange(50), 3))
    expected = last if hypothesis == "last" else mean
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected, rtol=1e-9, atol=1e-12)


def test_it_finds_a_line_and_averages_noise_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    w = np.array([1.0, -2.0, 0.5])
    exact = PerceptronRegressor(max_iter=300).fit(X, X @ w + 4.0)
    np.testing.assert_allclose(exact.coef_, w, atol=1e-8)
    assert exact.intercept_ == pytest.approx(4.0)
    y = X @ w + 4.0 + rng.normal(size=500)
    last, averaged = (PerceptronRegressor(hypothesis=h, max_iter=30).fit(X, y) for h in ("last", "averaged"))
    assert averaged.score(X, y) >= last.score(X, y)


def test_explanations_speak_of_the_prediction():
    model = PerceptronRegressor().fit([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [1.0, 2.0, 3.0])
    told = model.explain([2.0, 1.0])
    assert told.score == pytest.approx(model.predict([[2.0, 1.0]])[0])
    assert [each.feature for each in model.explain()[0].features]


def test_steps_that_are_too_long_say_so():
    with pytest.raises(ValueError, match=r"eta=1 is too large for rows of norm"):
        PerceptronRegressor(eta=1.0, max_iter=2000).fit([[10.0], [-9.0], [7.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="hypothesis must be one of last, averaged"):
        PerceptronRegressor(hypothesis="voted").fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="max_iter must be"):
        PerceptronRegressor(max_iter=0).fit([[1.0]], [1.0])
