"""How the hypotheses of a run stand on a stream: margin, bound and accuracy, in one more read."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.data import Batch
from rosenblatt.learner import Learner, Standing
from rosenblatt.learner.evaluation import Bounded, is_correct, measured
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.proofs.bounds import signed_margins

CANDIDATE = "candidate "  # for the pocket
ROOM = (
    64 << 20
)  # bytes of scores that may be held: the bound of weights that err looks at all of them at once


def take_stock(learner: Learner, batches: Iterable[Batch], room: int = ROOM) -> dict[str, Standing]:
    """Measure every hypothesis of a run that has weights on a stream, read once; choose its pocket.

    As training in memory does; only the bound of weights that err is infinite, that is not known, where the scores
    of all rows would take more than ``room`` bytes.
    """
    found = _hyperplanes(learner)
    stock = {name: _Stock(weights, learner.joint) for name, weights in found.items()}
    labels_held: list[NDArray[np.int64]] = []
    copies_held: list[NDArray[np.int64]] = []
    whole, left = True, room
    for batch in batches:
        labels = np.searchsorted(learner.classes, labels_of(batch))
        labels_held.append(labels)
        weight = np.ones(labels.size) if batch.weight is None else batch.weight
        copies_held.append(np.ceil(weight).astype(np.int64))
        whole &= bool((weight == copies_held[-1]).all())
        left -= sum(own.see(batch.X, labels) for own in stock.values())
        if left < 0:
            labels_held, copies_held = [], []
            for own in stock.values():
                own.held = []
    every = np.concatenate(labels_held) if left >= 0 else None
    copies = np.concatenate(copies_held) if left >= 0 else None
    if copies is not None and (copies == 1).all():
        copies = None
    bounded = Bounded(learner.rule, learner.radius, len(learner.epochs), learner.start_norm, whole, copies)
    told = {name: own.told(every, bounded) for name, own in stock.items()}
    return _with_pocket(learner, found, told)


def labels_of(batch: Batch) -> NDArray[Any]:
    """Return the labels of a batch; without them there is nothing to learn."""
    if batch.y is None:
        raise ValueError(f"{batch.where(0)}: no labels to learn from")
    return batch.y


class _Stock:
    """What is known so far of one hyperplane."""

    def __init__(self, weights: NDArray[Any], joint: bool) -> None:
        sqnorm = (weights.astype(np.float64) ** 2).sum(axis=1)
        self._weights, self._joint = weights, joint
        self._sqnorm = np.array([sqnorm.sum()]) if joint else sqnorm
        self.right = self._rows = 0
        self._worst: dict[int, tuple[float, NDArray[Any], int]] = {}  # by column: margin, scores, label
        self.held: list[NDArray[Any]] = []

    def see(self, X: Any, labels: NDArray[np.int64]) -> int:
        """Score some rows; return how many bytes their scores are."""
        scores = linear_scores(X, self._weights[:, : 1 + X.shape[1]])
        self.held.append(scores)
        self._rows += labels.size
        self.right += int(is_correct(scores, labels).sum())
        margins = signed_margins(scores, labels, self._joint)
        for column, row in enumerate(margins.argmin(axis=0).tolist()):
            margin = float(margins[row, column])
            if column not in self._worst or margin < self._worst[column][0]:
                self._worst[column] = margin, scores[row].copy(), int(labels[row])
        return int(scores.nbytes)

    def told(self, labels: NDArray[np.int64] | None, bounded: Bounded) -> Standing:
        """Say how it stands: by all scores, or by the worst where the others were not held."""
        accuracy = self.right / max(self._rows, 1)
        if labels is not None:
            found = measured(np.concatenate(self.held), self._sqnorm, labels, self._joint, bounded)
            return found._replace(accuracy=accuracy)
        scores = np.array([scores for _, scores, _ in self._worst.values()])
        truth = np.array([label for _, _, label in self._worst.values()])
        found = measured(scores, self._sqnorm, truth, self._joint, bounded)
        bound = found.bound if found.margin > 0.0 else math.inf
        return Standing(found.margin, bound, accuracy)


def _hyperplanes(learner: Learner) -> dict[str, NDArray[Any]]:
    names = ["last", "averaged", *(["survivor", "random"] if learner.ledger is not None else [])]
    found = {name: learner.weights(name) for name in names}
    if learner.ledger is not None:
        candidates = hypotheses.record_setters(learner._run())
        found |= {f"{CANDIDATE}{k}": weights for k, weights in enumerate(candidates)}
    return found


def _with_pocket(
    learner: Learner, found: dict[str, NDArray[Any]], told: dict[str, Standing]
) -> dict[str, Standing]:
    """Put the candidate that errs least, the first of equals, into the pocket."""
    candidates = [name for name in told if name.startswith(CANDIDATE)]
    if candidates:
        best = max(candidates, key=lambda name: told[name].accuracy)
        learner.pocket = found[best]
        told["pocket"] = told[best]
    return {name: told[name] for name in hypotheses.NAMES if name in told}
