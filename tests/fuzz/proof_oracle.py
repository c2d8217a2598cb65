"""Decide every claim a proof can make, in Fractions and from the definitions: slow, plain, standard library only.

Nothing here is shared with ``rosenblatt.proofs``. There are two oracles, and they check each other:

- ``holds`` decides whether the evidence in a statement proves what the statement says, by the theorem named there;
- ``Truth`` decides what is true of the data with no evidence at all, by an exact simplex and by trying every face of
  a hull. Whatever ``holds`` accepts must agree with it.

A claim is data and a question: rows of Fractions, one label per row (or None for the constraints ``A w >= 1``), and
whether the hyperplane may miss the origin. Labels are truth values, numbers of equal value, or texts.
"""

# ruff: noqa: TRY004 (whatever is malformed is a ValueError)

import json
import re
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb, inf, isfinite, lcm, nextafter
from typing import Any, NamedTuple

Vector = list[Fraction]
Demand = tuple[int, int | None]  # a row, and for three or more classes the class it must be told from
Demands = dict[Demand, Vector]  # the vectors a of all a·w > 0

ON_MARGIN = 1 + Fraction(1, 2**20)
MOST_ROWS = 1000
MOST_FACES = 500  # faces of a hull that are tried for its point of least norm


class Claim(NamedTuple):
    """Data and the question asked about them."""

    rows: list[Vector]
    labels: list[Any] | None  # None: the rows are constraints A w >= 1
    intercept: bool
    width: int  # columns of every row, also where there are no rows


def family(label: Any) -> str | None:
    """Return the kind of a label: truth value, number or text; None where it is no label."""
    if isinstance(label, bool):
        return "truth value"
    if isinstance(label, int) or (isinstance(label, float) and isfinite(label)):
        return "number"
    return "text" if isinstance(label, str) and "\x00" not in label else None


def classes_of(claim: Claim) -> list[Any] | None:
    """Return the different labels in order, none for constraints; None where they are of several kinds or no labels."""
    if claim.labels is None:
        return []
    kinds = {family(label) for label in claim.labels}
    if len(kinds) != 1 or None in kinds:
        return None
    classes: list[Any] = []
    for label in sorted(claim.labels):  # Python compares integers with floats exactly
        if not classes or classes[-1] != label:
            classes.append(label)
    return classes


def extended(claim: Claim, i: int) -> Vector:
    """Return the row with the always-one column of the intercept."""
    return [*claim.rows[i], Fraction(1)] if claim.intercept else list(claim.rows[i])


def demands_of(claim: Claim, classes: list[Any]) -> Demands:
    """Write out every demand ``a·w > 0``: the rows of constraints, ``±(x, 1)`` for one or two classes (the last is +),
    Kesler's rows ``(x, 1) ⊗ (e_y − e_c)`` for more.
    """
    out: Demands = {}
    k = len(classes)
    for i in range(len(claim.rows)):
        x = extended(claim, i)
        code = 0 if claim.labels is None else classes.index(claim.labels[i])
        if k <= 2:
            out[i, None] = x if code == max(k - 1, 0) else [-value for value in x]
            continue
        for rival in range(k):
            if rival != code:
                vector = [Fraction(0)] * (k * len(x))
                vector[code * len(x) : (code + 1) * len(x)] = x
                vector[rival * len(x) : (rival + 1) * len(x)] = [-value for value in x]
                out[i, rival] = vector
    return out


def dot(a: Vector, b: Vector) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def combined(vectors: list[Vector], weights: Vector) -> Vector:
    """Return ``Σ λᵢ aᵢ``."""
    return [dot(weights, list(column)) for column in zip(*vectors, strict=True)]


# What is true of the data, without any evidence


class Truth(NamedTuple):
    """What is true of the demands of some data."""

    touched: frozenset[
        Demand
    ]  # demands in the support of some λ ≥ 0 with Σ λ a = 0: every weak separator is 0 there
    total: int  # demands in all
    margin_sqnorm: (
        Fraction | None
    )  # square of the largest margin; None where not positive or too many faces to try

    @property
    def separable(self) -> bool:
        """Gordan: either some w has a·w > 0 for all a, or some λ ≥ 0 that is not 0 has Σ λ a = 0."""
        return not self.touched

    @property
    def overlap(self) -> bool:
        """Tucker: some w has a·w ≥ 0 everywhere and > 0 exactly on the demands that no λ touches."""
        return len(self.touched) == self.total > 0


def truth_of(demands: Demands) -> Truth:
    return _truth_of(tuple((name, tuple(vector)) for name, vector in demands.items()))


@lru_cache(maxsize=1000)
def _truth_of(demands: tuple[tuple[Demand, tuple[Fraction, ...]], ...]) -> Truth:
    names = [name for name, _ in demands]
    vectors = [list(vector) for _, vector in demands]
    touched: set[int] = set()
    for i in range(len(vectors)):
        if i not in touched:
            touched |= set(contradiction(vectors, i) or ())
    margin = None
    if not touched and vectors and _faces(vectors) <= MOST_FACES:
        margin = least_sqnorm(vectors)
    return Truth(frozenset(names[i] for i in touched), len(names), margin)


def contradiction(vectors: list[Vector], i: int) -> dict[int, Fraction] | None:
    """Return the positive ones of some ``λ ≥ 0`` with ``Σ λ a = 0`` and ``λᵢ = 1``; None where there is none."""
    others = [j for j in range(len(vectors)) if j != i]
    solution = nonnegative([vectors[j] for j in others], [-value for value in vectors[i]])
    if solution is None:
        return None
    return {i: Fraction(1), **{j: value for j, value in zip(others, solution, strict=True) if value}}


def weak_separator(demands: Demands, touched: frozenset[Demand]) -> Vector | None:
    """Return a ``w`` with ``a·w = 0`` on the demands named and ``a·w ≥ 1`` on all others; None where there is none."""
    names, width = list(demands), len(next(iter(demands.values())))
    columns = [[demands[name][j] for name in names] for j in range(width)]
    columns += [[-value for value in column] for column in columns]
    columns += [[Fraction(-int(name == other)) for name in names] for other in names if other not in touched]
    solution = nonnegative(columns, [Fraction(int(name not in touched)) for name in names])
    return None if solution is None else [solution[j] - solution[width + j] for j in range(width)]


def nonnegative(columns: list[Vector], right: Vector) -> Vector | None:
    """Return ``x ≥ 0`` with ``Σ xⱼ columnⱼ = right``, or None: the simplex method's first phase with Bland's rule."""
    n, m = len(columns), len(right)
    table = []  # one equation a row: x, artificial variables, a right side that is not negative
    for r in range(m):
        sign = -1 if right[r] < 0 else 1
        left = [sign * column[r] for column in columns]
        table.append([*left, *(Fraction(int(s == r)) for s in range(m)), sign * right[r]])
    basis = [n + r for r in range(m)]
    while True:
        artificial = [row for row, b in zip(table, basis, strict=True) if b >= n]
        # entering a column with a positive sum lowers the sum of the artificial variables
        entering = next((j for j in range(n) if sum((row[j] for row in artificial), Fraction(0)) > 0), None)
        if entering is None:
            break
        ratios = [(row[-1] / row[entering], basis[r], r) for r, row in enumerate(table) if row[entering] > 0]
        _pivot(table, basis, min(ratios)[2], entering)
    if any(row[-1] for row, b in zip(table, basis, strict=True) if b >= n):
        return None
    values = {b: row[-1] for row, b in zip(table, basis, strict=True)}
    return [values.get(j, Fraction(0)) for j in range(n)]


def _pivot(table: list[Vector], basis: list[int], row: int, column: int) -> None:
    scale = table[row][column]
    table[row] = [value / scale for value in table[row]]
    for r, other in enumerate(table):
        if r != row and other[column]:
            factor = other[column]
            table[r] = [value - factor * pivot for value, pivot in zip(other, table[row], strict=True)]
    basis[row] = column


def _faces(points: list[Vector]) -> int:
    return sum(comb(len(points), size) for size in range(2, len(points[0]) + 2))


def least_sqnorm(points: list[Vector]) -> Fraction:
    """Return the least ``‖p‖²`` over the hull of the points, by trying every face of affinely independent points."""
    best = min(dot(p, p) for p in points)
    for size in range(2, min(len(points), len(points[0]) + 1) + 1):
        for face in combinations(points, size):
            weights = _nearest(list(face))
            if weights is not None and all(weight >= 0 for weight in weights):
                point = combined(list(face), weights)
                best = min(best, dot(point, point))
    return best


def _nearest(face: list[Vector]) -> Vector | None:
    """Return the affine weights of the point of least norm in the flat of the points; None where dependent."""
    base, edges = face[0], [[a - b for a, b in zip(p, face[0], strict=True)] for p in face[1:]]
    solution = solve([[dot(a, b) for b in edges] for a in edges], [-dot(a, base) for a in edges])
    return None if solution is None else [1 - sum(solution, Fraction(0)), *solution]


def solve(matrix: list[Vector], right: Vector) -> Vector | None:
    """Solve a square system by Gauss and Jordan; None where it is singular."""
    n = len(matrix)
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for c in range(n):
        place = next((r for r in range(c, n) if table[r][c]), None)
        if place is None:
            return None
        table[c], table[place] = table[place], table[c]
        _pivot(table, [0] * n, c, c)
    return [row[-1] for row in table]


def in_span(vector: Vector, basis: list[Vector]) -> bool:
    """Whether ``vector`` is a linear combination of ``basis``, by elimination."""
    rows = [list(row) for row in basis]
    rest = list(vector)
    for c in range(len(rest)):
        pivot = next((row for row in rows if row[c]), None)
        if pivot is None:
            if rest[c]:
                return False
            continue
        rows = [row for row in rows if row is not pivot]
        rows = [
            [a - row[c] / pivot[c] * b for a, b in zip(row, pivot, strict=True)] if row[c] else row
            for row in rows
        ]
        factor = rest[c] / pivot[c]
        rest = [a - factor * b for a, b in zip(rest, pivot, strict=True)]
    return True


# Whether the evidence in a statement proves what it says

PROVES = {
    "Separable": ["separable"],
    "Inseparable": ["inseparable"],
    "QuasiSeparable": ["inseparable", "quasi-separable"],
    "Undecided": ["undecided"],
    "Feasible": ["feasible"],
    "Infeasible": ["infeasible"],
    "HardMargin": ["hard-margin", "separable"],
    "SoftMargin": ["soft-margin"],
}


def proves(statement: dict[str, Any], expected: str | None) -> bool:
    """Whether a statement that holds is one of what is expected; in the space of a kernel, only where that is."""
    if expected is None:
        return True
    if statement["answer"] == "KernelProof":
        return expected.startswith("kernel-") and proves(statement["proof"], expected.removeprefix("kernel-"))
    overlapping = expected == "overlapping" and statement.get("overlap") is True
    return overlapping or expected in PROVES[statement["answer"]]


def holds(statement: dict[str, Any], claim: Claim) -> bool:
    """Decide a well-formed statement (plain Python values: int, Fraction, float, lists) on the claim of the caller."""
    if statement["answer"] == "KernelProof":
        return _kernel(statement, claim)
    if not claim.rows or statement["n_rows"] != len(claim.rows) or statement["n_features"] != claim.width:
        return False
    classes = classes_of(claim)
    if classes is None or statement["fit_intercept"] != claim.intercept:
        return False
    stated = statement["classes"]
    if not classes and statement["answer"] not in ("Feasible", "Infeasible", "Undecided"):
        return False
    if [family(label) for label in stated] != [family(label) for label in classes] or stated != classes:
        return False
    return _DECIDE[statement["answer"]](statement, claim, demands_of(claim, classes), len(classes))


def _flat(statement: dict[str, Any], claim: Claim, k: int) -> Vector | None:
    """Return all weights of one hyperplane, or of one score per class for three or more; None where they do not fit."""
    planes = statement["hyperplanes"]
    width = claim.width + claim.intercept
    if len(planes) != (k if k > 2 else 1) or any(len(plane) != width for plane in planes):
        return None
    return [value for plane in planes for value in plane]


def _separable(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """``least = min a·w > 0``; margin ≤ least/‖w‖; radius ≥ ‖(x, 1)‖ (√2 times for Kesler's rows); bound ≥ (R/γ)²."""
    w = _flat(statement, claim, k)
    if w is None:
        return False
    scores = {name: dot(vector, w) for name, vector in demands.items()}
    least = min(scores.values())
    if not (statement["least"] == least > 0):
        return False
    margin, radius, bound = statement["margin"], statement["radius"], statement["bound"]
    if not (isfinite(margin) and margin >= 0 and Fraction(margin) ** 2 * dot(w, w) <= least**2):
        return False
    largest = max(dot(x, x) for x in (extended(claim, i) for i in range(len(claim.rows))))
    if not (radius == inf or (radius >= 0 and Fraction(radius) ** 2 >= largest * (2 if k > 2 else 1))):
        return False
    if bound != inf and not (
        radius < inf
        and margin > 0
        and isfinite(bound)
        and Fraction(bound) * Fraction(margin) ** 2 >= Fraction(radius) ** 2
    ):
        return False
    near = {row for (row, _), score in scores.items() if score <= least * ON_MARGIN}
    rows = statement["rows"]
    return len(set(rows)) == len(rows) == min(len(near), MOST_ROWS) and set(rows) <= near


def _names(rows: list[int], rivals: list[int], k: int, demands: Demands) -> list[Demand] | None:
    """Pair rows with rivals; None where a demand does not exist or is named twice."""
    if len(rivals) != (len(rows) if k > 2 else 0):
        return None
    names: list[Demand] = [(row, rivals[at] if k > 2 else None) for at, row in enumerate(rows)]
    if len(set(names)) != len(names) or any(name not in demands for name in names):
        return None
    return names


def _gordan(rows: Any, rivals: Any, weights: Any, demands: Demands, k: int) -> list[Vector] | None:
    """Return the demands of a contradiction ``λ > 0, Σλ = 1, Σ λ a = 0``; None where it is none."""
    names = _names(rows, rivals, k, demands)
    if not names or len(weights) != len(names):
        return None
    vectors = [demands[name] for name in names]
    if any(weight <= 0 for weight in weights) or sum(weights) != 1 or any(combined(vectors, weights)):
        return None
    return vectors


def _inseparable(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """A contradiction of at most rank + 1 demands (Carathéodory); ``overlap``: one that spans all demands."""
    if _gordan(statement["culprits"], statement["rivals"], statement["weights"], demands, k) is None:
        return False
    if len(statement["culprits"]) > (claim.width + claim.intercept) * max(k - 1, 1) + 1:
        return False
    if statement["answer"] == "QuasiSeparable":
        return statement["overlap"] is False and _quasi(statement, claim, demands, k)
    if statement["overlap"] is None:
        return not (statement["core_rows"] or statement["core_rivals"] or statement["core_weights"])
    core = _gordan(statement["core_rows"], statement["core_rivals"], statement["core_weights"], demands, k)
    return (
        statement["overlap"] is True
        and core is not None
        and all(in_span(vector, core) for vector in demands.values())
    )


def _quasi(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """``a·w ≥ 0`` everywhere, ``= 0`` exactly on the touched demands, which lie in the span of a contradiction."""
    w = _flat(statement, claim, k)
    core = _gordan(statement["core_rows"], statement["core_rivals"], statement["core_weights"], demands, k)
    touched = _names(statement["touched"], statement["touched_rivals"], k, demands)
    if w is None or core is None or touched is None:
        return False
    scores = {name: dot(vector, w) for name, vector in demands.items()}
    zero = {name for name, score in scores.items() if score == 0}
    return (
        min(scores.values()) >= 0
        and len(zero) < len(scores)
        and zero == set(touched)
        and all(in_span(demands[name], core) for name in touched)
    )


def _undecided(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """``lower ≤ least/‖w‖`` with ``least ≤ a·w`` for all a; ``upper ≥ ‖Σ λ a‖/Σλ`` (weak duality)."""
    w = _flat(statement, claim, k)
    if w is None or not any(w) or any(dot(vector, w) < statement["least"] for vector in demands.values()):
        return False
    lower, upper, least = statement["lower"], statement["upper"], statement["least"]
    if lower == inf or (lower > -inf and signed_square(Fraction(lower)) * dot(w, w) > signed_square(least)):
        return False
    names = _names(statement["rows"], statement["rivals"], k, demands)
    weights = statement["weights"]
    if not names or len(weights) != len(names) or any(weight < 0 for weight in weights) or not any(weights):
        return False
    point = combined([demands[name] for name in names], weights)
    return upper == inf or (
        isfinite(upper) and upper >= 0 and dot(point, point) <= Fraction(upper) ** 2 * sum(weights) ** 2
    )


def signed_square(value: Fraction) -> Fraction:
    return value * abs(value)


def _hard_margin(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """``margin ≤ least/‖w‖`` with ``0 < least ≤ a·w`` for all a; ``upper ≥ ‖Σ λ a‖/Σλ`` (weak duality).

    Where the intercept is not penalised there are two classes, the norm is that of w without b, and the weights of
    each class are scaled to sum to one half: then ``Σ λ a`` has no b, and is half the way between two averages.
    """
    w = _flat(statement, claim, k)
    if w is None or claim.labels is None:
        return False
    free = claim.intercept and not statement["penalise_intercept"]
    normed = w[:-1] if free else w
    least, margin, upper = statement["least"], statement["margin"], statement["upper"]
    if not (least > 0 and all(dot(vector, w) >= least for vector in demands.values())):
        return False
    if not (any(normed) and Fraction(margin) ** 2 * dot(normed, normed) <= least**2):
        return False
    names = _names(statement["dual_rows"], statement["dual_rivals"], k, demands)
    weights = statement["dual_weights"]
    if not names or len(weights) != len(names) or any(weight < 0 for weight in weights) or not any(weights):
        return False
    vectors = [demands[name] for name in names]
    if free:
        pairs = list(zip(weights, vectors, strict=True))
        totals = {side: sum(weight for weight, a in pairs if a[-1] == side) for side in (-1, 1)}
        if k != 2 or not all(totals.values()):
            return False
        weights = [weight / (2 * totals[a[-1]]) for weight, a in pairs]
        vectors = [a[:-1] for a in vectors]
    point = combined(vectors, weights)
    return upper == inf or dot(point, point) <= Fraction(upper) ** 2 * sum(weights) ** 2


def _soft_margin(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """``objective ≥ ½‖w‖² + C Σᵢ max(0, 1 − min a·w)``; ``lower ≤ Σα − ½‖Σ α a‖²`` for ``α ≥ 0``, at most C a row."""
    w = _flat(statement, claim, k)
    names, alphas = (
        _names(statement["dual_rows"], statement["dual_rivals"], k, demands),
        statement["dual_weights"],
    )
    if w is None or claim.labels is None or names is None or len(alphas) != len(names):
        return False
    C, objective, lower = Fraction(statement["C"]), statement["objective"], statement["lower"]
    if any(alpha < 0 for alpha in alphas):
        return False
    hinge = Fraction(0)
    for i in range(len(claim.rows)):
        worst = min((dot(vector, w) for (row, _), vector in demands.items() if row == i), default=Fraction(1))
        hinge += max(Fraction(0), 1 - worst)
        if sum((alpha for alpha, (row, _) in zip(alphas, names, strict=True) if row == i), Fraction(0)) > C:
            return False
    if objective < inf and Fraction(objective) < dot(w, w) / 2 + C * hinge:
        return False
    point = combined([demands[name] for name in names], alphas) if names else []
    return lower == -inf or (
        isfinite(lower) and Fraction(lower) <= sum(alphas, Fraction(0)) - dot(point, point) / 2
    )


def _kernel(statement: dict[str, Any], claim: Claim) -> bool:
    """A statement about the rows of the Gram matrix ``(a·b + coef0)^degree``, through the origin.

    The kernel is that of a scalar product only where ``coef0 ≥ 0``; then ``K β = 0`` implies ``Σ βᵢ φ(xᵢ) = 0``.
    """
    if (
        claim.labels is None
        or claim.intercept
        or any(value.denominator > 1 for row in claim.rows for value in row)
    ):
        return False
    return holds(statement["proof"], gram_claim(statement, claim))


def gram_claim(statement: dict[str, Any], claim: Claim) -> Claim:
    degree, coef0 = statement["degree"], statement["coef0"]
    gram = [[(dot(a, b) + coef0) ** degree for b in claim.rows] for a in claim.rows]
    return Claim(gram, claim.labels, False, len(gram))


def _feasible(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """``A w ≥ 1`` in every row."""
    w = _flat(statement, claim, k)
    return claim.labels is None and w is not None and all(dot(vector, w) >= 1 for vector in demands.values())


def _infeasible(statement: dict[str, Any], claim: Claim, demands: Demands, k: int) -> bool:
    """A contradiction among the rows of A (Gordan)."""
    return (
        claim.labels is None and _gordan(statement["rows"], [], statement["weights"], demands, k) is not None
    )


_DECIDE = {
    "Separable": _separable,
    "Inseparable": _inseparable,
    "QuasiSeparable": _inseparable,
    "Undecided": _undecided,
    "Feasible": _feasible,
    "Infeasible": _infeasible,
    "HardMargin": _hard_margin,
    "SoftMargin": _soft_margin,
}


# Whether what a statement says is true, whatever its evidence


def is_true(statement: dict[str, Any], claim: Claim) -> bool:
    """Decide what the statement says of the claim from the data alone, as far as that is quick."""
    answer = statement["answer"]
    if answer == "KernelProof":
        return is_true(statement["proof"], gram_claim(statement, claim))
    classes = classes_of(claim)
    assert classes is not None
    demands = demands_of(claim, classes)
    if answer == "SoftMargin":
        if len(classes) > 2 or len(demands) > 5:
            return True
        least = least_objective(demands, Fraction(statement["C"]))
        lower, objective = statement["lower"], statement["objective"]
        return (lower == -inf or Fraction(lower) <= least) and (
            objective == inf or least <= Fraction(objective)
        )
    truth = truth_of(demands)
    if answer in ("Inseparable", "QuasiSeparable", "Infeasible"):
        overlap = statement.get("overlap")
        touched = answer != "QuasiSeparable" or truth.touched == set(
            _names(statement["touched"], statement["touched_rivals"], len(classes), demands) or ()
        )
        return not truth.separable and touched and overlap in (None, truth.overlap)
    if answer in ("Separable", "Feasible") and not truth.separable:
        return False
    margin = truth.margin_sqnorm
    if answer == "HardMargin" and claim.intercept and not statement["penalise_intercept"]:
        margin = half_distance_squared(demands, claim.width)
    if (
        answer in ("Separable", "HardMargin")
        and margin is not None
        and Fraction(statement["margin"]) ** 2 > margin
    ):
        return False
    if answer == "HardMargin":
        upper = statement["upper"]
        return truth.separable and (margin is None or upper == inf or margin <= Fraction(upper) ** 2)
    if answer == "Undecided":
        lower, upper = statement["lower"], statement["upper"]
        if not truth.separable:
            return bool(lower <= 0 <= upper)
        return upper >= 0 and (
            margin is None
            or (
                (lower <= 0 or Fraction(lower) ** 2 <= margin)
                and (upper == inf or margin <= Fraction(upper) ** 2)
            )
        )
    return True


def half_distance_squared(demands: Demands, width: int) -> Fraction | None:
    """Return the square of half the distance between the hulls of two classes; None where there are many faces.

    The demands are ``±(x, 1)``: those of one class have +1 in the last place.
    """
    upper = [vector[:width] for vector in demands.values() if vector[-1] == 1]
    lower = [vector[:width] for vector in demands.values() if vector[-1] == -1]  # −x
    points = [[(a + b) / 2 for a, b in zip(p, q, strict=True)] for p in upper for q in lower]
    return least_sqnorm(points) if points and _faces(points) <= MOST_FACES else None


def least_objective(demands: Demands, C: Fraction) -> Fraction:
    """Return the least ``½‖w‖² + C Σ max(0, 1 − a·w)``: the largest dual objective over all faces of ``0 ≤ α ≤ C``."""
    return _least_objective(tuple(tuple(vector) for vector in demands.values()), C)


@lru_cache(maxsize=1000)
def _least_objective(rows: tuple[tuple[Fraction, ...], ...], C: Fraction) -> Fraction:
    vectors = [list(row) for row in rows]
    Q = [[dot(a, b) for b in vectors] for a in vectors]
    best = Fraction(0)
    for state in product((0, 1, 2), repeat=len(vectors)):  # at zero, at C, free
        free = [i for i, s in enumerate(state) if s == 2]
        alphas = [C if s == 1 else Fraction(0) for s in state]
        right = [1 - dot(Q[i], alphas) for i in free]
        solution = solve([[Q[i][j] for j in free] for i in free], right)
        if solution is None or any(not 0 <= value <= C for value in solution):
            continue
        for i, value in zip(free, solution, strict=True):
            alphas[i] = value
        best = max(
            best,
            sum(alphas, Fraction(0))
            - sum((a * dot(row, alphas) for a, row in zip(alphas, Q, strict=True)), Fraction(0)) / 2,
        )
    return best


# How a statement is written


def read(text: str) -> dict[str, Any]:
    """Read a statement from JSON text; ValueError where anything in it is not as the format says."""
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(content, dict) or content.get("format") != "rosenblatt-proof":
        raise ValueError("not a proof")
    version, reading = content.get("version"), content.get("reading", {})
    if type(version) is not int or version not in (1, 2) or not isinstance(reading, dict):
        raise ValueError("another version")
    statement = {key: value for key, value in content.items() if key not in ("format", "version", "reading")}
    if version == 1 and statement.get("classes") == [1]:  # version 1 wrote constraints so
        cone = reading.get("as") == "constraints" and statement.get("answer") == "Undecided"
        statement["classes"] = [] if cone or statement.get("answer") in ("Feasible", "Infeasible") else [1]
    return _statement(statement, KINDS)


def _statement(content: Any, kinds: Any) -> dict[str, Any]:
    if (
        not isinstance(content, dict)
        or not isinstance(content.get("answer"), str)
        or content["answer"] not in kinds
    ):
        raise ValueError("an unknown answer")
    readers = kinds[content["answer"]] | {"answer": str}
    if set(content) != set(readers):
        raise ValueError("keys are missing or unknown")
    return {key: reader(content[key]) for key, reader in readers.items()}


def _without_intercept(statement: dict[str, Any]) -> dict[str, Any]:
    if statement["fit_intercept"]:
        raise ValueError("a Gram matrix has no intercept")
    return statement


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is named twice")
    return dict(pairs)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _is(kind: type) -> Any:
    def reader(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{str(value)[:40]!r} is not of type {kind.__name__}")
        return value

    return reader


def _at_least(least: int, most: float = inf) -> Any:
    def reader(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"{str(value)[:40]!r} is not an integer from {least} to {most}")
        return value

    return reader


def _list_of(reader: Any) -> Any:
    def read_list(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{str(value)[:40]!r} is not a list")
        return [reader(each) for each in value]

    return read_list


def _labels(value: Any) -> list[Any]:
    """Read different labels of one kind in order."""
    labels = _list_of(lambda each: _number(each) if isinstance(each, dict) else each)(value)
    if any(isinstance(each, float) for each in value) or labels != classes_of(
        Claim([], labels or None, False, 0)
    ):
        raise ValueError("not different labels of one kind in order")
    return labels


def _number(value: Any) -> float:
    """Read ``{"float": hex}`` as ``float.hex`` writes it."""
    if not isinstance(value, dict) or list(value) != ["float"] or not isinstance(value["float"], str):
        raise ValueError(f"{str(value)[:40]!r} is not a float")
    if not re.fullmatch("-?(inf|0x[01][.][0-9a-f]{1,13}p[+-][0-9]{1,4})", value["float"]):
        raise ValueError(f"{value['float'][:40]!r} is not how a float is written")
    try:
        number = float.fromhex(value["float"])
    except OverflowError:
        raise ValueError("a float beyond all floats") from None
    if number.hex() != value["float"]:
        raise ValueError(f"{value['float']} is not how that float is written, or no float64")
    return number


def _from(least: float, most: float) -> Any:
    def reader(value: Any) -> float:
        number = _number(value)
        if not least <= number <= most:
            raise ValueError(f"{number} is not from {least} to {most}")
        return number

    return reader


def _overlap(value: Any) -> Any:
    if value is not None and value is not True and value is not False:
        raise ValueError("overlap is true, false or null")
    return value


def rational(value: Any) -> Fraction:
    """Read ``"p"`` or ``"p/q"`` in decimal digits of ASCII; ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is not a rational")
    numerator, slash, denominator = value.partition("/")
    digits = numerator.removeprefix("-")
    for part in (digits, denominator) if slash else (digits,):
        if not part or any(char not in "0123456789" for char in part):
            raise ValueError(f"{value[:40]!r} is not a rational")
    if slash and denominator[0] == "0":
        raise ValueError(f"{value[:40]!r} has no proper denominator")
    return Fraction(_whole(numerator), _whole(denominator or "1"))


def _short(rationals: Vector) -> Vector:
    """Refuse rationals whose common denominator has more than 400,000 bits."""
    if lcm(*(each.denominator for each in rationals)).bit_length() > 400_000:
        raise ValueError("a common denominator of too many digits")
    return rationals


def _rationals(value: Any) -> Vector:
    return _short(_list_of(rational)(value))


def _planes(value: Any) -> list[Vector]:
    planes: list[Vector] = _list_of(_list_of(rational))(value)
    _short([each for plane in planes for each in plane])
    return planes


def _whole(text: str) -> int:
    """Return an integer of any length, 1000 digits at a time: ``int`` refuses long ones."""
    digits, value = text.removeprefix("-"), 0
    for at in range(0, len(digits), 1000):
        part = digits[at : at + 1000]
        value = value * 10 ** len(part) + int(part)
    return -value if text.startswith("-") else value


_rows = _list_of(_at_least(0))
_about = {
    "classes": _labels,
    "fit_intercept": _is(bool),
    "n_rows": _at_least(1),
    "n_features": _at_least(0),
}
_hyperplanes = {"hyperplanes": _planes}
_contradicting = _about | {
    **{"culprits": _rows, "rivals": _rows, "weights": _rationals, "overlap": _overlap},
    **{"core_rows": _rows, "core_rivals": _rows, "core_weights": _rationals},
}
_LARGEST = nextafter(inf, 0)
_dual = {"dual_rows": _rows, "dual_rivals": _rows, "dual_weights": _rationals}
INNER: dict[str, dict[str, Any]] = {
    "Separable": {
        **_about,
        **_hyperplanes,
        **{"margin": _from(0, _LARGEST), "radius": _from(0, inf), "bound": _from(0, inf), "rows": _rows},
        "least": rational,
    },
    "Undecided": {
        **_about,
        **_hyperplanes,
        **{"rows": _rows, "rivals": _rows, "weights": _rationals},
        **{"lower": _number, "upper": _from(0, inf), "least": rational},
    },
    "Inseparable": _contradicting,
    "QuasiSeparable": {**_contradicting, **_hyperplanes, "touched": _rows, "touched_rivals": _rows},
}
KINDS: dict[str, dict[str, Any]] = INNER | {
    "Feasible": _about | _hyperplanes,
    "Infeasible": {**_about, "rows": _rows, "weights": _rationals},
    "HardMargin": {
        **_about,
        **_hyperplanes,
        **_dual,
        **{
            "penalise_intercept": _is(bool),
            "least": rational,
            "margin": _from(0, _LARGEST),
            "upper": _from(0, inf),
        },
    },
    "SoftMargin": {
        **_about,
        **_hyperplanes,
        **_dual,
        **{
            "C": _from(5e-324, _LARGEST),
            "objective": _from(0, inf),
            "lower": _number,
            "n_iter": _at_least(0),
        },
    },
    "KernelProof": {
        "degree": _at_least(1, 1000),
        "coef0": _at_least(0),
        "proof": lambda value: _without_intercept(_statement(value, INNER)),
    },
}
