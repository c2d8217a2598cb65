"""The hyperplane of largest margin, certified by its duality gap."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.claims import HardMargin
from rosenblatt.proofs.decision import separability
from rosenblatt.proofs.examples import Examples, as_examples, check_squares, product, row_sqnorms
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone
from rosenblatt.proofs.solvers.wolfe import MinNormPoint, wolfe_search
from rosenblatt.proofs.statements import hard_margin_statement, statement_cost

Float64s = npt.NDArray[np.float64]


class Candidate(NamedTuple):
    """A hyperplane and dual weights, in floating point."""

    w: Float64s  # (d,), or (k, d) for three or more classes; scaled so that the least y f(x) is about one
    b: Any  # float, or (k,)
    margin: float
    upper: float
    ids: npt.NDArray[np.intp]  # demands
    weights: Float64s  # their dual weights

    @property
    def gap(self) -> float:
        """How far the margin is from its upper bound."""
        return self.upper - self.margin


def hard_margin(
    X: Any,
    y: Any,
    fit_intercept: bool = True,
    *,
    penalise_intercept: bool = True,
    tolerance: float = 1e-9,
    time_limit: float | None = None,
) -> HardMargin:
    """Find the hyperplane of largest margin.

    **Problem.** ``max over (w, b) of min yᵢ f(xᵢ)/‖(w, b)‖``: the point of least norm in the hull of the rows
    ``yᵢ (xᵢ, 1)``. With ``penalise_intercept=False`` the classical ``max min yᵢ f(xᵢ)/‖w‖``: half the distance between
    the hulls of two classes.

    Parameters
    ----------
    X, y : examples; any number of classes (two where the intercept is not penalised)
    fit_intercept : whether the hyperplane may miss the origin
    penalise_intercept : whether the norm counts ``b``, as in homogeneous coordinates
    tolerance : how far below the point of least norm a row may price, relative to its norm
    time_limit : seconds after which the best hyperplane so far is returned, with its gap

    Notes
    -----
    **Guarantee.** ``margin <= largest margin <= upper`` by weak duality, both rounded to the safe side; ``verify(X,
    y)`` checks them in exact arithmetic (:class:`rosenblatt.proofs.HardMargin`). A ValueError names the rows that
    contradict each other when the data are not separable.

    Examples
    --------
    >>> best = hard_margin([[0.0], [2.0]], ["no", "yes"], penalise_intercept=False)
    >>> best.margin, best.rows.tolist()
    (1.0, [0, 1])

    References
    ----------
    Wolfe (1976). Keerthi et al. (2000) for the distance between hulls.
    """
    clock = Clock(time_limit)
    examples = as_examples(X, y, fit_intercept)
    check_squares(examples)
    penalise_intercept = penalise_intercept or not fit_intercept
    cone = Cone(examples, keep_lengths=True)
    clock.reserve(statement_cost(cone) + 2 * cone.pass_cost)  # candidates are measured before one is stated
    if penalise_intercept:
        point = wolfe_search(cone, np.zeros(cone.dim), clock, tolerance, first=False)
        solution = _homogeneous(cone, point)
    else:
        if len(examples.classes) != 2:
            raise ValueError(f"an unpenalised intercept needs two classes, got {len(examples.classes)}")
        solution = _between_hulls(examples, tolerance, clock)
    statement = None
    if solution is not None and solution.margin > 0:
        statement = _stated(cone, solution, penalise_intercept)
    if statement is None:
        _explain(examples, clock)
        if clock.out_of_time():
            raise ValueError(
                "no separating hyperplane was found within the time limit; give more time or use C"
            )
        raise ValueError(
            "the data are separable, by a margin too thin for this search: scale the columns, or give C for a soft one"
        )
    n, d = examples.X.shape
    return HardMargin(examples.classes, examples.fit_intercept, int(n), int(d), **statement)


def _stated(cone: Cone, solution: Candidate, penalise_intercept: bool) -> dict[str, Any] | None:
    """Return the statement of a candidate, its hyperplane taken as the rationals that its floats are."""
    hyperplanes = np.atleast_2d(solution.w)
    if cone.examples.fit_intercept:
        hyperplanes = np.column_stack([hyperplanes, np.atleast_1d(solution.b)])
    if not np.isfinite(hyperplanes).all():
        return None
    exact = tuple(tuple(map(Fraction, plane)) for plane in hyperplanes.tolist())
    return hard_margin_statement(cone, exact, solution.ids, solution.weights, penalise_intercept)


def _explain(examples: Examples, clock: Clock) -> None:
    """Raise with the rows to blame when the data are not separable."""
    labels = examples.codes
    left = clock.left()
    limit = None if math.isinf(left) else left
    proof = separability(examples.X, labels, examples.fit_intercept, limit, touching=False)
    if hasattr(proof, "culprits"):
        raise ValueError(f"the data have no hard margin; give C for a soft one. {proof}")


def _homogeneous(cone: Cone, point: MinNormPoint) -> Candidate | None:
    w = np.asarray(cone.unscaled(point.w), dtype=np.float64)
    if not point.separates:
        return None
    least = float((cone.prices(point.w) * cone.norms[0]).min())  # all norms are equal where lengths are kept
    w = w / least
    hyperplanes = w.reshape(-1, cone.width)
    joint, bias = cone.joint, cone.examples.fit_intercept
    d = cone.width - bias
    weights = point.weights / point.weights.sum()
    upper = float(np.linalg.norm(weights @ cone.rows(point.ids)))
    return Candidate(
        hyperplanes[:, :d] if joint else hyperplanes[0, :d],
        (hyperplanes[:, d] if joint else float(hyperplanes[0, d]))
        if bias
        else (np.zeros(len(hyperplanes)) if joint else 0.0),
        1.0 / float(np.linalg.norm(w)),
        upper,
        point.ids,
        weights,
    )


def _between_hulls(examples: Examples, tolerance: float, clock: Clock) -> Candidate | None:
    """Let the always-one feature grow until the bias costs nothing, then solve for the support it shows."""
    size = math.sqrt(float(row_sqnorms(examples.X).max()) + 1.0)
    best: Candidate | None = None
    for growth in (0, 4, 7, 10, 13):  # thin margins are lost in the rounding of a large one
        cone = Cone(examples, keep_lengths=True, bias_exponent=math.frexp(size)[1] + growth)
        point = wolfe_search(cone, np.zeros(cone.dim), clock, tolerance, first=False)
        if not point.separates:
            return best
        w = np.asarray(cone.unscaled(point.w), dtype=np.float64)[:-1]
        for candidate, ids, weights in ((w, point.ids, point.weights), _equalised(examples, point)):
            measured = _measured(examples, candidate, ids, weights)
            if measured is not None and (best is None or measured.gap < best.gap):
                best = measured
        if clock.out_of_time() or (best is not None and best.gap <= 1e-9 * best.margin):
            break
    return best


def _equalised(examples: Examples, point: MinNormPoint) -> tuple[Float64s, npt.NDArray[np.intp], Float64s]:
    """Solve ``yᵢ (w·xᵢ + b) = 1`` on the support for the w of least norm, through its multipliers."""
    x = examples.X[point.ids]
    x = np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
    signs = examples.signs[point.ids]
    n = len(point.ids)
    signed = x * signs[:, None]
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = signed @ signed.T, signs, signs
    solved = np.linalg.lstsq(system, np.append(np.ones(n), 0.0), rcond=None)[0][:n]
    return np.maximum(solved, 0.0) @ signed, point.ids, np.maximum(solved, 0.0)


def _measured(
    examples: Examples, w: Float64s, ids: npt.NDArray[np.intp], weights: Float64s
) -> Candidate | None:
    """Place the bias midway, and bound the margin from both sides."""
    norm = float(np.linalg.norm(w))
    signs = examples.signs
    part = [weights * (signs[ids] == side) for side in (1.0, -1.0)]
    if norm == 0.0 or min(each.sum() for each in part) <= 0:
        return None
    scores = product(examples.X, w)
    low, high = float(scores[signs > 0].min()), float(scores[signs < 0].max())
    half = (low - high) / 2
    if half <= 0:
        return None
    x = examples.X[ids]
    x = np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
    upper = float(np.linalg.norm(part[0] @ x / part[0].sum() - part[1] @ x / part[1].sum())) / 2
    used = weights > 0
    return Candidate(
        w / half, -(low + high) / 2 / half, half / norm, upper, ids[used], weights[used] / weights[used].sum()
    )
