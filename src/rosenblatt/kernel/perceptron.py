"""The kernel perceptron as a scikit-learn estimator."""

import copy
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from rosenblatt.core import hypotheses
from rosenblatt.data.labels import exact_if_listed
from rosenblatt.learner.kernel import KernelLearner, load_dual, save_dual
from rosenblatt.learner.kernel.device import is_foreign, to_numpy
from rosenblatt.learner.scoring import decided
from rosenblatt.linear.base import INPUT, effective_weight, encoded_classes, refuse_one_class, seed_of
from rosenblatt.linear.epoch_trained import EpochTrained

EVALUATED_ON_REQUEST = ("survivor", "pocket", "random")  # their evaluation reads every row once more


class KernelPerceptron(
    EpochTrained[KernelLearner],
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier that learns by correcting its mistakes in the feature space of a kernel.

    **Update.** The weights are a sum over the examples that moved them, ``w = Σ τₛ yₛ φ(xₛ)``, and a score is
    ``w·φ(x) = Σ τₛ yₛ K(xₛ, x)``. On each example the rule decides a step ``τ``; with Rosenblatt's, ``τ = η`` if
    ``y·score ≤ 0``. Passes are repeated until one makes no update, or ``max_iter`` times.

    Parameters
    ----------
    kernel : str or callable, default="poly"
        ``poly`` ``(γ a·b + coef0)^degree``, ``rbf`` ``exp(−γ‖a−b‖²)``, ``linear`` ``a·b``, a function of two blocks
        of rows that returns one value for every pair, or ``precomputed``: ``X`` is then a Gram matrix.
    degree, gamma, coef0 : int, float, float; default 2, None, 1.0
        Of the kernel. ``gamma=None`` is 1 for ``poly`` and 1/features for ``rbf``; ``"scale"`` is
        ``1/(features·variance)`` of the first data seen.
    rule : str or rule, default="rosenblatt"
        A name or an object such as ``rules.PassiveAggressive(C=0.1)``.
    eta : float or None, default=None
        The learning rate of a rule given by name; None leaves it at the rule's own (1 for Rosenblatt's).
    hypothesis : str, default="averaged"
        What predicts: ``last``, ``averaged``, ``voted``, ``survivor``, ``pocket`` or ``random``. All are read from one
        training run; see :meth:`use`.
    normalise : bool, default=False
        Divide every hypothesis ``v_k`` by its norm before it is averaged or compared with other classes'.
    max_iter : int, default=10
        The most passes over the data.
    delta : float, default=0.0
        ``Δ``: every example gets a coordinate of its own of this length, ``K + Δ²I``, which makes any data separable.
    budget : int or None, default=None
        The most rows to remember; a row takes one place, however often it teaches and whatever its weight. Only
        ``last`` and ``averaged`` are then known, the latter of the rows still there.
    forget : str, default="oldest"
        What happens when the budget is full. ``oldest``: the row corrected the longest ago goes, after a shrink that
        keeps the damage bounded (the self-tuned Forgetron, with Rosenblatt's rule). ``random``: one drawn by chance
        goes. ``project``: updates are projected onto the rows that are there (the Projectron).
    tolerance : float, default=0.0
        With ``project``: an example nearer than this to what the rows span, as a share of its own length, takes no
        place even where there is one (η of the Projectron).
    fit_intercept : bool, default=False
        Learn a bias, as the weight of an always-one coordinate: ``K + 1``. Polynomials with ``coef0 > 0`` have one.
    shuffle : bool, default=True
        Visit the rows of every pass in a new order, which depends on the rows and on ``random_state`` but not on
        how the rows were ordered.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle, of the ``random`` hypothesis and of forgetting by chance.
    multi_class : str, default="joint"
        ``joint``: the true class against its best rival; ``ovr``: every class for itself, in one sweep.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into the sample weights. A weight of k presents an example k times.
    warm_start : bool, default=False
        Go on from the last fit instead of starting anew.
    keep_ledger : bool, default=True
        Record every update. Without it only ``last`` and ``averaged`` are known.
    block_size : int or None, default=None
        Rows decided together; changes the speed only. None computes the Gram rows of training examples once for all
        epochs where the Gram matrix takes at most 1 GiB (11,585 rows in float64); else it is 512, or 2048 on a GPU.
    device : str or None, default=None
        Move the data there (``"cuda"``); None computes where the data are.
    dtype : str or None, default=None
        ``float32`` or ``float64``; None keeps the precision of the data, or float32 where ``device`` moves them.
    tf32 : bool, default=False
        Let a GPU round products to TF32. Faster, and the mistakes change.
    verbose : int, default=0
        Show a progress bar.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    support_ : ndarray
        The examples the model is made of, in the order in which they first taught something.
    support_vectors_, dual_coef_ : matrix, ndarray
        Those rows, and their coefficients in the hypothesis that predicts.
    n_support_ : int
        How many there are.
    mistakes_, n_mistakes_, clock_, converged_, ledger_ :
        As of :class:`~rosenblatt.Perceptron`.
    radius_, margin_, mistake_bound_ : float
        As of :class:`~rosenblatt.Perceptron`, with the norms of the feature space: ``R² = max K(x, x) + Δ²``. On large
        data the margins of ``survivor``, ``pocket`` and ``random`` are measured only when ``fit`` is told to predict
        by them.

    Notes
    -----
    **Guarantee.** If the data are separable in the feature space with margin ``γ``, at most ``(R/γ)²`` mistakes are
    made, ever, in any order, and training ends with ``converged_``, given enough passes. Blocks change nothing: the
    updates are those of the one-by-one loop. Under a budget, Rosenblatt's rule makes at most ``G²(1 + S) + 2GD + Q +
    2·hinge`` mistakes, for every function of norm ``G/R``: ``Q`` is the damage of removals, which ``oldest`` keeps
    within 15/32 of the mistakes by shrinking (``S``), and ``D`` what projections fell short of (``mistake_bound_``
    where it is 0).

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["same", "other", "other", "same"]
    >>> clf = KernelPerceptron(kernel="poly", degree=2, max_iter=100, hypothesis="last").fit(X, y)
    >>> clf.converged_, bool(clf.n_mistakes_ <= clf.mistake_bound_)
    (True, True)
    >>> clf.predict(X)
    array(['same', 'other', 'other', 'same'], dtype='<U5')

    References
    ----------
    M. Aizerman et al. (1964). Y. Freund and R. Schapire (1999), Large margin classification using the perceptron
    algorithm, section 3 and the ``K + Δ²I`` of section 4. O. Dekel et al. (2008), The Forgetron.
    G. Cavallanti et al. (2007), Tracking the best hyperplane with a simple budget perceptron. F. Orabona et al.
    (2009), Bounded kernel-based online learning.
    """

    def __init__(
        self,
        kernel: Any = "poly",
        *,
        degree: int = 2,
        gamma: Any = None,
        coef0: float = 1.0,
        rule: Any = "rosenblatt",
        eta: float | None = None,
        hypothesis: str = "averaged",
        normalise: bool = False,
        max_iter: int = 10,
        delta: float = 0.0,
        budget: int | None = None,
        forget: str = "oldest",
        tolerance: float = 0.0,
        fit_intercept: bool = False,
        shuffle: bool = True,
        random_state: Any = 0,
        multi_class: str = "joint",
        class_weight: Any = None,
        warm_start: bool = False,
        keep_ledger: bool = True,
        block_size: int | None = None,
        device: str | None = None,
        dtype: str | None = None,
        tf32: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.rule = rule
        self.eta = eta
        self.hypothesis = hypothesis
        self.normalise = normalise
        self.max_iter = max_iter
        self.delta = delta
        self.budget = budget
        self.forget = forget
        self.tolerance = tolerance
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.keep_ledger = keep_ledger
        self.block_size = block_size
        self.device = device
        self.dtype = dtype
        self.tf32 = tf32
        self.verbose = verbose

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all examples, pass after pass.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n, d); of shape (n, n) where the kernel is precomputed
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A weight of k presents an example k times; a fraction scales its step; zero leaves it out.
        """
        self._check_parameters()
        X, y, weight, classes = self._checked(X, y, sample_weight, reset=True)
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel is a square matrix of all pairs of examples, got {tuple(X.shape)}"
            )
        refuse_one_class(classes)
        evaluate = True if self.hypothesis in EVALUATED_ON_REQUEST else None
        self._run_epochs(self._begin().train, X, y, sample_weight=weight, evaluate=evaluate)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch once, in its order; classes not seen before are taken in.

        Where the kernel is precomputed, a batch is the next rows of one Gram matrix, with a column for every example
        seen so far and in this batch, at least; a square one, no wider than before, shows the same examples again.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    # The support rows

    @property
    def support_(self) -> NDArray[np.int64]:
        """The examples the model is a sum of."""
        return self._learner().support_rows

    @property
    def n_support_(self) -> int:
        """How many support rows the model has."""
        return self._learner().n_support

    @property
    def support_vectors_(self) -> Any:
        """The support rows, on the device of the data; columns of the Gram matrix where it is precomputed."""
        return self._learner().support.all()

    @property
    def dual_coef_(self) -> NDArray[Any]:
        """Coefficients of the support rows in the hypothesis that predicts."""
        if self.hypothesis == "voted":
            raise AttributeError(
                "'voted' is a vote of many hypotheses and has no coefficients; 'averaged' has"
            )
        return self._learner().weights(self.hypothesis, self.normalise)

    # Predicting

    def use(self, hypothesis: str, *, normalise: bool | None = None) -> Self:
        """Return the same trained model, predicting by another hypothesis; nothing is trained again."""
        check_is_fitted(self)
        self._check_hypothesis(hypothesis)
        other = copy.copy(self)
        other.hypothesis = hypothesis
        if normalise is not None:
            other.normalise = normalise
        if hypothesis == "voted":
            self.learner_.recorded_ledger()  # raises ValueError where there is none
        else:
            self.learner_.weights(hypothesis, other.normalise)
        return other

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the score of every row, a column per class when there are more than two.

        For the ``voted`` hypothesis: the share of survival that voted for, less the share against.
        """
        check_is_fitted(self)
        return self.learner_.scores(self._rows(X), self.hypothesis, self.normalise)

    def predict(self, X: Any, undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row; where the score is exactly zero, ``undecided`` if it is given."""
        return decided(self.decision_function(X), self.classes_, undecided)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: coefficients, support rows and the ledger; no code."""
        check_is_fitted(self)
        about = {**self._about_training(), "learner": "kernel", "normalise": bool(self.normalise)}
        save_dual(self.learner_, path, about=about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, kernel: Any = None, device: str | None = None) -> Self:
        """Read a model from a file; a kernel that was a function must be given again."""
        learner, about = load_dual(path, kernel=kernel, device=device)
        name, degree, gamma, coef0 = learner.kernel_parameters
        return cls._from_file(
            path,
            learner,
            about,
            kernel=name,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            normalise=bool(about.get("normalise")),
            delta=learner.delta,
            budget=learner.budget,
            forget=learner.forget,
            tolerance=learner.tolerance,
            keep_ledger=learner.ledger is not None or learner.budget is not None,
            block_size=learner.block_size,
            device=device,
        )

    # Inside: tensors stay where they are and are checked by the learner; other rows are checked as scikit-learn does

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None, NDArray[Any]]:
        """Return rows, labels, the effective weight of each example, and the classes of those that weigh anything."""
        reset, y = reset or self._is_wider(X), exact_if_listed(y)
        if is_foreign(X):
            y = column_or_1d(to_numpy(y) if is_foreign(y) else y, warn=True)
            if X.ndim == 2 and not X.shape[0]:
                raise ValueError("X has no rows: there is nothing to learn from")
            if reset:
                self.n_features_in_ = int(X.shape[1]) if X.ndim == 2 else 0
        else:
            X, y = validate_data(self, X, y, reset=reset, **INPUT)
        classes, labels = encoded_classes(y)
        weight = to_numpy(sample_weight) if is_foreign(sample_weight) else sample_weight
        weight = effective_weight(classes, labels, weight, self.class_weight)
        if weight is not None:
            classes = classes[np.bincount(labels, weights=weight, minlength=classes.size) > 0.0]
        return X, y, weight, classes

    def _is_wider(self, X: Any) -> bool:
        """Return whether this is a batch of a Gram matrix with columns for examples that came since the last one."""
        shape = tuple(getattr(X, "shape", ()))
        if not (isinstance(self.kernel, str) and self.kernel == "precomputed" and len(shape) == 2):
            return False
        return bool(shape[1] > self.n_features_in_ and shape[1] >= self.learner_.rows_seen + shape[0])

    def _rows(self, X: Any) -> Any:
        return X if is_foreign(X) else validate_data(self, X, reset=False, **INPUT)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.device is None
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _new_learner(self) -> KernelLearner:
        return KernelLearner(
            self.rule,
            eta=self.eta,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma,
            coef0=self.coef0,
            delta=self.delta,
            budget=self.budget,
            forget=self.forget,
            tolerance=self.tolerance,
            multi_class=self.multi_class,
            fit_intercept=self.fit_intercept,
            keep_ledger=self.keep_ledger,
            seed=seed_of(self.random_state),
            block_size=self.block_size,
            device=self.device,
            dtype=self.dtype,
            tf32=self.tf32,
        )

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
        X, y, weight, _ = self._checked(X, y, sample_weight, reset=first)
        if first:
            self.learner_ = self._new_learner()
        self.learner_.learn(X, y, weight, classes)

    def _check_hypothesis(self, name: str) -> None:
        super()._check_hypothesis(name)
        if self.budget is not None and name in hypotheses.FROM_THE_LEDGER:
            raise ValueError(
                f"{name!r} is read from rows that a budget forgets: with one, use 'last' or 'averaged'"
            )
