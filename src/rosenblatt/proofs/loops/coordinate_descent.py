"""Dual coordinate descent for the soft margin: one epoch over the rows in a given order.

**Problem.** ``min ½‖w̃‖² + C Σ max(0, 1 − yᵢ w̃·x̃ᵢ)`` through its dual ``max Σα − ½‖Σ αᵢ yᵢ x̃ᵢ‖², 0 ≤ α ≤ C``
(Hsieh et al. 2008, Algorithm 1); for three or more classes ``C Σ max_c max(0, 1 − (f_y − f_c))`` (Crammer and Singer
2001), one pair of dual variables at a time. ``x̃`` is the row with ``bias`` appended; ``w̃`` is kept beside α. Each
function returns the largest violation of the optimality conditions that it met.
"""

from typing import Any

import numpy as np

from rosenblatt.jit import compiled


@compiled
def dense_epoch(examples: Any, w: Any, alpha: Any, C: float, order: Any) -> float:
    """Visit dense rows, two classes; ``examples`` is (X, ±1 labels, bias, ‖x̃‖²)."""
    X, signs, bias, sqnorms = examples
    d = X.shape[1]
    worst = 0.0
    for at in range(len(order)):
        i = order[at]
        x = X[i]
        score = w[d] * bias
        for j in range(d):
            score += x[j] * w[j]
        gradient = signs[i] * score - 1.0
        step = _clipped(gradient, alpha, i, C, sqnorms[i])
        if step != 0.0:
            worst = max(worst, abs(gradient))
            move = signs[i] * step
            for j in range(d):
                w[j] += move * x[j]
            w[d] += move * bias
    return worst


@compiled
def sparse_epoch(examples: Any, w: Any, alpha: Any, C: float, order: Any) -> float:
    """Visit CSR rows, two classes; ``examples`` is ((values, columns, starts), ±1 labels, bias, ‖x̃‖²)."""
    (values, columns, starts), signs, bias, sqnorms = examples
    d = len(w) - 1
    worst = 0.0
    for at in range(len(order)):
        i = order[at]
        x = values[starts[i] : starts[i + 1]]
        where = columns[starts[i] : starts[i + 1]]
        score = w[d] * bias
        for j in range(len(x)):
            score += x[j] * w[where[j]]
        gradient = signs[i] * score - 1.0
        step = _clipped(gradient, alpha, i, C, sqnorms[i])
        if step != 0.0:
            worst = max(worst, abs(gradient))
            move = signs[i] * step
            for j in range(len(x)):
                w[where[j]] += move * x[j]
            w[d] += move * bias
    return worst


@compiled
def _clipped(gradient: float, alpha: Any, i: int, C: float, sqnorm: float) -> float:
    """Take the exact step along one dual variable, kept within [0, C]; return how far it went."""
    before = alpha[i]
    after = min(max(before - gradient / sqnorm, 0.0), C) if sqnorm > 0.0 else C
    alpha[i] = after
    return after - before


@compiled
def dense_joint_epoch(examples: Any, W: Any, alpha: Any, C: float, order: Any) -> float:
    """Visit dense rows, three or more classes; ``alpha`` is (n, k), zero at each row's own class."""
    X, codes, bias, sqnorms = examples
    k, d = W.shape[0], X.shape[1]
    scores = np.empty(k)
    changes = np.empty(k)
    worst = 0.0
    for at in range(len(order)):
        i = order[at]
        x = X[i]
        for c in range(k):
            score = W[c, d] * bias
            for j in range(d):
                score += x[j] * W[c, j]
            scores[c] = score
        violation = _pair_step(scores, alpha[i], codes[i], C, (sqnorms[i], changes))
        if violation > 0.0:
            worst = max(worst, violation)
            for c in range(k):
                if changes[c] != 0.0:
                    for j in range(d):
                        W[c, j] += changes[c] * x[j]
                    W[c, d] += changes[c] * bias
    return worst


@compiled
def sparse_joint_epoch(examples: Any, W: Any, alpha: Any, C: float, order: Any) -> float:
    """Visit CSR rows, three or more classes."""
    (values, columns, starts), codes, bias, sqnorms = examples
    k = W.shape[0]
    d = W.shape[1] - 1
    scores = np.empty(k)
    changes = np.empty(k)
    worst = 0.0
    for at in range(len(order)):
        i = order[at]
        x = values[starts[i] : starts[i + 1]]
        where = columns[starts[i] : starts[i + 1]]
        for c in range(k):
            score = W[c, d] * bias
            for j in range(len(x)):
                score += x[j] * W[c, where[j]]
            scores[c] = score
        violation = _pair_step(scores, alpha[i], codes[i], C, (sqnorms[i], changes))
        if violation > 0.0:
            worst = max(worst, violation)
            for c in range(k):
                if changes[c] != 0.0:
                    for j in range(len(x)):
                        W[c, where[j]] += changes[c] * x[j]
                    W[c, d] += changes[c] * bias
    return worst


@compiled
def _pair_step(scores: Any, alpha: Any, y: int, C: float, work: Any) -> float:
    """Move weight to the worst rival from the best one that holds some (or from what is left of C).

    ``alpha[c]`` is how much the row pushes class c down; its own class goes up by the sum. The gain of pushing
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
