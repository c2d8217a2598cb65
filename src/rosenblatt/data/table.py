"""Delimited text, with names or without: columns that are numeric, discrete or text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rosenblatt.data.attributes import Encoded, Strings, learn_schema
from rosenblatt.data.batch import Batch
from rosenblatt.data.column_sources import DelimitedSource
from rosenblatt.data.delimited import Rows
from rosenblatt.data.encoded_rows import bad_rows, encode_rows, wanted_of
from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.data.examples import Examples, SecondLook
from rosenblatt.data.header import Header, read_header
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.schema import Headerless, TableSchema
from rosenblatt.data.source import STANDARD_INPUT, standard_input

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening


class TableExamples(Examples):
    """Examples from delimited text; columns are matched by name."""

    format = "csv"

    def __init__(
        self,
        path: str,
        header: Header,
        *,
        target: str | None,
        schema: TableSchema | None,
        batch_rows: int | None,
        options: ReadOptions,
    ) -> None:
        super().__init__(path, batch_rows, options.skip_bad)
        self._options = options
        self._header = header
        self._target = target
        self._schema = schema
        self._only_block: Rows | None = None  # a small file is parsed once

    @property
    def schema(self) -> TableSchema:
        """Kinds and categories; without a given schema, the file is read to find them."""
        if self._schema is None:
            self._schema = self._learned(self._columns)
        return self._schema

    def at_first_sight(self) -> Iterator[Batch]:
        """Yield batches by what the head says, if that is that all columns are numbers."""
        asked = self._options.text or self._options.category or self._options.scale
        if asked or self._schema is not None or self.path == STANDARD_INPUT:
            return iter(self)
        head = DelimitedSource(self.path, self._header).head()
        if head.bad or not head.lines.size:
            return iter(self)
        guess = self._learned(lambda: [head.columns])
        if guess.any_discrete or guess.labels == "text" or encode_rows(head, guess, True).bad:
            return iter(self)
        return self._reading(lambda: self._guessed_blocks(guess))

    def _guessed_blocks(self, guess: TableSchema) -> Iterator[Batch]:
        for rows, found in self._encoded(guess, strings_first=False):
            whole = found.y is None or found.y.dtype == np.int64
            if rows.numbers is None or rows.any_missing or (guess.labels == "integer" and not whole):
                raise SecondLook
            if found.rows.size:
                yield Batch(found.X, found.y, rows.lines)
        self._schema = guess

    def _learned(self, columns: Callable[[], Iterable[Strings]]) -> TableSchema:
        """Return the schema that some columns teach."""
        features = [name for name in self._header.names if name != self._target]
        look = self._look if columns == self._columns else None
        found = learn_schema(columns, features, self._target, self._options, look)
        if self._header.named:
            return found
        return replace(found, headerless=Headerless(tuple(self._header.names), self._header.separator))

    def _columns(self) -> Iterator[Strings]:
        return (rows.columns for rows in self._rows(self._header.names))

    def _look(self) -> Iterator[Strings]:
        first, count = None, 0
        for rows in DelimitedSource(self.path, self._header).look(self._target):
            first, count = (rows if count == 0 else None), count + 1
            yield rows.columns
        self._only_block = first

    def _rows(self, wanted: list[str]) -> Iterator[Rows]:
        if self._only_block is not None:
            return iter([self._only_block])
        return DelimitedSource(self.path, self._header).rows(wanted)

    def _encoded(self, schema: TableSchema, strings_first: bool = True) -> Iterator[tuple[Rows, Encoded]]:
        """Yield rows, and what they are by a schema."""
        labelled = self._target is not None

        def encode(rows: Rows) -> Encoded:
            return encode_rows(rows, schema, labelled)

        if self._only_block is not None:
            return iter([(self._only_block, encode(self._only_block))])
        wanted, side_by_side = wanted_of(schema, self._target)
        return DelimitedSource(self.path, self._header).rows_and(encode, wanted, side_by_side, strings_first)

    def _blocks(self) -> Iterator[Batch]:
        schema = self.schema
        for rows, found in self._encoded(schema):
            self._pass_over(BadLine(self.path, *bad) for bad in bad_rows(rows, found))
            self.unseen_in.update(found.unseen)
            if found.rows.size:
                yield Batch(found.X, found.y, rows.lines[found.rows])


def open_table(opening: "Opening", separator: str | None) -> TableExamples:
    """Open delimited text, and check its header against what is asked of it."""
    path, options, schema, target = opening.paths[0], opening.options, opening.schema, opening.options.target
    if schema is not None and not isinstance(schema, TableSchema):
        raise BadInput(
            path, None, "is a table, but the model was trained on LIBSVM text without column names"
        )
    if path == STANDARD_INPUT and schema is None:
        standard_input().keep()  # once to learn the schema, once to encode
    header = read_header(path, separator, options.header, schema, options.tight)
    names = header.names
    line = header.line + (not header.named)
    for name in [*([] if target is None else [target]), *options.text, *options.category]:
        if name not in names:
            raise BadInput(path, line, f"no column is called {name!r}; there are {_listed(names)}")
    if schema is None:
        if len(names) < 2:
            raise BadInput(path, line, f"only one column, {names[0]!r}: features and a target are needed")
        target = header.target if target is None else target
        return TableExamples(
            path, header, target=target, schema=None, batch_rows=opening.batch_rows, options=options
        )
    missing = [column.name for column in schema.columns if column.name not in names]
    if missing:
        raise BadInput(
            path, line, f"the model needs {_listed(missing)}, not among the columns {_listed(names)}"
        )
    if target is None and schema.target in names:
        target = schema.target
    elif target is not None and target != schema.target:
        schema = replace(schema, target=target)
    return TableExamples(
        path, header, target=target, schema=schema, batch_rows=opening.batch_rows, options=options
    )


def _listed(names: list[str], at_most: int = 20) -> str:
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(repr(name) for name in names[:at_most]) + more
