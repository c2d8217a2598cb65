"""Bad input: the error names the argument, the row, the column and what to do."""

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.proofs import add_slack, hinge_bound, separability, soft_margin, solve_cone

BAD = np.array([[1.0, 2.0], [3.0, np.nan]])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (BAD, [0, 1], r"X\[1, 1\] is nan; remove the row"),
        (sp.csr_array(BAD), [0, 1], r"X\[1, 1\] is nan"),
        ([[np.inf], [1.0]], [0, 1], r"X\[0, 0\] is inf"),
        ([1.0, 2.0], [0, 1], r"two dimensions, got shape \(2,\); for one feature pass"),
        (np.empty((0, 2)), [], "X has no rows"),
        ([[1.0], [2.0]], [0], "X has 2 rows but y has 1 labels"),
        ([[1.0], [2.0]], [[0], [1]], r"y must have one dimension, got shape \(2, 1\)"),
        ([[1.0], [2.0]], [0.0, np.nan], r"y\[1\] is nan"),
        ([["a"], ["b"]], [0, 1], "X must hold numbers"),
        ([[2**60], [1]], [0, 1], r"past 2\*\*53"),
    ],
)
def test_bad_examples(X, y, message):
    with pytest.raises(ValueError, match=message):
        separability(X, y)


def test_bad_parameters():
    with pytest.raises(ValueError, match="time_limit"):
        separability([[1.0]], [1], time_limit=-1.0)
    with pytest.raises(ValueError, match=r"A\[1, 1\] is nan"):
        solve_cone(BAD)
    with pytest.raises(ValueError, match="C must be a positive number"):
        soft_margin([[1.0], [2.0]], [0, 1], C=0.0)
    with pytest.raises(ValueError, match="delta"):
        add_slack([[1.0]], delta=0.0)
    with pytest.raises(ValueError, match="passes"):
        hinge_bound([[1.0], [2.0]], [0, 1], passes=0)


def test_huge_finite_values_are_not_called_infinite():
    X = np.array([[1e308, 1e308], [-1e308, -1e308]])
    proof = separability(X, [1, 0])
    assert proof.verify(X, [1, 0])
