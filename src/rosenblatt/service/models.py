"""All models of a store, in memory: restore them, predict, explain, learn from rows of the journal."""

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from rosenblatt.service.learner import Named
from rosenblatt.service.model import Model
from rosenblatt.service.recent import ROOM, Recent
from rosenblatt.service.schemas import (
    MODEL_NAME,
    Change,
    Example,
    Explained,
    Feedback,
    Learned,
    LedgerLine,
    ModelInfo,
    ModelSettings,
    Portraits,
    Predict,
    Prediction,
)
from rosenblatt.service.snapshots import Frozen, PassedOver, restore, write_base, write_snapshot
from rosenblatt.service.store import (
    DELETED,
    Damaged,
    Entry,
    Fresh,
    JournalPlace,
    JournalRow,
    Store,
    StoreBroken,
    journal_row,
    settings_from,
    unreadable,
)
from rosenblatt.web.refusals import BadMessage, Conflict, Offline, Refusal, TooLarge, Unknown
from rosenblatt.web.settings import MEMORY_BYTES, MODEL_BYTES, Settings

MOST_NAMES = 4_000_000  # features of one model
MOST_CLASSES = 1_000
LEDGER_AT_ONCE = 4096
LONGEST_KEY = 128
_predict = msgspec.json.Decoder(Predict).decode
_encode = msgspec.json.Encoder().encode
_decode_settings = msgspec.json.Decoder(ModelSettings).decode
_good_name = re.compile(MODEL_NAME).fullmatch
SMALLEST_PARAMETER = 1e-9  # of a rule, zero aside: steps stay far from overflow
LARGEST_P = 64.0  # of a p-norm


class OfflineModel(NamedTuple):
    """A model that cannot be rebuilt from its journal; its rows stay where they are."""

    number: int
    name: str
    reason: str

    def refusal(self) -> Offline:
        """Return the refusal that answers every request for it."""
        return Offline(
            f"model {self.name!r} is offline: {self.reason}. Stop the service and run rosenblatt store repair "
            f"--model {self.name} (it keeps all that can be read), or delete the model"
        )


class Models:
    """Every model of a store, each equal to a replay of its journal from its base.

    Use it from one thread. It reads and learns; all writing goes through :class:`~rosenblatt.service.writer.Service`.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        recent_bytes: int = ROOM,
        most_pages: int | None = None,
        model_bytes: int | None = MODEL_BYTES,
        memory_bytes: int | None = MEMORY_BYTES,
    ) -> None:
        self.model_bytes, self.memory_bytes = model_bytes, memory_bytes  # None: no limit
        self.memory = 0  # bytes that all models take, with what waits to be learned
        self.store = Store(folder, most_pages=most_pages)
        self.passed_over: list[PassedOver] = []
        self.replayed = 0
        self.offline: dict[str, OfflineModel] = {}
        self._by_name: dict[str, Model] = {}
        self._by_number: dict[int, Model] = {}
        self.ledger_due: list[tuple[int, LedgerLine]] = []
        with contextlib.ExitStack() as undoing:
            undoing.callback(self.store.close)
            try:
                self._check_snapshots()
                self.store.sweep()
                stored = list(self.store.models())
            except sqlite3.DatabaseError as error:
                raise unreadable(self.store.path, error) from error
            self.recent = Recent(self.store.folder / "recent", recent_bytes)
            undoing.callback(self.recent.close)
            for number, name, settings in stored:
                if name not in self.offline:
                    self._recover(number, name, settings)
            with contextlib.suppress(sqlite3.Error):  # a full disk: predictions are served, lines stay due
                self.write_ledger()
            undoing.pop_all()  # all is well: nothing is undone

    def _check_snapshots(self) -> None:
        """Take models offline whose snapshots hold feedback that the journal has lost."""
        names = {number: name for number, name, _ in self.store.models()}
        for path, number, seq in self.store.newer_snapshots():
            if number not in names:
                raise StoreBroken(
                    f"{path} holds feedback up to {seq}, but the journal ends at {self.store.last_seq} and knows no "
                    "such model: it was damaged. Restore the folder from a copy, or move that file elsewhere"
                )
        for number, file, seq in self.store.note_lost_rows():
            reason = f"snapshot {file} holds feedback up to {seq}, of which the journal lost a part: it was damaged"
            self.offline[names[number]] = OfflineModel(number, names[number], reason)

    def _recover(self, number: int, name: str, settings: bytes) -> None:
        """Rebuild a model from its newest good snapshot and the journal after it; where that fails, it is offline."""
        lines: list[tuple[int, LedgerLine]] = []
        try:
            model = Model(number, name, settings_from(settings))
            self.passed_over += restore(self.store, model)
            self._count_memory(model, 0, 0)
            self._replay(model, self.store.readable_entries(number, model.counts.seq), lines)
        except Exception as error:
            self._take_offline(number, name, error)
            return
        self.ledger_due += lines
        self.add(model)

    def _replay(
        self, model: Model, entries: Iterable[Entry | Damaged], lines: list[tuple[int, LedgerLine]]
    ) -> None:
        """Learn from rows of the journal that a model has not learned from; memory is limited as for new feedback."""
        for entry in entries:
            if isinstance(entry, Damaged):
                raise StoreBroken(entry.reason)
            self._reserve(model, entry.features, entry.label)
            try:
                line = model.replay(*entry)
            except Exception as error:
                raise StoreBroken(
                    f"feedback {entry.seq} of the journal cannot be learned from: {error!r}"
                ) from error
            model.reserved.clear()
            self.replayed += 1
            if line is not None:
                lines.append((model.number, line))

    def _take_offline(self, number: int, name: str, error: BaseException) -> None:
        model = self._by_number.get(number)
        if model is not None:
            self.forget(model)
        reason = str(error) if isinstance(error, ValueError | OSError) else repr(error)
        self.offline[name] = OfflineModel(number, name, reason.rstrip("."))

    def add(self, model: Model) -> None:
        """Serve a model."""
        before = self._by_number.get(model.number)
        if before is not None:
            self.memory -= before.memory
        self._by_name[model.name] = self._by_number[model.number] = model
        self._count_memory(model, 0, 0, limited=False)

    # Memory

    def _count_memory(self, model: Model, names: int, classes: int, *, limited: bool = True) -> None:
        """Count the memory of a model with so many more names and classes; refuse what exceeds the limits."""
        needed = model.learner.memory(names, classes)
        total = self.memory - (model.memory if model.number in self._by_number else 0) + needed
        if limited and self.model_bytes is not None and needed > self.model_bytes:
            raise TooLarge(
                f"model {model.name!r} would take {_mb(needed)} of memory for {model.size(names, classes)}, and one "
                f"model may take {_mb(self.model_bytes)}: make it with fewer classes or with hash_bits, or start the "
                "service with a larger --model-memory"
            )
        if limited and self.memory_bytes is not None and total > self.memory_bytes:
            raise TooLarge(
                f"model {model.name!r} would take {_mb(needed)} of memory for {model.size(names, classes)}, all models "
                f"together {_mb(total)}, and they may take {_mb(self.memory_bytes)}: delete a model, or start the "
                "service with a larger --memory"
            )
        model.memory = needed
        if model.number in self._by_number:
            self.memory = total

    def check_room(self, model: Model) -> None:
        """Raise a refusal where there is no room for a model that comes from a file."""
        before = self._by_name.get(model.name)
        self.memory -= before.memory if before is not None else 0
        try:
            self._count_memory(model, 0, 0)
        finally:
            self.memory += before.memory if before is not None else 0

    def _reserve(self, model: Model, features: Named, label: Any) -> tuple[str, ...]:
        """Check that there is room for what a feedback adds to a model; return the names that it does not know."""
        learner = model.learner
        names: tuple[str, ...] = ()
        if not learner.hash_bits:
            index = learner._vocabulary.index
            names = tuple(name for name in features if name not in index)
        new_class = label not in learner.labels
        if not names and not new_class:
            return names
        reserved = model.reserved
        names_then, classes_then = reserved.with_more(names, label if new_class else None)
        if not learner.hash_bits and len(learner._vocabulary) + names_then > MOST_NAMES:
            raise TooLarge(
                f"model {model.name!r} has {MOST_NAMES:,} features at most: make one with hash_bits instead"
            )
        if len(learner.labels) + classes_then > MOST_CLASSES:
            raise TooLarge(
                f"model {model.name!r} has {MOST_CLASSES:,} classes, and {label!r} would be one more"
            )
        self._count_memory(model, names_then, classes_then)
        reserved.add(names, label if new_class else None)
        return names

    # Models

    @property
    def names(self) -> list[str]:
        """Names of the models, in the order in which they were made."""
        return list(self._by_name)

    def model(self, name: str) -> Model:
        """Return a model by its name."""
        model = self._by_name.get(name)
        if model is None:
            if name in self.offline:
                raise self.offline[name].refusal()
            raise Unknown(f"there is no model {name!r}: make it with PUT /v1/models/{name}")
        return model

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Model]:
        return iter(list(self._by_name.values()))

    def check_settings(self, name: str, settings: ModelSettings) -> None:
        """Raise a refusal for a name or settings that are invalid or would take too much memory."""
        if not _good_name(name):
            raise BadMessage(
                f"{name[:80]!r} cannot name a model: 1 to 64 letters, digits, '.', '_' or '-', not a sign first"
            )
        if name in self.offline:
            raise self.offline[name].refusal()
        try:
            stored = _decode_settings(_encode(settings))
        except (ValueError, UnicodeError, TypeError, OverflowError) as error:
            raise BadMessage(f"the settings cannot be stored: {error}") from error
        for label in settings.classes:
            journal_row({}, label)
        if stored != settings:
            raise BadMessage("the settings are not the same after they were written and read back")
        for parameter, value in settings.parameters.items():
            if 0.0 < abs(value) < SMALLEST_PARAMETER or (parameter == "p" and value > LARGEST_P):
                raise BadMessage(
                    f"parameter {parameter} is {value!r}: a rule's parameters are 0 or at least "
                    f"{SMALLEST_PARAMETER:g} in size, and p is {LARGEST_P:g} at most"
                )
        if name in self._by_name:
            return
        try:
            small = Model(0, name, msgspec.structs.replace(settings, hash_bits=0))
        except ValueError as error:
            raise BadMessage(str(error)) from error
        small.learner.hash_bits = settings.hash_bits
        self._count_memory(small, 0, 0)

    def number_of(self, name: str) -> int:
        """Return the number of a model, whether it is offline or not."""
        if name in self.offline:
            return self.offline[name].number
        return self.model(name).number

    def forget_name(self, name: str) -> None:
        """Remove a model from this process, by its name."""
        self.offline.pop(name, None)
        if name in self._by_name:
            self.forget(self._by_name[name])

    def forget(self, model: Model) -> None:
        """Remove a model from this process."""
        if self._by_number.get(model.number) is model:
            self.memory -= model.memory
        self._by_name.pop(model.name, None)
        self._by_number.pop(model.number, None)
        self.ledger_due = [each for each in self.ledger_due if each[0] != model.number]

    def info(self, name: str, fingerprint: bool = False) -> ModelInfo:
        """Return the state of a model."""
        model = self.model(name)
        learner, counts = model.learner, model.counts
        return ModelInfo(
            name,
            model.settings,
            list(learner.labels),
            len(learner._vocabulary),
            learner.rows,
            counts.mistakes,
            1.0 - counts.mistakes / learner.rows if learner.rows else None,
            learner.learner.updates,
            learner.learner.radius,
            counts.seq,
            model.snapshot_seq,
            learner.fingerprint() if fingerprint else None,
        )

    # Predicting

    def predict(
        self, name: str, examples: Sequence[Example], reasons: int = 5, *, remember: bool = True
    ) -> list[Prediction]:
        """Predict examples; their ids may be given to :meth:`feedback` later, also after a restart."""
        message = Predict(examples=list(examples), reasons=reasons)
        return self.answer(self.model(name), message, _encode(message) if remember else None)

    def answer(self, model: Model, message: Predict, payload: bytes | None) -> list[Prediction]:
        """Answer a request to predict, remembering its payload."""
        first = self.recent.keep(model.number, payload) if payload is not None else ""
        many: Any = message.examples
        examples = [message] if many is UNSET else many
        predictions = []
        for at, example in enumerate(examples):
            judgement = model.predict(model.named(example), message.reasons)
            predictions.append(Prediction(f"{first}.{at}", *judgement))
        return predictions

    def remembered(self, name: str, prediction: str) -> Named:
        """Return the example of a prediction, as named numbers."""
        model = self.model(name)
        number, payload, at = self.recent.find(prediction)
        if number != model.number:
            raise Unknown(f"prediction {prediction} was not made by model {name!r}")
        message = _predict(payload)
        many: Any = message.examples
        examples = [message] if many is UNSET else many
        if at >= len(examples):
            raise BadMessage(f"{prediction!r} is not the id of a prediction")
        return model.named(examples[at])

    # Learning

    def fresh(self, name: str, feedback: Feedback) -> Fresh:
        """Return a feedback ready for the journal: it can be stored, read back, and learned from."""
        return self.reserve(name, self.named_example(name, feedback), feedback)

    def named_example(self, name: str, feedback: Feedback) -> Named:
        """Return the example of a feedback as named numbers, from any thread; refuse what makes no sense."""
        model = self.model(name)
        model.label_of(feedback.label)
        if feedback.key is not UNSET:
            check_key(feedback.key)
        has_example = not (feedback.features is feedback.vector is feedback.text is UNSET)
        if feedback.prediction is not UNSET:
            if has_example:
                raise BadMessage("give either the id of a prediction or an example, not both")
            return self.remembered(name, feedback.prediction)
        if not has_example:
            raise BadMessage("feedback needs the id of a prediction, or an example: features, vector or text")
        return model.named(feedback)

    def reserve(self, name: str, named: Named, feedback: Feedback) -> Fresh:
        """Return a feedback ready for the journal, with room reserved for what it adds to its model."""
        model = self.model(name)
        model.check_growth()
        known = model.knows(named, feedback.label)
        content, features, label = journal_row(named, feedback.label, known)
        new_names = () if known else self._reserve(model, features, label)
        key = None if feedback.key is UNSET else feedback.key
        return Fresh(model.number, features, label, key, content, new_names)

    def release(self, fresh: Fresh) -> None:
        """Release what :meth:`fresh` reserved for a feedback, once it was learned from or refused."""
        model = self._by_number.get(fresh.model)
        if model is not None and model.reserved:
            model.reserved.remove(fresh.new_names, fresh.label)

    def learned(self, fresh: Fresh, place: JournalPlace, brief: bool = False) -> Change:
        """Learn from a feedback that is in the journal; say what changed, without its weights where ``brief``.

        A model that fails here is no longer what its journal makes it, and goes offline.
        """
        self.release(fresh)
        if place.conflict:
            raise Conflict(
                f"key {fresh.key!r} was used for another feedback (seq {place.seq}): use a new key"
            )
        if place.repeated:
            return Change(seq=place.seq, repeated=True)
        model = self._by_number.get(fresh.model)
        if model is None:
            offline = next((each for each in self.offline.values() if each.number == fresh.model), None)
            if offline is not None:
                raise offline.refusal()
        if model is None or place.seq == DELETED:
            raise Unknown("the model was deleted before it could learn from this")
        if place.seq <= model.counts.seq:  # met when the journal was read again after a failure
            return Change(seq=place.seq, repeated=False)
        try:
            change, line = model.learn(place.seq, fresh.features, fresh.label, brief)
        except Exception as error:
            reason = StoreBroken(f"feedback {place.seq} of the journal cannot be learned from: {error!r}")
            self._take_offline(model.number, model.name, reason)
            raise self.offline[model.name].refusal() from error
        if change.error is not None:
            raise BadMessage(change.error)
        if line is not None:
            self.ledger_due.append((model.number, line))
        return change

    def catch_up(self, rows: Iterable[JournalRow]) -> None:
        """Learn from rows of the journal that were not learned from, since their write was reported as failed."""
        for number, entry in rows:
            model = self._by_number.get(number)
            if model is None or entry.seq <= model.counts.seq:
                continue
            try:
                self._replay(model, [entry], self.ledger_due)
            except (Refusal, StoreBroken) as error:
                self._take_offline(model.number, model.name, error)

    # Explaining

    def explain(self, name: str, example: Example | None = None, prediction: str | None = None) -> Explained:
        """Return what every feature adds to the score of an example, or of a prediction's example."""
        model = self.model(name)
        if prediction is not None:
            return model.explain(self.remembered(name, prediction))
        return model.explain(model.named(example or Example()))

    def portraits(self, name: str, top: int = 20) -> Portraits:
        """Return the features that speak most for each class."""
        return self.model(name).portraits(top)

    # The ledger

    def take_ledger(self, at_least: int = LEDGER_AT_ONCE) -> list[tuple[int, LedgerLine]]:
        """Return the lines that are due, once there are enough; the journal can rebuild them."""
        if len(self.ledger_due) < at_least:
            return []
        due, self.ledger_due = self.ledger_due, []
        return due

    def write_ledger(self) -> None:
        """Write all lines that are due; they stay due where that fails."""
        due = self.take_ledger(1)
        try:
            self.store.write_ledger(due)
        except BaseException:
            self.ledger_due = due + self.ledger_due
            raise

    # Snapshots

    def write_frozen(self, frozen: Frozen) -> None:
        """Write a snapshot of a model as it was; on the thread that writes the journal."""
        write_snapshot(self.store, frozen)

    def write_base(self, model: Model) -> None:
        """Store a model, as it is now, as its base, and delete the journal before it."""
        model.counts.seq = model.snapshot_seq = self.store.last_seq
        write_base(self.store, model)

    def close(self) -> None:
        """Close the store."""
        try:
            self.recent.close()
        finally:
            self.store.close()


def open_models(settings: Settings) -> Models:
    """Open the store of a server's settings."""
    return Models(
        settings.data,
        recent_bytes=settings.recent_bytes,
        most_pages=settings.most_pages,
        model_bytes=settings.model_bytes,
        memory_bytes=settings.memory_bytes,
    )


def check_key(key: str) -> None:
    """Raise a refusal for a key that the journal could not store."""
    try:
        good = 1 <= len(key) <= LONGEST_KEY and key.encode() != b"" and "\0" not in key
    except (UnicodeError, AttributeError):
        good = False
    if not good:
        raise BadMessage(f"key {key!r:.80} is not text of 1 to {LONGEST_KEY} characters without NUL")


def _mb(size: int) -> str:
    return f"{max(1, round(size / 2**20)):,} MB"


def add_to(total: Learned, change: Change) -> None:
    """Count a change."""
    if change.repeated:
        total.repeated += 1
    else:
        total.learned += 1
        total.mistakes += change.right is False
    total.last_seq = max(total.last_seq, change.seq)
