"""A rule as a user would write it."""

from typing import NamedTuple

from rosenblatt.rules import NO_SHRINK, rule


class Halved(NamedTuple):
    """Rosenblatt's rule with half a step."""

    half: float = 0.5


@rule(Halved)
def step(halved, seen):
    return NO_SHRINK, halved.half if seen.y * seen.score <= 0.0 else 0.0
