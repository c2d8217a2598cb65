"""joblib and skops keep every estimator; what skops is asked to trust is this package and nothing else."""

import io

import joblib
import numpy as np
import pytest

import rosenblatt

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
SIDES = np.where(X[:, 0] + X[:, 1] > 0, "above", "below")
BITS, BIT = (X > 0).astype(float), np.where(X[:, 0] > 0, "above", "below")
FITTED = {
    "Perceptron": (X, SIDES, {}),
    "ClosestCentroid": (X, SIDES, {}),
    "NaiveBayes": (X, SIDES, {"binarize": 0.0}),
    "LogisticRegression": (X, SIDES, {}),
    "GaussianDiscriminant": (X, SIDES, {}),
    "PerceptronRegressor": (X, X[:, 0], {}),
    "BatchPerceptron": (X, SIDES, {}),
    "MaxMargin": (X, SIDES, {"C": 1.0}),
    "KernelPerceptron": (X, SIDES, {"kernel": "poly", "degree": 2}),
    "Tower": (BITS, BIT, {}),
    "Upstart": (BITS, BIT, {}),
}


@pytest.fixture(params=FITTED)
def fitted(request):
    rows, y, parameters = FITTED[request.param]
    return getattr(rosenblatt, request.param)(**parameters).fit(rows, y), rows


def test_joblib_keeps_an_estimator(fitted):
    model, rows = fitted
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    assert np.array_equal(joblib.load(file).predict(rows), model.predict(rows))


def test_skops_keeps_an_estimator_and_need_trust_only_this_package(fitted):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, rows = fitted
    kept = skops.dumps(model)
    named = skops.get_untrusted_types(data=kept)
    assert all(name.startswith("rosenblatt.") for name in named)
    assert np.array_equal(skops.loads(kept, trusted=named).predict(rows), model.predict(rows))


def test_frames_in_and_out():
    frames = pytest.importorskip("polars")
    table = frames.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0]})
    encoder = rosenblatt.Attributes(sparse=False).set_output(transform="polars")
    out = encoder.fit_transform(table)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == list(encoder.get_feature_names_out())
    clf = rosenblatt.Perceptron().fit(out, ["a", "b", "a"])
    assert list(clf.feature_names_in_) == list(out.columns)
