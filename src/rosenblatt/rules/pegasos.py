"""Pegasos: the support vector machine, one example at a time."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import Seen, rule


class Pegasos(NamedTuple):
    """Stochastic subgradient steps on the hinge loss plus ``λ/2 ‖w‖²``, projected onto a ball that holds the optimum.

    **Update.** At clock ``t`` with ``η = 1/(λt)``: ``w ← (1 − ηλ) w``, plus ``η y x`` if ``y (w·x) < 1`` before, and
    then ``w ← w · min(1, 1/(√λ ‖w‖))``. Shrinking costs one multiplication, whatever the number of features.

    Parameters
    ----------
    lam : float
        ``λ > 0``, the weight of the regulariser. The bias is a weight like any other and is regularised too.

    Notes
    -----
    **Guarantee.** With ``f_t(w) = λ/2 ‖w‖² + max(0, 1 − y_t w·x_t)`` and ``‖x‖ ≤ R``, on every sequence and for every
    ``u``: ``Σ f_t(w_t) ≤ Σ f_t(u) + (√λ + R)² (1 + ln T)/(2λ)`` (:meth:`regret_at_most`).

    Examples
    --------
    >>> round(Pegasos(lam=0.5).regret_at_most(radius=1.0, examples=1), 6)
    2.914214

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter (2011), Pegasos: primal estimated sub-gradient solver for
    SVM, Mathematical Programming 127, Figure 1 with the projection, Theorem 1.
    """

    lam: float = 1e-4

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.lam < math.inf:
            raise ValueError(f"lam must be above 0 and finite, got {self.lam!r}")

    def regret_at_most(self, radius: float, examples: int) -> float:
        """Bound ``Σ f_t(w_t) − Σ f_t(u)`` after this many examples, for every ``u``."""
        return (math.sqrt(self.lam) + radius) ** 2 * (1.0 + math.log(examples)) / (2.0 * self.lam)


@rule(Pegasos)
def step(pegasos: Pegasos, seen: Seen) -> tuple[float, float]:
    """Shrink by ``1 − 1/t``, step ``1/(λt)`` where the hinge loss is above 0, and project onto the ball."""
    t = seen.clock + 1.0
    shrink = 1.0 - 1.0 / t
    eta = 1.0 / (pegasos.lam * t) if seen.y * seen.score < 1.0 else 0.0
    sqnorm = shrink * shrink * seen.w_sqnorm
    sqnorm += eta * (2.0 * shrink * seen.y * seen.score + eta * seen.x_sqnorm)
    projection = 1.0 / math.sqrt(max(1.0, pegasos.lam * sqnorm))
    return projection * shrink, projection * eta
