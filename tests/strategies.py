"""Data sets for property tests: small, integer-valued (so that sums are exact), separable where asked."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def integer_data(draw, classes=st.integers(2, 4), rows=st.integers(4, 30), features=st.integers(1, 5)):
    """``(X, labels, classes)`` with every class present and entries small integers."""
    k, n, d = draw(classes), draw(rows), draw(features)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)).astype(np.float64)
    X *= rng.random((n, d)) < 0.8
    labels = np.concatenate([np.arange(k), rng.integers(0, k, size=max(0, n - k))])[:n]
    labels = np.concatenate([labels, np.arange(k)[: max(0, k - n)]])[: max(n, k)]
    if len(labels) > n:
        X = np.vstack([X, rng.integers(-3, 4, size=(len(labels) - n, d))])
    return X, rng.permutation(labels).astype(np.int64), k


@st.composite
def separable_data(draw, classes=st.integers(2, 4)):
    """``(X, labels, U)``: every row is on its side of the hidden ``U`` (rows, 1 + features) by a clear margin."""
    k, d = draw(classes), draw(st.integers(2, 6))
    n = draw(st.integers(2 * k, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = rng.normal(size=(1 if k == 2 else k, d + 1))
    X = rng.normal(size=(60 * n, d)) * draw(st.sampled_from([0.1, 1.0, 30.0]))
    scores = X @ U[:, 1:].T + U[:, 0]
    labels = (scores[:, 0] > 0).astype(np.int64) if k == 2 else scores.argmax(axis=1)
    top = np.sort(scores, axis=1)
    gap = np.abs(scores[:, 0]) if k == 2 else top[:, -1] - top[:, -2]
    clear = np.argsort(-gap)[: 6 * n]
    keep = np.concatenate([clear[labels[clear] == c][: max(1, n // k)] for c in range(k)])
    return X[keep], labels[keep], U
