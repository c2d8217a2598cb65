"""Named examples as sparse rows: dicts, and tables of named columns. Indices ascend, which fixes the order of sums.

Tables of a stream mostly have the same columns: what was computed for their names (:class:`TableColumns`) is used again
while the names stay the same.
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
ROW_SIZE = 256  # values and names that a reader has room for, at least
AT_ONCE = 1 << 17  # values of a block whose indices are cached


class ExampleReader:
    """Reads dicts into sparse rows over a vocabulary, by compiled code where all values are numbers.

    A number counts as it is, text becomes ``name=value``, true is 1, false and None are nothing; names that share a
    hash add up. Compiled code that reads one row takes ``address``, where ``room`` is as large as the example.

    >>> reader = ExampleReader(Vocabulary())
    >>> values, indices, starts = reader.rows([{"free": 2, "offer": 1}, {"offer": 3, "at": "noon", "free": 1}])
    >>> values.tolist(), indices.tolist(), starts.tolist()
    ([2.0, 1.0, 1.0, 3.0, 1.0], [0, 1, 0, 1, 2], [0, 2, 5])
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._index = vocabulary.index  # compiled code has its address
        self._reader = new_reader(self._index)
        self.address: int = self._reader.ctypes.data
        self._functions = reader_functions()
        self.values, self.indices = np.empty(0), np.empty(0, np.uint32)
        self.room = self._most_names = 0  # of values, of names in one example
        self._flattened: Example | None = None  # the example with text that is in the first row
        self._flattened_at = -1  # how many rows compiled code had read by then
        self._text_names: tuple[tuple[Any, ...], ...] = (
            (),
            (),
            (),
        )  # of the example before: names, types, text
        self._set_starts(1)
        self.make_room(1, 1)

    def make_room(self, names: int, values: int) -> None:
        """Make room for so many names in one example and values in all rows; addresses of the rows change."""
        if values > self.room:
            size = max(ROW_SIZE, 2 * values)
            self.values = np.concatenate([self.values, np.zeros(size - self.room)])
            self.indices = np.concatenate([self.indices, np.zeros(size - self.room, np.uint32)])
            self.room = size
            self._reader["room"] = size
            self._enter("values", self.values)
            self._enter("indices", self.indices)
        if names > self._most_names:
            self._most_names = size = max(ROW_SIZE, 2 * names)
            self._codes, self._numbers = np.zeros(size, np.int64), np.zeros(size)
            self._keys, self._unknown = np.zeros(size, np.uint64), np.zeros(size, np.int64)
            self._enter("codes", self._codes)
            self._enter("numbers", self._numbers)
            self._enter("keys", self._keys)
            self._enter("unknown", self._unknown)
            self._reader["most_names"], self._reader["names"] = size, NOTHING_READ

    def set_features(self, n_features: int) -> None:
        """Set how many features have weights; compiled code stops where an example has more."""
        self._reader["features"] = n_features

    def _set_starts(self, rows: int) -> None:
        self.starts = np.zeros(rows + 1, np.uint64)
        self._enter("starts", self.starts)

    def _enter(self, name: str, array: NDArray[Any]) -> None:
        self._reader[name] = array.ctypes.data

    def read(self, x: Example, row: int = 0) -> None:
        """Read an example into a row; the rows before it are filled."""
        self.make_room(len(x), int(self.starts[row]) + len(x))
        if not TEXT.issuperset(map(type, x)):
            x = self._with_text_names(x)
        if (self._read_hashed if self.vocabulary.bits else self._read_named)(x, row) < 0:
            self._read_any(x, row)

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
        except OverflowError:  # an int beyond a float
            return NOT_NUMBERS
        self._codes[: len(x)] = codes
        self._reader["names"] = NOTHING_READ
        unknown = self._functions.arrange(self.address, row, len(x))
        if unknown == 0 and self.vocabulary.on_name is not None:
            for code, name in zip(codes, x, strict=True):
                self.vocabulary.on_name(code, name)
        return unknown

    def _read_any(self, x: Example, row: int) -> None:
        """Read an example with text and other values; one that has just been predicted is still in the first row."""
        rows_read = self._reader["rows_read"].item()
        if row == 0 and rows_read == self._flattened_at and x == self._flattened:
            return
        indices, numbers, all_known = flattened_row(x, self.vocabulary)
        start, n = int(self.starts[row]), len(indices)
        self.make_room(len(x), start + n)
        self.values[start : start + n], self.indices[start : start + n] = numbers, indices
        self.starts[row + 1] = start + n
        self._reader["names"] = NOTHING_READ
        if row == 0:
            self._flattened, self._flattened_at = dict(x) if all_known else None, rows_read

    def rows(self, X: Iterable[Example]) -> Rows:
        """Return examples as rows that are valid until the next are read."""
        examples = X if type(X) is list else list(X)
        sizes = list(map(len, examples))
        self._set_starts(len(examples))
        self.make_room(max(sizes, default=0), sum(sizes))
        row = 0
        while row < len(examples):
            if not self.vocabulary.bits:
                row = self._functions.read_many(self.address, id(examples), row, self.vocabulary.grow)
            if row < len(examples):
                self.read(examples[row], row)
                row += 1
        count = int(self.starts[-1])
        return Rows(self.values[:count], self.indices[:count], self.starts)


def flattened_row(x: Example, vocabulary: Vocabulary) -> tuple[list[int], list[float], bool]:
    """Return ascending features and numbers of one example, and whether all its names are known.

    A number counts as it is, text becomes ``name=value``, true is 1, false and None are nothing; names that share a
    hash add up.
    """
    row: dict[int, float] = {}
    all_known = True
    for name, value in flattened({str(key): value for key, value in x.items()}).items():
        at = vocabulary.feature(name)
        if at >= 0:
            row[at] = row.get(at, 0.0) + value
        else:
            all_known = False
    indices = sorted(row)
    return indices, [row[at] for at in indices], all_known


def valid_names(names: Sequence[Any]) -> bool:
    """Return whether all names are text that a model file can hold."""
    return TEXT.issuperset(map(type, names)) and invalid_text_reason("".join(names)) is None


class BlockMemory:
    """Memory that is used again: a new block of pages for every batch costs as much as filling it."""

    def __init__(self) -> None:
        self._numbers = np.empty(0)

    def flat(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers of a block row by row, until the next block comes."""
        if block.flags.c_contiguous:
            return block.reshape(-1)
        if block.size > self._numbers.size:
            self._numbers = np.empty(block.size)
        room = self._numbers[: block.size]
        np.copyto(room.reshape(block.shape), block)
        return room


class TableColumns(NamedTuple):
    """How tables with certain columns become rows."""

    names: list[str]
    order: NDArray[np.intp] | None  # of the columns by feature, unknown ones left out; None: as they are
    indices: NDArray[np.int64]  # the features of the columns in that order
    permanent: bool  # whether it holds for every later table with these names

    def rows(self, block: NDArray[np.float64], memory: BlockMemory) -> Rows:
        """Return a table as rows; columns that share a feature are added."""
        indices = self.indices
        if self.order is not None:
            block = block[:, self.order]
            first = np.flatnonzero(np.concatenate([[True], indices[1:] != indices[:-1]])[: indices.size])
            if first.size < indices.size:
                block, indices = np.add.reduceat(block, first, axis=1), indices[first]
        return regular_rows(memory.flat(block), indices.astype(np.uint32), block.shape[0])


def table_columns(names: list[str], vocabulary: Vocabulary) -> TableColumns:
    """Return how columns with these names become rows."""
    indices = np.array([vocabulary.feature(name) for name in names], np.int64)
    permanent = bool((indices >= 0).all())
    if permanent and bool((indices[1:] > indices[:-1]).all()):
        return TableColumns(names, None, indices, True)
    order = np.argsort(indices, kind="stable")
    order = order[indices[order] >= 0]
    return TableColumns(names, order, indices[order], permanent)


def regular_rows(values: NDArray[np.float64], indices: NDArray[np.uint32], n: int) -> Rows:
    """Return rows that all have these indices."""
    if values.size > AT_ONCE:
        return Rows(values, *_regular(indices, n))
    return Rows(values, *_cached_regular(indices.tobytes(), n))


def _regular(indices: NDArray[np.uint32], n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    return np.tile(indices, n), np.arange(n + 1, dtype=np.uint64) * np.uint64(indices.size)


@lru_cache(maxsize=4)
def _cached_regular(indices: bytes, n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the same for batches of the size of one before, without building it again."""
    return _regular(np.frombuffer(indices, np.uint32), n)


class ColumnNames:
    """The names of columns as text; converting them takes time, and tables of one stream have the same."""

    def __init__(self) -> None:
        self._columns: Any = None
        self._names: list[str] = []

    def of(self, columns: Any) -> list[str]:
        """Return the names as text; the same list where nothing has changed."""
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
    """Raise ValueError naming the first number that is not finite."""
    wrong = np.argwhere(~np.isfinite(numbers))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"column {names[column]!r} is {numbers[row, column]} in row {row}: not a finite number"
        )


def _same_text(columns: Any, before: Any) -> bool:
    """Return whether names are text, the same as before; only of text does equal mean the same."""
    if type(columns) is not type(before) or str(getattr(columns, "dtype", "")) != "str":
        return False
    return columns is before or bool(columns.equals(before))
