"""The loop for rules with a variance per weight: see :mod:`rosenblatt.passes.sweep`, which it follows line by line.

An update moves the weights by ``τ y Σx`` and narrows ``Σ``; so it is not a multiple of the example, and no ledger can
tell it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.passes.compiled import compiled, compiled_for_rules
from rosenblatt.passes.contest import contest
from rosenblatt.passes.places import bias_place, extent, place
from rosenblatt.passes.records import State, Visits
from rosenblatt.passes.rows import ONE, Rows, score_row
from rosenblatt.rules import Seen, step


@compiled
def spread_along(
    rows: Any, i: Any, unit: float, c: Any, classes: Any, width: Any, S: NDArray[np.float64]
) -> float:
    """Return ``x·Σx`` for the variances of class ``c``."""
    values, indices, starts = rows
    start, stop = extent(indices, starts, i, width)
    total = unit * unit * S[bias_place(indices, c, width)]
    for k in range(start, stop):
        total += values[k] * values[k] * S[place(indices, start, k, c, classes, width)]
    return total


@compiled
def move_along(
    rule: Any, rows: Any, i: Any, unit: float, c: Any, classes: Any, width: Any, move: float, shadow: float,
    W: Any, A: Any, S: Any,
) -> None:  # fmt: skip
    """Add ``move·Σx`` to the weights of class ``c`` and narrow their variances."""
    values, indices, starts = rows
    start, stop = extent(indices, starts, i, width)
    at = bias_place(indices, c, width)
    W[at] += move * S[at] * unit
    A[at] += shadow * move * S[at] * unit
    S[at] /= 1.0 + S[at] * unit * unit / rule.r
    for k in range(start, stop):
        at = place(indices, start, k, c, classes, width)
        along = move * S[at] * values[k]
        W[at] += along
        A[at] += shadow * along
        S[at] /= 1.0 + S[at] * values[k] * values[k] / rule.r


@compiled_for_rules
def sweep_with_variances(
    rule: Any,
    rows: Rows,
    labels: NDArray[np.int64],
    visits: Visits,
    unit: float,
    state: State,
    S: NDArray[np.float64],
) -> None:
    """Visit rows in order; ``S`` holds the variances, laid out as the weights are."""
    values, indices, starts = rows
    order, weights = visits
    W, A, running, scores, totals = state.W, state.A, state.running, state.scores, state.totals[0]
    hypotheses = running.shape[0]
    classes = np.uint64(scores.shape[0])
    width = np.uint64(W.shape[0]) // classes - ONE
    joint = scores.shape[0] > hypotheses
    weight = 1.0
    for t in range(order.shape[0]):
        i = order[t]
        if weights.shape[0] > 0:
            weight = weights[t]
        score_row(values, indices, starts, i, unit, classes, width, W, scores)
        for c in range(hypotheses):
            own = running[c]
            up, down, y, score = contest(labels[i], c, hypotheses, scores)
            spread = spread_along(rows, i, unit, up, classes, width, S)
            if joint:
                spread += spread_along(rows, i, unit, down, classes, width, S)
            if y * score <= 0.0:
                totals.mistakes += 1
            _, tau = step(rule, Seen(score, y, spread, own.sqnorm, own.updates, totals.clock, False))
            if tau != 0.0:
                own.updates += 1
                totals.updates += 1
                move = weight * tau * y
                move_along(rule, rows, i, unit, up, classes, width, move, own.shadow, W, A, S)
                if joint:
                    move_along(rule, rows, i, unit, down, classes, width, -move, own.shadow, W, A, S)
            own.shadow += weight
        totals.clock += weight
