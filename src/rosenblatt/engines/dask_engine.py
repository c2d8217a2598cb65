"""Passes on a Dask cluster: shards are made by tasks, so that a lost one can be made again; passes go where they lie.

Shards that were scattered are lost with their worker, and tasks bound to a worker's address wait for ever once it is
gone. So a shard is the result of a task, a pass asks for the worker that holds its shard but takes another when that
one is gone, and the weights are scattered to every worker anew each epoch.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from rosenblatt.engines.protocol import in_groups
from rosenblatt.engines.shard import Shard, facts_of

T = TypeVar("T")
MOST_TRIES = 3  # of an epoch, where all copies of the weights died with their workers


class DaskEngine:
    """Shards and passes on the workers of a ``distributed.Client``; every task shows on its dashboard."""

    name = "dask"

    def __init__(self, client: Any) -> None:
        self._client = client
        self._run = uuid4().hex[:8]
        self._shards: list[Any] = []
        self._asked = 0

    def hold(self, makers: Sequence[Any]) -> None:
        """Make the shards: makers, or ``dask.delayed`` shards, which are computed where Dask puts them."""
        import dask

        delayed = [
            make
            if dask.is_dask_collection(make)
            else dask.delayed(make, name=f"shard-{self._run}-{at}", pure=False)(at)
            for at, make in enumerate(makers)
        ]
        self._shards = list(self._client.compute(delayed))
        self._settled(self._shards)

    def gather(self, ask: Callable[..., T], *sent: Any) -> list[T]:
        """Ask every shard and return the answers in order."""

        def run() -> list[T]:
            small = facts_of is ask  # nothing is sent along
            common = [] if small else [self._sent(each) for each in sent]
            return list(self._results(self._answers(ask, common)))

        return self._tried(run)

    def reduce(self, ask: Callable[..., T], sent: Any, join: Callable[[list[T]], T]) -> T:
        """Ask every shard, and join the answers on the workers, up a tree; only the root comes back."""

        def run() -> T:
            level = self._answers(ask, [self._sent(sent)])
            depth = 0
            while len(level) > 1:
                depth += 1
                level = [
                    self._client.submit(join, group, key=self._key(f"join{depth}", at), pure=False)
                    for at, group in enumerate(in_groups(level))
                ]
            return next(iter(self._results(level)))  # type: ignore[no-any-return]

        return self._tried(run)

    def release(self) -> None:
        """Let go of the shards; what still runs is cancelled."""
        if self._shards and self._client.status == "running":
            self._client.cancel(self._shards, force=True)
        self._shards = []

    def _sent(self, thing: Any) -> Any:
        """Put what all shards are sent on every worker."""
        return self._client.scatter([thing], broadcast=True, hash=False)[0]

    def _answers(self, ask: Callable[..., Any], common: list[Any]) -> list[Any]:
        self._asked += 1
        holders = self._client.who_has(self._shards)
        answers = []
        for at, shard in enumerate(self._shards):
            here = list(holders.get(shard.key, ()))
            answers.append(
                self._client.submit(
                    ask,
                    shard,
                    *common,
                    key=self._key(ask.__name__.strip("_"), at),
                    workers=here or None,
                    allow_other_workers=bool(here),
                    pure=False,
                )
            )
        return answers

    def _key(self, what: str, at: int) -> str:
        return f"rosenblatt-{what}-{self._run}-{self._asked}-{at}"

    def _results(self, futures: list[Any]) -> Any:
        try:
            return self._client.gather(futures)
        except BaseException:
            self._client.cancel(futures, force=True)
            raise

    def _settled(self, futures: list[Any]) -> None:
        """Wait for futures, and raise what went wrong."""
        from distributed import wait

        try:
            wait(futures)
            for future in futures:
                if future.status == "error":
                    future.result()
        except BaseException:
            self._client.cancel(futures, force=True)
            raise

    def _tried(self, run: Callable[[], T]) -> T:
        """Run, and once more where what was sent got lost with the last worker that had it."""
        from distributed.client import FutureCancelledError

        for left in reversed(range(MOST_TRIES)):
            try:
                return run()
            except FutureCancelledError:
                if not left:
                    raise
        raise AssertionError  # the last try returned or raised


def shard_of(X: Any, y: Any, index: int, name: str) -> Shard:
    """Make a shard of one block on a worker; what is wrong with it is said with the name of the block."""
    try:
        return Shard(X, y, None, index)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
