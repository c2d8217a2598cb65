"""The perceptron as a scikit-learn estimator."""

import copy
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rosenblatt.core import hypotheses
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.learner.trace import Trace, trace_of
from rosenblatt.learner.training import margin_on
from rosenblatt.linear.base import LinearClassifier, refuse_one_class, seed_of, unchanged_if_refused
from rosenblatt.linear.epoch_trained import EpochTrained
from rosenblatt.storage import BadModel


class Perceptron(EpochTrained[Learner], LinearClassifier):
    """A linear classifier that learns by correcting its mistakes, and reports a bound on their number.

    **Update.** On each example ``(x, y)`` the rule decides a step; with Rosenblatt's, if ``y (w·x + b) ≤ 0`` then
    ``w += η y x`` and ``b += η y``. Epochs are repeated until one makes no update, or ``max_iter`` times.

    Parameters
    ----------
    rule : str or rule, default="rosenblatt"
        A name in ``rules.BY_NAME`` (``rosenblatt``, ``margin``, ``passive-aggressive``, ``arow`` …) or an object like
        ``rules.PassiveAggressive(C=0.1)``.
    eta : float or None, default=None
        The learning rate of a rule given by name; None is the rule's default (1 for Rosenblatt's).
    hypothesis : str, default="averaged"
        The hypothesis that predicts: ``last``, ``averaged``, ``voted``, ``survivor``, ``pocket`` or ``random``. All
        are read from one training run; see :meth:`use`.
    max_iter : int, default=10
        The maximum number of epochs.
    fit_intercept : bool, default=True
        Learn a bias, as the weight of a constant input of 1 that counts in every norm.
    shuffle : bool, default=True
        Visit the rows of every epoch in a new order, which depends on the rows and on ``random_state`` but not on
        the order in which the rows are given.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle and of the ``random`` hypothesis.
    multi_class : str, default="joint"
        ``joint``: the true class against its best rival; ``ovr``: every class against the rest, all in one epoch.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into the sample weights. A weight of k presents an example k times.
    warm_start : bool, default=False
        Continue from the last fit instead of starting anew.
    keep_ledger : bool, default=True
        Record every update. Without it only ``last`` and ``averaged`` can predict.
    verbose : int, default=0
        Show a progress bar.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, on scores of five folds: True or ``"platt"`` (Platt scaling), or
        ``"venn-abers"``, which needs 200 rows.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Weights and biases of the predicting hypothesis.
    classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    mistakes_ : ndarray
        Mistakes of every epoch (``y·score ≤ 0``); with ``ovr`` summed over the classes.
    n_mistakes_, clock_ : int, float
        Number of mistakes and of examples visited, in all epochs.
    radius_ : float
        ``R``, the largest norm of an example in the space in which learning happens.
    margin_ : float
        ``γ = min y·score/‖(w, b)‖`` of the predicting hypothesis on the training data, in that same space; negative
        where a row is misclassified, nan where it was not measured. :meth:`margin` returns the same number on the same
        data; :meth:`geometric_margin` divides by ``‖w‖``.
    mistake_bound_ : float
        The rule's bound on all mistakes so far: ``(R/γ)²`` where the hypothesis separates the data, else the
        hinge-loss bound. Infinite where the rule has no bound, and after ``warm_start`` or ``partial_fit`` on other
        examples.
    converged_ : bool
        Whether the last epoch changed nothing: it made no update, and the rule does not shrink the weights.
    ledger_ : structured ndarray
        One line per update: row, class, step, clock.

    Notes
    -----
    **Guarantee.** If the data are separable with margin ``γ``, Rosenblatt's rule makes at most ``(R/γ)²`` mistakes, in
    any order and any number of epochs (Novikoff 1962), and training ends with ``converged_``, given enough epochs.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], ["in", "in", "out", "out"]
    >>> clf = Perceptron().fit(X, y)
    >>> bool(clf.converged_), bool(clf.n_mistakes_ <= clf.mistake_bound_)
    (True, True)
    >>> clf.use("voted").predict([[1.0, 1.0]])
    array(['in'], dtype='<U3')

    References
    ----------
    F. Rosenblatt (1958). Y. Freund and R. Schapire (1999), Large margin classification using the perceptron
    algorithm, Figure 1 (voted and averaged). S. Gallant (1990), Perceptron-based learning algorithms (pocket).
    """

    def __init__(
        self,
        rule: Any = "rosenblatt",
        *,
        eta: float | None = None,
        hypothesis: str = "averaged",
        max_iter: int = 10,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
        multi_class: str = "joint",
        class_weight: Any = None,
        warm_start: bool = False,
        keep_ledger: bool = True,
        verbose: int = 0,
        probability: bool | str = False,
    ) -> None:
        self.rule = rule
        self.eta = eta
        self.hypothesis = hypothesis
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.keep_ledger = keep_ledger
        self.verbose = verbose
        self.probability = probability

    # Learning

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        reference: Any = None,
    ) -> Self:
        """Train on all examples until an epoch changes nothing, or for ``max_iter`` epochs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A weight of k presents an example k times; a fraction scales its step; zero leaves it out.
        coef_init, intercept_init : array-like, optional
            Weights to start from instead of zero.
        reference : array-like or (coef, intercept), optional
            A hyperplane ``u``: ``trace_`` then holds ``v·u`` and ``‖v‖²`` after every update, as :meth:`trace` does.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_if_refused(self):
            examples = self._examples(X, y, sample_weight, reset=True, class_weight=self.class_weight)
            refuse_one_class(examples.classes)
        learner = self._begin()
        if coef_init is not None or intercept_init is not None:
            coef = np.zeros((1, examples.X.shape[1])) if coef_init is None else coef_init
            learner.start_from(coef, 0.0 if intercept_init is None else intercept_init, examples.classes)
        self._run_epochs(learner.train_checked, examples)
        self._calibrate(examples)
        if reference is not None:
            self.trace_ = self.trace(reference)
        return self

    # Predicting

    def use(self, hypothesis: str) -> Self:
        """Return the same trained model with another predicting hypothesis; nothing is trained again.

        Parameters
        ----------
        hypothesis : str
            ``last``, ``averaged``, ``voted``, ``survivor``, ``pocket`` or ``random``.

        Returns
        -------
        Perceptron
            A shallow copy that shares the learner.
        """
        check_is_fitted(self)
        hypotheses.check_name(hypothesis)
        if hypothesis != "voted":
            self.learner_.weights(hypothesis)  # raises ValueError where this run cannot provide it
        elif self.learner_.ledger is None:
            raise ValueError("'voted' needs the ledger, which was not recorded: train with keep_ledger=True")
        other = copy.copy(self)
        other.hypothesis = hypothesis
        return other

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the score ``w·x + b`` of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, classes) with more than two classes
            For ``voted``: the survival time of the hypotheses that vote for the class minus that of those against it,
            divided by the clock.
        """
        check_is_fitted(self)
        return self.learner_.scores(self._rows(X), self.hypothesis)

    def trace(self, reference: Any) -> Trace:
        """Return ``v·u`` and ``‖v‖²`` after every update.

        Parameters
        ----------
        reference : array-like or (coef, intercept)
            The hyperplane ``u``; it is scaled to norm one.

        Returns
        -------
        Trace
        """
        check_is_fitted(self)
        return trace_of(self.learner_, reference)

    # Files

    def save(self, path: str | os.PathLike[str], *, ledger: bool | None = None) -> None:
        """Write the model to a safetensors file, which holds no code.

        Parameters
        ----------
        path : str or path-like
        ledger : bool, optional
            Whether to store the ledger; by default only where the predicting hypothesis is read from it.
        """
        check_is_fitted(self)
        if ledger is None:
            ledger = self.hypothesis in ("voted", "survivor", "random") and self.learner_.ledger is not None
        metadata = self._training_metadata()
        metadata["parameters"]["keep_ledger"] = bool(self.keep_ledger)
        save_learner(self.learner_, path, about=metadata, ledger=ledger)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file; training continues from it exactly where it stopped, averages included."""
        learner, metadata = load_learner(path)
        parameters = metadata.get("parameters")
        keep_ledger = parameters.get("keep_ledger") if isinstance(parameters, dict) else None
        if not isinstance(keep_ledger, bool):
            raise BadModel(
                f"{path}: not a model of {cls.__name__}: its header has no true or false for parameters.keep_ledger"
            )
        return cls._from_file(path, learner, metadata, keep_ledger=keep_ledger)

    # Inside

    def _new_learner(self) -> Learner:
        return Learner(
            self.rule,
            eta=self.eta,
            multi_class=self.multi_class,
            fit_intercept=self.fit_intercept,
            keep_ledger=self.keep_ledger,
            seed=seed_of(self.random_state),
        )

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
        examples = self._examples(X, y, sample_weight, reset=first, class_weight=self.class_weight)
        if first:
            self.learner_ = self._new_learner()
        self.learner_.learn_checked(examples, classes)

    def _margin_on(self, X: Any, labels: NDArray[np.int64]) -> float:
        self._hyperplanes()  # raises AttributeError for a hypothesis without weights
        return margin_on(self.learner_, self.hypothesis, X, labels)

    def _hyperplanes(self) -> NDArray[Any]:
        if self.hypothesis == "voted":
            raise AttributeError(
                "'voted' is a vote of many hyperplanes and has no weights of its own; choose another hypothesis, as by "
                "use('averaged')"
            )
        return self._learner().weights(self.hypothesis)
