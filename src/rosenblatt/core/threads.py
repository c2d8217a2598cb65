"""Threads that divide a loop over rows among them."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise

from rosenblatt.data.textblocks import cores

MIN_NUMBERS = 1 << 18  # stored numbers in a part: with fewer, starting a thread takes longer than the work


_most: ContextVar[int | None] = ContextVar("most_threads", default=None)


@contextmanager
def at_most(number: int | None) -> Iterator[None]:
    """Divide work among no more than this many threads inside a ``with`` block; None sets no limit.

    >>> with at_most(1):
    ...     parts_of_work(1 << 40)
    1
    """
    token = _most.set(number)
    try:
        yield
    finally:
        _most.reset(token)


@lru_cache(maxsize=1)
def thread_pool() -> ThreadPoolExecutor:
    """Return the thread pool of this process."""
    return ThreadPoolExecutor(thread_name_prefix="rosenblatt-pass")


def parts_of_work(numbers: int) -> int:
    """Return into how many parts to divide a loop over rows that hold this many numbers.

    At most as many as there are cores, and as ``OMP_NUM_THREADS`` where that is set: BLAS obeys it too, and Dask and
    Spark set it where several workers share a machine.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    max_parts = min(cores(), int(limit)) if limit.isdecimal() else cores()
    max_parts = min(max_parts, _most.get() or max_parts)
    return max(1, min(max_parts, numbers // MIN_NUMBERS))


def in_parts(work: Callable[[int, int], None], rows: int, numbers: int) -> None:
    """Call ``work(first, last)`` for consecutive ranges of rows, each in a thread; the rows hold this many numbers."""
    parts = parts_of_work(numbers)
    cuts = [rows * k // parts for k in range(parts + 1)]
    others = [thread_pool().submit(work, a, b) for a, b in pairwise(cuts[1:])]
    try:
        work(0, cuts[1])
    finally:
        wait(others)  # they write into the caller's arrays
    for other in others:
        other.result()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=thread_pool.cache_clear)  # threads do not survive a fork
