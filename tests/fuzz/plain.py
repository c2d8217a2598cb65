"""Plain readers, slow and short: what a text format means, one line at a time. The oracles of every scanner.

Each takes a line (bytes, without its end) and returns what it says, None where it says nothing, or raises ValueError
where it must be refused.
"""

import csv
import io
import json
import re
from math import isfinite

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
PAIR = re.compile(rb"(\d+):(\S+)")
NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
SPACE = rb"[ \t\r\x0b\x0c]"


def finite(token):
    if NUMBER.fullmatch(token) is None or not isfinite(float(token)):
        raise ValueError(token)
    return float(token)


def libsvm_line(line, zero_based=False, most=2**31):
    """Return (label, indices, values); indices are below ``most``."""
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    label, pairs = finite(tokens[0]), tokens[1:]
    if pairs and re.fullmatch(rb"qid:\d+", pairs[0]):
        pairs = pairs[1:]
    indices, values = [], []
    for pair in pairs:
        match = PAIR.fullmatch(pair)
        if match is None:
            raise ValueError(pair)
        index = int(match[1]) - (not zero_based)
        if not (indices[-1] if indices else -1) < index < most:
            raise ValueError(pair)
        indices.append(index)
        values.append(finite(match[2]))
    return label, indices, values


def vw_line(line):
    """Return (label or None, importance, tag, [(name, value)]); a label that is no number is bytes."""
    if not re.sub(SPACE, b"", line):
        return None
    head, bar, rest = line.partition(b"|")
    if not bar:
        raise ValueError("no bar")
    tokens = [token for token in re.split(SPACE + b"+", head) if token]
    touches = bool(tokens) and re.search(SPACE + rb"\Z", head) is None
    tag = b""
    if tokens and (touches or tokens[-1].startswith(b"'")):
        tag = tokens.pop().removeprefix(b"'")
    if len(tokens) > 3 or any(token.startswith(b"'") for token in tokens):
        raise ValueError(head)
    label = None
    if tokens and NUMBER.fullmatch(tokens[0]) is None:
        label = tokens[0]
        if b":" in label or b"," in label or NOT_FINITE.fullmatch(label):
            raise ValueError(label)
    numbers = [finite(token) for token in (tokens if label is None else [b"0", *tokens[1:]])]
    if len(numbers) > 2 and numbers[2] != 0:
        raise ValueError("base")
    importance = numbers[1] if len(numbers) > 1 else 1.0
    if importance < 0:
        raise ValueError("importance")
    features = [feature for part in rest.split(b"|") for feature in _namespace(part)]
    return (numbers[0] if numbers and label is None else label), importance, tag, features


def _namespace(part):
    space = re.match(rb"[^ \t\r\x0b\x0c:]*", part)[0]
    tail, scale = part[len(space) :], 1.0
    if tail.startswith(b":"):
        number = re.match(rb":([^ \t\r\x0b\x0c]*)", tail)
        scale, tail = finite(number[1]), tail[number.end() :]
        if not space:
            raise ValueError("scale of nothing")
    anonymous = 0
    for token in re.split(SPACE + b"+", tail):
        if token:
            name, colon, value = token.partition(b":")
            if colon and re.match(rb"[+-]?\.?\d", value) is None:  # a text
                if not value or b":" in value or NOT_FINITE.fullmatch(value):
                    raise ValueError(token)
                name, number = token, 1.0
            else:
                number = (finite(value) if colon else 1.0) * scale
            if not name:
                name, anonymous = b"%d" % anonymous, anonymous + 1
            if not isfinite(number):
                raise ValueError(token)
            yield (space + b"^" if space else b"") + name, number


def csv_rows(text, separator, width):
    """Return what :func:`lines_of` does, and whether the last record never ends.

    A line whose quoted value goes on makes one record of all the lines up to where it closes.
    """
    lines, rows, bad, at, never = text.split(b"\n"), [], [], 0, False
    if not lines[-1]:
        lines.pop()
    while at < len(lines):
        end = at + 1
        if separator != "\t":
            while end <= len(lines) and not _closes(b"\n".join(lines[at:end]).decode("latin-1"), separator):
                end += 1
            never = end > len(lines)
        if never:
            break
        try:
            row = csv_record(b"\n".join(lines[at:end]), separator, width)
        except ValueError:
            bad.append(at)
        else:
            rows += [] if row is None else [(at, row)]
        at = end
    return rows, bad, never


def csv_record(line, separator, width):
    """Return the cells as text, spaces around them dropped."""
    line = line.removesuffix(b"\r")
    if not line:
        return None
    if b"\0" in line or re.search(rb"\r(?!\n)", line):
        raise ValueError("a control character")
    text = line.decode()
    if separator == "\t" and '"' in text and not _well_quoted(text):
        cells = text.split("\t")  # prose is full of quotes
    elif text.count('"') % 2 or not _closes(text, separator):
        raise ValueError("a quote does not close")
    else:
        (cells,) = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    if len(cells) != width:
        raise ValueError("ragged")
    return [cell.strip(" \t\n\r\v\f") for cell in cells]


def _closes(text, separator):
    """Whether every value that begins with a quote ends with one; two quotes inside it are one."""
    at = 0
    while at < len(text):
        if text[at] == '"':
            at = text.find('"', at + 1)
            while at >= 0 and text[at : at + 2] == '""':
                at = text.find('"', at + 2)
            if at < 0:
                return False
        at = text.find(separator, at) + 1
        if at == 0:
            return True
    return True


def _well_quoted(text):
    cell = r'("(?:[^"]|"")*"|[^"\t]*)'
    return re.fullmatch(rf"{cell}(\t{cell})*\r?", text) is not None


def number_cell(cell):
    """Return the number in a cell, or None: what Python's float reads, but for underscores."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def json_line(line, target, written_as):
    """Return (label, {name: value}); text that is no prose, no label of another kind than a number or text.

    ``written_as`` holds the type of every label so far: 1 and "1" are not one label.
    """
    if not line.strip():
        return None
    record = json.loads(line.decode(), parse_constant=_refuse, object_pairs_hook=_each_once)
    if not isinstance(record, dict):
        raise ValueError("no object")  # noqa: TRY004
    label = record.pop(target, None)
    if label is None or label == "" or isinstance(label, list | dict):
        raise ValueError("no label")
    features = {}
    for key, value in record.items():
        _json_value(key, value, features, 0)
    text = label if isinstance(label, str) else json.dumps(label)
    for name in [text, *features]:
        name.encode()  # half a surrogate pair is no character
        if "\0" in name:
            raise ValueError("NUL")
    if written_as.setdefault(text, type(label)) is not type(label):
        raise ValueError("a number and a string")
    return text, features


def _refuse(constant):
    raise ValueError(constant)


def _each_once(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a field is given twice")
    return dict(pairs)


def _json_value(name, value, features, depth):
    if isinstance(value, dict | list) and depth >= 20:
        raise ValueError("too deep")
    match value:
        case None | False:
            pass
        case True:
            _set(features, name, 1.0)
        case int() | float():
            try:
                number = float(value)
            except OverflowError as error:
                raise ValueError(value) from error
            if not isfinite(number):
                raise ValueError(value)
            _set(features, name, number)
        case str():
            _set(features, f"{name}={value}", 1.0)
        case dict():
            for key, inner in value.items():
                _json_value(f"{name}.{key}", inner, features, depth + 1)
        case list():
            texts = set()
            for at, item in enumerate(value):
                if not isinstance(item, str):
                    _json_value(f"{name}[{at}]", item, features, depth + 1)
                elif item not in texts:
                    _set(features, f"{name}={item}", 1.0)
                    texts.add(item)


def _set(features, name, value):
    if name in features:
        raise ValueError("two fields of one name")
    features[name] = value


def lines_of(text, read, errors=(ValueError, RecursionError)):
    """Return [(line, what it says)] of the good lines of a text, and the lines that must be refused, from 0."""
    rows, bad = [], []
    for offset, line in enumerate(text.split(b"\n")):
        try:
            row = read(line)
        except errors:
            bad.append(offset)
        else:
            if row is not None:
                rows.append((offset, row))
    return rows, bad
