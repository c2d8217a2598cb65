"""The oracle of every pass: the plain rule loop, in Python and numpy, as slow and as clear as it can be."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.rules import Seen, step


@dataclass
class PlainRun:
    """Everything a training run went through."""

    W: np.ndarray  # (rows, 1 + features), the bias first
    after: list[np.ndarray] = field(default_factory=list)  # the weights after each visit
    weight: list[float] = field(default_factory=list)  # of each visit
    mistakes: int = 0
    updates: list[tuple] = field(default_factory=list)  # (row, up, down, tau, clock)

    @property
    def averaged(self) -> np.ndarray:
        return sum(w * v for w, v in zip(self.weight, self.after, strict=True)) / sum(self.weight)


def plain_loop(
    rule: Any,
    X: Any,
    labels: np.ndarray,
    classes: int,
    order: np.ndarray,
    *,
    joint: bool = True,
    unit: float = 1.0,
    start: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> PlainRun:
    """Visit rows in order; two classes have one row of weights for class 1, more have one row each."""
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
    rows = 1 if classes == 2 else classes
    run = PlainRun(np.zeros((rows, X.shape[1] + 1)) if start is None else start.astype(np.float64).copy())
    hypotheses = 1 if rows == 1 or joint else rows
    updates = np.zeros(hypotheses)
    clock = 0.0
    for t, i in enumerate(order):
        x = np.concatenate([[unit], X[i]])
        weight = 1.0 if weights is None else weights[t]
        scores = run.W @ x
        for h in range(hypotheses):
            if rows > 1 and joint:
                up = labels[i]
                down = max((c for c in range(rows) if c != up), key=lambda c: (scores[c], -c))
                y, score, x_sqnorm, own = 1.0, scores[up] - scores[down], 2 * x @ x, run.W
            else:
                up, down = h, -1
                y = 1.0 if labels[i] == (1 if rows == 1 else h) else -1.0
                score, x_sqnorm, own = scores[h], x @ x, run.W[h]
            run.mistakes += y * score <= 0
            seen = Seen(score, y, x_sqnorm, float((own**2).sum()), updates[h], clock)
            shrink, tau = step(rule, seen)
            own *= shrink
            if tau != 0.0:
                run.W[up] += weight * tau * y * x
                if down >= 0:
                    run.W[down] -= weight * tau * y * x
                updates[h] += 1
                run.updates.append((i, up + (rows == 1), down, weight * tau * y, clock))
        run.after.append(run.W.copy())
        run.weight.append(weight)
        clock += weight
    return run


def slow_vote(run: PlainRun, X: np.ndarray, unit: float = 1.0, joint: bool = True) -> np.ndarray:
    """Let the weights after every visit vote on every row, one by one."""
    X = np.column_stack([np.full(len(X), unit), X])
    votes = np.zeros((len(X), run.W.shape[0]))
    for weight, W in zip(run.weight, run.after, strict=True):
        scores = X @ W.T
        if W.shape[0] == 1 or not joint:
            votes += weight * np.sign(scores)
            continue
        for i, own in enumerate(scores):
            best = np.flatnonzero(own == own.max())
            if best.size == 1:
                votes[i, best[0]] += weight
    return votes / sum(run.weight)
