"""The state of a page as one typed table, and its way into a link and back."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, replace
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

T = TypeVar("T")


class Column(NamedTuple):
    """How one value of a table is written in a link, read back, and what may stand there."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    says: str  # what a good value is, for people
    names: tuple[str, ...] = ()  # where there are only so many
    low: float = 0.0
    high: float = 0.0


def column(default: Any, kind: Column) -> Any:
    """Declare a value of a table."""
    return field(default=default, metadata={"column": kind})


def one_of(*names: str) -> Column:
    """One of several names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return Column(str, read, f"one of {', '.join(names)}", names)


def some_of(*names: str) -> Column:
    """Several names, each once, in any order."""

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(dict.fromkeys(text.split("."))) if text else ()
        if not set(chosen) <= set(names):
            raise ValueError
        return chosen

    return Column(".".join, read, f"some of {', '.join(names)}, with points between them", names)


def whole(low: int, high: int) -> Column:
    """A whole number in a range."""

    def read(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return Column(str, read, f"a whole number from {low} to {high}", low=low, high=high)


def number(low: float, high: float) -> Column:
    """A number in a range."""

    def read(text: str) -> float:
        value = float(text)
        if not low <= value <= high:  # also where it is not a number
            raise ValueError
        return value

    return Column(
        lambda value: f"{value:.12g}", read, f"a number from {low:g} to {high:g}", low=low, high=high
    )


def numbers(count: int, low: float, high: float) -> Column:
    """Several numbers in a range."""
    one = number(low, high)

    def read(text: str) -> tuple[float, ...]:
        values = tuple(one.read(part) for part in text.split("_"))
        if len(values) != count:
            raise ValueError
        return values

    return Column(
        lambda values: "_".join(one.write(value) for value in values),
        read,
        f"{count} numbers from {low:g} to {high:g}, with _ between them",
        low=low,
        high=high,
    )


def flag() -> Column:
    """Yes or no."""
    return Column(lambda value: "yes" if value else "no", lambda text: _YES[text], "yes or no", ("yes", "no"))


def text(longest: int) -> Column:
    """Some text."""

    def read(value: str) -> str:
        if len(value) > longest:
            raise ValueError
        return value

    return Column(str, read, f"a text of at most {longest} letters")


def to_query(state: Any) -> str:
    """Write a table into the query of a link; what is as it was in the beginning is left out."""
    pairs = []
    for each in fields(state):
        value = getattr(state, each.name)
        if value != each.default:
            pairs.append((each.name, each.metadata["column"].write(value)))
    return urlencode(pairs)


def from_query(table: type[T], query: Mapping[str, str]) -> tuple[T, list[str]]:
    """Read a table from the query of a link; what cannot be read keeps its default, and is reported."""
    values, problems = {}, []
    known = {each.name: each for each in fields(table)}  # type: ignore[arg-type]
    for name, written in query.items():
        if name not in known:
            problems.append(f"this page knows nothing of {name!r}")
            continue
        kind: Column = known[name].metadata["column"]
        try:
            values[name] = kind.read(written)
        except (ValueError, KeyError, OverflowError):
            shown = written if len(written) <= 40 else written[:40] + "…"
            problems.append(f"{name} must be {kind.says}, not {shown!r}")
    return table(**values), problems


def changed(state: T, **values: Any) -> T:
    """Return the table with other values, checked as a link's are."""
    kinds = {each.name: each.metadata["column"] for each in fields(state)}  # type: ignore[arg-type]
    for name, value in values.items():
        try:
            kinds[name].read(kinds[name].write(value))
        except (ValueError, KeyError, OverflowError, TypeError):
            raise ValueError(f"{name} must be {kinds[name].says}, got {value!r}") from None
    return replace(state, **values)  # type: ignore[type-var]


class Session(Generic[T]):
    """What runs behind a page: its table, from which everything else follows."""

    state: T

    @property
    def link(self) -> str:
        """The query that brings this very state back."""
        return to_query(self.state)

    def set(self, **values: Any) -> None:
        """Change the state, and bring to it what follows from it."""
        raise NotImplementedError("a session says what follows from its state")

    def change(self, **values: Any) -> frozenset[str]:
        """Change the state alone, and return the names of the values that are different now."""
        before, self.state = self.state, changed(self.state, **values)
        names = vars(before)
        return frozenset(name for name in names if getattr(before, name) != getattr(self.state, name))


def column_of(table: type, name: str) -> Column:
    """Return how a value of a table is written."""
    for each in fields(table):
        if each.name == name:
            kind: Column = each.metadata["column"]
            return kind
    raise KeyError(name)


def default_of(table: type, name: str) -> Any:
    """Return what a value is in the beginning."""
    default = next(each.default for each in fields(table) if each.name == name)
    return None if default is MISSING else default


_YES = {"yes": True, "no": False}
