"""AROW as its paper writes it, one weight at a time."""

import numpy as np
from tests.oracle import PlainRun

from rosenblatt.rules import Seen, step


def plain_arow(rule, X, labels, classes, order, *, joint=True, unit=1.0, weights=None):
    rows = 1 if classes == 2 else classes
    run = PlainRun(np.zeros((rows, X.shape[1] + 1)))
    run.S = np.ones_like(run.W)
    for t, i in enumerate(order):
        x = np.concatenate([[unit], X[i]])
        weight = 1.0 if weights is None else weights[t]
        scores = run.W @ x
        for h in range(1 if rows == 1 or joint else rows):
            if rows > 1 and joint:
                up = labels[i]
                down = max((c for c in range(rows) if c != up), key=lambda c: (scores[c], -c))
                y, score, sides = 1.0, scores[up] - scores[down], ((up, 1.0), (down, -1.0))
            else:
                y = 1.0 if labels[i] == (1 if rows == 1 else h) else -1.0
                score, sides = scores[h], ((h, 1.0),)
            spread = sum(run.S[c] @ x**2 for c, _ in sides)
            run.mistakes += y * score <= 0
            _, tau = step(rule, Seen(score, y, spread, 0.0, 0.0, 0.0))
            if tau != 0.0:
                for c, sign in sides:
                    run.W[c] += sign * weight * tau * y * run.S[c] * x
                    run.S[c] = [rule.narrow(s, v) for s, v in zip(run.S[c], x, strict=True)]
        run.after.append(run.W.copy())
        run.weight.append(weight)
    return run
