"""Rows of a table as examples by a schema: through its columns, or straight from a block of plain numbers."""

from collections import Counter

import numpy as np

from rosenblatt.data.attributes import Encoded, encode, scaled
from rosenblatt.data.batch import as_written
from rosenblatt.data.delimited import BadRow, Rows
from rosenblatt.data.schema import TableSchema


def wanted_of(schema: TableSchema, target: str | None) -> tuple[list[str], int]:
    """Return the columns to read, and how many of them may be told as numbers, side by side; 0 where any is text."""
    names = [column.name for column in schema.columns]
    only_numbers = not schema.any_discrete and (target is None or schema.labels != "text")
    wanted = list(dict.fromkeys([*names, *([] if target is None else [target])]))
    return wanted, len(names) if only_numbers else 0


def encode_rows(rows: Rows, schema: TableSchema, labelled: bool) -> Encoded:
    """Encode rows as :func:`encode` does; a block of numbers is taken as it is."""
    if rows.numbers is None:
        return encode(rows.columns, schema, labelled)
    y = None
    if labelled and schema.target is not None:
        y = rows.columns[schema.target]
        y = as_written(y) if schema.labels == "integer" else y
    every = np.arange(rows.lines.size)
    return Encoded(scaled(rows.numbers, schema), y, every, [], Counter(), {})


def bad_rows(rows: Rows, found: Encoded) -> list[BadRow]:
    """Return what is wrong with the lines and the values of rows, in order."""
    told = [(row, reason, found.cells.get(row)) for row, reason in found.bad]
    return sorted(rows.bad + rows.bad_rows(told))
