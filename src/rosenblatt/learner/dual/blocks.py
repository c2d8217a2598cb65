"""Passes over data in blocks: scores by one product, a compiled loop that decides, support rows stored once."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import to_numpy
from rosenblatt.learner.dual.scorebook import ScoreBook
from rosenblatt.passes.kernel_block import LARGEST_SCALE, SMALLEST_SCALE, Block, Log, Space, visit_block
from rosenblatt.passes.records import ENTRY, State, Visits

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner


class Data(NamedTuple):
    """Examples as a kernel pass sees them."""

    X: Any
    labels: NDArray[np.int64]  # class indices
    first_row: int  # the number of the first one among all the learner has seen


def slots_of(learner: "DualLearner", data: Data) -> NDArray[np.int64]:
    """Return the slot of every example, or -1 where it is not a support row."""
    slots = np.full(data.labels.size, -1)
    known = learner.support_rows - data.first_row
    here = (known >= 0) & (known < data.labels.size)
    slots[known[here]] = np.flatnonzero(here)
    return slots


def new_book(learner: "DualLearner", data: Data, once: bool) -> ScoreBook:
    """Return the scores of all examples under the coefficients as they are."""
    space, support = learner.unstarted(), learner.support.all()
    both = np.concatenate([learner.W, learner.A])[:, : learner.n_support].T
    scores = space.all_times(data.X, support, both)
    scores /= space.unit
    return ScoreBook(space, data.X, scores, learner.block_size, once)


def exact_pass(learner: "DualLearner", data: Data, visits: Visits, book: ScoreBook | None) -> None:
    """Visit every example in order, exactly as one by one; a book brings the scores, else all support rows do."""
    space, arrays = learner.unstarted(), learner.unstarted().arrays
    classes = learner.W.shape[0]
    truth = data.labels if classes > 1 else 2 * data.labels - 1
    slots = slots_of(learner, data)
    room = np.empty(classes)
    in_space = Space(space.unit, learner.delta**2)
    for lo in range(0, visits.order.size, learner.block_size):
        part = visits.order[lo : lo + learner.block_size].astype(np.int64)
        rows = arrays.rows(data.X, part)
        kept = space.remembered(rows, part + data.first_row)
        gram = np.ascontiguousarray(to_numpy(space.values(rows, kept)))
        ahead = _ahead(learner, rows) if book is None else book.look(part, rows)[:, :classes]
        weight = visits.weight[lo : lo + learner.block_size]
        block = Block(part, truth[part], weight, np.ascontiguousarray(ahead.T), gram)
        log = _new_log(slots, part.size, classes, learner.n_support)
        learner.reserve(learner.n_support + part.size)
        first = 0
        while first < part.size:
            state = State(learner.W, learner.A, learner.running, room, learner.totals)
            lines = _NO_LEDGER
            if learner.ledger is not None:
                lines = learner.ledger.room((part.size - first) * learner.running.size)
            first = visit_block(learner.rule, block, in_space, state, log, lines, first)
            if learner.ledger is not None:
                learner.ledger.written(int(learner.totals["written"][0]), data.first_row)
                learner.totals["written"] = 0
            _fold(learner, book, block, log)
        _remember(learner, data, space, rows, kept, part, log)
        if book is not None:
            touched = log.touched[: log.counts[2]]
            moved = _some(arrays, kept, touched)
            book.note(part, gram, touched, moved, log.moves[: touched.size])


def _ahead(learner: "DualLearner", rows: Any) -> NDArray[np.float64]:
    space, n = learner.unstarted(), learner.n_support
    if not n:
        return np.zeros((rows.shape[0], learner.W.shape[0]))
    return space.times(rows, learner.support.all(), space.arrays.put(learner.W[:, :n].T))


def _new_log(slots: NDArray[np.int64], visits: int, classes: int, support: int) -> Log:
    numbers = np.empty((2, visits), np.int64)
    counts = np.array([support, 0, 0])
    return Log(slots, numbers[0], numbers[1], np.empty((visits, 2 * classes)), counts)


def _remember(
    learner: "DualLearner", data: Data, space: Any, rows: Any, kept: Any, part: Any, log: Log
) -> None:
    """Store the rows that became support rows."""
    born = log.born[: log.counts[1]]
    if not born.size:
        return
    touched = log.touched[: log.counts[2]]
    _, first = np.unique(part[touched], return_index=True)
    places = touched[np.sort(first)]
    places = places[np.isin(part[places], born)]
    learner.support.add(_some(space.arrays, kept, places))
    learner.support_rows = np.concatenate([learner.support_rows, born + data.first_row])
    if learner.ledger is not None:
        learner.ledger.support_rows = learner.support_rows


def _some(arrays: Any, kept: Any, places: NDArray[np.int64]) -> Any:
    return arrays.rows(kept, places)


def _fold(learner: "DualLearner", book: ScoreBook | None, block: Block, log: Log) -> None:
    scale = learner.running["scale"]
    if ((scale > SMALLEST_SCALE) & (scale < LARGEST_SCALE)).all():
        return
    for h in range(scale.size):  # the scores ahead are of W, and are multiplied as it is
        if not SMALLEST_SCALE < scale[h] < LARGEST_SCALE:
            own = slice(None) if learner.joint else slice(h, h + 1)
            block.scores[own] *= scale[h]
    learner.fold(book, log.moves[: log.counts[2]])


_NO_LEDGER = np.empty(0, ENTRY)
