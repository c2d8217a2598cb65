"""The perceptron criterion and its gradient descent, all examples at once (seeds 001 and 003)."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.linear.base import LinearClassifier, check_count, refuse_one_class


class BatchPerceptron(LinearClassifier):
    """Gradient descent on the perceptron criterion.

    **Problem.** ``min E(w) = −Σ yᵢ (w·xᵢ + b)`` over the examples that are on the wrong side, or on the boundary.

    **Update.** ``w ← w + η Σ yᵢ xᵢ``, ``b ← b + η Σ yᵢ``, over the same examples, until there are none or ``max_iter``
    times. With more than two classes every class is trained against the rest.

    Parameters
    ----------
    eta : float, default=1.0
        The learning rate, ``η > 0``; starting from zero it only scales the weights.
    max_iter : int, default=1000
        The maximum number of steps.
    fit_intercept : bool, default=True
        Learn a bias, as the weight of a constant input of 1.
    keep_trajectory : bool, default=True
        Store the weights after every step in ``trajectory_``.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, on scores of five folds: True or ``"platt"`` (Platt scaling), or
        ``"venn-abers"``, which needs 200 rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    trajectory_ : ndarray of shape (steps + 1, hyperplanes, 1 + features)
        The weights before the first step and after every step, the bias first.
    criterion_ : ndarray of shape (steps + 1,)
        ``E(w)`` along the trajectory, summed over the hyperplanes.
    mistakes_ : ndarray of shape (steps + 1,)
        Along the trajectory, the number of examples on the wrong side of some hyperplane.
    converged_ : bool
        Whether no example is on the wrong side after the last step.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data; :meth:`geometric_margin` divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** If two classes are separable with margin ``γ`` and ``‖x‖ ≤ R`` (bias input included), the
    misclassified examples summed over all steps are at most ``n (R/γ)²``, and so are the steps
    (:meth:`steps_at_most`).

    Examples
    --------
    >>> from rosenblatt.linear.batch_perceptron import BatchPerceptron
    >>> clf = BatchPerceptron().fit([[2.0], [1.0], [-1.0], [-4.0]], [1, 1, 0, 0])
    >>> clf.converged_, clf.criterion_.tolist(), clf.trajectory_[:, 0].tolist()
    (True, [0.0, 0.0], [[0.0, 0.0], [0.0, 8.0]])

    References
    ----------
    R. Duda and P. Hart (1973), Pattern classification and scene analysis, section 5.5.
    """

    learner_: FixedWeights
    _saved_parameters: ClassVar[tuple[str, ...]] = ("eta", "max_iter", "fit_intercept", "keep_trajectory")

    def __init__(
        self,
        *,
        eta: float = 1.0,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        keep_trajectory: bool = True,
        probability: bool | str = False,
    ) -> None:
        self.eta = eta
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.keep_trajectory = keep_trajectory
        self.probability = probability

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Run gradient descent from zero weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Factors of the examples in the criterion; zero leaves an example out.

        Returns
        -------
        self
        """
        if not 0.0 < self.eta < np.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")
        check_count("max_iter", self.max_iter)
        examples = self._examples(X, y, sample_weight, reset=True)
        self.classes_ = examples.classes
        refuse_one_class(self.classes_)
        positive = np.arange(1 if self.classes_.size == 2 else 0, self.classes_.size)
        signs = np.where(examples.labels[:, None] == positive, 1.0, -1.0)  # (n, hyperplanes)
        weight = examples.weight
        self._descend(examples.X, signs, np.ones(examples.labels.size) if weight is None else weight)
        self._compute_margin_later(examples.X, examples.labels)
        self._calibrate(examples)
        return self

    def steps_at_most(self, examples: int, radius: float, margin: float) -> float:
        """Return a bound on the steps, and on the misclassified examples summed over them, on separable data.

        Parameters
        ----------
        examples : int
        radius : float
            ``R``, the largest norm of an example, bias input included.
        margin : float
            ``γ``, the margin with which the data are separable.

        Returns
        -------
        float
        """
        return examples * (radius / margin) ** 2

    def _descend(self, X: Any, signs: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        W = np.zeros((signs.shape[1], 1 + X.shape[1]))
        trajectory, criterion, mistakes = [W.copy()], [], []
        for step in range(self.max_iter + 1):
            margins = signs * linear_scores(X, W)  # y·score, (n, hyperplanes)
            wrong = margins <= 0.0
            criterion.append(float(-(weight[:, None] * margins)[wrong].sum()) + 0.0)
            mistakes.append(int(wrong.any(axis=1).sum()))
            if mistakes[-1] == 0 or step == self.max_iter:
                break
            factors = weight[:, None] * signs * wrong  # the negative gradient is factorsᵀ·(1, X)
            W[:, 1:] += self.eta * np.asarray((X.T @ factors).T)
            if self.fit_intercept:
                W[:, 0] += self.eta * factors.sum(axis=0)
            if self.keep_trajectory:
                trajectory.append(W.copy())
        self.criterion_, self.mistakes_ = np.array(criterion), np.array(mistakes)
        self.converged_, self.n_iter_ = mistakes[-1] == 0, len(criterion) - 1
        if self.keep_trajectory:
            self.trajectory_ = np.array(trajectory)
        self.learner_ = FixedWeights(W, self.classes_)
