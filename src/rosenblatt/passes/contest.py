"""Between whom an example decides: two classes, one class and all others, or the true class and its best rival."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.passes.compiled import compiled


@compiled
def best_rival(scores: NDArray[Any], truth: int) -> int:
    """Return the class with the highest score beside the true one, the first of equals."""
    rival = 1 if truth == 0 else 0
    for c in range(rival + 1, scores.shape[0]):
        if c != truth and scores[c] > scores[rival]:
            rival = c
    return rival


@compiled
def contest(label: Any, c: Any, hypotheses: int, scores: NDArray[Any]) -> Any:
    """Return what hypothesis ``c`` is told: the class to raise, the one to lower, the sign, and its score.

    Labels are -1 and +1 where there is one score, class indices where there are several. One hypothesis for all of
    them is lowered too (Kesler's construction); else the second class means nothing.
    """
    if scores.shape[0] > hypotheses:
        up, down = np.uint64(label), np.uint64(best_rival(scores, label))
        return up, down, 1.0, float(scores[up] - scores[down])
    y = float(label) if scores.shape[0] == 1 else (1.0 if label == c else -1.0)
    return np.uint64(c), np.uint64(0), y, float(scores[c])
