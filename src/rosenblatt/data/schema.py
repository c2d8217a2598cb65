"""Schemas: the features of a source, so that new data is encoded as in training."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, Literal

from rosenblatt.data.named.vocabulary import NamedSchema, named_schema_from_dict
from rosenblatt.data.options import Missing
from rosenblatt.data.tables.preprocess import Preprocessing, PreprocessingPlan
from rosenblatt.data.tables.values import DATE_ORDERS, DATE_PARTS, DatePart, NumberFormat
from rosenblatt.data.words import Words, words_from_dict

LabelKind = Literal["integer", "number", "text"]
ColumnKind = Literal["numeric", "boolean", "date", "category", "text"]


@dataclass(frozen=True)
class Column:
    """A column of a table: numeric, boolean, a date, text, or discrete with the sorted categories of the training data.

    >>> Column("Wind").features, Column("Outlook", ("", "Rainy")).features
    (['Wind'], ['Outlook=(missing)', 'Outlook=Rainy'])
    >>> Column("mail", ("free", "prize"), words=Words()).features, Column("when", parts=("days", "hour")).features
    (['mail:free', 'mail:prize'], ['when.days', 'when.hour'])
    """

    name: str
    categories: tuple[str, ...] | None = None  # None: not discrete; for text, the vocabulary
    words: Words | None = None  # options for the words of text; None: not text
    format: NumberFormat | None = None  # notation of numbers; None: plain, like -12.5e3
    parts: tuple[DatePart, ...] = ()  # features of a date; (): not a date
    boolean: bool = False  # yes and no, encoded as 1 and 0
    date_order: str = ""  # of dates with slashes: "dmy" or "mdy"; "": none have them

    def __post_init__(self) -> None:
        if self.words is not None:
            self.words.check()
        if self.words is not None and self.categories is None:
            raise ValueError(f"not a schema: the text column {self.name!r} has no vocabulary")
        kinds = [self.categories is not None, self.format is not None, bool(self.parts), self.boolean]
        if sum(kinds) > 1:
            raise ValueError(f"not a schema: column {self.name!r} is of two kinds")
        if self.date_order and (not self.parts or self.date_order not in DATE_ORDERS):
            raise ValueError(f"not a schema: column {self.name!r} has the order of dates {self.date_order!r}")

    @property
    def kind(self) -> ColumnKind:
        """The kind of the values."""
        if self.categories is not None:
            return "category" if self.words is None else "text"
        return "date" if self.parts else "boolean" if self.boolean else "numeric"

    @property
    def plain(self) -> bool:
        """Whether the values are plain numbers."""
        return self.kind == "numeric" and self.format is None

    @property
    def discrete(self) -> bool:
        """Whether the column is encoded as one feature per category."""
        return self.categories is not None and self.words is None

    @property
    def width(self) -> int:
        """Number of features."""
        if self.categories is None:
            return len(self.parts) or 1
        return (self.words.buckets if self.words else 0) or len(self.categories)

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of every category or word."""
        return {category: k for k, category in enumerate(self.categories or ())}

    @property
    def features(self) -> list[str]:
        """Names of the features of this column."""
        if self.categories is None:
            return [f"{self.name}.{part}" for part in self.parts] or [self.name]
        if self.words is None:
            return [f"{self.name}={category or '(missing)'}" for category in self.categories]
        if self.words.buckets:
            return [f"{self.name}#{bucket}" for bucket in range(self.words.buckets)]
        return [f"{self.name}:{word}" for word in self.categories]

    def to_dict(self) -> dict[str, Any]:
        """Return the column as a dict for JSON, without fields at their defaults."""
        stored: dict[str, Any] = {
            "name": self.name,
            "categories": None if self.categories is None else list(self.categories),
        }
        if self.words is not None:
            stored["words"] = self.words.to_dict()
        if self.format is not None:
            stored["format"] = self.format.to_dict()
        if self.parts:
            stored["parts"] = list(self.parts)
        if self.date_order:
            stored["date_order"] = self.date_order
        if self.boolean:
            stored["boolean"] = True
        return stored


@dataclass(frozen=True)
class Headerless:
    """Generated column names, and the separator, of a file without a header."""

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
    headerless: Headerless | None = None  # None: the file has a header
    preprocessing: Preprocessing | None = None  # None: no scaling, and a missing number is an error
    target_format: NumberFormat | None = None  # notation of a numeric target; None: plain

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        if not names or len(names) < len(self.columns):
            raise ValueError("not a schema: a table needs columns with distinct names")
        if self.target_format is not None and self.labels != "number":
            raise ValueError("not a schema: only a numeric target has a number format")
        if self.target in names:
            raise ValueError(f"not a schema: {self.target!r} is both the target and a feature")
        if self.headerless is not None and not names <= set(self.headerless.names):
            raise ValueError("not a schema: a column is not in the file")
        prepared = self.preprocessing
        if prepared is not None and (prepared.raw_features, prepared.numeric) != (
            self.raw_features,
            self.numeric,
        ):
            raise ValueError("not a schema: its preprocessing was fitted to other columns")

    @property
    def raw_names(self) -> list[str]:
        """Names of the columns of the raw matrix, before preprocessing."""
        return [feature for column in self.columns for feature in column.features]

    @cached_property
    def raw_features(self) -> int:
        """Number of columns of the raw matrix."""
        return sum(column.width for column in self.columns)

    @cached_property
    def numeric(self) -> tuple[int, ...] | None:
        """Indices of the numeric columns of the raw matrix; None if all are."""
        if not self.any_discrete:
            return None
        numeric: list[int] = []
        start = 0
        for column in self.columns:
            numeric += range(start, start + column.width) if column.categories is None else ()
            start += column.width
        return tuple(numeric)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the columns of ``X``: the raw ones, then indicators."""
        names = self.raw_names
        return names if self.preprocessing is None else self.preprocessing.feature_names(names)

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        return self.raw_features if self.preprocessing is None else self.preprocessing.n_features

    @property
    def missing(self) -> Missing:
        """Treatment of missing numbers."""
        return "refuse" if self.preprocessing is None else self.preprocessing.missing

    def plan(self, missing: Missing = "indicator", scale: bool = False) -> PreprocessingPlan:
        """Return the unfitted preprocessing of the raw rows of this table."""
        texts, first = [], 0
        for column in self.columns:
            if column.words is not None and column.words.weighting == "tfidf" and not column.words.buckets:
                texts.append((first, first + column.width))
            first += column.width
        return PreprocessingPlan(self.numeric, missing, scale, texts=tuple(texts))

    @property
    def any_discrete(self) -> bool:
        """Whether ``X`` is sparse: some column is discrete or text."""
        return any(column.categories is not None for column in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as a dict for JSON, the input of :func:`schema_from_dict`."""
        columns = [column.to_dict() for column in self.columns]
        stored: dict[str, Any] = {
            "kind": "table",
            "columns": columns,
            "target": self.target,
            "labels": self.labels,
        }
        if self.headerless is not None:
            stored["headerless"] = {
                "names": list(self.headerless.names),
                "separator": self.headerless.separator,
            }
        if self.target_format is not None:
            stored["target_format"] = self.target_format.to_dict()
        if self.preprocessing is not None:
            stored["preprocessing"] = self.preprocessing.to_dict()
        return stored


@dataclass(frozen=True)
class LibsvmSchema:
    """Features identified by their index.

    >>> LibsvmSchema(123).to_dict()
    {'kind': 'libsvm', 'n_features': 123, 'zero_based': False}
    """

    n_features: int
    zero_based: bool = False

    @property
    def feature_names(self) -> None:
        """None: LIBSVM text has no names."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as a dict for JSON, the input of :func:`schema_from_dict`."""
        return {"kind": "libsvm", "n_features": self.n_features, "zero_based": self.zero_based}


Schema = TableSchema | LibsvmSchema | NamedSchema


def schema_from_dict(stored: Mapping[str, Any]) -> Schema:
    """Return the schema that ``to_dict`` wrote; raise ValueError for anything else.

    >>> schema_from_dict({"kind": "libsvm", "n_features": 4})
    LibsvmSchema(n_features=4, zero_based=False)
    """
    kind = stored.get("kind")
    try:
        if kind == "libsvm":
            return LibsvmSchema(_count(stored["n_features"]), _flag(stored.get("zero_based", False)))
        if kind == "named":
            columns = tuple(_column(entry) for entry in stored.get("columns", ()))
            return replace(named_schema_from_dict(stored), columns=columns)
        if kind == "table":
            return _table(stored)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"not a schema: {type(error).__name__} at {error}") from error
    raise ValueError(f"not a schema: kind is {kind!r}, expected 'libsvm', 'named' or 'table'")


def _table(stored: Mapping[str, Any]) -> TableSchema:
    columns = tuple(_column(entry) for entry in stored["columns"])
    target = None if stored["target"] is None else _text(stored["target"])
    headerless = _headerless(stored.get("headerless"))
    form = None if stored.get("target_format") is None else _number_format(stored["target_format"])
    schema = TableSchema(columns, target, _label_kind(stored["labels"]), headerless, target_format=form)
    preprocessing = stored.get("preprocessing")
    if preprocessing is not None:
        try:
            return replace(schema, preprocessing=Preprocessing.from_dict(preprocessing))
        except ValueError as error:
            raise ValueError(f"not a schema: {error}") from error
    scales = [_scale(entry.get("scale")) for entry in stored["columns"]]
    return schema if all(scale is None for scale in scales) else _scaled_columns(schema, scales)


def _scaled_columns(schema: TableSchema, scales: list[tuple[float, float] | None]) -> TableSchema:
    """Return the schema of a version before 0.3, with a scale in every column and no missing values."""
    for column, scale in zip(schema.columns, scales, strict=True):
        if scale is not None and column.categories is not None:
            raise TypeError(f"column {column.name!r} has a scale, but is not numeric")
    pairs = zip(schema.columns, scales, strict=True)
    numeric_scales = [scale or (0.0, 1.0) for column, scale in pairs if column.categories is None]
    centre, spread = tuple(scale[0] for scale in numeric_scales), tuple(scale[1] for scale in numeric_scales)
    fitted = Preprocessing(schema.raw_features, schema.numeric, "refuse", centre, centre, spread)
    return replace(schema, preprocessing=fitted)


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
    return Column(
        _text(entry["name"]),
        None if entry["categories"] is None else _texts(entry["categories"]),
        None if entry.get("words") is None else words_from_dict(entry["words"]),
        None if entry.get("format") is None else _number_format(entry["format"]),
        _date_parts(entry.get("parts", [])),
        _flag(entry.get("boolean", False)),
        _text(entry.get("date_order", "")),
    )


def _number_format(value: Any) -> NumberFormat:
    if not isinstance(value, Mapping) or set(value) - {"unit", "magnitude"} != {
        "decimal",
        "percent",
        "currency",
    }:
        raise TypeError(f"{value!r} is not a number format")
    try:
        unit, magnitude = _text(value.get("unit", "")), _flag(value.get("magnitude", False))
        mark, percent, currency = _text(value["decimal"]), _flag(value["percent"]), _text(value["currency"])
        return NumberFormat(mark, percent, currency, unit, magnitude)
    except ValueError as error:
        raise TypeError(str(error)) from error


def _date_parts(value: Any) -> tuple[DatePart, ...]:
    if not isinstance(value, list | tuple) or list(value) != [part for part in DATE_PARTS if part in value]:
        raise TypeError(f"{value!r} are not parts of a date")
    return tuple(value)


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
