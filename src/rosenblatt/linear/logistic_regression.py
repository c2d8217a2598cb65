"""Logistic regression: online by the logistic rule, or in batch by scikit-learn."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as BatchLogisticRegression
from sklearn.utils.metaestimators import available_if

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.learner.scoring import softmax
from rosenblatt.linear.base import LinearClassifier, eta_for_radius, refuse_one_class, seed_of

SOLVERS = ("online", "batch")


def _learns_online(model: Any) -> bool:
    if model.solver == "batch":
        raise AttributeError("solver='batch' needs all examples at once: use fit, or solver='online'")
    return True


class LogisticRegression(LinearClassifier):
    """A linear classifier with probabilities: ``P(y|x) = 1/(1 + exp(−y (w·x + b)))``.

    **Update** (``solver="online"``). ``w ← (1 − ηλ) w + η σ(−y w·x) y x`` at every example; the mean of the weights
    after all examples predicts. With more than two classes each is trained against the rest, and the probabilities
    are normalised.

    **Problem** (``solver="batch"``). ``min_w λ/2 ‖w‖² + mean log(1 + exp(−y (w·x + b)))``, by scikit-learn, the bias
    not penalised; more than two classes by softmax.

    Parameters
    ----------
    solver : {"online", "batch"}, default="online"
        One example at a time, or scikit-learn's batch solver.
    eta : float or None, default=None
        The learning rate of the online solver; None takes ``4/R²``, where ``R`` is the largest norm in the first data.
    lam : float, default=0.0
        ``λ ≥ 0``, the weight of the regulariser.
    max_iter : int, default=10
        Number of epochs (online); scikit-learn's ``max_iter`` is a hundred times this number (batch).
    fit_intercept : bool, default=True
        Learn a bias; online it is a weight like any other, and regularised too.
    shuffle : bool, default=True
        Visit the rows of every epoch in a new order.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data, nan after :meth:`partial_fit`; :meth:`geometric_margin`
        divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** Online, with ``λ = 0``: the summed log-loss of the first epoch is at most
    ``(Σ ℓ(u) + ‖u‖²/(2η))/(1 − ηR²/2)`` for every ``u`` where ``ηR² < 2``
    (:meth:`rosenblatt.rules.Logistic.loss_at_most`). The default ``ηR² = 4`` gives up this bound for speed; steps are
    stable below 8.

    Examples
    --------
    >>> from rosenblatt.linear.logistic_regression import LogisticRegression
    >>> clf = LogisticRegression(max_iter=100).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> clf.predict([[0.5], [3.5]]), bool(clf.predict_proba([[4.0]])[0, 1] > 0.9)
    (array([0, 1]), True)

    References
    ----------
    D. Cox (1958), The regression analysis of binary sequences. B. Polyak and A. Juditsky (1992), Acceleration of
    stochastic approximation by averaging. F. Bach (2014), Adaptivity of averaged stochastic gradient descent to local
    strong convexity for logistic regression.
    """

    learner_: Learner | FixedWeights
    _saved_parameters: ClassVar[tuple[str, ...]] = (
        "solver",
        "eta",
        "lam",
        "max_iter",
        "fit_intercept",
        "shuffle",
    )

    def __init__(
        self,
        solver: str = "online",
        *,
        eta: float | None = None,
        lam: float = 0.0,
        max_iter: int = 10,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.solver = solver
        self.eta = eta
        self.lam = lam
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all examples; what was learned before is discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        examples = self._examples(X, y, sample_weight, reset=True)
        self.classes_ = examples.classes
        refuse_one_class(self.classes_)
        if self.solver == "batch":
            self._fit_batch(examples)
        else:
            learner = self._new_learner(examples.max_sqnorm)
            learner.train_checked(examples, max_iter=self.max_iter, shuffle=self.shuffle)
            self.learner_ = learner
            self.n_iter_ = self.max_iter
        self._compute_margin_later(examples.X, examples.labels)
        return self

    @available_if(_learns_online)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch once, in the given order; classes not seen before are added. Online only.

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
        self._check_parameters()
        first = not hasattr(self, "learner_")
        examples = self._examples(X, y, sample_weight, reset=first)
        if first:
            self.learner_ = self._new_learner(examples.max_sqnorm)
        assert isinstance(self.learner_, Learner)
        self.learner_.learn_checked(examples, classes)
        self.classes_, self.n_iter_ = self.learner_.classes, 1
        self._forget_margin()
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``P(c|x)`` for every row and class, of shape (n, classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1 or self.solver == "batch":
            return softmax(scores)
        one_vs_rest = softmax(scores.reshape(-1))[:, 1].reshape(scores.shape)
        return np.asarray(one_vs_rest / one_vs_rest.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c|x)`` for every row and class, of shape (n, classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _new_learner(self, max_sqnorm: float) -> Learner:
        eta = eta_for_radius(max_sqnorm, self.fit_intercept, 4.0) if self.eta is None else self.eta
        return Learner(
            rules.Logistic(eta, self.lam),
            multi_class="ovr",
            fit_intercept=self.fit_intercept,
            keep_ledger=False,
            seed=seed_of(self.random_state),
        )

    def _fit_batch(self, examples: CheckedExamples) -> None:
        """Solve the batch problem by scikit-learn, with ``C = 1/(λ·n)``."""
        X, y, weight = examples.X, examples.y, examples.weight
        total = float(X.shape[0] if weight is None else weight.sum())
        C = 1.0 / (self.lam * total) if self.lam > 0.0 else np.inf
        batch = BatchLogisticRegression(C=C, fit_intercept=self.fit_intercept, max_iter=100 * self.max_iter)
        batch.fit(X, y, sample_weight=weight)
        bias = np.broadcast_to(batch.intercept_, batch.coef_.shape[:1])
        self.learner_ = FixedWeights(np.column_stack([bias, batch.coef_]), self.classes_)
        self.n_iter_ = int(np.max(batch.n_iter_))

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be 1 or more, got {self.max_iter!r}")
        if not 0.0 <= self.lam < np.inf:
            raise ValueError(f"lam must be zero or more, got {self.lam!r}")
