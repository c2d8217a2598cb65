"""Online logistic regression: the logistic rule in the same passes."""

from collections.abc import Callable
from typing import Any

from rosenblatt.learner.models import perceptron
from rosenblatt.learner.models.options import TrainingOptions
from rosenblatt.learner.models.perceptron import PerceptronModel

SAFE_PART = 4.0  # the default learning rate is this over the largest squared norm, as in LogisticRegression


class LogisticModel(PerceptronModel):
    """A learner by the logistic rule."""

    name = "logistic"


def train(
    options: TrainingOptions, X: Any, y: Any, weight: Any, on_pass: Callable[[int, str], bool]
) -> LogisticModel:
    """Train as ``LogisticRegression(solver="online").fit(X, y, weight)`` does."""
    from rosenblatt.proofs.examples import row_sqnorms

    options = as_perceptron(options, float(row_sqnorms(X).max()))
    trained = perceptron.train(options, X, y, weight, on_pass)
    return LogisticModel(trained.learner, trained.hypothesis, {**trained.about, **about_training(options)})


def as_perceptron(options: TrainingOptions, max_sqnorm: float) -> TrainingOptions:
    """Return the options of a perceptron with the logistic rule, ``eta`` chosen by the largest ‖x‖² where not given."""
    parameters = dict(options.parameters)
    parameters.setdefault("eta", SAFE_PART / (max_sqnorm + options.fit_intercept or 1.0))
    return options._replace(rule="logistic", parameters=parameters, multi_class="ovr", ledger="none")


def about_training(options: TrainingOptions) -> dict[str, Any]:
    """Return the metadata by which ``LogisticRegression.load`` reads the file too."""
    return {
        "estimator": "LogisticRegression",
        "parameters": {
            "solver": "online",
            "eta": options.parameters["eta"],
            "lam": options.parameters.get("lam", 0.0),
            "max_iter": options.max_iter,
            "fit_intercept": options.fit_intercept,
            "shuffle": options.shuffle,
        },
    }


def load(path: str) -> LogisticModel:
    """Read a file written by ``fit --learner logistic``."""
    model = perceptron.load(path)
    return LogisticModel(model.learner, model.hypothesis, model.about)
