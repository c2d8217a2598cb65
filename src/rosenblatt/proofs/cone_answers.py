"""The two answers to a cone program ``A w ≥ 1``."""

from dataclasses import dataclass
from fractions import Fraction

from rosenblatt.proofs.proof import Proof, listed, rational
from rosenblatt.proofs.separable import WithHyperplane


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
