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
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.kernel import KernelLearner, load_kernel_learner, save_kernel_learner
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
    ``y·score ≤ 0``. Epochs are repeated until one makes no update, or ``max_iter`` times.

    Parameters
    ----------
    kernel : str or callable, default="poly"
        ``poly`` ``(γ a·b + coef0)^degree``, ``rbf`` ``exp(−γ‖a−b‖²)``, ``linear`` ``a·b``, a function of two blocks
        of rows that returns one value for every pair, or ``precomputed``: ``X`` is then a Gram matrix.
    degree, gamma, coef0 : int, float, float; default 2, None, 1.0
        Parameters of the kernel. ``gamma=None`` is 1 for ``poly`` and 1/features for ``rbf``; ``"scale"`` is
        ``1/(features·variance)`` of the first training data.
    rule : str or rule, default="rosenblatt"
        A name or an object such as ``rules.PassiveAggressive(C=0.1)``.
    eta : float or None, default=None
        The learning rate of a rule given by name; None is the rule's default (1 for Rosenblatt's).
    hypothesis : str, default="averaged"
        The hypothesis that predicts: ``last``, ``averaged``, ``voted``, ``survivor``, ``pocket`` or ``random``. All
        are read from one training run; see :meth:`use`.
    normalise : bool, default=False
        Divide every hypothesis ``v_k`` by its norm before it is averaged or compared with other classes'.
    max_iter : int, default=10
        The maximum number of epochs.
    delta : float, default=0.0
        ``Δ``: every example gets a coordinate of its own of this length, ``K + Δ²I``, which makes any data separable.
    budget : int or None, default=None
        The maximum number of support rows; a row counts once, however many updates it makes and whatever its weight.
        With a budget only ``last`` and ``averaged`` can predict, and the average is over the rows that remain.
    forget : str, default="oldest"
        What happens when the budget is full. ``oldest``: the row whose last update is the longest ago is removed, after
        the weights were shrunk so that the damage stays bounded (the self-tuned Forgetron, with Rosenblatt's rule).
        ``random``: a random row is removed. ``project``: updates are projected onto the span of the support rows (the
        Projectron).
    tolerance : float, default=0.0
        With ``project``: an example nearer than this to the span of the support rows, relative to its norm, does not
        become a support row even where the budget is not full (η of the Projectron).
    fit_intercept : bool, default=False
        Learn a bias, as the weight of a constant input of 1: ``K + 1``. Polynomials with ``coef0 > 0`` have one.
    shuffle : bool, default=True
        Visit the rows of every epoch in a new order, which depends on the rows and on ``random_state`` but not on
        the order in which the rows are given.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle, of the ``random`` hypothesis and of random removals.
    multi_class : str, default="joint"
        ``joint``: the true class against its best rival; ``ovr``: every class against the rest, all in one epoch.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into the sample weights. A weight of k presents an example k times.
    warm_start : bool, default=False
        Continue from the last fit instead of starting anew.
    keep_ledger : bool, default=True
        Record every update. Without it only ``last`` and ``averaged`` can predict.
    block_size : int or None, default=None
        Number of rows scored together; it changes the speed only. None computes the Gram rows of training examples
        once for all epochs where the Gram matrix takes at most 1 GiB (11,585 rows in float64); else it is 512, or
        2048 on a GPU.
    device : str or None, default=None
        A PyTorch device to move the data to (``"cuda"``); None computes where the data are.
    dtype : str or None, default=None
        ``float32`` or ``float64``; None is the precision of the data, or float32 where ``device`` moves them.
    tf32 : bool, default=False
        Let a GPU round products to TF32, which is faster and changes the mistakes.
    verbose : int, default=0
        Show a progress bar.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, on scores of five folds: True or ``"platt"`` (Platt scaling), or
        ``"venn-abers"``, which needs 200 rows.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    support_ : ndarray
        Indices of the support rows, the examples that made an update, in the order of their first one.
    support_vectors_, dual_coef_ : matrix, ndarray
        The support rows, and their coefficients in the predicting hypothesis.
    n_support_ : int
        The number of support rows.
    mistakes_, n_mistakes_, clock_, converged_, ledger_ :
        As in :class:`~rosenblatt.Perceptron`.
    radius_, margin_, mistake_bound_ : float
        As in :class:`~rosenblatt.Perceptron`, with the norms of the feature space: ``R² = max K(x, x) + Δ²``. On large
        data the margins of ``survivor``, ``pocket`` and ``random`` are measured only where ``hypothesis`` is one of
        them at ``fit``.

    Notes
    -----
    **Guarantee.** If the data are separable in the feature space with margin ``γ``, Rosenblatt's rule makes at most
    ``(R/γ)²`` mistakes, in any order and any number of epochs, and training ends with ``converged_``, given enough
    epochs. Blocks make exactly the updates of the one-by-one loop. Under a budget, Rosenblatt's rule makes at most
    ``G²(1 + S) + 2GD + Q + 2·hinge`` mistakes, for every function of norm ``G/R``: ``Q`` is the damage of removals,
    which ``oldest`` keeps within 15/32 of the mistakes by shrinking (``S``), and ``D`` the error of projections
    (``mistake_bound_`` is finite where ``D`` is 0).

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
        probability: bool | str = False,
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
        self.probability = probability

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all examples until an epoch changes nothing, or for ``max_iter`` epochs.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n, d); of shape (n, n) where the kernel is precomputed
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A weight of k presents an example k times; a fraction scales its step; zero leaves it out.

        Returns
        -------
        self
        """
        self._check_parameters()
        examples = self._examples(X, y, sample_weight, reset=True)
        shape = tuple(examples.X.shape)
        if self._is_precomputed and shape[0] != shape[1]:
            raise ValueError(f"a precomputed kernel is a square matrix of all pairs of examples, got {shape}")
        weight, labels = examples.weight, examples.labels
        refuse_one_class(examples.classes[np.unique(labels if weight is None else labels[weight > 0.0])])
        evaluate = True if self.hypothesis in EVALUATED_ON_REQUEST else None
        self._run_epochs(self._begin().train_checked, examples, evaluate=evaluate)
        self._calibrate(examples)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch once, in the given order; classes not seen before are added.

        Where the kernel is precomputed, a batch holds the next rows of one Gram matrix, with at least a column for
        every example seen so far and in this batch; a square batch, no wider than the one before, holds the same
        examples again.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            Classes that may occur later; not required.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, classes, sample_weight)

    # The support rows

    @property
    def support_(self) -> NDArray[np.int64]:
        """Indices of the support rows among all examples, in the order in which they became support rows."""
        return self._learner().support_rows

    @property
    def n_support_(self) -> int:
        """The number of support rows."""
        return self._learner().n_support

    @property
    def support_vectors_(self) -> Any:
        """The support rows, on the device of the data; columns of the Gram matrix where it is precomputed."""
        return self._learner().support.all()

    @property
    def dual_coef_(self) -> NDArray[Any]:
        """Coefficients of the support rows in the predicting hypothesis."""
        if self.hypothesis == "voted":
            raise AttributeError(
                "'voted' is a vote of many hypotheses and has no coefficients of its own; choose another hypothesis, "
                "as by use('averaged')"
            )
        return self._learner().weights(self.hypothesis, self.normalise)

    # Predicting

    def use(self, hypothesis: str, *, normalise: bool | None = None) -> Self:
        """Return the same trained model with another predicting hypothesis; nothing is trained again.

        Parameters
        ----------
        hypothesis : str
            ``last``, ``averaged``, ``voted``, ``survivor``, ``pocket`` or ``random``.
        normalise : bool, optional
            Replaces the constructor's parameter of this name.

        Returns
        -------
        KernelPerceptron
            A shallow copy that shares the learner.
        """
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
        """Return the score of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, classes) with more than two classes
            For ``voted``: the survival time of the hypotheses that vote for the class minus that of those against it,
            divided by the clock.
        """
        check_is_fitted(self)
        return self.learner_.scores(self._rows(X), self.hypothesis, self.normalise)

    def predict(self, X: Any, undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n, d)
        undecided : label, optional
            Returned where the score is exactly zero, or where two classes have the same score; by default the first
            of the tied classes is.

        Returns
        -------
        ndarray of shape (n,)
        """
        return decided(self.decision_function(X), self.classes_, undecided)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write coefficients, support rows and ledger to a safetensors file, which holds no code."""
        check_is_fitted(self)
        metadata = {**self._training_metadata(), "learner": "kernel", "normalise": bool(self.normalise)}
        save_kernel_learner(self.learner_, path, about=metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, kernel: Any = None, device: str | None = None) -> Self:
        """Read a model from a file.

        Parameters
        ----------
        path : str or path-like
        kernel : callable, optional
            The kernel function, where the model was trained with one: files hold no code.
        device : str, optional
            Where to put the support rows.

        Returns
        -------
        KernelPerceptron
        """
        learner, metadata = load_kernel_learner(path, kernel=kernel, device=device)
        name, degree, gamma, coef0 = learner.kernel_parameters
        return cls._from_file(
            path,
            learner,
            metadata,
            kernel=name,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            normalise=bool(metadata.get("normalise")),
            delta=learner.delta,
            budget=learner.budget,
            forget=learner.forget,
            tolerance=learner.tolerance,
            keep_ledger=learner.ledger is not None or learner.budget is not None,
            block_size=learner.block_size,
            device=device,
        )

    # Checking data: the learner checks the values of tensors, on their device; scikit-learn checks everything else

    def _examples(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> CheckedExamples:
        """Check examples, encode their labels, and multiply their weights by those of their classes."""
        reset, y = reset or self._is_wider(X), exact_if_listed(y)
        if is_foreign(X):
            y = column_or_1d(to_numpy(y) if is_foreign(y) else y, warn=True)
            rows = int(X.shape[0]) if X.ndim else 0
            if not rows:
                raise ValueError("X has no rows: there is nothing to learn from")
            if y.size != rows:
                raise ValueError(f"y must hold one label for each of the {rows} rows of X, got {y.size}")
            if reset:
                self.n_features_in_ = int(X.shape[1]) if X.ndim == 2 else 0
        else:
            X, y = validate_data(self, X, y, reset=reset, **INPUT)
        classes, labels = encoded_classes(y)
        weight = to_numpy(sample_weight) if is_foreign(sample_weight) else sample_weight
        weight = effective_weight(classes, labels, weight, self.class_weight)
        return CheckedExamples(X, classes, labels, weight, 0.0)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _is_wider(self, X: Any) -> bool:
        """Return whether this batch of a Gram matrix has columns for examples that came after the last one."""
        shape = tuple(getattr(X, "shape", ()))
        if not self._is_precomputed or len(shape) != 2 or not hasattr(self, "learner_"):
            return False
        return bool(shape[1] > self.n_features_in_ and shape[1] >= self.learner_.rows_seen + shape[0])

    def _rows(self, X: Any) -> Any:
        return X if is_foreign(X) else validate_data(self, X, reset=False, **INPUT)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.device is None
        tags.input_tags.pairwise = self._is_precomputed
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
        examples = self._examples(X, y, sample_weight, reset=first)
        if first:
            self.learner_ = self._new_learner()
        self.learner_.learn_checked(examples, classes)

    def _check_hypothesis(self, name: str) -> None:
        super()._check_hypothesis(name)
        if self.budget is not None and name in hypotheses.FROM_THE_LEDGER:
            raise ValueError(
                f"hypothesis={name!r} needs the ledger, which a model with a budget does not keep: use 'last' or "
                "'averaged', or budget=None"
            )
