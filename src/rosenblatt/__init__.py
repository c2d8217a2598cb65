"""rosenblatt: learn linear decision boundaries by correcting mistakes, and prove what was learned."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> the module it lives in. Importing rosenblatt loads none of them; using a name loads its own.
_HOME = {
    "Attributes": "rosenblatt.linear.encoders",
    "Backpropagation": "rosenblatt.networks",
    "BagOfWords": "rosenblatt.linear.encoders",
    "BatchPerceptron": "rosenblatt.linear.batch_perceptron",
    "ClosestCentroid": "rosenblatt.linear.closest_centroid",
    "FeatureMap": "rosenblatt.linear.encoders",
    "Gate": "rosenblatt.networks",
    "GaussianDiscriminant": "rosenblatt.linear.gaussian_discriminant",
    "KernelPerceptron": "rosenblatt.kernel.perceptron",
    "LogisticRegression": "rosenblatt.linear.logistic_regression",
    "MaxMargin": "rosenblatt.linear.max_margin",
    "MultinomialNaiveBayes": "rosenblatt.linear.naive_bayes",
    "NaiveBayes": "rosenblatt.linear.naive_bayes",
    "Network": "rosenblatt.networks",
    "OnlineLearner": "rosenblatt.streams.online",
    "Perceptron": "rosenblatt.linear.perceptron",
    "PerceptronCV": "rosenblatt.kernel.perceptron_cv",
    "PerceptronRegressor": "rosenblatt.linear.perceptron_regressor",
    "Tower": "rosenblatt.networks",
    "Upstart": "rosenblatt.networks",
    "add_slack": "rosenblatt.proofs",
    "as_hyperplane": "rosenblatt.linear.hyperplane",
    "compare": "rosenblatt.plots.compare",
    "hinge_bound": "rosenblatt.proofs",
    "kernel_separability": "rosenblatt.proofs",
    "merge": "rosenblatt.linear.merging",
    "mistake_bound": "rosenblatt.proofs",
    "open_examples": "rosenblatt.data",
    "plots": "rosenblatt.plots",
    "proof_trace": "rosenblatt.learner.history",
    "rules": "rosenblatt.rules",
    "separability": "rosenblatt.proofs",
    "solve_cone": "rosenblatt.proofs",
    "widget": "rosenblatt.web.widget",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 (the names are strings of the table above)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    module = import_module(_HOME[name])
    value = getattr(module, name, module)  # a name without a home of its own is the module itself
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
