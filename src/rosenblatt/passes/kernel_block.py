"""The loop in its dual form: a block of visits, decided one by one from scores that were computed together.

The scores of a block come from one matrix product with the support rows; what the block's own updates change is
told by its Gram matrix. So the loop makes exactly the updates of the one-by-one loop.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.passes.compiled import compiled, compiled_for_rules
from rosenblatt.passes.records import State
from rosenblatt.passes.sweep import best_rival
from rosenblatt.rules import Seen, step

# Beyond these a block stops, so that the scale can be folded into the coefficients.
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100


class Block(NamedTuple):
    """A block of visits."""

    rows: NDArray[np.int64]  # the example of each visit
    labels: NDArray[np.int64]  # its truth: a class, or -1 and +1 where there are two
    weight: NDArray[np.float64]  # how much each visit weighs (empty: one each)
    scores: NDArray[np.float64]  # (classes, visits) before the block, brought up to date as it goes
    gram: NDArray[Any]  # (visits, visits)


class Space(NamedTuple):
    """How kernel values become products in the space in which learning happens."""

    unit: float  # a kernel value of one stands for this much
    slack: float  # Δ²: what an example shares with itself alone


class Log(NamedTuple):
    """What a block did, for the scores of later blocks and the store of support rows."""

    slots: NDArray[np.int64]  # of every example: where its coefficients stand, or -1
    born: NDArray[np.int64]  # examples that became support rows, in order
    touched: NDArray[np.int64]  # visits that moved the weights, in order
    moves: NDArray[np.float64]  # (visits, 2·classes): their steps, and the steps times the shadow
    counts: NDArray[np.int64]  # support rows in all, born, touched


@compiled_for_rules
def visit_block(
    rule: Any, block: Block, space: Space, state: State, log: Log, ledger: NDArray[Any], first: int
) -> int:
    """Decide the visits from ``first`` on and return how many are done: fewer only to have the scale folded.

    ``state.W[c, slot]`` are the coefficients, to be multiplied by the running scale. An empty ledger records
    nothing.
    """
    rows, labels, weights, ahead, gram = block
    W, A, running, scores, totals = state.W, state.A, state.running, state.scores, state.totals[0]
    slots, born, touched, moves, counts = log
    unit, slack = space
    classes, hypotheses = scores.shape[0], running.shape[0]
    joint = classes > hypotheses
    binary = classes == 1
    keep = ledger.shape[0] > 0
    weighted = weights.shape[0] > 0
    weight = 1.0
    made = rows.shape[0]
    for t in range(first, rows.shape[0]):
        i = rows[t]
        if weighted:
            weight = weights[t]
        slot = slots[i]
        for c in range(classes):
            scores[c] = unit * ahead[c, t]
            if slot >= 0:
                scores[c] += slack * W[c, slot]
        x_sqnorm = unit * float(gram[t, t]) + slack
        totals.reach = max(totals.reach, x_sqnorm)
        moved = False
        fold = False
        for c in range(hypotheses):
            own = running[c]
            if joint:
                up = labels[t]
                down = best_rival(scores, up)
                y = 1.0
                score = own.scale * (scores[up] - scores[down])
                x_sqnorm *= 2.0
            else:
                up = c
                down = -1
                y = float(labels[t]) if binary else (1.0 if labels[t] == c else -1.0)
                score = own.scale * scores[c]
            if y * score <= 0.0:
                totals.mistakes += 1
            shrink, tau = step(rule, Seen(score, y, x_sqnorm, own.sqnorm, own.updates, totals.clock))
            if shrink != 1.0:
                own.sqnorm *= shrink * shrink
                own.decay *= shrink
                own.scale *= shrink
                score *= shrink
                if not SMALLEST_SCALE < own.scale < LARGEST_SCALE:
                    fold = True
            if tau != 0.0:
                if slot < 0:
                    slot = counts[0]
                    slots[i] = slot
                    born[counts[1]] = i
                    counts[0] += 1
                    counts[1] += 1
                if not moved:
                    moved = True
                    touched[counts[2]] = t
                    moves[counts[2], :] = 0.0
                    counts[2] += 1
                move = weight * tau * y
                own.sqnorm += move * (2.0 * score + move * x_sqnorm)
                own.updates += 1
                totals.updates += 1
                now = move / own.scale
                _move(W, A, moves[counts[2] - 1], ahead, gram, t, slot, up, now, own.shadow)
                if joint:
                    _move(W, A, moves[counts[2] - 1], ahead, gram, t, slot, down, -now, own.shadow)
                if keep:
                    line = ledger[totals.written]
                    line.row, line.up, line.down = i, up + binary, down
                    line.tau, line.decay, line.clock = move, own.decay, totals.clock
                    line.score, line.sqnorm = y * score, own.sqnorm
                    totals.written += 1
                own.decay = 1.0
            own.shadow += weight * own.scale
        totals.clock += weight
        if fold:
            made = t + 1
            break
    return made


@compiled
def _move(
    W: Any, A: Any, moves: Any, ahead: Any, gram: Any, t: int, slot: int, c: int, now: float, shadow: float
) -> None:
    """Add ``now·φ(x)`` to class ``c``: to its coefficients, to the log, and to the scores of the visits to come."""
    W[c, slot] += now
    A[c, slot] += shadow * now
    moves[c] += now
    moves[W.shape[0] + c] += shadow * now
    for r in range(t + 1, ahead.shape[1]):
        ahead[c, r] += now * gram[t, r]
