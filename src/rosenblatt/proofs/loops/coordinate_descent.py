"""Dual coordinate descent for the soft margin: one epoch over the rows in a given order.

**Problem.** ``min ½‖w̃‖² + C Σ max(0, 1 − yᵢ w̃·x̃ᵢ)`` through its dual ``max Σα − ½‖Σ αᵢ yᵢ x̃ᵢ‖², 0 ≤ α ≤ C``
(Hsieh et al. 2008, Algorithm 1); for three or more classes ``C Σ max_c max(0, 1 − (f_y − f_c))`` (Crammer and Singer
2001), one pair of dual variables at a time. ``x̃`` is the row with a constant input for the bias; ``w̃`` is kept up
beside α.
"""

from typing import Any

import numpy as np

from rosenblatt.core.rows import Layout, Rows, add_row, score_row
from rosenblatt.jit import compiled, compiled_part


@compiled
def epoch(
    rows: Rows,
    labels: Any,
    sqnorms: Any,
    bias_input: float,
    C: float,
    order: Any,
    W: Any,
    alpha: Any,
    scores: Any,
    changes: Any,
) -> float:
    """Visit rows in order and return the largest violation of the optimality conditions that a visit saw.

    ``W`` is flat, laid out for the rows. Labels are ±1 with one row of weights, else class indices; ``alpha`` is
    ``(n, rows of weights)``, with several zero at each row's own class. ``scores`` and ``changes`` hold one number
    for each row of weights.
    """
    classes = scores.shape[0]
    layout = Layout(np.uint64(classes), np.uint64(W.shape[0] // classes - 1), bias_input)
    worst = 0.0
    for at in range(order.shape[0]):
        i = np.uint64(order[at])
        score_row(rows, i, layout, W, scores)
        if classes == 1:
            violation = _single_step(scores[0], alpha[i], labels[i], C, sqnorms[i], changes)
        else:
            violation = _pair_step(scores, alpha[i], int(labels[i]), C, (sqnorms[i], changes))
        worst = max(worst, violation)
        for c in range(classes):
            if changes[c] != 0.0:
                add_row(rows, i, layout, c, changes[c], W)
    return worst


@compiled_part
def _single_step(score: float, alpha: Any, sign: float, C: float, sqnorm: float, changes: Any) -> float:
    """Take the exact step along one dual variable, within [0, C]; return the gradient where it moved."""
    gradient = sign * score - 1.0
    before = alpha[0]
    alpha[0] = min(max(before - gradient / sqnorm, 0.0), C) if sqnorm > 0.0 else C
    changes[0] = sign * (alpha[0] - before)
    return abs(gradient) if changes[0] != 0.0 else 0.0


@compiled_part
def _pair_step(scores: Any, alpha: Any, y: int, C: float, work: Any) -> float:
    """Move weight to the worst rival from the best one that holds some (or from what is left of C).

    ``alpha[c]`` is how much the row pushes class c down; its own class rises by the sum. The gain of pushing
    class c is ``g_c = 1 − (f_y − f_c)``, and 0 for pushing nothing.
    """
    sqnorm, changes = work
    k = len(scores)
    changes[:] = 0.0
    held = 0.0
    rival = -1
    giver = -1
    for c in range(k):
        if c != y:
            held += alpha[c]
            if rival < 0 or scores[c] > scores[rival]:
                rival = c
            if alpha[c] > 0.0 and (giver < 0 or scores[c] < scores[giver]):
                giver = c
    up = 1.0 - scores[y] + scores[rival]
    down = 1.0 - scores[y] + scores[giver] if giver >= 0 else 0.0
    spare = C - held
    if sqnorm <= 0.0:
        return 0.0
    if up > 0.0 and spare > 1e-15 * C and (giver < 0 or down >= 0.0 or up >= -down):
        step = min(up / (2.0 * sqnorm), spare)  # ‖x̃ ⊗ (e_y − e_c)‖² = 2‖x̃‖²
        alpha[rival] += step
        changes[y] += step
        changes[rival] -= step
        return up
    if giver >= 0 and down < 0.0:
        step = min(-down / (2.0 * sqnorm), alpha[giver])
        alpha[giver] -= step
        changes[y] -= step
        changes[giver] += step
        return -down
    if giver >= 0 and giver != rival and up > down and up > 0.0:
        step = min((up - down) / (2.0 * sqnorm), alpha[giver])
        alpha[giver] -= step
        alpha[rival] += step
        changes[giver] += step
        changes[rival] -= step
        return up - down
    return 0.0
