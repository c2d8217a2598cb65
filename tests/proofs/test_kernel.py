"""Separability in a kernel's space, in exact arithmetic."""

import itertools

import numpy as np
import pytest

from rosenblatt.data import read_all
from rosenblatt.proofs import Inseparable, Separable, separability
from rosenblatt.proofs.kernel import exact_gram, kernel_separability

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


def monomials(X, degree):
    """All products of at most ``degree`` coordinates: the space of the kernel but for positive scales."""
    X = np.column_stack([np.ones(len(X)), X])
    chosen = itertools.combinations_with_replacement(range(X.shape[1]), degree)
    return np.column_stack([X[:, list(which)].prod(axis=1) for which in chosen])


def test_xor_needs_the_second_degree():
    X, y = XOR
    assert isinstance(kernel_separability(X, y, degree=1).proof, Inseparable)
    answer = kernel_separability(X, y, degree=2)
    assert isinstance(answer.proof, Separable)
    assert answer.verify(X, y)
    assert "kernel" in str(answer)


def test_circles_need_the_second_degree():
    circles = read_all("sample:circles")
    X = np.rint(100 * circles.X)
    assert not isinstance(separability(X, circles.y), Separable)
    answer = kernel_separability(X, circles.y, degree=2)
    assert isinstance(answer.proof, Separable)
    assert answer.verify(X, circles.y)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_it_agrees_with_the_space_written_out(degree):
    rng = np.random.default_rng(degree)
    for _ in range(40):
        X = rng.integers(-2, 3, size=(int(rng.integers(3, 14)), 2))
        y = rng.integers(0, 2, len(X))
        if len(set(y)) < 2:
            continue
        there = kernel_separability(X, y, degree=degree)
        written_out = separability(monomials(X, degree), y, False)
        assert isinstance(there.proof, Separable) == isinstance(written_out, Separable)
        assert there.verify(X, y)


def test_another_dataset_is_refused():
    X, y = XOR
    answer = kernel_separability(X, y)
    assert not answer.verify(X + np.eye(4, 2, dtype=int), y[::-1] * [1, 0, 1, 1])
    assert not answer.verify(X, 1 - y)


@pytest.mark.parametrize(
    ("X", "degree", "message"),
    [([[0.5]], 2, "integers"), ([[10**6]], 4, "scale X down"), ([[1]], 0, "degree"), ([1, 2], 2, "two-dim")],
)
def test_what_cannot_be_exact_is_refused(X, degree, message):
    with pytest.raises(ValueError, match=message):
        exact_gram(X, degree, 1)
