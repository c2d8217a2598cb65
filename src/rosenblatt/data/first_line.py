"""The first line of a table: names of columns, or already data?

Every column is a witness. A first value that occurs again below it, or a number with a fraction above numbers,
speaks for data; a value that never occurs again in a column of repeated values, for a name; a word above nothing
but numbers settles it. Where nobody speaks it is a line of names, and numbers among the names are an error.
"""

import csv
from itertools import islice
from math import isfinite
from typing import NamedTuple

from rosenblatt.data.errors import BadInput
from rosenblatt.data.kinds import number
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.source import STANDARD_INPUT, standard_input
from rosenblatt.data.textblocks import blocks_of_lines, first_text_line
from rosenblatt.data.words import looks_like_text

SEPARATORS = ",\t;"
LOOKED_AT = 500  # lines
LOOKED_AT_IN_A_PIPE = 20  # lines that are waited for: how many more have arrived must not matter


class FirstLines(NamedTuple):
    """The beginning of a table, cut into values."""

    line: int  # of the first
    separator: str
    first: list[str]
    below: list[list[str]]  # lines of as many values as the first

    def column(self, place: int) -> list[str]:
        """Return the values below the first in one column, missing ones left out."""
        return [row[place] for row in self.below if row[place] not in MISSING]


def first_lines(path: str, separator: str | None = None, wait: bool = True) -> FirstLines:
    """Read the first lines; the separator is the one that cuts them most evenly unless it is given.

    Of a pipe enough are waited for, unless what they say is known already.
    """
    if path == STANDARD_INPUT and wait:
        standard_input().wait_for(LOOKED_AT_IN_A_PIPE)
    line, raw = first_text_line(path)
    try:
        text = raw.decode().rstrip("\r")
    except UnicodeDecodeError:
        raise BadInput(path, line, "the header is not UTF-8 text: convert the file to UTF-8") from None
    if "\0" in text:
        raise BadInput(path, line, "the header holds a NUL byte: is this a text file?")
    more = _lines_after(path, line)
    separator = separator or _separator(text, more)
    try:
        first = next(csv.reader([text], delimiter=separator, strict=separator != "\t"))
    except csv.Error as error:
        raise BadInput(path, line, f"the header cannot be read: {error}") from None
    below = [row for row in _cut(more, separator) if len(row) == len(first)]
    return FirstLines(line, separator, [value.strip() for value in first], below)


def is_data(lines: FirstLines) -> bool:
    """Whether the first line is data like those below it."""
    numbers = [value for value in lines.first if number(value) is not None]
    votes = int(len(set(numbers)) < len(numbers))  # two columns of one number
    counted = _counted(lines.first)  # 0, 1, 2, ... may be names: they say nothing
    for place, value in enumerate(lines.first):
        below = lines.column(place)
        if not below or value in MISSING:
            continue
        ours = number(value)
        if ours is None and all(number(other) is not None for other in below):
            return False
        if ours is not None and counted:
            continue
        if value in below:
            votes += 1
        elif ours is not None and isfinite(ours):
            votes += ours != round(ours)
        elif 2 * len(set(below)) <= len(below):
            votes -= 1
    return votes > 0


def number_among_names(names: list[str]) -> str | None:
    """Return a number among the names; whole numbers that count up from 0 or 1 are names."""
    found = [name for name in names if isfinite(number(name) or 0.0) and number(name) is not None]
    return found[0] if found and not _counted(names) else None


def invented_names(lines: FirstLines) -> list[str]:
    """Name the columns of a file that does not: ``label`` and ``text``, or ``x1``, ``x2`` and so on."""
    text = text_columns(lines)
    if len(lines.first) == 2 and len(text) == 1:
        return ["text", "label"] if text == [0] else ["label", "text"]
    return [f"x{place}" for place in range(1, len(lines.first) + 1)]


def usual_target(lines: FirstLines, text: list[int]) -> int:
    """Return the place of the target: the last column, or the first if the last is text and the first is not."""
    last = len(lines.first) - 1
    return 0 if last in text and 0 not in text else last


def text_columns(lines: FirstLines) -> list[int]:
    """Return the places of the columns whose values read like prose."""
    return [place for place in range(len(lines.first)) if looks_like_text(lines.column(place))]


def _counted(names: list[str]) -> bool:
    numbers = [name for name in names if number(name) is not None and isfinite(number(name) or 0.0)]
    return bool(numbers) and numbers in [
        [str(start + place) for place in range(len(numbers))] for start in (0, 1)
    ]


def _lines_after(path: str, line: int) -> list[str]:
    """Return text lines after the first, as many as one block holds; bad ones are looked at later."""
    most = LOOKED_AT_IN_A_PIPE - 1 if path == STANDARD_INPUT and not standard_input().is_kept else LOOKED_AT
    for block in blocks_of_lines(path, 1 << 16):
        if block.first_line + block.text.count(b"\n") > line:
            text = block.text.decode(errors="replace").replace("\0", "")
            rest = text.split("\n")[line - block.first_line + 1 :]
            return [found.rstrip("\r") for found in islice(rest, most) if found.strip()]
    return []


def _cut(lines: list[str], separator: str) -> list[list[str]]:
    if separator == "\t":
        return [[value.strip() for value in line.split("\t")] for line in lines]
    rows: list[list[str]] = []
    for line in lines:
        try:
            rows.extend([value.strip() for value in row] for row in csv.reader([line], delimiter=separator))
        except csv.Error:
            continue
    return rows


def _separator(first: str, more: list[str]) -> str:
    """Return the separator that cuts most lines into as many values as the first; of equals, the most frequent."""

    def evenness(separator: str) -> tuple[float, int]:
        rows = _cut([first, *more[:50]], separator)
        width = len(rows[0]) if rows else 1
        even = sum(len(row) == width for row in rows) / max(len(rows), 1)
        return (even if width > 1 else 0.0), first.count(separator)

    return max(SEPARATORS, key=evenness)
