"""Where the lab computes: in threads beside the event loop, in turns between visitors, each within a share."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
RATE, ADVANCE = 0.25, 4.0  # seconds of computing each second, and seconds in advance
THREADS, PROVING_THREADS = 4, 2


class Share:
    """The computing of one visitor: seconds of threads that were used, forgotten at ``RATE`` a second.

    They count for the visitor's address too: who joins again is another visitor, and has the same address.

    >>> share = Share(limited=True)
    >>> share.add(5.0, now=100.0)
    >>> share.allowed(now=103.0), share.allowed(now=105.0)
    (False, True)
    """

    seconds: float | None = 10.0  # after which a search answers with what is known so far; None: no limit

    def __init__(
        self, limited: bool = False, seconds: float | None = None, address: "Share | None" = None
    ) -> None:
        self.limited, self.address = limited, address  # in a lab for a class
        if seconds is not None:
            self.seconds = seconds
        self._spent, self._looked = 0.0, 0.0

    def spent(self, now: float | None = None) -> float:
        """Return the seconds that still count."""
        now = time.monotonic() if now is None else now
        return max(0.0, self._spent - RATE * (now - self._looked))

    def add(self, seconds: float, now: float | None = None) -> None:
        """Count some seconds."""
        now = time.monotonic() if now is None else now
        self._spent, self._looked = self.spent(now) + seconds, now
        if self.address is not None:
            self.address.add(seconds, now)

    def turn(self, now: float) -> tuple[float, float]:
        """Return what decides whose turn it is, least first: what the address has used, and then the visitor."""
        return 0.0 if self.address is None else self.address.spent(now), self.spent(now)

    def allowed(self, now: float | None = None) -> bool:
        """Whether something more may be computed for this visitor now."""
        return not self.limited or self.spent(now) < ADVANCE


class _Job(NamedTuple):
    share: Share
    function: Callable[[], Any]
    future: Future[Any]


class Computing:
    """Threads that work for one visitor at a time each: who has used least comes first, nobody has two at once.

    One address has half of the threads at most, so that there is always one for others.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._most_of_an_address = max(1, threads // 2)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: list[_Job] = []
        self._busy: list[Share] = []

    def submit(self, share: Share, function: Callable[[], T]) -> Future[T]:
        """Call a function in one of the threads, in turn."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append(_Job(share, function, future))
        self._pool.submit(self._work)
        return future

    def _work(self) -> None:
        job = self._next()
        if job is None:
            return  # whose turn it would be has one running, which calls this again at its end
        try:
            if job.future.set_running_or_notify_cancel():
                began = time.thread_time()
                try:
                    result = job.function()
                except BaseException as error:
                    job.share.add(time.thread_time() - began)
                    job.future.set_exception(error)
                else:
                    job.share.add(time.thread_time() - began)
                    job.future.set_result(result)
        finally:
            with self._lock:
                self._busy.remove(job.share)
                more = bool(self._waiting)
            if more:
                self._pool.submit(self._work)

    def _next(self) -> _Job | None:
        with self._lock:
            free = [job for job in self._waiting if self._may_begin(job.share)]
            if not free:
                return None
            now = time.monotonic()
            job = min(free, key=lambda each: each.share.turn(now))
            self._waiting.remove(job)
            self._busy.append(job.share)
            return job

    def _may_begin(self, share: Share) -> bool:
        if share in self._busy:
            return False
        same = sum(share.address is not None and busy.address is share.address for busy in self._busy)
        return same < self._most_of_an_address


CHANGES = Computing(THREADS, "lab-change")  # what a page asks for and waits for
PROOFS = Computing(PROVING_THREADS, "lab-proof")  # what a page shows once it is there


async def computed(share: Share, function: Callable[[], T]) -> T:
    """Call a function in a thread of the lab, and wait for its result without holding up the event loop."""
    return await asyncio.wrap_future(CHANGES.submit(share, function))
