"""Training on what does not fit in memory: passes over a stream of batches, equal to passes over all of it at once."""

import copy
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Batch, Examples
from rosenblatt.data.arrow_batches import BatchFile, gathered, write_batches
from rosenblatt.data.batch import concatenate
from rosenblatt.data.sources import Source
from rosenblatt.learner import Epoch, Learner, Standing
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.proofs.bounds import signed_margins
from rosenblatt.streams.cache import can_be_kept, kept_batches

BUFFER_ROWS = 1 << 16  # rows that a shuffle holds at a time
NEEDED = 160 << 20  # bytes beside the weights: the interpreter and the blocks in flight


class Pass(NamedTuple):
    """How far a pass has come."""

    number: int
    rows: int
    mistakes: int
    done: bool


class Trained(NamedTuple):
    """A learner, and how its training ended."""

    learner: Learner
    rows: int  # of one pass
    interrupted: bool  # by the user: the learner is as the last whole pass left it


def train_on_stream(
    learner: Learner,
    examples: Examples,
    source: Source,
    *,
    options: Mapping[str, Any] | None = None,
    passes: int = 10,
    shuffle: bool = False,
    keep: bool = True,
    memory: int | None = None,
    tell: Callable[[Pass], None] | None = None,
) -> Trained:
    """Cycle over a stream until a pass makes no update, or ``passes`` times.

    One pass in the order of the file reads the file itself. More passes, or a shuffle, read it once into a file of
    batches, in the user's cache folder (``keep``) or a temporary one, and map that into memory. A shuffle visits the
    batches in an order drawn from the seed and the pass, and the rows of each 65,536 rows so gathered in a drawn order.

    **Guarantee.** Without a shuffle the learner is exactly the one that ``learner.train(X, y, shuffle=False)`` on all
    rows leaves; its memory is its weights, a few blocks of the file, and nothing that grows with the rows.
    """
    fresh = copy.deepcopy(learner)
    if passes < 1:
        raise ValueError(f"passes must be 1 or more, got {passes}")
    if passes == 1 and not shuffle and not isinstance(examples, BatchFile):
        try:
            return _run(learner, _Direct(examples), 1, False, memory, tell)
        except _NewClass:
            if not can_be_kept(source):
                raise ValueError(
                    "a third class appeared after the first rows, and the stream cannot be read again: "
                    "write it to a file, or learn as it comes with `stream`"
                ) from None
            classes = sorted({label for batch in examples for label in np.unique(_labels(batch)).tolist()})
            return _run(fresh, _Direct(examples, np.array(classes)), 1, False, memory, tell)
    if isinstance(examples, BatchFile):
        return _run(learner, examples, passes, shuffle, memory, tell)
    if keep and can_be_kept(source):
        return _run(learner, kept_batches(examples, source, options or {}), passes, shuffle, memory, tell)
    with tempfile.TemporaryDirectory(prefix="rosenblatt-") as folder:
        path = Path(folder, "batches.arrow")
        with path.open("wb") as file:
            write_batches(file, examples, gathered(examples))
        return _run(learner, BatchFile(str(path)), passes, shuffle, memory, tell)


class _NewClass(Exception):
    """A class appeared that changes what the rows before it would have taught."""


class _Direct:
    """The file itself, read once; its classes are known, or those of the first batch and at most two."""

    def __init__(self, examples: Examples, classes: Any = None) -> None:
        self.examples, self.classes = examples, classes

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.examples)


def _run(
    learner: Learner,
    batches: "_Direct | BatchFile",
    passes: int,
    shuffle: bool,
    memory: int | None,
    tell: Callable[[Pass], None] | None,
) -> Trained:
    whole = copy.copy(learner)
    rows = 0
    epochs: list[Epoch] = []
    learner.converged = False
    try:
        for number in range(1, passes + 1):
            mistakes, updates, rows = learner.mistakes, learner.updates, 0
            for batch in _visited(batches, shuffle, learner.seed, number):
                _check(learner, batch, batches, memory)
                learner.learn(batch.X, _labels(batch), batch.weight, classes=_classes(batches, batch))
                rows += batch.lines.size
                if tell is not None:
                    tell(Pass(number, rows, learner.mistakes - mistakes, False))
            epochs.append(Epoch(number, learner.mistakes - mistakes, learner.updates - updates))
            learner.epochs = list(epochs)
            if tell is not None:
                tell(Pass(number, rows, epochs[-1].mistakes, True))
            if epochs[-1].updates == 0 and (learner.running["decay"] == 1.0).all():
                learner.converged = True
                break
            if number < passes:
                whole = copy.deepcopy(learner)
    except KeyboardInterrupt:
        if not epochs:
            raise
        whole.epochs = epochs
        return Trained(whole, rows, True)
    return Trained(learner, rows, False)


def _visited(batches: "_Direct | BatchFile", shuffle: bool, seed: int, number: int) -> Iterator[Batch]:
    """Yield the batches of one pass; what has been read of a mapped file is given back."""
    if isinstance(batches, _Direct):
        yield from batches
        return
    order = np.arange(len(batches))
    if not shuffle:
        for at in order.tolist():
            yield batches.batch(at)
            batches.forget(at)
        return
    rng = np.random.default_rng([seed % 2**63, number])
    rng.shuffle(order)
    held: list[Batch] = []
    for at in order.tolist():
        held.append(batches.batch(at))
        if sum(batch.lines.size for batch in held) >= BUFFER_ROWS:
            yield _shuffled(held, rng)
            held = []
    if held:
        yield _shuffled(held, rng)


def _shuffled(held: list[Batch], rng: np.random.Generator) -> Batch:
    whole = concatenate(held)
    order = rng.permutation(whole.lines.size)
    X = whole.X[order]
    y = None if whole.y is None else whole.y[order]
    return Batch(X, y, whole.lines[order], None if whole.weight is None else whole.weight[order])


def _classes(batches: "_Direct | BatchFile", batch: Batch) -> Any:
    classes = batches.classes
    if classes is None and isinstance(batches, _Direct):
        classes = batches.classes = np.unique(_labels(batch))
    return classes if classes is not None and len(classes) else None


def _check(learner: Learner, batch: Batch, batches: "_Direct | BatchFile", memory: int | None) -> None:
    if isinstance(batches, _Direct) and batches.classes is not None:
        classes = np.union1d(batches.classes, np.unique(_labels(batch)))
        if classes.size > 2 and classes.size > len(batches.classes):
            raise _NewClass
    if memory is not None:
        needed = NEEDED + 32 * (1 + max(batch.X.shape[1], learner.n_features)) * max(1, learner.W.shape[0])
        if needed > memory:
            raise ValueError(
                f"{batch.X.shape[1]:,} features need about {needed >> 20:,} MB, more than the memory asked for: "
                "allow more, or hash the features (--hash-bits)"
            )


def standings_on(learner: Learner, batches: Iterable[Batch]) -> dict[str, Standing]:
    """Return margin and accuracy of the last and the averaged weights over a stream, read once."""
    every = {name: learner.weights(name) for name in ("last", "averaged")}
    margin, right, rows = dict.fromkeys(every, math.inf), dict.fromkeys(every, 0), 0
    for batch in batches:
        labels = np.searchsorted(learner.classes, _labels(batch))
        rows += labels.size
        for name, weights in every.items():
            scores = linear_scores(batch.X, weights[:, : 1 + batch.X.shape[1]])
            margins = signed_margins(scores, labels, learner.joint).min(axis=0)
            margin[name] = min(margin[name], float((margins / _norms(weights, learner.joint)).min()))
            right[name] += int(_right(scores, labels).sum())
    return {name: Standing(margin[name], math.inf, right[name] / max(rows, 1)) for name in every}


def _right(scores: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the true class is ahead; between two classes, a score of zero decides for neither."""
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] * (2 * labels - 1) > 0.0)
    return np.asarray(np.argmax(scores, axis=1) == labels)


def _labels(batch: Batch) -> NDArray[Any]:
    if batch.y is None:
        raise ValueError(f"{batch.where(0)}: no labels to learn from")
    return batch.y


def _norms(weights: Any, joint: bool) -> Any:
    sqnorm = (weights.astype(np.float64) ** 2).sum(axis=1)
    sqnorm = np.array([sqnorm.sum()]) if joint else sqnorm
    return np.where(sqnorm > 0.0, np.sqrt(sqnorm), 1.0)
