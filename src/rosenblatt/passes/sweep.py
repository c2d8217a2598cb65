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
from rosenblatt.passes.prefetch import NEAR, NEXT, prefetch_row, rows_ahead, touch
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
    the only hypothesis to hit. How far rows reach is for the caller to tell: a pass measures only those it moves by,
    and those whose norm the rule looks at.
    """
    values, indices, starts = rows
    order, weights = visits
    W, A, running, scores, totals = state.W, state.A, state.running, state.scores, state.totals[0]
    alone = one_row_of_weights(labels)
    classes, hypotheses = (1, 1) if alone else (scores.shape[0], running.shape[0])
    rows_of_weights, width = np.uint64(classes), np.uint64(W.shape[0] // classes - 1)
    joint = classes > hypotheses
    binary = classes == 1  # the only hypothesis speaks for class 1, and labels are -1 or +1
    real = real_targets(labels)
    keep = ledger.shape[0] > 0
    weighted = weights.shape[0] > 0
    clock = totals.clock
    mistakes, updates, written = totals.mistakes, totals.updates, totals.written
    weight = 1.0
    made = order.shape[0]
    last_line = ledger.shape[0] - hypotheses if keep else np.iinfo(np.int64).max  # at which all fit
    ahead = np.uint64(rows_ahead(values, labels.shape[0]))
    near, in_line = min(ahead, np.uint64(4)), min(ahead, np.uint64(2))
    visit_count = np.uint64(order.shape[0])
    for t in range(visit_count):
        if written > last_line:
            made = np.int64(t)
            break
        i = order[t]
        if t + ahead < visit_count:
            later = order[t + ahead]
            if later != i + ahead:  # scattered: early into the second cache, soon into the first
                touch(labels, later, NEAR)  # every step waits for its label
                prefetch_row(values, indices, starts, later, width, NEXT)
                if near < ahead:  # long rows would push the weights out of the first
                    prefetch_row(values, indices, starts, order[t + near], width, NEAR)
            elif indices is None:  # in line: rows come by themselves, past the end of a page a little late
                touch(values, (i + near) * width, NEXT)
            else:
                prefetch_row(values, indices, starts, i + in_line, width, NEAR)
        if weighted:
            weight = weights[t]
        x_sqnorm = score_row(values, indices, starts, i, unit, rows_of_weights, width, W, scores)
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
                made = np.int64(t)
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
                own.updates += 1
                updates += 1
                now = move if own.scale == 1.0 else move / own.scale
                sqnorm = add_row_to_both(
                    values, indices, starts, i, unit, up, classes, width, now, own.shadow, W, A
                )
                if joint:
                    sqnorm += add_row_to_both(
                        values, indices, starts, i, unit, down, classes, width, -now, own.shadow, W, A
                    )
                own.sqnorm += move * (2.0 * score + move * sqnorm)
                if keep:
                    line = ledger[written]
                    line.row, line.up, line.down = i, up + binary, down
                    line.tau, line.decay, line.clock = move, own.decay, clock
                    line.score, line.sqnorm = y * score, own.sqnorm
                    written += 1
                own.decay = 1.0
            own.shadow += weight * own.scale
        if made == np.int64(t):
            break
        clock += weight
    totals.clock, totals.mistakes, totals.updates, totals.written = clock, mistakes, updates, written
    return made
