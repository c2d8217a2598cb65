"""Equal rows, detected by hashing: each row is read once."""

from typing import Any

import numpy as np

from rosenblatt.jit import exactly_compiled

MIX = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


@exactly_compiled
def first_equal_rows(rows: Any, either_sign: bool, first: Any, flips: Any) -> None:
    """Write to ``first[i]`` the first row equal to row i, up to sign where ``either_sign`` says so.

    ``rows`` comes from :func:`hashable_rows`; the columns of a CSR matrix must be sorted and occur once.
    ``flips[i]`` is −1 where row i is compared as ``−x``: its first value that is not zero is negative.
    """
    values, columns, starts, width = rows
    n = len(first)
    size = 1
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    hashes = np.empty(n, dtype=np.uint64)
    bits = np.empty(1, dtype=np.float64)
    as_integers = bits.view(np.uint64)
    mask = np.uint64(size - 1)
    for i in range(n):
        flip = 1.0
        code = np.uint64(0)
        is_empty = True
        for at in range(starts[i], starts[i + 1]):
            value = float(values[at])
            if value == 0.0:
                continue
            if is_empty:
                is_empty = False
                if either_sign and value < 0.0:
                    flip = -1.0
            bits[0] = flip * value
            column = np.uint64(columns[at]) if width == 0 else np.uint64(at % width)
            code = (code ^ as_integers[0] ^ (column + np.uint64(1)) * MIX) * MIX
            code ^= code >> SHIFT
        flips[i] = flip
        hashes[i] = code
        slot = code & mask
        while True:
            other = table[slot]
            if other < 0:
                table[slot] = i
                first[i] = i
                break
            if hashes[other] == code and _equal(rows, i, other, flips[i] * flips[other]):
                first[i] = other
                break
            slot = (slot + np.uint64(1)) & mask


@exactly_compiled
def _equal(rows: Any, i: int, k: int, flip: float) -> Any:
    """Compare the values that are not zero of two rows, the second times ``flip``."""
    values, columns, starts, width = rows
    a, b = starts[i], starts[k]
    a_end, b_end = starts[i + 1], starts[k + 1]
    while True:
        while a < a_end and values[a] == 0.0:
            a += 1
        while b < b_end and values[b] == 0.0:
            b += 1
        if a == a_end or b == b_end:
            return a == a_end and b == b_end
        column_a = columns[a] if width == 0 else a % width
        column_b = columns[b] if width == 0 else b % width
        if column_a != column_b or values[a] != flip * values[b]:
            return False
        a += 1
        b += 1


def hashable_rows(X: Any) -> Any:
    """Return (values, columns, starts, width) of a dense or CSR matrix; a width of 0 says CSR."""
    if isinstance(X, np.ndarray):
        starts = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
        return X.reshape(-1), np.empty(0, dtype=np.int32), starts, X.shape[1]
    return X.data, X.indices, X.indptr, 0
