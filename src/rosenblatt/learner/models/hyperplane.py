"""Models with one hypothesis: fixed hyperplanes, as ``GaussianDiscriminant.save`` and others write them."""

from typing import Any

from rosenblatt.learner.files import load_model
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.storage import BadModel

HYPERPLANE = "hyperplane"  # what its only hypothesis is called


class HyperplaneModel:
    """A learner with one set of weights, and the metadata of its file."""

    hypothesis = HYPERPLANE

    def __init__(self, learner: Any, name: str, about: dict[str, Any]) -> None:
        self.learner, self.name, self.about = learner, name, about
        self.classes = learner.classes
        self.n_features = learner.n_features

    def hypotheses(self) -> tuple[str, ...]:
        """Return the only one."""
        return (HYPERPLANE,)

    def cost(self, hypothesis: str) -> int:
        """Return 0: one product with the weights is all."""
        return 0

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Return the scores of every row."""
        return self.learner.scores(X)

    def weights(self, hypothesis: str) -> Any:
        """Return the weights, the bias first."""
        return self.learner.weights()


class PlanesModel(HyperplaneModel):
    """Fixed hyperplanes, computed by another method."""

    def facts(self) -> dict[str, Any]:
        """Return the parameters of the estimator that computed them."""
        return {"parameters": self.about.get("parameters") or {}}

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Raise: no command trains such a model."""
        raise NotImplementedError


def load(path: str) -> PlanesModel:
    """Read a file that ``save`` of an estimator with fixed hyperplanes wrote."""
    learner, about = load_model(path)
    if not isinstance(learner, FixedWeights):
        raise BadModel(f"{path}: not a model of fixed hyperplanes")
    return PlanesModel(learner, str(about.get("estimator", learner.kind)), about)
