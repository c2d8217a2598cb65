"""Every public estimator is found by itself, and passes every check of scikit-learn but for one, which is listed."""

import inspect
import math
import pickle
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import rosenblatt.linear
from rosenblatt import rules
from rosenblatt.learner.files import KINDS
from rosenblatt.storage import BadModel, read_about

# Constructor arguments beside the defaults: the checks feed data that overlap, which have no hard margin. The last of
# several is used beyond the checks.
ALSO = {
    "MaxMargin": [{"C": 1.0}],
    "LogisticRegression": [{}, {"solver": "online"}],
    "ClosestCentroid": [{"shrink_threshold": 0.1, "priors": "empirical"}, {}],
}


def found():
    """Every estimator of the package that can be made without arguments."""
    for module in iter_modules(rosenblatt.linear.__path__, "rosenblatt.linear."):
        for name, each in vars(import_module(module.name)).items():
            public = inspect.isclass(each) and issubclass(each, BaseEstimator) and not name.startswith("_")
            public = public and not inspect.isabstract(each)
            if public and each.__module__ == module.name and module.name != "rosenblatt.linear.base":
                needed = [p for p in inspect.signature(each).parameters.values() if p.default is p.empty]
                if not needed:
                    yield each


FOUND = sorted(set(found()), key=lambda each: each.__name__)
CLASSIFIERS = [each for each in FOUND if is_classifier(each())]
SPARSE = [each for each in CLASSIFIERS if each().__sklearn_tags__().input_tags.sparse]
OF_THE_FAMILY = [each for each in FOUND if hasattr(each, "explain")]


def made(each):
    return each(**ALSO.get(each.__name__, [{}])[-1])


def test_the_family_is_found():
    assert {"ClosestCentroid", "NaiveBayes", "PerceptronRegressor"} <= {each.__name__ for each in FOUND}


# scikit-learn's check of decision functions feeds values below zero; its own MultinomialNB has no decision function.
EXPECTED_FAILURES = {
    "MultinomialNaiveBayes": {
        "check_decision_proba_consistency": "the check feeds negative values to an estimator of counts"
    }
}


@parametrize_with_checks(
    [each(**also) for each in FOUND for also in ALSO.get(each.__name__, [{}])],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class ShortPerceptron(rosenblatt.Perceptron):
    """Makes 100 passes where a check asks for 1,000, which would be a third of the time of all checks."""

    def set_params(self, **parameters):
        if isinstance(asked := parameters.get("max_iter"), int):  # one check sets it to an array
            parameters["max_iter"] = min(asked, 100)
        return super().set_params(**parameters)


class Float32Perceptron(ShortPerceptron):
    """Learns from float32 whatever it is given."""

    def _input(self):
        return {**super()._input(), "dtype": np.float32}


# scikit-learn's checks have features around 100: Widrow-Hoff is stable only where the rate times R² is below 2
STABLE = {"widrow-hoff": rules.WidrowHoff(1e-5)}


@parametrize_with_checks(
    [
        each(rule=STABLE.get(name, name))
        for name in rules.BY_NAME
        for each in (ShortPerceptron, Float32Perceptron)
    ]
)
def test_scikit_learn_checks_of_every_rule(estimator, check):
    check(estimator)


@pytest.mark.parametrize("each", FOUND, ids=lambda each: each.__name__)
def test_the_html_display_raises_no_warning(each):
    assert each.__name__ in made(each)._repr_html_()


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    X = np.round(X)  # sums of integers are exact: dense and sparse agree bit for bit
    return (X > 3).astype(float), X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("each", OF_THE_FAMILY, ids=lambda each: each.__name__)
def test_contributions_sum_exactly_to_the_score(each, classes, flowers):
    _, X, y = flowers
    X, y = X[y < classes], y[y < classes]
    model = made(each).fit(X, y)
    scores = model.decision_function(X[:9]) if is_classifier(model) else model.predict(X[:9])
    for i in range(9):
        told = model.explain(X[i])
        parts = [part.contribution for part in told.parts]
        assert math.fsum(parts) == math.fsum(reversed(parts)) == told.score
        expected = scores[i] if scores.ndim == 1 else scores[i, list(model.classes_).index(told.label)]
        assert told.score == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("each", OF_THE_FAMILY, ids=lambda each: each.__name__)
def test_a_file_says_which_learner_wrote_it(each, tmp_path, flowers):
    _, X, y = flowers
    made(each).fit(X, y).save(tmp_path / "m.safetensors")
    about = read_about(tmp_path / "m.safetensors")
    assert about["estimator"] == each.__name__
    assert about.get("learner", "perceptron") in ("perceptron", "logistic", *KINDS)


@pytest.mark.parametrize("each", OF_THE_FAMILY, ids=lambda each: each.__name__)
def test_a_file_brings_the_same_model_back(each, tmp_path, flowers):
    _, X, y = flowers
    model = made(each).fit(X, y)
    model.save(tmp_path / "m.safetensors")
    back = each.load(tmp_path / "m.safetensors")
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.coef_, model.coef_)
    assert back.n_features_in_ == 4
    if hasattr(each, "partial_fit") and hasattr(model, "partial_fit"):
        for goes_on in (model, back):
            goes_on.partial_fit(X[:40], y[:40])
        assert np.array_equal(back.coef_, model.coef_)
    (tmp_path / "m.safetensors").write_bytes(b"no model")
    with pytest.raises(BadModel):
        each.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize(
    "each", [each for each in OF_THE_FAMILY if each in CLASSIFIERS], ids=lambda each: each.__name__
)
def test_margins_count_the_bias_and_distances_do_not(each, flowers):
    _, X, y = flowers
    X, y = X[y < 2], y[y < 2]
    model = made(each).fit(X, y)
    seen = model.learner_.binary(X) if hasattr(model.learner_, "binary") else X
    w, b = model.coef_[0], model.intercept_[0]
    distance = (seen @ w + b) / np.linalg.norm(w)
    np.testing.assert_allclose(model.distance(X), distance, rtol=1e-9, atol=1e-12)
    least = ((2.0 * y - 1.0) * distance).min()
    assert model.geometric_margin(X, y) == pytest.approx(least, rel=1e-9, abs=1e-12)
    # The space in which a hard margin of two classes is maximised has no bias among its weights.
    hard = each.__name__ == "MaxMargin" and model.C is None
    norm = np.linalg.norm(w) if hard else np.linalg.norm([b, *w])
    assert model.margin(X, y) == pytest.approx(least * np.linalg.norm(w) / norm, rel=1e-9, abs=1e-12)
    assert "‖(w, b)‖" in each.__doc__, "the docstring of margin_ names the norm that the code divides by"
    several = made(each).fit(flowers[1], flowers[2])
    right = several.predict(flowers[1]) == flowers[2]
    assert (several.distance(flowers[1]) >= 0).all()
    assert (several.margin(flowers[1], flowers[2]) > 0) == bool(right.all())
    assert (several.geometric_margin(flowers[1], flowers[2]) > 0) == bool(right.all())
    assert several.margin_ == several.margin(flowers[1], flowers[2])
    copied = pickle.loads(pickle.dumps(model))
    assert copied.margin_ == model.margin_ == model.margin(X, y)
    with pytest.raises(ValueError, match="one label for each of the 100 rows"):
        model.margin(X, y[:3])


@pytest.mark.parametrize("each", SPARSE, ids=lambda each: each.__name__)
def test_sparse_rows_give_the_dense_model(each, flowers):
    _, X, y = flowers
    for container in (csr_array, lambda X: csr_array(X.astype(np.float32))):
        dense, sparse = made(each).fit(np.asarray(container(X).todense()), y), made(each).fit(container(X), y)
        tolerance = 1e-9 if container is csr_array else 1e-4
        scale = np.abs(dense.coef_).max()
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize(
    "each", [each for each in SPARSE if hasattr(each(), "partial_fit")], ids=lambda each: each.__name__
)
def test_any_split_into_batches_gives_the_same_model(each, flowers):
    _, X, y = flowers
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    fixed = {"eta": 0.01} if "eta" in inspect.signature(each).parameters else {}
    whole = made(each).set_params(**fixed).partial_fit(X, y, classes=[0, 1, 2])
    for size in (1, 7, 64):
        split = made(each).set_params(**fixed)
        for lo in range(0, len(y), size):
            split.partial_fit(X[lo : lo + size], y[lo : lo + size], classes=[0, 1, 2])
        np.testing.assert_allclose(split.coef_, whole.coef_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(split.intercept_, whole.intercept_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "each",
    [rosenblatt.ClosestCentroid, rosenblatt.NaiveBayes, rosenblatt.MultinomialNaiveBayes],
    ids=lambda each: each.__name__,
)
def test_refused_examples_leave_a_model_of_sums_as_it_was(each):
    X, y = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), [1, 0, 1, 0]
    narrow = np.where(X[:, :2] == 0.0, np.nan, 1.0)
    model, fresh = each().fit(X, y), each()
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match=f"\n{each.__name__} does not accept missing values"):
        model.fit(narrow, y)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :2], [1, 1, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(X == 0.0, np.nan, X), y)
    assert np.array_equal(model.coef_, coef)
    assert model.predict(X).tolist() == y
    with pytest.raises(ValueError, match="NaN"):
        fresh.partial_fit(narrow, y)
    assert np.array_equal(fresh.partial_fit(X, y).coef_, coef)
