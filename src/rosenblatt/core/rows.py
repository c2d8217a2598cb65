"""Rows of examples in compiled loops: score a row, add a row to the weights, prefetch a row.

Loops are written once, with these functions; numba specialises them for dense or sparse rows. Weights are a flat array
with the bias as the weight of a constant input, first. Their layout follows the rows, so that the inner loop always
reads contiguous memory: class by class for dense rows, feature by feature for sparse ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from rosenblatt.core.simd import add_scaled, lanes_in, products, sparse_products
from rosenblatt.jit import FASTMATH, compiled, compiled_part, inlined_part

# Options of a part of a compiled loop.
PART: dict[str, Any] = {"jit_options": {"fastmath": FASTMATH, "nogil": True, "_nrt": False}}
# Inlined by LLVM: numba's own inlining (`inline="always"`) compiles every overload alone, for its type, and once more.
INLINED: dict[str, Any] = {"jit_options": PART["jit_options"] | {"forceinline": True}}
# The same for formulas whose bits must not depend on the loop around them.
EXACTLY_INLINED: dict[str, Any] = {"jit_options": INLINED["jit_options"] | {"fastmath": False}}

# Every index is unsigned: numba tests whether a signed index is negative, and a slice would count references.
ONE, TWO, THREE, FOUR, FIVE = (np.uint64(n) for n in (1, 2, 3, 4, 5))
EIGHT, SIXTEEN = np.uint64(8), np.uint64(16)  # numbers of 64 and of 32 bits in a cache line
CACHE_LINE = 64  # bytes
BYTES_AHEAD, MAX_ROWS_AHEAD = 8192, 24
L1, L2 = 3, 2  # which cache a prefetch fills, as LLVM numbers locality


class Rows(NamedTuple):
    """Dense rows as a flat array of values, without indices and starts; sparse rows as CSR arrays."""

    values: NDArray[Any]
    indices: NDArray[Any] | None
    starts: NDArray[np.uint64] | None


class Layout(NamedTuple):
    """The layout of the weights, computed once: the division would cost as much as a row."""

    classes: Any  # rows of weights
    features: Any  # the bias not counted
    bias_input: float  # the constant input of the bias: 1 where a bias is learned, else 0


def rows_of(X: Any) -> Rows:
    """Return a float matrix, dense or CSR, as rows; values and 32-bit indices in the right layout are not copied.

    Loops read indices of 32 bits only: half the memory, and no second version of every loop to compile.
    """
    if isinstance(X, np.ndarray):
        return Rows(as_writable(np.ascontiguousarray(X).reshape(-1)), None, None)
    indices = X.indices.astype(np.uint32) if X.indices.itemsize > 4 else X.indices.view(np.uint32)
    return Rows(as_writable(X.data), as_writable(indices), X.indptr.astype(np.uint64))


def as_writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a view of a read-only one that loops take for writable; no loop writes to rows.

    Numba compiles every loop again for read-only arrays, as pandas, Arrow and memory maps have them.

    >>> X = np.arange(3.0)
    >>> X.setflags(write=False)
    >>> as_writable(X).flags.writeable, np.shares_memory(as_writable(X), X)
    (True, True)
    """
    return array if array.flags.writeable else np.asarray(_Memory(array))


class _Memory:
    """The memory of an array, described as writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array  # numpy holds on to this object, and it to the array
        interface = array.__array_interface__
        self.__array_interface__ = interface | {"data": (interface["data"][0], False)}


def flat(rows: Rows, weights: NDArray[Any]) -> NDArray[Any]:
    """Flatten ``(classes, 1 + features, ...)`` weights in the layout of the rows; only another layout is copied."""
    return weights.reshape(-1) if rows.indices is None else weights.swapaxes(0, 1).reshape(-1)


def laid_out(rows: Rows, weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``(classes, 1 + features, ...)`` weights in the layout of the rows; only another layout is copied.

    For dense rows the weight of the first feature begins a cache line, so that no vector load or store crosses two.
    """
    if rows.indices is not None:
        return feature_by_feature(weights)
    size = weights.itemsize
    if weights.flags.c_contiguous and (weights.__array_interface__["data"][0] + size) % CACHE_LINE == 0:
        return weights
    buffer = np.empty(weights.size + 2 * CACHE_LINE // size, weights.dtype)
    skip = (-buffer.__array_interface__["data"][0] // size - 1) % (CACHE_LINE // size)
    aligned = buffer[skip : skip + weights.size].reshape(weights.shape)
    aligned[:] = weights
    return aligned


def feature_by_feature(weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``(classes, 1 + features, ...)`` numbers in the layout for sparse rows; only another layout is copied.

    The numbers of one weight stay together.
    """
    return np.ascontiguousarray(weights.swapaxes(0, 1)).swapaxes(0, 1)


def is_dense(rows: Any) -> bool:
    """Return whether the numba type of rows is that of dense ones."""
    return isinstance(rows.types[1], types.NoneType)


# Scores


def score_row(rows: Rows, i: Any, layout: Layout, W: NDArray[Any], scores: NDArray[Any]) -> float:
    """Fill ``scores[c] = W[c]·(bias_input, xᵢ)`` and return ``‖xᵢ‖² + bias_input²``."""
    raise RuntimeError("score_row runs inside compiled loops only")


@overload(score_row, **INLINED)
def _score_row(rows: Any, i: Any, layout: Any, W: Any, scores: Any) -> Callable[..., Any]:
    return _score_dense if is_dense(rows) else _score_sparse


def _score_dense(rows: Any, i: Any, layout: Any, W: Any, scores: Any) -> Any:
    values, classes, width = rows.values, layout.classes, layout.features
    row = width + ONE  # weights of one class
    x = i * width  # where the row begins among the values
    c, w, x_sqnorm = np.uint64(0), np.uint64(0), W.dtype.type(0)
    bias_input = W.dtype.type(layout.bias_input)
    while c + FOUR < classes:  # five classes share each load of x
        s0, s1, s2, s3, s4, x_sqnorm = products(values, x, W, w + ONE, row, width, 5)
        scores[c] = s0 + bias_input * W[w]
        scores[c + ONE] = s1 + bias_input * W[w + row]
        scores[c + TWO] = s2 + bias_input * W[w + TWO * row]
        scores[c + THREE] = s3 + bias_input * W[w + THREE * row]
        scores[c + FOUR] = s4 + bias_input * W[w + FOUR * row]
        c, w = c + FIVE, w + FIVE * row
    while c < classes:
        s0, x_sqnorm = products(values, x, W, w + ONE, row, width, 1)
        scores[c] = s0 + bias_input * W[w]
        c, w = c + ONE, w + row
    return x_sqnorm + bias_input * bias_input


def _score_sparse(rows: Any, i: Any, layout: Any, W: Any, scores: Any) -> Any:
    values, indices, starts = rows
    classes, bias_input = layout.classes, layout.bias_input
    start, end = starts[i], starts[i + ONE]
    (x_sqnorm,) = products(values, start, W, start, ONE, end - start, 0)
    if classes == ONE:
        scores[0] = sparse_product(values, indices, start, end, W) + bias_input * W[0]
        return x_sqnorm + bias_input * bias_input
    c, lanes = np.uint64(0), lanes_in(W)
    while c + TWO * lanes < classes:
        sparse_products(values, indices, start, end, W, bias_input, classes, c, scores, 3)
        c += THREE * lanes
    if c + lanes < classes:
        sparse_products(values, indices, start, end, W, bias_input, classes, c, scores, 2)
    elif c < classes:
        sparse_products(values, indices, start, end, W, bias_input, classes, c, scores, 1)
    return x_sqnorm + bias_input * bias_input


@inlined_part
def sparse_product(values: Any, indices: Any, start: Any, end: Any, W: Any) -> Any:
    """Return the product of a sparse row with the weights of one class, the bias first.

    Four sums hide the latency of a multiply-add.
    """
    zero = W.dtype.type(0)
    s0, s1, s2, s3, k = zero, zero, zero, zero, start
    while k + FOUR <= end:
        s0 += values[k] * W[ONE + indices[k]]
        s1 += values[k + ONE] * W[ONE + indices[k + ONE]]
        s2 += values[k + TWO] * W[ONE + indices[k + TWO]]
        s3 += values[k + THREE] * W[ONE + indices[k + THREE]]
        k += FOUR
    while k < end:
        s0 += values[k] * W[ONE + indices[k]]
        k += ONE
    return (s0 + s1) + (s2 + s3)


@compiled
def fill_scores(rows: Rows, features: int, W: Any, first: int, buffer: Any, scores: Any) -> None:
    """Fill ``scores[i, c] = W[c]·(1, x)`` for the rows from ``first`` on, with weights laid out for them.

    ``buffer`` holds the scores of one row.
    """
    layout = Layout(np.uint64(buffer.shape[0]), np.uint64(features), 1.0)
    for i in range(np.uint64(scores.shape[0])):
        score_row(rows, np.uint64(first) + i, layout, W, buffer)
        for c in range(layout.classes):
            scores[i, c] = buffer[c]


# Updates


def add_row(rows: Rows, i: Any, layout: Layout, c: int, step: float, V: NDArray[Any]) -> None:
    """Add ``step·(bias_input, xᵢ)`` to the weights ``V`` of class ``c``."""
    raise RuntimeError("add_row runs inside compiled loops only")


@overload(add_row, **PART)
def _add_row(rows: Any, i: Any, layout: Any, c: Any, step: Any, V: Any) -> Callable[..., Any]:
    return _add_dense if is_dense(rows) else _add_sparse


def _add_dense(rows: Any, i: Any, layout: Any, c: Any, step: Any, V: Any) -> None:
    width = layout.features
    v = np.uint64(c) * (width + ONE)
    step = V.dtype.type(step)
    add_scaled(rows.values, i * width, step, V, v + ONE, width)
    V[v] += step * layout.bias_input


def _add_sparse(rows: Any, i: Any, layout: Any, c: Any, step: Any, V: Any) -> None:
    values, indices, starts = rows
    stride, own = np.uint64(layout.classes), np.uint64(c)
    step = V.dtype.type(step)
    for k in range(starts[i], starts[i + ONE]):
        V[(ONE + indices[k]) * stride + own] += step * values[k]
    V[own] += step * layout.bias_input


def add_to_both(
    rows: Rows,
    i: Any,
    layout: Layout,
    c: int,
    step: float,
    scale_sum: float,
    W: NDArray[Any],
    average_offset: NDArray[Any],
) -> float:
    """Add ``step·(bias_input, xᵢ)`` to the weights of class ``c``, and ``scale_sum`` times that to their offset.

    Return ``‖xᵢ‖² + bias_input²``.
    """
    raise RuntimeError("add_to_both runs inside compiled loops only")


@overload(add_to_both, **PART)
def _add_to_both(
    rows: Any, i: Any, layout: Any, c: Any, step: Any, scale_sum: Any, W: Any, average_offset: Any
) -> Callable[..., Any]:
    return _add_dense_to_both if is_dense(rows) else _add_sparse_to_both


def _add_dense_to_both(
    rows: Any, i: Any, layout: Any, c: Any, step: Any, scale_sum: Any, W: Any, average_offset: Any
) -> Any:
    width, bias_input = layout.features, layout.bias_input
    x = i * width
    v = np.uint64(c) * (width + ONE)
    own_step = W.dtype.type(step)
    offset_step = average_offset.dtype.type(scale_sum * step)
    add_scaled(rows.values, x, own_step, W, v + ONE, width)
    x_sqnorm = add_scaled(rows.values, x, offset_step, average_offset, v + ONE, width)  # in the wider numbers
    W[v] += own_step * bias_input
    average_offset[v] += offset_step * bias_input
    return x_sqnorm + bias_input * bias_input


def _add_sparse_to_both(
    rows: Any, i: Any, layout: Any, c: Any, step: Any, scale_sum: Any, W: Any, average_offset: Any
) -> Any:
    values, indices, starts = rows
    bias_input = layout.bias_input
    stride, own = np.uint64(layout.classes), np.uint64(c)
    own_step = W.dtype.type(step)
    offset_step = average_offset.dtype.type(scale_sum * step)
    x_sqnorm = average_offset.dtype.type(0)
    for k in range(starts[i], starts[i + ONE]):
        at = (ONE + indices[k]) * stride + own
        W[at] += own_step * values[k]
        average_offset[at] += offset_step * values[k]
        x_sqnorm += average_offset.dtype.type(values[k]) * values[k]
    W[own] += own_step * bias_input
    average_offset[own] += offset_step * bias_input
    return x_sqnorm + bias_input * bias_input


# One weight at a time


def weight_index(rows: Rows, start: Any, k: Any, layout: Layout, c: Any) -> Any:
    """Return the index in the flat weights of the weight of class ``c`` for value ``k`` of a row."""
    raise RuntimeError("weight_index runs inside compiled loops only")


@overload(weight_index, strict=False, **INLINED)
def _weight_index(rows: Any, start: Any, k: Any, layout: Any, c: Any) -> Callable[..., Any]:
    if is_dense(rows):
        return lambda rows, start, k, layout, c: c * (layout.features + ONE) + ONE + (k - start)
    return lambda rows, start, k, layout, c: (ONE + np.uint64(rows.indices[k])) * layout.classes + c


def bias_index(rows: Rows, layout: Layout, c: Any) -> Any:
    """Return the index in the flat weights of the bias of class ``c``."""
    raise RuntimeError("bias_index runs inside compiled loops only")


@overload(bias_index, strict=False, **INLINED)
def _bias_index(rows: Any, layout: Any, c: Any) -> Callable[..., Any]:
    if is_dense(rows):
        return lambda rows, layout, c: c * (layout.features + ONE)
    return lambda rows, layout, c: c


def class_extent(rows: Rows, layout: Layout, c: int) -> Any:
    """Return begin, end and stride in the flat weights of class ``c`` (of all classes, when negative)."""
    raise RuntimeError("class_extent runs inside compiled loops only")


@overload(class_extent, strict=False, **INLINED)
def _class_extent(rows: Any, layout: Any, c: Any) -> Callable[..., Any]:
    def dense(rows: Any, layout: Any, c: Any) -> Any:
        row = layout.features + ONE
        first, count = (np.uint64(0), layout.classes) if c < 0 else (np.uint64(c), ONE)
        return first * row, (first + count) * row, ONE

    def sparse(rows: Any, layout: Any, c: Any) -> Any:
        size = layout.classes * (layout.features + ONE)
        return (np.uint64(0), size, ONE) if c < 0 else (np.uint64(c), size, layout.classes)

    return dense if is_dense(rows) else sparse


def extent(rows: Rows, i: Any, layout: Layout) -> Any:
    """Return begin and end of the values of a row."""
    raise RuntimeError("extent runs inside compiled loops only")


@overload(extent, strict=False, **INLINED)
def _extent(rows: Any, i: Any, layout: Any) -> Callable[..., Any]:
    if is_dense(rows):
        return lambda rows, i, layout: (i * layout.features, i * layout.features + layout.features)
    return lambda rows, i, layout: (rows.starts[i], rows.starts[i + ONE])


@compiled_part
def scale_class(rows: Any, layout: Any, c: int, scale: float, V: Any) -> None:
    """Multiply the weights of class ``c`` (of all classes, when negative)."""
    at, stop, stride = class_extent(rows, layout, c)
    while at < stop:
        V[at] *= scale
        at += stride


# Prefetching: in a shuffled epoch the hardware cannot predict the next row


@compiled_part
def prefetch_distance(rows: Any, count: int) -> Any:
    """Return how many visits ahead to prefetch: about eight kilobytes of rows, at least one."""
    row_bytes = rows.values.shape[0] * rows.values.itemsize // max(count, 1)
    return np.uint64(min(1 + BYTES_AHEAD // (row_bytes + 1), MAX_ROWS_AHEAD))


@compiled_part
def prefetch_ahead(rows: Any, labels: Any, order: Any, t: Any, distance: Any, layout: Any) -> None:
    """Prefetch the row that is visited ``distance`` visits after visit ``t``, if there is one."""
    if t + distance >= np.uint64(order.shape[0]):
        return
    i, later = order[t], order[t + distance]
    near = min(distance, FOUR)
    if later != i + distance:  # shuffled: a distant row into L2, a near one into L1
        prefetch(labels, later, L1)  # every step waits for its label
        prefetch_row(rows, later, layout, L2)
        if near < distance:  # long rows would evict the weights from L1
            prefetch_row(rows, order[t + near], layout, L1)
    elif rows.indices is None:  # in order: the hardware prefetches rows, but late across the end of a page
        prefetch(rows.values, (i + near) * layout.features, L2)
    else:
        prefetch_row(rows, i + min(distance, TWO), layout, L1)


@intrinsic(prefer_literal=True)
def prefetch(typingctx: Any, array: Any, index: Any, cache: Any) -> Any:
    """Emit a prefetch instruction for one element; it reads nothing and can never fault."""
    signature = types.void(array, index, cache)
    locality = cache.literal_value

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        array_type, index_type, _ = sig.args
        data = context.make_array(array_type)(context, builder, arguments[0]).data
        where = context.cast(builder, arguments[1], index_type, types.intp)
        address = builder.bitcast(builder.gep(data, [where]), cgutils.voidptr_t)
        flag = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag]),
            "llvm.prefetch.p0i8" if str(cgutils.voidptr_t) == "i8*" else "llvm.prefetch.p0",
        )
        builder.call(function, [address, flag(0), flag(locality), flag(1)])  # to read; data
        return context.get_dummy_value()

    return signature, emit


def prefetch_row(rows: Rows, i: Any, layout: Layout, cache: int) -> None:
    """Prefetch the memory of row ``i`` into a cache."""
    raise RuntimeError("prefetch_row runs inside compiled loops only")


@overload(prefetch_row, prefer_literal=True)
def _prefetch_row(rows: Any, i: Any, layout: Any, cache: Any) -> Callable[..., Any]:
    return _prefetch_dense if is_dense(rows) else _prefetch_sparse


def numbers_per_line(values: Any) -> Any:
    """Return how many of these numbers fill a cache line; evaluated at compile time."""
    raise RuntimeError("numbers_per_line runs inside compiled loops only")


@overload(numbers_per_line, strict=False, **INLINED)
def _numbers_per_line(values: Any) -> Callable[..., Any]:
    return (lambda values: SIXTEEN) if values.dtype.bitwidth == 32 else (lambda values: EIGHT)


def _prefetch_dense(rows: Any, i: Any, layout: Any, cache: Any) -> None:
    line = numbers_per_line(rows.values)
    at = i * layout.features
    stop = at + layout.features
    while at < stop:
        prefetch(rows.values, at, cache)
        at += line


def _prefetch_sparse(rows: Any, i: Any, layout: Any, cache: Any) -> None:
    at, stop = rows.starts[i], rows.starts[i + ONE]
    while at < stop:
        prefetch(rows.values, at, cache)
        at += numbers_per_line(rows.values)
    at = rows.starts[i]
    while at < stop:
        prefetch(rows.indices, at, cache)
        at += numbers_per_line(rows.indices)
