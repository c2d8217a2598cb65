"""Follow the leader: predict by the one of several predictors that made the fewest errors recently."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types

from rosenblatt.core.named import pointer_to
from rosenblatt.jit import exactly_compiled

GUESS_BITS = 31  # of each guess in a packed pair
ONE_GUESS = (1 << GUESS_BITS) - 1


@exactly_compiled
def follow_leader(
    guesses: Any, labels: Any, weights: Any, losses: Any, leader: int, decay: float, leaders: Any
) -> int:
    """Write the leading predictor of each row into ``leaders``, and return the one that leads at the next row.

    ``guesses`` holds the predicted classes, a column for each predictor. After each row every loss becomes
    ``decay·loss``, plus the weight of the row where that predictor was wrong; a predictor whose loss is strictly the
    smallest becomes the leader. So the leader of a row never depends on its label.
    """
    for t in range(labels.shape[0]):
        leaders[t] = leader
        best = leader
        for e in range(losses.shape[0]):
            losses[e] = decay * losses[e] + (weights[t] if guesses[t, e] != labels[t] else 0.0)
        for e in range(losses.shape[0]):
            if losses[e] < losses[best]:
                best = e
        leader = best
    return leader


@exactly_compiled
def follow_leader_by_one(
    guesses_at: int, losses_at: int, pairs: int, label: int, leader: int, decay: float
) -> int:
    """Return the predictor that leads after one row, as :func:`follow_leader` does, or a negative error code.

    ``guesses_at`` is the address of one integer for each pair of predictors, ``first << GUESS_BITS | second``, or a
    negative error code where a pair refused the row: the first of those is returned, and no loss changes.
    """
    guesses = numba.carray(pointer_to(guesses_at), pairs, np.int64)
    losses = numba.carray(pointer_to(losses_at), 2 * pairs, np.float64)
    for k in range(pairs):
        if guesses[k] < 0:
            return guesses[k]
    for k in range(pairs):
        first, second = guesses[k] >> GUESS_BITS, guesses[k] & ONE_GUESS
        losses[2 * k] = decay * losses[2 * k] + (1.0 if first != label else 0.0)
        losses[2 * k + 1] = decay * losses[2 * k + 1] + (1.0 if second != label else 0.0)
    best = leader
    for e in range(2 * pairs):
        if losses[e] < losses[best]:
            best = e
    return best


@cache
def leader_of_one() -> Callable[[int, int, int, int, int, float], int]:
    """Return :func:`follow_leader_by_one`, called without numba's inspection of its arguments."""
    i = types.int64
    function: Any = follow_leader_by_one
    follow: Callable[[int, int, int, int, int, float], int] = function.compile((i, i, i, i, i, types.float64))
    return follow
