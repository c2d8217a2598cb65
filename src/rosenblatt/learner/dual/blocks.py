"""Passes over data in blocks: scores by one product, a compiled loop that decides, support rows stored once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import cut
from rosenblatt.learner.dual.scorebook import ScoreBook
from rosenblatt.passes.kernel_block import Block, Log, Space, visit_block
from rosenblatt.passes.records import ENTRY, State, Visits
from rosenblatt.passes.sweep import LARGEST_SCALE, SMALLEST_SCALE

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner

ROWS_HERE, ROWS_THERE = 512, 2048  # in one block: a device rather takes fewer, larger steps
MOST_VISITS = 1 << 16  # in one block
LINES_AT_ONCE = 4096  # visits that a ledger makes room for


class Data(NamedTuple):
    """Examples as a kernel pass sees them."""

    X: Any
    labels: NDArray[np.int64]  # class indices
    first_row: int  # the number of the first one among all the learner has seen


def rows_at_once(learner: "DualLearner") -> int:
    """Return how many rows are decided together."""
    return learner.block_size or (ROWS_HERE if learner.unstarted().arrays.here else ROWS_THERE)


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
    return ScoreBook(space, data.X, scores, rows_at_once(learner), once)


class Part(NamedTuple):
    """A block as it is brought to a compiled loop."""

    visits: NDArray[np.int64]  # which of the rows, in order
    weight: NDArray[np.float64]
    shown: NDArray[np.int64]  # the rows, each once
    rows: Any  # where matrices live
    kept: Any  # the same as support rows are remembered
    gram: Any  # where matrices live


def parts(learner: "DualLearner", data: Data, visits: Visits) -> Iterator[Part]:
    """Cut visits into blocks of at most so many rows; few rows shown often are one block."""
    space, size = learner.unstarted(), rows_at_once(learner)
    repeats = visits.weight.size > 0
    at_once = MOST_VISITS if repeats and data.labels.size <= size else size
    order = visits.order.astype(np.int64)
    there = None if space.arrays.here else space.arrays.put(order, "int64")
    for piece in cut(order.size, at_once):
        shown = order[piece]
        place = np.arange(shown.size)
        if repeats:
            shown, place = np.unique(shown, return_inverse=True)
        index = shown if repeats or there is None else there[piece]
        rows = space.arrays.rows(data.X, index)
        kept = space.remembered(rows, shown + data.first_row)
        weight = visits.weight[piece]
        yield Part(place.reshape(-1), weight, shown, rows, kept, space.values(rows, kept))


def exact_pass(learner: "DualLearner", data: Data, visits: Visits, book: ScoreBook | None) -> None:
    """Visit every example in order, exactly as one by one; a book brings the scores, else all support rows do."""
    space, arrays = learner.unstarted(), learner.unstarted().arrays
    classes = learner.W.shape[0]
    truth = data.labels if classes > 1 else 2 * data.labels - 1
    slots = slots_of(learner, data)
    in_space, room = Space(space.unit, learner.delta**2), np.empty(classes)
    for part in parts(learner, data, visits):
        shown = part.shown
        gram, ahead = _fetched(learner, book, part)
        block = Block(
            part.visits, part.weight, shown, truth[shown], np.array(ahead.T[:classes], order="C"), gram
        )
        log = _new_log(slots, shown.size, classes, learner.n_support)
        learner.reserve(learner.n_support + shown.size)
        first = 0
        while first < part.visits.size:
            state = State(learner.W, learner.A, learner.running, room, learner.totals)
            lines = _NO_LEDGER
            if learner.ledger is not None:
                lines = learner.ledger.room(
                    min(part.visits.size - first, LINES_AT_ONCE) * learner.running.size
                )
            first = visit_block(learner.rule, block, in_space, state, log, lines, first)
            if learner.ledger is not None:
                learner.ledger.written(int(learner.totals["written"][0]), data.first_row)
                learner.totals["written"] = 0
            _fold(learner, book, block, log)
        touched = log.touched[: log.counts[2]]
        if touched.size:
            moved = arrays.rows(part.kept, touched)
            _remember(learner, data, shown, moved, log)
            if book is not None:
                book.note(shown, gram, touched, moved, log.moves[: touched.size])


def _fetched(
    learner: "DualLearner", book: ScoreBook | None, part: Part
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Bring the Gram matrix and the scores of a block to the CPU, together."""
    space, n = learner.unstarted(), learner.n_support
    if book is not None:
        news = book.news(part.rows)
    elif n:
        news = space.times(part.rows, learner.support.all(), space.arrays.put(learner.W[:, :n].T))
    else:
        news = None
    if news is None:
        gram, told = space.arrays.fetch(gram=part.gram)[0], None
    else:
        gram, told = space.arrays.fetch(gram=part.gram, news=news)
    if book is not None:
        return gram, book.look(part.shown, told)
    return gram, np.zeros((part.shown.size, learner.W.shape[0])) if told is None else told.astype(np.float64)


def _new_log(slots: NDArray[np.int64], rows: int, classes: int, support: int) -> Log:
    born, touched, place = np.full((3, rows), -1)
    return Log(slots, born, touched, place, np.zeros((rows, 2 * classes)), np.array([support, 0, 0]))


def _remember(learner: "DualLearner", data: Data, shown: NDArray[np.int64], moved: Any, log: Log) -> None:
    """Store the rows that became support rows, in the order they did; ``moved`` are those that were touched."""
    born = log.born[: log.counts[1]]
    if not born.size:
        return
    every = born.size == log.counts[2]
    learner.support.add(moved if every else learner.unstarted().arrays.rows(moved, log.place[born]))
    learner.support_rows = np.concatenate([learner.support_rows, shown[born] + data.first_row])
    if learner.ledger is not None:
        learner.ledger.support_rows = learner.support_rows


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
