"""Regression as the commands see it: files of ``PerceptronRegressor.save``, whose score is the prediction."""

from typing import Any

from rosenblatt import rules
from rosenblatt.learner.files import load_model
from rosenblatt.learner.regression import HYPOTHESES, RealLearner
from rosenblatt.storage import BadModel


class RealModel:
    """A learner of numbers, its predicting hypothesis, and what its file says about it."""

    classes = None

    def __init__(self, learner: RealLearner, hypothesis: str, about: dict[str, Any]) -> None:
        self.learner = learner
        self.name = str(about.get("estimator", learner.kind))
        self.n_features = learner.n_features
        self.hypothesis = hypothesis
        self.about = about

    def hypotheses(self) -> tuple[str, ...]:
        """What every run knows."""
        return HYPOTHESES

    def cost(self, hypothesis: str) -> int:
        """One product with the weights is all."""
        return 0

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Predictions of every row."""
        return self.learner.scores(X, hypothesis)

    def weights(self, hypothesis: str) -> Any:
        """Weights, the bias first."""
        return self.learner.weights(hypothesis)

    def facts(self) -> dict[str, Any]:
        """Rule, passes and clock."""
        learner = self.learner
        return {
            "rule": rules.to_dict(learner.rule),
            "fit_intercept": bool(learner.bias_input),
            "passes": learner.passes,
            "clock": learner.clock,
        }

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Nothing on the command line trains such a model."""
        raise NotImplementedError


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
