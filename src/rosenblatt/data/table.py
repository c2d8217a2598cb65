"""Delimited text, with names or without: columns that are numeric, discrete or text."""

from collections.abc import Iterator
from dataclasses import replace

from rosenblatt.data.attributes import Strings, Wish, learn_schema
from rosenblatt.data.bad_input import BadInput, BadLine
from rosenblatt.data.batch import Batch
from rosenblatt.data.column_sources import DelimitedSource
from rosenblatt.data.delimited import Header, Rows, read_header
from rosenblatt.data.encoded_rows import bad_rows, encode_rows, wanted_of
from rosenblatt.data.examples import Examples
from rosenblatt.data.parallel import in_order
from rosenblatt.data.schema import Headerless, Schema, TableSchema
from rosenblatt.data.standard_input import STANDARD_INPUT, standard_input


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
        skip_bad: bool,
        wish: Wish = Wish(),  # noqa: B008 (a tuple)
    ) -> None:
        super().__init__(path, batch_rows, skip_bad)
        self._wish = wish
        self._header = header
        self._target = target
        self._schema = schema
        self._only_block: Rows | None = None  # a small file is parsed once

    @property
    def schema(self) -> TableSchema:
        """Kinds and categories; without a given schema, the file is read to find them."""
        if self._schema is None:
            features = [name for name in self._header.names if name != self._target]
            found = learn_schema(self._columns, features, self._target, self._wish, self._look)
            if not self._header.named:
                found = replace(
                    found, headerless=Headerless(tuple(self._header.names), self._header.separator)
                )
            self._schema = found
        return self._schema

    def _columns(self) -> Iterator[Strings]:
        return (rows.columns for rows in self._rows(self._header.names))

    def _look(self) -> Iterator[Strings]:
        first, count = None, 0
        for rows in DelimitedSource(self.path, self._header).look(self._target):
            first, count = (rows if count == 0 else None), count + 1
            yield rows.columns
        self._only_block = first

    def _rows(self, wanted: list[str], side_by_side: int = 0) -> Iterator[Rows]:
        if self._only_block is not None:
            return iter([self._only_block])
        return DelimitedSource(self.path, self._header).rows(wanted, side_by_side)

    def _blocks(self) -> Iterator[Batch]:
        schema = self.schema
        labelled = self._target is not None
        wanted, side_by_side = wanted_of(schema, self._target)
        for rows, found in in_order(
            lambda rows: (rows, encode_rows(rows, schema, labelled)), self._rows(wanted, side_by_side)
        ):
            self._pass_over(BadLine(self.path, *bad) for bad in bad_rows(rows, found))
            self.unseen_in.update(found.unseen)
            if found.rows.size:
                yield Batch(found.X, found.y, rows.lines[found.rows])


def open_table(
    path: str,
    *,
    target: str | None,
    schema: Schema | None,
    separator: str | None,
    batch_rows: int | None,
    skip_bad: bool,
    named: bool | None = None,
    wish: Wish = Wish(),  # noqa: B008 (a tuple)
) -> TableExamples:
    """Open delimited text, and check its header against what is asked of it."""
    if schema is not None and not isinstance(schema, TableSchema):
        raise BadInput(
            path, None, "is a table, but the model was trained on LIBSVM text without column names"
        )
    if path == STANDARD_INPUT and schema is None:
        standard_input().keep()  # once to learn the schema, once to encode
    header = read_header(path, separator, named, schema)
    names = header.names
    line = header.line + (not header.named)
    for name in [*([] if target is None else [target]), *wish.text, *wish.discrete]:
        if name not in names:
            raise BadInput(path, line, f"no column is called {name!r}; there are {_listed(names)}")
    if schema is None:
        if len(names) < 2:
            raise BadInput(path, line, f"only one column, {names[0]!r}: features and a target are needed")
        target = header.target if target is None else target
        return TableExamples(
            path, header, target=target, schema=None, batch_rows=batch_rows, skip_bad=skip_bad, wish=wish
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
    return TableExamples(path, header, target=target, schema=schema, batch_rows=batch_rows, skip_bad=skip_bad)


def _listed(names: list[str], at_most: int = 20) -> str:
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(repr(name) for name in names[:at_most]) + more
