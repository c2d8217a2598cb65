"""ALMA: an approximate maximal margin by steps that shrink as corrections mount."""

import math
from typing import NamedTuple

from rosenblatt.rules._registry import NO_SHRINK, Seen, rule


class ALMA(NamedTuple):
    """ALMA₂: reach the fraction ``1 − α`` of the largest margin, with weights kept inside the unit ball.

    **Update.** At the k-th correction, with ``x̂ = x/‖x‖``: if ``y (w·x̂) ≤ (1 − α) B/√k`` then
    ``w ← (w + (C/√k) y x̂) / max(1, ‖w + (C/√k) y x̂‖)``. The norm is of all coordinates, those that the
    example lacks included.

    Parameters
    ----------
    alpha : float
        How far from the largest margin is near enough, ``0 < α ≤ 1``.
    C : float
        The length of the first step. The guarantee is for ``√2``, and ``B = √8/α``.

    Guarantee
    ---------
    If a unit vector separates the normalised examples with margin ``γ``, at most
    ``(2/γ²)(2/α − 1)² + 8/α − 4`` corrections are made, and a pass without one leaves a hyperplane whose
    margin on the normalised examples is at least ``(1 − α) γ`` (:meth:`corrections_at_most`).

    Examples
    --------
    >>> ALMA(alpha=1.0).corrections_at_most(margin=0.5)
    12.0

    References
    ----------
    C. Gentile (2001), A new approximate maximal margin classification algorithm, JMLR 2, Figure 1 and
    Theorem 3 with p = 2. For other p the weights are no longer a sum of examples.
    """

    alpha: float = 0.9
    C: float = math.sqrt(2.0)

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.alpha <= 1.0:
            raise ValueError(f"alpha must be in (0, 1], got {self.alpha!r}")
        if not 0.0 < self.C < math.inf:
            raise ValueError(f"C must be above 0 and finite, got {self.C!r}")

    def corrections_at_most(self, margin: float) -> float:
        """Bound the updates on examples whose normalised margin is ``margin``, from zero weights, ``C = √2``."""
        return 2.0 / margin**2 * (2.0 / self.alpha - 1.0) ** 2 + 8.0 / self.alpha - 4.0


@rule(ALMA)
def step(alma: ALMA, seen: Seen) -> tuple[float, float]:
    """Step ``C/√k`` along the normalised example, then back into the unit ball."""
    norm = math.sqrt(seen.x_sqnorm)
    root = math.sqrt(seen.updates + 1.0)
    if norm == 0.0 or seen.y * seen.score > norm * (1.0 - alma.alpha) * math.sqrt(8.0) / (alma.alpha * root):
        return NO_SHRINK, 0.0
    eta = alma.C / root
    reach = math.sqrt(max(seen.w_sqnorm + eta * (2.0 * seen.y * seen.score / norm + eta), 0.0))
    back = 1.0 / max(1.0, reach)
    return back, back * eta / norm
