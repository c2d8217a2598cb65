"""The loop: see an example, predict, be told the truth, move as the rule says.

Written once, over any rule and any kind of rows. A hypothesis is what one set of running scalars describes:
two classes have one; several classes have one each (``ovr``), or one for all (``joint``: the true class against
its best rival, ``W[y] += τ x`` and ``W[rival] −= τ x``, Kesler's construction).
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rosenblatt.passes.compiled import compiled_for_rules
from rosenblatt.passes.contest import best_rival
from rosenblatt.passes.prefetch import NEAR, prefetch_row, rows_ahead, touch
from rosenblatt.passes.records import State, Visits
from rosenblatt.passes.rows import Rows, add_row_to_both, fold, score_row
from rosenblatt.rules import Seen, step, step_of

# Beyond these the scale is folded into the weights: the mean is a difference, shadow·W − A, and loses as many
# digits as the scale has moved away from one since the last fold.
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 1e3


def real_targets(labels: Any) -> bool:
    """Return whether labels are numbers to be hit rather than classes; known when a pass is compiled."""
    return bool(labels.dtype.kind == "f")


@overload(real_targets, strict=False, inline="always")
def _real_targets(labels: Any) -> Callable[..., bool]:
    return (lambda labels: True) if isinstance(labels.dtype, numba.types.Float) else (lambda labels: False)


def one_row_of_weights(labels: Any) -> bool:
    """Return whether labels tell that one row of weights speaks: numbers, or two classes as -1 and +1 in a byte.

    Known when a pass is compiled, so that nothing is left in it of a contest between classes.
    """
    return real_targets(labels) or labels.dtype == np.int8


@overload(one_row_of_weights, strict=False, inline="always")
def _one_row_of_weights(labels: Any) -> Callable[..., bool]:
    one = isinstance(labels.dtype, numba.types.Float) or labels.dtype == numba.types.int8
    return (lambda labels: True) if one else (lambda labels: False)


@overload(step, strict=False, inline="always")
def _step(rule: Any, seen: Any) -> Callable[..., Any] | None:
    """Compile a rule's Python function as it stands, found by the class of its NamedTuple."""
    return step_of(rule.instance_class) if isinstance(rule, numba.types.BaseNamedTuple) else None


@compiled_for_rules
def sweep(
    rule: Any,
    rows: Rows,
    labels: NDArray[Any],
    visits: Visits,
    unit: float,
    state: State,
    ledger: NDArray[Any],
    still: bool,
) -> int:
    """Visit rows in order and return how many visits were made: fewer only when the ledger is full.

    Where one hypothesis is to stay ``still`` the pass ends before the visit that would move it, or is a mistake;
    weights are only read. An empty ledger records nothing. ``unit`` is the always-one coordinate: 1 where a bias is
    learned, else 0. Labels are class indices (-1 and +1 where there are two, best in a byte), or floats: numbers for
    the only hypothesis to hit.
    """
    values, indices, starts = rows
    order, weights = visits
    W, A, running, scores, totals = state.W, state.A, state.running, state.scores, state.totals[0]
    alone = one_row_of_weights(labels)
    classes, hypotheses = (1, 1) if alone else (scores.shape[0], running.shape[0])
    rows_of_weights, width = np.uint64(classes), np.uint64(W.shape[0] // scores.shape[0] - 1)
    joint = classes > hypotheses
    binary = classes == 1  # the only hypothesis speaks for class 1, and labels are -1 or +1
    real = real_targets(labels)
    keep = ledger.shape[0] > 0
    weighted = weights.shape[0] > 0
    clock, reach = totals.clock, totals.reach
    mistakes, updates, written = totals.mistakes, totals.updates, totals.written
    weight = 1.0
    made = order.shape[0]
    ahead = rows_ahead(values, labels.shape[0])
    in_line = min(ahead, 2)
    for t in range(order.shape[0]):
        if keep and ledger.shape[0] - written < hypotheses:
            made = t
            break
        i = order[t]
        if t + ahead < order.shape[0]:
            scattered = order[t + ahead] != i + np.uint64(ahead)
            if scattered:
                touch(labels, order[t + ahead], NEAR)  # every step waits for its label
            # Rows in line come by themselves, sparse ones a little late. Scattered ones are asked for twice: a
            # processor that waits for many lines of memory drops what more it is asked for.
            for again in range(2 if scattered else 0 if indices is None else 1):
                later = ahead >> again if scattered else in_line
                prefetch_row(values, indices, starts, order[t + later], width)
        if weighted:
            weight = weights[t]
        x_sqnorm = score_row(values, indices, starts, i, unit, rows_of_weights, width, W, scores)
        reach = max(reach, x_sqnorm)
        for c in range(hypotheses):
            own = running[c]
            if joint:
                up = int(labels[i])
                down = best_rival(scores, up)
                y = 1.0
                score = own.scale * (scores[up] - scores[down])
                x_sqnorm *= 2.0
            else:
                up = c
                down = -1
                # Loaded, not chosen: a branch on the label of two even classes is mispredicted half the time.
                y = float(labels[i]) if binary else (1.0 if labels[i] == c else -1.0)
                score = own.scale * scores[c]
            shrink, tau = step(rule, Seen(score, y, x_sqnorm, own.sqnorm, own.updates, clock, real))
            wrong = not real and y * score <= 0.0
            if still and (wrong or shrink != 1.0 or tau != 0.0):
                made = t
                break
            if wrong:
                mistakes += 1
            if shrink != 1.0:
                own.sqnorm *= shrink * shrink
                own.decay *= shrink
                own.scale *= shrink
                score *= shrink
                if not SMALLEST_SCALE < own.scale < LARGEST_SCALE:
                    fold(indices, -1 if joint else c, classes, own.scale, own.shadow, W, A)
                    own.scale, own.shadow = 1.0, 0.0
            if tau != 0.0:
                move = weight * tau * (1.0 if real else y)
                own.sqnorm += move * (2.0 * score + move * x_sqnorm)
                own.updates += 1
                updates += 1
                now = move if own.scale == 1.0 else move / own.scale
                add_row_to_both(values, indices, starts, i, unit, up, classes, width, now, own.shadow, W, A)
                if joint:
                    add_row_to_both(
                        values, indices, starts, i, unit, down, classes, width, -now, own.shadow, W, A
                    )
                if keep:
                    line = ledger[written]
                    line.row, line.up, line.down = i, up + binary, down
                    line.tau, line.decay, line.clock = move, own.decay, clock
                    line.score, line.sqnorm = y * score, own.sqnorm
                    written += 1
                own.decay = 1.0
            own.shadow += weight * own.scale
        if made == t:
            break
        clock += weight
    totals.clock, totals.reach = clock, reach
    totals.mistakes, totals.updates, totals.written = mistakes, updates, written
    return made
