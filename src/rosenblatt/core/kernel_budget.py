"""The loop in its dual form under a budget: never more support rows than there are slots.

Every kernel value a visit needs is at hand: with the support rows as they were before the block, with the block's
own rows, and among support rows. When the slots are full, a row makes room or the update is projected.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.geometry import MAX_SCALE, MIN_SCALE
from rosenblatt.core.kernel_block import Space, fold
from rosenblatt.core.kernel_forget import (
    DEPENDENT,
    drop,
    lacking,
    longest_ago,
    named,
    project,
    score_of_slot,
    spread_out,
)
from rosenblatt.core.loop import class_pair, decide
from rosenblatt.core.order import FIRST, GOLDEN, S27, S30, S31, SECOND
from rosenblatt.core.state import State
from rosenblatt.jit import compiled, compiled_for_rules

OLDEST, RANDOM, PROJECT = 0, 1, 2  # how Budget says what to do when the slots are full


class BudgetBlock(NamedTuple):
    """A block of visits to a few rows, and the kernel values of these rows in units."""

    visits: NDArray[np.int64]
    weight: NDArray[np.float64]
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    beside: NDArray[Any]  # (rows, support rows before the block)
    gram: NDArray[Any]  # (rows, rows)


class Budget(NamedTuple):
    """The slots and what is known about them."""

    holder: NDArray[np.int64]  # the example in each slot, or -1
    home: NDArray[np.int64]  # the row of this block that fills the slot, or -1: it was there before
    slots: NDArray[np.int64]  # of every example of this data: its slot, or -1
    since: NDArray[np.int64]  # of every slot: the number of the visit that last corrected its row
    gram: NDArray[np.float64]  # among support rows, in true units, slack included
    factor: NDArray[np.float64]  # its Cholesky factor, for projections, else empty
    counts: NDArray[np.int64]  # slots in use, slots emptied so far, visits that corrected
    toll: NDArray[Any]  # TOLL, one: what forgetting cost
    moves: NDArray[np.float64]  # room: the step of each hypothesis
    rivals: NDArray[np.int64]  # room: the class each step is against, or -1
    near: NDArray[np.float64]  # room: kernel of the visit with every slot
    shares: NDArray[np.float64]  # room: the projection of the visit, as a sum of the rows in the slots
    strategy: int
    eta: float  # the step of a rule whose mistakes are bounded under a budget, else 0
    tolerance: float  # a row nearer than this to what the others span, for its length, is projected
    seed: int


@compiled_for_rules
def visit_block_on_budget(
    rule: Any, block: BudgetBlock, space: Space, state: State, budget: Budget, first_row: int
) -> None:
    """Decide the visits of a block.

    All hypotheses decide on what they were when the visit began; then room is made, once, and all move.
    """
    visits, weights, rows, labels, _, gram = block
    W, average_offset, running, scores, totals = (
        state.W,
        state.average_offset,
        state.running,
        state.scores,
        state.totals[0],
    )
    moves, rivals, near, toll = budget.moves, budget.rivals, budget.near, budget.toll[0]
    value_scale, slack = space
    classes, hypotheses, room = scores.shape[0], running.shape[0], budget.holder.shape[0]
    joint = classes > hypotheses
    weight = 1.0
    for t in range(visits.shape[0]):
        p = visits[t]
        i = rows[p]
        slot = budget.slots[i]
        if weights.shape[0] > 0:
            weight = weights[t]
        _meet(block, budget, W, scores, value_scale, p)
        if slot >= 0 and slack != 0.0:
            near[slot] += slack
            for c in range(classes):
                scores[c] += W[c, slot] * slack
        x_sqnorm = value_scale * float(gram[p, p]) + slack
        totals.max_sqnorm = max(totals.max_sqnorm, x_sqnorm)
        moved = 0.0
        for c in range(hypotheses):
            own = running[c]
            pair = class_pair(labels, p, c, hypotheses, scores)
            rivals[c] = pair.rival
            score, size = own.scale * pair.score, 2.0 * x_sqnorm if joint else x_sqnorm
            decision = decide(rule, pair, score, size, own.sqnorm, own.updates, totals.clock, False)
            totals.mistakes += decision.mistake
            if decision.shrink != 1.0:
                own.sqnorm *= decision.shrink * decision.shrink
                own.decay *= decision.shrink
                own.scale *= decision.shrink
                _keep_in_range(
                    own, -1 if joint else c, W, average_offset, budget
                )  # before the step: it may be zero
            moves[c] = weight * decision.tau * pair.y
            moved += weight * (decision.tau != 0.0)
        projected = False
        if moved > 0.0:
            budget.counts[2] += 1
            toll.mistakes += moved
            if slot < 0:
                full = budget.counts[0] == room
                slot = budget.counts[0]
                if budget.strategy == PROJECT:
                    lacks = lacking(budget, x_sqnorm)
                    projected = full or lacks <= max(budget.tolerance**2, DEPENDENT) * x_sqnorm
                    if projected:
                        spread_out(budget)
                        toll.short += moved * np.sqrt(max(lacks, 0.0))
                elif full:
                    if budget.strategy == OLDEST:
                        slot = longest_ago(budget.since)
                    else:
                        slot = drawn_slot(budget.seed, budget.counts[1], room)
                    target = labels[p] if joint else -1
                    size = 2.0 * totals.max_sqnorm if joint else totals.max_sqnorm
                    drop(slot, target, size, moved, state, budget, budget.strategy == OLDEST)
                    if budget.holder[slot] >= first_row:
                        budget.slots[budget.holder[slot] - first_row] = -1
                if not projected:
                    named(slot, i, p, first_row, x_sqnorm, budget)
            if not projected:
                budget.since[slot] = budget.counts[2]
        for c in range(hypotheses):
            own = running[c]
            if moves[c] != 0.0:
                target = labels[p] if joint else c
                own.updates += 1
                totals.updates += 1
                if projected:
                    project(W, average_offset, own, target, rivals[c], moves[c], budget)
                else:
                    _add(W, average_offset, own, target, rivals[c], slot, moves[c], budget)
            own.decay = 1.0
            own.scale_sum += weight * own.scale
            _keep_in_range(own, -1 if joint else c, W, average_offset, budget)
        totals.clock += weight


@compiled
def _keep_in_range(own: Any, c: int, W: Any, average_offset: Any, budget: Any) -> None:
    if not MIN_SCALE < own.scale < MAX_SCALE:
        fold(c, own.scale, own.scale_sum, W, average_offset, budget.counts[0])
        own.scale, own.scale_sum = 1.0, 0.0


@compiled
def drawn_slot(seed: int, number: int, slots: int) -> Any:
    """Return a slot drawn by chance, the same for the same seed and number (SplitMix64)."""
    z = np.uint64(seed) * SECOND + np.uint64(number + 1) * GOLDEN
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return np.int64((z ^ (z >> S31)) % np.uint64(slots))


@compiled
def _meet(block: Any, budget: Any, W: Any, scores: Any, value_scale: float, p: int) -> None:
    """Look up the kernel of a row with every slot, and score it."""
    for s in range(budget.counts[0]):
        home = budget.home[s]
        budget.near[s] = value_scale * float(block.gram[p, home] if home >= 0 else block.beside[p, s])
    for c in range(scores.shape[0]):
        scores[c] = 0.0
        for s in range(budget.counts[0]):
            scores[c] += W[c, s] * budget.near[s]


@compiled
def _add(
    W: Any, average_offset: Any, own: Any, target: int, rival: int, slot: int, move: float, budget: Any
) -> None:
    """Move a hypothesis along the example in a slot."""
    now = move / own.scale
    score = own.scale * score_of_slot(W, target, slot, budget)
    size = budget.gram[slot, slot]
    if rival >= 0:
        score -= own.scale * score_of_slot(W, rival, slot, budget)
        size *= 2.0
        W[rival, slot] -= now
        average_offset[rival, slot] -= own.scale_sum * now
    own.sqnorm += move * (2.0 * score + move * size)
    W[target, slot] += now
    average_offset[target, slot] += own.scale_sum * now
