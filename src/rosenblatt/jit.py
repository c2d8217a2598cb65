"""Compilation of loops: numba's options, and the cache of machine code on disk.

Numba recognises stale code by the time stamp of the file that defines a loop, but a loop also depends on functions in
other files. So its machine code is stored in a folder named after everything it depends on: the content of all those
files, the version of numba and the level of the CPU (:func:`cpu_level`). Code of another version is never loaded.
Vectors have the number of lanes of the CPU level, not of the build host, so that code compiled elsewhere for the same
level gives the same bits. Compilation is logged (INFO), since it makes a first call take seconds.
"""

import contextlib
import hashlib
import logging
import os
import platform
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import binding
from numba.core import event

LOG = logging.getLogger(__name__)
# Results must not assume that values are finite, so never "nnan" or "ninf".
FASTMATH = {"reassoc", "nsz", "contract", "arcp"}

F = TypeVar("F", bound=Callable[..., Any])

# The levels of x86-64 (System V ABI): name, bytes of a vector, and the CPU features beyond those of the level below.
X86_LEVELS = (
    ("x86-64-v4", 64, ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
    ("x86-64-v3", 32, ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
)
VECTOR_BYTES = {name: size for name, size, _ in X86_LEVELS}
NARROW_VECTOR_BYTES = 16  # on any other CPU: SSE2, NEON


@cache
def cpu_level() -> str:
    """Return the level of the CPU that code is compiled for: ``x86-64-v4``, ``-v3``, or the architecture's name.

    Where ``NUMBA_CPU_NAME`` names a level, it is that one.
    """
    if numba.config.CPU_NAME in VECTOR_BYTES:
        return str(numba.config.CPU_NAME)
    features = binding.get_host_cpu_features()
    has = [all(features.get(each) for each in needed) for _, _, needed in X86_LEVELS]
    if has[0] and has[1]:
        return X86_LEVELS[0][0]
    return X86_LEVELS[1][0] if has[1] else platform.machine()


def vector_bytes() -> int:
    """Return the size of a vector register at this level."""
    return VECTOR_BYTES.get(cpu_level(), NARROW_VECTOR_BYTES)


class CodeCache:
    """Compiles loops that depend on some folders of this package, and stores the code in the user's cache."""

    def __init__(self, name: str, *folders: str) -> None:
        self._name, self._folders = name, folders

    def compiled(self, function: F, **options: Any) -> F:
        """Compile a loop, by default one that releases the GIL; store its code on disk where that is possible."""
        loop: F
        options = {"nogil": True} | options
        with self._cache_folder():
            try:
                loop = numba.njit(cache=True, **options)(function)
            except RuntimeError:  # no folder can be written to
                loop = numba.njit(**options)(function)
        return loop

    @contextlib.contextmanager
    def _cache_folder(self) -> Iterator[None]:
        """Point numba's cache at our folder while a function is decorated, and only then."""
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = self.folder(before)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before

    def folder(self, numba_cache_dir: str) -> str:
        """Return a writable cache folder named after the key; numba's own setting where none can be created."""
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(numba_cache_dir or user_cache) / "rosenblatt" / f"{self._name}-{self._key}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return numba_cache_dir
        return str(folder) if os.access(folder, os.W_OK) else numba_cache_dir

    @cached_property
    def _key(self) -> str:
        package = Path(__file__).parent
        sources = [Path(__file__), *(path for each in self._folders for path in package.glob(f"{each}/*.py"))]
        digest = hashlib.sha256(f"{numba.__version__} {cpu_level()}".encode())
        for source in sorted(sources):
            digest.update(str(source.relative_to(package)).encode() + source.read_bytes())
        return digest.hexdigest()[:16]


CODE = CodeCache("loops", "rules", "core", "proofs/loops")


def compiled(function: F) -> F:
    """Compile a hot loop in which sums may be reordered."""
    return CODE.compiled(function, fastmath=FASTMATH)


def compiled_with_gil(function: F) -> F:
    """Compile a loop that calls CPython's C API and therefore holds the GIL."""
    return CODE.compiled(function, fastmath=FASTMATH, nogil=False)


def compiled_part(function: F) -> F:
    """Compile a function that only compiled loops call; its code becomes part of theirs, in the cache too.

    It is not cached separately, so that it may take a rule: code for a rule defined outside this package must not be
    stored.
    """
    part: F = numba.njit(nogil=True, fastmath=FASTMATH, _nrt=False)(function)
    return part


def exactly_compiled_part(function: F) -> F:
    """Compile such a part whose floating-point operations run in the order they are written.

    Numba gives a function that says nothing of ``fastmath`` the options of the function that calls it first, so its
    bits would depend on what was compiled before.
    """
    part: F = numba.njit(nogil=True, fastmath=False, _nrt=False)(function)
    return part


def exactly_compiled(function: F) -> F:
    """Compile a hot loop whose floating-point operations run in the order they are written (IEEE 754)."""
    return CODE.compiled(function, fastmath=False)


def compiled_for_rules(function: F) -> F:
    """Compile a hot loop that takes a rule as its first argument and creates no array.

    Code for rules of this package is stored on disk. For a rule defined elsewhere it is compiled once per process: the
    rule's source is not part of the cache's key, so stored code could belong to an older version of the rule.
    """
    # With reference counting (`_nrt`) every visit costs ten atomic operations.
    return _for_rules(function, {"fastmath": FASTMATH, "_nrt": False})


def compiled_around_rules(function: F) -> F:
    """Compile a function that takes a rule, creates arrays, and calls the ``compiled`` attribute of such a loop."""
    return _for_rules(function, {"fastmath": FASTMATH})


def _for_rules(function: F, options: dict[str, Any]) -> F:
    stored = CODE.compiled(function, **options)
    fresh = numba.njit(nogil=True, **options)(function)

    def run(rule: Any, *arguments: Any) -> Any:
        ours = type(rule).__module__.startswith("rosenblatt.")
        return (stored if ours else fresh)(rule, *arguments)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.compiled = stored  # type: ignore[attr-defined]  # for calls from other compiled functions
    return run  # type: ignore[return-value]


class _Log(event.Listener):  # type: ignore[misc]
    """Logs every loop of this package that is compiled, and adds up the time; loading one from disk is not logged."""

    seconds = 0.0
    _depth, _started = 0, 0.0  # compiling a loop compiles what it calls

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._started = time.perf_counter()
        loop = event.data["dispatcher"].py_func
        if (loop.__module__ or "").startswith("rosenblatt."):  # a user's own rule may have no module
            LOG.info("compiling %s.%s", loop.__module__, loop.__qualname__)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started


_LOG = _Log()
event.register("numba:compile", _LOG)


def compile_seconds() -> float:
    """Return how long this process has compiled so far; loading stored machine code does not count."""
    return _LOG.seconds
