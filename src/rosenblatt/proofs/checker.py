"""A small, independent checker of rosenblatt's proofs: this one file and Python's standard library, nothing else.

    python checker.py proof.json data.csv --target y [--no-intercept] [--constraints] [--expect separable]

The caller states the claim: which data, which column holds the labels, with or without an intercept. The proof file
is evidence; nothing in it decides how the data are read. Exit code 0: the proof holds (and proves what ``--expect``
names); 1: it does not; 2: the proof or the data cannot be read. Numeric CSV and LIBSVM text are read; other formats are
written as such by ``rosenblatt prove --export-matrix``.

**Numbers.** A decimal number in the data means the binary64 float nearest to it (IEEE 754), as other readers of
numeric files have it; that float is taken as the exact rational it is. From there on all is integers and fractions.

**Demands.** Row i has features x and a label y, and x̃ = (x, 1) with an intercept, x̃ = x without. A *demand* is a
vector a that must have a·w > 0. Two classes: a = +x̃ for the second label in sorted order (or the only one), −x̃ for the
first, and w is one hyperplane. Three or more: one score w_c·x̃ for each class c, w = (w_1, …, w_k), and for every other
class c (the *rival*) the demand a = x̃ ⊗ (e_y − e_c), so that a·w = w_y·x̃ − w_c·x̃ (Kesler's construction). Constraints
A w ≥ 1: the rows of A are the demands. All claims below are claims about the demands.
"""

import argparse
import csv
import io
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

MOST_DIGITS, MOST_BITS, MOST_ROWS, EXACT = 100_000, 1 << 31, 1000, 1 << 53
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = ("", "?", "NA", "N/A", "n/a", "null", "NULL", "None")
Name = tuple[int, int | None]  # of a demand: its row, and its rival where there are three or more classes
Vector = dict[tuple[int, int], int]  # (class, column) -> integer, zeros left out


class Refused(ValueError):
    """The proof or the data cannot be read, or the proof does not hold; the text says why."""


def require(holds: Any, reason: str) -> None:
    """Go on only if it holds."""
    if not holds:
        raise Refused(reason)


# ---- The proof file: the fields of every answer, and the type of every field. Nothing else is read.

COMMON = "classes fit_intercept n_rows n_features "
NO = COMMON + "culprits rivals weights overlap core_rows core_rivals core_weights "
DUAL = "dual_rows dual_rivals dual_weights"
FIELDS = {
    "Separable": COMMON + "hyperplanes margin radius bound rows least",
    "Undecided": COMMON + "hyperplanes lower upper least rows rivals weights",
    "Inseparable": NO,
    "QuasiSeparable": NO + "hyperplanes touched touched_rivals",
    "Feasible": COMMON + "hyperplanes",
    "Infeasible": COMMON + "rows weights",
    "HardMargin": COMMON + "hyperplanes penalise_intercept least margin upper " + DUAL,
    "SoftMargin": COMMON + "hyperplanes C objective lower n_iter " + DUAL,
    "KernelProof": "degree coef0 proof",
}
TYPES = {
    "labels": "classes",
    "bool": "fit_intercept penalise_intercept",
    "bool or null": "overlap",
    "integer": "n_rows n_features n_iter degree coef0",
    "integers": "rows rivals culprits core_rows core_rivals touched touched_rivals dual_rows dual_rivals",
    "rational": "least",
    "rationals": "weights core_weights dual_weights",
    "rationalss": "hyperplanes",
    "float": "lower margin radius bound upper objective C",
    "object": "proof",
}
TYPE_OF = {name: kind for kind, names in TYPES.items() for name in names.split()}
LEAST = {
    "n_rows": 1,
    "degree": 1,
    "margin": 0,
    "radius": 0,
    "bound": 0,
    "upper": 0,
    "objective": 0,
    "C": 5e-324,
}


def read_value(kind: str, value: Any) -> Any:
    """Return the value of a field, or raise ValueError or OverflowError where it is not of its type."""
    if kind.endswith("s") and kind != "labels":
        require(type(value) is list, "it is not a list")
        values = [read_value(kind[:-1], item) for item in value]
        if kind.startswith("rational"):
            common(values if kind == "rationals" else [each for plane in values for each in plane])
        return values
    if kind == "labels":
        require(type(value) is list, "it is not a list")
        labels = [read_value("float", item) if type(item) in (dict, float) else item for item in value]
        require(len({label_kind(label) for label in labels}) <= 1, "labels are of different kinds")
        require(labels == sorted(set(labels)), "labels are not sorted, or one occurs twice")
        return labels
    if kind == "rational":
        plain = type(value) is str and len(value) <= 2 * MOST_DIGITS + 2
        require(plain and re.fullmatch("-?[0-9]+(/[1-9][0-9]*)?", value), "a rational is written p/q")
        numerator, _, denominator = value.lstrip("-").partition("/")
        return Fraction(whole(numerator) * (-1 if value[0] == "-" else 1), whole(denominator or "1"))
    if kind == "float":
        text = value["float"] if type(value) is dict and value.keys() == {"float"} else ""
        number = float.fromhex(text) if type(text) is str else math.nan
        exact = number.hex() == text and not math.isnan(number)  # other text would be rounded
        require(exact, 'a float is written {"float": "0x1.8000000000000p+1"}, as float.hex writes it')
        return number
    types = {"bool": (bool,), "bool or null": (bool, type(None)), "integer": (int,), "object": (dict,)}[kind]
    require(type(value) in types and (kind != "integer" or value >= 0), f"it is not of type {kind}")
    return value


def whole(digits: str) -> int:
    """Read decimal digits of any length; int() alone stops at a few thousand."""
    half = len(digits) // 2
    if half < 2000:
        return int(digits)
    return int(whole(digits[:half]) * 10 ** (len(digits) - half) + whole(digits[half:]))


def label_kind(label: Any) -> str:
    """Labels are bools, or finite numbers (1 and 1.0 are equal, 1 and True are not), or text without NUL."""
    number = type(label) is int or (type(label) is float and math.isfinite(label))
    require(number or type(label) is bool or (type(label) is str and "\0" not in label), "it is no label")
    return "number" if number else type(label).__name__


def load_proof(text: str) -> dict[str, Any]:
    """Read a proof of format version 1 or 2."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a key occurs twice in one object")
        return dict(pairs)

    try:
        content = json.loads(text, object_pairs_hook=unique, parse_constant=lambda name: require(False, name))
    except (ValueError, RecursionError) as error:
        raise Refused(f"the proof is not JSON: {error}") from None
    require(type(content) is dict and content.pop("format", None) == "rosenblatt-proof", "this is no proof")
    version, reading = (
        content.pop("version", None),
        content.pop("reading", {}),
    )  # how it was read decides nothing
    require(type(version) is int and version in (1, 2), "the proof has another version than 1 and 2")
    require(type(reading) is dict, "the proof records how the data were read, but not as an object")
    cone = content.get("answer") in ("Feasible", "Infeasible")
    cone = cone or (content.get("answer") == "Undecided" and reading.get("as") == "constraints")
    if version == 1 and cone and content.get("classes") == [1]:  # version 1 wrote one class for constraints
        content["classes"] = []
    return read_fields(content)


def read_fields(content: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of an answer, each by its type."""
    answer = content.get("answer")
    require(type(answer) is str and answer in FIELDS, "the proof holds an unknown answer")
    names = FIELDS[str(answer)].split()
    require(content.keys() == {"answer", *names}, f"{answer} needs exactly these fields: {', '.join(names)}")
    proof: dict[str, Any] = {"answer": answer}
    for name in names:
        try:
            proof[name] = read_value(TYPE_OF[name], content[name])
            require(name not in LEAST or proof[name] >= LEAST[name], "it is too small")
            require(name not in ("margin", "C") or proof[name] < math.inf, "it is not finite")
        except (ValueError, OverflowError) as error:
            raise Refused(f"{name!r} of the proof cannot be read: {error}") from None
    if answer == "KernelProof":
        inner = proof["proof"].get("answer")
        about = ("Separable", "Inseparable", "QuasiSeparable", "Undecided")
        require(inner in about, "a kernel proof holds an answer about separability")
        proof["proof"] = read_fields(proof["proof"])
        require(not proof["proof"]["fit_intercept"], "a kernel proof holds a proof without an intercept")
        require(proof["degree"] <= 1000, "the degree is above 1000")
    return proof


# ---- The demands, as integers, and sums of them


class Demands(NamedTuple):
    """All demands times ``scale``, a positive integer that makes their entries integers."""

    vectors: dict[Name, Vector]
    codes: list[int]  # the class of every row, as its place among the sorted labels
    scale: int
    k: int  # classes
    width: int  # of x̃


def common(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return integers n and one D > 0 with ``values = n/D``."""
    D = 1
    for value in values:
        D = math.lcm(D, value.denominator)
        short = D.bit_length() <= 4 * MOST_DIGITS and D.bit_length() * len(values) <= MOST_BITS
        require(short, "its numbers have too large a common denominator")
    return [value.numerator * (D // value.denominator) for value in values], D


def total(values: Sequence[Fraction]) -> Fraction:
    """Return the sum of rationals."""
    numerators, D = common(values)
    return Fraction(sum(numerators), D)


def sqnorm(planes: list[list[Fraction]]) -> Fraction:
    """Return ‖w‖²."""
    numerators, D = common([value for plane in planes for value in plane])
    return Fraction(sum(n * n for n in numerators), D * D)


def scores(planes: list[list[Fraction]], A: Demands) -> tuple[dict[Name, int], int]:
    """Return an integer for every demand, and the unit of these integers: a·w is the integer over the unit."""
    require(len(planes) == (A.k if A.k > 2 else 1), "the number of hyperplanes does not fit the classes")
    require(all(len(plane) == A.width for plane in planes), "the hyperplanes do not fit the columns")
    w, D = common([value for plane in planes for value in plane])
    values = {name: sum(v * w[c * A.width + j] for (c, j), v in a.items()) for name, a in A.vectors.items()}
    return values, D * A.scale


def named(rows: list[int], rivals: list[int], weights: Sequence[Any], A: Demands) -> list[Name]:
    """Return the demands that a proof names: each there, each once, each with a weight."""
    paired = len(rows) == len(weights) and len(rivals) == (len(rows) if A.k > 2 else 0)
    require(paired, "rows, rivals and weights do not pair up")
    names: list[Name] = [(i, None) for i in rows] if A.k <= 2 else list(zip(rows, rivals, strict=True))
    for name in names:
        require(name in A.vectors, f"row {name[0]} is not in the data, or has no rival number {name[1]}")
    require(len(set(names)) == len(names), "a row is named twice")
    return names


def weighted(names: list[Name], weights: Sequence[Fraction], A: Demands) -> tuple[Vector, Fraction]:
    """Return ``Σ λ a`` as integers (over some common denominator), and ``‖Σ λ a‖²``."""
    numerators, D = common(weights)
    point: Vector = {}
    for name, n in zip(names, numerators, strict=True):
        for place, v in A.vectors[name].items():
            point[place] = point.get(place, 0) + n * v
    return point, Fraction(sum(v * v for v in point.values()), (D * A.scale) ** 2)


def contradiction(rows: list[int], rivals: list[int], weights: list[Fraction], A: Demands) -> list[Name]:
    """Gordan: where λ > 0 and Σ λ a = 0, no w has a·w > 0 for all a, for then 0 = Σ λ (a·w) > 0."""
    names = named(rows, rivals, weights, A)
    require(names and min(weights) > 0, "the weights are not all positive, or there are none")
    require(total(weights) == 1, "the weights do not sum to one")
    require(not any(weighted(names, weights, A)[0].values()), "the weighted rows do not add up to zero")
    return names


def spanned(core: list[Name], names: Sequence[Name], A: Demands) -> None:
    """Every demand named is a linear combination of the core: its echelon form leaves nothing of them."""
    echelon: dict[tuple[int, int], Vector] = {}

    def rest(row: Vector) -> Vector:
        for pivot in sorted(echelon):
            if row.get(pivot):
                by, p, v = echelon[pivot], echelon[pivot][pivot], row[pivot]
                row = {at: row.get(at, 0) * p - v * by.get(at, 0) for at in row.keys() | by.keys()}
                divisor = math.gcd(*row.values()) or 1
                row = {at: n // divisor for at, n in row.items() if n}
        return row

    for name in core:
        if left := rest(A.vectors[name]):
            echelon[min(left)] = left
    for name in names:
        require(not rest(A.vectors[name]), f"row {name[0]} is no linear combination of the core")


# ---- The claims, each with its theorem


def separable(p: dict[str, Any], A: Demands) -> None:
    """Some w has a·w > 0 for every demand: ``hyperplanes`` is one, and ``least`` = min a·w exactly.

    ``margin`` ≤ least/‖w‖; ``radius`` ≥ max ‖a‖; ``bound`` ≥ (radius/margin)², which bounds a perceptron's mistakes
    (Novikoff 1962). ``rows`` are those with a·w ≤ (1 + 2⁻²⁰)·least, at most 1000 of them.
    """
    least, rows = p["least"], p["rows"]
    values, unit = scores(p["hyperplanes"], A)
    require(
        least > 0 and min(values.values()) == least * unit,
        "the least score is not as stated, or not positive",
    )
    near = {i for (i, _), value in values.items() if value << 20 <= least * unit * ((1 << 20) + 1)}
    require(len(set(rows)) == len(rows) and set(rows) <= near, "a row that is named is not on the margin")
    require(len(rows) == min(len(near), MOST_ROWS), "a row on the margin is not named")
    margin, radius, bound = p["margin"], p["radius"], p["bound"]
    require(Fraction(margin) ** 2 * sqnorm(p["hyperplanes"]) <= least**2, "the margin is smaller")
    if radius < math.inf:
        length = max(sum(v * v for v in a.values()) for a in A.vectors.values())
        require(length <= Fraction(radius) ** 2 * A.scale**2, "a row lies outside the radius")
    if bound < math.inf:
        require(radius < math.inf and margin > 0, "the bound on mistakes is below (radius/margin)²")
        reach = Fraction(radius) ** 2 <= Fraction(bound) * Fraction(margin) ** 2
        require(reach, "the bound on mistakes is below (radius/margin)²")


def inseparable(p: dict[str, Any], A: Demands) -> None:
    """No w has a·w > 0 for every demand (``contradiction``), shown by few of them (Carathéodory).

    ``overlap``: moreover a·w ≥ 0 for all only where a·w = 0 for all. The core is a contradiction too, so such a w has
    Σ λ (a·w) = 0 with λ > 0, hence a·w = 0 on the core, and on all linear combinations of it, which all demands are.
    """
    most = A.width * (A.k - 1 if A.k > 2 else 1) + 1
    require(len(p["culprits"]) <= most, "more culprits than Carathéodory's theorem allows")
    contradiction(p["culprits"], p["rivals"], p["weights"], A)
    if p["overlap"] is None and p["answer"] == "Inseparable":
        require(
            not (p["core_rows"] or p["core_rivals"] or p["core_weights"]), "overlap is open, so is its core"
        )
        return
    require(p["overlap"] is (p["answer"] == "Inseparable"), "overlap must be proved or left open")
    core = contradiction(p["core_rows"], p["core_rivals"], p["core_weights"], A)
    spanned(core, touched(p, A) if p["answer"] == "QuasiSeparable" else list(A.vectors), A)


def touched(p: dict[str, Any], A: Demands) -> list[Name]:
    """Quasi-separable: some w has a·w ≥ 0 for all demands, > 0 for some, and = 0 for exactly those ``touched``.

    ``hyperplanes`` is one. The touched demands are linear combinations of the core, so by the argument above every such
    w touches them.
    """
    names = named(p["touched"], p["touched_rivals"], p["touched"], A)
    values, _ = scores(p["hyperplanes"], A)
    require(min(values.values()) >= 0 < max(values.values()), "a row lies on the wrong side, or none beyond")
    zero = {name for name, value in values.items() if value == 0}
    require(zero == set(names), "the hyperplane touches other rows than the proof names")
    return names


def feasible(p: dict[str, Any], A: Demands) -> None:
    """A w ≥ 1 in every row: ``hyperplanes`` holds w."""
    at_least(p["hyperplanes"], Fraction(1), A)


def infeasible(p: dict[str, Any], A: Demands) -> None:
    """No w has A w ≥ 1: λ > 0, Σ λ = 1 and Aᵀλ = 0 give 0 = λ·A w ≥ 1."""
    contradiction(p["rows"], [], p["weights"], A)


def undecided(p: dict[str, Any], A: Demands) -> None:
    """The largest margin, max over w of min a·w/‖w‖, lies in [``lower``, ``upper``].

    From below: ``hyperplanes`` has a·w ≥ ``least``, and least/‖w‖ ≥ lower. From above: for λ ≥ 0 and any unit w,
    min a·w ≤ Σ λ a·w/Σλ ≤ ‖Σ λ a‖/Σλ ≤ upper (Cauchy and Schwarz).
    """
    at_least(p["hyperplanes"], p["least"], A)
    attained(p["lower"], p["least"], sqnorm(p["hyperplanes"]))
    require(p["lower"] <= p["upper"], "the lower bound is above the upper bound")
    bounded(p["upper"], named(p["rows"], p["rivals"], p["weights"], A), p["weights"], A)


def at_least(planes: list[list[Fraction]], least: Fraction, A: Demands) -> None:
    """Every demand has a·w ≥ ``least``."""
    values, unit = scores(planes, A)
    require(min(values.values()) >= least * unit, "a row scores below what the proof states")


def attained(lower: float, least: Fraction, sqlength: Fraction) -> None:
    """``lower`` ≤ least/‖w‖, compared by signed squares."""
    require(sqlength > 0 and lower < math.inf, "the hyperplane is zero, or the lower bound infinite")
    if lower > -math.inf:
        squares = Fraction(lower) * abs(Fraction(lower)) * sqlength, least * abs(least)
        require(squares[0] <= squares[1], "the lower bound is not attained")


def bounded(upper: float, names: list[Name], weights: list[Fraction], A: Demands) -> None:
    """``‖Σ λ a‖/Σλ`` ≤ ``upper``."""
    require(names and min(weights) >= 0 and max(weights) > 0, "a weight is negative, or all are zero")
    reach = weighted(names, weights, A)[1] / total(weights) ** 2
    require(upper == math.inf or reach <= Fraction(upper) ** 2, "the upper bound is too small")


def hard_margin(p: dict[str, Any], A: Demands) -> None:
    """``hyperplanes`` has a·w ≥ ``least`` > 0 and margin at least ``margin``; no hyperplane has more than ``upper``.

    As in ``undecided``. Where the intercept is not penalised (two classes) the norm leaves it out, and the margin is at
    most half the distance between any weighted averages of the two classes: for a unit w, twice the margin is at most
    w·(average of one − average of the other). Weights that sum to one in each class make the always-one column cancel.
    """
    require(p["least"] > 0, "the least score is not positive")
    require(p["margin"] <= p["upper"], "the margin is above its upper bound")
    at_least(p["hyperplanes"], p["least"], A)
    names = named(p["dual_rows"], p["dual_rivals"], p["dual_weights"], A)
    planes, weights = p["hyperplanes"], p["dual_weights"]
    if not (p["penalise_intercept"] or not p["fit_intercept"]):
        require(A.k == 2, "an unpenalised intercept needs two classes")
        planes, codes = [plane[:-1] for plane in planes], [A.codes[i] for i, _ in names]
        parts = [total([w for w, c in zip(weights, codes, strict=True) if c == y]) for y in (0, 1)]
        require(min(parts) > 0, "a class has no dual weight")
        weights = [w / parts[c] for w, c in zip(weights, codes, strict=True)]  # sum 2: half the distance
    attained(p["margin"], p["least"], sqnorm(planes))
    bounded(p["upper"], names, weights, A)


def soft_margin(p: dict[str, Any], A: Demands) -> None:
    """f(w) = ½‖w‖² + C Σ max(0, 1 − min a·w) is ≤ ``objective`` at ``hyperplanes``, and ≥ ``lower`` everywhere.

    The sum is over rows. For α ≥ 0 that spend at most C on each row,
    f(w) ≥ ½‖w‖² + Σ α (1 − a·w) ≥ Σ α − ½‖Σ α a‖² ≥ lower.
    """
    values, unit = scores(p["hyperplanes"], A)
    hinge, spent = [0] * len(A.codes), [Fraction(0)] * len(A.codes)
    for (i, _), score in values.items():
        hinge[i] = max(hinge[i], unit - score)
    C, objective, lower, weights = Fraction(p["C"]), p["objective"], p["lower"], p["dual_weights"]
    value = sqnorm(p["hyperplanes"]) / 2 + C * Fraction(sum(hinge), unit)
    require(objective == math.inf or value <= Fraction(objective), "the objective is larger")
    names = named(p["dual_rows"], p["dual_rivals"], weights, A)
    for (i, _), weight in zip(names, weights, strict=True):
        spent[i] += weight
    require(
        min(weights, default=0) >= 0 and max(spent) <= C,
        "a dual weight is negative, or a row spends more than C",
    )
    require(lower <= objective and lower < math.inf, "the lower bound is above the objective")
    dual = total(weights) - weighted(names, weights, A)[1] / 2
    require(lower == -math.inf or Fraction(lower) <= dual, "the lower bound is above the dual objective")


CLAIMS = {  # the check, what it proves in words for --expect, and in a sentence
    "Separable": (separable, "separable", "a hyperplane has every row strictly on the side of its class"),
    "Inseparable": (
        inseparable,
        "inseparable",
        "no hyperplane has every row strictly on the side of its class",
    ),
    "QuasiSeparable": (
        inseparable,
        "inseparable quasi-separable",
        "no hyperplane has every row strictly on the side of its class, but one has every row on it or beyond",
    ),
    "Undecided": (undecided, "undecided", "the largest margin lies between the bounds of the proof"),
    "Feasible": (feasible, "feasible", "one w has A w >= 1 in every row"),
    "Infeasible": (infeasible, "infeasible", "no w has A w >= 1 in every row"),
    "HardMargin": (
        hard_margin,
        "hard-margin separable",
        "the largest margin is positive and between its bounds",
    ),
    "SoftMargin": (soft_margin, "soft-margin", "the least soft-margin objective lies between its bounds"),
}
EXPECTATIONS = sorted(
    {
        "overlapping",
        "kernel-separable",
        "kernel-inseparable",
        *" ".join(claim[1] for claim in CLAIMS.values()).split(),
    }
)


def check(
    proof: dict[str, Any],
    rows: Sequence[Any],
    labels: Sequence[Any] | None,
    *,
    n_features: int | None = None,
    fit_intercept: bool = True,
    expect: str | None = None,
) -> str | None:
    """Return None if the proof (of ``load_proof``) proves the caller's claim, else the first reason why not.

    ``rows`` are sequences of numbers, or {column: number} with ``n_features`` columns; ``labels`` is None for
    constraints, which have no intercept either.
    """
    try:
        claim = proof["proof"] if proof["answer"] == "KernelProof" else proof
        proves = CLAIMS[claim["answer"]][1].split() + ["overlapping"] * (claim.get("overlap") is True)
        if claim is not proof:  # in the space of a kernel, which the caller has to expect
            proves = [f"kernel-{word}" for word in proves]
            require(labels is not None, "a kernel proof is about labelled examples")
        require(expect is None or expect in proves, f"the proof is {claim['answer']}, not of {expect!r}")
        exact = [dict(x) if isinstance(x, Mapping) else dict(enumerate(x)) for x in rows]
        width = len(exact[0]) if exact and n_features is None else n_features or 0
        sparse = n_features is not None and all(isinstance(x, Mapping) for x in rows)
        require(sparse or all(len(x) == width for x in exact), "rows have different lengths")
        for x in exact:
            require(all(0 <= j < width for j in x), "rows have different lengths")
            for j, v in x.items():
                number = isinstance(v, int | Fraction) or (isinstance(v, float) and math.isfinite(v))
                require(number, "a value is not a finite number")
                x[j] = Fraction(v)
        if claim is not proof:
            require(not fit_intercept, "a kernel proof is about hyperplanes through the origin of its space")
            exact, width = gram(exact, proof["degree"], proof["coef0"]), len(exact)
        shape = len(exact), width
        require(
            shape == (claim["n_rows"], claim["n_features"]), f"the proof is about other data than {shape}"
        )
        CLAIMS[claim["answer"]][0](claim, demands(claim, exact, labels, fit_intercept, width))
    except Refused as reason:
        return str(reason)
    return None


def demands(
    p: dict[str, Any], rows: list[dict[int, Fraction]], labels: Sequence[Any] | None, intercept: bool, d: int
) -> Demands:
    """Return the demands of the caller's claim; refuse a proof that is about another claim."""
    cone = p["answer"] in ("Feasible", "Infeasible") or not p["classes"]
    classes: list[Any] = []
    if labels is None:
        require(cone and not p["classes"] and not p["fit_intercept"], "the proof is about labelled examples")
        require(p["answer"] in ("Feasible", "Infeasible", "Undecided"), "constraints have no classes")
        codes, intercept = [0] * len(rows), False
    else:
        require(not cone, "the proof is about constraints, which have no labels")
        which = "through the origin", "with an intercept"
        require(
            p["fit_intercept"] is bool(intercept),
            f"the proof is not about hyperplanes {which[bool(intercept)]}",
        )
        require(len(labels) == len(rows), "there is not one label for each row")
        require(
            len({label_kind(label) for label in (*labels, *p["classes"])}) == 1, "labels are of another kind"
        )
        classes = sorted(set(labels))
        require(classes == p["classes"], "the labels are not those that the proof speaks of")
        codes = [classes.index(label) for label in labels]
    scale, k = math.lcm(*(v.denominator for x in rows for v in x.values())), max(len(classes), 1)
    vectors: dict[Name, Vector] = {}
    for i, (x, y) in enumerate(zip(rows, codes, strict=True)):
        row = {j: int(v * scale) for j, v in x.items() if v} | ({d: scale} if intercept else {})
        if k <= 2:
            vectors[i, None] = {(0, j): v if y == k - 1 else -v for j, v in row.items()}
            continue
        for c in set(range(k)) - {y}:
            vectors[i, c] = {(y, j): v for j, v in row.items()} | {(c, j): -v for j, v in row.items()}
    return Demands(vectors, codes, scale, k, d + bool(intercept))


def gram(rows: list[dict[int, Fraction]], degree: int, coef0: int) -> list[dict[int, Fraction]]:
    """Return the rows of the Gram matrix of ``K(a, b) = (a·b + coef0)^degree`` for integer examples.

    With coef0 ≥ 0 the kernel is positive semidefinite, so K(a, b) = φ(a)·φ(b). A w = Σ αⱼ φ(xⱼ) has the scores K α,
    and Σ λ y Kᵢ = 0 for rows Kᵢ means ‖Σ λ y φ(xᵢ)‖² = 0: answers about the rows of K without an intercept are answers
    about the φ(x). Margin, radius and bound are those of the rows of K.
    """
    integral = all(v.denominator == 1 and abs(v) <= EXACT for x in rows for v in x.values())
    require(integral, "a kernel proof needs integer examples")
    matrix: list[dict[int, Fraction]] = []
    for a in rows:
        base = [int(sum(v * b.get(j, 0) for j, v in a.items())) + coef0 for b in rows]
        fits = all((abs(n).bit_length() - 1) * degree <= 53 and abs(n**degree) <= EXACT for n in base)
        require(fits, "the kernel exceeds 2^53")
        matrix.append({j: Fraction(n**degree) for j, n in enumerate(base)})
    return matrix


# ---- Data files


class Table(NamedTuple):
    """Rows as {column: float}, their number of columns, labels (None for constraints), and how they were read."""

    rows: list[dict[int, float]]
    n_features: int
    labels: list[Any] | None
    target: str | None
    reading: str


def number(text: str, where: str) -> float:
    """Read a decimal number: the nearest binary64."""
    plain = NUMBER.fullmatch(text) and math.isfinite(float(text))
    require(
        plain, f"{where}: {text[:40]!r} is no finite number (rosenblatt prove --export-matrix writes numbers)"
    )
    return float(text)


def numeric_labels(words: list[str], path: str) -> list[Any]:
    """Read numeric labels exactly: whole numbers as they are, others as binary64, and none that would be rounded."""
    labels = [int(word) if re.fullmatch("[+-]?[0-9]{1,400}", word) else float(word) for word in words]
    rounded = max(map(abs, labels), default=0) >= EXACT and any(type(each) is float for each in labels)
    require(
        not rounded,
        f"{path}: labels of 2^53 or more beside labels with a point or an exponent may be rounded",
    )
    return labels


def read_table(
    path: str,
    *,
    format: str | None = None,
    target: str | None = None,
    constraints: bool = False,
    header: bool | None = None,
    zero_based: bool = False,
    delimiter: str = ",",
) -> Table:
    """Read numeric CSV (labels may be text) or LIBSVM text; refuse what another reader could read otherwise."""
    with open(path, encoding="utf-8-sig", newline="") as file:  # noqa: PTH123
        text = file.read()
    require(not re.search("\r(?!\n)", text), f"{path}: a carriage return stands where no line ends")
    lines = [line.removesuffix("\r") for line in text.split("\n")]  # one line is one row
    if (format or ("csv" if path.endswith(".csv") else "libsvm")) == "libsvm":
        require(target is None, f"{path}: LIBSVM text has no columns, so none is called {target!r}")
        return read_libsvm(lines, path, constraints, zero_based)
    try:
        cells = [next(csv.reader([line], delimiter=delimiter, strict=True)) for line in lines if line]
    except (csv.Error, TypeError) as error:
        raise Refused(f"{path}: {error}") from None
    cells = [[cell.strip(" \t\v\f") for cell in row] for row in cells]
    require(cells, f"{path}: there are no rows")
    numeric = {NUMBER.fullmatch(cell) is not None for cell in cells[0]}
    mixed = f"{path}: the first line mixes numbers and text: say --header or --no-header"
    require(header is not None or len(numeric) == 1, mixed)
    named_columns = header if header is not None else numeric == {False}
    names = cells.pop(0) if named_columns else [f"x{j + 1}" for j in range(len(cells[0]))]
    require(cells and len(set(names)) == len(names), f"{path}: no rows, or two columns of one name")
    require(
        target is None or (target in names and not constraints), f"{path}: no column is called {target!r}"
    )
    require(constraints or len(names) > 1, f"{path}: only one column; is {delimiter!r} what separates them?")
    at = None if constraints else names.index(target) if target is not None else len(names) - 1
    rows: list[dict[int, float]] = []
    words: list[str] = []
    for n, row in enumerate(cells, 1):
        require(len(row) == len(names), f"{path}: row {n} has {len(row)} cells, not {len(names)}")
        if at is not None:
            words.append(row.pop(at))
            usable = words[-1] not in MISSING and "\0" not in words[-1]
            require(usable, f"{path}: the label of row {n} is missing, or holds a NUL")
        rows.append({j: v for j, cell in enumerate(row) if (v := number(cell, f"{path}, row {n}"))})
    for word in words:  # other readers take digits of other scripts for numbers
        require(word.isascii() or not any(map(str.isdecimal, word)), f"{path}: is {word[:40]!r} a number?")
    counted = all(NUMBER.fullmatch(word) and math.isfinite(float(word)) for word in words)
    labels = None if at is None else numeric_labels(words, path) if counted else words
    how = "csv, every column a variable" if at is None else f"csv, target {names[at]!r}"
    return Table(rows, len(names) - (at is not None), labels, None if at is None else names[at], how)


def read_libsvm(lines: list[str], path: str, constraints: bool, zero_based: bool) -> Table:
    """Read lines ``label index:value …``, indices ascending; constraints have the label 1 everywhere."""
    rows, words, first = [], [], 0 if zero_based else 1
    width = 0
    for n, line in enumerate(lines, 1):
        label, *pairs = re.findall("[^ \t]+", line.partition("#")[0]) or [""]
        if not label:
            continue
        number(label, f"{path}:{n}")
        row: dict[int, float] = {}
        last = first - 1
        for pair in pairs:
            index, _, value = pair.partition(":")
            ascending = re.fullmatch("[0-9]{1,10}", index) and last < int(index) < 1 << 31
            require(ascending, f"{path}:{n}: {pair[:40]!r} is not index:value, or its index not above {last}")
            last = int(index)
            if v := number(value, f"{path}:{n}"):
                row[last - first] = v
        width = max(width, last - first + 1)
        rows.append(row)
        words.append(label)
    require(rows, f"{path}: there are no rows")
    labels = numeric_labels(words, path)
    require(
        max(map(abs, labels)) < EXACT, f"{path}: a label of 2^53 or more, which readers of LIBSVM text round"
    )
    require(not constraints or set(labels) == {1}, f"{path}: a right-hand side is not 1, as in A w >= 1")
    return Table(rows, width, None if constraints else labels, None, f"libsvm, indices from {first}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a proof file against a data file; return the exit code."""
    options = argparse.ArgumentParser(
        description="Check a proof of rosenblatt with the standard library alone."
    )
    options.add_argument("proof", help="a proof, as rosenblatt prove -o and solve -o write it")
    options.add_argument("data", help="numeric CSV or LIBSVM text")
    options.add_argument("--target", help="the column of labels of a CSV file; the last by default")
    options.add_argument("--no-intercept", action="store_true", help="claim: hyperplanes through the origin")
    options.add_argument("--constraints", action="store_true", help="claim: A w >= 1, the file holds A")
    options.add_argument("--expect", choices=EXPECTATIONS, help="what has to be proved")
    options.add_argument("--format", choices=["csv", "libsvm"], help="csv for names that end so, else libsvm")
    options.add_argument(
        "--header", action=argparse.BooleanOptionalAction, help="the first line names columns"
    )
    options.add_argument("--zero-based", action="store_true", help="LIBSVM indices count from 0")
    options.add_argument("--delimiter", default=",", help="between the cells of a CSV file")
    claim = vars(options.parse_args(arguments))
    path, intercept, expect = claim.pop("proof"), not claim.pop("no_intercept"), claim.pop("expect")
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            proof = load_proof(file.read())
        table = read_table(claim.pop("data"), **claim)
    except (ValueError, OSError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a verdict is printed whatever the labels are
    print(stated(table, intercept))
    reason = check(
        proof, table.rows, table.labels, n_features=table.n_features, fit_intercept=intercept, expect=expect
    )
    print(f"{path} does not hold: {reason}" if reason else f"{path} holds: {proved(proof)}")
    return 1 if reason else 0


def stated(table: Table, intercept: bool) -> str:
    """Return the caller's claim in full."""
    what = "constraints A w >= 1"
    if table.labels is not None:
        words = ", ".join(f"{each!r:.40}" for each in sorted(set(table.labels))[:8])
        what = f"labels {words}, hyperplanes {'with an intercept' if intercept else 'through the origin'}"
    return (
        f"claim: data read as {table.reading}; {len(table.rows)} rows, {table.n_features} features, {what}; every "
        "number is the binary64 nearest to its text"
    )


def proved(proof: dict[str, Any]) -> str:
    """Return what a proof that holds says, in a sentence."""
    if proof["answer"] == "KernelProof":
        return (
            f"in the space of the kernel (a·b + {proof['coef0']})^{proof['degree']}: {proved(proof['proof'])}"
        )
    origin = "" if proof["fit_intercept"] or not proof["classes"] else " (of hyperplanes through the origin)"
    return f"{proof['answer']}{origin}: {CLAIMS[proof['answer']][2]}"


if __name__ == "__main__":
    sys.exit(main())
