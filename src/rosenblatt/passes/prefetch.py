"""Ask for memory before it is needed: a shuffled pass knows which row comes next, the hardware does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from rosenblatt.passes.compiled import compiled
from rosenblatt.passes.rows import ONE, is_dense

EIGHT, SIXTEEN = np.uint64(8), np.uint64(16)  # numbers of 64 and of 32 bits in a cache line
BYTES_AHEAD, MOST_ROWS_AHEAD = 8192, 24
NEAR, NEXT = 3, 2  # into the first cache, or the second


@compiled
def rows_ahead(values: Any, rows: int) -> int:
    """Return how many visits ahead to ask: about eight kilobytes of rows, at least one."""
    row_bytes = values.shape[0] * values.itemsize // max(rows, 1)
    return int(min(1 + BYTES_AHEAD // (row_bytes + 1), MOST_ROWS_AHEAD))


@intrinsic(prefer_literal=True)
def touch(typingctx: Any, array: Any, index: Any, cache: Any) -> Any:
    """Emit a prefetch instruction for one element; it reads nothing and can never fault."""
    signature = types.void(array, index, cache)
    how_close = cache.literal_value

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
        builder.call(function, [address, flag(0), flag(how_close), flag(1)])  # to read; data
        return context.get_dummy_value()

    return signature, emit


def prefetch_row(values: Any, indices: Any, starts: Any, i: Any, width: Any, cache: int) -> None:
    """Ask for the memory of row ``i``, which is ``width`` values long where rows are dense, to be in a cache."""
    raise RuntimeError("prefetch_row runs inside compiled passes only")


@overload(prefetch_row, prefer_literal=True)
def _prefetch_row(
    values: Any, indices: Any, starts: Any, i: Any, width: Any, cache: Any
) -> Callable[..., Any]:
    return _prefetch_dense if is_dense(indices) else _prefetch_sparse


def a_line(values: Any) -> Any:
    """Return how many of these numbers fill a cache line; known when a pass is compiled."""
    raise RuntimeError("a_line runs inside compiled passes only")


@overload(a_line, strict=False, inline="always")
def _a_line(values: Any) -> Callable[..., Any]:
    return (lambda values: SIXTEEN) if values.dtype.bitwidth == 32 else (lambda values: EIGHT)


def _prefetch_dense(values: Any, indices: Any, starts: Any, i: Any, width: Any, cache: Any) -> None:
    line = a_line(values)
    at, stop = i * width, i * width + width
    while at < stop:
        touch(values, at, cache)
        at += line


def _prefetch_sparse(values: Any, indices: Any, starts: Any, i: Any, width: Any, cache: Any) -> None:
    at, stop = starts[i], starts[i + ONE]
    while at < stop:
        touch(values, at, cache)
        at += a_line(values)
    at = starts[i]
    while at < stop:
        touch(indices, at, cache)
        at += a_line(indices)
