"""Shards of files that every worker can read: each reads its own, and all encode by one schema."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rosenblatt.data import ReadOptions, Schema, TableSchema, open_examples, schema_from_dict
from rosenblatt.data.libsvm import looks_zero_based
from rosenblatt.data.open import find_format
from rosenblatt.data.schema import Column, LabelKind, LibsvmSchema
from rosenblatt.data.source import files_in, paths_of
from rosenblatt.engines.protocol import Engine
from rosenblatt.engines.shard import Shard, shard_of_batches

TABLES = ("csv", "tsv", "parquet", "arrow")
BLOCK_ROWS = 8192  # of one file that is dealt out to several shards


class Files(NamedTuple):
    """The files of one shard; where there are fewer files than shards, every ``of``-th block of rows."""

    paths: list[str]
    options: ReadOptions
    part: int = 0
    of: int = 1
    schema: dict[str, Any] | None = None

    def __call__(self, index: int) -> Shard:
        """Read the shard, on whichever worker this is."""
        rows = None if self.of == 1 else BLOCK_ROWS
        examples = open_examples(self.paths, self.options, schema=self.schema, batch_rows=rows)
        batches = [batch for at, batch in enumerate(examples) if at % self.of == self.part]
        for batch in batches:
            if batch.y is None:
                raise ValueError(f"{batch.where(0)}: no labels to learn from: name the target")
        return shard_of_batches(batches, index)

    def listed(self, index: int) -> "Files":
        """Return itself: the list, before anything is read."""
        return self


def split(source: str, shards: int, options: ReadOptions) -> list[Files]:
    """Deal the files of a source out: neighbours to one shard, or one file by blocks where there are fewer."""
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


def with_schema(every: Sequence[Files], engine: Callable[[], Engine]) -> tuple[list[Files], Schema]:
    """Find the schema of all files, where they are, and give it to every shard.

    Tables are looked over by the workers, each its own files, and what they say is merged: categories and words are
    united. Where files disagree on the kind of a column (or numbers are to be scaled), and for features that go by
    name, the files are looked over here, one after the other.
    """
    first = every[0]
    form = first.options.format or find_format(first.paths[0])
    whole = [path for files in every if files.part == 0 for path in files.paths]
    if form == "libsvm":
        based = first.options.zero_based
        based = looks_zero_based(first.paths[0]) if based is None else based
        return [
            each._replace(options=each.options.changed(zero_based=based)) for each in every
        ], LibsvmSchema(0, based)
    schema: Schema | None = None
    if form in TABLES and not first.options.scale and len(whole) > 1:
        asked = engine()
        try:
            asked.hold([files.listed for files in every if files.part == 0])
            schema = merged_schema([_table(told) for told in asked.gather(_schema_of)])
        finally:
            asked.release()
    if schema is None:
        examples = open_examples(whole, first.options, batch_rows=None)
        if form not in TABLES:
            for _ in examples:  # names are met as they come
                pass
        schema = examples.schema
    return [each._replace(schema=schema.to_dict()) for each in every], schema


def merged_schema(every: Sequence[TableSchema]) -> TableSchema | None:
    """Return the schema of all tables, or None where all rows must be read for it.

    That is so where tables disagree on the kind of a column, or where a preprocessing is fitted on their rows.

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
        if len({(c.categories is None, c.words, c.format, c.parts, c.boolean) for c in same}) > 1:
            return None
        if same[0].categories is None:
            columns.append(same[0])
            continue
        known = dict.fromkeys(value for column in same for value in column.categories or ())
        columns.append(Column(same[0].name, tuple(known if same[0].words else sorted(known)), same[0].words))
    kinds = {schema.labels for schema in every}
    labels: LabelKind = "text" if "text" in kinds else "number" if "number" in kinds else "integer"
    return TableSchema(tuple(columns), first.target, labels, first.headerless)


def _schema_of(files: Files) -> dict[str, Any]:
    return open_examples(files.paths, files.options, batch_rows=None).schema.to_dict()


def _table(told: dict[str, Any]) -> TableSchema:
    schema = schema_from_dict(told)
    assert isinstance(schema, TableSchema)
    return schema
