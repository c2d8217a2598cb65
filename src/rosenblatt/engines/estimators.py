"""Estimators on an engine: which learner an estimator trains, and how ``Attributes`` is fitted on partitions.

Engines know estimators by the names of their classes and parameters only: their modules need scikit-learn, whose import
takes a second.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rosenblatt import rules
from rosenblatt.data.schema import TableSchema, schema_from_dict
from rosenblatt.data.tables.learn import Learned, TableStatistics, ValueLearner
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.shards import ShardSummary
from rosenblatt.engines.training import OnEpoch, Plan, summarize_shards, train_by_mixing, train_by_sums
from rosenblatt.learner import Learner
from rosenblatt.learner.additive import BinaryBayes, Centroids, ClassSums, CountBayes

DEFAULT_EPOCHS = 10
_SUMS: dict[str, Callable[[Any], ClassSums]] = {
    "ClosestCentroid": lambda own: Centroids(own.shrink_threshold, own.priors),
    "NaiveBayes": lambda own: BinaryBayes(
        own.alpha, own.binarize, fit_prior=own.fit_prior, class_prior=own.class_prior
    ),
    "MultinomialNaiveBayes": lambda own: CountBayes(
        own.alpha, fit_prior=own.fit_prior, class_prior=own.class_prior
    ),
}
_SUPPORTED = ("Perceptron", "LogisticRegression", *_SUMS)


def check_estimator(estimator: Any) -> None:
    """Raise TypeError for an estimator that engines do not fit, ValueError for a parameter they do not support."""
    name = type(estimator).__name__
    if name not in _SUPPORTED:
        raise TypeError(f"an engine fits {', '.join(_SUPPORTED)} (and Attributes before them), got {name}")
    if getattr(estimator, "warm_start", False) and hasattr(estimator, "learner_"):
        raise ValueError(
            "warm_start=True: an engine trains from the beginning; fit a clone, or set warm_start=False"
        )
    if name == "Perceptron" and (estimator.tol is not None or estimator.early_stopping):
        raise ValueError(
            "an engine trains until an epoch makes no update, or max_iter: set tol=None and early_stopping=False"
        )
    if name == "LogisticRegression" and estimator.solver != "online":
        raise ValueError(
            f"solver={estimator.solver!r} needs all examples at once: LogisticRegression(solver='online') can be mixed"
        )


def fit_estimator(
    engine: Engine,
    estimator: Any,
    *,
    mixing: str = "uniform",
    checkpoint: Any = None,
    on_epoch: OnEpoch | None = None,
    names: list[str] | None = None,
) -> Any:
    """Fit an estimator on the shards of an engine, and return it with the attributes that its ``fit`` sets.

    An estimator trained by mixing also has ``mixing_``, the record of the run.
    """
    check_estimator(estimator)
    summary, shard_rows = summarize_shards(engine)
    vars(estimator).pop("mixing_", None)
    learner: Any
    if type(estimator).__name__ in _SUMS:
        learner = _SUMS[type(estimator).__name__](estimator)
        train_by_sums(engine, learner)
    else:
        plan = Plan(
            DEFAULT_EPOCHS if estimator.max_iter is None else estimator.max_iter,
            bool(estimator.shuffle),
            mixing,
            getattr(estimator, "class_weight", None),
            getattr(estimator, "hypothesis", "averaged"),
            checkpoint,
            on_epoch,
            evaluate=hasattr(estimator, "hypothesis"),  # a logistic regression has no margin or bound
        )
        learner = _mixed_learner(estimator, summary)
        learner, estimator.mixing_ = train_by_mixing(engine, learner, summary, shard_rows, plan)
        estimator.n_iter_ = len(estimator.mixing_.epochs)
    estimator.learner_ = learner
    estimator.classes_ = learner.classes
    estimator.n_features_in_ = summary.n_features
    vars(estimator).pop("feature_names_in_", None)
    if names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    vars(estimator).pop("_margin_data", None)  # training data of an earlier fit
    vars(estimator).pop("_margin", None)
    return estimator


def _mixed_learner(estimator: Any, summary: ShardSummary) -> Learner:
    """Return the untrained learner of an estimator; without a random state, its seed is drawn."""
    if type(estimator).__name__ == "LogisticRegression":
        eta = estimator.eta
        if eta is None:  # 4/R², R² the largest ‖x‖² of all rows
            max_sqnorm = summary.max_sqnorm + bool(estimator.fit_intercept)
            eta = 4.0 / max_sqnorm if max_sqnorm > 0.0 else 4.0
        rule, multi_class = rules.Logistic(eta, estimator.lam), "ovr"
    else:
        rule, multi_class = estimator.resolved_rule(), estimator.multi_class
    return Learner(
        rule,
        multi_class=multi_class,
        fit_intercept=bool(estimator.fit_intercept),
        keep_ledger=False,
        seed=_seed(estimator.random_state),
    )


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    draw = np.random.randint if random_state is None else random_state.randint
    return int(draw(np.iinfo(np.int32).max))


# Attributes: two requests to every partition, whose answers merge. The first is for the statistics of every column,
# which decide its kind, the second for categories, words and moments. The result is that of ``fit`` on all rows: the
# same columns and categories, means and deviations up to rounding.

MapPartitions = Callable[
    [Callable[[Any], Any]], list[Any]
]  # calls a function on the table of every partition


def is_encoder(estimator: Any) -> bool:
    """Return whether an estimator is one that :func:`fit_encoder` fits."""
    return type(estimator).__name__ == "Attributes"


def is_pipeline(estimator: Any) -> bool:
    """Return whether an estimator is a scikit-learn pipeline."""
    return isinstance(getattr(estimator, "steps", None), list)


def pipeline_steps(pipeline: Any) -> tuple[Any, Any]:
    """Return the encoder and the estimator of a pipeline; raise TypeError for other pipelines."""
    estimators = [step for _, step in pipeline.steps]
    if len(estimators) != 2 or not is_encoder(estimators[0]):
        raise TypeError("a pipeline on an engine is Attributes and then one estimator")
    return estimators[0], estimators[1]


def fit_encoder(encoder: Any, map_partitions: MapPartitions) -> Any:
    """Fit an encoder on partitions that stay where they are, and return it."""
    answers = map_partitions(partial(statistics_of, encoder=encoder))
    parts = [TableStatistics.from_dict(answer) for answer in answers if answer is not None]
    if not parts:
        raise ValueError("no partition has any rows: there is nothing to encode")
    statistics = parts[0]
    for later in parts[1:]:
        statistics.merge(later)
    decisions = statistics.decide(encoder.reading)
    blank = statistics.blank_schema(decisions, encoder.reading)
    learner = ValueLearner(blank, encoder.reading)
    for answer in map_partitions(partial(values_of, encoder=encoder, stored_schema=blank.to_dict())):
        if answer is not None:
            learner.merge(answer)
    encoder.schema_ = learner.schema()
    encoder.columns_ = Learned(encoder.schema_, decisions, statistics).reports()
    encoder.feature_names_in_ = np.array(statistics.names, dtype=object)
    encoder.n_features_in_ = len(statistics.names)
    return encoder


def statistics_of(table: Any, encoder: Any) -> dict[str, Any] | None:
    """Return the statistics of the columns of a partition, None where it is empty."""
    if not table.shape[0]:
        return None
    rows = copy.copy(encoder).training_rows(table)
    statistics = TableStatistics(list(rows.columns), None)
    statistics.update(rows)
    return statistics.to_dict()


def values_of(table: Any, encoder: Any, stored_schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the categories, words and moments of a partition, None where it is empty."""
    if not table.shape[0]:
        return None
    schema = schema_from_dict(stored_schema)
    assert isinstance(schema, TableSchema)
    learner = ValueLearner(schema, encoder.reading)
    learner.update(copy.copy(encoder).training_rows(table))
    return learner.to_dict()
