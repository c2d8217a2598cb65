"""ALMA: an approximately maximal margin, by steps that shrink with the number of corrections."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Euclidean, PNorm, Seen, rule


class ALMA(NamedTuple):
    """ALMA_p: reach the fraction ``1 − α`` of the largest margin, with weights kept inside the unit ball.

    **Update.** At the k-th correction, with ``x̂ = x/‖x‖_p``: if ``y (w·x̂) ≤ (1 − α) B √((p−1)/k)`` then
    ``θ ← θ + C/√((p−1)k) y x̂``, and ``θ ← θ / max(1, ‖θ‖_p)``. The weights are ``θ`` seen through the p-norm link,
    ``wᵢ = sign(θᵢ) |θᵢ|^(p−1) / ‖θ‖_p^(p−2)``, so that ``‖w‖_q = ‖θ‖_p ≤ 1`` with ``1/p + 1/q = 1``; with p = 2 they
    are ``θ`` itself. The norms are of all coordinates, those that the example lacks included.

    With p above 2 the weights are not a sum of examples: there is no ledger and no dual form, ``last`` is the link of
    ``θ``, and ``averaged`` the link of the mean of ``θ`` over the clock, which costs nothing per example.

    Parameters
    ----------
    alpha : float
        The tolerated relative distance from the largest margin, ``0 < α ≤ 1``.
    C : float
        The length of the first step, times ``√(p−1)``. The guarantee is for ``√2``, and ``B = √8/α``.
    p : float
        Which norm measures the examples, ``2 ≤ p < ∞``. A large one (about ``2 ln d``) suits many features of which
        few matter: the margin is then measured against hyperplanes with a small sum of ``|wᵢ|``.

    Notes
    -----
    **Guarantee.** If a vector with ``‖u‖_q = 1`` separates the examples, each divided by its p-norm, with margin
    ``γ``, at most ``(2(p−1)/γ²)(2/α − 1)² + 8/α − 4`` corrections are made, and after an epoch without one the margin
    on those examples, divided by ``‖w‖_q``, is at least ``(1 − α) γ`` (:meth:`corrections_at_most`).

    Examples
    --------
    >>> ALMA(alpha=1.0).corrections_at_most(margin=0.5)
    12.0
    >>> ALMA(alpha=1.0, p=4.0).corrections_at_most(margin=0.5)
    28.0

    References
    ----------
    C. Gentile (2001), A new approximate maximal margin classification algorithm, JMLR 2, Figure 1 and Theorem 3.
    """

    alpha: float = 0.9
    C: float = math.sqrt(2.0)
    p: float = 2.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.alpha <= 1.0:
            raise ValueError(f"alpha must be in (0, 1], got {self.alpha!r}")
        if not 0.0 < self.C < math.inf:
            raise ValueError(f"C must be above 0 and finite, got {self.C!r}")
        if not 2.0 <= self.p < math.inf:
            raise ValueError(f"p must be 2 or more and finite, got {self.p!r}")

    def geometry(self) -> Euclidean | PNorm:
        """Return the geometry: with p above 2, weights seen through the link and projected onto the unit ball."""
        return PNorm(self.p, max_norm=1.0) if self.p > 2.0 else Euclidean()

    def corrections_at_most(self, margin: float) -> float:
        """Bound the updates on examples whose normalised margin is ``margin``, from zero weights, ``C = √2``."""
        return 2.0 * (self.p - 1.0) / margin**2 * (2.0 / self.alpha - 1.0) ** 2 + 8.0 / self.alpha - 4.0


@rule(ALMA)
def step(alma: ALMA, seen: Seen) -> tuple[float, float]:
    """Step ``C/√((p−1)k)`` along the normalised example, then back into the unit ball.

    With p above 2 ``x_sqnorm`` is ``(p−1)‖x‖_p²``, which takes the place of ``‖x‖²`` throughout the paper, and the
    geometry projects onto the ball: the norm after the step does not follow from the score.
    """
    norm = math.sqrt(seen.x_sqnorm)
    root = math.sqrt(seen.updates + 1.0)
    if norm == 0.0 or seen.y * seen.score > norm * (1.0 - alma.alpha) * math.sqrt(8.0) / (alma.alpha * root):
        return NO_SHRINK, 0.0
    eta = alma.C / root
    if alma.p > 2.0:
        return NO_SHRINK, eta / norm
    new_norm = math.sqrt(max(seen.w_sqnorm + eta * (2.0 * seen.y * seen.score / norm + eta), 0.0))
    shrink = 1.0 / max(1.0, new_norm)
    return shrink, shrink * eta / norm
