"""The margin perceptron: also update on correct examples whose margin is too small."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule
from rosenblatt.rules.rosenblatt import check_eta


class Margin(NamedTuple):
    """The perceptron with margin: update until every example has a functional margin above ``β``.

    **Update.** If ``y (w·x) ≤ β`` then ``w ← w + η y x``.

    Parameters
    ----------
    eta : float
        The learning rate, ``0 < η ≤ 1``.
    beta : float
        The required functional margin, ``β ≥ 0``; zero gives Rosenblatt's rule.

    Notes
    -----
    **Guarantee.** If a unit vector separates with margin ``γ`` and ``‖x‖ ≤ R``, at most
    ``(R² + 2β/η)/γ² + 2‖w₀‖/(ηγ)`` updates are made, mistakes among them (:meth:`mistakes_at_most`), and
    after an epoch without an update every example has ``y (w·x) > β``.

    Examples
    --------
    >>> Margin(beta=1.0).mistakes_at_most(radius=2.0, margin=0.5)
    24.0

    References
    ----------
    W. Krauth and M. Mézard (1987), Learning algorithms with optimal stability in neural networks.
    Y. Li et al. (2002), The perceptron algorithm with uneven margins, Algorithm 1 with equal margins.
    """

    eta: float = 1.0
    beta: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        check_eta(self.eta)
        if not 0.0 <= self.beta < math.inf:
            raise ValueError(f"beta must be zero or more, got {self.beta!r}")

    def mistakes_at_most(self, radius: float, margin: float, start_norm: float = 0.0) -> float:
        """Bound the updates on separable examples, from weights of norm ``start_norm``."""
        from_zero = (radius**2 + 2 * self.beta / self.eta) / margin**2
        return from_zero + 2 * start_norm / (self.eta * margin)

    def bound_coefficients(self, radius: float) -> tuple[float, float]:
        """Return ``(a, b)`` with updates ≤ ``a‖u‖² + b·Σ hinge(u)`` for every ``u``, from zero weights."""
        return radius**2 + 2 * self.beta / self.eta, 2.0


@rule(Margin)
def step(margin: Margin, seen: Seen) -> tuple[float, float]:
    """Step ``η`` where the functional margin is not above ``β``."""
    return NO_SHRINK, margin.eta if seen.y * seen.score <= margin.beta else 0.0
