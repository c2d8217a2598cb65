"""The visiting order of rows that live on a device: the same as of the same rows here, without bringing them over."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import cut, is_foreign, to_numpy
from rosenblatt.passes.order import FIRST, GOLDEN, S27, S30, S31, SECOND, Shuffle
from rosenblatt.passes.rows import rows_of

NUMBERS_AT_ONCE = 1 << 22  # eight bytes each, in the cache of a GPU


def shuffled(
    X: Any, labels: NDArray[np.int64], seed: int, sample_weight: NDArray[np.float64] | None
) -> Shuffle:
    """Return the shuffle of rows, wherever they live."""
    if is_foreign(X) and hasattr(X, "view") and hasattr(X, "is_cuda"):
        return ShuffleThere(X, labels, seed, sample_weight)
    return Shuffle(rows_of(to_numpy(X) if is_foreign(X) else X), labels, seed, sample_weight)


class ShuffleThere(Shuffle):
    """A shuffle whose keys are computed by PyTorch, which has no unsigned arithmetic: two's complement gives it."""

    def __init__(
        self, X: Any, labels: NDArray[np.int64], seed: int, sample_weight: NDArray[np.float64] | None = None
    ) -> None:
        keys = (labels + 1).astype(np.uint64)
        keys *= SECOND
        rows = max(1, NUMBERS_AT_ONCE // max(1, int(X.shape[1])))
        told = [_said(X[piece].contiguous()) for piece in cut(int(X.shape[0]), rows)]
        for piece, said in zip(cut(int(X.shape[0]), rows), told, strict=True):  # when all have been asked for
            keys[piece] += to_numpy(said).view(np.uint64)
        self._arrange(keys, seed, sample_weight)


def _said(X: Any) -> Any:
    """Sum what the coordinates of each row say, as ``rosenblatt.passes.order`` does."""
    import torch

    columns = torch.arange(1, X.shape[1] + 1, dtype=torch.int64, device=X.device) * _signed(GOLDEN)
    if X.dtype == torch.float64:
        z = X.view(torch.int64)
        z = z ^ _down(z, 32)
    else:
        z = X.view(torch.int32).to(torch.int64)
        z &= 0xFFFFFFFF
    z += columns
    for shift, constant in ((S30, FIRST), (S27, SECOND)):
        z ^= _down(z, int(shift))
        z *= _signed(constant)
    z ^= _down(z, int(S31))
    z *= X != 0  # of either sign
    return z.sum(1)


def _down(z: Any, by: int) -> Any:
    """Shift right and fill with zeros."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def _signed(constant: np.uint64) -> int:
    return int(constant.astype(np.int64))
