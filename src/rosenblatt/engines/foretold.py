"""The first pass over a small shard, made while the shard is: as if all shards were like it.

What a pass starts from depends on all shards in a few things only: the classes, the number of features, and how far
rows reach where the step depends on that. A shard that assumes its own may be right; the driver looks whether it was,
and asks as ever where it was not. So the answer is the same, and a whole question is saved: worth a try where the pass
takes less time than to ask for it.
"""

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.engines.mixing import Outcome, Start, one_pass, shape_for, start_of
from rosenblatt.engines.recipes import Mixed
from rosenblatt.engines.shard import Facts, Shard
from rosenblatt.engines.training import setup_of

FEW_NUMBERS = 1 << 21  # that a shard stores: a pass takes some milliseconds
FEW_WEIGHTS = 1 << 14  # that an answer brings, twice: it travels although nobody has asked for it


class Foretold(NamedTuple):
    """A pass that nobody has asked for yet, and what it started from."""

    start: Start
    outcome: Outcome


def foretell(shard: Shard, facts: Facts, begin: Mixed) -> Foretold | None:
    """Make the first pass as if all shards were like this one; None where it is not worth a try, or goes wrong.

    What goes wrong is left to be said by the question itself.
    """
    numbers = shard.X.size if isinstance(shard.X, np.ndarray) else shard.X.nnz
    classes = facts.classes.size
    if not 0 < numbers <= FEW_NUMBERS or classes < 2 or classes * (1 + facts.n_features) > FEW_WEIGHTS:
        return None
    with suppress(Exception):
        learner = begin.learner(facts)
        setup = setup_of(learner, facts, begin.plan)
        shape_for(learner, setup)
        start = start_of(learner, setup, begin.plan.mixing, alone=False)
        return Foretold(start, one_pass(shard, start))
    return None


def came_true(every: list[Foretold | None], start: Start) -> bool:
    """Whether all passes started from what they are asked to start from, to the last bit."""
    return bool(every) and all(each is not None and _same(each.start, start) for each in every)


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and np.array_equal(one, other))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
