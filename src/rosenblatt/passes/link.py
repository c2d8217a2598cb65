"""The loop for rules whose weights are a vector ``θ`` seen through the p-norm link: see :mod:`rosenblatt.passes.sweep`.

``θ = scale × V`` is a sum of examples and lies where other rules keep their weights. Beside it stands
``Uᵢ = sign(Vᵢ)|Vᵢ|^(p−1)``, so that a score is one product, ``w·x = scale·(U·x) / ‖V‖_p^(p−2)``, and powers are taken
only where an update moves ``V``. ``Σ|Vᵢ|^p = V·U`` counts every coordinate and is kept up from those of the row, in
the running ``sqnorm``. The rule is shown ``(p−1)‖x‖_p²`` as ``x_sqnorm``.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.passes.compiled import compiled, compiled_for_rules
from rosenblatt.passes.contest import contest
from rosenblatt.passes.places import bias_place, extent, place
from rosenblatt.passes.records import State, Visits
from rosenblatt.passes.rows import ONE, Rows, owner, score_row
from rosenblatt.rules import Seen, step

# Beyond these V is brought back to norm one and its sum of powers taken anew, which happens O(log updates) times: the
# sum is kept up by differences, and loses as many digits as it has moved.
SMALLEST_POWER, LARGEST_POWER = 2.0**-8, 2.0**8
INSIDE = -math.inf  # shown as ‖w‖²: no step leaves the ball, and the pass itself brings back those that did
ABOVE_ROUNDING = 1.0 + 1e-6  # of ‖x‖₂² in float32


def through_link(theta: NDArray[Any], p: float, joint: bool) -> NDArray[np.float64]:
    """Return ``sign(θᵢ)|θᵢ|^(p−1)/‖θ‖_p^(p−2)`` of each row, or of all rows as one vector; with q it is the way back.

    >>> w = through_link(np.array([[3.0, -1.0]]), 4.0, joint=False)
    >>> through_link(w, 4.0 / 3.0, joint=False).round(12)
    array([[ 3., -1.]])
    """
    V = theta.astype(np.float64)
    axis = None if joint else 1
    most = np.abs(V).max(axis=axis, keepdims=True)
    most[most == 0.0] = 1.0  # most = 1 leaves a zero vector as it is
    V /= most
    power = np.maximum(
        (np.abs(V) ** p).sum(axis=axis, keepdims=True), 1.0
    )  # one coordinate is ±1, or all are 0
    linked: NDArray[np.float64] = most * power ** ((2.0 - p) / p) * powers(V, p)
    return linked


def powers(V: NDArray[Any], p: float) -> NDArray[np.float64]:
    """Return ``sign(Vᵢ)|Vᵢ|^(p−1)``, what the pass keeps beside ``V``."""
    wide = V.astype(np.float64)
    return np.copysign(np.abs(wide) ** (p - 1.0), wide)


@compiled
def norm_of_row(rows: Any, i: Any, unit: float, width: Any, p: float) -> float:
    """Return ``‖(unit, xᵢ)‖_p``."""
    values, indices, starts = rows
    start, stop = extent(indices, starts, i, width)
    most = unit
    for k in range(start, stop):
        most = max(most, abs(float(values[k])))
    if most == 0.0:
        return 0.0
    total = (unit / most) ** p
    for k in range(start, stop):
        if values[k] != 0.0:
            total += (abs(float(values[k])) / most) ** p
    return most * total ** (1.0 / p)


@compiled
def move_one(p: float, at: Any, move: float, shadow: float, V: Any, A: Any, U: Any) -> float:
    """Add ``move`` to one coordinate and return by how much ``|Vᵢ|^p`` grew."""
    before = V[at] * U[at]
    V[at] += move
    A[at] += shadow * move
    U[at] = math.copysign(abs(float(V[at])) ** (p - 1.0), float(V[at]))
    return V[at] * U[at] - before


@compiled
def move_row(
    p: float, rows: Any, i: Any, unit: float, c: Any, classes: Any, width: Any, move: float, shadow: float,
    V: Any, A: Any, U: Any,
) -> float:  # fmt: skip
    """Add ``move·(unit, xᵢ)`` to the vector of class ``c`` and return by how much ``Σ|Vᵢ|^p`` grew."""
    values, indices, starts = rows
    start, stop = extent(indices, starts, i, width)
    grown = 0.0
    if unit != 0.0:
        grown += move_one(p, bias_place(indices, c, width), move * unit, shadow, V, A, U)
    for k in range(start, stop):
        if values[k] != 0.0:
            at = place(indices, start, k, c, classes, width)
            grown += move_one(p, at, move * values[k], shadow, V, A, U)
    return grown


@compiled
def to_norm_one(
    p: float, indices: Any, c: int, classes: int, shadow: float, V: Any, A: Any, U: Any
) -> tuple[float, float]:
    """Divide the vector of class ``c`` (all, when negative) by its norm; return that norm, and the new ``Σ|Vᵢ|^p``."""
    most = 0.0
    for at in range(V.shape[0]):
        if c < 0 or owner(indices, at, V.shape[0], classes) == c:
            most = max(most, abs(float(V[at])))
    if most == 0.0:
        return 1.0, 0.0
    total = 0.0
    for at in range(V.shape[0]):
        if V[at] != 0.0 and (c < 0 or owner(indices, at, V.shape[0], classes) == c):
            total += (abs(float(V[at])) / most) ** p
    norm = most * total ** (1.0 / p)
    power = 0.0
    for at in range(V.shape[0]):
        if V[at] != 0.0 and (c < 0 or owner(indices, at, V.shape[0], classes) == c):
            A[at] -= shadow * V[at]
            V[at] /= norm
            U[at] = math.copysign(abs(float(V[at])) ** (p - 1.0), float(V[at]))
            power += V[at] * U[at]
    return norm, power


@compiled_for_rules
def sweep_through_link(
    rule: Any,
    rows: Rows,
    labels: NDArray[np.int64],
    visits: Visits,
    unit: float,
    state: State,
    U: NDArray[np.float64],
) -> None:
    """Visit rows in order; ``U`` is laid out as the weights are, and ``state.scores`` is of float64."""
    values, indices, starts = rows
    order, weights = visits
    V, A, running, scores, totals = state.W, state.A, state.running, state.scores, state.totals[0]
    hypotheses = running.shape[0]
    classes = np.uint64(scores.shape[0])
    width = np.uint64(V.shape[0]) // classes - ONE
    joint = scores.shape[0] > hypotheses
    sides = 2.0 if joint else 1.0  # an example of Kesler's construction holds x twice
    weight = 1.0
    for t in range(order.shape[0]):
        i = order[t]
        if weights.shape[0] > 0:
            weight = weights[t]
        x_sqnorm = score_row(values, indices, starts, i, unit, classes, width, U, scores)
        norm = -1.0
        for c in range(hypotheses):
            own = running[c]
            up, down, y, score = contest(labels[i], c, hypotheses, scores)
            if own.sqnorm > 0.0:
                score *= own.scale * own.sqnorm ** ((2.0 - rule.p) / rule.p)
            if y * score <= 0.0:
                totals.mistakes += 1
            # ‖x‖_p ≤ ‖x‖₂: an example that is clear of the larger needs no powers.
            longer = (rule.p - 1.0) * sides * x_sqnorm * ABOVE_ROUNDING
            _, tau = step(rule, Seen(score, y, longer, INSIDE, own.updates, totals.clock, False))
            if tau != 0.0:
                if norm < 0.0:
                    norm = norm_of_row(rows, i, unit, width, rule.p)
                own_sqnorm = (rule.p - 1.0) * sides ** (2.0 / rule.p) * norm * norm
                _, tau = step(rule, Seen(score, y, own_sqnorm, INSIDE, own.updates, totals.clock, False))
            if tau != 0.0:
                own.updates += 1
                totals.updates += 1
                move = weight * tau * y / own.scale
                own.sqnorm += move_row(rule.p, rows, i, unit, up, classes, width, move, own.shadow, V, A, U)
                if joint:
                    own.sqnorm += move_row(
                        rule.p, rows, i, unit, down, classes, width, -move, own.shadow, V, A, U
                    )
                if not SMALLEST_POWER < own.sqnorm < LARGEST_POWER:
                    whose = -1 if joint else c
                    length, power = to_norm_one(rule.p, indices, whose, scores.shape[0], own.shadow, V, A, U)
                    own.scale, own.shadow, own.sqnorm = own.scale * length, 0.0, power
                own.scale /= max(1.0, own.scale * own.sqnorm ** (1.0 / rule.p))
            own.shadow += weight * own.scale
        totals.clock += weight
