"""The space in which a kernel learner learns: kernel, bias coordinate, and where its matrices live."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import Arrays, cut, to_numpy
from rosenblatt.learner.dual.kernels import RBF, Kernel, Linear, Poly, Precomputed, sqnorms


class FeatureSpace:
    """Products of examples, computed block against block.

    Values are in units of ``value_scale``; a bias is the product of two always-one coordinates.
    """

    def __init__(self, arrays: Arrays, kernel: Kernel, bias: float) -> None:
        self.arrays = arrays
        self.kernel = kernel
        self.bias = bias

    @property
    def value_scale(self) -> float:
        """What a value of one stands for."""
        return self.kernel.value_scale

    @property
    def recordable(self) -> bool:
        """Whether products are the same few calls every time; a caller's own function may do anything."""
        return isinstance(self.kernel, Poly | RBF | Linear)

    def sized_for(self, X: Any) -> None:
        """Choose units in which nothing overflows on rows like these."""
        if isinstance(self.kernel, Poly) and X.shape[0]:
            largest = float(self.arrays.xp.max(sqnorms(self.arrays, X)))
            self.kernel = self.kernel.sized(largest, self.arrays.dtype)

    def itself(self, X: Any, first_row: int) -> NDArray[np.float64]:
        """Return the product of every row with itself, in units."""
        if isinstance(self.kernel, Poly | RBF | Linear):
            told = self._diagonal(X, self.kernel)
        else:
            told = np.empty(X.shape[0])
            for piece in cut(int(X.shape[0]), 64):  # small squares hold few values beside the diagonal
                kept = self.kept(X, np.arange(piece.start, piece.stop), first_row)
                told[piece] = to_numpy(self.kernel.values(self.arrays, X[piece, ...], kept)).diagonal()
        return np.asarray(told + self.bias / self.value_scale, dtype=np.float64)

    def refuse_too_large(self, X: Any) -> None:
        """Say which row, if any, has no kernel that a float can hold."""
        if isinstance(self.kernel, Poly | RBF | Linear):
            self._diagonal(X, self.kernel)

    def _diagonal(self, X: Any, kernel: Poly | RBF | Linear) -> NDArray[Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            told = to_numpy(kernel.diagonal(self.arrays, X))
        wrong = np.flatnonzero(~np.isfinite(told))
        if wrong.size:
            raise ValueError(
                f"X has a row too large for the kernel, row {wrong[0]}: its kernel with itself is beyond what "
                f"{self.arrays.dtype} can hold beside the rows learned from; scale the features"
            )
        return told

    def kept(self, X: Any, numbers: Any, first_row: int) -> Any:
        """Return rows as support rows are kept: themselves, or their columns in a Gram matrix."""
        if isinstance(self.kernel, Precomputed):
            return self.arrays.put(numbers + first_row, "int64")
        return self.arrays.rows(X, numbers)

    def values(self, A: Any, B: Any) -> Any:
        """Return the product of every row of ``A`` with every remembered row of ``B``."""
        told = self.kernel.values(self.arrays, A, B)
        if self.bias:
            told = told + self.bias / self.value_scale
        return told

    def times(self, A: Any, B: Any, coefficients: Any) -> Any:
        """Return ``K(A, B)·coefficients`` in units, where matrices live, never holding all of K."""
        width = max(1, self.arrays.at_once // max(1, A.shape[0]))
        total: Any = None
        for piece in cut(int(B.shape[0]), width):
            part = self.values(A, B[piece, ...]) @ coefficients[piece, ...]
            part = part.astype(np.float64) if self.arrays.here else part
            total = part if total is None else total + part
        return total

    def all_times(self, X: Any, B: Any, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``K(X, B)·coefficients`` for any number of rows, not in units but as it is."""
        told = np.zeros((X.shape[0], coefficients.shape[1]))
        if B is None or not B.shape[0]:
            return told
        there = self.arrays.put(coefficients)
        at_once = 512 if self.arrays.here else max(1, self.arrays.at_once // int(B.shape[0]))
        with self.arrays.exact_products():
            for piece in cut(int(X.shape[0]), at_once):
                told[piece] = self.arrays.fetch("told", self.times(X[piece, ...], B, there))
        told *= self.value_scale
        return told
