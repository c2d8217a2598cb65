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
from rosenblatt.data.scanners import libsvm as codes
from rosenblatt.data.scanners.libsvm import Scan, has_index_zero, scan
from rosenblatt.data.schema import LibsvmSchema
from rosenblatt.data.source import STANDARD_INPUT, opened
from rosenblatt.data.textblocks import first_text_line, scanned, whole_lines

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

HEAD_BYTES = 1 << 16
SEARCHED_BYTES = 1 << 26  # of a larger file, only samples are searched for an index 0
SAMPLES = 64
MOST_FEATURES = 1 << 31
ONE_BASED = "indices count from 1; if this file counts from 0, say zero_based=True (--zero-based)"
REASONS = {
    codes.NO_LABEL: "no label before {token}: write 0 where the label is not known",
    codes.BAD_LABEL: "the label {token} is not a number",
    codes.LABEL_NOT_FINITE: "the label {token} is not a finite number",
    codes.BAD_PAIR: "{token} is not index:value",
    codes.INDEX_ZERO: "index 0 in {token}: " + ONE_BASED,
    codes.INDEX_REPEATED: "the index of {token} is given twice: keep one",
    codes.INDEX_DESCENDS: "the index of {token} is below the one before it: sort the indices of each line",
    codes.INDEX_TOO_LARGE: "the index of {token} is above 2^31: number the features more densely",
    codes.BAD_VALUE: "the value of {token} is not a number",
    codes.VALUE_NOT_FINITE: "the value of {token} is not a finite number",
}


class LibsvmExamples(Examples):
    """Examples from LIBSVM text; batches widen as larger indices appear, unless a schema fixes the width.

    Unless the base is known, indices count from 1 until an index 0 appears. The columns of batches before it are then
    one too low; their :attr:`Batch.first_index` says so, and :func:`~rosenblatt.data.batch.concatenate` corrects them.
    ``zero_based`` is what has been inferred so far.
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
        first_text_line(self._paths[0])  # raises for a missing or empty file
        known = schema.zero_based if schema else None
        self._base_known = options.zero_based is not None or known is not None
        self.zero_based = bool(known if options.zero_based is None else options.zero_based)
        self._fixed_features = schema.n_features if schema and not options.grow else None
        self._min_features = schema.n_features if schema else 0
        self._n_features = self._min_features
        self._target_values = TargetValues()

    @property
    def schema(self) -> LibsvmSchema:
        """Number of features: the schema's, or the largest index read so far."""
        return LibsvmSchema(
            self._n_features if self._fixed_features is None else self._fixed_features, self.zero_based
        )

    @property
    def target_kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` if the labels so far are a measurement, with many distinct numbers; else ``"classes"``."""
        return self._target_values.kind

    def _blocks(self) -> Iterator[Batch]:
        self._target_values = TargetValues()
        self._n_features = self._min_features
        for path in self._paths:
            line = 1
            for text, block in scanned(path, self._scan):
                if block.bad:
                    self._skip_lines(_bad_line(path, line, text, *entry) for entry in block.bad)
                if block.labels.size:
                    yield self._batch(line, block)._replace(files=((0, path),))
                line += block.n_lines

    def _scan(self, text: memoryview, pool: BufferPool, _: bool) -> tuple[bytes, Scan]:
        block = scan(text, self.zero_based if self._base_known else None, pool)
        return bytes(text) if block.bad else b"", block

    def _batch(self, first_line: int, block: Scan) -> Batch:
        indices, values, indptr, largest = block.indices, block.values, block.indptr, block.largest + 1
        if not self._base_known:
            if block.has_zero and not self.zero_based:
                self.zero_based = True
                self._n_features += self._n_features > 0
            if self.zero_based:
                if max(largest + 1, self._n_features) > MOST_FEATURES:
                    reason = "indices from 0 to 2^31: number the features more densely"
                    raise BadInput(self.path, None, reason)
                indices += 1
                largest += 1
        if self._fixed_features is None:
            self._n_features = max(self._n_features, largest)
        elif largest > self._fixed_features:
            known = indices < self._fixed_features
            self.unseen_in["features the model does not know"] += int(known.size - known.sum())
            indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
            indices, values = indices[known], values[known]
        X = sparse_rows(values, indices, indptr, self.schema.n_features)
        first_index = None if self._base_known else int(not self.zero_based)
        return Batch(X, block.labels, first_line + block.lines, first_index=first_index)

    def _finish(self, batch: Batch) -> Batch:
        self._target_values.update(batch.y)
        return batch if batch.y is None else batch._replace(y=as_written(batch.y))


def _bad_line(path: str, first_line: int, text: bytes, line: int, error: int, start: int) -> BadLine:
    token = text[start : start + 200].split(maxsplit=1)[0].decode("utf-8", "backslashreplace")
    column = start - text.rfind(b"\n", 0, start)
    return BadLine(path, first_line + line, REASONS[error].format(token=shown(token)), column)


def looks_zero_based(path: str) -> bool:
    """Whether an index 0 occurs, for workers that read parts of a file and must know before.

    Search the whole of a plain file of up to 64 MB, evenly spaced samples of a larger one, and only the head of a
    compressed file or standard input.
    """
    with opened(path) as (file, compression):
        seekable = path != STANDARD_INPUT and compression is None and file.seekable()
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
    """Return the whole lines of the piece of a file at ``start``."""
    file.seek(start)
    text = file.read(HEAD_BYTES)
    return bytes(text[text.find(b"\n") + 1 if start else 0 : text.rfind(b"\n") + 1])
