"""Infer the kinds of the columns of a table from statistics of their values, updated block by block.

A column is numeric when every value it has is a number in one notation, a date when every value is one in ISO 8601,
text when its values read like prose, an identifier when they are nearly all different single tokens, and discrete
otherwise. What carries no information (a constant, an index, an identifier) is left out. ``ReadOptions`` overrides.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.options import ReadOptions
from rosenblatt.data.scanners.numbers import MISSING, SCANNED_MISSING, BlockStatistics
from rosenblatt.data.schema import Column, ColumnKind, LabelKind
from rosenblatt.data.tables.values import (
    DATE_PARTS,
    ENGLISH,
    MAGNITUDE,
    MARKED,
    PAIRS,
    SLASHED,
    DatePart,
    NumberFormat,
    absent,
    are_codes,
    are_int64,
    arrow_strings,
    date_numbers,
    date_orders,
    date_parts_of,
    is_long_integer,
    number,
    number_formats,
    numbers,
    points_may_group,
    take,
)
from rosenblatt.data.words import looks_like_text

MOST_VALUES = 1 << 16  # different values that are remembered of a column
TEXT_ROWS = 1000  # whether a column is text is judged by this many rows
MANY_LABELS = 2048  # different numbers of a target: more make no difference, nor do more rows of a block
FEW_ROWS = 3  # fewer rows say nothing about constants
MANY_ROWS = 20  # fewer rows say nothing about identifiers
NEARLY_ALL = 0.9  # of the values are different in a column of identifiers
ID_NAME = re.compile(r"(?i:(^|[_\s.-])(id|uuid|guid)$)|[a-z]I[dD]$")
COMMA_GROUPS = (
    "$",
    "£",
    "₹",
    "¥",
    "USD",
    "GBP",
    "INR",
    "JPY",
    "CNY",
)  # amounts in which a comma groups thousands
TargetKind = Literal["classes", "numeric"]
Role = ColumnKind | Literal["identifier", "constant", "index", "dropped", "target"]


class ColumnReport(NamedTuple):
    """The kind that was inferred for a column, and a summary of its values.

    >>> print(ColumnReport("Wind", "numeric", 2, "0 to 17.5", 2, "missing values: mean and an indicator"))
    Wind: numeric, 2 missing, 0 to 17.5, 2 features (missing values: mean and an indicator)
    """

    name: str
    kind: Role
    missing: int  # rows with a missing value
    summary: str  # the range of numbers and dates, the levels of categories
    features: int  # columns of X that it became; 0 where it is left out
    note: str = ""  # number format, reason for leaving it out, or a warning

    def __str__(self) -> str:
        parts = [self.kind, f"{self.missing:,} missing" if self.missing else "", self.summary]
        parts.append(
            "left out" if not self.features else f"{self.features:,} feature{'s'[: self.features > 1]}"
        )
        if self.kind == "target":
            parts.pop()
        note = f" ({self.note})" if self.note else ""
        return f"{self.name}: {', '.join(part for part in parts if part)}{note}"


class ColumnStatistics:
    """Statistics of the values of a column, updated block by block.

    Parameters
    ----------
    count_numbers : count distinct numbers too, as for a target

    Examples
    --------
    >>> import pyarrow as pa
    >>> statistics = ColumnStatistics()
    >>> statistics.update(pa.array(["12%", "", "7.5%"]))
    >>> statistics.rows, statistics.missing, statistics.formats
    (3, 1, [NumberFormat(decimal='.', percent=True, currency='', unit='', magnitude=False)])
    """

    def __init__(self, count_numbers: bool = False) -> None:
        self.rows = self.missing = 0
        self.all_numbers = True
        self.all_integers = True  # that int64 holds
        self.any_long_integer = False  # of a target: one is written as an integer that int64 does not hold
        self.all_finite = True  # no number is infinite
        self.low, self.high = np.inf, -np.inf
        self.total = 0.0
        self.steps_of_one = True  # every number is the one before, plus 1
        self.values: dict[str, None] | None = {}  # different strings; None where not all are known
        self.formats: list[NumberFormat] | None = None  # in which all strings are numbers; None: none seen
        self.parts: set[DatePart] | None = None  # of all strings as dates; empty where one is none
        self.date_orders: set[str] | None = (
            None  # in which all dates with slashes can be read; None: there are none
        )
        self.sample: list[str] = []  # the first values that are there
        self.different_rows = 0  # rows when too many different values were seen
        self.numbers: set[float] | None = set() if count_numbers else None
        self._first = self._last = np.nan
        self._fractions = False  # among plain numbers

    @property
    def missing_words(self) -> frozenset[str]:
        """Spellings of a missing value; in a target, ``-`` is a label, as in + and -."""
        return MISSING if self.numbers is None else SCANNED_MISSING

    @property
    def present(self) -> int:
        """Rows that have a value."""
        return self.rows - self.missing

    @property
    def numeric(self) -> bool:
        """Every value is a plain number, and there is one."""
        return self.all_numbers and self.present > 0

    @property
    def two_ways(self) -> bool:
        """Whether the numbers can be read with a decimal point and with a decimal comma."""
        if self.numeric:
            return points_may_group(self.sample)
        return bool(self.formats) and len(self.formats or ()) > 1

    @property
    def mean(self) -> float:
        """The mean of plain numbers."""
        return self.total / self.present if self.present else 0.0

    @property
    def spread_integers(self) -> bool:
        """Whether the numbers look like integers that may all be different."""
        ends = (self.low, self.high, self._last)
        whole = self.all_integers and all(value == round(value) for value in ends if np.isfinite(value))
        return whole and self.high - self.low + 1 >= NEARLY_ALL * self.rows

    @property
    def dates_as_numbers(self) -> bool:
        """Whether the numbers may be dates written as 20240229: the least, greatest, first and last are."""
        ends = (self.low, self.high, self._first, self._last)
        if self.present < FEW_ROWS or not self.all_integers or not 1.9e7 < self.low < self.high < 2.2e7:
            return False
        return all(value == round(value) and date_numbers(f"{value:.0f}") is not None for value in ends)

    @property
    def labels(self) -> LabelKind:
        """The kind of the labels in this column; integers beyond 64 bits are text, so that float64 merges none."""
        if not self.numeric or self.long_labels:
            return "text"
        return "integer" if self.all_integers else "number"

    @property
    def long_labels(self) -> bool:
        """Whether the column names classes by integers that int64 does not hold."""
        return self.any_long_integer and self.target_kind == "classes"

    @property
    def different(self) -> float:
        """The share of the values that are different from all before them."""
        if self.values is None:
            return MOST_VALUES / self.different_rows if self.different_rows else 0.0
        return len(self.values.keys() - self.missing_words) / max(self.present, 1)

    @property
    def target_kind(self) -> TargetKind:
        """Whether a target with these values is a class or a measurement."""
        if self.numbers is None or not (self.numeric or self.formats):
            return "classes"
        whole, count = not self._fractions, len(self.numbers)
        if not self.numeric:
            form = (self.formats or [NumberFormat()])[0]
            values = [form.number(text) for text in self.values or self.sample]
            different = {value for value in values if value is not None}
            count = len(different)
            whole = all(
                value == round(100.0 * value) / 100.0 if form.percent else value == round(value)
                for value in different
            )
        if not whole:
            return "numeric" if count > 10 else "classes"
        return "numeric" if count > 50 or (count > 20 and 10 * count >= self.present) else "classes"

    def update_numbers(self, block: BlockStatistics, column: int, rows: int) -> None:
        """Add a column of a block of numbers by its statistics."""
        self.rows += rows
        self.missing += int(block.missing[column])
        self.low = min(self.low, float(block.low[column]))
        self.high = max(self.high, float(block.high[column]))
        self.total += float(block.total[column])
        follows = np.isnan(self._last) or float(block.first[column]) == self._last + 1.0
        self.steps_of_one = self.steps_of_one and follows and block.jumps[column] == 0.0
        self._first = float(block.first[column]) if np.isnan(self._first) else self._first
        self._last = float(block.last[column])
        self.values = None

    def update(self, column: Any, parsed: NDArray[np.float64] | None = None) -> None:
        """Add the values of a block: an Arrow array of strings or numbers, or an array of numbers.

        ``parsed`` holds the strings as numbers, if that is known.
        """
        if len(column) == 0:
            return
        if isinstance(column, np.ndarray) or str(column.type) != "string":
            self._add_numbers(numbers(column))
            self.values = None
            return
        if len(self.sample) < TEXT_ROWS:
            some = column[:TEXT_ROWS].to_pylist()
            present = [text for text in some if text not in self.missing_words]
            self.sample += present[: TEXT_ROWS - len(self.sample)]
        if self.all_numbers and self._add_texts_as_numbers(column, parsed):
            self.values = None
            return
        self._add_texts(column)

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` needs, as JSON can hold it (NaN and infinity among the numbers)."""
        stored = dict(vars(self))
        stored["values"] = None if self.values is None else list(self.values)
        stored["formats"] = None if self.formats is None else [form.to_dict() for form in self.formats]
        stored["parts"] = None if self.parts is None else sorted(self.parts)
        stored["date_orders"] = None if self.date_orders is None else sorted(self.date_orders)
        stored["numbers"] = None if self.numbers is None else sorted(self.numbers)
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "ColumnStatistics":
        """Read back what another process of this version wrote."""
        statistics = cls()
        vars(statistics).update(stored)
        values, formats, parts = (stored[name] for name in ("values", "formats", "parts"))
        statistics.values = None if values is None else dict.fromkeys(values)
        statistics.formats = None if formats is None else [NumberFormat(**form) for form in formats]
        statistics.parts = None if parts is None else set(parts)
        orders = stored["date_orders"]
        statistics.date_orders = None if orders is None else set(orders)
        statistics.numbers = None if stored["numbers"] is None else set(stored["numbers"])
        return statistics

    def merge(self, later: "ColumnStatistics") -> None:
        """Add the statistics of later rows."""
        if not later.rows:
            return
        follows = np.isnan(self._last) or later._first == self._last + 1.0
        self.steps_of_one = bool(self.steps_of_one and later.steps_of_one and follows)
        had_numbers, has_numbers = self.all_numbers and self.present, later.all_numbers and later.present
        if not (self.all_numbers and later.all_numbers):
            plain = (self._fractions if had_numbers else False) or (
                later._fractions if has_numbers else False
            )
            self.formats = _common_formats(self, later, bool(had_numbers or has_numbers), plain)
            self.parts = _common_parts(self, later) if not (had_numbers or has_numbers) else set()
            if later.date_orders is not None:
                orders = later.date_orders if self.date_orders is None else self.date_orders
                self.date_orders = orders & later.date_orders
        known = self.values is not None and later.values is not None
        self.values = {**(self.values or {}), **(later.values or {})} if known else None
        self.different_rows += later.different_rows
        self.rows, self.missing = self.rows + later.rows, self.missing + later.missing
        self.all_numbers &= later.all_numbers
        self.all_integers &= later.all_integers
        self.any_long_integer |= later.any_long_integer
        self.all_finite &= later.all_finite
        self.low, self.high = min(self.low, later.low), max(self.high, later.high)
        self.total += later.total
        self.sample = (self.sample + later.sample)[:TEXT_ROWS]
        self._first = later._first if np.isnan(self._first) else self._first
        self._last, self._fractions = later._last, self._fractions | later._fractions
        if self.numbers is not None and later.numbers is not None:
            self.numbers |= later.numbers

    def _add_texts_as_numbers(self, column: Any, parsed: NDArray[np.float64] | None) -> bool:
        values = numbers(column) if parsed is None else parsed
        odd = np.flatnonzero(~np.isfinite(values))
        texts = take(column, odd).unique().to_pylist()
        absent_words = self.missing_words
        self.all_numbers = all(text in absent_words or number(text) is not None for text in texts)
        if not self.all_numbers:
            return False
        self.all_finite &= all(text in absent_words for text in texts)
        self._add_numbers(values)
        if self.low <= self.high and max(-self.low, self.high) >= 2.0**53:
            self.all_integers = self.all_integers and are_int64(column)
            if self.numbers is not None and not self.all_integers:
                self.any_long_integer |= any(map(is_long_integer, column.unique().to_pylist()))
        return True

    def _add_numbers(self, values: Any) -> None:
        finite = values[np.isfinite(values)]
        self.rows += values.size
        self.missing += int(np.isnan(values).sum())
        self.all_finite &= finite.size + int(np.isnan(values).sum()) == values.size
        whole = bool((finite == np.rint(finite)).all())
        self.all_integers &= whole
        self._fractions |= not whole
        if finite.size:
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
            with np.errstate(over="ignore", invalid="ignore"):
                self.total += float(finite.sum())
        if values.size:
            steps = np.isnan(self._last) or values[0] == self._last + 1.0
            with np.errstate(invalid="ignore", over="ignore"):
                self.steps_of_one = bool(self.steps_of_one and steps and (np.diff(values) == 1.0).all())
            self._first = float(values[0]) if np.isnan(self._first) else self._first
            self._last = float(values[-1])
        if self.numbers is not None and len(self.numbers) < MANY_LABELS:
            self.numbers.update(np.unique(finite[:MANY_LABELS]).tolist())

    def _add_texts(self, column: Any) -> None:
        """Add strings that are not all plain numbers."""
        self.rows += len(column)
        self.steps_of_one = False
        if self.values is None and self.formats == [] and self.parts == set():
            self.missing += int(absent(column).sum())
            return
        counts = column.value_counts()
        texts, how_many = counts.field(0).to_pylist(), counts.field(1).to_pylist()
        absent_words = self.missing_words
        self.missing += sum(n for text, n in zip(texts, how_many, strict=True) if text in absent_words)
        present = [text for text in texts if text not in absent_words]
        if self.formats != [] and present:
            self.formats = self._formats_of_all(present)
        if self.parts != set() and present:
            self.parts = self._parts_of_all(present)
        if self.values is not None:
            self.values.update(dict.fromkeys(texts))
            if len(self.values) > MOST_VALUES:
                self.values, self.different_rows = None, self.present

    def _formats_of_all(self, texts: list[str]) -> list[NumberFormat]:
        """Return the formats in which these texts are numbers, and all before them."""
        if self.formats is None and self.values is None and self.low <= self.high:  # plain numbers before
            marks = (".",) if self._fractions else (".", ",")
            self.formats = [NumberFormat(mark) for mark in marks]
        if self.formats is None:
            self.formats = number_formats(_most_marked(texts))
        return [form for form in self.formats if all(form.number(text) is not None for text in texts)]

    def _parts_of_all(self, texts: list[str]) -> set[DatePart]:
        if self.parts is None and self.values is None and self.low <= self.high:
            return set()
        parts = self.parts
        for text in texts:
            ours = set(date_parts_of(text, "dmy"))
            if SLASHED.match(text):
                known = date_orders(text)
                self.date_orders = known if self.date_orders is None else self.date_orders & known
                ours = ours if self.date_orders else set()
            timed_only = parts is not None and (ours == {"hour"}) != (parts == {"hour"})
            if not ours or timed_only:
                return set()
            parts = ours if parts is None else parts | ours
        return parts or set()


def _most_marked(texts: list[str]) -> str:
    """Return the text that shows the most of how numbers are written: a K or M after it, a sign, separators."""
    for marked in (MAGNITUDE.search, MARKED.search):
        if text := next(filter(marked, texts), None):
            return text
    return next((text for text in texts if number(text) is None), texts[0])


def _common_formats(
    one: ColumnStatistics, other: ColumnStatistics, plain: bool, fractions: bool
) -> list[NumberFormat] | None:
    """Return the formats in which the strings of both are numbers, where some of their rows are plain ones."""
    lists = [each.formats for each in (one, other) if each.formats is not None]
    if not lists:
        return None
    formats = [form for form in lists[0] if all(form in each for each in lists)]
    if plain:
        formats = [form for form in formats if not form.percent and not (fractions and form.decimal == ",")]
    return formats


def _common_parts(one: ColumnStatistics, other: ColumnStatistics) -> set[DatePart] | None:
    if one.parts is None or other.parts is None:
        return other.parts if one.parts is None else one.parts
    mixed = (one.parts == {"hour"}) != (other.parts == {"hour"})
    return set() if mixed or not one.parts or not other.parts else one.parts | other.parts


class Decision(NamedTuple):
    """The inferred role of a column."""

    role: Role
    column: Column | None  # with nothing learned yet; None where it is left out
    note: str = ""


class AmbiguousValues(ValueError):
    """Numbers with a decimal point or comma, or dates with the day or the month first: both are possible."""


def decide(
    name: str, statistics: ColumnStatistics, options: ReadOptions, decimal: str | None = None
) -> Decision:
    """Return the role of a column by its statistics and the options.

    ``decimal`` is the mark that other columns of the table use, for numbers that could be read two ways; None where
    nothing tells.
    """
    for role in ("drop", "id", "text", "category", "date", "numeric"):
        if name in getattr(options, role):
            return _as_asked(name, role, statistics, options)
    if options.exact:
        return _as_written(name, statistics, options)
    if statistics.rows == 0:
        return Decision("category", Column(name, ()))
    if statistics.present == 0:
        return Decision("constant", None, "no row has a value")
    if statistics.numeric:
        if are_codes(statistics.sample) and not _is_constant(statistics):
            return _codes(name, statistics)
        grouped = _grouped_by_points(name, statistics, options.decimal or decimal)
        return grouped or _plain_numbers(name, statistics)
    if _is_constant(statistics):
        return Decision("constant", None, "the same in every row")
    boolean = _is_boolean(statistics)
    if boolean:
        return Decision("boolean", Column(name, boolean=True), boolean)
    if statistics.formats:
        form = _format_of(name, statistics, options, decimal)
        return Decision("numeric", Column(name, format=form), _describe(form, statistics))
    if statistics.parts and (statistics.date_orders is None or len(statistics.date_orders) == 1):
        return _dates(name, statistics)
    return _strings(name, statistics, options)


def _dates(name: str, statistics: ColumnStatistics) -> Decision:
    """Return the role of dates; of those with slashes, the values show whether day or month comes first."""
    parts = tuple(part for part in DATE_PARTS if part in (statistics.parts or {"days", "weekday"}))
    order = "".join(statistics.date_orders or ())
    note = {"dmy": "day first", "mdy": "month first"}.get(order, "")
    return Decision("date", Column(name, parts=parts, date_order=order if note else ""), note)


def column_of_value(name: str, text: str, options: ReadOptions = ReadOptions()) -> Column:  # noqa: B008 (frozen)
    """Return a column whose kind is inferred from one value: numbers in a format, dates, else categories.

    >>> column_of_value("price", "$1,299.00").format.currency, column_of_value("day", "2024-02-29").parts
    ('$', ('days', 'weekday'))
    """
    statistics = ColumnStatistics()
    statistics.update(arrow_strings([text]))
    if name in (*options.numeric, *options.date):
        column = _as_asked(name, "numeric" if name in options.numeric else "date", statistics, options).column
    elif options.exact:
        column = _as_written(name, statistics, options).column
    elif statistics.numeric:
        grouped = _grouped_by_points(name, statistics, options.decimal or ".")
        column = Column(name) if grouped is None else grouped.column
    elif statistics.formats and not statistics.formats[0].unit:  # one value cannot tell a unit from a code
        column = Column(name, format=_format_of(name, statistics, options, None))
    elif statistics.parts and date_numbers(text) is not None:
        column = Column(name, parts=tuple(part for part in DATE_PARTS if part in statistics.parts))
    else:
        column = Column(name, ())
    return column or Column(name, ())


def _as_asked(name: str, role: str, statistics: ColumnStatistics, options: ReadOptions) -> Decision:
    if role == "drop":
        return Decision("dropped", None, "--drop")
    if role == "id":
        return Decision("identifier", None, "--id")
    if role == "text":
        return Decision("text", Column(name, (), options.words))
    if role == "category":
        return Decision("category", Column(name, ()))
    if role == "date":
        if len(statistics.date_orders or ()) > 1:
            example = next(filter(SLASHED.match, statistics.sample))
            raise AmbiguousValues(
                f"column {name!r} holds dates that can be read with the day or the month first, as in {example!r}: "
                "write them as 2024-02-29, or name the column in --category"
            )
        return _dates(name, statistics)
    grouped = _grouped_by_points(name, statistics, options.decimal or ".")
    if grouped is not None:
        return grouped
    if statistics.numeric or not (statistics.formats or options.decimal == ","):
        return Decision("numeric", Column(name))
    form = _format_of(name, statistics, options, options.decimal) if statistics.formats else NumberFormat(",")
    return Decision("numeric", Column(name, format=form), _describe(form, statistics))


def _as_written(name: str, statistics: ColumnStatistics, options: ReadOptions) -> Decision:
    """Return the role of a column whose values are not converted, except for the decimal mark of the options."""
    if statistics.numeric:
        grouped = _grouped_by_points(name, statistics, options.decimal or ".")
        return grouped or Decision("numeric", Column(name))
    if options.decimal and statistics.formats:
        forms = [form for form in statistics.formats if form == NumberFormat(options.decimal)]
        if forms:
            return Decision("numeric", Column(name, format=forms[0]), _describe(forms[0], statistics))
    if looks_like_text(statistics.sample):
        return Decision("text", Column(name, (), options.words))
    return Decision("category", Column(name, ()))


def _grouped_by_points(name: str, statistics: ColumnStatistics, decimal: str | None) -> Decision | None:
    """Return the decision for numbers like 1.234 in a table with decimal commas; None where the point is decimal."""
    if decimal == "." or not (statistics.numeric and statistics.two_ways):
        return None
    if decimal is None:
        example = next(text for text in statistics.sample if "." in text)
        raise AmbiguousValues(_ambiguous(name, example, [NumberFormat(","), NumberFormat()]))
    return Decision("numeric", Column(name, format=NumberFormat(",")), "thousands separated by points")


def _plain_numbers(name: str, statistics: ColumnStatistics) -> Decision:
    if _is_constant(statistics):
        return Decision("constant", None, "the same in every row")
    many = statistics.rows >= MANY_ROWS and not statistics.missing
    if many and statistics.steps_of_one:
        return Decision("identifier", None, f"counts the rows; --numeric {name} keeps it")
    if many and ID_NAME.search(name) and statistics.spread_integers:
        return Decision("identifier", None, f"named like an identifier; --numeric {name} keeps it")
    note = f"warning: dates? --date {name} reads them" if statistics.dates_as_numbers else ""
    return Decision("numeric", Column(name), note)


def _codes(name: str, statistics: ColumnStatistics) -> Decision:
    """Return the role of codes of digits: categories, or identifiers if nearly all are distinct."""
    sample = statistics.sample
    if len(sample) >= MANY_ROWS and len(set(sample)) >= NEARLY_ALL * len(sample):
        return Decision("identifier", None, f"codes with leading zeros; --numeric {name} keeps it")
    return Decision("category", Column(name, ()), f"codes with leading zeros; --numeric {name} reads numbers")


def _is_constant(statistics: ColumnStatistics) -> bool:
    if statistics.rows < FEW_ROWS or statistics.missing:
        return False
    if statistics.numeric:
        return statistics.low == statistics.high
    return statistics.values is not None and len(statistics.values) == 1


def _is_boolean(statistics: ColumnStatistics) -> str:
    """Return how the booleans of a column are written; an empty text if it is not boolean."""
    if statistics.values is None:
        return ""
    lower = {text.lower() for text in statistics.values if text not in MISSING}
    pair = next((pair for pair in PAIRS if lower <= set(pair)), None)
    if pair and lower:
        return f"{pair[0]} is 1, {pair[1]} is 0"
    true, false = (lower & words for words in ENGLISH)
    words = any(len(text) > 1 for text in lower)  # letters and digits alone are codes
    if not (words and true and false and len(true) + len(false) == len(lower)):
        return ""
    return f"{', '.join(sorted(true))} {'is' if len(true) == 1 else 'are'} 1"


def _format_of(
    name: str, statistics: ColumnStatistics, options: ReadOptions, decimal: str | None
) -> NumberFormat:
    """Return the format of numbers; raise AmbiguousValues if two are possible and nothing decides."""
    formats = statistics.formats or []
    mark = options.decimal or decimal
    chosen = [form for form in formats if form.decimal == mark] if mark else formats
    if len(formats) > 1 and _same_numbers(formats, statistics):
        return formats[0]
    if len(chosen) == 1:
        return chosen[0]
    if len(formats) == 1:
        return formats[0]
    example = next(text for text in (statistics.values or statistics.sample) if "," in text or "." in text)
    if (
        not mark and formats[0].currency in COMMA_GROUPS and "," in example
    ):  # $1,100 is no dollar and ten cents
        return next(form for form in formats if form.decimal == ".")
    raise AmbiguousValues(_ambiguous(name, example, formats))


def _ambiguous(name: str, example: str, formats: Sequence[NumberFormat]) -> str:
    readings = " or ".join(f"{form.number(example):.12g}" for form in formats)
    return (
        f"column {name!r} holds numbers that can be read two ways, as in {example!r} ({readings}): "
        "say which with decimal='.' or ',' (--decimal), or name the column in --category"
    )


def _same_numbers(formats: list[NumberFormat], statistics: ColumnStatistics) -> bool:
    texts = [text for text in (statistics.values or statistics.sample) if text not in MISSING]
    return all(len({form.number(text) for form in formats}) == 1 for text in texts)


def _describe(form: NumberFormat, statistics: ColumnStatistics) -> str:
    parts = ["decimal comma"] if form.decimal == "," else []
    parts += ["per cent"] if form.percent else []
    parts += [f"in {form.currency or form.unit}"] if form.currency or form.unit else []
    texts = [text.replace("\u2212", "-") for text in statistics.values or statistics.sample]
    parts += ["K, M and B multiply"] if form.magnitude else []
    matches = (form.pattern.fullmatch(text.strip("()")) for text in texts)
    grouped = any(match and not match["digits"].replace(form.decimal, "").isdigit() for match in matches)
    parts += ["(1) is -1"] if any(text[:1] == "(" for text in texts) else []
    return ", ".join(parts) or ("thousands separated" if grouped else "")


def _strings(name: str, statistics: ColumnStatistics, options: ReadOptions) -> Decision:
    sample = statistics.sample
    many = statistics.present >= MANY_ROWS
    strange = [text for text in sample if number(text) is None]
    mostly_numbers = many and len(strange) <= 0.1 * len(sample)
    unclear_dates = ""
    if statistics.parts and len(statistics.date_orders or ()) > 1:
        unclear_dates = "dates with the day or the month first? write them as 2024-02-29; "
    if mostly_numbers and statistics.different > 0.5:  # a value that is no number is then a bad line
        return Decision(
            "numeric", Column(name), f"not all are numbers; --category {name} takes them as they are"
        )
    if many and statistics.different >= NEARLY_ALL and not any(map(str.isalpha, "".join(sample))):
        return Decision("identifier", None, f"{unclear_dates}--category {name} keeps it")
    if looks_like_text(sample):
        return Decision("text", Column(name, (), options.words))
    if many and statistics.different >= NEARLY_ALL:
        words = sum(len(text.split()) for text in sample) / max(len(sample), 1)
        if words >= 1.5:
            return Decision("text", Column(name, (), options.words), "nearly all different, of several words")
        return Decision("identifier", None, f"--category {name} keeps it")
    note = f"warning: {unclear_dates}--drop {name} leaves it out" if unclear_dates else ""
    if many and len(strange) <= 0.5 * len(sample) and statistics.different > 0.5:
        note = _numbers_but_for(strange[0], name)
    elif many and statistics.different > 0.5 and not note:
        note = (
            f"warning: mostly different values; leave it out with --drop {name}, or read it as --text {name}"
        )
    elif mostly_numbers and strange:
        note = _numbers_but_for(strange[0], name)
    if not note and len(statistics.values or ()) <= MANY_LABELS:
        note = differ_in_capitals(statistics.values or ())
    return Decision("category", Column(name, ()), note)


def _numbers_but_for(text: str, name: str) -> str:
    return f"warning: numbers but for {text!r}; --numeric {name} --skip-bad passes over other lines"


def target_format(
    name: str, statistics: ColumnStatistics, options: ReadOptions, decimal: str | None
) -> NumberFormat | None:
    """Return the number format of a measured target; None if its numbers are plain, or classes."""
    grouped = _grouped_by_points(name, statistics, options.decimal or ("." if options.exact else decimal))
    if grouped is not None and grouped.column is not None:
        return grouped.column.format
    if options.exact or statistics.numeric or statistics.target_kind != "numeric":
        return None
    return _format_of(name, statistics, options, decimal)


def decimal_mark(every: Iterable[ColumnStatistics]) -> str | None:
    """Return the decimal mark that the other columns of a table use, where they agree on one."""
    marks = set()
    for statistics in every:
        if statistics.numeric:
            marks |= {"."} if not (statistics.all_integers or statistics.two_ways) else set()
        elif statistics.formats and len(statistics.formats) == 1 and not _groups_only(statistics):
            marks.add(statistics.formats[0].decimal)
    return marks.pop() if len(marks) == 1 else None


def _groups_only(statistics: ColumnStatistics) -> bool:
    """Whether no value shows a decimal mark: 1 234 says nothing about it."""
    return not any("," in text or "." in text for text in statistics.values or statistics.sample)


def _plain(number: float) -> str:
    """Return a number as a person writes it: an integer in full, others with six digits.

    >>> _plain(1033222.0), _plain(0.1234567), _plain(1e300)
    ('1033222', '0.123457', '1e+300')
    """
    return f"{number:.0f}" if abs(number) < 1e15 and number == int(number) else f"{number:.6g}"


def summary_of(decision: Decision, statistics: ColumnStatistics, column: Column | None) -> str:
    """Describe the values of a column: a range, levels, or how many words."""
    if decision.role == "index" or not statistics.present:
        return ""
    if decision.role == "numeric" and column is not None and column.format is not None:
        texts = statistics.values or statistics.sample
        values = [value for value in map(column.format.number, texts) if value is not None]
        return _range(min(values), max(values)) if values else ""
    if decision.role == "numeric" and not statistics.numeric:  # some values are bad
        values = [value for value in map(number, statistics.values or statistics.sample) if value is not None]
        return _range(min(values), max(values)) if values else ""
    if statistics.numeric and decision.role != "category":
        return _range(statistics.low, statistics.high)
    if decision.role == "date":
        order = "" if column is None else column.date_order
        texts = [text for text in statistics.values or () if date_numbers(text, order) is not None]
        texts.sort(key=lambda text: date_numbers(text, order) or (0.0, 0.0, 0.0))
        return f"{texts[0]} to {texts[-1]}" if texts else ""
    if decision.role == "text":
        return f"{len(column.categories or ()):,} words" if column is not None else "words"
    if statistics.values is None and statistics.numeric:
        levels = sorted(set(statistics.sample))
        return f"{', '.join(levels[:4])}{', …' if len(levels) > 4 else ''}"
    if statistics.values is None:
        return f"more than {MOST_VALUES:,} values"
    levels = [text for text in statistics.values if text not in statistics.missing_words]
    return f"{len(levels):,} value{'s'[: len(levels) != 1]}: {_levels(levels)}"


def _range(low: float, high: float) -> str:
    """Describe the range of numbers; integers keep their digits.

    >>> _range(20230105, 20240105), _range(0.5, 1e300)
    ('20230105 to 20240105', '0.5 to 1e+300')
    """
    return f"{_plain(low)} to {_plain(high)}" if low <= high else ""


def _levels(texts: list[str]) -> str:
    """List the first levels of a column; where one has a comma, in quotes."""
    shown = [_printable(text[:20]) for text in sorted(texts)[:4]]
    quoted = any("," in text for text in shown)
    return ", ".join(f"'{text}'" if quoted else text for text in shown) + (", …" if len(texts) > 4 else "")


def differ_in_capitals(texts: Iterable[str]) -> str:
    """Return a warning about values that differ only in capitals, or an empty text.

    >>> differ_in_capitals(["red", "blue", "Red"]), differ_in_capitals(["a", "b"])
    ("warning: 'Red' and 'red' differ only in capitals", '')
    """
    known: dict[str, str] = {}
    for text in sorted(texts):
        other = known.setdefault(text.casefold(), text)
        if other != text:
            return f"warning: {other!r} and {text!r} differ only in capitals"
    return ""


def _printable(text: str) -> str:
    r"""Return a text on one line: line ends and other control characters are escaped.

    >>> _printable("two\nlines"), _printable("Köln")
    ('two\\nlines', 'Köln')
    """
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def feature_counts(columns: Sequence[Column], indicators: Sequence[int]) -> Mapping[str, int]:
    """Return how many features every column became, indicators among them."""
    counts, start = {}, 0
    for column in columns:
        end = start + column.width
        counts[column.name] = column.width + sum(start <= place < end for place in indicators)
        start = end
    return counts
