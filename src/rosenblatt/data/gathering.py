"""Small batches joined to larger ones."""

from collections.abc import Iterable, Iterator

import numpy as np

from rosenblatt.data.batch import Batch, concatenate

ROWS, BYTES = 16384, 8 << 20


def batch_bytes(batch: Batch) -> int:
    """Return how many bytes the features of a batch take."""
    X = batch.X
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


def gathered(batches: Iterable[Batch], rows: int = ROWS, size: int = BYTES) -> Iterator[Batch]:
    """Join batches until they have so many rows, or so many bytes: every batch costs a little when it is read.

    >>> blocks = [Batch(np.ones((n, 2)), np.arange(n), np.arange(n)) for n in (3, 1, 4, 4)]
    >>> [batch.lines.size for batch in gathered(blocks, rows=4)]
    [4, 4, 4]
    >>> [batch.lines.size for batch in gathered(blocks, size=64)]
    [4, 4, 4]
    """
    held: list[Batch] = []
    held_rows = held_size = 0
    for batch in batches:
        held.append(batch)
        held_rows, held_size = held_rows + batch.lines.size, held_size + batch_bytes(batch)
        if held_rows >= rows or held_size >= size:
            yield concatenate(held)
            held, held_rows, held_size = [], 0, 0
    if held:
        yield concatenate(held)
