"""The perceptron on rows of norm one: its rule, and sweeps without a return to Python in between.

On small data that return takes most of the time.
"""

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from rosenblatt.core.loop import learn
from rosenblatt.core.rows import Rows
from rosenblatt.core.state import State, Visits
from rosenblatt.jit import compiled_around_rules
from rosenblatt.rules import NO_SHRINK, Seen, rule

_learn = learn.compiled  # type: ignore[attr-defined]


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


@compiled_around_rules
def sweep_until_clean(
    rule: Any,
    geometry: Any,
    rows: Rows,
    labels: NDArray[Any],
    visits: Visits,
    bias_input: float,
    state: State,
    ledger: NDArray[Any],
    sweeps: int,
) -> int:
    """Sweep over rows until a sweep is clean; return the mistakes of the last, which the ledger names."""
    total = state.totals[0]
    for _ in range(sweeps):
        total.written = 0
        _learn(rule, geometry, rows, labels, visits, bias_input, state, ledger, False)
        if total.written == 0:
            break
    return int(total.written)
