"""JSON lines: one object a line, its fields the features, one of them the target.

A number is a feature of its own name; a string becomes ``name=value``, or words (``name:word``) where the field is
prose; true is 1; an object inside adds ``name.`` before its fields, a list ``name=item`` or, of numbers, ``name[i]``.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from rosenblatt.data.batch import Batch
from rosenblatt.data.errors import BadInput, BadLine, shown
from rosenblatt.data.labels import EXACT, invalid_text_reason
from rosenblatt.data.named.examples import NamedExamples
from rosenblatt.data.named.vocabulary import (
    NamedSchema,
    Record,
    batch_of,
    in_batches,
    kind_of_label,
)
from rosenblatt.data.schema import LabelKind
from rosenblatt.data.source import STANDARD_INPUT, standard_input
from rosenblatt.data.textblocks import Block, blocks_of_lines, first_text_line
from rosenblatt.data.words import Words, looks_like_text

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

ROWS_AT_ONCE = 8192
HEAD_BYTES = 1 << 16  # which fields are prose is seen from these
USUAL_TARGETS = ("label", "target", "class", "y")
DEEPEST = 20
TOKEN = re.compile(
    rb'("(?:[^"\\]|\\.)*+")(\s*+:)?|-?[A-Za-z]+|[{}\[\]]'
)  # a string, and whether it is a name


def flattened(
    record: Mapping[str, Any], text: Sequence[str] = (), words: Words | None = None
) -> dict[str, float]:
    """Return the named numbers of an object; ValueError where a value cannot be one.

    >>> flattened({"wind": 3, "sky": "grey", "tags": ["a", "b"], "at": {"x": 0.5}, "wet": True, "none": None})
    {'wind': 3.0, 'sky=grey': 1.0, 'tags=a': 1.0, 'tags=b': 1.0, 'at.x': 0.5, 'wet': 1.0}
    """
    features: dict[str, float] = {}
    for key, value in record.items():
        try:
            _flatten(key, value, features, text, words or Words(), 0, None)
        except BadValue as error:
            error.field = key
            raise
    if invalid_text_reason("".join(features)) is not None:
        _refuse_name(record, text, words or Words())
    return features


def _refuse_name(record: Mapping[str, Any], text: Sequence[str], words: Words) -> NoReturn:
    """Raise :class:`BadValue` for the first field that makes a name with a NUL or half a surrogate pair."""
    for key, value in record.items():
        features: dict[str, float] = {}
        _flatten(key, value, features, text, words, 0, None)
        for name in features:
            reason = invalid_text_reason(name)
            if reason is not None:
                raise BadValue(f"the feature {shown(name)} {reason}", key)
    raise AssertionError("a name was refused that no field makes")


def _flatten(
    key: str,
    value: Any,
    into: dict[str, float],
    text: Sequence[str],
    words: Words,
    depth: int,
    repeatable: set[str] | None,
) -> None:
    """Add the named numbers of a value to ``into``; ``repeatable`` are the names made by the strings of one list."""
    if value is None or value is False:
        return
    if value is True:
        _add(key, 1.0, into)
    elif isinstance(value, int | float):
        _add(key, _finite(key, value), into)
    elif isinstance(value, str):
        counts: dict[str, float] = {}
        if key in text:
            for word in words.cut(value):
                name = f"{key}:{word}"
                counts[name] = 1.0 if words.binary else counts.get(name, 0.0) + 1.0
        else:
            counts[f"{key}={value}"] = 1.0
        for name, count in counts.items():
            if repeatable is not None and name in repeatable:
                if key in text and not words.binary:
                    into[name] += count
                continue
            _add(name, count, into)
        if repeatable is not None:
            repeatable.update(counts)
    elif depth >= DEEPEST:
        raise BadValue(f"{key!r} is nested more than {DEEPEST} deep")
    elif isinstance(value, Mapping):
        for inner, inner_value in value.items():
            _flatten(f"{key}.{inner}", inner_value, into, text, words, depth + 1, None)
    elif isinstance(value, list | tuple):
        names_of_strings: set[str] = set()
        for at, item in enumerate(value):
            if isinstance(item, str):
                _flatten(key, item, into, text, words, depth + 1, names_of_strings)
            else:
                _flatten(f"{key}[{at}]", item, into, text, words, depth + 1, None)
    else:
        raise BadValue(f"{key!r} is {shown(str(value))}, neither a number nor text")


def _add(name: str, value: float, into: dict[str, float]) -> None:
    """Set a feature; refuse a name that another field of the object has made already."""
    if name in into:
        raise BadValue(f"the feature {shown(name)} comes from two fields: rename one of them")
    into[name] = value


def _finite(key: str, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise BadValue(f"{key!r} is a number too large for a float64", key) from None
    if not isfinite(number):
        raise BadValue(f"{key!r} is {value}, not a finite number", key)
    return number


class JsonExamples(NamedExamples):
    """Examples from JSON lines, with an open vocabulary unless a schema fixes it."""

    format = "jsonl"

    def __init__(self, opening: "Opening", schema: NamedSchema | None) -> None:
        options, target = opening.options, opening.options.target
        head = _head(opening.paths[0])
        required = (
            schema is None and target is not None
        )  # every line must have it, whatever the first ones have
        grow = options.grow or schema is None
        if schema is None:
            target = target or _usual_target(opening.paths[0], head)
            text = options.text or _prose(head, target)
            words = options.weighted_words(any_text=bool(text))
            schema = NamedSchema((), options.hash_bits, target, _label_kind(head, target), text, words)
        elif target is not None:
            schema = replace(schema, target=target)
        super().__init__(opening, schema, grow)
        if STANDARD_INPUT in self._paths and self._weighs and not (self._in_turn or self._fitted):
            standard_input().spool()  # read twice: for the document counts, then for the rows
        self._labelled = options.labels and (required or any(schema.target in record for record in head))
        self._set_texts(schema.text)
        self._written_as: dict[str, type] = {}  # of text labels: string, or a number or truth value
        self._large_label: float | None = None  # an integer label that no float64 holds
        self._fraction: float | None = None  # a label that is no integer

    def _set_texts(self, fields: Sequence[str]) -> None:
        """Set the fields whose words are counted many at a time."""
        self._scanned_fields = [field for field in fields if invalid_text_reason(field) is None]
        self._prefixes = tuple(f"{field}:" for field in self._scanned_fields)

    def _counted_blocks(self) -> Iterator[Batch]:
        self._written_as = {}
        self._large_label = self._fraction = None
        kind = self._settings.labels if self._labelled else None
        for path in self._paths:
            for block in blocks_of_lines(path):  # what has arrived waits for no more
                for records in in_batches(self._records(path, block), self.batch_rows or ROWS_AT_ONCE):
                    batch, unknown = batch_of(
                        records, self._vocabulary, kind, self._settings.words, self._prefixes
                    )
                    if unknown:
                        self.unseen_in["features the model does not know"] += unknown
                    yield batch._replace(files=((0, path),))

    def _records(self, path: str, block: Block) -> Iterator[Record]:
        for offset, line in enumerate(block.text.split(b"\n")):
            if not line.strip():
                continue
            number = block.first_line + offset
            try:
                yield self._record(number, line)
            except BadValue as error:
                self._skip_lines([BadLine(path, number, str(error), error.column(line))])
            except json.JSONDecodeError as error:
                reason = f"not JSON: {error.msg}"
                column = len(error.doc[: error.pos].encode()) + 1  # in bytes, as everywhere
                self._skip_lines([BadLine(path, number, reason, column)])
            except UnicodeDecodeError as error:
                reason = "not UTF-8 text: convert the file to UTF-8"
                self._skip_lines([BadLine(path, number, reason, error.start + 1)])
            except RecursionError:
                self._skip_lines([BadLine(path, number, "not JSON: nested too deep", 1)])

    def _record(self, number: int, line: bytes) -> Record:
        record = parsed(line)
        label: Any = None
        if self._labelled:
            label = _label(record, self._settings.target, self._settings.labels)
        value = record.pop(self._settings.target or "", None)
        features, texts = self._features(record)
        if self._settings.bits and not isfinite(sum(map(abs, features.values()))):
            raise BadValue(
                "the values of this line add up beyond a float64, and those that share a hash are added: "
                "write smaller ones, or keep the names (no --hash-bits)"
            )
        if self._labelled and self._settings.labels == "text":
            self._check_spelling(label, value)  # last: a bad line settles nothing
        elif self._labelled and self._settings.labels == "integer":
            self._check_exact(label)
        return Record(number, label, features, texts)

    def _features(self, record: dict[str, Any]) -> tuple[dict[str, float], tuple[str, ...]]:
        """Return the named numbers of a record, and the texts whose words are counted many at a time.

        Where another field makes names like those of words, all of them are made here, so that names that come from two
        fields are refused.
        """
        if self._prefixes:
            texts = tuple(_text(record, field) for field in self._scanned_fields)
            if any(texts):
                fields = {key for key, text in zip(self._scanned_fields, texts, strict=True) if text}
                others = {key: value for key, value in record.items() if key not in fields}
                features = flattened(others, self._settings.text, self._settings.words)
                if not any(name.startswith(self._prefixes) for name in features):
                    return features, texts
        features = flattened(record, self._settings.text, self._settings.words)
        return features, ("",) * len(self._prefixes)

    def _check_exact(self, label: float) -> None:
        """Refuse integers beyond 2^53 and fractions in one file: a float64 would merge neighbouring integers."""
        fraction = isinstance(label, float)
        if not fraction and abs(label) < EXACT:
            return
        other = self._large_label if fraction else self._fraction
        if other is not None:
            large, part = (other, label) if fraction else (label, other)
            raise BadValue(
                f"the labels {self._settings.target!r} are both {large}, which a float64 does not hold, and {part}: "
                "write all labels as text",
                self._settings.target,
            )
        if fraction:
            self._fraction = label
        else:
            self._large_label = label

    def _check_spelling(self, label: str, value: Any) -> None:
        """Refuse ``1`` and ``"1"`` in one file: as text they would be one label."""
        if self._written_as.setdefault(label, type(value)) is not type(value):
            raise BadValue(
                f"the label {self._settings.target!r} is {json.dumps(value)} here and "
                f"{label if isinstance(value, str) else json.dumps(label)} on a line before: write it one way",
                self._settings.target,
            )


def parsed(line: bytes) -> dict[str, Any]:
    """Return the object on a line; anything else is :class:`BadValue` or a decoding error."""
    try:
        record = json.loads(line.decode(), parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
    except (BadValue, json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        most = sys.get_int_max_str_digits()
        raise TooManyDigits(f"an integer of more than {most:,} digits: write it as text") from None
    if not isinstance(record, dict):
        raise BadValue(f"{shown(str(record))} is not an object: write {{...}} on every line")
    return record


def _no_constant(text: str) -> Any:
    raise BadValue(f"{text} is not a finite number", word=text)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise GivenTwice(f"the field {key!r} is given twice: keep one", key)
        record[key] = value
    return record


def _text(record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    return value if isinstance(value, str) else ""


def _label(record: dict[str, Any], target: str | None, kind: LabelKind) -> Any:
    value = record.get(target) if target is not None else None
    if value is None or value == "":
        raise BadValue(f"no label: the field {target!r} is not there or empty", target)
    if isinstance(value, list | dict):
        raise BadValue(f"the label {target!r} is {shown(str(value))}: expected a number or text", target)
    if kind == "text":
        label = value if isinstance(value, str) else json.dumps(value)
        reason = invalid_text_reason(label)
        if reason is not None:
            raise BadValue(f"the label {target!r} is {shown(label)}, which {reason}", target)
        return label
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValue(f"the label {target!r} is {shown(str(value))}, but labels were numbers so far", target)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise BadValue(
                f"the label {target!r} is an integer of more than 64 bits: write it as text", target
            )
        return value
    number = _finite(str(target), value)
    if abs(number) >= EXACT:
        if (
            kind == "number"
        ):  # a target of regression; as classes such labels are refused where they are learned
            return number
        raise BadValue(
            f"the label {target!r} is {number!r}, beyond 2^53, where float64 merges neighbours: "
            "write it as an integer, or as text",
            target,
        )
    return int(number) if number.is_integer() else number


def _head(path: str) -> list[dict[str, Any]]:
    """Return the good records among the first lines."""
    first_text_line(path)
    found = []
    for line in next(blocks_of_lines(path, HEAD_BYTES)).text.split(b"\n"):
        if line.strip():
            try:
                found.append(parsed(line))
            except (BadValue, ValueError, RecursionError):
                continue
            if path == STANDARD_INPUT:  # how much has arrived must not matter
                break
    return found


def _usual_target(path: str, head: list[dict[str, Any]]) -> str:
    if not head:
        raise BadInput(path, 1, "no JSON object in the first lines: expected one on every line")
    named = [name for name in USUAL_TARGETS if name in head[0]]
    if not named:
        fields = ", ".join(map(repr, list(head[0])[:10]))
        raise BadInput(path, 1, f"which field is the target? Name it (--target); there are {fields}")
    return named[0]


def _label_kind(head: list[dict[str, Any]], target: str | None) -> LabelKind:
    labels = [record[target] for record in head if target is not None and record.get(target) is not None]
    return kind_of_label(labels[0]) if labels else "text"


def _prose(head: list[dict[str, Any]], target: str | None) -> tuple[str, ...]:
    """Return the fields whose values read like prose."""
    fields = {key for record in head for key in record if key != target}
    found = []
    for key in sorted(fields):
        values = [record[key] for record in head if isinstance(record.get(key), str)]
        if looks_like_text(values):
            found.append(key)
    return tuple(found)


class BadValue(ValueError):
    """A value that cannot be a feature or a label; its text says why."""

    def __init__(self, reason: str, field: str | None = None, word: str | None = None) -> None:
        super().__init__(reason)
        self.field = field  # of the line's object that it is, or is in
        self.word = word  # that stands for it in the line, where that is no number and no string

    def column(self, line: bytes) -> int:
        r"""Return where the field, or else the word, stands: 1-based, in bytes; else where the line's value begins.

        >>> BadValue("too large", "b").column(b'{"a": {"b": 1}, "b": 1e999}')
        17
        >>> BadValue("not finite", word="NaN").column(b' {"a": "NaN", "b": NaN}'), BadValue("no label").column(b" {}")
        (20, 2)
        """
        found = [*self._places(line), len(line) - len(line.lstrip())]
        return found[0] + 1

    def _places(self, line: bytes) -> Iterator[int]:
        depth = 0
        for token in TOKEN.finditer(line):
            text = token.group()
            if text in b"{[":
                depth += 1
            elif text in b"}]":
                depth -= 1
            elif token[1] is not None:
                if depth == 1 and token[2] is not None and _spelled(token[1]) == self.field:
                    yield token.start()
            elif self.word is not None and text == self.word.encode():
                yield token.start()


class TooManyDigits(BadValue):
    """An integer with more digits than Python converts."""

    def _places(self, line: bytes) -> Iterator[int]:
        for token in re.finditer(rb'"(?:[^"\\]|\\.)*+"|(-?\d{%d,})' % sys.get_int_max_str_digits(), line):
            if token[1] is not None:
                yield token.start()


class GivenTwice(BadValue):
    """A field that an object has twice, however deep."""

    def _places(self, line: bytes) -> Iterator[int]:
        names = [token for token in TOKEN.finditer(line) if token[2] is not None]
        yield from reversed([name.start() for name in names if _spelled(name[1]) == self.field])


def _spelled(text: bytes) -> str | None:
    try:
        return str(json.loads(text))
    except ValueError:
        return None
