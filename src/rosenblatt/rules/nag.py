"""NAG: normalised adaptive gradient steps, as Vowpal Wabbit takes them by default."""

import math
from typing import Any, NamedTuple

from rosenblatt.rules.base import NO_SHRINK, CoordinateRates, Seen, rule

ROUNDING = 1e-9  # a step that ends at a margin of one may leave as much of an error


class NAG(NamedTuple):
    """Normalised adaptive gradient on a power of the hinge loss, ``max(0, 1 − y w·x)^p``: fast starters on sparse text.

    **Update.** If ``e = 1 − y w·x > 0``, with the derivative ``g = −y p e^(p−1)`` of the loss by the score: for every
    feature of the example, where ``|x|`` exceeds the largest value ``M`` so far, ``w ← w M/|x|`` and ``M ← |x|``; then
    ``S ← S + (g x)²`` and

    ``w ← w + τ y Dx``, ``Dᵢᵢ = 1/(√Sᵢ Mᵢ ‖x/M‖)``.

    ``τ`` is the step of the gradient flow over the time ``η``, which never overshoots a margin of one (an invariant
    update): ``e (1 − exp(−2η x·Dx))/(x·Dx)`` with p = 2, ``min(η, e/(x·Dx))`` with p = 1.

    Features that were rarely seen in updates take long steps (``1/√S``), and the units of columns do not matter
    (``1/M``). The weights are not a sum of examples: there is no ledger.

    Parameters
    ----------
    eta : float
        The learning rate, ``η > 0``.
    power : float
        ``1 ≤ p ≤ 2``: 1 is the hinge loss, 2 its square, which starts faster.

    Notes
    -----
    **Guarantee.** Multiplying a column by a positive constant divides its weight by it and changes no prediction. On a
    row whose values are not larger than before, the margin after the step is at most one, or was so before. A bound on
    the regret is not claimed: that of the paper is for another schedule of rates.

    In contrast to Vowpal Wabbit, an example is normalised by its own length ``‖x/M‖`` and not by the mean length of the
    examples before, so that the state is that of the weights alone; and the loss is that of a margin of one on either
    side, where Vowpal Wabbit clips predictions to the range of the labels.

    Examples
    --------
    >>> from rosenblatt.rules import step
    >>> step(NAG(eta=0.5, power=1.0), Seen(score=0.0, y=1.0, x_sqnorm=4.0, w_sqnorm=0.0, updates=0.0, clock=0.0))
    (1.0, 0.25)
    >>> step(NAG(), Seen(score=0.0, y=1.0, x_sqnorm=0.0, w_sqnorm=0.0, updates=0.0, clock=0.0))  # of the derivative
    (1.0, 2.0)

    References
    ----------
    S. Ross, P. Mineiro, J. Langford (2013), Normalized online learning, Algorithm 3 (NAG). N. Karampatziakis,
    J. Langford (2011), Online importance weight aware updates, section 4.
    """

    eta: float = 0.5
    power: float = 2.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")
        if not 1.0 <= self.power <= 2.0:
            raise ValueError(f"power must be in [1, 2], got {self.power!r}")

    def geometry(self) -> CoordinateRates:
        """Return the geometry: every weight has ``M`` and ``√S``."""
        return CoordinateRates((0.0, 0.0))

    def add_gradient(self, numbers: Any, weight: float, gradient: float) -> Any:
        """Return ``M`` and ``√S`` of a weight after an example with this derivative of the loss by it."""
        largest, root = numbers
        return largest, math.sqrt(root * root + gradient * gradient)

    def rate(self, numbers: Any) -> float:
        """Return ``1/(√S M)``, zero for a weight without gradients."""
        largest, root = numbers
        return 1.0 / (root * largest) if root * largest > 0.0 else 0.0

    def possible(self, numbers: Any) -> Any:
        """Return which weights can have such numbers: ``√S ≥ 0``, and none without an ``M``."""
        largest, root = numbers
        return (root >= 0.0) & ((root == 0.0) | (largest > 0.0))


@rule(NAG)
def step(nag: NAG, seen: Seen) -> tuple[float, float]:
    """Return the size of the derivative of the loss, and given ``x·Dx`` the step of the gradient flow."""
    error = max(0.0, 1.0 - seen.y * seen.score)
    if error <= ROUNDING:
        return NO_SHRINK, 0.0
    p, size = nag.power, seen.x_sqnorm
    if size == 0.0:
        return NO_SHRINK, 2.0 * error if p == 2.0 else p * error ** (p - 1.0)
    if p == 2.0:
        return NO_SHRINK, -error * math.expm1(-2.0 * nag.eta * size) / size
    if p == 1.0:
        return NO_SHRINK, min(nag.eta, error / size)
    rest = max(error ** (2.0 - p) - p * (2.0 - p) * nag.eta * size, 0.0) ** (1.0 / (2.0 - p))
    return NO_SHRINK, (error - rest) / size
