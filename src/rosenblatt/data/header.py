"""The header of a table: how its columns are called, where its data begin, and what its first lines say of it."""

from collections import Counter
from typing import NamedTuple

from rosenblatt.data.errors import BadInput, shown
from rosenblatt.data.first_line import (
    FirstLines,
    first_lines,
    invented_names,
    is_data,
    number_among_names,
    text_columns,
    usual_target,
)
from rosenblatt.data.kinds import number
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.schema import Headerless, TableSchema

MOST_COLUMNS = 1 << 20


def check_width(path: str, line: int | None, columns: int) -> None:
    """Refuse more columns than any table has."""
    if columns > MOST_COLUMNS:
        told = (
            f"{columns:,} columns, more than {MOST_COLUMNS:,}: write wide rows as LIBSVM text or JSON lines"
        )
        raise BadInput(path, line, told)


class Header(NamedTuple):
    """How the columns of a table are called, and where its data begin."""

    line: int  # of the names; where there are none, the line before the data
    names: list[str]
    separator: str
    named: bool = True  # the file itself names its columns
    target: str | None = None  # which column is the target unless another is named
    prose: tuple[str, ...] = ()  # columns that read like prose by the first lines
    sparing: bool = False  # read it in small blocks: not all are numbers, and memory is short


def read_header(
    path: str,
    separator: str | None = None,
    named: bool | None = None,
    schema: TableSchema | None = None,
    tight: bool = False,
) -> Header:
    """Read the column names, or invent them where the first line is data.

    Parameters
    ----------
    separator : the likeliest of comma, tab and semicolon unless given
    named : whether the first line holds names; found from the first lines unless given
    schema : of a model; files are then laid out as in its training, and may bring names all the same
    tight : whether memory is short
    """
    known = schema.headerless if schema else None
    lines = first_lines(path, separator or (known.separator if known else None), wait=schema is None)
    check_width(path, lines.line, len(lines.first))
    if named is None and schema is not None:
        named = known is None or {column.name for column in schema.columns} <= set(lines.first)
    if named is None:
        named = not is_data(lines)
    if named:
        _check_names(path, lines.line, lines.first)
        return _header(lines, lines.line, lines.first, tight)
    if schema is not None and known is not None:
        names = _names_by_place(path, lines, known, schema.target)
    else:
        names = invented_names(lines)
    return _header(lines, lines.line - 1, names, tight)


def _header(lines: FirstLines, line: int, names: list[str], tight: bool) -> Header:
    text = text_columns(lines)
    target, prose = names[usual_target(lines, text)], tuple(names[place] for place in text)
    numbers = all(value in MISSING or number(value) is not None for row in lines.below for value in row)
    return Header(line, names, lines.separator, line == lines.line, target, prose, tight and not numbers)


def _names_by_place(path: str, lines: FirstLines, known: Headerless, target: str | None) -> list[str]:
    """Return the names of training for a file without names; the target may be absent."""
    names = list(known.names)
    without = [name for name in names if name != target]
    if len(lines.first) not in (len(names), len(without)):
        raise BadInput(
            path,
            lines.line,
            f"{len(lines.first)} values where the model was trained on {len(names)}, the target {target!r} among them",
        )
    return names if len(lines.first) == len(names) else without


def _check_names(path: str, line: int, names: list[str]) -> None:
    if "" in names:
        raise BadInput(path, line, f"column {names.index('') + 1} has no name: name it, or drop it")
    value = number_among_names(names)
    if value is not None:
        raise BadInput(
            path,
            line,
            f"the first line holds {shown(value)}, not names: add a line with the column names, "
            "or say header=False (--no-header) if it is data",
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise BadInput(path, line, f"two columns are called {repeated[0]!r}: rename one")
