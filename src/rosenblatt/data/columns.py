"""Examples from one or several files of named columns, numeric, discrete or text, by one schema."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rosenblatt.data.attributes import Strings, learn_schema
from rosenblatt.data.batch import Batch
from rosenblatt.data.column_sources import ColumnSource, usual_target_of
from rosenblatt.data.encoded_rows import bad_rows, encode_rows, wanted_of
from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.data.examples import Examples
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.schema import Schema, TableSchema


class ColumnExamples(Examples):
    """Examples from files whose columns are matched by name; without a schema all are read to find one."""

    def __init__(
        self,
        sources: Sequence[ColumnSource],
        *,
        path: str,
        format: str,
        target: str | None,
        schema: Schema | None,
        options: ReadOptions,
        batch_rows: int | None,
    ) -> None:
        super().__init__(path, batch_rows, options.skip_bad)
        self.format = format
        self._sources = list(sources)
        self._options = options
        if schema is not None and not isinstance(schema, TableSchema):
            raise BadInput(path, None, "is a table, but the model was trained on another kind of file")
        names = self._sources[0].names
        if schema is None:
            target = usual_target_of(self._sources[0]) if target is None else target
            _check_has(self._sources, [target, *options.text])
            _check_has(self._sources, names)
            if len(names) < 2:
                raise BadInput(path, None, f"only one column, {names[0]!r}: features and a target are needed")
        else:
            _check_has(self._sources, [column.name for column in schema.columns])
            if target is not None:
                _check_has(self._sources, [target])
                schema = replace(schema, target=target)
            elif all(schema.target in source.names for source in self._sources):
                target = schema.target
        self._target = target
        self._schema = schema

    @property
    def schema(self) -> TableSchema:
        """Kinds, categories and words; without a given schema, the files are read to find them."""
        if self._schema is None:
            features = [name for name in self._sources[0].names if name != self._target]
            self._schema = learn_schema(self._columns, features, self._target, self._options, self._look)
        return self._schema

    def _columns(self) -> Iterator[Strings]:
        names = self._sources[0].names
        return (rows.columns for source in self._sources for rows in source.rows(names))

    def _look(self) -> Iterator[Strings]:
        return (rows.columns for source in self._sources for rows in source.look(self._target))

    def _blocks(self) -> Iterator[Batch]:
        schema = self.schema
        wanted, side_by_side = wanted_of(schema, self._target)
        for source in self._sources:
            for rows in source.rows(wanted, side_by_side):
                found = encode_rows(rows, schema, self._target is not None)
                self._pass_over(BadLine(source.path, *bad) for bad in bad_rows(rows, found))
                self.unseen_in.update(found.unseen)
                if found.rows.size:
                    yield Batch(found.X, found.y, rows.lines[found.rows], files=((0, source.path),))


def _check_has(sources: Sequence[ColumnSource], names: Sequence[str | None]) -> None:
    for source in sources:
        known = set(source.names)
        for name in names:
            if name is not None and name not in known:
                there = ", ".join(map(repr, source.names[:20]))
                raise BadInput(source.path, None, f"no column is called {name!r}; there are {there}")
