"""Names of hashed features: a hash forgets them, so those of the weightiest features are written down beside it.

Others hash and then cannot name a feature without training again (Vowpal Wabbit's issues 3174 and 3834).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Examples

MOST = 1 << 16  # names that are kept when there are twice as many
MOST_IN_FILE = 1000


class NameSketch:
    """For every feature the name that was heard for it most of the time, of as many features as there is room for.

    Where names share a feature, the one in the majority stays (Boyer and Moore 1981: one name and one count for each
    feature). When there are too many features, those of the smallest weights lose their names, or, while there are no
    weights, those that were heard least.

    >>> sketch = NameSketch()
    >>> for name in ("free", "offer", "free"):
    ...     sketch.hear(7, name)
    >>> sketch.name(7), sketch.name(8)
    ('free', '#8')
    """

    def __init__(self, names: Mapping[int, str] | None = None, most: int = MOST) -> None:
        self._heard: dict[int, list[Any]] = {at: [name, 1] for at, name in (names or {}).items()}
        self._most = most

    def hear(self, at: int, name: str) -> None:
        """Take in one name of a feature."""
        held = self._heard.get(at)
        if held is None:
            if len(self._heard) < 2 * self._most:
                self._heard[at] = [name, 1]
        elif held[0] == name:
            held[1] += 1
        elif held[1] == 0:
            self._heard[at] = [name, 1]
        else:
            held[1] -= 1

    def name(self, at: int) -> str:
        """Return the name of a feature, or its number."""
        held = self._heard.get(at)
        return f"#{at}" if held is None else str(held[0])

    def heaviest(self, weights: NDArray[Any], most: int = MOST_IN_FILE) -> dict[int, str]:
        """Return the names of the features with the largest weights, by ``(rows, 1 + features)`` weights."""
        places = np.array([at for at in self._heard if at + 1 < weights.shape[1]], np.int64)
        size = np.abs(weights[:, 1 + places]).max(axis=0) if places.size else np.empty(0)
        order = np.argsort(-size, kind="stable")[:most]
        return {at: self.name(at) for at in places[order[size[order] > 0]].tolist()}

    def prune(self, weights: NDArray[Any]) -> None:
        """Make room, where there is none left."""
        if len(self._heard) < 2 * self._most:
            return
        size = np.abs(weights[:, 1:]).max(axis=0) if weights.any() else None

        def worth(at: int) -> float:
            return float(self._heard[at][1] if size is None else size[at] if at < size.size else 0.0)

        kept = sorted(self._heard, key=worth, reverse=True)[: self._most]
        self._heard = {at: self._heard[at] for at in kept}


def listen(examples: Examples, sketch: NameSketch) -> None:
    """Let a sketch hear the names that a source hashes while it is read."""
    vocabulary: Any = getattr(examples, "_vocabulary", None)
    if vocabulary is not None and vocabulary.bits:
        vocabulary.on_name = sketch.hear
    elif hasattr(examples, "on_name"):
        examples.on_name = sketch.hear


def stored_names(about: Mapping[str, Any]) -> dict[int, str]:
    """Return the names that a checked model file keeps, by feature."""
    return {int(at): name for at, name in about.get("hashed_names", {}).items()}
