"""Proofs with anything in them changed, on claims that may be others: nothing false is accepted, nothing true refused.

Every number is one trial: a problem, a proof of it as JSON text, and changes to the proof, to the claim of the caller,
or to neither. The verdict of the fast verifier and of the standalone checker must be that of ``proof_oracle``: the
proof holds, it does not, or it is malformed (a ValueError, and no other exception).
"""

import atexit
import contextlib
import io
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from tests.cli.commands import run
from tests.fuzz import proof_oracle as oracle
from tests.fuzz.proof_oracle import Claim
from tests.proofs.mutations import small_table

from rosenblatt.cli import reading as read
from rosenblatt.cli.commands.solve import read_constraints
from rosenblatt.data import ReadOptions
from rosenblatt.proofs import (
    checker,
    first_failure,
    from_json,
    kernel_separability,
    separability,
    solve_cone,
)
from rosenblatt.proofs import (
    hard_margin as find_hard_margin,
)
from rosenblatt.proofs import (
    soft_margin as find_soft_margin,
)

FULL = 150_000


class Problem(NamedTuple):
    """Data as a caller has them."""

    name: str
    rows: list[list[Any]]  # int, float or Fraction
    labels: list[Any] | None  # None: constraints
    intercept: bool = True
    form: str = "list"  # how the rows are passed, of FORMS
    width: int = 2

    def claim(self) -> Claim:
        rows = [[Fraction(value) for value in row] for row in self.rows]
        return Claim(rows, self.labels, self.intercept and self.labels is not None, self.width)


def problem(
    name: str, rows: list[list[Any]], labels: Any, intercept: bool = True, form: str = "list"
) -> Problem:
    return Problem(name, rows, None if labels is None else list(labels), intercept, form, len(rows[0]))


XOR = [[0, 0], [0, 1], [1, 0], [1, 1]]
CORNERS = [[0, 0], [4, 0], [0, 4], [0.5, 0.25], [4, 1], [1, 5]]
BIG = 2**53


def problems() -> Iterator[Problem]:
    """Yield small problems of every kind of data, labels and answer."""
    yield problem("xor", XOR, [0, 1, 1, 0])
    yield problem("xor of words", XOR, ["no", "yes", "yes", "no"], form="float64")
    yield problem("xor, sparse", XOR, [-1, 1, 1, -1], form="csr")
    yield problem("xor through the origin", [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0], False)
    yield problem("and", XOR, [0, 0, 0, 1], form="int64")
    yield problem("and of truth values", XOR, [False, False, False, True])
    yield problem("or, sparse", XOR, ["a", "b", "b", "b"], form="csr float32")
    yield problem("through the origin", [[1, 2], [2, 1], [-1, -3], [-3, 0.5]], [1.5, 1.5, -0.5, -0.5], False)
    yield problem("a row of zeros through the origin", [[1, 2], [0, 0], [-1, -3]], [1, 1, 0], False)
    yield problem("decimals", [[0.1, 0.7], [0.3, 0.2], [0.9, 0.4], [0.6, 0.6]], ["x", "x", "y", "y"])
    yield problem("float32", [[0.5, 1.25], [3, 0.125], [7, 8.5]], [0, 1, 1], form="float32")
    yield problem("three classes", CORNERS, [0, 1, 2, 0, 1, 2], form="float64")
    yield problem("three classes of words", CORNERS, ["a", "b", "c", "a", "b", "c"], False, "csr")
    yield problem("three classes that contradict", [*CORNERS, CORNERS[1]], [0, 1, 2, 0, 1, 2, 2])
    yield problem("three classes that touch", [[0], [1], [1], [2], [3]], ["a", "a", "b", "b", "c"])
    yield problem("four classes", [[1, 0], [0, 1], [-1, 0], [0, -1]], [3, 1, 2, 0], False)
    yield problem("touching", [[0], [1], [1], [2]], [0, 0, 1, 1])
    yield problem(
        "touching in the plane", [[0, 0], [1, 0], [2, 0], [0, 1], [3, -1]], [0, 1, 0, 1, 0], form="csr"
    )
    yield problem("one row", [[3, -2]], ["only"])
    yield problem("one row of zeros through the origin", [[0, 0]], [7], False)
    yield problem("one class", [[1, 2], [3, 4], [5, 6]], [1, 1, 1])
    yield problem("one class through the origin", [[1, 2], [3, 4], [-1, -2]], ["a", "a", "a"], False)
    yield problem("the same rows again", [[1, 1], [1, 1], [0, 0], [0, 0]], [1, 1, 0, 0])
    yield problem("the same row in two classes", [[1, 1], [1, 1], [0, 0]], ["s", "t", "s"])
    yield problem(
        "subnormal", [[5e-324, 0.0], [1e-320, 5e-324], [-5e-324, 1e-320]], [1, 1, 0], False, "float64"
    )
    yield problem("subnormal that contradicts", [[5e-324], [1e-320], [0.0]], [1, 0, 0], form="float64")
    yield problem("huge", [[1e308, -1e308], [-1e308, 1.7e308], [1.2e308, 0.0]], [1, 0, 1], form="float64")
    yield problem("huge that contradicts", [[1e308], [-1e308], [5e307]], [1, 1, 0], form="csr")
    yield problem(
        "huge and tiny", [[1e300, 1e-300], [-1e300, 1e-300], [1e-300, 1.0]], [1, 1, 0], form="float64"
    )
    yield problem("one ulp apart", [[1.0, 1.0], [1.0, math.nextafter(1.0, 2.0)]], [0, 1], form="float64")
    yield problem("labels past 2**53", XOR, [BIG, BIG + 1, BIG + 1, BIG + 1])
    yield problem("labels that differ in digits", XOR, ["1", "01", "01", "01"])
    yield problem("labels with accents", XOR, ["e\u0301", "\u00e9", "\u00e9", "e\u0301"])
    yield problem("integers past 2**53", [[BIG + 1, 1], [BIG, 1], [BIG + 3, 2]], [1, 0, 1], form="int64")
    yield problem(
        "fractions", [[Fraction(1, 3), 1], [Fraction(2, 3), 1], [Fraction(1, 7), 2]], [0, 1, 0], form="object"
    )
    yield problem("integers as objects", [[10**20, 1], [10**20 + 1, 1], [3, 2]], [0, 1, 0], form="object")
    yield problem(
        "many on the margin", [[i % 2] for i in range(30)], [i % 2 for i in range(30)], form="float64"
    )
    edge = 1 + 2.0**-20  # rows up to here are on the margin of a row at 1
    close = [[1.0], [edge], [math.nextafter(edge, 2.0)], [math.nextafter(edge, 1.0)], [1 + 2.0**-21], [1.5]]
    yield problem("about the margin", close, ["a"] * 6, False, "float64")
    yield problem("feasible", [[1, 0], [1, 1], [0.5, -0.25]], None, False)
    yield problem("feasible, sparse", [[1, 0, 0], [0, 2, 0], [1, 1, -1]], None, False, "csr")
    yield problem("infeasible", [[1, 0], [-1, 1], [0, -2]], None, False, "float64")
    yield problem("infeasible, one column", [[1], [-2]], None, False)
    rng = random.Random(17)
    points = [[rng.randint(-3, 3), rng.randint(-1, 1)] for _ in range(130)]
    touching = [
        x > 0 if x or y else rng.random() < 0.5 for x, y in points
    ]  # exact sums of many doubtful rows
    yield problem("many that touch", points, list(map(int, touching)), form="float64")
    line = [[x, 2 * x] for x, _ in points[:110]]
    yield problem("many on a line", line, ["b" if x > 0 else "a" for x, _ in line], False, "csr")
    wide = [
        [rng.randint(-2, 2) for _ in range(75)] for _ in range(3)
    ]  # a null space of more than 64 dimensions
    yield problem("wide", [*wide, wide[0]], [0, 1, 1, 1], form="csr")
    yield problem(
        "wide that overlaps", [wide[0], wide[0], [-2 * x for x in wide[0]]], [0, 1, 1], False, "float64"
    )
    for n in range(12):
        rows = [[rng.randint(-2, 2) for _ in range(1 + n % 3)] for _ in range(rng.randint(2, 7))]
        labels: list[Any] | None = [rng.randint(0, 1 + n % 2) for _ in rows]
        form = rng.choice(["list", "float64", "float32", "int64", "csr", "object"])
        yield problem(f"lattice {n}", rows, labels if n % 4 else None, bool(n % 4 and n % 5), form)


# Evidence, from the oracle alone


def root_down(value: Fraction) -> float:
    """Return a float whose square is at most ``value``, and nearly as large."""
    shift = max(0, value.denominator.bit_length() - value.numerator.bit_length()) // 2 + 64
    scaled = Fraction(math.isqrt(int(value * 4**shift)), 2**shift)
    return down(scaled)


def down(value: Fraction) -> float:
    """Return the largest float not above ``value``."""
    try:
        guess = float(value)
    except OverflowError:
        return math.nextafter(math.inf, 0) if value > 0 else -math.inf
    return guess if Fraction(guess) <= value else math.nextafter(guess, -math.inf)


def up(value: Fraction) -> float:
    return -down(-value)


def root_up(value: Fraction) -> float:
    guess = root_down(value)
    return guess if guess == math.inf or Fraction(guess) ** 2 == value else math.nextafter(guess, math.inf)


def classes_of(claim: Claim) -> list[Any]:
    classes = oracle.classes_of(claim)
    assert classes is not None
    return classes


def about(claim: Claim, answer: str) -> dict[str, Any]:
    return {
        "answer": answer,
        "classes": classes_of(claim),
        "fit_intercept": claim.intercept,
        "n_rows": len(claim.rows),
        "n_features": claim.width,
    }


def demands_of(claim: Claim) -> oracle.Demands:
    return oracle.demands_of(claim, classes_of(claim))


def planes(claim: Claim, w: list[Fraction]) -> list[list[Fraction]]:
    width = claim.width + claim.intercept
    return [w[at : at + width] for at in range(0, len(w), width)] or [[]]


def separable(claim: Claim, w: list[Fraction]) -> dict[str, Any]:
    """State that ``w`` separates, which must be so."""
    scores = {name: oracle.dot(vector, w) for name, vector in demands_of(claim).items()}
    least = min(scores.values())
    assert least > 0
    largest = max(oracle.dot(x, x) for x in (oracle.extended(claim, i) for i in range(len(claim.rows))))
    margin = root_down(least**2 / oracle.dot(w, w))
    radius = root_up(largest * (2 if len(classes_of(claim)) > 2 else 1))
    bound = math.inf
    if margin > 0 and radius < math.inf:
        bound = up((Fraction(radius) / Fraction(margin)) ** 2)
    near = sorted({row for (row, _), score in scores.items() if score <= least * oracle.ON_MARGIN})
    return about(claim, "Separable") | {
        "hyperplanes": planes(claim, w),
        "margin": margin,
        "radius": radius,
        "bound": bound,
        "rows": near[: oracle.MOST_ROWS],
        "least": least,
    }


def named(names: list[oracle.Demand]) -> tuple[list[int], list[int]]:
    return [row for row, _ in names], [rival for _, rival in names if rival is not None]


def combination(case: "Case", touched: list[oracle.Demand]) -> dict[oracle.Demand, Fraction]:
    """Return positive weights that sum to one over a contradiction whose support holds the demands named."""
    total: dict[oracle.Demand, Fraction] = {}
    for start in touched:
        if start not in total:
            for name, weight in case.contradictions[start].items():
                total[name] = total.get(name, Fraction(0)) + weight
    whole = sum(total.values())
    return {name: weight / whole for name, weight in sorted(total.items(), key=str)}


def inseparable(case: "Case", start: oracle.Demand, core: list[oracle.Demand] | None) -> dict[str, Any]:
    """State a contradiction through one demand, and where a core is named, that all demands overlap."""
    culprits = combination(case, [start])
    rows, rivals = named(list(culprits))
    span = combination(case, core) if core is not None else {}
    core_rows, core_rivals = named(list(span))
    return about(case.claim, "Inseparable") | {
        "culprits": rows,
        "rivals": rivals,
        "weights": list(culprits.values()),
        "overlap": None if core is None else True,
        "core_rows": core_rows,
        "core_rivals": core_rivals,
        "core_weights": list(span.values()),
    }


def quasi_separable(case: "Case", touched: list[oracle.Demand], w: list[Fraction]) -> dict[str, Any]:
    rows, rivals = named(touched)
    return inseparable(case, touched[0], touched) | {
        "answer": "QuasiSeparable",
        "overlap": False,
        "hyperplanes": planes(case.claim, w),
        "touched": rows,
        "touched_rivals": rivals,
    }


def undecided(
    claim: Claim, w: list[Fraction], weights: dict[oracle.Demand, Fraction], slack: Fraction
) -> dict[str, Any]:
    """State bounds on the largest margin that any ``w ≠ 0`` and any ``λ ≥ 0`` prove."""
    demands = demands_of(claim)
    least = min(oracle.dot(vector, w) for vector in demands.values()) - slack
    reach = oracle.signed_square(least) / oracle.dot(w, w)
    point = oracle.combined([demands[name] for name in weights], list(weights.values()))
    rows, rivals = named(list(weights))
    return about(claim, "Undecided") | {
        "hyperplanes": planes(claim, w),
        "lower": root_down(reach) if reach >= 0 else -root_up(-reach),
        "upper": root_up(oracle.dot(point, point) / sum(weights.values()) ** 2),
        "least": least,
        "rows": rows,
        "rivals": rivals,
        "weights": list(weights.values()),
    }


def hard_margin(
    claim: Claim, w: list[Fraction], weights: dict[oracle.Demand, Fraction], slack: Fraction, penalised: bool
) -> dict[str, Any]:
    """State that ``w`` separates by a margin, and what no margin exceeds."""
    demands, width = demands_of(claim), claim.width + claim.intercept
    least = min(oracle.dot(vector, w) for vector in demands.values()) / (1 + slack)
    counted = [
        value for at, value in enumerate(w) if penalised or not claim.intercept or at % width < width - 1
    ]
    point = oracle.combined([demands[name] for name in weights], list(weights.values()))
    rows, rivals = named(list(weights))
    norm = oracle.dot(counted, counted)
    return about(claim, "HardMargin") | {
        "hyperplanes": planes(claim, w),
        "penalise_intercept": penalised,
        "least": least,
        "margin": root_down(least**2 / norm) if norm else 1e300,
        "upper": root_up(oracle.dot(point, point) / sum(weights.values()) ** 2),
        "dual_rows": rows,
        "dual_rivals": rivals,
        "dual_weights": list(weights.values()),
    }


def soft_margin(
    claim: Claim, w: list[Fraction], C: float, alphas: dict[oracle.Demand, Fraction]
) -> dict[str, Any]:
    """State bounds on the soft-margin objective that any ``w`` and any ``0 ≤ α ≤ C`` prove."""
    demands = demands_of(claim)
    hinge = Fraction(0)
    for i in range(len(claim.rows)):
        scores = [oracle.dot(vector, w) for (row, _), vector in demands.items() if row == i]
        hinge += max(Fraction(0), 1 - min(scores))
    point = oracle.combined([demands[name] for name in alphas], list(alphas.values())) if alphas else []
    rows, rivals = named(list(alphas))
    return about(claim, "SoftMargin") | {
        "hyperplanes": planes(claim, w),
        "C": C,
        "objective": up(oracle.dot(w, w) / 2 + Fraction(C) * hinge),
        "lower": down(sum(alphas.values()) - oracle.dot(point, point) / 2),
        "n_iter": 3,
        "dual_rows": rows,
        "dual_rivals": rivals,
        "dual_weights": list(alphas.values()),
    }


def feasible(claim: Claim, w: list[Fraction]) -> dict[str, Any]:
    least = min(oracle.dot(vector, w) for vector in demands_of(claim).values())
    return about(claim, "Feasible") | {"hyperplanes": [[value / min(least, 1) for value in w]]}


def infeasible(case: "Case", start: oracle.Demand) -> dict[str, Any]:
    weights = combination(case, [start])
    return about(case.claim, "Infeasible") | {
        "rows": [row for row, _ in weights],
        "weights": list(weights.values()),
    }


class Case(NamedTuple):
    """A problem with what is true of it."""

    problem: Problem
    claim: Claim
    demands: oracle.Demands
    truth: oracle.Truth
    contradictions: dict[oracle.Demand, dict[oracle.Demand, Fraction]]  # one through every touched demand
    w: (
        list[Fraction] | None
    )  # zero on the touched demands, positive on all others; None where all are touched
    kernel: tuple[int, int] | None = None  # degree and coef0, where the claim is about the Gram matrix


def case_of(problem: Problem, claim: Claim, kernel: tuple[int, int] | None = None) -> Case:
    demands = demands_of(claim)
    truth = oracle.truth_of(demands)
    names, vectors = list(demands), list(demands.values())
    contradictions = {}
    for name in truth.touched:
        weights = oracle.contradiction(vectors, names.index(name))
        assert weights is not None
        contradictions[name] = {names[at]: weight for at, weight in weights.items()}
    w = None if truth.overlap else weak_separator(demands, truth.touched)
    return Case(problem, claim, demands, truth, contradictions, w, kernel)


def weak_separator(demands: oracle.Demands, touched: frozenset[oracle.Demand]) -> list[Fraction]:
    """Return a ``w`` that is zero on the touched demands and positive on all others; Tucker's theorem has one.

    Few demands decide it: those that the last ``w`` got wrong are added until none is wrong.
    """
    few = dict(list(demands.items())[:3])
    while True:
        w = oracle.weak_separator(few, touched)
        assert w is not None
        scores = {name: oracle.dot(vector, w) for name, vector in demands.items()}
        wrong = [name for name, score in scores.items() if (score if name in touched else score <= 0)]
        if not wrong:
            return w
        few |= {name: demands[name] for name in wrong[:3]}


@cache
def cases() -> list[Case]:
    out = [case_of(each, each.claim()) for each in problems()]
    for case in out[::3]:
        whole = all(value.denominator == 1 and abs(value) < 100 for row in case.claim.rows for value in row)
        if whole and case.claim.labels is not None and len(case.claim.rows) < 6:
            for degree, coef0 in ((1, 0), (2, 1)):
                claim = oracle.gram_claim({"degree": degree, "coef0": coef0}, case.claim)
                out.append(case_of(case.problem._replace(intercept=False), claim, (degree, coef0)))
    return out


def evidence(case: Case, rng: random.Random) -> dict[str, Any]:
    """Return a true statement with its evidence; another one for another ``rng``."""
    statement = _evidence(case, rng)
    if case.kernel is None:
        return statement
    return {"answer": "KernelProof", "degree": case.kernel[0], "coef0": case.kernel[1], "proof": statement}


def _evidence(case: Case, rng: random.Random) -> dict[str, Any]:
    claim, truth = case.claim, case.truth
    kinds = ["Undecided"]
    if claim.labels is None:
        kinds += ["Feasible" if truth.separable else "Infeasible"] * 3
    else:
        kinds += ["Separable" if truth.separable else "Inseparable"] * 3
        kinds += ["QuasiSeparable"] * 4 * bool(truth.touched and not truth.overlap)
        if case.kernel is None:
            kinds += ["SoftMargin"] + ["HardMargin"] * 2 * truth.separable
    kind = rng.choice(kinds)
    touched = sorted(truth.touched, key=str)
    if kind == "Infeasible":
        return infeasible(case, rng.choice(touched))
    if kind == "Inseparable":
        core = touched if truth.overlap and rng.random() < 0.7 else None
        return inseparable(case, rng.choice(touched), core)
    w = another(case, rng)
    if kind == "QuasiSeparable":
        return quasi_separable(case, touched, w)
    if kind == "Separable":
        return separable(claim, w)
    if kind == "Feasible":
        return feasible(claim, w)
    names = sorted(case.demands, key=str)
    names = rng.sample(names, rng.randint(1, min(len(names), 5)))
    weights = {name: Fraction(rng.randint(0, 9), rng.randint(1, 9)) for name in names}
    if kind == "SoftMargin":
        C = rng.choice([1.0, 0.5, 10.0, 0.1])
        share = Fraction(C) / (9 * len(weights))
        return soft_margin(claim, w, C, {name: weight * share for name, weight in weights.items()})
    weights[names[0]] += 1
    slack = Fraction(rng.choice([0, 0, 1, Fraction(1, 7)]))
    if kind == "HardMargin":
        penalised = rng.random() < 0.6 or len(classes_of(claim)) != 2 or not claim.intercept
        return hard_margin(claim, w, weights if penalised else _balanced(case, weights), slack, penalised)
    if not any(w):
        w = [*(Fraction(rng.randint(-3, 3)) for _ in w[1:]), Fraction(1)]
    return undecided(claim, w, weights, slack)


def forged(case: Case, rng: random.Random) -> dict[str, Any]:
    """Return a well-formed statement of any kind with evidence that is nearly right, and mostly is not."""
    claim = case.claim
    k, width = len(classes_of(claim)), claim.width + claim.intercept
    true = _evidence(case, rng)
    if case.kernel is None and rng.random() < 0.5:
        true = _evidence(rng.choice(cases()), rng) | about(claim, true["answer"])
    names = sorted(case.demands, key=str)
    chosen = rng.sample(names, rng.randint(1, min(len(names), width * max(k - 1, 1) + 1)))
    shares = [Fraction(rng.randint(1, 4)) for _ in chosen]
    shares = [share / sum(shares) for share in shares]
    w = [Fraction(rng.randint(-2, 2)) for _ in range(width * (k if k > 2 else 1))]
    if any(w) and rng.random() < 0.3:
        w = [a + b for a, b in zip(w, another(case, rng), strict=True)]
    scores = {name: oracle.dot(vector, w) for name, vector in case.demands.items()}
    least = min(scores.values())
    zero = [name for name in names if not scores[name]]
    kind = rng.choice(list(oracle.INNER if case.kernel else oracle.KINDS)[: None if case.kernel else -1])
    statement = about(claim, kind)
    rows, rivals = named(chosen)
    if kind in ("Inseparable", "QuasiSeparable"):
        overlap = rng.choice([None, True, False])
        statement |= {"culprits": rows, "rivals": rivals, "weights": shares, "overlap": overlap}
        statement |= {"core_rows": rows, "core_rivals": rivals, "core_weights": shares}
        touched, touched_rivals = named(zero)
        if kind == "QuasiSeparable":
            statement |= {
                "hyperplanes": planes(claim, w),
                "touched": touched,
                "touched_rivals": touched_rivals,
            }
        if case.truth.touched and rng.random() < 0.7:
            right = quasi_separable(case, sorted(case.truth.touched, key=str), w)
            keys = rng.sample([key for key in right if key in statement and key != "answer"], 4)
            statement |= {key: right[key] for key in keys}
    elif kind == "Infeasible":
        statement |= {"rows": rows, "weights": shares}
    else:
        statement["hyperplanes"] = planes(claim, w)
        norm = max(oracle.dot(w, w), Fraction(1))
        point = oracle.combined([case.demands[name] for name in chosen], shares)
        size = root_down(least**2 / norm)
        bounds = {"lower": size if least > 0 else -size, "upper": root_up(oracle.dot(point, point))}
        if kind == "Separable":
            near = sorted({row for (row, _), score in scores.items() if score <= least * oracle.ON_MARGIN})
            stated = {"margin": size, "radius": 1e300, "bound": math.inf, "rows": near, "least": abs(least)}
            statement |= stated
        elif kind == "Undecided":
            statement |= bounds | {"least": least, "rows": rows, "rivals": rivals, "weights": shares}
        elif kind in ("HardMargin", "SoftMargin"):
            statement |= {"dual_rows": rows, "dual_rivals": rivals, "dual_weights": shares}
            if kind == "HardMargin":
                statement |= {"penalise_intercept": rng.random() < 0.5, "least": abs(least), "margin": size}
                statement |= {"upper": bounds["upper"]}
            else:
                right = soft_margin(claim, w, rng.choice([1.0, 0.25]), dict(zip(chosen, shares, strict=True)))
                statement |= {key: right[key] for key in ("C", "objective", "lower", "n_iter")}
    for key in statement:  # some of it from true evidence
        if key in true and key != "answer" and rng.random() < 0.15:
            statement[key] = true[key]
    if case.kernel is None:
        return statement
    return {"answer": "KernelProof", "degree": case.kernel[0], "coef0": case.kernel[1], "proof": statement}


def _balanced(case: Case, weights: dict[oracle.Demand, Fraction]) -> dict[oracle.Demand, Fraction]:
    """Return positive weights with the same sum in both classes: ``Σ λ y = 0``."""
    sides = {side: [name for name, a in case.demands.items() if a[-1] == side] for side in (-1, 1)}
    out = {}
    for names in sides.values():
        chosen = {name: weights.get(name, Fraction(0)) for name in names}
        chosen[names[0]] += 1
        total = sum(chosen.values())
        out |= {name: weight / total for name, weight in chosen.items() if weight}
    return out


def another(case: Case, rng: random.Random) -> list[Fraction]:
    """Return a weak separator as good as the case's own: scaled, moved, or with one vector added to every class."""
    if case.w is None:
        return [Fraction(0)] * len(next(iter(case.demands.values())))
    scale = rng.choice(
        [1, 1, Fraction(1, 3), 2, 10**20, Fraction(1, 2**70), Fraction(rng.getrandbits(40) + 1, 977)]
    )
    w = [value * scale for value in case.w]
    k = len(classes_of(case.claim))
    if k > 2 and rng.random() < 0.5:
        shift = [Fraction(rng.randint(-5, 5)) * scale for _ in range(len(w) // k)]
        w = [value + shift[at % len(shift)] for at, value in enumerate(w)]
    for size in (Fraction(1, 10), Fraction(1, 10**4)):
        moved = [value * (1 + size * rng.randint(-9, 9)) for value in w]
        signs = {name: oracle.dot(vector, moved) for name, vector in case.demands.items()}
        if all((score == 0) if name in case.truth.touched else score > 0 for name, score in signs.items()):
            return moved
    return w


# Changes to a proof


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a tree of lists and dicts."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def value_at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def replace_at(tree: Any, path: tuple[Any, ...], value: Any) -> None:
    value_at(tree, path[:-1])[path[-1]] = value


NONSENSE: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        10**30,
        -(2**63),
        2**64,
        0.0,
        -0.0,
        1.0,
        0.5,
        1e308,
        math.nan,
        math.inf,
    ),
    *(
        "",
        "0",
        "1",
        "-1",
        "1/1",
        "2/2",
        "1/2",
        "-0",
        "0/1",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "01",
        "1/0",
        "1/-2",
        "-1/-2",
        "1/02",
    ),
    *(
        "1_000",
        "\uff11",
        "\u0661/2",
        "0x10",
        "1e5",
        "1.5",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "true",
        "a",
        "\x00",
        "1\x00",
    ),
    *("9" * 5000, "1/" + "9" * 5000, "-" + "9" * 5000, "\ud800", "1/2/3", "/", "1/", "/2", "--1", "1//2"),
    *(
        [],
        [[]],
        {},
        [0],
        [1, 2],
        ["1"],
        [["1"]],
        [None],
        {"float": "0x0p+0"},
        {"float": "nan"},
        {"float": "inf"},
    ),
    *(
        {"float": "-inf"},
        {"float": "0x1p+99999"},
        {"float": "0x1p-99999"},
        {"float": "0x1.8p+1"},
        {"float": "1.5"},
    ),
    *(
        {"float": " 0x1p+0 "},
        {"float": 1.0},
        {"float": None},
        {"float": []},
        {"float": "0X1P+0"},
        {"float": "1_0"},
    ),
    *({"float": "0x1p+0", "int": 1}, {"hex": "0x1p+0"}, {"float": {"float": "0x1p+0"}}, {"float": "-0x0p+0"}),
    *({"float": "0x" + "f" * 5000}, {"float": "0x.8p1"}, {"float": "\uff11"}, {"1": 1}, {"__class__": "x"}),
]
KINDS = [
    *(
        "Separable",
        "Inseparable",
        "QuasiSeparable",
        "Undecided",
        "Feasible",
        "Infeasible",
        "HardMargin",
        "SoftMargin",
    ),
    *("KernelProof", "Proof", "WithHyperplane", "separable", "Separable ", "", "object", "__class__"),
]


def change(content: dict[str, Any], rng: random.Random, donor: dict[str, Any]) -> None:
    """Change one value somewhere, in place."""
    paths = list(places(content))
    evidence_paths = [path for path in paths if path[0] not in ("format", "version", "answer")]
    path = rng.choice(evidence_paths if evidence_paths and rng.random() < 0.95 else paths)
    value = value_at(content, path)
    match rng.choice("nnmmmmmmmmmrrrddsska"):
        case "n":
            replace_at(content, path, rng.choice(NONSENSE))
        case "m":
            replace_at(content, path, near(value, rng))
        case "r":
            _reshape(content, path, rng)
        case "d":  # of another proof, at the same place where there is one
            try:
                replace_at(content, path, json_copy(value_at(donor, path)))
            except (KeyError, IndexError, TypeError):
                replace_at(content, path, json_copy(rng.choice(list(donor.values()))))
        case "s":
            other = rng.choice(list(places(content)))
            replace_at(content, path, json_copy(value_at(content, other)))
        case "k":
            key = rng.choice(list(content))
            match rng.randrange(4):
                case 0:
                    del content[key]
                case 1:
                    content[key + rng.choice([" ", "s", "\x00"])] = content.pop(key)
                case 2:
                    content[rng.choice(["extra", "", "weights ", "reading", "penalise_intercept"])] = (
                        rng.choice(NONSENSE)
                    )
                case 3:
                    content[key] = json_copy(rng.choice(list(content.values())))
        case "a":
            content["answer"] = rng.choice(KINDS)


def json_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: json_copy(each) for key, each in value.items()}
    return [json_copy(each) for each in value] if isinstance(value, list) else value


def near(value: Any, rng: random.Random) -> Any:
    """Return a value of the same kind that is close to this one, or written in another way."""
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, int(bool(value)), "true", float(bool(value))])
    if isinstance(value, int):
        if rng.random() < 0.8:
            return rng.choice([value + 1, max(value - 1, 0), value * 2, 0, 1])
        return rng.choice(
            [-value, value + 2**32, value + 2**64, value % 2**53 + 0.0, str(value), bool(value), [value]]
        )
    if isinstance(value, float):
        return rng.choice(
            [math.nextafter(value, math.inf), math.nextafter(value, -math.inf), -value, value * 2]
        )
    if isinstance(value, str):
        return _near_text(value, rng)
    if isinstance(value, list):
        return [near(each, rng) for each in value] if rng.random() < 0.3 else value[::-1]
    if set(value) == {"float"} and isinstance(value["float"], str):
        try:
            number = float.fromhex(value["float"])
        except (ValueError, OverflowError):
            return rng.choice(NONSENSE)
        moved = [
            math.nextafter(number, math.inf),
            math.nextafter(number, -math.inf),
            -number,
            number * 2,
            number / 2,
        ]
        moved += [number * (1 + 1e-9), number * (1 - 1e-9), 0.0, math.inf]
        if rng.random() < 0.8:
            return {"float": rng.choice(moved).hex()}
        return rng.choice(
            [{"float": repr(number)}, number, {"float": value["float"].upper()}, {"float": number}]
        )
    return dict(reversed(value.items()))


def _near_text(text: str, rng: random.Random) -> Any:
    try:
        number = oracle.rational(text)
    except ValueError:
        return rng.choice(
            [text + "\x00", text + " ", text.upper(), text[:-1], [text], text[::-1], "\ufeff" + text]
        )
    p, q = number.numerator, number.denominator
    if len(text) > 1000:
        return text[: rng.randrange(1000)]
    factor = rng.choice([2, 3, 10**9])
    numbers = [(p + 1, q), (p - 1, q), (p, q + 1), (p, max(q - 1, 1)), (-p, q), (q, abs(p) or 1), (0, 1)]
    numbers += [(p * factor + 1, q * factor), (p * factor - 1, q * factor), (p * 2**60 + 1, q * 2**60)]
    if rng.random() < 0.9:
        moved = Fraction(*rng.choice(numbers))
        return written(moved)
    ways = [
        f"{p * factor}/{q * factor}",
        f"{-p}/{-q}",
        f"{p}/{q}",
        f"+{p}",
        f"{p}/{q}.0",
        f" {p}/{q}",
        f"{p}/ {q}",
    ]
    return rng.choice(
        [*ways, f"0{p}/{q}", f"{p}", p, down(number), [text], {"float": down(number).hex()}, f"{p}/0{q}"]
    )


def _reshape(content: dict[str, Any], path: tuple[Any, ...], rng: random.Random) -> None:
    """Drop, repeat, swap or wrap entries of the list at or above a place."""
    while path and not isinstance(value_at(content, path), list):
        path = path[:-1]
    if not path:
        content["n_rows"] = rng.choice(NONSENSE)
        return
    items = value_at(content, path)
    at = rng.randrange(len(items) + 1)
    match rng.randrange(8):
        case 0:
            del items[at : at + 1]
        case 1:
            items[at:at] = json_copy(items[at : at + 1])
        case 2:
            rng.shuffle(items)
        case 3:
            items.append(json_copy(rng.choice([*items, 0, "1", "0", rng.choice(NONSENSE)])))
        case 4:
            items[:] = [json_copy(items)]
        case 5:
            items.clear()
        case 6:
            replace_at(content, path, {str(n): each for n, each in enumerate(items)})
        case 7:
            items *= 2


def written(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def _spoiled(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return (
        text[:at]
        + rng.choice(
            ["", "0", "1", "9", '"', ",", "[", "]", "{", "}", "/", "-", ".", "e", "\\", "\\ud800", "\x00"]
        )
        + text[at + rng.randrange(3) :]
    )


TEXTS: list[Callable[[str, random.Random], str]] = [
    lambda text, rng: text[: rng.randrange(len(text))],
    lambda text, rng: "\ufeff" + text,
    lambda text, rng: text + rng.choice([" ", "\n", "x", "{}", "\x00", "]", text]),
    lambda text, rng: "[" * rng.choice([1, 100, 100_000]) + text,
    lambda text, rng: text[:-1] + ', "deep": ' + "[" * 50_000 + "]" * 50_000 + "}",
    lambda text, rng: text[:-1] + ', "deep": ' + '{"a":' * 20_000 + "1" + "}" * 20_000 + "}",
    lambda text, rng: text.replace("{", '{"n_rows": 1, ', 1),
    lambda text, rng: (
        text[:-1]
        + rng.choice(
            [', "n_rows": 4}', ', "version": 1}', ', "answer": "Separable"}', ', "fit_intercept": true}']
        )
    ),
    lambda text, rng: text.replace('"n_rows": ', '"n_rows": 1' + "0" * rng.choice([1, 400, 5000]), 1),
    lambda text, rng: text.replace(
        '"n_rows": ', '"n_rows": ' + rng.choice(["NaN", "Infinity", "1e999999", "-", "+", "0", "0x"]), 1
    ),
    lambda text, rng: text.replace('"', "'"),
    _spoiled,
]


# Changes to the claim of the caller


def other_problem(problem: Problem, rng: random.Random) -> Problem:
    """Return a claim that differs in one thing: a value, a row, a label, the intercept, or what is asked."""
    rows, labels = [list(row) for row in problem.rows], problem.labels
    match rng.randrange(9):
        case 0:
            row = rng.choice(rows)
            at = rng.randrange(len(row))
            row[at] = _moved(row[at], problem.form, rng)
        case 1:
            i, j = rng.randrange(len(rows)), rng.randrange(len(rows))
            rows[i], rows[j] = rows[j], rows[i]
        case 2:
            return problem._replace(intercept=not problem.intercept)
        case 3:
            if labels is None:
                return problem._replace(labels=[rng.choice([0, 1]) for _ in rows])
            return (
                problem._replace(labels=None)
                if rng.random() < 0.5
                else problem._replace(labels=None, intercept=False)
            )
        case 4:
            if labels is not None:
                i = rng.randrange(len(labels))
                others = [*labels, _relabelled(labels[i], rng)]
                return problem._replace(labels=[*labels[:i], rng.choice(others), *labels[i + 1 :]])
        case 5:
            if labels is not None:
                return problem._replace(labels=[_relabelled(label, random.Random(1)) for label in labels])
        case 6:
            if len(rows) > 1:
                i = rng.randrange(len(rows))
                del rows[i]
                if labels is not None:
                    labels = labels[:i] + labels[i + 1 :]
        case 7:
            rows = [[*row, 0] for row in rows]
            return problem._replace(rows=rows, width=problem.width + 1)
        case 8:
            order = rng.sample(range(problem.width), problem.width)
            rows = [[row[at] for at in order] for row in rows]
    return problem._replace(rows=rows, labels=labels)


def _moved(value: Any, form: str, rng: random.Random) -> Any:
    if isinstance(value, float) and form not in ("float32", "csr float32") and rng.random() < 0.7:
        return math.nextafter(value, rng.choice([-math.inf, math.inf]))
    return rng.choice([value + 1, -value, 0, value - 1])


def _relabelled(label: Any, rng: random.Random) -> Any:
    """Return a label that is nearly this one."""
    if isinstance(label, bool):
        return not label
    if isinstance(label, str):
        return rng.choice([label + " ", label + "x", label.upper(), label[:-1]])
    return rng.choice([label + 1, -label, label * 2 + 1])


# Writing


def encoded(value: Any) -> Any:
    """Write a statement as JSON holds it."""
    if isinstance(value, Fraction):
        return written(value)
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, list):
        return [encoded(each) for each in value]
    return {key: encoded(each) for key, each in value.items()} if isinstance(value, dict) else value


def content_of(statement: dict[str, Any]) -> dict[str, Any]:
    return {"format": "rosenblatt-proof", "version": 2} | encoded(statement)


@cache
def proved(at: int) -> list[dict[str, Any]]:
    """Return what the package's own searches prove of a case, as JSON holds it."""
    case = cases()[at]
    problem = case.problem
    if not held_by_float64(problem):
        return []
    X, y, intercept = matrix(problem), problem.labels, problem.intercept
    if case.kernel is not None:
        proofs = [kernel_separability(X, y, degree=case.kernel[0], coef0=case.kernel[1])]
    elif y is None:
        proofs = [solve_cone(X)]
    else:
        proofs = [separability(X, y, intercept), separability(X, y, intercept, touching=False)]
    if (
        y is not None
        and case.kernel is None
        and max(abs(value) for row in problem.rows for value in row) < 1e150
    ):
        proofs.append(find_soft_margin(X, y, 0.5, intercept, max_iter=20))
        try:
            proofs.append(find_hard_margin(X, y, intercept))
            if intercept and len(set(y)) == 2:
                proofs.append(find_hard_margin(X, y, intercept, penalise_intercept=False))
        except ValueError:
            pass  # no hard margin, or one too thin
    return [json.loads(proof.to_json()) for proof in proofs]


# Trials


class Trial(NamedTuple):
    problem: Problem
    text: str  # the proof
    honest: bool  # nothing was changed
    expect: str | None = None  # what the caller wants proved


def trial(number: int) -> Trial:
    """Build a trial from its number."""
    rng = random.Random(number)
    at = rng.randrange(len(cases()))
    case, way = cases()[at], rng.random()
    problem, content = case.problem, content_of((forged if way > 0.9 else evidence)(case, rng))
    if way < 0.9 and rng.random() < 0.25 and proved(at):
        content = json_copy(rng.choice(proved(at)))
    donor = rng.choice(donors())
    if rng.random() < 0.04:
        as_version_1(content)
    if way < 0.08 or way > 0.9:
        return Trial(problem, json.dumps(content), way < 0.08)
    if way < 0.78:
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            change(inner(content, rng), rng, inner(donor, rng))
    if way > 0.72:
        problem = other_problem(problem, rng)
    text = json.dumps(content)
    if 0.55 < way < 0.6:
        text = rng.choice(TEXTS)(text, rng)
    return Trial(problem, text, False)


@cache
def donors() -> list[dict[str, Any]]:
    """Return true proofs of all cases, from which parts are taken."""
    return [content_of(evidence(case, random.Random(seed))) for case in cases() for seed in range(3)]


def as_version_1(content: dict[str, Any]) -> None:
    """Write a proof of a kind that version 1 had as it did: constraints had the class 1, and a reading."""
    if content["answer"] in ("HardMargin", "SoftMargin", "KernelProof"):
        return
    content["version"] = 1
    if not content["classes"]:
        content |= {"classes": [1], "reading": {"as": "constraints", "target": None}}


def inner(content: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return the proof inside a kernel proof most of the time, else the proof itself."""
    within = content.get("proof")
    return within if isinstance(within, dict) and within and rng.random() < 0.8 else content


def judged(trial: Trial) -> str:
    """Return the oracle's verdict: "holds", "fails" or "malformed"."""
    try:
        statement = oracle.read(trial.text)
    except ValueError:
        return "malformed"
    claim = trial.problem.claim()
    if not oracle.holds(statement, claim) or not oracle.proves(statement, trial.expect):
        return "fails"
    assert oracle.is_true(statement, claim), "the two oracles contradict each other"
    return "holds"


# The verifiers


def matrix(problem: Problem) -> Any:
    """Return the rows as the form says that the caller has them."""
    if problem.form == "list":
        return problem.rows
    if problem.form == "object":
        dense = np.empty((len(problem.rows), problem.width), dtype=object)
        for i, row in enumerate(problem.rows):
            dense[i] = row
        return dense
    kind = problem.form.split()[-1]
    dense = np.array(problem.rows, dtype="float64" if kind == "csr" else kind)
    return sp.csr_array(dense) if problem.form.startswith("csr") else dense


@cache
def folder() -> Path:
    directory = tempfile.TemporaryDirectory(prefix="fuzz-proofs-")
    atexit.register(directory.cleanup)
    return Path(directory.name)


def file_of(text: str) -> Path:
    """Write a proof to a file: text that does not begin as JSON does is taken for a path."""
    path = folder() / "proof.json"
    path.write_text(text, encoding="utf-8")
    return path


def fast(trial: Trial) -> str:
    """Return the verdict of the fast verifier."""
    try:
        proof = from_json(trial.text if trial.text.startswith("{") else file_of(trial.text))
    except ValueError:
        return "malformed"
    X, labels = matrix(trial.problem), trial.problem.labels
    y = np.array(labels) if labels is not None and trial.problem.form == "float64" else labels
    failure = first_failure(proof, X, y, fit_intercept=trial.problem.intercept, expect=trial.expect)
    assert failure is None or isinstance(failure, str)
    return "holds" if failure is None else "fails"


def independent(trial: Trial) -> str:
    """Return the verdict of the standalone checker."""
    problem = trial.problem
    try:
        proof = checker.load_proof(trial.text)
    except ValueError:
        return "malformed"
    table = small_table(problem.rows, problem.labels)
    try:
        checker.check(proof, table, fit_intercept=problem.intercept, expect=trial.expect)
    except checker.Refused:
        return "fails"
    return "holds"


# Files and commands


def table_of(problem: Problem) -> tuple[str, str, list[str]] | None:
    """Return the ending, the text and the options of a data file with this claim; None where text cannot hold it."""
    labels = problem.labels
    if not problem.width or not held_by_float64(problem):
        return None
    rows = [
        [str(int(v)) if v == int(v) and abs(v) < 1e15 else repr(float(v)) for v in row]
        for row in problem.rows
    ]
    options = ["--no-intercept"] if labels is not None and not problem.intercept else []
    options += ["--constraints"] if labels is None else []
    if problem.form.startswith("csr") and (labels is None or all(type(label) is int for label in labels)):
        lines = []
        for i, row in enumerate(rows):
            pairs = [f"{j}:{cell}" for j, cell in enumerate(row, 1) if cell != "0" or (i, j) == (0, len(row))]
            lines.append(" ".join([str(1 if labels is None else labels[i]), *pairs]))
        return ".svm", "\n".join(lines) + "\n", options
    if labels is not None:
        texts = all(isinstance(label, str) for label in labels)
        odd = texts and not all(
            label.isalpha() and label.lower() not in ("na", "null", "none") for label in labels
        )
        large = any(
            isinstance(label, int) and abs(label) >= BIG for label in labels
        )  # not read by the checker
        if odd or large or any(isinstance(label, bool | float) for label in labels):
            return None
        rows = [[*row, str(label)] for row, label in zip(rows, labels, strict=True)]
    names = [f"c{j}" for j in range(problem.width)] + ["y"] * (labels is not None)
    return ".csv", "\n".join(map(",".join, [names, *rows])) + "\n", options


def command_verdicts(trial: Trial, through_cli: bool) -> dict[str, int] | None:
    """Return the exit codes of the checker, and of ``rosenblatt verify`` with and without ``--independent``."""
    table = table_of(trial.problem)
    if table is None:
        return None
    ending, text, options = table
    data = folder() / f"data{ending}"
    data.write_text(text, encoding="utf-8")
    options += ["--expect", trial.expect] if trial.expect else []
    arguments = [str(file_of(trial.text)), str(data), *options]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        codes = {"checker": checker.main(arguments)}
    if through_cli:
        for name, more in (("verify", []), ("verify --independent", ["--independent"])):
            answer = run(["verify", *arguments, *more])
            assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
            codes[name] = answer.exit_code
    return codes


CELLS = [
    *(
        "0",
        "1",
        "-1",
        "+1",
        "2",
        "0.5",
        "-0.25",
        "1e3",
        "1E-7",
        ".5",
        "5.",
        "00012",
        "-0",
        "1e400",
        "-1e-400",
        "nan",
    ),
    *(
        "inf",
        "Infinity",
        "1e",
        "e5",
        ".",
        "--1",
        "1_0",
        "0x10",
        "\uff11",
        "\u0663",
        "9007199254740993",
        "1" * 30,
    ),
    *(
        "9007199254740993.0",
        "0.1000000000000000055511151231257827021181583404541015625",
        "1.7976931348623159e308",
    ),
    *(
        "2.2250738585072011e-308",
        "2.4703282292062328e-324",
        "1,5",
        "1;5",
        " 1",
        "1 ",
        "\t1",
        "\u00a01",
        "1\u2003",
    ),
    *(
        "1\x0b",
        "1\x0c",
        "1\x1c",
        "1\x85",
        "\ufeff1",
        "1\x00",
        "",
        "?",
        "NA",
        "null",
        "None",
        "true",
        "True",
        "1%",
    ),
    *(
        "(1)",
        "1d5",
        "1f",
        "1L",
        "1.e2",
        "\uff11.\uff15",
        "\u22121",
        "N/A",
        "#1",
        "1#2",
        "1:2",
        "1\r2",
        "1\n2",
    ),
]
LABELS = [
    *(
        "x",
        "y",
        "0",
        "1",
        "-1",
        "+1",
        "1.0",
        "01",
        "1e0",
        "true",
        "True",
        "9007199254740992",
        "9007199254740993",
    ),
    *(
        "9007199254740993.0",
        "18446744073709551616",
        "0.1",
        "0.10",
        " x",
        "x ",
        "\u00a0x",
        "x\u3000",
        "X",
        "\u00e9",
    ),
    *(
        "e\u0301",
        "",
        "?",
        "NA",
        "nan",
        "inf",
        "x\x00",
        "\ufeffx",
        "x\x1c",
        "x,y",
        "x;y",
        "x\ty",
        "1 ",
        "\uff11",
        "-0",
    ),
    *("0.0", "-0.0", "1e400", "None", "#x", "1_000", "0x1", "x\r", "\x0bx", "1e22", "1e-400", "\u0661.5"),
]


def csv_text(rng: random.Random) -> str:
    """Write a small table in which odd things may stand."""
    d, odd = rng.randint(1, 3), rng.choice([0, 0, 0.05, 0.2])
    separator = rng.choice([",", ",", ",", ",", ",", ";", "\t", "|"])
    end = rng.choice(["\n", "\n", "\n", "\r\n", "\r", "\n\n", "\r\r\n"])
    labels = (
        rng.sample(LABELS, 2) if rng.random() < 0.6 else rng.choice([["a", "b"], ["0", "1"], ["1", "2.5"]])
    )
    names = [*(f"c{j}" for j in range(d)), "y"]
    if rng.random() < 0.1:
        names[0] = rng.choice(["y", "", "1", " c0", "c0 ", "\u00e9", "\ufeff", '"a"', "nan", "x\x00"])
    lines = [separator.join(names)] if rng.random() < 0.85 else []
    for _ in range(rng.randint(1, 4)):
        row = [rng.choice(CELLS if rng.random() < odd else ["0", "1", "-1", "0.5", "3"]) for _ in range(d)]
        row = [_quoted(cell, rng) for cell in [*row, rng.choice(labels)]]
        change = rng.random()
        row = (
            [*row, ""]
            if change < 0.02
            else row[:-1]
            if change < 0.04
            else [""] * (d + 1)
            if change < 0.06
            else row
        )
        lines.append(separator.join(row))
        if rng.random() < 0.04:
            lines.append(rng.choice(["", " ", "\t", "#c", '""', ",", ", ,"]))
    return ("\ufeff" if rng.random() < 0.05 else "") + end.join(lines) + rng.choice(["", end, end])


def _quoted(cell: str, rng: random.Random) -> str:
    doubled = cell.replace('"', '""')
    ways = [f'"{doubled}"', f'"{doubled}"', f' "{cell}"', f'"{cell}" ', f'{cell}"']
    return rng.choice(ways) if rng.random() < 0.18 else cell


def libsvm_text(rng: random.Random) -> str:
    """Write a few lines of LIBSVM text in which odd things may stand."""
    odd, lines = rng.choice([0, 0, 0.1, 0.3]), []
    labels = rng.choice(
        [["1", "-1"], ["+1", "-1"], ["0", "1"], ["1.0", "1", "-1"], ["1"], rng.sample(LABELS, 2)]
    )
    for _ in range(rng.randint(1, 4)):
        indices = sorted(rng.sample(range(int(rng.random() > 0.1), 8), rng.randint(0, 4)))
        if rng.random() < 0.1:
            indices = [*indices, *indices[-1:]] if rng.random() < 0.5 else indices[::-1]
        pairs = [
            rng.choice(["0", "+", " ", "\uff11"] if rng.random() < odd / 5 else [""])
            + f"{i}:{rng.choice(CELLS if rng.random() < odd else ['1', '0.5', '-2', '0'])}"
            for i in indices
        ]
        if rng.random() < 0.05:
            pairs.append(
                rng.choice(["qid:3", "1:", "99999999999:1", "9:2:3", ":1", "-1:2", "1.0:2", "8 :2", "9"])
            )
        if rng.random() < 0.06:
            pairs.append(rng.choice(["# c", "#c", "#1:2", "9:#2", "9:1#2"]))
        blank = rng.choice(["  ", "\t", "\u00a0", "\x0b", "\x1c", "\x0c"]) if rng.random() < 0.1 else " "
        lines.append(blank.join([rng.choice(labels), *pairs]))
        if rng.random() < 0.04:
            lines.append(rng.choice(["", " ", "# c", "\t"]))
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    return ("\ufeff" if rng.random() < 0.05 else "") + end.join(lines) + rng.choice(["", end, end + end])


Reading = tuple[list[list[float]], list[tuple[bool, bool, Any]] | None]


def reading_of(rows: list[list[float]], labels: list[Any] | None) -> Reading:
    """Return data so that equal ones are equal: 1 is 1.0, and neither is "1" nor True."""
    tagged = [(isinstance(label, str), isinstance(label, bool), label) for label in labels or []]
    return rows, None if labels is None else tagged


def check_reading(rng: random.Random) -> None:
    """Let the package and the checker read one small file."""
    format = rng.choice(["csv", "csv", "libsvm"])
    text = csv_text(rng) if format == "csv" else libsvm_text(rng)
    constraints = rng.random() < 0.1
    target = rng.choice([None, None, "y"]) if format == "csv" and not constraints else None
    compare_readings(format, text, target, constraints)


def compare_readings(format: str, text: str, target: str | None = None, constraints: bool = False) -> str:
    """Return who refuses a data file; where the package and the checker both accept it they must read the same."""
    path = folder() / f"read.{format}"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        table = checker.read_table(str(path), target, constraints)
    except ValueError:
        return "the checker"
    assert table.n_features < 1000
    theirs = reading_of([[x.get(j, 0.0) for j in range(table.n_features)] for x in table.rows], table.labels)
    options = ReadOptions(
        target=target,
        format=format,
        zero_based=False if format == "libsvm" else None,
        exact=True,  # as prove and verify read
    )
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            rows = (read_constraints if constraints else read.read)(str(path), options)
    except (ValueError, SystemExit):
        return "the package"
    X = rows.X.toarray() if sp.issparse(rows.X) else rows.X
    ours = reading_of(X.tolist(), None if constraints else rows.y.tolist())
    assert ours == theirs, f"{format} {text!r} is read as {ours} and, by the checker, as {theirs}"
    return "nobody"


def prepare() -> None:
    """Decide every problem by the oracle, and compile the loops of the fast verifier."""
    for case in cases():
        fast(Trial(case.problem, json.dumps(content_of(evidence(case, random.Random(0)))), True))


CODES = {
    "holds": (0,),
    "fails": (1, 2, 65),
    "malformed": (2, 65),
}  # to `verify` a proof of another claim is an error, and a malformed one bad data
EXPECTATIONS = [*(word for words in oracle.PROVES.values() for word in words), "overlapping"]
EXPECTATIONS += ["kernel-separable", "kernel-inseparable"]


def check(number: int) -> None:
    """Compare the verdicts of a trial; every fifth number is a data file, read twice."""
    if number % 5 == 4:
        check_reading(random.Random(number))
        return
    one = trial(number)
    if number % 10 in (0, 3):
        one = one._replace(expect=EXPECTATIONS[number // 10 % len(EXPECTATIONS)], honest=False)
    verdict = judged(one)
    assert verdict == "holds" or not one.honest, "the oracle refuses a true proof"
    assert independent(one) == verdict, f"checker: {independent(one)}, oracle: {verdict}"
    expected = verdict
    if verdict == "holds" and not held_by_float64(one.problem):
        expected = "fails"  # data that float64 cannot hold are for the checker
    assert fast(one) == expected, f"fast verifier: {fast(one)}, oracle: {expected}"
    if number % 20 in (0, 1):
        for command, code in (command_verdicts(one, number % 400 < 2) or {}).items():
            refused = (
                code in (2, 65) and command != "checker" and "reading" in one.text
            )  # it was read otherwise
            assert code in CODES[verdict] or refused, f"{command}: exit code {code}, oracle: {verdict}"


def held_by_float64(problem: Problem) -> bool:
    """Whether every value is a float64."""
    for row in problem.rows:
        for value in row:
            try:
                if Fraction(float(value)) != Fraction(value):
                    return False
            except OverflowError:
                return False
    return True
