"""AROW: long steps for features that were rarely seen, short ones for features that were often seen."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, SecondOrder, Seen, rule


class AROW(NamedTuple):
    """Adaptive regularisation of weights: every weight has a variance, and its steps are proportional to it.

    **Problem.** Change ``N(w, Σ)``, ``Σ`` diagonal, as little as possible (in relative entropy) while
    ``max(0, 1 − y w·x)² + x·Σx`` decreases.

    **Update.** If ``y (w·x) < 1`` then ``w ← w + τ y Σx`` with ``τ = (1 − y w·x)/(x·Σx + r)``, and
    ``1/σᵢ ← 1/σᵢ + xᵢ²/r``; ``Σ`` starts as the identity. The loop stores ``Σ`` beside the weights and passes ``x·Σx``
    to the rule as ``x_sqnorm``.

    Parameters
    ----------
    r : float
        ``r > 0``: the larger, the less one example changes weights and variances.

    Notes
    -----
    **Guarantee.** Every step is the exact minimiser of ``(v − w)·Σ⁻¹(v − w) + max(0, 1 − y v·x)²/r`` over ``v``, and
    no variance ever grows. The mistake bound of the paper, ``√(r‖u‖² + u·X u) √(Σ ln(1 + λᵢ/r)) + Σ hinge(u)`` with
    ``X = Σ x xᵀ`` over the updates and its eigenvalues ``λᵢ``, is proved for a full ``Σ``; it holds here where that
    stays diagonal (rows with one feature each, no bias) and is not claimed elsewhere.

    Examples
    --------
    >>> from rosenblatt.rules import step
    >>> step(AROW(r=1.0), Seen(score=0.0, y=1.0, x_sqnorm=3.0, w_sqnorm=0.0, updates=0.0, clock=0.0))
    (1.0, 0.25)

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze (2009), Adaptive regularization of weight vectors, Figure 1 with a diagonal
    matrix, Theorem 2.
    """

    r: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.r < math.inf:
            raise ValueError(f"r must be above 0 and finite, got {self.r!r}")

    def geometry(self) -> SecondOrder:
        """Return the geometry: a variance for every weight, initially one."""
        return SecondOrder()

    def narrow(self, variance: float, value: float) -> float:
        """Return the variance of a weight after an update by an example with this value: ``1/σ ← 1/σ + x²/r``."""
        return variance / (1.0 + variance * value * value / self.r)


@rule(AROW)
def step(arow: AROW, seen: Seen) -> tuple[float, float]:
    """Step ``(1 − y w·x)/(x·Σx + r)`` along ``Σx``."""
    return NO_SHRINK, max(0.0, 1.0 - seen.y * seen.score) / (seen.x_sqnorm + arow.r)
