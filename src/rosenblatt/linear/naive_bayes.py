"""Naive Bayes as scikit-learn estimators: linear classifiers whose weights are log odds."""

import math
import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rosenblatt.learner.additive import BinaryBayes, CountBayes
from rosenblatt.learner.calibration import LOGISTIC, Link
from rosenblatt.linear.additive import AdditiveClassifier


class _BayesClassifier(AdditiveClassifier):
    """Base of the naive Bayes estimators: probabilities and priors."""

    alpha: float
    fit_prior: bool
    class_prior: Any

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c) + log P(x|c)`` for every row and class, of shape (n, classes).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return np.asarray(self.learner_.joint_log_likelihoods(self._rows(X)), dtype=np.float64)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c|x)`` for every row and class, of shape (n, classes).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
        """
        scores = np.asarray(self.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``P(c|x)`` for every row and class, of shape (n, classes).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def _probability_link(self) -> Link:
        return LOGISTIC if self.classes_.size == 2 else Link("softmax")

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        """The logarithm of the prior probability of every class."""
        return np.asarray(self._fitted_learner().log_priors())

    @property
    def feature_count_(self) -> NDArray[np.float64]:
        """The weighted sum of every feature over the examples of every class."""
        return np.asarray(self._fitted_learner().sums)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file written by :meth:`save`; raise :class:`BadModel` for any other file."""
        model = super().load(path)
        learner = model.learner_
        model.alpha, model.fit_prior = learner.smoothing, learner.fit_prior
        model.class_prior = learner.class_prior
        return model

    def _priors(self) -> dict[str, Any]:
        """Return the parameters about priors, as the learner takes them."""
        if np.ndim(self.alpha) or not 0.0 <= self.alpha < math.inf:
            raise ValueError(f"alpha must be one number from zero, got {self.alpha!r}")
        return {"fit_prior": self.fit_prior, "class_prior": self.class_prior}


class NaiveBayes(_BayesClassifier):
    """Bernoulli naive Bayes, in the form of a hyperplane.

    **Problem.** ``argmax_c P(c) Π P(xᵢ|c)`` for features that are zero or one. Between two classes that is the sign
    of ``w·x + b`` with ``wᵢ = pᵢ − qᵢ``, ``b = Σ qᵢ + log P(+)/P(−)``, where ``pᵢ = log P(xᵢ=1|+)/P(xᵢ=1|−)`` is the
    log odds of a present feature and ``qᵢ = log P(xᵢ=0|+)/P(xᵢ=0|−)`` that of an absent one. Probabilities are
    relative frequencies, smoothed by ``alpha``: ``P(xᵢ=1|c) = (count + α)/(n_c + 2α)``.

    Parameters
    ----------
    alpha : float, default=1.0
        ``α ≥ 0``. With zero, a value that never occurs in a class has probability zero there and infinite log odds,
        which is an error.
    binarize : float or None, default=0.0
        Values above this threshold become one, the others zero. With None, a value other than zero and one is an
        error.
    fit_prior : bool, default=True
        Whether the prior of a class is its frequency; else all classes have the same.
    class_prior : array-like of shape (classes,) or None, default=None
        Priors of the classes, in ascending order, in place of those.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One hyperplane for two classes (the log odds of the second), one per class with more (joint log likelihoods).
        ``predict`` depends on nothing else.
    log_odds_ : ndarray of shape (features, 2)
        With two classes: ``pᵢ`` and ``qᵢ`` in natural logarithms; :meth:`log_odds` returns them in any base.
    class_count_, class_log_prior_ : ndarray of shape (classes,)
        The total weight of the examples of every class, and the logarithm of its prior.
    feature_count_, feature_log_prob_ : ndarray of shape (classes, features)
        The total weight of the examples of every class in which the feature is one, and ``log P(xᵢ=1|c)``.
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
    _saved_parameters: ClassVar[tuple[str, ...]] = ("alpha", "binarize", "fit_prior", "class_prior")

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

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
        self._hyperplanes()  # raises AttributeError before fit, ValueError where log odds are infinite
        ones, zeros = self.learner_.log_probabilities()
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
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """``log P(xᵢ=1|c)``, a row for every class."""
        return np.asarray(self._fitted_learner().log_probabilities()[0])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file written by :meth:`save`; raise :class:`BadModel` for any other file."""
        model = super().load(path)
        model.binarize = model.learner_.binarize
        return model

    def explain(self, x: Any = None, **options: Any) -> Any:
        """Return the contribution of every feature to the score of an example; without one, the largest weights.

        Parameters and return value are those of the other linear classifiers; the example is binarized first.
        """
        if x is not None and hasattr(self, "learner_"):
            x = self.learner_.binary(x)
        return super().explain(x, **options)

    def _new_learner(self) -> BinaryBayes:
        return BinaryBayes(**{"smoothing": self.alpha, "binarize": self.binarize, **self._priors()})

    def _as_learned(self, X: Any) -> Any:
        return self.learner_.binary(X)


class MultinomialNaiveBayes(_BayesClassifier):
    """Multinomial naive Bayes, for counts (of words, of events) and other values from zero, as a hyperplane.

    **Problem.** ``argmax_c P(c) Π P(i|c)^xᵢ``, with ``P(i|c) = (Nᵢ + α)/(N + αd)`` where ``Nᵢ`` is the sum of feature
    ``i`` over the examples of class ``c`` and ``N`` that of all ``d`` features. Between two classes that is the sign of
    ``w·x + b`` with ``wᵢ = log P(i|+)/P(i|−)``, ``b = log P(+)/P(−)``.

    Parameters
    ----------
    alpha : float, default=1.0
        ``α ≥ 0``. With zero, a feature that never occurs in a class has probability zero there and infinite log odds,
        which is an error.
    fit_prior : bool, default=True
        Whether the prior of a class is its frequency; else all classes have the same.
    class_prior : array-like of shape (classes,) or None, default=None
        Priors of the classes, in ascending order, in place of those.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One hyperplane for two classes (the log odds of the second), one per class with more (joint log likelihoods).
        ``predict`` depends on nothing else.
    class_count_, class_log_prior_ : ndarray of shape (classes,)
        The total weight of the examples of every class, and the logarithm of its prior.
    feature_count_, feature_log_prob_ : ndarray of shape (classes, features)
        The weighted sum of every feature in every class, and ``log P(i|c)``.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data, nan after :meth:`partial_fit`; :meth:`geometric_margin`
        divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** ``decision_function`` is the logarithm of the product of probabilities, up to rounding. Counts in any
    order, in any batches (:meth:`partial_fit`), or in models that are merged give exactly the same model.

    Examples
    --------
    >>> from rosenblatt import MultinomialNaiveBayes
    >>> X = [[3, 0], [2, 1], [4, 1], [0, 2]]  # how often: free, hello
    >>> clf = MultinomialNaiveBayes().fit(X, ["spam", "spam", "spam", "ham"])
    >>> clf.predict([[1, 0], [0, 3]])
    array(['spam', 'ham'], dtype='<U4')

    References
    ----------
    A. McCallum and K. Nigam (1998), A comparison of event models for naive Bayes text classification, section 2.2.
    """

    learner_: CountBayes
    _saved_parameters: ClassVar[tuple[str, ...]] = ("alpha", "fit_prior", "class_prior")

    def __init__(self, *, alpha: float = 1.0, fit_prior: bool = True, class_prior: Any = None) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """``log P(i|c)``, a row for every class."""
        return np.asarray(self._fitted_learner().log_probabilities())

    def _new_learner(self) -> CountBayes:
        return CountBayes(**{"smoothing": self.alpha, **self._priors()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        # scikit-learn's checks feed it clusters, which it does not separate.
        tags.classifier_tags.poor_score = True
        return tags
