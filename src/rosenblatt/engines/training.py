"""Training on an engine, whichever it is: epochs of passes and mixing, or one pass of exact sums."""

import math
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.engines.checkpoint import Checkpoint
from rosenblatt.engines.mixing import MIXINGS, check_mixing, joined, mix, one_pass, shape_for, start_of
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.record import MixedEpoch, MixingRecord, mixed_corrections
from rosenblatt.engines.scoring import evaluate_on_shards
from rosenblatt.engines.shard import Facts, Setup, Shard, facts_of, facts_of_all
from rosenblatt.learner import Learner
from rosenblatt.learner.additive import ClassSums
from rosenblatt.learner.training import Epoch, run_epochs

Tell = Callable[[MixedEpoch], None]


class Plan(NamedTuple):
    """How to train by mixing."""

    max_iter: int = 10
    shuffle: bool = True
    mixing: str = "uniform"
    class_weight: Any = None  # a dict, "balanced" or None
    hypothesis: str = "averaged"
    checkpoint: str | os.PathLike[str] | None = None
    tell: Tell | None = None
    evaluate: bool = True  # whether to evaluate margins and accuracy at the end: one more look at every shard

    def check(self) -> None:
        """Raise ValueError for what an engine cannot do."""
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be 1 or more, got {self.max_iter!r}")
        if self.mixing not in MIXINGS:
            raise ValueError(f"mixing must be one of {', '.join(MIXINGS)}, got {self.mixing!r}")
        if hypotheses.check_name(self.hypothesis) in hypotheses.FROM_THE_LEDGER:
            raise ValueError(
                f"hypothesis={self.hypothesis!r} is read from the ledger, which names rows of one machine: "
                "on an engine 'last' and 'averaged' are known"
            )


def look_over(engine: Engine) -> tuple[Facts, tuple[int, ...]]:
    """Look over all shards once: what they hold together, and the rows of each."""
    every = engine.gather(facts_of)
    facts = facts_of_all(every)
    if facts.classes.size < 2:
        raise ValueError(
            f"y holds only one class, {facts.classes.tolist()[0]!r}: a classifier needs examples of two or more"
        )
    return facts, tuple(each.rows for each in every)


def train_by_mixing(
    engine: Engine, learner: Learner, facts: Facts, shard_rows: tuple[int, ...], plan: Plan
) -> tuple[Learner, MixingRecord]:
    """Train a learner that has seen nothing on the shards an engine holds: iterative parameter mixing.

    Stops after an epoch in which no shard moved, or after ``max_iter``. Returns the learner, which after a resume is
    the one from the checkpoint.
    """
    plan.check()
    setup = setup_of(learner, facts, plan)
    shape_for(learner, setup)
    shards = sum(rows > 0 for rows in shard_rows)
    if shards > 1:
        check_mixing(learner, "shards")
    epochs: list[MixedEpoch] = []
    checkpoint = None
    if plan.checkpoint is not None:
        checkpoint = Checkpoint(plan.checkpoint, setup, plan.mixing, shard_rows, facts)
        resumed = checkpoint.load()
        if resumed is not None:
            learner, epochs = resumed

    def visit_all(number: int) -> bool:
        epoch, moved = _epoch(engine, learner, setup, plan, shards)
        epochs.append(epoch)
        return moved

    def on_epoch(epoch: Epoch) -> None:
        if checkpoint is not None:
            checkpoint.save(learner, epochs)
        if plan.tell is not None:
            plan.tell(epochs[-1])

    if len(epochs) < plan.max_iter and not learner.converged:
        run_epochs(learner, visit_all, plan.max_iter - len(epochs), on_epoch)
    learner.rows_seen += facts.rows
    bound = math.inf
    if plan.evaluate:
        start = start_of(learner, setup, plan.mixing, shards == 1)
        bound = evaluate_on_shards(engine, learner, start, shards)
    if checkpoint is not None:
        checkpoint.remove()
    return learner, MixingRecord(engine.name, plan.mixing, shard_rows, tuple(epochs), bound)


def setup_of(learner: Learner, facts: Facts, plan: Plan) -> Setup:
    """Return what every pass agrees on, given what the shards say of themselves."""
    return Setup(
        learner.rule,
        learner.multi_class,
        bool(learner.bias_input),
        learner.seed,
        plan.shuffle,
        facts.classes,
        facts.n_features,
        facts.dtype,
        _class_weight(plan.class_weight, facts),
    )


def add_up(engine: Engine, learner: ClassSums) -> None:
    """Let every shard add its examples, once, and merge the sums: the model of all examples."""
    merged = engine.reduce(_summed, learner, _merged)
    if merged is None:
        raise ValueError("no shard has any rows: there is nothing to learn from")
    learner.merge(merged)


def _epoch(
    engine: Engine, learner: Learner, setup: Setup, plan: Plan, shards: int
) -> tuple[MixedEpoch, bool]:
    """Run one epoch on all shards; return its record and whether any shard changed its weights."""
    began = time.perf_counter()
    start = start_of(learner, setup, plan.mixing, alone=shards == 1)
    outcome = engine.reduce(one_pass, start, joined)
    moved = mix(learner, outcome)
    if not np.isfinite(learner.running["sqnorm"]).all():
        raise ValueError("the weights grew beyond what a float can hold: scale the features, or clip them")
    passes = outcome.passes
    epoch = MixedEpoch(
        len(learner.epochs) + 1,
        sum(each.mistakes for each in passes),
        sum(each.updates for each in passes),
        mixed_corrections(passes, plan.mixing),
        max([time.perf_counter() - began, *(each.seconds for each in passes)]),  # some were run beforehand
        start.nbytes * shards,
        sum(each.nbytes for each in passes),
        passes,
    )
    return epoch, moved


def _summed(shard: Shard, learner: ClassSums) -> ClassSums | None:
    if not shard.y.size:
        return None
    part = type(learner)(**learner.parameters())
    part.learn(shard.X, shard.y, shard.weight)
    return part


def _merged(parts: list[ClassSums | None]) -> ClassSums | None:
    some = [part for part in parts if part is not None]
    if not some:
        return None
    whole = type(some[0])(**some[0].parameters())
    for part in some:
        whole.merge(part)
    return whole


def _class_weight(wanted: Any, facts: Facts) -> NDArray[np.float64] | None:
    """Return the weight of every class, as scikit-learn counts it."""
    if wanted is None:
        return None
    if isinstance(wanted, str):
        if wanted != "balanced":
            raise ValueError(f"class_weight must be 'balanced', a dict or None, got {wanted!r}")
        return np.asarray(facts.rows / (facts.classes.size * facts.counts.astype(np.float64)))
    return np.array([float(wanted.get(label, 1.0)) for label in facts.classes.tolist()])
