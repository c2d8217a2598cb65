"""Go through a ledger again, and stop where asked: the very weights a run had after so many updates."""

from typing import Any

import numpy as np

from rosenblatt.passes.compiled import compiled
from rosenblatt.passes.rows import Rows, add_row, scale_rows


@compiled
def replay(
    rows: Rows, entries: Any, support: Any, unit: float, W: Any, classes: int, stops: Any, out: Any
) -> None:
    """Apply the lines of a ledger in order to flat weights ``W``; copy them out after each number of lines.

    ``stops`` ascends; ``out[k]`` receives the weights as they are after ``stops[k]`` lines.
    """
    values, indices, starts = rows
    width = np.uint64(W.shape[0] // classes - 1)
    k = 0
    for number in range(entries.shape[0] + 1):
        while k < stops.shape[0] and stops[k] == number:
            out[k, :] = W
            k += 1
        if k == stops.shape[0]:
            return
        line = entries[number]
        joint = line.down >= 0
        up = line.up if classes > 1 else 0
        if line.decay != 1.0:
            scale_rows(indices, -1 if joint else up, classes, line.decay, W)
        i = np.uint64(support[number])
        add_row(values, indices, starts, i, unit, up, classes, width, line.tau, W)
        if joint:
            add_row(values, indices, starts, i, unit, line.down, classes, width, -line.tau, W)
