"""The perceptron for regression: the delta rule, online."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from rosenblatt import rules
from rosenblatt.data.matrix import checked_weight
from rosenblatt.learner.examples import canonical_matrix, max_row_sqnorm
from rosenblatt.learner.regression import HYPOTHESES, RealLearner
from rosenblatt.linear.base import LinearModel, check_count, eta_for_radius, seed_of


class PerceptronRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]
    """A linear function that learns by correcting its errors, example by example.

    **Update.** ``w ← w + η (y − ŷ) x``, ``b ← b + η (y − ŷ)``, for ``max_iter`` epochs: the delta rule.

    Parameters
    ----------
    eta : float or None, default=None
        The learning rate ``η``; None takes ``1/(2R²)``, where ``R`` is the largest norm in the first data. Steps are
        stable below ``2/R²``.
    hypothesis : {"last", "averaged"}, default="last"
        The weights that predict: the last ones, or the average over all examples visited.
    max_iter : int, default=50
        Number of epochs.
    fit_intercept : bool, default=True
        Learn a bias, as the weight of a constant input of 1 that counts in every norm.
    shuffle : bool, default=True
        Visit the rows of every epoch in a new order.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle.

    Attributes
    ----------
    coef_ : ndarray of shape (features,)
        Weights of the predicting hypothesis.
    intercept_ : float
        Its bias.
    n_iter_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    clock_, radius_ : float
        Number of examples visited, and the largest norm among them, bias input included.

    Notes
    -----
    **Guarantee.** The summed squared error of the first epoch is at most ``(Σ (y − u·x)² + ‖u‖²/η)/(1 − ηR²)`` for
    every ``u`` where ``ηR² < 1`` (:meth:`rosenblatt.rules.WidrowHoff.loss_at_most`).

    Examples
    --------
    >>> from rosenblatt.linear.perceptron_regressor import PerceptronRegressor
    >>> model = PerceptronRegressor(max_iter=500).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([2.]), 1.0)

    References
    ----------
    B. Widrow and M. Hoff (1960), Adaptive switching circuits. N. Cesa-Bianchi, P. Long, M. Warmuth (1996), Worst-case
    quadratic loss bounds for prediction using linear functions and gradient descent.
    """

    learner_: RealLearner
    _saved_parameters: ClassVar[tuple[str, ...]] = (
        "eta",
        "hypothesis",
        "max_iter",
        "fit_intercept",
        "shuffle",
    )

    def __init__(
        self,
        *,
        eta: float | None = None,
        hypothesis: str = "last",
        max_iter: int = 50,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.eta = eta
        self.hypothesis = hypothesis
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all examples for ``max_iter`` epochs; what was learned before is discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A weight of k presents an example k times; a fraction scales its step; zero leaves it out.

        Returns
        -------
        self
        """
        check_count("max_iter", self.max_iter)
        X, y, weight = self._examples(X, y, sample_weight, reset=True)
        self.learner_ = self._new_learner(X)
        self.learner_.train(X, y, max_iter=self.max_iter, shuffle=self.shuffle, sample_weight=weight)
        self.n_iter_ = self.max_iter
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a batch once, in the given order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "learner_")
        X, y, weight = self._examples(X, y, sample_weight, reset=first)
        if first:
            self.learner_ = self._new_learner(X)
        self.learner_.learn(X, y, weight)
        self.n_iter_ = 1
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return ``w·x + b`` for every row, of shape (n,)."""
        X = self._rows(X)
        return self.learner_.scores(X, self.hypothesis)

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the predicting hypothesis."""
        return self._hyperplanes()[0, 1:]

    @property
    def intercept_(self) -> Any:
        """Bias of the predicting hypothesis."""
        return float(self._hyperplanes()[0, 0])

    @property
    def clock_(self) -> float:
        """Number of examples visited in all epochs."""
        return self.learner_.clock

    @property
    def radius_(self) -> float:
        """The largest norm of an example, bias input included."""
        return self.learner_.radius

    def _hyperplanes(self) -> NDArray[Any]:
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.learner_.weights(self.hypothesis)

    def _new_learner(self, X: Any) -> RealLearner:
        if self.hypothesis not in HYPOTHESES:
            raise ValueError(f"hypothesis must be one of {', '.join(HYPOTHESES)}, got {self.hypothesis!r}")
        eta = (
            eta_for_radius(max_row_sqnorm(canonical_matrix(X)), self.fit_intercept, 0.5)
            if self.eta is None
            else self.eta
        )
        seed = seed_of(self.random_state)
        return RealLearner(rules.WidrowHoff(eta), fit_intercept=self.fit_intercept, seed=seed)

    def _examples(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None]:
        X, y = validate_data(self, X, y, reset=reset, y_numeric=True, **self._input())
        weight = checked_weight(sample_weight, len(y))
        if weight is not None and (weight == 0.0).any():
            X, y, weight = X[weight > 0.0], y[weight > 0.0], weight[weight > 0.0]
        return X, np.asarray(y, dtype=np.float64), weight
