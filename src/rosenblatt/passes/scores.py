"""Scores of every row, in one read of the rows for all rows of weights."""

from typing import Any

import numpy as np

from rosenblatt.passes.compiled import compiled
from rosenblatt.passes.rows import score_row


@compiled
def fill_scores(
    values: Any, indices: Any, starts: Any, width: int, W: Any, first: int, own: Any, scores: Any
) -> None:
    """Fill ``scores[i, c] = W[c]·(1, x)`` for the rows from ``first`` on, with weights laid out for them.

    ``own`` is room for one row's scores.
    """
    rows_of_weights, features = np.uint64(own.shape[0]), np.uint64(width)
    for i in range(np.uint64(scores.shape[0])):
        row = np.uint64(first) + i
        score_row(values, indices, starts, row, 1.0, rows_of_weights, features, W, own)
        for c in range(rows_of_weights):
            scores[i, c] = own[c]
