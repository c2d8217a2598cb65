"""Multi-layer perceptrons trained by backpropagation, as a wrapper of scikit-learn."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt.data.labels import checked_classes, exact_if_listed


class Backpropagation(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Layers of smooth units, trained by gradient descent on the logistic loss (scikit-learn's ``MLPClassifier``).

    **Problem.** ``min Σ log-loss(f(x), y) + α‖W‖²/2`` over the weights of all layers. Unlike ``Tower`` and
    ``Upstart`` it has no guarantee: it may stop in a local minimum, and :attr:`converged_` says only that the loss no
    longer changes.

    Parameters
    ----------
    hidden : tuple of int, default=(8,)
        Units of each hidden layer.
    activation : str, default="tanh"
        ``tanh``, ``logistic``, ``relu`` or ``identity``.
    alpha : float, default=1e-4
        Strength of the L2 penalty.
    max_iter : int, default=500
        Largest number of iterations.
    random_state : int, RandomState or None, default=0
        Seed of the initial weights.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    mlp_ : MLPClassifier
        The fitted classifier.
    converged_ : bool
        Whether the loss stopped changing before ``max_iter``.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> Backpropagation((4,)).fit(X, y).predict(X).tolist()
    [0, 1, 1, 0]

    References
    ----------
    D. Rumelhart, G. Hinton and R. Williams (1986), Learning representations by back-propagating errors.
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (8,),
        *,
        activation: str = "tanh",
        alpha: float = 1e-4,
        max_iter: int = 500,
        random_state: Any = 0,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.alpha = alpha
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the network."""
        X, y = validate_data(self, X, exact_if_listed(y), dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = checked_classes(np.unique(y))
        if self.classes_.size < 2:
            raise ValueError(
                f"y holds only one class, {self.classes_[0]!r}: a classifier needs examples of two or more"
            )
        self.mlp_ = MLPClassifier(
            self.hidden,
            activation=self.activation,
            solver="lbfgs",
            alpha=self.alpha,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.mlp_.fit(X, y)
        self.converged_ = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        self.n_iter_ = max(1, int(self.mlp_.n_iter_))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        X = self._rows(X)
        return np.asarray(self.mlp_.predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class."""
        X = self._rows(X)
        return np.asarray(self.mlp_.predict_proba(X))

    def hidden_planes(self) -> NDArray[np.float64]:
        """Return ``(units, 1 + features)`` weights of the first hidden layer, the bias first."""
        check_is_fitted(self)
        return np.column_stack([self.mlp_.intercepts_[0], self.mlp_.coefs_[0].T])

    def _rows(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows: NDArray[np.float64] = validate_data(self, X, reset=False, dtype=np.float64)
        return rows
