"""The online learner as the service runs it: scores with their reasons, and a fingerprint of all it knows."""

import copy
import hashlib
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.named import hashed
from rosenblatt.streams.online import OnlineLearner

Named = dict[str, float]
Matrix = list[list[float]] | NDArray[Any]
BIAS = "(bias)"
SMALL = 4096  # products that are made one by one sooner than an array is


class Scored(NamedTuple):
    """An example's score, the two classes that are ahead, and the weights that made it."""

    best: int
    second: int
    score: float
    margin: float  # of the best over the second; zero for a tie
    names: tuple[str, ...]  # the bias, and the features that are known
    values: list[float]
    weights: Matrix  # of those names, for one class against the other where there are two, else for each

    def pushes(self) -> list[float]:
        """Return what each name adds to the lead of the best class over the second: the parts of the margin."""
        if len(self.weights) == 1:
            sign = 1.0 if self.best == 1 else -1.0
            return [sign * w * v for w, v in zip(row_of(self.weights, 0), self.values, strict=True)]
        best, second = row_of(self.weights, self.best), row_of(self.weights, self.second)
        return [(w - u) * v for w, u, v in zip(best, second, self.values, strict=True)]


def columns_of(matrix: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Return some columns of a matrix; ``take`` is quicker, but copies all of a matrix that has spare columns."""
    if matrix.flags.c_contiguous or matrix.size <= SMALL:
        return matrix.take(places, axis=1)
    return np.ascontiguousarray(matrix[:, places])


def row_of(weights: Matrix, row: int) -> list[float]:
    """Return a row of weights as numbers of Python."""
    found: Any = weights[row]
    return found if isinstance(found, list) else found.tolist()


def speaking_for(names: tuple[str, ...], weights: Matrix, code: int) -> dict[str, float]:
    """Return the weight of each name for a class, against the other where there are two."""
    if len(weights) == 1:
        sign = 1.0 if code == 1 else -1.0
        return {name: sign * w for name, w in zip(names, row_of(weights, 0), strict=True)}
    return dict(zip(names, row_of(weights, code), strict=True))


class Looked(NamedTuple):
    """What was found when some names were looked up: mostly they come again before anything is learned."""

    asked: tuple[str, ...]
    names: tuple[str, ...]  # the bias, and those that are known
    places: NDArray[np.int64]
    rows: int  # learned from when the weights were read
    weights: Matrix


class Weights(NamedTuple):
    """The weights of some names at some time, as a learner keeps them."""

    names: tuple[str, ...]
    W: NDArray[Any]
    A: NDArray[Any]
    running: NDArray[Any]
    clock: float

    def read(self, averaged: bool) -> Matrix:
        """Return the weights of a hypothesis: as lists where they are few, which is quicker then."""
        found: NDArray[np.float64]
        if averaged and self.clock:
            found = self.running["shadow"][:, None] * self.W
            found -= self.A
            found /= self.clock
        else:
            found = self.running["scale"][:, None] * self.W
        return found if found.size > SMALL else found.tolist()


class ServedLearner(OnlineLearner):
    """Examples are dicts of named numbers.

    **Guarantee.** What it knows after a sequence of ``learn_one`` depends on nothing but that sequence: predictions in
    between or a restart from a file change no bit, so a replay of the journal gives the same :meth:`fingerprint`.
    """

    _looked: Looked | None = None

    def score(self, x: Named) -> Scored:
        """Score an example; features that the model does not know count for nothing. At least one class is known."""
        looked = self._look(tuple(x))
        names, weights = looked.names, looked.weights
        if len(names) == 1 + len(x):
            values = [self.learner.unit, *x.values()]
        else:
            values = [self.learner.unit, *map(x.__getitem__, names[1:])]
        n = len(self.labels)
        if len(weights) == 1:
            score = sum(map(mul, row_of(weights, 0), values))
            up = int(score > 0.0)
            return Scored(min(up, n - 1), min(1 - up, n - 1), score, abs(score), names, values, weights)
        if isinstance(weights, list):
            scores = [sum(map(mul, row, values)) for row in weights]
        else:
            scores = (weights @ np.array(values)).tolist()
        best = max(range(n), key=scores.__getitem__)
        second = max((at for at in range(n) if at != best), key=scores.__getitem__)
        return Scored(best, second, scores[best], scores[best] - scores[second], names, values, weights)

    def guess(self, x: Named) -> tuple[Any, float, bool]:
        """Return the label of an example, its score, and whether it is ahead at all; quicker than with reasons."""
        if not self.simple:
            scored = self.score(x)
            return self.labels[scored.best], scored.score, scored.margin > 0.0
        label = self.predict_one(x)
        desk: Any = self._desk
        scores = desk.state.scores.tolist()
        score = scores[0] if len(scores) == 1 else max(scores)
        ahead = score != 0.0 if len(scores) == 1 else scores.count(score) == 1
        clock = self.learner.totals.item(0)[0]
        return label, score / clock if self.hypothesis == "averaged" and clock else score, ahead

    def weights_before(self, x: Named) -> "Weights":
        """Return the weights of an example's names as they are now, to be read later if at all."""
        looked = self._look(tuple(x), read=False)
        learner = self.learner
        W, A = columns_of(learner.W, looked.places), columns_of(learner.A, looked.places)
        return Weights(looked.names, W, A, learner.running.copy(), learner.totals.item(0)[0])

    def _look(self, asked: tuple[str, ...], read: bool = True) -> Looked:
        """Return the weights of names, those that are known; only where they are unless they are to be read."""
        looked = self._looked
        if looked is None or looked.asked != asked or len(looked.names) <= len(asked):
            looked = self._place(asked)
        elif looked.rows == self.rows:
            return looked
        if read:
            looked = looked._replace(rows=self.rows, weights=self._weights_at(looked.places))
        self._looked = looked
        return looked

    def _place(self, asked: tuple[str, ...]) -> Looked:
        bits = self.hash_bits
        if bits:
            names, found = asked, [hashed(name, bits) for name in asked]
        else:
            index = self._vocabulary.index
            names = tuple(name for name in asked if name in index)
            found = [index[name] for name in names]
        places = np.array([-1, *found]) + 1
        if places.max() >= self.learner.W.shape[1]:
            self.widen(int(places.max()))
        return Looked(asked, (BIAS, *names), places, -1, [])

    def _weights_at(self, places: NDArray[np.int64]) -> Matrix:
        """Return the weights in some columns, of the hypothesis that predicts."""
        learner = self.learner
        if learner.p != 2.0:
            linked = learner.weights(self.hypothesis)[:, places]
            return linked if linked.size > SMALL else linked.tolist()
        W, A = columns_of(learner.W, places), columns_of(learner.A, places)
        now = Weights((), W, A, learner.running, learner.totals.item(0)[0])
        return now.read(self.hypothesis == "averaged")

    def frozen(self) -> "ServedLearner":
        """Return a twin that stays as this one is now, to be written to a file by another thread."""
        twin = copy.copy(self)
        own = copy.copy(self.learner)
        width = 1 + len(self._vocabulary)
        own.widen(width - 1)
        own.W, own.A = own.W[:, :width].copy(), own.A[:, :width].copy()
        own.S = None if own.S is None else own.S[:, :width].copy()
        own.running, own.totals = own.running.copy(), own.totals.copy()
        twin.learner = own
        twin._looked = None
        twin._sketch = copy.copy(self._sketch)
        twin._sketch._heard = dict(self._sketch._heard)
        twin._vocabulary = copy.copy(self._vocabulary)
        twin._vocabulary.index = dict(self._vocabulary.index)
        return twin

    def fingerprint(self) -> str:
        """Return a digest of every bit that later predictions and updates depend on."""
        twin = self.frozen()
        own: Any = twin.learner
        told = hashlib.blake2b(digest_size=16)
        told.update(repr((own.classes.tolist(), self.rows, self._since)).encode("utf-8", "surrogatepass"))
        told.update("\0".join(twin.names).encode("utf-8", "surrogatepass"))
        for array in (own.W, own.A, own.running, own.totals, *([] if own.S is None else [own.S])):
            told.update(np.ascontiguousarray(array).tobytes())
        return told.hexdigest()
