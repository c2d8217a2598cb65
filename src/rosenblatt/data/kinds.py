"""What a column may be, by the values seen so far: numeric, discrete or text."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.schema import LabelKind
from rosenblatt.data.words import looks_like_text

MOST_VALUES = 1 << 16  # that are remembered of a column while its kind is not known
TEXT_ROWS = 1000  # whether a column is text is judged by this many rows


class PlainNumbers(NamedTuple):
    """A column of numbers that nobody has read yet."""

    whole: bool  # all are certainly integers, and exact in a float64


class Kind:
    """What the values of a column seen so far allow it to be."""

    def __init__(self) -> None:
        self.all_numbers = True
        self.all_integers = True
        self.any_value = False
        self.all_there = True  # no number is missing, or not finite
        self.values: set[str] | None = set()  # all that are not numbers; None where not all are known
        self._sample: list[Any] = []
        self._sampled = 0

    @property
    def numeric(self) -> bool:
        """Every value is a number, and there is one."""
        return self.all_numbers and self.any_value

    @property
    def text(self) -> bool:
        """The first values read like prose."""
        if self.all_numbers:
            return False
        values = (value for part in self._sample for value in part.to_pylist())
        return looks_like_text(value for value in values if value not in MISSING)

    @property
    def labels(self) -> LabelKind:
        """What labels in this column are."""
        if not self.numeric:
            return "text"
        return "integer" if self.all_integers else "number"

    def see(self, column: Any) -> None:
        """Take in the values of a block: strings or numbers of Arrow's; numpy's or other plain numbers."""
        if isinstance(column, PlainNumbers):
            self.any_value, self.values = True, None
            self.all_integers &= column.whole
            return
        if isinstance(column, np.ndarray):
            there = column == column  # noqa: PLR0124 (a missing one is not even itself)
            self.any_value |= bool(there.any())
            self.all_there &= bool(there.all())
            self.values = None
            self.all_integers = self.all_integers and bool(((column == np.rint(column)) | ~there).all())
            return
        if self._sampled < TEXT_ROWS:
            self._sample.append(column[: TEXT_ROWS - self._sampled])
            self._sampled += len(self._sample[-1])
        if len(column) == 0:
            return
        if self.all_numbers:
            self._see_numbers(column)
        if self.all_numbers:
            self.values = None
        elif self.values is not None:
            self.values.update(column.unique().to_pylist())
            if len(self.values) > MOST_VALUES:
                self.values = None

    def _see_numbers(self, column: Any) -> None:
        """Take in values that may all be numbers."""
        values = numbers(column)
        odd = np.flatnonzero(~np.isfinite(values))
        texts = ["" if text is None else str(text) for text in taken(column, odd).unique().to_pylist()]
        self.all_numbers = all(text in MISSING or number(text) is not None for text in texts)
        self.any_value |= odd.size < values.size or any(text not in MISSING for text in texts)
        self.all_there &= odd.size == 0
        finite = np.delete(values, odd)
        whole = bool((finite == np.rint(finite)).all())
        self.all_integers &= whole and (bool((np.abs(finite) < 2.0**53).all()) or are_int64(column))


def number(text: str) -> float | None:
    """Read a decimal number, or return None.

    >>> number(" 1e3"), number("1_000"), number("x")
    (1000.0, None, None)
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def numbers(column: Any) -> NDArray[np.float64]:
    """Read a column of strings, or of numbers, as float64; NaN where there is no number."""
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        return column
    if column.type != pa.string():
        return as_numpy(
            column.cast(pa.float64(), safe=False)
        )  # an integer beyond 2^53 is rounded, as in text
    for read in (_cast, _cast_where_not_missing):
        try:
            read(column[:20])  # a cast that fails is slow: fail early
            return read(column)
        except pa.ArrowInvalid:
            continue
    texts, codes = distinct(column)
    found = [number(text) for text in texts]
    return np.array([np.nan if value is None else value for value in found])[codes]


def _cast(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    return as_numpy(column.cast(pa.float64()))


def _cast_where_not_missing(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(column, _missing())
    values = pc.if_else(missing, pa.nulls(1, pa.string())[0], column).cast(pa.float64())
    found = np.full(len(column), np.nan)
    found[as_numpy(missing.cast(pa.int8())) == 0] = as_numpy(values.drop_null())
    return found


@cache
def _missing() -> Any:
    """Return what missing values look like as Arrow has it; made by hand, for pa.array would import pandas."""
    import pyarrow as pa

    ends = np.cumsum([0, *(len(text) for text in MISSING)]).astype(np.int32)
    parts = [None, pa.py_buffer(ends), pa.py_buffer("".join(MISSING).encode())]
    return pa.Array.from_buffers(pa.string(), len(MISSING), parts)


def as_numpy(column: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers as numpy; pyarrow's own way imports pandas, which takes 0.2 s."""
    return column.to_numpy(zero_copy_only=False) if column.null_count else np.from_dlpack(column)


def taken(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of an Arrow array; given numpy's numbers, pyarrow would import pandas."""
    import pyarrow as pa

    numbers = pa.py_buffer(np.ascontiguousarray(rows, dtype=np.int64))
    return column.take(pa.Array.from_buffers(pa.int64(), rows.size, [None, numbers]))


def distinct(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different strings of a column, and which one each row holds."""
    encoded = (column.fill_null("") if column.null_count else column).dictionary_encode()
    return encoded.dictionary.to_pylist(), as_numpy(encoded.indices).astype(np.int64)


def are_int64(column: Any) -> bool:
    """Whether every string is an integer that int64 holds."""
    import pyarrow as pa

    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
