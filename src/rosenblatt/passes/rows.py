"""Rows as passes see them, and the three things a pass does with a row.

A pass is written once, over these functions; numba specialises it on the kind of rows. Weights are
homogeneous, the always-one coordinate first, and flat; their layout follows the rows, so that the inner loop
always runs along memory: class by class under dense rows, feature by feature under sparse ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rosenblatt.passes.compiled import FASTMATH
from rosenblatt.passes.lanes import add_scaled, lanes_in, products, sparse_products

OUT_OF_LINE = {"jit_options": {"fastmath": FASTMATH, "nogil": True}}

# Every index is unsigned: numba tests a signed one for being negative, and a slice counts references.
ONE, TWO, THREE, FOUR, FIVE = (np.uint64(n) for n in (1, 2, 3, 4, 5))
LINE = 64  # bytes of a cache line


class Rows(NamedTuple):
    """Dense rows are their values one after the other; sparse ones also have indices and starts (CSR)."""

    values: NDArray[Any]
    indices: NDArray[Any] | None
    starts: NDArray[np.uint64] | None


def rows_of(X: Any) -> Rows:
    """Wrap a float matrix, dense or CSR, without copying what is already in shape."""
    if isinstance(X, np.ndarray):
        return Rows(np.ascontiguousarray(X).reshape(-1), None, None)
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    return Rows(X.data, X.indices.view(unsigned), X.indptr.astype(np.uint64))


def flat(rows: Rows, weights: NDArray[Any]) -> NDArray[Any]:
    """Lay ``(classes, 1 + features)`` weights out for the rows, copying only when they lie otherwise."""
    return weights.reshape(-1) if rows.indices is None else weights.T.reshape(-1)


def laid_out(rows: Rows, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``(classes, 1 + features)`` weights as suits the rows, copied only where they lie otherwise.

    Under dense rows the first feature's weight begins a cache line, so that no vector load or store straddles two.
    """
    if rows.indices is not None:
        return np.asfortranarray(weights)
    size = weights.itemsize
    if weights.flags.c_contiguous and (weights.__array_interface__["data"][0] + size) % LINE == 0:
        return weights
    room = np.empty(weights.size + 2 * LINE // size, weights.dtype)
    skip = (-room.__array_interface__["data"][0] // size - 1) % (LINE // size)
    aligned = room[skip : skip + weights.size].reshape(weights.shape)
    aligned[:] = weights
    return aligned


def score_row(
    values: Any,
    indices: Any,
    starts: Any,
    i: Any,
    unit: float,
    classes: Any,
    width: Any,
    W: NDArray[Any],
    scores: NDArray[Any],
) -> float:
    """Fill ``scores[c] = W[c]·(unit, xᵢ)`` and return ``‖xᵢ‖² + unit²``.

    ``classes`` and ``width``, how many features there are, are handed over: dividing for them costs as much as a row.
    """
    raise RuntimeError("score_row runs inside compiled passes only")


def add_row(
    values: Any,
    indices: Any,
    starts: Any,
    i: Any,
    unit: float,
    c: int,
    classes: int,
    width: Any,
    step: float,
    V: NDArray[Any],
) -> None:
    """Add ``step·(unit, xᵢ)`` to the weights ``V`` of class ``c``."""
    raise RuntimeError("add_row runs inside compiled passes only")


def add_row_to_both(
    values: Any,
    indices: Any,
    starts: Any,
    i: Any,
    unit: float,
    c: int,
    classes: int,
    width: Any,
    step: float,
    shadow: float,
    W: NDArray[Any],
    A: NDArray[Any],
) -> float:
    """Add ``step·(unit, xᵢ)`` to the weights ``W`` of class ``c``, and ``shadow`` times that to ``A``.

    Return ``‖xᵢ‖² + unit²``.
    """
    raise RuntimeError("add_row_to_both runs inside compiled passes only")


def fold(
    indices: Any, c: int, classes: int, scale: float, shadow: float, W: NDArray[Any], A: NDArray[Any]
) -> None:
    """Make the scale one for class ``c`` (all, when negative): ``A ← A − shadow·W``, then ``W ← scale·W``."""
    raise RuntimeError("fold runs inside compiled passes only")


def scale_rows(indices: Any, c: int, classes: int, scale: float, V: NDArray[Any]) -> None:
    """Multiply the weights of class ``c`` (all, when negative)."""
    raise RuntimeError("scale_rows runs inside compiled passes only")


def owner(indices: Any, at: int, length: int, classes: int) -> int:
    """Return the class whose weight stands at this place of the flat weights."""
    raise RuntimeError("owner runs inside compiled passes only")


def is_dense(indices: Any) -> bool:
    """Return whether rows without these indices are dense; known when a pass is compiled."""
    return indices is None or isinstance(indices, numba.types.NoneType)


@overload(score_row, inline="always")
def _score_row(
    values: Any, indices: Any, starts: Any, i: Any, unit: Any, classes: Any, width: Any, W: Any, scores: Any
) -> Callable[..., Any]:
    return _score_dense if is_dense(indices) else _score_sparse


@overload(add_row, **OUT_OF_LINE)
def _add_row(
    values: Any,
    indices: Any,
    starts: Any,
    i: Any,
    unit: Any,
    c: Any,
    classes: Any,
    width: Any,
    step: Any,
    V: Any,
) -> Callable[..., Any]:
    return _add_dense if is_dense(indices) else _add_sparse


@overload(add_row_to_both, **OUT_OF_LINE)
def _add_row_to_both(
    values: Any, indices: Any, starts: Any, i: Any, unit: Any, c: Any, classes: Any, width: Any, step: Any,
    shadow: Any, W: Any, A: Any,
) -> Callable[..., Any]:  # fmt: skip
    return _add_dense_to_both if is_dense(indices) else _add_sparse_to_both


@overload(fold, **OUT_OF_LINE)
def _fold(indices: Any, c: Any, classes: Any, scale: Any, shadow: Any, W: Any, A: Any) -> Callable[..., Any]:
    return _fold_each


@overload(scale_rows, **OUT_OF_LINE)
def _scale_rows(indices: Any, c: Any, classes: Any, scale: Any, V: Any) -> Callable[..., Any]:
    return _scale_each


@overload(owner, **OUT_OF_LINE)
def _owner(indices: Any, at: Any, length: Any, classes: Any) -> Callable[..., Any]:
    return _owner_dense if is_dense(indices) else _owner_sparse


def _score_dense(
    values: Any, indices: Any, starts: Any, i: Any, unit: Any, classes: Any, width: Any, W: Any, scores: Any
) -> Any:
    row = width + ONE  # weights of one class
    x = i * width  # where the row begins among the values
    c, w, x_sqnorm = np.uint64(0), np.uint64(0), W.dtype.type(0)
    unit = W.dtype.type(unit)
    while c + FOUR < classes:  # five classes share each load of x
        s0, s1, s2, s3, s4, x_sqnorm = products(values, x, W, w + ONE, row, width, 5)
        scores[c] = s0 + unit * W[w]
        scores[c + ONE] = s1 + unit * W[w + row]
        scores[c + TWO] = s2 + unit * W[w + TWO * row]
        scores[c + THREE] = s3 + unit * W[w + THREE * row]
        scores[c + FOUR] = s4 + unit * W[w + FOUR * row]
        c, w = c + FIVE, w + FIVE * row
    while c < classes:
        s0, x_sqnorm = products(values, x, W, w + ONE, row, width, 1)
        scores[c] = s0 + unit * W[w]
        c, w = c + ONE, w + row
    return x_sqnorm + unit * unit


def _add_dense(
    values: Any,
    indices: Any,
    starts: Any,
    i: Any,
    unit: Any,
    c: Any,
    classes: Any,
    width: Any,
    step: Any,
    V: Any,
) -> None:
    x = i * width
    v = np.uint64(c) * (width + ONE)
    move = V.dtype.type(step)
    add_scaled(values, x, move, V, v + ONE, width)
    V[v] += move * unit


def _add_dense_to_both(
    values: Any, indices: Any, starts: Any, i: Any, unit: Any, c: Any, classes: Any, width: Any, step: Any,
    shadow: Any, W: Any, A: Any,
) -> Any:  # fmt: skip
    x = i * width
    v = np.uint64(c) * (width + ONE)
    move = W.dtype.type(step)
    behind = A.dtype.type(shadow * step)
    add_scaled(values, x, move, W, v + ONE, width)
    x_sqnorm = add_scaled(values, x, behind, A, v + ONE, width)  # in the wider numbers
    W[v] += move * unit
    A[v] += behind * unit
    return x_sqnorm + unit * unit


def _add_sparse_to_both(
    values: Any, indices: Any, starts: Any, i: Any, unit: Any, c: Any, classes: Any, width: Any, step: Any,
    shadow: Any, W: Any, A: Any,
) -> Any:  # fmt: skip
    stride, own = np.uint64(classes), np.uint64(c)
    move = W.dtype.type(step)
    behind = A.dtype.type(shadow * step)
    x_sqnorm = A.dtype.type(0)
    for k in range(starts[i], starts[i + ONE]):
        at = (ONE + indices[k]) * stride + own
        W[at] += move * values[k]
        A[at] += behind * values[k]
        x_sqnorm += A.dtype.type(values[k]) * values[k]
    W[own] += move * unit
    A[own] += behind * unit
    return x_sqnorm + unit * unit


def _score_sparse(
    values: Any, indices: Any, starts: Any, i: Any, unit: Any, classes: Any, width: Any, W: Any, scores: Any
) -> Any:
    start, end = starts[i], starts[i + ONE]
    (x_sqnorm,) = products(values, start, W, start, ONE, end - start, 0)
    if classes == ONE:
        s = W.dtype.type(0)
        for k in range(start, end):
            s += values[k] * W[ONE + indices[k]]
        scores[0] = s + unit * W[0]
        return x_sqnorm + unit * unit
    c, lanes = np.uint64(0), lanes_in(W)
    while c + TWO * lanes < classes:
        sparse_products(values, indices, start, end, W, unit, classes, c, scores, 3)
        c += THREE * lanes
    if c + lanes < classes:
        sparse_products(values, indices, start, end, W, unit, classes, c, scores, 2)
    elif c < classes:
        sparse_products(values, indices, start, end, W, unit, classes, c, scores, 1)
    return x_sqnorm + unit * unit


def _add_sparse(
    values: Any,
    indices: Any,
    starts: Any,
    i: Any,
    unit: Any,
    c: Any,
    classes: Any,
    width: Any,
    step: Any,
    V: Any,
) -> None:
    stride, own = np.uint64(classes), np.uint64(c)
    move = V.dtype.type(step)
    for k in range(starts[i], starts[i + ONE]):
        V[(ONE + indices[k]) * stride + own] += move * values[k]
    V[own] += move * unit


def _owner_dense(indices: Any, at: Any, length: Any, classes: Any) -> Any:
    return at // (length // classes)


def _owner_sparse(indices: Any, at: Any, length: Any, classes: Any) -> Any:
    return at % classes


def _fold_each(indices: Any, c: Any, classes: Any, scale: Any, shadow: Any, W: Any, A: Any) -> None:
    for at in range(W.shape[0]):
        if c < 0 or owner(indices, at, W.shape[0], classes) == c:
            A[at] -= shadow * W[at]
            W[at] *= scale


def _scale_each(indices: Any, c: Any, classes: Any, scale: Any, V: Any) -> None:
    for at in range(V.shape[0]):
        if c < 0 or owner(indices, at, V.shape[0], classes) == c:
            V[at] *= scale
