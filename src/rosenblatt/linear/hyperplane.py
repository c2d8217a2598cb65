"""A hyperplane with given weights as an estimator, and conversion of fitted scikit-learn linear models."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from rosenblatt.learner.files import load_model
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.linear.base import LinearClassifier, LinearModel, set_learner


class Hyperplane(LinearClassifier):
    """A classifier with given weights: ``f(x) = w·x + b``, prediction by sign, distance ``f(x)/‖w‖``.

    Parameters
    ----------
    coef : array-like of shape (features,), (1, features) or (classes, features)
        The weights ``w``.
    intercept : float or array-like, default=0.0
        The bias ``b``, one or one per class.
    classes : array-like, default=(-1, 1)
        The label of the negative and that of the positive side; with more than two classes, the label of each row.
    feature_names : array-like or None, default=None
        Names of the features, used in explanations.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn. There is nothing to fit.

    Notes
    -----
    **Guarantee.** ``distance`` is the Euclidean distance to ``{x : f(x) = 0}``, with the sign of ``f(x)``; scaling
    ``(w, b)`` changes neither distances nor predictions (:meth:`unit`).

    Examples
    --------
    >>> from rosenblatt.linear.hyperplane import Hyperplane
    >>> plane = Hyperplane([3.0, 4.0], -5.0)
    >>> plane.distance([[3.0, 4.0]]), plane.predict([[1.0, 0.5], [0.0, 0.0]], undecided=0)
    (array([4.]), array([ 0, -1]))

    References
    ----------
    N. Cristianini and J. Shawe-Taylor (2000), An introduction to support vector machines, section 2.1.
    """

    learner_: FixedWeights

    def __init__(
        self, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), feature_names: Any = None
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.feature_names = feature_names
        coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        bias = np.broadcast_to(np.asarray(intercept, dtype=np.float64).reshape(-1), coef.shape[:1])
        set_learner(self, FixedWeights(np.column_stack([bias, coef]), np.asarray(classes)), None)
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Return the hyperplane itself; there is nothing to fit."""
        return self

    def unit(self) -> "Hyperplane":
        """Return the same hyperplane with ``‖w‖ = 1``, so that scores are distances; two classes only.

        Returns
        -------
        Hyperplane
        """
        if self.classes_.size > 2:
            raise ValueError(
                f"unit() needs two classes, this model has {self.classes_.size}, each with weights of its own norm"
            )
        norm = float(np.linalg.norm(self.coef_))
        if norm == 0.0:
            raise ValueError("coef is zero: there is no boundary, and no distance from it")
        return Hyperplane(self.coef_ / norm, self.intercept_ / norm, self.classes_, self.feature_names)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read the weights of any linear classifier that was saved to a file."""
        learner, metadata = load_model(path)
        weights = learner.weights()
        return cls(weights[:, 1:], weights[:, 0], learner.classes, metadata.get("feature_names"))


class LinearFunction(RegressorMixin, LinearModel):  # type: ignore[misc]
    """A regressor with given weights: it predicts ``w·x + b``.

    Parameters
    ----------
    coef : array-like of shape (features,)
        The weights ``w``.
    intercept : float, default=0.0
        The bias ``b``.
    feature_names : array-like or None, default=None
        Names of the features, used in explanations.

    Examples
    --------
    >>> from rosenblatt.linear.hyperplane import LinearFunction
    >>> LinearFunction([2.0], 1.0).predict([[3.0]])
    array([7.])
    """

    learner_: FixedWeights

    def __init__(self, coef: Any, intercept: Any = 0.0, feature_names: Any = None) -> None:
        self.coef = coef
        self.intercept = intercept
        self.feature_names = feature_names
        coef = np.asarray(coef, dtype=np.float64).reshape(1, -1)
        bias = np.asarray(intercept, dtype=np.float64).reshape(1)
        self.learner_ = FixedWeights(np.column_stack([bias, coef]), np.array([0, 1]))
        self.n_features_in_ = coef.shape[1]
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Return the function itself; there is nothing to fit."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return ``w·x + b`` for every row."""
        X = self._rows(X)
        return self.learner_.scores(X)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read the weights of a linear function or regressor that was saved to a file."""
        learner, metadata = load_model(path)
        weights = learner.weights()
        return cls(weights[0, 1:], weights[0, 0], metadata.get("feature_names"))


def as_hyperplane(model: Any) -> Hyperplane | LinearFunction:
    """Convert a fitted scikit-learn linear model: distances, margins, explanations and files come with it.

    Parameters
    ----------
    model : estimator
        A fitted estimator with ``coef_`` (and ``intercept_``, ``classes_``): ``LogisticRegression``, ``LinearSVC``,
        ``SGDClassifier``, ``RidgeClassifier``, ``LinearDiscriminantAnalysis``, ``LinearRegression`` …

    Returns
    -------
    Hyperplane or LinearFunction
        A classifier where the model has ``classes_``, else a regressor.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from rosenblatt.linear.hyperplane import as_hyperplane
    >>> svm = LinearSVC().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> plane = as_hyperplane(svm)
    >>> plane.predict([[0.0]]), bool(plane.distance([[4.0]])[0] < 0)
    (array(['low'], dtype='<U4'), True)
    """
    try:
        coef, intercept = model.coef_, getattr(model, "intercept_", 0.0)
    except AttributeError:
        raise TypeError(
            f"{type(model).__name__} has no coef_: give a fitted linear model, or the last step of a pipeline"
        ) from None
    coef = np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef))
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    if classes is None:
        if coef.shape[0] != 1:
            raise TypeError(
                f"{type(model).__name__} predicts {coef.shape[0]} targets: give a model with a single target"
            )
        return LinearFunction(coef, intercept, names)
    if coef.shape[0] not in (1, len(classes)):
        raise TypeError(f"{type(model).__name__} has {coef.shape[0]} hyperplanes for {len(classes)} classes")
    return Hyperplane(coef, intercept, classes, names)
