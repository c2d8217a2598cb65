import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.plots import compare as module
from rosenblatt.plots.compare import compare, linear_learners, unit_margins

IRIS, SEPARABLE = read_all("sample:iris"), read_all("sample:separable")


@pytest.fixture(scope="module")
def table():
    return compare(IRIS.X, IRIS.y, cv=3)


def test_every_learner_has_a_row_and_the_best_comes_first(table):
    assert {row.learner for row in table.rows} == set(linear_learners())
    measured = [row for row in table.rows if not row.note]
    assert [row.accuracy for row in measured] == sorted((row.accuracy for row in measured), reverse=True)
    assert table.best is table.models[table.rows[0].learner]
    for row in measured:
        assert 0 <= row.accuracy <= 1
        assert np.isclose(1 - row.mistakes / 150, row.accuracy)  # folds of one size
        assert (row.perceptron_loss == 0) == (row.margin >= 0)
        assert row.perceptron_loss <= row.hinge_loss
        assert row.seconds > 0


def test_what_cannot_take_the_data_says_why(table):
    assert not [row.learner for row in table.rows if row.learner == "MultinomialNaiveBayes" and row.note]
    centred = compare(IRIS.X - IRIS.X.mean(axis=0), IRIS.y, learners=["MultinomialNaiveBayes"], cv=3)
    assert "Negative values" in centred.rows[0].note
    assert "MultinomialNaiveBayes" not in centred.models


def test_the_family_is_discovered():
    found = linear_learners()
    assert found["Perceptron"] is Perceptron
    assert "Hyperplane" not in found  # needs weights
    assert "PerceptronRegressor" not in found  # does not classify


def test_a_new_learner_joins_by_itself(monkeypatch):
    import rosenblatt.linear.perceptron as home

    class Newcomer(ClassifierMixin, BaseEstimator):
        def fit(self, X, y): ...

    Newcomer.__module__ = home.__name__
    monkeypatch.setattr(home, "Newcomer", Newcomer, raising=False)
    assert linear_learners()["Newcomer"] is Newcomer


def test_margins_are_distances_to_the_nearest_wrong_side():
    clf = Perceptron().fit(SEPARABLE.X, SEPARABLE.y)
    signed = np.where(SEPARABLE.y > 0, 1, -1) * clf.distance(SEPARABLE.X)
    assert np.allclose(unit_margins(clf, SEPARABLE.X, SEPARABLE.y), signed)
    joint = Perceptron(max_iter=30).fit(IRIS.X, IRIS.y)
    right = joint.predict(IRIS.X) == IRIS.y
    found = unit_margins(joint, IRIS.X, IRIS.y)
    assert ((found > 0) == right).all()
    assert np.allclose(found[right], joint.distance(IRIS.X)[right])


def test_sparse_rows_and_estimators_of_others():
    found = compare(
        csr_array(IRIS.X), IRIS.y, learners=[Perceptron(), Perceptron(rule="margin"), RidgeClassifier()], cv=3
    )
    assert {row.learner for row in found.rows} == {"Perceptron", "Perceptron 2", "RidgeClassifier"}
    dense = compare(IRIS.X, IRIS.y, learners="Perceptron", cv=3)
    assert next(row for row in found.rows if row.learner == "Perceptron").mistakes == dense.rows[0].mistakes


def test_few_sparse_rows_are_made_dense_for_a_learner_that_needs_it(monkeypatch):
    asked = {"learners": ["GaussianDiscriminant"], "cv": 3}
    sparse = compare(csr_array(IRIS.X), IRIS.y, **asked).rows[0]
    assert sparse.mistakes == compare(IRIS.X, IRIS.y, **asked).rows[0].mistakes
    monkeypatch.setattr(module, "MOST_CELLS", 10)
    assert "dense data is required" in compare(csr_array(IRIS.X), IRIS.y, **asked).rows[0].note


def test_the_same_seed_gives_the_same_folds():
    one, two = (compare(IRIS.X, IRIS.y, learners=["Perceptron"], seed=4).rows[0] for _ in range(2))
    assert one._replace(seconds=0) == two._replace(seconds=0)


def test_it_renders_everywhere(table):
    frame = table.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == [row.learner for row in table.rows]
    assert len(table.to_markdown().splitlines()) == 2 + len(table.rows)
    text, html = str(table), table._repr_html_()
    for row in table.rows:
        assert row.learner in text
        assert f"<td>{row.learner}</td>" in html
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["rows"] == 150


def test_the_picture_shows_the_accuracies(table):
    import matplotlib.pyplot as plt

    ax = table.plot()
    (marks,) = [line for line in ax.lines if line.get_gid() == "accuracy"]
    assert marks.get_xdata().tolist()[::-1] == [row.accuracy for row in table.rows if not row.note]
    plt.close("all")


@pytest.mark.parametrize(
    ("X", "y", "asked", "reason"),
    [
        (IRIS.X, IRIS.y[:3], {}, "one label for each of the 150 rows"),
        (IRIS.X[:4], ["a", "a", "a", "b"], {}, "two classes of two rows or more"),
        (IRIS.X, IRIS.y, {"cv": 1}, "two folds or more"),
        (
            IRIS.X,
            IRIS.y,
            {"learners": ["Oracle"]},
            "no learner is called 'Oracle'; there are BatchPerceptron",
        ),
    ],
)
def test_what_cannot_be_compared(X, y, asked, reason):
    with pytest.raises(ValueError, match=reason):
        compare(X, y, **asked)


def test_settings_name_learners_that_exist():
    assert set(module.SETTINGS) <= set(linear_learners())
