"""Passive-aggressive with squared slack: steps grow with the loss, but do not remove all of it."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule
from rosenblatt.rules.passive_aggressive import check_C


class PassiveAggressiveSquared(NamedTuple):
    """PA-II: the step that trades its length against the square of the remaining loss.

    **Update.** With ``ℓ = max(0, 1 − y w·x)``: ``τ = ℓ / (‖x‖² + 1/(2C))`` and ``w ← w + τ y x``.

    Parameters
    ----------
    C : float
        The weight of the loss against the length of the step, ``C > 0``; ``C=inf`` is the hard variant.

    Notes
    -----
    **Guarantee.** On examples of norm at most ``R`` separated with margin ``γ``, from zero weights, at most
    ``(R² + 1/(2C))/γ²`` mistakes (:meth:`mistakes_at_most`).

    Examples
    --------
    >>> PassiveAggressiveSquared(C=0.5).mistakes_at_most(radius=2.0, margin=0.5)
    20.0

    References
    ----------
    K. Crammer et al. (2006), Online passive-aggressive algorithms, JMLR 7, Figure 1, Theorem 5.
    """

    C: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        check_C(self.C)

    def mistakes_at_most(self, radius: float, margin: float, start_norm: float = 0.0) -> float:
        """Bound the mistakes on separable examples, from weights of norm ``start_norm``."""
        return (radius**2 + 1 / (2 * self.C)) * (start_norm + 1 / margin) ** 2

    def bound_coefficients(self, radius: float) -> tuple[float, float]:
        """Return ``(a, inf)``: mistakes ≤ ``a‖u‖²`` for every separating ``u``; its other bound squares the hinge."""
        return radius**2 + 1 / (2 * self.C), math.inf


@rule(PassiveAggressiveSquared)
def step(pa: PassiveAggressiveSquared, seen: Seen) -> tuple[float, float]:
    """Step ``ℓ / (‖x‖² + 1/(2C))``."""
    loss = 1.0 - seen.y * seen.score
    denominator = seen.x_sqnorm + 0.5 / pa.C
    if loss > 0.0 and denominator > 0.0:
        return NO_SHRINK, loss / denominator
    return NO_SHRINK, 0.0
