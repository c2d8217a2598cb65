"""The fast verifier: a proof, and the claim that the caller states, in; the first reason against it out.

It shares nothing with the searches but the border (``examples``) and exact arithmetic (``exact``, ``signs``): signs are
decided by floating point with a proved error bound, and by integers where that does not suffice. It builds every
row it needs from the data and believes no number in a proof. :mod:`rosenblatt.proofs.checker` decides the same claims
with the standard library alone, and the two agree.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.claims import (
    EXPECTATIONS,
    MOST_ROWS,
    Feasible,
    HardMargin,
    Infeasible,
    Inseparable,
    KernelProof,
    Proof,
    QuasiSeparable,
    Separable,
    SoftMargin,
    Undecided,
    WithHyperplane,
)
from rosenblatt.proofs.exact import mantissas, null_space, over_common_denominator, pivots
from rosenblatt.proofs.examples import as_classes, as_matrix
from rosenblatt.proofs.signs import ExactVector, Scores, scores, weighted_sum

ON_MARGIN = 1 + Fraction(1, 2**20)
FEW_PASSES = (
    64  # null vectors that are tried on all rows; where there are more, rows are eliminated one by one
)
INFINITY = float("inf")
Demand: TypeAlias = tuple[int, int | None]  # an example, and its rival class where there are three or more


class _Failure(Exception):
    """The reason why a claim does not hold."""


def first_failure(
    proof: Proof | KernelProof,
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    expect: str | None = None,
) -> str | None:
    """Return why the proof does not prove the caller's claim about ``(X, y)``, or None when it does.

    Parameters
    ----------
    proof : the evidence; nothing in it decides how the data are read
    X : (n, d) dense or sparse numbers, converted exactly or refused
    y : n labels; None for constraints ``A w ≥ 1``, which have neither labels nor an intercept
    fit_intercept : whether the hyperplanes of the claim may miss the origin
    expect : what has to be proved (one of ``claims.EXPECTATIONS``); by default whatever the proof states

    Examples
    --------
    >>> from rosenblatt.proofs import separability
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> first_failure(separability(X, y), X, y, expect="inseparable") is None
    True
    >>> first_failure(separability(X, y), X, [0, 1, 1, 1])
    'the weighted rows do not add up to zero in column 0'
    """
    if expect is not None and expect not in EXPECTATIONS:
        raise ValueError(f"expect is {expect!r}; it must be one of {', '.join(EXPECTATIONS)}")
    problem = proof.malformed()
    if problem is not None:
        return f"the proof is malformed: {problem}"
    if expect is not None and not proof.proves(expect):
        return f"the proof is {_kind(proof)}, which does not prove {expect!r}"
    try:
        if isinstance(proof, KernelProof):
            _demand(not fit_intercept, _INTERCEPT_OF_KERNEL)
            _demand(y is not None, "a kernel proof is about labelled examples, and y is missing")
            from rosenblatt.proofs.kernel import exact_gram

            X, proof = exact_gram(X, proof.degree, proof.coef0), proof.proof
        _check(proof, _read(proof, X, y, fit_intercept))
    except _Failure as failure:
        return str(failure)
    except (
        ValueError,
        TypeError,
        ArithmeticError,
    ) as error:  # from the border: the data cannot be read, or not exactly
        return f"it cannot be checked in finite, exact numbers: {error}"
    return None


_INTERCEPT_OF_KERNEL = (
    "a kernel proof speaks of hyperplanes through the origin of the kernel's space: state fit_intercept=False"
)


def _kind(proof: Proof | KernelProof) -> str:
    return (
        f"a KernelProof of {_kind(proof.proof)}" if isinstance(proof, KernelProof) else type(proof).__name__
    )


def _demand(holds: Any, reason: str) -> None:
    if not holds:
        raise _Failure(reason)


@dataclass(frozen=True)
class _Data:
    """The data of the claim."""

    X: Any
    codes: npt.NDArray[np.intp]  # the class of every row
    k: int
    bias: bool

    @property
    def width(self) -> int:
        return int(self.X.shape[1]) + self.bias

    def sum(self, demands: Sequence[Demand], weights: Sequence[Fraction]) -> "_Point":
        """Return ``Σ λ a`` exactly, ``a`` being ``y (x, 1)`` or ``(x, 1) ⊗ (e_y − e_c)`` over all classes."""
        numerators, denominator = over_common_denominator(weights)
        terms: list[tuple[int, int, int]] = []
        for (i, rival), n in zip(demands, numerators, strict=True):
            y = int(self.codes[i])
            if rival is None:
                terms.append((i, 0, n if y == self.k - 1 else -n))
            else:
                terms += [(i, y, n), (i, rival, -n)]
        values, exponent = weighted_sum(self.X, self.bias, terms)
        return _Point(values, Fraction(2) ** exponent / denominator)


@dataclass(frozen=True)
class _Point:
    """A vector in sparse form: ``values`` times ``scale``."""

    values: dict[tuple[int, int], int]
    scale: Fraction

    @property
    def sqnorm(self) -> Fraction:
        return sum(value * value for value in self.values.values()) * self.scale**2


def _read(proof: Proof, X: Any, y: Any, fit_intercept: bool) -> _Data:
    """Read the data of the caller's claim, and refuse a proof that speaks of another claim."""
    matrix = as_matrix(X)
    _demand(
        matrix.shape == (proof.n_rows, proof.n_features),
        f"the data have shape {matrix.shape[0]} × {matrix.shape[1]}, the proof speaks of {proof.n_rows} × "
        f"{proof.n_features}",
    )
    about_constraints = isinstance(proof, Feasible | Infeasible) or not proof.classes
    if y is None:
        _demand(
            about_constraints,
            f"the proof is {type(proof).__name__} about labelled examples, and y is missing",
        )
        _demand(
            isinstance(proof, Feasible | Infeasible | Undecided), "constraints have no classes to separate"
        )
        _demand(proof.classes == (), "the proof speaks of labels, but constraints have none")
        _demand(proof.fit_intercept is False, "the proof speaks of an intercept, but constraints have none")
        return _Data(matrix, np.zeros(proof.n_rows, dtype=np.intp), 1, False)
    _demand(not about_constraints, "the proof is about constraints A w >= 1, which have no labels: pass no y")
    claimed, recorded = (_intercept(bool(fit_intercept)), _intercept(proof.fit_intercept))
    _demand(
        claimed == recorded, f"the claim is about hyperplanes {claimed}, the proof speaks of those {recorded}"
    )
    classes, codes = as_classes(y, proof.n_rows)
    same = len(classes) == len(proof.classes) and all(
        a == b and (type(a) is bool) == (type(b) is bool) for a, b in zip(classes, proof.classes, strict=True)
    )
    _demand(same, f"the labels of y are {_shown(classes)}, the proof speaks of {_shown(proof.classes)}")
    return _Data(matrix, codes, len(classes), proof.fit_intercept)


def _intercept(fit_intercept: bool) -> str:
    return "with an intercept" if fit_intercept else "through the origin (fit_intercept=False)"


def _shown(labels: tuple[Any, ...]) -> str:
    words = [repr(label)[:40] for label in labels[:6]]
    return ", ".join(words) + (f" and {len(labels) - 6} more" if len(labels) > 6 else "")


def _check(proof: Proof, data: _Data) -> None:
    if isinstance(proof, Separable):
        _check_separable(proof, data)
    elif isinstance(proof, Undecided):
        _check_undecided(proof, data)
    elif isinstance(proof, Inseparable):
        _check_inseparable(proof, data)
    elif isinstance(proof, Feasible):
        _check_at_least(proof, data, Fraction(1), "of A w is below 1")
    elif isinstance(proof, Infeasible):
        _check_combination(proof.rows, (), proof.weights, data)
    elif isinstance(proof, HardMargin):
        _check_hard_margin(proof, data)
    elif isinstance(proof, SoftMargin):
        _check_soft_margin(proof, data)
    else:
        raise _Failure(f"nothing is known about answers of kind {type(proof).__name__}")


# Hyperplanes


def _parts(proof: WithHyperplane, data: _Data) -> Iterator[tuple[Any, int | None, Any, Scores]]:
    """Yield (rows, rival class or None, ±1 per row, scores of the rows), all demands once."""
    hyperplanes = proof.hyperplanes
    _demand(
        len(hyperplanes) == (data.k if data.k > 2 else 1),
        "the number of hyperplanes does not fit the classes",
    )
    _demand(all(len(plane) == data.width for plane in hyperplanes), "the hyperplanes do not fit the columns")
    if data.k <= 2:
        sides = np.where(data.codes == data.k - 1, 1.0, -1.0)
        yield np.arange(proof.n_rows), None, sides, scores(data.X, ExactVector(hyperplanes[0], data.bias))
        return
    for own_class in range(data.k):
        rows = np.flatnonzero(data.codes == own_class)
        X = data.X[rows]
        for rival in range(data.k):
            if rival != own_class and len(rows):
                gap = tuple(a - b for a, b in zip(hyperplanes[own_class], hyperplanes[rival], strict=True))
                yield rows, rival, 1.0, scores(X, ExactVector(gap, data.bias))


def _sqnorm(hyperplanes: Sequence[Sequence[Fraction]]) -> Fraction:
    numerators, denominator = over_common_denominator(value for plane in hyperplanes for value in plane)
    return Fraction(sum(n * n for n in numerators), denominator**2)


def _check_at_least(proof: WithHyperplane, data: _Data, least: Fraction, what: str) -> None:
    for rows, _, sides, part in _parts(proof, data):
        low = np.flatnonzero(part.compared(sides, least) < 0)
        if len(low):
            raise _Failure(f"row {rows[low[0]]} {what}")


def _check_separable(proof: Separable, data: _Data) -> None:
    _demand(proof.least > 0, "the least score is not positive")
    if proof.radius == INFINITY:
        _demand(proof.bound == INFINITY, "the bound on mistakes is below (R/γ)²")
    on_margin: set[int] = set()
    attained = False
    for rows, _, sides, part in _parts(proof, data):
        close = part.near(sides, proof.least * ON_MARGIN)  # all others are certainly above
        few, sided = part.subset(close), sides if isinstance(sides, float) else sides[close]
        against = few.compared(sided, proof.least)
        wrong = close[against < 0]
        if len(wrong):
            raise _Failure(f"row {rows[wrong[0]]} scores below the least score that the proof states")
        attained = attained or bool((against == 0).any())
        on_margin.update(rows[close[few.compared(sided, proof.least * ON_MARGIN) <= 0]].tolist())
        if proof.radius < INFINITY:
            _check_radius(data, rows, part, Fraction(proof.radius) ** 2 / (2 if data.k > 2 else 1))
    _demand(attained, "no row attains the least score that the proof states")
    _demand(len(set(proof.rows)) == len(proof.rows), "a row on the margin is named twice")
    _demand(set(proof.rows) <= on_margin, "a row that the proof names is not on the margin")
    _demand(len(proof.rows) == min(len(on_margin), MOST_ROWS), "a row on the margin is not named")
    _demand(
        Fraction(proof.margin) ** 2 * _sqnorm(proof.hyperplanes) <= proof.least**2,
        "the margin is smaller than the proof states",
    )
    if proof.bound != INFINITY:
        implied = Fraction(proof.radius) ** 2 <= Fraction(proof.bound) * Fraction(proof.margin) ** 2
        _demand(proof.margin > 0 and implied, "the bound on mistakes is below (R/γ)²")


def _check_radius(data: _Data, rows: Any, part: Scores, limit: Fraction) -> None:
    """Check ``‖x̃‖² ≤ limit`` for every row: in floating point where that suffices, else exactly."""
    slack = 1 + (data.X.shape[1] + 8) * 2.0**-51
    level = (float(limit) if limit < 10**300 else 1e300) * (1 - 1e-15) - data.bias - 1e-300
    for i in np.flatnonzero(~(part.sqnorms < level / slack)):
        row = data.X[[int(rows[i])]]
        m, e = mantissas(row.ravel() if isinstance(row, np.ndarray) else row.data)
        pairs = zip(m.tolist(), e.tolist(), strict=True)
        exact = sum((Fraction(a * a) * Fraction(4) ** b for a, b in pairs), Fraction(int(data.bias)))
        _demand(exact <= limit, f"row {rows[i]} lies outside the radius")


# Bounds on the margin and on the objective


def _check_undecided(proof: Undecided, data: _Data) -> None:
    _check_at_least(proof, data, proof.least, "scores below what the proof states")
    _demand(proof.lower <= proof.upper, "the lower bound is above the upper bound")
    _check_attained(proof.lower, proof.least, _sqnorm(proof.hyperplanes))
    point, total = _dual_point(proof.rows, proof.rivals, proof.weights, data)
    _check_upper(proof.upper, point.sqnorm / total**2)


def _check_attained(lower: float, least: Fraction, sqnorm: Fraction) -> None:
    """Check ``lower ≤ least/‖w‖``, where ``least`` bounds every score from below."""
    _demand(sqnorm > 0, "the hyperplane is zero")
    if lower > -INFINITY:
        _demand(lower < INFINITY, "the lower bound is not attained")
        attained = _signed_square(Fraction(lower)) * sqnorm <= _signed_square(least)
        _demand(attained, "the lower bound is not attained")


def _check_upper(upper: float, sqreach: Fraction) -> None:
    _demand(upper == INFINITY or sqreach <= Fraction(upper) ** 2, "the upper bound is too small")


def _dual_point(rows: Any, rivals: Any, weights: Any, data: _Data) -> tuple[_Point, Fraction]:
    """Return ``Σ λ a`` and ``Σ λ > 0`` for ``λ ≥ 0``."""
    demands = _demands(rows, rivals, weights, data)
    _demand(all(weight >= 0 for weight in weights) and any(weights), "a weight is negative, or all are zero")
    return data.sum(demands, weights), _total(weights)


def _total(weights: Sequence[Fraction]) -> Fraction:
    numerators, denominator = over_common_denominator(weights)
    return Fraction(sum(numerators), denominator)


def _signed_square(value: Fraction) -> Fraction:
    return value * abs(value)


def _check_hard_margin(proof: HardMargin, data: _Data) -> None:
    _demand(proof.least > 0, "the least score is not positive")
    _check_at_least(proof, data, proof.least, "scores below what the proof states")
    _demand(proof.margin <= proof.upper, "the margin is above its upper bound")
    rows, rivals, weights = proof.dual_rows, proof.dual_rivals, proof.dual_weights
    if proof.penalise_intercept or not data.bias:
        _check_attained(proof.margin, proof.least, _sqnorm(proof.hyperplanes))
        point, total = _dual_point(rows, rivals, weights, data)
        _check_upper(proof.upper, point.sqnorm / total**2)
        return
    _demand(data.k == 2, "an unpenalised intercept needs two classes")
    _check_attained(proof.margin, proof.least, _sqnorm([plane[:-1] for plane in proof.hyperplanes]))
    _demands(rows, rivals, weights, data)
    _demand(all(weight >= 0 for weight in weights), "a weight is negative")
    totals = [_total([w for i, w in zip(rows, weights, strict=True) if data.codes[i] == c]) for c in (0, 1)]
    _demand(min(totals) > 0, "one class has no dual weight")
    averaged = [weight / totals[data.codes[i]] for i, weight in zip(rows, weights, strict=True)]
    apart = data.sum([(i, None) for i in rows], averaged)  # the bias cancels: both classes weigh one
    _check_upper(proof.upper, apart.sqnorm / 4)


def _check_soft_margin(proof: SoftMargin, data: _Data) -> None:
    """Check the objective from above, by floats with their errors or exactly, and the dual from below, exactly."""
    C = Fraction(proof.C)
    if proof.objective != INFINITY:
        norm = _sqnorm(proof.hyperplanes) / 2
        hinge = _hinge_at_most(proof, data)
        if hinge == INFINITY or norm + C * Fraction(hinge) > Fraction(proof.objective):
            exact = norm + C * _exact_hinge(proof, data)
            _demand(exact <= Fraction(proof.objective), "the objective is larger than the proof states")
    else:
        list(_parts(proof, data))  # the hyperplanes must fit all the same
    rows, rivals, weights = proof.dual_rows, proof.dual_rivals, proof.dual_weights
    demands = _demands(rows, rivals, weights, data, some=False)
    _demand(all(weight >= 0 for weight in weights), "a dual weight is negative")
    spent: dict[int, Fraction] = {}
    for i, weight in zip(rows, weights, strict=True):
        spent[i] = spent.get(i, Fraction(0)) + weight
    _demand(all(each <= C for each in spent.values()), "the dual weights of a row exceed C")
    _demand(
        proof.lower <= proof.objective and proof.lower < INFINITY, "the lower bound is above the objective"
    )
    if proof.lower > -INFINITY:
        dual = _total(weights) - data.sum(demands, weights).sqnorm / 2
        _demand(Fraction(proof.lower) <= dual, "the lower bound is above what the dual weights prove")


def _hinge_at_most(proof: SoftMargin, data: _Data) -> float:
    """Return an upper bound on ``Σ max(0, 1 − y f(x))`` from floating point and its proved errors."""
    worst = np.full(proof.n_rows, -np.inf)  # the largest 1 − a·w of every row, rounded up
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, _, sides, part in _parts(proof, data):
            low = np.nextafter(part.values * sides - part.errors, -np.inf)
            low = np.nextafter(np.ldexp(low, part.w.exponent), -np.inf)
            worst[rows] = np.maximum(worst[rows], np.nextafter(1.0 - low, np.inf))
    worst = np.maximum(worst, 0.0)
    total = math.fsum(worst.tolist()) if np.isfinite(worst).all() else INFINITY
    return float(np.nextafter(total, np.inf))


def _exact_hinge(proof: SoftMargin, data: _Data) -> Fraction:
    worst = [Fraction(0)] * proof.n_rows
    for rows, _, sides, part in _parts(proof, data):
        signs = np.broadcast_to(sides, len(rows)).tolist()
        exact = part.exactly(np.arange(len(rows)))
        for i, side, score in zip(rows.tolist(), signs, exact, strict=True):
            worst[i] = max(worst[i], 1 - int(side) * score)
    return _total(worst)


# Contradictions


def _demands(rows: Any, rivals: Any, weights: Any, data: _Data, some: bool = True) -> list[Demand]:
    """Return the demands that a proof names, each once, and each in the data; with as many weights."""
    pairs: list[Demand] = [(i, None) for i in rows]
    if data.k > 2:
        _demand(len(rows) == len(rivals), "rows and rivals do not pair up")
        pairs = list(zip(rows, rivals, strict=True))
    else:
        _demand(not rivals, "there are no rivals among two classes")
    _demand(len(pairs) == len(weights) and (pairs or not some), "rows and weights do not pair up")
    for i, rival in pairs:
        _demand(i < len(data.codes), f"row {i} is not in the data")
        fits = rival is None or (rival < data.k and rival != data.codes[i])
        _demand(fits, f"row {i} has no rival class number {rival}")
    _demand(len(set(pairs)) == len(pairs), "a row is named twice")
    return pairs


def _check_combination(rows: Any, rivals: Any, weights: Any, data: _Data) -> list[Demand]:
    """Check ``λ > 0``, ``Σ λ = 1``, ``Σ λ a = 0``; return the demands."""
    demands = _demands(rows, rivals, weights, data)
    _demand(all(weight > 0 for weight in weights), "a weight is not positive")
    _demand(_total(weights) == 1, "the weights do not sum to one")
    wrong = [column for (_, column), value in data.sum(demands, weights).values.items() if value]
    _demand(not wrong, f"the weighted rows do not add up to zero in column {min(wrong, default=0)}")
    return demands


def _check_inseparable(proof: Inseparable, data: _Data) -> None:
    _demand(
        len(proof.culprits) <= data.width * (data.k - 1 if data.k > 2 else 1) + 1,
        "more culprits than Carathéodory's theorem allows",
    )
    _check_combination(proof.culprits, proof.rivals, proof.weights, data)
    if isinstance(proof, QuasiSeparable):
        _check_touching(proof, data)
    elif proof.overlap is True:
        core = _check_combination(proof.core_rows, proof.core_rivals, proof.core_weights, data)
        everything: list[tuple[Any, int | None]] = [(np.arange(proof.n_rows), None)]
        if data.k > 2:
            everything = [(np.flatnonzero(data.codes != rival), rival) for rival in range(data.k)]
        _check_spanned(core, everything, data)
    else:
        open_ = proof.overlap is None and not (proof.core_rows or proof.core_rivals or proof.core_weights)
        _demand(open_, "overlap must be proved or left open")


def _check_touching(proof: QuasiSeparable, data: _Data) -> None:
    """Check that the hyperplane has no row behind it, touches exactly the named rows, and that those must be."""
    _demand(proof.overlap is False, "a quasi-separable set does not overlap")
    named = _demands(proof.touched, proof.touched_rivals, proof.touched, data)
    touched: set[Demand] = set()
    total = 0
    for rows, rival, sides, part in _parts(proof, data):
        against = part.signs() * np.sign(sides)
        behind = np.flatnonzero(against < 0)
        if len(behind):
            raise _Failure(f"row {rows[behind[0]]} lies on the wrong side")
        total += len(rows)
        touched.update((int(i), rival) for i in rows[against == 0])
    _demand(touched == set(named), "the rows that the hyperplane touches are not those that the proof names")
    _demand(len(touched) < total, "the hyperplane touches every row and separates none")
    core = _check_combination(proof.core_rows, proof.core_rivals, proof.core_weights, data)
    groups: dict[int | None, list[int]] = {}
    for i, rival in named:
        groups.setdefault(rival, []).append(i)
    _check_spanned(core, [(np.array(sorted(ids)), rival) for rival, ids in groups.items()], data)


def _check_spanned(core: list[Demand], groups: list[tuple[Any, int | None]], data: _Data) -> None:
    """Check that every demand is a linear combination of the core's.

    Columns that no core row uses must be zero in all of them. On the others, either every row vanishes on a basis of
    the null space of the core (few passes over the rows), or every row is eliminated by the core's echelon form.
    """
    rows = [data.sum([demand], [Fraction(1)]).values for demand in core]
    used = sorted({place for row in rows for place, value in row.items() if value})
    _demand(_within(used, groups, data), _NOT_SPANNED)
    matrix = [[row.get(place, 0) for place in used] for row in rows]
    if len(used) - len(pivots(matrix)[1]) > FEW_PASSES:
        echelon = _echelon(rows)
        for ids, rival in groups:
            for i in ids.tolist():
                left = _eliminated(data.sum([(i, rival)], [Fraction(1)]).values, echelon)
                _demand(not left, _NOT_SPANNED)
        return
    lookup = {place: at for at, place in enumerate(used)}
    for vector in null_space(matrix, len(used)):
        for ids, rival in groups:
            for own_class in range(data.k) if rival is not None else [0]:
                chosen = ids if rival is None else ids[data.codes[ids] == own_class]
                gap = [Fraction(0)] * data.width
                for (block, column), at in lookup.items():
                    if block == own_class:
                        gap[column] += vector[at]
                    elif block == rival:
                        gap[column] -= vector[at]
                if len(chosen) and any(gap):
                    X = data.X if len(chosen) == data.X.shape[0] else data.X[chosen]
                    _demand(not scores(X, ExactVector(tuple(gap), data.bias)).signs().any(), _NOT_SPANNED)


_NOT_SPANNED = "a row need not be touched: it is no linear combination of the core"


def _within(used: list[tuple[int, int]], groups: list[tuple[Any, int | None]], data: _Data) -> bool:
    """Say whether all demands are zero outside the columns used."""
    d = data.X.shape[1]
    for ids, rival in groups:
        for own_class in range(data.k) if rival is not None else [0]:
            chosen = ids if rival is None else ids[data.codes[ids] == own_class]
            if not len(chosen):
                continue
            for block in {own_class, own_class if rival is None else rival}:
                known = np.zeros(data.width, dtype=bool)
                known[[column for b, column in used if b == block]] = True
                if data.bias and not known[d]:
                    return False
                X = data.X if len(chosen) == data.X.shape[0] else data.X[chosen]
                if isinstance(X, np.ndarray):
                    if X[:, ~known[:d]].any():
                        return False
                elif X.data[~known[X.indices]].any():
                    return False
    return True


def _echelon(rows: list[dict[tuple[int, int], int]]) -> dict[tuple[int, int], dict[tuple[int, int], int]]:
    """Return an echelon form of sparse integer rows: for every pivot, a row that starts there."""
    echelon: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
    for row in rows:
        left = _eliminated(row, echelon)
        if left:
            divisor = math.gcd(*left.values())
            echelon[min(left)] = {place: value // divisor for place, value in left.items()}
    return echelon


def _eliminated(
    row: dict[tuple[int, int], int], echelon: dict[tuple[int, int], dict[tuple[int, int], int]]
) -> dict[tuple[int, int], int]:
    """Return what is left of a row (times a positive integer) when the pivots are eliminated from it."""
    left = {place: value for place, value in row.items() if value}
    for pivot in sorted(echelon):
        value = left.get(pivot)
        if not value:
            continue
        by = echelon[pivot]
        divisor = math.gcd(value, by[pivot])
        row_factor, pivot_factor = by[pivot] // divisor, value // divisor
        left = {place: n * row_factor for place, n in left.items()}
        for place, n in by.items():
            rest = left.get(place, 0) - pivot_factor * n
            if rest:
                left[place] = rest
            else:
                left.pop(place, None)
    return left
