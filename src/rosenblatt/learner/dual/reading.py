"""Hypotheses read from a kernel run: coefficients of the support rows, with or without normalising by ``‖v_k‖``."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.hypotheses import MOST_CANDIDATES
from rosenblatt.core.ledger import normalised_sum
from rosenblatt.learner.dual.ledger import DualLedger


class Read(NamedTuple):
    """Hypotheses chosen from a ledger: how many updates each had, its coefficients, its squared norms."""

    numbers: NDArray[np.int64]  # (hypotheses,)
    coefficients: NDArray[np.float64]  # (rows, slots)
    sqnorm: NDArray[np.float64]  # (hypotheses,)


def survivals(ledger: DualLedger, hypotheses: int, joint: bool, clock: float) -> list[NDArray[np.float64]]:
    """Return, for each hypothesis of a run, how long it and all it was before lived."""
    return [ledger.survivals(ledger.lines_of(h, joint), clock) for h in range(hypotheses)]


def longest(lived: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return the number of the longest survivor of each hypothesis, the first of equals."""
    return np.array([int(np.argmax(own)) for own in lived])


def drawn(lived: list[NDArray[np.float64]], seed: int) -> NDArray[np.int64]:
    """Return a number for each hypothesis, drawn with probability survival / clock."""
    numbers = []
    for h, own in enumerate(lived):
        ticket = np.random.default_rng([seed, h]).random() * own.sum()
        numbers.append(int(min(np.searchsorted(np.cumsum(own), ticket, side="right"), own.size - 1)))
    return np.array(numbers)


def record_setters(lived: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return ``(candidates, hypotheses)`` numbers of those that lived longer than any before, and of the last."""
    records = []
    for own in lived:
        best = np.maximum.accumulate(own)
        records.append(np.flatnonzero(own > np.concatenate([[0.0], best[:-1]]))[-MOST_CANDIDATES:])
    most = max(record.size for record in records)
    padded = np.array([np.pad(record, (most - record.size, 0), mode="edge") for record in records]).T
    return np.concatenate([padded, [[own.size - 1 for own in lived]]])


def read(ledger: DualLedger, numbers: NDArray[np.int64], joint: bool) -> list[Read]:
    """Rebuild the hypotheses after ``numbers[k, h]`` of their updates, for all k in one replay."""
    own_lines = [np.concatenate([[0], ledger.lines_of(h, joint) + 1]) for h in range(numbers.shape[1])]
    lines = np.column_stack([own[numbers[:, h]] for h, own in enumerate(own_lines)])
    stops, place = np.unique(lines, return_inverse=True)
    after = ledger.weights_after(stops)
    place = place.reshape(lines.shape)
    sqnorms = np.concatenate([[0.0], ledger.entries["sqnorm"]])[lines]
    found = []
    for k in range(numbers.shape[0]):
        if numbers.shape[1] == 1:
            coefficients = after[place[k, 0]]
        else:
            coefficients = np.stack([after[place[k, h], h] for h in range(numbers.shape[1])])
        found.append(Read(numbers[k], coefficients, sqnorms[k]))
    return found


def normalised(coefficients: NDArray[np.float64], sqnorm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by the norms of the hypotheses; one that is zero stays so."""
    norm = np.sqrt(np.maximum(sqnorm, 0.0))
    return np.asarray(coefficients / np.where(norm > 0.0, norm, 1.0)[:, None])


def normalised_average(ledger: DualLedger, hypotheses: int, clock: float) -> NDArray[np.float64]:
    """Return ``Σ (m_k/m) v_k/‖v_k‖`` (Freund and Schapire 1999, section 5)."""
    coefficients: NDArray[Any] = np.zeros((ledger.start.shape[0], ledger.support_rows.size))
    until, left, decay = np.full(hypotheses, clock), np.zeros(hypotheses), np.ones(hypotheses)
    normalised_sum(ledger.entries, ledger.support_index(), until, left, decay, coefficients)
    return coefficients / clock if clock else coefficients
