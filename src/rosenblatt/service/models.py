"""All models of a store, in this process: predict, learn durably, explain. No network, no event loop."""

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from rosenblatt.service.learner import Named
from rosenblatt.service.messages import (
    MODEL_NAME,
    Change,
    Example,
    Explained,
    Learned,
    LedgerLine,
    ModelInfo,
    ModelSettings,
    Portraits,
    Predict,
    Prediction,
)
from rosenblatt.service.model import Model
from rosenblatt.service.recent import ROOM, Recent
from rosenblatt.service.refusals import BadMessage, Conflict, TooLarge, Unknown
from rosenblatt.service.snapshots import Frozen, Tried, freeze, restore, write_base, write_snapshot
from rosenblatt.service.store import Fresh, Kept, Store

MOST_NAMES = 4_000_000  # features of one model
MOST_CLASSES = 1_000
LEDGER_AT_ONCE = 4096
AT_ONCE = 1024  # feedbacks in one transaction of `learn`
_predict = msgspec.json.Decoder(Predict).decode
_encode = msgspec.json.Encoder().encode
_good_name = re.compile(MODEL_NAME).fullmatch


class Models:
    """Every model of a store, each exactly what its base and its journal make it.

    Use it from one thread. Commands use it directly (:meth:`learn`); the service puts a group commit before it.

    >>> import tempfile
    >>> models = Models(tempfile.mkdtemp())
    >>> models.create("mail")
    >>> models.learn("mail", [(Example(text="free offer"), "spam"), (Example(text="lunch at noon"), "ham")]).learned
    2
    >>> [told] = models.predict("mail", [Example(text="free lunch offer")])
    >>> told.label, told.undecided
    ('spam', False)
    >>> models.close()
    """

    def __init__(
        self, folder: str | Path, *, recent_bytes: int = ROOM, most_pages: int | None = None
    ) -> None:
        self.store = Store(folder, most_pages=most_pages)
        self.passed_over: list[Tried] = []
        self.replayed = 0
        self._by_name: dict[str, Model] = {}
        self._by_number: dict[int, Model] = {}
        self.ledger_due: list[tuple[int, LedgerLine]] = []
        self._making = threading.Lock()
        with contextlib.ExitStack() as undoing:
            undoing.callback(self.store.close)
            self.recent = Recent(self.store.folder / "recent", recent_bytes)
            undoing.callback(self.recent.close)
            for number, name, settings in self.store.models():
                self.add(self._recovered(number, name, settings))
            self.write_ledger()
            undoing.pop_all()  # all is well: nothing is undone

    def _recovered(self, number: int, name: str, settings: ModelSettings) -> Model:
        """Return a model from its newest good snapshot and the journal after it."""
        model = Model(number, name, settings)
        self.passed_over += restore(self.store, model)
        for entry in self.store.entries(number, model.counts.seq):
            line = model.replay(*entry)
            self.replayed += 1
            if line is not None:
                self.ledger_due.append((number, line))
        return model

    def add(self, model: Model) -> None:
        """Serve a model."""
        self._by_name[model.name] = self._by_number[model.number] = model

    # Models

    @property
    def names(self) -> list[str]:
        """Names of the models, in the order in which they were made."""
        return list(self._by_name)

    def model(self, name: str) -> Model:
        """Return a model by its name."""
        found = self._by_name.get(name)
        if found is None:
            raise Unknown(f"there is no model {name!r}: make it with PUT /v1/models/{name}")
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Model]:
        return iter(list(self._by_name.values()))

    def create(self, name: str, settings: ModelSettings | None = None) -> None:
        """Make a model; nothing happens where it is there with the same settings."""
        settings = settings or ModelSettings()
        self.checked(name, settings)
        there = self._by_name.get(name)
        if there is None:
            self.add(Model(self.store.add_model(name, settings), name, settings))
        elif there.settings != settings:
            raise Conflict(
                f"model {name!r} is there with other settings: delete it first, or choose another name"
            )

    def checked(self, name: str, settings: ModelSettings) -> None:
        """Raise a refusal where a name or settings make no sense."""
        if not _good_name(name):
            raise BadMessage(
                f"{name[:80]!r} cannot name a model: 1 to 64 letters, digits, '.', '_' or '-', not a sign first"
            )
        try:
            Model(0, name, settings)
        except ValueError as error:
            raise BadMessage(str(error)) from error

    def delete(self, name: str) -> None:
        """Forget a model and all that it was told."""
        model = self.model(name)
        self.store.drop_model(model.number)
        self.forget(model)

    def forget(self, model: Model) -> None:
        """Take a model out of this process."""
        self._by_name.pop(model.name, None)
        self._by_number.pop(model.number, None)
        self.ledger_due = [each for each in self.ledger_due if each[0] != model.number]

    def info(self, name: str, fingerprint: bool = False) -> ModelInfo:
        """Say how a model stands."""
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
        told = []
        for at, example in enumerate(examples):
            found = model.predict(model.named(example), message.reasons)
            told.append(Prediction(f"{first}.{at}", *found))
        return told

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

    def fresh(
        self,
        name: str,
        label: Any,
        example: Example | None = None,
        prediction: str | None = None,
        key: str | None = None,
    ) -> Fresh:
        """Return a feedback ready for the journal: everything about it that can be wrong has been checked."""
        model = self.model(name)
        label = model.label_of(label)
        if prediction is not None:
            if example is not None:
                raise BadMessage("give either the id of a prediction or an example, not both")
            named = self.remembered(name, prediction)
        elif example is not None:
            named = model.named(example)
        else:
            raise BadMessage("feedback needs the id of a prediction, or an example: features, vector or text")
        learner = model.learner
        if not learner.hash_bits and len(learner._vocabulary) + len(named) > MOST_NAMES:
            raise TooLarge(f"model {name!r} has {MOST_NAMES:,} features: make one with hash_bits instead")
        if len(learner.labels) >= MOST_CLASSES and label not in learner.labels:
            raise TooLarge(f"model {name!r} has {MOST_CLASSES:,} classes, and {label!r} would be one more")
        return Fresh(model.number, named, label, key)

    def learned(self, fresh: Fresh, kept: Kept, brief: bool = False) -> Change:
        """Learn from a feedback that is in the journal; say what changed, without its weights where ``brief``."""
        if kept.conflict:
            raise Conflict(f"key {fresh.key!r} was used for another feedback (seq {kept.seq}): use a new key")
        if kept.repeated:
            return Change(seq=kept.seq, repeated=True)
        model = self._by_number.get(fresh.model)
        if model is None:  # deleted meanwhile
            raise Unknown("the model was deleted before it could learn from this")
        if kept.seq <= model.counts.seq:  # met when the journal was read again after a failure
            return Change(seq=kept.seq, repeated=False)
        change, line = model.learn(kept.seq, fresh.features, fresh.label, brief)
        if line is not None:
            self.ledger_due.append((model.number, line))
        return change

    def feedback(
        self,
        name: str,
        label: Any,
        example: Example | None = None,
        *,
        prediction: str | None = None,
        key: str | None = None,
    ) -> Change:
        """Learn the truth about an example or a prediction; it is on disk when this returns."""
        fresh = self.fresh(name, label, example, prediction, key)
        return self.learned(fresh, self.store.append([fresh], self.take_ledger())[0])

    def learn(self, name: str, pairs: Iterable[tuple[Example, Any]]) -> Learned:
        """Learn from many examples and their labels, in order, a thousand to a transaction.

        An example that cannot be learned from raises a refusal; all before it are on disk then.
        """
        total = Learned(0, 0, 0, 0)
        held: list[Fresh] = []

        def flush() -> None:
            for fresh, kept in zip(held, self.store.append(held, self.take_ledger()), strict=True):
                add_to(total, self.learned(fresh, kept, brief=True))
            held.clear()

        try:
            for example, label in pairs:
                held.append(self.fresh(name, label, example))
                if len(held) >= AT_ONCE:
                    flush()
        finally:
            if held:
                flush()
        return total

    def catch_up(self) -> None:
        """Learn from what is in the journal and was not learned from: a write that failed, and then had not."""
        for model in self:
            for entry in self.store.entries(model.number, model.counts.seq):
                line = model.replay(*entry)
                if line is not None:
                    self.ledger_due.append((model.number, line))

    # Explaining

    def explain(self, name: str, example: Example | None = None, prediction: str | None = None) -> Explained:
        """Say what every feature adds to the score of an example or of a prediction's example."""
        model = self.model(name)
        if prediction is not None:
            return model.explain(self.remembered(name, prediction))
        return model.explain(model.named(example or Example()))

    def portraits(self, name: str, top: int = 20) -> Portraits:
        """Return the features that speak most for each class."""
        return self.model(name).portraits(top)

    # The ledger

    def ledger(self, name: str, after: int = 0, limit: int = 100) -> list[LedgerLine]:
        """Return lines of a model's ledger after a feedback: examples told wrong, or that moved the weights."""
        model = self.model(name)
        self.write_ledger()
        return self.store.ledger(model.number, after, limit)

    def take_ledger(self, at_least: int = LEDGER_AT_ONCE) -> list[tuple[int, LedgerLine]]:
        """Return the lines that are due, once there are enough; they can be made again from the journal."""
        if len(self.ledger_due) < at_least:
            return []
        due, self.ledger_due = self.ledger_due, []
        return due

    def write_ledger(self) -> None:
        """Write all lines that are due."""
        self.store.write_ledger(self.take_ledger(1))

    # Snapshots

    def snapshot(self, name: str) -> None:
        """Write a snapshot, so that the next start replays nothing."""
        self.write_ledger()
        self.write_frozen(freeze(self.model(name)))

    def write_frozen(self, frozen: Frozen) -> None:
        """Write a snapshot of a model as it was, from any thread."""
        with self._making:
            write_snapshot(self.store, frozen)

    def write_base(self, model: Model) -> None:
        """Make a model, as it is now, what its successors begin with; what was in the journal before is dropped."""
        with self._making:
            model.counts.seq = model.snapshot_seq = self.store.last_seq
            write_base(self.store, model)

    def close(self, snapshot: bool = True) -> None:
        """Write snapshots of what changed, and close the store."""
        try:
            if snapshot:
                for model in self:
                    if model.counts.seq > model.snapshot_seq:
                        self.snapshot(model.name)
        finally:
            self.recent.close()
            self.store.close()


def add_to(total: Learned, change: Change) -> None:
    """Count a change."""
    if change.repeated:
        total.repeated += 1
    else:
        total.learned += 1
        total.mistakes += change.right is False
    total.last_seq = max(total.last_seq, change.seq)
