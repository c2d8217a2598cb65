"""The base class of all sources of examples."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from rosenblatt.data.batch import Batch, concatenate, rebatch
from rosenblatt.data.errors import BadInput, BadLine, SkippedLines
from rosenblatt.data.labels import EXACT
from rosenblatt.data.schema import Schema
from rosenblatt.data.tables.infer import ColumnReport, TargetKind

FEW_BAD = 5  # fewer bad lines never exceed the allowed share


class Examples(ABC):
    """Batches of examples from one source; every iteration reads it again from the start.

    Attributes
    ----------
    path, format : source of the examples, and its file format
    batch_rows : rows of every batch but the last; None for batches as they arrive, without copying
    skipped : bad lines skipped in the latest reading (``skip_bad=True``), at most 10,000; ``skipped.total`` counts all
    unseen_in : by column, how many values of the latest reading were ignored because they were not in the training data
    unlabelled : how many lines of the latest reading were skipped because they have no label
    notes : other decisions about the source (encoding, separator, renamed columns), each a sentence
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
        self.skip_share = 1.0  # largest share of bad lines that may be skipped
        self.labels_are_classes = False  # a float label that may stand for several is an error
        self.revised = False  # the latest first_reading() stopped early: a later part contradicts the head

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The features of this source. For LIBSVM text: as far as it has been read."""

    @property
    def columns(self) -> list[ColumnReport]:
        """The inferred kind of every column of a table; empty for other sources, and before reading."""
        return []

    @property
    def target_kind(self) -> TargetKind:
        """``"numeric"`` if the target is a measurement, with many distinct numbers; else ``"classes"``."""
        return "classes"

    def read(self, prepared: bool = True) -> Batch:
        """Read all examples into one batch; without ``prepared``, the raw rows of a table: unscaled, with NaN."""
        return concatenate(list(self))

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, or None if the format has no names."""
        return self.schema.feature_names

    @property
    def n_features(self) -> int:
        """Number of features. For LIBSVM text without a schema: known after reading."""
        return self.schema.n_features

    @property
    def unseen(self) -> int:
        """Number of values of the latest reading that were ignored because they were not in the training data."""
        return self.unseen_in.total()

    def __iter__(self) -> Iterator[Batch]:
        return self._reading(self._blocks)

    def first_reading(self) -> Iterator[Batch]:
        """Yield batches with what was inferred from the head of the source, in one pass.

        If a later part contradicts the head, stop early and set ``revised``: the caller must discard all batches, and
        the next iteration uses what was inferred from the whole source.
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
            yield self._with_checked_classes(self._finish(batch))
        if self.revised:
            return
        self._check_share(rows)
        if not rows:
            bad = self.skipped
            reason = "no examples in the file"
            if bad:
                lines = (
                    "its only line is bad" if bad.total == 1 else f"all {bad.total} lines are bad, the first"
                )
                reason = f"{lines}: {bad[0]}"
            raise BadInput(self.path, None, reason)

    def _check_share(self, rows: int) -> None:
        """Raise BadInput if too large a share of the lines was skipped."""
        bad = self.skipped
        if rows and bad.total >= FEW_BAD and bad.total > self.skip_share * (rows + bad.total):
            raise BadInput(
                self.path,
                None,
                f"{bad.total:,} of {rows + bad.total:,} lines are bad, more than skip_share={self.skip_share:g} "
                f"allows; the first: {bad[0]}: correct them, or allow more (--skip-share)",
            )

    def _with_checked_classes(self, batch: Batch) -> Batch:
        """Return the batch; raise BadInput for a label that float64 merges, unless the target is measured."""
        y = batch.y
        if not self.labels_are_classes or y is None or y.dtype.kind != "f":
            return batch
        far = np.flatnonzero(np.abs(y) >= EXACT)
        if far.size and self.target_kind == "classes":
            row = int(far[0])
            path = next(path for first, path in reversed(batch.files) if first <= row)
            reason = f"the label {float(y[row])!r} is beyond 2^53, where float64 merges neighbours"
            raise BadInput(path, int(batch.lines[row]), f"{reason}: write all labels as integers, or as text")
        return batch

    def _batches(self, blocks: Iterator[Batch]) -> Iterator[Batch]:
        named = (b if b.files else b._replace(files=((0, self.path),)) for b in blocks)
        return rebatch(named, self.batch_rows) if self.batch_rows is not None else named

    @abstractmethod
    def _blocks(self) -> Iterator[Batch]:
        """Yield the source in blocks of any number of rows."""

    def _finish(self, batch: Batch) -> Batch:
        return batch

    def _skip_lines(self, bad: Iterable[BadLine]) -> None:
        """Record bad lines as skipped, or raise BadInput for the first unless ``skip_bad``."""
        for line in sorted(bad):
            if not self.skip_bad:
                raise BadInput(*line)
            self.skipped.append(line)
