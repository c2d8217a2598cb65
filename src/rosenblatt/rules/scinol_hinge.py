"""ScInOL on the hinge loss: it stops where every margin is one."""

from rosenblatt.rules.base import NO_SHRINK, Seen, rule
from rosenblatt.rules.scinol import ScInOL


class ScInOLHinge(ScInOL):
    """Scale-invariant online learning on the hinge loss, ``max(0, 1 − y w·x)``.

    **Update.** That of :class:`ScInOL` with the derivative ``g = −y`` where ``y w·x < 1``, else 0: an example with a
    margin of one or more moves nothing but the largest value of its features.

    Parameters
    ----------
    epsilon : float
        The wealth that every weight starts with, above 0.

    Notes
    -----
    **Guarantee.** The bound of :class:`ScInOL` for the summed hinge loss, which is at least the number of mistakes
    (:meth:`~ScInOL.regret_at_most`).

    Examples
    --------
    >>> from rosenblatt.rules import step
    >>> step(ScInOLHinge(), Seen(score=0.5, y=1.0, x_sqnorm=0.0, w_sqnorm=0.0, updates=0.0, clock=0.0))
    (1.0, 1.0)

    References
    ----------
    M. Kempka, W. Kotłowski, M. Warmuth (2019), Adaptive scale-invariant online algorithms for learning linear models,
    Algorithm 2 (ScInOL2).
    """

    __slots__ = ()


@rule(ScInOLHinge)
def step(scinol: ScInOLHinge, seen: Seen) -> tuple[float, float]:
    """Return the size of the derivative of the hinge loss: 1 below a margin of one, else 0."""
    return NO_SHRINK, 1.0 if seen.y * seen.score < 1.0 else 0.0
