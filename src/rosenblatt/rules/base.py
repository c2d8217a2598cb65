"""Registration of rules: one Python function, registered for one NamedTuple class, becomes part of the loop.

A rule that needs more than ``w ← shrink·w + τ y x`` names its geometry: it has a method ``geometry()`` that returns
:class:`SecondOrder`, :class:`PNorm`, :class:`CoordinateSums` or :class:`CoordinateRates`. Any number of rules may share
a geometry.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

NO_SHRINK = 1.0

Step = Callable[[Any, "Seen"], tuple[float, float]]
StepT = TypeVar("StepT", bound=Step)


class Seen(NamedTuple):
    """What a rule may read when it decides its step.

    With several classes trained jointly the rule sees the true class against its best rival: ``y`` is +1, ``score``
    the difference of the two scores, and ``x_sqnorm`` twice ``‖x‖²``, which is the squared norm of the example in
    Kesler's construction.
    """

    score: float  # w·x before the step
    y: float  # the label, +1 or -1
    x_sqnorm: float  # ‖x‖², bias input included; the other geometries say what it is there
    w_sqnorm: float  # ‖w‖² before the step
    updates: float  # number of updates before this example
    clock: float  # number of examples before this one
    real: bool = False  # y is a real-valued target, and the step is tau·x instead of tau·y·x


class Euclidean(NamedTuple):
    """The geometry of most rules: ``w ← shrink·w + τ y x``."""


class SecondOrder(NamedTuple):
    """A variance for every weight: ``w ← shrink·w + τ y Σx``, and ``Σ`` narrows along the example.

    The rule reads ``x·Σx`` as ``x_sqnorm``, and has a method ``narrow(variance, value)`` that returns the variance of
    a weight after an update by an example with this value in its feature. The method is compiled unchanged.
    """

    initial_variance: float = 1.0


class PNorm(NamedTuple):
    """Weights that are a vector ``θ`` seen through the p-norm link, ``θ ← shrink·θ + τ y x``.

    The rule reads ``(p−1)‖x‖_p²`` as ``x_sqnorm`` and ``‖θ‖_p²`` as ``w_sqnorm``. The loop first calls it with an
    upper bound of ``x_sqnorm``: a rule that makes no step with the bound must make none with the norm itself. After a
    step ``θ`` is projected onto the ball ``‖θ‖_p ≤ max_norm``.
    """

    p: float
    max_norm: float = float("inf")


class CoordinateSums(NamedTuple):
    """Weights that follow from sums over gradients, one set of numbers for every weight.

    The first number is the largest ``|xᵢ|`` so far, which the loop updates before it scores an example. The rule has
    two methods, compiled unchanged: ``add_gradient(numbers, weight, gradient)`` returns the numbers after an example
    with this derivative of the loss by the weight, and ``weight_of(numbers)`` the weight that follows from them; the
    latter is also called with an array for each number. With ``τ`` the rule says the derivative of the loss by the
    score, ``−τ y``. It reads zero as ``x_sqnorm`` and ``Σ (wᵢ maxᵢ)²`` as ``w_sqnorm``.

    Outside the loop, with an array for each number, ``negated(numbers)`` returns the numbers of the opposite weight,
    ``halved(numbers)`` those of half the weight, and ``possible(numbers)`` which weights can have such numbers. A rule
    of this geometry does not shrink the weights.
    """

    initial: tuple[float, ...]  # the numbers of a weight before any example


class CoordinateRates(NamedTuple):
    """A learning rate for every weight, relative to the largest ``|xᵢ|``: ``w ← w + τ y Dx``.

    Every weight has numbers of its own, of which the first is the largest ``|xᵢ|`` in an update so far. The rule has
    two methods, compiled unchanged: ``add_gradient(numbers, weight, gradient)`` returns the numbers after an example
    with this derivative of the loss by the weight, and ``rate(numbers)`` the learning rate that follows from them.
    ``D`` is diagonal, ``Dᵢᵢ = rateᵢ / ‖x / max‖``. Where a value exceeds the largest so far, the weight is divided by
    as much, so that multiplying a column by a constant changes no prediction.

    The loop calls the rule twice. First it reads zero as ``x_sqnorm`` and returns as ``τ`` the size of the derivative
    of the loss by the score; then, if that is not zero, it reads ``x·Dx`` (times the weight of the visit) and returns
    its step. It reads ``Σ (wᵢ maxᵢ)²`` as ``w_sqnorm``, and does not shrink the weights. Outside the loop
    ``possible(numbers)`` returns which weights can have such numbers, an array for each.
    """

    initial: tuple[float, ...]  # the numbers of a weight before any example


Geometry = Euclidean | SecondOrder | PNorm | CoordinateSums | CoordinateRates
PER_COORDINATE = (CoordinateSums, CoordinateRates)  # geometries with several numbers for every weight
HOOKS: dict[type, tuple[str, ...]] = {  # the methods that a geometry needs of its rules
    SecondOrder: ("narrow",),
    CoordinateSums: ("add_gradient", "weight_of", "negated", "halved", "possible"),
    CoordinateRates: ("add_gradient", "rate", "possible"),
}

MAX_NUMBERS = 4  # of a weight

STEPS: dict[type, Step] = {}


def rule(cls: type) -> Callable[[StepT], StepT]:
    """Register the decorated function as the step of ``cls``, in Python here and compiled in every loop.

    The function is compiled unchanged, so it may use what numba supports: arithmetic, comparisons, ``min``, ``max``
    and the ``math`` module. A class has one step: registering another is an error, because loops compiled for the
    class may be in use.

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
        if cls in STEPS and STEPS[cls] is not function:
            raise ValueError(
                f"{cls.__name__} already has a step ({STEPS[cls].__qualname__}); define another class for another rule"
            )
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


def geometry_of(rule: Any) -> Geometry:
    """Return the geometry that a rule names, the Euclidean one where it names none.

    >>> from rosenblatt.rules import ALMA, AROW, NAG, Rosenblatt
    >>> geometry_of(AROW()), geometry_of(ALMA(p=4.0)), geometry_of(ALMA()), geometry_of(Rosenblatt())
    (SecondOrder(initial_variance=1.0), PNorm(p=4.0, max_norm=1.0), Euclidean(), Euclidean())
    >>> geometry_of(NAG())
    CoordinateRates(initial=(0.0, 0.0))
    """
    if not hasattr(rule, "geometry"):
        return Euclidean()
    geometry = rule.geometry()
    if not isinstance(geometry, Geometry):
        raise TypeError(
            f"{type(rule).__name__}.geometry() must return Euclidean, SecondOrder, PNorm, CoordinateSums or "
            f"CoordinateRates, got {geometry!r}"
        )
    for name in HOOKS.get(type(geometry), ()):
        hook_of(type(rule), name)
    if isinstance(geometry, SecondOrder):
        if not 0.0 < geometry.initial_variance < float("inf"):
            raise ValueError(
                f"initial_variance must be above 0 and finite, got {geometry.initial_variance!r}"
            )
        return SecondOrder(float(geometry.initial_variance))
    if isinstance(geometry, PNorm):
        if not (2.0 <= geometry.p < float("inf") and geometry.max_norm > 0.0):
            raise ValueError(f"the p-norm geometry needs 2 ≤ p < ∞ and max_norm above 0, got {geometry!r}")
        return PNorm(float(geometry.p), float(geometry.max_norm))
    if isinstance(geometry, PER_COORDINATE):
        if not 1 <= len(geometry.initial) <= MAX_NUMBERS or geometry.initial[0] != 0.0:
            raise ValueError(
                f"a weight has one to {MAX_NUMBERS} numbers, the first of them (the largest value) 0 at first, "
                f"got {geometry!r}"
            )
        return geometry._replace(initial=tuple(map(float, geometry.initial)))
    return geometry


def hook_of(cls: type, name: str) -> Callable[..., Any]:
    """Return the function of a rule's class that its geometry needs."""
    function = getattr(cls, name, None)
    if function is None:
        raise TypeError(f"{cls.__name__} needs a method {name}, because of its geometry")
    return function  # type: ignore[no-any-return]


def narrow(rule: Any, variance: float, value: float) -> float:
    """Return the variance of a weight after an update by an example with this value in its feature."""
    return float(rule.narrow(variance, value))


def add_gradient(rule: Any, numbers: Any, weight: float, gradient: float) -> Any:
    """Return the numbers of a weight after an example with this derivative of the loss by the weight."""
    return rule.add_gradient(numbers, weight, gradient)


def weight_of(rule: Any, numbers: Any) -> float:
    """Return the weight that follows from its numbers."""
    return float(rule.weight_of(numbers))


def rate(rule: Any, numbers: Any) -> float:
    """Return the learning rate of a weight that follows from its numbers."""
    return float(rule.rate(numbers))
