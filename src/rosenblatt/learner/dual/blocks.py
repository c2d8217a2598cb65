"""Passes over data in blocks: scores by one product, a compiled loop that decides, support rows stored once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.kernel_block import FOLD, Block, Log, Space, visit_block
from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.state import State, Visits
from rosenblatt.learner.dual.arrays import cut
from rosenblatt.learner.dual.errand import Errand
from rosenblatt.learner.dual.kernels import Precomputed
from rosenblatt.learner.dual.scorebook import Part, ScoreBook
from rosenblatt.learner.dual.space import FeatureSpace

if TYPE_CHECKING:
    from rosenblatt.learner.dual.learner import DualLearner

ROWS_HERE, ROWS_THERE = 512, 2048  # in one block: a device rather takes fewer, larger steps
MOST_VISITS = 1 << 16  # in one block
LINES_AT_ONCE = 4096  # visits that a ledger makes room for
FOLDS_AT_ONCE = 64


class Data(NamedTuple):
    """Examples as a kernel pass sees them."""

    X: Any
    labels: NDArray[np.int64]  # class indices
    first_row: int  # the number of the first one among all the learner has seen
    itself: NDArray[np.float64]  # the kernel of each example with itself, in units
    among: tuple[Errand, Errand]  # of the rows of a block with each other: one arrives while one is read


def kernel_among(space: FeatureSpace, X: Any, first_row: int, recorded: bool) -> tuple[Errand, Errand]:
    """Return errands that bring the kernel of some rows with each other, and keep the rows."""

    def work(index: Any) -> tuple[Any, Any]:
        rows = space.arrays.rows(X, index)
        kept = space.kept(X, index, first_row) if isinstance(space.kernel, Precomputed) else rows
        return space.values(rows, kept), rows

    recorded = recorded and space.recordable
    first, second = (Errand(space.arrays, work, "int64", recorded=recorded, aside=True) for _ in range(2))
    return first, second


def rows_at_once(learner: "DualLearner") -> int:
    """Return how many rows are decided together."""
    return learner.block_size or (ROWS_HERE if learner.fitted_space().arrays.here else ROWS_THERE)


def slots_of(learner: "DualLearner", data: Data) -> NDArray[np.int64]:
    """Return the slot of every example, or -1 where it is not a support row."""
    slots = np.full(data.labels.size, -1)
    known = learner.support_rows - data.first_row
    here = (known >= 0) & (known < data.labels.size)
    slots[known[here]] = np.flatnonzero(here)
    return slots


def new_book(learner: "DualLearner", data: Data) -> ScoreBook:
    """Return the scores of all examples under the coefficients as they are."""
    space, n = learner.fitted_space(), learner.n_support
    scores = space.arrays.zeros((data.labels.size, 2 * learner.W.shape[0]), "float64")
    if n:
        both = np.concatenate([learner.W, learner.average_offset])[:, :n].T
        told = space.all_times(data.X, learner.support.all(), both)
        scores = space.arrays.put(told / space.value_scale, "float64")
    return ScoreBook(space, data.X, data.first_row, scores)


def parts(learner: "DualLearner", data: Data, visits: Visits) -> Iterator[Part]:
    """Cut visits into blocks of at most so many rows; few rows shown often are one block."""
    size, repeats = rows_at_once(learner), visits.weight.size > 0
    at_once = MOST_VISITS if repeats and data.labels.size <= size else size
    order = visits.order.astype(np.int64)
    for number, piece in enumerate(cut(order.size, at_once)):
        shown = order[piece]
        place = np.arange(shown.size)
        if repeats:
            shown, place = np.unique(shown, return_inverse=True)
        gram, rows = data.among[number % 2].run(shown)
        yield Part(place.reshape(-1), visits.weight[piece], shown, rows, gram)


def exact_pass(learner: "DualLearner", data: Data, visits: Visits, book: ScoreBook | None) -> None:
    """Visit every example in order, exactly as one by one; a book brings the scores, else all support rows do.

    A device is asked for a block's scores first; what needs none of the block's decisions it does while they are made.
    """
    arrays, log = learner.fitted_space().arrays, _new_log(learner, data)
    blocks = parts(learner, data, visits)
    part = next(blocks, None)
    try:
        while part is not None:
            scores = book.look(part) if book else arrays.send("scores", _scores(learner, part).T)
            following = next(blocks, None)
            if book is not None and book.numbers.size > book.most_waiting:
                book.settle()
            gram, ahead = part.gram.arrived(), np.array(scores.arrived(), np.float64)
            _decide(learner, data, part, ahead, gram, log, book)
            if book is not None:
                touched = log.touched[: log.counts[2]]
                book.note(part, touched, log.moves[: touched.size])
            _take_up(learner, data, part, log)
            if book is None:
                _remember(learner, data)
            part = following
    finally:
        _remember(learner, data)


def _scores(learner: "DualLearner", part: Part) -> Any:
    """Return ``(rows, classes)`` scores of a block by all support rows, where matrices live."""
    space, n = learner.fitted_space(), learner.n_support
    if not n:
        return space.arrays.put(np.zeros((part.shown.size, learner.W.shape[0])), "float64")
    return space.times(part.rows, learner.support.all(), space.arrays.put(learner.W[:, :n].T))


def _decide(
    learner: "DualLearner",
    data: Data,
    part: Part,
    ahead: NDArray[np.float64],
    gram: NDArray[Any],
    log: Log,
    book: ScoreBook | None,
) -> None:
    """Run the compiled loop over a block; the ledger is written, and the book follows when scales are folded."""
    classes, shown = learner.W.shape[0], part.shown
    labels = data.labels[shown]
    truth = labels if classes > 1 else 2 * labels - 1
    once = part.weight.size == 0
    block = Block(part.visits, part.weight, shown, truth, ahead, gram, data.itself[shown], once)
    space, room = Space(learner.fitted_space().value_scale, learner.delta**2), np.empty(classes)
    learner.reserve(learner.n_support + shown.size)
    first = 0
    while first < part.visits.size:
        state = State(learner.W, learner.average_offset, learner.running, room, learner.totals)
        lines = NO_LEDGER
        if learner.ledger is not None:
            lines = learner.ledger.room(min(part.visits.size - first, LINES_AT_ONCE) * learner.running.size)
        first = visit_block(learner.rule, block, space, state, log, lines, first)
        if learner.ledger is not None:
            learner.ledger.written(int(learner.totals["written"][0]), data.first_row)
            learner.totals["written"] = 0
        if book is not None:
            for c, scale, scale_sum in log.folds[: log.counts[3]].tolist():
                book.fold(c, scale, scale_sum)
        log.counts[3] = 0


def _new_log(learner: "DualLearner", data: Data) -> Log:
    rows = min(rows_at_once(learner), data.labels.size)
    born, touched, place = np.full((3, rows), -1)
    moves, counts = np.zeros((rows, 2 * learner.W.shape[0])), np.array([learner.n_support, 0, 0, 0])
    folds = np.empty(FOLDS_AT_ONCE + learner.running.size, FOLD)
    return Log(slots_of(learner, data), born, touched, place, moves, counts, folds)


def _take_up(learner: "DualLearner", data: Data, part: Part, log: Log) -> None:
    """Name the rows that became support rows, in the order they did, and leave the log blank."""
    born, touched = log.counts[1:3]
    if born:
        new = part.shown[log.born[:born]] + data.first_row
        learner.support_rows = np.concatenate([learner.support_rows, new])
        if learner.ledger is not None:
            learner.ledger.support_rows = learner.support_rows
    log.place[log.touched[:touched]] = -1
    log.moves[:touched] = 0.0
    log.counts[1:] = 0


def _remember(learner: "DualLearner", data: Data) -> None:
    """Store the support rows that were named and are not there yet."""
    new = learner.support_rows[len(learner.support) :] - data.first_row
    if new.size:
        learner.support.add(learner.fitted_space().kept(data.X, new, data.first_row))
