"""Blocks through all cores, in order: one thread reads ahead, the others scan."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

MOST_CORES = 8  # each holds a block in memory

A = TypeVar("A")
B = TypeVar("B")
_END: Any = object()


def cores() -> int:
    """Return how many cores to use of those this process may."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, MOST_CORES)


def in_order(function: Callable[[A], B], items: Iterable[A], workers: int | None = None) -> Iterator[B]:
    """Yield ``function(item)`` in the order of the items, computed ahead by as many threads as there are cores.

    No more than ``workers + 2`` items are held at any time; a result that is ready never waits for an item
    that has not arrived.

    >>> list(in_order(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    workers = workers or cores()
    source = iter(items)
    waiting: deque[Future[B]] = deque()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(workers) as pool:
        upcoming: Future[A] | None = reader.submit(next, source, _END)
        while upcoming is not None or waiting:
            room = upcoming is not None and len(waiting) <= workers
            if upcoming is not None and room and waiting:
                either: tuple[Future[Any], ...] = (upcoming, waiting[0])
                wait(either, return_when=FIRST_COMPLETED)  # with whichever comes first it goes on
            if upcoming is not None and room and (not waiting or upcoming.done()):
                item = upcoming.result()
                upcoming = None if item is _END else reader.submit(next, source, _END)
                if item is not _END:
                    waiting.append(pool.submit(function, item))
            else:
                yield waiting.popleft().result()
