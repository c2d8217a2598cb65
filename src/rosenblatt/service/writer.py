"""The one write path: queue, group commit, learner.

A feedback takes three steps: the event loop checks it and puts it into a bounded queue; a thread takes all feedbacks
that wait, writes them to the journal in one transaction and flushes it; the loop then learns from them in that order
and answers. So every model always equals a replay of a prefix of the journal, and a prediction never waits for the
disk. Commands run the same coroutines (:class:`LocalModels`).

Slow work runs in a thread beside the loop. While it reads a model, committed feedback waits to be learned:
:meth:`Service.read`.
"""

import asyncio
import collections
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from rosenblatt.service.model import Model
from rosenblatt.service.models import LEDGER_AT_ONCE, Models, add_to
from rosenblatt.service.schemas import (
    Change,
    Example,
    Explained,
    Learned,
    LedgerLine,
    ModelSettings,
    Portraits,
    feedback_on,
)
from rosenblatt.service.snapshots import freeze, open_copy, restore
from rosenblatt.service.store import Fresh, JournalPlace, JournalRow, Store
from rosenblatt.service.warmup import is_ready, prepare
from rosenblatt.web.refusals import Busy, Closing, Conflict, Gone, Refusal, StoreDown, TooLarge, Unknown

T = TypeVar("T")
log = logging.getLogger("rosenblatt.service")
AT_ONCE = 512  # feedbacks in one transaction
BULK_AT_ONCE = 64  # feedbacks of a bulk that go through the queue together
MOST_WAITING = 2048
MOST_LARGE = 64  # large requests that are worked on or wait for their turn
MOST_DOWNLOADS = 8  # models that are sent as files at a time
MOST_PORTRAYED = 100_000  # classes × features of each in one answer
WRITER_STOPPED = "the thread that writes the journal has stopped: restart the service"
PROBE_SECONDS = 1.0  # between two attempts to write while the store cannot be written to
DELIVERY_SECONDS = (
    0.005  # that what was committed has the loop at a time: feedback that makes a model grow is slow
)
REMEMBER_SECONDS = (
    0.25  # between two writes of the ids of predictions: a killed process loses those since the last
)
Lines = list[tuple[int, LedgerLine]]


class Queued(NamedTuple):
    """Feedbacks in the queue and the future of their changes, or a task for the journal's thread."""

    fresh: Sequence[Fresh]
    answer: "asyncio.Future[Any]"
    brief: bool = False  # the changes need not list which weights moved
    task: Callable[[], Any] | None = None
    then: Callable[[Any], Any] | None = (
        None  # called on the loop with the task's result, before anything else
    )


class Failure(NamedTuple):
    """A transaction that failed, and the rows of it that are in the journal all the same."""

    error: Exception
    rows: list[JournalRow] | Exception


class GroupCommit:
    """A queue in front of the journal, and a thread that writes everything in it in one transaction.

    ``written(batch, places)`` is called on the loop for every transaction, in order; after a failed one ``places`` is a
    :class:`Failure`. ``done(queued, result, error)`` is called for every task.
    """

    def __init__(
        self,
        store: Store,
        written: Callable[[list[Queued], list[JournalPlace] | Failure], None],
        done: Callable[[Queued, Any, Exception | None], None],
    ) -> None:
        self._store, self._written, self._done = store, written, done
        self.commits = self.committed = 0
        self._queue: collections.deque[Queued] = collections.deque()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waking = False  # the thread will be woken before the loop waits for the network again
        self._idle = True
        self._ledger: collections.deque[Lines] = collections.deque()
        self._thread: threading.Thread | None = None
        self.alive = False  # whether the thread runs; read for every feedback, so without a lock
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

    def put(self, queued: Queued) -> None:
        """Put something into the queue."""
        self._queue.append(queued)
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
        """Forget the lines of a model that is being deleted. For tasks."""
        due = [line for line in self.ledger_due() if line[0] != model]
        if due:
            self._ledger.appendleft(due)

    def write_ledger(self) -> None:
        """Write the lines of the ledger that were handed over; they stay due where that fails. For tasks."""
        due = self.ledger_due()
        try:
            self._store.write_ledger(due)
        except BaseException:
            self._ledger.appendleft(due)
            raise

    def _write(self) -> None:
        """Write everything in the queue in one transaction, again and again until stopped."""
        try:
            while not self._stop:
                batch = self._take()
                if not batch:
                    self._idle = True
                    if not self._queue:  # checked again: something may have come before _idle was set
                        self._wake.get()
                    self._idle = False
                elif batch[0].task is not None:
                    self._run(batch[0], batch[0].task)
                else:
                    self._append(batch)
        finally:
            self.alive = False

    def _take(self) -> list[Queued]:
        """Take feedbacks up to the next task, or the task."""
        batch: list[Queued] = []
        room = AT_ONCE
        while self._queue and room > 0:
            if self._queue[0].task is not None:
                return batch or [self._queue.popleft()]
            batch.append(self._queue.popleft())
            room -= len(batch[-1].fresh)
        return batch

    def _append(self, batch: list[Queued]) -> None:
        places: list[JournalPlace] | Failure
        ledger = self.ledger_due()
        fresh = [each for queued in batch for each in queued.fresh]
        before = self._store.last_seq
        try:
            places = self._store.append(fresh, ledger)
            self.commits, self.committed = self.commits + 1, self.committed + len(fresh)
        except Exception as error:
            places = Failure(error, self._rows_after(before))
            self._ledger.appendleft(ledger)
        self._loop.call_soon_threadsafe(self._written, batch, places)

    def _rows_after(self, seq: int) -> list[JournalRow] | Exception:
        """Open the store again and return the journal's rows after ``seq``: a write that raised may have succeeded."""
        try:
            self._store.reopen()
            return self._store.rows_after(seq)
        except Exception as error:
            return error

    def _run(self, queued: Queued, task: Callable[[], Any]) -> None:
        result, failed = None, None
        try:
            result = task()
        except Exception as error:
            failed = error
        self._loop.call_soon_threadsafe(self._done, queued, result, failed)


class Rebuilt(NamedTuple):
    """A model without a feedback that was undone, and whether the journal had that feedback."""

    model: Model
    removed: bool


class Service:
    """The models of a store in a running process: every write, and slow reads.

    Call every method from the event loop on which :meth:`start` was called. Fast reads go to ``models`` directly.
    """

    def __init__(
        self,
        models: Models,
        *,
        snapshot_every: int = 20_000,
        most_waiting: int = MOST_WAITING,
        warm_up: bool = True,
    ) -> None:
        self.models = models
        self._warm_up = warm_up  # compile for a new model before it is served
        self.snapshot_every, self.most_waiting = snapshot_every, most_waiting
        self.failing: str | None = None  # why the store could not be written to, the last time
        self.closing = False
        self.waiting = 0  # feedbacks and tasks that have not been answered
        self._journal = GroupCommit(models.store, self._written, self._done)
        self._readers = 0  # threads that read a model now
        self._deliveries: collections.deque[Iterator[None]] = collections.deque()  # committed, to be learned
        self._delivering_soon = False
        self._large = ThreadPoolExecutor(
            1, "large-requests"
        )  # one: the loop gets every other turn of the GIL
        self._large_waiting = self._downloads = 0
        self._turn = asyncio.Semaphore(1)
        self._snapping: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def commits(self) -> int:
        """How many transactions the journal has made."""
        return self._journal.commits

    @property
    def committed(self) -> int:
        """How many feedbacks were in them."""
        return self._journal.committed

    # Life

    def start(self) -> None:
        """Start to accept feedback."""
        self._loop = asyncio.get_running_loop()
        self._journal.start()
        self._remembering = self._loop.call_later(REMEMBER_SECONDS, self._remember)

    async def stop(self, snapshot: bool = True) -> None:
        """Refuse new feedback, answer what waits, write snapshots of models that changed, and close the store."""
        self.closing = True
        self._remembering.cancel()
        while self.waiting or self._tasks or self._readers:
            await asyncio.sleep(0.005)
        if self._journal.alive:
            try:
                for model in self.models if snapshot else ():
                    if model.counts.seq > model.snapshot_seq:
                        await self.snapshot(model.name)
            except (
                Refusal,
                sqlite3.Error,
                OSError,
            ) as error:  # the journal has everything: the next start takes longer
                log.error("no snapshots at the end", extra={"reason": str(error)})  # noqa: TRY400 (expected)
        self._large.shutdown(wait=False, cancel_futures=True)
        await self._journal.stop()
        self.models.close()

    # Beside the loop

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other large request is worked on, so that only one copy of a model is in memory."""
        if self._large_waiting >= MOST_LARGE:
            raise Busy(f"{self._large_waiting} large requests wait for their turn: try again in a moment")
        self._large_waiting += 1
        try:
            async with self._turn:
                yield
        finally:
            self._large_waiting -= 1

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run work in a thread beside the event loop: it may read what never changes, or a frozen copy."""
        return await self._loop.run_in_executor(self._large, work, *arguments)

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run work that reads a model in a thread; nothing is learned meanwhile, so it must take milliseconds only.

        Feedback that is committed while it runs is learned when it ends, in order; predictions go on.
        """
        running = self._loop.run_in_executor(self._large, work, *arguments)
        self._readers += 1
        running.add_done_callback(
            self._reader_done
        )  # when the thread has ended, not when its caller went away
        return await asyncio.shield(running)

    def _reader_done(self, _: Any) -> None:
        self._readers -= 1
        if not self._delivering_soon:
            self._go_on_delivering()

    def _deliver(self, delivery: Iterator[None]) -> None:
        """Learn and answer what a commit brought, step by step: in commit order, and never while a thread reads."""
        self._deliveries.append(delivery)
        if len(self._deliveries) == 1 and not self._delivering_soon:
            self._go_on_delivering()

    def _go_on_delivering(self) -> None:
        self._delivering_soon = False
        until = time.perf_counter() + DELIVERY_SECONDS
        while self._deliveries and not self._readers:
            try:
                next(self._deliveries[0])
            except StopIteration:
                self._deliveries.popleft()
            except Exception:  # logged, as the loop would log it; the other deliveries go on
                self._deliveries.popleft()
                log.exception("a committed change could not be delivered")
            if self._deliveries and time.perf_counter() > until:
                self._delivering_soon = True
                self._loop.call_soon(self._go_on_delivering)  # others first
                return

    async def explain(self, name: str, prediction: str) -> Explained:
        """Return what every feature adds to the score of a prediction's example."""
        async with self.turn():
            model = self.models.model(name)
            example = await self.aside(self.models.remembered, name, prediction)
            part = await self.read(model.learner.part_for, example)
            return await self.aside(model.explain, example, part)

    async def portraits(self, name: str, top: int) -> Portraits:
        """Return the features that speak most for each class."""
        async with self.turn():
            model = self.models.model(name)
            classes = len(model.learner.labels)
            if top * classes > MOST_PORTRAYED:
                raise TooLarge(
                    f"model {name!r} has {classes:,} classes, and classes × features of each may be "
                    f"{MOST_PORTRAYED:,}: ask with a smaller top, at most {MOST_PORTRAYED // classes:,}"
                )
            frozen = await self.read(model.learner.frozen)
            return await self.aside(model.portraits, top, frozen)

    async def fingerprint(self, name: str) -> str:
        """Return a digest of every bit of a model as it is when its turn comes."""
        async with self.turn():
            frozen = await self.read(self.models.model(name).learner.frozen)
            return await self.aside(frozen.fingerprint)

    @asynccontextmanager
    async def file_of(self, name: str) -> AsyncIterator[BinaryIO]:
        """Yield a model as an open file; at most :data:`MOST_DOWNLOADS` at a time, however slowly clients read them."""
        if self._downloads >= MOST_DOWNLOADS:
            raise Busy(f"{self._downloads} models are being downloaded: try again in a moment")
        self._downloads += 1
        try:
            with await self._copy_of(name) as file:
                yield file
        finally:
            self._downloads -= 1

    async def _copy_of(self, name: str) -> BinaryIO:
        """Return a model as an open file; the copy in memory is freed when this returns."""
        async with self.turn():
            frozen = await self.read(freeze, self.models.model(name))
            return await asyncio.to_thread(open_copy, self.models.store.folder, frozen)

    async def ledger(self, name: str, after: int = 0, limit: int = 100) -> list[LedgerLine]:
        """Return lines of a model's ledger after a feedback: examples predicted wrongly, or that moved the weights."""
        number = self.models.model(name).number
        await self.write_ledger()
        return await asyncio.to_thread(self.models.store.ledger, number, after, limit)

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
        """Learn the true label of an example or a prediction; it is on disk when this returns."""
        fresh = self.models.fresh(name, feedback_on(label, example, prediction, key))
        return one(await self.submit((fresh,)))

    def submit(self, fresh: Sequence[Fresh], brief: bool = False) -> "asyncio.Future[list[Change | Refusal]]":
        """Put feedbacks into the queue; the future holds their changes."""
        refusal = self._refusal(len(fresh))
        if refusal is not None:
            for each in fresh:
                self.models.release(each)
            raise refusal
        answer: asyncio.Future[list[Change | Refusal]] = self._loop.create_future()
        self._put(Queued(fresh, answer, brief))
        return answer

    def _refusal(self, n: int) -> Refusal | None:
        """Return why so many feedbacks cannot be taken now, or None."""
        if self.closing:
            return Closing("the service is shutting down: try again in a moment")
        if not self._journal.alive:
            return StoreDown(WRITER_STOPPED)
        if self.waiting + n > self.most_waiting:
            return Busy(f"{self.waiting:,} feedbacks wait to be written: try again in a moment")
        return None

    def _put(self, queued: Queued) -> None:
        self.waiting += len(queued.fresh) or 1
        self._journal.put(queued)

    async def learn(self, name: str, pairs: Iterable[tuple[Example, Any]]) -> Learned:
        """Learn from many examples and their labels, in order.

        An example that cannot be learned from raises a refusal; all before it are on disk then.
        """
        bulk = Bulk(self)
        try:
            for example, label in pairs:
                await bulk.add(self.models.fresh(name, feedback_on(label, example)))
        except BaseException:
            await bulk.settle()
            raise
        return await bulk.finish()

    async def run(self, task: Callable[[], Any], then: Callable[[Any], Any] | None = None) -> Any:
        """Run a task on the journal's thread after all that is in the queue, then ``then(result)`` on the loop."""
        if self.closing and then is not None:
            raise Closing("the service is shutting down: try again in a moment")
        if not self._journal.alive:
            raise StoreDown(WRITER_STOPPED)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._put(Queued((), answer, task=task, then=then))
        return await answer

    async def create(self, name: str, settings: ModelSettings | None = None) -> bool:
        """Make a model; return whether it is new. One that is there with the same settings stays as it is."""
        settings = settings or ModelSettings()
        self.models.check_settings(name, settings)
        if name not in self.models:
            if self._warm_up and not is_ready(settings):
                await asyncio.to_thread(prepare, settings)
            try:
                await self.run(
                    lambda: self.models.store.add_model(name, settings),
                    lambda number: self.models.add(Model(number, name, settings)),
                )
            except Conflict:  # another request created it meanwhile
                pass
            else:
                return True
        if self.models.model(name).settings != settings:
            raise Conflict(
                f"model {name!r} exists with other settings: delete it first, or choose another name"
            )
        return False

    async def delete(self, name: str) -> None:
        """Delete a model and its feedback, after what is in the queue; feedback queued later finds no model."""
        number = self.models.number_of(name)

        def drop() -> None:
            self._journal.discard_ledger(number)
            self.models.store.drop_model(number)

        def forget(_: None) -> None:
            if name in self.models.offline or (name in self.models and self.models.number_of(name) == number):
                self.models.forget_name(name)

        await self.run(drop, forget)

    async def adopt(self, name: str, model: Model) -> None:
        """Replace the model of this name by one from a file, or create it."""
        self.models.check_room(model)
        await self.create(name, model.settings)
        model.number = self.models.model(name).number
        await self.run(lambda: self.models.write_base(model), lambda _: self.models.add(model))

    async def undo(self, name: str, seq: int) -> bool:
        """Undo a feedback: remove it from the journal; return whether it was there.

        **Guarantee.** Afterwards the model has the fingerprint of a clean replay of all other feedbacks, in their
        order. The key of the feedback stays stored, so a repeated request does not bring it back, and its number in
        the journal is not used again.
        """
        model = self.models.model(name)

        def put(rebuilt: Rebuilt) -> None:
            self.models.ledger_due = [each for each in self.models.ledger_due if each[0] != model.number]
            self.models.add(rebuilt.model)

        await self.write_ledger()
        rebuilt: Rebuilt = await self.run(lambda: _rebuilt(self.models.store, model, seq), put)
        return rebuilt.removed

    async def snapshot(self, name: str) -> None:
        """Write a snapshot; predictions do not wait for it."""
        frozen = await self.read(freeze, self.models.model(name))
        self._journal.hand_over(self.models.take_ledger(1))  # lines up to the snapshot are written before it

        def write() -> None:
            self._journal.write_ledger()
            self.models.write_frozen(frozen)

        await self.run(write)

    async def write_ledger(self) -> None:
        """Write all lines of the ledger that are due."""
        self._journal.hand_over(self.models.take_ledger(1))
        await self.run(self._journal.write_ledger)

    # Called by the journal's thread, on the loop

    def _done(self, queued: Queued, result: Any, error: Exception | None) -> None:
        self._deliver(self._answer_task(queued, result, error))

    def _written(self, batch: list[Queued], places: list[JournalPlace] | Failure) -> None:
        self._deliver(self._learn(batch, places))

    def _answer_task(self, queued: Queued, result: Any, error: Exception | None) -> Iterator[None]:
        """Answer a task, in one step."""
        self.waiting -= 1
        if error is None and queued.then is not None:
            queued.then(result)
        if isinstance(error, sqlite3.Error | OSError):
            self._fail(str(error))
            error = StoreDown(f"the store cannot be written to: {error}")
        if queued.answer.done():
            pass
        elif error is not None:
            queued.answer.set_exception(error)
        else:
            queued.answer.set_result(result)
        yield

    def _learn(self, batch: list[Queued], places: list[JournalPlace] | Failure) -> Iterator[None]:
        """Learn from what is in the journal now, one feedback a step, and answer."""
        if isinstance(places, Failure):
            self._refuse(batch, places)
            return
        self.failing = None
        remaining = iter(places)
        for queued in batch:
            changes = []
            for fresh in queued.fresh:
                changes.append(self._change(fresh, next(remaining), queued.brief))
                yield
            self.waiting -= len(changes)
            if not queued.answer.done():
                queued.answer.set_result(changes)
        self._journal.hand_over(self.models.take_ledger(LEDGER_AT_ONCE))
        self._snapshot_when_due()

    def _change(self, fresh: Fresh, place: JournalPlace, brief: bool) -> Change | Refusal:
        try:
            return self.models.learned(fresh, place, brief)
        except Refusal as refusal:
            if isinstance(refusal.__cause__, Exception):
                log.exception("a model went offline", extra={"seq": place.seq})
            return refusal

    def _refuse(self, batch: list[Queued], failure: Failure) -> None:
        """Answer that nothing was learned; learn rows that the journal has all the same, so that both agree."""
        error = failure.error
        self._fail(str(error))
        feedbacks = sum(len(each.fresh) for each in batch)
        log.error("the journal cannot be written", extra={"reason": str(error), "feedbacks": feedbacks})
        if isinstance(failure.rows, Exception):
            log.error("the store cannot be opened again", extra={"reason": str(failure.rows)})
        else:
            self.models.catch_up(failure.rows)
        for queued in batch:
            self.waiting -= len(queued.fresh)
            for fresh in queued.fresh:
                self.models.release(fresh)
            if not queued.answer.done():
                queued.answer.set_exception(
                    StoreDown(f"the feedback could not be made durable and was not learned from: {error}")
                )

    # Whether it is ready

    def problem(self) -> str | None:
        """Return why feedback cannot be made durable now, or None."""
        if self.closing:
            return "closing"
        if not self._journal.alive:
            return WRITER_STOPPED
        return self.failing

    def _fail(self, reason: str) -> None:
        """Note that the store cannot be written to, and try again until it can be."""
        if self.failing is None:
            self._loop.call_later(PROBE_SECONDS, self._start_probe)
        self.failing = reason

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _start_probe(self) -> None:
        if self.failing is not None and not self.closing:
            self._start(self._probe())

    async def _probe(self) -> None:
        try:
            await self.run(self.models.store.probe)
        except Exception:  # noted by _answer_task; the next attempt may succeed
            self._loop.call_later(PROBE_SECONDS, self._start_probe)
        else:
            self.failing = None
            log.info("the store can be written to again")

    def _remember(self) -> None:
        """Write the latest predictions to their file, where the next process finds them."""
        if self.models.recent.dirty and not self.closing and self._journal.alive:
            self._start(self._flush_predictions())
        self._remembering = self._loop.call_later(REMEMBER_SECONDS, self._remember)

    async def _flush_predictions(self) -> None:
        try:
            await self.run(self.models.recent.flush)
        except Exception as error:
            log.error("predictions are not remembered", extra={"reason": str(error)})  # noqa: TRY400 (goes on)

    def _snapshot_when_due(self) -> None:
        for model in self.models:
            behind = model.counts.seq - model.snapshot_seq
            if behind >= self.snapshot_every and model.number not in self._snapping:
                self._snapping.add(model.number)
                self._start(self._snap(model))

    async def _snap(self, model: Model) -> None:
        try:
            await self.snapshot(model.name)
        except Exception as error:
            log.error("no snapshot", extra={"model": model.name, "reason": str(error)})  # noqa: TRY400 (goes on)
            model.snapshot_seq = model.counts.seq - self.snapshot_every // 2  # try again later, not at once
        finally:
            self._snapping.discard(model.number)


def one(changes: list[Change | Refusal]) -> Change:
    """Return the only change, or raise the refusal in its place."""
    [change] = changes
    if isinstance(change, Refusal):
        raise change
    return change


def _rebuilt(store: Store, old: Model, seq: int) -> Rebuilt:
    """Remove a feedback from the journal, and rebuild its model from a snapshot before it and the rows after it."""
    base = store.base(old.number)
    if base is not None and seq <= base[0]:
        raise Gone(
            "this feedback can no longer be undone: the journal was compacted, or the model replaced, after it; "
            "correct it with new feedback instead"
        )
    with store.transaction() as db:
        if old.number not in store.live:
            raise Unknown(f"model {old.name!r} was deleted meanwhile")
        store.mark(db)
        removed = db.execute("DELETE FROM journal WHERE model = ? AND seq = ?", (old.number, seq)).rowcount
        stale = [
            row[0]
            for row in db.execute(
                "SELECT file FROM snapshots WHERE model = ? AND seq >= ?", (old.number, seq)
            )
        ]
        db.execute("DELETE FROM snapshots WHERE model = ? AND seq >= ?", (old.number, seq))
        db.execute("DELETE FROM ledger WHERE model = ? AND seq >= ?", (old.number, seq))
        store.generations[old.number] = generation = store.generations.get(old.number, 0) + 1
    for file in stale:
        (store.folder / "snapshots" / file).unlink(missing_ok=True)
    model = Model(old.number, old.name, old.settings)
    model.generation = generation
    restore(store, model)
    lines = []
    for entry in store.entries(model.number, model.counts.seq):
        line = model.replay(*entry)
        if line is not None:
            lines.append((model.number, line))
    store.write_ledger(lines)
    return Rebuilt(model, bool(removed))


class Bulk:
    """Many feedbacks in order, a few in the queue at a time, so that other requests are served in between."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._size = max(1, min(BULK_AT_ONCE, service.most_waiting // 4))
        self._held: list[Fresh] = []
        self._last: asyncio.Future[list[Change | Refusal]] | None = None
        self.total = Learned(0, 0, 0, 0)

    async def add(self, fresh: Fresh) -> None:
        """Take one more."""
        self._held.append(fresh)
        if len(self._held) >= self._size:
            await self._flush()

    async def finish(self) -> Learned:
        """Return what was learned once all of it is on disk."""
        await self._flush()
        await self._wait()
        return self.total

    async def settle(self) -> None:
        """Learn from the feedback added so far, as far as possible."""
        with contextlib.suppress(Refusal):
            await self.finish()

    async def _flush(self) -> None:
        if not self._held:
            return
        held, self._held = self._held, []
        before = self._last
        while self._service.waiting > self._service.most_waiting // 2:
            await asyncio.sleep(0.001)
        self._last, last = self._service.submit(held, brief=True), before
        if last is not None:
            self._count(await last)

    async def _wait(self) -> None:
        if self._last is not None:
            last, self._last = self._last, None
            self._count(await last)

    def _count(self, changes: list[Change | Refusal]) -> None:
        for change in changes:
            if isinstance(change, Refusal):
                raise change
            add_to(self.total, change)


class LocalModels(Models):
    """The models of a store for commands and scripts, without a server: every write runs the service's coroutine.

    >>> import tempfile
    >>> models = LocalModels(tempfile.mkdtemp())
    >>> models.create("mail")
    True
    >>> models.learn("mail", [(Example(text="free offer"), "spam"), (Example(text="lunch at noon"), "ham")]).learned
    2
    >>> [prediction] = models.predict("mail", [Example(text="free lunch offer")])
    >>> prediction.label, prediction.undecided
    ('spam', False)
    >>> models.close()
    """

    def __init__(self, folder: str | Path, **options: Any) -> None:
        super().__init__(folder, **options)
        self._loop = (
            asyncio.new_event_loop()
        )  # in a thread of its own: in a notebook another loop runs already
        self._thread = threading.Thread(target=self._loop.run_forever, name="local-models", daemon=True)
        self._thread.start()
        self.service = Service(self, warm_up=False)  # nobody else waits while a rule is compiled
        self._closed = False
        self.wait_for(self._start())

    async def _start(self) -> None:
        self.service.start()

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the service to its end."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def create(self, name: str, settings: ModelSettings | None = None) -> bool:
        """Make a model; return whether it is new."""
        return self.wait_for(self.service.create(name, settings))

    def delete(self, name: str) -> None:
        """Delete a model and all that it learned from; one that is offline, too."""
        self.wait_for(self.service.delete(name))

    def feedback(
        self,
        name: str,
        label: Any,
        example: Example | None = None,
        *,
        prediction: str | None = None,
        key: str | None = None,
    ) -> Change:
        """Learn the true label of an example or a prediction; it is on disk when this returns."""
        return self.wait_for(self.service.feedback(name, label, example, prediction=prediction, key=key))

    def learn(self, name: str, pairs: Iterable[tuple[Example, Any]]) -> Learned:
        """Learn from many examples and their labels, in order."""
        return self.wait_for(self.service.learn(name, pairs))

    def undo(self, name: str, seq: int) -> bool:
        """Take a feedback back; return whether it was there."""
        return self.wait_for(self.service.undo(name, seq))

    def ledger(self, name: str, after: int = 0, limit: int = 100) -> list[LedgerLine]:
        """Return lines of a model's ledger after a feedback."""
        return self.wait_for(self.service.ledger(name, after, limit))

    def snapshot(self, name: str) -> None:
        """Write a snapshot, so that the next start replays nothing."""
        self.wait_for(self.service.snapshot(name))

    def close(self, snapshot: bool = True) -> None:
        """Write snapshots of what changed, and close the store."""
        if self._closed:  # by the service, which closes its models last
            super().close()
            return
        self._closed = True
        try:
            self.wait_for(self.service.stop(snapshot))
        finally:
            self.wait_for(self._loop.shutdown_default_executor())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
