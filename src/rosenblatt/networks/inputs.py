"""What the units of a built network read: a space in which every single example can be cut off from all others."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CANDIDATES = 64  # examples looked at for the one that is cut off with most room


class Inputs(NamedTuple):
    """How rows become the inputs of a network.

    Rows of two-valued features are corners of a box, each of which a hyperplane cuts off alone, and are read as they
    are. Other rows are brought to unit scale and get the coordinate ``‖z‖²``: on a paraboloid every point is a corner.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    lifted: bool

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> "Inputs":
        """Look at the training rows."""
        width = X.shape[1]
        low, high = X.min(axis=0), X.max(axis=0)
        if ((low == X) | (high == X)).all():
            return cls(np.zeros(width), np.ones(width), False)
        spread = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(spread > 0.0, spread, 1.0), True)

    def read(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the network reads."""
        if not self.lifted:
            return X
        Z = (X - self.centre) / self.scale
        return np.column_stack([Z, (Z**2).sum(axis=1)])

    def names(self, features: list[str]) -> list[str]:
        """Return the names of what the network reads."""
        return [*features, "‖z‖²"] if self.lifted else features


class Peak(NamedTuple):
    """A linear function that is largest at one row: ``top`` there, between ``low`` and ``second`` at all others."""

    weights: NDArray[np.float64]  # bias first
    row: int
    top: float
    second: float
    low: float


def highest_peak(Z: NDArray[np.float64], among: NDArray[Any], lifted: bool) -> Peak:
    """Return a function that cuts one row, among those named, off from every other row that differs from it."""
    among = among[:CANDIDATES]
    weights = _lifted_peaks(Z[among]) if lifted else _corner_peaks(Z, among)
    values = Z @ weights[:, 1:].T + weights[:, 0]  # (rows, candidates)
    own = np.array([(Z[row] == Z).all(axis=1) for row in among]).T
    top = values[among, np.arange(among.size)]
    second = np.where(own, -np.inf, values).max(axis=0)
    low = np.where(own, np.inf, values).min(axis=0)
    second, low = np.where(np.isfinite(second), second, top - 1.0), np.where(np.isfinite(low), low, top - 1.0)
    best = int(np.argmax((top - second) / np.maximum(top - low, 1e-300)))
    return Peak(weights[best], int(among[best]), float(top[best]), float(second[best]), float(low[best]))


def _corner_peaks(Z: NDArray[np.float64], among: NDArray[Any]) -> NDArray[np.float64]:
    middle = (Z.min(axis=0) + Z.max(axis=0)) / 2.0
    towards = np.sign(Z[among] - middle)
    half = (Z.max(axis=0) - Z.min(axis=0)) / 2.0
    slopes = towards / np.where(half > 0.0, half, 1.0)
    return np.column_stack([-(slopes @ middle), slopes])


def _lifted_peaks(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """``−‖z − z₀‖² = −‖z₀‖² + 2 z₀·z − ‖z‖²``, linear in ``(z, ‖z‖²)``."""
    return np.column_stack([-at[:, -1], 2.0 * at[:, :-1], -np.ones(len(at))])
