"""How the features of a file were made, so that new files are encoded the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

LabelKind = Literal["integer", "number", "text"]


@dataclass(frozen=True)
class Column:
    """A column of a table: numeric, or discrete with the categories seen in training (sorted)."""

    name: str
    categories: tuple[str, ...] | None = None  # None: numeric

    @property
    def features(self) -> list[str]:
        """Names of the features this column becomes.

        >>> Column("Wind").features, Column("Outlook", ("", "Rainy")).features
        (['Wind'], ['Outlook=(missing)', 'Outlook=Rainy'])
        """
        if self.categories is None:
            return [self.name]
        return [f"{self.name}={category or '(missing)'}" for category in self.categories]


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

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        if not names or len(names) < len(self.columns):
            raise ValueError("not a schema: a table needs columns, each with a name of its own")

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the columns of ``X``."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def n_features(self) -> int:
        """How many columns ``X`` has."""
        return sum(1 if column.categories is None else len(column.categories) for column in self.columns)

    @property
    def any_discrete(self) -> bool:
        """Whether ``X`` is sparse: some column is discrete."""
        return any(column.categories is not None for column in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return what :func:`schema_from_dict` needs, ready for JSON."""
        columns = [
            {
                "name": column.name,
                "categories": None if column.categories is None else list(column.categories),
            }
            for column in self.columns
        ]
        return {"kind": "table", "columns": columns, "target": self.target, "labels": self.labels}


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


Schema = TableSchema | LibsvmSchema


def schema_from_dict(stored: Mapping[str, Any]) -> Schema:
    """Read back what ``to_dict`` wrote; anything else is a ValueError, whoever wrote it.

    >>> schema_from_dict({"kind": "libsvm", "n_features": 4})
    LibsvmSchema(n_features=4, zero_based=False)
    """
    kind = stored.get("kind")
    try:
        if kind == "libsvm":
            return LibsvmSchema(_count(stored["n_features"]), bool(stored.get("zero_based", False)))
        if kind == "table":
            columns = tuple(
                Column(_text(entry["name"]), _categories(entry["categories"])) for entry in stored["columns"]
            )
            target = None if stored["target"] is None else _text(stored["target"])
            return TableSchema(columns, target, _label_kind(stored["labels"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a schema: {type(error).__name__} at {error}") from error
    raise ValueError(f"not a schema: kind is {kind!r}, expected 'libsvm' or 'table'")


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is not a number of features")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a name")
    return value


def _categories(value: Any) -> tuple[str, ...] | None:
    return None if value is None else tuple(_text(category) for category in value)


def _label_kind(value: Any) -> LabelKind:
    if value not in ("integer", "number", "text"):
        raise TypeError(f"{value!r} is not a kind of label")
    return value  # type: ignore[no-any-return]
