"""The perceptron on rows of norm one, as a rule of the learning loop."""

import math
from typing import NamedTuple

from rosenblatt.rules import NO_SHRINK, Seen, rule


class Normalised(NamedTuple):
    """Rosenblatt's rule on normalised rows.

    **Update.** If ``y (w·x) ≤ least``, then ``w ← w + y x/‖x‖``. A positive score that is rounding noise counts as a
    mistake, too. A row of zeros is always a mistake: no weights separate it.
    """

    least: float = 0.0


@rule(Normalised)
def step(normalised: Normalised, seen: Seen) -> tuple[float, float]:
    """Add the row at norm one on a mistake."""
    if seen.y * seen.score > normalised.least:
        return NO_SHRINK, 0.0
    return NO_SHRINK, 1.0 / math.sqrt(seen.x_sqnorm) if seen.x_sqnorm > 0.0 else 1.0
