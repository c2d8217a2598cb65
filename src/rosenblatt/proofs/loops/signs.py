"""Scores with what is needed to bound their rounding errors: the floating-point filter of the proofs.

Every sum below runs in the order in which it is written; the bounds are proved in ``proofs/signs.py``.
"""

from typing import Any

import numpy as np

from rosenblatt.jit import exactly_compiled

SPLITTER = 134217729.0  # 2²⁷ + 1, Dekker's constant for float64


@exactly_compiled
def dense_scores(X: Any, w: Any, b: float, scores: Any, sqnorms: Any) -> None:
    """Write ``w·x + b`` and ``‖x‖²`` of every row."""
    n, d = X.shape
    d4 = d - d % 8
    for i in range(n):
        x = X[i]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        q0 = q1 = q2 = q3 = q4 = q5 = q6 = q7 = 0.0
        for j in range(0, d4, 8):
            x0, x1, x2, x3 = float(x[j]), float(x[j + 1]), float(x[j + 2]), float(x[j + 3])
            x4, x5, x6, x7 = float(x[j + 4]), float(x[j + 5]), float(x[j + 6]), float(x[j + 7])
            s0 += x0 * w[j]
            s1 += x1 * w[j + 1]
            s2 += x2 * w[j + 2]
            s3 += x3 * w[j + 3]
            s4 += x4 * w[j + 4]
            s5 += x5 * w[j + 5]
            s6 += x6 * w[j + 6]
            s7 += x7 * w[j + 7]
            q0 += x0 * x0
            q1 += x1 * x1
            q2 += x2 * x2
            q3 += x3 * x3
            q4 += x4 * x4
            q5 += x5 * x5
            q6 += x6 * x6
            q7 += x7 * x7
        for j in range(d4, d):
            xj = float(x[j])
            s0 += xj * w[j]
            q0 += xj * xj
        scores[i] = ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)) + b
        sqnorms[i] = ((q0 + q4) + (q1 + q5)) + ((q2 + q6) + (q3 + q7))


@exactly_compiled
def sparse_scores(rows: Any, w: Any, b: float, scores: Any, sqnorms: Any) -> None:
    """Write ``w·x + b`` and ``‖x‖²`` of every CSR row; ``rows`` is (values, columns, starts)."""
    values, columns, starts = rows
    for i in range(len(scores)):
        x = values[starts[i] : starts[i + 1]]
        where = columns[starts[i] : starts[i + 1]]
        s = 0.0
        q = 0.0
        for j in range(len(x)):
            xj = float(x[j])
            s += xj * w[where[j]]
            q += xj * xj
        scores[i] = s + b
        sqnorms[i] = q


@exactly_compiled
def _two_sum(a: float, b: float) -> tuple[float, float]:
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@exactly_compiled
def _two_product(a: float, b: float) -> tuple[float, float]:
    p = a * b
    t = SPLITTER * a
    a1 = t - (t - a)
    a2 = a - a1
    t = SPLITTER * b
    b1 = t - (t - b)
    b2 = b - b1
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


@exactly_compiled
def dense_compensated(X: Any, high: Any, low: Any, scores: Any, sizes: Any) -> None:
    """Write ``Σ xⱼ (highⱼ + lowⱼ)`` as if in twice the precision, and ``Σ |xⱼ highⱼ|``.

    ``X`` may have one column less than there are weights: the last weight is then a bias.
    Algorithm 5.3 (Dot2) of Ogita, Rump and Oishi (2005), with the low parts added to the correction.
    """
    n, d = X.shape
    for i in range(n):
        s = 0.0
        correction = 0.0
        size = 0.0
        for j in range(len(high)):
            x = float(X[i, j]) if j < d else 1.0
            p, e = _two_product(x, high[j])
            s, f = _two_sum(s, p)
            correction += (e + f) + x * low[j]
            size += abs(p)
        scores[i] = s + correction
        sizes[i] = size


@exactly_compiled
def sparse_compensated(rows: Any, high: Any, low: Any, scores: Any, sizes: Any) -> None:
    """Do what :func:`dense_compensated` does, over CSR rows; ``rows`` is (values, columns, starts, bias)."""
    values, columns, starts, bias = rows
    for i in range(len(scores)):
        s = 0.0
        correction = 0.0
        size = 0.0
        if bias:
            s, correction, size = high[-1], low[-1], abs(high[-1])
        for at in range(starts[i], starts[i + 1]):
            x = float(values[at])
            p, e = _two_product(x, high[columns[at]])
            s, f = _two_sum(s, p)
            correction += (e + f) + x * low[columns[at]]
            size += abs(p)
        scores[i] = s + correction
        sizes[i] = size


def csr_rows(X: Any) -> Any:
    """Return values, columns and starts; columns unsigned, so that no loop tests them for being negative."""
    return X.data, X.indices.view(np.uint32 if X.indices.dtype == np.int32 else np.uint64), X.indptr
