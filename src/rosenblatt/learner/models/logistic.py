"""Online logistic regression as the commands see it: the logistic rule on the same passes."""

from collections.abc import Callable
from typing import Any

from rosenblatt.learner.models import Options, perceptron
from rosenblatt.learner.models.perceptron import PerceptronModel

SAFE_PART = 4.0  # the default learning rate is this over the largest squared norm, as in LogisticRegression


class LogisticModel(PerceptronModel):
    """A learner by the logistic rule."""

    name = "logistic"


def train(
    options: Options, X: Any, y: Any, weight: Any, on_pass: Callable[[int, str], bool]
) -> LogisticModel:
    """Train as ``LogisticRegression(...).fit(X, y, weight)`` does."""
    if options.rule not in (None, "logistic"):
        raise ValueError(f"--rule {options.rule}: the logistic learner has a rule of its own; drop --rule")
    parameters = dict(options.parameters)
    if "eta" not in parameters:
        from rosenblatt.proofs.examples import row_sqnorms

        parameters["eta"] = SAFE_PART / (float(row_sqnorms(X).max()) + options.fit_intercept or 1.0)
    logistic_options = options._replace(
        rule="logistic", parameters=parameters, multi_class="ovr", keep_ledger=False
    )
    trained = perceptron.train(logistic_options, X, y, weight, on_pass)
    metadata = {
        "estimator": "LogisticRegression",  # so that LogisticRegression.load reads it too
        "parameters": {
            "solver": "online",
            "eta": parameters["eta"],
            "lam": parameters.get("lam", 0.0),
            "max_iter": options.passes,
            "fit_intercept": options.fit_intercept,
            "shuffle": options.shuffle,
        },
    }
    return LogisticModel(trained.learner, trained.hypothesis, {**trained.about, **metadata})


def load(path: str) -> LogisticModel:
    """Read a file written by ``fit --learner logistic``."""
    model = perceptron.load(path)
    return LogisticModel(model.learner, model.hypothesis, model.about)
