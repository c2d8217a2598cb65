"""Compilation of the scanners, and the cache of their machine code."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from rosenblatt.jit import CodeCache

CODE = CodeCache("scanners", "data/scanners")

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a loop that allocates no array: it releases the GIL, and its machine code is cached on disk."""
    # Without `_nrt` numba counts references to the text at every call.
    return CODE.compiled(function, _nrt=False)


def compiled_with_arrays(function: F) -> F:
    """Compile a loop that allocates arrays."""
    return CODE.compiled(function)


def inlined(function: F) -> F:
    """Inline a function into every loop that calls it, where LLVM alone would not."""
    return numba.njit(inline="always")(function)


def as_bytes(text: bytes | bytearray | memoryview) -> NDArray[np.uint8]:
    """Return the bytes of a text as a read-only array, the type that the loops are compiled for."""
    data = np.frombuffer(text, np.uint8)
    data.flags.writeable = False
    return data
