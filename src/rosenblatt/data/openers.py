"""What opens each format: one function a format, all taking the same wishes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.examples import Examples
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.data.schema import Schema, TableSchema
from rosenblatt.data.standard_input import STANDARD_INPUT, standard_input
from rosenblatt.data.words import Words

if TYPE_CHECKING:
    from rosenblatt.data.column_sources import ColumnSource


class Wishes(NamedTuple):
    """What a caller of :func:`open_examples` asks for, every default filled in."""

    path: str  # how the source is called in messages
    paths: list[str]  # its files
    format: str
    target: str | None
    schema: Schema | None
    grow: bool
    zero_based: bool | None
    header: bool | None
    text: list[str]
    words: Words
    scale: bool
    hash_bits: int
    at_once: bool
    tight: bool
    batch_rows: int | None
    skip_bad: bool


def _libsvm(asked: Wishes) -> Examples:
    from rosenblatt.data.libsvm import open_libsvm

    _refuse_hashing(asked, "LIBSVM text")
    return open_libsvm(
        asked.paths,
        path=asked.path,
        target=asked.target,
        schema=asked.schema,
        grow=asked.grow,
        zero_based=asked.zero_based,
        batch_rows=asked.batch_rows,
        skip_bad=asked.skip_bad,
    )


def _vw(asked: Wishes) -> Examples:
    from rosenblatt.data.vowpal_wabbit import open_vw

    return open_vw(
        asked.paths,
        path=asked.path,
        target=asked.target,
        schema=asked.schema,
        grow=asked.grow,
        bits=asked.hash_bits,
        batch_rows=asked.batch_rows,
        skip_bad=asked.skip_bad,
    )


def _json_lines(asked: Wishes) -> Examples:
    from rosenblatt.data.json_lines import JsonExamples

    return JsonExamples(
        asked.paths,
        path=asked.path,
        target=asked.target,
        schema=_named(asked),
        grow=asked.grow,
        text=asked.text,
        words=asked.words,
        bits=asked.hash_bits,
        batch_rows=asked.batch_rows,
        skip_bad=asked.skip_bad,
    )


def _mail(asked: Wishes) -> Examples:
    from rosenblatt.data.mail import MailExamples

    if STANDARD_INPUT in asked.paths:
        standard_input().keep()  # mail is read twice: for its dates, then in their order
    return MailExamples(
        asked.paths,
        path=asked.path,
        format=asked.format,
        target=asked.target,
        schema=_named(asked),
        grow=asked.grow,
        words=asked.words,
        bits=asked.hash_bits,
        batch_rows=asked.batch_rows,
        skip_bad=asked.skip_bad,
    )


def _arrow(asked: Wishes) -> Examples:
    from rosenblatt.data.arrow_batches import BatchFile, holds_batches

    if not all(holds_batches(one) for one in asked.paths):
        return _table(asked)
    _refuse_hashing(asked, "a file of converted examples")
    if len(asked.paths) > 1:
        raise BadInput(asked.path, None, "several files of converted batches: open one at a time")
    return BatchFile(asked.paths[0], asked.schema, asked.batch_rows, asked.skip_bad)


def _table(asked: Wishes) -> Examples:
    """Open named columns: as they arrive, or by the kind that all values of a column give it."""
    by_name = asked.at_once or bool(asked.hash_bits)
    if isinstance(asked.schema, NamedSchema) or (by_name and not isinstance(asked.schema, TableSchema)):
        return _open_table(asked)
    from rosenblatt.data.attributes import Wish

    wish = Wish(text=asked.text, words=asked.words, scale=asked.scale)
    if STANDARD_INPUT in asked.paths and asked.schema is None:
        standard_input().keep()  # a table is read twice: for the kinds of its columns, then for its rows
    if asked.format in SEPARATORS and len(asked.paths) == 1:
        from rosenblatt.data.table import open_table

        return open_table(
            asked.paths[0],
            target=asked.target,
            schema=asked.schema,
            separator=SEPARATORS[asked.format],
            batch_rows=asked.batch_rows,
            skip_bad=asked.skip_bad,
            named=asked.header,
            wish=wish,
            tight=asked.tight,
        )
    from rosenblatt.data.columns import ColumnExamples

    return ColumnExamples(
        _columns(asked),
        path=asked.path,
        format=asked.format,
        target=asked.target,
        schema=asked.schema,
        wish=wish,
        batch_rows=asked.batch_rows,
        skip_bad=asked.skip_bad,
    )


def _refuse_hashing(asked: Wishes, what: str) -> None:
    if asked.hash_bits:
        raise BadInput(
            asked.path, None, f"{what} numbers its features: there are no names to hash (--hash-bits)"
        )


def _open_table(asked: Wishes) -> Examples:
    from rosenblatt.data.open_table import OpenTableExamples

    if asked.scale:
        raise BadInput(asked.path, None, "columns cannot be scaled (--scale) before all of them are read")
    return OpenTableExamples(
        _columns(asked),
        path=asked.path,
        format=asked.format,
        target=asked.target,
        schema=_named(asked),
        grow=asked.grow,
        text=asked.text,
        words=asked.words,
        bits=asked.hash_bits,
        batch_rows=asked.batch_rows,
        skip_bad=asked.skip_bad,
    )


def _named(asked: Wishes) -> NamedSchema | None:
    if asked.schema is not None and not isinstance(asked.schema, NamedSchema):
        raise BadInput(
            asked.path, None, "has features by name, but the model was trained on another kind of file"
        )
    return asked.schema


def _columns(asked: Wishes) -> "list[ColumnSource]":
    from rosenblatt.data.column_sources import ArrowSource, DelimitedSource, ParquetSource

    if asked.format in SEPARATORS:
        separator = SEPARATORS[asked.format]
        tight = asked.tight or asked.at_once  # what arrives is not waited for
        return [DelimitedSource.open(path, separator, asked.header, tight) for path in asked.paths]
    source = ParquetSource if asked.format == "parquet" else ArrowSource
    return [source(path) for path in asked.paths]


SEPARATORS = {"csv": None, "tsv": "\t"}  # None: found from the first lines
OPENERS: dict[str, Callable[[Wishes], Examples]] = {
    "libsvm": _libsvm,
    "vw": _vw,
    "csv": _table,
    "tsv": _table,
    "jsonl": _json_lines,
    "parquet": _table,
    "arrow": _arrow,
    "mbox": _mail,
    "maildir": _mail,
    "folders": _mail,
}
