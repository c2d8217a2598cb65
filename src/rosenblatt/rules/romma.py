"""ROMMA: the shortest weights that satisfy the constraint of this example and a relaxation of all earlier ones."""

from typing import NamedTuple

from rosenblatt.rules.base import NO_SHRINK, Seen, rule

MAX_SQNORM = 1e60  # ‖w‖² of weights with a margin of 1e-30; they still fit into a float32
MIN_SQSINE = 1e-12  # squared sine of the angle below which x and −w count as one direction


class ROMMA(NamedTuple):
    """The relaxed online maximum margin algorithm: project onto two half-spaces instead of all.

    **Update.** If ``y (w·x) ≤ margin`` then ``w ← argmin ‖v‖`` subject to ``y (v·x) ≥ 1`` and ``v·w ≥ ‖w‖²``:
    ``w ← c w + d y x`` with ``c = (‖x‖²‖w‖² − y w·x)/D``, ``d = ‖w‖²(1 − y w·x)/D``, ``D = ‖x‖²‖w‖² − (w·x)²``.
    The first example, an example that alone implies the earlier constraint, and one that contradicts it give
    ``w = y x/‖x‖²``.

    Parameters
    ----------
    margin : float
        With 0 only mistakes make an update (ROMMA); with a value up to 1 also correct examples whose functional margin
        is at most that (aggressive ROMMA).

    Notes
    -----
    **Guarantee.** On examples of norm at most ``R`` separated with margin ``γ``, from zero weights, at most ``R²/γ²``
    mistakes (:meth:`mistakes_at_most`); while they are separable ``‖w‖`` never decreases, and never exceeds ``1/γ``.

    Examples
    --------
    >>> ROMMA().mistakes_at_most(radius=2.0, margin=0.5)
    16.0

    References
    ----------
    Y. Li and P. Long (2002), The relaxed online maximum margin algorithm, Machine Learning 46, Figures 1 and 2,
    Theorem 2.
    """

    margin: float = 0.0

    def check(self) -> None:
        """Raise ValueError unless the parameters are in their range."""
        if not 0.0 <= self.margin < 1.0:
            raise ValueError(f"margin must be in [0, 1), got {self.margin!r}")

    def mistakes_at_most(self, radius: float, margin: float, start_norm: float = 0.0) -> float:
        """Bound the mistakes on separable examples; infinite unless training started from zero weights."""
        return (radius / margin) ** 2 if start_norm == 0.0 else float("inf")

    def bound_coefficients(self, radius: float) -> tuple[float, float]:
        """Return ``(a, inf)``: mistakes ≤ ``a‖u‖²`` for every separating ``u``, from zero weights."""
        return radius**2, float("inf")


@rule(ROMMA)
def step(romma: ROMMA, seen: Seen) -> tuple[float, float]:
    """Move to the nearest point of both half-spaces."""
    margin = seen.y * seen.score
    if margin > romma.margin or seen.x_sqnorm == 0.0:
        return NO_SHRINK, 0.0
    product = seen.x_sqnorm * seen.w_sqnorm
    determinant = product - margin * margin
    if determinant <= MIN_SQSINE * product or margin >= product or seen.w_sqnorm > MAX_SQNORM:
        return 0.0, 1.0 / seen.x_sqnorm
    return (product - margin) / determinant, seen.w_sqnorm * (1.0 - margin) / determinant
