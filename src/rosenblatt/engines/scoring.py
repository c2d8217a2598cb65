"""Evaluation on shards that stay where they are: margins, accuracy, confusions."""

import math
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engines.mixing import PassLearner, Start
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.record import mixing_bound
from rosenblatt.engines.shard import Shard
from rosenblatt.learner import Evaluation, Learner
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.learner.training import Tally, column_sqnorms, evaluator_on


class ConfusionMatrix(NamedTuple):
    """Right and wrong predictions of a model on labelled data, wherever they lie."""

    rows: int
    accuracy: float
    classes: NDArray[Any]  # of the model, and of the data beyond them
    confusion: NDArray[np.int64]  # [true class, predicted class]


def evaluate_on_shards(engine: Engine, learner: Learner, start: Start, shards: int) -> float:
    """Evaluate the last and the averaged weights on the training data; return the mixing bound.

    With one shard the evaluations are those of training on it.
    """
    if shards == 1:
        alone = [each for each in engine.gather(_evaluations_alone, start) if each is not None]
        learner.evaluations = alone[0]
    weights = {name: learner.weights(name) for name in ("last", "averaged")}
    every = engine.gather(_tallies, weights, start.setup.classes, learner.joint)
    bound = math.inf
    for name, own_weights in weights.items():
        tally = reduce(Tally.merged, (tallies[name] for tallies in every if tallies is not None))
        sqnorm = column_sqnorms(own_weights, learner.joint)
        margins = tally.worst / np.where(sqnorm > 0.0, np.sqrt(sqnorm), 1.0)
        own_bound = mixing_bound(learner, margins)
        bound = min(bound, own_bound)
        if shards > 1:  # Σ k ≤ S·Σ μ k, since μ is even or grows with k
            accuracy = tally.correct / tally.rows
            learner.evaluations[name] = Evaluation(tally.margin(sqnorm), shards * own_bound, accuracy)
    return bound


def evaluate_on(engine: Engine, model: Any) -> ConfusionMatrix:
    """Count right and wrong predictions of a fitted estimator on every shard."""
    classes, weights = model.classes_, model.learner_.weights(*hypothesis_of(model))
    seen_as = getattr(model.learner_, "binary", None)  # naive Bayes looks at rows as zeros and ones
    counted: dict[tuple[Any, Any], int] = {}
    for pairs in engine.gather(_confusions, weights, classes, seen_as):
        for pair, count in pairs.items():
            counted[pair] = counted.get(pair, 0) + count
    if not counted:
        raise ValueError("no shard has any rows: there is nothing to evaluate on")
    known = np.union1d(classes, np.array([truth for truth, _ in counted]))
    confusion = np.zeros((known.size, known.size), np.int64)
    for (truth, guess), count in counted.items():
        confusion[np.searchsorted(known, truth), np.searchsorted(known, guess)] = count
    rows = int(confusion.sum())
    return ConfusionMatrix(rows, float(np.trace(confusion)) / rows, known, confusion)


def hypothesis_of(model: Any) -> tuple[str, ...]:
    """Return what a model predicts by, to be handed to its learner; nothing where the learner knows it by itself."""
    named = getattr(model, "hypothesis", None)
    return () if named is None else (named,)


def _evaluations_alone(shard: Shard, start: Start) -> dict[str, Evaluation] | None:
    if not shard.y.size:
        return None
    labels, visits = shard.visits(start.setup, start.epoch - 1)
    return PassLearner(start).evaluate(shard, labels, visits, start.epoch)


def _tallies(
    shard: Shard, weights: dict[str, NDArray[Any]], classes: NDArray[Any], joint: bool
) -> dict[str, Tally] | None:
    if not shard.y.size:
        return None
    labels = np.searchsorted(classes, shard.y)
    return evaluator_on(weights, shard.X, labels, None, joint, room=0.0).tallies


def _confusions(
    shard: Shard, weights: NDArray[Any], classes: NDArray[Any], seen_as: Any
) -> dict[tuple[Any, Any], int]:
    if not shard.y.size:
        return {}
    X, wide = shard.X, weights.shape[1] - 1
    if X.shape[1] > wide and not isinstance(X, np.ndarray):
        X = X[:, :wide]  # features that training never saw
    if X.shape[1] > wide or (X.shape[1] < wide and isinstance(X, np.ndarray)):
        raise ValueError(f"the rows have {X.shape[1]} features, the model {wide}")
    X = X if seen_as is None else seen_as(X)
    scores = linear_scores(X, weights[:, : 1 + X.shape[1]])
    guesses = decided(scores[:, 0] if weights.shape[0] == 1 else scores, classes)
    counted: dict[tuple[Any, Any], int] = {}
    for pair in zip(shard.y.tolist(), guesses.tolist(), strict=True):
        counted[pair] = counted.get(pair, 0) + 1
    return counted
