"""Compilation of loops: numba's options, and the cache of machine code on disk.

Numba recognises stale code by the file that defines a loop, but a loop also depends on functions in other files. So
machine code is stored in a folder named after everything it depends on: the content of all those files and the versions
of numba and llvmlite. Code of another version is never loaded. When a loop is called, its code comes from

1. the user's cache, which holds code for exactly this CPU (``rosenblatt warmup`` fills it); else from
2. the folder of this package, with code that was compiled when the package was built, for every CPU that has the level
   :data:`SHIPPED_LEVEL`; else
3. the loop is compiled, which takes seconds, and stored in the user's cache. The first time is logged as a warning.

Sums run in the order they are written, or in vectors that have the same number of lanes on every CPU from that level on
(core/simd.py), so that shipped code and code compiled here give the same bits.
"""

import contextlib
import hashlib
import logging
import os
import pickle
import platform
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from llvmlite import binding
from numba.core import event

try:  # internal names of numba; where its version has others, numba's own cache is used and nothing is shipped
    from numba.core.caching import NullCache as _NoCache
    from numba.core.compiler import CompileResult
    from numba.core.dispatcher import Dispatcher
    from numba.core.runtime import rtsys
    from numba.core.serialize import dumps

    _KNOWN_NUMBA = all(hasattr(CompileResult, name) for name in ("_reduce", "_rebuild"))
except ImportError:  # pragma: no cover
    _NoCache, _KNOWN_NUMBA = object, False

LOG = logging.getLogger(__name__)
# Results must not assume that values are finite, so never "nnan" or "ninf". Nor may sums be reordered ("reassoc"): LLVM
# divides such a sum among as many lanes as suit the CPU, so its bits would differ between CPUs. Sums that must be fast
# are written with a fixed number of lanes (core/simd.py).
FASTMATH = {"nsz", "contract", "arcp"}
# Not `np.iinfo`: loading stored code that calls it would import numba's linear algebra, which takes 0.1 s.
LARGEST_INT64 = 2**63 - 1

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
SHIPPED_FOLDER = PACKAGE / "machine_code"
BUILD_VARIABLE = "ROSENBLATT_BUILD_CODE"  # names the folder for shipped code while the package is built
SKIP_VARIABLE = "ROSENBLATT_SHIPPED_CODE"  # "off": shipped code is not used

# The level that code is shipped for, by architecture; numba's name of it, and the features that a CPU must have.
LEVELS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "x86_64": (
        "x86-64-v3",
        "x86-64-v3",
        ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"),
    ),
    "aarch64": ("armv8-a", "generic", ()),
}
ARCHITECTURE = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
SHIPPED_LEVEL, LEVEL_CPU_NAME, LEVEL_FEATURES = LEVELS.get(ARCHITECTURE, ("", "", ()))
VECTOR_BYTES, NARROW_VECTOR_BYTES = 32, 16  # of x86-64 from level v3 on, and of any other CPU (SSE2, NEON)


@cache
def has_level() -> bool:
    """Return whether code for the shipped level runs on this CPU, and on the one that numba compiles for."""
    if not SHIPPED_LEVEL or numba.config.CPU_NAME not in (None, LEVEL_CPU_NAME):
        return False
    return not LEVEL_FEATURES or all(map(binding.get_host_cpu_features().get, LEVEL_FEATURES))


def can_ship() -> bool:
    """Return whether code for the shipped level can be compiled here."""
    return _KNOWN_NUMBA and has_level()


def vector_bytes() -> int:
    """Return the size of the vectors that loops are written in."""
    return VECTOR_BYTES if ARCHITECTURE == "x86_64" and has_level() else NARROW_VECTOR_BYTES


def level_environment() -> dict[str, str]:
    """Return the environment variables with which numba compiles for the shipped level and not for this CPU."""
    return {"NUMBA_CPU_NAME": LEVEL_CPU_NAME, "NUMBA_CPU_FEATURES": ""}


class CodeCache:
    """Compiles loops that depend on some folders of this package, and stores their machine code."""

    def __init__(self, name: str, *folders: str) -> None:
        self._name, self._folders = name, folders

    def compiled(self, function: F, **options: Any) -> F:
        """Compile a loop, by default one that releases the GIL; store its code on disk where that is possible."""
        loop: F
        options = {"nogil": True} | options
        if not _KNOWN_NUMBA:
            with self._numbas_cache_folder():
                try:
                    loop = numba.njit(cache=True, **options)(function)
                except RuntimeError:  # no folder can be written to
                    loop = numba.njit(**options)(function)
            return loop
        loop = numba.njit(**options)(function)
        # The key covers the files of this package: neither the values of a closure nor the functions of others.
        if isinstance(loop, Dispatcher) and function.__closure__ is None and _is_ours(function):
            loop._cache = LoopCache(self, function)  # type: ignore[attr-defined]
        return loop

    @contextlib.contextmanager
    def _numbas_cache_folder(self) -> Iterator[None]:
        """Point numba's own cache at our folder while a function is decorated, and only then."""
        before = numba.config.CACHE_DIR
        folder = self.folder()
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        numba.config.CACHE_DIR = str(folder) if os.access(folder, os.W_OK) else before
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before

    def folder(self) -> Path:
        """Return the folder of the user's cache, named after all that code depends on; it may not exist."""
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(numba.config.CACHE_DIR or user_cache) / "rosenblatt" / self._key

    def shipped_folder(self, root: Path) -> Path:
        """Return the folder of shipped code below ``root``; it may not exist."""
        return root / f"{SHIPPED_LEVEL}-{sys.implementation.cache_tag}" / self._key

    @cached_property
    def _key(self) -> str:
        sources = [
            Path(__file__),
            *(path for each in self._folders for path in (PACKAGE / each).rglob("*.py")),
        ]
        digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {vector_bytes()}".encode())
        for source in sorted(sources):
            digest.update(str(source.relative_to(PACKAGE)).encode() + source.read_bytes())
        return f"{self._name}-{digest.hexdigest()[:16]}"


def _is_ours(function: Callable[..., Any]) -> bool:
    return Path(function.__code__.co_filename).is_relative_to(PACKAGE)


class LoopCache(_NoCache):  # type: ignore[misc]
    """The machine code of one loop: a file for every signature, which names what it was compiled for.

    Files are written whole or not at all, and two processes that compile different signatures do not meet.
    """

    def __init__(self, code: CodeCache, function: Callable[..., Any]) -> None:
        self._code = code
        module = Path(function.__code__.co_filename).relative_to(PACKAGE).with_suffix("")
        self._name = ".".join([*module.parts, function.__qualname__])
        self._bytecode = hashlib.sha256(function.__code__.co_code).hexdigest()

    @property
    def cache_path(self) -> str:
        """The folder of the user's cache."""
        return str(self._code.folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored code for a signature, or None."""
        # What code calls when it runs. `target_context.refresh()` would also load what compiling needs: 0.2 s.
        rtsys.initialize(target_context)
        for folder, key in self._folders_with_keys(sig, target_context.codegen()):
            path = self._path(folder, key)
            try:
                stored_key, payload = pickle.loads(path.read_bytes())
                if stored_key == key:
                    return CompileResult._rebuild(target_context, *payload)
            except FileNotFoundError:
                continue
            except Exception as error:  # a damaged file counts as missing
                LOG.info("%s cannot be loaded: %s", path, error)
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        """Store the code for a signature in the first of the folders, if it can be written."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        library, *rest = result._reduce()
        if isinstance(rest[5], str):
            rest[5] = ""  # the annotated source, for inspection only: large, with paths of this machine
        folder, key = next(iter(self._folders_with_keys(sig, result.codegen)))
        path = self._path(folder, key)
        temporary = path.with_name(f"{uuid.uuid4().hex}.tmp")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(dumps((key, (library, *rest))))
            temporary.replace(path)
        except OSError as error:
            LOG.info("machine code cannot be stored in %s: %s", folder, error)
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _folders_with_keys(self, sig: Any, codegen: Any) -> Iterator[tuple[Path, tuple[Any, ...]]]:
        """Yield the folders with code for this CPU, each with the key that a file in it must have."""
        signature = tuple(sig) if isinstance(sig, tuple) else sig
        shipped_key = (signature, SHIPPED_LEVEL, self._bytecode)
        if BUILD_VARIABLE in os.environ:
            yield self._code.shipped_folder(Path(os.environ[BUILD_VARIABLE])), shipped_key
            return
        yield self._code.folder(), (signature, codegen.magic_tuple(), self._bytecode)
        if has_level() and os.environ.get(SKIP_VARIABLE) != "off":
            yield self._code.shipped_folder(SHIPPED_FOLDER), shipped_key

    def _path(self, folder: Path, key: tuple[Any, ...]) -> Path:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return folder / f"{self._name}-{digest}.nbc"


CODE = CodeCache("loops", "rules", "core", "proofs/loops")


def compiled(function: F) -> F:
    """Compile a hot loop in which a product and a sum may be fused."""
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


def inlined_part(function: F) -> F:
    """Compile such a part that is inlined into every loop that calls it."""
    part: F = numba.njit(nogil=True, fastmath=FASTMATH, _nrt=False, forceinline=True)(function)
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
    """Logs every loop that is compiled, and adds up the time; loading one from disk is not logged.

    The first is a warning, which Python prints where logging is not configured: a call that takes seconds says why.
    """

    seconds = 0.0
    _depth, _started = 0, 0.0  # compiling a loop compiles what it calls
    announced = False

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._started = time.perf_counter()
        loop = event.data["dispatcher"].py_func
        if not (loop.__module__ or "").startswith("rosenblatt."):  # a user's own rule may have no module
            return
        if not self.announced and BUILD_VARIABLE not in os.environ:
            LOG.warning("compiling for this CPU, once (rosenblatt warmup compiles everything in advance)")
            self.announced = True
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


def announced() -> bool:
    """Return whether this process has said that it compiles loops of this package."""
    return _LOG.announced
