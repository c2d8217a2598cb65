"""NORMA: Rosenblatt's rule with an L2 penalty, which shrinks the weights at every example."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import Seen, rule


class NORMA(NamedTuple):
    """Online gradient steps on ``max(0, ρ − y w·x) + λ/2 ‖w‖²``: with ``ρ = 0``, the perceptron with an L2 penalty.

    **Update.** ``w ← (1 − ηλ) w``, plus ``η y x`` if ``y (w·x) ≤ ρ`` before. Shrinking costs one multiplication,
    whatever the number of features.

    Parameters
    ----------
    eta : float
        The learning rate, ``η > 0``.
    lam : float
        ``λ ≥ 0``, the weight of the penalty, ``ηλ < 1``. The bias is a weight like any other and is penalised too.
    rho : float
        ``ρ ≥ 0``, the score below which an example makes an update.

    Notes
    -----
    **Guarantee.** With ``f_t(w) = λ/2 ‖w‖² + max(0, ρ − y_t w·x_t)`` and ``‖x‖ ≤ R``, from zero weights, on every
    sequence of ``T`` examples and for every ``u``: ``Σ f_t(w_t) ≤ Σ f_t(u) + ‖u‖²/(2η) + 2ηR²T``
    (:meth:`regret_at_most`): the weights stay within ``‖w‖ ≤ R/λ``, so no gradient is longer than ``2R``.

    Examples
    --------
    >>> NORMA(eta=0.5).regret_at_most(radius=1.0, examples=10, reference_sqnorm=4.0)
    14.0

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson (2004), Online learning with kernels, IEEE Transactions on Signal Processing
    52, Figure 1. M. Zinkevich (2003), Online convex programming and generalized infinitesimal gradient ascent,
    Theorem 1 (the regret).
    """

    eta: float = 1.0
    lam: float = 1e-4
    rho: float = 0.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")
        if not (self.lam >= 0.0 and self.eta * self.lam < 1.0):
            raise ValueError(f"lam must be zero or more and below 1/eta, got {self.lam!r}")
        if not 0.0 <= self.rho < math.inf:
            raise ValueError(f"rho must be zero or more and finite, got {self.rho!r}")

    def regret_at_most(self, radius: float, examples: int, reference_sqnorm: float) -> float:
        """Bound ``Σ f_t(w_t) − Σ f_t(u)`` after this many examples, for ``u`` with this squared norm."""
        return reference_sqnorm / (2.0 * self.eta) + 2.0 * self.eta * radius**2 * examples


@rule(NORMA)
def step(norma: NORMA, seen: Seen) -> tuple[float, float]:
    """Shrink by ``1 − ηλ``, and step ``η`` where the score is at most ``ρ``."""
    return 1.0 - norma.eta * norma.lam, norma.eta if seen.y * seen.score <= norma.rho else 0.0
