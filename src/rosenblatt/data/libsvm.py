"""LIBSVM / SVMlight text."""

from collections.abc import Iterator, Sequence

import numpy as np

from rosenblatt.data.bad_input import BadInput, BadLine, shown
from rosenblatt.data.batch import Batch, as_written, sparse_rows
from rosenblatt.data.examples import Examples
from rosenblatt.data.lines import first_text_line, whole_lines
from rosenblatt.data.parallel import in_order
from rosenblatt.data.scanners import libsvm_loop as wrong
from rosenblatt.data.scanners.libsvm import Scan, scan
from rosenblatt.data.schema import LibsvmSchema

HEAD_BYTES = 1 << 16  # by these it is seen from where indices count
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

    Whether indices count from 0 is seen from the first lines unless it is given: ``zero_based`` says what was found.
    """

    format = "libsvm"

    def __init__(
        self,
        paths: Sequence[str],
        *,
        path: str,
        schema: LibsvmSchema | None,
        grow: bool,
        zero_based: bool | None,
        batch_rows: int | None,
        skip_bad: bool,
    ) -> None:
        super().__init__(path, batch_rows, skip_bad)
        self._paths = list(paths)
        first_text_line(self._paths[0])  # a missing or empty file is told at once
        if zero_based is None:
            zero_based = schema.zero_based if schema else _counts_from_zero(self._paths[0])
        self.zero_based = zero_based
        self._width = schema.n_features if schema and not grow else None
        self._least = schema.n_features if schema else 0
        self._widest = self._least

    @property
    def schema(self) -> LibsvmSchema:
        """Number of features: the schema's, or the largest index read so far."""
        return LibsvmSchema(self._widest if self._width is None else self._width, self.zero_based)

    def _blocks(self) -> Iterator[Batch]:
        self._widest = self._least
        for path in self._paths:
            line = 1
            for text, found in in_order(self._scanned, whole_lines(path)):
                if found.bad:
                    self._pass_over(_in_words(path, line, text, *entry) for entry in found.bad)
                if found.labels.size:
                    yield self._batch(line, found)._replace(files=((0, path),))
                line += found.n_lines

    def _scanned(self, text: bytearray) -> tuple[bytearray, Scan]:
        return text, scan(text, self.zero_based)

    def _batch(self, first: int, found: Scan) -> Batch:
        indices, values, indptr = found.indices, found.values, found.indptr
        largest = found.largest + 1
        if self._width is None:
            self._widest = max(self._widest, largest)
        elif largest > self._width:
            known = indices < self._width
            self.unseen_in["features the model does not know"] += int(known.size - known.sum())
            indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
            indices, values = indices[known], values[known]
        X = sparse_rows(values, indices, indptr, self.schema.n_features)
        return Batch(X, found.labels, first + found.lines)

    def _finish(self, batch: Batch) -> Batch:
        return batch if batch.y is None else batch._replace(y=as_written(batch.y))


def _in_words(path: str, first: int, text: bytearray, line: int, what: int, start: int) -> BadLine:
    token = text[start : start + 200].split(maxsplit=1)[0].decode("utf-8", "backslashreplace")
    column = start - text.rfind(b"\n", 0, start)
    return BadLine(path, first + line, REASONS[what].format(token=shown(token)), column)


def _counts_from_zero(path: str) -> bool:
    """Whether an index 0 occurs in the first lines."""
    first = next(whole_lines(path, HEAD_BYTES))
    found = scan(first, zero_based=True)
    return bool(found.indices.size) and int(found.indices.min()) == 0


def open_libsvm(
    paths: Sequence[str],
    *,
    path: str,
    target: str | None,
    schema: object,
    grow: bool,
    zero_based: bool | None,
    batch_rows: int | None,
    skip_bad: bool,
) -> LibsvmExamples:
    """Open LIBSVM text; it has no column names, so it takes no target and no table's schema."""
    if target is not None:
        raise BadInput(
            path, None, f"LIBSVM text has no columns, so none is called {target!r}: drop the target"
        )
    if schema is not None and not isinstance(schema, LibsvmSchema):
        raise BadInput(path, None, "is LIBSVM text, but the model was trained on a table with named columns")
    return LibsvmExamples(
        paths,
        path=path,
        schema=schema,
        grow=grow,
        zero_based=zero_based,
        batch_rows=batch_rows,
        skip_bad=skip_bad,
    )
