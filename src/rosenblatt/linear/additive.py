"""The base of estimators that are per-class sums: closest centroid and naive Bayes."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.additive import ClassSums
from rosenblatt.linear.base import (
    LinearClassifier,
    refuse_not_finite,
    refuse_one_class,
    unchanged_if_refused,
)


class AdditiveClassifier(LinearClassifier, ABC):
    """A classifier whose learner is a :class:`~rosenblatt.learner.additive.ClassSums`; a subclass creates it."""

    learner_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add up the examples of every class; what was learned before is discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        self._add(self._new_learner(), X, y, sample_weight, None, reset=True, whole=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of examples; classes not seen before are added.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            Classes that may occur later; not required.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "learner_")
        learner = self._new_learner() if first else self.learner_
        self._add(learner, X, y, sample_weight, classes, reset=first, whole=False)
        return self

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """The total weight of the examples of every class."""
        return np.asarray(self._fitted_learner().counts)

    def _fitted_learner(self) -> Any:
        """Return the learner; raise AttributeError before the first fit."""
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.learner_

    @abstractmethod
    def _new_learner(self) -> ClassSums:
        """Return an untrained learner with the estimator's parameters."""

    def _add(
        self, learner: Any, X: Any, y: Any, sample_weight: Any, classes: Any, reset: bool, whole: bool
    ) -> None:
        """Add examples to a learner, which sees in its sums whether values are finite, and make it the model's.

        Where the examples are refused the model keeps its previous learner. With ``whole`` they are the whole training
        set, which must have two classes.
        """
        with unchanged_if_refused(self):
            examples = self._examples(X, y, sample_weight, reset, measure=False)
            try:
                learner.learn_checked(examples, classes)
            except ValueError:
                refuse_not_finite(self, examples.X)
                raise
            if whole:
                refuse_one_class(learner.classes)
                learner.check_trained(examples)
        self.learner_ = learner
        self.classes_ = learner.classes
        if whole:
            labels = examples.labels
            if learner.classes.size > examples.classes.size:  # classes without an example
                labels = np.searchsorted(learner.classes, examples.classes)[labels]
            self._compute_margin_later(examples.X, labels)
            self._calibrate(examples)
        else:
            self._forget_margin()
            self._discard_probabilities()
