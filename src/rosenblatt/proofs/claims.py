"""The claims that a proof can make about data, the evidence each of them carries, and how they travel as JSON.

A claim is decided by :mod:`rosenblatt.proofs.fast_check` (filtered floats, for large data) and, independently, by
:mod:`rosenblatt.proofs.checker` (standard library only). Nothing here decides anything: a proof is evidence, and the
caller of ``verify`` says which data, which labels and which kind of hyperplane it has to be evidence for.
"""

import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rosenblatt.atomic import replacing
from rosenblatt.proofs.exact import over_common_denominator

FORMAT = "rosenblatt-proof"
VERSION = 2
MOST_ROWS = 1000  # rows on the margin that a proof names
MOST_DIGITS = 100_000  # of a numerator or a denominator that is read from a file
MOST_DEGREE = 1000  # of a kernel
EXPECTATIONS = (
    "separable",
    "inseparable",
    "quasi-separable",
    "overlapping",
    "feasible",
    "infeasible",
    "undecided",
    "hard-margin",
    "soft-margin",
    "kernel-separable",
    "kernel-inseparable",
)
_RATIONAL = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?", re.ASCII)

Hyperplanes: TypeAlias = tuple[tuple[Fraction, ...], ...]


# The type of every field, stated once: JSON is read by it, and a proof made in Python is checked against it.


class FieldType(NamedTuple):
    """What a field holds: a description that follows "must be", a test, and its form in JSON."""

    description: str
    fits: Callable[[Any], bool]
    pack: Callable[[Any], Any] = lambda value: value
    unpack: Callable[[Any], Any] = lambda value: value


def is_label(value: Any) -> bool:
    """Return whether a value can be a label: a bool, an integer, a finite float, or text without NUL."""
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in (bool, int) or (type(value) is str and "\0" not in value)


def label_kind(value: Any) -> str:
    """Return the kind of a label; labels of different kinds are not compared with each other."""
    return "bool" if type(value) is bool else "text" if type(value) is str else "number"


def _are_labels(value: Any) -> bool:
    if not (type(value) is tuple and all(map(is_label, value))):
        return False
    return len({label_kind(label) for label in value}) <= 1 and all(a < b for a, b in pairwise(value))


def _is_integer(value: Any, least: int, most: float = math.inf) -> bool:
    return type(value) is int and least <= value <= most


def _is_float(value: Any, least: float = -math.inf, *, infinite: bool = False) -> bool:
    return type(value) is float and least <= value and (infinite or math.isfinite(value))


def _are_rationals(value: Any) -> bool:
    return type(value) is tuple and all(type(each) is Fraction for each in value)


def _pack_rational(value: Fraction) -> str:
    import flint

    return str(flint.fmpq(value.numerator, value.denominator))  # str(int) has a length limit


def _unpack_rational(value: Any) -> Fraction:
    if not (type(value) is str and len(value) <= 2 * MOST_DIGITS + 2 and _RATIONAL.fullmatch(value)):
        shown = value[:40] if isinstance(value, str) else value
        raise ValueError(f"{shown!r} is not a rational p/q of at most {MOST_DIGITS:,} digits")
    import flint

    numerator, _, denominator = value.partition("/")
    return Fraction(int(flint.fmpz(numerator)), int(flint.fmpz(denominator or "1")))


def _unpack_rationals(values: Any) -> tuple[Fraction, ...]:
    rationals = tuple(_unpack_rational(value) for value in _items(values))
    over_common_denominator(rationals)  # refused where it is too long to work with
    return rationals


def _unpack_hyperplanes(hyperplanes: Any) -> Hyperplanes:
    values = tuple(tuple(_unpack_rational(value) for value in _items(plane)) for plane in _items(hyperplanes))
    over_common_denominator(value for plane in values for value in plane)
    return values


def _unpack_float(value: Any) -> float:
    text = value.get("float") if isinstance(value, dict) and len(value) == 1 else None
    try:
        number = float.fromhex(text) if isinstance(text, str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if math.isnan(number) or number.hex() != text:  # other text would be rounded, or is no number
        raise ValueError('a float is written {"float": "0x1.8000000000000p+1"}, as float.hex writes it')
    return number


def _pack_float(value: float) -> dict[str, str]:
    return {"float": value.hex()}


def _items(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError("it is not a list")
    return value


def _rationals() -> FieldType:
    return FieldType(
        "a list of rationals p/q",
        _are_rationals,
        lambda values: [_pack_rational(value) for value in values],
        _unpack_rationals,
    )


def _integers() -> FieldType:
    return FieldType(
        "a list of whole numbers from 0",
        lambda values: type(values) is tuple and all(_is_integer(value, 0) for value in values),
        list,
        lambda values: tuple(_items(values)),
    )


def _float(description: str, least: float = -math.inf, *, infinite: bool = True) -> FieldType:
    return FieldType(
        description,
        lambda value: _is_float(value, least, infinite=infinite),
        _pack_float,
        _unpack_float,
    )


_BOOL = FieldType("true or false", lambda value: type(value) is bool)
_RATIONAL_FIELD = FieldType(
    "a rational p/q", lambda value: type(value) is Fraction, _pack_rational, _unpack_rational
)
FIELDS: dict[str, FieldType] = {
    "classes": FieldType(
        "a sorted list of different labels: all true or false, all numbers, or all text without NUL",
        _are_labels,
        lambda labels: [_pack_float(label) if type(label) is float else label for label in labels],
        lambda labels: tuple(
            _unpack_float(label) if type(label) in (dict, float) else label for label in _items(labels)
        ),
    ),
    "fit_intercept": _BOOL,
    "penalise_intercept": _BOOL,
    "n_rows": FieldType("a whole number from 1", lambda value: _is_integer(value, 1)),
    "n_features": FieldType("a whole number from 0", lambda value: _is_integer(value, 0)),
    "n_iter": FieldType("a whole number from 0", lambda value: _is_integer(value, 0)),
    "degree": FieldType(
        f"a whole number from 1 to {MOST_DEGREE}", lambda value: _is_integer(value, 1, MOST_DEGREE)
    ),
    "coef0": FieldType(
        "a whole number from 0 (a negative one makes no positive semidefinite kernel)",
        lambda value: _is_integer(value, 0),
    ),
    "overlap": FieldType("true, false or null", lambda value: value is None or type(value) is bool),
    "hyperplanes": FieldType(
        "a list of lists of rationals p/q",
        lambda hyperplanes: type(hyperplanes) is tuple and all(map(_are_rationals, hyperplanes)),
        lambda hyperplanes: [[_pack_rational(value) for value in plane] for plane in hyperplanes],
        _unpack_hyperplanes,
    ),
    "least": _RATIONAL_FIELD,
    "margin": _float("a finite float from 0", 0.0, infinite=False),
    "radius": _float("a float from 0", 0.0),
    "bound": _float("a float from 0", 0.0),
    "lower": _float("a float"),
    "upper": _float("a float from 0", 0.0),
    "C": FieldType(
        "a positive finite float",
        lambda value: _is_float(value, 5e-324),
        _pack_float,
        _unpack_float,
    ),
    "objective": _float("a float from 0", 0.0),
    **dict.fromkeys(("weights", "core_weights", "dual_weights"), _rationals()),
    **dict.fromkeys(
        ("rows", "rivals", "culprits", "core_rows", "core_rivals", "touched", "touched_rivals"), _integers()
    ),
    **dict.fromkeys(("dual_rows", "dual_rivals"), _integers()),
}


@dataclass(frozen=True)
class Proof:
    """Evidence for a claim about examples ``(X, y)``, or about constraints ``A``; ``verify`` decides it exactly.

    Attributes
    ----------
    classes : the sorted different labels, of which the second of two is +1; empty for constraints
    fit_intercept : whether the hyperplanes it speaks of may miss the origin
    n_rows, n_features : the shape of the data
    """

    classes: tuple[Any, ...]
    fit_intercept: bool
    n_rows: int
    n_features: int

    _kinds: ClassVar[dict[str, type["Proof"]]] = {}

    def __init_subclass__(cls) -> None:
        Proof._kinds[cls.__name__] = cls

    def verify(self, X: Any, y: Any = None, *, fit_intercept: bool = True, expect: str | None = None) -> bool:
        """Return whether the proof holds for the claim that the caller states.

        Parameters
        ----------
        X : the data, converted exactly or refused
        y : the labels; None for constraints ``A w ≥ 1``, which have none
        fit_intercept : whether the hyperplanes of the claim may miss the origin (constraints have no intercept)
        expect : what the proof has to prove, such as "separable"; by default whatever it states
        """
        return self.why_not(X, y, fit_intercept=fit_intercept, expect=expect) is None

    def why_not(
        self, X: Any, y: Any = None, *, fit_intercept: bool = True, expect: str | None = None
    ) -> str | None:
        """Return the first reason why the proof does not hold for the caller's claim, or None when it holds."""
        from rosenblatt.proofs.fast_check import first_failure

        return first_failure(self, X, y, fit_intercept=fit_intercept, expect=expect)

    def malformed(self) -> str | None:
        """Return the first field whose value is not of its type, in words, or None."""
        return _malformed(self)

    def proves(self, expectation: str) -> bool:
        """Return whether this kind of proof, where it holds, is one of what is expected."""
        return expectation == type(self).__name__.lower()

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the proof as JSON, and write it to ``path`` (beside, then renamed) where one is given."""
        return _written({"format": FORMAT, "version": VERSION, **_packed(self)}, path)

    @property
    def _through_origin(self) -> str:
        return "" if self.fit_intercept else " through the origin"


@dataclass(frozen=True)
class WithHyperplane(Proof):
    """A proof that carries a hyperplane (up to two classes) or one score per class (three or more)."""

    hyperplanes: Hyperplanes  # each (w, b), or w alone without an intercept

    @property
    def w(self) -> npt.NDArray[np.float64]:
        """The weights rounded to float64: (d,) for two classes, (k, d) for more; exact in ``hyperplanes``."""
        weights = self._floats[:, : self.n_features]
        return weights.squeeze(axis=0) if self._single else weights

    @property
    def b(self) -> Any:
        """The intercepts rounded to float64: a number for two classes, (k,) for more."""
        if not self.fit_intercept:
            return 0.0 if self._single else np.zeros(len(self.hyperplanes))
        return float(self._floats[0, -1]) if self._single else self._floats[:, -1]

    @property
    def _single(self) -> bool:
        return len(self.hyperplanes) == 1

    @property
    def _floats(self) -> npt.NDArray[np.float64]:
        largest = max((abs(value) for row in self.hyperplanes for value in row), default=Fraction(0))
        fits = Fraction(1, 2**900) < largest < 2**900
        scale = Fraction(1) if fits or not largest else 1 / largest
        return np.array([[float(value * scale) for value in row] for row in self.hyperplanes])


@dataclass(frozen=True)
class Separable(WithHyperplane):
    """Every row lies strictly on the side of its class.

    Attributes
    ----------
    w, b : the hyperplane, rounded; ``hyperplanes`` holds it exactly
    margin : a lower bound, rounded down, on ``min y f(x)/‖(w, b)‖``
    radius : an upper bound, rounded up, on ``max ‖(x, 1)‖`` (times √2 for three or more classes)
    bound : ``(R/γ)²``, the mistakes any perceptron can make on these rows, rounded up
    rows : the rows whose ``y f(x)`` is within one part in 2²⁰ of the smallest (at most 1000 are named)
    least : the smallest ``y f(x)``, exactly
    """

    margin: float
    radius: float
    bound: float
    rows: tuple[int, ...]
    least: Fraction

    def __str__(self) -> str:
        without = "" if self.fit_intercept else ", without an intercept,"
        what = (
            f"A hyperplane{self._through_origin} puts"
            if self._single
            else f"One linear score per class{without} puts"
        )
        place = "lies" if len(self.rows) == 1 else "lie"
        noun = "Row" if len(self.rows) == 1 else "Rows"
        return (
            f"Separable. {what} all {self.n_rows} rows strictly on the side of their class, with margin "
            f"{self.margin:.6g}. All rows lie within radius {self.radius:.6g}, so a perceptron makes at most "
            f"(R/γ)² = {self.bound:.6g} mistakes on them, in any order. {noun} {listed(self.rows)} {place} on the "
            "margin. Every sign was decided in exact arithmetic."
        )


@dataclass(frozen=True)
class Undecided(WithHyperplane):
    """Time ran out; the largest margin lies between two proved bounds.

    Attributes
    ----------
    lower : the margin that ``hyperplanes`` attains (negative where it separates nothing), rounded down
    upper : ``‖Σ λ a‖/Σλ`` for the demands ``rows`` (against ``rivals``) with ``weights`` λ ≥ 0, rounded up
    least : a lower bound on every ``y f(x)`` of the hyperplane
    """

    lower: float
    upper: float
    least: Fraction
    rows: tuple[int, ...]
    rivals: tuple[int, ...]
    weights: tuple[Fraction, ...]

    def __str__(self) -> str:
        whose = "" if self.fit_intercept or not self.classes else " of a hyperplane through the origin"
        return (
            f"Undecided: time ran out on {self.n_rows} rows. What is proved so far: the largest margin{whose} lies "
            f"between {self.lower:.6g} and {self.upper:.6g}. Give more time to decide whether it is positive."
        )


REASONS = (
    "The proof does not show the reason: the classes may overlap, a feature that tells them apart may be missing, "
    "they may be arranged as in XOR, or a label may be wrong."
)


@dataclass(frozen=True)
class Inseparable(Proof):
    """No hyperplane has every row strictly on the side of its class (Gordan).

    Without an intercept (``fit_intercept=False``): no hyperplane *through the origin* has.

    Attributes
    ----------
    culprits : the few rows that no hyperplane separates, at most ``d + 2`` for two classes
    weights : positive rationals that sum to one, with ``Σ λᵢ yᵢ (xᵢ, 1) = 0`` exactly over the culprits: with an
        intercept, the average of the culprits of one class so weighted is that of the other
    rivals : for three or more classes, the rival class (its index) of each culprit; else empty
    overlap : True when it is also proved that no hyperplane separates even weakly (``A w ≥ 0`` only where
        ``A w = 0``); None when that was not asked, time ran out, or the data are
        too large for exact subspaces
    core_rows, core_rivals, core_weights : a contradiction whose rows span all rows, which proves ``overlap``
    """

    culprits: tuple[int, ...]
    rivals: tuple[int, ...]
    weights: tuple[Fraction, ...]
    overlap: bool | None
    core_rows: tuple[int, ...]
    core_rivals: tuple[int, ...]
    core_weights: tuple[Fraction, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """The culprits: rows that no hyperplane separates."""
        return self.culprits

    def proves(self, expectation: str) -> bool:
        """A quasi-separable answer is an inseparable one; ``overlapping`` needs the core."""
        return expectation == "inseparable" or (expectation == "overlapping" and self.overlap is True)

    def __str__(self) -> str:
        return f"Inseparable. {self._denial} {self._contradiction()}"

    @property
    def _denial(self) -> str:
        if len(self.classes) > 2:
            without = "" if self.fit_intercept else " without intercepts"
            return f"No linear scores{without}, one per class, give every row its highest score for its own class."
        return f"No hyperplane{self._through_origin} puts every row strictly on the side of its class."

    def _contradiction(self) -> str:
        """Say what the certificate shows, what its weights mean, and what it does not show."""
        n = len(self.culprits)
        if n == 1:
            return f"Row {self.culprits[0]} is all zero: without an intercept every hyperplane passes through it."
        terms = [
            f"{rational(weight)} on row {row}"
            for row, weight in zip(self.culprits, self.weights, strict=True)
        ]
        if self.rivals:
            named = [
                f"{term} (against class {self.classes[rival]})"
                for term, rival in zip(terms, self.rivals, strict=True)
            ]
            return (
                f"Each row demands that one score exceeds another. A weighted sum of {n} of these demands is 0 > 0, "
                f"exactly ({listed(named)}), so no scores satisfy them all. {REASONS}"
            )
        if self.fit_intercept:
            return (
                f"A weighted average of rows of one class equals a weighted average of rows of the other, exactly "
                f"({listed(terms)}); a separating hyperplane would have that point on both of its sides. {REASONS}"
            )
        return (
            f"A weighted sum of rows, each times its sign ±1, is exactly zero ({listed(terms)}), so no hyperplane "
            f"through the origin has them all on their sides. {REASONS}"
        )


@dataclass(frozen=True)
class QuasiSeparable(Inseparable, WithHyperplane):
    """Not separable, but a hyperplane has every row on or beyond its side, and some strictly.

    An :class:`Inseparable` with more to say: ``rows`` are the rows that *every* such hyperplane must touch, and
    ``w, b`` one that touches no others. Logistic regression has no finite solution on such data.

    Attributes
    ----------
    touched : rows that every weak separator touches; for three or more classes, rows with such a demand
    touched_rivals : for three or more classes, the rival class of each; else empty
    """

    touched: tuple[int, ...]
    touched_rivals: tuple[int, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that every weak separator must touch."""
        return tuple(dict.fromkeys(self.touched))

    def proves(self, expectation: str) -> bool:
        """Quasi-separable, and so not separable."""
        return expectation in ("inseparable", "quasi-separable")

    def __str__(self) -> str:
        if len(self.classes) <= 2:
            weak = f"one has no row on the wrong side; it touches {len(self.rows)} of them"
        else:
            weak = f"some rate no class above a row's own; they tie on {len(self.rows)} of them"
        return f"Quasi-separable. {self._denial[:-1]}, but {weak}, as do all others. {self._contradiction()}"


@dataclass(frozen=True)
class Feasible(WithHyperplane):
    """``A w ≥ 1`` holds for ``w`` in every row, decided exactly; ``hyperplanes[0]`` is ``w`` as rationals."""

    def __str__(self) -> str:
        return f"Feasible. One w has A w >= 1 in all {self.n_rows} rows; every row was checked in exact arithmetic."


@dataclass(frozen=True)
class Infeasible(Proof):
    """No ``w`` has ``A w ≥ 1``: ``weights`` > 0 on ``rows`` sum to one and ``Aᵀ weights = 0`` exactly (Gordan)."""

    rows: tuple[int, ...]
    weights: tuple[Fraction, ...]

    def __str__(self) -> str:
        terms = [
            f"{rational(weight)} × row {row}" for row, weight in zip(self.rows, self.weights, strict=True)
        ]
        return (
            f"Infeasible. {listed(terms)} add up to exactly zero, so the same sum of A w is 0 for every w and cannot "
            "be 1 or more."
        )


@dataclass(frozen=True)
class HardMargin(WithHyperplane):
    """A hyperplane with a margin, and how much larger any margin could be.

    **Claim.** Every row has ``y f(x) ≥ least > 0``; the margin of ``hyperplanes`` is at least ``margin``, and no
    hyperplane has a margin above ``upper``. The margin is ``min y f(x)`` over ``‖(w, b)‖``, or over ``‖w‖`` alone
    where the intercept is not penalised.

    **Evidence.** ``hyperplanes`` for the first; for the second dual weights ``λ > 0`` on ``dual_rows`` (against
    ``dual_rivals``): every unit ``w`` has ``min a·w ≤ Σ λ a·w / Σ λ ≤ ‖Σ λ a‖ / Σ λ ≤ upper``. Unpenalised: half the
    distance between the weighted averages of the two classes is at most ``upper``.

    Attributes
    ----------
    w, b : the hyperplane, scaled so that the least y f(x) is about one; (k, d) and (k,) for three or more classes
    rows, weights : the dual weights as arrays, rounded, summing to one
    gap : how far ``margin`` can be from the largest margin
    """

    penalise_intercept: bool
    least: Fraction
    margin: float
    upper: float
    dual_rows: tuple[int, ...]
    dual_rivals: tuple[int, ...]
    dual_weights: tuple[Fraction, ...]

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """The support: rows with positive dual weight."""
        return np.array(self.dual_rows, dtype=np.intp)

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Their dual weights, rounded, summing to one."""
        weights = np.array([float(weight) for weight in self.dual_weights])
        return np.asarray(weights / weights.sum())

    @property
    def gap(self) -> float:
        """How far the margin can be from the largest one."""
        return max(self.upper - self.margin, 0.0)

    def proves(self, expectation: str) -> bool:
        """A positive margin is a proof of separability as well."""
        return expectation in ("hard-margin", "separable")

    def __str__(self) -> str:
        norm = "‖(w, b)‖" if self.penalise_intercept else "‖w‖"
        return (
            f"Hard margin. A hyperplane{self._through_origin} has margin at least {self.margin:.6g} (least y f(x) over "
            f"{norm}) on all {self.n_rows} rows, and none has more than {self.upper:.6g}."
        )


@dataclass(frozen=True)
class SoftMargin(WithHyperplane):
    """A solution of the soft-margin problem and how far from the best it can be.

    **Claim.** ``½‖(w, b)‖² + C Σ max(0, 1 − y f(x))`` is at most ``objective`` for ``hyperplanes``, and at least
    ``lower`` for every other hyperplane (three or more classes: the hinge of the own score against the best other).

    **Evidence.** Dual weights ``α ≥ 0`` on ``dual_rows`` (against ``dual_rivals``), for each row at most ``C`` in all:
    for every ``w``, ``C Σ max(0, 1 − a·w) ≥ Σ α (1 − a·w)``, so the objective is at least
    ``Σα + ½‖w‖² − w·Σ αa ≥ Σα − ½‖Σ αa‖² ≥ lower``.

    Attributes
    ----------
    w, b : the hyperplane
    alpha : the dual weights as an array, (n,) or (n, k)
    gap : ``objective − lower``
    n_iter : epochs that the search took; no part of the claim
    """

    C: float
    objective: float
    lower: float
    n_iter: int
    dual_rows: tuple[int, ...]
    dual_rivals: tuple[int, ...]
    dual_weights: tuple[Fraction, ...]

    @property
    def alpha(self) -> npt.NDArray[np.float64]:
        """Dual weights of all rows: (n,), or (n, k) for three or more classes."""
        weights = [float(weight) for weight in self.dual_weights]
        if len(self.classes) <= 2:
            alpha = np.zeros(self.n_rows)
            alpha[list(self.dual_rows)] = weights
            return alpha
        alpha = np.zeros((self.n_rows, len(self.classes)))
        alpha[list(self.dual_rows), list(self.dual_rivals)] = weights
        return alpha

    @property
    def gap(self) -> float:
        """How far the objective can be from the least one."""
        return max(self.objective - self.lower, 0.0)

    def proves(self, expectation: str) -> bool:
        """Only the two bounds on the objective."""
        return expectation == "soft-margin"

    def __str__(self) -> str:
        return (
            f"Soft margin with C = {self.C:.6g} on {self.n_rows} rows. The objective of this hyperplane"
            f"{self._through_origin} is at most {self.objective:.6g}, and that of no other is below {self.lower:.6g}."
        )


@dataclass(frozen=True)
class KernelProof:
    """An answer about the rows of a Gram matrix, which is an answer about the examples in the kernel's space.

    **Claim.** For integer examples and ``K(a, b) = (a·b + coef0)^degree``: in the space of ``φ`` with
    ``φ(a)·φ(b) = K(a, b)``, the examples are separable by a hyperplane through the origin, or not, as ``proof`` says.

    **Theorem.** With ``coef0 ≥ 0`` the kernel is positive semidefinite (sums and products of such kernels are), so φ
    exists. ``w = Σ αⱼ φ(xⱼ)`` has the scores ``K α``; and ``Σ λᵢ yᵢ Kᵢ = 0`` for the rows of K means
    ``‖Σ λᵢ yᵢ φ(xᵢ)‖² = 0``, a contradiction in the kernel's space. So ``proof`` must be one without an intercept
    about the Gram matrix. Its margin, radius and bound are those of the rows of the Gram matrix, not of the φ(x).
    """

    proof: Proof  # about the Gram matrix: `proof.rows`, `str(proof)`
    degree: int
    coef0: int

    def verify(self, X: Any, y: Any, *, fit_intercept: bool = False, expect: str | None = None) -> bool:
        """Compute the Gram matrix again, in integers, and check the proof against it exactly.

        The hyperplanes of the kernel's space pass through its origin; with ``coef0 ≥ 1`` a bias is part of the space.
        """
        return self.why_not(X, y, fit_intercept=fit_intercept, expect=expect) is None

    def why_not(
        self, X: Any, y: Any, *, fit_intercept: bool = False, expect: str | None = None
    ) -> str | None:
        """Return the first reason why the proof does not hold for the caller's claim, or None when it holds."""
        from rosenblatt.proofs.fast_check import first_failure

        return first_failure(self, X, y, fit_intercept=fit_intercept, expect=expect)

    def malformed(self) -> str | None:
        """Return the first field whose value is not of its type, in words, or None."""
        for name in ("degree", "coef0"):
            if not FIELDS[name].fits(getattr(self, name)):
                return f"{name!r} must be {FIELDS[name].description}"
        if not isinstance(self.proof, Separable | Undecided | Inseparable):
            return "'proof' must be an answer about separability"
        if self.proof.fit_intercept is not False:
            return "'proof' must be one without an intercept: the Gram matrix has no column of ones"
        return _malformed(self.proof)

    def proves(self, expectation: str) -> bool:
        """What the answer about the Gram matrix proves, in the kernel's space: the caller has to expect that space."""
        space, _, answer = expectation.partition("-")
        return space == "kernel" and self.proof.proves(answer)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the proof as JSON, and write it to ``path`` (beside, then renamed) where one is given."""
        content = {"answer": "KernelProof", "degree": self.degree, "coef0": self.coef0}
        return _written({"format": FORMAT, "version": VERSION, **content, "proof": _packed(self.proof)}, path)

    def __str__(self) -> str:
        return (
            f"In the space of the kernel (a·b + {self.coef0})^{self.degree}, where every row is its row of the Gram "
            f"matrix: {self.proof}"
        )


def _malformed(proof: Proof) -> str | None:
    for each in fields(proof):
        kind = FIELDS[each.name]
        if not kind.fits(getattr(proof, each.name)):
            return f"{each.name!r} must be {kind.description}"
    return None


# JSON


def _packed(proof: Proof) -> dict[str, Any]:
    values = {each.name: FIELDS[each.name].pack(getattr(proof, each.name)) for each in fields(proof)}
    return {"answer": type(proof).__name__, **values}


def _written(content: dict[str, Any], path: str | os.PathLike[str] | None) -> str:
    text = json.dumps(content, indent=1)
    if path is not None:
        with replacing(path) as file:
            file.write(f"{text}\n".encode())
    return text


def from_json(source: str | os.PathLike[str]) -> Any:
    """Read a proof from a file, or from JSON text; nothing in it is believed until it is verified.

    Every field is checked against its type (:data:`FIELDS`); anything else is a ValueError.

    >>> from rosenblatt.proofs import separability
    >>> proof = separability([[0.0], [1.0]], ["no", "yes"])
    >>> from_json(proof.to_json()) == proof
    True
    """
    return read_proof(source)[0]


def read_proof(source: str | os.PathLike[str]) -> tuple[Proof | KernelProof, dict[str, Any]]:
    """Read a proof, and what its file records of how the data were read (which decides nothing)."""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    name = "the proof" if is_text else os.fspath(source)
    try:
        text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError(f"{name} is not a proof: its JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{name} is not complete JSON ({error}); write it again with to_json") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{name} is not a rosenblatt proof; expected an object with format {FORMAT!r}")
    version, reading = content.get("version"), content.get("reading", {})
    if type(version) is not int or version not in (1, VERSION):
        raise ValueError(f"{name} has version {_short(version)}; this version reads 1 and {VERSION}")
    if not isinstance(reading, dict):
        raise ValueError(f"{name}: 'reading' must be an object")  # noqa: TRY004 (a malformed file)
    body = {key: value for key, value in content.items() if key not in ("format", "version", "reading")}
    if version == 1:
        _upgrade(body, reading)
    if body.get("answer") != "KernelProof":
        return _unpacked(body, name), reading
    _check_keys(body, {"answer", "degree", "coef0", "proof"}, name)
    if not isinstance(body["proof"], dict):
        raise ValueError(f"{name}: 'proof' must be an object")  # noqa: TRY004 (a malformed file)
    answer = KernelProof(_unpacked(body["proof"], f"{name}, 'proof'"), body["degree"], body["coef0"])
    problem = answer.malformed()
    if problem:
        raise ValueError(f"{name}: {problem}")
    return answer, reading


def _upgrade(body: dict[str, Any], reading: dict[str, Any]) -> None:
    """Bring the content of version 1 to version 2.

    Constraints have no classes, where version 1 wrote [1]; and no record of text columns meant that they were guessed.
    """
    if reading.get("text") == []:
        del reading["text"]
    cone = body.get("answer") in ("Feasible", "Infeasible")
    cone = cone or (body.get("answer") == "Undecided" and reading.get("as") == "constraints")
    if cone and body.get("classes") == [1]:
        body["classes"] = []


def _unpacked(body: dict[str, Any], name: str) -> Proof:
    answer = body.get("answer")
    cls = Proof._kinds.get(answer) if isinstance(answer, str) and answer != "WithHyperplane" else None
    if cls is None:
        raise ValueError(f"{name} holds an unknown answer {_short(answer)}")
    _check_keys(body, {"answer", *(each.name for each in fields(cls))}, name)
    values: dict[str, Any] = {}
    for each in fields(cls):
        kind = FIELDS[each.name]
        try:
            values[each.name] = kind.unpack(body[each.name])
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}: {each.name!r} must be {kind.description}: {error}") from error
        if not kind.fits(values[each.name]):
            raise ValueError(f"{name}: {each.name!r} must be {kind.description}")
    return cls(**values)


def _check_keys(body: dict[str, Any], expected: set[str], name: str) -> None:
    missing, unknown = sorted(expected - body.keys()), sorted(body.keys() - expected)
    if missing:
        raise ValueError(f"{name} lacks {missing[0]!r}; it is incomplete: write the proof again with to_json")
    if unknown:
        raise ValueError(f"{name} holds {_short(unknown[0])}, which no {body['answer']} has")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return content


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number that JSON has")


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]}…"


# Words


def rational(value: Fraction) -> str:
    """Write a rational as people read it: short ones as they are, long ones rounded.

    >>> rational(Fraction(1, 4)), rational(Fraction(10**30, 3 * 10**30 + 1))
    ('1/4', '0.333333')
    """
    short = value.denominator < 10**6 and abs(value.numerator) < 10**9
    return str(value) if short else f"{float(value):.6g}"


def listed(items: Any, limit: int = 8) -> str:
    """Write a list as a sentence does.

    >>> listed([1, 2, 3]), listed([7])
    ('1, 2 and 3', '7')
    """
    words = [str(item) for item in items]
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
