"""The visiting order of rows that live on a device: the same as of the same rows here, without bringing them over."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.order import FIRST, GOLDEN, S27, S30, S31, SECOND, Shuffle
from rosenblatt.core.rows import rows_of
from rosenblatt.core.state import Visits
from rosenblatt.learner.dual.arrays import cut, is_foreign, to_numpy

NUMBERS_AT_ONCE = 1 << 24  # eight bytes each, several times over
LEAST = -(1 << 63)  # added to a signed number, it compares as the unsigned one


def shuffled(
    X: Any, labels: NDArray[np.int64], seed: int, sample_weight: NDArray[np.float64] | None
) -> Shuffle:
    """Return the shuffle of rows, wherever they live."""
    if is_foreign(X) and hasattr(X, "view") and hasattr(X, "is_cuda"):
        return ShuffleThere(X, labels, seed, sample_weight)
    return Shuffle(rows_of(to_numpy(X) if is_foreign(X) else X), labels, seed, sample_weight)


class ShuffleThere(Shuffle):
    """A shuffle by PyTorch, which has no unsigned arithmetic: two's complement gives it."""

    def __init__(
        self, X: Any, labels: NDArray[np.int64], seed: int, sample_weight: NDArray[np.float64] | None = None
    ) -> None:
        import torch

        at_once = max(1, NUMBERS_AT_ONCE // max(1, int(X.shape[1])))
        said = [_said(X[piece].contiguous()) for piece in cut(int(X.shape[0]), at_once)]
        keys = (torch.as_tensor(labels, device=X.device) + 1) * _wrapped(int(SECOND))
        keys = keys + torch.cat(said) if said else keys
        self._there = keys
        in_order = keys.sort().values
        if sample_weight is None and not bool((in_order[1:] == in_order[:-1]).any()):
            self._weight, self._seed = np.empty(0), np.array([seed % 2**64], np.uint64)
            return
        self._arrange(to_numpy(keys).view(np.uint64), seed, sample_weight)  # which tells copies apart
        self._there = torch.as_tensor(self._keys.view(np.int64), device=X.device)

    def epoch(self, number: int) -> Visits:
        """Return the visits of one epoch."""
        import torch

        salt = int(_mixed(torch.tensor([_wrapped(int(self._seed[0]) * int(GOLDEN) + number)])))
        mixed = _mixed(self._there ^ salt)
        mixed ^= LEAST
        position = to_numpy(mixed.argsort()).view(np.uintp)
        if not self._weight.size:
            return Visits(position, self._weight)
        return Visits(self._order[position], self._weight[position])

    @property
    def fingerprint(self) -> None:
        """Nothing: keys stay on the device."""
        return


def _said(X: Any) -> Any:
    """Sum what the coordinates of each row say, as ``rosenblatt.core.order`` does; zeros say nothing."""
    import torch

    flat = X.view(-1)
    at = flat.nonzero().view(-1)
    z = flat.index_select(0, at)
    if X.dtype == torch.float64:
        z = z.view(torch.int64)
        z = z ^ _down(z, 32)
    else:
        z = z.view(torch.int32).to(torch.int64)
        z &= 0xFFFFFFFF
    column = at.remainder_(X.shape[1]).add_(1)
    z += column.mul_(_wrapped(int(GOLDEN)))
    total = _mixed(z).cumsum(0)
    until = (X != 0).sum(1).cumsum(0)  # where each row ends
    total = torch.cat([total.new_zeros(1), total]).index_select(0, until)
    return total.diff(prepend=total.new_zeros(1))


def _mixed(z: Any) -> Any:
    """Mix the bits of every number, in place."""
    for shift, constant in ((S30, FIRST), (S27, SECOND)):
        z ^= _down(z, int(shift))
        z *= _wrapped(int(constant))
    z ^= _down(z, int(S31))
    return z


def _down(z: Any, by: int) -> Any:
    """Shift right and fill with zeros."""
    return (z >> by).bitwise_and_((1 << (64 - by)) - 1)


def _wrapped(number: int) -> int:
    """Return a whole number as 64 bits in two's complement hold it."""
    return (number - LEAST) % (1 << 64) + LEAST
