"""joblib and skops keep every estimator; what skops is asked to trust is this package and nothing else."""

import io

import joblib
import numpy as np
import pytest
from tests.interoperability.estimators import ESTIMATORS

import rosenblatt

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
SIDES = np.where(X[:, 0] + X[:, 1] > 0, "above", "below")
BITS, BIT = (X > 0).astype(float), np.where(X[:, 0] > 0, "above", "below")
FITTED = {
    "Perceptron": (X, SIDES, {}),
    "PerceptronCV": (X, SIDES, {}),
    "ClosestCentroid": (X, SIDES, {}),
    "NaiveBayes": (X, SIDES, {}),
    "MultinomialNaiveBayes": (np.abs(X), SIDES, {}),
    "LogisticRegression": (X, SIDES, {}),
    "GaussianDiscriminant": (X, SIDES, {}),
    "PerceptronRegressor": (X, X[:, 0], {}),
    "BatchPerceptron": (X, SIDES, {}),
    "MaxMargin": (X, SIDES, {"C": 1.0}),
    "KernelPerceptron": (X, SIDES, {"kernel": "poly", "degree": 2}),
    "Tower": (BITS, BIT, {}),
    "Upstart": (BITS, BIT, {}),
    "Backpropagation": (BITS, BIT, {"max_iter": 50}),
    "Attributes": (X, None, {"scale": True}),
    "FeatureMap": (X, None, {}),
    "BagOfWords": (["a free prize", "lunch at noon"], None, {}),
}


@pytest.fixture(params=FITTED)
def fitted(request):
    rows, y, parameters = FITTED[request.param]
    return getattr(rosenblatt, request.param)(**parameters).fit(rows, y), rows


def says(model, rows):
    """Return what a model makes of rows: labels, numbers, or vectors."""
    told = model.predict(rows) if hasattr(model, "predict") else model.transform(rows)
    return told.toarray() if hasattr(told, "toarray") else told


def test_every_public_estimator_is_kept_here():
    assert set(FITTED) == set(ESTIMATORS)


def test_joblib_keeps_an_estimator(fitted):
    model, rows = fitted
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    assert np.array_equal(says(joblib.load(file), rows), says(model, rows))


def test_skops_keeps_an_estimator_and_need_trust_only_this_package(fitted):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, rows = fitted
    kept = skops.dumps(model)
    named = skops.get_untrusted_types(data=kept)
    assert all(name.startswith("rosenblatt.") for name in named)
    assert np.array_equal(says(skops.loads(kept, trusted=named), rows), says(model, rows))
