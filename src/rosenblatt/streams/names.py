"""Names of hashed features: a sketch of those with the largest weights, stored beside the hashed weights.

Vowpal Wabbit cannot name a hashed feature without training again (its issues 3174 and 3834).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Examples

MOST = 1 << 16  # names left after pruning, which starts at twice as many
MOST_IN_FILE = 1000


class NameSketch:
    """The majority name of every hashed feature, for a bounded number of features.

    If names share a feature, the one in the majority stays (Boyer and Moore 1981: one name and one count per feature).
    With too many features, those with the smallest weights lose their names, or without weights those with the smallest
    counts.

    >>> sketch = NameSketch()
    >>> for name in ("free", "offer", "free"):
    ...     sketch.add(7, name)
    >>> sketch.name(7), sketch.name(8)
    ('free', '#8')
    """

    def __init__(self, names: Mapping[int, str] | None = None, most: int = MOST) -> None:
        self._counts: dict[int, list[Any]] = {feature: [name, 1] for feature, name in (names or {}).items()}
        self._most = most

    def copy(self) -> "NameSketch":
        """Return an independent copy."""
        other = NameSketch(most=self._most)
        other._counts = {feature: list(entry) for feature, entry in self._counts.items()}
        return other

    def add(self, feature: int, name: str) -> None:
        """Count one occurrence of a name of a feature."""
        entry = self._counts.get(feature)
        if entry is None:
            if len(self._counts) < 2 * self._most:
                self._counts[feature] = [name, 1]
        elif entry[0] == name:
            entry[1] += 1
        elif entry[1] == 0:
            self._counts[feature] = [name, 1]
        else:
            entry[1] -= 1

    def name(self, feature: int) -> str:
        """Return the name of a feature, or its number."""
        entry = self._counts.get(feature)
        return f"#{feature}" if entry is None else str(entry[0])

    def heaviest(self, weights: NDArray[Any], most: int = MOST_IN_FILE) -> dict[int, str]:
        """Return the names of the features with the largest of ``(rows, 1 + features)`` weights."""
        features = np.array([feature for feature in self._counts if feature + 1 < weights.shape[1]], np.int64)
        size = np.abs(weights[:, 1 + features]).max(axis=0) if features.size else np.empty(0)
        order = np.argsort(-size, kind="stable")[:most]
        return {feature: self.name(feature) for feature in features[order[size[order] > 0]].tolist()}

    def prune(self, weights: NDArray[Any]) -> None:
        """Drop names of the least important features if there are too many."""
        if len(self._counts) < 2 * self._most:
            return
        size = np.abs(weights[:, 1:]).max(axis=0) if weights.any() else None

        def importance(feature: int) -> float:
            return float(
                self._counts[feature][1] if size is None else size[feature] if feature < size.size else 0.0
            )

        important = sorted(self._counts, key=importance, reverse=True)[: self._most]
        self._counts = {feature: self._counts[feature] for feature in important}


def collect_names(examples: Examples, sketch: NameSketch) -> None:
    """Add the names that a source hashes while it is read to a sketch."""
    vocabulary: Any = getattr(examples, "_vocabulary", None)
    if vocabulary is not None and vocabulary.bits:
        vocabulary.on_name = sketch.add
    elif hasattr(examples, "on_name"):
        examples.on_name = sketch.add


def stored_names(about: Mapping[str, Any]) -> dict[int, str]:
    """Return the names stored in a validated model file, by feature."""
    return {int(feature): name for feature, name in about.get("hashed_names", {}).items()}
