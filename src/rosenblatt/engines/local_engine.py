"""Threads over shards in this process: passes let go of the interpreter, so that they run side by side."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rosenblatt.engines.protocol import Maker, up_the_tree
from rosenblatt.engines.shard import Shard

T = TypeVar("T")


class LocalEngine:
    """The embedded default.

    >>> from rosenblatt.engines.shard import facts_of
    >>> engine = LocalEngine(threads=2)
    >>> engine.hold([lambda index: Shard([[1.0], [-1.0]], [0, 1], None, index)] * 3)
    >>> [facts.rows for facts in engine.gather(facts_of)]
    [2, 2, 2]
    >>> engine.release()
    """

    name = "local"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="rosenblatt")
        self._shards: list[Shard] = []

    def hold(self, makers: Sequence[Maker]) -> None:
        """Make the shards, some at a time."""
        self._shards = list(self._pool.map(lambda at: makers[at](at), range(len(makers))))

    def gather(self, ask: Callable[..., T], *sent: Any) -> list[T]:
        """Ask every shard and return the answers in order."""
        return list(self._pool.map(lambda shard: ask(shard, *sent), self._shards))

    def reduce(self, ask: Callable[..., T], sent: Any, join: Callable[[list[T]], T]) -> T:
        """Ask every shard and join the answers up a tree."""
        return up_the_tree(self.gather(ask, sent), join)

    def release(self) -> None:
        """Let go of the shards and the threads; what has not begun never does."""
        self._shards = []
        self._pool.shutdown(wait=True, cancel_futures=True)
