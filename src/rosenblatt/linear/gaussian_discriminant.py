"""The Gaussian discriminant, estimated by scikit-learn, as a linear classifier of this package."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from rosenblatt.learner.calibration import LOGISTIC, Link
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.learner.scoring import softmax
from rosenblatt.linear.base import LinearClassifier, refuse_one_class


class GaussianDiscriminant(LinearClassifier):
    """A Gaussian for every class, all with one covariance: the decision boundary is a hyperplane.

    **Problem.** ``P(x|c) = N(μ_c, Σ)`` with one ``Σ`` for all classes; then ``log P(c|x)`` is linear:
    ``w_c = Σ⁻¹μ_c``, ``b_c = −½ μ_c·Σ⁻¹μ_c + log P(c)``. Estimated by scikit-learn's ``LinearDiscriminantAnalysis``.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        As in scikit-learn.
    shrinkage : "auto", float or None, default=None
        Shrinkage of ``Σ`` towards a diagonal matrix; for the solvers ``lsqr`` and ``eigen``.
    priors : array-like or None, default=None
        ``P(c)``; None estimates them from the labels.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data; :meth:`geometric_margin` divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** Where the classes are Gaussians with one covariance, no other classifier has a lower error in the
    limit of many examples.

    Examples
    --------
    >>> from rosenblatt.linear.gaussian_discriminant import GaussianDiscriminant
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [4.0, 4.0], [5.0, 3.0], [5.0, 5.0]]
    >>> GaussianDiscriminant().fit(X, [0, 0, 0, 1, 1, 1]).predict([[1.0, 1.0], [4.0, 5.0]])
    array([0, 1])

    References
    ----------
    R. Fisher (1936), The use of multiple measurements in taxonomic problems. C. Rao (1948).
    """

    learner_: FixedWeights
    _saved_parameters: ClassVar[tuple[str, ...]] = ("solver", "shrinkage", "priors")

    def __init__(self, *, solver: str = "svd", shrinkage: Any = None, priors: Any = None) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the means, the covariance and the priors.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        examples = self._examples(X, y, None, reset=True)
        refuse_one_class(examples.classes)
        lda = LinearDiscriminantAnalysis(solver=self.solver, shrinkage=self.shrinkage, priors=self.priors)
        lda.fit(examples.X, examples.y)
        self.learner_ = FixedWeights(np.column_stack([lda.intercept_, lda.coef_]), lda.classes_)
        self.classes_ = lda.classes_
        self._compute_margin_later(examples.X, examples.labels)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``P(c|x)`` for every row and class, of shape (n, classes)."""
        return softmax(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c|x)`` for every row and class, of shape (n, classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _probability_link(self) -> Link:
        return LOGISTIC if self.classes_.size == 2 else Link("softmax")

    def _input(self) -> dict[str, Any]:
        return {"dtype": [np.float64, np.float32]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
