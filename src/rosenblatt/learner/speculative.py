"""One pass by several threads, to the last bit the pass of one.

A pass over examples that are mostly right hardly ever moves. So other threads visit the parts that lie ahead as if
nothing moved before them, and stop before they would move, or be wrong, themselves. Where nothing did move, what they
started from was right, and what they found stands: it is what one thread would have found. Else it is thrown away.
"""

from concurrent.futures import wait
from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.loop import learn
from rosenblatt.core.rows import Rows
from rosenblatt.core.state import State, Visits
from rosenblatt.core.threads import LEAST, threads


def parts_of(numbers: int, visits: Visits, running: Any, clock: float, most: int) -> int:
    """Return into how many parts visits of so many numbers are cut.

    Into one where what the visits ahead would find cannot be foreseen to the last bit.
    """
    if most == 1 or running.size > 1 or visits.weight.size:
        return 1
    # Counted one by one or all at once: the same, where they are whole numbers.
    whole = running["scale"][0] == 1.0 and float(running["scale_sum"][0]).is_integer() and clock.is_integer()
    # Every part has a visit, the first too: it is the one that may move.
    return max(1, min(most, numbers // LEAST, visits.order.size)) if whole else 1


def learn_speculatively(
    rule: Any,
    geometry: Any,
    rows: Rows,
    truth: Any,
    visits: Visits,
    bias_input: float,
    state: State,
    ledger: Any,
    parts: int,
) -> int:
    """Do what ``learn`` does, every part of the visits in a thread of its own; return how many visits were made."""
    if parts == 1:
        return int(learn(rule, geometry, rows, truth, visits, bias_input, state, ledger, False))
    cuts = [visits.order.size * k // parts for k in range(parts + 1)]
    cut = [Visits(visits.order[a:b], visits.weight) for a, b in pairwise(cuts)]
    foreseen = [_after_still(state, at) for at in cuts[1:-1]]
    others = [
        threads().submit(learn, rule, geometry, rows, truth, part, bias_input, own, NO_LEDGER, True)
        for part, own in zip(cut[1:], foreseen, strict=True)
    ]
    before = _after_still(state, cuts[1])
    try:
        done = learn(rule, geometry, rows, truth, cut[0], bias_input, state, ledger, False)
    finally:
        wait(others)  # nobody reads what may be given back
    still = done == cuts[1] and _same(before, state)
    for other, own, part in zip(others, foreseen, cut[1:], strict=True):
        if not still or other.exception() is not None:  # what stopped it happens again, if it is to happen
            break
        made = other.result()
        state.running[:], state.totals[:] = own.running, own.totals
        done += made
        still = made == part.order.size
    return int(done)


def _after_still(state: State, visits: int) -> State:
    """Return a state of its own as so many visits leave it that move nothing."""
    running, totals = state.running.copy(), state.totals.copy()
    running["scale_sum"] += visits
    totals["clock"] += visits
    return state._replace(running=running, totals=totals, scores=np.empty_like(state.scores))


def _same(one: State, other: State) -> bool:
    """Whether two states are told by the same numbers."""
    return bool((one.totals == other.totals).all() and (one.running == other.running).all())
