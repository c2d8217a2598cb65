"""Every update of a training run: its row, its score, the weights around it, and the proof of the mistake bound."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.scoring import linear_scores
from rosenblatt.learner.state import LearnerState

BLOCK = 256  # updates whose weights are replayed at once


class Update(NamedTuple):
    """One update of the weights of one class."""

    update: int  # counted from 1
    clock: float  # examples seen before it
    row: int  # of the data learned from, counted from 1
    label: str  # of the row; of one class against the rest, "not A" where the row is of another class
    of_class: str  # the class of `before` and `after`; with two classes, the one that positive scores predict
    score: float  # of the row before the update; with several joint classes, minus that of its best rival
    tau: float  # the step: weights += tau·x
    before: NDArray[Any]  # bias and weights
    after: NDArray[Any]


def updates_of(learner: LearnerState) -> Iterator[Update]:
    """Yield every update of a run that recorded its ledger; a joint update of two classes is two, with one number.

    Examples
    --------
    >>> from rosenblatt.learner import Learner
    >>> learner = Learner()
    >>> learner.train([[2.0], [-1.0]], ["in", "out"], shuffle=False)
    >>> [(each.row, each.label, each.of_class, each.after.tolist()) for each in updates_of(learner)]
    [(1, 'in', 'out', [-1.0, -2.0])]
    """
    ledger = learner.ledger
    if ledger is None:
        raise ValueError("the history needs the ledger, which was not recorded: train with keep_ledger=True")
    classes = [str(label) for label in learner.classes.tolist()]
    entries, two = ledger.entries, len(classes) == 2
    for start in range(0, entries.size, BLOCK):
        block = entries[start : start + BLOCK]
        weights = ledger.weights_after(np.arange(start, start + block.size + 1), learner.bias_input)
        for k, entry in enumerate(block):
            tau, target, rival = float(entry["tau"]), int(entry["target"]), int(entry["rival"])
            numbers = (start + k + 1, float(entry["clock"]), int(entry["row"]) + 1)
            score = float(entry["score"])
            if learner.joint:
                moved = [(target, tau), *([(rival, -tau)] if rival >= 0 else [])]
                for row, step in moved:
                    pair = weights[k, row], weights[k + 1, row]
                    yield Update(*numbers, classes[target], classes[row], score, step, *pair)
                continue
            positive = classes[1] if two else classes[target]
            negative = classes[0] if two else f"not {positive}"
            row = 0 if two else target
            sign = 1.0 if tau >= 0.0 else -1.0
            pair = weights[k, row], weights[k + 1, row]
            yield Update(*numbers, positive if tau >= 0.0 else negative, positive, sign * score, tau, *pair)


def history_frame(learner: LearnerState, feature_names: Sequence[str] | None = None) -> Any:
    """Return every update as a data frame: of pandas where installed, else of polars, else an Arrow table."""
    names = list(feature_names or (f"x{j}" for j in range(1, learner.n_features + 1)))
    rows = [*updates_of(learner)]
    columns: dict[str, Any] = {
        "update": [each.update for each in rows],
        "clock": [each.clock for each in rows],
        "row": [each.row for each in rows],
        "label": [each.label for each in rows],
        "class": [each.of_class for each in rows],
        "score": [each.score for each in rows],
        "tau": [each.tau for each in rows],
    }
    for when in ("before", "after"):
        stacked = np.array([getattr(each, when) for each in rows]).reshape(len(rows), 1 + len(names))
        columns |= {f"{name} {when}": stacked[:, j] for j, name in enumerate(("bias", *names))}
    for package in ("pandas", "polars"):
        try:
            module = __import__(package)
        except ImportError:
            continue
        return module.DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)


# The proof of the mistake bound, update by update


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
