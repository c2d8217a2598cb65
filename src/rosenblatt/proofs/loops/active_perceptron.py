"""The perceptron as a search for a separator: rows of norm one, sweeps over a chosen set of rows.

Each function runs up to ``rounds`` sweeps over the rows ``ids``, adding ``y x̃/‖x̃‖`` on every mistake, writes
the rows that the last sweep got wrong to ``mistaken`` and returns their number; zero means a clean sweep.
``x̃`` is the row with ``bias`` appended as one more feature; there is no such feature when ``bias`` is zero.
A score of at most ``least`` is a mistake: a positive one that is rounding noise teaches too.
"""

import math
from typing import Any

from rosenblatt.jit import compiled


@compiled
def dense_sweeps(examples: Any, w: Any, ids: Any, rounds: int, mistaken: Any) -> int:
    """Sweep over dense rows, two classes; ``examples`` is (X, ±1 labels, bias, least)."""
    X, signs, bias, least = examples
    d = X.shape[1]
    count = 0
    for _ in range(rounds):
        count = 0
        for at in range(len(ids)):
            i = ids[at]
            x = X[i]
            score = w[d] * bias
            for j in range(d):
                score += x[j] * w[j]
            if not signs[i] * score > least:
                sqnorm = bias * bias
                for j in range(d):
                    sqnorm += x[j] * x[j]
                step = signs[i] / math.sqrt(sqnorm) if sqnorm > 0.0 else 0.0
                for j in range(d):
                    w[j] += step * x[j]
                w[d] += step * bias
                mistaken[count] = i
                count += 1
        if count == 0:
            break
    return count


@compiled
def sparse_sweeps(examples: Any, w: Any, ids: Any, rounds: int, mistaken: Any) -> int:
    """Sweep over CSR rows, two classes; ``examples`` is ((values, columns, starts), ±1 labels, …)."""
    (values, columns, starts), signs, bias, least = examples
    count = 0
    d = len(w) - 1
    for _ in range(rounds):
        count = 0
        for at in range(len(ids)):
            i = ids[at]
            x = values[starts[i] : starts[i + 1]]
            where = columns[starts[i] : starts[i + 1]]
            score = w[d] * bias
            for j in range(len(x)):
                score += x[j] * w[where[j]]
            if not signs[i] * score > least:
                sqnorm = bias * bias
                for j in range(len(x)):
                    sqnorm += x[j] * x[j]
                step = signs[i] / math.sqrt(sqnorm) if sqnorm > 0.0 else 0.0
                for j in range(len(x)):
                    w[where[j]] += step * x[j]
                w[d] += step * bias
                mistaken[count] = i
                count += 1
        if count == 0:
            break
    return count


@compiled
def _rival(scores: Any, y: int) -> int:
    """Return the class other than ``y`` with the largest score."""
    rival = 0 if y != 0 else 1
    for c in range(len(scores)):
        if c != y and scores[c] > scores[rival]:
            rival = c
    return rival


@compiled
def dense_joint_sweeps(examples: Any, W: Any, ids: Any, rounds: int, mistaken: Any) -> int:
    """Sweep over dense rows, any number of classes, one row of ``W`` each (Kesler's construction)."""
    X, codes, bias, least = examples
    d = X.shape[1]
    scores = W[:, 0].copy()
    count = 0
    for _ in range(rounds):
        count = 0
        for at in range(len(ids)):
            i = ids[at]
            x = X[i]
            for c in range(len(W)):
                w = W[c]
                score = w[d] * bias
                for j in range(d):
                    score += x[j] * w[j]
                scores[c] = score
            y = codes[i]
            rival = _rival(scores, y)
            if not scores[y] - scores[rival] > least:
                sqnorm = bias * bias
                for j in range(d):
                    sqnorm += x[j] * x[j]
                step = 1.0 / math.sqrt(sqnorm) if sqnorm > 0.0 else 0.0
                for j in range(d):
                    W[y, j] += step * x[j]
                    W[rival, j] -= step * x[j]
                W[y, d] += step * bias
                W[rival, d] -= step * bias
                mistaken[count] = i
                count += 1
        if count == 0:
            break
    return count


@compiled
def sparse_joint_sweeps(examples: Any, W: Any, ids: Any, rounds: int, mistaken: Any) -> int:
    """Sweep over CSR rows, any number of classes."""
    (values, columns, starts), codes, bias, least = examples
    d = W.shape[1] - 1
    scores = W[:, 0].copy()
    count = 0
    for _ in range(rounds):
        count = 0
        for at in range(len(ids)):
            i = ids[at]
            x = values[starts[i] : starts[i + 1]]
            where = columns[starts[i] : starts[i + 1]]
            for c in range(len(W)):
                score = W[c, d] * bias
                for j in range(len(x)):
                    score += x[j] * W[c, where[j]]
                scores[c] = score
            y = codes[i]
            rival = _rival(scores, y)
            if not scores[y] - scores[rival] > least:
                sqnorm = bias * bias
                for j in range(len(x)):
                    sqnorm += x[j] * x[j]
                step = 1.0 / math.sqrt(sqnorm) if sqnorm > 0.0 else 0.0
                for j in range(len(x)):
                    W[y, where[j]] += step * x[j]
                    W[rival, where[j]] -= step * x[j]
                W[y, d] += step * bias
                W[rival, d] -= step * bias
                mistaken[count] = i
                count += 1
        if count == 0:
            break
    return count


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
