"""How the features of a file were made, so that new files are encoded the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Literal

from rosenblatt.data.named.vocabulary import NamedSchema, named_schema_from_dict
from rosenblatt.data.words import Words, words_from_dict

LabelKind = Literal["integer", "number", "text"]


@dataclass(frozen=True)
class Column:
    """A column of a table: numeric, discrete with the categories seen in training (sorted), or text.

    >>> Column("Wind").features, Column("Outlook", ("", "Rainy")).features
    (['Wind'], ['Outlook=(missing)', 'Outlook=Rainy'])
    >>> Column("mail", ("free", "prize"), words=Words()).features
    ['mail:free', 'mail:prize']
    """

    name: str
    categories: tuple[str, ...] | None = None  # None: numeric; of a text column, its vocabulary
    words: Words | None = None  # how a text column becomes words; None: not text
    scale: tuple[float, float] | None = None  # (centre, spread) of a numeric column that is scaled

    def __post_init__(self) -> None:
        if self.words is not None:
            self.words.check()
        if self.words is not None and self.categories is None:
            raise ValueError(f"not a schema: the text column {self.name!r} has no vocabulary")

    @property
    def discrete(self) -> bool:
        """Whether it becomes one feature per category."""
        return self.categories is not None and self.words is None

    @property
    def width(self) -> int:
        """How many features it becomes."""
        if self.categories is None:
            return 1
        return (self.words.buckets if self.words else 0) or len(self.categories)

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of every category or word."""
        return {category: place for place, category in enumerate(self.categories or ())}

    @property
    def features(self) -> list[str]:
        """Names of the features this column becomes."""
        if self.categories is None:
            return [self.name]
        if self.words is None:
            return [f"{self.name}={category or '(missing)'}" for category in self.categories]
        if self.words.buckets:
            return [f"{self.name}#{bucket}" for bucket in range(self.words.buckets)]
        return [f"{self.name}:{word}" for word in self.categories]

    def to_dict(self) -> dict[str, Any]:
        """Return the column ready for JSON; what is not said of it is left out."""
        told: dict[str, Any] = {
            "name": self.name,
            "categories": None if self.categories is None else list(self.categories),
        }
        if self.words is not None:
            told["words"] = self.words.to_dict()
        if self.scale is not None:
            told["scale"] = list(self.scale)
        return told


@dataclass(frozen=True)
class Headerless:
    """A file whose first line is data: what its columns are called by us, and what stands between them."""

    names: tuple[str, ...]
    separator: str


@dataclass(frozen=True)
class TableSchema:
    """Columns of a table in training order, and its target.

    >>> schema = TableSchema((Column("Wind"), Column("Outlook", ("Rainy", "Sunny"))), "Play", "text")
    >>> schema.feature_names
    ['Wind', 'Outlook=Rainy', 'Outlook=Sunny']
    >>> schema_from_dict(schema.to_dict()) == schema
    True
    """

    columns: tuple[Column, ...]
    target: str | None = None
    labels: LabelKind = "text"
    headerless: Headerless | None = None  # None: the file named its columns

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        if not names or len(names) < len(self.columns):
            raise ValueError("not a schema: a table needs columns, each with a name of its own")
        if self.target in names:
            raise ValueError(f"not a schema: {self.target!r} is the target and a feature")
        if self.headerless is not None and not names <= set(self.headerless.names):
            raise ValueError("not a schema: a column is not among those of the file")

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the columns of ``X``."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def n_features(self) -> int:
        """How many columns ``X`` has."""
        return sum(column.width for column in self.columns)

    @property
    def any_discrete(self) -> bool:
        """Whether ``X`` is sparse: some column is discrete or text."""
        return any(column.categories is not None for column in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return what :func:`schema_from_dict` needs, ready for JSON."""
        columns = [column.to_dict() for column in self.columns]
        told: dict[str, Any] = {
            "kind": "table",
            "columns": columns,
            "target": self.target,
            "labels": self.labels,
        }
        if self.headerless is not None:
            told["headerless"] = {
                "names": list(self.headerless.names),
                "separator": self.headerless.separator,
            }
        return told


@dataclass(frozen=True)
class LibsvmSchema:
    """Features known by their number.

    >>> LibsvmSchema(123).to_dict()
    {'kind': 'libsvm', 'n_features': 123, 'zero_based': False}
    """

    n_features: int
    zero_based: bool = False

    @property
    def feature_names(self) -> None:
        """LIBSVM text names no feature."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return what :func:`schema_from_dict` needs, ready for JSON."""
        return {"kind": "libsvm", "n_features": self.n_features, "zero_based": self.zero_based}


Schema = TableSchema | LibsvmSchema | NamedSchema


def schema_from_dict(stored: Mapping[str, Any]) -> Schema:
    """Read back what ``to_dict`` wrote; anything else is a ValueError, whoever wrote it.

    >>> schema_from_dict({"kind": "libsvm", "n_features": 4})
    LibsvmSchema(n_features=4, zero_based=False)
    """
    kind = stored.get("kind")
    try:
        if kind == "libsvm":
            return LibsvmSchema(_count(stored["n_features"]), _flag(stored.get("zero_based", False)))
        if kind == "named":
            return named_schema_from_dict(stored)
        if kind == "table":
            columns = tuple(_column(entry) for entry in stored["columns"])
            target = None if stored["target"] is None else _text(stored["target"])
            return TableSchema(
                columns, target, _label_kind(stored["labels"]), _headerless(stored.get("headerless"))
            )
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"not a schema: {type(error).__name__} at {error}") from error
    raise ValueError(f"not a schema: kind is {kind!r}, expected 'libsvm', 'named' or 'table'")


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**48:
        raise TypeError(f"{value!r} is not a number of features")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError(f"{value!r} is not a name")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise TypeError("a list of texts is expected")
    if len(set(value)) < len(value):
        raise TypeError("a text is given twice")
    return tuple(value)


def _column(entry: Any) -> Column:
    column = Column(
        _text(entry["name"]),
        None if entry["categories"] is None else _texts(entry["categories"]),
        None if entry.get("words") is None else words_from_dict(entry["words"]),
        _scale(entry.get("scale")),
    )
    if column.scale is not None and column.categories is not None:
        raise TypeError(f"column {column.name!r} has a scale, but is not numeric")
    return column


def _scale(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2
        or any(type(x) not in (int, float) for x in value)
    ):
        raise TypeError(f"{value!r} is not a scale")
    centre, spread = float(value[0]), float(value[1])
    if not (isfinite(centre) and isfinite(spread) and spread > 0.0):
        raise TypeError(f"{value!r} is not a scale")
    return centre, spread


def _headerless(value: Any) -> Headerless | None:
    if value is None:
        return None
    return Headerless(_texts(value["names"]), _text(value["separator"]))


def _label_kind(value: Any) -> LabelKind:
    if not isinstance(value, str) or value not in ("integer", "number", "text"):
        raise TypeError(f"{value!r} is not a kind of label")
    return value  # type: ignore[return-value]
