"""What every source of examples can do."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from rosenblatt.data.batch import Batch, concatenate, rebatch
from rosenblatt.data.errors import BadInput, BadLine, SkippedLines
from rosenblatt.data.infer import ColumnReport, TargetKind
from rosenblatt.data.schema import Schema

FEW_BAD = 5  # fewer bad lines are never too many


class Examples(ABC):
    """Batches of examples from one source; every iteration reads it again from the start.

    Attributes
    ----------
    path, format : where the examples come from, and what kind of file it is
    batch_rows : rows of every batch but the last; None for batches as they arrive, without copying
    skipped : lines passed over in the latest reading (``skip_bad=True``), the first 10,000; ``skipped.total`` of them
    unseen_in : in the latest reading, how many values were ignored because training never saw them,
        by column
    unlabelled : lines of the latest reading that were passed over because they have no label
    notes : what else was passed over or decided (encoding, separator, renamed columns), each a sentence
    """

    format: str

    def __init__(self, path: str, batch_rows: int | None, skip_bad: bool) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ValueError(f"batch_rows is {batch_rows}: it must be at least 1")
        self.path = path
        self.batch_rows = batch_rows
        self.skip_bad = skip_bad
        self.skipped = SkippedLines()
        self.unseen_in: Counter[str] = Counter()
        self.unlabelled = 0
        self.notes: list[str] = []
        self.skip_share = 1.0  # the largest share of lines that may be passed over
        self.revised = False  # the latest first reading ended early: a later part disagreed with the head

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """How features are made from this source. For LIBSVM text: as far as it has been read."""

    @property
    def columns(self) -> list[ColumnReport]:
        """How every column of a table was read; empty for other sources, and before a table was read."""
        return []

    @property
    def target_kind(self) -> TargetKind:
        """``"numeric"`` where the target of a table measures something: many different numbers; else ``"classes"``."""
        return "classes"

    def read(self, prepared: bool = True) -> Batch:
        """Read all examples into one batch; without ``prepared``, a table's raw rows: NaN for gaps, nothing scaled."""
        return concatenate(list(self))

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, or None where the format has no names."""
        return self.schema.feature_names

    @property
    def n_features(self) -> int:
        """How many features there are. For LIBSVM text without a schema: known after reading."""
        return self.schema.n_features

    @property
    def unseen(self) -> int:
        """How many values of the latest reading were ignored because training never saw them."""
        return self.unseen_in.total()

    def __iter__(self) -> Iterator[Batch]:
        return self._reading(self._blocks)

    def first_reading(self) -> Iterator[Batch]:
        """Yield batches without looking at all of the source first, by what its head says.

        Where a later part says otherwise it ends early and ``revised`` is True: nothing that was yielded counts, and
        the next iteration knows better.
        """
        return iter(self)

    def _reading(self, blocks: Callable[[], Iterator[Batch]]) -> Iterator[Batch]:
        self.skipped = SkippedLines()
        self.unseen_in = Counter()
        self.unlabelled = 0
        self.revised = False
        rows = 0
        for batch in self._batches(blocks()):
            rows += batch.lines.size
            yield self._finish(batch)
        if self.revised:
            return
        self._check_share(rows)
        if not rows:
            bad = self.skipped
            reason = "no examples in the file"
            if bad:
                which = (
                    "its only line is bad" if bad.total == 1 else f"all {bad.total} lines are bad, the first"
                )
                reason = f"{which}: {bad[0]}"
            raise BadInput(self.path, None, reason)

    def _check_share(self, rows: int) -> None:
        """Refuse a source of which too many lines were passed over."""
        bad = self.skipped
        if rows and bad.total >= FEW_BAD and bad.total > self.skip_share * (rows + bad.total):
            raise BadInput(
                self.path,
                None,
                f"{bad.total:,} of {rows + bad.total:,} lines are bad, more than skip_share={self.skip_share:g} "
                f"allows; the first: {bad[0]}: correct them, or allow more (--skip-share)",
            )

    def _batches(self, blocks: Iterator[Batch]) -> Iterator[Batch]:
        named = (b if b.files else b._replace(files=((0, self.path),)) for b in blocks)
        return rebatch(named, self.batch_rows) if self.batch_rows is not None else named

    @abstractmethod
    def _blocks(self) -> Iterator[Batch]:
        """Read the source in blocks of any number of rows."""

    def _finish(self, batch: Batch) -> Batch:
        return batch

    def _pass_over(self, bad: Iterable[BadLine]) -> None:
        """List bad lines, or raise at the first where none may be skipped."""
        for line in sorted(bad):
            if not self.skip_bad:
                raise BadInput(*line)
            self.skipped.append(line)
