"""One more feature per example makes any data separable."""

import math
from typing import Any

import numpy as np

from rosenblatt.proofs.bounds import margins, radius
from rosenblatt.proofs.examples import as_matrix


def add_slack(X: Any, delta: float = 1.0) -> Any:
    """Return ``[X | Δ·I]`` as a CSR matrix: a coordinate of its own for every example.

    **Problem.** Rows ``xᵢ' = (xᵢ, Δ eᵢ)``; in kernels ``K + Δ²I``. Any labels are then separated, for example by
    ``w = (0, y)``, and a perceptron on the new rows has a mistake bound even where the old rows contradict.

    Parameters
    ----------
    X : (n, d) dense or sparse
    delta : the size of the new coordinates, positive

    Notes
    -----
    **Guarantee.** :func:`slack_bound` bounds the mistakes for the best ``Δ``.

    Examples
    --------
    >>> add_slack([[1.0, 2.0], [3.0, 4.0]], delta=0.5).toarray()
    array([[1. , 2. , 0.5, 0. ],
           [3. , 4. , 0. , 0.5]])

    References
    ----------
    Freund and Schapire (1999), Theorem 2. Klasner and Simon (1995).
    """
    import scipy.sparse as sp

    if not (delta > 0 and math.isfinite(delta)):
        raise ValueError(f"delta must be a positive number, got {delta!r}")
    X = as_matrix(X)
    return sp.csr_array(sp.hstack([sp.csr_array(X), sp.eye_array(X.shape[0]) * delta], format="csr"))


def slack_bound(X: Any, y: Any, w: Any, b: Any = 0.0, *, gamma: float, fit_intercept: bool = True) -> float:
    """Return ``((R + D)/γ)²``, with ``D² = Σ max(0, γ − yᵢ f(xᵢ)/‖w̃‖)²``: mistakes on imperfect data.

    It holds for every hyperplane and every ``gamma > 0`` one cares to compare with, for one pass over the data.

    >>> slack_bound([[2.0], [-2.0]], [1, -1], [1.0], gamma=2.0, fit_intercept=False)
    1.0
    """
    if not gamma > 0:
        raise ValueError(f"gamma must be positive, got {gamma!r}")
    norm = math.sqrt(float(np.sum(np.square(w))) + (float(np.sum(np.square(b))) if fit_intercept else 0.0))
    if norm == 0.0:
        raise ValueError("w is all zero; give a hyperplane")
    short = np.maximum(0.0, gamma - margins(X, y, w, b, fit_intercept) / norm)
    D = float(np.sqrt(np.sum(np.square(short))))
    n_classes = len(np.unique(np.asarray(y)))
    return ((radius(X, fit_intercept, n_classes) + D) / gamma) ** 2
