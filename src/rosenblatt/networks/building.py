"""The base of Tower and Upstart: a classifier of one constructed network of step units, or one per class."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt.data.labels import checked_classes, exact_if_listed
from rosenblatt.learner import Learner
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.linear.base import check_count, refuse_one_class, seed_of
from rosenblatt.networks.gate import Gate
from rosenblatt.networks.inputs import Inputs
from rosenblatt.networks.network import Network

ZERO = 1e-9  # relative to the largest score, a smaller one counts as zero


class UnitTraining(NamedTuple):
    """Parameters of the training of a single unit."""

    max_iter: int
    seed: int


def _refuse_probabilities(model: Any) -> bool:
    raise AttributeError(
        f"{type(model).__name__} has no predict_proba: it fits every training row, so its score is no measure of "
        "confidence; wrap it in CalibratedClassifierCV, or use Perceptron(probability=True)"
    )


class BuiltNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that constructs its network of perceptrons unit by unit."""

    def __init__(self, *, max_units: int | None = None, max_iter: int = 100, random_state: Any = 0) -> None:
        self.max_units = max_units
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Construct the network, or one per class if there are more than two."""
        check_count("max_iter", self.max_iter)
        if self.max_units is not None:
            check_count("max_units", self.max_units, "or None, ")
        X, y = validate_data(self, X, exact_if_listed(y), dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        checked_classes(self.classes_)
        refuse_one_class(self.classes_)
        self.inputs_ = Inputs.of(X)
        Z = self.inputs_.read(X)
        targets = _majority_labels(Z, labels)
        features = [str(n) for n in getattr(self, "feature_names_in_", [])] or [
            f"x{j + 1}" for j in range(X.shape[1])
        ]
        names = self.inputs_.names(features)
        positive_classes = [1] if self.classes_.size == 2 else range(self.classes_.size)
        training = UnitTraining(int(self.max_iter), seed_of(self.random_state))
        results = [
            self._build(Z, np.where(targets == positive_class, 1, 0), names, training)
            for positive_class in positive_classes
        ]
        self.networks_ = [network for network, _ in results]
        self.errors_ = [np.array(errors) for _, errors in results]
        self.n_units_ = sum(len(network.units) for network in self.networks_)
        self.n_iter_ = int(self.max_iter)
        self.converged_ = all(errors[-1] == 0 for errors in self.errors_)
        return self

    @available_if(_refuse_probabilities)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Raise AttributeError: a network of steps has no probabilities."""
        raise NotImplementedError

    @property
    def network_(self) -> Network:
        """The network of a classifier of two classes."""
        check_is_fitted(self)
        if len(self.networks_) > 1:
            raise AttributeError("there is one network per class: use networks_")
        return self.networks_[0]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of the output unit, a column per class when there are more than two."""
        check_is_fitted(self)
        Z = self.inputs_.read(validate_data(self, X, reset=False, dtype=np.float64))
        scores = np.column_stack([network.scores(Z)[:, -1] for network in self.networks_])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        scores = self.decision_function(X)
        best = (scores > 0.0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return np.asarray(self.classes_[best])

    def _build(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], names: list[str], training: UnitTraining
    ) -> tuple[Network, list[int]]:
        """Return a network for targets 0 and 1, and its errors after each unit or at the end."""
        raise NotImplementedError


def train_unit(
    Z: NDArray[np.float64], targets: NDArray[np.int64], training: UnitTraining
) -> NDArray[np.float64]:
    """Return the weights, bias first, of the best hypothesis of a perceptron run."""
    if (targets == targets[0]).all():
        return np.concatenate([[1.0 if targets[0] else -1.0], np.zeros(Z.shape[1])])
    learner = Learner(seed=training.seed)
    learner.train(Z, targets, max_iter=training.max_iter)
    candidates = [centred(learner.weights(name)[0], Z) for name in ("last", "pocket", "averaged")]
    return min(candidates, key=lambda w: unit_errors(w, Z, targets))


def centred(weights: NDArray[np.float64], Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move the bias to the middle of the gap around zero, so that rounding changes no prediction."""
    scores = linear_scores(Z, weights[None])[:, 0]
    zero = ZERO * float(np.abs(scores).max())
    positive = scores > zero
    shifted = weights.astype(np.float64)
    if positive.any() and not positive.all():
        shifted[0] -= (scores[positive].min() + scores[~positive].max()) / 2.0
    elif not positive.any():
        shifted[0] -= 2.0 * zero
    return shifted


def unit_errors(weights: NDArray[np.float64], Z: NDArray[np.float64], targets: NDArray[np.int64]) -> int:
    """Count the rows on which the output of a unit differs from its target."""
    return int((unit_outputs(weights, Z) != targets).sum())


def unit_outputs(weights: NDArray[np.float64], Z: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the output of a unit, 0 or 1, for every row."""
    return (linear_scores(Z, weights[None])[:, 0] > 0.0).astype(np.int64)


def as_gate(weights: NDArray[np.float64], name: str = "") -> Gate:
    """Return a gate with these weights, bias first."""
    return Gate(tuple(weights[1:].tolist()), float(weights[0]), name)


def _majority_labels(Z: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give equal rows the label of their majority: no classifier can do better."""
    _, group = np.unique(Z, axis=0, return_inverse=True)
    group = group.reshape(-1)
    votes = np.zeros((group.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(votes, (group, labels), 1)
    return np.asarray(votes.argmax(axis=1)[group])
