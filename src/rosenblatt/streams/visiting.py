"""What a pass over kept batches visits: all of them as they lie, or shuffled by blocks."""

from collections.abc import Iterator

import numpy as np

from rosenblatt.data import Batch
from rosenblatt.data.arrow_batches import BatchFile
from rosenblatt.data.batch import batch_bytes, concatenate

BUFFER_ROWS, BUFFER_BYTES = 1 << 16, 32 << 20  # that a shuffle holds at a time, at most


def as_they_lie(batches: BatchFile, tight: bool) -> Iterator[Batch]:
    """Yield the batches of a mapped file; what has been read is given back, all of it where memory is tight."""
    for at in range(len(batches)):
        yield batches.batch(at)
        batches.forget(at, tight)


def shuffled(batches: BatchFile, rng: np.random.Generator, room: int, tight: bool) -> Iterator[Batch]:
    """Visit batches in a drawn order, gather rows until the room is full, and visit these in a drawn order."""
    order = np.arange(len(batches))
    rng.shuffle(order)
    held: list[Batch] = []
    places: list[int] = []
    rows = size = 0
    for left, at in zip(range(order.size - 1, -1, -1), order.tolist(), strict=True):
        batch = batches.batch(at)
        held.append(batch)
        places.append(at)
        rows, size = rows + batch.lines.size, size + batch_bytes(batch)
        if rows >= BUFFER_ROWS or size >= room or not left:
            mixed = _mixed(held, rng)
            held = []
            for place in places:  # all of it was copied: given back before anybody learns from the copy
                batches.forget(place, tight)
            yield mixed
            places, rows, size = [], 0, 0


def _mixed(held: list[Batch], rng: np.random.Generator) -> Batch:
    whole = concatenate(held)
    order = rng.permutation(whole.lines.size)
    X = whole.X[order]
    y = None if whole.y is None else whole.y[order]
    return Batch(X, y, whole.lines[order], None if whole.weight is None else whole.weight[order])
