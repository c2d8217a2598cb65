"""The group commit: a queue before the journal, and a thread that writes all that waits in one transaction."""

import asyncio
import collections
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rosenblatt.service.messages import LedgerLine
from rosenblatt.service.store import Fresh, Kept, Store

AT_ONCE = 512  # feedbacks in one transaction
Lines = list[tuple[int, LedgerLine]]


class Waiting(NamedTuple):
    """Feedbacks in the queue and who waits for their changes, or an errand for the journal's thread."""

    fresh: Sequence[Fresh]
    answer: "asyncio.Future[Any]"
    brief: bool = False  # the changes need not tell which weights moved
    errand: Callable[[], Any] | None = None
    then: Callable[[Any], Any] | None = (
        None  # done by the loop with the errand's result, before anything else
    )


class GroupCommit:
    """Takes feedbacks and errands on the event loop, and has them done in order by a thread of its own.

    ``written(batch, kept)`` is called on the loop for every transaction, in their order, with the error in place of
    ``kept`` where there was one; ``done(waiting, result, error)`` for every errand.
    """

    def __init__(
        self,
        store: Store,
        written: Callable[[list[Waiting], list[Kept] | Exception], None],
        done: Callable[[Waiting, Any, Exception | None], None],
    ) -> None:
        self._store, self._written, self._done = store, written, done
        self.commits = self.committed = 0
        self._queue: collections.deque[Waiting] = collections.deque()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waking = False  # the thread will be woken before the loop waits for the network again
        self._idle = True
        self._ledger: collections.deque[Lines] = collections.deque()
        self._thread: threading.Thread | None = None
        self.alive = False  # whether the thread runs; asked for every feedback, so no lock is taken for it
        self._stop = False

    # On the loop

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self.alive = True
        self._thread.start()

    async def stop(self) -> None:
        """Stop the thread; nothing may be waiting."""
        self._stop = True
        self._wake.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def put(self, waiting: Waiting) -> None:
        """Put something into the queue."""
        self._queue.append(waiting)
        if not self._waking:
            self._waking = True
            self._loop.call_soon(self._wake_up)  # once for all requests that are there now

    def _wake_up(self) -> None:
        self._waking = False
        if self._idle:
            self._wake.put(None)

    def hand_over(self, lines: Lines) -> None:
        """Give lines of the ledger to the thread, to be written with the next transaction."""
        if lines:
            self._ledger.append(lines)

    def ledger_due(self) -> Lines:
        """Return the lines of the ledger that were handed over and not yet written, and forget them."""
        due: Lines = []
        while self._ledger:
            due += self._ledger.popleft()
        return due

    # In the thread

    def discard_ledger(self, model: int) -> None:
        """Forget the lines of a model that is being deleted. For errands."""
        due = [line for line in self.ledger_due() if line[0] != model]
        if due:
            self._ledger.appendleft(due)

    def write_ledger(self) -> None:
        """Write the lines of the ledger that were handed over; they stay due where that fails. For errands."""
        due = self.ledger_due()
        try:
            self._store.write_ledger(due)
        except BaseException:
            self._ledger.appendleft(due)
            raise

    def _write(self) -> None:
        """Write what waits, all of it in one transaction, until told to stop."""
        try:
            while not self._stop:
                batch = self._take()
                if not batch:
                    self._idle = True
                    if not self._queue:  # looked at again: it may have filled before we said that we are idle
                        self._wake.get()
                    self._idle = False
                elif batch[0].errand is not None:
                    self._run(batch[0], batch[0].errand)
                else:
                    self._append(batch)
        finally:
            self.alive = False

    def _take(self) -> list[Waiting]:
        """Take feedbacks up to the next errand, or the errand."""
        batch: list[Waiting] = []
        room = AT_ONCE
        while self._queue and room > 0:
            if self._queue[0].errand is not None:
                return batch or [self._queue.popleft()]
            batch.append(self._queue.popleft())
            room -= len(batch[-1].fresh)
        return batch

    def _append(self, batch: list[Waiting]) -> None:
        kept: list[Kept] | Exception
        ledger = self.ledger_due()
        fresh = [each for waiting in batch for each in waiting.fresh]
        try:
            kept = self._store.append(fresh, ledger)
            self.commits, self.committed = self.commits + 1, self.committed + len(fresh)
        except Exception as error:
            kept = error
            self._ledger.appendleft(ledger)
        self._loop.call_soon_threadsafe(self._written, batch, kept)

    def _run(self, waiting: Waiting, errand: Callable[[], Any]) -> None:
        result, failed = None, None
        try:
            result = errand()
        except Exception as error:
            failed = error
        self._loop.call_soon_threadsafe(self._done, waiting, result, failed)
