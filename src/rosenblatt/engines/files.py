"""Shards of files that every worker can read: each worker reads its own files, and all encode by one schema."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rosenblatt.data import ReadOptions, Schema, TableSchema, open_examples, schema_from_dict
from rosenblatt.data.libsvm import looks_zero_based
from rosenblatt.data.open import find_format
from rosenblatt.data.schema import Column, LabelKind, LibsvmSchema
from rosenblatt.data.source import files_in, paths_of
from rosenblatt.data.tables.infer import ColumnReport
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.shards import Shard, shard_of_batches

TABLES = ("csv", "tsv", "parquet", "arrow")
BLOCK_ROWS = 8192  # of one file that is distributed over several shards


class Files(NamedTuple):
    """The files of one shard; where there are fewer files than shards, every ``of``-th block of rows.

    A loader of shards: it is called on the worker that keeps the shard.
    """

    paths: list[str]
    options: ReadOptions
    part: int = 0
    of: int = 1
    schema: dict[str, Any] | None = None

    def __call__(self, index: int) -> Shard:
        """Read the shard."""
        rows = None if self.of == 1 else BLOCK_ROWS
        examples = open_examples(self.paths, self.options, schema=self.schema, batch_rows=rows)
        batches = [batch for at, batch in enumerate(examples) if at % self.of == self.part]
        for batch in batches:
            if batch.y is None:
                raise ValueError(
                    f"{batch.where(0)}: no labels to learn from: choose the target column with --target"
                )
        return shard_of_batches(batches, index)

    def infer_schema(self) -> dict[str, Any]:
        """Return the schema that these files have by themselves."""
        return open_examples(self.paths, self.options, batch_rows=None).schema.to_dict()


def split(source: str, shards: int, options: ReadOptions) -> list[Files]:
    """Distribute the files of a source over shards: neighbours to one shard, or blocks of one file."""
    paths = paths_of(source)
    if (options.format or find_format(paths[0])) == "folder of files":
        paths = [file for folder in paths for file in files_in(folder)]
    if len(paths) >= shards:
        ends = [at * len(paths) // shards for at in range(shards + 1)]
        return [Files(paths[ends[at] : ends[at + 1]], options) for at in range(shards)]
    each = [shards // len(paths) + (at < shards % len(paths)) for at in range(len(paths))]
    return [
        Files([path], options, part, of) for path, of in zip(paths, each, strict=True) for part in range(of)
    ]


def with_schema(every: Sequence[Files], engine: Engine) -> tuple[list[Files], Schema, list[ColumnReport]]:
    """Return the shards with the schema of all files, that schema, and how every column of a table was read.

    Workers infer the schemas of tables, each of its own files, and the driver merges them: categories and words are
    united. Where files disagree on the kind of a column, where numbers are scaled, and for formats with feature names,
    the driver reads all files instead.
    """
    first = every[0]
    form = first.options.format or find_format(first.paths[0])
    paths = [path for files in every if files.part == 0 for path in files.paths]
    if form == "libsvm":
        based = first.options.zero_based
        based = looks_zero_based(first.paths[0]) if based is None else based
        shards = [each._replace(options=each.options.changed(zero_based=based)) for each in every]
        return shards, LibsvmSchema(0, based), []
    schema: Schema | None = None
    columns: list[ColumnReport] = []
    if form in TABLES and not first.options.scale and len(paths) > 1:
        inferred = engine.map(Files.infer_schema, [files for files in every if files.part == 0])
        merged = merged_schema([_table_schema(stored) for stored in inferred])
        schema, columns = merged, [] if merged is None else _reports(merged)
    if schema is None:
        examples = open_examples(paths, first.options, batch_rows=None)
        if form not in TABLES:
            for _ in examples:  # the vocabulary grows as rows are read
                pass
        schema, columns = examples.schema, examples.columns
    return [each._replace(schema=schema.to_dict()) for each in every], schema, columns


def _reports(schema: TableSchema) -> list[ColumnReport]:
    """Return how columns were read as far as a merged schema says: their kinds and features, no ranges."""
    reports = [
        ColumnReport(column.name, column.kind, 0, _levels(column), column.width) for column in schema.columns
    ]
    return [*reports, *([] if schema.target is None else [ColumnReport(schema.target, "target", 0, "", 0)])]


def _levels(column: Column) -> str:
    if column.categories is None:
        return ""
    if column.words is not None:
        return f"{len(column.categories):,} words"
    return ", ".join(column.categories[:4]) + (", …" if len(column.categories) > 4 else "")


def merged_schema(every: Sequence[TableSchema]) -> TableSchema | None:
    """Return the schema of all tables, or None where all rows must be read for it.

    All rows are needed where tables disagree on the kind of a column, or where preprocessing is fitted on rows.

    >>> one = TableSchema((Column("a"), Column("b", ("x",))), "y", "integer")
    >>> two = TableSchema((Column("a"), Column("b", ("w", "x"))), "y", "text")
    >>> merged = merged_schema([one, two])
    >>> merged.feature_names, merged.labels
    (['a', 'b=w', 'b=x'], 'text')
    """
    first = every[0]
    names = [column.name for column in first.columns]
    if any(schema.preprocessing is not None for schema in every):
        return None
    if any(other.target != first.target or [c.name for c in other.columns] != names for other in every):
        return None
    columns = []
    for same in zip(*(schema.columns for schema in every), strict=True):
        if (
            len({(c.categories is None, c.words, c.format, c.parts, c.boolean, c.date_order) for c in same})
            > 1
        ):
            return None
        if same[0].categories is None:
            columns.append(same[0])
            continue
        known = dict.fromkeys(value for column in same for value in column.categories or ())
        columns.append(Column(same[0].name, tuple(known if same[0].words else sorted(known)), same[0].words))
    kinds = {schema.labels for schema in every}
    labels: LabelKind = "text" if "text" in kinds else "number" if "number" in kinds else "integer"
    return TableSchema(tuple(columns), first.target, labels, first.headerless)


def _table_schema(stored: dict[str, Any]) -> TableSchema:
    schema = schema_from_dict(stored)
    assert isinstance(schema, TableSchema)
    return schema
