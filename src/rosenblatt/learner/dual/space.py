"""The space in which a kernel learner learns: kernel, bias coordinate, and where its matrices live."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import Arrays, cut
from rosenblatt.learner.dual.kernels import Kernel, Precomputed, sqnorms


class FeatureSpace:
    """Products of examples, computed block against block.

    Values are in units of ``unit``; the bias, where one is learned, is the product of two always-one coordinates.
    """

    def __init__(self, arrays: Arrays, kernel: Kernel, bias: float) -> None:
        self.arrays = arrays
        self.kernel = kernel
        self.bias = bias

    @property
    def unit(self) -> float:
        """What a value of one stands for."""
        return self.kernel.unit

    def sized_for(self, X: Any) -> None:
        """Choose units in which nothing overflows on rows like these."""
        if not isinstance(self.kernel, Precomputed) and X.shape[0]:
            largest = float(self.arrays.xp.max(sqnorms(self.arrays, X)))
            self.kernel = self.kernel.sized(largest, self.arrays.dtype)

    def remembered(self, X: Any, columns: NDArray[np.int64]) -> Any:
        """Return rows as support rows are kept: themselves, or their columns in a Gram matrix."""
        return self.arrays.put(columns, "int64") if isinstance(self.kernel, Precomputed) else X

    def values(self, A: Any, B: Any) -> Any:
        """Return the product of every row of ``A`` with every remembered row of ``B``."""
        told = self.kernel.values(self.arrays, A, B)
        if self.bias:
            told = told + self.bias / self.unit
        return told

    def times(self, A: Any, B: Any, coefficients: Any) -> Any:
        """Return ``K(A, B)·coefficients`` in units, where matrices live, never holding all of K."""
        width = max(1, self.arrays.at_once // max(1, A.shape[0]))
        total: Any = 0.0
        for piece in cut(int(B.shape[0]), width):
            part = self.values(A, B[piece, ...]) @ coefficients[piece, :]
            total = total + (part.astype(np.float64) if self.arrays.here else part)
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
                told[piece] = self.arrays.fetch(told=self.times(X[piece, ...], B, there))[0]
        told *= self.unit
        return told
