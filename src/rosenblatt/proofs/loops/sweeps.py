"""Sweeps of the perceptron without a return to Python in between: on small data that takes most of the time."""

from typing import Any

from numpy.typing import NDArray

from rosenblatt.core.loop import learn
from rosenblatt.core.rows import Rows
from rosenblatt.core.state import State, Visits
from rosenblatt.jit import compiled_around_rules

_learn = learn.compiled  # type: ignore[attr-defined]


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
