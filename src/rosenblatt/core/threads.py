"""Threads that share one loop over the rows."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import pairwise

from rosenblatt.data.parallel import cores

LEAST = 1 << 18  # numbers in a part: fewer are not worth a thread's call


@lru_cache(maxsize=1)
def threads() -> ThreadPoolExecutor:
    """Return the threads of this process."""
    return ThreadPoolExecutor(thread_name_prefix="rosenblatt-pass")


def parts_of_work(numbers: int) -> int:
    """Return into how many parts to cut a loop over so many numbers.

    As many as there are cores, but no more than ``OMP_NUM_THREADS`` where that is set: so is linear algebra limited,
    and so do Dask and Spark say that others compute beside us.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    most = min(cores(), int(limit)) if limit.isdecimal() else cores()
    return max(1, min(most, numbers // LEAST))


def in_parts(work: Callable[[int, int], None], rows: int, numbers: int) -> None:
    """Call ``work(first, last)`` for consecutive ranges of rows that hold so many numbers, each in a thread."""
    parts = parts_of_work(numbers)
    cuts = [rows * k // parts for k in range(parts + 1)]
    others = [threads().submit(work, a, b) for a, b in pairwise(cuts[1:])]
    try:
        work(0, cuts[1])
    finally:
        wait(others)  # they write into arrays of the caller
    for other in others:
        other.result()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=threads.cache_clear)  # threads do not survive a fork
