"""Tables as examples: one reader for delimited text, Parquet, Arrow and data frames.

If the first block is all plain numbers, the kinds of the columns are inferred from it, and again from all blocks if a
later one contradicts; else they are inferred from all blocks. A table read into memory is parsed once: blocks are
buffered until the schema is known.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import Batch, as_written, concatenate, sparse_rows
from rosenblatt.data.errors import BadInput, BadLine, BadOption
from rosenblatt.data.examples import Examples
from rosenblatt.data.named.vocabulary import NamedSchema, Vocabulary, labels_of
from rosenblatt.data.options import Missing, ReadOptions
from rosenblatt.data.scanners.numbers import MISSING, SCANNED_MISSING
from rosenblatt.data.schema import Column, Headerless, LabelKind, Schema, TableSchema
from rosenblatt.data.source import STANDARD_INPUT, standard_input
from rosenblatt.data.tables.delimited import BadRow, DelimitedSource, Rows
from rosenblatt.data.tables.encode import Encoded, cell_of, encode, not_a_value, numbers_of, plain_numbers
from rosenblatt.data.tables.header import Header
from rosenblatt.data.tables.infer import FEW_ROWS, AmbiguousValues, ColumnReport, TargetKind, column_of_value
from rosenblatt.data.tables.learn import Learned, TableStatistics, learn_schema, missing_policy
from rosenblatt.data.tables.values import (
    absent,
    distinct,
    is_long_integer,
    is_text,
    number,
    numbers_at_once,
)

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

T = TypeVar("T")


class TableSource(Protocol):
    """A source of blocks of named columns."""

    path: str
    names: list[str]

    @property
    def header(self) -> Header | None:
        """The header of delimited text; None for other sources."""

    @property
    def usual_target(self) -> str:
        """The default target."""

    @property
    def prose(self) -> list[str]:
        """The columns whose first rows look like prose."""

    def rows(
        self,
        wanted: Sequence[str],
        side_by_side: int = 0,
        then: Callable[[Rows], T] = ...,
        statistics: bool = False,
    ) -> Iterator[tuple[Rows, T]]:
        """Yield blocks of the wanted columns with the lines of their rows, and the result of ``then`` for each."""


class TableExamples(Examples):
    """Examples of named columns, with one schema for all files; columns are matched by name.

    Parameters
    ----------
    sources : sequence of TableSource
        Files with the same columns.
    path, format : str
        Name and format of the source.
    options : ReadOptions
    schema : TableSchema, optional
        That of a trained model; by default inferred from all rows.
    batch_rows : int or None
        Rows of every batch but the last; None for batches as they are read.
    """

    def __init__(
        self,
        sources: Sequence[TableSource],
        *,
        path: str,
        format: str,
        options: ReadOptions,
        schema: Schema | None = None,
        batch_rows: int | None = None,
    ) -> None:
        super().__init__(path, batch_rows, options.skip_bad)
        self.format = format
        self.dropped = 0  # rows of the latest reading dropped for a missing value
        self._sources = list(sources)
        self._options = options
        self._learned: Learned | None = None
        self._held: list[tuple[TableSource, Rows]] = []
        self._side_by_side = 0  # columns that the statistics read as one matrix of numbers
        if schema is not None and not isinstance(schema, TableSchema):
            known = (
                "LIBSVM text without column names" if schema.feature_names is None else "another kind of file"
            )
            raise BadInput(path, None, f"is a table, but the model was trained on {known}")
        self._target, self._schema = self._checked(schema)
        for header in self._headers:
            self.notes += [note for note in header.notes if note not in self.notes]

    def _checked(self, schema: TableSchema | None) -> tuple[str | None, TableSchema | None]:
        """Check the columns against options and schema; return the target and the schema."""
        options, first = self._options, self._sources[0]
        asked = [options.target] if options.target is not None else []
        if schema is not None:
            for source in self._sources:
                _check_has(source, asked)
                missing = [column.name for column in schema.columns if column.name not in source.names]
                if missing:
                    reason = (
                        f"the model needs {_listed(missing)}, not among the columns {_listed(source.names)}"
                    )
                    raise BadInput(source.path, _line(source), reason)
            if options.target is not None:
                return options.target, replace(schema, target=options.target)
            everywhere = all(schema.target in source.names for source in self._sources)
            return schema.target if everywhere else None, schema
        every = [*asked, *options.drop, *options.numeric, *options.category, *options.text, *options.date]
        for source in self._sources:
            _check_has(source, [*every, *options.id])
            _check_has(source, first.names, BadInput)
        if len(first.names) < 2:
            reason = (
                f"only one column, {first.names[0]!r}: features and a target are needed; if another character than "
                "comma, tab, semicolon or bar separates the cells, name it with separator (--sep)"
            )
            raise BadInput(first.path, _line(first), reason)
        return options.target or first.usual_target, None

    @property
    def _headers(self) -> list[Header]:
        return [source.header for source in self._sources if source.header is not None]

    @property
    def schema(self) -> TableSchema:
        """Kinds, categories, words and preprocessing; inferred from all rows unless given."""
        if self._schema is None:
            self._schema = self._learn(hold=False)
        return self._schema

    @property
    def columns(self) -> list[ColumnReport]:
        """The inferred kind of every column; empty with the schema of a model."""
        if self._schema is None:
            _ = self.schema
        return [] if self._learned is None else self._learned.reports()

    @property
    def target_kind(self) -> TargetKind:
        """``"numeric"`` if the target is a measurement, else ``"classes"``."""
        if self._schema is None:
            _ = self.schema
        return "classes" if self._learned is None else self._learned.target_kind

    def read(self, prepared: bool = True) -> Batch:
        """Read all rows into one batch, parsing every block once; without ``prepared``, raw rows."""
        if self._schema is None:
            self._schema = self._learn(hold=True)
        try:
            return concatenate(list(self._reading(lambda: self._blocks(prepared))))
        finally:
            self._held = []

    def first_reading(self) -> Iterator[Batch]:
        """Yield batches in one pass if the first rows are all plain numbers.

        If a later block contradicts that, stop early and set ``revised``: the caller must discard all batches, and the
        next iteration uses the schema inferred from all rows.
        """
        guess = self._guess()
        return iter(self) if guess is None else self._reading(lambda: self._guessed_blocks(guess))

    def _learn(self, hold: bool) -> TableSchema:
        names = [name for name in self._sources[0].names if name != self._target]
        statistics = self._statistics(names, hold)
        try:
            if not self._held_as_needed(statistics):
                self._held = []
            self._learned = learn_schema(
                lambda: (rows for _, rows in self._all_rows(names)),
                names,
                self._target,
                self._options,
                statistics=statistics,
                index=self._index,
            )
        except ValueError as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(self.path, None, str(error)) from error
        return self._with_layout(self._learned.schema)

    def _with_layout(self, schema: TableSchema) -> TableSchema:
        header = self._sources[0].header
        if header is None or header.named:
            return schema
        return replace(schema, headerless=Headerless(tuple(header.names), header.separator))

    @property
    def _separator(self) -> str | None:
        header = self._sources[0].header
        return None if header is None else header.separator

    @property
    def _index(self) -> str | None:
        header = self._sources[0].header
        return None if header is None else header.index_column

    def _held_as_needed(self, statistics: TableStatistics) -> bool:
        """Whether every column that is held as numbers is read as plain numbers; else the text is needed again."""
        if self._side_by_side:
            return True
        cells = [(name, column) for _, rows in self._held for name, column in rows.columns.items()]
        as_numbers = {name for name, column in cells if isinstance(column, np.ndarray)}
        decisions = statistics.decide(self._options, self._index) if as_numbers else {}
        columns = [decisions[name].column for name in as_numbers]
        return all(column is None or column.plain for column in columns)

    def _statistics(self, names: list[str], hold: bool) -> TableStatistics:
        """Read all rows for their statistics: as plain numbers if all are, else as strings from the start."""
        for as_numbers in (True, False):
            if as_numbers and not all(header.numbers for header in self._headers):
                continue
            statistics, agreed = TableStatistics(names, self._target, self._separator), True
            self._side_by_side = len(names) if as_numbers else 0
            self._held = []
            for source in self._sources:
                blocks = source.rows(self._wanted(names), self._side_by_side, _numbers_in, statistics=True)
                for rows, parsed in blocks:
                    if rows.lines.size:
                        statistics.update(rows, parsed)
                    agreed = not as_numbers or statistics.all_numbers
                    if not agreed:
                        break
                    if hold:
                        features = {name: parsed[name] for name in names if name in parsed}
                        self._held.append(
                            (source, rows._replace(columns=rows.columns | features, word_counts={}))
                        )
                if not agreed:
                    break
            if agreed:
                break
        return statistics

    def _wanted(self, names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*names, *([] if self._target is None else [self._target])]))

    def _all_rows(self, names: list[str]) -> Iterator[tuple[TableSource, Rows]]:
        if self._held:
            yield from self._held
            return
        for source in self._sources:
            for rows, _ in source.rows(self._wanted(names), self._side_by_side):
                yield source, rows

    def _encoder(self, schema: TableSchema, prepared: bool) -> Callable[[Rows], Encoded]:
        policy = schema.missing if self._learned is None else missing_policy(self._options)
        labelled = self._target is not None

        def encode_block(rows: Rows) -> Encoded:
            fast = _encode_numbers(rows, schema, labelled, prepared, policy)
            return fast or encode(
                rows.columns,
                schema,
                labelled,
                prepared=prepared,
                missing=policy,
                exact=self._options.exact,
                word_counts=rows.word_counts,
            )

        return encode_block

    def _encoded(self, prepared: bool) -> Iterator[tuple[TableSource, Rows, Encoded]]:
        """Yield blocks of rows, encoded by the schema."""
        schema = self.schema
        encoder = self._encoder(schema, prepared)
        if self._held:
            for source, rows in self._held:
                yield source, rows, encoder(rows)
            return
        names = [column.name for column in schema.columns]
        plain = all(column.plain for column in schema.columns)
        plain &= self._target is None or (schema.labels != "text" and schema.target_format is None)
        for source in self._sources:
            for rows, encoded in source.rows(self._wanted(names), len(names) if plain else 0, encoder):
                yield source, rows, encoded

    def _blocks(self, prepared: bool = True) -> Iterator[Batch]:
        self.dropped = 0
        for source, rows, encoded in self._encoded(prepared):
            bad = [BadLine(source.path, *each) for each in _bad_rows(rows, encoded)]
            every = encoded.rows.size == rows.lines.size
            lines = rows.lines if every else rows.lines[encoded.rows]
            if bad and not self.skip_bad:  # yield the rows before it first, whatever the blocks
                n = int(np.searchsorted(lines, bad[0].line))
                if n:
                    y = None if encoded.y is None else encoded.y[:n]
                    yield Batch(encoded.X[:n], y, lines[:n], files=((0, source.path),))
            self._skip_lines(bad)
            self.unseen_in.update(encoded.unseen)
            self.dropped += encoded.dropped
            if encoded.rows.size:
                yield Batch(encoded.X, encoded.y, lines, files=((0, source.path),))
        if self.dropped:
            note = f"{self.dropped:,} rows with a missing value left out (missing='drop')"
            self.notes = [*(each for each in self.notes if "left out (missing=" not in each), note]

    def _guess(self) -> TableStatistics | None:
        """Return the statistics of the first rows if all columns are plain numbers in them, else None."""
        source, chosen = self._sources[0], self._options
        unread = self._schema is None and len(self._sources) == 1 and self.path != STANDARD_INPUT
        lists = (chosen.drop, chosen.category, chosen.text, chosen.date, chosen.id)
        if (
            not unread
            or not isinstance(source, DelimitedSource)
            or not source.header.numbers
            or source.header.index_column
            or chosen.scale
            or any(lists)
        ):
            return None
        names = [name for name in source.names if name != self._target]
        head = source.head_numbers(self._wanted(names), len(names))
        if head is None or head.any_missing or head.lines.size < FEW_ROWS:
            return None
        statistics = TableStatistics(names, self._target)
        statistics.update(head)
        features = [statistics.columns[name] for name in names]
        varied = all(each.low < each.high and not each.steps_of_one for each in features)
        if not (varied or chosen.exact):
            return None
        return statistics

    def _guessed_blocks(self, guess: TableStatistics) -> Iterator[Batch]:
        self.revised = False
        labels = guess.columns[str(self._target)].labels
        statistics = TableStatistics(guess.names, self._target)
        source = self._sources[0]
        for rows, _ in source.rows(self._wanted(guess.names), len(guess.names), statistics=True):
            y = None if rows.numbers is None else rows.columns[str(self._target)]
            if y is not None and labels == "integer":
                y = as_written(y)
            if y is None or rows.any_missing or rows.bad or (labels == "integer" and y.dtype != np.int64):
                self.revised = True
                return
            if rows.lines.size:
                statistics.update(rows)
                yield Batch(rows.numbers, y, rows.lines)
        names = guess.names
        self._learned = learn_schema(tuple, names, self._target, self._options, statistics=statistics)
        self._schema = self._with_layout(self._learned.schema)


def _numbers_in(rows: Rows) -> dict[str, NDArray[np.float64]]:
    """Return the columns of strings that are all plain numbers, as numbers."""
    texts = {name: column for name, column in rows.columns.items() if is_text(column)}
    parsed = {name: numbers_at_once(column) for name, column in texts.items()}
    return {name: values for name, values in parsed.items() if values is not None}


def _encode_numbers(
    rows: Rows, schema: TableSchema, labelled: bool, prepared: bool, policy: Missing
) -> Encoded | None:
    """Encode a block of numbers as it was scanned; None if that is not possible."""
    known = plain_numbers(rows.columns, rows.numbers, schema, policy, rows.any_missing, labelled)
    if known is None:
        return None
    X, complete = known
    y = rows.columns[schema.target] if labelled and schema.target is not None else None
    places = np.arange(rows.lines.size) if complete is None else np.flatnonzero(complete)
    if complete is not None:
        X, y = X[places], None if y is None else y[places]
    if prepared and schema.preprocessing is not None:
        X = schema.preprocessing.apply(X, complete=complete is not None or not rows.any_missing)
    if y is not None and schema.labels == "integer":
        y = as_written(y)
    return Encoded(X, y, places, {}, rows.lines.size - places.size, Counter())


def _bad_rows(rows: Rows, encoded: Encoded) -> list[BadRow]:
    """Return the bad lines and bad values of rows, in order."""
    if not rows.bad and not encoded.bad:
        return []
    wrong = [(row, reason, name) for row, (reason, name) in sorted(encoded.bad.items())]
    return sorted(rows.bad + rows.bad_rows(wrong))


def _check_has(source: TableSource, names: Sequence[str], error: type[BadInput] = BadOption) -> None:
    known = set(source.names)
    for name in names:
        if name not in known:
            reason = f"no column is called {name!r}; there are {_listed(source.names)}"
            raise error(source.path, _line(source), reason)


def _line(source: TableSource) -> int | None:
    """Return the line of the header, or of the first row."""
    return None if source.header is None else source.header.line + (not source.header.named)


def _listed(names: Sequence[str], at_most: int = 20) -> str:
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(repr(name) for name in names[:at_most]) + more


def open_table(opening: "Opening", separators: dict[str, str | None]) -> Examples:
    """Open a table, with kinds inferred from all values, or as a stream."""
    options, schema = opening.options, opening.schema
    by_name = options.at_once or bool(options.hash_bits)
    arrives = isinstance(schema, NamedSchema) or (by_name and not isinstance(schema, TableSchema))
    if STANDARD_INPUT in opening.paths and schema is None and not arrives:
        standard_input().spool()  # it is read again if a later row contradicts
    tight = options.tight or (arrives and options.at_once)
    sources = _sources(opening, separators, schema if isinstance(schema, TableSchema) else None, tight)
    if arrives:
        return ArrivingTable(sources, opening)
    return TableExamples(
        sources,
        path=opening.path,
        format=opening.format,
        options=options,
        schema=schema,
        batch_rows=opening.batch_rows,
    )


def _sources(
    opening: "Opening", separators: dict[str, str | None], schema: TableSchema | None, tight: bool
) -> list[TableSource]:
    from rosenblatt.data.tables.columnar import ArrowSource, ParquetSource

    if opening.format not in separators:
        source = ParquetSource if opening.format == "parquet" else ArrowSource
        return [source(path, opening.options.drop) for path in opening.paths]
    separator = separators[opening.format]
    first = DelimitedSource.open(opening.paths[0], separator, opening.options, tight, schema=schema)
    others = [
        DelimitedSource.open(path, separator, opening.options, tight, schema=schema, like=first.header)
        for path in opening.paths[1:]
    ]
    return [first, *others]


class _Feature(NamedTuple):
    """A named feature of some rows."""

    name: str
    rows: NDArray[np.int64]  # ascending
    values: NDArray[np.float64]

    def among(self, place: NDArray[np.int64]) -> "_Feature":
        """Return the feature for the kept rows, with their new numbers."""
        rows = place[self.rows]
        return _Feature(self.name, rows[rows >= 0], self.values[rows >= 0])


class ArrivingTable(Examples):
    """A table read in one pass, as a stream: features are added as they appear.

    The kind of a column comes from the options, from the schema of a model, or from its first value: a number (plain,
    or in a number format), a date, else categories ``column=value``; prose is inferred from the first lines. A later
    value that is not a number or date, where the first was one, is a bad line, because learning cannot be undone. A
    missing value is the feature ``column=(missing)``, or none. So every row can be learned from when it arrives, and
    the result does not depend on how many lines arrive at a time.
    """

    def __init__(self, sources: Sequence[TableSource], opening: "Opening") -> None:
        options, schema = opening.options, opening.schema
        super().__init__(opening.path, opening.batch_rows, options.skip_bad)
        self.format = opening.format
        if schema is not None and not isinstance(schema, NamedSchema):
            reason = "has features by name, but the model was trained on another kind of file"
            raise BadInput(opening.path, None, reason)
        if options.scale:
            raise BadOption(
                opening.path,
                None,
                "features by name cannot be scaled before all rows are read: leave out --scale, or --hash-bits",
            )
        self._sources = list(sources)
        self._options = options
        first = self._sources[0]
        target = options.target or (schema.target if schema else None) or first.usual_target
        self._target: str = target
        for source in self._sources:
            if schema is None:
                _check_has(source, [target])
            _check_has(source, [*options.drop, *options.id])
        self._labelled = all(target in source.names for source in self._sources)
        self._labels: LabelKind | None = schema.labels if schema else None
        prose = options.text or tuple(
            name for name in first.prose if name not in (target, *options.category, *options.numeric)
        )
        self._known = schema or NamedSchema(
            (), options.hash_bits, target, "text", tuple(prose), options.words
        )
        self._columns = {column.name: column for column in self._known.columns}
        if schema is not None and not schema.columns:  # stored by a version without columns
            every = [name for source in self._sources for name in source.names]
            self._columns = {name: Column(name) for name in every if name in schema.names}
        self._vocabulary = Vocabulary(self._known, options.grow or schema is None)
        for source in self._sources:
            self.notes += source.header.notes if source.header is not None else ()

    @property
    def schema(self) -> NamedSchema:
        """Names so far, in order of appearance, and the kinds of the columns."""
        known = self._known
        names = () if known.bits else self._vocabulary.names
        return replace(
            known,
            names=names,
            target=self._target,
            labels=self._labels or "text",
            columns=tuple(self._columns.values()),
        )

    def _blocks(self) -> Iterator[Batch]:
        for source in self._sources:
            for rows, _ in source.rows(source.names):
                batch = self._batch(source, rows)
                if batch is not None:
                    yield batch._replace(files=((0, source.path),))

    def _batch(self, source: TableSource, rows: Rows) -> Batch | None:
        bad: dict[int, tuple[str, str]] = {}  # row -> reason and column
        y = None
        if self._labelled and rows.lines.size:
            y = self._label_column(rows.columns[self._target], bad)
        features: list[_Feature] = []
        for name in source.names:
            left_out = name in (self._target, *self._options.drop, *self._options.id)
            if not left_out and rows.lines.size:
                features += self._features(source, name, rows, bad)
        wrong = rows.bad_rows([(row, reason, name) for row, (reason, name) in bad.items()])
        self._skip_lines(BadLine(source.path, *one) for one in [*rows.bad, *wrong])
        keep = np.delete(np.arange(rows.lines.size), list(bad))
        if not keep.size:
            return None
        if bad:  # names in bad rows are not added
            place = np.full(rows.lines.size, -1)
            place[keep] = np.arange(keep.size)
            features = [one for one in (each.among(place) for each in features) if one.rows.size]
            y = None if y is None else y[keep]
        return Batch(self._sparse(self._placed(features), keep.size), y, rows.lines[keep])

    def _label_column(self, column: Any, bad: dict[int, tuple[str, str]]) -> NDArray[Any]:
        texts, codes = _strings(column)
        if self._labels is None:
            first = next(
                (text for text in (texts[code] for code in codes) if text not in SCANNED_MISSING), None
            )
            plain = first is not None and _number(first) is not None and not is_long_integer(first)
            self._labels = first and ("integer" if plain else "text")
        for at, label in enumerate(texts):
            reason = ""
            if label in SCANNED_MISSING or (self._labels != "text" and _number(label) is None):
                reason = f"the target {self._target!r} is {label!r}: expected a label like those before"
            elif self._labels != "text" and is_long_integer(label):
                reason = f"the target {self._target!r} is {label!r}, an integer of more than 64 bits: write it as text"
            if reason:
                bad.update(dict.fromkeys(np.flatnonzero(codes == at).tolist(), (reason, self._target)))
        kind = self._labels or "text"
        values = [label if kind == "text" else _whole_or_number(label) for label in texts]
        labels: NDArray[Any] = labels_of(values, kind)[codes]
        return labels

    def _column(self, source: TableSource, name: str, rows: Rows) -> Column | None:
        """Return a column with the kind of its first value; None before it has one."""
        if name not in self._columns:
            cells = rows.columns[name]
            present = np.flatnonzero(~absent(cells))
            if name in self._options.category:
                self._columns[name] = Column(name, ())
            elif present.size and not is_text(cells):
                self._columns[name] = Column(name)
            elif present.size:
                row = int(present[0])
                try:
                    self._columns[name] = column_of_value(name, cells[row].as_py(), self._options)
                except AmbiguousValues as error:
                    (where,) = rows.bad_rows([(row, str(error), name)])
                    raise BadInput(source.path, where.line, where.reason, where.column) from error
        return self._columns.get(name)

    def _features(
        self, source: TableSource, name: str, rows: Rows, bad: dict[int, tuple[str, str]]
    ) -> "Iterator[_Feature]":
        """Yield the features of a column: numbers and dates as values, other values as names."""
        cells = rows.columns[name]
        if name in self._known.text:
            yield from self._words(name, cells)
            return
        column = self._column(source, name, rows)
        if column is None or column.categories is not None:
            texts, codes = _strings(cells)
            for at, value in enumerate(texts):
                where = np.flatnonzero(codes == at)
                if value in MISSING:
                    yield from self._missing(name, where, bad)
                else:
                    yield _Feature(f"{name}={value}", where, np.ones(where.size))
            return
        values = numbers_of(cells, column)
        finite = np.isfinite(values).all(axis=1)
        for part, feature in enumerate(column.features):
            if finite.any():
                yield _Feature(feature, np.flatnonzero(finite), values[finite, part])
        if finite.all():
            return
        gaps = absent(cells)
        yield from self._missing(name, np.flatnonzero(~finite & gaps), bad)
        for row in np.flatnonzero(~finite & ~gaps).tolist():
            way_out = "" if name in self._options.numeric else f"; --category {name} reads all as categories"
            bad[row] = (f"column {name!r} {not_a_value(cell_of(cells, row), column)}{way_out}", name)

    def _missing(
        self, name: str, where: NDArray[np.int64], bad: dict[int, tuple[str, str]]
    ) -> "Iterator[_Feature]":
        """Yield the feature of a missing value, or record the rows in which it is an error."""
        policy = missing_policy(self._options)
        if policy == "indicator" and where.size:
            yield _Feature(f"{name}=(missing)", where, np.ones(where.size))
        elif policy in ("refuse", "drop"):
            reason = f"column {name!r} has no value: fill it in, or choose how with missing (--missing)"
            bad.update(dict.fromkeys(where.tolist(), (reason, name)))

    def _words(self, name: str, column: Any) -> "Iterator[_Feature]":
        rows: dict[str, list[int]] = {}
        for row, value in enumerate(column.to_pylist()):
            for word in self._known.words.cut(value or ""):
                rows.setdefault(word, []).append(row)
        for word, where in rows.items():
            yield _Feature(f"{name}:{word}", np.array(where), np.ones(len(where)))

    def _placed(self, features: "list[_Feature]") -> list[Any]:
        """Return (rows, features, values) of every name; add new names in the order of the rows, in any blocks."""
        entries = []
        for one in sorted(features, key=lambda one: int(one.rows[0])):  # within a row, by column
            place = self._vocabulary.feature(one.name)
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
        if starts.size < rows.size:  # colliding hashes add up; binary words count once
            binary = self._known.words.binary and not self._known.bits
            values = values[starts] if binary else np.add.reduceat(values, starts)
            rows, places = rows[starts], places[starts]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        return sparse_rows(values, places, indptr, len(self._vocabulary))


def _strings(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct values of a column as strings, and the index of the value of each row."""
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        column = pa.array(column)
    return distinct(column.cast(pa.string()))


def _whole_or_number(text: str) -> float:
    """Return a label as an int if that is exact and fits into 64 bits, else as a float; 0 if it is neither."""
    try:
        whole = int(text)
    except ValueError:
        whole = 2**63
    return whole if -(2**63) <= whole < 2**63 and "_" not in text else _number(text) or 0.0


def _number(text: str) -> float | None:
    value = number(text)
    return value if value is not None and isfinite(value) else None
