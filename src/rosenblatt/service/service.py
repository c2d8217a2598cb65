"""The models in a running server: reading is immediate, writing is awaited, and many writes share one flush.

A feedback goes through three hands: the event loop checks it and puts it into a bounded queue; a thread takes all that
wait, writes them to the journal in one transaction and flushes it; the loop then learns from them in that order and
answers. So the models are always exactly what some beginning of the journal makes them, and a prediction never
waits for the disk.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from rosenblatt.service.bulk import Bulk
from rosenblatt.service.group_commit import GroupCommit, Waiting
from rosenblatt.service.messages import Change, Example, Explained, Learned, ModelSettings, Portraits
from rosenblatt.service.model import Model
from rosenblatt.service.models import LEDGER_AT_ONCE, Models
from rosenblatt.service.rehearsal import is_ready, prepare
from rosenblatt.service.snapshots import content_of, freeze
from rosenblatt.service.store import Fresh, Kept
from rosenblatt.web.refusals import Busy, Closing, Conflict, Refusal, StoreDown

T = TypeVar("T")
log = logging.getLogger("rosenblatt.service")
MOST_WAITING = 2048
MOST_LARGE = 64  # large requests that are worked on or wait for their turn
WRITER_STOPPED = "the thread that writes the journal has stopped: restart the service"
PROBE_SECONDS = 1.0  # between two attempts to write while the store cannot be written to
REMEMBER_SECONDS = 0.25  # a killed process loses the ids of predictions of so long


class Service:
    """Models behind a group commit. Every method is called from the event loop that :meth:`start` was called on."""

    def __init__(
        self, models: Models, *, snapshot_every: int = 20_000, most_waiting: int = MOST_WAITING
    ) -> None:
        self.models = models
        self.snapshot_every, self.most_waiting = snapshot_every, most_waiting
        self.failing: str | None = None  # why the store could not be written to, the last time
        self.closing = False
        self.waiting = 0  # feedbacks and errands that have not been answered
        self._journal = GroupCommit(models.store, self._learn, self._done)
        self._large = ThreadPoolExecutor(
            1, "large-requests"
        )  # one: the loop has the interpreter every other time
        self._large_waiting = 0
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
        """Begin to take feedback."""
        self._loop = asyncio.get_running_loop()
        self._journal.start()
        self._remembering = self._loop.call_later(REMEMBER_SECONDS, self._remember)

    async def stop(self) -> None:
        """Refuse new feedback, answer all that waits, write snapshots, close the store."""
        self.closing = True
        self._remembering.cancel()
        while self.waiting or self._tasks:
            await asyncio.sleep(0.005)
        self._large.shutdown(wait=False, cancel_futures=True)
        await self._journal.stop()
        self.models.ledger_due = self._journal.ledger_due() + self.models.ledger_due
        try:
            self.models.close()
        except (sqlite3.Error, OSError) as error:  # the journal has everything: the next start takes longer
            log.error("no snapshots at the end", extra={"reason": str(error)})  # noqa: TRY400 (expected)

    # Large requests

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of a large request: they are worked on one after another, and copies made for one only."""
        if self._large_waiting >= MOST_LARGE:
            raise Busy(f"{self._large_waiting} large requests wait for their turn: try again in a moment")
        self._large_waiting += 1
        try:
            async with self._turn:
                yield
        finally:
            self._large_waiting -= 1

    async def aside(self, work: Callable[..., T], *given: Any) -> T:
        """Run work beside the event loop: it may read what never changes, or a frozen copy."""
        return await self._loop.run_in_executor(self._large, work, *given)

    async def explain(self, name: str, prediction: str) -> Explained:
        """Say what every feature adds to the score of a prediction's example."""
        async with self.turn():
            model = self.models.model(name)
            example = await self.aside(self.models.remembered, name, prediction)
            return await self.aside(model.explain, example, model.learner.frozen())

    async def portraits(self, name: str, top: int) -> Portraits:
        """Return the features that speak most for each class."""
        async with self.turn():
            model = self.models.model(name)
            return await self.aside(model.portraits, top, model.learner.frozen())

    async def fingerprint(self, name: str) -> str:
        """Return a digest of every bit of a model as it is when its turn comes."""
        async with self.turn():
            return await self.aside(self.models.model(name).learner.frozen().fingerprint)

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
        fresh = self.models.fresh(name, label, example, prediction, key)
        return one(await self.submit((fresh,)))

    def submit(self, fresh: Sequence[Fresh], brief: bool = False) -> "asyncio.Future[list[Change | Refusal]]":
        """Put feedbacks into the queue; the future holds their changes."""
        refusal = self._refusal(len(fresh))
        if refusal is not None:
            for each in fresh:
                self.models.release(each)
            raise refusal
        answer: asyncio.Future[list[Change | Refusal]] = self._loop.create_future()
        self._put(Waiting(fresh, answer, brief))
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

    def _put(self, waiting: Waiting) -> None:
        self.waiting += len(waiting.fresh) or 1
        self._journal.put(waiting)

    async def learn(self, name: str, pairs: Iterable[tuple[Example, Any]]) -> Learned:
        """Learn from many examples and their labels, in order."""
        bulk = Bulk(self)
        for example, label in pairs:
            await bulk.add(self.models.fresh(name, label, example))
        return await bulk.finish()

    async def errand(self, work: Callable[[], Any], then: Callable[[Any], Any] | None = None) -> Any:
        """Have the journal's thread do something after all that is in the queue."""
        if self.closing and then is not None:
            raise Closing("the service is shutting down: try again in a moment")
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._put(Waiting((), answer, errand=work, then=then))
        return await answer

    async def create(self, name: str, settings: ModelSettings | None = None) -> bool:
        """Make a model; return whether it is new. One that is there with the same settings stays as it is."""
        settings = settings or ModelSettings()
        self.models.checked(name, settings)
        if name not in self.models:
            if not is_ready(settings):
                await asyncio.to_thread(prepare, settings)
            try:
                await self.errand(
                    lambda: self.models.store.add_model(name, settings),
                    lambda number: self.models.add(Model(number, name, settings)),
                )
            except Conflict:  # somebody was faster
                pass
            else:
                return True
        self.models.create(name, settings)
        return False

    async def delete(self, name: str) -> None:
        """Delete a model and all that it was told: after what is in the queue; what comes later finds no model."""
        number = self.models.number_of(name)

        def drop() -> None:
            self._journal.discard_ledger(number)
            self.models.store.drop_model(number)

        def forget(_: None) -> None:
            if name in self.models.offline or (name in self.models and self.models.number_of(name) == number):
                self.models.forget_name(name)

        await self.errand(drop, forget)

    async def adopt(self, name: str, model: Model) -> None:
        """Put a model that came in a file in the place of the one of this name, or make it."""
        self.models.check_room(model)
        await self.create(name, model.settings)
        model.number = self.models.model(name).number
        await self.errand(lambda: self.models.write_base(model), lambda _: self.models.add(model))

    async def file_of(self, name: str) -> bytes:
        """Return a model as a file."""
        async with self.turn():
            frozen = freeze(self.models.model(name))
            return await asyncio.to_thread(content_of, self.models.store.folder, frozen)

    async def snapshot(self, name: str) -> None:
        """Write a snapshot without keeping predictions waiting."""
        model = self.models.model(name)
        self._journal.hand_over(self.models.take_ledger(1))
        frozen = freeze(model)

        def write() -> None:
            self._journal.write_ledger()
            self.models.write_frozen(frozen)

        await self.errand(write)

    async def write_ledger(self) -> None:
        """Have all lines of the ledger written that are due."""
        self._journal.hand_over(self.models.take_ledger(1))
        await self.errand(self._journal.write_ledger)

    # What the journal's thread has done

    def _done(self, waiting: Waiting, result: Any, error: Exception | None) -> None:
        """Answer an errand."""
        self.waiting -= 1
        if error is None and waiting.then is not None:
            waiting.then(result)
        if waiting.answer.done():
            return
        if isinstance(error, sqlite3.Error | OSError):
            self._fail(str(error))
            error = StoreDown(f"the store cannot be written to: {error}")
        if error is not None:
            waiting.answer.set_exception(error)
        else:
            waiting.answer.set_result(result)

    def _learn(self, batch: list[Waiting], kept: list[Kept] | Exception) -> None:
        """Learn from what is in the journal now, and answer."""
        if isinstance(kept, Exception):
            self._refuse(batch, kept)
            return
        self.failing = None
        at = 0
        for waiting in batch:
            n = len(waiting.fresh)
            changes = self._changes(waiting, kept[at : at + n])
            at += n
            self.waiting -= n
            if not waiting.answer.done():
                waiting.answer.set_result(changes)
        self._journal.hand_over(self.models.take_ledger(LEDGER_AT_ONCE))
        self._snapshot_when_due()

    def _changes(self, waiting: Waiting, kept: list[Kept]) -> list[Change | Refusal]:
        changes: list[Change | Refusal] = []
        for fresh, where in zip(waiting.fresh, kept, strict=True):
            try:
                changes.append(self.models.learned(fresh, where, waiting.brief))
            except Refusal as refusal:
                if isinstance(refusal.__cause__, Exception):
                    log.exception("a model went offline", extra={"seq": where.seq})
                changes.append(refusal)
        return changes

    def _refuse(self, batch: list[Waiting], error: Exception) -> None:
        """Say that nothing was learned; where the journal has it nevertheless, learn it, so that both agree."""
        self._fail(str(error))
        feedbacks = sum(len(each.fresh) for each in batch)
        log.error("the journal cannot be written", extra={"reason": str(error), "feedbacks": feedbacks})
        self._agree_with_the_journal()
        for waiting in batch:
            self.waiting -= len(waiting.fresh)
            for fresh in waiting.fresh:
                self.models.release(fresh)
            if not waiting.answer.done():
                waiting.answer.set_exception(
                    StoreDown(f"the feedback could not be made durable and was not learned from: {error}")
                )

    def _agree_with_the_journal(self) -> None:
        try:
            self.models.store.reopen()
            self.models.catch_up()
        except Exception as error:
            log.error("the store cannot be opened again", extra={"reason": str(error)})  # noqa: TRY400 (expected)

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

    def _start_probe(self) -> None:
        if self.failing is not None and not self.closing:
            task = self._loop.create_task(self._probe())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _probe(self) -> None:
        try:
            await self.errand(self.models.store.probe)
        except Exception:  # written down by _done; the next attempt may succeed
            self._loop.call_later(PROBE_SECONDS, self._start_probe)
        else:
            self.failing = None
            log.info("the store can be written to again")

    def _remember(self) -> None:
        """Have what was predicted of late written where a successor finds it."""
        if self.models.recent.dirty and not self.closing:
            task = self._loop.create_task(self._quietly(self.errand(self.models.recent.flush)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._remembering = self._loop.call_later(REMEMBER_SECONDS, self._remember)

    async def _quietly(self, errand: Coroutine[Any, Any, Any]) -> None:
        try:
            await errand
        except Exception as error:
            log.error("predictions are not remembered", extra={"reason": str(error)})  # noqa: TRY400 (goes on)

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
