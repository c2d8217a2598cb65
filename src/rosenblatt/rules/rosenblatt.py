"""Rosenblatt's rule: on a mistake, add the example to the weights."""

import math
from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule


class Rosenblatt(NamedTuple):
    """The perceptron rule of Rosenblatt: on a mistake, add ``η y x`` to the weights.

    **Update.** If ``y (w·x) ≤ 0`` then ``w ← w + η y x``. A score of exactly zero is a mistake, so the first example
    always makes an update.

    Parameters
    ----------
    eta : float
        The learning rate, ``η > 0``. Starting from zero it only scales the weights.

    Notes
    -----
    **Guarantee.** If some unit vector separates the examples with margin ``γ`` and ``‖x‖ ≤ R``, at most
    ``R²/γ² + 2‖w₀‖/(ηγ)`` mistakes are made, in any order and any number of epochs (:meth:`mistakes_at_most`).

    Examples
    --------
    >>> Rosenblatt().mistakes_at_most(radius=2.0, margin=0.5)
    16.0

    References
    ----------
    F. Rosenblatt (1958), The perceptron: a probabilistic model for information storage and organization in
    the brain. A. Novikoff (1962), On convergence proofs on perceptrons, Theorem 1.
    """

    eta: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")

    def mistakes_at_most(self, radius: float, margin: float, start_norm: float = 0.0) -> float:
        """Bound the mistakes on separable examples, from weights of norm ``start_norm``."""
        return (radius / margin) ** 2 + 2 * start_norm / (self.eta * margin)

    def bound_coefficients(self, radius: float) -> tuple[float, float]:
        """Return ``(a, b)`` with mistakes ≤ ``a‖u‖² + b·Σ hinge(u)`` for every ``u``, from zero weights."""
        return radius**2, 2.0


@rule(Rosenblatt)
def step(rosenblatt: Rosenblatt, seen: Seen) -> tuple[float, float]:
    """Step ``η`` on a mistake, else zero."""
    return NO_SHRINK, rosenblatt.eta if seen.y * seen.score <= 0.0 else 0.0


def check_eta(eta: float) -> None:
    """Raise ValueError unless ``0 < eta ≤ 1``."""
    if not 0.0 < eta <= 1.0:
        raise ValueError(f"eta must be in (0, 1], got {eta!r}")
