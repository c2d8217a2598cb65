"""Where compiled loops are kept between processes, so that what was compiled once is only loaded.

Numba finds machine code again by the time stamp of the file that holds the loop. A loop is also made of what it calls
in other files; so its code is kept in a folder named after the content of all of them, and code of an older version is
never run. What is compiled is told to the log of this module (INFO): it is why a first call takes seconds.
"""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

LOG = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


class MachineCode:
    """The compiled loops of some folders of this package, under one name in the user's cache."""

    def __init__(self, name: str, *folders: str) -> None:
        self._name, self._folders = name, folders

    def compiled(self, function: F, **options: Any) -> F:
        """Compile a loop, the GIL released; its code is kept on disk where there is a place for it."""
        found: F
        with self._cache_folder():
            try:
                found = numba.njit(nogil=True, cache=True, **options)(function)
            except RuntimeError:  # nowhere to keep machine code
                found = numba.njit(nogil=True, **options)(function)
        return found

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
        """Return a writable folder named after the sources, or numba's own choice where there is none."""
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(numba_cache_dir or user_cache) / "rosenblatt" / f"{self._name}-{self._digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return numba_cache_dir
        return str(folder) if os.access(folder, os.W_OK) else numba_cache_dir

    @cached_property
    def _digest(self) -> str:
        package = Path(__file__).parent
        sources = [Path(__file__), *(path for each in self._folders for path in package.glob(f"{each}/*.py"))]
        digest = hashlib.sha256(numba.__version__.encode())
        for source in sorted(sources):
            digest.update(source.name.encode() + source.read_bytes())
        return digest.hexdigest()[:16]


class _Log(event.Listener):  # type: ignore[misc]
    """Tells of every loop of this package that is compiled, not of those that are loaded."""

    def on_start(self, event: Any) -> None:
        loop = event.data["dispatcher"].py_func
        if (loop.__module__ or "").startswith("rosenblatt."):  # a rule of one's own may be of no module
            LOG.info("compiling %s.%s", loop.__module__, loop.__qualname__)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Log())
