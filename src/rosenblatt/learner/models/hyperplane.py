"""What the commands see of a model with one hypothesis, whose weights are all there is to it."""

from typing import Any

HYPERPLANE = "hyperplane"  # what its only hypothesis is called


class HyperplaneModel:
    """A learner with weights, and what its file says about it."""

    hypothesis = HYPERPLANE

    def __init__(self, learner: Any, name: str, about: dict[str, Any]) -> None:
        self.learner, self.name, self.about = learner, name, about
        self.classes = learner.classes
        self.n_features = learner.n_features

    def hypotheses(self) -> tuple[str, ...]:
        """There is one."""
        return (HYPERPLANE,)

    def cost(self, hypothesis: str) -> int:
        """One product with the weights is all."""
        return 0

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Scores of every row."""
        return self.learner.scores(X)

    def weights(self, hypothesis: str) -> Any:
        """Weights, the bias first."""
        return self.learner.weights()
