"""PAUM: the perceptron with uneven margins, for data in which one class is rare."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule
from rosenblatt.rules.rosenblatt import check_eta


class PAUM(NamedTuple):
    """The perceptron with uneven margins: a larger margin for one class than for the other.

    **Update.** If ``y (w·x) ≤ τ₊`` for a positive example, ``≤ τ₋`` for a negative one, then ``w ← w + η y x``.
    With several joint classes every example counts as a positive one; use ``multi_class="ovr"``.

    Parameters
    ----------
    eta : float
        The learning rate, ``0 < η ≤ 1``.
    tau_plus, tau_minus : float
        The required functional margins; a rare positive class needs ``τ₊`` well above ``τ₋``.

    Notes
    -----
    **Guarantee.** If a unit vector separates with margin ``γ`` and ``‖x‖ ≤ R``, at most
    ``(R² + 2 max(τ₊, τ₋)/η)/γ² + 2‖w₀‖/(ηγ)`` updates are made, mistakes among them (:meth:`mistakes_at_most`), and
    after an epoch without an update the boundary is at least ``τ₊/‖w‖`` from the positives and ``τ₋/‖w‖`` from the
    negatives.

    Examples
    --------
    >>> PAUM(tau_plus=1.0, tau_minus=0.0).mistakes_at_most(radius=2.0, margin=0.5)
    24.0

    References
    ----------
    Y. Li, H. Zaragoza, R. Herbrich, J. Shawe-Taylor, J. Kandola (2002), The perceptron algorithm with uneven
    margins, Algorithm 1 and Theorem 2, with the bias as the weight of a constant input of 1.
    """

    eta: float = 1.0
    tau_plus: float = 1.0
    tau_minus: float = 0.1

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        check_eta(self.eta)
        for name in ("tau_plus", "tau_minus"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be zero or more, got {getattr(self, name)!r}")

    def mistakes_at_most(self, radius: float, margin: float, start_norm: float = 0.0) -> float:
        """Bound the updates on separable examples, from weights of norm ``start_norm``."""
        from_zero = (radius**2 + 2 * max(self.tau_plus, self.tau_minus) / self.eta) / margin**2
        return from_zero + 2 * start_norm / (self.eta * margin)

    def bound_coefficients(self, radius: float) -> tuple[float, float]:
        """Return ``(a, b)`` with updates ≤ ``a‖u‖² + b·Σ hinge(u)`` for every ``u``, from zero weights."""
        return radius**2 + 2 * max(self.tau_plus, self.tau_minus) / self.eta, 2.0


@rule(PAUM)
def step(paum: PAUM, seen: Seen) -> tuple[float, float]:
    """Step ``η`` where the functional margin is not above the one that its class requires."""
    required = paum.tau_plus if seen.y > 0.0 else paum.tau_minus
    return NO_SHRINK, paum.eta if seen.y * seen.score <= required else 0.0
