"""How the hot loops are compiled, and where the machine code is kept between processes.

Numba finds compiled code again by the time stamp of the file that holds the loop. A pass is also made of
the rules it was specialised on, in other files; so the machine code is kept in a folder named after the
content of every file in ``rules/`` and ``passes/``, and code from an older version is never run.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

# NaN and infinity must stay visible, so never "nnan" or "ninf".
FASTMATH = {"reassoc", "nsz", "contract", "arcp"}

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a hot loop: the GIL released, sums free to be reordered, machine code kept on disk."""
    with _cache_folder():
        return numba.njit(nogil=True, cache=True, fastmath=FASTMATH)(function)


def exactly_compiled(function: F) -> F:
    """Compile a hot loop whose floating-point operations run in the order they are written (IEEE 754)."""
    with _cache_folder():
        return numba.njit(nogil=True, cache=True)(function)


def compiled_for_rules(function: F) -> F:
    """Compile a hot loop that takes a rule as its first argument and makes no array of its own.

    Rules of this package come from the disk cache. A rule defined elsewhere is compiled once a process:
    its source is not part of the cache's name, and a stale step would be a wrong one.
    """
    # Without `_nrt` numba counts references for every row it looks at: ten atomic operations a visit.
    return _for_rules(function, {"nogil": True, "fastmath": FASTMATH, "_nrt": False})


def compiled_around_rules(function: F) -> F:
    """Compile what wraps such a loop (its ``compiled`` attribute) and makes arrays for it."""
    return _for_rules(function, {"nogil": True, "fastmath": FASTMATH})


def _for_rules(function: F, options: dict[str, Any]) -> F:
    with _cache_folder():
        kept = numba.njit(cache=True, **options)(function)
    fresh = numba.njit(**options)(function)

    def run(rule: Any, *arguments: Any) -> Any:
        ours = type(rule).__module__.startswith("rosenblatt.rules.")
        return (kept if ours else fresh)(rule, *arguments)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.compiled = kept  # type: ignore[attr-defined]  # what other compiled functions call
    return run  # type: ignore[return-value]


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
    package = Path(__file__).parent.parent
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted([*package.glob("rules/*.py"), *package.glob("passes/*.py")]):
        digest.update(source.name.encode() + source.read_bytes())
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(numba_cache_dir or user_cache) / "rosenblatt" / f"compiled-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return numba_cache_dir
    return str(folder) if os.access(folder, os.W_OK) else numba_cache_dir
