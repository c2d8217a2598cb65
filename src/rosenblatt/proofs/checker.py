"""A small, independent checker of rosenblatt's proofs: this one file and Python's standard library, nothing else.

    python checker.py proof.json data.csv --target y [--no-intercept] [--constraints] [--expect separable]

The caller states the claim: which data, which column holds the labels, with or without an intercept. The proof file
is evidence; nothing in it decides how the data are read. Exit code 0: the proof holds (and proves what ``--expect``
names); 1: it does not; 2: the proof or the data cannot be read.

**Numbers.** A decimal number in the data means the binary64 float nearest to it (IEEE 754), and that float is the
exact rational it is. From there on all is integers and fractions, which Python compares exactly, also with infinity.

**Demands.** Row i has features x and a label y, and x̃ = (x, 1) with an intercept, x̃ = x without. A *demand* is a
vector a that must have a·w > 0. Two classes: a = +x̃ for the second label in sorted order (or the only one), −x̃ for the
first, and w is one hyperplane. Three or more: one score w_c·x̃ for each class c, w = (w_1, …, w_k), and for every other
class c (the *rival*) the demand a = x̃ ⊗ (e_y − e_c), so that a·w = w_y·x̃ − w_c·x̃ (Kesler's construction). Constraints
A w ≥ 1: the rows of A are the demands. All claims are claims about the demands.
"""

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace as Proof  # the fields of a proof file as attributes, each of its type
from typing import Any, NamedTuple

Name = tuple[int, int | None]  # of a demand: its row, and its rival where there are three or more classes
Vector = dict[tuple[int, int], int]  # (class, column) -> integer, zeros left out


class Refused(ValueError):
    """The proof or the data cannot be read, or the proof does not hold; the text says why."""


def require(holds: Any, reason: str) -> None:
    """Go on only if it holds."""
    if not holds:
        raise Refused(reason)


class Demands(NamedTuple):
    """All demands times ``scale``, a positive integer that makes their entries integers."""

    vectors: dict[Name, Vector]
    codes: list[int]  # the class of every row, as its place among the sorted labels
    scale: int
    planes: int  # hyperplanes: one, or one for each of three or more classes
    width: int  # of x̃
    normed: int  # the first columns of x̃, whose weights count in ‖w‖

    def scores(self, hyperplanes: Any) -> tuple[dict[Name, int], int, Fraction]:
        """Return a·w as integers over one unit, that unit, and ‖w‖²."""
        w, D = hyperplanes
        require([len(plane) for plane in w] == [self.width] * self.planes, "other hyperplanes than columns")
        values = {name: sum(v * w[c][j] for (c, j), v in a.items()) for name, a in self.vectors.items()}
        return values, D * self.scale, Fraction(sum(n * n for p in w for n in p[: self.normed]), D * D)

    def combine(self, rows: list[int], rivals: list[int], weights: Any) -> tuple[list[Name], Fraction]:
        """Return the demands a that a proof names, each once and each with a weight λ, and ‖Σ λ a‖²."""
        numerators, D = weights
        require(len(rows) == len(numerators) == len(rivals or rows), "rows, rivals, weights do not pair up")
        names: list[Name] = [(i, rivals[n] if rivals else None) for n, i in enumerate(rows)]
        require(len(set(names)) == len(names), "a row is named twice")
        point: Vector = {}
        for name, weight in zip(names, numerators, strict=True):
            require(name in self.vectors, f"there is no row {name[0]} with the rival {name[1]}")
            for place, v in self.vectors[name].items():
                point[place] = point.get(place, 0) + weight * v
        return names, Fraction(sum(v * v for v in point.values()), (D * self.scale) ** 2)


# ---- The claims, each with its theorem


def separable(p: Proof, A: Demands) -> None:
    """Some w has a·w > 0 for every demand: ``hyperplanes`` is one, and ``least`` = min a·w exactly.

    ``margin`` ≤ least/‖w‖; ``radius`` ≥ max ‖a‖; ``bound`` ≥ (radius/margin)², which bounds a perceptron's mistakes
    (Novikoff 1962). ``rows`` are those with a·w ≤ (1 + 2⁻²⁰)·least, at most 1000 of them.
    """
    values, unit, sqnorm = A.scores(p.hyperplanes)
    require(min(values.values()) == p.least * unit > 0, "the least score is not as stated, or not positive")
    near = {i for (i, _), value in values.items() if value << 20 <= p.least * unit * ((1 << 20) + 1)}
    named = len(set(p.rows)) == len(p.rows) == min(len(near), 1000) and near.issuperset(p.rows)
    require(named, "the rows that are named are not those on the margin")
    require(p.margin**2 <= p.least**2 / sqnorm, "the margin is smaller")
    longest = max(sum(v * v for v in a.values()) for a in A.vectors.values())
    require(Fraction(longest, A.scale**2) <= p.radius**2, "a row is outside the radius")
    bounded = p.bound == math.inf or (p.margin > 0 and p.radius**2 <= p.bound * p.margin**2)
    require(bounded, "the bound is below (radius/margin)^2")


def contradiction(A: Demands, rows: list[int], rivals: list[int], weights: Any) -> list[Name]:
    """Gordan: where λ > 0 and Σ λ a = 0, no w has a·w > 0 for all a, for then 0 = Σ λ (a·w) > 0."""
    names, square = A.combine(rows, rivals, weights)
    require(names and min(weights[0]) > 0, "the weights are not all positive, or there are none")
    require(sum(weights[0]) == weights[1], "the weights do not sum to one")
    require(square == 0, "the weighted rows do not add up to zero")
    return names


def inseparable(p: Proof, A: Demands) -> None:
    """No w has a·w > 0 for every demand (``contradiction``), shown by few of them (Carathéodory).

    ``overlap``: moreover a·w ≥ 0 for all only where a·w = 0 for all. The core is a contradiction too, so such a w has
    Σ λ (a·w) = 0 with λ > 0, hence a·w = 0 on the core, and on all linear combinations of it, which all demands are.
    QuasiSeparable: ``hyperplanes`` is a w with a·w ≥ 0 for all demands, > 0 for some, and = 0 for exactly those
    ``touched``. These are linear combinations of the core, so that every such w touches them.
    """
    contradiction(A, p.culprits, p.rivals, p.weights)
    most = A.width * max(A.planes - 1, 1) + 1
    require(len(p.culprits) <= most, "there are more culprits than the theorem allows")
    touched = set(A.vectors)
    if p.answer == "QuasiSeparable":
        touched = set(A.combine(p.touched, p.touched_rivals, ([0] * len(p.touched), 1))[0])
        values, _, _ = A.scores(p.hyperplanes)
        require(min(values.values()) >= 0 < max(values.values()), "a row is behind, or none is beyond")
        zeros = {name for name, value in values.items() if value == 0}
        require(zeros == touched, "the hyperplane touches other rows than the proof names")
    elif p.overlap is None:
        require(not (p.core_rows or p.core_rivals or p.core_weights[0]), "there is a core, but no overlap")
        return
    require(p.overlap is (p.answer == "Inseparable"), "overlap is not as the answer has it")
    core = contradiction(A, p.core_rows, p.core_rivals, p.core_weights)
    require(spanned(touched, core, A), "a row is no linear combination of the core")


def spanned(names: Iterable[Name], core: list[Name], A: Demands) -> bool:
    """Return whether the demands named are linear combinations of the core: elimination leaves nothing of them."""
    basis: list[tuple[tuple[int, int], Vector]] = []  # each with a place that all after it have zero at

    def rest(row: Vector) -> Vector:
        for pivot, by in basis:
            if v := row.get(pivot):
                row = {at: row.get(at, 0) * by[pivot] - v * by.get(at, 0) for at in row.keys() | by.keys()}
                divisor = math.gcd(*row.values())  # keeps the integers short
                row = {at: n // divisor for at, n in row.items() if n}
        return row

    for name in core:
        if left := rest(A.vectors[name]):
            basis.append((min(left), left))
    return not any(rest(A.vectors[name]) for name in names)


def feasible(p: Proof, A: Demands) -> None:
    """A w ≥ 1 in every row: ``hyperplanes`` holds w."""
    values, unit, _ = A.scores(p.hyperplanes)
    require(min(values.values()) >= unit, "a row scores below 1")


def infeasible(p: Proof, A: Demands) -> None:
    """No w has A w ≥ 1: λ > 0, Σ λ = 1 and Aᵀλ = 0 give 0 = λ·A w ≥ 1."""
    contradiction(A, p.rows, [], p.weights)


def undecided(p: Proof, A: Demands) -> None:
    """The largest margin, max over w of min a·w/‖w‖, lies in [``lower``, ``upper``].

    From below: ``hyperplanes`` has a·w ≥ ``least``, and least/‖w‖ ≥ lower. From above: for λ ≥ 0 and any unit w,
    min a·w ≤ Σ λ a·w/Σλ ≤ ‖Σ λ a‖/Σλ ≤ upper (Cauchy and Schwarz).
    """
    values, unit, sqnorm = A.scores(p.hyperplanes)
    require(min(values.values()) >= p.least * unit, "a row scores below what the proof states")
    attained = sqnorm > 0 and p.lower * abs(p.lower) <= p.least * abs(p.least) / sqnorm
    require(attained, "the lower bound is not attained, or the hyperplane is zero")
    numerators, D = p.weights
    _, square = A.combine(p.rows, p.rivals, p.weights)
    require(numerators and min(numerators) >= 0 < sum(numerators), "a weight is negative, or all are zero")
    require(square / Fraction(sum(numerators), D) ** 2 <= p.upper**2, "the upper bound is too small")


def hard_margin(p: Proof, A: Demands) -> None:
    """``hyperplanes`` has a·w ≥ ``least`` > 0 and margin at least ``margin``; no hyperplane has more than ``upper``.

    As in ``undecided``. Where the intercept is not penalised (two classes) the norm leaves it out, and the margin is at
    most half the distance between any weighted averages of the two classes: for a unit w, twice the margin is at most
    w·(average of one − average of the other). Weights of equal sums in both classes make the always-one column cancel.
    """
    require(p.least > 0, "the least score is not positive")
    names, _ = A.combine(p.dual_rows, p.dual_rivals, p.dual_weights)
    weights, D = p.dual_weights
    if p.fit_intercept and not p.penalise_intercept:
        require(len(p.classes) == 2, "an unpenalised intercept needs two classes")
        codes = [A.codes[i] for i, _ in names]
        sums = [sum(n for n, code in zip(weights, codes, strict=True) if code == y) for y in (0, 1)]
        require(min(sums) > 0, "a class has no dual weight")
        weights = [n * sums[1 - code] for n, code in zip(weights, codes, strict=True)]
        A = A._replace(normed=A.width - 1)
    bounds = {"rows": p.dual_rows, "rivals": p.dual_rivals, "weights": (weights, D), "lower": p.margin}
    undecided(Proof(**vars(p), **bounds), A)


def soft_margin(p: Proof, A: Demands) -> None:
    """f(w) = ½‖w‖² + C Σ max(0, 1 − min a·w) is ≤ ``objective`` at ``hyperplanes``, and ≥ ``lower`` everywhere.

    The sum is over rows. For α ≥ 0 that spend at most C on each row,
    f(w) ≥ ½‖w‖² + Σ α (1 − a·w) ≥ Σ α − ½‖Σ α a‖² ≥ lower.
    """
    values, unit, sqnorm = A.scores(p.hyperplanes)
    names, square = A.combine(p.dual_rows, p.dual_rivals, p.dual_weights)
    weights, D = p.dual_weights
    hinge, spent = [0] * len(A.codes), [0] * len(A.codes)
    for (i, _), value in values.items():
        hinge[i] = max(hinge[i], unit - value)
    for (i, _), weight in zip(names, weights, strict=True):
        spent[i] += weight
    require(min(weights, default=0) >= 0 and max(spent) <= p.C * D, "a dual weight is negative, or above C")
    require(sqnorm / 2 + p.C * Fraction(sum(hinge), unit) <= p.objective, "the objective is larger")
    dual = Fraction(sum(weights), D) - square / 2
    require(p.lower <= dual, "the lower bound is above the dual objective")


# ---- The caller's claim. For every answer: its check, the words of --expect that it proves, and a sentence.

SIDES = "hyperplane has every row strictly on the side of its class"
CLAIMS = {
    "Separable": (separable, "separable", f"a {SIDES}"),
    "Inseparable": (inseparable, "inseparable", f"no {SIDES}"),
    "QuasiSeparable": (inseparable, "inseparable quasi-separable", f"no {SIDES}, but one there or on it"),
    "Undecided": (undecided, "undecided", "the largest margin is between the bounds"),
    "Feasible": (feasible, "feasible", "one w has A w >= 1 in every row"),
    "Infeasible": (infeasible, "infeasible", "no w has A w >= 1 in every row"),
    "HardMargin": (hard_margin, "hard-margin separable", "positive bounds on the margin"),
    "SoftMargin": (soft_margin, "soft-margin", "the least objective is between the bounds"),
}
EXPECTATIONS = {word for _, words, _ in CLAIMS.values() for word in words.split()}
EXPECTATIONS |= {"overlapping", "kernel-separable", "kernel-inseparable"}


def check(p: Proof, table: "Table", *, fit_intercept: bool = True, expect: str | None = None) -> str:
    """Return what the proof proves of the caller's claim about a table, in a sentence, or raise Refused."""
    decide, words, sentence = CLAIMS[p.answer]
    proves = words.split() + ["overlapping"] * (getattr(p, "overlap", None) is True)
    proves = [f"kernel-{word}" for word in proves] if p.kernel else proves
    require(expect is None or expect in proves, f"the proof is of {', '.join(proves)}, not of {expect!r}")
    decide(p, demands(p, table, fit_intercept))
    space = f"in the space of the kernel (<a, b> + {p.kernel.coef0})^{p.kernel.degree}: " if p.kernel else ""
    origin = " (of hyperplanes through the origin)" if p.classes and not p.fit_intercept else ""
    floats = [
        name for name, _, kind in (each.partition(":") for each in FIELDS[p.answer].split()) if kind == "F"
    ]
    parts = [f"{name} {float(getattr(p, name))!r}" for name in floats]
    parts += ["norms leave the intercept out"] * (getattr(p, "penalise_intercept", True) is False)
    return "; ".join([f"{space}{p.answer}{origin}: {sentence}", *parts])


def demands(p: Proof, table: "Table", intercept: bool) -> Demands:
    """Return the demands of the caller's claim about a table; refuse a proof of another claim."""
    rows, d, labels = table.rows, table.n_features, table.labels or []
    constraints, of_constraints = table.labels is None, p.answer in ("Feasible", "Infeasible")
    either = p.answer == "Undecided" and not p.kernel
    require(of_constraints is constraints or either, "of claim and proof one is about constraints, one not")
    intercept = bool(intercept) and not constraints
    require(p.fit_intercept is intercept, "of claim and proof one has an intercept, and one has not")
    if p.kernel:
        rows, d = gram(rows, p.kernel.degree, p.kernel.coef0), len(rows)
    require((len(rows), d) == (p.n_rows, p.n_features), f"it is not about {len(rows)} rows of {d} features")
    one_kind = len({label_kind(label) for label in (*labels, *p.classes)}) <= 1
    require(one_kind and sorted(set(labels)) == p.classes, "it is about other labels")
    require(constraints or len(labels) == len(rows), "there are not as many labels as rows")
    k, place = len(p.classes), {label: code for code, label in enumerate(p.classes)}
    codes = [0] * len(rows) if constraints else [place[label] for label in labels]
    bias = {d: Fraction(1)} if intercept else {}
    exact = [{j: Fraction(v) for j, v in row.items() if v} | bias for row in rows]
    scale = math.lcm(*(v.denominator for row in exact for v in row.values()))
    vectors: dict[Name, Vector] = {}
    for i, (row, y) in enumerate(zip(exact, codes, strict=True)):
        x = {j: int(v * scale) for j, v in row.items()}
        if k <= 2:
            vectors[i, None] = {(0, j): -v if y < k - 1 else v for j, v in x.items()}
        for c in set(range(k)) - {y} if k > 2 else ():
            vectors[i, c] = {(y, j): v for j, v in x.items()} | {(c, j): -v for j, v in x.items()}
    return Demands(vectors, codes, scale, k if k > 2 else 1, d + intercept, d + intercept)


def gram(rows: list[dict[int, Any]], degree: int, coef0: int) -> list[dict[int, Any]]:
    """Return the rows of the Gram matrix of ``K(a, b) = (a·b + coef0)^degree`` for integer examples.

    With coef0 ≥ 0 the kernel is positive semidefinite, so K(a, b) = φ(a)·φ(b). A w = Σ αⱼ φ(xⱼ) has the scores K α,
    and Σ λ y Kᵢ = 0 for rows Kᵢ means ‖Σ λ y φ(xᵢ)‖² = 0: answers about the rows of K without an intercept are answers
    about the φ(x). Margin, radius and bound are those of the rows of K.
    """
    integral = all(v == int(v) and abs(v) <= EXACT for x in rows for v in x.values())
    require(integral, "a kernel proof needs integer examples")
    sums = [[sum(int(v) * int(b.get(j, 0)) for j, v in a.items()) + coef0 for b in rows] for a in rows]
    exact = all(abs(n) <= EXACT and abs(n**degree) <= EXACT for row in sums for n in row)
    require(exact, "the kernel exceeds 2^53")
    return [{j: n**degree for j, n in enumerate(row)} for row in sums]


# ---- The proof file. Every answer has exactly these fields, name:type, and nothing else is read. Types: L labels,
# B true or false, B? also null, N integer, F float, Q rational, P answer; with * a list, with ** a list of lists.

ABOUT = "classes:L fit_intercept:B n_rows:N n_features:N "
SUMS = "culprits:N* rivals:N* weights:Q* overlap:B? core_rows:N* core_rivals:N* core_weights:Q* "
DUAL = "dual_rows:N* dual_rivals:N* dual_weights:Q* "
FIELDS = {
    "Separable": ABOUT + "hyperplanes:Q** least:Q margin:F radius:F bound:F rows:N*",
    "Inseparable": ABOUT + SUMS,
    "QuasiSeparable": ABOUT + SUMS + "hyperplanes:Q** touched:N* touched_rivals:N*",
    "Undecided": ABOUT + "hyperplanes:Q** least:Q lower:F upper:F rows:N* rivals:N* weights:Q*",
    "Feasible": ABOUT + "hyperplanes:Q**",
    "Infeasible": ABOUT + "rows:N* weights:Q*",
    "HardMargin": ABOUT + DUAL + "hyperplanes:Q** least:Q margin:F upper:F penalise_intercept:B",
    "SoftMargin": ABOUT + DUAL + "hyperplanes:Q** C:F objective:F lower:F n_iter:N",
    "KernelProof": "degree:N coef0:N proof:P",
}
LEAST = {"lower": -math.inf, "n_rows": 1, "degree": 1, "C": 5e-324}  # 0 for other integers and floats
MOST = {"degree": 1000, "C": sys.float_info.max, "margin": sys.float_info.max}
DIGITS, BITS, EXACT = 100_000, 1 << 31, 1 << 53  # of a number; of a list; what floats hold
RATIONAL = re.compile("-?[0-9]+(/[1-9][0-9]*)?")


def load_proof(text: str) -> Proof:
    """Read a proof of version 1 or 2; neither NaN nor a key that occurs twice is JSON here."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a key occurs twice in one object")
        return dict(pairs)

    try:
        content = json.loads(text, object_pairs_hook=unique, parse_constant=lambda name: require(False, name))
    except (ValueError, RecursionError) as error:
        raise Refused(f"the proof is not JSON: {error}") from None
    require(type(content) is dict and content.pop("format", None) == "rosenblatt-proof", "this is no proof")
    version, reading = content.pop("version", None), content.pop("reading", {})
    require(type(version) is int and version in (1, 2), "it has another version than 1 and 2")
    require(type(reading) is dict, "its reading is no object")
    constraints = ["Feasible", "Infeasible"] + ["Undecided"] * (reading.get("as") == "constraints")
    if version == 1 and content.get("answer") in constraints and content.get("classes") == [1]:
        content["classes"] = []  # version 1 wrote one class for constraints
    p: Proof = read_value("P", content)
    if p.answer == "KernelProof":
        inside = p.proof.answer in list(CLAIMS)[:4] and not p.proof.fit_intercept
        require(inside, "a kernel proof holds an answer about separability without an intercept")
        p.proof.kernel, p = p, p.proof
    return p


def read_value(kind: str, value: Any) -> Any:
    """Return a value of its type; of rationals in lists their numerators over one denominator, and that."""
    match kind:
        case "P" if type(value) is dict and value.get("answer") in list(FIELDS):
            types = dict(field.split(":") for field in FIELDS[value["answer"]].split())
            require(value.keys() == {"answer", *types}, f"the fields are not exactly {', '.join(types)}")
            p = Proof(answer=value["answer"], kernel=None)
            for name, of in types.items():
                try:
                    setattr(p, name, field := read_value(of, value[name]))
                    within = of not in "NF" or LEAST.get(name, 0) <= field <= MOST.get(name, math.inf)
                    require(within, "out of range")
                except (ValueError, OverflowError) as error:
                    raise Refused(f"{name!r} of the proof cannot be read: {error}") from None
            return p
        case "N" if type(value) is int and value >= 0:
            return value
        case "B" | "B?" if type(value) is bool or (value is None and kind == "B?"):
            return value
        case "F" if type(value) is dict and value.keys() == {"float"} and type(value["float"]) is str:
            number = float.fromhex(value["float"])  # exact where float.hex gives the text back
            require(number.hex() == value["float"] != "nan", "a float is written as float.hex writes it")
            return Fraction(number) if math.isfinite(number) else number
        case "Q" if type(value) is str and len(value) <= 2 * DIGITS + 2 and RATIONAL.fullmatch(value):
            numerator, _, denominator = value.partition("/")  # Decimal is exact, and has no limit of digits
            return Fraction(int(Decimal(numerator)), int(Decimal(denominator or 1)))
        case "L" if type(value) is list:
            labels = [read_value("F", each) if type(each) in (dict, float) else each for each in value]
            one_kind = len({label_kind(label) for label in labels}) <= 1
            require(one_kind and labels == sorted(set(labels)), "labels are unsorted, or of two kinds")
            return labels
        case "N*" if type(value) is list:
            return [read_value("N", each) for each in value]
        case "Q*":
            vectors, D = read_value("Q**", [value])
            return vectors[0], D
        case "Q**" if type(value) is list and all(type(each) is list for each in value):
            vectors, D = [[read_value("Q", each) for each in vector] for vector in value], 1
            for rational in (rationals := [each for vector in vectors for each in vector]):
                D = math.lcm(D, rational.denominator)
                short = D.bit_length() <= 4 * DIGITS and D.bit_length() * len(rationals) <= BITS
                require(short, "its numbers have too large a common denominator")
            return [[each.numerator * (D // each.denominator) for each in vector] for vector in vectors], D
    raise Refused(f"a value of type {type(value).__name__} that is not as type {kind} demands")


def label_kind(label: Any) -> str:
    """Labels are bools, or finite numbers (1 and 1.0 are equal, 1 and True are not), or text without NUL."""
    number = type(label) in (int, Fraction) or (type(label) is float and math.isfinite(label))
    require(number or type(label) is bool or (type(label) is str and "\0" not in label), "it is no label")
    return "number" if number else type(label).__name__


# ---- The data file. What another reader could read otherwise is refused, with the way out.

EXPORT = "rosenblatt prove --export-matrix writes data as they are read here"
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = ("", "?", "NA", "N/A", "n/a", "null", "NULL", "None")


class Table(NamedTuple):
    """The data of a claim, and how they were read."""

    rows: list[dict[int, Any]]  # {column: number}, zeros left out; where they are read, {column: text}
    n_features: int
    labels: list[Any] | None  # None: constraints
    header: bool | None = None  # whether the first line of a CSV file names its columns
    target: str | None = None


def read_table(path: str, target: str | None = None, constraints: bool = False) -> Table:
    """Read numeric CSV where the name ends so (labels may be text), LIBSVM text otherwise."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        require(not {"\r", "\0"} & set(text), "a carriage return within a line, or a NUL: use newlines")
        require(target is None or not constraints, "constraints have no column of labels: omit --target")
        read = read_csv if path.endswith(".csv") else read_libsvm
        cells = read(text.split("\n"), target, constraints)
        for n, row in enumerate(cells.rows, 1):
            odd = next((cell for cell in row.values() if not is_number(cell)), None)
            require(odd is None, f"row {n}: {odd!r:.40} is no finite number")
        labels = read_labels(cells.labels or [])
        require(not constraints or set(labels) <= {1}, "a right-hand side is not 1, as in A w >= 1")
    except (ValueError, csv.Error) as error:  # also of what is no UTF-8
        raise Refused(f"{path}: {error}; {EXPORT}") from None
    rows = [{j: float(cell) for j, cell in row.items() if float(cell)} for row in cells.rows]
    return cells._replace(rows=rows, labels=None if constraints else labels)


def read_csv(lines: list[str], target: str | None, constraints: bool) -> Table:
    """Read the text of cells; a first line without a number names the columns."""
    reader = csv.reader([f"{line}\n" for line in lines], strict=True)
    cells = [[cell.strip(" \t\v\f") for cell in row] for row in reader if row]
    require(not any("\n" in cell for row in cells for cell in row), "a cell of several lines")
    first = cells[0] if cells else []
    header = not any(map(NUMBER.fullmatch, first))
    counts = first in [[str(j + start) for j in range(len(first))] for start in (0, 1)]
    clear = header or (all(map(NUMBER.fullmatch, first)) and not counts)
    require(clear, "the first line mixes numbers and text, or counts 0, 1, ...: it may be names or a row")
    names = cells.pop(0) if header and cells else [f"x{j + 1}" for j in range(len(first))]
    require(cells and len(set(names)) == len(names), "no rows, or two columns of one name: rename one")
    require(all(len(row) == len(names) for row in cells), f"a row has other than {len(names)} cells")
    labels = None
    if not constraints:
        require(len(names) > 1, "one column between commas, and no other separator is read")
        target = names[-1] if target is None else target
        require(target in names, f"no column is called {target!r}; there are {str(names)[1:-1]:.200}")
        labels = [row.pop(names.index(target)) for row in cells]
    return Table([dict(enumerate(row)) for row in cells], len(cells[0]), labels, header, target)


def read_libsvm(lines: list[str], target: str | None, constraints: bool) -> Table:
    """Read the text of lines ``label index:value …``, indices from 1; constraints have the label 1 everywhere."""
    require(target is None, "LIBSVM text has no column of labels: omit --target, or name the file .csv")
    labels, cells = [], []
    for n, line in enumerate(lines, 1):
        word, *pairs = re.findall("[^ \t]+", line.partition("#")[0]) or [""]
        require(not word or is_number(word), f"line {n}: the label {word[:40]!r} is no number: use CSV")
        parts = [pair.partition(":") for pair in pairs]
        indices = [int(index) if re.fullmatch("[0-9]{1,10}", index) else 0 for index, _, _ in parts]
        ascending = all(a < b for a, b in pairwise([0, *indices, 1 << 31]))
        require(ascending, f"line {n}: not index:value ascending from 1")
        if word:
            labels.append(word)
            cells.append({i - 1: value for i, (_, _, value) in zip(indices, parts, strict=True)})
    require(cells, "there are no rows")
    return Table(cells, max(max(row, default=-1) + 1 for row in cells), labels)


def is_number(text: str) -> bool:
    """Return whether text is a decimal number in the range of binary64."""
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def read_labels(words: list[str]) -> list[Any]:
    """Return text, or numbers where all are numbers; below 2^53, so that no reader rounds them."""
    for word in words:
        foreign = not word.isascii() and any(map(str.isdecimal, word))  # to other readers it is a number
        usual = word not in MISSING and not foreign
        require(usual, f"the label {word[:40]!r} is missing, or has digits of another script")
    if not all(map(is_number, words)):
        return words
    labels = [float(word) for word in words]
    require(max(map(abs, labels), default=0) < EXACT, "a label is 2^53 or more, which some readers round")
    return [int(label) if label.is_integer() else label for label in labels]


# ---- The command


def stated(table: Table, intercept: bool) -> str:
    """Return the caller's claim in full."""
    how, what = "libsvm, indices from 1", "constraints A w >= 1"
    if table.header is not None:
        how = f"csv, {'names in the first line' if table.header else 'no line of names'}"
    if table.target is not None:
        how += f", target {table.target!a}"
    if table.labels is not None:
        classes = sorted(set(table.labels))
        words = ", ".join(f"{each!a:.40}" for each in classes[:8])
        words += f" and {len(classes) - 8} more" if len(classes) > 8 else ""
        what = f"labels {words}, hyperplanes {'with an intercept' if intercept else 'through the origin'}"
    size = f"{len(table.rows)} rows, {table.n_features} features"
    return f"data read as {how}; {size}, {what}; every number is the binary64 nearest to its text"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a proof file against a data file; return the exit code."""
    options = argparse.ArgumentParser(description="Check a proof with the standard library alone.")
    add = options.add_argument
    add("proof", help="a proof, as rosenblatt prove -o and solve -o write it")
    add("data", help="numeric CSV where the name ends so, LIBSVM text otherwise")
    add("--target", help="the column of labels of a CSV file; the last by default")
    add("--no-intercept", action="store_true", help="claim: hyperplanes through the origin")
    add("--constraints", action="store_true", help="claim: A w >= 1, the file holds A")
    add("--expect", choices=sorted(EXPECTATIONS), help="what has to be proved")
    claim = options.parse_args(arguments)
    try:
        p = load_proof(Path(claim.proof).read_text(encoding="utf-8"))
        table = read_table(claim.data, claim.target, claim.constraints)
    except (ValueError, OSError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    print("claim:", stated(table, not claim.no_intercept))
    try:
        print("holds:", check(p, table, fit_intercept=not claim.no_intercept, expect=claim.expect))
    except Refused as reason:
        print("does not hold:", reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
