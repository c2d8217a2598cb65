"""Contradictions that need no search: rows of zeros, and equal rows with different labels."""

import numpy as np

from rosenblatt.proofs.loops.duplicates import first_equal_rows, hashable_rows
from rosenblatt.proofs.solvers.cone import Cone, Ids


def contradictions(cone: Cone) -> list[Ids]:
    """Return sets of demands whose rows add up to zero: ``a = 0``, or ``a`` and ``−a``.

    Every demand that is zero, or has its opposite in the data, occurs in one of the sets. Linear in the data.
    """
    examples = cone.examples
    n = len(examples.codes)
    first, flips = np.empty(n, dtype=np.int64), np.empty(n)
    first_equal_rows(hashable_rows(examples.X), not examples.fit_intercept and not cone.joint, first, flips)
    out: list[Ids] = []
    if not examples.fit_intercept:
        out.extend(_zeros(cone))
    side = examples.codes if cone.joint else (examples.signs * flips).astype(np.intp)
    order = np.lexsort((side, first))
    grouped, sides = first[order], side[order]
    is_first = np.append(True, (grouped[1:] != grouped[:-1]) | (sides[1:] != sides[:-1]))
    heads = order[is_first]  # one example per (row, side), by row then side
    repeated = np.flatnonzero(first[heads][1:] == first[heads][:-1])
    if not len(repeated):
        return out
    seconds, firsts = heads[repeated + 1], heads[repeated]
    if not cone.joint:
        pairs = [np.array(pair) for pair in zip(firsts, seconds, strict=True)]
        return out + pairs
    a, b = examples.codes[firsts], examples.codes[seconds]
    to_b = firsts * (cone.k - 1) + b - (b > a)
    to_a = seconds * (cone.k - 1) + a - (a > b)
    return out + [np.array(pair) for pair in zip(to_b, to_a, strict=True)]


def _zeros(cone: Cone) -> list[Ids]:
    """Return every demand whose row is zero."""
    X = cone.examples.X
    empty = ~X.any(axis=1) if isinstance(X, np.ndarray) else np.asarray(abs(X).sum(axis=1) == 0).ravel()
    rivals = cone.n_rows // X.shape[0]
    return [np.array([i * rivals + r]) for i in np.flatnonzero(empty) for r in range(rivals)]
