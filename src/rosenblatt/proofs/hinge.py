"""The soft margin, certified by its duality gap; and the hinge bound, which is a soft margin in disguise."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.core.rows import flat, laid_out, rows_of
from rosenblatt.proofs.bounds import MistakeBound, margins_of, radius, scaled_bound
from rosenblatt.proofs.claims import SoftMargin
from rosenblatt.proofs.examples import Examples, as_examples, check_squares, row_sqnorms
from rosenblatt.proofs.loops.coordinate_descent import epoch
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.statements import soft_margin_statement


class Solution(NamedTuple):
    """What the search ends with, in floating point."""

    w: npt.NDArray[np.float64]  # (d,), or (k, d) for three or more classes
    b: Any  # float, or (k,)
    alpha: npt.NDArray[np.float64]  # (n,) dual weights, or (n, k)
    n_iter: int


def soft_margin(
    X: Any,
    y: Any,
    C: float = 1.0,
    fit_intercept: bool = True,
    *,
    tolerance: float = 1e-6,
    max_iter: int = 1000,
    time_limit: float | None = None,
) -> SoftMargin:
    """Find the hyperplane of largest soft margin by dual coordinate descent.

    **Problem.** ``min ½‖(w, b)‖² + C Σᵢ max(0, 1 − yᵢ f(xᵢ))``; three or more classes: the hinge of the true class's
    score against the best other (Crammer and Singer).

    Parameters
    ----------
    X, y : examples
    C : the price of a unit of hinge loss, positive
    fit_intercept : whether to learn a bias (it counts in the norm, as in homogeneous coordinates)
    tolerance : stop when the duality gap is at most this fraction of the objective
    max_iter, time_limit : stop after so many passes over the data, or seconds

    Notes
    -----
    **Guarantee.** ``objective − gap`` is a lower bound on the least objective (weak duality). Both numbers are rounded
    to the safe side, and ``verify(X, y)`` checks them in exact arithmetic (:class:`rosenblatt.proofs.SoftMargin`).

    Examples
    --------
    >>> solution = soft_margin([[2.0], [-2.0]], [1, -1], C=10.0, fit_intercept=False)
    >>> round(float(solution.w[0]), 6)
    0.5

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), Algorithm 1. Crammer and Singer (2001).
    """
    if not (C > 0 and np.isfinite(C)):
        raise ValueError(f"C must be a positive number, got {C!r}; for the hard margin use hard_margin")
    examples = as_examples(X, y, fit_intercept)
    check_squares(examples)
    solution = solve_soft_margin(examples, C, tolerance, max_iter, Clock(time_limit))
    weights = np.atleast_2d(solution.w)
    if fit_intercept:
        weights = np.column_stack([weights, np.atleast_1d(solution.b)])
    hyperplanes = tuple(tuple(map(Fraction, plane)) for plane in weights.tolist())
    n, d = examples.X.shape
    return SoftMargin(
        examples.classes,
        examples.fit_intercept,
        int(n),
        int(d),
        n_iter=solution.n_iter,
        **soft_margin_statement(examples, hyperplanes, solution.alpha, C),
    )


def solve_soft_margin(
    examples: Examples, C: float, tolerance: float, max_iter: int, clock: Clock
) -> Solution:
    """Run epochs in random order until the gap closes."""
    joint = len(examples.classes) > 2
    rows, bias_input = rows_of(examples.X), float(examples.fit_intercept)
    labels = examples.codes if joint else examples.signs
    sqnorms = row_sqnorms(examples.X) + bias_input
    n, d = examples.X.shape
    k = len(examples.classes) if joint else 1
    W, alpha = laid_out(rows, np.zeros((k, 1 + d))), np.zeros((n, k))
    scores, changes = np.empty(k), np.empty(k)
    rng = np.random.default_rng(0)
    best = (np.inf, W.copy())
    dual, iteration = 0.0, 0
    for iteration in range(1, max_iter + 1):
        worst = epoch(
            rows,
            labels,
            sqnorms,
            bias_input,
            float(C),
            rng.permutation(n),
            flat(rows, W),
            alpha,
            scores,
            changes,
        )
        if iteration % 5 and worst > 0.1 * tolerance and iteration < max_iter and not clock.out_of_time():
            continue
        sqnorm = float(np.sum(np.square(W)))
        hinge = np.maximum(0.0, 1.0 - margins_of(examples, *_coefficients(W, joint))).sum()
        best = min(best, (0.5 * sqnorm + C * float(hinge), W.copy()), key=lambda pair: pair[0])
        dual = max(dual, float(alpha.sum()) - 0.5 * sqnorm)
        if best[0] - dual <= tolerance * best[0] or worst == 0.0 or clock.out_of_time():
            break
    return Solution(*_coefficients(best[1], joint), alpha if joint else alpha[:, 0], iteration)


def _coefficients(W: npt.NDArray[np.float64], joint: bool) -> tuple[npt.NDArray[np.float64], Any]:
    """Return ``(w, b)``: a row and a number for each class, or one of each for two classes."""
    return (W[:, 1:], W[:, 0]) if joint else (W[0, 1:], float(W[0, 0]))


def hinge_bound(
    X: Any,
    y: Any,
    fit_intercept: bool = True,
    passes: int = 1,
    *,
    tolerance: float = 1e-4,
    max_iter: int = 300,
) -> MistakeBound:
    """Bound the mistakes of a perceptron on imperfect data, with the hyperplane that certifies the bound.

    **Problem.** ``min over w of R²‖w‖² + 2·passes·Σ max(0, 1 − yᵢ f(xᵢ))``: the soft margin with ``C = passes/R²``.

    Parameters
    ----------
    X, y : examples
    fit_intercept : whether the perceptron learns a bias
    passes : how often the sequence repeats the data
    tolerance : relative duality gap at which the search for the best hyperplane stops
    max_iter : passes over the data that the search may take

    Returns
    -------
    MistakeBound with ``bound`` and the ``w, b`` that attain it; ``mistake_bound(X, y, w, b)`` recomputes it.

    Notes
    -----
    **Guarantee.** Every hyperplane gives a valid bound, so stopping early can only make it larger, never wrong.

    Examples
    --------
    >>> X, y = [[2.0], [1.0], [-1.0], [-2.0]], [1, -1, 1, -1]
    >>> hinge_bound(X, y, fit_intercept=False).bound <= 8
    True

    References
    ----------
    Shalev-Shwartz (2012), section 3.3; Gentile (2003).
    """
    if not passes >= 1:
        raise ValueError(f"passes must be at least 1, got {passes!r}")
    examples = as_examples(X, y, fit_intercept)
    R = radius(examples.X, fit_intercept, len(examples.classes))
    solution = solve_soft_margin(examples, passes / R**2 if R > 0 else 1.0, tolerance, max_iter, Clock(None))
    w, b = solution.w, solution.b
    signed = margins_of(examples, w, b)
    sqnorm = float(np.sum(np.square(w)) + np.sum(np.square(b)))
    bound, scale = scaled_bound(signed, sqnorm, R, passes)
    kind = "margin" if signed.min() > 0 else "hinge"
    as_it_is = R * R * sqnorm + 2.0 * passes * float(np.maximum(0.0, 1.0 - signed).sum())
    if as_it_is < bound:  # some hinge loss can be cheaper than a thin margin
        bound, scale, kind = as_it_is, 1.0, "hinge"
    gamma = float(signed.min()) / math.sqrt(sqnorm) if sqnorm > 0 else 0.0
    return MistakeBound(bound * (1 + 1e-9), kind, scale * w, scale * b, R, gamma)
