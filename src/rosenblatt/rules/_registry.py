"""How a rule becomes part of every pass: one Python function, registered for one NamedTuple class."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

NO_SHRINK = 1.0

Step = Callable[[Any, "Seen"], tuple[float, float]]
StepT = TypeVar("StepT", bound=Step)


class Seen(NamedTuple):
    """What a rule may look at when it decides its step.

    With several classes trained jointly the rule sees the contest between the true class and its best
    rival: ``y`` is +1, ``score`` the difference of the two scores, and ``x_sqnorm`` twice ``‖x‖²``, which is
    the squared norm of the example in Kesler's construction.
    """

    score: float  # w·x before the step
    y: float  # the truth, +1 or -1
    x_sqnorm: float  # ‖x‖², the always-one coordinate included
    w_sqnorm: float  # ‖w‖² before the step
    updates: float  # how many updates came before
    clock: float  # how many examples came before
    real: bool = False  # y is a number to be hit, and the step is tau·x instead of tau·y·x


STEPS: dict[type, Step] = {}


def rule(cls: type) -> Callable[[StepT], StepT]:
    """Register the decorated function as the step of ``cls``, in Python here and compiled in every pass.

    The function is compiled as it stands, so it is written in what numba understands: arithmetic,
    comparisons, ``min``, ``max`` and the ``math`` module.

    >>> from typing import NamedTuple
    >>> class Bold(NamedTuple):
    ...     eta: float = 2.0
    >>> @rule(Bold)
    ... def bold_step(bold, seen):
    ...     return NO_SHRINK, bold.eta if seen.y * seen.score <= 0 else 0.0
    >>> step(Bold(), Seen(score=0.0, y=1.0, x_sqnorm=1.0, w_sqnorm=0.0, updates=0.0, clock=0.0))
    (1.0, 2.0)
    """

    def register(function: StepT) -> StepT:
        STEPS[cls] = function
        return function

    return register


def step(rule: Any, seen: Seen) -> tuple[float, float]:
    """Return ``(shrink, tau)``: the example moves the weights to ``shrink·w + tau·y·x``.

    >>> from rosenblatt.rules import Rosenblatt
    >>> step(Rosenblatt(eta=0.5), Seen(score=-1.0, y=1.0, x_sqnorm=2.0, w_sqnorm=0.0, updates=0.0, clock=0.0))
    (1.0, 0.5)
    """
    return step_of(type(rule))(rule, seen)


def step_of(cls: type) -> Step:
    """Return the step function registered for a rule's class."""
    try:
        return STEPS[cls]
    except KeyError:
        raise TypeError(
            f"{cls.__name__} is not a rule: decorate its step function with @rule({cls.__name__})"
        ) from None
