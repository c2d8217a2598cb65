"""Logistic regression: in batch on standardised columns, or online by the logistic rule."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as BatchSolver
from sklearn.preprocessing import StandardScaler

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.learner.calibration import LOGISTIC, Link
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.linear_weights import FixedWeights
from rosenblatt.learner.scoring import softmax
from rosenblatt.linear.base import LinearClassifier, check_count, eta_for_radius, refuse_one_class, seed_of

SOLVERS = ("batch", "online")
EPOCHS, ITERATIONS = 10, 1000  # max_iter of the online and of the batch solver where it is None


class LogisticRegression(LinearClassifier):
    """A linear classifier with probabilities: ``P(y|x) = 1/(1 + exp(−y (w·x + b)))``.

    **Problem** (``solver="batch"``). ``min ½‖w̃‖² + C Σ log(1 + exp(−y (w̃·x̃ + b̃)))`` over standardised columns
    ``x̃ = (x − μ)/σ``, the bias not penalised; more than two classes by softmax. The weights are folded back,
    ``w = w̃/σ``, ``b = b̃ − w·μ``, so that the model reads raw rows. Sparse rows are divided by ``σ`` and not centred,
    which is the same problem.

    **Update** (``solver="online"``). ``w ← (1 − ηλ) w + η σ(−y w·x) y x`` at every example, raw; the mean of the
    weights after all examples predicts. With more than two classes each is trained against the rest, and the
    probabilities are normalised.

    Parameters
    ----------
    solver : {"batch", "online"}, default="batch"
        How ``fit`` learns: to the optimum of the problem over all examples, or one example at a time.
        :meth:`partial_fit` always learns online.
    C : float, default=1.0
        Batch: the inverse of the weight of the penalty, as in scikit-learn; infinite for none.
    penalty : {"l2"} or None, default="l2"
        Batch: None is the same as an infinite ``C``.
    tol : float, default=0.0001
        Batch: the largest component of the gradient of the mean loss at which the solver stops.
    eta : float or None, default=None
        Online: the learning rate; None takes ``4/R²``, where ``R`` is the largest norm in the first data.
    lam : float, default=0.0
        Online: ``λ ≥ 0``, the weight of the regulariser.
    max_iter : int or None, default=None
        The maximum number of iterations (batch; None is 1000) or the number of epochs (online; None is 10).
    fit_intercept : bool, default=True
        Learn a bias; online it is a weight like any other, and regularised too. Without it columns are not centred.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into the sample weights.
    shuffle : bool, default=True
        Online: visit the rows of every epoch in a new order.
    random_state : int, RandomState or None, default=0
        Online: seed of the shuffle.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn; weights are those of raw columns.
    margin_ : float
        ``min y (w·x + b)/‖(w, b)‖`` on the training data, nan after :meth:`partial_fit`; :meth:`geometric_margin`
        divides by ``‖w‖``.

    Notes
    -----
    **Guarantee.** Batch: multiplying or shifting columns does not change the predictions, but for rounding, and neither
    does the order of the rows; where the solver stops before ``tol``, scikit-learn's ``ConvergenceWarning`` is given.

    Online, with ``λ = 0``: the summed log-loss of the first epoch is at most
    ``(Σ ℓ(u) + ‖u‖²/(2η))/(1 − ηR²/2)`` for every ``u`` where ``ηR² < 2``
    (:meth:`rosenblatt.rules.Logistic.loss_at_most`). The default ``ηR² = 4`` gives up this bound for speed; steps are
    stable below 8.

    Examples
    --------
    >>> from rosenblatt.linear.logistic_regression import LogisticRegression
    >>> X, y = [[0.0, 1000.0], [1.0, 4000.0], [3.0, 2000.0], [4.0, 3000.0]], [0, 0, 1, 1]
    >>> clf = LogisticRegression().fit(X, y)
    >>> clf.predict([[0.5, 3000.0], [3.5, 2000.0]]), bool(clf.predict_proba([[4.0, 2000.0]])[0, 1] > 0.75)
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
        "C",
        "penalty",
        "tol",
        "eta",
        "lam",
        "max_iter",
        "fit_intercept",
        "shuffle",
    )

    def __init__(
        self,
        solver: str = "batch",
        *,
        C: float = 1.0,
        penalty: str | None = "l2",
        tol: float = 1e-4,
        eta: float | None = None,
        lam: float = 0.0,
        max_iter: int | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.solver = solver
        self.C = C
        self.penalty = penalty
        self.tol = tol
        self.eta = eta
        self.lam = lam
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
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
        examples = self._examples(X, y, sample_weight, reset=True, class_weight=self.class_weight)
        refuse_one_class(examples.classes)
        self.classes_ = examples.classes
        if self.solver == "batch":
            self._fit_batch(examples)
        else:
            learner = self._new_learner(examples.max_sqnorm)
            self.n_iter_ = EPOCHS if self.max_iter is None else self.max_iter
            learner.train_checked(examples, max_iter=self.n_iter_, shuffle=self.shuffle)
            self.learner_ = learner
        self._compute_margin_later(examples.X, examples.labels)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn online from a batch once, in the given order; classes not seen before are added.

        After a fit by ``solver="batch"`` learning continues from its weights, on raw columns: the mean of the weights
        after each example of this and later batches predicts, and with more than two classes each is from then on
        trained against the rest. The learning rate is ``eta``, or ``4/R²`` on the first of these batches.

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
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all labels at once: give a dict, or use fit")
        first = not hasattr(self, "learner_")
        examples = self._examples(X, y, sample_weight, reset=first, class_weight=self.class_weight)
        if first or isinstance(self.learner_, FixedWeights):
            learner = self._new_learner(examples.max_sqnorm)
            if not first:
                learner.start_from(self.coef_, self.intercept_, self.classes_)
            self.learner_ = learner
        assert isinstance(self.learner_, Learner)
        self.learner_.learn_checked(examples, classes)
        self.classes_, self.n_iter_ = self.learner_.classes, 1
        self._forget_margin()
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``P(c|x)`` for every row and class, of shape (n, classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1 or isinstance(self.learner_, FixedWeights):
            return softmax(scores)
        one_vs_rest = softmax(scores.reshape(-1))[:, 1].reshape(scores.shape)
        return np.asarray(one_vs_rest / one_vs_rest.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return ``log P(c|x)`` for every row and class, of shape (n, classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _probability_link(self) -> Link:
        if self.classes_.size == 2:
            return LOGISTIC
        return Link("softmax" if isinstance(self.learner_, FixedWeights) else "one-vs-rest")

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
        """Solve the problem over standardised columns by scikit-learn, and fold the weights back."""
        X = examples.X.astype(np.float64)  # a copy, which is then standardised in place
        centres = self.fit_intercept and isinstance(X, np.ndarray)
        scaler = StandardScaler(with_mean=centres, copy=False)
        X = scaler.fit_transform(X, sample_weight=examples.weight)
        batch = BatchSolver(
            C=np.inf if self.penalty is None else self.C,
            tol=self.tol,
            fit_intercept=self.fit_intercept,
            max_iter=ITERATIONS if self.max_iter is None else self.max_iter,
            solver="lbfgs",
        )
        batch.fit(X, examples.labels, sample_weight=examples.weight)
        coef = batch.coef_ / scaler.scale_
        bias = np.broadcast_to(batch.intercept_, coef.shape[:1])
        if centres:
            bias = bias - coef @ scaler.mean_
        self.learner_ = FixedWeights(np.column_stack([bias, coef]), examples.classes)
        self.n_iter_ = int(np.max(batch.n_iter_))

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, "or None, ")
        if self.penalty not in ("l2", None):
            raise ValueError(
                f"penalty must be 'l2' or None, got {self.penalty!r}: for weights that are exactly zero use "
                "sklearn.linear_model.LogisticRegression with l1_ratio=1"
            )
        if not self.C > 0.0:
            raise ValueError(f"C must be above 0, got {self.C!r}")
        if not self.tol > 0.0:
            raise ValueError(f"tol must be above 0, got {self.tol!r}")
        if not 0.0 <= self.lam < np.inf:
            raise ValueError(f"lam must be zero or more, got {self.lam!r}")
        if self.solver == "batch" and self.lam:
            raise ValueError(
                f"lam={self.lam!r} is of solver='online': with solver='batch' give C, which is 1/(lam·n) for n rows"
            )
