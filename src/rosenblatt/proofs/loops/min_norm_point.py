"""The point of least norm in the convex hull of rows (Wolfe 1976), as non-negative least squares.

**Problem.** ``min ‖[1; Pᵀ] λ − e₁‖² over λ ≥ 0``. With ``x = Pᵀλ`` the optimum satisfies
``p·x ≥ 1 − Σλ = ‖r‖²`` for every row ``p``: either ``r = 0`` and the rows contradict each other, or ``x``
separates them and ``x/Σλ`` is the point of least norm.

Lawson and Hanson (1974), chapter 23, with a thin QR of the columns in use, updated. Rows are priced a few at a time:
one pass over all of them lists the most violated, and the next iterations choose from that list while one of it is
still violated by half as much as the worst was (partial pricing, as in the simplex method).
"""

import math
from typing import Any

import numpy as np

from rosenblatt.jit import compiled

LISTED = 64  # most violated rows that one pass over all rows lists
LISTED_SHARE = (
    0.5  # of the worst violation at that pass: a listed row violated by less waits for the next pass
)


@compiled
def _dot(a: Any, b: Any) -> Any:
    """Multiply and add, in this thread: BLAS would wake others for so little."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def min_norm_point(P: Any, support: Any, weights: Any, n_support: int, limits: Any) -> Any:
    """Minimise from a warm start; return (number of rows in use, residual r, iterations, stalled).

    ``support[:n]`` and ``weights[:n]`` hold the rows in use and their λ, and are updated in place.
    ``limits`` is (most iterations, tolerance on a row's violation relative to ‖r‖).
    """
    k, m = P.shape
    capacity = min(k, m + 1)
    Q = np.empty((capacity + 1, m + 1))  # orthonormal rows
    R = np.zeros((capacity + 1, capacity + 1))  # R[i, j]: part of column j along Q[i]
    used = np.zeros(k, dtype=np.bool_)
    blocked = np.zeros(k, dtype=np.bool_)
    column = np.empty(m + 1)
    listed, violations = np.empty(LISTED, dtype=np.int64), np.empty(LISTED)
    n_listed = 0
    least = 0.0  # violation from which a listed row is chosen without another pass
    n = 0
    for s in range(n_support):  # rebuild the warm start, leaving out what is dependent
        column[0] = 1.0
        column[1:] = P[support[s]]
        if n < capacity and _append(Q, R, column, n):
            used[support[s]] = True
            support[n] = support[s]
            weights[n] = weights[s]
            n += 1
    if n:
        n = _descend((Q, R), support, weights, n, used)
    r = _residual(Q, n)
    best = math.inf
    idle = 0
    iterations = 0
    for iterations in range(1, int(limits[0]) + 1):
        norm = math.sqrt(_dot(r, r))
        if norm < 1e-15:
            return n, r, iterations, False
        if norm < best * (1.0 - 1e-9):
            best = norm
            idle = 0
            blocked[:] = False
        else:
            idle += 1
            if idle > 20:
                return n, r, iterations, True
        chosen = -1
        gain = max(limits[1] * norm, least)
        for at in range(n_listed):
            i = listed[at]
            if not used[i] and not blocked[i]:
                value = r[0] + _dot(P[i], r[1:])
                if value > gain:
                    gain = value
                    chosen = i
        if chosen < 0:
            n_listed = _list_violated(P, r, used, blocked, limits[1] * norm, listed, violations)
            if n_listed:
                chosen = listed[0]
                least = LISTED_SHARE * violations[0]
        if chosen < 0:
            return n, r, iterations, idle > 0
        column[0] = 1.0
        column[1:] = P[chosen]
        if n >= capacity or not _append(Q, R, column, n):
            blocked[chosen] = True
            continue
        support[n] = chosen
        weights[n] = 0.0
        used[chosen] = True
        n += 1
        target = _solve(Q, R, n)
        if target[n - 1] <= 0.0:  # rounding only: the row does not help after all
            n -= 1
            used[chosen] = False
            blocked[chosen] = True
            continue
        with_chosen = n
        n = _descend((Q, R), support, weights, n, used)
        if n == with_chosen:
            _subtract_projection(r, Q[n - 1])
        if n < with_chosen or _dot(r, r) < 0.01 * norm**2:  # what is left of r would be rounding
            r = _residual(Q, n)
    return n, r, iterations, True


@compiled
def _list_violated(
    P: Any, r: Any, used: Any, blocked: Any, least: float, listed: Any, violations: Any
) -> int:
    """Price all rows; list those violated by more than ``least``, the most violated first, and return their number."""
    n = 0
    for i in range(len(P)):
        if used[i] or blocked[i]:
            continue
        value = r[0] + _dot(P[i], r[1:])
        if value <= least or (n == len(listed) and value <= violations[n - 1]):
            continue
        n = min(n + 1, len(listed))
        at = n - 1
        while at > 0 and violations[at - 1] < value:
            listed[at], violations[at] = listed[at - 1], violations[at - 1]
            at -= 1
        listed[at], violations[at] = i, value
    return n


@compiled
def _subtract_projection(vector: Any, q: Any) -> float:
    """Subtract from a vector its part along the unit vector ``q``; return the length of that part."""
    part = _dot(q, vector)
    for t in range(len(vector)):
        vector[t] -= part * q[t]
    return part


@compiled
def _append(Q: Any, R: Any, column: Any, n: int) -> bool:
    """Add a column to the QR; False where it depends on the others to working precision."""
    q = column.copy()
    size = math.sqrt(_dot(q, q))
    least = 1e-13 * size
    R[: n + 1, n] = 0.0
    after = size
    for _ in range(3):
        before = after
        for i in range(n):
            R[i, n] += _subtract_projection(q, Q[i])
        after = math.sqrt(_dot(q, q))
        if after > 0.5 * before or after <= least:
            break  # hardly anything was subtracted, so what is left is orthogonal to working precision
    if after <= least:
        return False
    Q[n] = q / after
    R[n, n] = after
    return True


@compiled
def _solve(Q: Any, R: Any, n: int) -> Any:
    """Return the least-squares solution for the columns in use: ``R α = Q e₁``."""
    alpha = Q[:n, 0].copy()
    for i in range(n - 1, -1, -1):
        alpha[i] = (alpha[i] - _dot(R[i, i + 1 : n], alpha[i + 1 :])) / R[i, i]
    return alpha


@compiled
def _residual(Q: Any, n: int) -> Any:
    """Return ``e₁`` less its projection on the columns in use, orthogonalised twice."""
    r = np.zeros(Q.shape[1])
    r[0] = 1.0
    for _ in range(2):
        for i in range(n):
            _subtract_projection(r, Q[i])
    return r


@compiled
def _descend(qr: Any, support: Any, weights: Any, n: int, used: Any) -> int:
    """Move towards the least-squares solution, dropping rows whose weight reaches zero."""
    Q, R = qr
    while n > 0:
        target = _solve(Q, R, n)
        step = 1.0
        leaving = -1
        for j in range(n):
            if target[j] <= 0.0:
                ratio = weights[j] / (weights[j] - target[j]) if weights[j] > 0.0 else 0.0
                if leaving < 0 or ratio < step:
                    step = ratio
                    leaving = j
        if leaving < 0:
            weights[:n] = target
            return n
        for j in range(n):
            weights[j] += step * (target[j] - weights[j])
        weights[leaving] = 0.0
        used[support[leaving]] = False
        _remove(Q, R, leaving, n)
        for j in range(leaving, n - 1):
            support[j] = support[j + 1]
            weights[j] = weights[j + 1]
        n -= 1
    return n


@compiled
def _remove(Q: Any, R: Any, leaving: int, n: int) -> None:
    """Remove a column from the QR by Givens rotations."""
    for j in range(leaving, n - 1):
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
    for j in range(leaving, n - 1):
        a, b = R[j, j], R[j + 1, j]
        h = math.hypot(a, b)
        c, s = a / h, b / h
        for t in range(j, n - 1):
            upper, lower = R[j, t], R[j + 1, t]
            R[j, t] = c * upper + s * lower
            R[j + 1, t] = c * lower - s * upper
        for t in range(Q.shape[1]):
            upper, lower = Q[j, t], Q[j + 1, t]
            Q[j, t] = c * upper + s * lower
            Q[j + 1, t] = c * lower - s * upper


@compiled
def dense_prices(X: Any, w: Any, b: float, factors: Any, out: Any) -> None:
    """Write ``factor·(w·x + b)`` of every dense row, in this thread."""
    d = X.shape[1]
    for i in range(len(out)):
        x = X[i]
        score = b
        for j in range(d):
            score += x[j] * w[j]
        out[i] = factors[i] * score
