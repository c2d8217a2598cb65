"""Naive Bayes on binary vectors with scikit-learn's manners: a linear classifier whose weights are log odds."""

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.binary_bayes import BinaryBayes
from rosenblatt.learner.scoring import softmax
from rosenblatt.linear.base import LinearClassifier


class NaiveBayes(LinearClassifier):
    """Naive Bayes on zeros and ones, as the hyperplane it is.

    **Problem.** ``argmax_c P(c) Π P(xᵢ|c)``. Between two classes that is the sign of ``w·x + b`` with
    ``wᵢ = pᵢ − qᵢ``, ``b = Σ qᵢ + log P(+)/P(−)``, where ``pᵢ = log P(xᵢ=1|+)/P(xᵢ=1|−)`` is what a feature says when
    it is there and ``qᵢ = log P(xᵢ=0|+)/P(xᵢ=0|−)`` what it says when it is not. Probabilities are counted, with
    ``smoothing`` added: ``P(xᵢ=1|c) = (count + α)/(n_c + 2α)``.

    Parameters
    ----------
    smoothing : float, default=1.0
        ``α ≥ 0``; with zero, what never happened in a class is impossible there, and its log odds infinite: an error.
    binarize : float or None, default=None
        Count values above this threshold as one. Without it a value that is neither zero nor one is an error.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One hyperplane for two classes (the log odds of the second), one for each when there are more (joint log
        likelihoods). ``predict`` is what they say, and nothing else.
    log_odds_ : ndarray of shape (features, 2)
        With two classes: ``pᵢ`` and ``qᵢ``, natural logarithms; :meth:`log_odds` gives them in another base.
    class_count_, feature_count_ : ndarray
        The weight of the examples of each class, and of those with the feature.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    margin_ : float
        ``min y (w·x + b)/‖w‖`` on the training data.

    Notes
    -----
    **Guarantee.** ``decision_function`` is the logarithm of the product of probabilities, up to rounding. Counts add:
    any order, any batches (:meth:`partial_fit`) and merging give exactly the same model.

    Examples
    --------
    >>> from rosenblatt.linear.naive_bayes import NaiveBayes
    >>> X = [[1, 0], [1, 1], [1, 0], [0, 1]]  # free, hello
    >>> clf = NaiveBayes().fit(X, ["spam", "spam", "spam", "ham"])
    >>> clf.predict([[1, 0], [0, 1]])
    array(['spam', 'ham'], dtype='<U4')
    >>> clf.log_odds(base=2).round(2)  # bits for spam, when the word is there and when it is not
    array([[ 1.26, -1.74],
           [-0.74,  0.85]])

    References
    ----------
    M. Maron (1961), Automatic indexing: an experimental inquiry. M. Minsky and S. Papert (1969), Perceptrons,
    section 12.4.3: Bayes as a linear threshold.
    """

    learner_: BinaryBayes
    _kept: ClassVar[tuple[str, ...]] = ("smoothing", "binarize")

    def __init__(self, *, smoothing: float = 1.0, binarize: float | None = None) -> None:
        self.smoothing = smoothing
        self.binarize = binarize

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count, forgetting what was known."""
        self._learn_by_adding(
            BinaryBayes(self.smoothing, self.binarize), X, y, sample_weight, None, reset=True, whole=True
        )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count more examples; classes not seen before are taken in."""
        first = not hasattr(self, "learner_")
        learner = BinaryBayes(self.smoothing, self.binarize) if first else self.learner_
        self._learn_by_adding(learner, X, y, sample_weight, classes, reset=first, whole=False)
        self._pending = None
        return self

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c|x)`` for every row and class."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``P(c|x)`` for every row and class."""
        return softmax(self.decision_function(X))

    def log_odds(self, base: float = math.e) -> NDArray[np.float64]:
        """Return ``pᵢ`` and ``qᵢ``, the evidence of a feature's presence and of its absence, for the second class.

        In base 2 they are bits. With more than two classes there is one table per class, against all others' mean.
        """
        ones, zeros = self._learned().log_probabilities()
        told = np.stack([ones, zeros], axis=2) / math.log(base)  # (classes, features, 2)
        if told.shape[0] == 2:
            return np.asarray(told[1] - told[0])
        rest = (told.sum(axis=0) - told) / (told.shape[0] - 1)
        return np.asarray(told - rest)

    @property
    def log_odds_(self) -> NDArray[np.float64]:
        """``pᵢ`` and ``qᵢ`` in natural logarithms."""
        return self.log_odds()

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """The weight of the examples of every class."""
        return self._learned().counts

    @property
    def feature_count_(self) -> NDArray[np.float64]:
        """The weight of the examples of every class that have the feature."""
        return self._learned().sums

    def _learned(self) -> BinaryBayes:
        self._hyperplanes()
        return self.learner_

    def _as_learned(self, X: Any) -> Any:
        return self.learner_.binary(X)

    def explain(self, x: Any = None, **asked: Any) -> Any:
        """Say which features pushed one example which way; without an example, what each class looks for."""
        if x is not None and hasattr(self, "learner_"):
            x = self.learner_.binary(x)
        return super().explain(x, **asked)
