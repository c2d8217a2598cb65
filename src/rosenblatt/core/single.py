"""One example at a time with little overhead: predict or learn from a row whose arrays have fixed addresses.

Numba inspects every argument of every call, which takes longer than to process one row. So a table lists the addresses
of the arrays of one row and of its learner (:class:`RowBuffer`), and a call passes the address of the table.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from rosenblatt.core.geometry import OPERATIONS
from rosenblatt.core.geometry.euclidean import EUCLIDEAN
from rosenblatt.core.leader import GUESS_BITS
from rosenblatt.core.ledger import ENTRY
from rosenblatt.core.loop import learn
from rosenblatt.core.named import all_finite, pointer_to
from rosenblatt.core.rows import EIGHT, INLINED, L2, ONE, Layout, Rows, prefetch, score_row
from rosenblatt.core.state import RUNNING, TOTALS, State, Visits
from rosenblatt.jit import compiled, compiled_around_rules, compiled_part
from rosenblatt.rules import PNorm

# The address table: addresses of arrays, then sizes and flags.
VALUES, INDICES, STARTS, LABELS, ORDER, WEIGHT, W, OFFSET, RUN, SCORES, TOTAL, AUXILIARY = range(12)
N_WEIGHTS, N_CLASSES, N_HYPOTHESES, HAS_BIAS, AVERAGED = range(12, 17)
N_ROWS, N_VISITS, N_VISIT_WEIGHTS, N_AUXILIARY = range(17, 21)
ENTRIES = 21
NOT_FINITE = -(1 << 62)  # returned where a value of the row is not finite
OVERFLOW = NOT_FINITE + 1  # returned where the weights grew beyond a float


class RowBuffer(NamedTuple):
    """The arrays of a learner and the label of one row; ``addresses`` is the table that compiled code reads.

    The arrays of the row itself belong to whoever reads examples, and are entered by :meth:`of_row`.
    """

    addresses: NDArray[np.int64]
    labels: NDArray[Any]
    order: NDArray[np.uintp]
    state: State

    def of_row(self, values_at: int, indices_at: int, starts_at: int, labels_at: int) -> NDArray[np.int64]:
        """Return the address table of this learner over one row, whose arrays have these addresses."""
        table = self.addresses.copy()
        table[VALUES], table[INDICES], table[STARTS], table[LABELS] = (
            values_at,
            indices_at,
            starts_at,
            labels_at,
        )
        return table


def label_dtype(classes: int) -> Any:
    """Return the dtype of labels in compiled loops: int8 signs with one row of weights, else int64 class indices."""
    return np.int8 if classes == 1 else np.int64


def new_row_buffer(state: State, bias_input: float, averaged: bool) -> RowBuffer:
    """Return a buffer for single rows over weights laid out for sparse rows."""
    labels, order = np.zeros(1, label_dtype(state.scores.size)), np.zeros(1, np.uintp)
    table = np.zeros(ENTRIES, np.int64)
    table[LABELS], table[ORDER] = labels.ctypes.data, order.ctypes.data
    arrays: tuple[NDArray[Any], ...] = state[:6]
    table[W : AUXILIARY + 1] = [array.ctypes.data for array in arrays]
    table[N_AUXILIARY] = state.auxiliary.size
    table[N_WEIGHTS], table[N_CLASSES] = state.W.size, state.scores.size
    table[N_HYPOTHESES], table[HAS_BIAS] = state.running.size, bias_input != 0.0
    table[AVERAGED], table[N_ROWS], table[N_VISITS] = averaged, 1, 1
    return RowBuffer(table, labels, order, state)


def addresses_of(buffer: RowBuffer, rows: Rows, labels: NDArray[Any], visits: Visits) -> NDArray[np.int64]:
    """Return the address table of the same learner over other rows; the caller keeps the arrays alive."""
    table = buffer.addresses.copy()
    _fill_addresses(table, *rows, labels, *visits)
    return table


@compiled
def _fill_addresses(
    table: Any, values: Any, indices: Any, starts: Any, labels: Any, order: Any, weight: Any
) -> None:
    """Write the addresses of arrays into the table; numpy takes a microsecond for each."""
    table[VALUES], table[INDICES], table[STARTS] = (
        values.ctypes.data,
        indices.ctypes.data,
        starts.ctypes.data,
    )
    table[LABELS], table[ORDER], table[WEIGHT] = labels.ctypes.data, order.ctypes.data, weight.ctypes.data
    table[N_ROWS], table[N_VISITS], table[N_VISIT_WEIGHTS] = labels.size, order.size, weight.size


@compiled
def best_class(
    rows: Rows,
    i: Any,
    layout: Layout,
    W: Any,
    average_offset: Any,
    running: Any,
    auxiliary: Any,
    averaged: bool,
    p: float,
    scores: Any,
) -> int:
    """Fill the scores of a sparse row and return the best class ``c``; for a tie ``−1 − c``, with the first of equals.

    Averaged scores are ``scale_sum·w·x − a·x``: those of the mean weights, times the clock. With ``p`` above zero the
    weights are seen through the p-norm link; the averaged scores of a single hypothesis then lack the positive factor
    ``‖θ‖_p^(2−p)``, which does not change the best class and would need a read of every weight.
    """
    classes, hypotheses = scores.shape[0], running.shape[0]
    if p > 0.0:
        for c in range(classes):
            scalars = running[min(c, hypotheses - 1)]
            scores[c] = _linked_score(
                rows, i, layout, W, average_offset, scalars, auxiliary, averaged, p, classes, c
            )
            if averaged and hypotheses > 1:
                scores[c] *= _link_factor(W, average_offset, scalars, p, classes, c)
    else:
        score_row(rows, i, layout, W, scores)
        for c in range(classes):
            scalars = running[min(c, hypotheses - 1)]
            scores[c] *= scalars.scale_sum if averaged else scalars.scale
        if averaged:
            past = np.empty(classes)
            score_row(rows, i, layout, average_offset, past)
            for c in range(classes):
                scores[c] -= past[c]
    return best_score(scores)


@compiled_part
def best_score(scores: Any) -> int:
    """Return the class ``c`` of the highest score, by its sign where there is one; for a tie ``−1 − c``."""
    classes = scores.shape[0]
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
def _linked_score(
    rows: Any, i: Any, layout: Layout, W: Any, average_offset: Any, scalars: Any, auxiliary: Any, averaged: bool,
    p: float, classes: int, c: int,
) -> float:  # fmt: skip
    """Return the score of class ``c`` through the p-norm link, of the last or (without its factor) the mean vector."""
    values, indices, starts = rows
    lo, hi, bias_input = np.int64(starts[i]), np.int64(starts[i + ONE]), layout.bias_input
    total = 0.0
    if not averaged:
        total += bias_input * auxiliary[c]
        for k in range(lo, hi):
            total += values[k] * auxiliary[(1 + np.int64(indices[k])) * classes + c]
        return total * scalars.scale * scalars.sqnorm ** ((2.0 - p) / p) if scalars.sqnorm > 0.0 else total
    if bias_input != 0.0:
        total += bias_input * _power(scalars.scale_sum * W[c] - average_offset[c], p)
    for k in range(lo, hi):
        at = (1 + np.int64(indices[k])) * classes + c
        total += values[k] * _power(scalars.scale_sum * W[at] - average_offset[at], p)
    return total


@compiled
def _power(theta: float, p: float) -> float:
    """Return ``sign(θ)|θ|^(p−1)``."""
    return np.copysign(abs(theta) ** (p - 1.0), theta)


@compiled
def _link_factor(W: Any, average_offset: Any, scalars: Any, p: float, classes: int, c: int) -> float:
    """Return ``‖θ‖_p^(2−p)`` of the summed vector of class ``c``."""
    most = 0.0
    for at in range(c, W.shape[0], classes):
        most = max(most, abs(scalars.scale_sum * W[at] - average_offset[at]))
    if most == 0.0:
        return 1.0
    total = 0.0
    for at in range(c, W.shape[0], classes):
        theta = scalars.scale_sum * W[at] - average_offset[at]
        if theta != 0.0:
            total += (abs(theta) / most) ** p
    return (most * total ** (1.0 / p)) ** (2.0 - p)


@compiled
def max_visited_sqnorm(values: Any, starts: Any, order: Any) -> float:
    """Return ``max ‖x‖²`` over the sparse rows that are visited."""
    largest = 0.0
    for t in range(order.shape[0]):
        sqnorm = 0.0
        for k in range(starts[order[t]], starts[order[t] + 1]):
            sqnorm += values[k] * values[k]
        largest = max(largest, sqnorm)
    return largest


@compiled
def predict_row(address: int, p: float) -> int:
    """Predict the class of the row in the buffer as :func:`best_class` does."""
    table = numba.carray(pointer_to(address), ENTRIES, np.int64)
    return _predict_by(address, p, table[AVERAGED] != 0)


@compiled
def _predict_by(address: int, p: float, averaged: bool) -> int:
    """Predict the class of the row in the buffer by the last or the averaged weights."""
    table = numba.carray(pointer_to(address), ENTRIES, np.int64)
    starts = numba.carray(pointer_to(table[STARTS]), 2, np.uint64)
    n = int(starts[1])
    values = numba.carray(pointer_to(table[VALUES]), n, np.float64)
    if not all_finite(values):
        return NOT_FINITE
    rows = Rows(values, numba.carray(pointer_to(table[INDICES]), n, np.uint32), starts)
    classes, hypotheses = table[N_CLASSES], table[N_HYPOTHESES]
    layout = Layout(np.uint64(classes), np.uint64(table[N_WEIGHTS] // classes - 1), float(table[HAS_BIAS]))
    weights = numba.carray(pointer_to(table[W]), table[N_WEIGHTS], np.float64)
    sums = numba.carray(pointer_to(table[OFFSET]), table[N_WEIGHTS], np.float64)
    running = numba.carray(pointer_to(table[RUN]), hypotheses, RUNNING)
    auxiliary = numba.carray(pointer_to(table[AUXILIARY]), table[N_AUXILIARY], np.float64)
    scores = numba.carray(pointer_to(table[SCORES]), classes, np.float64)
    return best_class(rows, np.uint64(0), layout, weights, sums, running, auxiliary, averaged, p, scores)


def link_power(geometry: Any) -> float:
    """Return the ``p`` of a p-norm geometry, zero for any other."""
    return geometry.p if isinstance(geometry, PNorm) else 0.0


@overload(link_power, strict=False, **INLINED)
def _link_power(geometry: Any) -> Callable[..., float]:
    return (lambda geometry: geometry.p) if geometry.instance_class is PNorm else (lambda geometry: 0.0)


def scores_as_predicted(geometry: Any) -> bool:
    """Return whether the loop scores a row as it is predicted, before anything changes; evaluated at compile time."""
    return OPERATIONS[type(geometry)].score_example is EUCLIDEAN.score_example


@overload(scores_as_predicted, strict=False, **INLINED)
def _scores_as_predicted(geometry: Any) -> Callable[..., bool]:
    if OPERATIONS[geometry.instance_class].score_example is EUCLIDEAN.score_example:
        return lambda geometry: True
    return lambda geometry: False


_learn = learn.compiled  # type: ignore[attr-defined]


@compiled_around_rules
def learn_rows(rule: Any, geometry: Any, address: int) -> int:
    """Learn from the rows in the buffer, in order; from none of them where a number is not finite.

    Return how many mistakes were made, :data:`NOT_FINITE`, or :data:`OVERFLOW` where ``‖w‖²`` is not finite afterwards.
    """
    table = numba.carray(pointer_to(address), ENTRIES, np.int64)
    n_rows, classes = table[N_ROWS], table[N_CLASSES]
    starts = numba.carray(pointer_to(table[STARTS]), n_rows + 1, np.uint64)
    n = int(starts[n_rows])
    rows = Rows(
        numba.carray(pointer_to(table[VALUES]), n, np.float64),
        numba.carray(pointer_to(table[INDICES]), n, np.uint32),
        starts,
    )
    if not all_finite(rows.values):
        return NOT_FINITE
    state = State(
        numba.carray(pointer_to(table[W]), table[N_WEIGHTS], np.float64),
        numba.carray(pointer_to(table[OFFSET]), table[N_WEIGHTS], np.float64),
        numba.carray(pointer_to(table[RUN]), table[N_HYPOTHESES], RUNNING),
        numba.carray(pointer_to(table[SCORES]), classes, np.float64),
        numba.carray(pointer_to(table[TOTAL]), 1, TOTALS),
        numba.carray(pointer_to(table[AUXILIARY]), table[N_AUXILIARY], np.float64),
        numba.carray(pointer_to(table[TOTAL]), 0, np.uint8),
    )
    visits = Visits(
        numba.carray(pointer_to(table[ORDER]), table[N_VISITS], np.uintp),
        numba.carray(pointer_to(table[WEIGHT]), table[N_VISIT_WEIGHTS], np.float64),
    )
    ledger = numba.carray(pointer_to(table[TOTAL]), 0, ENTRY)
    bias_input = float(table[HAS_BIAS])
    max_sqnorm = max_visited_sqnorm(rows.values, starts, visits.order) + bias_input * bias_input
    state.totals[0].max_sqnorm = max(state.totals[0].max_sqnorm, max_sqnorm)
    if classes == 1:
        signs = numba.carray(pointer_to(table[LABELS]), n_rows, np.int8)
        mistakes = _learn(rule, geometry, rows, signs, visits, bias_input, state, ledger, False)
    else:
        labels = numba.carray(pointer_to(table[LABELS]), n_rows, np.int64)
        mistakes = _learn(rule, geometry, rows, labels, visits, bias_input, state, ledger, False)
    for k in range(state.running.size):
        if not np.isfinite(state.running[k].sqnorm):
            return OVERFLOW
    return mistakes


_learn_rows = learn_rows.compiled  # type: ignore[attr-defined]


@compiled_around_rules
def guess_and_learn(rule: Any, geometry: Any, address: int) -> int:
    """Predict the class of the row in the buffer by the last and by the averaged weights, then learn from it.

    Return both class indices, ``last << GUESS_BITS | averaged``, or a negative number as :func:`learn_rows` does.
    """
    p = link_power(geometry)
    last, averaged = _predict_by(address, p, False), _predict_by(address, p, True)
    result = _learn_rows(rule, geometry, address)
    if result < 0:
        return result
    last, averaged = (-1 - last if last < 0 else last), (-1 - averaged if averaged < 0 else averaged)
    return (last << GUESS_BITS) | averaged


@cache
def row_predictor() -> Callable[[int, float], int]:
    """Return :func:`predict_row`, called without numba's inspection of its arguments."""
    function: Any = predict_row
    predictor: Callable[[int, float], int] = function.compile((types.int64, types.float64))
    return predictor


def rows_learner(rule: Any, geometry: Any, guessing: bool = False) -> Callable[[Any, Any, int], int]:
    """Return :func:`learn_rows`, or :func:`guess_and_learn`, for rules of this type.

    For rules of this package it is called without numba's inspection of its arguments.
    """
    function: Any = guess_and_learn if guessing else learn_rows
    if not type(rule).__module__.startswith("rosenblatt.rules."):
        return function
    kind = (guessing, type(geometry), type(rule), *map(type, rule))
    if kind not in _LEARNERS:
        signature = (numba.typeof(rule), numba.typeof(geometry), types.int64)
        _LEARNERS[kind] = function.compiled.compile(signature)
    return _LEARNERS[kind]


# By the types of a rule and its parameters.
_LEARNERS: dict[tuple[Any, ...], Callable[[Any, Any, int], int]] = {}


@compiled_part
def prefetch_weights(rows: Any, i: Any, count: int, V: Any) -> None:
    """Prefetch the values in ``V`` that belong to the features of a row, ``count`` of each, into L2."""
    each = np.uint64(count)
    for k in range(rows.starts[i], rows.starts[i + ONE]):
        at = (ONE + np.uint64(rows.indices[k])) * each
        stop = at + each
        while at < stop:
            prefetch(V, at, L2)
            at += EIGHT


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
    """Predict the class of each visited row into ``guesses``, then learn from it, one visit after the other.

    ``guesses`` has one column, for the hypothesis that ``averaged`` names, or two, for ``last`` and ``averaged``.
    """
    order, weight = visits
    p = link_power(geometry)
    W, average_offset, running, scores, totals, auxiliary, _ = state
    classes, hypotheses = scores.shape[0], running.shape[0]
    layout = Layout(np.uint64(classes), np.uint64(W.shape[0] // classes - 1), bias_input)
    largest = max_visited_sqnorm(rows.values, rows.starts, order)
    totals[0].max_sqnorm = max(totals[0].max_sqnorm, largest + bias_input * bias_input)
    one = Visits(np.empty(1, order.dtype), np.empty(1))  # slices of the visits would count references
    past, seen, factors = np.empty(classes), np.empty(classes), np.empty((2, classes))
    for t in range(order.shape[0]):
        i = order[t]
        one.order[0], one.weight[0] = i, weight[t]
        if t + 1 < order.shape[0]:
            prefetch_weights(rows, order[t + 1], classes, W)
            prefetch_weights(rows, order[t + 1], classes, average_offset)
            prefetch_weights(rows, order[t + 1], auxiliary.shape[0] // (W.shape[0] // classes), auxiliary)
        if scores_as_predicted(geometry):  # the loop scores the row, once for predictions and update
            if averaged or guesses.shape[1] > 1:
                score_row(rows, i, layout, average_offset, past)
            for c in range(classes):
                scalars = running[min(c, hypotheses - 1)]
                factors[0, c], factors[1, c] = scalars.scale, scalars.scale_sum
            _learn(rule, geometry, rows, labels, one, bias_input, state, ledger, False)
            for h in range(guesses.shape[1]):
                mean = averaged if guesses.shape[1] == 1 else h == 1
                for c in range(classes):
                    seen[c] = scores[c] * factors[1, c] - past[c] if mean else scores[c] * factors[0, c]
                guesses[t, h] = best_score(seen)
            continue
        for h in range(guesses.shape[1]):
            mean = averaged if guesses.shape[1] == 1 else h == 1
            guesses[t, h] = best_class(
                rows, i, layout, W, average_offset, running, auxiliary, mean, p, scores
            )
        _learn(rule, geometry, rows, labels, one, bias_input, state, ledger, False)
