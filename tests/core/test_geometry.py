"""Rules from outside the package share a geometry with AROW and ALMA, and are trained as they say themselves."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.rules import NO_SHRINK, PNorm, SecondOrder, Seen, rule, step


class Cautious(NamedTuple):
    """A second-order rule that decays, reads ``‖w‖²``, begins with its own variance and narrows in its own way."""

    rate: float = 0.7

    def geometry(self):
        return SecondOrder(initial_variance=0.5)

    def narrow(self, variance, value):
        return variance / (1.0 + self.rate * math.sqrt(variance) * abs(value))


@rule(Cautious)
def cautious_step(cautious, seen):
    if seen.y * seen.score > 0.3:
        return NO_SHRINK, 0.0
    return 0.95, cautious.rate / (1.0 + seen.x_sqnorm + 0.1 * seen.w_sqnorm)


class PNormPerceptron(NamedTuple):
    """The p-norm perceptron (Grove, Littlestone, Schuurmans 2001), with a decay and a step that reads both norms."""

    p: float = 3.0

    def geometry(self):
        return PNorm(self.p)


@rule(PNormPerceptron)
def p_norm_step(own, seen):
    if seen.y * seen.score > 0.0:
        return NO_SHRINK, 0.0
    return 0.98, 1.0 / math.sqrt(seen.x_sqnorm + 0.01 * seen.w_sqnorm)


def link(theta, p):
    norm = (np.abs(theta) ** p).sum() ** (1.0 / p)
    return theta * 0.0 if norm == 0.0 else np.sign(theta) * np.abs(theta) ** (p - 1.0) / norm ** (p - 2.0)


def plain(own_rule, X, labels, classes, joint):
    """The loop in plain Python: the weights, their mean over the examples, and the mistakes."""
    geometry = rules.geometry_of(own_rule)
    second = isinstance(geometry, SecondOrder)
    outputs = 1 if classes == 2 else classes
    theta = np.zeros((outputs, X.shape[1] + 1))
    variances = np.full_like(theta, geometry.initial_variance if second else 1.0)
    total, mistakes = np.zeros_like(theta), 0
    hypotheses = 1 if outputs == 1 or joint else outputs
    updates = np.zeros(hypotheses)
    for clock, (row, label) in enumerate(zip(X, labels, strict=True)):
        x = np.concatenate([[1.0], row])
        whole = theta if outputs == 1 or joint else None
        weights = (
            theta
            if second
            else (
                link(theta, geometry.p)
                if whole is not None
                else np.array([link(each, geometry.p) for each in theta])
            )
        )
        scores = weights @ x
        for h in range(hypotheses):
            if outputs > 1 and joint:
                rival = max((c for c in range(outputs) if c != label), key=lambda c: (scores[c], -c))
                y, score, sides = 1.0, scores[label] - scores[rival], ((label, 1.0), (rival, -1.0))
            else:
                y = 1.0 if label == (1 if outputs == 1 else h) else -1.0
                score, sides = scores[h], ((h, 1.0),)
            own = theta if outputs == 1 or joint else theta[h : h + 1]
            if second:
                x_sqnorm, w_sqnorm = sum(variances[c] @ x**2 for c, _ in sides), (own**2).sum()
            else:
                p = geometry.p
                x_sqnorm = (p - 1.0) * (len(sides) * (np.abs(x) ** p).sum()) ** (2.0 / p)
                w_sqnorm = (np.abs(own) ** p).sum() ** (2.0 / p)
            mistakes += y * score <= 0.0
            shrink, tau = step(own_rule, Seen(score, y, x_sqnorm, w_sqnorm, updates[h], float(clock)))
            own *= shrink
            if tau != 0.0:
                updates[h] += 1
                for c, sign in sides:
                    theta[c] += sign * tau * y * (variances[c] * x if second else x)
                    if second:
                        variances[c] = [own_rule.narrow(s, v) for s, v in zip(variances[c], x, strict=True)]
        total += theta
    mean = total / len(X)
    if second:
        return theta, mean, mistakes
    if outputs == 1 or joint:
        return link(theta, geometry.p), link(mean, geometry.p), mistakes
    return *(np.array([link(each, geometry.p) for each in v]) for v in (theta, mean)), mistakes


@pytest.mark.parametrize("layout", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "joint"), (3, "joint"), (3, "ovr")])
@pytest.mark.parametrize("own_rule", [Cautious(), PNormPerceptron(), PNormPerceptron(6.0)], ids=str)
def test_a_rule_from_outside_is_trained_in_its_geometry(own_rule, classes, multi_class, layout):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.7)
    labels = rng.integers(0, classes, 120)
    last, mean, mistakes = plain(own_rule, X, labels, classes, multi_class == "joint")
    learner = Learner(own_rule, multi_class=multi_class)
    learner.learn(layout(X), labels)
    assert learner.mistakes == mistakes
    np.testing.assert_allclose(learner.weights("last"), last, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(learner.weights("averaged"), mean, rtol=1e-9, atol=1e-9)


def test_a_class_has_one_step():
    with pytest.raises(ValueError, match="Cautious already has a step"):

        @rule(Cautious)
        def another(cautious, seen):
            return NO_SHRINK, 1.0

    assert step(Cautious(), Seen(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)) == (0.95, 0.7)


class Unready(NamedTuple):
    """Names a second-order geometry and cannot narrow."""

    r: float = 1.0

    def geometry(self):
        return SecondOrder()


@rule(Unready)
def unready_step(own, seen):
    return NO_SHRINK, 0.0


def test_a_second_order_rule_without_narrow_is_refused_by_name():
    with pytest.raises(TypeError, match="Unready needs a method narrow"):
        Learner(Unready())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 4, 7, 8, 9, 31, 32, 33, 50])  # whole vectors, masked ones, both
def test_the_recorded_norm_of_arow_is_that_of_its_weights(width, dtype, classes):
    rng = np.random.default_rng(width)
    X, y = rng.normal(size=(60, width)).astype(dtype), rng.integers(0, classes, 60)
    learner = Learner(rules.AROW())
    learner.train(X, y, max_iter=3)
    sqnorm = (learner.weights("last").astype(np.float64) ** 2).sum()
    rtol = 1e-9 if dtype == np.float64 else 1e-4  # weights are rounded to their dtype after every update
    np.testing.assert_allclose(learner.running["sqnorm"].sum(), sqnorm, rtol=rtol)
