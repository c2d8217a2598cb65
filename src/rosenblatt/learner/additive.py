"""Models that are sums over the examples of each class: closest centroid and naive Bayes.

They need one read of the data, take examples in any order and in any batches, and can be merged.
"""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import rows_of
from rosenblatt.core.sums import add_dense, add_dense_binary, add_sparse, count_different, tally_sparse
from rosenblatt.data.labels import joined_classes
from rosenblatt.data.matrix import check_finite, checked_labels, checked_matrix, checked_weight, encoded
from rosenblatt.learner.examples import CheckedExamples, canonical_matrix
from rosenblatt.learner.linear_weights import LinearWeights
from rosenblatt.learner.scoring import linear_scores

MAX_TALLIED = 1 << 31  # rows that 32-bit counters can count


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
        """Add examples that were checked, except that their values may not be finite."""
        X, batch_classes, labels, weight = examples[:4]
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

    def check_trained(self, examples: CheckedExamples) -> None:
        """Raise ValueError where these examples, which are all that there are, do not make a model."""

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

    With ``shrink_threshold`` every mean moves towards the mean of all examples, in each feature by ``Δ·m_c·(s + s₀)``
    and not beyond it, where ``s`` is the standard deviation within classes, ``s₀`` its median over the features and
    ``m_c = √(1/n_c − 1/n)``. With ``priors`` that are not uniform, ``argmax_c log π_c − ½ Σ (xᵢ − μ_cᵢ)²/sᵢ²``.

    Parameters
    ----------
    shrink_threshold : float or None
        ``Δ > 0``; None does not shrink.
    priors : "uniform", "empirical" or list of float
        The probability of every class: equal, as frequent as in the examples, or given.

    Examples
    --------
    >>> learner = Centroids()
    >>> learner.learn([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]], ["a", "b", "a"])
    >>> learner.weights()
    array([[ 0.,  2., -2.]])
    """

    kind = "centroid"

    def __init__(self, shrink_threshold: float | None = None, priors: Any = "uniform") -> None:
        super().__init__()
        if shrink_threshold is not None and not 0.0 < shrink_threshold < math.inf:
            raise ValueError(f"shrink_threshold must be above 0, or None, got {shrink_threshold!r}")
        if isinstance(priors, str) and priors not in ("uniform", "empirical"):
            raise ValueError(f"priors must be 'uniform', 'empirical' or a number per class, got {priors!r}")
        self.shrink_threshold = None if shrink_threshold is None else float(shrink_threshold)
        self.priors = priors if isinstance(priors, str) else [float(each) for each in priors]
        # (features,) squared deviations from the means of the classes, summed; None where nothing needs them
        self.squares = np.zeros(0) if self.measures_spread else None

    @property
    def measures_spread(self) -> bool:
        """Whether the weights depend on the standard deviations within classes."""
        return self.shrink_threshold is not None or self.priors != "uniform"

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments that are not its defaults."""
        parameters = {"shrink_threshold": self.shrink_threshold, "priors": self.priors}
        return {name: value for name, value in parameters.items() if value not in (None, "uniform")}

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> None:
        """Add examples that were checked, except that their values may not be finite."""
        if not self.measures_spread:
            super().learn_checked(examples, classes)
            return
        batch = Centroids()
        batch.learn_checked(examples)
        batch.squares = _squared_deviations(examples, batch.means())
        no_rows = examples._replace(X=examples.X[:0], labels=examples.labels[:0], weight=None)
        super().learn_checked(no_rows, classes)  # checks and adds the classes and features
        self._merge_sums(batch)

    def merge(self, other: Self) -> None:
        """Add the sums of another model of the same class and parameters."""
        self._check_same_kind(other)
        if other.parameters() != self.parameters():
            raise ValueError("centroids merge only where shrink_threshold and priors are the same")
        self._merge_sums(other)

    def _merge_sums(self, other: "Centroids") -> None:
        """Add sums, and squared deviations by the formula of Chan, Golub and LeVeque (1979)."""
        if self.squares is not None and other.squares is not None:
            self._grow(other.classes, other.n_features)
            squares = np.zeros(self.n_features)
            squares[: self.squares.size] += self.squares
            squares[: other.squares.size] += other.squares
            index = np.searchsorted(self.classes, other.classes)
            for own, theirs in zip(index, range(other.classes.size), strict=True):
                a, b = self.counts[own], other.counts[theirs]
                if a and b:
                    sums = np.zeros(self.n_features)
                    sums[: other.n_features] = other.sums[theirs]
                    squares += a * b / (a + b) * (self.sums[own] / a - sums / b) ** 2
            self.squares = squares
        super().merge(other)

    def check_trained(self, examples: CheckedExamples) -> None:
        """Raise ValueError where all rows are the same, or priors and spread do not fit the examples."""
        means = self.sums / self.counts[:, None]
        if np.allclose(means, means[:1], rtol=1e-9, atol=0.0) and _all_rows_equal(examples.X):
            raise ValueError(
                "All features have zero variance: every row of X is the same, so no centroid is closer than another"
            )
        self.log_priors()
        if self.measures_spread and not self.deviations().any():
            raise ValueError(
                "All features have zero variance within the classes, by which centroids are shrunk and priors weighed: "
                "use shrink_threshold=None and priors='uniform'"
            )

    def log_priors(self) -> NDArray[np.float64]:
        """Return ``log π`` of every class."""
        if isinstance(self.priors, str):
            counts = self.counts if self.priors == "empirical" else np.ones(self.classes.size)
            return np.asarray(np.log(counts / counts.sum()))
        return _checked_log_priors(self.priors, self.classes)

    def deviations(self) -> NDArray[np.float64]:
        """Return the standard deviation of every feature within the classes."""
        rows, classes = float(self.counts.sum()), self.classes.size
        if self.squares is None:
            raise ValueError(
                "the spread within classes was not measured: it is with shrink_threshold or priors"
            )
        if rows <= classes:
            raise ValueError(
                f"{rows:g} examples of {classes} classes have no spread within the classes: give more examples, or "
                "use shrink_threshold=None and priors='uniform'"
            )
        return np.asarray(np.sqrt(self.squares / (rows - classes)))

    def means(self) -> NDArray[np.float64]:
        """Return the centroid of every class, shrunken where asked for, in the order of ``classes``."""
        if (self.counts == 0.0).any():
            unseen = self.classes[self.counts == 0.0].tolist()[0]
            raise ValueError(
                f"class {unseen!r} has no examples yet, so it has no centroid: learn from some first"
            )
        means = self.sums / self.counts[:, None]
        if self.shrink_threshold is None:
            return np.asarray(means)
        rows, deviations = self.counts.sum(), self.deviations()
        centre = self.sums.sum(axis=0) / rows
        m = np.sqrt(np.maximum(1.0 / self.counts - 1.0 / rows, 0.0))[:, None]
        towards_centre = self.shrink_threshold * m * (deviations + np.median(deviations))
        offset = means - centre
        return np.asarray(centre + np.sign(offset) * np.maximum(np.abs(offset) - towards_centre, 0.0))

    def _weights_of_classes(self) -> NDArray[np.float64]:
        means = self.means()
        if self.priors == "uniform":
            return np.column_stack([-0.5 * (means**2).sum(axis=1), means])
        deviations = self.deviations()
        precision = np.where(deviations > 0.0, deviations, 1.0) ** -2.0
        bias = self.log_priors() - 0.5 * (means**2 * precision).sum(axis=1)
        if not np.isfinite(bias).all():
            raise ValueError(
                f"priors={self.priors} hold a zero, whose logarithm is infinite: leave that class out"
            )
        return np.column_stack([bias, means * precision])


def _squared_deviations(examples: CheckedExamples, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``Σ weight (x − μ)²`` of every feature, where ``μ`` is the mean of the row's class."""
    X, labels, weight = examples.X, examples.labels, examples.weight
    weight = np.ones(labels.size) if weight is None else weight
    if isinstance(X, np.ndarray):
        return np.asarray(weight @ (X - means[labels]) ** 2)
    rows = np.repeat(np.arange(labels.size), np.diff(X.indptr))
    own = means[labels[rows], X.indices]
    correction = weight[rows] * ((X.data - own) ** 2 - own**2)  # to the squares of rows of zeros
    squares = np.bincount(X.indices, weights=correction, minlength=X.shape[1])
    counts = np.bincount(labels, weights=weight, minlength=means.shape[0])
    return np.maximum(squares + counts @ means**2, 0.0)


def _all_rows_equal(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return bool((X[:1] == X).all())
    return not (X.max(axis=0) - X.min(axis=0)).count_nonzero()


def _checked_log_priors(priors: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the logarithms of priors that the caller gave, one for each class."""
    if len(priors) != classes.size:
        raise ValueError(
            f"Number of priors must match number of classes: {len(priors)} priors for the {classes.size} classes "
            f"{classes[:5].tolist()}"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(priors, dtype=np.float64)))


class Bayes(ClassSums):
    """Base of the naive Bayes models: smoothing of counts, and prior probabilities of the classes.

    Parameters
    ----------
    smoothing : float
        ``α ≥ 0``, added to every count; with zero, what never occurs in a class has probability zero there.
    fit_prior : bool
        Whether the prior of a class is its frequency; else all are equal.
    class_prior : list of float or None
        Priors that replace those, one for each class in ascending order.
    """

    def __init__(self, smoothing: float = 1.0, *, fit_prior: bool = True, class_prior: Any = None) -> None:
        super().__init__()
        if not 0.0 <= smoothing < math.inf:
            raise ValueError(f"smoothing must be zero or more, got {smoothing!r}")
        self.smoothing = float(smoothing)
        self.fit_prior = bool(fit_prior)
        self.class_prior = None if class_prior is None else [float(each) for each in class_prior]
        if self.class_prior is not None and not all(0.0 < each < math.inf for each in self.class_prior):
            raise ValueError(f"class_prior must hold numbers above 0, got {self.class_prior!r}")

    def parameters(self) -> dict[str, Any]:
        """Return the smoothing, and other arguments of the constructor that are not its defaults."""
        priors = {"fit_prior": self.fit_prior, "class_prior": self.class_prior}
        changed = {name: value for name, value in priors.items() if value not in (None, True)}
        return {"smoothing": self.smoothing, **changed}

    def log_priors(self) -> NDArray[np.float64]:
        """Return ``log P(c)`` for every class."""
        if self.class_prior is not None:
            return _checked_log_priors(self.class_prior, self.classes)
        if not self.fit_prior:
            return np.full(self.classes.size, -math.log(self.classes.size))
        if (self.counts == 0.0).any():
            unseen = self.classes[self.counts == 0.0].tolist()[0]
            raise ValueError(
                f"class {unseen!r} has no examples yet, so it has no prior: learn from some first"
            )
        return np.asarray(np.log(self.counts / self.counts.sum()))

    def check_trained(self, examples: CheckedExamples) -> None:
        """Raise ValueError where there is not one prior for each class."""
        self.log_priors()

    def joint_log_likelihoods(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c) + log P(x|c)`` for every row and class."""
        return np.asarray(
            linear_scores(checked_matrix(X, n_features=self.n_features), self._weights_of_classes())
        )

    def _check_same_kind(self, other: Any) -> None:
        super()._check_same_kind(other)
        if other.parameters() != self.parameters():
            raise ValueError(
                f"naive Bayes models merge only where their parameters are the same, got {self.parameters()} and "
                f"{other.parameters()}"
            )


class CountBayes(Bayes):
    """Multinomial naive Bayes: how often each feature occurs in each class, for counts and other values from zero.

    **Problem.** ``P(y|x) ∝ P(y) Π P(i|y)^xᵢ`` with ``P(i|c) = (Σ xᵢ + α)/(Σᵢ Σ xᵢ + αd)``, the sums over the examples
    of class ``c``.

    Examples
    --------
    >>> learner = CountBayes()
    >>> learner.learn([[3, 0], [2, 1], [0, 4]], ["spam", "spam", "ham"])
    >>> learner.predict([[1, 0]])
    array(['spam'], dtype='<U4')
    """

    kind = "multinomial-bayes"

    def log_probabilities(self) -> NDArray[np.float64]:
        """Return ``log P(i|c)``, a row for every class."""
        smoothed = self.sums + self.smoothing
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True)))

    def _weights_of_classes(self) -> NDArray[np.float64]:
        logs = self.log_probabilities()
        if not np.isfinite(logs).all():
            raise ValueError(
                "with smoothing=0 the log odds are infinite of a feature that never occurs in some class: choose "
                "smoothing (alpha) above zero"
            )
        return np.column_stack([self.log_priors(), logs])

    def _summed(
        self, X: Any, classes: int, labels: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the ``(classes, features)`` sums of the rows; raise ValueError for a negative value."""
        values = X if isinstance(X, np.ndarray) else X.data
        if values.size and values.min() < 0.0:
            row, column, value = _first(X, values < 0.0)
            raise ValueError(
                f"Negative values in data passed to multinomial naive Bayes: X has the value {value} in row {row}, "
                f"column {column}, but counts are zero or more; use NaiveBayes, or encode the column"
            )
        return super()._summed(X, classes, labels, weight)


class BinaryBayes(Bayes):
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
    fit_prior, class_prior :
        As in :class:`Bayes`.

    Examples
    --------
    >>> learner = BinaryBayes()
    >>> learner.learn([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> learner.predict([[1, 0]])
    array(['spam'], dtype='<U4')
    """

    kind = "naive-bayes"

    def __init__(
        self,
        smoothing: float = 1.0,
        binarize: float | None = None,
        *,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        super().__init__(smoothing, fit_prior=fit_prior, class_prior=class_prior)
        if binarize is not None and not math.isfinite(binarize):
            raise ValueError(f"binarize must be a finite threshold or None, got {binarize!r}")
        self.binarize = None if binarize is None else float(binarize)

    def log_probabilities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ``log P(xᵢ=1|c)`` and ``log P(xᵢ=0|c)``, a row for every class."""
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.log(self.counts + 2.0 * self.smoothing)[:, None]
            ones = np.log(self.sums + self.smoothing)
            zeros = np.log(self.counts[:, None] - self.sums + self.smoothing)
            return ones - total, zeros - total

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

    def joint_log_likelihoods(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c) + log P(x|c)`` for every row and class."""
        return super().joint_log_likelihoods(self.binary(X))

    def parameters(self) -> dict[str, Any]:
        """Return smoothing and binarize, and other arguments of the constructor that are not its defaults."""
        parameters = super().parameters()
        return {"smoothing": parameters.pop("smoothing"), "binarize": self.binarize, **parameters}

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> None:
        """Add examples that were checked, except that their values may not be finite."""
        if self.binarize is not None:
            check_finite(examples.X, "X")  # nan is not above any threshold
            examples = examples._replace(X=self.binary(examples.X))
        super().learn_checked(examples, classes)

    def _weights_of_classes(self) -> NDArray[np.float64]:
        ones, zeros = self.log_probabilities()
        if not np.isfinite(ones).all() or not np.isfinite(zeros).all():
            raise ValueError(
                "with smoothing=0 the log odds are infinite of a feature that is never one, or never zero, in some "
                "class: choose smoothing (alpha) above zero"
            )
        return np.column_stack([zeros.sum(axis=1) + self.log_priors(), ones - zeros])

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
            not_one = count_different(rows.values, 1.0)
            not_binary = not_one > 0 and not_one > rows.values.size - count_different(rows.values, 0.0)
            if not_one == 0 and weight.size == 0 and X.shape[0] < MAX_TALLIED:
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
    row, column, value = _first(X, (values != 0.0) & (values != 1.0))
    return (
        f"X has the value {value} in row {row}, column {column}, but this naive Bayes needs zeros and ones: "
        "give binarize=threshold to count values above it as one, or encode the column (one-hot, or by bins)"
    )


def _first(X: Any, marked: NDArray[np.bool_]) -> tuple[int, int, float]:
    """Return row, column and value of the first marked value of a matrix; of a sparse one, among those stored."""
    position = np.argwhere(marked)[0]
    if isinstance(X, np.ndarray):
        row, column = position
        return int(row), int(column), float(X[row, column])
    row = np.searchsorted(X.indptr, position[0], side="right") - 1
    return int(row), int(X.indices[position[0]]), float(X.data[position[0]])
