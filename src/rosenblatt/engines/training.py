"""Training and evaluation on an engine, whichever it is: epochs of passes and mixing, or one pass of exact sums."""

import math
import os
import time
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.engines.history import Checkpoint, MixedEpoch, MixingRecord, mixed_corrections, mixing_bound
from rosenblatt.engines.mixing import (
    MIXINGS,
    PassRequest,
    ShardLearner,
    check_mixable,
    mix,
    pass_request,
    resize_for,
)
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.shards import Shard, ShardSummary, TrainingSetup, combined_summary
from rosenblatt.learner import Evaluation, Learner
from rosenblatt.learner.additive import ClassSums
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.learner.training import Epoch, Tally, column_sqnorms, evaluator_on, run_epochs

OnEpoch = Callable[[MixedEpoch], None]


class Plan(NamedTuple):
    """The options of training by mixing."""

    max_iter: int = 10
    shuffle: bool = True
    mixing: str = "uniform"
    class_weight: Any = None  # a dict, "balanced" or None
    hypothesis: str = "averaged"
    checkpoint: str | os.PathLike[str] | None = None
    on_epoch: OnEpoch | None = None
    evaluate: bool = True  # whether to measure margins and accuracy at the end, by one more request
    standardised: bool = False  # the rows were standardised before: shuffle by rounded values

    def check(self) -> None:
        """Raise ValueError for options that no engine supports."""
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be 1 or more, got {self.max_iter!r}")
        if self.mixing not in MIXINGS:
            raise ValueError(f"mixing must be one of {', '.join(MIXINGS)}, got {self.mixing!r}")
        if hypotheses.check_name(self.hypothesis) in hypotheses.FROM_THE_LEDGER:
            raise ValueError(
                f"hypothesis={self.hypothesis!r} is read from the ledger, which an engine does not keep: "
                "choose 'last' or 'averaged'"
            )


def summarize_shards(engine: Engine) -> tuple[ShardSummary, tuple[int, ...]]:
    """Return the summary of all shards of an engine, and the rows of each."""
    summaries = engine.summaries()
    summary = combined_summary(summaries)
    if summary.classes.size < 2:
        raise ValueError(
            f"y holds only one class, {summary.classes.tolist()[0]!r}: a classifier needs examples of two or more"
        )
    return summary, tuple(each.rows for each in summaries)


# Mixing


def train_by_mixing(
    engine: Engine, learner: Learner, summary: ShardSummary, shard_rows: tuple[int, ...], plan: Plan
) -> tuple[Learner, MixingRecord]:
    """Train an untrained learner on the shards of an engine by iterative parameter mixing.

    Stops after an epoch in which no weight changed, or after ``max_iter``. Returns the learner, which after a resume is
    the one from the checkpoint.
    """
    plan.check()
    setup = training_setup(learner, summary, plan)
    resize_for(learner, setup)
    shards = sum(rows > 0 for rows in shard_rows)
    if shards > 1:
        check_mixable(learner, "shards")
    epochs: list[MixedEpoch] = []
    checkpoint = None
    if plan.checkpoint is not None:
        checkpoint = Checkpoint(plan.checkpoint, setup, plan.mixing, shard_rows, summary)
        resumed = checkpoint.load()
        if resumed is not None:
            learner, epochs = resumed

    def run_one(number: int) -> bool:
        epoch, changed = _run_epoch(engine, learner, setup, plan, shards)
        epochs.append(epoch)
        return changed

    def on_epoch(epoch: Epoch) -> None:
        if checkpoint is not None:
            checkpoint.save(learner, epochs)
        if plan.on_epoch is not None:
            plan.on_epoch(epochs[-1])

    if len(epochs) < plan.max_iter and not learner.converged:
        run_epochs(learner, run_one, plan.max_iter - len(epochs), on_epoch)
    learner.rows_seen += summary.rows
    bound = math.inf
    if plan.evaluate:
        request = pass_request(learner, setup, plan.mixing, single_shard=shards == 1)
        bound = evaluate_hypotheses(engine, learner, request, shards)
    if checkpoint is not None:
        checkpoint.remove()
    return learner, MixingRecord(engine.name, plan.mixing, shard_rows, tuple(epochs), bound)


def training_setup(learner: Learner, summary: ShardSummary, plan: Plan) -> TrainingSetup:
    """Return the settings that all passes share."""
    return TrainingSetup(
        learner.rule,
        learner.multi_class,
        bool(learner.bias_input),
        learner.seed,
        plan.shuffle,
        summary.classes,
        summary.n_features,
        summary.dtype,
        _class_weight(plan.class_weight, summary),
        plan.standardised,
    )


def _run_epoch(
    engine: Engine, learner: Learner, setup: TrainingSetup, plan: Plan, shards: int
) -> tuple[MixedEpoch, bool]:
    """Run one epoch on all shards; return its figures and whether any weight changed."""
    began = time.perf_counter()
    request = pass_request(learner, setup, plan.mixing, single_shard=shards == 1)
    outcome = engine.reduce(request)
    changed = mix(learner, outcome)
    if not np.isfinite(learner.running["sqnorm"]).all():
        raise ValueError("the weights overflowed to infinity: scale the features, or clip them")
    passes = outcome.passes
    epoch = MixedEpoch(
        len(learner.epochs) + 1,
        sum(each.mistakes for each in passes),
        sum(each.updates for each in passes),
        mixed_corrections(passes, plan.mixing),
        time.perf_counter() - began,
        request.nbytes * shards,
        sum(each.nbytes for each in passes),
        passes,
    )
    return epoch, changed


def _class_weight(option: Any, summary: ShardSummary) -> NDArray[np.float64] | None:
    """Return the weight of every class, as scikit-learn computes it."""
    if option is None:
        return None
    if isinstance(option, str):
        if option != "balanced":
            raise ValueError(f"class_weight must be 'balanced', a dict or None, got {option!r}")
        return np.asarray(summary.rows / (summary.classes.size * summary.counts.astype(np.float64)))
    return np.array([float(option.get(label, 1.0)) for label in summary.classes.tolist()])


# Per-class sums


class SumRequest:
    """A request for the per-class sums of a shard: those of centroids and naive Bayes. Sums of shards add up."""

    def __init__(self, learner: ClassSums) -> None:
        self.learner = learner

    def answer(self, shard: Shard) -> ClassSums | None:
        """Return the sums of a shard, None where it is empty."""
        if not shard.y.size:
            return None
        sums = type(self.learner)(**self.learner.parameters())
        sums.learn(shard.X, shard.y, shard.weight)
        return sums

    def combine(self, answers: list[ClassSums | None]) -> ClassSums | None:
        """Add up the sums."""
        filled = [sums for sums in answers if sums is not None]
        if not filled:
            return None
        total = type(filled[0])(**filled[0].parameters())
        for sums in filled:
            total.merge(sums)
        return total


def train_by_sums(engine: Engine, learner: ClassSums) -> None:
    """Train a learner of per-class sums in one pass; the result is that of all examples together."""
    total = engine.reduce(SumRequest(learner))
    if total is None:
        raise ValueError("no shard has any rows: there is nothing to learn from")
    learner.merge(total)


# Evaluation


class ConfusionMatrix(NamedTuple):
    """Right and wrong predictions of a model on labelled data of an engine."""

    rows: int
    accuracy: float
    classes: NDArray[Any]  # of the model, and of the data beyond them
    confusion: NDArray[np.int64]  # [true class, predicted class]


class EvaluationRequest(NamedTuple):
    """A request for the evaluations of a single shard, which are those of local training."""

    state: PassRequest

    def answer(self, shard: Shard) -> dict[str, Evaluation] | None:
        """Return the evaluation of every hypothesis, None where the shard is empty."""
        if not shard.y.size:
            return None
        labels, visits = shard.visits(self.state.setup, self.state.epoch - 1)
        return ShardLearner(self.state).evaluate(shard, labels, visits, self.state.epoch)


class TallyRequest(NamedTuple):
    """A request for right predictions and worst margins of some weights."""

    weights: dict[str, NDArray[Any]]  # by hypothesis
    classes: NDArray[Any]
    joint: bool

    def answer(self, shard: Shard) -> dict[str, Tally] | None:
        """Return the tally of every hypothesis, None where the shard is empty."""
        if not shard.y.size:
            return None
        labels = np.searchsorted(self.classes, shard.y)
        return evaluator_on(self.weights, shard.X, labels, None, self.joint, margin_bytes=0.0).tallies


class ConfusionRequest(NamedTuple):
    """A request for the counts of pairs (true class, predicted class)."""

    weights: NDArray[Any]
    classes: NDArray[Any]
    binarize: Callable[[Any], Any] | None  # naive Bayes reads rows as zeros and ones

    def answer(self, shard: Shard) -> dict[tuple[Any, Any], int]:
        """Return the count of every pair that occurs."""
        if not shard.y.size:
            return {}
        X, width = shard.X, self.weights.shape[1] - 1
        if X.shape[1] > width and not isinstance(X, np.ndarray):
            X = X[:, :width]  # features that training never saw
        if X.shape[1] > width or (X.shape[1] < width and isinstance(X, np.ndarray)):
            raise ValueError(f"the rows have {X.shape[1]} features, the model {width}")
        X = X if self.binarize is None else self.binarize(X)
        scores = linear_scores(X, self.weights[:, : 1 + X.shape[1]])
        predictions = decided(scores[:, 0] if self.weights.shape[0] == 1 else scores, self.classes)
        counts: dict[tuple[Any, Any], int] = {}
        for pair in zip(shard.y.tolist(), predictions.tolist(), strict=True):
            counts[pair] = counts.get(pair, 0) + 1
        return counts


def evaluate_hypotheses(engine: Engine, learner: Learner, request: PassRequest, shards: int) -> float:
    """Evaluate the last and the averaged weights on the training data; return the mixing bound.

    With one shard the evaluations are those of local training.
    """
    if shards == 1:
        answers = engine.gather(EvaluationRequest(request))
        learner.evaluations = next(each for each in answers if each is not None)
    weights = {name: learner.weights(name) for name in ("last", "averaged")}
    every_tally = engine.gather(TallyRequest(weights, request.setup.classes, learner.joint))
    bound = math.inf
    for name, own_weights in weights.items():
        tally = reduce(Tally.merged, (tallies[name] for tallies in every_tally if tallies is not None))
        sqnorm = column_sqnorms(own_weights, learner.joint)
        margins = tally.worst / np.where(sqnorm > 0.0, np.sqrt(sqnorm), 1.0)
        own_bound = mixing_bound(learner, margins)
        bound = min(bound, own_bound)
        if shards > 1:  # Σ k ≤ S·Σ μ k, since μ is even or grows with k
            accuracy = tally.correct / tally.rows
            learner.evaluations[name] = Evaluation(tally.margin(sqnorm), shards * own_bound, accuracy)
    return bound


def evaluate_model(engine: Engine, model: Any) -> ConfusionMatrix:
    """Count right and wrong predictions of a fitted estimator on every shard."""
    classes, weights = model.classes_, model.learner_.weights(*hypothesis_of(model))
    binarize = getattr(model.learner_, "binary", None)
    counts: dict[tuple[Any, Any], int] = {}
    for pairs in engine.gather(ConfusionRequest(weights, classes, binarize)):
        for pair, count in pairs.items():
            counts[pair] = counts.get(pair, 0) + count
    if not counts:
        raise ValueError("no shard has any rows: there is nothing to evaluate on")
    labels = np.union1d(classes, np.array([true for true, _ in counts]))
    confusion = np.zeros((labels.size, labels.size), np.int64)
    for (true, predicted), count in counts.items():
        confusion[np.searchsorted(labels, true), np.searchsorted(labels, predicted)] = count
    rows = int(confusion.sum())
    return ConfusionMatrix(rows, float(np.trace(confusion)) / rows, labels, confusion)


def hypothesis_of(model: Any) -> tuple[str, ...]:
    """Return the hypothesis of a model as arguments for its learner; empty where the learner has only one."""
    name = getattr(model, "hypothesis", None)
    return () if name is None else (name,)
