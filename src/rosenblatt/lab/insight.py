"""What can be proved about the data of a page, and the quantities of the mistake bound's proof along a run."""

from concurrent.futures import Future, wait
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.computing import PROOFS, Share
from rosenblatt.lab.learners import Fitted, Space, Training
from rosenblatt.learner.history import trace_of
from rosenblatt.proofs import Inseparable, Separable, hard_margin, separability

MOST_DRAWN = 400  # of the points of a curve


class Best(NamedTuple):
    """The best separator in the space in which learning happens: ``u`` of norm one, its margin, and R."""

    u: NDArray[np.float64]
    gamma: float
    radius: float

    @property
    def bound(self) -> float:
        """``R²/γ²``: no order of these examples makes Rosenblatt's rule err more often from zero weights."""
        return (self.radius / self.gamma) ** 2


class Insight:
    """Statements about data, each computed when first asked for.

    With ``patience``, proofs are computed in another thread, so that a page stays responsive: after that many seconds
    ``proof`` and ``best`` are None, ``pending`` is true, and the page shows them once they are there. A search ends
    after as many seconds as the share of the visitor says.
    """

    def __init__(
        self,
        space: str | Space,
        X: NDArray[np.float64],
        y: NDArray[np.int64],
        patience: float | None = None,
        share: Share | None = None,
    ) -> None:
        self.share = share or Share()
        self.space = Space.named(space) if isinstance(space, str) else space
        self.X, self.y, self.patience = X, y, patience
        self._proof: Any = None
        self._best: Best | bool | None = False
        self._computing: Future[None] | None = None

    @property
    def pending(self) -> bool:
        """Whether a computation is still running."""
        return self._computing is not None and not self._computing.done()

    def cancel(self) -> None:
        """Leave the queue of proofs where the computation has not begun: nobody asks for it any more."""
        if self._computing is not None:
            self._computing.cancel()

    @property
    def proof(self) -> Any:
        """The library's answer to "is it separable?", in this space; None without examples, or while it is pending."""
        self._compute()
        return None if self.pending else self._proof

    @property
    def best(self) -> Best | None:
        """The best separator; None where the data are not separable, or while it is pending."""
        self._compute()
        return self._best if isinstance(self._best, Best) and not self.pending else None

    def _compute(self) -> None:
        """Compute the proof and the best separator, once."""
        if self._computing is not None:
            return
        if self.patience is None:
            self._computing = Future()
            self._prove()
            self._computing.set_result(None)
            return
        self._computing = PROOFS.submit(self.share, self._prove)
        wait([self._computing], timeout=self.patience)
        if self._computing.done():
            self._computing.result()  # raises what went wrong

    def _prove(self) -> None:
        if len(self.y):
            rows, bias = self.space.told_apart(self.X)
            self._proof = separability(rows, self.y, bias, time_limit=self.share.seconds)
        self._best = self._search()

    @cached_property
    def embedded(self) -> NDArray[np.float64]:
        """The examples as plain vectors of the space in which learning happens."""
        return self.space.embedded(self.X)

    def _search(self) -> Best | None:
        if np.unique(self.y).size < 2 or not isinstance(self._proof, Separable):
            return None
        E = self.embedded
        try:
            solution = hard_margin(E, self.y, False, time_limit=self.share.seconds)
        except ValueError:  # separable by less than floats can tell
            return None
        u = solution.w / np.linalg.norm(solution.w)
        gamma = float((self.y * (E @ u)).min())
        return Best(u, gamma, float(np.linalg.norm(E, axis=1).max())) if gamma > 0.0 else None

    def answer(self) -> str:
        """Answer in one short line."""
        proof = self.proof
        if self.pending:
            return "Looking for a proof …"
        if proof is None:
            return "There are no examples yet."
        where = "" if self.space.is_plane else " in this space"
        if isinstance(proof, Separable):
            rows = f"{len(proof.rows)} row{'s' if len(proof.rows) != 1 else ''}"
            return f"Yes{where}: largest possible margin at least {proof.margin:.3g}, {rows} on it."
        if isinstance(proof, Inseparable):
            return f"No{where}: {_what_meets(proof)}."
        return (
            "Not decided." if self.share.seconds is None else f"Not decided within {self.share.seconds:g} s."
        )


def _what_meets(proof: Inseparable) -> str:
    """Say what an inseparability proof shows; which labels are right or wrong it does not show."""
    if not proof.fit_intercept:
        return f"a weighted sum of {len(proof.culprits)} rows, each with its sign, is exactly zero"
    return "a weighted average of one class equals one of the other"


class Curves(NamedTuple):
    """The proof's quantities after every update that is drawn."""

    updates: NDArray[np.int64]  # k
    sqnorm: NDArray[np.float64]  # ‖v_k‖²
    ceiling: NDArray[np.float64] | None  # R² Σ τ², where the rule moves on mistakes only
    dot: NDArray[np.float64] | None  # v_k·u
    floor: NDArray[np.float64] | None  # γ Σ τ
    criterion: NDArray[np.float64]  # E(w)


def mistakes_over_time(training: Training) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when mistakes were made, and how many there were by then."""
    entries = training.learner.ledger.entries if training.learner.ledger is not None else None
    if entries is None:
        return np.array([0.0, training.clock]), np.array([0.0, training.learner.mistakes])
    when = entries["clock"][entries["score"] <= 0.0] + 1.0
    total = np.arange(when.size + 1.0)
    return np.concatenate([[0.0], when, [training.clock]]), np.append(total, total[-1])


def curves(training: Training, insight: Insight) -> Curves | None:
    """Follow the lemmas and E(w) through the run; None where no ledger is kept."""
    ledger = training.learner.ledger
    if ledger is None or not len(ledger):
        return None
    total = len(ledger)
    numbers = np.unique(np.linspace(1, total, min(total, MOST_DRAWN)).astype(np.int64))
    entries, best = ledger.entries, insight.best
    steps = np.abs(entries["tau"])
    started = any(training.state.first_weights)
    on_mistakes = bool((entries["score"] <= 0.0).all() and (entries["decay"] == 1.0).all()) and not started
    ceiling = training.learner.radius**2 * np.cumsum(steps**2) if on_mistakes else None
    dot = floor = None
    if best is not None:
        dot = _dot(training, insight, best)
        if (entries["decay"] == 1.0).all() and not started:
            floor = best.gamma * np.cumsum(steps)
    at = numbers - 1
    return Curves(
        numbers,
        entries["sqnorm"][at],
        None if ceiling is None else ceiling[at],
        None if dot is None else dot[at],
        None if floor is None else floor[at],
        _criterion(training, numbers),
    )


def _dot(training: Training, insight: Insight, best: Best) -> NDArray[np.float64]:
    if not training.space.kernel:
        return trace_of(training.learner, (best.u[1:], best.u[0])).dot
    entries = training.learner.ledger.entries
    gain = (insight.embedded @ best.u)[[training.row_at(int(r)) for r in entries["row"]]]
    return np.asarray(np.cumsum(entries["tau"] * gain))


def _criterion(training: Training, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``E(w) = −Σ y f(x)`` over the misclassified, after each number of updates."""
    scores = training.scores_after(numbers, training.X)
    return np.asarray(np.maximum(0.0, -training.y[:, None] * scores).sum(axis=0))


class ErrorCurve(NamedTuple):
    """The share of misclassified examples along a run, in percent."""

    steps: NDArray[np.int64]  # updates, or iterations of a learner that sees all examples at once
    train: NDArray[np.float64]
    test: NDArray[np.float64] | None


def error_curve(
    model: Training | Fitted, X: NDArray[np.float64], y: NDArray[np.int64], test: NDArray[np.bool_]
) -> ErrorCurve | None:
    """Follow the errors of the last weights on training and held-out examples; None where nothing was learned."""
    if isinstance(model, Fitted):
        if not model.has_steps or not model.clock:
            return None
        steps, weights = model.path()
        W = np.array(weights)
        scores = model.space.rows(X) @ W[:, 1:].T + W[:, 0]
    else:
        ledger = model.learner.ledger
        if ledger is None or not len(ledger):
            return None
        steps = np.unique(np.linspace(1, len(ledger), min(len(ledger), MOST_DRAWN)).astype(np.int64))
        scores = model.scores_after(steps, X)
    wrong = y[:, None] * scores <= 0.0
    return ErrorCurve(
        steps,
        100.0 * wrong[~test].mean(axis=0),
        100.0 * wrong[test].mean(axis=0) if test.any() else None,
    )
