"""One model of the service: it predicts with reasons, learns from feedback, reports what changed, and saves itself.

Every command reads its files, and a stream or another service can continue from them.
"""

import os
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from rosenblatt import rules
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.words import Words
from rosenblatt.learner.explain import explain_model, explain_row
from rosenblatt.service.learner import ExplainedPart, Named, Scored, ServedLearner
from rosenblatt.service.schemas import (
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
from rosenblatt.storage import BadModel
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.web.refusals import BadMessage

TEXT = "text"  # the field of an example that is prose, and what its words are called by
MOST_MOVED = 8  # weights that a change lists
LARGEST_SQNORM = 1e150  # of the weights before an update: one by allowed numbers then stays below 1e300
ONLY_NUMBERS = {float}


class Counts(msgspec.Struct):
    """What is counted beside the weights, and saved with them."""

    mistakes: int = 0  # predicted wrong before being learned from
    seq: int = 0  # of the last feedback it has learned from
    failed: int = 0  # feedbacks that could not be learned from


def words_of(settings: ModelSettings) -> Words:
    """Return how texts become words."""
    return Words(settings.ngrams, settings.lowercase, "binary" if settings.binary else "counts")


def rule_of(settings: ModelSettings) -> Any:
    """Return the rule of a model's settings, or say what is wrong with it."""
    try:
        return rules.from_dict({"name": settings.rule, **settings.parameters})
    except ValueError as error:
        raise BadMessage(str(error)) from error


def write_model(
    path: str | os.PathLike[str], settings: ModelSettings, learner: ServedLearner, counts: Counts
) -> None:
    """Write a model beside the path, flush it to disk, and move it into place."""
    schema = NamedSchema(
        () if learner.hash_bits else learner.names,
        learner.hash_bits,
        labels=settings.labels,
        text=(TEXT,),
        words=words_of(settings),
    )
    header = {"settings": msgspec.to_builtins(settings), "counts": msgspec.to_builtins(counts)}
    sketch = learner._sketch if learner.hash_bits else None
    save_stream(learner, path, schema, {"online": True, "service": header}, sketch)


def read_model(path: str | os.PathLike[str], settings: ModelSettings) -> tuple[ServedLearner, Counts]:
    """Read a model that was made with these settings; raise BadModel for anything else."""
    learner, schema, header = _stream(path)
    try:
        counts = Counts(mistakes=max(0, learner.rows - int(header.get("right", learner.rows))))
        if "service" in header:
            counts = msgspec.convert(header["service"]["counts"], Counts)
        actual = _settings_from(learner, schema)
    except (KeyError, TypeError, ValueError) as error:
        raise BadModel(f"{path}: its counts do not hold together: {error}") from error
    wrong = [
        name
        for name in ("hypothesis", "multi_class", "fit_intercept", "hash_bits", "forget")
        if getattr(actual, name) != getattr(settings, name)
    ]
    if rule_of(actual) != rule_of(settings):
        wrong.append("rule")
    if learner.labels and actual.labels != settings.labels:
        wrong.append("labels")
    if wrong:
        raise BadModel(f"{path}: the model does not have the settings it claims: {', '.join(wrong)}")
    learner.hash_bits = schema.bits
    learner._set_vocabulary(schema, header["names"])
    return learner, counts


def settings_of(path: str | os.PathLike[str]) -> ModelSettings:
    """Return the settings with which a file's model can be served: its own, or those of a stream."""
    learner, schema, header = _stream(path)
    try:
        if "service" in header:
            return msgspec.convert(header["service"]["settings"], ModelSettings)
        return _settings_from(learner, schema)
    except (KeyError, TypeError, ValueError) as error:
        raise BadModel(f"{path}: this model cannot be served: {error}") from error


def _stream(path: str | os.PathLike[str]) -> tuple[ServedLearner, NamedSchema, dict[str, Any]]:
    learner, schema, header = load_stream(path, ServedLearner)
    if not isinstance(schema, NamedSchema):
        raise BadModel(f"{path}: the features of this model have no names")
    if learner.candidates or learner.statistics is not None:
        raise BadModel(
            f"{path}: it scales its examples or chooses among rules, which the service does not do: train it with "
            "stream --rule NAME --no-scale"
        )
    if schema.documents:
        raise BadModel(
            f"{path}: its words are weighed by tf-idf, which the service does not do: train it with --words binary"
        )
    kind = learner.learner.classes.dtype.kind
    if learner.labels and kind not in "iuU":
        raise BadModel(f"{path}: its labels are of kind {kind!r}, expected text or integers")
    return learner, schema, header


def _settings_from(learner: ServedLearner, schema: NamedSchema) -> ModelSettings:
    """Return the settings that follow from a learner and its schema."""
    rule = rules.to_dict(learner.learner.rule)
    kind = learner.learner.classes.dtype.kind
    return msgspec.convert(
        {
            "hypothesis": learner.hypothesis,
            "rule": rule.pop("name"),
            "parameters": {name: float(value) for name, value in rule.items()},
            "multi_class": learner.learner.multi_class,
            "fit_intercept": bool(learner.learner.bias_input),
            "hash_bits": schema.bits,
            "forget": learner.forget,
            "labels": "integer" if kind in "iu" else "text",
            "ngrams": schema.words.ngrams,
            "lowercase": schema.words.lowercase,
            "binary": schema.words.binary,
        },
        ModelSettings,
    )


class Judgement(NamedTuple):
    """A prediction without its id."""

    label: Any
    score: float
    margin: float
    undecided: bool
    reasons: list[Reason]
    probability: float | None = None


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
        """Release them."""
        for counts, keys in ((self._names, names), (self._labels, (label,))):
            for key in keys:
                left = counts.get(key, 1) - 1
                if left:
                    counts[key] = left
                else:
                    counts.pop(key, None)

    def clear(self) -> None:
        """Release everything."""
        if self:
            self._names.clear()
            self._labels.clear()


class Model:
    """A named model: an online learner with an open vocabulary, its settings and its counts.

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

    def predict(self, x: Named, reasons: int = 5, learner: ServedLearner | None = None) -> Judgement:
        """Predict an example and give reasons; by a view of its learner where another thread does it."""
        learner = learner or self.learner
        if not learner.labels:
            return Judgement(None, 0.0, 0.0, True, [])
        scored = learner.score(x)
        why = self.reasons(scored, reasons) if reasons else []
        below = self.settings.undecided_below
        undecided = scored.margin <= 0.0 or scored.margin < below
        probability = learner.probability(scored)
        return Judgement(
            learner.labels[scored.best], scored.score, scored.margin, undecided, why, probability
        )

    def reasons(self, scored: Scored, most: int) -> list[Reason]:
        """Return what the weightiest features add to the lead of the best class over the second."""
        pushes = scored.pushes()
        sizes = list(map(abs, pushes))
        largest = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)[:most]
        return [Reason(scored.names[at], pushes[at]) for at in largest if pushes[at] != 0.0]

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
            after = learner.weights_for(x, learner.labels.index(label))
            change.label = learner.predict_one(x) if learner.compiled else learner.guess(x)[0]
            change.changed = _moved({} if before is None else before.read(), after.read())
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

    def explain(self, x: Named, part: ExplainedPart | None = None) -> Explained:
        """Return exactly what each feature adds to an example's score; ``part``: its weights, if copied before."""
        if not self.learner.labels:
            return Explained(None, None, 0.0, [])
        part = part or self.learner.part_for(x)
        explanation = explain_row(part.weights, part.values, part.classes, part.names)
        label, against = _plain(explanation.label), _plain(explanation.against)
        return Explained(label, against, explanation.score, [Part(*each[:4]) for each in explanation.parts])

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
    """Return the weights that moved most."""
    moved = [(name, old.get(name, 0.0), value) for name, value in new.items()]
    moved.sort(key=lambda each: -abs(each[2] - each[1]))
    return [Moved(*each) for each in moved[:MOST_MOVED] if each[1] != each[2]]


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
