"""The oracle of the kernel learner: one example at a time, coefficients in a dictionary, as clear as it can be."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.core.kernel_loop import random_slot
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
    spent: Any = None

    def __post_init__(self) -> None:
        self.alpha = np.zeros((self.rows, len(self.gram)))

    @property
    def averaged(self) -> np.ndarray:
        return sum(w * a for w, a in zip(self.weight, self.after, strict=True)) / sum(self.weight)

    def sqnorm(self, h: int) -> float:
        own = self.alpha if self.joint or self.rows == 1 else self.alpha[h : h + 1]
        return float(sum(a @ self.gram @ a for a in own))


@dataclass
class Forgetting:
    """A budget, and what forgetting cost."""

    budget: int | None
    forget: str
    seed: int
    eta: float
    tolerance: float
    since: dict[int, int] = field(default_factory=dict)  # of every example: when it was corrected last
    corrections: int = 0
    mistakes: int = 0
    sqradius: float = 0.0
    squares: float = 0.0
    lengths: float = 0.0
    shrunk: float = 0.0
    short: float = 0.0

    def damage(self, sqradius: float) -> float:
        return self.squares / sqradius + self.lengths


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
    tolerance: float = 0.0,
    seed: int = 0,
    run: PlainKernelRun | None = None,
) -> PlainKernelRun:
    """Visit examples in order; decide for all classes first, then make room, then move."""
    rows = 1 if classes == 2 else classes
    run = run or PlainKernelRun(np.asarray(gram, float), rows, joint and rows > 1)
    hypotheses = 1 if rows == 1 or run.joint else rows
    counted = np.zeros(hypotheses)
    spent = run.spent = Forgetting(budget, forget, seed, getattr(rule, "eta", 1.0), tolerance)
    for t, i in enumerate(order):
        weight = 1.0 if weights is None or not len(weights) else weights[t]
        scores = run.alpha @ run.gram[:, i]
        moves = []
        spent.sqradius = max(spent.sqradius, run.gram[i, i])
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
            spent.corrections += 1
            spent.mistakes += len(moves)
            shares = _room_for(run, i, moves, spent)
            for up, down, move in moves:
                run.alpha[up] += move * shares
                if down >= 0:
                    run.alpha[down] -= move * shares
        run.after.append(run.alpha.copy())
        run.weight.append(weight)
        run.clock += weight
    return run


def _room_for(run: PlainKernelRun, i: int, moves: list, spent: Forgetting) -> np.ndarray:
    """Return the example as a sum of support rows, after making room for it where it needs a slot."""
    shares = np.zeros(len(run.gram))
    if i not in run.order:
        if spent.forget == "project" and _nearly_spanned(run, i, spent, len(moves)):
            S = np.array(run.order, int)
            shares[S] = np.linalg.lstsq(run.gram[np.ix_(S, S)], run.gram[S, i], rcond=None)[0]
            return shares
        if spent.budget is None or len(run.order) < spent.budget:
            run.order.append(i)
        else:
            slot = (
                min(range(spent.budget), key=lambda s: spent.since[run.order[s]])
                if spent.forget == "oldest"
                else random_slot(spent.seed, run.forgotten, spent.budget)
            )
            _forget(run, run.order[slot], i, moves, spent)
            run.order[slot] = i
            run.forgotten += 1
    spent.since[i] = spent.corrections
    shares[i] = 1.0
    return shares


def _nearly_spanned(run: PlainKernelRun, i: int, spent: Forgetting, mistakes: int) -> bool:
    S = np.array(run.order, int)
    k = run.gram[S, i]
    lacks = run.gram[i, i] - k @ np.linalg.lstsq(run.gram[np.ix_(S, S)], k, rcond=None)[0]
    near = len(S) == spent.budget or lacks <= max(spent.tolerance**2, 1e-10) * run.gram[i, i]
    if near:
        spent.short += mistakes * np.sqrt(max(lacks, 0.0))
    return near


def _forget(run: PlainKernelRun, r: int, i: int, moves: list, spent: Forgetting) -> None:
    """Remove row ``r``; the self-tuned Forgetron (Dekel et al. 2008) shrinks f, with the new step in it, before."""
    after = run.alpha.copy()
    for up, down, move in moves:
        after[up, i] += move
        if down >= 0:
            after[down, i] -= move
    lam, sqradius = after[:, r], spent.sqradius * (2 if run.joint else 1)
    square = (lam @ lam * run.gram[r, r] - 2 * lam @ (after @ run.gram[:, r])) / (spent.eta**2 * sqradius)
    line = 2 * np.abs(lam).sum() * (0.5 if run.joint else 1.0) / spent.eta
    phi = 1.0
    if spent.forget == "oldest":
        allowed = max(15 / 32 * spent.mistakes - spent.damage(sqradius), 15 / 32 * len(moves))

        def cost(phi):
            return square * phi**2 + line * phi

        if cost(1.0) > allowed:  # the largest that is allowed, found by halving
            low, phi = 0.0, 1.0
            for _ in range(200):
                middle = (low + phi) / 2
                low, phi = (middle, phi) if cost(middle) <= allowed else (low, middle)
            phi = low
    spent.squares += phi**2 * square * sqradius
    spent.lengths += phi * line
    spent.shrunk += (1 - phi) / (1 + phi)
    run.alpha *= phi
    moves[:] = [(up, down, phi * move) for up, down, move in moves]
    run.alpha[:, r] = 0.0


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
