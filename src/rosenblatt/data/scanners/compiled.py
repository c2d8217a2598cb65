"""How scanners are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from rosenblatt.jit import CodeCache

CODE = CodeCache("scanners", "data/scanners")

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a loop that makes no array: the GIL released, machine code kept on disk where there is a place for it."""
    # Without `_nrt` numba counts references to the text at every call.
    return CODE.compiled(function, _nrt=False)


def compiled_with_arrays(function: F) -> F:
    """Compile a loop that makes arrays of its own."""
    return CODE.compiled(function)


def inlined(function: F) -> F:
    """Make a function part of every loop that calls it, where LLVM alone would leave it out."""
    return numba.njit(inline="always")(function)


def as_bytes(text: bytes | bytearray | memoryview) -> NDArray[np.uint8]:
    """Return the bytes of a text as an array that nobody writes to: loops are compiled for that."""
    data = np.frombuffer(text, np.uint8)
    data.flags.writeable = False
    return data
