"""The hyperplane of largest margin as a scikit-learn estimator."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.linear.base import LinearClassifier, refuse_one_class


class MaxMargin(LinearClassifier):
    """The hyperplane that separates with the largest margin; with ``C``, the one that trades margin against errors.

    **Problem.** Hard: ``max over (w, b) of min yᵢ (w·xᵢ + b)/‖w‖``, half the distance between the convex hulls of two
    classes. Soft: ``min ½‖(w, b)‖² + C Σ max(0, 1 − yᵢ f(xᵢ))``. With more than two classes ``yᵢ f(xᵢ)`` is the score
    of the true class minus that of its best rival, and the bias counts in the norm.

    Parameters
    ----------
    C : float or None, default=None
        The weight of the hinge loss; None is the hard margin, which exists for separable data only.
    fit_intercept : bool, default=True
        Learn a bias; without it the hyperplane passes through the origin.
    tol : float, default=1e-9
        Relative tolerance at which the solver stops: on how far a row violates optimality (hard), on the duality gap
        (soft).
    max_iter : int, default=1000
        The maximum number of epochs of the soft problem.
    time_limit : float or None, default=None
        Seconds after which the solver returns the best hyperplane so far, with its gap.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, on scores of five folds: True or ``"platt"`` (Platt scaling), or
        ``"venn-abers"``, which needs 200 rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ :
        As in scikit-learn.
    margin_ : float
        The margin that is maximised, on the training data. With two classes and a hard margin it is
        ``min yᵢ (w·xᵢ + b)/‖w‖``, which is also :meth:`geometric_margin`; otherwise the norm is ``‖(w, b)‖``.
        :meth:`margin` divides by the same norm.
    support_ : ndarray
        The support rows: those with a positive dual weight.
    dual_coef_ : ndarray
        The dual weights of the support rows.
    gap_ : float
        Hard: no margin is larger than ``margin_ + gap_``. Soft: the duality gap of the objective.

    Notes
    -----
    **Guarantee.** Weak duality: the dual weights certify ``gap_``. Data without a hard margin raise a ValueError that
    names the rows which contradict each other (:func:`rosenblatt.separability`).

    Examples
    --------
    >>> from rosenblatt import MaxMargin
    >>> best = MaxMargin().fit([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]], ["left", "left", "right", "right"])
    >>> round(best.margin_, 9), best.predict([[1.5, 1.0]]).tolist()
    (1.0, ['right'])

    References
    ----------
    V. Vapnik and A. Lerner (1963). P. Wolfe (1976), Finding the nearest point in a polytope. C.-J. Hsieh et al.
    (2008), A dual coordinate descent method for large-scale linear SVM, Algorithm 1.
    """

    _saved_parameters: ClassVar[tuple[str, ...]] = ("C", "fit_intercept", "tol", "max_iter", "time_limit")

    def __init__(
        self,
        C: float | None = None,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 1000,
        time_limit: float | None = None,
        probability: bool | str = False,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.probability = probability

    def fit(self, X: Any, y: Any) -> Self:
        """Compute the hyperplane.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        examples = self._examples(X, y, None, reset=True)
        X, y, self.classes_ = examples.X, examples.y, examples.classes
        refuse_one_class(self.classes_)
        w, b = self._hard(X, y) if self.C is None else self._soft(X, y)
        rows = 1 if self.classes_.size == 2 else self.classes_.size
        weights = np.column_stack([np.broadcast_to(b, rows), np.asarray(w).reshape(rows, -1)])
        self.learner_ = FixedWeights(weights, self.classes_)
        self._margin = self._margin_on(X, examples.labels)
        self._calibrate(examples)
        return self

    def _margin_sqnorm(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Leave the bias out of the norm where the problem does: with two classes and a hard margin."""
        if self.C is None and weights.shape[0] == 1:
            weights = weights[:, 1:]
        return super()._margin_sqnorm(weights)

    def _hard(self, X: Any, y: Any) -> tuple[NDArray[np.float64], Any]:
        from rosenblatt.proofs import hard_margin

        best = hard_margin(
            X,
            y,
            self.fit_intercept,
            penalise_intercept=self.classes_.size > 2,
            tolerance=self.tol,
            time_limit=self.time_limit,
        )
        ascending = np.argsort(best.rows, kind="stable")
        self.support_, self.dual_coef_ = best.rows[ascending], best.weights[ascending]
        self.gap_, self.n_iter_ = best.gap, 1
        return best.w, best.b

    def _soft(self, X: Any, y: Any) -> tuple[NDArray[np.float64], Any]:
        from rosenblatt.proofs import soft_margin

        best = soft_margin(
            X,
            y,
            float(self.C) if self.C is not None else 1.0,
            self.fit_intercept,
            tolerance=self.tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
        )
        used = best.alpha > 0.0 if best.alpha.ndim == 1 else (best.alpha != 0.0).any(axis=1)
        self.support_ = np.flatnonzero(used)
        self.dual_coef_ = best.alpha[self.support_]
        self.gap_, self.n_iter_ = best.gap, best.n_iter
        return best.w, best.b
