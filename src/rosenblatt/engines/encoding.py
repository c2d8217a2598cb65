"""Fitting ``Attributes`` where the tables are: two questions to every partition, answers that merge.

The first asks for the statistics of every column, from which its kind follows, the second for categories, words and
moments. The encoder is then the one that ``fit`` on all rows makes: the same columns and categories, means and
deviations up to rounding.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.data.learn import Learned, TableStatistics, ValueLearner
from rosenblatt.data.schema import TableSchema, schema_from_dict

Ask = Callable[[Callable[..., Any], Any], list[Any]]  # asks every partition, in order


def is_encoder(estimator: Any) -> bool:
    """Whether an estimator is one that :func:`fit_encoder` fits."""
    return type(estimator).__name__ == "Attributes"


def is_pipeline(estimator: Any) -> bool:
    """Whether an estimator is a scikit-learn pipeline."""
    return isinstance(getattr(estimator, "steps", None), list)


def fit_encoder(encoder: Any, ask: Ask) -> Any:
    """Fit an encoder on partitions that stay where they are, and return it."""
    answers = [TableStatistics.from_dict(each) for each in ask(statistics_of, encoder) if each is not None]
    if not answers:
        raise ValueError("no partition has any rows: there is nothing to encode")
    statistics = answers[0]
    for later in answers[1:]:
        statistics.merge(later)
    decisions = statistics.decide(encoder.reading)
    blank = statistics.blank_schema(decisions)
    learner = ValueLearner(blank, encoder.reading)
    for answer in ask(values_of, (encoder, blank.to_dict())):
        if answer is not None:
            learner.merge(answer)
    encoder.schema_ = learner.schema()
    encoder.columns_ = Learned(encoder.schema_, decisions, statistics).reports()
    encoder.feature_names_in_ = np.array(statistics.names, dtype=object)
    encoder.n_features_in_ = len(statistics.names)
    return encoder


def statistics_of(part: Any, encoder: Any) -> dict[str, Any] | None:
    """Return the statistics of the columns of a partition."""
    if not part.shape[0]:
        return None
    rows = copy.copy(encoder).training_rows(part)
    statistics = TableStatistics(list(rows.columns), None)
    statistics.update(rows)
    return statistics.to_dict()


def values_of(part: Any, sent: tuple[Any, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the categories, words and moments of a partition whose kinds are known."""
    if not part.shape[0]:
        return None
    encoder, stored = sent
    schema = schema_from_dict(stored)
    assert isinstance(schema, TableSchema)
    learner = ValueLearner(schema, encoder.reading)
    learner.update(copy.copy(encoder).training_rows(part))
    return learner.to_dict()
