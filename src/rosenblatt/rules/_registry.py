"""How a rule becomes part of every pass: one Python function, registered for one NamedTuple class."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

NO_SHRINK = 1.0

Step = Callable[[Any, "Seen"], tuple[float, float]]
StepT = TypeVar("StepT", bound=Step)


class Seen(NamedTuple):
    """What a rule may look at when it decides its step."""

    score: float  # w·x before the step
    y: float  # the truth, +1 or -1
    x_sqnorm: float  # ‖x‖², the always-one coordinate included
    w_sqnorm: float  # ‖w‖² before the step
    updates: float  # how many updates came before
    clock: float  # how many examples came before


STEPS: dict[type, Step] = {}


def rule(cls: type) -> Callable[[StepT], StepT]:
    """Register the decorated function as the step of ``cls``, in Python here and compiled in every pass."""

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
    try:
        function = STEPS[type(rule)]
    except KeyError:
        raise TypeError(
            f"{rule!r} is not a rule: decorate its step function with @rule({type(rule).__name__})"
        ) from None
    return function(rule, seen)
