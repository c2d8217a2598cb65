"""How features known by name were made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rosenblatt.data.words import Words, words_from_dict

if TYPE_CHECKING:
    from rosenblatt.data.schema import LabelKind

MOST_BITS = 30


@dataclass(frozen=True)
class NamedSchema:
    """Names in order of appearance, or hashes of ``bits`` bits; how texts become words, and the target.

    >>> NamedSchema(("free", "offer")).feature_names
    ['free', 'offer']
    """

    names: tuple[str, ...] = ()
    bits: int = 0  # names are hashed into 2^bits features; 0: each name has a feature of its own
    target: str | None = None
    labels: "LabelKind" = "text"
    text: tuple[str, ...] = ()  # fields that are prose
    words: Words = field(default_factory=Words)

    def __post_init__(self) -> None:
        if type(self.bits) is not int or not 0 <= self.bits <= MOST_BITS:
            raise ValueError(f"hash bits must be between 1 and {MOST_BITS}, or 0 for names, got {self.bits}")
        strings = [*self.names, *self.text, *([] if self.target is None else [self.target])]
        if not all(isinstance(name, str) for name in strings) or len(set(self.names)) < len(self.names):
            raise ValueError("not a schema: names must be strings, each given once")
        if self.bits and self.names:
            raise ValueError("not a schema: features are hashed, and named all the same")
        if not isinstance(self.labels, str) or self.labels not in ("integer", "number", "text"):
            raise ValueError(f"not a schema: {self.labels!r} is not a kind of label")

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; a hash has none."""
        return None if self.bits else list(self.names)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return 1 << self.bits if self.bits else len(self.names)

    def to_dict(self) -> dict[str, Any]:
        """Return what :func:`named_schema_from_dict` needs, ready for JSON."""
        return {
            "kind": "named",
            "names": list(self.names),
            "bits": self.bits,
            "target": self.target,
            "labels": self.labels,
            "text": list(self.text),
            "words": {**self.words._asdict(), "ngrams": list(self.words.ngrams)},
        }


def named_schema_from_dict(stored: Mapping[str, Any]) -> NamedSchema:
    """Read back what ``to_dict`` wrote; anything else is a ValueError.

    >>> named_schema_from_dict(NamedSchema(("a",), labels="integer").to_dict())
    NamedSchema(names=('a',), ..., labels='integer', ...)
    """
    try:
        target = stored["target"]
        return NamedSchema(
            _names(stored["names"]),
            stored["bits"],
            None if target is None else _names([target])[0],
            stored["labels"],
            _names(stored["text"]),
            words_from_dict(stored["words"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not a schema: {type(error).__name__} at {error}") from error


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or any(
        not isinstance(name, str) or "\0" in name for name in value
    ):
        raise TypeError("names must be a list of strings without NUL")
    return tuple(value)
