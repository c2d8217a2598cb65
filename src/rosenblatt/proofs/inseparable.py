"""The answer no: rows that contradict each other, and how far a separator can still go."""

from dataclasses import dataclass
from fractions import Fraction

from rosenblatt.proofs.proof import Proof, listed, rational
from rosenblatt.proofs.separable import WithHyperplane


@dataclass(frozen=True)
class Inseparable(Proof):
    """No hyperplane has every row strictly on the side of its class (Gordan).

    Attributes
    ----------
    culprits : the few rows that contradict each other, at most ``d + 2`` for two classes
    weights : positive rationals that sum to one, with ``Σ λᵢ yᵢ (xᵢ, 1) = 0`` exactly over the culprits
    rivals : for three or more classes, the class (its index) that each culprit is told from; else empty
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
        """The culprits: the rows to blame."""
        return self.culprits

    def __str__(self) -> str:
        return f"Inseparable. No hyperplane puts every row strictly on the side of its class. {self._blame()}"

    def _blame(self) -> str:
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
                f"These {n} demands contradict each other: weighted {listed(named)}, they add up to exactly zero, so "
                "no scores can satisfy them all. Look at these rows first: one of their labels may be wrong."
            )
        met = (
            "the weighted average of those in one class is exactly that of those in the other"
            if self.fit_intercept
            else "their signed sum is exactly zero"
        )
        return (
            f"Rows {listed(self.culprits)} contradict each other: with the weights {listed(terms)}, {met}, so no "
            "hyperplane can part them. Look at these rows first: one of their labels may be wrong."
        )


@dataclass(frozen=True)
class QuasiSeparable(Inseparable, WithHyperplane):
    """Not separable, but a hyperplane has every row on or beyond its side, and some strictly.

    An :class:`Inseparable` with more to say: ``rows`` are the rows that *every* such hyperplane must touch, and
    ``w, b`` one that touches no others. Logistic regression has no finite solution on such data.

    Attributes
    ----------
    touched : rows that every weak separator touches; for three or more classes, rows with such a demand
    touched_rivals : for three or more classes, the class each of them is told from; else empty
    """

    touched: tuple[int, ...]
    touched_rivals: tuple[int, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that every weak separator must touch."""
        return tuple(dict.fromkeys(self.touched))

    def __str__(self) -> str:
        return (
            f"Quasi-separable. No hyperplane puts every row strictly on the side of its class, but one has all "
            f"{self.n_rows} rows on or beyond it; it touches {len(self.rows)} of them, and so must every other. "
            f"{self._blame()}"
        )
