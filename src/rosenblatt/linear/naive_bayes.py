"""Naive Bayes on binary features as a scikit-learn estimator: a linear classifier whose weights are log odds."""

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.additive import BinaryBayes
from rosenblatt.learner.scoring import softmax
from rosenblatt.linear.base import LinearClassifier


class NaiveBayes(LinearClassifier):
    """Bernoulli naive Bayes, in the form of a hyperplane.

    **Problem.** ``argmax_c P(c) Π P(xᵢ|c)`` for features that are zero or one. Between two classes that is the sign
    of ``w·x + b`` with ``wᵢ = pᵢ − qᵢ``, ``b = Σ qᵢ + log P(+)/P(−)``, where ``pᵢ = log P(xᵢ=1|+)/P(xᵢ=1|−)`` is the
    log odds of a present feature and ``qᵢ = log P(xᵢ=0|+)/P(xᵢ=0|−)`` that of an absent one. Probabilities are
    relative frequencies with ``smoothing``: ``P(xᵢ=1|c) = (count + α)/(n_c + 2α)``.

    Parameters
    ----------
    smoothing : float, default=1.0
        ``α ≥ 0``. With zero, a value that never occurs in a class has probability zero there and infinite log odds,
        which is an error.
    binarize : float or None, default=None
        Values above this threshold become one, the others zero. With None, a value other than zero and one is an
        error.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One hyperplane for two classes (the log odds of the second), one per class with more (joint log likelihoods).
        ``predict`` depends on nothing else.
    log_odds_ : ndarray of shape (features, 2)
        With two classes: ``pᵢ`` and ``qᵢ`` in natural logarithms; :meth:`log_odds` returns them in any base.
    class_count_ : ndarray of shape (classes,)
        The total weight of the examples of every class.
    feature_count_ : ndarray of shape (classes, features)
        The total weight of the examples of every class in which the feature is one.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data, nan after :meth:`partial_fit`; :meth:`geometric_margin`
        divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** ``decision_function`` is the logarithm of the product of probabilities, up to rounding. Examples in
    any order, in any batches (:meth:`partial_fit`), or in models that are merged give exactly the same model.

    Examples
    --------
    >>> from rosenblatt.linear.naive_bayes import NaiveBayes
    >>> X = [[1, 0], [1, 1], [1, 0], [0, 1]]  # free, hello
    >>> clf = NaiveBayes().fit(X, ["spam", "spam", "spam", "ham"])
    >>> clf.predict([[1, 0], [0, 1]])
    array(['spam', 'ham'], dtype='<U4')
    >>> clf.log_odds(base=2).round(2)  # bits in favour of spam: word present, word absent
    array([[ 1.26, -1.74],
           [-0.74,  0.85]])

    References
    ----------
    M. Maron (1961), Automatic indexing: an experimental inquiry. M. Minsky and S. Papert (1969), Perceptrons,
    section 12.4.3: Bayes as a linear threshold.
    """

    learner_: BinaryBayes
    _saved_parameters: ClassVar[tuple[str, ...]] = ("smoothing", "binarize")

    def __init__(self, *, smoothing: float = 1.0, binarize: float | None = None) -> None:
        self.smoothing = smoothing
        self.binarize = binarize

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the features of every class; earlier counts are discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        self._learn_by_adding(
            BinaryBayes(self.smoothing, self.binarize), X, y, sample_weight, None, reset=True, whole=True
        )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the counts of a batch; classes not seen before are added.

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
        learner = BinaryBayes(self.smoothing, self.binarize) if first else self.learner_
        self._learn_by_adding(learner, X, y, sample_weight, classes, reset=first, whole=False)
        return self

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c|x)`` for every row and class, of shape (n, classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``P(c|x)`` for every row and class, of shape (n, classes)."""
        return softmax(self.decision_function(X))

    def log_odds(self, base: float = math.e) -> NDArray[np.float64]:
        """Return ``pᵢ`` and ``qᵢ``, the log odds of a present and of an absent feature.

        Parameters
        ----------
        base : float, default=e
            Base of the logarithm; with 2 the values are bits.

        Returns
        -------
        ndarray of shape (features, 2), or (classes, features, 2) with more than two classes
            For the second class against the first; with more than two classes, for each class against the mean of
            the log probabilities of the others.
        """
        ones, zeros = self._fitted_learner().log_probabilities()
        logs = np.stack([ones, zeros], axis=2) / math.log(base)  # (classes, features, 2)
        if logs.shape[0] == 2:
            return np.asarray(logs[1] - logs[0])
        mean_of_others = (logs.sum(axis=0) - logs) / (logs.shape[0] - 1)
        return np.asarray(logs - mean_of_others)

    @property
    def log_odds_(self) -> NDArray[np.float64]:
        """``pᵢ`` and ``qᵢ`` in natural logarithms."""
        return self.log_odds()

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """The total weight of the examples of every class."""
        return self._fitted_learner().counts

    @property
    def feature_count_(self) -> NDArray[np.float64]:
        """The total weight of the examples of every class in which the feature is one."""
        return self._fitted_learner().sums

    def _fitted_learner(self) -> BinaryBayes:
        self._hyperplanes()  # raises AttributeError before fit
        return self.learner_

    def _as_learned(self, X: Any) -> Any:
        return self.learner_.binary(X)

    def explain(self, x: Any = None, **options: Any) -> Any:
        """Return the contribution of every feature to the score of an example; without one, the largest weights.

        Parameters and return value are those of the other linear classifiers; the example is binarized first.
        """
        if x is not None and hasattr(self, "learner_"):
            x = self.learner_.binary(x)
        return super().explain(x, **options)
