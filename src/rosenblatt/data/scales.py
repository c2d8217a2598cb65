"""Mean and standard deviation of columns, block by block."""

import numpy as np
from numpy.typing import NDArray


class Scales:
    """Running mean and spread of some columns (Chan, Golub and LeVeque 1979).

    >>> scales = Scales(1)
    >>> scales.see(np.array([[1.0], [3.0]]))
    >>> scales.see(np.array([[5.0]]))
    >>> scales.found()
    [(3.0, 1.63...)]
    """

    def __init__(self, columns: int) -> None:
        self._rows = 0
        self._mean = np.zeros(columns)
        self._squares = np.zeros(columns)  # Σ (x − mean)²

    def see(self, block: NDArray[np.float64]) -> None:
        """Take in a block of rows."""
        if not block.shape[0]:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(block)

    def _add(self, block: NDArray[np.float64]) -> None:
        mean = block.mean(axis=0)
        away = mean - self._mean
        rows = self._rows + block.shape[0]
        self._squares += ((block - mean) ** 2).sum(axis=0) + away**2 * self._rows * block.shape[0] / rows
        self._mean += away * block.shape[0] / rows
        self._rows = rows

    def found(self) -> list[tuple[float, float]]:
        """Return ``(mean, standard deviation)`` of every column; 1 for the deviation of a constant one."""
        spread = np.sqrt(self._squares / max(self._rows, 1))
        if not np.isfinite(spread).all():
            raise ValueError("a column holds numbers too large to be scaled: above 1e150, leave scale off")
        constant = spread <= 1e-12 * np.abs(self._mean)
        return list(zip(self._mean.tolist(), np.where(constant, 1.0, spread).tolist(), strict=True))
