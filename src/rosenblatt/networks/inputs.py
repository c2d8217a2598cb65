"""The input space of a constructed network, in which a hyperplane can separate any single example from all others."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CANDIDATES = 64  # examples tried for the largest margin to all others


class Inputs(NamedTuple):
    """The map from rows to the inputs of a network.

    Rows of two-valued features are vertices of a box, each of which a hyperplane separates from the others; they stay
    unchanged. Other rows are standardized and get the coordinate ``‖z‖²``: every point of a paraboloid is a vertex of
    the convex hull.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    lifted: bool

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> "Inputs":
        """Fit the map to training rows."""
        width = X.shape[1]
        low, high = X.min(axis=0), X.max(axis=0)
        if ((low == X) | (high == X)).all():
            return cls(np.zeros(width), np.ones(width), False)
        spread = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(spread > 0.0, spread, 1.0), True)

    def read(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inputs of the network for rows."""
        if not self.lifted:
            return X
        Z = (X - self.centre) / self.scale
        return np.column_stack([Z, (Z**2).sum(axis=1)])

    def names(self, features: list[str]) -> list[str]:
        """Return the names of the inputs."""
        return [*features, "‖z‖²"] if self.lifted else features


class Peak(NamedTuple):
    """A linear function with its maximum at one row: ``top`` there, between ``low`` and ``second`` at all others."""

    weights: NDArray[np.float64]  # bias first
    row: int
    top: float
    second: float
    low: float


def highest_peak(Z: NDArray[np.float64], among: NDArray[Any], lifted: bool) -> Peak:
    """Return the function that separates one of the rows ``among`` from all rows that differ, by the largest margin."""
    among = among[:CANDIDATES]
    weights = _lifted_peaks(Z[among]) if lifted else _corner_peaks(Z, among)
    values = Z @ weights[:, 1:].T + weights[:, 0]  # (rows, candidates)
    equal = np.array([(Z[row] == Z).all(axis=1) for row in among]).T
    top = values[among, np.arange(among.size)]
    second = np.where(equal, -np.inf, values).max(axis=0)
    low = np.where(equal, np.inf, values).min(axis=0)
    second, low = np.where(np.isfinite(second), second, top - 1.0), np.where(np.isfinite(low), low, top - 1.0)
    best = int(np.argmax((top - second) / np.maximum(top - low, 1e-300)))
    return Peak(weights[best], int(among[best]), float(top[best]), float(second[best]), float(low[best]))


def _corner_peaks(Z: NDArray[np.float64], among: NDArray[Any]) -> NDArray[np.float64]:
    middle = (Z.min(axis=0) + Z.max(axis=0)) / 2.0
    direction = np.sign(Z[among] - middle)
    half = (Z.max(axis=0) - Z.min(axis=0)) / 2.0
    slopes = direction / np.where(half > 0.0, half, 1.0)
    return np.column_stack([-(slopes @ middle), slopes])


def _lifted_peaks(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """``−‖z − z₀‖² = −‖z₀‖² + 2 z₀·z − ‖z‖²``, linear in ``(z, ‖z‖²)``."""
    return np.column_stack([-points[:, -1], 2.0 * points[:, :-1], -np.ones(len(points))])
