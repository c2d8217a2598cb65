"""Training on data larger than memory: epochs over a stream of batches, equal to epochs over all rows at once.

One epoch in the order of the file reads the file itself. More epochs, or a shuffle, read it once into a file of batches
(:mod:`rosenblatt.streams.cache`), which is mapped into memory.
"""

import copy
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Batch, Examples, Schema
from rosenblatt.data.arrow_batches import BatchFile, write_batches
from rosenblatt.data.batch import batch_bytes, coalesce, concatenate
from rosenblatt.data.errors import SkippedLines
from rosenblatt.data.source import Source, check_spooled
from rosenblatt.data.textblocks import cores
from rosenblatt.learner import Epoch, Evaluation, Learner
from rosenblatt.learner.examples import checked_examples
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.learner.training import (
    BoundTerms,
    Evaluator,
    chosen_names,
    column_sqnorms,
    decays,
    run_epochs,
    scored_weights,
)
from rosenblatt.streams.cache import NoCache, cached_batches, is_cacheable, is_rereadable, reporting_full_disk

FEW_CLASSES = 8  # with at most this many, comparison is faster than a search
BASE_MEMORY = 245 << 20  # bytes beside the weights: the interpreter, its modules, the blocks in flight
MARGIN_BYTES = 64 << 20  # limit for margins in memory
BUFFER_ROWS, BUFFER_BYTES = 1 << 16, 32 << 20  # of the buffer of a shuffle


class Pass(NamedTuple):
    """Progress of a pass; number 0 is reading into a file of batches."""

    number: int
    rows: int
    mistakes: int
    done: bool
    of: int | None = None  # rows of a whole pass, None where unknown


OnPass = Callable[[Pass], bool | None]  # False after a pass: stop


class Trained(NamedTuple):
    """A trained learner, and how its training ended."""

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
    on_pass: OnPass | None = None,
) -> Trained:
    """Cycle over a stream until a pass makes no update, ``passes`` times, or until ``on_pass`` returns False after one.

    One pass in the order of the file reads the file itself. More passes, or a shuffle, read it once into a file of
    batches, in the user's cache folder (``keep``) or a temporary one, and map that into memory. A shuffle visits the
    batches in an order drawn from the seed and the pass, gathers up to 65,536 rows or 32 MB (less where ``memory``
    is short) at a time, and visits these in a drawn order. With ``evaluate`` the hypotheses are evaluated in one
    more read; with ``pocket`` always, so that a pipe is copied to a temporary file.

    **Guarantee.** Without a shuffle the learner is exactly the one that ``learner.train(X, y, shuffle=False)`` on all
    rows leaves. It holds its weights and a few blocks of the file; only a ledger grows with the rows. Without
    ``memory`` a mapped file of up to a quarter of the machine's memory stays mapped; the system may reclaim it.
    """
    if passes < 1:
        raise ValueError(f"passes must be 1 or more, got {passes}")
    if memory is not None and memory < BASE_MEMORY:
        raise ValueError(
            f"Python and its libraries alone take about {BASE_MEMORY >> 20} MB, more than the memory asked for "
            f"({memory >> 20} MB): allow more"
        )
    trainer = _Trainer(learner, passes, shuffle, memory, evaluate or pocket, on_pass or (lambda _: None))
    if isinstance(examples, BatchFile):
        return trainer.train(examples)
    again = is_rereadable(source)
    if passes == 1 and not shuffle and (again or not pocket):
        return _train_in_one_pass(trainer, examples, again)
    if keep and is_cacheable(source):
        with suppress(NoCache):  # no folder to write to
            return trainer.train(cached_batches(examples, source, options or {}, trainer.count_rows))
    with tempfile.TemporaryFile() as file:  # without a name: the system removes it however the process ends
        batches = trainer.count_rows(examples)
        with reporting_full_disk(Path(tempfile.gettempdir(), "batches")):
            write_batches(file, examples, coalesce(batches if again else _within_spool_limit(batches)))
            file.flush()
        return trainer.train(BatchFile(examples.path, file=file))


def _within_spool_limit(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the batches of standard input; raise where the copy on disk would exceed its limit."""
    size = 0
    for batch in batches:
        size += batch_bytes(batch)
        check_spooled(size)
        yield batch


def _train_in_one_pass(trainer: "_Trainer", examples: Examples, again: bool) -> Trained:
    """Learn from the file itself; start again where a later row shows that earlier ones were read or learned wrongly.

    With three or more classes every class is a rival from the first row on, so a third class that appears after the
    first batch starts the pass again, with all classes known.
    """
    classes = None
    while True:
        untrained = copy.deepcopy(trainer.learner)
        trained = trainer.train(_FileBatches(examples, again, classes))
        if not trainer.must_restart:
            return trained
        if trainer.late_class:
            if not again:
                raise ValueError(
                    "a third class appeared after the first rows, and the stream cannot be read again: "
                    "write it to a file, or learn as it comes with `stream`"
                )
            classes = np.array(
                sorted({label for batch in examples for label in np.unique(labels_of(batch)).tolist()})
            )
        trainer = trainer.restarted(untrained)


class _FileBatches:
    """The batches of the file itself; its classes are known, or at most two and those of the first batch."""

    rows: int | None = None

    def __init__(self, examples: Examples, again: bool, classes: Any = None) -> None:
        self.examples, self.again, self.classes = examples, again, classes

    def __iter__(self) -> Iterator[Batch]:
        return self.examples.first_reading()

    def brings_class(self, batch: Batch) -> bool:
        """Return whether a batch has a class that makes three or more of those known."""
        if self.classes is None:
            return False
        y = labels_of(batch)
        known = np.zeros(y.size, np.bool_)
        for label in self.classes[:FEW_CLASSES]:
            known |= y == label
        if known.all():
            return False
        classes = np.union1d(self.classes, np.unique(y[~known]))
        return bool(classes.size > 2 and classes.size > len(self.classes))


class _Trainer:
    """Passes of a learner over batches."""

    def __init__(
        self,
        learner: Learner,
        passes: int,
        shuffle: bool,
        memory: int | None,
        evaluate: bool,
        on_pass: OnPass,
    ) -> None:
        self.learner, self.passes, self.shuffle = learner, passes, shuffle
        self.memory, self.evaluate, self.on_pass = memory, evaluate, on_pass
        self.first_index: int | None = None  # of the rows learned from, in LIBSVM text
        self.late_class = False  # a third class appeared in the only pass over a file
        self.misread = False  # a later row of the file showed that earlier ones were read wrongly

    @property
    def must_restart(self) -> bool:
        """Whether training must start again."""
        return self.late_class or self.misread

    def restarted(self, learner: Learner) -> "_Trainer":
        """Return a trainer with the same options for another learner."""
        return _Trainer(learner, self.passes, self.shuffle, self.memory, self.evaluate, self.on_pass)

    def count_rows(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield batches and report the number of rows so far."""
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.lines.size
            self.on_pass(Pass(0, rows, 0, False))

    def train(self, batches: "_FileBatches | BatchFile") -> Trained:
        """Run the passes; where the user interrupts them, return the learner after the last whole pass."""
        learner, rows = self.learner, 0
        whole: Learner | None = None  # after the last whole pass
        first = len(learner.epochs)

        def visit_all(number: int) -> bool:
            nonlocal rows
            rows = self._visit(number - first + 1, batches)
            return decays(learner)

        def on_epoch(epoch: Epoch) -> bool | None:
            nonlocal whole
            if self.must_restart:
                return None
            whole = learner  # releases the previous copy before the next is made
            number = epoch.number - first
            if number < self.passes and not learner.converged:
                whole = copy.deepcopy(learner)
            return self.on_pass(Pass(number, rows, epoch.mistakes, True, rows))

        try:
            only_these = run_epochs(learner, visit_all, self.passes, on_epoch)
        except KeyboardInterrupt:
            if whole is None:
                raise
            return Trained(whole, rows, True, {}, *_schema_and_skipped(batches))
        try:
            evaluations = self._evaluations(batches, only_these)
            return Trained(learner, rows, False, evaluations, *_schema_and_skipped(batches))
        except KeyboardInterrupt:  # the passes are complete
            return Trained(learner, rows, True, {}, *_schema_and_skipped(batches))

    def _visit(self, number: int, batches: "_FileBatches | BatchFile") -> int:
        """Visit every batch once and return the number of rows; stop where a class comes too late."""
        learner, rows, mistakes = self.learner, 0, self.learner.mistakes
        for batch in self._batches(batches, number):
            if batch.first_index == 0 and self.first_index == 1:
                learner.insert_first_feature()
            self.first_index = batch.first_index
            if isinstance(batches, _FileBatches) and batches.brings_class(batch):
                self.late_class = True
                break
            self._check_memory(batch, batches)
            classes = _classes(batches, batch)
            # Batches of a file of batches are checked in the first pass.
            max_sqnorm = None if number == 1 or isinstance(batches, _FileBatches) else 0.0
            examples = checked_examples(
                batch.X, labels_of(batch), batch.weight, classes=classes, max_sqnorm=max_sqnorm
            )
            learner.visit(examples, classes, cores())
            rows += batch.lines.size
            self.on_pass(Pass(number, rows, learner.mistakes - mistakes, False, batches.rows))
        self.misread = isinstance(batches, _FileBatches) and batches.examples.revised
        return rows

    def _evaluations(self, batches: "_FileBatches | BatchFile", only_these: bool) -> dict[str, Evaluation]:
        if (
            not self.evaluate
            or self.must_restart
            or (isinstance(batches, _FileBatches) and not batches.again)
        ):
            return {}
        margin_bytes = MARGIN_BYTES if self.memory is None else min(MARGIN_BYTES, self._spare_memory() // 4)
        in_order = in_file_order(batches, self._tight) if isinstance(batches, BatchFile) else batches
        return evaluate_stream(self.learner, in_order, only_these, margin_bytes)

    def _batches(self, batches: "_FileBatches | BatchFile", number: int) -> Iterator[Batch]:
        """Return the batches of a pass, in the order of the file or shuffled."""
        if isinstance(batches, _FileBatches):
            return iter(batches)
        if not self.shuffle:
            return in_file_order(batches, self._tight)
        buffer_bytes = (
            BUFFER_BYTES
            if self.memory is None
            else min(BUFFER_BYTES, max(1 << 20, self._spare_memory() // 8))
        )
        rng = np.random.default_rng([self.learner.seed % 2**63, number])
        return shuffled_by_blocks(batches, rng, buffer_bytes, self._tight)

    @property
    def _tight(self) -> bool:
        """Whether pages that were read are released at once."""
        return self.memory is not None

    def _weight_bytes(self, width: int, classes: int = 0) -> int:
        """Return the bytes of the weights: two vectors a class, and the copies made when they are written.

        These are more than the copy of the last whole pass that is held during the next.
        """
        rows = max(self.learner.W.shape[0], classes if classes > 2 else 1)
        vectors = 6 if rows == 1 else 8  # several classes are transposed before they are written
        return int(8 * vectors * (1 + max(width, self.learner.n_features)) * rows)

    def _spare_memory(self) -> int:
        return max(0, (self.memory or 0) - BASE_MEMORY - self._weight_bytes(0))

    def _check_memory(self, batch: Batch, batches: "_FileBatches | BatchFile") -> None:
        """Raise ValueError where weights or ledger would exceed the memory asked for."""
        if self.memory is None:
            return
        classes = 0 if batches.classes is None else len(batches.classes)
        needed = BASE_MEMORY + self._weight_bytes(batch.X.shape[1], classes)
        if needed > self.memory:
            raise ValueError(
                f"{batch.X.shape[1]:,} features need about {needed >> 20:,} MB, more than the memory asked for: "
                "allow more, or hash the features (--hash-bits)"
            )
        ledger = self.learner.ledger
        # It grows by copies, and reading hypotheses from it takes some: four times its size was measured.
        lines = 0 if ledger is None else 4 * (ledger.entries.nbytes + _matrix_bytes(ledger.support))
        if needed + lines > self.memory:
            raise ValueError(
                f"the ledger of {self.learner.updates:,} updates needs about {lines >> 20:,} MB, more than the memory "
                "asked for: allow more, or choose --hypothesis averaged, which needs no ledger"
            )


def in_file_order(batches: BatchFile, tight: bool) -> Iterator[Batch]:
    """Yield the batches of a mapped file and release their pages after use: all of them where memory is tight."""
    for k in range(len(batches)):
        yield batches.batch(k)
        batches.forget(k, tight)


def shuffled_by_blocks(
    batches: BatchFile, rng: np.random.Generator, buffer_bytes: int, tight: bool
) -> Iterator[Batch]:
    """Fill a buffer of ``buffer_bytes`` bytes with batches in a random order, and yield its rows in a random order."""
    order = np.arange(len(batches))
    rng.shuffle(order)
    buffer: list[Batch] = []
    buffered: list[int] = []
    rows = size = 0
    for remaining, k in zip(range(order.size - 1, -1, -1), order.tolist(), strict=True):
        batch = batches.batch(k)
        buffer.append(batch)
        buffered.append(k)
        rows, size = rows + batch.lines.size, size + batch_bytes(batch)
        if rows >= BUFFER_ROWS or size >= buffer_bytes or not remaining:
            permuted = _permuted(buffer, rng)
            buffer = []
            for done in buffered:  # the rows are copied: release their pages before anything is learned
                batches.forget(done, tight)
            yield permuted
            buffered, rows, size = [], 0, 0


def _permuted(buffer: list[Batch], rng: np.random.Generator) -> Batch:
    """Return the rows of batches in a random order."""
    whole = concatenate(buffer)
    order = rng.permutation(whole.lines.size)
    X = whole.X[order]
    y = None if whole.y is None else whole.y[order]
    return Batch(X, y, whole.lines[order], None if whole.weight is None else whole.weight[order])


def _schema_and_skipped(batches: "_FileBatches | BatchFile") -> tuple[Schema, SkippedLines]:
    """Return the schema and the skipped lines of the source, from this read or from the file of batches."""
    if isinstance(batches, _FileBatches):
        return batches.examples.schema, batches.examples.skipped
    return batches.schema, batches.skipped_lines()


def _classes(batches: "_FileBatches | BatchFile", batch: Batch) -> Any:
    """Return the classes of the source, None where it has none yet; those of the first batch of a file."""
    classes = batches.classes
    if classes is None and isinstance(batches, _FileBatches):
        classes = batches.classes = np.unique(labels_of(batch))
    return classes if classes is not None and len(classes) else None


def _matrix_bytes(X: Any) -> int:
    if X is None:
        return 0
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


def evaluate_stream(
    learner: Learner, batches: Iterable[Batch], only_these: bool = True, margin_bytes: int = MARGIN_BYTES
) -> dict[str, Evaluation]:
    """Evaluate every hypothesis with weights in one pass over a stream, and choose the pocket.

    The results are those of training in memory, except that the bound of weights with errors is infinite if the
    margins of all rows would take more than ``margin_bytes`` bytes.
    """
    weights = scored_weights(learner)
    stacked = np.concatenate([*weights.values()])
    evaluator, whole = Evaluator([*weights], learner.joint, margin_bytes), True
    for batch in batches:
        labels, copies = np.searchsorted(learner.classes, labels_of(batch)), None
        if batch.weight is not None:
            copies = np.ceil(batch.weight).astype(np.int64)
            whole &= bool((batch.weight == copies).all())
        evaluator.add(linear_scores(batch.X, stacked[:, : 1 + batch.X.shape[1]]), labels, copies)
    names = chosen_names(evaluator)
    if "pocket" in names:
        learner.pocket = weights[names["pocket"]]
    terms = BoundTerms(
        learner.rule, learner.radius, len(learner.epochs), learner.start_norm, whole and only_these
    )
    learner.evaluations = {
        name: evaluator.evaluation(scored, column_sqnorms(weights[scored], learner.joint), terms)
        for name, scored in names.items()
    }
    return learner.evaluations


def labels_of(batch: Batch) -> NDArray[Any]:
    """Return the labels of a batch; raise ValueError without labels."""
    if batch.y is None:
        raise ValueError(f"{batch.where(0)}: no labels to learn from")
    return batch.y
