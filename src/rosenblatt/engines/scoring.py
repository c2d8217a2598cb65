"""How a model stands on shards that stay where they are: margins, accuracy, confusions."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engines.mixing import PassLearner, Start
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.record import mixing_bound
from rosenblatt.engines.shard import Shard
from rosenblatt.learner import Learner, Standing
from rosenblatt.learner.evaluation import SCORES_AT_ONCE, is_correct
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.proofs.bounds import signed_margins


class Evaluation(NamedTuple):
    """How a model does on labelled data, wherever they lie."""

    rows: int
    accuracy: float
    classes: NDArray[Any]  # of the model, and of the data beyond them
    confusion: NDArray[np.int64]  # [true class, predicted class]


class _Measured(NamedTuple):
    margins: NDArray[np.float64]  # the least y·score of each hypothesis' column
    right: int
    rows: int


def take_stock(engine: Engine, learner: Learner, start: Start, shards: int) -> float:
    """Measure the last and the averaged weights on the training data; return the mixing bound.

    With one shard this is what training on it would have said.
    """
    if shards == 1:
        told = [found for found in engine.gather(_stock_alone, start) if found is not None]
        learner.standings = told[0]
    every = {name: learner.weights(name) for name in ("last", "averaged")}
    found = engine.gather(_measure, every, start.setup.classes, learner.joint)
    bound = math.inf
    for name, weights in every.items():
        parts = [each[name] for each in found if each is not None]
        sqnorm = (weights.astype(np.float64) ** 2).sum(axis=1)
        sqnorm = np.array([sqnorm.sum()]) if learner.joint else sqnorm
        margins = np.min([part.margins for part in parts], axis=0) / np.where(
            sqnorm > 0.0, np.sqrt(sqnorm), 1.0
        )
        own = mixing_bound(learner, margins)
        bound = min(bound, own)
        if shards > 1:  # Σ k ≤ S·Σ μ k, since μ is even or grows with k
            right = sum(part.right for part in parts) / sum(part.rows for part in parts)
            learner.standings[name] = Standing(float(margins.min()), shards * own, right)
    return bound


def evaluate_on(engine: Engine, model: Any) -> Evaluation:
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
    return Evaluation(rows, float(np.trace(confusion)) / rows, known, confusion)


def hypothesis_of(model: Any) -> tuple[str, ...]:
    """Return what a model predicts by, to be handed to its learner; nothing where the learner knows it by itself."""
    named = getattr(model, "hypothesis", None)
    return () if named is None else (named,)


def _stock_alone(shard: Shard, start: Start) -> dict[str, Standing] | None:
    if not shard.y.size:
        return None
    labels, visits = shard.visits(start.setup, start.epoch - 1)
    found: dict[str, Standing] = PassLearner(start).stock(shard, labels, visits, start.epoch)
    return found


def _measure(
    shard: Shard, every: dict[str, NDArray[Any]], classes: NDArray[Any], joint: bool
) -> dict[str, _Measured] | None:
    if not shard.y.size:
        return None
    labels = np.searchsorted(classes, shard.y)
    names, rows = list(every), next(iter(every.values())).shape[0]
    at_once = max(1, SCORES_AT_ONCE // (rows * labels.size))  # the rows are read once for all of these
    found = {}
    for first in range(0, len(names), at_once):
        group = names[first : first + at_once]
        weights = np.concatenate([every[name] for name in group])
        scores = linear_scores(shard.X, weights[:, : 1 + shard.X.shape[1]])
        for name, own in zip(group, np.split(scores, len(group), axis=1), strict=True):
            margins = signed_margins(own, labels, joint).min(axis=0)
            found[name] = _Measured(margins, int(is_correct(own, labels).sum()), labels.size)
    return found


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
