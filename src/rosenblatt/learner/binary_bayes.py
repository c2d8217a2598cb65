"""Naive Bayes on binary vectors as hyperplanes (seed 004): no scikit-learn, mergeable, one read of the data."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import rows_of
from rosenblatt.core.sums import add_dense_binary, add_sparse, how_many_differ, tally_sparse
from rosenblatt.data.matrix import check_finite
from rosenblatt.learner.class_sums import ClassSums
from rosenblatt.learner.examples import CheckedExamples

MOST_TALLIED = 1 << 31  # rows that a 32-bit counter is given at once


class BinaryBayes(ClassSums):
    """How often each feature is one in each class, read as log odds.

    **Problem.** ``P(y|x) ∝ P(y) Π P(xᵢ|y)`` with ``P(xᵢ=1|c) = (count + α)/(n_c + 2α)``. For two classes
    ``pᵢ = log P(xᵢ=1|+)/P(xᵢ=1|−)``, ``qᵢ = log P(xᵢ=0|+)/P(xᵢ=0|−)``, ``w = p − q``, ``b = Σ qᵢ + log prior odds``.

    Parameters
    ----------
    smoothing : ``α ≥ 0`` added to every count; zero makes what never happened impossible
    binarize : a threshold above which a value counts as one; without it a value but zero and one is an error

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
        seen = np.log(self.counts + 2.0 * self.smoothing)[:, None]
        with np.errstate(divide="ignore"):
            ones = np.log(self.sums + self.smoothing)
            zeros = np.log(self.counts[:, None] - self.sums + self.smoothing)
        return ones - seen, zeros - seen

    def log_priors(self) -> NDArray[np.float64]:
        """Return ``log P(c)`` for every class."""
        if (self.counts == 0.0).any():
            unseen = self.classes[self.counts == 0.0][0]
            raise ValueError(f"class {unseen!r} has no example yet, so it has no prior")
        return np.asarray(np.log(self.counts / self.counts.sum()))

    def scores(self, X: Any, hypothesis: str = "last") -> NDArray[Any]:
        """Return the log odds of every row: ``(n,)`` with two classes, joint log-likelihoods with more."""
        return super().scores(self.binary(X), hypothesis)

    def binary(self, X: Any) -> Any:
        """Return ``X`` as zeros and ones by the threshold, or as it is where there is none."""
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
        """Return the arguments with which another learner of its kind is made."""
        return {"smoothing": self.smoothing, "binarize": self.binarize}

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> None:
        """Add the examples; classes and features not met before are taken in."""
        if self.binarize is not None:
            check_finite(examples.X, "X")  # nan is not above any threshold
            examples = examples._replace(X=self.binary(examples.X))
        super().learn_checked(examples, classes)

    def _weights_of_classes(self) -> NDArray[np.float64]:
        ones, zeros = self.log_probabilities()
        if not np.isfinite(ones).all() or not np.isfinite(zeros).all():
            raise ValueError(
                "a feature was never one, or never zero, in some class, and smoothing is 0: its log odds are "
                "infinite; give smoothing above zero"
            )
        return np.column_stack([zeros.sum(axis=1) + self.log_priors(), ones - zeros])

    def _check_same_kind(self, other: Any) -> None:
        super()._check_same_kind(other)
        if (other.smoothing, other.binarize) != (self.smoothing, self.binarize):
            raise ValueError("naive Bayes models merge only where smoothing and binarize are the same")

    def _summed(
        self, X: Any, classes: int, index: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        rows = rows_of(X)
        width = X.shape[1]
        sums = np.zeros(classes * width)
        if rows.indices is None:
            strange = add_dense_binary(rows.values, index, weight, sums, classes) != 0.0
        else:
            not_one = how_many_differ(rows.values, 1.0)
            strange = not_one > 0 and not_one > rows.values.size - how_many_differ(rows.values, 0.0)
            if not_one == 0 and weight.size == 0 and X.shape[0] < MOST_TALLIED:
                tally = np.zeros(sums.size, np.uint32)
                tally_sparse(rows.indices, rows.starts, index, tally, classes)
                sums += tally
            else:
                add_sparse(*rows, index, weight, sums, classes)
        if strange:
            self._finite(X, sums)
            raise ValueError(_not_binary(X))
        return sums.reshape(classes, width)


def _not_binary(X: Any) -> str:
    """Say which value is neither zero nor one, and what to do about it."""
    values = X if isinstance(X, np.ndarray) else X.data
    place = np.argwhere((values != 0.0) & (values != 1.0))[0]
    value = values[tuple(place)]
    if isinstance(X, np.ndarray):
        row, column = place
    else:
        row, column = np.searchsorted(X.indptr, place[0], side="right") - 1, X.indices[place[0]]
    return (
        f"X has the value {value} in row {row}, column {column}, but naive Bayes here is about zeros and ones: "
        "give binarize=threshold to count values above it as one, or encode the column (one-hot, or by bins)"
    )
