"""The closest centroid is a hyperplane through the midpoint."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestCentroid
from tests.strategies import integer_data

from rosenblatt.linear.closest_centroid import ClosestCentroid


@settings(max_examples=50, deadline=None)
@given(data=integer_data(classes=st.just(2)))
def test_the_midpoint_lies_on_the_hyperplane(data):
    X, labels, _ = data
    clf = ClosestCentroid().fit(X, labels)
    minus, plus = clf.centroids_
    scale = 1.0 + np.abs(clf.centroids_).max() ** 2
    assert clf.decision_function([(minus + plus) / 2])[0] == pytest.approx(0.0, abs=1e-12 * scale)
    np.testing.assert_allclose(clf.coef_[0], plus - minus, atol=1e-15)
    assert clf.intercept_[0] == pytest.approx(-0.5 * (plus @ plus - minus @ minus), abs=1e-12 * scale)


@settings(max_examples=50, deadline=None)
@given(data=integer_data())
def test_it_is_the_closest(data):
    X, labels, _ = data
    clf = ClosestCentroid().fit(X, labels)
    away = ((X[:, None] - clf.centroids_[None]) ** 2).sum(axis=2)
    chosen = np.searchsorted(clf.classes_, clf.predict(X))
    assert (away[np.arange(len(X)), chosen] <= away.min(axis=1) + 1e-9).all()


def test_it_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 4, 300)
    X += y[:, None]
    ours, theirs = ClosestCentroid().fit(X, y), NearestCentroid().fit(X, y)
    np.testing.assert_allclose(ours.centroids_, theirs.centroids_)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_a_class_that_was_named_and_not_seen_has_no_centroid():
    clf = ClosestCentroid().partial_fit([[0.0], [2.0]], ["a", "b"], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"class .*c.* has no examples yet"):
        clf.predict([[1.0]])
    assert clf.partial_fit([[9.0]], ["c"]).predict([[8.0]]) == ["c"]


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="NaN"):
        ClosestCentroid().fit([[1.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="only one class"):
        ClosestCentroid().fit([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="beyond what a float can hold"):
        ClosestCentroid().fit([[1e308], [1e308], [0.0]], [0, 0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "manhattan"}, "metric must be 'euclidean'"),
        ({"shrink_threshold": 0.0}, "shrink_threshold must be above 0"),
        ({"priors": "flat"}, "priors must be 'uniform', 'empirical'"),
        ({"priors": [0.2, 0.3, 0.5]}, "Number of priors must match"),
        ({"priors": "empirical"}, "2 examples of 2 classes have no spread"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        ClosestCentroid(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_rare_classes_lose_where_priors_say_so():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (990, 1)), rng.normal(2.0, 1.0, (10, 1))])
    y = np.repeat(["common", "rare"], [990, 10])
    assert ClosestCentroid().fit(X, y).predict([[1.2]]) == ["rare"]
    assert ClosestCentroid(priors="empirical").fit(X, y).predict([[1.2]]) == ["common"]


def test_priors_and_shrinking_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    clf = ClosestCentroid(shrink_threshold=0.3, priors=[0.2, 0.3, 0.5]).fit(X, y)
    clf.save(tmp_path / "m")
    back = ClosestCentroid.load(tmp_path / "m")
    assert (back.shrink_threshold, back.priors) == (0.3, [0.2, 0.3, 0.5])
    assert np.array_equal(back.coef_, clf.coef_)
    np.testing.assert_allclose(clf.within_class_std_dev_, back.within_class_std_dev_)
    with pytest.raises(AttributeError, match="was not measured"):
        _ = ClosestCentroid().fit(X, y).within_class_std_dev_


@pytest.mark.parametrize("name", ["centroids_", "class_prior_", "class_count_", "within_class_std_dev_"])
def test_attributes_of_an_unfitted_model_say_to_fit_it(name):
    with pytest.raises(AttributeError, match="call fit first"):
        getattr(ClosestCentroid(), name)
