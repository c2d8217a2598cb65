"""The models in a running server: reading is immediate, writing is awaited, and many writes share one flush.

A feedback goes through three hands: the event loop checks it and puts it into a bounded queue; a thread takes all that
wait, writes them to the journal in one transaction and flushes it; the loop then learns from them in that order and
answers. So the models are always exactly what some beginning of the journal makes them, and a prediction never
waits for the disk.
"""

import asyncio
import collections
import logging
import sqlite3
import threading
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any, NamedTuple

from rosenblatt.service.messages import Change, Example, Learned, LedgerLine, ModelSettings
from rosenblatt.service.model import Model
from rosenblatt.service.models import LEDGER_AT_ONCE, Models, add_to
from rosenblatt.service.refusals import Busy, Closing, Conflict, StoreDown
from rosenblatt.service.snapshots import freeze
from rosenblatt.service.store import Fresh, Kept

log = logging.getLogger("rosenblatt.service")
MOST_WAITING = 2048
AT_ONCE = 512  # feedbacks in one transaction


class Waiting(NamedTuple):
    """A feedback in the queue, and who waits for its change; or an errand for the journal's thread."""

    fresh: Fresh | None
    answer: "asyncio.Future[Any]"
    errand: Callable[[], Any] | None = None


class Service:
    """Models behind a group commit. Every method is called from the event loop that :meth:`start` was called on."""

    def __init__(
        self, models: Models, *, snapshot_every: int = 20_000, most_waiting: int = MOST_WAITING
    ) -> None:
        self.models = models
        self.snapshot_every, self.most_waiting = snapshot_every, most_waiting
        self.failing: str | None = None  # why the store could not be written to, the last time
        self.closing = False
        self.commits = self.committed = 0
        self._queue: collections.deque[Waiting] = collections.deque()
        self._taken = 0  # by the thread, and not yet learned from
        self._wake = threading.Semaphore(0)
        self._ledger: collections.deque[list[tuple[int, LedgerLine]]] = collections.deque()
        self._snapping: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._stop = False

    @property
    def waiting(self) -> int:
        """How many feedbacks are in the queue or being written."""
        return len(self._queue) + self._taken

    # Life

    def start(self) -> None:
        """Begin to take feedback."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Refuse new feedback, answer all that waits, write snapshots, close the store."""
        self.closing = True
        while self.waiting or self._tasks:
            await asyncio.sleep(0.005)
        self._stop = True
        self._wake.release()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        self.models.ledger_due = self._ledger_due() + self.models.ledger_due
        self.models.close()

    # Writing

    async def feedback(
        self,
        name: str,
        label: Any,
        example: Example | None = None,
        *,
        prediction: str | None = None,
        key: str | None = None,
    ) -> Change:
        """Learn the truth about an example or a prediction; it is on disk when this returns."""
        return await self.submit(self.models.fresh(name, label, example, prediction, key))

    def submit(self, fresh: Fresh) -> "asyncio.Future[Change]":
        """Put a feedback into the queue; the future is its change."""
        if self.closing:
            raise Closing("the service is shutting down: try again in a moment")
        if self.waiting >= self.most_waiting:
            raise Busy(f"{self.waiting:,} feedbacks wait to be written: try again in a moment")
        answer: asyncio.Future[Change] = self._loop.create_future()
        self._put(Waiting(fresh, answer))
        return answer

    def _put(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        self._wake.release()

    async def learn(
        self, name: str, pairs: Iterable[tuple[Example, Any]] | AsyncIterable[tuple[Example, Any]]
    ) -> Learned:
        """Learn from many examples and their labels, in order; never more waiting than half the queue holds."""
        total = Learned(0, 0, 0, 0)
        held: collections.deque[asyncio.Future[Change]] = collections.deque()
        async for example, label in _each(pairs):
            fresh = self.models.fresh(name, label, example)
            while held and (held[0].done() or self.waiting >= self.most_waiting // 2):
                add_to(total, await held.popleft())
            while self.waiting >= self.most_waiting // 2:
                await asyncio.sleep(0.001)
            held.append(self.submit(fresh))
        while held:
            add_to(total, await held.popleft())
        return total

    async def _errand(self, work: Callable[[], Any]) -> Any:
        """Have the journal's thread do something after all that is in the queue."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._put(Waiting(None, answer, work))
        return await answer

    async def create(self, name: str, settings: ModelSettings | None = None) -> bool:
        """Make a model; return whether it is new. One that is there with the same settings stays as it is."""
        settings = settings or ModelSettings()
        self.models.checked(name, settings)
        if name not in self.models:
            try:
                number = await self._errand(lambda: self.models.store.add_model(name, settings))
                self.models._add(Model(number, name, settings))
            except Conflict:  # somebody was faster
                pass
            else:
                return True
        self.models.create(name, settings)
        return False

    async def delete(self, name: str) -> None:
        """Forget a model and all that it was told."""
        model = self.models.model(name)
        await self._errand(lambda: self.models.store.drop_model(model.number))
        self.models.forget(model)

    async def snapshot(self, name: str) -> None:
        """Write a snapshot without keeping predictions waiting."""
        model = self.models.model(name)
        self._hand_over_ledger(1)
        frozen = freeze(model)

        def write() -> None:
            self.models.store.write_ledger(self._ledger_due())
            self.models.write_frozen(frozen)

        await self._errand(write)

    # The journal's thread

    def _write(self) -> None:
        """Write what waits, all of it in one transaction, until told to stop."""
        while True:
            self._wake.acquire()
            if self._stop:
                return
            batch = self._take()
            if not batch:
                continue
            if batch[0].errand is not None:
                self._run(batch[0])
                continue
            kept: list[Kept] | BaseException
            ledger = self._ledger_due()
            try:
                fresh = [each.fresh for each in batch if each.fresh is not None]
                kept = self.models.store.append(fresh, ledger)
                self.commits, self.committed = self.commits + 1, self.committed + len(batch)
            except Exception as error:
                kept = error
                self._ledger.appendleft(ledger)
            self._loop.call_soon_threadsafe(self._learn, batch, kept)

    def _take(self) -> list[Waiting]:
        """Take feedbacks up to the next errand, or the errand."""
        batch: list[Waiting] = []
        while self._queue and len(batch) < AT_ONCE:
            if self._queue[0].errand is not None:
                if not batch:
                    batch.append(self._queue.popleft())
                break
            batch.append(self._queue.popleft())
        self._taken += len(batch)
        return batch

    def _ledger_due(self) -> list[tuple[int, LedgerLine]]:
        """Return the lines of the ledger that were handed over."""
        due = []
        while self._ledger:
            due += self._ledger.popleft()
        return due

    def _hand_over_ledger(self, at_least: int) -> None:
        due = self.models.take_ledger(at_least)
        if due:
            self._ledger.append(due)

    def _run(self, waiting: Waiting) -> None:
        try:
            result = waiting.errand() if waiting.errand is not None else None
        except Exception as error:
            self._loop.call_soon_threadsafe(self._answer, waiting, None, error)
        else:
            self._loop.call_soon_threadsafe(self._answer, waiting, result, None)

    # Back on the loop

    def _answer(self, waiting: Waiting, result: Any, error: Exception | None) -> None:
        self._taken -= 1
        if waiting.answer.done():
            return
        if isinstance(error, sqlite3.Error | OSError):
            error = StoreDown(f"the store cannot be written to: {error}")
        if error is not None:
            waiting.answer.set_exception(error)
        else:
            waiting.answer.set_result(result)

    def _learn(self, batch: list[Waiting], kept: list[Kept] | BaseException) -> None:
        """Learn from what is in the journal now, and answer."""
        self._taken -= len(batch)
        if isinstance(kept, BaseException):
            self._refuse(batch, kept)
            return
        self.failing = None
        for waiting, where in zip(batch, kept, strict=True):
            if waiting.fresh is None:
                continue
            try:
                change = self.models.learned(waiting.fresh, where)
            except Exception as error:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
                continue
            if not waiting.answer.done():
                waiting.answer.set_result(change)
        self._hand_over_ledger(LEDGER_AT_ONCE)
        self._snapshot_when_due()

    def _refuse(self, batch: list[Waiting], error: BaseException) -> None:
        self.failing = str(error)
        log.error("the journal cannot be written", extra={"reason": str(error), "feedbacks": len(batch)})
        refusal = StoreDown(f"the feedback could not be made durable and was not learned from: {error}")
        for waiting in batch:
            if not waiting.answer.done():
                waiting.answer.set_exception(refusal)

    def _snapshot_when_due(self) -> None:
        for model in self.models:
            behind = model.counts.seq - model.snapshot_seq
            if behind >= self.snapshot_every and model.number not in self._snapping:
                self._snapping.add(model.number)
                task = self._loop.create_task(self._snap(model))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _snap(self, model: Model) -> None:
        try:
            await self.snapshot(model.name)
        except Exception:
            log.exception("no snapshot", extra={"model": model.name})
        finally:
            self._snapping.discard(model.number)


async def _each(pairs: Any) -> Any:
    if hasattr(pairs, "__aiter__"):
        async for pair in pairs:
            yield pair
    else:
        for pair in pairs:
            yield pair
