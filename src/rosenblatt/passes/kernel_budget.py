"""The loop in its dual form under a budget: never more support rows than there are slots.

Every kernel value a visit needs is at hand: with the support rows as they were before the block, with the block's
own rows, and among support rows. When the slots are full, a row makes room or the update is projected.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.passes.compiled import compiled, compiled_for_rules
from rosenblatt.passes.kernel_block import Space
from rosenblatt.passes.order import FIRST, GOLDEN, S27, S30, S31, SECOND
from rosenblatt.passes.records import State
from rosenblatt.passes.sweep import LARGEST_SCALE, SMALLEST_SCALE, best_rival
from rosenblatt.rules import Seen, step

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
    gram: NDArray[np.float64]  # among support rows, in true units, slack included
    inverse: NDArray[np.float64]  # of that Gram matrix once the slots are full, for projections
    counts: NDArray[np.int64]  # slots in use, slots emptied so far
    moves: NDArray[np.float64]  # room: the step of each hypothesis
    rivals: NDArray[np.int64]  # room: the class each step is against, or -1
    near: NDArray[np.float64]  # room: kernel of the visit with every slot
    shares: NDArray[np.float64]  # room: the projection of the visit, as a sum of the rows in the slots
    strategy: int
    seed: int


@compiled
def drawn_slot(seed: int, number: int, slots: int) -> Any:
    """Return a slot drawn by chance, the same for the same seed and number (SplitMix64)."""
    z = np.uint64(seed) * SECOND + np.uint64(number + 1) * GOLDEN
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return np.int64((z ^ (z >> S31)) % np.uint64(slots))


@compiled_for_rules
def visit_block_on_budget(
    rule: Any, block: BudgetBlock, space: Space, state: State, budget: Budget, first_row: int, first: int
) -> int:
    """Decide the visits from ``first`` on; return how many are done: fewer to have a scale folded, or an inverse made.

    All hypotheses decide on what they were when the visit began; then room is made, once, and all move.
    """
    visits, weights, rows, labels, beside, gram = block
    W, A, running, scores, totals = state.W, state.A, state.running, state.scores, state.totals[0]
    holder, home, slots, among, inverse, counts, moves, rivals, near, shares, strategy, seed = budget
    unit, slack = space
    classes, hypotheses, room = scores.shape[0], running.shape[0], holder.shape[0]
    joint = classes > hypotheses
    binary = classes == 1
    weight = 1.0
    for t in range(first, visits.shape[0]):
        p = visits[t]
        i = rows[p]
        used = counts[0]
        slot = slots[i]
        if weights.shape[0] > 0:
            weight = weights[t]
        if strategy == PROJECT and used == room and inverse.shape[0] == 0:
            return t
        for s in range(used):
            near[s] = unit * float(gram[p, home[s]] if home[s] >= 0 else beside[p, s])
        if slot >= 0:
            near[slot] += slack
        for c in range(classes):
            scores[c] = 0.0
            for s in range(used):
                scores[c] += W[c, s] * near[s]
        x_sqnorm = unit * float(gram[p, p]) + slack
        totals.reach = max(totals.reach, x_sqnorm)
        seen_sqnorm = 2.0 * x_sqnorm if joint else x_sqnorm
        moved = False
        fold = False
        for c in range(hypotheses):
            own = running[c]
            up = labels[p] if joint else c
            rivals[c] = best_rival(scores, up) if joint else -1
            y = 1.0 if joint else (float(labels[p]) if binary else (1.0 if labels[p] == c else -1.0))
            score = own.scale * (scores[up] - scores[rivals[c]] if joint else scores[c])
            if y * score <= 0.0:
                totals.mistakes += 1
            shrink, tau = step(rule, Seen(score, y, seen_sqnorm, own.sqnorm, own.updates, totals.clock))
            if shrink != 1.0:
                own.sqnorm *= shrink * shrink
                own.decay *= shrink
                own.scale *= shrink
                fold = fold or not SMALLEST_SCALE < own.scale < LARGEST_SCALE
            moves[c] = weight * tau * y
            moved = moved or tau != 0.0
        project = False
        if moved and slot < 0:
            if used < room:
                slot = used
                counts[0] += 1
            elif strategy == PROJECT:
                project = True
                for s in range(room):
                    shares[s] = 0.0
                    for r in range(room):
                        shares[s] += inverse[s, r] * near[r]
            else:
                slot = counts[1] % room if strategy == OLDEST else drawn_slot(seed, counts[1], room)
                counts[1] += 1
                _leave(slot, W, A, running, among, joint)
                if holder[slot] >= first_row:
                    slots[holder[slot] - first_row] = -1
            if not project:
                _enter(slot, i, p, first_row, x_sqnorm, near, budget)
        for c in range(hypotheses):
            own = running[c]
            if moves[c] != 0.0:
                now = moves[c] / own.scale
                up = labels[p] if joint else c
                own.updates += 1
                totals.updates += 1
                if project:
                    _project(W, A, own, up, rivals[c], moves[c], near, shares)
                else:
                    _add(W, A, own, up, rivals[c], slot, moves[c], now, among)
            own.decay = 1.0
            own.shadow += weight * own.scale
        totals.clock += weight
        if fold:
            return t + 1
    return visits.shape[0]


@compiled
def _score_of_slot(W: Any, c: int, slot: int, among: Any) -> float:
    total = 0.0
    for s in range(W.shape[1]):
        total += W[c, s] * among[slot, s]
    return total


@compiled
def _leave(slot: int, W: Any, A: Any, running: Any, among: Any, joint: bool) -> None:
    """Take a row out of every hypothesis: ``‖w − a‖² = ‖w‖² − 2 w·a + ‖a‖²``."""
    for c in range(W.shape[0]):
        own = running[0 if joint else c]
        alpha = own.scale * W[c, slot]
        if alpha != 0.0:
            score = own.scale * _score_of_slot(W, c, slot, among)
            own.sqnorm = max(own.sqnorm - alpha * (2.0 * score - alpha * among[slot, slot]), 0.0)
        W[c, slot] = 0.0
        A[c, slot] = 0.0


@compiled
def _enter(slot: int, i: int, p: int, first_row: int, x_sqnorm: float, near: Any, budget: Any) -> None:
    """Put an example into a slot."""
    budget.holder[slot] = i + first_row
    budget.home[slot] = p
    budget.slots[i] = slot
    for s in range(budget.counts[0]):
        budget.gram[slot, s] = near[s]
        budget.gram[s, slot] = near[s]
    budget.gram[slot, slot] = x_sqnorm


@compiled
def _add(
    W: Any, A: Any, own: Any, up: int, down: int, slot: int, move: float, now: float, among: Any
) -> None:
    """Move a hypothesis along the example in a slot."""
    score = own.scale * _score_of_slot(W, up, slot, among)
    size = among[slot, slot]
    if down >= 0:
        score -= own.scale * _score_of_slot(W, down, slot, among)
        size *= 2.0
        W[down, slot] -= now
        A[down, slot] -= own.shadow * now
    own.sqnorm += move * (2.0 * score + move * size)
    W[up, slot] += now
    A[up, slot] += own.shadow * now


@compiled
def _project(W: Any, A: Any, own: Any, up: int, down: int, move: float, near: Any, shares: Any) -> None:
    """Move along the projection of the example onto the support rows: ``d = K⁻¹k`` (Orabona et al. 2008)."""
    score, size = 0.0, 0.0
    for s in range(shares.shape[0]):
        size += shares[s] * near[s]
        score += (W[up, s] - (W[down, s] if down >= 0 else 0.0)) * near[s]
    if down >= 0:
        size *= 2.0
    own.sqnorm += move * (2.0 * own.scale * score + move * size)
    for s in range(shares.shape[0]):
        now = move * shares[s] / own.scale
        W[up, s] += now
        A[up, s] += own.shadow * now
        if down >= 0:
            W[down, s] -= now
            A[down, s] -= own.shadow * now
