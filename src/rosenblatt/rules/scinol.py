"""ScInOL: no learning rate, and the same predictions whatever the units of the columns."""

import math
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.rules.base import NO_SHRINK, CoordinateSums, Seen, rule

TINY = 1e-300  # a divisor for features whose every value was zero: their sums are zero too


class ScInOL(NamedTuple):
    """Scale-invariant online learning, the second algorithm of its paper, on the log-loss.

    **Update.** Every weight bets a part of its wealth ``η`` on the sign of the next gradient. Before an example is
    scored, ``M ← max(M, |x|)`` for every feature and

    ``θ = G/√(S + M²)``, ``w = max(−1, min(θ, 1)) η / (2√(S + M²))``;

    afterwards, with the derivative ``g = −y σ(−y w·x)`` of the loss by the score,

    ``η ← η − g x w``, ``G ← G − g x``, ``S ← S + (g x)²``.

    Multiplying a column by a positive constant divides its weight by it: no prediction changes, and nothing is to be
    tuned. Rows of files and streams need no scaling; centring still helps.

    A visit of weight ``h`` has the gradient ``h g``; no visit costs more than half of a wealth. The weights are not a
    sum of examples: there is no ledger, and no start from given weights.

    Parameters
    ----------
    epsilon : float
        The wealth that every weight starts with, above 0: what the algorithm may lose per feature against zero weights.

    Notes
    -----
    **Guarantee.** On every sequence and for every ``u``, with a loss whose derivative is at most 1 in size:

    ``Σ ℓ_t(w_t) − Σ ℓ_t(u) ≤ Σᵢ ε + 2 |uᵢ| Dᵢ max(0, ln(2 e^¼ |uᵢ| Dᵢ (1 + Sᵢ/mᵢ²)^c / ε) − 1)``

    with ``Dᵢ = √(Sᵢ + Mᵢ²)`` at the end, ``mᵢ`` the first ``|xᵢ|`` above zero, ``c = 1/(2 ln 2)``, over the features
    that were not always zero (:meth:`regret_at_most`). The right side does not depend on the units of the columns.
    It is the potential argument of the paper: ``ln η`` grows by at least the change of ``½h(G/D)``, ``h`` the Huber
    function, less ``(g x)²/(2D²)``.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> X, y = [[2.0, 100.0], [1.0, 300.0], [-1.0, -200.0]], [1, 1, 0]
    >>> Perceptron("scinol").fit(X, y).predict([[1.0, 100.0]])
    array([1])

    References
    ----------
    M. Kempka, W. Kotłowski, M. Warmuth (2019), Adaptive scale-invariant online algorithms for learning linear models,
    Algorithm 2 (ScInOL2).
    """

    epsilon: float = 1.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be above 0 and finite, got {self.epsilon!r}")

    def geometry(self) -> CoordinateSums:
        """Return the geometry: every weight has ``M``, ``G``, ``S`` and ``η``."""
        return CoordinateSums((0.0, 0.0, 0.0, self.epsilon))

    def add_gradient(self, numbers: Any, weight: float, gradient: float) -> Any:
        """Return ``M``, ``G``, ``S`` and ``η`` of a weight after an example with this derivative of the loss by it."""
        largest, total, squares, wealth = numbers
        # More than half is lost only by visits that weigh more than 1.
        rest = max(wealth - gradient * weight, 0.5 * wealth)
        return largest, total - gradient, squares + gradient * gradient, rest

    def weight_of(self, numbers: Any) -> Any:
        """Return ``max(−1, min(θ, 1)) η / (2√(S + M²))``, of numbers or of arrays."""
        largest, total, squares, wealth = numbers
        scale = np.maximum(np.sqrt(squares + largest * largest), TINY)
        return np.minimum(np.maximum(total / scale, -1.0), 1.0) * wealth / (2.0 * scale)

    def negated(self, numbers: Any) -> Any:
        """Return the numbers of the opposite weight: another sign for ``G``."""
        largest, total, squares, wealth = numbers
        return largest, 0.0 - total, squares, wealth

    def halved(self, numbers: Any) -> Any:
        """Return the numbers of half the weight: half the wealth."""
        largest, total, squares, wealth = numbers
        return largest, total, squares, wealth / 2.0

    def possible(self, numbers: Any) -> Any:
        """Return which weights can have such numbers: ``S ≥ 0``, ``η > 0``, and no ``G`` without ``S``."""
        _, total, squares, wealth = numbers
        return (squares >= 0.0) & (wealth > 0.0) & ((total == 0.0) | (squares > 0.0))

    def regret_at_most(self, reference: Any, largest: Any, squares: Any, first: Any) -> float:
        """Bound the loss above that of weights ``reference``: one number for every feature that was not always zero.

        >>> numbers = {"largest": [1.0, 1.0], "squares": [3.0, 8.0], "first": [1.0, 0.5]}
        >>> round(ScInOL().regret_at_most(reference=[0.0, 2.0], **numbers), 2)
        53.09
        """
        u, M, S, m = (np.asarray(each, dtype=np.float64) for each in (reference, largest, squares, first))
        product = np.abs(u) * np.sqrt(S + M * M)
        logarithm = np.log(2.0 * math.exp(0.25) * np.maximum(product, TINY) / self.epsilon)
        logarithm += np.log1p(S / (m * m)) / (2.0 * math.log(2.0))
        return float((self.epsilon + 2.0 * product * np.maximum(logarithm - 1.0, 0.0)).sum())


@rule(ScInOL)
def step(scinol: ScInOL, seen: Seen) -> tuple[float, float]:
    """Return the size of the derivative of the log-loss: the probability given to the wrong class."""
    return NO_SHRINK, 1.0 / (1.0 + math.exp(min(seen.y * seen.score, 700.0)))
