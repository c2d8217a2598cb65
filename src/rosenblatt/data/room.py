"""Memory that is used again: new memory is dear, for the system clears every page of it."""

import sys
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

HELD = 8  # pieces of memory that are kept at most

T = TypeVar("T")


def _references(held: list[NDArray[Any]]) -> list[int]:
    """Return how many references there are to every piece, as this Python counts them."""
    return [sys.getrefcount(memory) for memory in held]


# References to a piece that no array is made of; versions of Python differ.
NOBODY = _references([np.empty(1)])[0]


class Room:
    """Arrays of memory that no other array uses any more. For one thread; the arrays may go anywhere.

    >>> room = Room()
    >>> first = room.take((2, 3), np.float64)
    >>> where = first.ctypes.data
    >>> room.take((2, 3), np.float64).ctypes.data == where  # somebody holds the first
    False
    >>> del first
    >>> room.take((2, 3), np.float64).ctypes.data == where
    True
    """

    def __init__(self) -> None:
        self._held: list[NDArray[Any]] = []
        self._made: dict[Callable[[], Any], Any] = {}

    def once(self, make: Callable[[], T]) -> T:
        """Return what ``make`` makes, made once."""
        if make not in self._made:
            self._made[make] = make()
        return self._made[make]  # type: ignore[no-any-return]

    def take(self, shape: int | tuple[int, ...], kind: Any) -> NDArray[Any]:
        """Return an array, of anything; never less than half of a piece, of which scipy would make a copy."""
        shape = shape if isinstance(shape, tuple) else (shape,)
        size = prod(shape)
        for memory, references in zip(self._held, _references(self._held), strict=True):
            if references == NOBODY and memory.dtype == kind and size <= memory.size < 2 * size:
                return memory[:size].reshape(shape)
        new = np.empty(size + (size >> 3), kind)
        if len(self._held) == HELD:
            del self._held[0]
        self._held.append(new)
        return new[:size].reshape(shape)
