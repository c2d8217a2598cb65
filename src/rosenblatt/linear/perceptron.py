"""The perceptron as a scikit-learn estimator."""

import copy
import os
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.data.textblocks import cores
from rosenblatt.learner import Learner
from rosenblatt.learner.examples import CheckedExamples, max_row_sqnorm
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.learner.history import Trace, history_frame, trace_of
from rosenblatt.learner.training import NoImprovement, error_rate, margin_on, perceptron_loss
from rosenblatt.linear.base import (
    LinearClassifier,
    check_count,
    refuse_one_class,
    seed_of,
    unchanged_if_refused,
)
from rosenblatt.linear.epoch_trained import EpochTrained
from rosenblatt.storage import BadModel

# The improvement of the validation score that early_stopping asks for where tol is None.
VALIDATION_TOL = 1e-3
STOPPING = ("tol", "early_stopping", "validation_fraction", "n_iter_no_change")


def _has_weights(model: Any) -> bool:
    if model.hypothesis == "voted":
        raise AttributeError(
            "'voted' is a vote of many hyperplanes and has no weights of its own; choose another hypothesis, as by "
            "use('averaged')"
        )
    return True


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
    penalty : {"l2"} or None, default=None
        ``l2`` shrinks the weights by ``1 − ηα`` before every example: Rosenblatt's rule becomes
        :class:`~rosenblatt.rules.NORMA`, and ``alpha`` the ``lam`` of ``logistic``, ``pegasos`` and ``norma``.
        There is no L1 penalty.
    alpha : float, default=0.0001
        The weight of the penalty.
    l1_ratio : float, default=0.15
        Of ``penalty="elasticnet"``, which is accepted with ``l1_ratio=0``, where it is ``l2``.
    tol : float or None, default=None
        Stop once the mean loss ``max(0, −y·score)`` on the training data has not fallen by ``tol`` in
        ``n_iter_no_change`` epochs in a row. With None only an epoch without an update ends training before
        ``max_iter``.
    eta0 : float or None, default=None
        scikit-learn's name of ``eta``.
    n_jobs : int or None, default=None
        Number of threads, ``-1`` for all cores; it changes only the time that training takes.
    early_stopping : bool, default=False
        Do not learn from a stratified part of the examples, and stop once accuracy there has not risen by ``tol``
        (0.001 where that is None) in ``n_iter_no_change`` epochs in a row.
    validation_fraction : float, default=0.1
        The size of that part.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which ``tol`` and ``early_stopping`` end training.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, on scores of five folds: True or ``"platt"`` (Platt scaling), or
        ``"venn-abers"``, which needs 200 rows.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Weights and biases of the predicting hypothesis; ``coef_`` is sparse after :meth:`sparsify`.
    classes_, n_features_in_, feature_names_in_, n_iter_, t_ :
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

    ``tol`` and ``early_stopping`` measure the averaged weights where the hypothesis is ``averaged`` or ``voted``, else
    the last ones. Where ``tol`` is set and ``max_iter`` ends training first, scikit-learn's ``ConvergenceWarning`` is
    given.

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
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        tol: float | None = None,
        eta0: float | None = None,
        n_jobs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
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
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
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
        """Train until an epoch changes nothing, ``tol`` or ``early_stopping`` says so, or for ``max_iter`` epochs.

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
            measured = examples
            if self.early_stopping:
                examples, measured = self._split(examples)
        self.__dict__.pop("_sparse_coef", None)
        learner = self._begin()
        if coef_init is not None or intercept_init is not None:
            coef = np.zeros((1, examples.X.shape[1])) if coef_init is None else coef_init
            learner.start_from(coef, 0.0 if intercept_init is None else intercept_init, examples.classes)
        stop = self._stop_criterion(learner, measured)
        self._run_epochs(learner.train_checked, examples, stop=stop, threads=self._threads())
        if stop is not None and not (stop.reached or learner.converged) and self.tol is not None:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._calibrate(examples)
        if reference is not None:
            self.trace_ = self.trace(reference)
        return self

    def resolved_rule(self) -> Any:
        """Return the rule that ``fit`` learns by: ``rule`` with the learning rate and the penalty, checked.

        Returns
        -------
        rule

        Examples
        --------
        >>> Perceptron(penalty="l2", alpha=0.01, eta0=0.5).resolved_rule()
        NORMA(eta=0.5, lam=0.01, rho=0.0)
        """
        rule = rules.resolve(self.rule, self._learning_rate())
        if self.penalty is None:
            return rule
        if self.penalty != "l2" and not (self.penalty == "elasticnet" and self.l1_ratio == 0):
            raise ValueError(
                f"penalty={self.penalty!r} is not available: weights that are exactly zero need an L1 step for every "
                "feature at every example. Use penalty='l2', or select features first, as by "
                "sklearn.feature_selection.SelectFromModel"
            )
        if isinstance(rule, rules.Rosenblatt):
            return rules.resolve(rules.NORMA(rule.eta, self.alpha))
        if "lam" not in rule._fields:
            raise ValueError(
                f"penalty='l2' works with the rules rosenblatt, norma, logistic and pegasos, got {rule!r}: choose one "
                "of them, or penalty=None"
            )
        return rules.resolve(rule._replace(lam=self.alpha))

    def _learning_rate(self) -> float | None:
        if self.eta is not None and self.eta0 is not None and self.eta != self.eta0:
            raise ValueError(
                f"eta={self.eta!r} and eta0={self.eta0!r} are names of one learning rate: give one of them"
            )
        return self.eta0 if self.eta is None else self.eta

    # Predicting

    @property
    def coef_(self) -> Any:
        """Weights of the predicting hypothesis, one row per hyperplane; sparse after :meth:`sparsify`."""
        coef = super().coef_
        return csr_array(coef) if self.__dict__.get("_sparse_coef") else coef

    @available_if(_has_weights)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix, as scikit-learn's does; predictions are the same.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Make ``coef_`` a dense array again, which it is after ``fit``.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._sparse_coef = False
        return self

    @property
    def t_(self) -> float:
        """scikit-learn's counter of steps: one more than the number of examples visited (``clock_``)."""
        return self.clock_ + 1.0

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

    def history(self) -> Any:
        """Return every update of the training run as a data frame, as ``rosenblatt fit --trace`` writes it.

        Its columns are ``update``, ``clock`` (examples seen before it), ``row`` (counted from 1: ``X[row - 1]``),
        ``label``, ``class`` (whose weights are given), ``score`` before the update, ``tau`` (the step ``w += tau·x``),
        and bias and weights before and after it.

        Returns
        -------
        pandas.DataFrame, or polars.DataFrame where pandas is not installed, else pyarrow.Table

        Examples
        --------
        >>> clf = Perceptron(shuffle=False).fit([[2.0], [-1.0]], ["in", "out"])
        >>> clf.history()[["clock", "row", "label", "score", "x1 before", "x1 after"]]
           clock  row label  score  x1 before  x1 after
        0    0.0    1    in    0.0        0.0      -2.0
        """
        return history_frame(self.learner_, getattr(self, "feature_names_in_", None))

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
        metadata["parameters"] |= {
            "keep_ledger": bool(self.keep_ledger),
            "tol": None if self.tol is None else float(self.tol),
            "early_stopping": bool(self.early_stopping),
            "validation_fraction": float(self.validation_fraction),
            "n_iter_no_change": int(self.n_iter_no_change),
        }
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
        assert isinstance(parameters, dict)
        stopping = {name: parameters[name] for name in STOPPING if name in parameters}  # version 0.1 had none
        return cls._from_file(path, learner, metadata, keep_ledger=keep_ledger, **stopping)

    # Implementation

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.tol is not None and not self.tol > -np.inf:
            raise ValueError(f"tol must be a number or None, got {self.tol!r}")
        check_count("n_iter_no_change", self.n_iter_no_change)
        if not 0.0 < self.validation_fraction < 1.0:
            raise ValueError(f"validation_fraction must be in (0, 1), got {self.validation_fraction!r}")

    def _threads(self) -> int:
        """Return ``n_jobs`` as a number of threads: None is one, −1 all cores, −2 all but one."""
        if self.n_jobs is None:
            return 1
        if not isinstance(self.n_jobs, int | np.integer) or self.n_jobs == 0:
            raise ValueError(f"n_jobs must be an integer other than 0, or None, got {self.n_jobs!r}")
        return int(self.n_jobs) if self.n_jobs > 0 else max(1, cores() + 1 + int(self.n_jobs))

    def _split(self, examples: CheckedExamples) -> tuple[CheckedExamples, CheckedExamples]:
        """Return the examples to learn from, and a stratified part of ``validation_fraction`` to measure on."""
        from sklearn.model_selection import StratifiedShuffleSplit

        split = StratifiedShuffleSplit(
            1, test_size=self.validation_fraction, random_state=seed_of(self.random_state)
        )
        train, validation = next(split.split(np.zeros((examples.labels.size, 1)), examples.labels))
        parts = []
        for rows in (np.sort(train), np.sort(validation)):
            X, weight = examples.X[rows], examples.weight
            parts.append(
                examples._replace(
                    X=X,
                    labels=examples.labels[rows],
                    weight=None if weight is None else weight[rows],
                    max_sqnorm=max_row_sqnorm(X),
                )
            )
        return parts[0], parts[1]

    def _stop_criterion(self, learner: Learner, examples: CheckedExamples) -> NoImprovement | None:
        """Return when to stop before ``max_iter``, measured on these examples; None where nothing asks for it."""
        if self.tol is None and not self.early_stopping:
            return None
        hypothesis = "averaged" if self.hypothesis in ("averaged", "voted") else "last"
        measure = error_rate if self.early_stopping else perceptron_loss
        tol = VALIDATION_TOL if self.tol is None else self.tol

        def loss() -> float:
            labels = np.searchsorted(learner.classes, examples.classes)[examples.labels]
            return measure(learner, hypothesis, examples.X, labels)

        return NoImprovement(loss, tol, self.n_iter_no_change)

    def _new_learner(self) -> Learner:
        return Learner(
            self.rule if self.penalty is None else self.resolved_rule(),  # the learner resolves a rule itself
            eta=self._learning_rate(),
            multi_class=self.multi_class,
            fit_intercept=self.fit_intercept,
            keep_ledger=self.keep_ledger,
            seed=seed_of(self.random_state),
        )

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
        if self.early_stopping:
            raise ValueError("early_stopping holds out a part of all examples: set it to False, or use fit")
        examples = self._examples(X, y, sample_weight, reset=first, class_weight=self.class_weight)
        if first:
            self.learner_ = self._new_learner()
        self.learner_.learn_checked(examples, classes)

    def _margin_on(self, X: Any, labels: NDArray[np.int64]) -> float:
        self._hyperplanes()  # raises AttributeError for a hypothesis without weights
        return margin_on(self.learner_, self.hypothesis, X, labels)

    def _hyperplanes(self) -> NDArray[Any]:
        _has_weights(self)
        return self._learner().weights(self.hypothesis)
