"""The memory limit of this process, and a pool of arrays that reuses their memory.

The limit is that of the machine, or of its container where that is lower. Reuse pays because the system clears every
page of new memory.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

ROOT = Path("/")
MAX_BUFFERS = 8  # in a pool

T = TypeVar("T")


@cache
def memory_limit(root: Path = ROOT) -> int:
    """Return how many bytes of memory this process may use.

    That is the machine's memory or the smallest limit of the control groups of the process (cgroup v1 and v2), which
    limit containers. ``root`` is the directory of ``/proc`` and ``/sys``.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_cgroup_limits(root)])


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the control groups of this process and of their ancestors."""
    mounts = list(_cgroup_mounts(root))
    for line in _lines(root / "proc/self/cgroup"):
        fields = line.split(":", 2)  # hierarchy, controllers, path of the group
        if len(fields) != 3:
            continue
        _, controllers, group = fields
        unified = not controllers
        if not unified and "memory" not in controllers.split(","):
            continue
        name = "memory.max" if unified else "memory.limit_in_bytes"
        for is_unified, top, mount_point in mounts:
            if is_unified == unified:
                yield from _limits_above(root / mount_point.lstrip("/"), _below(group, top), name)


def _cgroup_mounts(root: Path) -> Iterator[tuple[bool, str, str]]:
    """Yield (whether it is cgroup v2, its top group, its mount point) of every mount with memory limits."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, separator, after = line.partition(" - ")
        fields, filesystem = before.split(" "), after.split(" ")
        if not separator or len(fields) < 5 or len(filesystem) < 3:
            continue
        top, mount_point = (_unescape(text) for text in fields[3:5])
        if filesystem[0] == "cgroup2":
            yield True, top, mount_point
        elif filesystem[0] == "cgroup" and "memory" in filesystem[2].split(","):
            yield False, top, mount_point


def _unescape(text: str) -> str:
    """Decode the octal escapes of a path in mountinfo."""
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, character)
    return text


def _below(group: str, top: str) -> str:
    """Return the path of a group relative to the mounted one; "" where it is not below it, as inside a container."""
    if top == "/":
        return group.strip("/")
    return group[len(top) :].strip("/") if group.startswith(top + "/") else ""


def _limits_above(mount: Path, group: str, name: str) -> Iterator[int]:
    """Yield the limits of a group and of its ancestors."""
    parts = [part for part in group.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        for line in _lines(mount.joinpath(*parts[:depth], name))[:1]:
            if line.strip().isdigit():  # else "max": no limit
                yield int(line)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:  # no control groups, or no permission to read them
        return []


def _reference_counts(buffers: list[NDArray[Any]]) -> list[int]:
    """Return the number of references to every buffer."""
    return [sys.getrefcount(buffer) for buffer in buffers]


# The count of a buffer that no array views; versions of Python differ.
UNUSED = _reference_counts([np.empty(1)])[0]


class BufferPool:
    """A pool that allocates arrays from buffers no other array uses any more.

    Each thread needs a pool of its own; arrays may be passed to other threads.

    >>> pool = BufferPool()
    >>> first = pool.empty((2, 3), np.float64)
    >>> address = first.ctypes.data
    >>> pool.empty((2, 3), np.float64).ctypes.data == address  # the first is in use
    False
    >>> del first
    >>> pool.empty((2, 3), np.float64).ctypes.data == address
    True
    """

    def __init__(self) -> None:
        self._buffers: list[NDArray[Any]] = []
        self._singletons: dict[Callable[[], Any], Any] = {}

    def singleton(self, factory: Callable[[], T]) -> T:
        """Return the one result of ``factory`` in this pool; call it the first time."""
        if factory not in self._singletons:
            self._singletons[factory] = factory()
        return self._singletons[factory]  # type: ignore[no-any-return]

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an uninitialized array; it fills at least half of its buffer, else scipy would copy it."""
        shape = shape if isinstance(shape, tuple) else (shape,)
        size = prod(shape)
        for buffer, references in zip(self._buffers, _reference_counts(self._buffers), strict=True):
            if references == UNUSED and buffer.dtype == dtype and size <= buffer.size < 2 * size:
                return buffer[:size].reshape(shape)
        new = np.empty(size + (size >> 3), dtype)
        if len(self._buffers) == MAX_BUFFERS:
            del self._buffers[0]
        self._buffers.append(new)
        return new[:size].reshape(shape)
