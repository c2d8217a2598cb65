"""The header of delimited text: encoding, separator, names of the columns, and the first line of data.

Every column votes on whether the first line holds names or data. A first value that occurs again below it, or a number
with a fraction above numbers, is a vote for data; a value that never occurs again in a column of repeated values, one
for names; a word above nothing but numbers decides for names. Without votes the line holds names, and numbers among
them are an error.
"""

import codecs
import collections
import csv
import re
from math import isfinite
from typing import NamedTuple

from rosenblatt.data.errors import BadInput, shown
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.scanners.numbers import MISSING, SCANNED_MISSING
from rosenblatt.data.schema import Headerless, TableSchema
from rosenblatt.data.source import STANDARD_INPUT, opened, standard_input
from rosenblatt.data.tables.values import are_codes, number, points_may_group
from rosenblatt.data.textblocks import blocks_of_lines
from rosenblatt.data.words import looks_like_text

MOST_COLUMNS = 1 << 20
SEPARATORS = ",\t;|"
HEAD_BYTES = 1 << 16
SAMPLED_LINES = 500
FEW_LINES = 3  # fewer say nothing about the line above them
FIRST_LINES_OF_A_PIPE = 2  # a header and a row
MOST_LINES_OF_A_PIPE = 20  # to wait for if fewer do not distinguish names from data
UTF8 = "utf-8"
YEAR = re.compile("(?:19|20)[0-9]{2}")
SEPARATOR_LINE = re.compile(rb'"?sep=([,;|\t])"?\r?', re.IGNORECASE)
INDEX_NAMES = ("", "Unnamed: 0")  # of the first column, as pandas writes its index


class Header(NamedTuple):
    """Names of the columns of a table, and the format of its text."""

    line: int  # of the names, or the line before the data without names
    names: list[str]
    separator: str
    named: bool = True  # the file has names
    target: str | None = None  # default target
    prose: tuple[str, ...] = ()  # columns whose first lines look like prose
    small_blocks: bool = False  # some columns are text, and memory is short
    numbers: bool = False  # the first lines are all plain numbers
    encoding: str = UTF8
    comment: str | None = None
    index_column: str | None = None  # a column of row numbers, as written by pandas
    text: bytes = b""  # the line of names, in UTF-8
    notes: tuple[str, ...] = ()  # decisions, each a sentence


class FirstLines(NamedTuple):
    """The first lines of a table, split into values."""

    line: int  # of the first
    separator: str
    first: list[str]
    below: list[list[str]]  # lines with as many values as the first
    encoding: str
    notes: tuple[str, ...]
    text: str = ""  # the first line

    def column(self, place: int) -> list[str]:
        """Return the values below the first in a column, without missing ones."""
        values = [row[place] for row in self.below]
        return values if MISSING.isdisjoint(values) else [value for value in values if value not in MISSING]


def read_header(
    path: str,
    separator: str | None = None,
    named: bool | None = None,
    schema: TableSchema | None = None,
    tight: bool = False,
    *,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    like: Header | None = None,
) -> Header:
    """Read the column names, or generate them if the first line is data.

    Parameters
    ----------
    separator : str, optional
        By default the likeliest of comma, tab, semicolon and bar.
    named : bool, optional
        Whether the first line has names; by default inferred from the first lines.
    schema : TableSchema, optional
        That of a model. A file then has the columns of its training data, with or without names.
    tight : bool
        Whether memory is short.
    options : ReadOptions
        Encoding, separator and comments; ``exact`` allows no repairs.
    like : Header, optional
        The header of another file of the same table; if that has no names, this file has none either.
    """
    known = schema.headerless if schema else None
    if known is None and like is not None and not like.named:
        known = Headerless(tuple(like.names), like.separator)
    separator = options.separator or separator or (known.separator if known else None)
    lines = first_lines(path, separator, options, wait=schema is None)
    check_width(path, lines.line, len(lines.first))
    if named is None and (schema is not None or known is not None):
        needed = set(known.names if known else ()) if schema is None else {c.name for c in schema.columns}
        named = known is None or needed <= set(lines.first)
    if named is None:
        named = not is_data(lines)
    if named:
        if schema is None and not (options.skip_bad or options.at_once or options.category or options.text):
            _check_second_line(path, lines)
        names, index, notes = _checked_names(path, lines, options)
        return _header(lines, lines.line, names, tight, options, index, notes)
    if known is not None:
        names = _names_by_place(path, lines, known, None if schema is None else schema.target)
    else:
        names = invented_names(lines)
    return _header(lines, lines.line - 1, names, tight, options)


def check_width(path: str, line: int | None, columns: int) -> None:
    """Raise BadInput for too many columns."""
    if columns > MOST_COLUMNS:
        reason = (
            f"{columns:,} columns, more than {MOST_COLUMNS:,}: write wide rows as LIBSVM text or JSON lines"
        )
        raise BadInput(path, line, reason)


def first_lines(
    path: str,
    separator: str | None = None,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    wait: bool = True,
) -> FirstLines:
    """Read the first lines; unless given, the separator is the one that splits them most evenly.

    From a pipe, wait for a header and a row, and for more if these do not distinguish names from data: how many depends
    on the lines, never on how they arrive.
    """
    if path != STANDARD_INPUT or standard_input().is_spooled:
        return _cut_lines(path, separator, options, SAMPLED_LINES, FEW_LINES if wait else 1)
    for at_most in range(FIRST_LINES_OF_A_PIPE, MOST_LINES_OF_A_PIPE + 1):
        if wait:
            standard_input().wait_for(at_most)
        lines = _cut_lines(path, separator, options, at_most)
        ended = 1 + len(lines.below) < at_most
        if not wait or options.header is not None or ended or _settled(lines):
            break
    return lines


def _cut_lines(
    path: str, separator: str | None, options: ReadOptions, at_most: int, widening: int = FEW_LINES
) -> FirstLines:
    """Read and split lines; ``widening`` is how many, all one value longer, add a name to the first."""
    notes: list[str] = []
    line, texts, encoding, named_separator = _head(path, options, notes, at_most)
    separator = options.separator or named_separator or separator
    if "\r" in texts[0]:
        reason = "carriage returns inside the line: end lines with a newline, as `tr '\\r' '\\n'` does"
        raise BadInput(path, line, reason)
    if "\0" in texts[0]:
        raise BadInput(path, line, "the header holds a NUL byte: is this a text file?")
    texts = [text.replace("\0", "") for text in texts]
    chosen = separator or _separator(texts)
    if separator is None and chosen != ",":
        notes.append(f"separated by {'tabs' if chosen == chr(9) else repr(chosen)}")
    rows = _cut(texts, chosen)
    if chosen != "\t":
        _check_quotes(path, line, texts[0], chosen)
    first = rows[0] if options.exact else _widened(rows[0], rows[1:], widening)
    below = [row for row in rows[1:] if len(row) == len(first) and row != first]
    wider = collections.Counter(len(row) for row in rows[1:] if len(row) > 1)
    if len(first) == 1 and wider and 2 * wider.most_common(1)[0][1] > len(rows):
        reason = f"1 value where most lines below have {wider.most_common(1)[0][0]}"
        way_out = "delete what stands above the names of the columns"
        if first[0].startswith(("#", "%", "//")):
            way_out = f"a comment? --comment '{first[0][0]}' passes over such lines"
        raise BadInput(path, line, f"{reason}: {way_out}")
    filled = [value for value in first if value]
    alone = len(first) > 2 and len(filled) == 1 and number(filled[0]) is None
    if alone and any(all(row) for row in below[:FEW_LINES]):
        reason = f"{shown(filled[0])} stands alone above {len(first)} columns"
        raise BadInput(path, line, f"{reason}: delete what stands above the names of the columns")
    return FirstLines(line, chosen, first, below, encoding, tuple(notes), texts[0])


def _widened(first: list[str], below: list[list[str]], least: int = FEW_LINES) -> list[str]:
    """Return names for lines that all have one value more: R names no column of row names, others end lines twice.

    >>> _widened(["a", "y"], [["1", "7", "no"], ["2", "8", "no"], ["3", "9", "no"]])
    ['', 'a', 'y']
    >>> _widened(["a", "y"], [["7", "no", ""], ["8", "no", ""], ["9", "no", ""]])
    ['a', 'y', '']
    """
    if len(below) < least or any(len(row) != len(first) + 1 for row in below):
        return first
    if not any(row[-1] for row in below):
        return [*first, ""]
    return ["", *first] if len({row[0] for row in below}) == len(below) else first


def _check_second_line(path: str, lines: FirstLines) -> None:
    """Raise BadInput where the line below the names has words above nothing but numbers, in two columns or more."""
    if len(lines.below) <= FEW_LINES:
        return
    words = [
        value
        for value, *rest in zip(*lines.below, strict=True)
        if value not in MISSING
        and number(value) is None
        and all(other in MISSING or number(other) is not None for other in rest)
        and any(other not in MISSING for other in rest)
    ]
    if len(words) > 1:
        reason = (
            f"the line below holds {shown(words[0])} above nothing but numbers, as if it held names or units"
        )
        way_out = "delete one of the two lines, or skip the one below with skip_bad (--skip-bad)"
        raise BadInput(path, lines.line, f"{reason}: {way_out}")


def _check_quotes(path: str, line: int, text: str, separator: str) -> None:
    try:
        next(csv.reader([text], delimiter=separator, strict=True))
    except csv.Error as error:
        raise BadInput(path, line, f"the header cannot be read: {error}") from None


def _head(
    path: str, options: ReadOptions, notes: list[str], at_most: int
) -> tuple[int, list[str], str, str | None]:
    """Return the number of the first line of the table, the lines from it on, the encoding, and a separator or None.

    Excel writes the separator into a line ``sep=;`` before the names.
    """
    named_separator = None
    comment = None if options.comment is None else options.comment.encode()
    if path != STANDARD_INPUT:
        with opened(path) as (_, packing):
            if packing is not None and packing.startswith("UTF-16"):
                notes.append("UTF-16 text")
    for block in blocks_of_lines(path, HEAD_BYTES):
        raw = block.text.split(b"\n")
        for offset, text in enumerate(raw):
            if not text.strip() or (comment and text.startswith(comment)):
                continue
            if named_separator is None and (match := SEPARATOR_LINE.fullmatch(text)):
                named_separator = match[1].decode()
                continue
            line = block.first_line + offset
            own = [
                text
                for text in raw[offset : offset + at_most]
                if text.strip() and not (comment and text.startswith(comment))
            ]
            encoding = _encoding(path, line, text, b"\n".join(raw[:-1]), options, notes)
            return line, [_decoded(text, encoding).rstrip("\r") for text in own], encoding, named_separator
    raise BadInput(path, None, "the file is empty: it holds no examples")


def _decoded(text: bytes, encoding: str) -> str:
    return text.decode(encoding, errors="replace")


def _encoding(path: str, line: int, first: bytes, head: bytes, options: ReadOptions, notes: list[str]) -> str:
    """Return the encoding of the lines: that of the options, else UTF-8 if the first block is, else that of Windows."""
    if options.encoding is not None:
        name = codecs.lookup(options.encoding).name
        if name.startswith("utf-16"):
            return UTF8  # it has a byte order mark, and is converted while reading
        if "a,1".encode(name) != b"a,1":
            raise BadInput(path, None, f"the encoding {name} is no superset of ASCII: convert it to UTF-8")
        return name
    try:
        head.decode()
    except UnicodeDecodeError:
        pass
    else:
        return UTF8
    if options.exact or b"\0" in head:
        try:
            first.decode()
        except UnicodeDecodeError:
            reason = "the header is not UTF-8 text: convert the file, or name its encoding (--encoding)"
            raise BadInput(path, line, reason) from None
        return UTF8
    if _some_utf8(head):
        return UTF8  # a bad line among good ones
    encoding = "latin-1"
    try:
        head.decode("cp1252")
        encoding = "cp1252"
    except UnicodeDecodeError:
        pass
    notes.append(f"not UTF-8: read as {encoding}; --encoding names another")
    return encoding


def _some_utf8(head: bytes) -> bool:
    """Whether any line that is not ASCII is UTF-8."""
    for line in head.split(b"\n"):
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError:
                continue
            return True
    return False


def is_data(lines: FirstLines) -> bool:
    """Whether the first line is data like the lines below it."""
    numeric = [value for value in lines.first if number(value) is not None]
    votes = int(len(set(numeric)) < len(numeric))  # a number occurs twice
    counted = _counted(lines.first)  # 0, 1, 2, ... may be names: no vote
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


def _settled(lines: FirstLines) -> bool:
    """Whether the lines distinguish names from data: a word above a number, or a first line that is data."""
    columns = ((value, lines.column(place)) for place, value in enumerate(lines.first))
    named = any(below and number(value) is None and number(below[0]) is not None for value, below in columns)
    return named or is_data(lines)


def number_among_names(names: list[str]) -> str | None:
    """Return a number among the names, or None; integers that count up from 0 or 1 are valid names."""
    numeric = [name for name in names if isfinite(number(name) or 0.0) and number(name) is not None]
    return numeric[0] if numeric and not _counted(names) else None


def invented_names(lines: FirstLines) -> list[str]:
    """Generate names for a file without them: ``label`` and ``text``, or ``x1``, ``x2`` and so on."""
    text = text_columns(lines)
    if len(lines.first) == 2 and len(text) == 1:
        return ["text", "label"] if text == [0] else ["label", "text"]
    return [f"x{place}" for place in range(1, len(lines.first) + 1)]


def usual_target(lines: FirstLines, text: list[int]) -> int:
    """Return the index of the target: the last column, or the first if the last is text and the first is not.

    Trailing columns without name and values are ignored.
    """
    last = len(lines.first) - 1
    while last and not lines.first[last] and lines.below and not lines.column(last):
        last -= 1
    return 0 if last in text and 0 not in text else last


def text_columns(lines: FirstLines) -> list[int]:
    """Return the indices of the columns whose values look like prose."""
    return [place for place in range(len(lines.first)) if looks_like_text(lines.column(place))]


def _header(
    lines: FirstLines,
    line: int,
    names: list[str],
    tight: bool,
    options: ReadOptions,
    index: str | None = None,
    notes: tuple[str, ...] = (),
) -> Header:
    text = text_columns(lines)
    target, prose = names[usual_target(lines, text)], tuple(names[place] for place in text)
    columns = [[row[place] for row in lines.below] for place in range(len(names))]
    numbers = all(map(_are_numbers, columns)) and not any(map(are_codes, columns)) and options.decimal != ","
    numbers = numbers and not options.date
    if lines.separator == ";" and any(map(points_may_group, columns)):  # perhaps thousands: the text decides
        numbers = False
    return Header(
        line,
        names,
        lines.separator,
        line == lines.line,
        target,
        prose,
        tight and not numbers,
        numbers,
        lines.encoding,
        options.comment,
        index,
        lines.text.encode() if line == lines.line else b"",
        (*lines.notes, *notes),
    )


def _are_numbers(values: list[str]) -> bool:
    """Whether all values are plain numbers or missing."""
    present = values
    if not SCANNED_MISSING.isdisjoint(values):
        present = [value for value in values if value not in SCANNED_MISSING]
    try:
        collections.deque(map(float, present), maxlen=0)
    except ValueError:
        return False
    return "_" not in "".join(present)


def _names_by_place(path: str, lines: FirstLines, known: Headerless, target: str | None) -> list[str]:
    """Return the names in training for a file without names; the target may be missing."""
    names = list(known.names)
    without = [name for name in names if name != target]
    if len(lines.first) not in (len(names), len(without)):
        raise BadInput(
            path,
            lines.line,
            f"{len(lines.first)} values where the model was trained on {len(names)}, the target {target!r} among them",
        )
    return names if len(lines.first) == len(names) else without


def _checked_names(
    path: str, lines: FirstLines, options: ReadOptions
) -> tuple[list[str], str | None, tuple[str, ...]]:
    """Return distinct names, with missing and repeated ones replaced, the index column, and notes about them."""
    names, notes, index, exact = list(lines.first), [], None, options.exact
    value = number_among_names(names)
    if value is not None and (exact or not (options.header or _are_years(lines))):
        way_out = "" if exact else "header=True (--header) if it holds names all the same, "
        raise BadInput(
            path,
            lines.line,
            f"the first line holds {shown(value)}, not names: add a line with the column names, or say "
            f"{way_out}header=False (--no-header) if it is data",
        )
    if exact and "" in names:
        raise BadInput(path, lines.line, f"column {names.index('') + 1} has no name: name it, or drop it")
    repeated = [name for name, count in collections.Counter(names).items() if count > 1 and name]
    if exact and repeated:
        raise BadInput(path, lines.line, f"two columns are called {repeated[0]!r}: rename one")
    if names[0] in INDEX_NAMES and len(names) > 1 and not exact:
        index = names[0] = distinct_name(names[0] or "index", names[1:])
        notes.append(f"the first column has no name: an index, left out (--numeric {index} keeps it)")
    for place, name in enumerate(names):
        if not name:
            names[place] = distinct_name(f"column {place + 1}", names)
            notes.append(f"column {place + 1} has no name: called {names[place]!r}")
        elif name in names[:place]:
            names[place] = distinct_name(name, names)
            notes.append(f"two columns are called {name!r}: the later one is {names[place]!r} here")
    return names, index, tuple(notes)


def distinct_name(name: str, others: list[str]) -> str:
    """Return a name that no other column has.

    >>> distinct_name("a", ["a", "b"])
    'a.1'
    """
    candidate, count = name, 0
    while candidate in others:
        count += 1
        candidate = f"{name}.{count}"
    return candidate


def _counted(names: list[str]) -> bool:
    numeric = [name for name in names if number(name) is not None and isfinite(number(name) or 0.0)]
    return bool(numeric) and numeric in [
        [str(start + place) for place in range(len(numeric))] for start in (0, 1)
    ]


def _are_years(lines: FirstLines) -> bool:
    """Whether the numbers in the first line are consecutive years beside words, above other numbers than years."""
    places = [place for place, name in enumerate(lines.first) if number(name) is not None]
    names = [lines.first[place] for place in places]
    if not 2 <= len(places) < len(lines.first) or not all(map(YEAR.fullmatch, names)):
        return False
    years = [int(name) for name in names]
    step = years[1] - years[0]
    consecutive = abs(step) == 1 and years == list(range(years[0], years[-1] + step, step))
    below = [lines.column(place) for place in places]
    return consecutive and not any(values and all(map(YEAR.fullmatch, values)) for values in below)


def _cut(lines: list[str], separator: str) -> list[list[str]]:
    """Split lines into values; except in tab-separated text, a quoted value may contain line ends."""
    if separator == "\t":
        return [
            [value.strip().removeprefix('"').removesuffix('"') for value in line.split("\t")]
            for line in lines
        ]
    rows: list[list[str]] = []
    reader = csv.reader((line + "\n" for line in lines), delimiter=separator)
    while True:
        try:
            row = next(reader, None)
        except csv.Error:
            continue
        if row is None:
            return rows
        rows.append([value.strip() for value in row])


def _separator(lines: list[str]) -> str:
    """Return the separator that splits most lines into as many values as the first; in a tie, the most frequent."""

    def evenness(separator: str) -> tuple[float, int]:
        rows = _cut(lines[:51], separator)
        width = len(rows[0]) if rows else 1
        even = sum(len(row) == width for row in rows) / max(len(rows), 1)
        return (even if width > 1 else 0.0), lines[0].count(separator)

    return max(SEPARATORS, key=evenness)
