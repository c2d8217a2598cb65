"""The loop over kernels: weights are coefficients of support rows, and an example is scored by kernel values.

The scores of a block of visits are computed together by one matrix product; its examples are then decided one by one,
and after an update the scores of the block's rows are corrected by their Gram matrix. So the updates are exactly those
of a loop that scores one example at a time. :func:`visit_block` keeps every support row; :func:`visit_block_on_budget`
has a fixed number of slots for them. Both use ``class_pair`` and ``decide`` of :mod:`rosenblatt.core.loop`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.geometry import MAX_SCALE, MIN_SCALE
from rosenblatt.core.loop import class_pair, decide, record
from rosenblatt.core.order import GOLDEN, SECOND, mixed_word
from rosenblatt.core.state import State
from rosenblatt.jit import compiled, compiled_for_rules, compiled_part

LOOKAHEAD = 256  # visits searched for Gram rows that are requested together


class KernelScale(NamedTuple):
    """How kernel values become products in the space in which learning happens."""

    value_scale: float  # the product that a kernel value of one represents
    slack: float  # Δ²: added to the product of an example with itself


class Block(NamedTuple):
    """A block of visits to a few rows, each visited once or more."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]  # of each visit (empty: one each)
    rows: NDArray[np.int64]  # the example of each row
    labels: NDArray[np.int64]  # of each row: a class, or -1 and +1 where there are two
    scores: NDArray[np.float64]  # (classes, rows) before the block; follows every update
    gram: NDArray[Any]  # (Gram rows, rows)
    gram_index: NDArray[np.int64]  # of each row: the index of its Gram row, -1 where it is not computed
    diagonal: NDArray[np.float64]  # (rows,) kernel of each row with itself
    once: bool  # each row is visited once, in the order of the rows: only the scores of later rows are needed


# The scale of a class (of all, when negative) became one: average_offset −= scale_sum·W, W ← scale·W.
FOLD = np.dtype([("c", np.int64), ("scale", np.float64), ("scale_sum", np.float64)])

COUNTS = np.dtype(
    [
        ("support", np.int64),  # support rows in all
        ("new", np.int64),  # of these, rows that this block added
        ("updated", np.int64),  # rows that moved the weights
        ("folds", np.int64),
        ("requested", np.int64),  # Gram rows without which the loop cannot continue
    ]
)


class Changes(NamedTuple):
    """What a block changed, for the scores of later blocks and the store of support rows."""

    slots: NDArray[np.int64]  # of every example: the column of its coefficients, or -1
    new: NDArray[np.int64]  # rows that became support rows, in order
    updated: NDArray[np.int64]  # rows that moved the weights, in order
    update_index: NDArray[np.int64]  # of every row: its index in `updated`, or -1
    steps: NDArray[np.float64]  # (updated, 2·classes): what the rows added to W and to average_offset
    folds: NDArray[Any]  # FOLD, in order: to be applied to copies of W and average_offset as well
    requested: NDArray[np.int64]  # (LOOKAHEAD,) rows whose Gram rows are needed
    counts: NDArray[Any]  # COUNTS, one


@compiled_for_rules
def visit_block(
    rule: Any,
    block: Block,
    kernel_scale: KernelScale,
    state: State,
    changes: Changes,
    ledger: NDArray[Any],
    first: int,
) -> int:
    """Make the visits from ``first`` on and return the number of visits made.

    The loop ends early where the ledger or the list of folds is full, and before an update by a row whose Gram row is
    not computed; ``changes.requested`` then names this row and others that would now update within ``LOOKAHEAD``
    visits. ``state.W[c, slot]`` are coefficients, to be multiplied by the running scale. An empty ledger records
    nothing.
    """
    visits, weights, rows, labels, block_scores, gram, gram_index, _, once = block
    W, average_offset, running, scores, totals = (
        state.W,
        state.average_offset,
        state.running,
        state.scores,
        state.totals[0],
    )
    slots, counts = changes.slots, changes.counts[0]
    classes, hypotheses = scores.shape[0], running.shape[0]
    joint = classes > hypotheses
    binary = classes == 1
    keep = ledger.shape[0] > 0
    weighted = weights.shape[0] > 0
    weight = 1.0
    for t in range(first, visits.shape[0]):
        if keep and ledger.shape[0] - totals.written < hypotheses:
            return t
        if changes.folds.shape[0] - counts.folds < hypotheses:
            return t
        p = visits[t]
        i = rows[p]
        if weighted:
            weight = weights[t]
        x_sqnorm = _score_row(block, kernel_scale, state, slots, p)
        if gram_index[p] < 0 and _would_update(rule, labels, p, x_sqnorm, state):
            _request_gram_rows(rule, block, kernel_scale, state, changes, t)
            return t
        slot = slots[i]
        totals.max_sqnorm = max(totals.max_sqnorm, x_sqnorm)
        for c in range(hypotheses):
            scalars = running[c]
            pair = class_pair(labels, p, c, hypotheses, scores)
            score, size = scalars.scale * pair.score, 2.0 * x_sqnorm if joint else x_sqnorm
            decision = decide(rule, pair, score, size, scalars.sqnorm, scalars.updates, totals.clock, False)
            totals.mistakes += decision.mistake
            shrink = decision.shrink
            if shrink != 1.0:
                scalars.sqnorm *= shrink * shrink
                scalars.decay *= shrink
                scalars.scale *= shrink
                score *= shrink
                if not MIN_SCALE < scalars.scale < MAX_SCALE:  # before the step: the scale may be zero
                    line = changes.folds[counts.folds]
                    line.c, line.scale, line.scale_sum = -1 if joint else c, scalars.scale, scalars.scale_sum
                    counts.folds += 1
                    _fold(line.c, scalars.scale, scalars.scale_sum, W, average_offset, counts.support)
                    _fold_block(
                        line.c, scalars.scale, scalars.scale_sum, block_scores, changes.steps, counts.updated
                    )
                    scalars.scale, scalars.scale_sum = 1.0, 0.0
            if decision.tau != 0.0:
                if slot < 0:
                    slot = counts.support
                    slots[i] = slot
                    changes.new[counts.new] = p
                    counts.support += 1
                    counts.new += 1
                if changes.update_index[p] < 0:
                    changes.update_index[p] = counts.updated
                    changes.updated[counts.updated] = p
                    counts.updated += 1
                move = weight * decision.tau * pair.y
                scalars.sqnorm += move * (2.0 * score + move * size)
                scalars.updates += 1
                totals.updates += 1
                step, scale_sum = move / scalars.scale, scalars.scale_sum
                step_row = changes.steps[changes.update_index[p]]
                first_row = p + 1 if once else 0
                gram_row, rest = gram[gram_index[p], first_row:], block_scores[:, first_row:]
                _move(W, average_offset, step_row, rest, gram_row, slot, pair.target, step, scale_sum)
                if joint:
                    _move(W, average_offset, step_row, rest, gram_row, slot, pair.rival, -step, scale_sum)
                if keep:
                    line = ledger[totals.written]
                    record(line, i, pair, binary, move, totals.clock, score, scalars)
                    totals.written += 1
                scalars.decay = 1.0
            scalars.scale_sum += weight * scalars.scale
        totals.clock += weight
    return visits.shape[0]


@compiled_part
def _score_row(block: Block, kernel_scale: KernelScale, state: State, slots: Any, p: int) -> float:
    """Write the scores of a row, without the running scale, into ``state.scores`` and return its squared norm."""
    value_scale, slack = kernel_scale
    slot = slots[block.rows[p]]
    for c in range(state.scores.shape[0]):
        state.scores[c] = value_scale * block.scores[c, p]
        if slot >= 0 and slack != 0.0:
            state.scores[c] += slack * state.W[c, slot]
    return value_scale * float(block.diagonal[p]) + slack


@compiled_part
def _would_update(rule: Any, labels: Any, p: int, x_sqnorm: float, state: State) -> bool:
    """Return whether the row whose scores are in ``state.scores`` moves the weights as they are now."""
    running, scores, hypotheses = state.running, state.scores, state.running.shape[0]
    size = 2.0 * x_sqnorm if scores.shape[0] > hypotheses else x_sqnorm
    for c in range(hypotheses):
        scalars = running[c]
        pair = class_pair(labels, p, c, hypotheses, scores)
        score, clock = scalars.scale * pair.score, state.totals[0].clock
        if decide(rule, pair, score, size, scalars.sqnorm, scalars.updates, clock, False).tau != 0.0:
            return True
    return False


@compiled_part
def _request_gram_rows(
    rule: Any, block: Block, kernel_scale: KernelScale, state: State, changes: Changes, first: int
) -> None:
    """List the rows without a Gram row that would now update, from visit ``first`` on: one product computes them all.

    Only the first row of the list is certain to be needed. A row visited twice may be listed twice.
    """
    counts = changes.counts[0]
    for t in range(first, min(first + LOOKAHEAD, block.visits.shape[0])):
        p = block.visits[t]
        if block.gram_index[p] < 0:
            x_sqnorm = _score_row(block, kernel_scale, state, changes.slots, p)
            if _would_update(rule, block.labels, p, x_sqnorm, state):
                changes.requested[counts.requested] = p
                counts.requested += 1


@compiled
def _fold(c: int, scale: float, scale_sum: float, W: Any, average_offset: Any, slots: int) -> None:
    """Multiply the scale of a class (of all, when negative) into its coefficients."""
    for k in range(W.shape[0]):
        if c < 0 or k == c:
            for s in range(slots):
                average_offset[k, s] -= scale_sum * W[k, s]
                W[k, s] *= scale


@compiled
def _fold_block(c: int, scale: float, scale_sum: float, block_scores: Any, steps: Any, updated: int) -> None:
    """Fold the scale into the scores of the block's rows, and into the steps recorded so far."""
    classes = block_scores.shape[0]
    for k in range(classes):
        if c < 0 or k == c:
            for r in range(block_scores.shape[1]):
                block_scores[k, r] *= scale
            for r in range(updated):
                steps[r, classes + k] -= scale_sum * steps[r, k]
                steps[r, k] *= scale


@compiled
def _move(
    W: Any,
    average_offset: Any,
    step_row: Any,
    block_scores: Any,
    gram_row: Any,
    slot: int,
    c: Any,
    step: float,
    scale_sum: float,
) -> None:
    """Add ``step·φ(x)`` to class ``c``: to its coefficients, to the recorded steps, and to the scores of rows."""
    W[c, slot] += step
    average_offset[c, slot] += scale_sum * step
    step_row[c] += step
    step_row[W.shape[0] + c] += scale_sum * step
    _add_multiple(step, gram_row, block_scores[c])


@compiled
def _add_multiple(step: float, values: Any, scores: Any) -> None:
    """Add ``step·values`` to the scores; over whole slices, so that no index needs a test for being negative."""
    for r in range(values.shape[0]):
        scores[r] += step * values[r]


# Under a budget: never more support rows than there are slots. When the slots are full, a row is removed or the update
# is projected. With a step η and K(x, x) ≤ R², every mistake brings the weights at least η²R²(1 − 2·hinge) nearer to
# ηR²·g, for any g. The cost of forgetting is the reduction of that gain; it is summed and added to the mistake bound.

OLDEST, RANDOM, PROJECT = 0, 1, 2  # Budget.strategy: what happens when the slots are full
USED, REMOVED, CORRECTIONS = 0, 1, 2  # Budget.counts: slots in use, rows removed, visits with an update
# A row whose squared distance to the span, relative to its squared norm, is at most this lies in it up to rounding.
DEPENDENT = 1e-10
# The share of a mistake's gain that removals may cost (Dekel et al. 2008, self-tuned Forgetron).
DAMAGE = 15.0 / 32.0

# The cost of forgetting, in the space where all classes are one function.
FORGETTING_COST = np.dtype(
    [
        ("mistakes", np.float64),  # visits with an update, weighted
        ("squares", np.float64),  # Σ λ²K(r, r) − 2λ·f(r) over removed rows r of coefficient λ, not in units
        ("lengths", np.float64),  # Σ 2λ/η over removed rows
        ("shrunk", np.float64),  # Σ (1 − φ)/(1 + φ) over shrinks by φ
        ("short", np.float64),  # Σ ‖φ(x) − its projection‖
    ]
)


class BudgetBlock(NamedTuple):
    """A block of visits to a few rows, and the kernel values of these rows."""

    visits: NDArray[np.int64]
    weight: NDArray[np.float64]
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    support_values: NDArray[Any]  # (rows, support rows before the block)
    gram: NDArray[Any]  # (rows, rows)


class Budget(NamedTuple):
    """The slots of the support rows, and buffers."""

    examples: NDArray[np.int64]  # the example in each slot, or -1
    block_rows: NDArray[np.int64]  # the row of this block in each slot, -1 where an earlier block filled it
    slots: NDArray[np.int64]  # of every example of this data: its slot, or -1
    last_correction: NDArray[np.int64]  # of every slot: the number of the visit that last corrected its row
    gram: NDArray[np.float64]  # among support rows, as products with slack, not in kernel units
    factor: NDArray[np.float64]  # its Cholesky factor, for projections, else empty
    counts: NDArray[np.int64]  # at USED, REMOVED and CORRECTIONS
    cost: NDArray[Any]  # FORGETTING_COST, one
    moves: NDArray[np.float64]  # buffer: the step of each hypothesis
    rivals: NDArray[np.int64]  # buffer: the class each step is against, or -1
    products: NDArray[np.float64]  # buffer: of the visited example with the row in every slot
    shares: NDArray[np.float64]  # buffer: coefficients of the example's projection onto the rows in the slots
    strategy: int
    eta: float  # the step of a rule whose mistakes are bounded under a budget, else 0
    tolerance: float  # a row nearer than this to the span of the others, relative to its norm, is projected
    seed: int


@compiled_for_rules
def visit_block_on_budget(
    rule: Any, block: BudgetBlock, kernel_scale: KernelScale, state: State, budget: Budget, first_row: int
) -> None:
    """Decide the visits of a block.

    All hypotheses decide by the weights as they were when the visit began; then a slot is freed, once, and all move.
    """
    visits, weights, rows, labels, _, gram = block
    W, average_offset, running, scores, totals = (
        state.W,
        state.average_offset,
        state.running,
        state.scores,
        state.totals[0],
    )
    moves, rivals, cost, counts = budget.moves, budget.rivals, budget.cost[0], budget.counts
    value_scale, slack = kernel_scale
    classes, hypotheses, capacity = scores.shape[0], running.shape[0], budget.examples.shape[0]
    joint = classes > hypotheses
    weight = 1.0
    for t in range(visits.shape[0]):
        p = visits[t]
        i = rows[p]
        slot = budget.slots[i]
        if weights.shape[0] > 0:
            weight = weights[t]
        _score_by_slots(block, budget, W, scores, value_scale, p)
        if slot >= 0 and slack != 0.0:
            budget.products[slot] += slack
            for c in range(classes):
                scores[c] += W[c, slot] * slack
        x_sqnorm = value_scale * float(gram[p, p]) + slack
        totals.max_sqnorm = max(totals.max_sqnorm, x_sqnorm)
        moved = 0.0
        for c in range(hypotheses):
            scalars = running[c]
            pair = class_pair(labels, p, c, hypotheses, scores)
            rivals[c] = pair.rival
            score, size = scalars.scale * pair.score, 2.0 * x_sqnorm if joint else x_sqnorm
            decision = decide(rule, pair, score, size, scalars.sqnorm, scalars.updates, totals.clock, False)
            totals.mistakes += decision.mistake
            if decision.shrink != 1.0:
                scalars.sqnorm *= decision.shrink * decision.shrink
                scalars.decay *= decision.shrink
                scalars.scale *= decision.shrink
                # Before the step: the scale may be zero.
                _fold_extreme_scale(scalars, -1 if joint else c, W, average_offset, budget)
            moves[c] = weight * decision.tau * pair.y
            moved += weight * (decision.tau != 0.0)
        projected = False
        if moved > 0.0:
            counts[CORRECTIONS] += 1
            cost.mistakes += moved
            if slot < 0:
                full = counts[USED] == capacity
                slot = counts[USED]
                if budget.strategy == PROJECT:
                    sqdistance = _sqdistance_to_span(budget, x_sqnorm)
                    projected = full or sqdistance <= max(budget.tolerance**2, DEPENDENT) * x_sqnorm
                    if projected:
                        _solve_shares(budget)
                        cost.short += moved * np.sqrt(max(sqdistance, 0.0))
                elif full:
                    if budget.strategy == OLDEST:
                        slot = _oldest_slot(budget.last_correction)
                    else:
                        slot = random_slot(budget.seed, counts[REMOVED], capacity)
                    target = labels[p] if joint else -1
                    size = 2.0 * totals.max_sqnorm if joint else totals.max_sqnorm
                    _remove_row(slot, target, size, moved, state, budget, budget.strategy == OLDEST)
                    if budget.examples[slot] >= first_row:
                        budget.slots[budget.examples[slot] - first_row] = -1
                if not projected:
                    _fill_slot(slot, i, p, first_row, x_sqnorm, budget)
            if not projected:
                budget.last_correction[slot] = counts[CORRECTIONS]
        for c in range(hypotheses):
            scalars = running[c]
            if moves[c] != 0.0:
                target = labels[p] if joint else c
                scalars.updates += 1
                totals.updates += 1
                if projected:
                    _move_projected(W, average_offset, scalars, target, rivals[c], moves[c], budget)
                else:
                    _move_slot(W, average_offset, scalars, target, rivals[c], slot, moves[c], budget)
            scalars.decay = 1.0
            scalars.scale_sum += weight * scalars.scale
            _fold_extreme_scale(scalars, -1 if joint else c, W, average_offset, budget)
        totals.clock += weight


@compiled
def _fold_extreme_scale(scalars: Any, c: int, W: Any, average_offset: Any, budget: Any) -> None:
    """Fold a very large or very small scale into the coefficients."""
    if not MIN_SCALE < scalars.scale < MAX_SCALE:
        _fold(c, scalars.scale, scalars.scale_sum, W, average_offset, budget.counts[USED])
        scalars.scale, scalars.scale_sum = 1.0, 0.0


@compiled
def random_slot(seed: int, number: int, slots: int) -> Any:
    """Return a random slot, the same for the same seed and number (SplitMix64)."""
    word = mixed_word(np.uint64(seed) * SECOND + np.uint64(number + 1) * GOLDEN)
    return np.int64(word % np.uint64(slots))


@compiled
def _score_by_slots(block: Any, budget: Any, W: Any, scores: Any, value_scale: float, p: int) -> None:
    """Look up the products of a row with the rows in all slots, and score it."""
    for s in range(budget.counts[USED]):
        row = budget.block_rows[s]
        value = block.gram[p, row] if row >= 0 else block.support_values[p, s]
        budget.products[s] = value_scale * float(value)
    for c in range(scores.shape[0]):
        scores[c] = 0.0
        for s in range(budget.counts[USED]):
            scores[c] += W[c, s] * budget.products[s]


@compiled
def _move_slot(
    W: Any, average_offset: Any, scalars: Any, target: int, rival: int, slot: int, move: float, budget: Any
) -> None:
    """Move a hypothesis along the example in a slot."""
    step = move / scalars.scale
    score = scalars.scale * _slot_score(W, target, slot, budget)
    size = budget.gram[slot, slot]
    if rival >= 0:
        score -= scalars.scale * _slot_score(W, rival, slot, budget)
        size *= 2.0
        W[rival, slot] -= step
        average_offset[rival, slot] -= scalars.scale_sum * step
    scalars.sqnorm += move * (2.0 * score + move * size)
    W[target, slot] += step
    average_offset[target, slot] += scalars.scale_sum * step


@compiled
def _oldest_slot(last_correction: Any) -> int:
    """Return the slot whose row was corrected the longest ago."""
    oldest = 0
    for s in range(last_correction.shape[0]):
        if last_correction[s] < last_correction[oldest]:
            oldest = s
    return oldest


@compiled
def _slot_score(W: Any, c: int, slot: int, budget: Any) -> float:
    """Return the score of the row in a slot, without the running scale."""
    total = 0.0
    for s in range(budget.counts[USED]):
        total += W[c, s] * budget.gram[slot, s]
    return total


@compiled
def _remove_row(
    slot: int, target: int, sqradius: float, moved: float, state: Any, budget: Any, tune: bool
) -> None:
    """Remove a row from every hypothesis; with ``tune`` shrink them first, by as little as bounds the cost.

    Let ``f`` be the weights with the new step. They are shrunk by ``φ`` and lose ``λ`` times the row ``r``. That costs
    ``Ψ(φ) = (φ²λ²K(r, r) − 2φ²λ·f(r))/η²R² + 2φλ/η``; φ is the largest in (0, 1] that keeps the sum of all costs at
    or below 15/32 of the mistakes (the self-tuned Forgetron; with classes, in the space where they are one function).
    """
    W, average_offset, running, cost = state.W, state.average_offset, state.running, budget.cost[0]
    joint = W.shape[0] > running.shape[0]
    squares, length = 0.0, 0.0
    for c in range(W.shape[0]):
        scalars = running[0 if joint else c]
        alpha = scalars.scale * W[c, slot]
        if alpha != 0.0:
            new_step = _new_step(c, target, budget) * budget.products[slot]
            score = scalars.scale * _slot_score(W, c, slot, budget) + new_step
            squares += alpha * (alpha * budget.gram[slot, slot] - 2.0 * score)
            length += abs(alpha) * (0.5 if joint else 1.0)
    phi = 1.0
    if budget.eta > 0.0:
        # Where all rows are zero, so are the squares.
        ratio = budget.eta**2 * sqradius if sqradius > 0.0 else 1.0
        square, linear = squares / ratio, 2.0 * length / budget.eta
        if tune:
            spent = cost.squares / ratio + cost.lengths
            phi = largest_factor(square, linear, max(DAMAGE * cost.mistakes - spent, DAMAGE * moved))
        cost.squares += phi * phi * squares
        cost.lengths += phi * linear
        cost.shrunk += (1.0 - phi) / (1.0 + phi)
    for c in range(running.shape[0]):
        running[c].scale *= phi
        running[c].sqnorm *= phi * phi
        budget.moves[c] *= phi
    for c in range(W.shape[0]):
        scalars = running[0 if joint else c]
        alpha = scalars.scale * W[c, slot]
        if alpha != 0.0:  # ‖w − a‖² = ‖w‖² − 2 w·a + ‖a‖²
            score = scalars.scale * _slot_score(W, c, slot, budget)
            scalars.sqnorm = max(
                scalars.sqnorm - alpha * (2.0 * score - alpha * budget.gram[slot, slot]), 0.0
            )
        W[c, slot] = 0.0
        average_offset[c, slot] = 0.0
    budget.counts[REMOVED] += 1


@compiled
def largest_factor(square: float, linear: float, allowed: float) -> float:
    """Return the largest ``φ`` in (0, 1] with ``square·φ² + linear·φ ≤ allowed``, where ``linear, allowed > 0``.

    >>> largest_factor(0.0, 2.0, 1.0)
    0.5
    """
    if square + linear <= allowed:
        return 1.0
    return 2.0 * allowed / (linear + np.sqrt(max(linear * linear + 4.0 * square * allowed, 0.0)))


@compiled
def _new_step(c: int, target: int, budget: Any) -> float:
    """Return the step of this visit for class ``c``; ``target`` is the true class of a joint hypothesis, or -1."""
    if target < 0:
        return float(budget.moves[c])
    return float(budget.moves[0] * ((c == target) - (c == budget.rivals[0])))


@compiled
def _fill_slot(slot: int, i: int, p: int, first_row: int, x_sqnorm: float, budget: Any) -> None:
    """Put an example into a slot."""
    if slot == budget.counts[USED]:
        budget.counts[USED] += 1
    budget.examples[slot] = i + first_row
    budget.block_rows[slot] = p
    budget.slots[i] = slot
    for s in range(budget.counts[USED]):
        budget.gram[slot, s] = budget.products[s]
        budget.gram[s, slot] = budget.products[s]
    budget.gram[slot, slot] = x_sqnorm


@compiled
def _sqdistance_to_span(budget: Any, x_sqnorm: float) -> float:
    """Return the squared distance of a row from the span of the slots; a free slot gets its line of the factor.

    ``L·l = k`` gives the projection its length ``‖l‖²``, and ``(l, √(K(x, x) − ‖l‖²))`` is the next line of ``L``.
    """
    used, L, k, out = budget.counts[USED], budget.factor, budget.products, budget.shares
    sqdistance = x_sqnorm
    for s in range(used):
        rest = k[s]
        for r in range(s):
            rest -= L[s, r] * out[r]
        out[s] = rest / L[s, s]
        sqdistance -= out[s] * out[s]
    if used < L.shape[0] and sqdistance > 0.0:
        for s in range(used):
            L[used, s] = out[s]
        L[used, used] = np.sqrt(sqdistance)
    return sqdistance


@compiled
def _solve_shares(budget: Any) -> None:
    """Turn ``l`` into the coefficients of the projection: ``Lᵀ·d = l``, so that ``d = K⁻¹k``."""
    L, d = budget.factor, budget.shares
    for s in range(budget.counts[USED] - 1, -1, -1):
        rest = d[s]
        for r in range(s + 1, budget.counts[USED]):
            rest -= L[r, s] * d[r]
        d[s] = rest / L[s, s]


@compiled
def _move_projected(
    W: Any, average_offset: Any, scalars: Any, target: int, rival: int, move: float, budget: Any
) -> None:
    """Move a hypothesis along the projection of the example onto the support rows (Orabona et al. 2009)."""
    products, shares = budget.products, budget.shares
    score, size = 0.0, 0.0
    for s in range(budget.counts[USED]):
        size += shares[s] * products[s]
        score += (W[target, s] - (W[rival, s] if rival >= 0 else 0.0)) * products[s]
    if rival >= 0:
        size *= 2.0
    scalars.sqnorm += move * (2.0 * scalars.scale * score + move * size)
    for s in range(budget.counts[USED]):
        step = move * shares[s] / scalars.scale
        W[target, s] += step
        average_offset[target, s] += scalars.scale_sum * step
        if rival >= 0:
            W[rival, s] -= step
            average_offset[rival, s] -= scalars.scale_sum * step
