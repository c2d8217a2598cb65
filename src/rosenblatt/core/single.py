"""One example at a time, at the price of one call: predict or learn from rows that lie on a desk.

Numba looks at every argument of every call, which for one row takes longer than the row. So all that rows and their
learner need lies at fixed places (a desk), and a call is handed the place of the desk alone.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from rosenblatt.core.ledger import ENTRY
from rosenblatt.core.loop import learn
from rosenblatt.core.rows import Rows
from rosenblatt.core.state import RUNNING, TOTALS, State, Visits
from rosenblatt.jit import compiled, compiled_around_rules

# Where things lie on a desk: addresses, then numbers.
VALUES, INDICES, STARTS, TRUTH, ORDER, WEIGHT, W, OFFSET, RUN, SCORES, TOTAL, BESIDE = range(12)
N_WEIGHTS, N_CLASSES, N_HYPOTHESES, HAS_UNIT, BY_AVERAGE, N_ROWS, N_VISITS, N_WEIGHED, N_BESIDE = range(
    12, 21
)
PLACES = 21
LARGEST = float(np.finfo(np.float64).max)
NOT_FINITE = -(1 << 62)  # the answer where a number on the desk is none


class Desk(NamedTuple):
    """The arrays of one row and its learner; ``places`` tells the compiled code where they lie."""

    places: NDArray[np.int64]
    values: NDArray[np.float64]
    indices: NDArray[np.uint32]
    starts: NDArray[np.uint64]  # 0 and the number of features
    truth: NDArray[Any]
    order: NDArray[np.uintp]
    state: State


def kind_of_truth(hypotheses: int) -> Any:
    """Return in what labels are told: the signs of two classes in a byte, as passes like them best, else numbers."""
    return np.int8 if hypotheses == 1 else np.int64


def new_desk(room: int, state: State, bias_input: float, averaged: bool) -> Desk:
    """Set a desk for rows of up to ``room`` features over weights laid out for sparse rows."""
    desk = Desk(
        np.zeros(PLACES, np.int64),
        np.zeros(room),
        np.zeros(room, np.uint32),
        np.zeros(2, np.uint64),
        np.zeros(1, kind_of_truth(state.scores.size)),
        np.zeros(1, np.uintp),
        state,
    )
    row: list[NDArray[Any]] = [*desk[1:6]]
    desk.places[: len(row)] = [array.ctypes.data for array in row]
    desk.places[W : BESIDE + 1] = [array.ctypes.data for array in state]
    desk.places[N_BESIDE] = state.beside.size
    desk.places[N_WEIGHTS], desk.places[N_CLASSES] = state.W.size, state.scores.size
    desk.places[N_HYPOTHESES], desk.places[HAS_UNIT] = state.running.size, bias_input != 0.0
    desk.places[BY_AVERAGE], desk.places[N_ROWS], desk.places[N_VISITS] = averaged, 1, 1
    return desk


def many_rows(desk: Desk, rows: Rows, truth: NDArray[Any], visits: Visits) -> NDArray[np.int64]:
    """Return the places of the same learner over other rows; the caller keeps the arrays alive."""
    places = desk.places.copy()
    _lay_out(places, *rows, truth, *visits)
    return places


@compiled
def _lay_out(
    places: Any, values: Any, indices: Any, starts: Any, truth: Any, order: Any, weight: Any
) -> None:
    """Write down where arrays lie, which takes numpy a microsecond for each."""
    places[VALUES], places[INDICES], places[STARTS] = (
        values.ctypes.data,
        indices.ctypes.data,
        starts.ctypes.data,
    )
    places[TRUTH], places[ORDER], places[WEIGHT] = truth.ctypes.data, order.ctypes.data, weight.ctypes.data
    places[N_ROWS], places[N_VISITS], places[N_WEIGHED] = truth.size, order.size, weight.size


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """Turn an address into a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@compiled
def best_class(
    values: Any,
    indices: Any,
    lo: int,
    hi: int,
    bias_input: float,
    W: Any,
    average_offset: Any,
    running: Any,
    averaged: bool,
    scores: Any,
) -> int:
    """Fill the scores of a sparse row and return the best class, the first of equals; -1-class for a tie.

    Averaged scores are ``scale_sum·w·x − a·x``: the mean's, times the clock.
    """
    classes, hypotheses = scores.shape[0], running.shape[0]
    for c in range(classes):
        own = running[min(c, hypotheses - 1)]
        last = bias_input * W[c]
        for k in range(lo, hi):
            last += values[k] * W[(1 + np.int64(indices[k])) * classes + c]
        scores[c] = own.scale * last
        if averaged:
            past = bias_input * average_offset[c]
            for k in range(lo, hi):
                past += values[k] * average_offset[(1 + np.int64(indices[k])) * classes + c]
            scores[c] = own.scale_sum * last - past
    if classes == 1:
        return 1 if scores[0] > 0.0 else (0 if scores[0] < 0.0 else -1)
    best, tie = 0, False
    for c in range(1, classes):
        if scores[c] > scores[best]:
            best, tie = c, False
        elif scores[c] == scores[best]:
            tie = True
    return -1 - best if tie else best


@compiled
def all_finite(values: Any) -> bool:
    """Whether every number is one."""
    wrong = 0
    for k in range(values.shape[0]):
        wrong += not abs(values[k]) <= LARGEST  # `isfinite` subtracts, which may be reordered away
    return wrong == 0


@compiled
def largest_visited(values: Any, starts: Any, order: Any) -> float:
    """Return ``max ‖x‖²`` over the sparse rows that are visited."""
    largest = 0.0
    for t in range(order.shape[0]):
        sqnorm = 0.0
        for k in range(starts[order[t]], starts[order[t] + 1]):
            sqnorm += values[k] * values[k]
        largest = max(largest, sqnorm)
    return largest


@compiled
def predict_row(address: int) -> int:
    """Predict the class of the row on the desk as :func:`best_class` does."""
    places = numba.carray(_pointer(address), PLACES, np.int64)
    n = int(numba.carray(_pointer(places[STARTS]), 2, np.uint64)[1])
    values = numba.carray(_pointer(places[VALUES]), n, np.float64)
    if not all_finite(values):
        return NOT_FINITE
    indices = numba.carray(_pointer(places[INDICES]), n, np.uint32)
    classes, hypotheses = places[N_CLASSES], places[N_HYPOTHESES]
    weights = numba.carray(_pointer(places[W]), places[N_WEIGHTS], np.float64)
    sums = numba.carray(_pointer(places[OFFSET]), places[N_WEIGHTS], np.float64)
    running = numba.carray(_pointer(places[RUN]), hypotheses, RUNNING)
    scores = numba.carray(_pointer(places[SCORES]), classes, np.float64)
    bias_input = float(places[HAS_UNIT])
    averaged = places[BY_AVERAGE] != 0
    return best_class(values, indices, 0, n, bias_input, weights, sums, running, averaged, scores)


_learn = learn.compiled  # type: ignore[attr-defined]


@compiled_around_rules
def learn_rows(rule: Any, geometry: Any, address: int) -> int:
    """Learn from the rows on the desk, as a pass over them does; from none where a number is not finite."""
    places = numba.carray(_pointer(address), PLACES, np.int64)
    n_rows, classes = places[N_ROWS], places[N_CLASSES]
    starts = numba.carray(_pointer(places[STARTS]), n_rows + 1, np.uint64)
    n = int(starts[n_rows])
    rows = Rows(
        numba.carray(_pointer(places[VALUES]), n, np.float64),
        numba.carray(_pointer(places[INDICES]), n, np.uint32),
        starts,
    )
    if not all_finite(rows.values):
        return NOT_FINITE
    state = State(
        numba.carray(_pointer(places[W]), places[N_WEIGHTS], np.float64),
        numba.carray(_pointer(places[OFFSET]), places[N_WEIGHTS], np.float64),
        numba.carray(_pointer(places[RUN]), places[N_HYPOTHESES], RUNNING),
        numba.carray(_pointer(places[SCORES]), classes, np.float64),
        numba.carray(_pointer(places[TOTAL]), 1, TOTALS),
        numba.carray(_pointer(places[BESIDE]), places[N_BESIDE], np.float64),
    )
    visits = Visits(
        numba.carray(_pointer(places[ORDER]), places[N_VISITS], np.uintp),
        numba.carray(_pointer(places[WEIGHT]), places[N_WEIGHED], np.float64),
    )
    ledger = numba.carray(_pointer(places[TOTAL]), 0, ENTRY)
    bias_input = float(places[HAS_UNIT])
    max_sqnorm = largest_visited(rows.values, starts, visits.order) + bias_input * bias_input
    state.totals[0].max_sqnorm = max(state.totals[0].max_sqnorm, max_sqnorm)
    if classes == 1:
        signs = numba.carray(_pointer(places[TRUTH]), n_rows, np.int8)
        return _learn(rule, geometry, rows, signs, visits, bias_input, state, ledger, False)
    truth = numba.carray(_pointer(places[TRUTH]), n_rows, np.int64)
    return _learn(rule, geometry, rows, truth, visits, bias_input, state, ledger, False)


@cache
def row_predictor() -> Callable[[int], int]:
    """Return :func:`predict_row` without numba's look at the type of its argument."""
    found: Callable[[int], int] = predict_row.compile((types.int64,))  # type: ignore[attr-defined]
    return found


def rows_learner(rule: Any, geometry: Any) -> Callable[[Any, Any, int], int]:
    """Return :func:`learn_rows` for rules of this type, without numba's look at types where the rule is ours."""
    if not type(rule).__module__.startswith("rosenblatt.rules."):
        return learn_rows
    kind = (type(geometry), type(rule), *map(type, rule))
    if kind not in _LEARNERS:
        signature = (numba.typeof(rule), numba.typeof(geometry), types.int64)
        _LEARNERS[kind] = learn_rows.compiled.compile(signature)  # type: ignore[attr-defined]
    return _LEARNERS[kind]


_LEARNERS: dict[
    tuple[type, ...], Callable[[Any, Any, int], int]
] = {}  # by the types of a rule and its parameters


@compiled_around_rules
def predict_then_learn(
    rule: Any,
    geometry: Any,
    rows: Any,
    labels: Any,
    visits: Visits,
    bias_input: float,
    state: State,
    averaged: bool,
    guesses: Any,
    ledger: Any,
) -> None:
    """Visit by visit: predict the class of the row into ``guesses``, then learn from it."""
    order, weight = visits
    values, indices, starts = rows
    W, average_offset, running, scores, totals, _ = state
    totals[0].max_sqnorm = max(
        totals[0].max_sqnorm, largest_visited(values, starts, order) + bias_input * bias_input
    )
    for t in range(order.shape[0]):
        i = order[t]
        lo, hi = int(starts[i]), int(starts[i + 1])
        guesses[t] = best_class(
            values, indices, lo, hi, bias_input, W, average_offset, running, averaged, scores
        )
        one = Visits(order[t : t + 1], weight[t : t + 1])
        _learn(rule, geometry, rows, labels, one, bias_input, state, ledger, False)
