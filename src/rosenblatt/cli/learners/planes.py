"""Hyperplanes that another method found, as the commands see them: ``GaussianDiscriminant.save`` and its kin."""

from typing import Any

from rosenblatt.learner.files import load_model
from rosenblatt.learner.planes import FixedPlanes
from rosenblatt.storage import BadModel

HYPERPLANE = "hyperplane"  # there is one hypothesis, and it is this


class PlanesModel:
    """Fixed hyperplanes, and what their file says about them."""

    hypothesis = HYPERPLANE

    def __init__(self, learner: FixedPlanes, about: dict[str, Any]) -> None:
        self.learner = learner
        self.name = str(about.get("estimator", learner.kind))
        self.classes = learner.classes
        self.n_features = learner.n_features
        self.about = about

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

    def facts(self) -> dict[str, Any]:
        """The parameters of who found them."""
        return {"parameters": self.about.get("parameters") or {}}

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Nothing on the command line trains such a model."""
        raise NotImplementedError


def load(path: str) -> PlanesModel:
    """Read a file that ``save`` of an estimator with fixed hyperplanes wrote."""
    learner, about = load_model(path)
    if not isinstance(learner, FixedPlanes):
        raise BadModel(f"{path}: not a model of fixed hyperplanes")
    return PlanesModel(learner, about)
