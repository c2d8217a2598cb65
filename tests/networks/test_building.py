"""Tower and Upstart make no error on any consistent data, and err less with every unit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt.networks import Backpropagation, Tower, Upstart
from rosenblatt.networks.gate import every_input

BUILDERS = [Tower, Upstart]


@parametrize_with_checks([Tower(max_iter=20), Upstart(max_iter=20), Backpropagation((4,), max_iter=40)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@st.composite
def boolean_functions(draw):
    inputs = draw(st.integers(1, 6))
    size = 1 << inputs
    table = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    kept = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    if np.unique(table[kept]).size < 2:
        kept[:] = True
        table[0], table[-1] = 0, 1
    return every_input(inputs)[kept], table[kept]


@pytest.mark.parametrize("builder", BUILDERS)
@given(data=boolean_functions(), max_iter=st.sampled_from([1, 10]))
@settings(max_examples=60, deadline=None)
def test_no_error_on_any_boolean_function_whole_or_in_part(builder, data, max_iter):
    X, y = data
    built = builder(max_iter=max_iter).fit(X, y)
    assert built.converged_
    assert (built.predict(X) == y).all()
    assert (built.network_.evaluate(X) == y).all()  # Boolean inputs are read as they are
    errors = built.errors_[0]
    assert (np.diff(errors) < 0).all() or errors[-1] == errors[0] == 0
    assert built.n_units_ <= max(1, 2 * len(y))


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("inputs", [2, 3, 4, 5, 6])
def test_parity(builder, inputs):
    X = every_input(inputs)
    y = X.sum(axis=1) % 2
    assert (builder().fit(X, y).predict(X) == y).all()


@pytest.mark.parametrize("builder", BUILDERS)
@given(
    points=st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=25, unique=True),
    labels=st.integers(0, 2**25 - 1),
)
@settings(max_examples=30, deadline=None)
def test_no_error_on_any_distinct_points_of_the_plane(builder, points, labels):
    X = np.array(points, dtype=float) / 4
    y = np.array([labels >> k & 1 for k in range(len(points))])
    y[:2] = 0, 1
    built = builder(max_iter=5).fit(X, y)
    assert (built.predict(X) == y).all()


@pytest.mark.parametrize("builder", BUILDERS)
def test_contradictory_rows_get_the_label_of_most_of_them(builder):
    X, y = [[0, 0], [0, 0], [0, 0], [0, 1], [1, 0], [1, 1]], ["a", "a", "b", "b", "b", "a"]
    built = builder().fit(X, y)
    assert built.converged_
    assert built.predict(X).tolist() == ["a", "a", "a", "b", "b", "a"]


@pytest.mark.parametrize("builder", BUILDERS)
def test_several_classes_and_limits(builder):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    built = builder(max_iter=10).fit(X, y)
    assert (built.predict(X) == y).all()
    assert len(built.networks_) == 3
    with pytest.raises(AttributeError, match="networks_"):
        built.network_  # noqa: B018
    small = builder(max_iter=10, max_units=2).fit(X, y)
    assert all(len(network.units) <= 2 for network in small.networks_)
    assert not small.converged_
    for wrong in ({"max_units": 0}, {"max_iter": 0}):
        with pytest.raises(ValueError, match=r"must be a whole number, 1 or more"):
            builder(**wrong).fit(X, y)


def test_backpropagation_says_when_it_was_stopped():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    stopped = Backpropagation((8,), max_iter=2).fit(X, y)
    assert not stopped.converged_
    assert stopped.hidden_planes().shape == (8, 3)


@pytest.mark.parametrize("cls", [Tower, Upstart])
def test_a_network_of_steps_has_no_probabilities_and_says_why(cls):
    model = cls().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as error:
        model.predict_proba([[0, 0]])
    assert "CalibratedClassifierCV" in f"{error.value} {error.value.__cause__}"
