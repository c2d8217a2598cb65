"""Learners that only add: per-class sums and counts, from which the hyperplanes follow."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import rows_of
from rosenblatt.core.sums import add_dense, add_sparse
from rosenblatt.data.labels import joined_classes
from rosenblatt.data.matrix import check_finite, checked_labels, checked_weight, encoded
from rosenblatt.learner.examples import CheckedExamples, canonical_matrix
from rosenblatt.learner.linear_weights import LinearWeights


class ClassSums(LinearWeights):
    """The sum of the examples of every class, and how many there were; order and batches do not matter.

    Classes and features may join at any time. Two of a kind merge into what one would have been on the examples of
    both: exactly where the sums are (counts, integers), else up to rounding.
    """

    def __init__(self) -> None:
        self.classes: NDArray[Any] = np.empty(0)
        self.counts = np.empty(0)  # the weight of the examples of each class
        self.sums = np.empty((0, 0))  # (classes, features)
        self._cached: NDArray[np.float64] | None = None

    # Learning

    def learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> None:
        """Add the examples; classes and features not met before are taken in.

        The matrix is read once: the sums themselves tell whether a value was not finite.
        """
        X = canonical_matrix(X)
        occurring, labels = checked_labels(y, X.shape[0])
        weight = checked_weight(sample_weight, X.shape[0])
        self.learn_checked(CheckedExamples(X, occurring, labels, weight, 0.0), classes)

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> None:
        """Do what :meth:`learn` does, with examples that were checked before, but for values that are not finite."""
        X, met, index, weight, _ = examples
        grown = joined_classes(met, encoded(classes)[0]) if classes is not None else met
        if self.classes.size and (grown.dtype.kind in "US") != (self.classes.dtype.kind in "US"):
            raise ValueError(
                f"y has labels like {grown[0]!r}, but the learner knows {self.classes[:3].tolist()}"
            )
        batch = self._summed(X, met.size, index, np.empty(0) if weight is None else weight)
        self._grow(grown, X.shape[1])
        place = np.searchsorted(self.classes, met)
        self.sums[place, : X.shape[1]] += batch
        self.counts[place] += np.bincount(index, weights=weight, minlength=met.size)
        self._cached = None

    def train(self, X: Any, y: Any, *, sample_weight: Any = None, **_: Any) -> None:
        """Add the examples: one read is all there is to training, whatever number of passes is asked for."""
        self.learn(X, y, sample_weight)

    def merge(self, other: Self) -> None:
        """Take in what another learner of the same kind has learned."""
        self._check_same_kind(other)
        self._grow(other.classes, other.sums.shape[1])
        place = np.searchsorted(self.classes, other.classes)
        self.sums[place, : other.sums.shape[1]] += other.sums
        self.counts[place] += other.counts
        self._cached = None

    # What it knows

    @property
    def n_features(self) -> int:
        """How many features it has met."""
        return int(self.sums.shape[1])

    def weights(self, hypothesis: str = "last") -> NDArray[np.float64]:
        """Return ``(rows, 1 + features)`` weights, the bias first."""
        if not self.counts.any():
            raise ValueError("the learner has not learned yet: call learn or train first")
        if self._cached is None:
            each = self._weights_of_classes()
            self._cached = each if self.classes.size > 2 else each[-1:] - each[:1]
        return self._cached

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which another learner of its kind is made."""
        return {}

    # Inside

    def _weights_of_classes(self) -> NDArray[np.float64]:
        """Return a row of weights for every class, also when there are two."""
        raise NotImplementedError

    def _check_same_kind(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"a {type(self).__name__} merges with its like, not with a {type(other).__name__}"
            )

    def _summed(
        self, X: Any, classes: int, index: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        sums = np.zeros(classes * X.shape[1])
        rows = rows_of(X)
        if rows.indices is None:
            add_dense(rows.values, index, weight, sums, classes)
        else:
            add_sparse(*rows, index, weight, sums, classes)
        return self._finite(X, sums.reshape(classes, X.shape[1]))

    @staticmethod
    def _finite(X: Any, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        if not np.isfinite(sums).all():
            check_finite(X, "X")
            raise ValueError("the sums grew beyond what a float can hold: scale the features")
        return sums

    def _grow(self, met: NDArray[Any], n_features: int) -> None:
        """Take in classes and features not met before."""
        classes = joined_classes(self.classes, met) if self.classes.size else met.copy()
        width = max(n_features, self.n_features)
        if classes.size == self.classes.size and width == self.n_features:
            return
        sums, counts = np.zeros((classes.size, width)), np.zeros(classes.size)
        place = np.searchsorted(classes, self.classes)
        if place.size:
            sums[place, : self.n_features] = self.sums
            counts[place] = self.counts
        self.classes, self.sums, self.counts = classes, sums, counts
