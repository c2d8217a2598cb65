"""Closest centroid as a scikit-learn estimator, over per-class sums that need one read of the data."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.additive import Centroids
from rosenblatt.linear.base import LinearClassifier


class ClosestCentroid(LinearClassifier):
    """The class whose mean is closest, as a hyperplane.

    **Problem.** ``argmin_c ‖x − μ_c‖``. Between two classes that is the sign of ``w·x + b`` with ``w = μ₊ − μ₋`` and
    ``b = −½(‖μ₊‖² − ‖μ₋‖²)``; with more, the largest of ``μ_c·x − ½‖μ_c‖²``.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One hyperplane for two classes, one per class with more.
    centroids_ : ndarray of shape (classes, features)
        The mean of every class.
    class_count_ : ndarray of shape (classes,)
        The total weight of the examples of every class.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data, nan after :meth:`partial_fit`; :meth:`geometric_margin`
        divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** The midpoint of two centroids lies on their hyperplane. Examples may come in any order and in any
    batches (:meth:`partial_fit`), and models merge (:func:`rosenblatt.linear.merge`): the result is the same up to the
    rounding of sums, exactly the same on integers.

    Examples
    --------
    >>> from rosenblatt.linear.closest_centroid import ClosestCentroid
    >>> clf = ClosestCentroid().fit([[0.0, 0.0], [0.0, 2.0], [4.0, 1.0]], ["left", "left", "right"])
    >>> clf.coef_, clf.intercept_
    (array([[4., 0.]]), array([-8.]))
    >>> clf.predict([[1.9, 5.0]])
    array(['left'], dtype='<U5')

    References
    ----------
    R. Tibshirani, T. Hastie, B. Narasimhan, G. Chu (2002), Diagnosis of multiple cancer types by shrunken centroids
    (the classifier without shrinking).
    """

    learner_: Centroids

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the centroid of every class; earlier examples are discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        self._learn_by_adding(Centroids(), X, y, sample_weight, None, reset=True, whole=True)
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
        learner = Centroids() if first else self.learner_
        self._learn_by_adding(learner, X, y, sample_weight, classes, reset=first, whole=False)
        return self

    @property
    def centroids_(self) -> NDArray[np.float64]:
        """The mean of every class."""
        return self.learner_.means()

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """The total weight of the examples of every class."""
        return self.learner_.counts
