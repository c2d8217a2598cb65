"""Widrow and Hoff's delta rule: a step proportional to the error."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule


class WidrowHoff(NamedTuple):
    """The delta rule (LMS, Adaline): steps proportional to the error, for real-valued targets or labels ±1.

    **Update.** ``w ← w + η (y − w·x) x``, at every example.

    Parameters
    ----------
    eta : float
        The learning rate, ``η > 0``. Stable while ``ηR² < 2``; above that the weights may diverge.

    Notes
    -----
    **Guarantee.** With ``‖x‖ ≤ R`` and ``ηR² < 1``, on every sequence and for every ``u``, from zero weights:
    ``Σ (y − w_t·x)² ≤ (Σ (y − u·x)² + ‖u‖²/η) / (1 − ηR²)`` (:meth:`loss_at_most`).

    Examples
    --------
    >>> WidrowHoff(eta=0.125).loss_at_most(radius=2.0, reference_loss=1.0, reference_sqnorm=0.5)
    10.0

    References
    ----------
    B. Widrow and M. Hoff (1960), Adaptive switching circuits. N. Cesa-Bianchi, P. Long, M. Warmuth (1996),
    Worst-case quadratic loss bounds for prediction using linear functions and gradient descent, Theorem 4.
    """

    eta: float = 0.01

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")

    def loss_at_most(self, radius: float, reference_loss: float, reference_sqnorm: float) -> float:
        """Bound the summed squared error by that of weights of squared norm ``reference_sqnorm``."""
        denominator = 1.0 - self.eta * radius**2
        return (reference_loss + reference_sqnorm / self.eta) / denominator if denominator > 0.0 else math.inf


@rule(WidrowHoff)
def step(widrow_hoff: WidrowHoff, seen: Seen) -> tuple[float, float]:
    """Step by the error; where the truth is a class, ``tau`` counts along ``y``."""
    error = seen.y - seen.score
    return NO_SHRINK, widrow_hoff.eta * (error if seen.real else seen.y * error)
