"""The rule table: a new rule adds its row, and every test of rules finds it."""

from typing import Any, NamedTuple

from rosenblatt import rules


class Row(NamedTuple):
    """A rule as the tests try it."""

    tried: tuple[Any, ...]  # the rule with parameters other than its defaults
    wrong: tuple[dict[str, float], ...]  # parameters that it must refuse
    exact: bool = False  # only sums and products of integers: the pass equals the plain loop bit for bit
    separable_only: bool = False  # elsewhere its steps grow without end, and rounding with them


TABLE: dict[str, Row] = {
    "rosenblatt": Row((rules.Rosenblatt(0.5),), ({"eta": 0.0}, {"eta": float("inf")}), exact=True),
    "margin": Row((rules.Margin(0.5, 2.0),), ({"beta": -1.0}, {"eta": 2.0}), exact=True),
    "norma": Row(
        (rules.NORMA(0.5, 0.01, 1.0), rules.NORMA(2.0, 0.1)),
        ({"eta": 0.0}, {"lam": -1.0}, {"lam": 1.0}, {"rho": -1.0}),
    ),
    "passive-aggressive": Row((rules.PassiveAggressive(0.2),), ({"C": 0.0},)),
    "passive-aggressive-squared": Row((rules.PassiveAggressiveSquared(0.2),), ({"C": -1.0},)),
    "paum": Row((rules.PAUM(0.5, 3.0, 0.5),), ({"tau_plus": -1.0}, {"tau_minus": float("nan")}), exact=True),
    "romma": Row((rules.ROMMA(0.5),), ({"margin": -0.1}, {"margin": 1.0}), separable_only=True),
    "alma": Row(
        (
            rules.ALMA(0.3),
            rules.ALMA(1.0),
            rules.ALMA(0.3, p=2.5),
            rules.ALMA(p=4.0),
            rules.ALMA(1.0, p=12.0),
        ),
        ({"alpha": 0.0}, {"alpha": 1.1}, {"C": 0.0}, {"p": 1.5}, {"p": float("inf")}),
    ),
    "arow": Row((rules.AROW(0.1), rules.AROW(10.0)), ({"r": 0.0}, {"r": float("inf")})),
    "pegasos": Row((rules.Pegasos(0.1), rules.Pegasos(1e-6)), ({"lam": 0.0}, {"lam": float("nan")})),
    "logistic": Row(
        (rules.Logistic(0.5, 0.01), rules.Logistic(0.2)), ({"eta": 0.0}, {"lam": -1.0}, {"lam": 20.0})
    ),
    "nag": Row(
        (rules.NAG(1.0, 1.0), rules.NAG(0.3, 1.5)),
        ({"eta": 0.0}, {"power": 0.5}, {"power": 2.5}, {"power": float("nan")}),
    ),
    "nag-logistic": Row((rules.NAGLogistic(0.3),), ({"eta": -1.0}, {"eta": float("inf")})),
    "scinol": Row((rules.ScInOL(0.5),), ({"epsilon": 0.0}, {"epsilon": float("inf")})),
    "scinol-hinge": Row((rules.ScInOLHinge(2.0),), ({"epsilon": -1.0},)),
    "widrow-hoff": Row((rules.WidrowHoff(0.002),), ({"eta": 0.0}, {"eta": float("inf")})),
}
