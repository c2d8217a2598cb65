"""Update rules: what one example does to the weights. One file per rule, named after its author or paper.

A rule is a NamedTuple of its parameters and one short function ``step(rule, seen) -> (shrink, tau)``, after which
``w = shrink·w + tau·y·x``. The same function runs in Python and, compiled unchanged, in every loop.
"""

import math
from typing import Any

from rosenblatt.rules.alma import ALMA
from rosenblatt.rules.arow import AROW
from rosenblatt.rules.base import (
    NO_SHRINK,
    CoordinateRates,
    CoordinateSums,
    Euclidean,
    PNorm,
    SecondOrder,
    Seen,
    geometry_of,
    narrow,
    rule,
    step,
    step_of,
)
from rosenblatt.rules.logistic import Logistic
from rosenblatt.rules.margin import Margin
from rosenblatt.rules.nag import NAG
from rosenblatt.rules.nag_logistic import NAGLogistic
from rosenblatt.rules.norma import NORMA
from rosenblatt.rules.passive_aggressive import PassiveAggressive
from rosenblatt.rules.passive_aggressive_squared import PassiveAggressiveSquared
from rosenblatt.rules.paum import PAUM
from rosenblatt.rules.pegasos import Pegasos
from rosenblatt.rules.romma import ROMMA
from rosenblatt.rules.rosenblatt import Rosenblatt
from rosenblatt.rules.scinol import ScInOL
from rosenblatt.rules.scinol_hinge import ScInOLHinge
from rosenblatt.rules.widrow_hoff import WidrowHoff

# The name of a rule on the command line and in `Perceptron(rule="...")`, and its class.
BY_NAME: dict[str, Any] = {
    "rosenblatt": Rosenblatt,
    "margin": Margin,
    "norma": NORMA,
    "passive-aggressive": PassiveAggressive,
    "passive-aggressive-squared": PassiveAggressiveSquared,
    "paum": PAUM,
    "romma": ROMMA,
    "alma": ALMA,
    "arow": AROW,
    "pegasos": Pegasos,
    "logistic": Logistic,
    "nag": NAG,
    "nag-logistic": NAGLogistic,
    "scinol": ScInOL,
    "scinol-hinge": ScInOLHinge,
    "widrow-hoff": WidrowHoff,
}

__all__ = [
    "ALMA",
    "AROW",
    "BY_NAME",
    "NAG",
    "NORMA",
    "NO_SHRINK",
    "PAUM",
    "ROMMA",
    "CoordinateRates",
    "CoordinateSums",
    "Euclidean",
    "Logistic",
    "Margin",
    "NAGLogistic",
    "PNorm",
    "PassiveAggressive",
    "PassiveAggressiveSquared",
    "Pegasos",
    "Rosenblatt",
    "ScInOL",
    "ScInOLHinge",
    "SecondOrder",
    "Seen",
    "WidrowHoff",
    "from_dict",
    "geometry_of",
    "narrow",
    "resolve",
    "rule",
    "step",
    "step_of",
    "to_dict",
]


def resolve(rule: Any, eta: float | None = None) -> Any:
    """Return a checked rule object: the given one, or the named one, with ``eta`` where it has such a parameter.

    >>> resolve("margin", eta=0.5)
    Margin(eta=0.5, beta=1.0)
    >>> resolve(PassiveAggressive(C=0.1), eta=0.5)
    PassiveAggressive(C=0.1)
    """
    if isinstance(rule, str):
        if rule not in BY_NAME:
            raise ValueError(f"rule must be one of {', '.join(BY_NAME)} or a rule object, got {rule!r}")
        cls = BY_NAME[rule]
        rule = cls(eta=eta) if eta is not None and "eta" in cls._fields else cls()
    if isinstance(rule, type):
        raise TypeError(f"rule must be a name or a rule object, got the class: write {rule.__name__}()")
    step_of(type(rule))
    if hasattr(rule, "check"):
        rule.check()
    geometry_of(rule)
    return rule._make(float(value) for value in rule)


def to_dict(rule: Any) -> dict[str, Any]:
    """Return a rule of this package as a JSON object.

    >>> to_dict(Margin(eta=1.0, beta=2.0))
    {'name': 'margin', 'eta': 1.0, 'beta': 2.0}
    """
    for name, cls in BY_NAME.items():
        if type(rule) is cls:
            values = {
                key: value if math.isfinite(value) else str(value) for key, value in rule._asdict().items()
            }
            return {"name": name, **values}
    raise ValueError(f"{rule!r} is not one of the rules a model file can name: {', '.join(BY_NAME)}")


def from_dict(description: dict[str, Any]) -> Any:
    """Return the rule that :func:`to_dict` described; only the names of :data:`BY_NAME` are accepted.

    Parameters that are missing have their defaults: the rule may have been written before they existed.

    >>> from_dict({"name": "passive-aggressive", "C": "inf"})
    PassiveAggressive(C=inf)
    """
    values = dict(description)
    name = values.pop("name", None)
    if name not in BY_NAME:
        raise ValueError(f"unknown rule {name!r}; the rules of this version are {', '.join(BY_NAME)}")
    cls = BY_NAME[name]
    if not set(values) <= set(cls._fields):
        raise ValueError(f"rule {name!r} has parameters {', '.join(cls._fields)}, got {', '.join(values)}")
    return resolve(cls(**{key: float(value) for key, value in values.items()}))
