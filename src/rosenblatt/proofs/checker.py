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

Read it in this order: the claims, each with its theorem; the demands; the two readers; the command.
"""

import argparse
import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

Proof = dict[str, Any]  # the fields of one answer, each of its type
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
    k: int  # classes
    width: int  # of x̃


# ---- The claims, each with its theorem


def separable(p: Proof, A: Demands) -> None:
    """Some w has a·w > 0 for every demand: ``hyperplanes`` is one, and ``least`` = min a·w exactly.

    ``margin`` ≤ least/‖w‖; ``radius`` ≥ max ‖a‖; ``bound`` ≥ (radius/margin)², which bounds a perceptron's mistakes
    (Novikoff 1962). ``rows`` are those with a·w ≤ (1 + 2⁻²⁰)·least, at most 1000 of them.
    """
    values, unit, sqnorm = scores(p, A)
    least, rows, margin, radius, bound = p["least"], p["rows"], p["margin"], p["radius"], p["bound"]
    require(min(values.values()) == least * unit > 0, "the least score is not as stated, or not positive")
    near = {i for (i, _), value in values.items() if value << 20 <= least * unit * ((1 << 20) + 1)}
    named = len(set(rows)) == len(rows) == min(len(near), 1000) and near.issuperset(rows)
    require(named, "the rows that are named are not those on the margin")
    require(Fraction(margin) ** 2 * sqnorm <= least**2, "the margin is smaller")
    longest = max(sum(v * v for v in a.values()) for a in A.vectors.values())
    require(radius == math.inf or longest <= (Fraction(radius) * A.scale) ** 2, "a row is outside the radius")
    if bound < math.inf:
        require(radius < math.inf and margin > 0, "a bound on mistakes needs a radius and a margin")
        require((Fraction(radius) / Fraction(margin)) ** 2 <= bound, "the bound is below (radius/margin)²")


def contradiction(p: Proof, A: Demands, rows: str, rivals: str, weights: str) -> list[Name]:
    """Gordan: where λ > 0 and Σ λ a = 0, no w has a·w > 0 for all a, for then 0 = Σ λ (a·w) > 0."""
    numerators, D = p[weights]
    names, square = combine(p[rows], p.get(rivals, []), numerators, A)
    require(names and min(numerators) > 0, "the weights are not all positive, or there are none")
    require(sum(numerators) == D, "the weights do not sum to one")
    require(square == 0, "the weighted rows do not add up to zero")
    return names


def inseparable(p: Proof, A: Demands) -> None:
    """No w has a·w > 0 for every demand (``contradiction``), shown by few of them (Carathéodory).

    ``overlap``: moreover a·w ≥ 0 for all only where a·w = 0 for all. The core is a contradiction too, so such a w has
    Σ λ (a·w) = 0 with λ > 0, hence a·w = 0 on the core, and on all linear combinations of it, which all demands are.
    """
    contradiction(p, A, "culprits", "rivals", "weights")
    most = A.width * (A.k - 1 if A.k > 2 else 1) + 1
    require(len(p["culprits"]) <= most, "more culprits than Carathéodory's theorem allows")
    if p["overlap"]:
        spanned(A.vectors, p, A)
        return
    core = p["core_rows"] or p["core_rivals"] or p["core_weights"][0]
    require(p["overlap"] is None and not core, "overlap must be proved, or left open and its core with it")


def quasi_separable(p: Proof, A: Demands) -> None:
    """Inseparable, but some w has a·w ≥ 0 for all demands, > 0 for some, and = 0 for exactly those ``touched``.

    ``hyperplanes`` is one. The touched demands are linear combinations of the core, so by the argument above every such
    w touches them.
    """
    inseparable(p | {"overlap": None, "core_rows": [], "core_rivals": [], "core_weights": ([], 1)}, A)
    require(p["overlap"] is False, "rows that touch a hyperplane do not overlap")
    names, _ = combine(p["touched"], p["touched_rivals"], [0] * len(p["touched"]), A)
    values, _, _ = scores(p, A)
    require(min(values.values()) >= 0 < max(values.values()), "a row lies on the wrong side, or none beyond")
    zeros = {name for name, value in values.items() if value == 0}
    require(zeros == set(names), "the hyperplane touches other rows than the proof names")
    spanned(names, p, A)


def spanned(names: Iterable[Name], p: Proof, A: Demands) -> None:
    """The core is a contradiction, and its echelon form leaves nothing of the demands named."""
    echelon: dict[tuple[int, int], Vector] = {}

    def rest(row: Vector) -> Vector:
        for pivot, by in sorted(echelon.items()):
            if v := row.get(pivot):
                row = {at: row.get(at, 0) * by[pivot] - v * by.get(at, 0) for at in row.keys() | by.keys()}
                divisor = math.gcd(*row.values())  # keeps the integers short
                row = {at: n // divisor for at, n in row.items() if n}
        return row

    for name in contradiction(p, A, "core_rows", "core_rivals", "core_weights"):
        if left := rest(A.vectors[name]):
            echelon[min(left)] = left
    for name in names:
        require(not rest(A.vectors[name]), f"row {name[0]} is no linear combination of the core")


def feasible(p: Proof, A: Demands) -> None:
    """A w ≥ 1 in every row: ``hyperplanes`` holds w."""
    values, unit, _ = scores(p, A)
    require(min(values.values()) >= unit, "a row scores below 1")


def infeasible(p: Proof, A: Demands) -> None:
    """No w has A w ≥ 1: λ > 0, Σ λ = 1 and Aᵀλ = 0 give 0 = λ·A w ≥ 1."""
    contradiction(p, A, "rows", "rivals", "weights")


def undecided(p: Proof, A: Demands) -> None:
    """The largest margin, max over w of min a·w/‖w‖, lies in [``lower``, ``upper``].

    From below: ``hyperplanes`` has a·w ≥ ``least``, and least/‖w‖ ≥ lower. From above: for λ ≥ 0 and any unit w,
    min a·w ≤ Σ λ a·w/Σλ ≤ ‖Σ λ a‖/Σλ ≤ upper (Cauchy and Schwarz).
    """
    values, unit, sqnorm = scores(p, A)
    least, lower, upper, (weights, _) = p["least"], p["lower"], p["upper"], p["weights"]
    require(min(values.values()) >= least * unit, "a row scores below what the proof states")
    require(sqnorm > 0 and lower < math.inf, "the hyperplane is zero, or the lower bound infinite")
    attained = lower == -math.inf or Fraction(lower) * abs(Fraction(lower)) * sqnorm <= least * abs(least)
    require(attained, "the lower bound is not attained")
    _, square = combine(p["rows"], p["rivals"], weights, A)
    require(weights and min(weights) >= 0 < max(weights), "a weight is negative, or all are zero")
    bounded = upper == math.inf or square <= (Fraction(upper) * A.scale * sum(weights)) ** 2
    require(lower <= upper and bounded, "the upper bound is too small")


def hard_margin(p: Proof, A: Demands) -> None:
    """``hyperplanes`` has a·w ≥ ``least`` > 0 and margin at least ``margin``; no hyperplane has more than ``upper``.

    As in ``undecided``. Where the intercept is not penalised (two classes) the norm leaves it out, and the margin is at
    most half the distance between any weighted averages of the two classes: for a unit w, twice the margin is at most
    w·(average of one − average of the other). Weights that sum to one in each class make the always-one column cancel.
    """
    rows, rivals, (weights, D) = p["dual_rows"], p["dual_rivals"], p["dual_weights"]
    require(p["least"] > 0, "the least score is not positive")
    if p["fit_intercept"] and not p["penalise_intercept"]:
        require(A.k == 2, "an unpenalised intercept needs two classes")
        codes = [A.codes[i] for i, _ in combine(rows, rivals, weights, A)[0]]
        sums = [sum(n for n, code in zip(weights, codes, strict=True) if code == y) for y in (0, 1)]
        require(min(sums) > 0, "a class has no dual weight")
        weights = [n * sums[1 - code] for n, code in zip(weights, codes, strict=True)]  # of equal sums
    undecided(p | {"lower": p["margin"], "rows": rows, "rivals": rivals, "weights": (weights, D)}, A)


def soft_margin(p: Proof, A: Demands) -> None:
    """f(w) = ½‖w‖² + C Σ max(0, 1 − min a·w) is ≤ ``objective`` at ``hyperplanes``, and ≥ ``lower`` everywhere.

    The sum is over rows. For α ≥ 0 that spend at most C on each row,
    f(w) ≥ ½‖w‖² + Σ α (1 − a·w) ≥ Σ α − ½‖Σ α a‖² ≥ lower.
    """
    values, unit, sqnorm = scores(p, A)
    C, objective, lower, (weights, D) = Fraction(p["C"]), p["objective"], p["lower"], p["dual_weights"]
    names, square = combine(p["dual_rows"], p["dual_rivals"], weights, A)
    hinge, spent = [0] * len(A.codes), [0] * len(A.codes)
    for (i, _), value in values.items():
        hinge[i] = max(hinge[i], unit - value)
    for (i, _), weight in zip(names, weights, strict=True):
        spent[i] += weight
    primal = sqnorm / 2 + C * Fraction(sum(hinge), unit)
    dual = Fraction(sum(weights), D) - Fraction(square, 2 * (D * A.scale) ** 2)
    require(min(weights, default=0) >= 0 and max(spent) <= C * D, "a dual weight is negative, or above C")
    require(objective == math.inf or primal <= Fraction(objective), "the objective is larger")
    require(lower <= objective and lower < math.inf, "the lower bound is above the objective")
    require(lower == -math.inf or Fraction(lower) <= dual, "the lower bound is above the dual objective")


# ---- The table of claims: the check, the words of --expect that it proves, the data it is about, and a sentence

QUASI, SIDES = "inseparable quasi-separable", "hyperplane has every row strictly on the side of its class"
CLAIMS = {
    "Separable": (separable, "separable", "examples", f"a {SIDES}"),
    "Inseparable": (inseparable, "inseparable", "examples", f"no {SIDES}"),
    "QuasiSeparable": (quasi_separable, QUASI, "examples", f"no {SIDES}, but one has it there or on it"),
    "Undecided": (undecided, "undecided", "examples constraints", "the largest margin is between the bounds"),
    "Feasible": (feasible, "feasible", "constraints", "one w has A w >= 1 in every row"),
    "Infeasible": (infeasible, "infeasible", "constraints", "no w has A w >= 1 in every row"),
    "HardMargin": (hard_margin, "hard-margin separable", "examples", "positive bounds on the margin"),
    "SoftMargin": (soft_margin, "soft-margin", "examples", "the least objective is between the bounds"),
}
EXPECTATIONS = {word for _, words, _, _ in CLAIMS.values() for word in words.split()}
EXPECTATIONS |= {"overlapping", "kernel-separable", "kernel-inseparable"}


def check(p: Proof, table: "Table", *, fit_intercept: bool = True, expect: str | None = None) -> str | None:
    """Return None if the proof (of ``load_proof``) proves the caller's claim about a table, else the reason why not."""
    rows = [{j: Fraction(v) for j, v in row.items()} for row in table.rows]
    claim, kernel = p.get("proof", p), "kernel-" if "proof" in p else ""
    decide, words, _, _ = CLAIMS[claim["answer"]]
    proves = [kernel + word for word in (words + " overlapping" * (claim.get("overlap") is True)).split()]
    shape = len(rows), len(rows) if kernel else table.n_features
    try:
        require(expect is None or expect in proves, f"the proof is {claim['answer']}, not of {expect!r}")
        require(shape == (claim["n_rows"], claim["n_features"]), f"the proof is not about data of {shape}")
        if kernel:  # the proof itself says that it is about hyperplanes through the origin of its space
            require(table.labels is not None, "a kernel proof is about labelled examples")
            rows = gram(rows, p["degree"], p["coef0"])
        decide(claim, demands(claim, rows, shape[1], table.labels, fit_intercept))
    except Refused as reason:
        return str(reason)
    return None


# ---- The demands of a claim, and what is computed from them


def demands(p: Proof, rows: list[dict[int, Fraction]], d: int, labels: Any, intercept: bool) -> Demands:
    """Return the demands of the caller's claim about rows of d columns; refuse a proof of another claim."""
    about, intercept = "constraints" if labels is None else "examples", labels is not None and bool(intercept)
    same = about in CLAIMS[p["answer"]][2] and bool(p["classes"]) == (labels is not None)
    require(same, f"the proof is not about {about} {'without' if labels is None else 'with'} labels")
    which = "with an intercept" if intercept else "through the origin"
    require(p["fit_intercept"] is intercept, f"the proof is not about hyperplanes {which}")
    labels, classes = (labels, p["classes"]) if labels is not None else ([0] * len(rows), [0])
    same = len({label_kind(label) for label in (*labels, *classes)}) == 1 and sorted(set(labels)) == classes
    require(same and len(labels) == len(rows), "the labels are not those that the proof speaks of")
    codes, k = [classes.index(label) for label in labels], len(classes)
    scale = math.lcm(*(v.denominator for x in rows for v in x.values()))
    vectors: dict[Name, Vector] = {}
    for i, (x, y) in enumerate(zip(rows, codes, strict=True)):
        row = {j: int(v * scale) for j, v in x.items() if v} | ({d: scale} if intercept else {})
        if k <= 2:
            vectors[i, None] = {(0, j): v if y == k - 1 else -v for j, v in row.items()}
            continue
        for c in set(range(k)) - {y}:
            vectors[i, c] = {(y, j): v for j, v in row.items()} | {(c, j): -v for j, v in row.items()}
    return Demands(vectors, codes, scale, k, d + intercept)


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


def scores(p: Proof, A: Demands) -> tuple[dict[Name, int], int, Fraction]:
    """Return a·w as integers over one unit, that unit, and ‖w‖², without the intercept where it is not penalised."""
    w, D = p["hyperplanes"]
    fits = len(w) == (A.k if A.k > 2 else 1) and all(len(plane) == A.width for plane in w)
    require(fits, "the hyperplanes do not fit the classes or the columns")
    values = {name: sum(v * w[c][j] for (c, j), v in a.items()) for name, a in A.vectors.items()}
    penalised = A.width - (p["fit_intercept"] and not p.get("penalise_intercept", True))
    return values, D * A.scale, Fraction(sum(n * n for plane in w for n in plane[:penalised]), D * D)


def combine(rows: list[int], rivals: list[int], weights: list[int], A: Demands) -> tuple[list[Name], int]:
    """Return the demands a that a proof names, each once and each with a weight λ, and ‖Σ λ a‖² times scale²."""
    paired = len(rows) == len(weights) and len(rivals) == (len(rows) if A.k > 2 else 0)
    require(paired, "rows, rivals and weights do not pair up")
    names: list[Name] = [(i, rivals[n] if rivals else None) for n, i in enumerate(rows)]
    require(len(set(names)) == len(names), "a row is named twice")
    point: Vector = {}
    for name, weight in zip(names, weights, strict=True):
        require(name in A.vectors, f"row {name[0]} is not in the data, or has no rival number {name[1]}")
        for place, v in A.vectors[name].items():
            point[place] = point.get(place, 0) + weight * v
    return names, sum(v * v for v in point.values())


# ---- The proof file. Every answer has exactly these fields, name:type, and nothing else is read. Types: L labels,
# B true or false, B? also null, N integer from 0, F float, Q rational, P proof; with * a list, with ** a list of lists.

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
LEAST = dict.fromkeys(["margin", "radius", "bound", "upper", "objective"], 0.0)
LEAST |= {"n_rows": 1, "degree": 1, "C": 5e-324}
MOST = {"degree": 1000, "C": sys.float_info.max, "margin": sys.float_info.max}
DIGITS, BITS, EXACT = 100_000, 1 << 31, 1 << 53  # of a number; of a list; what floats hold


def load_proof(text: str) -> Proof:
    """Read a proof of format version 1 or 2."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a key occurs twice in one object")
        return dict(pairs)

    try:
        content = json.loads(text, object_pairs_hook=unique, parse_constant=lambda name: require(False, name))
    except (ValueError, RecursionError) as error:
        raise Refused(f"the proof is not JSON: {error}") from None
    require(type(content) is dict and content.pop("format", None) == "rosenblatt-proof", "this is no proof")
    version, reading = content.pop("version", None), content.pop("reading", {})
    known = type(version) is int and version in (1, 2) and type(reading) is dict
    require(known, "the proof has another version than 1 and 2, or a reading that is no object")
    constraints = ["Feasible", "Infeasible"] + ["Undecided"] * (reading.get("as") == "constraints")
    if version == 1 and content.get("answer") in constraints and content.get("classes") == [1]:
        content["classes"] = []  # version 1 wrote one class for constraints
    return read_fields(content)


def read_fields(content: dict[str, Any]) -> Proof:
    """Read the fields of an answer, each by its type and within its range."""
    answer = content.get("answer")
    require(type(answer) is str and answer in FIELDS, "the proof holds an unknown answer")
    types = dict(field.split(":") for field in FIELDS[str(answer)].split())
    require(content.keys() == {"answer", *types}, f"{answer} needs exactly these fields: {', '.join(types)}")
    proof: Proof = {"answer": answer}
    for name, kind in types.items():
        try:
            value = proof[name] = read_value(kind, content[name])
            require(name not in LEAST or LEAST[name] <= value <= MOST.get(name, math.inf), "out of range")
        except (ValueError, OverflowError) as error:
            raise Refused(f"{name!r} of the proof cannot be read: {error}") from None
    return proof


def read_value(kind: str, value: Any) -> Any:
    """Return the value of a field; of rationals in a list their integers over one denominator, and that."""
    match kind:
        case "L" if type(value) is list:
            labels = [read_value("F", each) if type(each) in (dict, float) else each for each in value]
            kinds = {label_kind(label) for label in labels}
            require(len(kinds) <= 1 and labels == sorted(set(labels)), "labels are unsorted, or of two kinds")
            return labels
        case "N*" if type(value) is list:
            return [read_value("N", each) for each in value]
        case "Q*":
            integers, D = read_value("Q**", [value])
            return integers[0], D
        case "Q**" if type(value) is list and all(type(each) is list for each in value):
            vectors, D = [[read_value("Q", each) for each in vector] for vector in value], 1
            for rational in (rationals := [each for vector in vectors for each in vector]):
                D = math.lcm(D, rational.denominator)
                short = D.bit_length() <= 4 * DIGITS and D.bit_length() * len(rationals) <= BITS
                require(short, "its numbers have too large a common denominator")
            return [[each.numerator * (D // each.denominator) for each in vector] for vector in vectors], D
        case "Q" if type(value) is str and len(value) <= 2 * DIGITS + 2:
            require(re.fullmatch("-?[0-9]+(/[1-9][0-9]*)?", value), "a rational is written p/q")
            numerator, _, denominator = value.partition("/")  # Decimal is exact, and has no limit of digits
            return Fraction(int(Decimal(numerator)), int(Decimal(denominator or 1)))
        case "F" if type(value) is dict and value.keys() == {"float"} and type(value["float"]) is str:
            number = float.fromhex(value["float"])  # exact where float.hex gives the text back
            require(number.hex() == value["float"] != "nan", "a float is written as float.hex writes it")
            return number
        case "P" if type(value) is dict and value.get("answer") in list(FIELDS)[:4]:
            proof = read_fields(value)
            require(not proof["fit_intercept"], "a kernel proof holds a proof without an intercept")
            return proof
        case "N" if type(value) is int and value >= 0:
            return value
        case "B" | "B?" if type(value) is bool or (value is None and kind == "B?"):
            return value
    raise Refused(f"a value of type {type(value).__name__} that is not as type {kind} demands")


def label_kind(label: Any) -> str:
    """Labels are bools, or finite numbers (1 and 1.0 are equal, 1 and True are not), or text without NUL."""
    number = type(label) is int or (type(label) is float and math.isfinite(label))
    require(number or type(label) is bool or (type(label) is str and "\0" not in label), "it is no label")
    return "number" if number else type(label).__name__


# ---- The data file. What another reader could read otherwise is refused, with the way out.

EXPORT = "rosenblatt prove --export-matrix writes data as they are read here"
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = ("", "?", "NA", "N/A", "n/a", "null", "NULL", "None")


class Table(NamedTuple):
    """The data of a claim, and how they were read."""

    rows: list[dict[int, Any]]  # {column: number}, zeros left out
    n_features: int
    labels: list[Any] | None  # None: constraints
    target: str | None = None
    reading: str = ""


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
    """Read numeric CSV (labels may be text) or LIBSVM text; one line is one row."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        require("\r" not in text, f"a carriage return within a line: use newlines, or {EXPORT}")
        if format == "csv" or (format is None and path.endswith(".csv")):
            return read_csv(text.split("\n"), target, constraints, header, delimiter)
        require(target is None, f"LIBSVM text has no column {target!r}: omit --target, or say --format csv")
        return read_libsvm(text.split("\n"), constraints, 0 if zero_based else 1)
    except UnicodeDecodeError:
        raise Refused(f"{path}: no text in UTF-8, but compressed or of another format; {EXPORT}") from None
    except (Refused, TypeError) as error:
        raise Refused(f"{path}: {error}") from None


def read_csv(lines: list[str], target: Any, constraints: bool, header: Any, delimiter: str) -> Table:
    """Read cells; without ``header`` said, a first line that holds no number names the columns."""
    cells = []
    for n, line in enumerate(lines, 1):
        require(delimiter != "\t" or '"' not in line, f"line {n}: a quote, which some read as text; {EXPORT}")
        try:
            row = next(csv.reader([line], delimiter=delimiter, strict=True))
        except csv.Error as error:  # most often a quoted cell that goes on in the next line
            raise Refused(f"line {n}: no row of cells by itself ({error}); {EXPORT}") from None
        cells += [[cell.strip(" \t\v\f") for cell in row]] if row else []
    numeric = {NUMBER.fullmatch(cell) is not None for row in cells[:1] for cell in row}
    clear = header is not None or len(numeric) < 2
    require(clear, "the first line mixes numbers and text: say --header or --no-header")
    header = True not in numeric if header is None else header
    names = cells.pop(0) if cells and header else [f"x{j + 1}" for row in cells[:1] for j in range(len(row))]
    require(cells, "there are no rows, or none below the names of columns")
    reading = "csv, names in the first line" if header else "csv, no line of names"
    require(len(set(names)) == len(names), "two columns have one name: rename one")
    for n, row in enumerate(cells, 1):
        require(len(row) == len(names), f"row {n} has {len(row)} cells, not {len(names)}")
    if constraints:
        require(target is None, f"constraints have no labels, such as {target!r}: leave out --target")
        return Table(numbers(map(enumerate, cells)), len(names), None, None, f"{reading}, all variables")
    require(len(names) > 1, f"one column between {delimiter!r}: checker.py has --delimiter, and {EXPORT}")
    target = names[-1] if target is None else target
    require(target in names, f"no column is called {target!r}; there are {str(names)[1:-1]:.200}")
    labels = read_labels([row.pop(names.index(target)) for row in cells])
    return Table(
        numbers(map(enumerate, cells)), len(names) - 1, labels, target, f"{reading}, target {target!r}"
    )


def read_libsvm(lines: list[str], constraints: bool, first: int) -> Table:
    """Read lines ``label index:value …``, indices ascending; constraints have the label 1 everywhere."""
    words, rows = [], []
    for n, line in enumerate(lines, 1):
        word, *pairs = re.findall("[^ \t]+", line.partition("#")[0]) or [""]
        parts = [pair.partition(":") for pair in pairs]
        columns = [int(index) - first if re.fullmatch("[0-9]{1,10}", index) else -1 for index, _, _ in parts]
        ascending = all(a < b for a, b in pairwise([-1, *columns, (1 << 31) - first]))
        order = f"line {n}: not index:value, with indices that ascend from {first} to below 2^31"
        require(ascending, f"{order}; for indices from 0 say --zero-based, else {EXPORT}")
        exact = not word or (is_number(word) and abs(float(word)) < EXACT)  # others round labels from 2^53 on
        require(exact, f"line {n}: the label {word[:40]!r} is no number below 2^53: use CSV; {EXPORT}")
        words += [word] if word else []
        rows += [[(j, value) for j, (_, _, value) in zip(columns, parts, strict=True)]] if word else []
    require(rows, "there are no rows")
    labels, width = read_labels(words), max(row[-1][0] + 1 if row else 0 for row in rows)
    require(not constraints or set(labels) == {1}, "a right-hand side is not 1, as in A w >= 1")
    return Table(numbers(rows), width, None if constraints else labels, None, f"libsvm, indices from {first}")


def numbers(rows: Iterable[Iterable[tuple[int, str]]]) -> list[dict[int, Any]]:
    """Read decimal numbers, each as the nearest binary64; zeros are left out."""
    cells = [dict(row) for row in rows]
    for n, row in enumerate(cells, 1):
        odd = next((text for text in row.values() if not is_number(text)), None)
        require(odd is None, f"row {n}: {str(odd)[:40]!r} is no finite number; {EXPORT}")
    return [{j: float(text) for j, text in row.items() if float(text)} for row in cells]


def is_number(text: str) -> bool:
    """Return whether text is a decimal number in the range of binary64."""
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def read_labels(words: list[str]) -> list[Any]:
    """Return text, or numbers where all are numbers: whole ones exactly, others as binary64, and none rounded."""
    for n, word in enumerate(words, 1):
        require(word not in MISSING and "\0" not in word, f"the label of row {n} is missing, or holds a NUL")
        foreign = not word.isascii() and any(map(str.isdecimal, word))  # to other readers it is a number
        require(not foreign, f"the label of row {n}, {word[:40]!r}, has digits of another script")
    if not all(map(is_number, words)):
        return words
    labels = [int(word) if re.fullmatch("[+-]?[0-9]{1,400}", word) else float(word) for word in words]
    rounded = max(map(abs, labels)) >= EXACT and any(type(label) is float for label in labels)
    require(not rounded, "labels of 2^53 or more beside labels with a point or an exponent may be rounded")
    return labels


# ---- The command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a proof file against a data file; return the exit code."""
    options = argparse.ArgumentParser(description="Check a proof with the standard library alone.")
    add = options.add_argument
    add("proof", help="a proof, as rosenblatt prove -o and solve -o write it")
    add("data", help="numeric CSV or LIBSVM text")
    add("--target", help="the column of labels of a CSV file; the last by default")
    add("--no-intercept", action="store_true", help="claim: hyperplanes through the origin")
    add("--constraints", action="store_true", help="claim: A w >= 1, the file holds A")
    add("--expect", choices=sorted(EXPECTATIONS), help="what has to be proved")
    add("--format", choices=["csv", "libsvm"], help="csv for names that end so, else libsvm")
    add("--header", action=argparse.BooleanOptionalAction, help="the first line names columns")
    add("--zero-based", action="store_true", help="LIBSVM indices count from 0")
    add("--delimiter", default=",", help="between the cells of a CSV file")
    claim = vars(options.parse_args(arguments))
    path, intercept, expect = claim.pop("proof"), not claim.pop("no_intercept"), claim.pop("expect")
    try:
        proof = load_proof(Path(path).read_text(encoding="utf-8"))
        table = read_table(claim.pop("data"), **claim)
    except (ValueError, OSError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a verdict is printed whatever the labels are
    print("claim:", stated(table, intercept))
    reason = check(proof, table, fit_intercept=intercept, expect=expect)
    print(f"{path} does not hold: {reason}" if reason else f"{path} holds: {proved(proof)}")
    return 1 if reason else 0


def stated(table: Table, intercept: bool) -> str:
    """Return the caller's claim in full."""
    what = "constraints A w >= 1"
    if table.labels is not None:
        words = ", ".join(f"{each!r:.40}" for each in sorted(set(table.labels))[:8])
        what = f"labels {words}, hyperplanes {'with an intercept' if intercept else 'through the origin'}"
    size = f"{len(table.rows)} rows, {table.n_features} features"
    return f"data read as {table.reading}; {size}, {what}; every number is the binary64 nearest to its text"


def proved(p: Proof) -> str:
    """Return what a proof that holds says, in a sentence."""
    if p["answer"] == "KernelProof":
        return f"in the space of the kernel (a·b + {p['coef0']})^{p['degree']}: {proved(p['proof'])}"
    origin = "" if p["fit_intercept"] or not p["classes"] else " (of hyperplanes through the origin)"
    return f"{p['answer']}{origin}: {CLAIMS[p['answer']][-1]}"


if __name__ == "__main__":
    sys.exit(main())
