"""The marks of many messages, from one look at the weights: what an inbox shows anew after every correction."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.batch import sparse_rows
from rosenblatt.service.learner import Matrix, Named, row_of
from rosenblatt.service.mail.features import BIAS, Said, in_words, reasons
from rosenblatt.service.messages import ModelSettings
from rosenblatt.service.model import Model

MODEL = "inbox"  # its name among the models of the service
NOT, IMPORTANT, UNDECIDED = "not", "important", "undecided"
WORD_FOR = {IMPORTANT: "important", NOT: "not", UNDECIDED: "don't know"}
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
    """What the filter says of a message: above zero speaks for important."""

    label: str  # important, not, undecided
    score: float


class Marks:
    """Marks of a fixed list of messages under a model that learns.

    **Guarantee.** Scores are those of the model's own ``predict``, up to rounding.
    """

    def __init__(self, messages: Sequence[Named]) -> None:
        self._X, self._place = matrix_of(messages)
        self._names = list(self._place)
        self._asked = dict.fromkeys(self._place, 1.0)
        self._weights = np.zeros(self._X.shape[1])
        self._bias = 0.0
        self._below = 0.0
        self.scores = np.zeros(len(messages))

    def look(self, model: Model | None) -> None:
        """Take the weights as they are now; without a model nothing is known."""
        self._weights[:] = self._bias = 0.0
        if model is not None and speaks_of_mail(model):
            scored = model.learner.score(self._asked)
            toward = _toward_important(model.learner.labels, scored.weights)
            self._below = model.settings.undecided_below
            for name, value, weight in zip(scored.names, scored.values, toward, strict=True):
                if name == BIAS:
                    self._bias = weight * value
                else:
                    self._weights[self._place[name]] = weight
        self.scores = self._X @ self._weights + self._bias

    def mark(self, at: int) -> Mark:
        """Return the mark of a message."""
        return mark_of(float(self.scores[at]), self._below)

    def reasons(self, at: int, most: int = 5, lone_sender: bool = False) -> list[Said]:
        """Return what decided it, in words."""
        return reasons(self._pushes(at), most, lone_sender)

    def words(self, at: int, lone_sender: bool = False) -> dict[str, float]:
        """Return what every word of a message adds."""
        return in_words(self._pushes(at), lone_sender)

    def _pushes(self, at: int) -> Iterator[tuple[str, float]]:
        row = slice(self._X.indptr[at], self._X.indptr[at + 1])
        places = self._X.indices[row]
        pushes = self._X.data[row] * self._weights[places]
        return zip((self._names[place] for place in places.tolist()), pushes.tolist(), strict=True)


def speaks_of_mail(model: Model) -> bool:
    """Whether a model knows what is important and what is not."""
    return {IMPORTANT, NOT} <= set(model.learner.labels)


def _toward_important(labels: Sequence[Any], weights: Matrix) -> list[float]:
    """Return weights that speak for important against not, whatever other classes somebody has taught the model."""
    if len(weights) == 1:
        sign = 1.0 if labels[1] == IMPORTANT else -1.0
        return [sign * weight for weight in row_of(weights, 0)]
    up, down = row_of(weights, labels.index(IMPORTANT)), row_of(weights, labels.index(NOT))
    return [a - b for a, b in zip(up, down, strict=True)]


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
