"""Models that are sums over the examples of each class: closest centroid and naive Bayes.

They need one read of the data, take examples in any order and in any batches, and can be merged.
"""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import rows_of
from rosenblatt.core.sums import add_dense, add_dense_binary, add_sparse, how_many_differ, tally_sparse
from rosenblatt.data.labels import joined_classes
from rosenblatt.data.matrix import check_finite, checked_labels, checked_weight, encoded
from rosenblatt.learner.examples import CheckedExamples, canonical_matrix
from rosenblatt.learner.linear_weights import LinearWeights

MOST_TALLIED = 1 << 31  # rows that a 32-bit counter is given at once


class ClassSums(LinearWeights):
    """Base of models that depend only on the sum and the total weight of the examples of each class.

    Classes and features can be added at any time. Merging two models gives the model of all their examples: exactly
    where the sums are exact (counts, integers), else up to rounding.
    """

    def __init__(self) -> None:
        self.classes: NDArray[Any] = np.empty(0)
        self.counts = np.empty(0)  # the total weight of the examples of each class
        self.sums = np.empty((0, 0))  # (classes, features)
        self._cached_weights: NDArray[np.float64] | None = None

    # Learning

    def learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> None:
        """Add examples; classes and features not seen before are added.

        The matrix is read once: a sum is not finite where a value is not.
        """
        X = canonical_matrix(X)
        occurring, labels = checked_labels(y, X.shape[0])
        weight = checked_weight(sample_weight, X.shape[0])
        self.learn_checked(CheckedExamples(X, occurring, labels, weight, 0.0), classes)

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> None:
        """Do what :meth:`learn` does, with examples that were checked before, except for values that are not finite."""
        X, batch_classes, labels, weight, _ = examples
        all_classes = batch_classes
        if classes is not None:
            all_classes = joined_classes(batch_classes, encoded(classes)[0])
        if self.classes.size and (all_classes.dtype.kind in "US") != (self.classes.dtype.kind in "US"):
            raise ValueError(
                f"y has labels like {all_classes.tolist()[0]!r}, but the model's classes are like "
                f"{self.classes[:3].tolist()}: convert the labels to the same type"
            )
        sums = self._summed(X, batch_classes.size, labels, np.empty(0) if weight is None else weight)
        self._grow(all_classes, X.shape[1])
        index = np.searchsorted(self.classes, batch_classes)
        self.sums[index, : X.shape[1]] += sums
        self.counts[index] += np.bincount(labels, weights=weight, minlength=batch_classes.size)
        self._cached_weights = None

    def train(self, X: Any, y: Any, *, sample_weight: Any = None, **_: Any) -> None:
        """Add examples once; other options of training, as ``max_iter``, are ignored."""
        self.learn(X, y, sample_weight)

    def merge(self, other: Self) -> None:
        """Add the sums of another model of the same class."""
        self._check_same_kind(other)
        self._grow(other.classes, other.sums.shape[1])
        index = np.searchsorted(self.classes, other.classes)
        self.sums[index, : other.sums.shape[1]] += other.sums
        self.counts[index] += other.counts
        self._cached_weights = None

    # The model

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.sums.shape[1])

    def weights(self, hypothesis: str = "last") -> NDArray[np.float64]:
        """Return ``(rows, 1 + features)`` weights, the bias first."""
        if not self.counts.any():
            raise ValueError("the learner is not trained yet: call learn or train first")
        if self._cached_weights is None:
            weights = self._weights_of_classes()
            self._cached_weights = weights if self.classes.size > 2 else weights[-1:] - weights[:1]
        return self._cached_weights

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {}

    # Implementation

    def _weights_of_classes(self) -> NDArray[np.float64]:
        """Return one row of weights per class, also for two classes."""
        raise NotImplementedError

    def _check_same_kind(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"a {type(self).__name__} can be merged with another one, not with a {type(other).__name__}"
            )

    def _summed(
        self, X: Any, classes: int, labels: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the ``(classes, features)`` sums of the rows; raise ValueError where a value is not finite."""
        sums = np.zeros(classes * X.shape[1])
        rows = rows_of(X)
        if rows.indices is None:
            add_dense(rows.values, labels, weight, sums, classes)
        else:
            add_sparse(*rows, labels, weight, sums, classes)
        return self._finite(X, sums.reshape(classes, X.shape[1]))

    @staticmethod
    def _finite(X: Any, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        if not np.isfinite(sums).all():
            check_finite(X, "X")
            raise ValueError("the sums grew beyond what a float can hold: scale the features")
        return sums

    def _grow(self, classes: NDArray[Any], n_features: int) -> None:
        """Add the classes and features that are new."""
        classes = joined_classes(self.classes, classes) if self.classes.size else classes.copy()
        width = max(n_features, self.n_features)
        if classes.size == self.classes.size and width == self.n_features:
            return
        sums, counts = np.zeros((classes.size, width)), np.zeros(classes.size)
        index = np.searchsorted(classes, self.classes)
        if index.size:
            sums[index, : self.n_features] = self.sums
            counts[index] = self.counts
        self.classes, self.sums, self.counts = classes, sums, counts


class Centroids(ClassSums):
    """Closest centroid: the class whose mean is closest.

    **Problem.** ``argmin_c ‖x − μ_c‖ = argmax_c μ_c·x − ½‖μ_c‖²``; between two classes the hyperplane
    ``w = μ₊ − μ₋``, ``b = −½(‖μ₊‖² − ‖μ₋‖²)``. A class without examples has no mean: predicting is then an error.

    Examples
    --------
    >>> learner = Centroids()
    >>> learner.learn([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]], ["a", "b", "a"])
    >>> learner.weights()
    array([[ 0.,  2., -2.]])
    """

    kind = "centroid"

    def means(self) -> NDArray[np.float64]:
        """Return the centroid of every class, in the order of ``classes``."""
        if (self.counts == 0.0).any():
            unseen = self.classes[self.counts == 0.0].tolist()[0]
            raise ValueError(
                f"class {unseen!r} has no examples yet, so it has no centroid: learn from some first"
            )
        return np.asarray(self.sums / self.counts[:, None])

    def _weights_of_classes(self) -> NDArray[np.float64]:
        means = self.means()
        return np.column_stack([-0.5 * (means**2).sum(axis=1), means])


class BinaryBayes(ClassSums):
    """Bernoulli naive Bayes: how often each feature is one in each class.

    **Problem.** ``P(y|x) ∝ P(y) Π P(xᵢ|y)`` with ``P(xᵢ=1|c) = (count + α)/(n_c + 2α)``. For two classes
    ``pᵢ = log P(xᵢ=1|+)/P(xᵢ=1|−)``, ``qᵢ = log P(xᵢ=0|+)/P(xᵢ=0|−)``, ``w = p − q``, ``b = Σ qᵢ + log prior odds``.

    Parameters
    ----------
    smoothing : float
        ``α ≥ 0``, added to every count; with zero, a value that never occurs in a class has probability zero there.
    binarize : float or None
        Values above this threshold become one, the others zero; with None, a value other than zero and one is an
        error.

    Examples
    --------
    >>> learner = BinaryBayes()
    >>> learner.learn([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> learner.predict([[1, 0]])
    array(['spam'], dtype='<U4')
    """

    kind = "naive-bayes"

    def __init__(self, smoothing: float = 1.0, binarize: float | None = None) -> None:
        super().__init__()
        if not 0.0 <= smoothing < math.inf:
            raise ValueError(f"smoothing must be zero or more, got {smoothing!r}")
        if binarize is not None and not math.isfinite(binarize):
            raise ValueError(f"binarize must be a finite threshold or None, got {binarize!r}")
        self.smoothing = float(smoothing)
        self.binarize = None if binarize is None else float(binarize)

    def log_probabilities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ``log P(xᵢ=1|c)`` and ``log P(xᵢ=0|c)``, a row for every class."""
        total = np.log(self.counts + 2.0 * self.smoothing)[:, None]
        with np.errstate(divide="ignore"):
            ones = np.log(self.sums + self.smoothing)
            zeros = np.log(self.counts[:, None] - self.sums + self.smoothing)
        return ones - total, zeros - total

    def log_priors(self) -> NDArray[np.float64]:
        """Return ``log P(c)`` for every class."""
        if (self.counts == 0.0).any():
            unseen = self.classes[self.counts == 0.0].tolist()[0]
            raise ValueError(
                f"class {unseen!r} has no examples yet, so it has no prior: learn from some first"
            )
        return np.asarray(np.log(self.counts / self.counts.sum()))

    def scores(self, X: Any, hypothesis: str = "last") -> NDArray[Any]:
        """Return the log odds of every row: ``(n,)`` with two classes, joint log-likelihoods with more."""
        return super().scores(self.binary(X), hypothesis)

    def binary(self, X: Any) -> Any:
        """Return ``X`` as zeros and ones by the threshold; unchanged where there is none."""
        if self.binarize is None:
            return X
        if not hasattr(X, "tocsr"):
            X = np.asarray(X)
            return np.greater(X, self.binarize).astype(X.dtype if X.dtype.kind == "f" else np.float64)
        if self.binarize < 0.0:
            raise ValueError(
                f"binarize={self.binarize} would turn every zero of a sparse matrix into a one: "
                "give a threshold of zero or more, or a dense matrix"
            )
        X = X.tocsr().astype(np.float64) if X.dtype.kind != "f" else X.tocsr().copy()
        X.data = (X.data > self.binarize).astype(X.dtype)
        return X

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"smoothing": self.smoothing, "binarize": self.binarize}

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> None:
        """Do what :meth:`learn` does, with examples that were checked before, except for values that are not finite."""
        if self.binarize is not None:
            check_finite(examples.X, "X")  # nan is not above any threshold
            examples = examples._replace(X=self.binary(examples.X))
        super().learn_checked(examples, classes)

    def _weights_of_classes(self) -> NDArray[np.float64]:
        ones, zeros = self.log_probabilities()
        if not np.isfinite(ones).all() or not np.isfinite(zeros).all():
            raise ValueError(
                "with smoothing=0 the log odds are infinite of a feature that is never one, or never zero, in some "
                "class: choose smoothing above zero"
            )
        return np.column_stack([zeros.sum(axis=1) + self.log_priors(), ones - zeros])

    def _check_same_kind(self, other: Any) -> None:
        super()._check_same_kind(other)
        if (other.smoothing, other.binarize) != (self.smoothing, self.binarize):
            raise ValueError("naive Bayes models merge only where smoothing and binarize are the same")

    def _summed(
        self, X: Any, classes: int, labels: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the ``(classes, features)`` sums of the rows; raise ValueError for values other than zero and one."""
        rows = rows_of(X)
        width = X.shape[1]
        sums = np.zeros(classes * width)
        if rows.indices is None:
            not_binary = add_dense_binary(rows.values, labels, weight, sums, classes) != 0.0
        else:
            not_one = how_many_differ(rows.values, 1.0)
            not_binary = not_one > 0 and not_one > rows.values.size - how_many_differ(rows.values, 0.0)
            if not_one == 0 and weight.size == 0 and X.shape[0] < MOST_TALLIED:
                tally = np.zeros(sums.size, np.uint32)
                tally_sparse(rows.indices, rows.starts, labels, tally, classes)
                sums += tally
            else:
                add_sparse(*rows, labels, weight, sums, classes)
        if not_binary:
            self._finite(X, sums)
            raise ValueError(_not_binary_message(X))
        return sums.reshape(classes, width)


def _not_binary_message(X: Any) -> str:
    """Return a message that names the first value other than zero and one."""
    values = X if isinstance(X, np.ndarray) else X.data
    position = np.argwhere((values != 0.0) & (values != 1.0))[0]
    value = values[tuple(position)]
    if isinstance(X, np.ndarray):
        row, column = position
    else:
        row, column = np.searchsorted(X.indptr, position[0], side="right") - 1, X.indices[position[0]]
    return (
        f"X has the value {value} in row {row}, column {column}, but this naive Bayes needs zeros and ones: "
        "give binarize=threshold to count values above it as one, or encode the column (one-hot, or by bins)"
    )
