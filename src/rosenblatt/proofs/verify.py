"""The independent verifier: a proof and the data in, the first claim that fails out.

It shares nothing with the searches but exact arithmetic (``exact``, ``signs``): it reads the data and the labels
itself, builds every row it needs from them, and believes no number in a proof, least of all a float.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.cone_answers import Feasible, Infeasible
from rosenblatt.proofs.exact import integers, mantissas, null_space, over_common_denominator
from rosenblatt.proofs.inseparable import Inseparable, QuasiSeparable
from rosenblatt.proofs.proof import Proof
from rosenblatt.proofs.separable import MOST_ROWS, Separable, Undecided, WithHyperplane
from rosenblatt.proofs.signs import ExactVector, Scores, scores

ON_MARGIN = 1 + Fraction(1, 2**20)


class _Failure(Exception):
    """The reason why a claim does not hold."""


def first_failure(proof: Proof, X: Any, y: Any = None) -> str | None:
    """Return why the proof does not hold on ``(X, y)``, or None when every claim was checked exactly.

    >>> from rosenblatt.proofs import separability
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> first_failure(separability(X, y), X, y) is None
    True
    >>> first_failure(separability(X, y), X, [0, 1, 1, 1])
    'the weighted rows do not add up to zero in column 0'
    """
    try:
        data = _read(proof, X, y)
        if isinstance(proof, Separable):
            _check_separable(proof, data)
        elif isinstance(proof, Undecided):
            _check_undecided(proof, data)
        elif isinstance(proof, Inseparable):
            _check_inseparable(proof, data)
        elif isinstance(proof, Feasible):
            _check_feasible(proof, data)
        elif isinstance(proof, Infeasible):
            _check_combination(proof.rows, (), proof.weights, data)
        else:
            return f"nothing is known about answers of kind {type(proof).__name__}"
    except _Failure as failure:
        return str(failure)
    except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError) as error:
        return f"the proof or the data are malformed: {error}"
    return None


def _demand(holds: Any, reason: str) -> None:
    if not holds:
        raise _Failure(reason)


@dataclass(frozen=True)
class _Data:
    X: Any
    codes: npt.NDArray[np.intp]  # the class of every row
    k: int
    bias: bool

    def row(self, i: int) -> npt.NDArray[np.float64]:
        x = self.X[[i]]
        dense = np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)[0]
        return np.append(dense, 1.0) if self.bias else dense

    def demand(self, i: int, rival: int | None) -> npt.NDArray[np.float64]:
        """Build the row ``a`` of one demand: ``y (x, 1)``, or ``(x, 1) ⊗ (e_y − e_c)`` over all classes."""
        _demand(0 <= i < len(self.codes), f"row {i} is not in the data")
        x, y = self.row(i), int(self.codes[i])
        if rival is None:
            return x if y == self.k - 1 else -x
        _demand(0 <= rival < self.k and rival != y, f"row {i} cannot be told from class number {rival}")
        out = np.zeros((self.k, len(x)))
        out[y], out[rival] = x, -x
        return out.reshape(-1)


def _read(proof: Proof, X: Any, y: Any) -> _Data:
    """Read data and labels, and check that the proof speaks of data of this shape."""
    finite = True
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        if X.dtype not in (np.float64, np.float32):
            X = X.astype(np.float64)
        finite = bool(np.isfinite(X.data).all())
    else:
        X = np.asarray(X)
        X = np.ascontiguousarray(X if X.dtype in (np.float64, np.float32) else X.astype(np.float64))
        if not isinstance(proof, Separable):  # scoring every row notices by itself
            with np.errstate(over="ignore", invalid="ignore"):
                finite = bool(np.isfinite(X.sum(dtype=np.float64))) or bool(np.isfinite(X).all())
    plain = type(proof.n_rows) is int and type(proof.n_features) is int and type(proof.fit_intercept) is bool
    _demand(plain, "the proof does not say what data it speaks of")
    _demand(finite, "X holds values that are not finite")
    _demand(X.shape == (proof.n_rows, proof.n_features), f"X has shape {X.shape}, the proof another")
    labels = list(proof.classes)
    _demand(labels and len(set(labels)) == len(labels), "the proof names its classes twice or not at all")
    codes = np.full(proof.n_rows, -1, dtype=np.intp)
    if y is None:
        _demand(len(labels) == 1, "y is missing")
        codes[:] = 0
    else:
        given = np.asarray(y)
        _demand(
            given.shape == (proof.n_rows,),
            f"y has shape {given.shape}, the proof speaks of {proof.n_rows} rows",
        )
        if len(labels) == 2:
            codes = np.where(given == labels[1], 1, np.where(given == labels[0], 0, -1))
        else:
            for code, label in enumerate(labels):
                codes[given == label] = code
    _demand(codes.min() >= 0, "y holds a label that the proof does not know")
    return _Data(X, codes, len(labels), proof.fit_intercept is True)


# Hyperplanes


def _parts(proof: WithHyperplane, data: _Data) -> Iterator[tuple[Any, Any, Any, Scores]]:
    """Yield (rows, rival class or None, ±1 per row, scores of the rows), all demands once."""
    width = proof.n_features + data.bias
    planes = proof.hyperplanes
    _demand(
        len(planes) == (data.k if data.k > 2 else 1), "the number of hyperplanes does not fit the classes"
    )
    _demand(all(len(plane) == width for plane in planes), "the hyperplanes do not fit the columns")
    _demand(all(isinstance(v, Fraction) for plane in planes for v in plane), "a weight is not a rational")
    if data.k <= 2:
        sides = np.where(data.codes == data.k - 1, 1.0, -1.0)
        yield np.arange(proof.n_rows), None, sides, scores(data.X, ExactVector(tuple(planes[0]), data.bias))
        return
    for mine in range(data.k):
        rows = np.flatnonzero(data.codes == mine)
        X = data.X[rows]
        for rival in range(data.k):
            if rival != mine and len(rows):
                gap = tuple(a - b for a, b in zip(planes[mine], planes[rival], strict=True))
                yield rows, rival, 1.0, scores(X, ExactVector(gap, data.bias))


def _sqnorm(proof: WithHyperplane) -> Fraction:
    numerators, denominator = over_common_denominator(value for plane in proof.hyperplanes for value in plane)
    return Fraction(sum(n * n for n in numerators), denominator**2)


def _check_separable(proof: Separable, data: _Data) -> None:
    _demand(proof.least > 0, "the least score is not positive")
    _demand(proof.radius >= 0 and proof.margin >= 0, "a radius and a margin are not negative")
    if proof.radius == float("inf"):
        _demand(proof.bound == float("inf"), "the bound on mistakes is below (R/γ)²")
    on_margin: set[int] = set()
    attained = False
    for rows, _, sides, part in _parts(proof, data):
        _check_finite(data, rows, part)
        close = part.near(sides, proof.least * ON_MARGIN)  # all others are certainly above
        few, sided = part.subset(close), sides if isinstance(sides, float) else sides[close]
        against = few.compared(sided, proof.least)
        wrong = close[against < 0]
        if len(wrong):
            raise _Failure(f"row {rows[wrong[0]]} scores below the least score that the proof states")
        attained = attained or bool((against == 0).any())
        on_margin.update(rows[close[few.compared(sided, proof.least * ON_MARGIN) <= 0]].tolist())
        if proof.radius < float("inf"):
            _check_radius(data, rows, part, Fraction(proof.radius) ** 2 / (2 if data.k > 2 else 1))
    _demand(attained, "no row attains the least score that the proof states")
    rows_claimed = list(proof.rows)
    _demand(len(set(rows_claimed)) == len(rows_claimed), "a row on the margin is named twice")
    _demand(set(rows_claimed) <= on_margin, "a row that the proof names is not on the margin")
    _demand(len(rows_claimed) == min(len(on_margin), MOST_ROWS), "a row on the margin is not named")
    sqnorm = _sqnorm(proof)
    _demand(Fraction(proof.margin) ** 2 * sqnorm <= proof.least**2, "the margin is smaller")
    if proof.bound != float("inf"):
        reach = Fraction(proof.radius) ** 2 <= Fraction(proof.bound) * Fraction(proof.margin) ** 2
        _demand(proof.margin > 0 and reach, "the bound on mistakes is below (R/γ)²")


def _check_radius(data: _Data, rows: Any, part: Scores, limit: Fraction) -> None:
    """Check ``‖x̃‖² ≤ limit`` for every row: in floating point where that suffices, else exactly."""
    slack = 1 + (data.X.shape[1] + 8) * 2.0**-51
    level = (float(limit) if limit < 10**300 else 1e300) * (1 - 1e-15) - data.bias - 1e-300
    for i in np.flatnonzero(~(part.sqnorms < level / slack)):
        m, e = mantissas(data.row(int(rows[i])))
        pairs = zip(m.tolist(), e.tolist(), strict=True)
        exact = sum((Fraction(a * a) * Fraction(4) ** b for a, b in pairs), Fraction(0))
        _demand(exact <= limit, f"row {rows[i]} lies outside the radius")


def _check_finite(data: _Data, rows: Any, part: Scores) -> None:
    """Check rows whose squares are not finite: they may be large, or not numbers."""
    for i in np.flatnonzero(~np.isfinite(part.sqnorms)):
        _demand(np.isfinite(data.row(int(rows[i]))).all(), "X holds values that are not finite")


# Contradictions


def _check_combination(rows: Any, rivals: Any, weights: Any, data: _Data) -> list[list[int]]:
    """Check ``λ > 0``, ``Σ λ = 1``, ``Σ λ a = 0``; return the rows as integers (columns scaled by powers of two)."""
    demands = _demands(rows, rivals, data)
    _demand(len(demands) == len(weights) and demands, "rows and weights do not pair up")
    _demand(all(isinstance(weight, Fraction) for weight in weights), "a weight is not a rational")
    _demand(all(weight > 0 for weight in weights), "a weight is not positive")
    _demand(sum(weights, Fraction(0)) == 1, "the weights do not sum to one")
    whole = integers(np.array([data.demand(*demand) for demand in demands]))
    lowest = min(whole.rows)
    numerators, _ = over_common_denominator(weights)
    scaled = [n << (row - lowest) for n, row in zip(numerators, whole.rows, strict=True)]
    for j, column in enumerate(zip(*whole.matrix, strict=True)):
        balance = sum(a * b for a, b in zip(scaled, column, strict=True))
        _demand(balance == 0, f"the weighted rows do not add up to zero in column {j}")
    exponents = [exponent - min(whole.columns, default=0) for exponent in whole.columns]
    return [[v << e for v, e in zip(row, exponents, strict=True)] for row in whole.matrix]


def _demands(rows: Any, rivals: Any, data: _Data) -> list[tuple[int, int | None]]:
    _demand(all(type(i) is int for i in (*rows, *rivals)), "a row is not named by a number")
    if data.k > 2:
        _demand(len(rows) == len(rivals), "rows and rivals do not pair up")
        pairs: list[tuple[int, int | None]] = list(zip(rows, rivals, strict=True))
    else:
        _demand(not rivals, "there are no rivals among two classes")
        pairs = [(i, None) for i in rows]
    _demand(len(set(pairs)) == len(pairs), "a row is named twice")
    return pairs


def _check_inseparable(proof: Inseparable, data: _Data) -> None:
    _check_combination(proof.culprits, proof.rivals, proof.weights, data)
    width = (proof.n_features + data.bias) * (data.k - 1 if data.k > 2 else 1)
    _demand(len(proof.culprits) <= width + 1, "more culprits than Carathéodory's theorem allows")
    if isinstance(proof, QuasiSeparable):
        _check_touching(proof, data)
    elif proof.overlap is True:
        core = _check_combination(proof.core_rows, proof.core_rivals, proof.core_weights, data)
        everything: list[tuple[Any, int | None]] = [(np.arange(proof.n_rows), None)]
        if data.k > 2:
            everything = [(np.flatnonzero(data.codes != rival), rival) for rival in range(data.k)]
        _check_spanned(core, everything, data)
    else:
        _demand(proof.overlap is None and not proof.core_rows, "overlap must be proved or left open")


def _check_touching(proof: QuasiSeparable, data: _Data) -> None:
    """Check that the hyperplane has no row behind it, touches exactly the named rows, and that those must be."""
    _demand(proof.overlap is False, "a quasi-separable set does not overlap")
    claimed = set(_demands(proof.touched, proof.touched_rivals, data))
    found: set[tuple[int, int | None]] = set()
    total = 0
    for rows, rival, sides, part in _parts(proof, data):
        against = part.signs() * np.sign(sides)
        behind = np.flatnonzero(against < 0)
        if len(behind):
            raise _Failure(f"row {rows[behind[0]]} lies on the wrong side")
        total += len(rows)
        found.update((int(i), rival) for i in rows[against == 0])
    _demand(found == claimed, "the rows that the hyperplane touches are not those that the proof names")
    _demand(len(found) < total, "the hyperplane touches every row and separates none")
    core = _check_combination(proof.core_rows, proof.core_rivals, proof.core_weights, data)
    groups: dict[int | None, list[int]] = {}
    for i, rival in claimed:
        groups.setdefault(rival, []).append(i)
    _check_spanned(core, [(np.array(sorted(ids)), rival) for rival, ids in groups.items()], data)


def _check_spanned(core: list[list[int]], groups: list[tuple[Any, int | None]], data: _Data) -> None:
    """Check that every demand is a linear combination of the core's: zero on all that is orthogonal to them."""
    width = data.X.shape[1] + data.bias
    for vector in null_space(core, len(core[0])):
        blocks = [vector[c * width : (c + 1) * width] for c in range(len(vector) // width)]
        for ids, rival in groups:
            for mine in range(data.k) if rival is not None else [0]:
                rows = ids if rival is None else ids[data.codes[ids] == mine]
                against = [0] * width if rival is None else blocks[rival]
                gap = [a - b for a, b in zip(blocks[mine], against, strict=True)]
                if len(rows) and any(gap):
                    exact = ExactVector(tuple(Fraction(value) for value in gap), data.bias)
                    X = data.X if len(rows) == data.X.shape[0] else data.X[rows]
                    _demand(not scores(X, exact).signs().any(), "a row need not be touched")


def _check_feasible(proof: Feasible, data: _Data) -> None:
    _demand(data.k == 1 and not data.bias, "a cone program has no classes and no intercept")
    for rows, _, sides, part in _parts(proof, data):
        low = np.flatnonzero(part.compared(sides, Fraction(1)) < 0)
        if len(low):
            raise _Failure(f"row {rows[low[0]]} of A w is below 1")


def _check_undecided(proof: Undecided, data: _Data) -> None:
    for rows, _, sides, part in _parts(proof, data):
        low = np.flatnonzero(part.compared(sides, proof.least) < 0)
        if len(low):
            raise _Failure(f"row {rows[low[0]]} scores below what the proof states")
    sqnorm = _sqnorm(proof)
    _demand(sqnorm > 0, "the hyperplane is zero")
    attained = _signed_square(Fraction(proof.lower)) * sqnorm <= _signed_square(proof.least)
    _demand(attained, "the lower bound is not attained")
    demands = _demands(proof.rows, proof.rivals, data)
    _demand(demands and len(demands) == len(proof.weights), "rows and weights do not pair up")
    _demand(all(weight >= 0 for weight in proof.weights) and any(proof.weights), "a weight is negative")
    total = sum(proof.weights, Fraction(0))
    rows = [data.demand(*demand).tolist() for demand in demands]
    point = [
        sum(
            (weight * Fraction(value) for weight, value in zip(proof.weights, column, strict=True)),
            Fraction(0),
        )
        for column in zip(*rows, strict=True)
    ]
    reach = sum((value * value for value in point), Fraction(0)) / total**2
    _demand(
        proof.upper == float("inf") or reach <= Fraction(proof.upper) ** 2, "the upper bound is too small"
    )


def _signed_square(value: Fraction) -> Fraction:
    return value * abs(value)
