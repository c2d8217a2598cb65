"""Wolfe's point of least norm on a working set of rows, re-priced over all of them."""

from typing import NamedTuple

import numpy as np

from rosenblatt.proofs.loops.min_norm_point import min_norm_point
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone, Float64s, Ids

ROUNDS = 200
LEAST = 400  # rows of a working set: fewer take more rounds, each of which prices all rows
LARGEST = 8_000_000  # values of a dense working set of sparse rows; past it other solvers take over
VALUE_TIME = 2.5e-10  # seconds for one multiplication and addition, measured, times two to five
WRITE_TIME = 3e-8  # seconds to write out one value of a dense row, measured where memory is new, times two
ZERO = 1e-13  # a residual this small is taken for zero; exact arithmetic decides


class MinNormPoint(NamedTuple):
    """Where the search ended: weights λ on demands (rows of norm one), and ``w = Σ λ a``."""

    w: Float64s  # for the working copy
    ids: Ids
    weights: Float64s  # λ on the rows scaled to norm one in the working copy
    norm: float  # of the residual; about zero says contradiction
    separates: bool  # every price is positive (in floating point)
    optimal: bool  # no row prices below the point itself: this is the point of least norm


def working_rows(cone: Cone, ids: Ids) -> Float64s:
    """Write out demands of the working copy, dense, brought to norm one."""
    P = cone.rows(ids, scaled=True)
    P /= cone.norms[cone.example_and_rival(ids)[0]][:, None]
    return P


def writing_cost(n_rows: int, cone: Cone) -> float:
    """Predict the seconds that :func:`working_rows` takes."""
    return WRITE_TIME * n_rows * cone.dim


def working_size(cone: Cone) -> int:
    """Return the number of rows in a working set."""
    return min(cone.n_rows, max(2 * cone.dim, LEAST))


def is_small(cone: Cone) -> bool:
    """Return whether a working set may be written out: it is of the kind of the data, or it is small.

    Rows of three or more classes are mostly zeros, however dense the data are.
    """
    dense = not (cone.is_sparse or cone.joint)
    return dense or working_size(cone) * cone.dim <= max(LARGEST, 4 * cone.n_values)


def least_work(cone: Cone) -> float:
    """Predict the values visited for one point of least norm."""
    size = working_size(cone)
    return float(size) * cone.dim * min(size, cone.dim)


def wolfe_search(
    cone: Cone, w: Float64s, clock: Clock, tolerance: float = 1e-10, first: bool = True
) -> MinNormPoint:
    """Find the point of least norm in the hull of the rows, starting from the rows that ``w`` scores worst.

    ``first`` stops at the first separator found; else the search goes on to the point of least norm.
    """
    size = working_size(cone)
    ids, weights = np.empty(0, dtype=np.intp), np.empty(0)
    best, idle = np.inf, 0
    point = MinNormPoint(w, ids, weights, np.inf, False, False)
    if not clock.affords(cone.pass_cost + writing_cost(size, cone)):
        return point
    working = _worst(cone.prices(w), size)
    P = working_rows(cone, working)
    for _ in range(ROUNDS):
        capacity = min(len(working), cone.dim + 1) + 1
        support, lambdas = np.zeros(capacity, dtype=np.int64), np.zeros(capacity)
        support[: len(ids)], lambdas[: len(ids)] = np.searchsorted(working, ids), weights
        most = 20 * (cone.dim + 10)
        iterations, seconds = _affordable(clock, most, P.shape, len(ids), cone.pass_cost)
        if not iterations:
            return point
        start, limits = len(ids), (iterations, tolerance)
        n, r, done, stalled = clock.run(
            seconds,
            lambda: min_norm_point(P, support, lambdas, start, limits),  # noqa: B023 (runs at once)
        )
        ids, weights = working[support[:n]], lambdas[:n].copy()
        norm = float(np.linalg.norm(r))
        w = -r[1:]
        prices = cone.prices(w)
        target = r[0]  # every row prices at least this at the optimum
        separates = bool(prices.min() > 0)
        worse = _worst(prices, size)
        worse = worse[prices[worse] < target - tolerance * norm]
        worse = worse[~np.isin(worse, working, assume_unique=True)] if len(worse) else worse
        optimal = not len(worse) and not stalled
        point = MinNormPoint(w, ids, weights, norm, separates, optimal)
        idle = 0 if norm < best * (1 - 1e-6) else idle + 1
        best = min(best, norm)
        if norm < ZERO or (separates and first) or clock.out_of_time():
            return point
        if iterations <= done < most:
            continue  # cut short for a look at the clock
        if not len(worse) or idle > 5:
            return point
        working = np.union1d(worse, ids)
        if not clock.affords(writing_cost(len(working), cone)):
            return point
        P = working_rows(cone, working)
    return point


def _affordable(
    clock: Clock, most: int, shape: tuple[int, ...], n_used: int, pricing: float
) -> tuple[int, float]:
    """Return a number of iterations that takes at most a quarter of the time left, and their predicted seconds.

    What follows them, ``pricing`` all rows, must fit in as well.
    """
    n_rows, dim = shape

    def predicted(iterations: int) -> float:
        most_used = min(n_used + iterations, n_rows, dim)
        orthogonalised = 2 * n_used**2  # the rows in use, before the first iteration
        return VALUE_TIME * dim * (orthogonalised + iterations * (n_rows + 8 * most_used))

    iterations = most
    while iterations and not clock.affords((4 if iterations > 1 else 1) * predicted(iterations) + pricing):
        iterations //= 2
    return iterations, predicted(iterations)


def _worst(prices: Float64s, size: int) -> Ids:
    if size >= len(prices):
        return np.arange(len(prices))
    return np.sort(np.argpartition(prices, size - 1)[:size])
