"""How a model came to be what it is: its mistakes against the clock, its share of right marks, its ledger."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.service.model import Model
from rosenblatt.service.schemas import LedgerLine
from rosenblatt.service.store import Store

POINTS = 300  # of a curve
LAST = 200  # messages over which the recent share is taken
LINES = 100


class History(NamedTuple):
    """The curves of a model: one value for each place on the clock."""

    clock: NDArray[np.float64]
    mistakes: NDArray[np.float64]
    right: NDArray[np.float64]  # share of all marks so far
    recent: NDArray[np.float64]  # share of the last ones
    lines: list[LedgerLine]  # the newest of the ledger, newest first


def history(store: Store, model: Model) -> History:
    """Read the history of a model from its ledger."""
    reader = store.reader()
    try:
        rows = reader.execute(
            "SELECT clock + 1, mistakes FROM ledger WHERE model = ? ORDER BY seq", (model.number,)
        ).fetchall()
        newest = reader.execute(
            "SELECT seq FROM ledger WHERE model = ? ORDER BY seq DESC LIMIT 1 OFFSET ?", (model.number, LINES)
        ).fetchone()
    finally:
        reader.close()
    told = np.array(rows, dtype=np.float64).reshape(-1, 2)
    wrong = told[np.diff(told[:, 1], prepend=0.0) > 0, 0]
    lines = store.ledger(model.number, newest[0] if newest else 0, LINES)
    return History(*curves(wrong, model.learner.rows), lines[::-1])


def curves(wrong: NDArray[np.float64], rows: int) -> tuple[Any, Any, Any, Any]:
    """Return clock, mistakes, and the two shares of right marks, from the clocks of the mistakes.

    >>> clock, mistakes, right, _ = curves(np.array([1.0, 3.0]), 4)
    >>> mistakes, right
    (array([1., 1., 2., 2.]), array([0. , 0.5 , 0.33..., 0.5 ]))
    """
    clock = np.unique(np.linspace(1, rows, min(rows, POINTS)).round()) if rows else np.zeros(0)
    mistakes = np.searchsorted(wrong, clock, side="right").astype(np.float64)
    start = np.maximum(clock - LAST, 0.0)
    recent = mistakes - np.searchsorted(wrong, start, side="right")
    with np.errstate(divide="ignore"):
        return clock, mistakes, 1.0 - mistakes / clock, 1.0 - recent / (clock - start)
