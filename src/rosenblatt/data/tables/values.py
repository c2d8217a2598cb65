"""Parse columns of text: numbers in any notation, dates, booleans.

Columns are pyarrow arrays of strings or numbers; parsing one gives float64, with NaN for missing and invalid values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cache, cached_property
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.numbers import MISSING

DatePart = Literal["days", "weekday", "hour"]
DATE_PARTS: tuple[DatePart, ...] = ("days", "weekday", "hour")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
SHORT_DATE = re.compile(r"(\d{4})(?:-(\d{2})|(\d{2})(\d{2}))")  # 2024-02 and 20240229, in a column of dates
DATE_ENDS = r"(?=,? |T|$)"
DAY_FIRST = re.compile(  # like 29.02.2024
    rf"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.(\d{{4}}|\d\d){DATE_ENDS}"
)
SLASHED = re.compile(  # like 2/29/2024, 2/29/24 and 29-02-2024: month or day first
    rf"(\d{{1,2}})(?:/(\d{{1,2}})/(\d{{4}}|\d\d)|-(\d{{1,2}})-(\d{{4}})){DATE_ENDS}"
)
DATE_ORDERS = ("dmy", "mdy")  # of a date with slashes, or with dashes and the year last
YEAR_FIRST = re.compile(rf"(\d{{4}})([/.-])(\d{{1,2}})\2(\d{{1,2}}){DATE_ENDS}")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
WEEKDAY = r"(?:(?:Mon|Tue|Tues|Wed|Wednes|Thu|Thur|Thurs|Fri|Sat|Satur|Sun)(?:day)?\.?,? )?"
DAY_MONTH_YEAR = re.compile(  # like 29 Feb 2024 and 29-Feb-24
    rf"{WEEKDAY}(\d{{1,2}})(?:st|nd|rd|th)?[ -]{MONTH}[ -](\d{{4}}|\d\d){DATE_ENDS}", re.IGNORECASE
)
MONTH_DAY_YEAR = re.compile(  # like February 29, 2024
    rf"{WEEKDAY}{MONTH} (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}}){DATE_ENDS}", re.IGNORECASE
)
TWELVE_HOURS = re.compile(  # like 8:15 PM, at the end
    r"(?:^|(?<=[T ]))(0?[1-9]|1[0-2])(:[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?)?\s?([AaPp])\.?[Mm]\.?$"
)
CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d{1,9})?)?")
SHORT_HOUR = re.compile(r"(?:^|(?<=[T ]))(?=\d:)")  # like 8:15
TIMESTAMP = re.compile(rf"({DATE.pattern})[T ]({CLOCK.pattern}) ?(Z|UTC|[+-]\d{{2}}:?(\d{{2}})?)?")
PAIRS = (
    *(
        ("true", "false"),
        ("yes", "no"),
        ("t", "f"),
        ("y", "n"),
        ("on", "off"),
        ("ja", "nein"),
        ("wahr", "falsch"),
    ),
    *(
        ("oui", "non"),
        ("vrai", "faux"),
        ("sí", "no"),
        ("si", "no"),
        ("sim", "não"),
        ("ja", "nej"),
        ("ja", "nee"),
        ("sì", "no"),
        ("tak", "nie"),
        ("да", "нет"),
    ),
)
TRUE, FALSE = (frozenset(words) for words in zip(*PAIRS, ("1", "0"), strict=True))
ENGLISH = [
    frozenset(words) for words in zip(*PAIRS[:5], ("1", "0"), strict=True)
]  # true and false, mixed in a column
CURRENCIES = ("$", "€", "£", "¥", "₹", "₽", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "kr", "zł", "R$")
UNIT = re.compile(
    r"(?<=[\d.,])\s?(?P<unit>(?![AaPp][Mm]$)[A-Za-zµμ°Ω][A-Za-zµμ°Ω²³/]{0,7})$"
)  # after a number, like 5 cm
LONG_INTEGER = re.compile(r"[+-]?\d{19,400}")  # perhaps too long for int64
MAGNITUDES = {"K": 1e3, "k": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9}
# A number with a fraction or a currency sign before K, M or B; without either it may be a code, like seat 12K.
MAGNITUDE = re.compile(r"(?:\d[.,]|[$€£¥₹]\s?\d[\d.,]*?)\d*\s?(?:[KkMB]|bn)(?=\)?$)")
MARKED = re.compile(r"[^\d\s.,'’()+\-\u2212eEdD]")  # a currency, a unit or a per cent sign
POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
GROUPS = " \u00a0\u2009\u202f'’"  # thousands separators with any decimal mark


@dataclass(frozen=True)
class NumberFormat:
    """The notation of the numbers of a column: decimal mark, currency, per cent sign, unit, K for thousands.

    Thousands may be separated by the other mark, a space or an apostrophe. ``12 %`` is 0.12, ``(12)`` and ``12-`` are
    -12. With ``magnitude`` a number may end in K, M or B, which multiply it by a thousand, a million or a billion.

    >>> NumberFormat(",").number("1.234,5"), NumberFormat(currency="$").number("-$1,234"), NumberFormat().number("1,2")
    (1234.5, -1234.0, None)
    >>> NumberFormat(percent=True).number("12.5%"), NumberFormat(currency="€", magnitude=True).number("€1.5M")
    (0.125, 1500000.0)
    """

    decimal: str = "."
    percent: bool = False
    currency: str = ""
    unit: str = ""
    magnitude: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in (".", ",") or (type(self.percent), type(self.magnitude)) != (bool, bool):
            raise ValueError(f"not a number format: {self!r}")
        if self.currency not in ("", *CURRENCIES):
            raise ValueError(f"not a number format: the currency {self.currency!r} is not known")
        if self.magnitude and (self.percent or self.unit):
            raise ValueError("not a number format: K, M and B follow neither a unit nor a per cent sign")
        if self.unit and (UNIT.fullmatch(f"0{self.unit}", 1) is None or self.percent or self.currency):
            raise ValueError(f"not a number format: the unit {self.unit!r} is no word after a number")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of a number: sign, currency, digits, fraction, exponent, magnitude, currency or per cent."""
        group = r"\." if self.decimal == "," else ","
        mark = re.escape(self.decimal)
        grouped = rf"[1-9]\d{{0,2}}(?P<group>[{group}{GROUPS}])\d{{3}}(?:(?P=group)\d{{3}})*"
        if self.decimal == ".":
            grouped += r"|[1-9]\d?(?:,\d\d)+,\d{3}"  # lakhs and crores
        digits = rf"(?:{grouped}|\d+)(?:{mark}\d*)?|{mark}\d+"
        factor = r"(?:\s?(?P<factor>[KkMB]|bn))?" if self.magnitude else ""
        money = rf"(?:{re.escape(self.currency)}\s?)?" if self.currency else ""
        after = r"\s?%" if self.percent else rf"(?:\s?{re.escape(self.currency or self.unit)})?"
        return re.compile(
            rf"(?P<sign>[+-]?)\s?{money}(?P<inner>[+-]?)(?P<digits>{digits})(?P<power>[eEdD][+-]?\d+)?{factor}{after}"
        )

    @cached_property
    def _to_python(self) -> dict[int, str | None]:
        """Removes thousands separators, and makes the decimal mark a point."""
        other = "." if self.decimal == "," else ","
        return {**dict.fromkeys(map(ord, other + GROUPS)), ord(self.decimal): "."}

    def number(self, text: str) -> float | None:
        """Parse a number; return None if it is not in this format."""
        if text.startswith("(") and text.endswith(")"):  # accounting notation of a negative number
            value = self.number(text[1:-1]) if text[1:2].isdigit() or text[1:2] in self.currency else None
            return None if value is None else -value
        if text.endswith("-") and text[:1].isdigit():  # as accounting software writes it
            text = f"-{text[:-1]}"
        if self.percent and text.strip("0.,") == "" and "0" in text:
            return 0.0  # zero needs no per cent sign
        match = self.pattern.fullmatch(text if text.isascii() else text.replace("\u2212", "-"))
        if match is None:
            return None
        sign, inner, digits, power = match.group("sign", "inner", "digits", "power")
        if sign and inner:
            return None
        value = float(sign + inner + digits.translate(self._to_python) + (_exponent(power) if power else ""))
        if self.magnitude and match["factor"]:
            value *= MAGNITUDES[match["factor"]]
        if not isfinite(value):
            return None
        return value / 100.0 if self.percent else value

    def read(self, column: Any) -> NDArray[np.float64]:
        """Return the numbers of a column, NaN where a value is missing or in another format."""
        if not is_text(column):
            return numbers(column)
        texts, codes = distinct(column)
        values = [self.number(text) for text in texts]
        return np.array([np.nan if value is None else value for value in values], float)[codes]

    def to_dict(self) -> dict[str, Any]:
        """Return the format as a dict for JSON."""
        stored = {"decimal": self.decimal, "percent": self.percent, "currency": self.currency}
        stored |= {"unit": self.unit} if self.unit else {}
        return {**stored, "magnitude": True} if self.magnitude else stored


def _exponent(power: str) -> str:
    """Return an exponent in Python's notation; Fortran writes D."""
    return power.replace("D", "e").replace("d", "e")


def number_formats(text: str) -> list[NumberFormat]:
    """Return the formats, other than plain, in which a text is a number.

    >>> [(form.decimal, form.number("1,234")) for form in number_formats("1,234")]
    [('.', 1234.0), (',', 1.234)]
    >>> number_formats("red"), number_formats("€ 12")[0].currency, number_formats("5.5 cm")[0].unit
    ([], '€', 'cm')
    """
    if not any(character.isdigit() for character in text):
        return []
    percent = text.endswith("%")
    magnitude = MAGNITUDE.search(text) is not None
    bare = text.lstrip("(+-\u2212 ").rstrip(")")
    money = [sign for sign in CURRENCIES if bare.startswith(sign) or bare.endswith(sign)]
    unit = None if money or percent or magnitude or text.startswith("(") else UNIT.search(bare)
    forms = (
        NumberFormat(mark, percent, max(money, key=len, default=""), unit["unit"] if unit else "", magnitude)
        for mark in (".", ",")
    )
    return [form for form in forms if form.number(text) is not None]


def number(text: str) -> float | None:
    """Parse a decimal number, or return None.

    >>> number(" 1e3"), number("1_000"), number("x")
    (1000.0, None, None)
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def points_may_group(texts: Sequence[str]) -> bool:
    """Whether the points of plain numbers may separate thousands: three digits after each, and no zero before it.

    >>> points_may_group(["1.234", "999"]), points_may_group(["0.125"]), points_may_group(["7"])
    (True, False, False)
    """
    pointed = [text for text in texts if "." in text]
    return (
        bool(pointed)
        and all(map(POINT_GROUPS.fullmatch, pointed))
        and not any("e" in t.lower() for t in texts)
    )


def are_codes(texts: Sequence[str]) -> bool:
    """Whether texts are codes of digits rather than numbers, like zip codes: all of one length, some beginning with 0.

    >>> are_codes(["01067", "80331"]), are_codes(["0", "1"]), are_codes(["7", "01067"])
    (True, False, False)
    """
    joined = "".join(texts)
    if len(set(map(len, texts))) != 1 or len(texts[0]) < 2 or not (joined.isdigit() and joined.isascii()):
        return False
    return any(text.startswith("0") for text in texts) and joined.count("0") < len(joined)


def is_text(column: Any) -> bool:
    """Whether a column holds strings."""
    return not isinstance(column, np.ndarray) and str(column.type) == "string"


def numbers(column: Any) -> NDArray[np.float64]:
    """Return a column of strings or numbers as float64, NaN where it is not a number."""
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        return column
    if column.type != pa.string():
        return as_numpy(column.cast(pa.float64(), safe=False))  # integers beyond 2^53 are rounded, as in text
    for read in (_cast, _cast_where_not_missing):
        try:
            read(column[:20])  # a cast that fails is slow: fail early
            return read(column)
        except pa.ArrowInvalid:
            continue
    texts, codes = distinct(column)
    values = [number(text) for text in texts]
    return np.array([np.nan if value is None else value for value in values], float)[codes]


def numbers_at_once(column: Any) -> NDArray[np.float64] | None:
    """Return a column of strings as float64 if all are finite plain numbers, and none begins like a code, else None.

    >>> numbers_at_once(arrow_strings(["1", "2.5"])), numbers_at_once(arrow_strings(["1", ""]))
    (array([1. , 2.5]), None)
    """
    import pyarrow as pa

    if not len(column) or are_codes(column[:20].to_pylist()):
        return None
    try:
        _cast(column[:20])  # a cast that fails is slow: fail early
        values = _cast(column)
    except pa.ArrowInvalid:
        return None
    return values if bool(np.isfinite(values).all()) else None


def _cast(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    return as_numpy(column.cast(pa.float64()))


def _cast_where_not_missing(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(column, _missing())
    values = pc.if_else(missing, pa.nulls(1, pa.string())[0], column).cast(pa.float64())
    parsed = np.full(len(column), np.nan)
    parsed[as_numpy(missing.cast(pa.int8())) == 0] = as_numpy(values.drop_null())
    return parsed


def absent(column: Any) -> NDArray[np.bool_]:
    """Return the mask of missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, np.ndarray) or column.type != pa.string():
        return np.asarray(np.isnan(numbers(column)))
    return np.asarray(as_numpy(pc.is_in(column, _missing()).cast(pa.int8())) == 1)


@cache
def _missing() -> Any:
    return arrow_strings(sorted(MISSING))


def arrow_strings(texts: list[str]) -> Any:
    """Return an Arrow array of texts; ``pa.array`` would import pandas."""
    import pyarrow as pa

    ends = np.cumsum([0, *(len(text.encode()) for text in texts)]).astype(np.int32)
    parts = [None, pa.py_buffer(ends), pa.py_buffer("".join(texts).encode())]
    return pa.Array.from_buffers(pa.string(), len(texts), parts)


def without_nulls(column: Any) -> Any:
    """Return a column of strings with the empty string for null."""
    import pyarrow.compute as pc

    return pc.fill_null(column, arrow_strings([""])[0]) if column.null_count else column


def truth(text: str) -> float | None:
    """Return 1 or 0 for a boolean in a usual spelling, else None.

    >>> truth("Yes"), truth("off"), truth("maybe")
    (1.0, 0.0, None)
    """
    lower = text.lower()
    return 1.0 if lower in TRUE else 0.0 if lower in FALSE else None


def truths(column: Any) -> NDArray[np.float64]:
    """Return a column of booleans as 1 and 0."""
    if not is_text(column):
        return numbers(column)
    texts, codes = distinct(column)
    values = [truth(text) for text in texts]
    return np.array([np.nan if value is None else value for value in values], float)[codes]


def date_parts_of(text: str, order: str = "") -> tuple[DatePart, ...]:
    """Return the parts of a date or time (see :func:`_as_iso`); () if it is not one.

    >>> date_parts_of("2024-02-29"), date_parts_of("2024-02-29T12:30Z"), date_parts_of("8:15 AM"), date_parts_of("x")
    (('days', 'weekday'), ('days', 'weekday', 'hour'), ('hour',), ())
    """
    text = _as_iso(text, order)
    if DATE.fullmatch(text):
        return ("days", "weekday")
    if TIMESTAMP.fullmatch(text):
        return DATE_PARTS
    return ("hour",) if CLOCK.fullmatch(text) else ()


def date_numbers(text: str, order: str = "") -> tuple[float, float, float] | None:
    """Return days since 1970-01-01, weekday (Monday is 1) and hour of a date or time; None if it is not one.

    The hour is local: an offset from UTC does not change it.

    >>> date_numbers("2024-02-29 12:30"), date_numbers("2024-02-30")
    ((19782.0, 4.0, 12.5), None)
    >>> date_numbers("20240229"), date_numbers("2024-02")
    ((19782.0, 4.0, 0.0), (19754.0, 4.0, 0.0))
    """
    if short := SHORT_DATE.fullmatch(text):
        text = f"{short[1]}-{short[2] or short[3]}-{short[4] or '01'}"
    text = _as_iso(text, order)
    try:
        if CLOCK.fullmatch(text):
            return 0.0, 0.0, _hours(time.fromisoformat(text))
        if DATE.fullmatch(text):
            moment = datetime.fromisoformat(text)
        else:
            match = TIMESTAMP.fullmatch(text)
            if match is None:
                return None
            moment = datetime.fromisoformat(f"{match[1]}T{match[2]}")
    except ValueError:
        return None
    return float(moment.toordinal() - 719163), float(moment.isoweekday()), _hours(moment.time())


def date_orders(text: str) -> set[str]:
    """Return the orders of day and month in which a date may be read; one without slashes has any.

    >>> sorted(date_orders("1/2/2024")), date_orders("2/29/2024"), date_orders("29/31/2024")
    (['dmy', 'mdy'], {'mdy'}, set())
    """
    match = SLASHED.match(text)
    if match is None:
        return set(DATE_ORDERS)
    first, second = int(match[1]), int(match[2] or match[4])
    orders = (("dmy", first, second), ("mdy", second, first))
    return {order for order, day, month in orders if 1 <= month <= 12 and 1 <= day <= 31}


def _as_iso(text: str, order: str = "") -> str:
    """Convert a date with an unambiguous order of its parts, or a time of day, to ISO 8601; return others unchanged.

    >>> _as_iso("1.2.2024 8:15"), _as_iso("2024/2/29"), _as_iso("29-Feb-24"), _as_iso("Feb. 29, 2024, 8 pm")
    ('2024-02-01 08:15', '2024-02-29', '2024-02-29', '2024-02-29 20:00')
    >>> _as_iso("1/2/2024"), _as_iso("1/2/2024", "mdy")
    ('1/2/2024', '2024-01-02')
    """
    if not DATE.match(text):
        date = _date_at_start(text, order)
        text = text if date is None else date[0] + text[date[1] :].replace(", ", " ", 1)
    if text[-1:] in "mM.":
        text = TWELVE_HOURS.sub(_clock_of_twelve, text)
    return SHORT_HOUR.sub("0", text, count=1) if ":" in text else text


def _date_at_start(text: str, order: str) -> tuple[str, int] | None:
    """Return the ISO form of a date that a text begins with, and where it ends; None without one."""
    if match := YEAR_FIRST.match(text):
        year, month, day = match[1], match[3], match[4]
    elif match := DAY_FIRST.match(text):
        day, month, year = match[1], match[2], match[3]
    elif match := SLASHED.match(text):
        if not order:
            return None
        year, parts = match[3] or match[5], (match[1], match[2] or match[4])
        day, month = parts if order == "dmy" else parts[::-1]
    elif match := DAY_MONTH_YEAR.match(text):
        day, month, year = match[1], str(MONTHS.index(match[2][:3].lower()) + 1), match[3]
    elif match := MONTH_DAY_YEAR.match(text):
        month, day, year = str(MONTHS.index(match[1][:3].lower()) + 1), match[2], match[3]
    else:
        return None
    if len(year) == 2:  # as POSIX reads them: 69 to 99 are of the last century
        year = f"{'19' if int(year) >= 69 else '20'}{year}"
    return f"{year}-{month:0>2}-{day:0>2}", match.end()


def _clock_of_twelve(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
    return f"{hour:02}{match[2] or ':00'}"


def _hours(clock: time) -> float:
    return clock.hour + clock.minute / 60 + (clock.second + clock.microsecond / 1e6) / 3600


def dates(column: Any, parts: tuple[DatePart, ...], order: str = "") -> NDArray[np.float64]:
    """Return a column of dates as (rows, parts), NaN where it is not a date."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray) and pa.types.is_integer(column.type):  # like 20240229
        column = column.cast(pa.string())
    texts, codes = distinct(column) if is_text(column) else ([], np.zeros(len(column), np.int64))
    if not texts:
        return np.full((len(column), len(parts)), np.nan)
    none = (np.nan,) * 3
    values = np.array([date_numbers(text, order) or none for text in texts], float)
    return values[:, [DATE_PARTS.index(part) for part in parts]][codes]


def as_numpy(column: Any) -> NDArray[Any]:
    """Convert an Arrow array of numbers to NumPy; ``to_numpy`` would import pandas, which takes 0.2 s."""
    return column.to_numpy(zero_copy_only=False) if column.null_count else np.from_dlpack(column)


def take(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a column; with a NumPy array, ``take`` of pyarrow would import pandas."""
    if isinstance(column, np.ndarray):
        return column[rows]
    import pyarrow as pa

    indices = pa.py_buffer(np.ascontiguousarray(rows, dtype=np.int64))
    return column.take(pa.Array.from_buffers(pa.int64(), rows.size, [None, indices]))


def distinct(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct strings of a column, and the index of the string of each row."""
    encoded = without_nulls(column).dictionary_encode()
    return encoded.dictionary.to_pylist(), as_numpy(encoded.indices).astype(np.int64)


def are_int64(column: Any) -> bool:
    """Whether every string is an integer that int64 holds."""
    import pyarrow as pa

    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def is_long_integer(text: str) -> bool:
    """Whether a text is an integer that int64 does not hold.

    >>> is_long_integer(str(2**63)), is_long_integer(str(-(2**63))), is_long_integer("1e19")
    (True, False, False)
    """
    return LONG_INTEGER.fullmatch(text) is not None and not -(2**63) <= int(text) < 2**63
