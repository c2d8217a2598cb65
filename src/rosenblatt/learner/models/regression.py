"""Regression: a learner of numbers, as ``fit --task regression`` and ``PerceptronRegressor`` train it."""

from collections.abc import Callable
from typing import Any

from rosenblatt import rules
from rosenblatt.learner.files import load_model, save_model
from rosenblatt.learner.models.options import TrainingOptions
from rosenblatt.learner.regression import HYPOTHESES, RealLearner
from rosenblatt.storage import BadModel

SAFE_PART = 0.5  # the default learning rate is this over the largest squared norm, as in PerceptronRegressor


class RealModel:
    """A learner of numbers, its predicting hypothesis, and the metadata of its file."""

    classes = None

    def __init__(self, learner: RealLearner, hypothesis: str, about: dict[str, Any]) -> None:
        self.learner = learner
        self.name = str(about.get("estimator", learner.kind))
        self.n_features = learner.n_features
        self.hypothesis = hypothesis
        self.about = about

    def hypotheses(self) -> tuple[str, ...]:
        """Return the hypotheses of every run."""
        return HYPOTHESES

    def cost(self, hypothesis: str) -> int:
        """Return 0: one product with the weights is all."""
        return 0

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Return the predictions of every row."""
        return self.learner.scores(X, hypothesis)

    def weights(self, hypothesis: str) -> Any:
        """Return the weights, the bias first."""
        return self.learner.weights(hypothesis)

    def facts(self) -> dict[str, Any]:
        """Return rule, passes and clock."""
        learner = self.learner
        return {
            "rule": rules.to_dict(learner.rule),
            "fit_intercept": bool(learner.bias_input),
            "passes": learner.passes,
            "clock": learner.clock,
        }

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Write the file."""
        save_model(self.learner, path, about={**self.about, **about})


def train(
    options: TrainingOptions, X: Any, y: Any, weight: Any, on_pass: Callable[[int, str], bool]
) -> RealModel:
    """Train as ``PerceptronRegressor(hypothesis="averaged", ...).fit(X, y, weight)`` does.

    The average of the weights varies less than the last ones: with noise it predicts about as least squares does.
    """
    from rosenblatt.learner.examples import canonical_matrix, max_row_sqnorm

    hypothesis = options.hypothesis or "averaged"
    if hypothesis not in HYPOTHESES:
        raise ValueError(
            f"--hypothesis {hypothesis} is for classes: of a regression choose {' or '.join(HYPOTHESES)}"
        )
    eta = options.parameters.get("eta")
    if eta is None:
        eta = SAFE_PART / (max_row_sqnorm(canonical_matrix(X)) + options.fit_intercept or 1.0)
    learner = RealLearner(rules.WidrowHoff(eta), fit_intercept=options.fit_intercept, seed=options.seed)
    learner.train(X, y, max_iter=options.max_iter, shuffle=options.shuffle, sample_weight=weight)
    on_pass(options.max_iter, f"{options.max_iter} passes")
    about = {
        "estimator": "PerceptronRegressor",
        "parameters": {
            "eta": eta,
            "hypothesis": hypothesis,
            "max_iter": options.max_iter,
            "fit_intercept": options.fit_intercept,
            "shuffle": options.shuffle,
        },
    }
    return RealModel(learner, hypothesis, about)


def load(path: str) -> RealModel:
    """Read a file that ``PerceptronRegressor.save`` wrote."""
    learner, about = load_model(path)
    if not isinstance(learner, RealLearner):
        raise BadModel(f"{path}: not a model of numbers")
    parameters = about.get("parameters")
    hypothesis = parameters.get("hypothesis", "last") if isinstance(parameters, dict) else "last"
    if hypothesis not in HYPOTHESES:
        raise BadModel(f"{path}: {hypothesis!r} is no hypothesis of a model of numbers")
    return RealModel(learner, hypothesis, about)
