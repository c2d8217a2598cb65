"""The logistic rule: every example makes an update, a smaller one the more confident the model is."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import Seen, rule


class Logistic(NamedTuple):
    """Online gradient steps on ``log(1 + exp(−y w·x)) + λ/2 ‖w‖²``: online logistic regression.

    **Update.** ``w ← (1 − ηλ) w + η σ(−y w·x) y x``, with ``σ(z) = 1/(1 + exp(−z))``: the probability that the
    model gave to the wrong class is the size of the step.

    Parameters
    ----------
    eta : float
        The learning rate, ``η > 0``; ``1/R²`` is a safe one.
    lam : float
        ``λ ≥ 0``, the weight of the regulariser, ``ηλ < 1``. Shrinking costs one multiplication per example.

    Notes
    -----
    **Guarantee.** With ``λ = 0``, ``‖x‖ ≤ R`` and ``ηR² < 2``, on every sequence and for every ``u``, from zero
    weights: ``Σ ℓ_t(w_t) ≤ (Σ ℓ_t(u) + ‖u‖²/(2η)) / (1 − ηR²/2)`` where ``ℓ`` is the log-loss (:meth:`loss_at_most`);
    a mistake costs at least ``ln 2``, so this bounds the mistakes too.

    Examples
    --------
    >>> Logistic(eta=0.25).loss_at_most(radius=2.0, reference_loss=1.0, reference_sqnorm=3.0)
    14.0

    References
    ----------
    N. Cesa-Bianchi and G. Lugosi (2006), Prediction, learning, and games, Theorem 11.1 and section 11.4: online
    gradient descent on a loss whose gradient is bounded by itself.
    """

    eta: float = 0.1
    lam: float = 0.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")
        if not (self.lam >= 0.0 and self.eta * self.lam < 1.0):
            raise ValueError(f"lam must be zero or more and below 1/eta, got {self.lam!r}")

    def loss_at_most(self, radius: float, reference_loss: float, reference_sqnorm: float) -> float:
        """Bound the summed log-loss by that of weights of squared norm ``reference_sqnorm``."""
        denominator = 1.0 - self.eta * radius**2 / 2.0
        return (
            (reference_loss + reference_sqnorm / (2.0 * self.eta)) / denominator
            if denominator > 0.0
            else math.inf
        )


@rule(Logistic)
def step(logistic: Logistic, seen: Seen) -> tuple[float, float]:
    """Step ``η`` times the probability given to the wrong class."""
    return 1.0 - logistic.eta * logistic.lam, logistic.eta / (1.0 + math.exp(min(seen.y * seen.score, 700.0)))
