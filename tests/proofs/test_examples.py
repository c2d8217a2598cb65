"""Bad input: the error names the argument, the row, the column and what to do."""

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.data.labels import checked_classes
from rosenblatt.learner.learner import Learner
from rosenblatt.proofs import add_slack, hinge_bound, separability, soft_margin, solve_cone
from rosenblatt.rules import Rosenblatt

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


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_integers_beside_floats_of_a_frame_are_not_rounded(library):
    """The rows 2⁵³ + 1 and 2⁵³ differ; as one array of floats they would be one row with two labels."""
    columns = {"a": [2**53 + 1, 2**53], "b": [0.5, 0.5]}
    package = pytest.importorskip(library)
    frame = package.table(columns) if library == "pyarrow" else package.DataFrame(columns)
    rounded = separability([[2.0**53, 0.5], [2.0**53, 0.5]], [0, 1])
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 9007199254740993"):
        separability(frame, [0, 1])
    assert not rounded.verify(frame, [0, 1])
    columns["a"] = [2**60, -(2**60)]  # held by a float
    frame = package.table(columns) if library == "pyarrow" else package.DataFrame(columns)
    assert separability(frame, [0, 1]).verify(frame, [0, 1], expect="separable")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_text_labels_of_a_library_are_not_merged_by_a_nul(library):
    """NumPy drops NUL characters at the end of a string, and polars converts its columns to strings of NumPy."""
    package = pytest.importorskip(library)
    column = package.array if library == "pyarrow" else package.Series
    merged = separability([[0.0], [0.0]], ["a", "a"])
    assert merged.verify([[0.0], [0.0]], column(["a", "a"]))
    assert not merged.verify([[0.0], [0.0]], column(["a", "a\0"]))


def test_labels_in_half_precision_raise_no_warning():
    assert separability([[0.0], [1.0]], np.array([0, 2048], np.float16)).classes == (0, 2048)
    assert checked_classes(np.array([0, 2048], np.float16)) is not None


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


def damaged(format, **changes):
    """Return a sparse matrix of three rows whose arrays point elsewhere than they should."""
    X = sp.eye_array(3, format=format)
    for name, values in changes.items():
        getattr(X, name)[:] = values
    return X


@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    "changes",
    [
        {"indices": [0, 1, -1]},
        {"indices": [0, 1 << 30, 2]},
        {"indptr": [0, 3, 1, 3]},
        {"indptr": [0, 1, 2, 9]},
    ],
)
def test_a_sparse_matrix_that_points_outside_itself_is_refused(format, changes):
    proof, X = separability(np.eye(3), [0, 1, 0]), damaged(format, **changes)
    with pytest.raises(ValueError, match=f"not a valid {format} matrix"):
        separability(X, [0, 1, 0])
    assert not proof.verify(X, [0, 1, 0])
    learner = Learner(Rosenblatt())
    with pytest.raises(ValueError, match="not a valid"):
        learner.learn(X, [0, 1, 0])
    learner.learn(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match="not a valid"):
        learner.scores(X)
