"""The quantities of the mistake bound's proof, update by update."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.scoring import linear_scores
from rosenblatt.learner.state import LearnerState


class Trace(NamedTuple):
    """``v·u`` and ``‖v‖²`` after every update, for ``u`` of norm one.

    For examples of norm at most R that ``u`` separates with margin γ, Rosenblatt's rule with η = 1 from zero
    keeps ``v_k·u ≥ kγ`` and ``‖v_k‖² ≤ kR²``; the two meet at ``k = (R/γ)²``.
    """

    dot: NDArray[np.float64]
    sqnorm: NDArray[np.float64]
    gain: NDArray[np.float64]  # y x·u of every updating example: at least γ
    radius: float


def trace_of(learner: LearnerState, reference: Any) -> Trace:
    """Measure every update of a run against a hyperplane, given as ``coef`` or ``(coef, intercept)``."""
    if learner.ledger is None:
        raise ValueError("the proof is told from the ledger, which was not kept: train with keep_ledger=True")
    if learner.running.size > 1:
        raise ValueError("under ovr every class has a proof of its own: train with multi_class='joint'")
    u = _unit(reference, learner)
    ledger, entries = learner.ledger, learner.ledger.entries
    start = float((ledger.start * u).sum())
    if not entries.size:
        return Trace(np.empty(0), np.empty(0), np.empty(0), learner.radius)
    scores = linear_scores(ledger.support, u).astype(np.float64)[ledger.support_index()]
    every = np.arange(entries.size)
    gain = scores[:, 0]
    if learner.joint:
        gain = scores[every, entries["up"]] - scores[every, entries["down"]]
    if (entries["decay"] != 1.0).any():
        dot = np.empty(entries.size)
        for k in every:
            start = dot[k] = entries["decay"][k] * start + entries["tau"][k] * gain[k]
    else:
        dot = start + np.cumsum(entries["tau"] * gain)
    return Trace(dot, entries["sqnorm"].copy(), np.sign(entries["tau"]) * gain, learner.radius)


def _unit(reference: Any, learner: LearnerState) -> NDArray[np.float64]:
    coef, intercept = reference if isinstance(reference, tuple) else (reference, 0.0)
    rows, width = learner.W.shape[0], learner.n_features
    u = np.zeros((rows, 1 + width))
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    if coef.shape != (rows, width):
        raise ValueError(f"reference must have shape {(rows, width)}, got {coef.shape}")
    u[:, 1:] = coef
    u[:, 0] = np.asarray(intercept, dtype=np.float64)
    if not learner.unit and u[:, 0].any():
        raise ValueError("reference has a bias, but none is learned (fit_intercept=False)")
    norm = np.linalg.norm(u)
    if not norm > 0.0:
        raise ValueError("reference is zero and points nowhere")
    return np.asarray(u / norm)
