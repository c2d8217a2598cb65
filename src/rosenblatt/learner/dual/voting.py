"""The vote of every hypothesis a kernel run went through, told from its ledger, never storing one of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.ledger import vote_each, vote_jointly
from rosenblatt.learner.dual.arrays import cut, to_numpy
from rosenblatt.learner.dual.kernels import Precomputed
from rosenblatt.learner.dual.ledger import DualLedger
from rosenblatt.learner.dual.space import FeatureSpace

COLUMNS_HERE = 256  # rows told at once on the CPU: their scores and votes stay in cache
LINES_THERE = 1024  # lines of the ledger taken at once on a device
NUMBERS_THERE = 1 << 29  # held at once on a device


def votes(
    space: FeatureSpace, X: Any, support: Any, ledger: DualLedger, joint: bool, clock: float
) -> NDArray[np.float64]:
    """Return ``Σ (m_k/m)·vote of v_k``, ``(rows, classes)``: signs, or a share for the winner of a joint contest."""
    classes = ledger.start.shape[0]
    told = np.zeros((X.shape[0], classes))
    if support is None or not clock:
        return told
    slots = ledger.support_index()
    tell = _told_here if space.arrays.here else _told_there
    at_once = COLUMNS_HERE
    if not space.arrays.here:
        at_once = max(1, NUMBERS_THERE // max(int(support.shape[0]), LINES_THERE))
    with space.arrays.exact_products():
        for piece in cut(int(X.shape[0]), at_once):
            values = _columns(space, support, X[piece, ...])
            told[piece] = tell(space, values, ledger, slots, joint, clock)
    told /= clock
    return told


def _columns(space: FeatureSpace, support: Any, X: Any) -> Any:
    """Return kernel values ``(support rows, rows of X)``."""
    if isinstance(space.kernel, Precomputed):
        return space.values(X, support).T
    return space.values(support, X)


def _told_here(
    space: FeatureSpace, values: Any, ledger: DualLedger, slots: Any, joint: bool, clock: float
) -> NDArray[np.float64]:
    values = np.ascontiguousarray(values)
    scores = np.zeros((ledger.start.shape[0], values.shape[1]))
    told = np.zeros_like(scores)
    if joint:
        vote_jointly(values, ledger.entries, slots, scores, clock, 0.0, told)
    else:
        vote_each(values, ledger.entries, slots, scores, clock, 0.0, told)
    return told.T


def _told_there(
    space: FeatureSpace, values: Any, ledger: DualLedger, slots: Any, joint: bool, clock: float
) -> NDArray[np.float64]:
    """As above, line after line turned into running sums, which a device is quick at."""
    if joint:
        return _joint_there(space, values, ledger, slots, clock)
    entries, classes = ledger.entries, ledger.start.shape[0]
    told = np.zeros((values.shape[1], classes))
    for c in range(classes):
        lines = ledger.lines_of(c, joint=False)
        own = _signs_there(space, values, entries[lines], slots[lines], clock)
        told[:, c] = to_numpy(own)
    return told


def unbroken(decay: NDArray[np.float64], most: int) -> list[slice]:
    """Cut lines into parts of at most so many, within which decays can be undone: none ends in zero, or without end.

    The decay of the first line of a part is not among them.

    >>> unbroken(np.array([0.0, 1.0, 0.0, 0.5, 0.5]), 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if (decay == 1.0).all():
        return list(cut(decay.size, most))
    starts, product = [0], 1.0
    for line, factor in enumerate(decay.tolist()):
        product = product * factor if line > starts[-1] else 1.0
        if line - starts[-1] == most or not 1e-100 < product < 1e100:
            starts.append(line)
            product = 1.0
    return [slice(*ends) for ends in zip(starts, [*starts[1:], decay.size], strict=True)]


def _shrunk(decay: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the decay of a part's first line, and the product of those after it up to each."""
    return float(decay[0]), np.cumprod(np.concatenate([[1.0], decay[1:]]))


def _signs_there(space: FeatureSpace, values: Any, entries: Any, slots: Any, clock: float) -> Any:
    arrays, xp = space.arrays, space.arrays.xp
    lived = arrays.put(np.diff(np.append(entries["clock"], clock)), "float64")  # of what each line made
    parts = unbroken(entries["decay"], LINES_THERE)
    shrunk = [_shrunk(entries["decay"][part]) for part in parts] if slots.size else []
    # A positive factor changes no sign: undo the decays of a part, line by line.
    steps = arrays.put(entries["tau"] / np.concatenate([*(own for _, own in shrunk), np.empty(0)]), "float64")
    index = arrays.put(slots, "int64")
    score = arrays.put(np.zeros(values.shape[1]), "float64")
    told = arrays.put(np.zeros(values.shape[1]), "float64")
    for part, (first, decays) in zip(parts, shrunk, strict=False):
        moves = xp.asarray(arrays.rows(values, index[part]), dtype=xp.float64) * steps[part][:, None]
        after = arrays.running_sum(moves) + (first * score)[None, :]
        told = told + lived[part] @ xp.sign(after)
        score = after[-1, :] * float(decays[-1])
    return told


def _joint_there(
    space: FeatureSpace, values: Any, ledger: DualLedger, slots: Any, clock: float
) -> NDArray[np.float64]:
    arrays, xp, entries = space.arrays, space.arrays.xp, ledger.entries
    classes, n = ledger.start.shape[0], int(values.shape[1])
    lived = np.diff(np.append(entries["clock"], clock))
    score = arrays.put(np.zeros((classes, n)), "float64")
    told = arrays.put(np.zeros((classes, n)), "float64")
    for part in unbroken(entries["decay"], LINES_THERE // 16) if slots.size else ():
        first, shrunk = _shrunk(entries["decay"][part])
        steps = entries["tau"][part] / shrunk
        sides = np.zeros((steps.size, classes))
        sides[np.arange(steps.size), entries["target"][part]] = steps
        sides[np.arange(steps.size), entries["rival"][part]] = -steps
        moves = xp.asarray(arrays.rows(values, slots[part]), dtype=xp.float64)
        spread = moves[:, None, :] * arrays.put(sides, "float64")[:, :, None]  # (lines, classes, rows)
        after = arrays.running_sum(spread) + (first * score)[None, :, :]
        highest = xp.amax(after, axis=1) if hasattr(xp, "amax") else xp.max(after, axis=1)
        ahead = xp.asarray(after == highest[:, None, :], dtype=xp.float64)
        alone = xp.asarray(xp.sum(ahead, axis=1) == 1.0, dtype=xp.float64)
        weight = arrays.put(lived[part], "float64")[:, None] * alone
        told = told + xp.sum(ahead * weight[:, None, :], axis=0)
        score = after[-1, :, :] * float(shrunk[-1])
    return np.asarray(to_numpy(told).T)
