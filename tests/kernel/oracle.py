"""The oracle of the kernel learner: one example at a time, coefficients in a dictionary, as clear as it can be."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.passes.kernel_budget import drawn_slot
from rosenblatt.rules import Seen, step


@dataclass
class PlainKernelRun:
    """Everything a run went through."""

    gram: np.ndarray  # among all examples, Δ² on its diagonal
    rows: int  # of coefficients: one per class, one in all for two
    joint: bool
    alpha: np.ndarray = field(init=False)  # (rows, examples)
    order: list[int] = field(default_factory=list)  # support rows, in the order they came
    after: list[np.ndarray] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    updates: list[tuple] = field(default_factory=list)
    mistakes: int = 0
    clock: float = 0.0
    forgotten: int = 0

    def __post_init__(self) -> None:
        self.alpha = np.zeros((self.rows, len(self.gram)))

    @property
    def averaged(self) -> np.ndarray:
        return sum(w * a for w, a in zip(self.weight, self.after, strict=True)) / sum(self.weight)

    def sqnorm(self, h: int) -> float:
        own = self.alpha if self.joint or self.rows == 1 else self.alpha[h : h + 1]
        return float(sum(a @ self.gram @ a for a in own))


def plain_kernel_loop(
    rule: Any,
    gram: np.ndarray,
    labels: np.ndarray,
    classes: int,
    order: np.ndarray,
    *,
    joint: bool = True,
    weights: np.ndarray | None = None,
    budget: int | None = None,
    forget: str = "oldest",
    seed: int = 0,
    run: PlainKernelRun | None = None,
) -> PlainKernelRun:
    """Visit examples in order; decide for all classes first, then make room, then move."""
    rows = 1 if classes == 2 else classes
    run = run or PlainKernelRun(np.asarray(gram, float), rows, joint and rows > 1)
    hypotheses = 1 if rows == 1 or run.joint else rows
    counted = np.zeros(hypotheses)
    for t, i in enumerate(order):
        weight = 1.0 if weights is None or not len(weights) else weights[t]
        scores = run.alpha @ run.gram[:, i]
        moves = []
        for h in range(hypotheses):
            if run.joint:
                up = labels[i]
                down = max((c for c in range(rows) if c != up), key=lambda c: (scores[c], -c))
                y, score, x_sqnorm = 1.0, scores[up] - scores[down], 2 * run.gram[i, i]
            else:
                up, down = h, -1
                y = 1.0 if labels[i] == (1 if rows == 1 else h) else -1.0
                score, x_sqnorm = scores[h], run.gram[i, i]
            run.mistakes += y * score <= 0
            shrink, tau = step(rule, Seen(score, y, x_sqnorm, run.sqnorm(h), counted[h], run.clock))
            own = run.alpha if run.joint else run.alpha[h : h + 1]
            own *= shrink
            if tau != 0.0:
                counted[h] += 1
                moves.append((up, down, weight * tau * y))
                run.updates.append((i, up + (rows == 1), down, weight * tau * y, run.clock))
        if moves:
            shares = _room_for(run, i, budget, forget, seed)
            for up, down, move in moves:
                run.alpha[up] += move * shares
                if down >= 0:
                    run.alpha[down] -= move * shares
        run.after.append(run.alpha.copy())
        run.weight.append(weight)
        run.clock += weight
    return run


def _room_for(run: PlainKernelRun, i: int, budget: int | None, forget: str, seed: int) -> np.ndarray:
    """Return the example as a sum of support rows, after making room for it where it needs a slot."""
    shares = np.zeros(len(run.gram))
    if i not in run.order:
        if budget is None or len(run.order) < budget:
            run.order.append(i)
        elif forget == "project":
            S = np.array(run.order)
            shares[S] = np.linalg.pinv(run.gram[np.ix_(S, S)], hermitian=True) @ run.gram[S, i]
            return shares
        else:
            slot = run.forgotten % budget if forget == "oldest" else drawn_slot(seed, run.forgotten, budget)
            run.alpha[:, run.order[slot]] = 0.0
            run.order[slot] = i
            run.forgotten += 1
    shares[i] = 1.0
    return shares


def slow_kernel_vote(run: PlainKernelRun, values: np.ndarray) -> np.ndarray:
    """Let the hypotheses after every visit vote; ``values`` is ``(rows to tell, examples)``."""
    votes = np.zeros((len(values), run.rows))
    for weight, alpha in zip(run.weight, run.after, strict=True):
        scores = values @ alpha.T
        if not run.joint:
            votes += weight * np.sign(scores)
            continue
        for i, own in enumerate(scores):
            best = np.flatnonzero(own == own.max())
            if best.size == 1:
                votes[i, best[0]] += weight
    return votes / sum(run.weight)
