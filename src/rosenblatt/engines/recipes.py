"""From an estimator to the learner behind it and back. Engines know estimators by name and by their parameters only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt import rules
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.shard import Facts
from rosenblatt.engines.training import Plan, Tell, add_up, look_over, train_by_mixing
from rosenblatt.learner import Learner
from rosenblatt.learner.binary_bayes import BinaryBayes
from rosenblatt.learner.centroids import Centroids


def fit_on(
    engine: Engine,
    estimator: Any,
    *,
    mixing: str = "uniform",
    checkpoint: Any = None,
    tell: Tell | None = None,
    names: list[str] | None = None,
) -> Any:
    """Fit an estimator on the shards that an engine holds; it is then what its ``fit`` would have made of it.

    A model trained by mixing also has ``mixing_``, the record of the run.
    """
    make = maker_for(estimator)
    facts, shard_rows = look_over(engine)
    learner = make(estimator, facts)
    vars(estimator).pop("mixing_", None)
    if isinstance(learner, Learner):
        plan = Plan(
            estimator.max_iter,
            bool(estimator.shuffle),
            mixing,
            getattr(estimator, "class_weight", None),
            getattr(estimator, "hypothesis", "averaged"),
            checkpoint,
            tell,
            stock=hasattr(estimator, "hypothesis"),  # a logistic regression tells of no margin or bound
        )
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
    vars(estimator).pop("_pending", None)  # what an earlier fit would have measured
    vars(estimator).pop("_margin", None)
    return estimator


def maker_for(estimator: Any) -> Callable[[Any, Facts], Any]:
    """Return the function that makes the learner of an estimator, or say which estimators there are."""
    name = type(estimator).__name__
    if name not in _MAKERS:
        raise TypeError(f"an engine fits {', '.join(_MAKERS)} (and Attributes before them), got {name}")
    if getattr(estimator, "warm_start", False) and hasattr(estimator, "learner_"):
        raise ValueError("warm_start=True: an engine starts anew; fit a clone, or set warm_start=False")
    return _MAKERS[name]


def _perceptron(estimator: Any, facts: Facts) -> Learner:
    return Learner(
        rules.resolve(estimator.rule, estimator.eta),
        multi_class=estimator.multi_class,
        fit_intercept=estimator.fit_intercept,
        keep_ledger=False,
        seed=_seed(estimator.random_state),
    )


def _logistic(estimator: Any, facts: Facts) -> Learner:
    if estimator.solver != "online":
        raise ValueError(
            f"solver={estimator.solver!r} needs all examples at once: solver='online' can be mixed"
        )
    eta = estimator.eta
    if eta is None:
        reach = facts.reach + bool(estimator.fit_intercept)
        eta = 4.0 / reach if reach > 0.0 else 4.0
    return Learner(
        rules.Logistic(eta, estimator.lam),
        multi_class="ovr",
        fit_intercept=estimator.fit_intercept,
        keep_ledger=False,
        seed=_seed(estimator.random_state),
    )


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    drawn = np.random.randint if random_state is None else random_state.randint
    return int(drawn(np.iinfo(np.int32).max))


_MAKERS: dict[str, Callable[[Any, Facts], Any]] = {
    "Perceptron": _perceptron,
    "LogisticRegression": _logistic,
    "ClosestCentroid": lambda estimator, facts: Centroids(),
    "NaiveBayes": lambda estimator, facts: BinaryBayes(estimator.smoothing, estimator.binarize),
}
