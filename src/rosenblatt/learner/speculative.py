"""One epoch on several threads, with exactly the result of one thread.

An epoch over examples that are mostly classified correctly makes few updates. So other threads visit the later parts
of the epoch speculatively: they start from the state that results if no earlier visit makes an update or a mistake,
and stop before their own first one. Where that assumption turns out to be true, their result is the result of one
thread and is used; otherwise it is discarded.
"""

from concurrent.futures import wait
from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.loop import learn
from rosenblatt.core.rows import Rows
from rosenblatt.core.state import State, Visits
from rosenblatt.core.threads import MIN_NUMBERS, threads


def number_of_parts(numbers: int, visits: Visits, running: Any, clock: float, max_parts: int) -> int:
    """Return how many parts to cut visits into, whose rows hold this many numbers.

    It is one where the state at the start of a later part cannot be predicted to the last bit.
    """
    if max_parts == 1 or running.size > 1 or visits.weight.size:
        return 1
    # Sums of integers are exact: counted one by one or all at once, they are the same.
    integers = (
        running["scale"][0] == 1.0 and float(running["scale_sum"][0]).is_integer() and clock.is_integer()
    )
    # Every part has at least one visit.
    return max(1, min(max_parts, numbers // MIN_NUMBERS, visits.order.size)) if integers else 1


def learn_speculatively(
    rule: Any,
    geometry: Any,
    rows: Rows,
    labels: Any,
    visits: Visits,
    bias_input: float,
    state: State,
    ledger: Any,
    parts: int,
) -> int:
    """Do what ``learn`` does, with every part of the visits in its own thread; return the number of visits made."""
    if parts == 1:
        return int(learn(rule, geometry, rows, labels, visits, bias_input, state, ledger, False))
    cuts = [visits.order.size * k // parts for k in range(parts + 1)]
    part_visits = [Visits(visits.order[a:b], visits.weight) for a, b in pairwise(cuts)]
    part_states = [_after_visits_without_update(state, visited) for visited in cuts[1:-1]]
    others = [
        threads().submit(learn, rule, geometry, rows, labels, part, bias_input, own, NO_LEDGER, True)
        for part, own in zip(part_visits[1:], part_states, strict=True)
    ]
    predicted = _after_visits_without_update(state, cuts[1])
    try:
        visited = int(learn(rule, geometry, rows, labels, part_visits[0], bias_input, state, ledger, False))
    finally:
        wait(others)  # they read arrays that the caller may free
    prediction_holds = visited == cuts[1] and _same(predicted, state)
    for other, own, part in zip(others, part_states, part_visits[1:], strict=True):
        if not prediction_holds or other.exception() is not None:  # the caller visits this part again
            break
        state.running[:], state.totals[:] = own.running, own.totals
        visited += int(other.result())
        prediction_holds = other.result() == part.order.size
    return visited


def _after_visits_without_update(state: State, visits: int) -> State:
    """Return a copy of the state as it is after visits that make no update and no mistake."""
    running, totals = state.running.copy(), state.totals.copy()
    running["scale_sum"] += visits
    totals["clock"] += visits
    return state._replace(running=running, totals=totals, scores=np.empty_like(state.scores))


def _same(one: State, other: State) -> bool:
    """Return whether two states have the same running scalars and totals."""
    return bool((one.totals == other.totals).all() and (one.running == other.running).all())
