"""The quantities of the mistake bound's proof, update by update."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.scoring import linear_scores
from rosenblatt.learner.state import LearnerState


class Trace(NamedTuple):
    """The two quantities of the proof of the mistake bound, after every update, for ``u`` of norm one.

    For examples of norm at most R that ``u`` separates with margin γ, and updates on mistakes only, from zero
    weights: ``v_k·u ≥ γ Σ τ`` (:attr:`dot` stays above :attr:`floor`) and ``‖v_k‖² ≤ R² Σ τ²`` (:attr:`sqnorm` stays
    below :attr:`ceiling`). With τ = 1 the two meet at ``k = (R/γ)²``.
    """

    dot: NDArray[np.float64]  # v_k·u
    sqnorm: NDArray[np.float64]  # ‖v_k‖²
    gain: NDArray[np.float64]  # y x·u of every updating example: at least γ
    tau: NDArray[np.float64]  # the length of every step
    radius: float  # R

    @property
    def gamma(self) -> float:
        """The smallest gain of an update."""
        return float(self.gain.min()) if self.gain.size else 0.0

    @property
    def floor(self) -> NDArray[np.float64]:
        """The lower bound of the first lemma: ``γ Σ τ``."""
        return self.gamma * np.cumsum(self.tau)

    @property
    def ceiling(self) -> NDArray[np.float64]:
        """The upper bound of the second lemma: ``R² Σ τ²``."""
        return self.radius**2 * np.cumsum(self.tau**2)


def proof_trace(model: Any, u: Any) -> Trace:
    """Return the quantities of the mistake bound's proof after every update of a trained model.

    Parameters
    ----------
    model : Perceptron or Learner
        A trained model with its ledger.
    u : array-like or (coef, intercept)
        The hyperplane to measure against; it is scaled to norm one.

    Returns
    -------
    Trace

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> clf = Perceptron().fit([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0]], [1, 1, 0])
    >>> trace = proof_trace(clf, ([1.0, 1.0], 0.0))
    >>> bool((trace.dot >= trace.floor).all()), bool((trace.sqnorm <= trace.ceiling).all())
    (True, True)

    References
    ----------
    A. Novikoff (1962), On convergence proofs on perceptrons. Y. Freund and R. Schapire (1999), Theorem 1.
    """
    return trace_of(getattr(model, "learner_", model), u)


def trace_of(learner: LearnerState, reference: Any) -> Trace:
    """Measure every update of a run against a hyperplane, given as ``coef`` or ``(coef, intercept)``."""
    if learner.ledger is None:
        raise ValueError("a trace needs the ledger, which was not recorded: train with keep_ledger=True")
    if learner.running.size > 1:
        raise ValueError("a trace of multi_class='ovr' is not defined: train with multi_class='joint'")
    u = _unit(reference, learner)
    ledger, entries = learner.ledger, learner.ledger.entries
    start = float((ledger.start * u).sum())
    if not entries.size:
        return Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0), learner.radius)
    scores = linear_scores(ledger.support, u).astype(np.float64)[ledger.support_index()]
    every = np.arange(entries.size)
    gain = scores[:, 0]
    if learner.joint:
        gain = scores[every, entries["target"]] - scores[every, entries["rival"]]
    if (entries["decay"] != 1.0).any():
        dot = np.empty(entries.size)
        for k in every:
            start = dot[k] = entries["decay"][k] * start + entries["tau"][k] * gain[k]
    else:
        dot = start + np.cumsum(entries["tau"] * gain)
    steps = entries["tau"]
    return Trace(dot, entries["sqnorm"].copy(), np.sign(steps) * gain, np.abs(steps), learner.radius)


def _unit(reference: Any, learner: LearnerState) -> NDArray[np.float64]:
    coef, intercept = reference if isinstance(reference, tuple) else (reference, 0.0)
    rows, width = learner.W.shape[0], learner.n_features
    u = np.zeros((rows, 1 + width))
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    if coef.shape != (rows, width):
        raise ValueError(f"reference must have shape {(rows, width)}, got {coef.shape}")
    u[:, 1:] = coef
    u[:, 0] = np.asarray(intercept, dtype=np.float64)
    if not learner.bias_input and u[:, 0].any():
        raise ValueError(
            "reference has a bias, but the model has none (fit_intercept=False): give a bias of zero"
        )
    norm = np.linalg.norm(u)
    if not norm > 0.0:
        raise ValueError("reference is zero: give a hyperplane with a nonzero weight")
    return np.asarray(u / norm)
