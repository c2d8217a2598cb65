"""LIBSVM / SVMlight text."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rosenblatt.data.batch import Batch, as_written, sparse_rows
from rosenblatt.data.errors import BadInput, BadLine, BadOption, shown
from rosenblatt.data.examples import Examples
from rosenblatt.data.labels import TargetValues
from rosenblatt.data.memory import BufferPool
from rosenblatt.data.scanners import libsvm_loop as wrong
from rosenblatt.data.scanners.libsvm import Scan, has_index_zero, scan
from rosenblatt.data.schema import LibsvmSchema
from rosenblatt.data.source import STANDARD_INPUT, opened
from rosenblatt.data.textblocks import first_text_line, scanned, whole_lines

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

HEAD_BYTES = 1 << 16
SEARCHED_BYTES = 1 << 26  # a larger file is searched for an index 0 in samples only
SAMPLES = 64
MOST_FEATURES = 1 << 31
ONE_BASED = "indices count from 1; if this file counts from 0, say zero_based=True (--zero-based)"
REASONS = {
    wrong.NO_LABEL: "no label before {token}: write 0 where the label is not known",
    wrong.BAD_LABEL: "the label {token} is not a number",
    wrong.LABEL_NOT_FINITE: "the label {token} is not a finite number",
    wrong.BAD_PAIR: "{token} is not index:value",
    wrong.INDEX_ZERO: "index 0 in {token}: " + ONE_BASED,
    wrong.INDEX_REPEATED: "the index of {token} is given twice: keep one",
    wrong.INDEX_DESCENDS: "the index of {token} is below the one before it: sort the indices of each line",
    wrong.INDEX_TOO_LARGE: "the index of {token} is above 2^31: number the features more densely",
    wrong.BAD_VALUE: "the value of {token} is not a number",
    wrong.VALUE_NOT_FINITE: "the value of {token} is not a finite number",
}


class LibsvmExamples(Examples):
    """Examples from LIBSVM text; batches widen as larger indices appear, unless a schema fixes the width.

    Indices count from 1 until an index 0 appears, unless it is given where they begin. Batches that come before it say
    so (:attr:`Batch.first_index`): their columns are one too low, which :func:`~rosenblatt.data.batch.concatenate` sets
    right. ``zero_based`` says what was read so far.
    """

    format = "libsvm"

    def __init__(self, opening: "Opening") -> None:
        options, schema = opening.options, opening.schema
        super().__init__(opening.path, opening.batch_rows, options.skip_bad)
        if options.target is not None:
            raise BadOption(
                self.path,
                None,
                f"LIBSVM text has no columns, so none is called {options.target!r}: leave out --target",
            )
        if schema is not None and not isinstance(schema, LibsvmSchema):
            raise BadInput(
                self.path, None, "is LIBSVM text, but the model was trained on a table with named columns"
            )
        self._paths = opening.paths
        first_text_line(self._paths[0])  # a missing or empty file is an error at once
        known = schema.zero_based if schema else None
        self._base_known = options.zero_based is not None or known is not None
        self.zero_based = bool(known if options.zero_based is None else options.zero_based)
        self._width = schema.n_features if schema and not options.grow else None
        self._least = schema.n_features if schema else 0
        self._widest = self._least
        self._target_values = TargetValues()

    @property
    def schema(self) -> LibsvmSchema:
        """Number of features: the schema's, or the largest index read so far."""
        return LibsvmSchema(self._widest if self._width is None else self._width, self.zero_based)

    @property
    def target_kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` where the labels read so far measure something: many different numbers; else ``"classes"``."""
        return self._target_values.kind

    def _blocks(self) -> Iterator[Batch]:
        self._target_values = TargetValues()
        self._widest = self._least
        for path in self._paths:
            line = 1
            for text, found in scanned(path, self._scanned):
                if found.bad:
                    self._pass_over(_in_words(path, line, text, *entry) for entry in found.bad)
                if found.labels.size:
                    yield self._batch(line, found)._replace(files=((0, path),))
                line += found.n_lines

    def _scanned(self, text: memoryview, pool: BufferPool, _: bool) -> tuple[bytes, Scan]:
        found = scan(text, self.zero_based if self._base_known else None, pool)
        return bytes(text) if found.bad else b"", found

    def _batch(self, first: int, found: Scan) -> Batch:
        indices, values, indptr, largest = found.indices, found.values, found.indptr, found.largest + 1
        if not self._base_known:
            if found.has_zero and not self.zero_based:
                self.zero_based = True
                self._widest += self._widest > 0
            if self.zero_based:
                if max(largest + 1, self._widest) > MOST_FEATURES:
                    reason = "indices from 0 to 2^31: number the features more densely"
                    raise BadInput(self.path, None, reason)
                indices += 1
                largest += 1
        if self._width is None:
            self._widest = max(self._widest, largest)
        elif largest > self._width:
            known = indices < self._width
            self.unseen_in["features the model does not know"] += int(known.size - known.sum())
            indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
            indices, values = indices[known], values[known]
        X = sparse_rows(values, indices, indptr, self.schema.n_features)
        first_index = None if self._base_known else int(not self.zero_based)
        return Batch(X, found.labels, first + found.lines, first_index=first_index)

    def _finish(self, batch: Batch) -> Batch:
        self._target_values.update(batch.y)
        return batch if batch.y is None else batch._replace(y=as_written(batch.y))


def _in_words(path: str, first: int, text: bytes, line: int, what: int, start: int) -> BadLine:
    token = text[start : start + 200].split(maxsplit=1)[0].decode("utf-8", "backslashreplace")
    column = start - text.rfind(b"\n", 0, start)
    return BadLine(path, first + line, REASONS[what].format(token=shown(token)), column)


def looks_zero_based(path: str) -> bool:
    """Whether an index 0 occurs: in all of a file of up to 64 MB, in samples from all over a larger one.

    For those who must know it before they read: workers that read parts of a file.

    In what is packed, and in standard input, only the head is looked at.
    """
    with opened(path) as (file, packing):
        seekable = path != STANDARD_INPUT and packing is None and file.seekable()
        size = file.seek(0, os.SEEK_END) if seekable else 0
        starts = range(0, size, max(size // SAMPLES, 1)) if size > SEARCHED_BYTES else ()
        samples = (_lines_at(file, start) for start in starts)
        if any(has_index_zero(text) for text in samples):
            return True
    if starts:
        return False
    return any(
        has_index_zero(text) for text in islice(whole_lines(path, HEAD_BYTES), None if seekable else 1)
    )


def _lines_at(file: Any, start: int) -> bytes:
    """Return the whole lines of a piece of a file."""
    file.seek(start)
    text = file.read(HEAD_BYTES)
    return bytes(text[text.find(b"\n") + 1 if start else 0 : text.rfind(b"\n") + 1])
