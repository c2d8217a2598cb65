"""Tables read once, as they arrive: every value speaks for itself, and names join as they appear.

A number is a feature of its column's name, anything else ``column=value``, or words where the column is prose by the
first rows; a missing value is no feature. So the first row can be learned from before the last is known.
"""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import Batch, sparse_rows
from rosenblatt.data.column_sources import ColumnSource, prose_of, usual_target_of
from rosenblatt.data.delimited import Rows
from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.data.examples import Examples
from rosenblatt.data.kinds import distinct, number, numbers
from rosenblatt.data.named.vocabulary import NamedSchema, Vocabulary, labels_of
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.schema import LabelKind
from rosenblatt.data.words import Words


class _Said(NamedTuple):
    """A feature that some rows have."""

    name: str
    rows: NDArray[np.int64]  # ascending
    values: NDArray[np.float64]

    def among(self, place: NDArray[np.int64]) -> "_Said":
        """Return it of the rows that have a place, which is their new number."""
        rows = place[self.rows]
        return _Said(self.name, rows[rows >= 0], self.values[rows >= 0])


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
        self._target = target or (schema.target if schema else None) or usual_target_of(self._sources[0])
        for source in self._sources:
            if self._target not in source.names and schema is None:
                raise BadInput(
                    source.path,
                    None,
                    f"no column is called {self._target!r}; there are {', '.join(map(repr, source.names[:20]))}",
                )
        self._labels: LabelKind | None = schema.labels if schema else None
        prose = () if schema else tuple(text) or tuple(prose_of(self._sources[0], self._target))
        self._told = schema or NamedSchema((), bits, self._target, "text", prose, words)
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
                batch = self._batch(source, rows)
                if batch is not None:
                    yield batch._replace(files=((0, source.path),))

    def _batch(self, source: ColumnSource, rows: Rows) -> Batch | None:
        bad: dict[int, tuple[str, str]] = {}  # row -> what is wrong with it, in which column
        y = None
        if self._target in rows.columns and rows.lines.size:
            y = self._label_column(rows.columns[self._target], bad)
        said: list[_Said] = []
        for name in source.names:
            if name != self._target and rows.lines.size:
                said += self._said(name, rows.columns[name], bad)
        told = rows.bad_rows([(row, reason, name) for row, (reason, name) in bad.items()])
        self._pass_over(BadLine(source.path, *one) for one in [*rows.bad, *told])
        keep = np.delete(np.arange(rows.lines.size), list(bad))
        if not keep.size:
            return None
        if bad:  # what they say joins nothing
            place = np.full(rows.lines.size, -1)
            place[keep] = np.arange(keep.size)
            said = [one for one in (each.among(place) for each in said) if one.rows.size]
            y = None if y is None else y[keep]
        return Batch(self._sparse(self._placed(said), keep.size), y, rows.lines[keep])

    def _label_column(self, column: Any, bad: dict[int, tuple[str, str]]) -> NDArray[Any]:
        texts, codes = _strings(column)
        if self._labels is None:
            first = next((text for text in (texts[code] for code in codes) if text not in MISSING), None)
            self._labels = first and ("integer" if _number(first) is not None else "text")
        for at, label in enumerate(texts):
            if label in MISSING or (self._labels != "text" and _number(label) is None):
                reason = f"the target {self._target!r} is {label!r}: expected a label like those before"
                bad.update(dict.fromkeys(np.flatnonzero(codes == at).tolist(), (reason, self._target)))
        kind = self._labels or "text"
        values = [label if kind == "text" else _whole_or_number(label) for label in texts]
        found: NDArray[Any] = labels_of(values, kind)[codes]
        return found

    def _said(self, name: str, column: Any, bad: dict[int, tuple[str, str]]) -> "Iterator[_Said]":
        """Yield what a column says: numbers as they are, other values as names of their own."""
        if name in self._told.text:
            yield from self._words(name, column)
            return
        values = numbers(column)
        finite = np.isfinite(values)
        if finite.any():
            yield _Said(name, np.flatnonzero(finite), values[finite])
        odd = np.flatnonzero(~finite)
        if odd.size:
            texts, codes = _strings(column.take(odd))
            for at, value in enumerate(texts):
                where = odd[codes == at]
                if value in MISSING:
                    continue
                if number(value) is not None:  # of a kind that no float64 holds
                    reason = f"column {name!r} is {value!r}, not a finite number"
                    bad.update(dict.fromkeys(where.tolist(), (reason, name)))
                    continue
                yield _Said(f"{name}={value}", where, np.ones(where.size))

    def _words(self, name: str, column: Any) -> "Iterator[_Said]":
        rows: dict[str, list[int]] = {}
        for row, value in enumerate(column.to_pylist()):
            for word in self._told.words.cut(value or ""):
                rows.setdefault(word, []).append(row)
        for word, where in rows.items():
            yield _Said(f"{name}:{word}", np.array(where), np.ones(len(where)))

    def _placed(self, said: "list[_Said]") -> list[Any]:
        """Return (rows, places, values) of every name: new ones join in the order of the rows, whatever the blocks."""
        entries = []
        for one in sorted(said, key=lambda one: int(one.rows[0])):  # in a row: as its columns stand
            place = self._vocabulary.place(one.name)
            entries.append((one.rows, np.full(one.rows.size, place), one.values))
        return entries

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


def _whole_or_number(text: str) -> float:
    """Return a label as an int where that is exact and fits into 64 bits, else as a float; 0 where it is neither."""
    try:
        whole = int(text)
    except ValueError:
        whole = 2**63
    return whole if -(2**63) <= whole < 2**63 and "_" not in text else _number(text) or 0.0


def _number(text: str) -> float | None:
    found = number(text)
    return found if found is not None and isfinite(found) else None
