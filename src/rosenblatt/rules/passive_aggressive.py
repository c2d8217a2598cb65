"""Passive-aggressive: the smallest step that gives the example a functional margin of one."""

from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule


class PassiveAggressive(NamedTuple):
    """PA-I: the smallest step to functional margin 1, at most ``C`` long; ``C=inf`` is the hard variant.

    **Update.** With ``ℓ = max(0, 1 − y w·x)``: ``τ = min(C, ℓ/‖x‖²)`` and ``w ← w + τ y x``. The bias is the weight
    of a constant input of 1, which counts in ``‖x‖²``, so after a step that ``C`` does not limit ``y (w·x) = 1``
    exactly.

    Parameters
    ----------
    C : float
        The largest step, ``C > 0``. Small values limit the effect of noisy examples.

    Notes
    -----
    **Guarantee.** On examples of norm at most ``R`` separated with margin ``γ``, from zero weights, at most
    ``max(R², 1/C)/γ²`` mistakes (:meth:`mistakes_at_most`).

    Examples
    --------
    >>> PassiveAggressive(C=float("inf")).mistakes_at_most(radius=2.0, margin=0.5)
    16.0

    References
    ----------
    K. Crammer et al. (2006), Online passive-aggressive algorithms, JMLR 7, Figure 1, Theorems 2 and 4.
    """

    C: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        check_C(self.C)

    def mistakes_at_most(self, radius: float, margin: float, start_norm: float = 0.0) -> float:
        """Bound the mistakes on separable examples, from weights of norm ``start_norm``."""
        return max(radius**2, 1 / self.C) * (start_norm + 1 / margin) ** 2

    def bound_coefficients(self, radius: float) -> tuple[float, float]:
        """Return ``(a, b)`` with mistakes ≤ ``a‖u‖² + b·Σ hinge(u)`` for every ``u``, from zero weights."""
        a = max(radius**2, 1 / self.C)
        return a, 2 * self.C * a


@rule(PassiveAggressive)
def step(pa: PassiveAggressive, seen: Seen) -> tuple[float, float]:
    """Step ``min(C, ℓ/‖x‖²)``; an example that is all zero makes no step."""
    loss = 1.0 - seen.y * seen.score
    if loss > 0.0 and seen.x_sqnorm > 0.0:
        return NO_SHRINK, min(pa.C, loss / seen.x_sqnorm)
    return NO_SHRINK, 0.0


def check_C(C: float) -> None:
    """Raise ValueError unless ``C > 0``."""
    if not C > 0.0:
        raise ValueError(f"C must be above 0, got {C!r}")
