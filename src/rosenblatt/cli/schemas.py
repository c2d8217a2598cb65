"""Match the columns of a new file with the features of a model."""

from dataclasses import replace
from typing import TYPE_CHECKING

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import counted
from rosenblatt.data import Column, LibsvmSchema, TableSchema
from rosenblatt.data.open import find_format
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.schema import Headerless, LabelKind, Schema
from rosenblatt.data.tables.header import Header, read_header
from rosenblatt.learner.models import stored_schema

if TYPE_CHECKING:
    from rosenblatt.learner.models import Model

KINDS: dict[str, LabelKind] = {"i": "integer", "u": "integer", "f": "number"}


def schema_of(model: "Model", source: str, options: ReadOptions) -> Schema:
    """Return how to encode a source for a model: as in training, else by names, else by position."""
    stored = stored_schema(model)
    if stored is not None:
        return stored
    if not source.startswith("sample:") and format_of(source, options) == "libsvm":
        return LibsvmSchema(model.n_features, bool(options.zero_based))
    return _guessed_schema(model, source, options)


def without_target(schema: Schema) -> Schema:
    """Return a schema that leaves the target unread; by position, the target must stay to be counted."""
    if not isinstance(schema, TableSchema) or schema.headerless is not None:
        return schema
    return replace(schema, target=None)


def table_of_numbers(source: str, options: ReadOptions) -> TableSchema:
    """Return a schema for a table without a target, every column a number."""
    header = header_of(source, options)
    return TableSchema(tuple(Column(name) for name in header.names), headerless=_headerless(header))


def format_of(source: str, options: ReadOptions) -> str:
    """Return the format of a file: as given, else by name and content."""
    return options.format or find_format(source)


def header_of(source: str, options: ReadOptions) -> Header:
    """Return the names of the columns of a table."""
    return read_header(source, "\t" if format_of(source, options) == "tsv" else None, options.header)


def _guessed_schema(model: "Model", source: str, options: ReadOptions) -> TableSchema:
    """Match a table with a model that never saw a file: by its names, else by position."""
    names = model.about.get("feature_names")
    by_name = isinstance(names, list) and len(names) == model.n_features
    kind = "number" if model.classes is None else KINDS.get(model.classes.dtype.kind, "text")
    headerless, target = None, options.target
    if source.startswith("sample:"):
        from rosenblatt.data.samples import load_sample

        columns, target = load_sample(source.removeprefix("sample:")).feature_names, "class"
    else:
        header = header_of(source, options)
        headerless, columns = _headerless(header), header.names
        if target is None and len(columns) > model.n_features:
            target = columns[-1]
    if names and by_name and headerless is None:
        return TableSchema(tuple(Column(str(name)) for name in names), target, kind)
    columns = [name for name in columns if name != target]
    if len(columns) != model.n_features:
        counts = f"{counted(len(columns), 'feature column')}, but the model has {model.n_features:,} features"
        refuse(f"{source}: {counts} and names none of them")
    return TableSchema(tuple(Column(name) for name in columns), target, kind, headerless)


def _headerless(header: Header) -> Headerless | None:
    return None if header.named else Headerless(tuple(header.names), header.separator)
