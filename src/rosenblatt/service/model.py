"""One model of the service: it predicts with reasons, learns from feedback, and says what changed."""

import os
from math import isfinite
from typing import Any, NamedTuple

from msgspec import UNSET

from rosenblatt.learner.explain import explain_model
from rosenblatt.service.learner import Named, Scored, ServedLearner
from rosenblatt.service.messages import (
    LONGEST_NAME,
    MOST_FEATURES,
    Change,
    Example,
    Explained,
    LedgerLine,
    ModelSettings,
    Moved,
    Part,
    Portrait,
    Portraits,
    Reason,
)
from rosenblatt.service.model_file import TEXT, Counts, read_model, rule_of, words_of, write_model
from rosenblatt.web.refusals import BadMessage

MOST_MOVED = 8
LARGEST_SQNORM = (
    1e150  # of the weights before an update: one update by allowed numbers then stays below 1e300
)
ONLY_NUMBERS = {float}


class Told(NamedTuple):
    """What a model says of an example, before it has an id."""

    label: Any
    score: float
    margin: float
    undecided: bool
    reasons: list[Reason]


class Reserved:
    """Names and classes of feedbacks that wait to be learned, so that limits hold for all of them together."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}  # how many feedbacks bring each
        self._labels: dict[Any, int] = {}

    def __bool__(self) -> bool:
        return bool(self._names or self._labels)

    def with_more(self, names: tuple[str, ...], label: Any) -> tuple[int, int]:
        """Return how many names and classes there would be with these; ``label`` is None where its class is known."""
        more = sum(name not in self._names for name in names) if self._names else len(names)
        return len(self._names) + more, len(self._labels) + (label is not None and label not in self._labels)

    def add(self, names: tuple[str, ...], label: Any) -> None:
        """Reserve them."""
        for name in names:
            self._names[name] = self._names.get(name, 0) + 1
        if label is not None:
            self._labels[label] = self._labels.get(label, 0) + 1

    def remove(self, names: tuple[str, ...], label: Any) -> None:
        """Give them back."""
        for counts, keys in ((self._names, names), (self._labels, (label,))):
            for key in keys:
                left = counts.get(key, 1) - 1
                if left:
                    counts[key] = left
                else:
                    counts.pop(key, None)

    def clear(self) -> None:
        """Give everything back."""
        if self:
            self._names.clear()
            self._labels.clear()


class Model:
    """A named model: an online learner with an open vocabulary, and what it has been told so far.

    Not safe to use from two threads; the service uses it from its event loop alone.
    """

    def __init__(self, number: int, name: str, settings: ModelSettings) -> None:
        self.number, self.name, self.settings = number, name, settings
        self.words = words_of(settings).check()
        self.counts = Counts()
        self.snapshot_seq = 0
        self.reserved = Reserved()
        self.memory = 0  # bytes that are counted for it
        self.generation = 0  # how often feedback had been taken out of its journal when it was built
        self.learner = ServedLearner(
            settings.hypothesis,
            rule=rule_of(settings),
            multi_class=settings.multi_class,
            fit_intercept=settings.fit_intercept,
            hash_bits=settings.hash_bits,
            forget=settings.forget,
        )
        self._sqnorm = 0.0  # the largest of its weights' squared norms, after the last update
        if settings.classes:
            self.learner.add_classes([self.label_of(label) for label in settings.classes])

    # Reading requests

    def named(self, example: Example) -> Named:
        """Return an example as named numbers, in its own order."""
        features: Any = example.features
        if features is UNSET:
            named: Named = {}
        elif set(map(type, features.values())) == ONLY_NUMBERS:
            named = features
        else:
            named = {}
            for name, value in features.items():
                if isinstance(value, str):
                    named[_joined(name, value)] = 1.0
                elif value is not None and value is not False:
                    named[name] = _number(name, value)
        if example.vector is UNSET and example.text is UNSET:
            return named
        named = dict(named)
        if example.vector is not UNSET:
            named.update((f"x{at}", float(value)) for at, value in enumerate(example.vector))
        if example.text is not UNSET:
            self._add_words(example.text, named)
        return named

    def _add_words(self, text: str, named: Named) -> None:
        """Add the words of a text; those too long to be words are left out, and what comes after very many."""
        most = len(named) + MOST_FEATURES
        for word in self.words.cut(text):
            name = f"{TEXT}:{word}"
            if name in named:
                named[name] += 0.0 if self.words.binary else 1.0
            elif len(name) <= LONGEST_NAME and len(named) < most:
                named[name] = 1.0

    def label_of(self, label: Any) -> Any:
        """Return a label as the model keeps it, or say why it is none."""
        wanted: type = str if self.settings.labels == "text" else int
        if type(label) is not wanted:
            raise BadMessage(
                f"label is {label!r}, but the labels of model {self.name!r} are {self.settings.labels}"
            )
        return label

    def knows(self, features: Named, label: Any) -> bool:
        """Whether every feature and the label occurred before; hashed names are not remembered."""
        learner = self.learner
        return label in learner.labels and features.keys() <= learner._vocabulary.index.keys()

    def size(self, new_names: int = 0, new_classes: int = 0) -> str:
        """Describe in words how many features and classes it has, with so many more."""
        classes = len(self.learner.labels) + new_classes
        if self.learner.hash_bits:
            return f"{classes:,} classes of 2**{self.learner.hash_bits} hashed features"
        return f"{classes:,} classes of {len(self.learner._vocabulary) + new_names:,} features"

    # Predicting

    def predict(self, x: Named, reasons: int = 5) -> Told:
        """Predict an example and say why."""
        if not self.learner.labels:
            return Told(None, 0.0, 0.0, True, [])
        scored = self.learner.score(x)
        why = self.reasons(scored, reasons) if reasons else []
        below = self.settings.undecided_below
        undecided = scored.margin <= 0.0 or scored.margin < below
        return Told(self.learner.labels[scored.best], scored.score, scored.margin, undecided, why)

    def reasons(self, scored: Scored, most: int) -> list[Reason]:
        """Return what the weightiest features add to the lead of the best class over the second."""
        found = sorted(zip(scored.pushes(), scored.names, strict=True), key=_weight, reverse=True)[:most]
        return [Reason(name, push) for push, name in found if push != 0.0]

    # Learning

    def check_growth(self) -> None:
        """Raise a refusal where the weights are so large that another update could overflow.

        The answer depends on the weights alone, so a replay of the journal leaves out the same feedbacks.
        """
        if not self._sqnorm <= LARGEST_SQNORM:
            raise BadMessage(
                f"the weights of model {self.name!r} have grown beyond 1e75, so it learns no more: its features "
                "are too large for its rule; make another model and scale them, or clip them"
            )

    def _largest_sqnorm(self) -> float:
        norms = self.learner.learner.running["sqnorm"]
        largest: float = norms.item(0) if norms.size == 1 else float(norms.max())
        return largest

    def learn(self, seq: int, x: Named, label: Any, brief: bool = False) -> tuple[Change, LedgerLine | None]:
        """Learn from a feedback of the journal; return what changed, and a line for the ledger if one is due.

        A feedback that :meth:`check_growth` refuses changes nothing; its change says why under ``error``. Any exception
        means that the model is no longer what its journal makes it.
        """
        learner, counts = self.learner, self.counts
        try:
            self.check_growth()
        except BadMessage as refusal:
            counts.seq, counts.failed = seq, counts.failed + 1
            return Change(seq=seq, repeated=False, error=str(refusal)), None
        updates, clock = learner.learner.updates, learner.rows
        predicted, score, right = None, 0.0, False
        before = None
        if learner.labels:
            predicted, score, ahead = learner.guess(x)
            right = ahead and predicted == label
            if not brief and label in learner.labels:
                before = learner.weights_for(x, learner.labels.index(label))
        learner.learn_one(x, label)
        self._sqnorm = self._largest_sqnorm()
        if not isfinite(self._sqnorm):
            raise OverflowError("the weights grew beyond what a float can hold")
        counts.seq = seq
        counts.mistakes += not right
        moved = learner.learner.updates > updates
        change = Change(
            seq=seq,
            repeated=False,
            right=right,
            predicted=predicted,
            score=score,
            moved=moved,
            label=predicted,
            clock=learner.rows,
        )
        if moved and not brief:
            averaged, after = (
                learner.hypothesis == "averaged",
                learner.weights_for(x, learner.labels.index(label)),
            )
            change.label = learner.predict_one(x) if learner.compiled else learner.guess(x)[0]
            change.changed = _moved({} if before is None else before.read(averaged), after.read(averaged))
        if right and not moved:
            return change, None
        line = LedgerLine(
            seq, clock, label, predicted, score, moved, counts.mistakes, learner.learner.updates
        )
        return change, line

    def replay(self, seq: int, x: Named, label: Any) -> LedgerLine | None:
        """Learn from a feedback of the journal again."""
        return self.learn(seq, x, label, brief=True)[1]

    # Explaining

    def explain(self, x: Named, learner: ServedLearner | None = None) -> Explained:
        """Say what every feature adds to an example's score, exactly; as it is, or was when a learner was frozen."""
        learner = learner or self.learner
        if not learner.labels:
            return Explained(None, None, 0.0, [])
        told = learner.explain_one({name: value for name, value in x.items() if value})
        label, against = _plain(told.label), _plain(told.against)
        return Explained(label, against, told.score, [Part(*part) for part in told.parts])

    def portraits(self, top: int = 20, learner: ServedLearner | None = None) -> Portraits:
        """Return the features that speak most for each class, as they are, or were when a learner was frozen."""
        learner = learner or self.learner
        if len(learner.labels) < 2:
            return Portraits([Portrait(label, 0.0, []) for label in learner.labels])
        weights = learner.learner.weights(learner.hypothesis)[:, : 1 + len(learner._vocabulary)]
        names = learner.names
        if learner.hash_bits:
            names = tuple(map(learner._sketch.name, range(weights.shape[1] - 1)))
        return Portraits(
            [
                Portrait(_plain(each.label), each.bias, [Reason(*pair) for pair in each.features])
                for each in explain_model(weights, learner.learner.classes, names, top)
            ]
        )

    # Files

    def save(
        self, path: str | os.PathLike[str], learner: ServedLearner | None = None, counts: Counts | None = None
    ) -> None:
        """Write the model beside the path, flush it to disk, and move it into place."""
        write_model(path, self.settings, learner or self.learner.frozen(), counts or self.counts)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take over the weights and counts of a file that was made with the same settings."""
        self.learner, self.counts = read_model(path, self.settings)
        self._sqnorm = self._largest_sqnorm()


def _weight(pair: tuple[float, str]) -> float:
    return abs(pair[0])


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadMessage(f"feature {name!r:.80} has the value {value!r:.80}: {error}") from None


def _joined(name: str, value: str) -> str:
    joined = f"{name}={value}"
    if len(joined) > LONGEST_NAME:
        raise BadMessage(f"feature {joined[:40]!r}… has {len(joined)} characters; {LONGEST_NAME} at most")
    return joined


def _moved(old: dict[str, float], new: dict[str, float]) -> list[Moved]:
    moved = [
        Moved(name, old.get(name, 0.0), value) for name, value in new.items() if value != old.get(name, 0.0)
    ]
    moved.sort(key=lambda each: -abs(each.after - each.before))
    return moved[:MOST_MOVED]


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
