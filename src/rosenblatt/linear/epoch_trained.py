"""What estimators share that learn pass after pass: the linear perceptron and the kernel perceptron."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from rosenblatt.core import hypotheses
from rosenblatt.linear.base import resume
from rosenblatt.linear.progress import Progress
from rosenblatt.linear.training_record import LearnerT, TrainingRecord
from rosenblatt.storage import BadModel


class EpochTrained(TrainingRecord[LearnerT]):
    """Training, batches and files around a learner; the estimator checks the data."""

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
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all labels at once: give a dict, or use fit")
        self._learn_batch(X, y, classes, sample_weight, first)
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

    def _run_epochs(self, train: Callable[..., None], *examples: Any, **options: Any) -> None:
        """Train the learner and show its progress where asked to."""
        learner = self._run()
        before = len(learner.epochs)
        with Progress(self.verbose, self.max_iter) as progress:
            train(
                *examples, max_iter=self.max_iter, shuffle=self.shuffle, on_epoch=progress.advance, **options
            )
        self.n_iter_ = len(learner.epochs) - before
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
        estimator: Any = cls
        try:
            parameters = about["parameters"]
            model: Self = estimator(
                rule=learner.rule,
                hypothesis=hypotheses.check_name(about["hypothesis"]),
                fit_intercept=bool(learner.bias_input),
                random_state=learner.seed,
                multi_class=learner.multi_class,
                max_iter=int(parameters["max_iter"]),
                shuffle=bool(parameters["shuffle"]),
                warm_start=bool(parameters["warm_start"]),
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

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
        """Check a batch and learn from it once, with a new learner where it is the first."""
        raise NotImplementedError

    def _check_hypothesis(self, name: str) -> None:
        hypotheses.check_name(name)
