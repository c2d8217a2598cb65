"""Examples as dicts, turned into rows: features in the order of their places, which is the order of every sum.

A stream mostly says the same names again and again. So what was found out about the names of one example (a layout) is
kept, and the next one with these names costs one look at its values.
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
from rosenblatt.data.json_lines import flattened
from rosenblatt.data.named import Vocabulary

Example = Mapping[Any, Any]
NUMBERS = frozenset((int, float))
NOT_NUMBERS = (KeyError, TypeError, OverflowError, StructError)  # what taking values for numbers may meet
AT_ONCE = 1 << 17  # numbers that are handed over in one call, which puts them all on the stack


class Layout(NamedTuple):
    """How examples with certain names are laid out: which values, in which order, in which places."""

    pick: Callable[[Any], tuple[Any, ...]]
    pack: Callable[..., None]  # as of struct: into memory, from where, the numbers
    places: NDArray[np.uint32]  # ascending

    def rows(self, X: Sequence[Example]) -> Rows | None:
        """Return examples as rows where all of them have these names and numbers for them, else None."""
        size, n = self.places.size, len(X)
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
        return regular_rows(values, self.places, n)


def layout_of(x: Example, vocabulary: Vocabulary) -> Layout | None:
    """Return the layout of an example of numbers whose names are known and have places of their own, else None.

    >>> words = Vocabulary()
    >>> _ = words.place("free"), words.place("offer")
    >>> layout_of({"offer": 2, "free": 1}, words).pick({"offer": 5, "free": 7})
    (7, 5)
    """
    if not {type(value) for value in x.values()} <= NUMBERS:
        return None
    places: dict[Any, Any] = {name: _known_place(str(name), vocabulary) for name in x}
    if None in places.values() or len(set(places.values())) < len(places):
        return None
    names = sorted(places, key=places.__getitem__)
    pick: Any = itemgetter(*names) if len(names) > 1 else lambda x: tuple(x[name] for name in names)
    return Layout(
        pick, Struct(f"{len(names)}d").pack_into, np.array([places[name] for name in names], np.uint32)
    )


def laid_row(x: Example, vocabulary: Vocabulary) -> tuple[list[int], list[float], bool]:
    """Return places in order and numbers of one example, and whether all its names are known.

    A number counts as it is, text becomes ``name=value``, true is 1, false and None are nothing; names that share a
    hash add up.
    """
    row = _known_numbers(x, vocabulary)
    if row is not None:
        return list(row), list(row.values()), True
    row, whole = {}, True
    for name, value in flattened({str(key): value for key, value in x.items()}).items():
        at = vocabulary.place(name)
        if at >= 0:
            row[at] = row.get(at, 0.0) + value
        else:
            whole = False
    places = sorted(row)
    return places, [row[at] for at in places], whole


def _known_numbers(x: Example, vocabulary: Vocabulary) -> dict[int, float] | None:
    """Return the numbers of an example by their places, in order, where all names are known and all is numbers."""
    if vocabulary.bits or not {type(value) for value in x.values()} <= NUMBERS:
        return None
    try:
        places = map(vocabulary.index.__getitem__, x)
        row = dict(sorted(zip(places, map(float, x.values()), strict=True)))
        return row if isfinite(sum(row.values())) else None
    except (KeyError, OverflowError):
        return None


def rows_of_dicts(X: Iterable[Example], vocabulary: Vocabulary) -> Rows:
    """Return examples as rows, whatever their names."""
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    for x in X:
        places, numbers, _ = laid_row(x, vocabulary)
        indices += places
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


class Columns(NamedTuple):
    """How tables with certain columns become rows."""

    names: list[str]
    order: (
        NDArray[np.intp] | None
    )  # of the columns by their places, unknown ones left out; None: as they stand
    places: NDArray[np.int64]
    for_good: bool  # whether it holds for every table with these names that comes later

    def rows(self, block: NDArray[np.float64], room: BlockMemory) -> Rows:
        """Return a table as rows; columns that share a place are added."""
        places = self.places
        if self.order is not None:
            block = block[:, self.order]
            first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]])[: places.size])
            if first.size < places.size:
                block, places = np.add.reduceat(block, first, axis=1), places[first]
        return regular_rows(room.flat(block), places.astype(np.uint32), block.shape[0])


def columns_in(names: list[str], vocabulary: Vocabulary) -> Columns:
    """Find the places of columns by their names."""
    places = np.array([vocabulary.place(name) for name in names], np.int64)
    for_good = bool((places >= 0).all())
    if for_good and bool((places[1:] > places[:-1]).all()):
        return Columns(names, None, places, True)
    order = np.argsort(places, kind="stable")
    order = order[places[order] >= 0]
    return Columns(names, order, places[order], for_good)


def regular_rows(values: NDArray[np.float64], places: NDArray[np.uint32], n: int) -> Rows:
    """Return rows that all have these places."""
    if values.size > AT_ONCE:
        return Rows(values, *_regular(places, n))
    return Rows(values, *_regular_again(places.tobytes(), n))


def _regular(places: NDArray[np.uint32], n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    return np.tile(places, n), np.arange(n + 1, dtype=np.uint64) * np.uint64(places.size)


@lru_cache(maxsize=4)
def _regular_again(places: bytes, n: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Batches of one stream are mostly alike."""
    return _regular(np.frombuffer(places, np.uint32), n)


def _known_place(name: str, vocabulary: Vocabulary) -> int | None:
    return vocabulary.place(name) if vocabulary.bits else vocabulary.index.get(name)
