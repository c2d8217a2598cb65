"""The hyperplane of largest margin, with scikit-learn's manners."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.linear.base import LinearClassifier, refuse_one_class


class MaxMargin(LinearClassifier):
    """The hyperplane that separates by the largest margin; with ``C``, the one that trades margin against errors.

    **Problem.** Hard: ``max over (w, b) of min yᵢ (w·xᵢ + b)/‖w‖``, half the distance between the hulls of two classes.
    Soft: ``min ½‖(w, b)‖² + C Σ max(0, 1 − yᵢ f(xᵢ))``. With more than two classes the true class is held against
    its best rival, and the bias counts in the norm.

    Parameters
    ----------
    C : float or None, default=None
        The price of a unit of hinge loss; None asks for the hard margin, which exists for separable data only.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    tol : float, default=1e-9
        How far from the best to stop, relative: of the price of a row (hard), of the duality gap (soft).
    max_iter : int, default=1000
        The most passes of the soft problem over the data.
    time_limit : float or None, default=None
        Seconds after which the best hyperplane so far is taken, with its gap.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ :
        As in scikit-learn.
    margin_ : float
        The margin that is maximised, on the training data: ``min yᵢ (w·xᵢ + b)/‖w‖`` of two classes with a hard margin,
        which is also :meth:`geometric_margin`; over ``‖(w, b)‖`` elsewhere. :meth:`margin` divides by the same norm.
    support_ : ndarray
        The rows that hold the margin: those with positive dual weight.
    dual_coef_ : ndarray
        Their weights.
    gap_ : float
        How far from the best: no margin is larger than ``margin_ + gap_``; soft, the objective's duality gap.

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

    _kept: ClassVar[tuple[str, ...]] = ("C", "fit_intercept", "tol", "max_iter", "time_limit")

    def __init__(
        self,
        C: float | None = None,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 1000,
        time_limit: float | None = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any) -> Self:
        """Find the hyperplane."""
        examples = self._examples(X, y, None, reset=True)
        X, y, self.classes_ = examples.X, examples.y, examples.classes
        refuse_one_class(self.classes_)
        w, b = self._hard(X, y) if self.C is None else self._soft(X, y)
        rows = 1 if self.classes_.size == 2 else self.classes_.size
        weights = np.column_stack([np.broadcast_to(b, rows), np.asarray(w).reshape(rows, -1)])
        self.learner_ = FixedWeights(weights, self.classes_)
        self._margin = self._margin_on(X, examples.labels)
        return self

    def _margin_sqnorm(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Leave out the bias where the problem does: of two classes with a hard margin."""
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
