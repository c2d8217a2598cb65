"""Answers about messages, written to the journal and undone: by a command, or in a running server."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from rosenblatt import rules
from rosenblatt.data.errors import BadLine, SkippedLines
from rosenblatt.mail.features import WordReason
from rosenblatt.mail.folders import failure_reason
from rosenblatt.mail.mailbox import NO_MODEL, Answer, Mailbox, StoredMessage, Waiting
from rosenblatt.mail.marks import MODEL, SETTINGS, UNDECIDED, Mark, Marks, speaks_of_mail
from rosenblatt.mail.message import Mail
from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import Change, Feedback, ModelSettings
from rosenblatt.service.writer import LocalModels, Service
from rosenblatt.streams.online import OnlineLearner
from rosenblatt.web.refusals import Busy, Closing, Refusal, Unknown

T = TypeVar("T")
AT_ONCE = 200
CHARACTERS_AT_ONCE = 4 << 20  # of text that are held before it is written
LEARNED_AT_ONCE = 50  # in a running server, so that other requests come between
MOST_MESSAGES = 50_000  # of one upload
MOST_LISTED = 2000  # messages of a listing, the newest
FEW_TO_CHOOSE = 200  # messages
CANDIDATES = (rules.PassiveAggressive(C=1.0), rules.AROW(r=10.0))


class Imported(NamedTuple):
    """The result of an import."""

    messages: int  # that were read
    new: int
    learned: int
    dated: int  # of those learned from, how many say when they were sent
    mistakes: int  # of the dated ones, predicted wrongly, or not at all, before they were learned from
    failures: SkippedLines  # messages that could not be read, and why; nothing of them is kept

    @property
    def failed(self) -> int:
        """How many messages could not be read."""
        return self.failures.total


class Intake:
    """Stores messages in the mailbox, a few hundred at a time; those that cannot be stored are listed."""

    def __init__(self, box: Mailbox, model: int) -> None:
        self._box, self._model = box, model
        self.messages = self.new = 0
        self.failures = SkippedLines()

    def take(self, items: Iterable[tuple[Mail, str | None] | BadLine]) -> None:
        """Store messages with the labels they came with."""
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
        """Store messages in one transaction; if one of them cannot be stored, each in its own."""
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


@dataclass
class LearnedAnswers:
    """Counts of what was learned from waiting answers."""

    learned: int = 0
    dated: int = 0
    mistakes: int = 0

    def add(self, change: Change, dated: bool) -> None:
        """Count an answer; mistakes only where the order of messages is known, and so what came before each."""
        new = not change.repeated
        self.learned += new
        self.dated += new and dated
        self.mistakes += new and dated and change.right is False


def learn_waiting(models: LocalModels, box: Mailbox) -> LearnedAnswers:
    """Learn from all answers that the journal may not have, as their messages were sent."""
    return models.wait_for(MailFilter(models.service, box).learn_waiting())


def settle(models: LocalModels, box: Mailbox) -> None:
    """Finish what a stopped process had begun."""
    models.wait_for(MailFilter(models.service, box).settle())


def import_sorted(
    models: LocalModels, box: Mailbox, items: Iterable[tuple[Mail, str | None] | BadLine]
) -> Imported:
    """Store messages, and learn in time order from those with a label.

    The first import chooses the rule that the filter learns by: :func:`choose_settings`.
    """
    if MODEL in models or MODEL in models.offline:
        return models.wait_for(MailFilter(models.service, box).import_labelled(items))
    intake = Intake(box, NO_MODEL)
    intake.take(items)
    models.create(MODEL, choose_settings(_dated_answers(box)))
    number = models.model(MODEL).number
    box.set_model(number)
    box.assign_answers(number)
    return _imported(intake, learn_waiting(models, box))


def choose_settings(examples: Iterable[tuple[dict[str, float], str]]) -> ModelSettings:
    """Return the settings whose marks were wrong least often, each message marked before it is learned from.

    The candidates are passive-aggressive and AROW, each with its last and its averaged weights; mistakes of long ago
    count less (``OnlineLearner("auto")``). All strive for a score of 1, as the page shows it. Fewer than
    :data:`FEW_TO_CHOOSE` messages choose nothing: the passive-aggressive rule with its last weights.

    >>> choose_settings([]) == SETTINGS
    True
    """
    learner = OnlineLearner("auto", candidates=CANDIDATES, scale=False, calibrated=False)
    for features, label in examples:
        learner.learn_one(features, label)
    if learner.rows < FEW_TO_CHOOSE:
        return SETTINGS
    rule = rules.to_dict(learner.learner.rule)
    name = rule.pop("name")
    return msgspec.structs.replace(SETTINGS, hypothesis=learner.predicting, rule=name, parameters=rule)


def _dated_answers(box: Mailbox) -> Iterator[tuple[dict[str, float], str]]:
    """Yield the features and labels of messages that no model has learned from, as they were sent."""
    dated = [each.number for each in box.waiting(NO_MODEL) if each.dated]
    for numbers in batched(dated, AT_ONCE):
        yield from ((features, answer.label) for answer, features in box.answers(numbers))


# In a running server


class Listing:
    """The messages of a search with their marks. The messages stay the same; their marks change as the model learns.

    Reading messages and looking at the weights take tens of milliseconds, and are done in a thread.
    """

    def __init__(self, box: Mailbox, query: str, model: int) -> None:
        self.newest = box.newest()  # message of the box when this was read
        messages = box.find(query, model, MOST_LISTED)
        self._known_senders = box.met_again([each.sender for each in messages])
        self._marks = Marks([each.features for each in messages])
        self.messages: list[StoredMessage] = [
            each._replace(features={}) for each in messages
        ]  # the marks have them
        self.answers = {each.number: each.answer for each in messages if each.answer is not None}
        self._looked_at: Any = None

    def __len__(self) -> int:
        return len(self.messages)

    def look(self, model: Model | None, frozen: ServedLearner | None, state: Any) -> None:
        """Mark all messages again, unless they were marked with the weights of ``state``."""
        if state != self._looked_at:
            self._marks.look(model, frozen)
            self._looked_at = state

    def mark(self, at: int) -> Mark:
        """Return the mark of a message."""
        return self._marks.mark(at)

    def reasons(self, at: int, most: int) -> list[WordReason]:
        """Return what decided the mark of a message."""
        return self._marks.reasons(at, most, self._lone_sender(at))

    def words(self, at: int) -> dict[str, float]:
        """Return what every word of a message adds to its score."""
        return self._marks.words(at, self._lone_sender(at))

    def unsure(self) -> int:
        """Return how many messages that nobody has answered the model is unsure about."""
        return sum(
            self.mark(at).label == UNDECIDED
            for at, each in enumerate(self.messages)
            if each.number not in self.answers
        )

    def _lone_sender(self, at: int) -> bool:
        return self.messages[at].sender not in self._known_senders


class MailFilter:
    """The filter in a running server: its mailbox, its model, and answers and their undo."""

    def __init__(self, service: Service, box: Mailbox) -> None:
        self.service, self.box = service, box
        self._all: Listing | None = None  # of no search, which all pages share
        self._listing = asyncio.Lock()

    @property
    def model(self) -> Model | None:
        """The model, once there is one."""
        models = self.service.models
        model = models.model(MODEL) if MODEL in models else None
        return model if model is not None and speaks_of_mail(model) else None

    @property
    def number(self) -> int:
        """The number of the model; 0 while there is none."""
        return 0 if self.model is None else self.model.number

    # Listings

    @property
    def state(self) -> Any:
        """A value that changes whenever the weights do."""
        model = self.model
        return None if model is None else (model.number, model.counts.seq, id(model))

    async def listing(self, query: str = "") -> Listing:
        """Return the newest messages in which all words of a query occur, marked."""
        async with self._listing:
            listing = self._all if not query else None
            if listing is None or listing.newest != await asyncio.to_thread(self.box.newest):
                listing = await asyncio.to_thread(Listing, self.box, query, self.number)
            if not query:
                self._all = listing
        await self.refresh(listing)
        return listing

    async def refresh(self, listing: Listing, answers: bool = False) -> None:
        """Mark the messages of a listing again; with ``answers``, read the answers about them too."""
        async with self._listing:
            model, state = self.model, self.state
            frozen = None if model is None else await self.service.read(model.learner.frozen)
            await asyncio.to_thread(listing.look, model, frozen, state)
            if answers:
                numbers = [each.number for each in listing.messages]
                listing.answers = await asyncio.to_thread(self.box.answers_among, numbers, self.number)

    async def unsure(self) -> int:
        """Return how many of the newest messages that nobody has answered the model is unsure about."""
        listing = await self.listing()
        return await asyncio.to_thread(listing.unsure)

    async def accuracy(self) -> float | None:
        """Return the share of marks that were right before the truth was known; None where the order is unknown."""
        if self.model is None:
            return None
        without_date = await asyncio.to_thread(self.box.learned_without_date, self.number)
        return None if without_date else self.service.models.info(MODEL).accuracy

    # Answers

    async def settle(self) -> None:
        """Finish what a stopped process had begun."""
        if self.model is None:
            return
        await asyncio.to_thread(self.box.set_model, self.number)
        await asyncio.to_thread(self.box.assign_answers, self.number)
        await self._out_of_journal(await asyncio.to_thread(self.box.half_taken_back, self.number))
        await self.learn_waiting()

    async def learn_waiting(self) -> LearnedAnswers:
        """Learn from all answers that the journal may not have."""
        counts = LearnedAnswers()
        for waiting in batched(await asyncio.to_thread(self.box.waiting, self.number), LEARNED_AT_ONCE):
            await self._learn(waiting, counts)
        return counts

    async def _learn(self, waiting: Sequence[Waiting], counts: LearnedAnswers) -> None:
        """Write answers to the journal, and record their places in it."""
        answers = await asyncio.to_thread(self.box.answers, [each.number for each in waiting])
        fresh = [
            self.service.models.fresh(MODEL, Feedback(label=answer.label, features=named, key=answer.key))  # type: ignore[arg-type]
            for answer, named in answers
        ]
        changes = await self.service.submit(fresh, brief=True)
        places = []
        for (answer, _), change, waited in zip(answers, changes, waiting, strict=True):
            if isinstance(change, Refusal):
                raise change
            places.append((answer.number, change.seq))
            counts.add(change, waited.dated)
        await asyncio.to_thread(self.box.placed, places)

    async def keep(self, mails: Iterable[Mail | BadLine], label: str | None = None) -> Imported:
        """Store messages, and learn from them in time order if they have a label, the same for all.

        Messages are read and written in a thread, so the server answers meanwhile.
        """
        some = islice(mails, MOST_MESSAGES)
        return await self.import_labelled(
            mail if isinstance(mail, BadLine) else (mail, label) for mail in some
        )

    async def import_labelled(self, items: Iterable[tuple[Mail, str | None] | BadLine]) -> Imported:
        """Store messages, and learn in time order from those with a label."""
        await self._create_model()
        intake = Intake(self.box, self.number)
        await asyncio.to_thread(intake.take, items)
        counts = await self.learn_waiting()
        if counts.learned >= AT_ONCE:  # what is taken back later is then replayed from here
            await self.service.snapshot(MODEL)
        return _imported(intake, counts)

    async def answer(self, messages: Sequence[int], label: str) -> LearnedAnswers:
        """Learn what a person says about messages; answers and feedback are on disk when this returns.

        Messages that already have this answer teach nothing.
        """
        await self._create_model()
        answers = await asyncio.to_thread(self.box.answer, messages, self.number, label)
        counts = LearnedAnswers()
        for some in batched(answers, LEARNED_AT_ONCE):
            try:
                await self._learn([Waiting(answer.number, True) for answer in some], counts)
            except (Busy, Closing):  # nothing of them was written to the journal
                await asyncio.to_thread(
                    self.box.taken_back, [each for each in answers if each.number >= some[0].number]
                )
                raise
        return counts

    async def _create_model(self) -> None:
        """Create the model unless there is one that knows mail, by whatever rule."""
        if self.model is None:
            await self.service.create(MODEL, SETTINGS)
            await asyncio.to_thread(self.box.set_model, self.number)

    async def undo(self) -> list[Answer]:
        """Undo the newest answers of a page: the model becomes what it would be if they had never been given."""
        answers = await asyncio.to_thread(self.box.last_answers, self.number)
        if not answers:
            raise Unknown("there is nothing to undo: no message has been corrected here")
        await asyncio.to_thread(self.box.take_back, answers)
        await self._out_of_journal(answers)
        return answers

    async def can_undo(self) -> bool:
        """Whether there is an answer of a page that can be undone."""
        return bool(await asyncio.to_thread(self.box.last_answers, self.number))

    async def _out_of_journal(self, answers: Sequence[Answer]) -> None:
        for answer in reversed(answers):  # each replays only what came after it
            if answer.seq is not None:
                await self.service.undo(MODEL, answer.seq)
        await asyncio.to_thread(self.box.taken_back, answers)


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield a sequence in parts of at most ``size``.

    >>> list(batched([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    return (items[at : at + size] for at in range(0, len(items), size))


def _imported(intake: Intake, counts: LearnedAnswers) -> Imported:
    return Imported(
        intake.messages, intake.new, counts.learned, counts.dated, counts.mistakes, intake.failures
    )
