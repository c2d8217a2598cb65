"""Training on what does not fit in memory: passes over a stream of batches, equal to passes over all of it at once."""

import copy
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data import Batch, Examples, Schema
from rosenblatt.data.arrow_batches import BatchFile, write_batches
from rosenblatt.data.batch import batch_bytes, gathered
from rosenblatt.data.errors import SkippedLines
from rosenblatt.data.examples import SecondLook
from rosenblatt.data.source import Source, check_spooled
from rosenblatt.data.textblocks import cores
from rosenblatt.learner import Epoch, Evaluation, Learner
from rosenblatt.learner.examples import checked_examples
from rosenblatt.learner.training import decays, run_epochs
from rosenblatt.streams.cache import NoCache, can_be_kept, can_be_read_again, kept_batches, room_on_the_disk
from rosenblatt.streams.evaluate import ROOM, evaluate_stream, labels_of
from rosenblatt.streams.visiting import BUFFER_BYTES, as_they_lie, shuffled

FEW = 8  # classes that labels are compared with, one by one: faster than any search
NEEDED = 245 << 20  # bytes beside the weights: the interpreter, what it has loaded, the blocks in flight


class Pass(NamedTuple):
    """How far a pass has come; number 0 is reading into a file of batches."""

    number: int
    rows: int
    mistakes: int
    done: bool
    of: int | None = None  # rows of a whole pass, where they are known


Tell = Callable[[Pass], None]


class Trained(NamedTuple):
    """A learner, and how its training ended."""

    learner: Learner
    rows: int  # of one pass
    interrupted: bool  # by the user: the learner is as the last whole pass left it
    evaluations: dict[str, Evaluation]  # of its hypotheses on the stream, where it could be read again
    schema: Schema  # of the features
    skipped: SkippedLines


def train_on_stream(
    learner: Learner,
    examples: Examples,
    source: Source,
    *,
    options: Mapping[str, Any] | None = None,
    passes: int = 10,
    shuffle: bool = False,
    keep: bool = True,
    memory: int | None = None,
    evaluate: bool = False,
    pocket: bool = False,
    tell: Tell | None = None,
) -> Trained:
    """Cycle over a stream until a pass makes no update, or ``passes`` times.

    One pass in the order of the file reads the file itself. More passes, or a shuffle, read it once into a file of
    batches, in the user's cache folder (``keep``) or a temporary one, and map that into memory. A shuffle visits the
    batches in an order drawn from the seed and the pass, gathers up to 65,536 rows or 32 MB (less where ``memory``
    is short) at a time, and visits these in a drawn order. With ``evaluate`` the hypotheses are evaluated in one
    more read;
    with ``pocket`` in any case, so that what can be read only once is kept in a temporary file.

    **Guarantee.** Without a shuffle the learner is exactly the one that ``learner.train(X, y, shuffle=False)`` on all
    rows leaves; its memory is its weights, a few blocks of the file, and, but for a ledger, nothing that grows with
    the rows. Without ``memory`` a mapped file of up to a quarter of the machine's stays mapped, for the system to take.
    """
    if passes < 1:
        raise ValueError(f"passes must be 1 or more, got {passes}")
    if memory is not None and memory < NEEDED:
        raise ValueError(
            f"Python and its libraries alone take about {NEEDED >> 20} MB, more than the memory asked for "
            f"({memory >> 20} MB): allow more"
        )
    run = _Run(learner, passes, shuffle, memory, evaluate or pocket, tell or (lambda _: None))
    if isinstance(examples, BatchFile):
        return run.over(examples)
    again = can_be_read_again(source)
    if passes == 1 and not shuffle and (again or not pocket):
        return _once(run, examples, again)
    if keep and can_be_kept(source):
        with suppress(NoCache):  # nowhere to keep anything
            return run.over(kept_batches(examples, source, options or {}, run.counted))
    with tempfile.TemporaryFile() as file:  # without a name: the system removes it however the process ends
        batches = run.counted(examples)
        with room_on_the_disk(Path(tempfile.gettempdir(), "batches")):
            write_batches(file, examples, gathered(batches if again else _as_allowed(batches)))
            file.flush()
        return run.over(BatchFile(examples.path, file=file))


def _as_allowed(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Pass on the batches of standard input while what is kept of it is no more than is allowed."""
    size = 0
    for batch in batches:
        size += batch_bytes(batch)
        check_spooled(size)
        yield batch


def _once(run: "_Run", examples: Examples, again: bool) -> Trained:
    """Learn from the file itself; begin anew where a later part of it shows that the rows before were misread."""
    classes = None
    while True:
        fresh = copy.deepcopy(run.learner)
        try:
            return run.over(_Direct(examples, again, classes))
        except _NewClass:
            if not again:
                raise ValueError(
                    "a third class appeared after the first rows, and the stream cannot be read again: "
                    "write it to a file, or learn as it comes with `stream`"
                ) from None
            classes = np.array(
                sorted({label for batch in examples for label in np.unique(labels_of(batch)).tolist()})
            )
        except SecondLook:
            _ = examples.schema  # looks at all of it
        run = run.anew(fresh)


class _NewClass(Exception):
    """A class appeared that changes what the rows before it would have taught."""


class _Direct:
    """The file itself; its classes are known, or those of the first batch and at most two."""

    rows: int | None = None

    def __init__(self, examples: Examples, again: bool, classes: Any = None) -> None:
        self.examples, self.again, self.classes = examples, again, classes

    def __iter__(self) -> Iterator[Batch]:
        return self.examples.at_first_sight()


class _Run:
    """Passes of a learner over batches."""

    def __init__(
        self, learner: Learner, passes: int, shuffle: bool, memory: int | None, evaluate: bool, tell: Tell
    ) -> None:
        self.learner, self.passes, self.shuffle = learner, passes, shuffle
        self.memory, self.evaluate, self.tell = memory, evaluate, tell
        self.first_index: int | None = None  # of the rows learned from, in LIBSVM text

    def anew(self, learner: Learner) -> "_Run":
        return _Run(learner, self.passes, self.shuffle, self.memory, self.evaluate, self.tell)

    def counted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass batches on and report how many rows there were."""
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.lines.size
            self.tell(Pass(0, rows, 0, False))

    def over(self, batches: "_Direct | BatchFile") -> Trained:
        learner, rows = self.learner, 0
        whole: Learner | None = None  # as the last whole pass left it
        first = len(learner.epochs)

        def visit_all(number: int) -> bool:
            nonlocal rows
            rows = self._visit(number - first + 1, batches)
            return decays(learner)

        def on_epoch(epoch: Epoch) -> None:
            nonlocal whole
            whole = learner  # and the copy before it is gone, when the next is made
            number = epoch.number - first
            if number < self.passes and not learner.converged:
                whole = copy.deepcopy(learner)
            self.tell(Pass(number, rows, epoch.mistakes, True, rows))

        try:
            only_these = run_epochs(learner, visit_all, self.passes, on_epoch)
        except KeyboardInterrupt:
            if whole is None:
                raise
            return Trained(whole, rows, True, {}, *_about(batches))
        try:
            evaluations = self._evaluations(batches, only_these)
            return Trained(learner, rows, False, evaluations, *_about(batches))
        except KeyboardInterrupt:  # what was learned is whole
            return Trained(learner, rows, True, {}, *_about(batches))

    def _visit(self, number: int, batches: "_Direct | BatchFile") -> int:
        """Visit every batch once and return how many rows there were."""
        learner, rows, mistakes = self.learner, 0, self.learner.mistakes
        for batch in self._visited(batches, number):
            if batch.first_index == 0 and self.first_index == 1:
                learner.insert_first_feature()
            self.first_index = batch.first_index
            self._check(batch, batches)
            classes = _classes(batches, batch)
            # What is kept was looked over by the first pass.
            max_sqnorm = None if number == 1 or isinstance(batches, _Direct) else 0.0
            examples = checked_examples(
                batch.X, labels_of(batch), batch.weight, classes=classes, max_sqnorm=max_sqnorm
            )
            learner.visit(examples, classes, cores())
            rows += batch.lines.size
            self.tell(Pass(number, rows, learner.mistakes - mistakes, False, batches.rows))
        return rows

    def _evaluations(self, batches: "_Direct | BatchFile", only_these: bool) -> dict[str, Evaluation]:
        if not self.evaluate or (isinstance(batches, _Direct) and not batches.again):
            return {}
        room = ROOM if self.memory is None else min(ROOM, self._spare() // 4)
        in_order = as_they_lie(batches, self._tight) if isinstance(batches, BatchFile) else batches
        return evaluate_stream(self.learner, in_order, only_these, room)

    def _visited(self, batches: "_Direct | BatchFile", number: int) -> Iterator[Batch]:
        if isinstance(batches, _Direct):
            return iter(batches)
        if not self.shuffle:
            return as_they_lie(batches, self._tight)
        room = BUFFER_BYTES if self.memory is None else min(BUFFER_BYTES, max(1 << 20, self._spare() // 8))
        rng = np.random.default_rng([self.learner.seed % 2**63, number])
        return shuffled(batches, rng, room, self._tight)

    @property
    def _tight(self) -> bool:
        """Whether nothing that was read may stay in memory."""
        return self.memory is not None

    def _weights(self, width: int, classes: int = 0) -> int:
        """How many bytes weights take: two vectors a class, and copies of them on their way to the file.

        These are more than the copy that is held of the last whole pass while there is another.
        """
        rows = max(self.learner.W.shape[0], classes if classes > 2 else 1)
        vectors = 6 if rows == 1 else 8  # of several classes they lie otherwise than they are written
        return int(8 * vectors * (1 + max(width, self.learner.n_features)) * rows)

    def _spare(self) -> int:
        return max(0, (self.memory or 0) - NEEDED - self._weights(0))

    def _check(self, batch: Batch, batches: "_Direct | BatchFile") -> None:
        """Refuse a class that comes too late, and what the memory does not suffice for."""
        if isinstance(batches, _Direct) and batches.classes is not None:
            y = labels_of(batch)
            known = np.zeros(y.size, np.bool_)
            for label in batches.classes[:FEW]:
                known |= y == label
            if not known.all():
                classes = np.union1d(batches.classes, np.unique(y[~known]))
                if classes.size > 2 and classes.size > len(batches.classes):
                    raise _NewClass
        if self.memory is None:
            return
        needed = NEEDED + self._weights(
            batch.X.shape[1], 0 if batches.classes is None else len(batches.classes)
        )
        if needed > self.memory:
            raise ValueError(
                f"{batch.X.shape[1]:,} features need about {needed >> 20:,} MB, more than the memory asked for: "
                "allow more, or hash the features (--hash-bits)"
            )
        ledger = self.learner.ledger
        # It grows by copies, and what it is read for takes some: four times its size was measured.
        lines = 0 if ledger is None else 4 * (ledger.entries.nbytes + _matrix_bytes(ledger.support))
        if needed + lines > self.memory:
            raise ValueError(
                f"the ledger of {self.learner.updates:,} updates needs about {lines >> 20:,} MB, more than the memory "
                "asked for: allow more, or choose --hypothesis averaged, which needs no ledger"
            )


def _about(batches: "_Direct | BatchFile") -> tuple[Schema, SkippedLines]:
    """Return the schema and the skipped lines of what was read: now, or when the batches were kept."""
    if isinstance(batches, _Direct):
        return batches.examples.schema, batches.examples.skipped
    return batches.schema, batches.skipped_before()


def _classes(batches: "_Direct | BatchFile", batch: Batch) -> Any:
    classes = batches.classes
    if classes is None and isinstance(batches, _Direct):
        classes = batches.classes = np.unique(labels_of(batch))
    return classes if classes is not None and len(classes) else None


def _matrix_bytes(X: Any) -> int:
    if X is None:
        return 0
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)
