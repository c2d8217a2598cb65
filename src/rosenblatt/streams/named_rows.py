"""Named examples (dicts and tables) as sparse rows; ascending indices fix the order of sums.

Tables of a stream mostly have the same columns, so the result for their names (:class:`TableColumns`) is cached.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import is_not
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.named import NOT_NUMBERS, NOTHING_READ, new_reader, reader_functions
from rosenblatt.core.rows import Rows
from rosenblatt.data.labels import invalid_text_reason
from rosenblatt.data.named.json_lines import flattened
from rosenblatt.data.named.vocabulary import Vocabulary

Example = Mapping[Any, Any]
NUMBERS = frozenset((int, float))
TEXT = frozenset((str,))
ROW_SIZE = 256  # smallest capacity of a reader, in values and names
CACHED_VALUES = 1 << 17  # largest block whose indices are cached


class ExampleReader:
    """Reads dicts into sparse rows over a vocabulary, by compiled code where all values are numbers.

    A number is a value, text becomes ``name=value``, true is 1, false and None are ignored; values of names with the
    same hash add up. Compiled code reads one row by ``address``, if ``capacity`` is at least its size.

    >>> reader = ExampleReader(Vocabulary())
    >>> values, indices, starts = reader.rows([{"free": 2, "offer": 1}, {"offer": 3, "at": "noon", "free": 1}])
    >>> values.tolist(), indices.tolist(), starts.tolist()
    ([2.0, 1.0, 1.0, 3.0, 1.0], [0, 1, 0, 1, 2], [0, 2, 5])
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._index = vocabulary.index  # compiled code has its address
        self._integers: dict[int, int] = {}  # features of names that are integers
        self._reader = new_reader(self._index, self._integers)
        self.address: int = self._reader.ctypes.data
        self._functions = reader_functions()
        self.values, self.indices = np.empty(0), np.empty(0, np.uint32)
        self.capacity = self._most_names = 0  # values in all rows, names in one example
        self._flattened: Example | None = None  # the example with text in the first row
        self._flattened_after = -1  # rows that compiled code had read before it
        # of the example before: names, types, text
        self._text_names: tuple[tuple[Any, ...], ...] = ((), (), ())
        self._set_starts(1)
        self.reserve(1, 1)

    def reserve(self, names: int, values: int) -> None:
        """Increase the capacity to ``names`` names in one example and ``values`` values; addresses change."""
        if values > self.capacity:
            size = max(ROW_SIZE, 2 * values)
            self.values = np.concatenate([self.values, np.zeros(size - self.capacity)])
            self.indices = np.concatenate([self.indices, np.zeros(size - self.capacity, np.uint32)])
            self.capacity = size
            self._reader["capacity"] = size
            self._set_address("values", self.values)
            self._set_address("indices", self.indices)
        if names > self._most_names:
            self._functions.release(self.address)
            self._most_names = size = max(ROW_SIZE, 2 * names)
            self._codes, self._numbers = np.zeros(size, np.int64), np.zeros(size)
            self._keys, self._unknown = np.zeros(size, np.uint64), np.zeros(size, np.int64)
            self._held = np.zeros(size, np.int64)
            self._set_address("codes", self._codes)
            self._set_address("numbers", self._numbers)
            self._set_address("keys", self._keys)
            self._set_address("unknown", self._unknown)
            self._set_address("held", self._held)
            self._reader["max_names"], self._reader["names"] = size, NOTHING_READ

    def __del__(self) -> None:
        """Give up the references to names."""
        if hasattr(self, "_functions"):
            self._functions.release(self.address)

    def set_features(self, n_features: int) -> None:
        """Set the number of features with weights; compiled code stops at an example with others."""
        self._reader["features"] = n_features

    def _set_starts(self, rows: int) -> None:
        self.starts = np.zeros(rows + 1, np.uint64)
        self._set_address("starts", self.starts)

    def _set_address(self, name: str, array: NDArray[Any]) -> None:
        self._reader[name] = array.ctypes.data

    def read(self, x: Example, row: int = 0) -> None:
        """Read an example into a row, after the previous rows."""
        check_names(x)
        self.reserve(len(x), int(self.starts[row]) + len(x))
        text_only = TEXT.issuperset(map(type, x))
        if not text_only:
            x = self._with_text_names(x)
        if (self._read_hashed if self.vocabulary.bits else self._read_named)(x, row) < 0:
            self._read_any(x, row)
        if not text_only:
            for name, kind, text in zip(*self._text_names, strict=True):
                if kind is int and text in self._index:
                    self._integers[name] = self._index[text]

    def _with_text_names(self, x: Example) -> Example:
        """Return an example whose names are text: names such as 0, 1, 2 are converted once."""
        names, text = tuple(x), self._text_names
        if names != text[0] or any(map(is_not, map(type, names), text[1])):  # True == 1 == 1.0
            self._text_names = text = (names, tuple(map(type, names)), tuple(map(str, names)))
        return dict(zip(text[2], x.values(), strict=True))

    def _read_named(self, x: Example, row: int) -> int:
        example = x if type(x) is dict else dict(x)
        return self._functions.read(self.address, id(example), row, self.vocabulary.grow)

    def _read_hashed(self, x: Example, row: int) -> int:
        """Read an example of numbers whose names are hashed."""
        if not NUMBERS.issuperset(map(type, x.values())) or not valid_names(tuple(x)):
            return NOT_NUMBERS
        codes = self.vocabulary.codes(x)
        try:
            self._numbers[: len(x)] = tuple(x.values())
        except OverflowError:  # an int beyond float64
            return NOT_NUMBERS
        self._codes[: len(x)] = codes
        self._reader["names"] = NOTHING_READ
        unknown = self._functions.arrange(self.address, row, len(x))
        if unknown == 0 and self.vocabulary.on_name is not None:
            for code, name in zip(codes, x, strict=True):
                self.vocabulary.on_name(code, name)
        return unknown

    def _read_any(self, x: Example, row: int) -> None:
        """Read an example with text or other values, unless it is the one in the first row, just predicted."""
        rows_read = self._reader["rows_read"].item()
        if row == 0 and rows_read == self._flattened_after and x == self._flattened:
            return
        indices, numbers, all_known = flattened_row(x, self.vocabulary)
        start, n = int(self.starts[row]), len(indices)
        self.reserve(len(x), start + n)
        self.values[start : start + n], self.indices[start : start + n] = numbers, indices
        self.starts[row + 1] = start + n
        self._reader["names"] = NOTHING_READ
        if row == 0:
            self._flattened, self._flattened_after = dict(x) if all_known else None, rows_read

    def rows(self, X: Iterable[Example]) -> Rows:
        """Return examples as rows, valid until the next call."""
        examples = X if type(X) is list else list(X)
        sizes = list(map(len, examples))
        self._set_starts(len(examples))
        self.reserve(max(sizes, default=0), sum(sizes))
        row = 0
        while row < len(examples):
            if not self.vocabulary.bits:
                row = self._functions.read_many(self.address, id(examples), row, self.vocabulary.grow)
            if row < len(examples):
                self.read(examples[row], row)
                row += 1
        count = int(self.starts[-1])
        return Rows(self.values[:count], self.indices[:count], self.starts)


def check_names(x: Example) -> None:
    """Raise TypeError for an example whose features have no names."""
    if not hasattr(x, "items"):
        raise TypeError(
            f"an example is a dict of features such as {{'wind': 3, 'sky': 'grey'}}, got {type(x).__name__}"
        )


def named_numbers(x: Example) -> dict[str, float]:
    """Return the features of one example by name.

    >>> named_numbers({"wind": 3, "sky": "grey"})
    {'wind': 3.0, 'sky=grey': 1.0}
    """
    check_names(x)
    return flattened({str(key): value for key, value in x.items()})


def flattened_row(x: Example, vocabulary: Vocabulary) -> tuple[list[int], list[float], bool]:
    """Return ascending features and numbers of one example, and whether all its names are known.

    A number is a value, text becomes ``name=value``, true is 1, false and None are ignored; values of names with the
    same hash add up.
    """
    row: dict[int, float] = {}
    all_known = True
    for name, value in named_numbers(x).items():
        feature = vocabulary.feature(name)
        if feature >= 0:
            row[feature] = row.get(feature, 0.0) + value
        else:
            all_known = False
    indices = sorted(row)
    return indices, [row[feature] for feature in indices], all_known


def valid_names(names: Sequence[Any]) -> bool:
    """Whether all names are text that a model file can store."""
    return TEXT.issuperset(map(type, names)) and invalid_text_reason("".join(names)) is None


class BlockMemory:
    """A reused buffer: allocating pages for every batch costs as much as filling them."""

    def __init__(self) -> None:
        self._numbers = np.empty(0)

    def flat(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers of a block in row order, valid until the next call."""
        if block.flags.c_contiguous:
            return block.reshape(-1)
        if block.size > self._numbers.size:
            self._numbers = np.empty(block.size)
        flat_block = self._numbers[: block.size]
        np.copyto(flat_block.reshape(block.shape), block)
        return flat_block


class TableColumns(NamedTuple):
    """The map from tables with certain columns to rows."""

    names: list[str]
    order: NDArray[np.intp] | None  # known columns, sorted by feature; None: all columns, already sorted
    indices: NDArray[np.int64]  # the features of the columns in that order
    permanent: bool  # whether it is valid for all later tables with these names

    def rows(self, block: NDArray[np.float64], memory: BlockMemory) -> Rows:
        """Return a table as rows; columns of the same feature add up."""
        indices = self.indices
        if self.order is not None:
            block = block[:, self.order]
            first = np.flatnonzero(np.concatenate([[True], indices[1:] != indices[:-1]])[: indices.size])
            if first.size < indices.size:
                block, indices = np.add.reduceat(block, first, axis=1), indices[first]
        return regular_rows(memory.flat(block), indices.astype(np.uint32), block.shape[0])


def table_columns(names: list[str], vocabulary: Vocabulary) -> TableColumns:
    """Return the map to rows for columns with these names."""
    indices = np.array([vocabulary.feature(name) for name in names], np.int64)
    permanent = bool((indices >= 0).all())
    if permanent and bool((indices[1:] > indices[:-1]).all()):
        return TableColumns(names, None, indices, True)
    order = np.argsort(indices, kind="stable")
    order = order[indices[order] >= 0]
    return TableColumns(names, order, indices[order], permanent)


def regular_rows(values: NDArray[np.float64], indices: NDArray[np.uint32], n: int) -> Rows:
    """Return rows that all have the same indices."""
    if values.size > CACHED_VALUES:
        return Rows(values, *_regular(indices, n))
    return Rows(values, *_cached_regular(indices.tobytes(), n))


def _regular(indices: NDArray[np.uint32], n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    return np.tile(indices, n), np.arange(n + 1, dtype=np.uint64) * np.uint64(indices.size)


@lru_cache(maxsize=4)
def _cached_regular(indices: bytes, n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the cached result for batches of the same size and indices."""
    return _regular(np.frombuffer(indices, np.uint32), n)


class ColumnNames:
    """A cache of column names as text: conversion takes time, and tables of a stream share their names."""

    def __init__(self) -> None:
        self._columns: Any = None
        self._names: list[str] = []

    def of(self, columns: Any) -> list[str]:
        """Return the names as text; the same list object if nothing has changed."""
        if not _same_text(columns, self._columns):
            listed = columns.tolist() if hasattr(columns, "tolist") else list(columns)
            self._columns, self._names = (
                columns,
                [name if type(name) is str else str(name) for name in listed],
            )
        return self._names


def columns_of(X: Any, names: ColumnNames) -> tuple[list[str], NDArray[np.float64]] | None:
    """Return the names and the numbers of a data frame, an Arrow table or a dict of columns; None for anything else.

    >>> columns_of({"a": [1, 2], "b": [0.5, 0]}, ColumnNames())
    (['a', 'b'], array([[1. , 0.5], [2. , 0. ]]))
    >>> columns_of([{"a": 1}], ColumnNames()) is None
    True
    """
    if isinstance(X, list):
        return None
    if isinstance(X, Mapping):
        columns: Any = list(X)
        block = np.column_stack([np.asarray(column) for column in X.values()]) if X else np.empty((0, 0))
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        columns, block = X.columns, X.to_numpy()
    elif hasattr(X, "column_names"):  # Arrow
        columns, block = X.column_names, np.column_stack([np.asarray(column) for column in X.columns])
    else:
        return None
    if block.dtype.kind not in "biuf":
        raise ValueError("columns must hold numbers; give examples with text as dicts")
    return names.of(columns), block.astype(np.float64, copy=False)


def check_columns(names: Sequence[str], numbers: NDArray[np.float64]) -> None:
    """Raise ValueError with column and row of the first number that is not finite."""
    invalid = np.argwhere(~np.isfinite(numbers))
    if invalid.size:
        row, column = invalid[0]
        raise ValueError(
            f"column {names[column]!r} is {numbers[row, column]} in row {row}: not a finite number"
        )


def _same_text(columns: Any, before: Any) -> bool:
    """Whether names are text and equal to those before; for other types, equal does not mean identical."""
    if type(columns) is not type(before) or str(getattr(columns, "dtype", "")) != "str":
        return False
    return columns is before or bool(columns.equals(before))
