"""Closest centroid and naive Bayes: learners that add up the rows of each class in one read."""

from collections.abc import Callable
from typing import Any

from rosenblatt.learner.additive import BinaryBayes, Centroids, ClassSums, CountBayes
from rosenblatt.learner.files import load_model, save_model
from rosenblatt.learner.models.hyperplane import HyperplaneModel
from rosenblatt.learner.models.options import TrainingOptions
from rosenblatt.storage import BadModel

ESTIMATORS = {
    "centroid": "ClosestCentroid",
    "naive-bayes": "NaiveBayes",
    "multinomial-bayes": "MultinomialNaiveBayes",
}
CLASSES: dict[str, type[ClassSums]] = {each.kind: each for each in (Centroids, BinaryBayes, CountBayes)}


class SummedModel(HyperplaneModel):
    """Trained sums."""

    def __init__(self, learner: ClassSums, about: dict[str, Any]) -> None:
        super().__init__(learner, learner.kind, about)

    def facts(self) -> dict[str, Any]:
        """Return how many examples were added, and the parameters."""
        return {"clock": float(self.learner.counts.sum()), **self.learner.parameters()}

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Write the file."""
        save_model(self.learner, path, about={**self.about, **about})


def train(
    options: TrainingOptions, X: Any, y: Any, weight: Any, on_pass: Callable[[int, str], bool]
) -> SummedModel:
    """Add all examples, once."""
    learner, about = new_sums(options)
    try:
        learner.train(X, y, sample_weight=weight)
    except ValueError as error:
        if options.learner == "naive-bayes" and "binarize" not in options.parameters:
            raise ValueError(f"{error} (on the command line: --param binarize=0.5)") from error
        raise
    on_pass(1, "one read")
    return SummedModel(learner, about)


def new_sums(options: TrainingOptions) -> tuple[ClassSums, dict[str, Any]]:
    """Return an untrained learner with these options, and the metadata of its file."""
    learner = CLASSES[options.learner](**options.parameters)
    return learner, {"estimator": ESTIMATORS[options.learner], "parameters": learner.parameters()}


def load(path: str) -> SummedModel:
    """Read a file written by ``fit``, or by ``save`` of the estimators of these models."""
    learner, about = load_model(path)
    if not isinstance(learner, ClassSums):
        raise BadModel(f"{path}: not a model of {' or '.join(ESTIMATORS)}")
    return SummedModel(learner, about)
