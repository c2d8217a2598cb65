"""Naive Bayes is a hyperplane whose score is the logarithm of a product of probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from rosenblatt.linear.naive_bayes import MultinomialNaiveBayes, NaiveBayes


@st.composite
def binary_data(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k, n, d = draw(st.integers(2, 4)), draw(st.integers(4, 30)), draw(st.integers(1, 6))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n)])
    return (rng.random((len(y), d)) < 0.4).astype(float), y


@settings(max_examples=60, deadline=None)
@given(data=binary_data(), smoothing=st.sampled_from([0.1, 1.0, 3.0]))
def test_it_is_the_product_of_probabilities(data, smoothing):
    X, y = data
    clf = NaiveBayes(alpha=smoothing).fit(X, y)
    product = np.empty((len(X), len(clf.classes_)))
    for k, c in enumerate(clf.classes_):
        own = X[y == c]
        one = (own.sum(axis=0) + smoothing) / (len(own) + 2 * smoothing)
        product[:, k] = len(own) / len(X) * np.prod(np.where(X == 1, one, 1 - one), axis=1)
    expected = product / product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=1e-9)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-9
    assert (clf.predict(X)[clear] == clf.classes_[expected.argmax(axis=1)][clear]).all()
    by_hand = X @ clf.coef_.T + clf.intercept_  # coef_ is what predicts
    np.testing.assert_allclose(
        by_hand.reshape(clf.decision_function(X).shape), clf.decision_function(X), rtol=1e-12
    )


def test_it_agrees_with_scikit_learn_weighted_and_sparse():
    rng = np.random.default_rng(0)
    X, y = (rng.random((200, 12)) < 0.3).astype(float), rng.integers(0, 3, 200)
    weight = rng.random(200)
    theirs = BernoulliNB(alpha=0.7).fit(X, y, sample_weight=weight)
    for stored in (X, csr_array(X), X.astype(np.float32)):
        ours = NaiveBayes(alpha=0.7).fit(stored, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9)


def test_log_odds_can_be_read_in_bits():
    X, y = np.array([[1, 0], [1, 1], [0, 1], [0, 0]]), [1, 1, 0, 0]
    clf = NaiveBayes().fit(X, y)
    p, q = clf.log_odds_.T
    np.testing.assert_allclose(clf.coef_[0], p - q)
    assert clf.intercept_[0] == pytest.approx(q.sum())  # even priors
    assert clf.log_odds(base=2)[0].tolist() == pytest.approx([np.log2(3), -np.log2(3)])
    assert NaiveBayes().fit(X, [0, 1, 2, 2]).log_odds(base=2).shape == (3, 2, 2)


@pytest.mark.parametrize("stored", [np.asarray, csr_array])
def test_values_that_are_not_binary_are_refused_with_the_way_out(stored):
    X = stored(np.array([[1.0, 0.0], [0.0, 3.5]]))
    with pytest.raises(ValueError, match=r"value 3.5 in row 1, column 1.*binarize=threshold"):
        NaiveBayes(binarize=None).fit(X, [0, 1])
    assert NaiveBayes().fit(X, [0, 1]).feature_count_.tolist() == [[1, 0], [0, 1]]
    assert NaiveBayes(binarize=2.0).fit(X, [0, 1]).feature_count_.tolist() == [[0, 0], [0, 1]]


def test_explicit_zeros_of_a_sparse_matrix_are_zeros():
    X = csr_array((np.array([0.0, 1.0]), (np.array([0, 1]), np.array([0, 0]))), shape=(2, 1))
    assert NaiveBayes().fit(X, [0, 1]).feature_count_.tolist() == [[0], [1]]


def test_parameters_are_checked():
    for parameters, message in (
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": [1.0]}, "alpha must be one number"),
        ({"class_prior": [0.0, 1.0]}, "class_prior must hold numbers above 0"),
        ({"binarize": np.nan}, "binarize must be"),
        ({"alpha": 0.0}, r"choose smoothing \(alpha\) above zero"),
    ):
        with pytest.raises(ValueError, match=message):
            NaiveBayes(**parameters).fit([[1.0], [0.0]], [0, 1]).predict([[1.0]])
    with pytest.raises(ValueError, match="every zero of a sparse matrix"):
        NaiveBayes(binarize=-1.0).fit(csr_array([[1.0], [0.0]]), [0, 1])


@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 0.3, "fit_prior": False}, {"class_prior": [0.5, 0.2, 0.3]}]
)
def test_multinomial_and_bernoulli_agree_with_scikit_learn_by_any_priors(parameters):
    rng = np.random.default_rng(0)
    X, y, weight = rng.poisson(1.0, (200, 12)), rng.integers(0, 3, 200), rng.random(200)
    for ours, theirs in ((MultinomialNaiveBayes, MultinomialNB), (NaiveBayes, BernoulliNB)):
        peer = theirs(**parameters).fit(X, y, sample_weight=weight)
        for stored in (X, csr_array(X), X.astype(np.float32)):
            clf = ours(**parameters).fit(stored, y, sample_weight=weight)
            np.testing.assert_allclose(clf.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-9)
            joint = peer.predict_joint_log_proba(X)
            np.testing.assert_allclose(clf.predict_joint_log_proba(X), joint, rtol=1e-9)
            np.testing.assert_allclose(clf.feature_log_prob_, peer.feature_log_prob_)
            np.testing.assert_allclose(clf.class_log_prior_, peer.class_log_prior_)


def test_log_probabilities_stay_finite_where_probabilities_underflow():
    X = np.zeros((4, 2000))
    X[:2] = 1.0
    clf = NaiveBayes().fit(X, [1, 1, 0, 0])
    logs = clf.predict_log_proba(X)
    assert np.isfinite(logs).all()
    assert logs.min() < -1000.0


@pytest.mark.parametrize("each", [NaiveBayes, MultinomialNaiveBayes])
def test_a_file_holds_the_parameters(each, tmp_path):
    clf = each(alpha=0.5, fit_prior=False, class_prior=np.array([0.25, 0.75]))
    clf.fit([[1, 0], [0, 2], [1, 1]], [0, 1, 1]).save(tmp_path / "m")
    back = each.load(tmp_path / "m")
    assert (back.alpha, back.fit_prior, back.class_prior) == (0.5, False, [0.25, 0.75])
    assert np.array_equal(back.coef_, clf.coef_)
