"""Rules from flags: a name, and parameters as NAME=VALUE."""

from typing import Any

from rosenblatt.cli.errors import refuse


def rule_of(name: str, parameters: list[str] | None) -> Any:
    """Build the rule that is named, with the parameters that are given.

    >>> rule_of("passive-aggressive", ["C=0.5"])
    PassiveAggressive(C=0.5)
    """
    from rosenblatt import rules

    if name not in rules.BY_NAME:
        refuse(f"--rule is {name!r}: expected one of {', '.join(rules.BY_NAME)}")
    cls = rules.BY_NAME[name]
    given: dict[str, float] = {}
    for text in parameters or []:
        key, _, value = text.partition("=")
        if key not in cls._fields:
            refuse(f"--rule {name} has no {key}; it has {', '.join(cls._fields) or 'none'}")
        try:
            given[key] = float(value)
        except ValueError:
            refuse(f"--param {text!r} is not NAME=VALUE with a number, as in --param C=0.1")
    return rules.resolve(cls(**given))
