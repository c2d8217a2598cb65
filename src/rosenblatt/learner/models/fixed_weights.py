"""Hyperplanes of another method, as the commands see them: files of ``GaussianDiscriminant.save`` and others."""

from typing import Any

from rosenblatt.learner.files import load_model
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.learner.models.hyperplane import HyperplaneModel
from rosenblatt.storage import BadModel


class FixedWeightsModel(HyperplaneModel):
    """Fixed hyperplanes."""

    def facts(self) -> dict[str, Any]:
        """The parameters of the estimator that computed them."""
        return {"parameters": self.about.get("parameters") or {}}

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Nothing on the command line trains such a model."""
        raise NotImplementedError


def load(path: str) -> FixedWeightsModel:
    """Read a file that ``save`` of an estimator with fixed hyperplanes wrote."""
    learner, about = load_model(path)
    if not isinstance(learner, FixedWeights):
        raise BadModel(f"{path}: not a model of fixed hyperplanes")
    return FixedWeightsModel(learner, str(about.get("estimator", learner.kind)), about)
