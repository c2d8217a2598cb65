"""The order of a shuffled epoch: determined by the content of the rows, not by their positions.

Every row gets a key from its content, its label and the seed; sorting by key is the shuffle. So the same rows give the
same model in whatever order they are given, dense or sparse, and a row of weight k is visited exactly as k copies of it
would be.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import ONE, Rows
from rosenblatt.core.state import Visits
from rosenblatt.core.threads import in_parts
from rosenblatt.jit import compiled, compiled_part

# Odd constants of SplitMix64 (Steele, Lea, Flood 2014).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32, S64 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(64)
ZERO = np.uint64(0)
STEPS = 2.0**16  # to which a standardised value is rounded, per standard deviation
ROW_MASK = np.uint64(0xFFFFFFFF)  # the half of a word that holds the number of a row


def _mixed(z: Any) -> Any:
    """Return 64-bit words, one or an array, whose every bit depends on every bit before (SplitMix64)."""
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


mixed_word = compiled_part(_mixed)


def in_given_order(n: int, sample_weight: NDArray[np.float64] | None = None) -> Visits:
    """Visit rows in the given order; weight k means ⌈k⌉ visits in succession of weight k/⌈k⌉."""
    if sample_weight is None:
        return Visits(np.arange(n, dtype=np.uintp), np.empty(0))
    copies, each = _copies(sample_weight)
    return Visits(np.repeat(np.arange(n, dtype=np.uintp), copies), np.repeat(each, copies))


class Shuffle:
    """The shuffled visits of every epoch over the same rows.

    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> shuffle = Shuffle(Rows(X.reshape(-1), None, None), np.array([0, 1, 1]), seed=0)
    >>> sorted(shuffle.epoch(0).order.tolist())
    [0, 1, 2]
    """

    def __init__(
        self,
        rows: Rows,
        labels: NDArray[np.int64],
        seed: int,
        sample_weight: NDArray[np.float64] | None = None,
        rounded: bool = False,
    ) -> None:
        self._arrange(row_keys(rows, labels, rounded), seed, sample_weight)

    @classmethod
    def of_keys(
        cls, keys: NDArray[np.uint64], seed: int, sample_weight: NDArray[np.float64] | None = None
    ) -> Self:
        """Return the shuffle of rows whose keys were computed before, by :func:`row_keys`."""
        shuffle = cls.__new__(cls)
        shuffle._arrange(keys, seed, sample_weight)
        return shuffle

    def _arrange(
        self, keys: NDArray[np.uint64], seed: int, sample_weight: NDArray[np.float64] | None
    ) -> None:
        """Store the keys of the visits, one for each copy of a row."""
        visits = in_given_order(keys.size, sample_weight)
        self._order, self._weight = visits
        self._seed = np.array([seed % 2**64], np.uint64)
        self._scratch = np.empty(visits.order.size, np.uint64)
        self._keys = _distinct_keys(keys[visits.order], self._scratch)

    def epoch(self, number: int) -> Visits:
        """Return the visits of one epoch."""
        salt = _mixed(self._seed * GOLDEN + np.uint64(number))[0]
        position = _argsort(self._keys, salt, self._scratch)
        if not self._weight.size:  # every row once: its position is its number
            return Visits(position, self._weight)
        return Visits(self._order[position], self._weight[position])

    @property
    def fingerprint(self) -> tuple[int, ...] | None:
        """Numbers that identify the rows, their labels and weights, whatever the order.

        >>> rows = [Rows(np.array(values), None, None) for values in ([1.0, 2.0], [2.0, 1.0], [1.0, 3.0])]
        >>> one, turned, other = (Shuffle(each, np.array([0, 0]), seed=0).fingerprint for each in rows)
        >>> one == turned, one == other
        (True, False)
        """
        # Mixed: the sum of the keys themselves does not change when two labels are swapped.
        keys = _mixed(self._keys)
        if self._weight.size:
            keys = _mixed(keys ^ self._weight.view(np.uint64))
        total, parity = np.add.reduce(keys), np.bitwise_xor.reduce(keys)
        return keys.size, int(total), int(parity)


def row_keys(rows: Rows, labels: NDArray[np.int64], rounded: bool = False) -> NDArray[np.uint64]:
    """Return the key of every row, from its content and its label.

    With ``rounded``, for standardised rows, from its values in steps of 2⁻¹⁶: the last bits of such values depend on
    the units of the columns, and the order must not.
    """
    n = labels.shape[0]
    keys = np.empty(n, np.uint64)
    values = np.rint(rows.values.astype(np.float64) * STEPS) if rounded else rows.values
    bits = values.view(np.uint32 if values.dtype.itemsize == 4 else np.uint64)
    in_parts(lambda a, b: _fill_keys(bits, rows.indices, rows.starts, labels, keys, a, b), n, bits.size)
    return keys


def _copies(sample_weight: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Split each weight into its number of visits and the weight of each."""
    copies = np.ceil(sample_weight).astype(np.int64)
    return copies, sample_weight / np.maximum(copies, 1)


def _distinct_keys(keys: NDArray[np.uint64], scratch: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return keys in which equal rows have distinct keys; equal rows may be numbered in any order."""
    position = _argsort(keys, np.uint64(0), scratch)  # equal keys are neighbours
    ordered = keys[position]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if first.size == keys.size:
        return keys
    number = np.arange(keys.size) - np.repeat(first, np.diff(np.append(first, keys.size)))
    apart = np.empty_like(keys)
    apart[position] = ordered + number.astype(np.uint64) * GOLDEN
    return apart


def _argsort(keys: NDArray[np.uint64], salt: np.uint64, scratch: NDArray[np.uint64]) -> NDArray[np.uintp]:
    """Return ``argsort`` of the keys mixed with the salt, by a radix sort.

    ``scratch`` has as many words as there are keys; it is reused, because allocating it costs as much as sorting.
    """
    if keys.size >> 32:  # a row number no longer fits into one word with half a key
        return np.argsort(_mixed(keys ^ salt)).astype(np.uintp)
    # Of each of the two rounds: together they have a few times n buckets.
    bits = (keys.size.bit_length() + 4) // 2
    order = np.empty(keys.size, np.uintp)
    _fill_order(keys, salt, np.uint64(bits), np.zeros((2, 1 << bits), np.int64), scratch, order)
    return order


@compiled
def _fill_order(keys: Any, salt: Any, bits: Any, counts: Any, scratch: Any, order: Any) -> None:
    """Sort by the first bits of the mixed keys in two rounds, the lower bits first; then finish by insertion.

    The upper half of a mixed key and the row number share one word.
    """
    n, high, low = np.uint64(keys.shape[0]), S64 - bits, S64 - bits - bits
    mask = (ONE << bits) - ONE
    for i in range(n):
        z = mixed_word(keys[i] ^ salt)
        counts[0, (z >> low) & mask] += 1
        counts[1, z >> high] += 1
    for half in range(2):
        before = 0
        for b in range(np.uint64(counts.shape[1])):
            before, counts[half, b] = before + counts[half, b], before
    for i in range(n):
        z = mixed_word(keys[i] ^ salt)
        place = np.uint64(counts[0, (z >> low) & mask])
        counts[0, (z >> low) & mask] += 1
        scratch[place] = (z & ~ROW_MASK) | i
    for k in range(n):
        z = scratch[k]
        place = np.uint64(counts[1, z >> high])
        counts[1, z >> high] += 1
        order[place] = z
    for k in range(ONE, n):
        own, at = order[k], np.uint64(k)
        while at > ZERO and _comes_before(own, order[at - ONE], keys, salt):
            order[at] = order[at - ONE]
            at -= ONE
        order[at] = own
    for k in range(n):
        order[k] &= ROW_MASK


@compiled
def _comes_before(one: Any, other: Any, keys: Any, salt: Any) -> bool:
    """Compare the halves of two mixed keys, and the whole keys where the halves are equal."""
    if (one ^ other) > ROW_MASK:
        return bool(one < other)
    return bool(mixed_word(keys[one & ROW_MASK] ^ salt) < mixed_word(keys[other & ROW_MASK] ^ salt))


@compiled
def _coordinate_hash(value: Any, column: Any, sign: Any) -> Any:
    """Return what one coordinate adds to the key of its row: zero where the value is zero, of either sign."""
    z = (value ^ (value >> S32)) + (column + ONE) * GOLDEN  # small numbers differ in their high bits only
    every_bit = ZERO - np.uint64(value & (sign - ONE) != 0)  # or none; a choice would not be vectorised
    return mixed_word(z) & every_bit


@compiled
def _fill_keys(bits: Any, indices: Any, starts: Any, labels: Any, keys: Any, first: int, last: int) -> None:
    """Sum the hashes of the coordinates of each row, in any order: the same for dense and sparse rows."""
    n = np.uint64(keys.shape[0])
    width = np.uint64(bits.shape[0]) // max(n, ONE)
    sign = ONE << np.uint64(8 * bits.itemsize - 1)
    for i in range(np.uint64(first), np.uint64(last)):
        key = np.uint64(labels[i] + 1) * SECOND
        if indices is None:
            for j in range(width):
                key += _coordinate_hash(np.uint64(bits[i * width + j]), j, sign)
        else:
            for k in range(starts[i], starts[i + ONE]):
                key += _coordinate_hash(np.uint64(bits[k]), np.uint64(indices[k]), sign)
        keys[i] = key
