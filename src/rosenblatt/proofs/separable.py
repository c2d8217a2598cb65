"""The answer yes: a hyperplane with every row strictly on its side, and the answer not yet."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.proof import Proof, listed

MOST_ROWS = 1000  # rows on the margin that a proof names


@dataclass(frozen=True)
class WithHyperplane(Proof):
    """A proof that carries a hyperplane (two classes) or one score per class (three or more)."""

    hyperplanes: tuple[tuple[Fraction, ...], ...]  # each (w, b), or w alone without an intercept

    @property
    def w(self) -> npt.NDArray[np.float64]:
        """The weights rounded to float64: (d,) for two classes, (k, d) for more; exact in ``hyperplanes``."""
        return (
            self._floats[:, : self.n_features].squeeze(axis=0)
            if self._single
            else self._floats[:, : self.n_features]
        )

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
        what = "A hyperplane puts" if self._single else "One linear score per class puts"
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
    upper : ``‖Σ λ a‖/Σλ`` for the demands ``rows`` (against ``rivals``) with ``weights`` λ, rounded up
    least : a lower bound on every ``y f(x)`` of the hyperplane
    """

    lower: float
    upper: float
    least: Fraction
    rows: tuple[int, ...]
    rivals: tuple[int, ...]
    weights: tuple[Fraction, ...]

    def __str__(self) -> str:
        return (
            f"Undecided: time ran out on {self.n_rows} rows. What is proved so far: the largest margin lies between "
            f"{self.lower:.6g} and {self.upper:.6g}. Give more time to decide whether it is positive."
        )
