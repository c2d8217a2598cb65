"""Go through a ledger again, and stop where asked: the very weights a run had after so many updates."""

from typing import Any

import numpy as np

from rosenblatt.core.rows import Layout, Rows, add_row, scale_class
from rosenblatt.passes.compiled import compiled


@compiled
def replay(
    rows: Rows, entries: Any, support: Any, unit: float, W: Any, classes: int, stops: Any, out: Any
) -> None:
    """Apply the lines of a ledger in order to flat weights ``W``; copy them out after each number of lines.

    ``stops`` ascends; ``out[k]`` receives the weights as they are after ``stops[k]`` lines.
    """
    layout = Layout(np.uint64(classes), np.uint64(W.shape[0] // classes - 1), unit)
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
            scale_class(rows, layout, -1 if joint else up, line.decay, W)
        i = np.uint64(support[number])
        add_row(rows, i, layout, up, line.tau, W)
        if joint:
            add_row(rows, i, layout, line.down, -line.tau, W)
