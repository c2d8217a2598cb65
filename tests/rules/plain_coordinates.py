"""ScInOL2 and NAG as their papers write them, one weight at a time, without a word of the rules' own code."""

import math

import numpy as np
from tests.oracle import PlainRun

from rosenblatt import rules


def visits(X, labels, rows, order, joint, unit, weights, run):
    """Yield every hypothesis of every visit: ``y``, the score, and the sides ``(class, sign)`` that it moves."""
    for t, i in enumerate(order):
        x = np.concatenate([[unit], X[i]])
        weight = 1.0 if weights is None else weights[t]
        yield None, None, None, x, weight
        scores = run.W @ x
        for h in range(1 if rows == 1 or joint else rows):
            if rows > 1 and joint:
                up = labels[i]
                down = max((c for c in range(rows) if c != up), key=lambda c: (scores[c], -c))
                y, score, sides = 1.0, scores[up] - scores[down], ((up, 1.0), (down, -1.0))
            else:
                y = 1.0 if labels[i] == (1 if rows == 1 else h) else -1.0
                score, sides = scores[h], ((h, 1.0),)
            run.mistakes += y * score <= 0
            yield y, score, sides, x, weight
        run.after.append(run.W.copy())
        run.weight.append(weight)


def plain_scinol(rule, X, labels, classes, order, *, joint=True, unit=1.0, weights=None):
    hinge = isinstance(rule, rules.ScInOLHinge)
    rows = 1 if classes == 2 else classes
    run = PlainRun(np.zeros((rows, X.shape[1] + 1)))
    M, G, S = np.zeros_like(run.W), np.zeros_like(run.W), np.zeros_like(run.W)
    eta = np.full_like(run.W, rule.epsilon)
    run.S = np.zeros((*run.W.shape, 4))

    def reweigh():
        root = np.sqrt(S + M**2)
        root[root == 0.0] = 1.0
        run.W[...] = np.clip(G / root, -1.0, 1.0) * eta / (2.0 * root)

    for y, score, sides, x, weight in visits(X, labels, rows, order, joint, unit, weights, run):
        if y is None:
            M[...] = np.maximum(M, np.abs(x))
            reweigh()
            continue
        g = -y * (float(y * score < 1.0) if hinge else 1.0 / (1.0 + math.exp(y * score)))
        for c, sign in sides:
            gradient = sign * weight * g * x
            eta[c] -= gradient * run.W[c]
            G[c] -= gradient
            S[c] += gradient**2
        reweigh()
    run.S = np.stack([M, G, S, eta], axis=-1)
    return run


def flow(rule, margin, size):
    """Follow ``dm/dt = −size·loss'(m)`` for the time ``eta`` by many small steps; return how far the score goes."""
    steps, m = 4000, margin
    h = rule.eta / steps

    def slope(m):
        if isinstance(rule, rules.NAGLogistic):
            return size / (1.0 + math.exp(min(m, 700.0)))
        return size * rule.power * max(0.0, 1.0 - m) ** (rule.power - 1.0) if m < 1.0 else 0.0

    for _ in range(steps):  # Runge and Kutta
        a = slope(m)
        b = slope(m + h * a / 2)
        c = slope(m + h * b / 2)
        d = slope(m + h * c)
        m += h * (a + 2 * b + 2 * c + d) / 6
    return (min(m, 1.0) if isinstance(rule, rules.NAG) and margin < 1.0 else m) - margin


def plain_nag(rule, X, labels, classes, order, *, joint=True, unit=1.0, weights=None):
    rows = 1 if classes == 2 else classes
    run = PlainRun(np.zeros((rows, X.shape[1] + 1)))
    M, S = np.zeros_like(run.W), np.zeros_like(run.W)
    logistic = isinstance(rule, rules.NAGLogistic)
    for y, score, sides, x, weight in visits(X, labels, rows, order, joint, unit, weights, run):
        if y is None:
            continue
        margin = y * score
        if logistic:
            loss_slope = 1.0 / (1.0 + math.exp(margin))
        else:
            loss_slope = rule.power * max(0.0, 1.0 - margin) ** (rule.power - 1.0) if margin < 1.0 else 0.0
        if loss_slope == 0.0:
            continue
        size = length = 0.0
        nonzero = x != 0.0
        for c, _ in sides:
            old = M[c].copy()
            M[c] = np.maximum(M[c], np.abs(x))
            grown = nonzero & (old > 0.0) & (M[c] > old)
            run.W[c, grown] *= old[grown] / M[c, grown]
            S[c] += (weight * loss_slope * x) ** 2
            size += (x[nonzero] ** 2 / (np.sqrt(S[c, nonzero]) * M[c, nonzero])).sum()
            length += ((x[nonzero] / M[c, nonzero]) ** 2).sum()
        size *= weight / math.sqrt(length)
        tau = closed_form(rule, margin, size)
        for c, sign in sides:
            rate = 1.0 / (np.sqrt(S[c, nonzero]) * M[c, nonzero]) / math.sqrt(length)
            run.W[c, nonzero] += sign * weight * tau * y * rate * x[nonzero]
    run.S = np.stack([M, np.sqrt(S)], axis=-1)
    return run


def closed_form(rule, margin, size):
    """Return the step of the flow; :func:`flow` and its own test hold it to the differential equation."""
    if isinstance(rule, rules.NAGLogistic):
        low, high = margin, margin + rule.eta * size
        target = margin + math.exp(margin) + rule.eta * size
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if middle + math.exp(middle) < target else (low, middle)
        return (high - margin) / size
    error = 1.0 - margin
    if rule.power == 2.0:
        return error * (1.0 - math.exp(-2.0 * rule.eta * size)) / size
    q = 2.0 - rule.power
    return (error - max(error**q - rule.power * q * rule.eta * size, 0.0) ** (1.0 / q)) / size
