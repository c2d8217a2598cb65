"""The marks of many messages, computed with one set of weights; an inbox computes them again after every correction."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.batch import sparse_rows
from rosenblatt.mail.features import BIAS, WordReason, in_words, reasons, word_for
from rosenblatt.service.learner import Matrix, Named, ServedLearner, row_of
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import ModelSettings

FEW = 20  # messages, of which no share is taken
MODEL = "inbox"  # its name among the models of the service
NOT, IMPORTANT, UNDECIDED = "not", "important", "undecided"
WORD_FOR = {IMPORTANT: "Important", NOT: "Not important", UNDECIDED: "Unsure"}
# Passive-aggressive with the weights of the moment, whose mistakes the bound of the model page speaks of. It strives
# for a score of 1; within a twentieth of zero it does not know.
SETTINGS = ModelSettings(
    hypothesis="last",
    rule="passive-aggressive",
    parameters={"C": 1.0},
    classes=[NOT, IMPORTANT],
    undecided_below=0.05,
)


class Mark(NamedTuple):
    """The mark of a message; a score above zero means important."""

    label: str  # important, not, undecided
    score: float
    probability: float | None = None  # of the label, where the model is calibrated


class Marks:
    """Marks of a fixed list of messages under a model that learns.

    ``shares`` says which share of messages has a word; without it, that of these messages counts.

    **Guarantee.** Scores are those of the model's own ``predict``, up to rounding.
    """

    def __init__(self, messages: Sequence[Named], shares: Mapping[str, float] | None = None) -> None:
        self._X, self._place = matrix_of(messages)
        self._shares = word_shares(messages) if shares is None else shares
        self._names = list(self._place)
        self._asked = dict.fromkeys(self._place, 1.0)
        self._weights = np.zeros(self._X.shape[1])
        self._below = 0.0
        self.scores = np.zeros(len(messages))
        self._probabilities: list[float] | None = None  # of important, where the model is calibrated

    def look(self, model: Model | None, frozen: ServedLearner | None = None) -> None:
        """Score all messages with the weights as they are now, or with those of a frozen copy.

        With a frozen copy another thread may do this: marks are the old ones until all are new.
        """
        weights, bias = np.zeros_like(self._weights), 0.0
        if model is not None and speaks_of_mail(model):
            learner = frozen or model.learner
            scored = learner.score(self._asked)
            toward = _toward_important(learner.labels, scored.weights)
            self._below = model.settings.undecided_below
            for name, value, weight in zip(scored.names, scored.values, toward, strict=True):
                if name == BIAS:
                    bias = weight * value
                else:
                    weights[self._place[name]] = weight
        scores = self._X @ weights + bias
        probabilities = None if model is None else _important_probabilities(frozen or model.learner, scores)
        self._weights, self.scores, self._probabilities = weights, scores, probabilities

    def mark(self, at: int) -> Mark:
        """Return the mark of a message."""
        mark = mark_of(float(self.scores[at]), self._below)
        if self._probabilities is None or mark.label == UNDECIDED:
            return mark
        important = self._probabilities[at]
        return mark._replace(probability=important if mark.label == IMPORTANT else 1.0 - important)

    def reasons(self, at: int, most: int = 5, lone_sender: bool = False) -> list[WordReason]:
        """Return the words that decided a mark, those that support it first."""
        return reasons(self._pushes(at), float(self.scores[at]), most, lone_sender, self._shares)

    def words(self, at: int, lone_sender: bool = False) -> dict[str, float]:
        """Return what every word of a message adds."""
        return in_words(self._pushes(at), lone_sender)

    def _pushes(self, at: int) -> Iterator[tuple[str, float]]:
        row = slice(self._X.indptr[at], self._X.indptr[at + 1])
        places = self._X.indices[row]
        pushes = self._X.data[row] * self._weights[places]
        return zip((self._names[place] for place in places.tolist()), pushes.tolist(), strict=True)


def word_shares(messages: Sequence[Named]) -> dict[str, float]:
    """Return the share of messages that have each word or kind; nothing where they are too few to say.

    >>> word_shares([{"subject:budget": 1.0, "budget": 1.0}] * 15 + [{"sale": 1.0}] * 5)
    {'budget': 0.75, 'sale': 0.25}
    """
    if len(messages) < FEW:
        return {}
    counts: Counter[str] = Counter()
    for message in messages:
        counts.update(dict.fromkeys(filter(None, map(word_for, message)), 1))
    return {word: count / len(messages) for word, count in counts.items()}


def speaks_of_mail(model: Model) -> bool:
    """Whether a model has the classes important and not important."""
    return {IMPORTANT, NOT} <= set(model.learner.labels)


def _toward_important(labels: Sequence[Any], weights: Matrix) -> list[float]:
    """Return weights that speak for important against not, whatever other classes somebody has taught the model."""
    if len(weights) == 1:
        sign = 1.0 if labels[1] == IMPORTANT else -1.0
        return [sign * weight for weight in row_of(weights, 0)]
    up, down = row_of(weights, labels.index(IMPORTANT)), row_of(weights, labels.index(NOT))
    return [a - b for a, b in zip(up, down, strict=True)]


def _important_probabilities(learner: ServedLearner, scores: Any) -> list[float] | None:
    """Return the probability that each message is important; None before the model has seen enough messages.

    They are fitted to the scores that messages had before they were learned from.
    """
    running, labels = learner.running_calibration, learner.labels
    if running is None or running.calibration is None or set(labels) != {IMPORTANT, NOT}:
        return None
    norm = math.sqrt(max(float(learner.learner.running["sqnorm"].sum()), 0.0))
    place = labels.index(IMPORTANT)
    sign = 1.0 if place == 1 else -1.0
    rows = [running.probabilities([sign * score], norm) for score in scores.tolist()]
    return [each[place] for each in rows if each is not None]


def matrix_of(messages: Iterable[Named]) -> tuple[Any, dict[str, int]]:
    """Return messages as rows of a matrix, and the column of every name."""
    place: dict[str, int] = {}
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    for message in messages:
        row = sorted((place.setdefault(name, len(place)), value) for name, value in message.items())
        indices += [at for at, _ in row]
        values += [value for _, value in row]
        starts.append(len(indices))
    X = sparse_rows(
        np.array(values, float), np.array(indices, np.int64), np.array(starts), max(len(place), 1)
    )
    return X, place


def mark_of(score: float, below: float) -> Mark:
    """Return the mark that a score makes.

    >>> mark_of(0.8, 0.05).label, mark_of(-0.8, 0.05).label, mark_of(0.01, 0.05).label
    ('important', 'not', 'undecided')
    """
    if score == 0.0 or abs(score) < below:
        return Mark(UNDECIDED, score)
    return Mark(IMPORTANT if score > 0 else NOT, score)


def sureness(mark: Mark) -> str:
    """Write how sure a mark is: its probability if the model has one, else its score. It never writes 100%.

    >>> sureness(Mark(IMPORTANT, 0.834)), sureness(Mark(NOT, -0.5, probability=0.973))
    ('0.83', '97%')
    >>> sureness(Mark(IMPORTANT, 3.0, probability=0.998))
    '>99%'
    """
    if mark.probability is None:
        return f"{abs(mark.score):.2f}"
    return ">99%" if mark.probability > 0.99 else f"{100 * mark.probability:.0f}%"
