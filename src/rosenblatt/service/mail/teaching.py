"""What people say about messages, on its way into the journal and out of it: by a command, or in a running server."""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from rosenblatt.data.errors import BadLine, SkippedLines
from rosenblatt.service.mail.box import Answer, Mailbox
from rosenblatt.service.mail.folders import failure_reason
from rosenblatt.service.mail.marks import MODEL, SETTINGS, speaks_of_mail
from rosenblatt.service.mail.message import Mail
from rosenblatt.service.messages import Change, Example
from rosenblatt.service.model import Model
from rosenblatt.service.models import Models
from rosenblatt.service.service import Service
from rosenblatt.service.store import Fresh
from rosenblatt.service.undo import undo, undo_served
from rosenblatt.web.refusals import Busy, Closing, Refusal, Unknown

AT_ONCE = 200
CHARACTERS_AT_ONCE = 4 << 20  # of text that are held before it is written
LEARNED_AT_ONCE = 50  # in a running server, so that other requests come between
MOST_MESSAGES = 50_000  # of one upload


class Imported(NamedTuple):
    """What an import did."""

    messages: int  # that were read
    new: int
    learned: int
    mistakes: int  # predicted wrongly, or not at all, before they were learned from
    failures: SkippedLines  # messages that could not be read, and why; nothing of them is kept

    @property
    def failed(self) -> int:
        """How many messages could not be read."""
        return self.failures.total


class Intake:
    """Messages on their way into the box, a few hundred at a time; those that cannot be kept are listed."""

    def __init__(self, box: Mailbox, model: int) -> None:
        self._box, self._model = box, model
        self.messages = self.new = 0
        self.failures = SkippedLines()

    def take(self, items: Iterable[tuple[Mail, str | None] | BadLine]) -> None:
        """Keep messages with the labels they came with."""
        lot: list[tuple[Mail, str | None]] = []
        characters = 0
        for item in items:
            if isinstance(item, BadLine):
                self.failures.append(item)
                continue
            lot.append((item[0], item[1]))
            characters += len(item[0].text)
            if len(lot) == AT_ONCE or characters >= CHARACTERS_AT_ONCE:
                self._keep(lot)
                lot, characters = [], 0
        self._keep(lot)

    def _keep(self, lot: Sequence[tuple[Mail, str | None]]) -> None:
        """Keep a lot in one transaction; where one of it cannot be kept, each in its own."""
        try:
            self.new += self._box.add([mail for mail, _ in lot], self._model, [label for _, label in lot])
        except (sqlite3.Error, OSError):  # the store, not a message
            raise
        except Exception as error:  # whatever is in a message, the others are kept
            if len(lot) > 1:
                for each in lot:
                    self._keep([each])
                return
            self.failures.append(BadLine(lot[0][0].subject, 0, failure_reason(error)))
            return
        self.messages += len(lot)


# In a command, which has the store for itself


def learn_waiting(models: Models, box: Mailbox, name: str = MODEL) -> tuple[int, int]:
    """Learn from all answers that the journal may not have, as their messages were sent; return (learned, mistakes)."""
    number, learned, mistakes = models.model(name).number, 0, 0
    while waiting := box.waiting(number, AT_ONCE):
        fresh = [_fresh(models, name, answer, named) for answer, named in waiting]
        kept = models.store.append(fresh, models.take_ledger())
        for each, where in zip(fresh, kept, strict=True):
            change = models.learned(each, where, brief=True)
            learned += not change.repeated
            mistakes += change.right is False
        box.placed((answer.number, where.seq) for (answer, _), where in zip(waiting, kept, strict=True))
    return learned, mistakes


def settle(models: Models, box: Mailbox, name: str = MODEL) -> None:
    """Finish what a stopped process had begun."""
    for answer in box.half_taken_back(models.model(name).number):
        if answer.seq is not None:
            undo(models, name, answer.seq)
        box.taken_back(answer)
    learn_waiting(models, box, name)


def import_sorted(
    models: Models, box: Mailbox, items: Iterable[tuple[Mail, str | None] | BadLine]
) -> Imported:
    """Keep messages, and learn in time order from those with a label."""
    models.create(MODEL, SETTINGS)
    intake = Intake(box, models.model(MODEL).number)
    intake.take(items)
    return Imported(intake.messages, intake.new, *learn_waiting(models, box), intake.failures)


# In a running server


class Desk:
    """The filter in a running server: its box, its model, and answers on their way to the journal and back."""

    def __init__(self, service: Service, box: Mailbox) -> None:
        self.service, self.box = service, box
        self.imports = 0  # so that pages see when messages have come

    @property
    def model(self) -> Model | None:
        """The model, once there is one."""
        models = self.service.models
        found = models.model(MODEL) if MODEL in models else None
        return found if found is not None and speaks_of_mail(found) else None

    @property
    def number(self) -> int:
        """The number of the model; 0 while there is none."""
        return 0 if self.model is None else self.model.number

    async def settle(self) -> None:
        """Finish what a stopped process had begun."""
        if self.model is None:
            return
        for answer in self.box.half_taken_back(self.number):
            await self._out_of_journal(answer)
        await self.learn_waiting()

    async def learn_waiting(self) -> tuple[int, int]:
        """Learn from all answers that the journal may not have; return (learned, mistakes)."""
        learned = mistakes = 0
        while waiting := await asyncio.to_thread(self.box.waiting, self.number, LEARNED_AT_ONCE):
            fresh = [_fresh(self.service.models, MODEL, answer, named) for answer, named in waiting]
            changes = await self.service.submit(fresh, brief=True)
            places = []
            for (answer, _), change in zip(waiting, changes, strict=True):
                if isinstance(change, Refusal):
                    raise change
                places.append((answer.number, change.seq))
                learned += not change.repeated
                mistakes += change.right is False
            await asyncio.to_thread(self.box.placed, places)
        return learned, mistakes

    async def keep(self, mails: Iterable[Mail | BadLine], label: str | None = None) -> Imported:
        """Keep messages, and learn from them in time order where all have one label.

        Messages are read and written in a thread. Each is short work, so the server answers meanwhile.
        """
        await self.service.create(MODEL, SETTINGS)
        intake = Intake(self.box, self.number)
        some = islice(mails, MOST_MESSAGES)
        items = (mail if isinstance(mail, BadLine) else (mail, label) for mail in some)
        await asyncio.to_thread(intake.take, items)
        learned = await self.learn_waiting()
        if learned[0] >= AT_ONCE:  # what is taken back later is then replayed from here
            await self.service.snapshot(MODEL)
        self.imports += 1
        return Imported(intake.messages, intake.new, *learned, intake.failures)

    async def answer(self, message: int, label: str) -> Change:
        """Learn what a person says about a message; both the answer and the feedback are on disk when this returns."""
        await self.service.create(MODEL, SETTINGS)
        named = self.box.features(message)
        answer = self.box.answer(message, self.number, label)
        try:
            change = await self.service.feedback(MODEL, label, Example(features=named), key=answer.key)  # type: ignore[arg-type]
        except (Busy, Closing):  # it never came near the journal
            self.box.taken_back(answer)
            raise
        self.box.placed([(answer.number, change.seq)])
        return change

    async def undo(self) -> Answer:
        """Take the newest answer of the page back: the model becomes what it would be had it never been given."""
        answer = self.box.last_answer(self.number)
        if answer is None:
            raise Unknown("there is nothing to undo: no message has been corrected here")
        self.box.take_back(answer)
        await self._out_of_journal(answer)
        return answer

    async def _out_of_journal(self, answer: Answer) -> None:
        if answer.seq is not None:
            await undo_served(self.service, MODEL, answer.seq)
        self.box.taken_back(answer)


def _fresh(models: Models, name: str, answer: Answer, named: dict[str, float]) -> Fresh:
    return models.fresh(name, answer.label, Example(features=named), key=answer.key)  # type: ignore[arg-type]
