from itertools import combinations, combinations_with_replacement
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, issparse
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.linear.encoders import FeatureMap

X2 = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.integers(-4, 4))


@parametrize_with_checks([FeatureMap(), FeatureMap("squares"), FeatureMap("products", degree=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@settings(deadline=None)
@given(X2, st.sampled_from(["squares", "products", "polynomial"]), st.integers(1, 3))
def test_every_feature_is_the_monomial_it_is_called(X, kind, degree):
    fmap = FeatureMap(kind, degree=degree).fit(X)
    phi = fmap.transform(X)
    names = fmap.get_feature_names_out()
    assert len(set(names)) == len(names) == fmap.n_features_out_ == phi.shape[1]
    for column, name in zip(phi.T, names, strict=True):
        factors = [part.partition("^")[::2] for part in name.split()]
        expected = [prod(row[int(x[1:])] ** int(power or 1) for x, power in factors) for row in X]
        assert column.tolist() == expected
    d = X.shape[1]
    pick = combinations if kind == "products" else combinations_with_replacement
    if kind != "squares":
        assert len(names) == sum(len(list(pick(range(d), k))) for k in range(1, degree + 1))
    sparse = fmap.transform(csr_array(X))
    assert issparse(sparse)
    assert sparse.toarray().tolist() == phi.tolist()


@pytest.mark.parametrize(("sample", "kind"), [("circles", "squares"), ("xor", "products")])
def test_it_makes_data_separable(sample, kind):
    data = read_all(f"sample:{sample}")
    assert not Perceptron(max_iter=200).fit(data.X, data.y).converged_
    mapped = make_pipeline(FeatureMap(kind), Perceptron(max_iter=500, hypothesis="last")).fit(data.X, data.y)
    assert mapped[-1].converged_
    assert mapped.score(data.X, data.y) == 1.0


def test_any_function_and_its_names():
    polar = FeatureMap(lambda X: np.hypot(X[:, :1], X[:, 1:2]), names=["radius"])
    assert polar.fit_transform([[3.0, 4.0]]).tolist() == [[5.0]]
    assert polar.get_feature_names_out().tolist() == ["radius"]
    assert FeatureMap(lambda X: X).fit([[1.0, 2.0]]).get_feature_names_out().tolist() == ["phi0", "phi1"]


@pytest.mark.parametrize(
    ("fmap", "reason"),
    [
        (FeatureMap("cubes"), "kind must be a function or one of squares, products, polynomial"),
        (FeatureMap(degree=0), "degree must be 1 or more"),
        (FeatureMap(lambda X: X[:1]), "must return 2 rows"),
        (FeatureMap(lambda X: X[:, 0]), "must return 2 rows"),
        (FeatureMap(lambda X: X, names=["one"]), "1 names for 2 features"),
    ],
)
def test_what_makes_no_sense(fmap, reason):
    with pytest.raises(ValueError, match=reason):
        fmap.fit([[1.0, 2.0], [3.0, 4.0]])


def test_names_that_came_in_go_out():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0], "b": [2.0]})
    assert FeatureMap("products").fit(frame).get_feature_names_out().tolist() == ["a", "b", "a b"]
