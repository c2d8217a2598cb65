"""Tables read once, as they arrive: every value speaks for itself, and names join as they appear.

A number is a feature of its column's name, anything else ``column=value``, or words where the column is prose; a
missing value is no feature. So the first row can be learned from before the last is known.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.bad_input import BadInput, BadLine
from rosenblatt.data.batch import Batch, sparse_rows
from rosenblatt.data.column_sources import ColumnSource
from rosenblatt.data.delimited import Rows
from rosenblatt.data.examples import Examples
from rosenblatt.data.kinds import distinct, numbers
from rosenblatt.data.named import Vocabulary, labels_of
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.schema import LabelKind
from rosenblatt.data.words import Words


class OpenTableExamples(Examples):
    """Examples from named columns with an open vocabulary."""

    def __init__(
        self,
        sources: Sequence[ColumnSource],
        *,
        path: str,
        format: str,
        target: str | None,
        schema: NamedSchema | None,
        grow: bool,
        text: Sequence[str],
        words: Words,
        bits: int,
        batch_rows: int | None,
        skip_bad: bool,
    ) -> None:
        super().__init__(path, batch_rows, skip_bad)
        self.format = format
        self._sources = list(sources)
        names = self._sources[0].names
        self._target = target or (schema.target if schema else None) or names[-1]
        for source in self._sources:
            if self._target not in source.names and schema is None:
                raise BadInput(
                    source.path,
                    None,
                    f"no column is called {self._target!r}; there are {', '.join(map(repr, source.names[:20]))}",
                )
        self._labels: LabelKind | None = schema.labels if schema else None
        self._told = schema or NamedSchema((), bits, self._target, "text", tuple(text), words)
        self._vocabulary = Vocabulary(self._told, grow or schema is None)

    @property
    def schema(self) -> NamedSchema:
        """Names met so far, in order of appearance."""
        told = self._told
        names = () if told.bits else self._vocabulary.names
        return NamedSchema(names, told.bits, self._target, self._labels or "text", told.text, told.words)

    def _blocks(self) -> Iterator[Batch]:
        for source in self._sources:
            for rows in source.rows(source.names):
                self._pass_over(BadLine(source.path, *bad) for bad in rows.bad)
                if rows.lines.size:
                    batch = self._batch(source, rows)
                    if batch is not None:
                        yield batch._replace(files=((0, source.path),))

    def _batch(self, source: ColumnSource, rows: Rows) -> Batch | None:
        bad: dict[int, tuple[str, str]] = {}  # row -> what is wrong with it, in which column
        y = None
        if self._target in rows.columns:
            y = self._label_column(rows.columns[self._target], bad)
        entries: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []  # (rows, places, values)
        for name in source.names:
            if name != self._target:
                self._features(name, rows.columns[name], entries, bad)
        told = [(row, reason, name) for row, (reason, name) in bad.items()]
        self._pass_over(BadLine(source.path, *one) for one in rows.bad_rows(told))
        X = self._sparse(entries, rows.lines.size)
        if not bad:
            return Batch(X, y, rows.lines)
        keep = np.delete(np.arange(rows.lines.size), list(bad))
        return Batch(X[keep], None if y is None else y[keep], rows.lines[keep]) if keep.size else None

    def _label_column(self, column: Any, bad: dict[int, tuple[str, str]]) -> NDArray[Any]:
        texts, codes = _strings(column)
        if self._labels is None:
            self._labels = "integer" if _number(texts[int(codes[0])]) is not None else "text"
        for at, label in enumerate(texts):
            if label in MISSING or (self._labels != "text" and _number(label) is None):
                reason = f"the target {self._target!r} is {label!r}: expected a label like those before"
                bad.update(dict.fromkeys(np.flatnonzero(codes == at).tolist(), (reason, self._target)))
        values = [label if self._labels == "text" else _number(label) or 0.0 for label in texts]
        found: NDArray[Any] = labels_of(values, self._labels)[codes]
        return found

    def _features(self, name: str, column: Any, entries: list[Any], bad: dict[int, tuple[str, str]]) -> None:
        """Add the entries of a column: numbers as they are, other values as names of their own."""
        if name in self._told.text:
            self._words(name, column, entries)
            return
        values = numbers(column)
        finite = np.flatnonzero(np.isfinite(values))
        if finite.size:
            entries.append((finite, np.full(finite.size, self._vocabulary.place(name)), values[finite]))
        odd = np.flatnonzero(~np.isfinite(values))
        if odd.size:
            texts, codes = _strings(column.take(odd))
            for at, value in enumerate(texts):
                where = odd[codes == at]
                if value in MISSING:
                    continue
                if value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
                    reason = f"column {name!r} is {value!r}, not a finite number"
                    bad.update(dict.fromkeys(where.tolist(), (reason, name)))
                    continue
                place = self._vocabulary.place(f"{name}={value}")
                entries.append((where, np.full(where.size, place), np.ones(where.size)))

    def _words(self, name: str, column: Any, entries: list[Any]) -> None:
        words = self._told.words
        for row, value in enumerate(column.to_pylist()):
            for word in words.cut(value or ""):
                place = self._vocabulary.place(f"{name}:{word}")
                entries.append((np.array([row]), np.array([place]), np.ones(1)))

    def _sparse(self, entries: list[Any], n_rows: int) -> Any:
        parts = (
            [np.concatenate(part) for part in zip(*entries, strict=True)] if entries else [np.empty(0)] * 3
        )
        rows, places, values = parts[0].astype(np.int64), parts[1].astype(np.int64), parts[2]
        known = places >= 0
        if not known.all():
            self.unseen_in["features the model does not know"] += int((~known).sum())
            rows, places, values = rows[known], places[known], values[known]
        order = np.lexsort((places, rows))
        rows, places, values = rows[order], places[order], values[order]
        first = np.ones(rows.size, bool)
        first[1:] = (rows[1:] != rows[:-1]) | (places[1:] != places[:-1])
        starts = np.flatnonzero(first)
        if starts.size < rows.size:  # hashes that collide add up; words count once unless they are counted
            binary = self._told.words.binary and not self._told.bits
            values = values[starts] if binary else np.add.reduceat(values, starts)
            rows, places = rows[starts], places[starts]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        return sparse_rows(values, places, indptr, len(self._vocabulary))


def _strings(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different values of a column as strings, and which one each row holds."""
    import pyarrow as pa

    return distinct(column.cast(pa.string()).fill_null(""))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
