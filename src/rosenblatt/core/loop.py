"""The loop: score an example, compare with its label, update the weights as the rule decides.

It is written once, for any rule, geometry and kind of rows. A hypothesis is a weight vector with one set of running
scalars: two classes have one; several classes have one each (``ovr``), or one for all (``joint``: the true class
against its best rival, ``W[y] += τ x`` and ``W[rival] −= τ x``, Kesler's construction).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rosenblatt.core.geometry import (
    Example,
    VisitedRows,
    Weights,
    bound_is_loose,
    move,
    scaled_score,
    score_example,
    shrink_weights,
    w_sqnorm,
    x_sqnorm_bound,
    x_sqnorm_exact,
)
from rosenblatt.core.rows import (
    EXACTLY_INLINED,
    INLINED,
    Layout,
    Rows,
    prefetch_ahead,
    prefetch_distance,
)
from rosenblatt.core.state import State, Visits
from rosenblatt.jit import LARGEST_INT64, compiled_for_rules, compiled_part, exactly_compiled_part
from rosenblatt.rules import Seen, step, step_of


class ClassPair(NamedTuple):
    """The classes that an update by an example would change, for one hypothesis."""

    target: np.int64  # the class whose weights the step is added to
    rival: np.int64  # the class whose weights it is subtracted from, -1 where there is none
    y: float  # ±1, or the real target
    score: float  # unscaled: of the target, minus that of the rival


class Decision(NamedTuple):
    """The rule's decision on an example: the weights become ``shrink·w + tau·y·x``."""

    score: float
    mistake: bool
    shrink: float
    tau: float


def real_targets(labels: Any) -> bool:
    """Return whether labels are real targets rather than classes; evaluated at compile time."""
    return bool(labels.dtype.kind == "f")


@overload(real_targets, strict=False, **INLINED)
def _real_targets(labels: Any) -> Callable[..., bool]:
    return (lambda labels: True) if isinstance(labels.dtype, numba.types.Float) else (lambda labels: False)


def single_output(labels: Any) -> bool:
    """Return whether there is one row of weights: labels are real targets, or -1 and +1 as int8.

    It is evaluated at compile time, so that the compiled loop contains no choice between classes.
    """
    return real_targets(labels) or labels.dtype == np.int8


@overload(single_output, strict=False, **INLINED)
def _single_output(labels: Any) -> Callable[..., bool]:
    return (lambda labels: True) if _has_single_output(labels) else (lambda labels: False)


def _has_single_output(labels: Any) -> bool:
    """Return :func:`single_output` for the numba type of labels."""
    return isinstance(labels.dtype, numba.types.Float) or labels.dtype == numba.types.int8


@overload(step, strict=False, **EXACTLY_INLINED)
def _step(rule: Any, seen: Any) -> Callable[..., Any] | None:
    """Compile the Python function registered for the class of the rule, unchanged."""
    return step_of(rule.instance_class) if isinstance(rule, numba.types.BaseNamedTuple) else None


@compiled_part
def best_rival(scores: NDArray[Any], target: int) -> int:
    """Return the class with the highest score except the true one, the first of equals."""
    rival = 1 if target == 0 else 0
    for c in range(rival + 1, scores.shape[0]):
        if c != target and scores[c] > scores[rival]:
            rival = c
    return rival


def class_pair(labels: NDArray[Any], i: int, c: int, hypotheses: int, scores: NDArray[Any]) -> ClassPair:
    """Return the class pair of example ``i`` for hypothesis ``c``.

    Labels are -1 and +1 (or real targets) where there is one score, class indices where there are several.
    """
    raise RuntimeError("class_pair runs inside compiled loops only")


@overload(class_pair, **INLINED)
def _class_pair(labels: Any, i: Any, c: Any, hypotheses: Any, scores: Any) -> Callable[..., Any]:
    def of_one(labels: Any, i: Any, c: Any, hypotheses: Any, scores: Any) -> Any:
        # No branch on the label: with two balanced classes it would be mispredicted half the time.
        return ClassPair(np.int64(0), np.int64(-1), float(labels[i]), float(scores[0]))

    def of_several(labels: Any, i: Any, c: Any, hypotheses: Any, scores: Any) -> Any:
        return _pair_of_several(int(labels[i]), c, hypotheses, scores)

    return of_one if _has_single_output(labels) else of_several


@compiled_part
def _pair_of_several(label: int, c: int, hypotheses: int, scores: NDArray[Any]) -> ClassPair:
    if scores.shape[0] > hypotheses:
        rival = np.int64(best_rival(scores, label))
        return ClassPair(np.int64(label), rival, 1.0, float(scores[label] - scores[rival]))
    y = float(label) if scores.shape[0] == 1 else (1.0 if label == c else -1.0)
    return ClassPair(np.int64(c), np.int64(-1), y, float(scores[c]))


@exactly_compiled_part
def decide(
    rule: Any,
    pair: Any,
    score: float,
    x_sqnorm: float,
    w_sqnorm: float,
    updates: int,
    clock: float,
    real: bool,
) -> Decision:
    """Return the rule's decision on an example; every loop calls this function.

    A score on the wrong side, or zero, is a mistake; with real targets (``real``) there are no mistakes.
    """
    shrink, tau = step(rule, Seen(score, pair.y, x_sqnorm, w_sqnorm, updates, clock, real))
    return Decision(float(score), (not real) and pair.y * score <= 0.0, float(shrink), float(tau))


@compiled_part
def all_zero(total: Any, running: Any) -> bool:
    """Return whether every weight is zero: no update was made, and training started from zero weights."""
    zero = total.updates == 0
    for c in range(running.shape[0]):
        zero = zero and running[c].sqnorm == 0.0
    return zero


@compiled_part
def record(
    line: Any, row: Any, pair: Any, binary: bool, step_size: float, clock: float, score: float, scalars: Any
) -> None:
    """Write one line of the ledger; with two classes the target is class 1."""
    line.row, line.target, line.rival = row, pair.target + binary, pair.rival
    line.tau, line.decay, line.clock = step_size, scalars.decay, clock
    line.score, line.sqnorm = pair.y * score, scalars.sqnorm


@compiled_for_rules
def learn(
    rule: Any,
    geometry: Any,
    rows: Rows,
    labels: NDArray[Any],
    visits: Visits,
    bias_input: float,
    state: State,
    ledger: NDArray[Any],
    stop_before_update: bool,
) -> int:
    """Visit rows in order and return the number of visits made.

    The loop ends early where the ledger is full and, with ``stop_before_update``, before the first visit that would
    make an update or a mistake. An empty ledger records nothing. Labels are class indices, -1 and +1 as int8 where
    there are two classes, or floats, which are real targets. The largest norm is computed by the caller.
    """
    order, visit_weights = visits
    running, scores, total = state.running, state.scores, state.totals[0]
    weights = Weights(state.W, state.average_offset, state.auxiliary)
    classes, hypotheses = (1, 1) if single_output(labels) else (scores.shape[0], running.shape[0])
    layout = Layout(np.uint64(classes), np.uint64(state.W.shape[0] // classes - 1), bias_input)
    joint, binary, real = classes > hypotheses, classes == 1, real_targets(labels)
    keep, weighted = ledger.shape[0] > 0, visit_weights.shape[0] > 0
    # From this line on the lines of a visit may not fit into the ledger.
    last_line = ledger.shape[0] - hypotheses if keep else LARGEST_INT64
    clock, mistakes, updates, written = total.clock, total.mistakes, total.updates, total.written
    from_zero = state.marks.shape[0] > 0 and all_zero(total, running)
    distance = prefetch_distance(rows, labels.shape[0])
    weight, visited = 1.0, order.shape[0]
    for t in range(np.uint64(order.shape[0])):
        if written > last_line:
            visited = np.int64(t)
            break
        i = order[t]
        prefetch_ahead(rows, labels, order, t, distance, layout)
        if weighted:
            weight = visit_weights[t]
        example = Example(rows, i, layout)
        x_sqnorm = score_example(geometry, rule, example, weights, running, scores)
        for c in range(hypotheses):
            scalars = running[c]
            pair = class_pair(labels, i, c, hypotheses, scores)
            score, norm = scaled_score(geometry, scalars, pair.score), w_sqnorm(geometry, scalars)
            size = x_sqnorm_bound(geometry, example, weights, pair, x_sqnorm)
            decision, unit = decide(rule, pair, score, size, norm, scalars.updates, clock, real), 1.0
            if bound_is_loose(geometry) and decision.tau != 0.0:
                size, unit = x_sqnorm_exact(
                    geometry, rule, example, weights, scalars, pair, decision, size, weight
                )
                decision = decide(rule, pair, score, size, norm, scalars.updates, clock, real)
            if stop_before_update and (decision.mistake or decision.shrink != 1.0 or decision.tau != 0.0):
                visited = np.int64(t)
                break
            mistakes += decision.mistake
            if decision.shrink != 1.0:
                before = VisitedRows(order, t, state.marks, from_zero)
                shrink_weights(
                    geometry, example, weights, scalars, -1 if joint else c, decision.shrink, before
                )
                score *= decision.shrink
            if decision.tau != 0.0:
                step_size = weight * decision.tau * (1.0 if real else pair.y) * unit
                scalars.updates += 1
                updates += 1
                move(geometry, rule, example, weights, scalars, c, pair, score, step_size)
                if keep:
                    record(ledger[written], i, pair, binary, step_size, clock, score, scalars)
                    written += 1
                scalars.decay = 1.0
            scalars.scale_sum += weight * scalars.scale
        if visited == np.int64(t):
            break
        clock += weight
    total.clock, total.mistakes, total.updates, total.written = clock, mistakes, updates, written
    return visited
