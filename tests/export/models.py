"""Every learner that can be exported, with the data it is fitted on, and what it says of them."""

import numpy as np

import rosenblatt

rng = np.random.default_rng(3)
X = rng.normal(size=(90, 4))
TWO = np.where(X[:, 0] - X[:, 2] > 0.1, "it's above", "below")
THREE = np.array([7, 1, 3])[np.clip((X[:, 0] + X[:, 1]).round().astype(int) + 1, 0, 2)]
LINEAR = {
    "Perceptron": {"max_iter": 3},
    "ClosestCentroid": {},
    "NaiveBayes": {"binarize": 0.25},
    "MultinomialNaiveBayes": {},
    "LogisticRegression": {"solver": "online", "max_iter": 2},
    "GaussianDiscriminant": {},
    "BatchPerceptron": {},
    "MaxMargin": {"C": 1.0},
}
MODELS = [
    (name, parameters, y)
    for name, parameters in LINEAR.items()
    for y in (TWO, THREE)
    if not (y is THREE and name in ("MaxMargin", "BatchPerceptron"))
] + [("PerceptronRegressor", {}, X[:, 1] - X[:, 3])]
BIG = rng.normal(size=(600, 4))  # enough rows for Venn–Abers
PROBABLE = [
    (name, {**LINEAR.get(name, {}), "probability": method}, classes)
    for name, method in [
        ("Perceptron", True),
        ("Perceptron", "venn-abers"),
        ("ClosestCentroid", True),
        ("BatchPerceptron", True),
        ("MaxMargin", True),
    ]
    for classes in (2, 3)
    if not (classes == 3 and name in ("MaxMargin", "BatchPerceptron"))
] + [
    (name, LINEAR[name], classes)
    for name in ("NaiveBayes", "MultinomialNaiveBayes", "LogisticRegression", "GaussianDiscriminant")
    for classes in (2, 3)
] + [("LogisticRegression", {}, 3)]  # fmt: skip
KERNELS = [
    {"kernel": "poly", "degree": 3},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "hypothesis": "last", "multi_class": "ovr"},
]


def named(case):
    name, _, y = case
    return f"{name}-{'regression' if y.dtype.kind == 'f' else np.unique(y).size}"


def fitted(case):
    name, parameters, y = case
    rows = np.abs(X) if name == "MultinomialNaiveBayes" else X  # it learns from counts
    return getattr(rosenblatt, name)(**parameters).fit(rows, y)


def noisy(classes):
    """Return rows and labels with errors that no model can avoid."""
    score = BIG[:, 0] - BIG[:, 2] + np.random.default_rng(7).normal(size=len(BIG))
    return BIG, np.array(["below", "it's above", "far"])[np.digitize(score, [0.0, 1.0][: classes - 1])]


def probable(case):
    """Return a fitted model with probabilities, and rows: those of training and some far away."""
    name, parameters, classes = case
    rows, y = noisy(classes)
    rows = np.abs(rows) if name == "MultinomialNaiveBayes" else rows
    return getattr(rosenblatt, name)(**parameters).fit(rows, y), np.vstack([rows[:200], 300.0 * rows[:50]])


def probable_name(case):
    name, parameters, classes = case
    return f"{name}-{parameters.get('probability', parameters.get('solver', 'own'))}-{classes}"


def agree(model, labels, scores, rows=X):
    """Assert that labels and scores from elsewhere are those of a model."""
    wanted = model.predict(rows)
    told = model.decision_function(rows) if hasattr(model, "decision_function") else wanted
    np.testing.assert_allclose(scores, np.asarray(told, float), rtol=1e-9, atol=1e-9)
    if labels is not None:
        assert np.array_equal(np.asarray(labels).astype(wanted.dtype), wanted)
