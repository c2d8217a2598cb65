"""Memory that is used again: new memory is dear, for the system clears every page of it."""

import sys
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

HELD = 8  # pieces of memory that are kept at most
NOBODY = 3  # references to a piece that no array is made of: the list's, the loop's, the question's


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
        self._held: list[NDArray[np.uint8]] = []

    def take(self, shape: int | tuple[int, ...], kind: Any) -> NDArray[Any]:
        """Return an array, of anything."""
        shape = shape if isinstance(shape, tuple) else (shape,)
        size = prod(shape) * np.dtype(kind).itemsize
        for memory in self._held:
            if memory.size >= size and sys.getrefcount(memory) == NOBODY:
                return _shaped(memory, size, shape, kind)
        new = np.empty(size + (size >> 3), np.uint8)
        if len(self._held) < HELD:
            self._held.append(new)
        return _shaped(new, size, shape, kind)


def _shaped(memory: NDArray[np.uint8], size: int, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    found: NDArray[Any] = memory[:size].view(kind).reshape(shape)
    return found
