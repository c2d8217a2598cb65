"""The loop in its dual form: a block of visits, decided one by one from scores that were computed together.

The scores of a block come from one matrix product with the support rows; what the block's own updates change is
told by its Gram matrix. So the loop makes exactly the updates of the one-by-one loop.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.geometry import MAX_SCALE, MIN_SCALE
from rosenblatt.core.loop import class_pair, decide, record
from rosenblatt.core.state import State
from rosenblatt.jit import compiled, compiled_for_rules


class Block(NamedTuple):
    """A block of visits to a few rows, each visited once or more."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]  # how much each visit weighs (empty: one each)
    rows: NDArray[np.int64]  # the example of each row
    labels: NDArray[np.int64]  # its truth: a class, or -1 and +1 where there are two
    scores: NDArray[np.float64]  # (classes, rows) before the block, brought up to date as it goes
    gram: NDArray[Any]  # (rows, rows)
    itself: NDArray[np.float64]  # (rows,) its diagonal: read at every visit, and far apart in the matrix
    once: bool  # each row is visited once, and in the order the rows stand: only later ones are brought up to date


class Space(NamedTuple):
    """How kernel values become products in the space in which learning happens."""

    value_scale: float  # a kernel value of one stands for this much
    slack: float  # Δ²: what an example shares with itself alone


# The scale of a class (of all, when negative) became one: average_offset −= scale_sum·W, W ← scale·W.
FOLD = np.dtype([("c", np.int64), ("scale", np.float64), ("scale_sum", np.float64)])


class Log(NamedTuple):
    """What a block did, for the scores of later blocks and the store of support rows."""

    slots: NDArray[np.int64]  # of every example: where its coefficients stand, or -1
    born: NDArray[np.int64]  # rows that became support rows, in order
    touched: NDArray[np.int64]  # rows that moved the weights, in order
    place: NDArray[np.int64]  # of every row: where it stands in `touched`, or -1
    moves: NDArray[
        np.float64
    ]  # (touched, 2·classes): sums of their steps, and of the steps times the scale_sum
    counts: NDArray[np.int64]  # support rows in all, born, touched, folds
    folds: NDArray[Any]  # FOLD, in order: what else holds sums of W and average_offset is to follow


@compiled_for_rules
def visit_block(
    rule: Any, block: Block, space: Space, state: State, log: Log, ledger: NDArray[Any], first: int
) -> int:
    """Make the visits from ``first`` on and return how many are made: fewer where the ledger or the log is full.

    ``state.W[c, slot]`` are the coefficients, to be multiplied by the running scale. An empty ledger records
    nothing.
    """
    visits, weights, rows, labels, ahead, gram, itself, once = block
    W, average_offset, running, scores, totals = (
        state.W,
        state.average_offset,
        state.running,
        state.scores,
        state.totals[0],
    )
    slots, born, touched, place, moves, counts, folds = log
    value_scale, slack = space
    classes, hypotheses = scores.shape[0], running.shape[0]
    joint = classes > hypotheses
    binary = classes == 1
    keep = ledger.shape[0] > 0
    weighted = weights.shape[0] > 0
    weight = 1.0
    for t in range(first, visits.shape[0]):
        if keep and ledger.shape[0] - totals.written < hypotheses:
            return t
        if folds.shape[0] - counts[3] < hypotheses:
            return t
        p = visits[t]
        i = rows[p]
        first_row = p + 1 if once else 0
        if weighted:
            weight = weights[t]
        slot = slots[i]
        for c in range(classes):
            scores[c] = value_scale * ahead[c, p]
            if slot >= 0 and slack != 0.0:
                scores[c] += slack * W[c, slot]
        x_sqnorm = value_scale * float(itself[p]) + slack
        totals.max_sqnorm = max(totals.max_sqnorm, x_sqnorm)
        for c in range(hypotheses):
            own = running[c]
            pair = class_pair(labels, p, c, hypotheses, scores)
            score, size = own.scale * pair.score, 2.0 * x_sqnorm if joint else x_sqnorm
            decision = decide(rule, pair, score, size, own.sqnorm, own.updates, totals.clock, False)
            totals.mistakes += decision.mistake
            shrink = decision.shrink
            if shrink != 1.0:
                own.sqnorm *= shrink * shrink
                own.decay *= shrink
                own.scale *= shrink
                score *= shrink
                if not MIN_SCALE < own.scale < MAX_SCALE:  # before the step: it may be zero
                    line = folds[counts[3]]
                    line.c, line.scale, line.scale_sum = -1 if joint else c, own.scale, own.scale_sum
                    counts[3] += 1
                    fold(line.c, own.scale, own.scale_sum, W, average_offset, counts[0])
                    _fold_block(line.c, own.scale, own.scale_sum, ahead, moves, counts[2])
                    own.scale, own.scale_sum = 1.0, 0.0
            if decision.tau != 0.0:
                if slot < 0:
                    slot = counts[0]
                    slots[i] = slot
                    born[counts[1]] = p
                    counts[0] += 1
                    counts[1] += 1
                if place[p] < 0:
                    place[p] = counts[2]
                    touched[counts[2]] = p
                    counts[2] += 1
                move = weight * decision.tau * pair.y
                own.sqnorm += move * (2.0 * score + move * size)
                own.updates += 1
                totals.updates += 1
                now = move / own.scale
                at = place[p]
                _move(
                    W,
                    average_offset,
                    moves,
                    ahead,
                    gram,
                    p,
                    first_row,
                    slot,
                    at,
                    pair.target,
                    now,
                    own.scale_sum,
                )
                if joint:
                    _move(
                        W,
                        average_offset,
                        moves,
                        ahead,
                        gram,
                        p,
                        first_row,
                        slot,
                        at,
                        pair.rival,
                        -now,
                        own.scale_sum,
                    )
                if keep:
                    line = ledger[totals.written]
                    record(line, i, pair, binary, move, own.decay, totals.clock, score, own.sqnorm)
                    totals.written += 1
                own.decay = 1.0
            own.scale_sum += weight * own.scale
        totals.clock += weight
    return visits.shape[0]


@compiled
def fold(c: int, scale: float, scale_sum: float, W: Any, average_offset: Any, slots: int) -> None:
    """Multiply the scale of a class (of all, when negative) into its coefficients."""
    for k in range(W.shape[0]):
        if c < 0 or k == c:
            for s in range(slots):
                average_offset[k, s] -= scale_sum * W[k, s]
                W[k, s] *= scale


@compiled
def _fold_block(c: int, scale: float, scale_sum: float, ahead: Any, moves: Any, touched: int) -> None:
    """Do the same to the scores of the block's rows, and to the steps it has made."""
    classes = ahead.shape[0]
    for k in range(classes):
        if c < 0 or k == c:
            for r in range(ahead.shape[1]):
                ahead[k, r] *= scale
            for r in range(touched):
                moves[r, classes + k] -= scale_sum * moves[r, k]
                moves[r, k] *= scale


@compiled
def _move(
    W: Any,
    average_offset: Any,
    moves: Any,
    ahead: Any,
    gram: Any,
    p: int,
    first_row: int,
    slot: int,
    at: int,
    c: Any,
    now: float,
    scale_sum: float,
) -> None:
    """Add ``now·φ(x)`` to class ``c``: to its coefficients, to the log, and to the scores of the block's rows."""
    W[c, slot] += now
    average_offset[c, slot] += scale_sum * now
    moves[at, c] += now
    moves[at, W.shape[0] + c] += scale_sum * now
    _add(now, gram[p, first_row:], ahead[c, first_row:])


@compiled
def _add(now: float, near: Any, told: Any) -> None:
    """Over slices: an index that starts at zero is never negative, and takes no test."""
    for r in range(near.shape[0]):
        told[r] += now * near[r]
