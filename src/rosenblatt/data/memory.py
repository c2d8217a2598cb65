"""How much memory this process may use, and arrays whose memory is used again.

The limit is that of the machine, or less where its container allows less. New memory is slow, for the system clears
every page of it.
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
HELD = 8  # pieces of memory that are held at most

T = TypeVar("T")


@cache
def memory_limit(root: Path = ROOT) -> int:
    """Return how many bytes of memory this process may use.

    That is the machine's memory, or the smallest limit of the control groups the process is in (cgroup v1 and v2):
    containers are limited so. ``root`` is where ``/proc`` and ``/sys`` are.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_cgroup_limits(root)])


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the groups that the process is in, and of those above them."""
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
        for is_unified, top, place in mounts:
            if is_unified == unified:
                yield from _limits_above(root / place.lstrip("/"), _below(group, top), name)


def _cgroup_mounts(root: Path) -> Iterator[tuple[bool, str, str]]:
    """Yield (whether it is cgroup v2, the group that is its top, where it is mounted) of every mount with limits."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, separator, after = line.partition(" - ")
        fields, filesystem = before.split(" "), after.split(" ")
        if not separator or len(fields) < 5 or len(filesystem) < 3:
            continue
        top, place = (_unescaped(text) for text in fields[3:5])
        if filesystem[0] == "cgroup2":
            yield True, top, place
        elif filesystem[0] == "cgroup" and "memory" in filesystem[2].split(","):
            yield False, top, place


def _unescaped(text: str) -> str:
    """Return a path of mountinfo with its blanks: they are written as octal numbers."""
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, character)
    return text


def _below(group: str, top: str) -> str:
    """Return the path of a group below the one that is mounted; "" where it is not below it, as seen from inside."""
    if top == "/":
        return group.strip("/")
    return group[len(top) :].strip("/") if group.startswith(top + "/") else ""


def _limits_above(mount: Path, group: str, name: str) -> Iterator[int]:
    """Yield the limits of a group and of every group above it."""
    parts = [part for part in group.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        for line in _lines(mount.joinpath(*parts[:depth], name))[:1]:
            if line.strip().isdigit():  # else "max": no limit
                yield int(line)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:  # there are no control groups, or they are none of ours to read
        return []


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
