"""Rows of a table as examples by a schema: through its columns, or straight from a block of plain numbers."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.attributes import Encoded, encode, not_a_number, scaled
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
    X, y = rows.numbers, rows.columns[schema.target] if labelled and schema.target is not None else None
    every = np.arange(rows.lines.size)
    bad: dict[int, tuple[str, str]] = {}
    if rows.any_missing:
        bad = _missing(rows, schema, y)
        every = np.delete(every, list(bad))
        X, y = X[every], None if y is None else y[every]
    y = as_written(y) if y is not None and schema.labels == "integer" else y
    told = [(row, reason) for row, (reason, _) in bad.items()]
    return Encoded(
        scaled(X, schema), y, every, told, Counter(), {row: name for row, (_, name) in bad.items()}
    )


def _missing(rows: Rows, schema: TableSchema, y: Any) -> dict[int, tuple[str, str]]:
    """Return what is wrong with rows of numbers where some are missing, and in which column."""
    assert rows.source is not None
    assert rows.numbers is not None
    block, header = rows.source
    texts = block.text.split(b"\n")
    names = [column.name for column in schema.columns]
    place_of = {name: place for place, name in enumerate(header.names)}
    wrong: NDArray[np.bool_] = np.isnan(rows.numbers)
    lost: NDArray[np.bool_] = np.asarray(wrong.any(axis=1))
    first_wrong = wrong.argmax(axis=1).tolist()
    bad = {}
    for row in np.flatnonzero(lost if y is None else lost | np.isnan(y)).tolist():
        name = names[first_wrong[row]] if lost[row] else str(schema.target)
        cells = texts[int(rows.lines[row]) - block.first_line].split(header.separator.encode())
        wrong_with = not_a_number(cells[place_of[name]].decode().strip())
        bad[row] = f"{'column' if lost[row] else 'the target'} {name!r} {wrong_with}", name
    return bad


def bad_rows(rows: Rows, found: Encoded) -> list[BadRow]:
    """Return what is wrong with the lines and the values of rows, in order."""
    told = [(row, reason, found.cells.get(row)) for row, reason in found.bad]
    return sorted(rows.bad + rows.bad_rows(told))
