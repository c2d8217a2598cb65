"""ALMA_p as its paper writes it: weights through the link f and back at every correction, no scale, no dual vector."""

import math
from dataclasses import dataclass

import numpy as np
from tests.oracle import PlainRun


def norm(v, p):
    return float((np.abs(v) ** p).sum() ** (1.0 / p))


def f(w, p):
    """The gradient of ``‖w‖_q²/2``; the gradient of ``‖θ‖_p²/2`` is its inverse."""
    q = p / (p - 1.0)
    return np.zeros_like(w) if not w.any() else np.sign(w) * np.abs(w) ** (q - 1.0) / norm(w, q) ** (q - 2.0)


def f_inverse(theta, p):
    return f(theta, p / (p - 1.0))


@dataclass
class PlainAlma(PlainRun):
    p: float = 2.0
    joint: bool = True

    @property
    def averaged(self):
        """The link of the mean of ``θ = f(w)`` after each visit."""
        own = [[W] if self.joint else list(W) for W in self.after]
        mean = [
            sum(w * f(W[h], self.p) for w, W in zip(self.weight, own, strict=True)) / sum(self.weight)
            for h in range(len(own[0]))
        ]
        return np.reshape([f_inverse(theta, self.p) for theta in mean], self.W.shape)


def plain_alma(rule, X, labels, classes, order, *, joint=True, unit=1.0, weights=None):
    alpha, C, p = rule
    B, q = math.sqrt(8.0) / alpha, p / (p - 1.0)
    rows = 1 if classes == 2 else classes
    run = PlainAlma(np.zeros((rows, X.shape[1] + 1)), p=p, joint=joint or rows == 1)
    corrections = np.ones(1 if run.joint else rows)
    for t, i in enumerate(order):
        x = np.concatenate([[unit], X[i]])
        weight = 1.0 if weights is None else weights[t]
        scores = run.W @ x
        for h in range(corrections.size):
            if rows > 1 and joint:  # Kesler's construction: one long vector of weights, x in it twice
                up = labels[i]
                down = max((c for c in range(rows) if c != up), key=lambda c: (scores[c], -c))
                y, own, z = 1.0, run.W, np.zeros_like(run.W)
                z[up], z[down] = x, -x
            else:
                y, own, z = (1.0 if labels[i] == (1 if rows == 1 else h) else -1.0), run.W[h], x
            k = corrections[h]
            run.mistakes += y * (own * z).sum() <= 0
            if not z.any():
                continue
            unit_z = z / norm(z, p)
            if y * (own * unit_z).sum() <= (1.0 - alpha) * B * math.sqrt(p - 1.0) / math.sqrt(k):
                eta = C / (math.sqrt(p - 1.0) * math.sqrt(k))
                moved = f_inverse(f(own, p) + weight * eta * y * unit_z, p)
                own[...] = moved / max(1.0, norm(moved, q))
                corrections[h] += 1
        run.after.append(run.W.copy())
        run.weight.append(weight)
    return run
