"""What happens to a row that must go, and to an update that finds no slot of its own.

With a step η and K(x, x) ≤ R², every mistake brings the weights at least ``η²R²(1 − 2·hinge)`` nearer to ``ηR²·g``, for
any ``g``. What forgetting takes from that is kept as a toll: the bound on the mistakes grows by no more.
"""

from typing import Any

import numpy as np

from rosenblatt.jit import compiled

DEPENDENT = 1e-10  # of its squared length: a row that lacks no more is a sum of the others, but for rounding
DAMAGE = 15.0 / 32.0  # of a mistake's gain that removals may spend (Dekel et al. 2008, self-tuned Forgetron)

# What forgetting cost, in the space where all classes are one function.
TOLL = np.dtype(
    [
        ("mistakes", np.float64),  # visits that moved a hypothesis, weighted
        ("squares", np.float64),  # Σ λ²K(r, r) − 2λ·f(r) over removed rows r of coefficient λ, not in units
        ("lengths", np.float64),  # Σ 2λ/η over removed rows
        ("shrunk", np.float64),  # Σ (1 − φ)/(1 + φ) over shrinks by φ
        ("short", np.float64),  # Σ ‖φ(x) − its projection‖
    ]
)


@compiled
def longest_ago(since: Any) -> int:
    """Return the slot whose row was corrected the longest ago."""
    oldest = 0
    for s in range(since.shape[0]):
        if since[s] < since[oldest]:
            oldest = s
    return oldest


@compiled
def score_of_slot(W: Any, c: int, slot: int, budget: Any) -> float:
    """Return the score of the row in a slot, without the running scale."""
    total = 0.0
    for s in range(budget.counts[0]):
        total += W[c, s] * budget.gram[slot, s]
    return total


@compiled
def drop(slot: int, target: int, sqradius: float, moved: float, state: Any, budget: Any, tune: bool) -> None:
    """Take a row out of every hypothesis; tuned, all shrink first, as little as keeps the toll in its share.

    The weights with the new step in them, ``f``, lose ``λ`` of the row ``r`` after a shrink by ``φ``. That costs
    ``Ψ(φ) = (φ²λ²K(r, r) − 2φ²λ·f(r))/η²R² + 2φλ/η``; φ is the largest in (0, 1] that keeps the sum of all costs at
    or below 15/32 of the mistakes (the self-tuned Forgetron; with classes, in the space where they are one function).
    """
    W, average_offset, running, toll = state.W, state.average_offset, state.running, budget.toll[0]
    joint = W.shape[0] > running.shape[0]
    squares, length = 0.0, 0.0
    for c in range(W.shape[0]):
        own = running[0 if joint else c]
        alpha = own.scale * W[c, slot]
        if alpha != 0.0:
            score = (
                own.scale * score_of_slot(W, c, slot, budget)
                + _new_step(c, target, budget) * budget.near[slot]
            )
            squares += alpha * (alpha * budget.gram[slot, slot] - 2.0 * score)
            length += abs(alpha) * (0.5 if joint else 1.0)
    keep = 1.0
    if budget.eta > 0.0:
        ratio = (
            budget.eta**2 * sqradius if sqradius > 0.0 else 1.0
        )  # where all rows are zero, so are the squares
        square, line = squares / ratio, 2.0 * length / budget.eta
        if tune:
            spent = toll.squares / ratio + toll.lengths
            keep = largest_within(square, line, max(DAMAGE * toll.mistakes - spent, DAMAGE * moved))
        toll.squares += keep * keep * squares
        toll.lengths += keep * line
        toll.shrunk += (1.0 - keep) / (1.0 + keep)
    for c in range(running.shape[0]):
        running[c].scale *= keep
        running[c].sqnorm *= keep * keep
        budget.moves[c] *= keep
    for c in range(W.shape[0]):
        own = running[0 if joint else c]
        alpha = own.scale * W[c, slot]
        if alpha != 0.0:  # ‖w − a‖² = ‖w‖² − 2 w·a + ‖a‖²
            score = own.scale * score_of_slot(W, c, slot, budget)
            own.sqnorm = max(own.sqnorm - alpha * (2.0 * score - alpha * budget.gram[slot, slot]), 0.0)
        W[c, slot] = 0.0
        average_offset[c, slot] = 0.0
    budget.counts[1] += 1


@compiled
def largest_within(square: float, line: float, allowed: float) -> float:
    """Return the largest ``φ`` in (0, 1] with ``square·φ² + line·φ ≤ allowed``, where ``line, allowed > 0``.

    >>> largest_within(0.0, 2.0, 1.0)
    0.5
    """
    if square + line <= allowed:
        return 1.0
    return 2.0 * allowed / (line + np.sqrt(max(line * line + 4.0 * square * allowed, 0.0)))


@compiled
def _new_step(c: int, target: int, budget: Any) -> float:
    """Return what this visit adds to its own coefficient for class ``c``; ``target`` is the joint truth, or -1."""
    if target < 0:
        return float(budget.moves[c])
    return float(budget.moves[0] * ((c == target) - (c == budget.rivals[0])))


@compiled
def named(slot: int, i: int, p: int, first_row: int, x_sqnorm: float, budget: Any) -> None:
    """Put an example into a slot."""
    if slot == budget.counts[0]:
        budget.counts[0] += 1
    budget.holder[slot] = i + first_row
    budget.home[slot] = p
    budget.slots[i] = slot
    for s in range(budget.counts[0]):
        budget.gram[slot, s] = budget.near[s]
        budget.gram[s, slot] = budget.near[s]
    budget.gram[slot, slot] = x_sqnorm


@compiled
def lacking(budget: Any, x_sqnorm: float) -> float:
    """Return the squared distance of a row from what the slots span; where one is free, its factor gets a line for it.

    ``L·l = k`` gives the projection its length ``‖l‖²``, and ``(l, √(K(x, x) − ‖l‖²))`` is the next line of ``L``.
    """
    used, L, k, out = budget.counts[0], budget.factor, budget.near, budget.shares
    lacks = x_sqnorm
    for s in range(used):
        rest = k[s]
        for r in range(s):
            rest -= L[s, r] * out[r]
        out[s] = rest / L[s, s]
        lacks -= out[s] * out[s]
    if used < L.shape[0] and lacks > 0.0:
        for s in range(used):
            L[used, s] = out[s]
        L[used, used] = np.sqrt(lacks)
    return lacks


@compiled
def spread_out(budget: Any) -> None:
    """Turn ``l`` into the shares of the rows in the projection: ``Lᵀ·d = l``, so that ``d = K⁻¹k``."""
    L, d = budget.factor, budget.shares
    for s in range(budget.counts[0] - 1, -1, -1):
        rest = d[s]
        for r in range(s + 1, budget.counts[0]):
            rest -= L[r, s] * d[r]
        d[s] = rest / L[s, s]


@compiled
def project(W: Any, average_offset: Any, own: Any, target: int, rival: int, move: float, budget: Any) -> None:
    """Move a hypothesis along the projection of the example onto the support rows (Orabona et al. 2009)."""
    near, shares = budget.near, budget.shares
    score, size = 0.0, 0.0
    for s in range(budget.counts[0]):
        size += shares[s] * near[s]
        score += (W[target, s] - (W[rival, s] if rival >= 0 else 0.0)) * near[s]
    if rival >= 0:
        size *= 2.0
    own.sqnorm += move * (2.0 * own.scale * score + move * size)
    for s in range(budget.counts[0]):
        now = move * shares[s] / own.scale
        W[target, s] += now
        average_offset[target, s] += own.scale_sum * now
        if rival >= 0:
            W[rival, s] -= now
            average_offset[rival, s] -= own.scale_sum * now
