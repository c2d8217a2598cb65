"""What estimators share that learn pass after pass: the linear perceptron and the kernel perceptron."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from rosenblatt.core import hypotheses
from rosenblatt.data.matrix import checked_weight
from rosenblatt.linear.base import resume
from rosenblatt.linear.progress import Progress
from rosenblatt.linear.training_record import LearnerT, TrainingRecord
from rosenblatt.storage import BadModel


class EpochTrained(TrainingRecord[LearnerT]):
    """Training, batches and files around a learner; how data are checked is left to the estimator."""

    max_iter: int
    shuffle: bool
    class_weight: Any
    warm_start: bool
    verbose: int
    n_iter_: int
    classes_: Any

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch once, in its order; classes not seen before are taken in."""
        first = not hasattr(self, "learner_")
        self._check_hypothesis(self.hypothesis)
        X, y = self._checked(X, y, reset=first)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all labels at once: give a dict, or use fit")
        weight = self._weights(y, sample_weight)
        if first:
            self.learner_ = self._new_learner()
        self._run().learn(X, y, weight, classes)
        self.n_iter_ = 1
        self.classes_ = self._run().classes
        return self

    def _check_parameters(self) -> None:
        """Check what training needs beside examples: passes, a hypothesis."""
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be 1 or more, got {self.max_iter!r}")
        self._check_hypothesis(self.hypothesis)

    def _begin(self) -> Any:
        """Return a new learner, or the last one where it goes on."""
        if not (self.warm_start and hasattr(self, "learner_")):
            self.learner_ = self._new_learner()
        return self.learner_

    def _train(self, X: Any, y: Any, weight: NDArray[np.float64] | None, **options: Any) -> None:
        """Run the passes and show them where asked to."""
        learner = self._run()
        passes_before = len(learner.epochs)
        with Progress(self.verbose, self.max_iter) as progress:
            learner.train(
                X,
                y,
                max_iter=self.max_iter,
                shuffle=self.shuffle,
                sample_weight=weight,
                on_epoch=progress.advance,
                **options,
            )
        self.n_iter_ = len(learner.epochs) - passes_before
        self.classes_ = learner.classes

    # Files

    def _about_training(self) -> dict[str, Any]:
        """Return what a file says about a model beside its learner."""
        return {
            "estimator": type(self).__name__,
            "hypothesis": self.hypothesis,
            "parameters": {
                "max_iter": int(self.max_iter),
                "shuffle": bool(self.shuffle),
                "warm_start": bool(self.warm_start),
            },
            "n_iter": int(self.n_iter_),
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", [])] or None,
        }

    @classmethod
    def _from_file(cls, path: Any, learner: Any, about: dict[str, Any], **options: Any) -> Self:
        """Return the model of a file, from its learner and what was said about it."""
        made: Any = cls
        try:
            told = about["parameters"]
            model: Self = made(
                rule=learner.rule,
                hypothesis=hypotheses.check_name(about["hypothesis"]),
                fit_intercept=bool(learner.bias_input),
                random_state=learner.seed,
                multi_class=learner.multi_class,
                max_iter=int(told["max_iter"]),
                shuffle=bool(told["shuffle"]),
                warm_start=bool(told["warm_start"]),
                **options,
            )
            model.n_iter_ = int(about["n_iter"])
            resume(model, learner, about["feature_names"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadModel(f"{path}: not a model of {cls.__name__}: {error}") from error
        return model

    # What an estimator says for itself

    def _new_learner(self) -> Any:
        raise NotImplementedError

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        raise NotImplementedError

    def _check_hypothesis(self, name: str) -> None:
        hypotheses.check_name(name)

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> NDArray[np.float64] | None:
        return effective_weight(y, sample_weight, self.class_weight)


def effective_weight(y: NDArray[Any], sample_weight: Any, class_weight: Any) -> NDArray[np.float64] | None:
    """Return how often each example is presented, the weights of classes multiplied in; None for once each."""
    weight = checked_weight(sample_weight, len(y))
    if class_weight is None:
        return weight
    classes = np.unique(y)
    of_class = compute_class_weight(class_weight, classes=classes, y=y)
    own = of_class[np.searchsorted(classes, y)]
    return checked_weight(own if weight is None else own * weight, len(y))
