"""Sweeps in one compiled call are the sweeps of the loop, one call each."""

import numpy as np
import pytest

from rosenblatt.core.ledger import ENTRY
from rosenblatt.core.loop import learn
from rosenblatt.core.rows import flat, laid_out, rows_of
from rosenblatt.core.state import NOTHING, TOTALS, State, Visits, new_running
from rosenblatt.proofs.loops.perceptron import Normalised, sweep_until_clean
from rosenblatt.rules import Euclidean


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("sweeps", [1, 3, 200])
def test_they_stop_after_a_clean_sweep_and_name_the_mistakes_of_the_last(noise, sweeps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    labels = np.where((X[:, 0] > 0.0) ^ (rng.random(60) < noise), 1, -1).astype(np.int8)
    rows, order = rows_of(X), np.arange(60, dtype=np.uintp)

    def fresh():
        weights = [flat(rows, laid_out(rows, np.zeros((1, 5)))) for _ in range(2)]
        return State(*weights, new_running(1), np.empty(1), np.zeros(1, TOTALS)), np.empty(60, ENTRY)

    arguments = Normalised(1e-9), Euclidean(), rows, labels, Visits(order, NOTHING), 1.0
    (state, ledger), (plain, lines) = fresh(), fresh()
    mistakes = sweep_until_clean(*arguments, state, ledger, sweeps)
    for _ in range(sweeps):
        plain.totals["written"] = 0
        learn(*arguments, plain, lines, False)
        if not plain.totals["written"][0]:
            break
    assert mistakes == plain.totals["written"][0]
    assert (mistakes == 0) == (noise == 0.0 and sweeps == 200)
    np.testing.assert_array_equal(state.W, plain.W)
    np.testing.assert_array_equal(state.totals, plain.totals)
    np.testing.assert_array_equal(ledger[:mistakes], lines[:mistakes])
