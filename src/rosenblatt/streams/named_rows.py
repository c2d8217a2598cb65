"""Named examples as sparse rows: dicts, and tables of named columns. Indices ascend, which fixes the order of sums.

A stream mostly repeats the same names. What was computed for one set of names (a :class:`NameOrder` for dicts,
:class:`TableColumns` for tables) is used again while the names stay the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import isfinite
from operator import itemgetter
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import Rows
from rosenblatt.data.labels import wrong_with_text
from rosenblatt.data.named.json_lines import flattened
from rosenblatt.data.named.vocabulary import Vocabulary

Example = Mapping[Any, Any]
NUMBERS = frozenset((int, float))
TEXT = frozenset((str,))
NOT_NUMBERS = (KeyError, TypeError, OverflowError, StructError)  # raised where a value is not a number
AT_ONCE = 1 << 17  # numbers passed to one call, which puts them all on the stack


def all_numbers(x: Example) -> bool:
    """Return whether all values are ints and floats (not bools), so that no name is built from a value."""
    return NUMBERS.issuperset(map(type, x.values()))


class NameOrder(NamedTuple):
    """For examples with certain names: the values in the order of their features."""

    pick: Callable[[Any], tuple[Any, ...]]
    pack: Callable[..., None]  # struct.pack_into
    indices: NDArray[np.uint32]  # ascending

    def rows(self, X: Sequence[Example]) -> Rows | None:
        """Return examples as rows where all of them have these names and numbers for them, else None."""
        size, n = self.indices.size, len(X)
        if any(len(x) != size for x in X) or not size:
            return None
        values: Any = np.empty(n * size)
        step = max(1, AT_ONCE // size)
        try:
            for lo in range(0, n, step):
                part = X[lo : lo + step]
                pack = self.pack if len(part) == 1 else Struct(f"{len(part) * size}d").pack_into
                pack(values, 8 * lo * size, *chain.from_iterable(map(self.pick, part)))
        except NOT_NUMBERS:
            return None
        return regular_rows(values, self.indices, n)


def name_order(x: Example, vocabulary: Vocabulary) -> NameOrder | None:
    """Return the order of an example of numbers whose names are known and have features of their own, else None.

    >>> words = Vocabulary()
    >>> _ = words.place("free"), words.place("offer")
    >>> name_order({"offer": 2, "free": 1}, words).pick({"offer": 5, "free": 7})
    (7, 5)
    """
    if not all_numbers(x):
        return None
    codes = dict(zip(x, vocabulary.codes(map(str, x)), strict=True))
    if min(codes.values(), default=0) < 0 or len(set(codes.values())) < len(codes):
        return None
    names = sorted(codes, key=codes.__getitem__)
    pick: Any = itemgetter(*names) if len(names) > 1 else lambda x: tuple(x[name] for name in names)
    return NameOrder(
        pick, Struct(f"{len(names)}d").pack_into, np.array([codes[name] for name in names], np.uint32)
    )


def flattened_row(x: Example, vocabulary: Vocabulary) -> tuple[list[int], list[float], bool]:
    """Return ascending features and numbers of one example, and whether all its names are known.

    A number counts as it is, text becomes ``name=value``, true is 1, false and None are nothing; names that share a
    hash add up.
    """
    row: dict[int, float] = {}
    all_known = True
    for name, value in flattened({str(key): value for key, value in x.items()}).items():
        at = vocabulary.place(name)
        if at >= 0:
            row[at] = row.get(at, 0.0) + value
        else:
            all_known = False
    indices = sorted(row)
    return indices, [row[at] for at in indices], all_known


def number_row(x: Example, vocabulary: Vocabulary) -> dict[int, float] | None:
    """Return the numbers of an example by ascending feature, None where a value is no finite number or a name no text.

    Names not met before join the vocabulary where it grows, else they are left out.
    """
    if vocabulary.bits or not all_numbers(x):
        return None
    codes = vocabulary.codes(x)
    try:
        row = dict(zip(codes, map(float, x.values()), strict=True))
        if not isfinite(sum(x.values())):
            return None
    except OverflowError:
        return None
    if -1 in row:
        unknown = [name for name, code in zip(x, codes, strict=True) if code < 0]
        if not valid_names(unknown):
            return None
        if vocabulary.grow:
            vocabulary.extend(unknown)
        row = dict(zip(vocabulary.codes(x), map(float, x.values()), strict=True))
        row.pop(-1, None)
    return dict(sorted(row.items()))


def valid_names(names: Sequence[Any]) -> bool:
    """Return whether all names are text that a model file can hold."""
    return TEXT.issuperset(map(type, names)) and wrong_with_text("".join(names)) is None


def rows_of_dicts(X: Iterable[Example], vocabulary: Vocabulary) -> Rows:
    """Return examples as rows, whatever their names."""
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    for x in X:
        row = number_row(x, vocabulary)
        own, numbers = (row.keys(), row.values()) if row is not None else flattened_row(x, vocabulary)[:2]
        indices += own
        values += numbers
        starts.append(len(indices))
    return Rows(np.array(values, np.float64), np.array(indices, np.uint32), np.array(starts, np.uint64))


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
    indices = np.array([vocabulary.place(name) for name in names], np.int64)
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
