"""Shared base of the estimators that learn in epochs: the linear perceptron and the kernel perceptron."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.learner import Epoch
from rosenblatt.learner.training import NoImprovement
from rosenblatt.linear.base import check_count, set_learner, warn_of_preprocessing
from rosenblatt.linear.probabilities import Probabilities
from rosenblatt.storage import BadModel

LearnerT = TypeVar("LearnerT", bound=Any)


class EpochTrained(Probabilities, Generic[LearnerT]):
    """Training, the attributes that report on it, and model files; the estimator checks the data.

    A subclass defines :meth:`_new_learner` and :meth:`_learn_batch`.
    """

    learner_: LearnerT  # a Learner or a KernelLearner
    rule: Any
    eta: float | None
    hypothesis: str
    max_iter: int
    shuffle: bool
    class_weight: Any
    warm_start: bool
    verbose: int
    n_iter_: int
    classes_: Any

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch once, in the given order; classes not seen before are added.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            Classes that may occur later; not required.
        sample_weight : array-like of shape (n,), optional
            A weight of k presents an example k times; a fraction scales its step; zero leaves it out.

        Returns
        -------
        self
        """
        first = not hasattr(self, "learner_")
        self._check_hypothesis(self.hypothesis)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all labels at once: give a dict, or use fit")
        if self.probability:
            self._add_progressive_scores(X, y)
        self._learn_batch(X, y, classes, sample_weight, first)
        self.n_iter_ = 1
        self.classes_ = self._learner().classes
        return self

    # Parameters of the rule

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep``, also those of the rule, as ``rule__C``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
        """
        parameters: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        if deep:
            rule = self._rule_object()
            parameters |= {f"rule__{name}": getattr(rule, name) for name in getattr(rule, "_fields", ())}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; ``rule__C=0.1`` replaces the rule by one with that parameter.

        Parameters
        ----------
        **parameters : dict

        Returns
        -------
        self
        """
        of_rule = {name: value for name, value in parameters.items() if name.startswith("rule__")}
        super().set_params(**{name: parameters[name] for name in parameters if name not in of_rule})  # type: ignore[misc]
        rule = self._rule_object()
        values = {name.removeprefix("rule__"): value for name, value in of_rule.items()}
        for name in values:
            if name not in getattr(rule, "_fields", ()):
                raise ValueError(
                    f"Invalid parameter {name!r} for rule {rule!r}. Valid parameters are: "
                    f"{list(getattr(rule, '_fields', ()))!r}."
                )
        if any(getattr(rule, name) != value for name, value in values.items()):
            self.rule = rule._replace(**values)
        return self

    def _rule_object(self) -> Any:
        """Return the rule; where it is named, an object with ``eta`` and the rule's defaults, not checked yet."""
        cls = rules.BY_NAME.get(self.rule) if isinstance(self.rule, str) else None
        if cls is None:
            return self.rule
        eta = getattr(self, "eta0", None) if self.eta is None else self.eta
        return cls(eta=eta) if eta is not None and "eta" in cls._fields else cls()

    # Attributes that report on training

    @property
    def mistakes_(self) -> NDArray[np.int64]:
        """Number of mistakes in every epoch."""
        return np.array([epoch.mistakes for epoch in self._learner().epochs], dtype=np.int64)

    @property
    def n_mistakes_(self) -> int:
        """Number of mistakes in all epochs."""
        return int(self._learner().mistakes)

    @property
    def clock_(self) -> float:
        """Number of examples visited in all epochs; a weighted visit counts its weight."""
        return float(self._learner().clock)

    @property
    def radius_(self) -> float:
        """The largest norm of an example, in the space in which learning happens."""
        return float(self._learner().radius)

    @property
    def margin_(self) -> float:
        """The margin of the predicting hypothesis on the training data; nan where it was not measured."""
        evaluation = self._learner().evaluations.get(self.hypothesis)
        return float(evaluation.margin) if evaluation else float("nan")

    @property
    def mistake_bound_(self) -> float:
        """The rule's bound on the mistakes of this training; infinite where there is none."""
        evaluation = self._learner().evaluations.get(self.hypothesis)
        return float(evaluation.bound) if evaluation else float("inf")

    @property
    def converged_(self) -> bool:
        """Whether the last epoch changed nothing: no update, and no shrinking of the weights."""
        return bool(self._learner().converged)

    @property
    def ledger_(self) -> NDArray[Any]:
        """The ledger, a structured array with one line per update."""
        ledger = self._learner().ledger
        if ledger is None:
            raise AttributeError(
                "this model has no ledger: train with keep_ledger=True, without a budget, and by a rule whose steps "
                "are multiples of examples (not AROW, NAG, ScInOL, nor ALMA with p above 2)"
            )
        entries: NDArray[Any] = ledger.entries
        return entries

    # Training

    def _check_parameters(self) -> None:
        """Raise ValueError unless ``max_iter`` and ``hypothesis`` are valid."""
        check_count("max_iter", self.max_iter)
        self._check_hypothesis(self.hypothesis)

    def _begin(self) -> Any:
        """Return a new learner, or the learner of the last fit with ``warm_start``."""
        if not (self.warm_start and hasattr(self, "learner_")):
            self.learner_ = self._new_learner()
        return self.learner_

    def _run_epochs(
        self, train: Callable[..., None], *examples: Any, stop: NoImprovement | None = None, **options: Any
    ) -> None:
        """Train the learner, also until a stop criterion is reached; with ``verbose``, show a progress bar."""
        learner = self._learner()
        epochs_before = len(learner.epochs)
        with _progress(self.verbose, self.max_iter, stop) as on_epoch:
            train(*examples, max_iter=self.max_iter, shuffle=self.shuffle, on_epoch=on_epoch, **options)
        self.n_iter_ = len(learner.epochs) - epochs_before
        self.classes_ = learner.classes

    def _learner(self) -> LearnerT:
        """Return the learner; raise AttributeError before the first fit."""
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.learner_

    # Files

    def _training_metadata(self) -> dict[str, Any]:
        """Return what a model file stores beside the learner."""
        return {
            "estimator": type(self).__name__,
            "hypothesis": self.hypothesis,
            "parameters": {
                "max_iter": int(self.max_iter),
                "shuffle": bool(self.shuffle),
                "warm_start": bool(self.warm_start),
            },
            "n_iter": int(self.n_iter_),
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", [])] or None,
            **self._probability_metadata(),
        }

    @classmethod
    def _from_file(cls, path: Any, learner: Any, metadata: dict[str, Any], **options: Any) -> Self:
        """Return the estimator of a model file, from its learner and its metadata."""
        warn_of_preprocessing(path, metadata)
        estimator: Any = cls
        try:
            parameters = metadata["parameters"]
            model: Self = estimator(
                rule=learner.rule,
                hypothesis=hypotheses.check_name(metadata["hypothesis"]),
                fit_intercept=bool(learner.bias_input),
                random_state=learner.seed,
                multi_class=learner.multi_class,
                max_iter=int(parameters["max_iter"]),
                shuffle=bool(parameters["shuffle"]),
                warm_start=bool(parameters["warm_start"]),
                **options,
            )
            model.n_iter_ = int(metadata["n_iter"])
            set_learner(model, learner, metadata["feature_names"])
            model._restore_probabilities(metadata)
        except (KeyError, TypeError, ValueError) as error:
            raise BadModel(f"{path}: not a model of {cls.__name__}: {error}") from error
        return model

    # Defined by the estimator

    def _new_learner(self) -> Any:
        """Return an untrained learner with the estimator's parameters."""
        raise NotImplementedError

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
        """Check a batch and learn from it once, with a new learner where it is the first."""
        raise NotImplementedError

    def _check_hypothesis(self, name: str) -> None:
        """Raise ValueError unless this estimator can predict by the hypothesis."""
        hypotheses.check_name(name)


@contextmanager
def _progress(
    verbose: int, max_iter: int, stop: NoImprovement | None
) -> Iterator[Callable[[Epoch], bool | None] | None]:
    """Show a progress bar over epochs on standard error where ``verbose``; yield what to call after each."""
    if not verbose:
        yield stop
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("learning", total=max_iter)

        def advance(epoch: Epoch) -> bool | None:
            bar.update(task, advance=1, description=f"epoch {epoch.number}: {epoch.mistakes:,} mistakes")
            return stop(epoch) if stop is not None else None

        yield advance
