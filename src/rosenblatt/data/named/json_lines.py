"""JSON lines: one object per line; one field is the target, the others are features.

A number is a feature with the name of its field; a string becomes ``name=value``, or words ``name:word`` if the field
is prose; true is 1. A nested object gives ``name.field``, a list ``name=item`` or, for numbers, ``name[i]``.
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
HEAD_BYTES = 1 << 16  # from which target and prose are inferred
DEFAULT_TARGETS = ("label", "target", "class", "y")
DEEPEST = 20
MANY_STRINGS = 20  # different strings of a field that are looked at for numbers and dates
# Group 1: a string; group 2: the colon after it, which makes it a name.
TOKEN = re.compile(rb'("(?:[^"\\]|\\.)*+")(\s*+:)?|-?[A-Za-z]+|[{}\[\]]')


def flattened(
    record: Mapping[str, Any], text: Sequence[str] = (), words: Words | None = None
) -> dict[str, float]:
    """Return the features of an object; raise :class:`BadValue` for a value that cannot be one.

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
        _raise_invalid_name(record, text, words or Words())
    return features


def _raise_invalid_name(record: Mapping[str, Any], text: Sequence[str], words: Words) -> NoReturn:
    """Raise :class:`BadValue` for the first field that gives an invalid feature name."""
    for key, value in record.items():
        features: dict[str, float] = {}
        _flatten(key, value, features, text, words, 0, None)
        for name in features:
            reason = invalid_text_reason(name)
            if reason is not None:
                raise BadValue(f"the feature {shown(name)} {reason}", key)
    raise AssertionError("no field gives an invalid name")


def _flatten(
    key: str,
    value: Any,
    into: dict[str, float],
    text: Sequence[str],
    words: Words,
    depth: int,
    repeatable: set[str] | None,
) -> None:
    """Add the features of a value to ``into``; ``repeatable`` are the names from strings of this list."""
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
        for k, item in enumerate(value):
            if isinstance(item, str):
                _flatten(key, item, into, text, words, depth + 1, names_of_strings)
            else:
                _flatten(f"{key}[{k}]", item, into, text, words, depth + 1, None)
    else:
        raise BadValue(f"{key!r} is {shown(str(value))}, neither a number nor text")


def _add(name: str, value: float, into: dict[str, float]) -> None:
    """Set a feature; raise :class:`BadValue` if another field of the object has the same name."""
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
        head, measured = _head(opening.paths[0]), list[str]()
        required = (
            schema is None and target is not None
        )  # every line must have a label, whatever the head has
        grow = options.grow or schema is None
        if schema is None:
            target = target or _default_target(opening.paths[0], head)
            text = options.text or _prose(head, target)
            words = options.weighted_words(any_text=bool(text))
            measured = _measured_strings(head, {target, *text})
            schema = NamedSchema((), options.hash_bits, target, _label_kind(head, target), text, words)
        elif target is not None:
            schema = replace(schema, target=target)
        super().__init__(opening, schema, grow)
        if measured:
            self.notes.append(
                f"{self.path}: {'; '.join(measured)}: every different string is a feature of its own. Write numbers "
                "without quotes, or the rows as CSV or Parquet, whose columns are read as numbers and dates"
            )
        if STANDARD_INPUT in self._paths and self._tfidf and not (self._streaming or self._fitted):
            standard_input().spool()  # two passes: for the document counts, then for the rows
        self._labelled = options.labels and (required or any(schema.target in record for record in head))
        self._set_texts(schema.text)
        self._label_types: dict[str, type] = {}  # JSON type of each text label
        self._large_label: float | None = None  # the first integer label beyond 2^53
        self._fraction: float | None = None  # the first label that is not an integer

    def _set_texts(self, fields: Sequence[str]) -> None:
        """Set the text fields whose words are counted by batch."""
        self._scanned_fields = [field for field in fields if invalid_text_reason(field) is None]
        self._prefixes = tuple(f"{field}:" for field in self._scanned_fields)

    def _counted_blocks(self) -> Iterator[Batch]:
        self._label_types = {}
        self._large_label = self._fraction = None
        kind = self._options.labels if self._labelled else None
        for path in self._paths:
            for block in blocks_of_lines(
                path
            ):  # a batch never spans blocks, so that what has arrived need not wait
                for records in in_batches(self._records(path, block), self.batch_rows or ROWS_AT_ONCE):
                    batch, unknown = batch_of(
                        records, self._vocabulary, kind, self._options.words, self._prefixes
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
                column = len(error.doc[: error.pos].encode()) + 1  # in bytes, like all columns
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
            label = _label(record, self._options.target, self._options.labels)
        value = record.pop(self._options.target or "", None)
        features, texts = self._features(record)
        if self._options.bits and not isfinite(sum(map(abs, features.values()))):
            raise BadValue(
                "the values of this line add up beyond a float64, and those that share a hash are added: "
                "write smaller ones, or keep the names (no --hash-bits)"
            )
        if self._labelled and self._options.labels == "text":
            self._check_spelling(label, value)  # last: a bad line must not decide the spelling
        elif self._labelled and self._options.labels == "integer":
            self._check_exact(label)
        return Record(number, label, features, texts)

    def _features(self, record: dict[str, Any]) -> tuple[dict[str, float], tuple[str, ...]]:
        """Return the features of a record, and the texts whose words are counted by batch.

        If another field gives names like those of words, flatten the texts here too, so that a name from two fields is
        an error.
        """
        if self._prefixes:
            texts = tuple(_text(record, field) for field in self._scanned_fields)
            if any(texts):
                fields = {key for key, text in zip(self._scanned_fields, texts, strict=True) if text}
                others = {key: value for key, value in record.items() if key not in fields}
                features = flattened(others, self._options.text, self._options.words)
                if not any(name.startswith(self._prefixes) for name in features):
                    return features, texts
        features = flattened(record, self._options.text, self._options.words)
        return features, ("",) * len(self._prefixes)

    def _check_exact(self, label: float) -> None:
        """Raise :class:`BadValue` for integers beyond 2^53 beside fractions, as float64 would merge neighbours."""
        fraction = isinstance(label, float)
        if not fraction and abs(label) < EXACT:
            return
        other = self._large_label if fraction else self._fraction
        if other is not None:
            large, part = (other, label) if fraction else (label, other)
            raise BadValue(
                f"the labels {self._options.target!r} are both {large}, which a float64 does not hold, and {part}: "
                "write all labels as text",
                self._options.target,
            )
        if fraction:
            self._fraction = label
        else:
            self._large_label = label

    def _check_spelling(self, label: str, value: Any) -> None:
        """Raise :class:`BadValue` for ``1`` beside ``"1"``: as text they would be one label."""
        if self._label_types.setdefault(label, type(value)) is not type(value):
            raise BadValue(
                f"the label {self._options.target!r} is {json.dumps(value)} here and "
                f"{label if isinstance(value, str) else json.dumps(label)} on a line before: write it one way",
                self._options.target,
            )


def parsed(line: bytes) -> dict[str, Any]:
    """Parse the object on a line; raise :class:`BadValue` or a decoding error for anything else."""
    try:
        record = json.loads(
            line.decode(), parse_constant=_reject_constant, object_pairs_hook=_without_duplicates
        )
    except (BadValue, json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        limit = sys.get_int_max_str_digits()
        raise TooManyDigits(f"an integer of more than {limit:,} digits: write it as text") from None
    if not isinstance(record, dict):
        raise BadValue(f"{shown(str(record))} is not an object: write {{...}} on every line")
    return record


def _reject_constant(text: str) -> Any:
    raise BadValue(f"{text} is not a finite number", word=text)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise RepeatedField(f"the field {key!r} is given twice: keep one", key)
        record[key] = value
    return record


def _text(record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    return value if isinstance(value, str) else ""


def _label(record: dict[str, Any], target: str | None, kind: LabelKind) -> Any:
    value = record.get(target) if target is not None else None
    if value is None or value == "":
        raise BadValue(f"no label: the field {target!r} is missing or empty", target)
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
        if kind == "number":  # valid as a target of regression; training refuses such classes
            return number
        raise BadValue(
            f"the label {target!r} is {number!r}, beyond 2^53, where float64 merges neighbours: "
            "write it as an integer, or as text",
            target,
        )
    return int(number) if number.is_integer() else number


def _head(path: str) -> list[dict[str, Any]]:
    """Return the valid records among the first lines."""
    first_text_line(path)
    records = []
    for line in next(blocks_of_lines(path, HEAD_BYTES)).text.split(b"\n"):
        if line.strip():
            try:
                records.append(parsed(line))
            except (BadValue, ValueError, RecursionError):
                continue
            if path == STANDARD_INPUT:  # the result must not depend on how much has arrived
                break
    return records


def _default_target(path: str, head: list[dict[str, Any]]) -> str:
    if not head:
        raise BadInput(path, 1, "no JSON object in the first lines: expected one on every line")
    named = [name for name in DEFAULT_TARGETS if name in head[0]]
    if not named:
        fields = ", ".join(map(repr, list(head[0])[:10]))
        raise BadInput(path, 1, f"which field is the target? Name it (--target); there are {fields}")
    return named[0]


def _label_kind(head: list[dict[str, Any]], target: str | None) -> LabelKind:
    labels = [record[target] for record in head if target is not None and record.get(target) is not None]
    return kind_of_label(labels[0]) if labels else "text"


def _prose(head: list[dict[str, Any]], target: str | None) -> tuple[str, ...]:
    """Return the fields whose values look like prose."""
    fields = {key for record in head for key in record if key != target}
    prose = []
    for key in sorted(fields):
        values = [record[key] for record in head if isinstance(record.get(key), str)]
        if looks_like_text(values):
            prose.append(key)
    return tuple(prose)


def _measured_strings(head: list[dict[str, Any]], others: set[str | None]) -> list[str]:
    """Return a remark on each field whose strings are numbers or dates, which a table would read as such.

    A value of JSON has a type, and every line is read for itself, so a string stays a category.
    """
    remarks = []
    for field in sorted({key for record in head for key in record} - others):
        values = list(dict.fromkeys(each[field] for each in head if isinstance(each.get(field), str)))
        if len(values) < MANY_STRINGS or not any(character.isdigit() for character in values[0]):
            continue
        from rosenblatt.data.tables.infer import column_of_value  # imports pyarrow

        columns = [column_of_value(field, value) for value in values[:MANY_STRINGS]]
        if all(column.categories is None for column in columns):
            kind = "dates" if columns[0].parts else "numbers"
            remarks.append(f"the strings of {field!r} are {kind}, as {shown(values[0])}")
    return remarks


class BadValue(ValueError):
    """A value that is not valid as a feature or a label; its text is the reason."""

    def __init__(self, reason: str, field: str | None = None, word: str | None = None) -> None:
        super().__init__(reason)
        self.field = field  # top-level field of the value
        self.word = word  # literal in the line, like NaN, if there is no field

    def column(self, line: bytes) -> int:
        r"""Return the column of the field, else of the word, else of the value of the line: 1-based, in bytes.

        >>> BadValue("too large", "b").column(b'{"a": {"b": 1}, "b": 1e999}')
        17
        >>> BadValue("not finite", word="NaN").column(b' {"a": "NaN", "b": NaN}'), BadValue("no label").column(b" {}")
        (20, 2)
        """
        return next(self._positions(line), len(line) - len(line.lstrip())) + 1

    def _positions(self, line: bytes) -> Iterator[int]:
        depth = 0
        for token in TOKEN.finditer(line):
            text = token.group()
            if text in b"{[":
                depth += 1
            elif text in b"}]":
                depth -= 1
            elif token[1] is not None:
                if depth == 1 and token[2] is not None and _decoded(token[1]) == self.field:
                    yield token.start()
            elif self.word is not None and text == self.word.encode():
                yield token.start()


class TooManyDigits(BadValue):
    """An integer with more digits than Python converts."""

    def _positions(self, line: bytes) -> Iterator[int]:
        for token in re.finditer(rb'"(?:[^"\\]|\\.)*+"|(-?\d{%d,})' % sys.get_int_max_str_digits(), line):
            if token[1] is not None:
                yield token.start()


class RepeatedField(BadValue):
    """A field that an object has twice, at any depth."""

    def _positions(self, line: bytes) -> Iterator[int]:
        names = [token for token in TOKEN.finditer(line) if token[2] is not None]
        yield from reversed([name.start() for name in names if _decoded(name[1]) == self.field])


def _decoded(text: bytes) -> str | None:
    try:
        return str(json.loads(text))
    except ValueError:
        return None
