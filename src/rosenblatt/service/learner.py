"""The online learner as the service runs it: scores with their reasons, and a fingerprint of all it knows."""

import copy
import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.named import hashed
from rosenblatt.streams.online import OnlineLearner

Named = dict[str, float]
BIAS = "(bias)"


class Scored(NamedTuple):
    """An example's scores, the two classes that are ahead, and what each known feature adds to the lead."""

    best: int  # -1 before any class is known
    second: int
    score: float
    margin: float  # of the best over the second; zero for a tie
    names: list[str]
    weights: NDArray[np.float64]  # (rows of weights, names)
    values: NDArray[np.float64]

    def pushes(self) -> NDArray[np.float64]:
        """Return what each name adds to the lead of the best class over the second; they sum to the margin."""
        return self.values * for_class(self.weights, self.best, self.second)


def for_class(weights: NDArray[np.float64], best: int, second: int) -> NDArray[np.float64]:
    """Return the weights that speak for one class against another; for itself where it is given twice."""
    lead: NDArray[np.float64]
    if weights.shape[0] == 1:
        lead = weights[0] if best == 1 else -weights[0]
    else:
        lead = weights[best] if best == second else weights[best] - weights[second]
    return lead


class ServedLearner(OnlineLearner):
    """Examples are dicts of named numbers.

    **Guarantee.** What it knows after a sequence of ``learn_one`` depends on nothing but that sequence: predictions in
    between or a restart from a file change no bit, so a replay of the journal gives the same :meth:`fingerprint`.
    """

    def score(self, x: Named) -> Scored:
        """Score an example; features that the model does not know count for nothing."""
        names, values, weights = self.weights_of(x)
        n = len(self.labels)
        scores = weights @ values
        if scores.size == 1:
            score = float(scores[0])
            up = int(score > 0.0)
            return Scored(min(up, n - 1), min(1 - up, n - 1), score, abs(score), names, weights, values)
        best = int(scores.argmax())
        score = float(scores[best])
        scores[best] = -np.inf
        second = int(scores.argmax())
        return Scored(best, second, score, score - float(scores[second]), names, weights, values)

    def weights_of(self, x: Named) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
        """Return the known names of an example, the bias first, their values, and their weights by class."""
        learner, bits = self.learner, self.hash_bits
        names, values = [BIAS], [learner.unit]
        if bits:
            places = [0]
            for name, value in x.items():
                names.append(name)
                values.append(value)
                places.append(1 + hashed(name, bits))
        else:
            index = self._vocabulary.index
            places = [0]
            for name, value in x.items():
                at = index.get(name)
                if at is not None:
                    names.append(name)
                    values.append(value)
                    places.append(1 + at)
        return names, np.array(values), self._weights_at(places)

    def _weights_at(self, places: list[int]) -> NDArray[np.float64]:
        learner = self.learner
        if places and max(places) >= learner.W.shape[1]:
            self.widen(max(places))
        if learner.p != 2.0:
            return np.asarray(learner.weights(self.hypothesis)[:, places], dtype=np.float64)
        W, running = learner.W.take(places, axis=1), learner.running
        clock = float(learner.totals["clock"][0])
        if self.hypothesis == "averaged" and clock:
            past = learner.A.take(places, axis=1)
            mean: NDArray[np.float64] = (running["shadow"][:, None] * W - past) / clock
            return mean
        last: NDArray[np.float64] = running["scale"][:, None] * W
        return last

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
