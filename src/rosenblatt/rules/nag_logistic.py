"""NAG on the log-loss: every example makes an update, a smaller one the more confident the model is."""

import math
from typing import Any, NamedTuple

from rosenblatt.rules.base import NO_SHRINK, CoordinateRates, Seen, rule

CONFIDENT = 30.0  # above this margin the flow is the gradient step to the last bit
SHORT = 1e-6  # below this time of the flow, too
NEWTON_STEPS = 5  # from an error of at most 0.3, which each of them squares


class NAGLogistic(NamedTuple):
    """Normalised adaptive gradient on the log-loss, ``log(1 + exp(−y w·x))``.

    **Update.** That of :class:`NAG` with the derivative ``g = −y σ(−y w·x)``, ``σ(z) = 1/(1 + exp(−z))``. The gradient
    flow over the time ``η`` takes the margin ``m = y w·x`` to the ``m'`` with ``m' + exp(m') = m + exp(m) + η x·Dx``,
    and ``τ = (m' − m)/(x·Dx)``.

    Parameters
    ----------
    eta : float
        The learning rate, ``η > 0``.

    Notes
    -----
    **Guarantee.** Multiplying a column by a positive constant divides its weight by it and changes no prediction; a
    bound on the regret is not claimed.

    Examples
    --------
    >>> from rosenblatt.rules import step
    >>> step(NAGLogistic(), Seen(score=0.0, y=1.0, x_sqnorm=0.0, w_sqnorm=0.0, updates=0.0, clock=0.0))
    (1.0, 0.5)

    References
    ----------
    S. Ross, P. Mineiro, J. Langford (2013), Normalized online learning, Algorithm 3 (NAG). N. Karampatziakis,
    J. Langford (2011), Online importance weight aware updates, section 4.
    """

    eta: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.eta < math.inf:
            raise ValueError(f"eta must be above 0 and finite, got {self.eta!r}")

    def geometry(self) -> CoordinateRates:
        """Return the geometry: every weight has the largest value and the root of the sum of squared gradients."""
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


@rule(NAGLogistic)
def step(nag: NAGLogistic, seen: Seen) -> tuple[float, float]:
    """Return the probability given to the wrong class, and given ``x·Dx`` the step of the gradient flow."""
    margin, size = seen.y * seen.score, seen.x_sqnorm
    wrong = 1.0 / (1.0 + math.exp(min(margin, 700.0)))
    if size == 0.0:
        return NO_SHRINK, wrong
    if margin > CONFIDENT or nag.eta * size < SHORT:
        return NO_SHRINK, nag.eta * wrong
    target = margin + math.exp(margin) + nag.eta * size
    after = math.log(0.86 * target + 0.01) if target >= 1.0 else 0.8 * target - 0.65
    for _ in range(NEWTON_STEPS):
        grown = math.exp(after)
        after -= (after + grown - target) / (1.0 + grown)
    return NO_SHRINK, max(after - margin, 0.0) / size
