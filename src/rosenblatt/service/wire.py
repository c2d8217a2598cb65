"""Bytes to messages, strictly: no duplicate names, no NaN, no infinity, nothing unknown, nothing too deep."""

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from rosenblatt.service.messages import (
    DEFAULT_REASONS,
    MOST_EXAMPLES,
    Example,
    Feedback,
    ModelSettings,
    Predict,
    Reasons,
)
from rosenblatt.web.refusals import BadMessage

T = TypeVar("T")
encode = msgspec.json.Encoder().encode


def strict(kind: type[T], names: Callable[[T], int]) -> Callable[[bytes], T]:
    """Return a decoder of messages; ``names`` counts the names that a message must have had at least.

    A duplicate name would be dropped in silence. Every name is followed by a colon, so where there are no more colons
    than names none was dropped; else (a colon in a text, say) the message is read again with an eye on names.
    """
    decode = msgspec.json.Decoder(kind).decode

    def decoded(body: bytes) -> T:
        try:
            message = decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadMessage(_in_words(error)) from None
        if body.count(b":") > names(message):
            _refuse_duplicates(body)
        return message

    return decoded


def _in_words(error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return f"not the message that was expected: {error}"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return f"not JSON: {error}"


def _refuse_duplicates(body: bytes) -> None:
    try:
        json.loads(body, object_pairs_hook=_distinct)
    except RecursionError:
        raise BadMessage("not JSON: nested too deep") from None
    except ValueError as error:
        raise BadMessage(f"not JSON: {error}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise BadMessage(f"the name {name[:80]!r} is given twice: keep one")
        seen.add(name)


def _names(example: Example) -> int:
    """Count the names that an example must have had."""
    features: Any = example.features
    found = 0 if features is UNSET else 1 + len(features)
    return found + (example.vector is not UNSET) + (example.text is not UNSET)


def _names_of_predict(message: Predict) -> int:
    many: Any = message.examples
    found = _names(message) + (message.reasons != DEFAULT_REASONS)
    return found if many is UNSET else found + 1 + sum(map(_names, many))


def _names_of_feedback(message: Feedback) -> int:
    return 1 + _names(message) + (message.prediction is not UNSET) + (message.key is not UNSET)


class _Outline(Example, kw_only=True):
    """A request to predict whose examples are not yet decoded."""

    examples: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MOST_EXAMPLES)] | UnsetType = UNSET
    reasons: Reasons = DEFAULT_REASONS


_outline = msgspec.json.Decoder(_Outline).decode
_example = msgspec.json.Decoder(Example).decode


def read_large_predict(body: bytes) -> Predict:
    """Decode a large request to predict, an example at a time, so that other threads may run in between.

    >>> read_large_predict(b'{"examples":[{"text":"a"},{"vector":[1]}]}').examples[1].vector
    [1.0]
    """
    at = None
    try:
        outline = _outline(body)
        many: list[Example] | UnsetType = UNSET
        if outline.examples is not UNSET:
            many = []
            for at, raw in enumerate(outline.examples):  # noqa: B007 (named in the refusal)
                many.append(_example(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        where = "" if at is None else f"examples[{at}]: "
        raise BadMessage(where + _in_words(error)) from None
    message = Predict(
        features=outline.features,
        vector=outline.vector,
        text=outline.text,
        examples=many,
        reasons=outline.reasons,
    )
    if body.count(b":") > _names_of_predict(message):
        _refuse_duplicates(body)
    return message


read_predict = strict(Predict, _names_of_predict)
read_feedback = strict(Feedback, _names_of_feedback)
read_settings = strict(ModelSettings, lambda _: 0)
