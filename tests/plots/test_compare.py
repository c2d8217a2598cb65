import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from tests.cli.commands import run_well

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.data.tables.preprocess import PreprocessingPlan
from rosenblatt.plots import compare as module
from rosenblatt.plots.compare import compare, linear_learners, unit_margins
from rosenblatt.plots.comparison import Comparison, Row, comparison

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
    assert "AdditiveClassifier" not in found  # a base


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


class Recorded:
    """A preparation that records the rows it is fitted on."""

    def __init__(self, plan):
        self.plan, self.fitted_on = plan, []

    def fit(self, X):
        self.fitted_on.append(X[:, 0].tolist())
        return self.plan.fit(X)


def heavy_tailed():
    """Return rows whose scaling depends on which of them it is fitted on, with gaps, and their labels."""
    rng = np.random.default_rng(2)
    X = np.column_stack([np.arange(60.0), rng.standard_t(1.1, 60), rng.normal(size=60)])
    y = np.where(rng.normal(size=60) + X[:, 2] > 0, "yes", "no")
    X[::7, 1] = np.nan
    return X, y


def test_nothing_is_learned_from_the_rows_of_a_fold_that_is_scored():
    X, y = heavy_tailed()
    prepare = Recorded(PreprocessingPlan(scale=True))
    compare(X, y, learners=["Perceptron"], cv=4, seed=1, prepare=prepare)
    every, *folds = prepare.fitted_on
    assert len(every) == 60
    tested = [set(range(60)) - set(map(int, rows)) for rows in folds]
    assert [len(rows) for rows in tested] == [15] * 4
    assert set.union(*tested) == set(range(60))


@pytest.mark.parametrize("learner", ["Perceptron", "ClosestCentroid", "LogisticRegression"])
def test_folds_with_a_preparation_equal_separate_fits(learner):
    X, y = heavy_tailed()
    plan = PreprocessingPlan(scale=True)
    row = compare(X, y, learners=[learner], cv=4, seed=1, prepare=plan).rows[0]
    mistakes = 0
    for train, test in StratifiedKFold(4, shuffle=True, random_state=1).split(X, y):
        fitted = plan.fit(X[train])
        model = linear_learners()[learner]().fit(fitted.apply(X[train]), y[train])
        mistakes += int((model.predict(fitted.apply(X[test])) != y[test]).sum())
    assert row.mistakes == mistakes


def test_the_command_compares_by_folds_without_a_leak(tmp_path):
    X, y = heavy_tailed()
    lines = [
        ",".join("" if np.isnan(x) else f"{x:.17g}" for x in row) + f",{label}"
        for row, label in zip(X[:, 1:], y, strict=True)
    ]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines))
    command = [
        "compare",
        str(tmp_path / "t.csv"),
        "--learner",
        "perceptron",
        "--folds",
        "4",
        "--seed",
        "1",
        "--json",
    ]
    answer = json.loads(run_well(command).stdout)
    honest = compare(
        X[:, 1:], y, learners=["Perceptron"], cv=4, seed=1, prepare=PreprocessingPlan(scale=True)
    )
    assert answer["learners"][0]["mistakes"] == honest.rows[0].mistakes
    assert answer["features"] == 3  # a, b, and the indicator of gaps in a


def test_the_bars_of_the_picture_end_at_0_and_100_percent():
    rows = (Row("one", 0.98, 0.05), Row("other", 0.02, 0.05))
    ax = comparison(Comparison(rows, {}, 40, 2, (0, 1), 3))
    ends = np.array([segment[:, 0] for bars in ax.collections for segment in bars.get_segments()])
    assert ends.shape == (2, 2)
    assert (ends.min(), ends.max()) == (0.0, 1.0)
