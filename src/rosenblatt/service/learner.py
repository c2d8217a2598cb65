"""The online learner of the service: scores with their reasons, and a fingerprint of its whole state."""

import copy
import hashlib
import itertools
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.geometry import initial_auxiliary
from rosenblatt.data.named.vocabulary import hashed
from rosenblatt.rules import PNorm, SecondOrder
from rosenblatt.streams.online import OnlineLearner

Named = dict[str, float]
Matrix = list[list[float]] | NDArray[Any]
BIAS = "(bias)"
SMALL = 4096  # products that are made one by one sooner than an array is
NAME_BYTES = 200  # about what a name of a feature takes beside its weights
NAMES_AT_ONCE = 10_000  # of a digest
ROUNDING = 1e-9  # by which weights may differ, as a share of the largest
OWN_BYTES = 64 << 10  # about what a model takes that has learned nothing


class Scored(NamedTuple):
    """An example's score, the two classes that are ahead, and what each name adds to the score."""

    best: int
    second: int
    score: float
    margin: float  # of the best over the second; zero for a tie
    names: tuple[str, ...]  # the bias, and the features that are known
    products: list[
        float
    ]  # for two classes: weight × value of each name, for the second in order against the first
    values: list[float]
    weights: Matrix  # of those names, for one class against the other where there are two, else for each
    scores: list[float]  # one where there are two classes, else one for each
    norm: float  # of the weights that gave the scores

    def pushes(self) -> list[float]:
        """Return what each name adds to the lead of the best class over the second: the parts of the margin."""
        if self.products:
            return self.products if self.best == 1 else [-each for each in self.products]
        best, second = row_of(self.weights, self.best), row_of(self.weights, self.second)
        return [(w - u) * v for w, u, v in zip(best, second, self.values, strict=True)]


def columns_of(matrix: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Return some columns of a matrix; ``take`` is quicker, but copies all of a matrix that has spare columns."""
    if matrix.flags.c_contiguous or matrix.size <= SMALL:
        return matrix.take(places, axis=1)
    return np.ascontiguousarray(matrix[:, places])


def row_of(weights: Matrix, row: int) -> list[float]:
    """Return a row of weights as Python floats."""
    values: Any = weights[row]
    return values if isinstance(values, list) else values.tolist()


class NameLookup(NamedTuple):
    """The result of looking up some names, kept because a feedback mostly repeats the names of its prediction."""

    wanted: tuple[str, ...]
    names: tuple[str, ...]  # the bias, and those that are known
    places: NDArray[np.int64]
    rows: int  # learned from when the weights were read
    weights: Matrix
    norm: float  # of all weights then


class ExplainedPart(NamedTuple):
    """The columns of a model that one example uses: enough to explain its score."""

    weights: NDArray[np.float64]  # (rows, 1 + names), the bias first
    values: list[float]
    names: list[str]
    classes: list[Any]


class ClassWeights(NamedTuple):
    """The weights of some names for one class, against the other where there are two, as they were at some time."""

    names: tuple[str, ...]
    stored: NDArray[np.float64]  # scale × these are the last weights
    scale: float
    offsets: NDArray[np.float64]  # (scale × stored − offsets) / clock are the averaged ones
    clock: float  # 0.0: the last weights predict
    sign: float

    def read(self) -> dict[str, float]:
        """Return the weight of each name."""
        weights = self.scale * self.stored
        if self.clock:
            weights -= self.offsets
            weights /= self.clock
        return dict(zip(self.names, (weights * self.sign).tolist(), strict=True))


def room_for(n_features: int) -> int:
    """Return for how many features room is made where so many are needed."""
    return n_features + n_features // 8 + 64


def _digest_columns(digest: Any, array: NDArray[Any], width: int, beyond: Any) -> None:
    """Digest the first columns of every row, zeros without a sign; columns that do not exist yet hold ``beyond``."""
    exists = min(width, array.shape[1])
    for row in array:  # one after the other: other threads run in between
        columns = np.full((width, *array.shape[2:]), beyond)
        np.add(row[:exists], 0.0, out=columns[:exists])  # −0.0 + 0.0 is 0.0
        digest.update(columns.view(np.uint8).reshape(-1))


class ServedLearner(OnlineLearner):
    """Examples are dicts of named numbers.

    **Guarantee.** What it knows after a sequence of ``learn_one`` depends on nothing but that sequence: predictions in
    between or a restart from a file change no bit, so a replay of the journal gives the same :meth:`fingerprint`.
    """

    _lookup: NameLookup | None = None

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> None:
        """Learn from an example; its score is counted at once, since other threads read the calibration."""
        super().learn_one(x, y, weight)
        self._count_pending_scores()

    def score(self, x: Named) -> Scored:
        """Score an example; features that the model does not know count for nothing. At least one class is known."""
        lookup = self._look(tuple(x))
        names, weights = lookup.names, lookup.weights
        if len(names) == 1 + len(x):
            values = [self.learner.bias_input, *x.values()]
        else:
            values = [self.learner.bias_input, *map(x.__getitem__, names[1:])]
        n = len(self.labels)
        if len(weights) == 1:
            products = list(map(mul, row_of(weights, 0), values))
            score = sum(products)
            best, second = (1, 0) if score > 0.0 and n > 1 else (0, n - 1)
            margin = abs(score)
            return Scored(best, second, score, margin, names, products, values, weights, [score], lookup.norm)
        if isinstance(weights, list):
            scores = [sum(map(mul, row, values)) for row in weights]
        else:
            scores = (weights @ np.array(values)).tolist()
        best = max(range(n), key=scores.__getitem__)
        second = max((at for at in range(n) if at != best), key=scores.__getitem__)
        margin = scores[best] - scores[second]
        return Scored(best, second, scores[best], margin, names, [], values, weights, scores, lookup.norm)

    def probability(self, scored: Scored) -> float | None:
        """Return the probability of the best class; None before there is enough feedback to know it."""
        running = self.running_calibration
        if running is None or running.calibration is None:
            return None
        probabilities = running.probabilities(scored.scores, scored.norm)
        return None if probabilities is None else probabilities[scored.best]

    def guess(self, x: Named) -> tuple[Any, float, bool]:
        """Return the label of an example, its score, and whether it is ahead at all; quicker than with reasons."""
        if not self.compiled or isinstance(self.learner.geometry, PNorm):  # whose scores need a factor beside
            scored = self.score(x)
            return self.labels[scored.best], scored.score, scored.margin > 0.0
        label = self.predict_one(x)
        buffer: Any = self._row_buffer
        scores = buffer.state.scores.tolist()
        score = scores[0] if len(scores) == 1 else max(scores)
        ahead = score != 0.0 if len(scores) == 1 else scores.count(score) == 1
        clock = self.learner.totals.item(0)[0]
        return label, score / clock if self.hypothesis == "averaged" and clock else score, ahead

    def weights_for(self, x: Named, code: int) -> ClassWeights:
        """Return the weights of an example's known names for a class as they are now, to be read later if at all."""
        names, places = self._look(tuple(x), read=False)[1:3]
        learner, running = self.learner, self.learner.running
        many = learner.W.shape[0] > 1
        row, own = (code, min(code, running.size - 1)) if many else (0, 0)
        sign = 1.0 if many or code == 1 else -1.0
        if isinstance(learner.geometry, PNorm):
            linked = learner.weights(self.hypothesis)[row][places]
            return ClassWeights(names, linked, 1.0, linked, 0.0, sign)
        clock = learner.totals["clock"].item(0) if self.hypothesis == "averaged" else 0.0
        scale = running["scale_sum" if clock else "scale"].item(own)
        stored = learner.W[row][places]
        offsets = learner.average_offset[row][places] if clock else stored
        return ClassWeights(names, stored, scale, offsets, clock, sign)

    def part_for(self, x: Named) -> ExplainedPart:
        """Return a copy of the weights of an example's known names, in the order of their columns."""
        columns: dict[int, tuple[str, float]] = {}
        for name, value in x.items():
            place = hashed(name, self.hash_bits) if self.hash_bits else self._vocabulary.index.get(name, -1)
            if value and place >= 0:
                if place in columns:  # two hashed names share a feature
                    before, amount = columns[place]
                    columns[place] = (f"{before} + {name}", amount + value)
                else:
                    columns[place] = (name, value)
        order = sorted(columns)
        own = copy.copy(self.learner)
        own.add_features(max(order, default=-1) + 1)
        places = np.array([-1, *order]) + 1
        if not isinstance(own.geometry, PNorm):  # whose weights depend on all of the vector
            own.W, own.average_offset = own.W[:, places], own.average_offset[:, places]
            own.S = None if own.S is None else own.S[:, places]
            places = np.arange(places.size)
        weights = own.weights(self.hypothesis)[:, places].astype(np.float64)
        pairs = [columns[place] for place in order]
        return ExplainedPart(
            weights, [value for _, value in pairs], [name for name, _ in pairs], own.classes.tolist()
        )

    def view(self) -> "ServedLearner":
        """Return a twin that shares the weights, to score examples in another thread while nothing is learned."""
        twin = copy.copy(self)
        twin.learner = copy.copy(self.learner)
        twin._lookup = None
        return twin

    def _look(self, wanted: tuple[str, ...], read: bool = True) -> NameLookup:
        """Return the weights of names, those that are known; only where they are unless they are to be read."""
        lookup = self._lookup
        if lookup is None or lookup.wanted != wanted or len(lookup.names) <= len(wanted):
            lookup = self._place(wanted)
        elif lookup.rows == self.rows:
            return lookup
        if read:
            weights, norm = self._weights_at(lookup.places), self._norm()
            lookup = lookup._replace(rows=self.rows, weights=weights, norm=norm)
        self._lookup = lookup
        return lookup

    def _place(self, wanted: tuple[str, ...]) -> NameLookup:
        bits = self.hash_bits
        if bits:
            names, codes = wanted, [hashed(name, bits) for name in wanted]
        else:
            index = self._vocabulary.index
            names = tuple(name for name in wanted if name in index)
            codes = [index[name] for name in names]
        places = np.array([-1, *codes]) + 1
        if places.max() >= self.learner.W.shape[1]:
            self.add_features(int(places.max()))
        return NameLookup(wanted, (BIAS, *names), places, -1, [], 1.0)

    def _weights_at(self, places: NDArray[np.int64]) -> Matrix:
        """Return the weights in some columns, of the hypothesis that predicts: lists where small, else an array."""
        learner = self.learner
        if isinstance(learner.geometry, PNorm):
            weights = learner.weights(self.hypothesis)[:, places]
        else:
            clock = learner.totals["clock"].item(0) if self.hypothesis == "averaged" else 0.0
            scale = learner.running["scale_sum" if clock else "scale"]
            weights = scale[:, None] * columns_of(learner.W, places)
            if clock:
                weights -= columns_of(learner.average_offset, places)
                weights /= clock
        return weights.tolist() if weights.size <= SMALL else np.ascontiguousarray(weights)

    # Memory

    def add_features(self, n_features: int) -> None:
        """Make room for so many features and an eighth more, so that growing stays cheap and memory near the need."""
        if n_features > self.learner.n_features:
            self.learner.add_features(
                room_for(n_features) if self.compiled and not self.hash_bits else n_features
            )
            self._clear()

    def memory(self, new_names: int = 0, new_classes: int = 0) -> int:
        """Return about how many bytes it takes once it has met so many more names and classes."""
        classes = len(self.labels) + new_classes
        if self.hash_bits:
            columns, names = 1 + (1 << self.hash_bits), 0
        else:
            names = len(self._vocabulary) + new_names
            columns = 1 + (room_for(names) if self.compiled else names)
        arrays = 2 + self.learner.numbers_per_weight
        return (1 if classes <= 2 else classes) * columns * 8 * arrays + names * NAME_BYTES + OWN_BYTES

    def frozen(self) -> "ServedLearner":
        """Return a twin that stays as this one is now, to be written to a file by another thread."""
        twin = copy.copy(self)
        own = copy.copy(self.learner)
        width = 1 + len(self._vocabulary)
        own.add_features(width - 1)
        own.W, own.average_offset = own.W[:, :width].copy(), own.average_offset[:, :width].copy()
        own.S = None if own.S is None else own.S[:, :width].copy()
        own.running, own.totals = own.running.copy(), own.totals.copy()
        twin.learner = own
        twin._lookup = None
        if self.running_calibration is not None:
            twin.running_calibration = self.running_calibration.copy()
        twin._sketch = self._sketch.copy()
        twin._vocabulary = copy.copy(self._vocabulary)
        twin._vocabulary.index = self._vocabulary.index.copy()
        return twin

    def matches(self, other: "ServedLearner") -> bool:
        """Whether another learner has learned the same: equal in every bit, or up to rounding.

        The same examples give the same bits on one machine with one version. Another version or CPU may round
        products differently.
        """
        if self.fingerprint() == other.fingerprint():
            return True
        if self._counts() != other._counts():
            return False
        width = 1 + len(self._vocabulary)
        for hypothesis in ("last", "averaged"):
            own, twin = (each.learner.weights(hypothesis)[:, :width] for each in (self, other))
            if not np.allclose(own, twin, rtol=0.0, atol=ROUNDING * np.abs(own).max(initial=0.0)):
                return False
        return True

    def _counts(self) -> tuple[Any, ...]:
        """Return what two learners of the same examples share, however they round."""
        names = () if self.hash_bits else self.names
        totals = [self.learner.totals[field].tolist() for field in ("clock", "mistakes", "updates")]
        return self.learner.classes.tolist(), self.rows, self._since, names, totals

    def fingerprint(self) -> str:
        """Return a digest of every bit that later predictions and updates depend on.

        Columns that no name uses yet do not count, and −0.0 counts as 0.0: no score or update can tell them apart.
        """
        own: Any = self.learner
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((own.classes.tolist(), self.rows, self._since)).encode("utf-8", "surrogatepass"))
        names, separator = iter(() if self.hash_bits else self._vocabulary.index), ""
        while some := "\0".join(itertools.islice(names, NAMES_AT_ONCE)):
            digest.update((separator + some).encode("utf-8", "surrogatepass"))
            separator = "\0"
        for weights in (own.W, own.average_offset):
            _digest_columns(digest, weights, 1 + len(self._vocabulary), 0.0)
        running = own.running
        if isinstance(own.geometry, SecondOrder):  # version 0.1 computed the norm anew instead of updating it
            running = running.copy()
            sqnorm = (np.asfortranarray(own.W[:, : 1 + len(self._vocabulary)]) ** 2).sum(axis=1)
            running["sqnorm"] = sqnorm.sum() if own.joint else sqnorm
        for record in (running, own.totals):
            digest.update(record.tobytes())
        if own.S is not None:
            beyond = initial_auxiliary(own.geometry) or (0.0,)
            _digest_columns(digest, own.S, 1 + len(self._vocabulary), beyond)
        return digest.hexdigest()
