"""Rosenblatt's rule: add the example that was mistaken."""

from typing import NamedTuple

from rosenblatt.rules._registry import NO_SHRINK, Seen, rule


class Rosenblatt(NamedTuple):
    eta: float = 1.0


@rule(Rosenblatt)
def step(rosenblatt: Rosenblatt, seen: Seen) -> tuple[float, float]:
    return NO_SHRINK, rosenblatt.eta if seen.y * seen.score <= 0.0 else 0.0
