"""From an estimator to the learner behind it and back. Engines know estimators by name and by their parameters only."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rosenblatt import rules
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.shard import Facts
from rosenblatt.engines.training import Plan, Tell, add_up, look_over, train_by_mixing
from rosenblatt.learner import Learner
from rosenblatt.learner.additive import BinaryBayes, Centroids, CountBayes


class Mixed(NamedTuple):
    """How training by mixing begins: what an estimator says, but no estimator, whose module workers need not load."""

    rule: Any
    multi_class: str
    fit_intercept: bool
    seed: int
    plan: Plan
    by_reach: bool = False  # whether the rule steps by 4/R², R² the largest ‖x‖² of all rows

    def learner(self, facts: Facts) -> Learner:
        """Return the learner for shards that say this of themselves."""
        rule = self.rule
        if self.by_reach:
            max_sqnorm = facts.max_sqnorm + self.fit_intercept
            rule = rule._replace(eta=4.0 / max_sqnorm if max_sqnorm > 0.0 else 4.0)
        return Learner(
            rule,
            multi_class=self.multi_class,
            fit_intercept=self.fit_intercept,
            keep_ledger=False,
            seed=self.seed,
        )


class Summed(NamedTuple):
    """How a learner begins that adds examples up."""

    new: Callable[[], Any]

    def learner(self, facts: Facts) -> Any:
        """Return the learner, whatever the shards say."""
        return self.new()


def fit_on(
    engine: Engine,
    estimator: Any,
    *,
    mixing: str = "uniform",
    checkpoint: Any = None,
    tell: Tell | None = None,
    names: list[str] | None = None,
    begin: "Mixed | Summed | None" = None,
) -> Any:
    """Fit an estimator on the shards that an engine holds; it is then what its ``fit`` would have made of it.

    A model trained by mixing also has ``mixing_``, the record of the run. ``begin`` where its beginning is known: it
    holds a seed that may have been drawn.
    """
    begin = begin or beginning_of(estimator, mixing)
    facts, shard_rows = look_over(engine)
    learner: Any = begin.learner(facts)
    vars(estimator).pop("mixing_", None)
    if isinstance(begin, Mixed):
        plan = begin.plan._replace(checkpoint=checkpoint, tell=tell)
        learner, estimator.mixing_ = train_by_mixing(engine, learner, facts, shard_rows, plan)
        estimator.n_iter_ = len(estimator.mixing_.epochs)
    else:
        add_up(engine, learner)
    estimator.learner_ = learner
    estimator.classes_ = learner.classes
    estimator.n_features_in_ = facts.n_features
    vars(estimator).pop("feature_names_in_", None)
    if names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    vars(estimator).pop("_margin_data", None)  # training data of an earlier fit
    vars(estimator).pop("_margin", None)
    return estimator


def beginning_of(estimator: Any, mixing: str = "uniform") -> Mixed | Summed:
    """Return how training begins; a seed is drawn where the estimator names none."""
    check_estimator(estimator)
    return _BEGINNINGS[type(estimator).__name__](estimator, mixing)


def check_estimator(estimator: Any) -> None:
    """Say which estimators an engine fits, where this is none of them."""
    name = type(estimator).__name__
    if name not in _BEGINNINGS:
        raise TypeError(f"an engine fits {', '.join(_BEGINNINGS)} (and Attributes before them), got {name}")
    if getattr(estimator, "warm_start", False) and hasattr(estimator, "learner_"):
        raise ValueError("warm_start=True: an engine starts anew; fit a clone, or set warm_start=False")


def _perceptron(estimator: Any, mixing: str) -> Mixed:
    if estimator.tol is not None or estimator.early_stopping:
        raise ValueError(
            "an engine trains until an epoch makes no update, or max_iter: set tol=None and early_stopping=False"
        )
    return Mixed(
        estimator.resolved_rule(),
        estimator.multi_class,
        bool(estimator.fit_intercept),
        _seed(estimator.random_state),
        _plan(estimator, mixing),
    )


def _logistic(estimator: Any, mixing: str) -> Mixed:
    if estimator.solver != "online":
        raise ValueError(
            f"solver={estimator.solver!r} needs all examples at once: LogisticRegression(solver='online') can be mixed"
        )
    return Mixed(
        rules.Logistic(4.0 if estimator.eta is None else estimator.eta, estimator.lam),
        "ovr",
        bool(estimator.fit_intercept),
        _seed(estimator.random_state),
        _plan(estimator, mixing),
        by_reach=estimator.eta is None,
    )


def _plan(estimator: Any, mixing: str) -> Plan:
    return Plan(
        10 if estimator.max_iter is None else estimator.max_iter,  # as LogisticRegression does
        bool(estimator.shuffle),
        mixing,
        getattr(estimator, "class_weight", None),
        getattr(estimator, "hypothesis", "averaged"),
        evaluate=hasattr(estimator, "hypothesis"),  # a logistic regression tells of no margin or bound
    )


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    drawn = np.random.randint if random_state is None else random_state.randint
    return int(drawn(np.iinfo(np.int32).max))


_BEGINNINGS: dict[str, Callable[[Any, str], Mixed | Summed]] = {
    "Perceptron": _perceptron,
    "LogisticRegression": _logistic,
    "ClosestCentroid": lambda estimator, mixing: Summed(
        partial(Centroids, estimator.shrink_threshold, estimator.priors)
    ),
    "NaiveBayes": lambda estimator, mixing: Summed(
        partial(
            BinaryBayes,
            estimator.alpha,
            estimator.binarize,
            fit_prior=estimator.fit_prior,
            class_prior=estimator.class_prior,
        )
    ),
    "MultinomialNaiveBayes": lambda estimator, mixing: Summed(
        partial(CountBayes, estimator.alpha, fit_prior=estimator.fit_prior, class_prior=estimator.class_prior)
    ),
}
