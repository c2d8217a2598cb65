"""How scanners are compiled, and where the machine code is kept between processes.

Numba finds compiled code again by the time stamp of the file that holds the loop, but a loop is also made of what
it calls in other files; so the code is kept in a folder named after the content of every file here.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a loop that makes no array: the GIL released, machine code kept on disk where there is a place for it."""
    return _compiled(function, _nrt=False)  # else numba counts references to the text at every call


def compiled_with_arrays(function: F) -> F:
    """Compile a loop that makes arrays of its own."""
    return _compiled(function)


def _compiled(function: F, **options: bool) -> F:
    with _cache_folder():
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # nowhere to keep machine code
            return numba.njit(nogil=True, **options)(function)


def inlined(function: F) -> F:
    """Make a function part of every loop that calls it, where LLVM alone would leave it out."""
    return numba.njit(inline="always")(function)


def as_bytes(text: bytes | bytearray) -> NDArray[np.uint8]:
    """Return the bytes of a text as an array that nobody writes to: loops are compiled for that."""
    data = np.frombuffer(text, np.uint8)
    data.flags.writeable = False
    return data


@contextlib.contextmanager
def _cache_folder() -> Iterator[None]:
    """Point numba's cache at our folder while a function is decorated, and only then."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder_for_this_version(before)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def _folder_for_this_version(numba_cache_dir: str) -> str:
    """Return a writable folder named after the sources, or numba's own choice where there is none."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(numba_cache_dir or user_cache) / "rosenblatt" / f"scanners-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return numba_cache_dir
    return str(folder) if os.access(folder, os.W_OK) else numba_cache_dir
