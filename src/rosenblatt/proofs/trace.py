"""The two lemmas of the convergence proof, update by update."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.bounds import radius
from rosenblatt.proofs.examples import as_examples

Float64s = npt.NDArray[np.float64]


class ProofTrace(NamedTuple):
    """After each update k: what the proof follows, and what its lemmas promise."""

    alignment: Float64s  # v_k·u
    alignment_floor: Float64s  # γ Σ τ, at most v_k·u (first lemma)
    sqnorm: Float64s  # ‖v_k‖²
    sqnorm_ceiling: Float64s  # R² Σ τ², at least ‖v_k‖² while updates are mistakes (second lemma)
    gamma: float
    radius: float


def proof_trace(
    X: Any,
    y: Any,
    row: npt.ArrayLike,
    tau: npt.ArrayLike,
    u: npt.ArrayLike,
    *,
    u_bias: Any = 0.0,
    rival: npt.ArrayLike | None = None,
    fit_intercept: bool = True,
) -> ProofTrace:
    """Follow ``v_k = v_{k−1} + τ_k y_k x̃_{row_k}`` and the two lemmas that bound the number of updates.

    **Problem.** With ``‖u‖ = 1`` and margin γ on the data: ``v_k·u ≥ γ Σ τ`` and, while every update corrects a
    mistake, ``‖v_k‖² ≤ R² Σ τ²``. With τ = 1 both meet at ``k = (R/γ)²``.

    Parameters
    ----------
    X, y : examples
    row, tau : the ledger: which row each update used, and its step size (positive)
    u, u_bias : the hyperplane compared with; it is brought to norm one. (k, d) and (k,) for three or more classes
    rival : for three or more classes, the class (its index) that each update pushed down
    fit_intercept : whether updates also moved a bias

    Examples
    --------
    >>> trace = proof_trace([[2.0], [-1.0]], [1, -1], [0, 1], [1.0, 1.0], [1.0], fit_intercept=False)
    >>> trace.alignment.tolist(), trace.alignment_floor.tolist()
    ([2.0, 3.0], [1.0, 2.0])
    >>> trace.sqnorm.tolist(), trace.sqnorm_ceiling.tolist()
    ([4.0, 9.0], [4.0, 8.0])

    References
    ----------
    Novikoff (1962); Freund and Schapire (1999), Theorem 1.
    """
    examples = as_examples(X, y, fit_intercept)
    k, d = len(examples.classes), examples.X.shape[1]
    rows, steps = np.asarray(row, dtype=np.intp), np.asarray(tau, dtype=np.float64)
    joint = k > 2
    if rows.shape != steps.shape or rows.ndim != 1:
        raise ValueError(
            f"row and tau must have one entry per update, got shapes {rows.shape} and {steps.shape}"
        )
    if joint and rival is None:
        raise ValueError(f"there are {k} classes; give rival, the class that each update pushed down")
    bias = np.reshape(np.asarray(u_bias, dtype=np.float64), (-1, 1))
    weights = np.reshape(np.asarray(u, dtype=np.float64), (k if joint else 1, d))
    direction = np.hstack([weights, np.broadcast_to(bias, (len(weights), 1)) * fit_intercept])
    direction = direction / np.linalg.norm(direction)
    floor = _margin(examples, direction)
    alignment, sqnorm = np.empty(len(rows)), np.empty(len(rows))
    v = np.zeros_like(direction)
    rivals = np.asarray(rival, dtype=np.intp) if joint else np.zeros(len(rows), dtype=np.intp)
    for at, (i, step) in enumerate(zip(rows.tolist(), steps.tolist(), strict=True)):
        x = examples.X[[i]]
        x = np.append(x if isinstance(x, np.ndarray) else x.toarray(), float(fit_intercept))
        if joint:
            v[examples.codes[i]] += step * x
            v[rivals[at]] -= step * x
        else:
            v[0] += step * examples.signs[i] * x
        alignment[at] = np.sum(v * direction)
        sqnorm[at] = np.sum(v * v)
    R = radius(examples.X, fit_intercept, k)
    return ProofTrace(alignment, floor * np.cumsum(steps), sqnorm, R * R * np.cumsum(steps**2), floor, R)


def _margin(examples: Any, direction: Float64s) -> float:
    """Return the margin of a direction of norm one."""
    from rosenblatt.proofs.bounds import margins_of

    w, b = direction[:, :-1], direction[:, -1]
    single = len(direction) == 1
    return float(margins_of(examples, w[0] if single else w, float(b[0]) if single else b).min())
