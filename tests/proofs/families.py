"""Small data sets of every awkward kind, from a seed."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Case(NamedTuple):
    family: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]
    fit_intercept: bool


FAMILIES = (
    "random",
    "separable",
    "lattice",
    "binary",
    "duplicates",
    "contradictory",
    "collinear",
    "constant columns",
    "one class",
    "single row",
    "huge and tiny",
    "mixed scales",
    "denormals",
    "touching",
    "thin",
    "three classes",
    "four classes on a lattice",
)


def generate(seed: int) -> Case:
    """Return one case; seeds walk through all families."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    n, d = int(rng.integers(2, 11)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d))
    y = rng.integers(0, 2, n)
    w = rng.standard_normal(d)
    if family == "separable":
        y = (X @ w > 0).astype(np.int64)
    elif family == "lattice":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif family == "binary":
        X = rng.integers(0, 2, (n, d)).astype(float)
    elif family == "duplicates":
        X = X[rng.integers(0, max(1, n // 2), n)]
        y = (X @ w > 0).astype(np.int64)
    elif family == "contradictory":
        y = (X @ w > 0).astype(np.int64)
        X[-1], y[-1] = X[0], 1 - y[0]
    elif family == "collinear":
        X = np.outer(rng.integers(-3, 4, n), rng.integers(-3, 4, d)).astype(float) + rng.integers(-1, 2, d)
    elif family == "constant columns":
        X = rng.integers(-2, 3, (n, d)).astype(float)
        X[:, rng.integers(0, d)] = rng.integers(-1, 2)
    elif family == "one class":
        y = np.zeros(n, dtype=np.int64)
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif family == "single row":
        X, y = X[:1] * rng.integers(0, 2), y[:1]
    elif family == "huge and tiny":
        X = X * 10.0 ** rng.choice([-150, 150])
    elif family == "mixed scales":
        X = rng.integers(-2, 3, (n, d)) * 10.0 ** rng.choice([-150, -20, 0, 20, 150], (n, d))
    elif family == "denormals":
        X = rng.integers(-3, 4, (n, d)) * 5e-324
    elif family == "touching":
        X = rng.integers(-3, 4, (n, d)).astype(float)
        w = rng.integers(-2, 3, d).astype(float)
        s = X @ w
        y = np.where(s == 0, y, s > 0).astype(np.int64)
    elif family == "thin":
        X = rng.integers(-3, 4, (n, d)).astype(float)
        w = rng.integers(-2, 3, d).astype(float)
        y = (X @ w > 0).astype(np.int64)
        X[rng.integers(0, n), rng.integers(0, d)] += rng.choice([-1, 1]) * 2.0 ** -float(rng.integers(20, 52))
    elif family == "three classes":
        y = rng.integers(0, 3, n)
        if rng.random() < 0.5:
            y = np.argmax(X @ rng.standard_normal((d, 3)), axis=1)
    elif family == "four classes on a lattice":
        X = rng.integers(-2, 3, (n, d)).astype(float)
        y = rng.integers(0, 4, n)
        if rng.random() < 0.6:
            y = np.argmax(X @ rng.integers(-2, 3, (d, 4)), axis=1)
    return Case(family, np.ascontiguousarray(X), np.asarray(y, dtype=np.int64), bool(rng.integers(0, 2)))
