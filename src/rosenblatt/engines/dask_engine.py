"""Passes on a Dask cluster: shards are made by tasks, so that a lost one can be made again; passes go where they lie.

What was found out about workers that die. Scattered data are lost with them, and scattering while a worker dies hangs;
so the weights, too, are the result of a task, which the scheduler can run again. A task bound to an address waits for
ever once that worker is gone, and one that may also run elsewhere still does if it was due in a moment when no worker
was left. A pass that is bound to nothing is stolen by an idle worker, and the shard moves with it: seconds for a
gigabyte. So a pass asks for the worker that holds its shard but takes another, and a wait that finds nobody at work
makes lost shards anew under other names and asks again. Shards of a user's blocks are made where Dask puts them.
Cancelling by force can fail inside the scheduler: futures are let go of instead, which cancels what nobody else wants.

What was found out about time. A client speaks to its scheduler at most every 10 ms: a second message waits that long
for the first. So a question is one graph, joins and all; what the last one left is let go of behind it, and where the
shards lie is looked up while the passes run. What is small travels with every task: as a task of its own, one worker
would have it first and the others fetch it from there, 5 to 10 ms later.
"""

import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from rosenblatt.engines.protocol import FAN, in_groups, up_the_tree
from rosenblatt.engines.shard import Shard

T = TypeVar("T")
MOST_TRIES = 5  # of one question
PATIENCE = 1.0  # seconds after which a wait looks around
MOST_IDLE = 10  # times that it may find nobody at work
MOST_ALONE = 120  # times that it may find no worker at all: some take a while to start
FETCH_SECONDS = 600.0  # that answers, once there, may take to come
SMALL = 1 << 18  # bytes that travel with every task


class DelayedMaker(NamedTuple):
    """A shard made of delayed blocks: ``task(*given, index)``, run on a worker."""

    task: Callable[..., Shard]
    given: tuple[Any, ...]


class Stranded(RuntimeError):
    """Answers are due, but nobody is at work on them: shards wait for workers that are gone, or tasks got lost."""


class NoWorkers(RuntimeError):
    """The cluster has no workers, and none came for a while."""


class DaskEngine:
    """Shards and passes on the workers of a ``distributed.Client``; every task shows on its dashboard."""

    name = "dask"

    def __init__(self, client: Any) -> None:
        self._client = client
        self._run = uuid4().hex[:8]
        self._makers: list[Any] = []
        self._shards: dict[int, Any] = {}  # futures
        self._homes: dict[int, str] = {}  # where a shard asked to be made
        self._held: dict[str, Any] = {}  # where shards were seen last, by key
        self._spent: list[Any] = []  # futures of the last question
        self._asked = 0

    def hold(self, makers: Sequence[Any]) -> None:
        """Make the shards by tasks: of blocks, where Dask puts them; of nothing, spread evenly over the workers."""
        self.release()
        self._makers = list(makers)
        self._make(list(range(len(makers))))
        self._tried(lambda: self._settled(list(self._shards.values())))
        for at in self._shards:
            if self._shards[at].status == "error":
                self._shards[at].result()

    def gather(self, ask: Callable[..., T], *sent: Any) -> list[T]:
        """Ask every shard and return the answers in order."""
        return self._tried(lambda: self._answered(ask, sent, None))

    def reduce(self, ask: Callable[..., T], sent: Any, join: Callable[[list[T]], T]) -> T:
        """Ask every shard, and join the answers on the workers, up a tree; only the root comes back.

        A few small ones come themselves: joining them elsewhere first takes longer than joining them here.
        """
        few = len(self._shards) <= FAN and _bytes_of(sent) <= SMALL
        answers: list[T] = self._tried(lambda: self._answered(ask, (sent,), None if few else join))
        return up_the_tree(answers, join)

    def release(self) -> None:
        """Let go of the shards; what still runs is cancelled."""
        for future in (*self._shards.values(), *self._spent):
            future.release()
        self._shards, self._homes, self._held, self._spent = {}, {}, {}, []

    # Shards

    def _make(self, numbers: list[int]) -> None:
        import dask

        self._asked += 1
        threads = self._client.nthreads()
        slots = [address for address in sorted(threads) for _ in range(threads[address])]
        delayed = []
        for place, at in enumerate(numbers):
            make = self._makers[at]
            task, given = (make.task, make.given) if isinstance(make, DelayedMaker) else (make, ())
            self._homes.pop(at, None)
            wish = {}
            if slots and not given:
                self._homes[at] = slots[place * len(slots) // len(numbers)]
                wish = {"workers": [self._homes[at]], "allow_other_workers": True}
            with dask.annotate(**wish):
                run = dask.delayed(task, pure=False)
                delayed.append(run(*given, at, dask_key_name=self._key("shard", at)))
        self._shards |= zip(numbers, self._client.compute(delayed), strict=True)

    def _stranded(self) -> list[int]:
        """Return the shards that nobody has or makes, and that ask for a worker that is gone."""
        alive = self._client.nthreads()
        gone = [at for at, home in self._homes.items() if home not in alive]
        if not gone or not alive:
            return []
        held = self._client.who_has([self._shards[at] for at in gone])
        busy = {key for keys in self._client.processing().values() for key in keys}
        keys = {at: self._shards[at].key for at in gone}
        return [at for at in gone if not held.get(keys[at]) and keys[at] not in busy]

    # Questions

    def _answered(
        self, ask: Callable[..., Any], sent: tuple[Any, ...], join: Callable[[list[Any]], Any] | None
    ) -> list[Any]:
        """Ask every shard where it lies, or elsewhere once that worker is gone; else Dask would move idle shards."""
        import dask

        self._asked += 1
        name = ask.__name__.strip("_")
        call, parcel = dask.delayed(_asked, pure=False), _Sent(ask, sent)
        common: Any = parcel
        if _bytes_of(sent) > SMALL:
            common = dask.delayed(_laid_down, pure=False)(parcel, dask_key_name=self._key("sent", 0))
        held = self._held or self._look()
        level = []
        for at in range(len(self._shards)):
            here = list(held.get(self._shards[at].key, ()))
            with dask.annotate(**({"workers": here, "allow_other_workers": True} if here else {})):
                level.append(call(common, self._shards[at], dask_key_name=self._key(name, at)))
        depth = 0
        while join is not None and len(level) > 1:
            depth += 1
            level = [
                dask.delayed(join, pure=False)(group, dask_key_name=self._key(f"join{depth}", at))
                for at, group in enumerate(in_groups(level))
            ]
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Sending large graph", UserWarning
            )  # weights are sent, not rows
            futures = self._client.compute(level, optimize_graph=False)
        spent, self._spent = self._spent, futures
        for future in spent:
            future.release()
        try:
            self._look()
            return list(self._fetched(futures))
        except BaseException:
            for future in futures:
                future.release()
            raise

    def _look(self) -> dict[str, Any]:
        """Look up where the shards lie; the next question is asked there."""
        self._held = self._client.who_has(list(self._shards.values()))
        return self._held

    def _key(self, what: str, at: int) -> str:
        return f"rosenblatt-{what}-{self._run}-{self._asked}-{at}"

    def results(self, futures: list[Any]) -> Any:
        """Return the answers, and let go of their futures, answered or not."""
        try:
            return self._fetched(futures)
        finally:
            for future in futures:
                future.release()

    def _fetched(self, futures: list[Any]) -> Any:
        self._settled(futures)
        try:
            coming = self._client.gather(futures, asynchronous=True)
            return self._client.sync(_itself, coming, callback_timeout=FETCH_SECONDS)
        except TimeoutError:
            raise Stranded(f"answers did not come from the workers within {FETCH_SECONDS:g} s") from None

    def _settled(self, futures: list[Any]) -> None:
        """Wait for futures, looking around from time to time whether somebody is at work on them."""
        from distributed import wait

        idle = alone = 0
        while True:
            try:
                wait(futures, timeout=PATIENCE)
            except TimeoutError:
                nobody = not self._client.nthreads()
                alone = alone + 1 if nobody else 0
                if alone >= MOST_ALONE:
                    raise NoWorkers(
                        f"the Dask cluster has had no worker for {alone * PATIENCE:g} s: start some, and fit again "
                        "(with checkpoint=, it goes on from the last epoch)"
                    ) from None
                idle = 0 if nobody or any(self._client.processing().values()) else idle + 1
                if self._stranded() or idle >= MOST_IDLE:
                    raise Stranded("the Dask cluster has workers, but none works on what was asked") from None
            else:
                return

    def _tried(self, run: Callable[[], T]) -> T:
        """Run, and once more where workers died in a way that Dask does not mend by itself."""
        from distributed.client import FutureCancelledError, FuturesCancelledError
        from distributed.comm import CommClosedError

        for left in reversed(range(MOST_TRIES)):
            try:
                return run()
            except (FutureCancelledError, FuturesCancelledError, CommClosedError, Stranded):
                if not left:
                    raise
                held = self._look()
                lost = [at for at, shard in self._shards.items() if not held.get(shard.key)]
                if lost:
                    self._make(lost)
                    self._held = {}  # those made anew are looked for before they are asked
        raise AssertionError  # the last try returned or raised


async def _itself(coming: Awaitable[T]) -> T:
    return await coming


class _Sent:
    """A question and what goes along with it, in one piece: Dask would look for tasks inside of tuples."""

    def __init__(self, ask: Callable[..., Any], sent: tuple[Any, ...]) -> None:
        self.ask, self.sent = ask, sent


def _laid_down(parcel: _Sent) -> _Sent:
    return parcel


def _asked(parcel: _Sent, shard: Shard) -> Any:
    return parcel.ask(shard, *parcel.sent)


def _bytes_of(sent: Any) -> int:
    """Return how many bytes travel; arrays are not copied to find out."""
    from distributed.protocol.pickle import dumps

    beside: list[Any] = []
    within: bytes = dumps(sent, buffer_callback=beside.append)
    return len(within) + sum(int(each.raw().nbytes) for each in beside)
