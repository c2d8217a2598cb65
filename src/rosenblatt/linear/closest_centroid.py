"""Closest centroid as a scikit-learn estimator, over per-class sums that need one read of the data."""

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.additive import Centroids
from rosenblatt.linear.additive import AdditiveClassifier


class ClosestCentroid(AdditiveClassifier):
    """The class whose mean is closest, as a hyperplane.

    **Problem.** ``argmin_c ‖x − μ_c‖``. Between two classes that is the sign of ``w·x + b`` with ``w = μ₊ − μ₋`` and
    ``b = −½(‖μ₊‖² − ‖μ₋‖²)``; with more, the largest of ``μ_c·x − ½‖μ_c‖²``.

    Parameters
    ----------
    metric : {"euclidean"}, default="euclidean"
        Only this distance has a hyperplane between two centroids.
    shrink_threshold : float or None, default=None
        ``Δ > 0``: every centroid moves towards the mean of all examples, in each feature by ``Δ·m_c·(s + s₀)`` and not
        beyond it, where ``s`` is the standard deviation within classes, ``s₀`` its median over the features and
        ``m_c = √(1/n_c − 1/n)``. Features that do not differ enough then no longer count.
    priors : "uniform", "empirical" or array-like of shape (classes,), default="uniform"
        Probabilities of the classes. Where they are not uniform, distances are measured in standard deviations within
        classes, and the largest of ``log π_c − ½ Σ (xᵢ − μ_cᵢ)²/sᵢ²`` predicts.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, on scores of five folds: True or ``"platt"`` (Platt scaling), or
        ``"venn-abers"``, which needs 200 rows. :meth:`partial_fit` discards them.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One hyperplane for two classes, one per class with more.
    centroids_ : ndarray of shape (classes, features)
        The mean of every class, shrunken where asked for.
    class_count_, class_prior_ : ndarray of shape (classes,)
        The total weight of the examples of every class, and its prior probability.
    within_class_std_dev_ : ndarray of shape (features,)
        Standard deviations within classes, where ``shrink_threshold`` or ``priors`` need them.
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
    R. Tibshirani, T. Hastie, B. Narasimhan, G. Chu (2002), Diagnosis of multiple cancer types by shrunken centroids of
    gene expression, equations 1 to 5.
    """

    learner_: Centroids
    _saved_parameters: ClassVar[tuple[str, ...]] = ("metric", "shrink_threshold", "priors")

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        shrink_threshold: float | None = None,
        priors: Any = "uniform",
        probability: bool | str = False,
    ) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors
        self.probability = probability

    @property
    def centroids_(self) -> NDArray[np.float64]:
        """The mean of every class, shrunken where asked for."""
        return np.asarray(self._fitted_learner().means())

    @property
    def class_prior_(self) -> NDArray[np.float64]:
        """The prior probability of every class."""
        return np.asarray(np.exp(self._fitted_learner().log_priors()))

    @property
    def within_class_std_dev_(self) -> NDArray[np.float64]:
        """The standard deviation of every feature within the classes, where it was measured."""
        try:
            return np.asarray(self._fitted_learner().deviations())
        except ValueError as error:
            raise AttributeError(str(error)) from error

    def _new_learner(self) -> Centroids:
        if self.metric != "euclidean":
            raise ValueError(
                f"metric must be 'euclidean', got {self.metric!r}: other distances have no hyperplane between two "
                "centroids; sklearn.neighbors.NearestCentroid has metric='manhattan'"
            )
        priors = self.priors
        if not isinstance(priors, str):
            priors = np.asarray(priors, dtype=np.float64)
            if not (priors >= 0.0).all():
                raise ValueError(f"priors must be non-negative, got {priors.tolist()}")
            if not np.isclose(priors.sum(), 1.0):
                warnings.warn(
                    "The priors do not sum to 1. Normalizing such that it sums to one.",
                    UserWarning,
                    stacklevel=3,
                )
                priors = priors / priors.sum()
        return Centroids(self.shrink_threshold, priors)
