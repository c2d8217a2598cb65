"""A dense row in whole vectors: its products with several rows of weights, and its addition to one.

Left to itself, LLVM ends a row of 100 numbers with a loop of narrower vectors and then a scalar one, and sums up
after each; the decision about an example waits for all three. Here the last vector is masked instead, so that
there is one loop and one summing up, and a row of any width costs what its bytes cost.
"""

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rosenblatt.passes.compiled import FASTMATH

LENGTH, PLACE = ir.IntType(64), ir.IntType(32)
IN_FLIGHT = 4  # so many sums at a time hide the latency of a multiply-add


@intrinsic(prefer_literal=True)
def products(typingctx: Any, values: Any, x: Any, W: Any, w: Any, stride: Any, width: Any, count: Any) -> Any:
    """Return the products of the row at ``x`` with ``count`` rows of weights, ``stride`` apart, and last ``‖x‖²``."""
    rows = count.literal_value
    signature = types.UniTuple(W.dtype, rows + 1)(values, x, W, w, stride, width, count)
    abreast = max(1, IN_FLIGHT // (rows + 1))  # vectors of the row looked at together

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        given, lanes = _kinds(context, builder, values, W)
        row = _pointer(context, builder, values, arguments[0], arguments[1])
        first = _pointer(context, builder, W, arguments[2], arguments[3])
        weights = [builder.gep(first, [builder.mul(arguments[4], LENGTH(k))]) for k in range(rows)]
        sums = [
            [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(abreast)] for _ in range(rows + 1)
        ]

        def look(at: Any, turn: int, mask: Any) -> None:
            part = lanes.widened(given.load(row, at, mask))
            for factor, turns in zip([*weights, None], sums, strict=True):
                other = part if factor is None else lanes.load(factor, at, mask)
                builder.store(lanes.multiply_add(part, other, builder.load(turns[turn])), turns[turn])

        _each_vector(builder, arguments[5], lanes, abreast, look)
        totals = [lanes.total([builder.load(part) for part in turns]) for turns in sums]
        return context.make_tuple(builder, sig.return_type, totals)

    return signature, emit


@intrinsic
def add_scaled(typingctx: Any, values: Any, x: Any, step: Any, V: Any, v: Any, width: Any) -> Any:
    """Add ``step`` times the row at ``x`` to the weights at ``v``, which may be wider numbers; return ``‖x‖²``."""
    signature = V.dtype(values, x, V.dtype, V, v, width)

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        given, kept = _kinds(context, builder, values, V)
        row = _pointer(context, builder, values, arguments[0], arguments[1])
        weights = _pointer(context, builder, V, arguments[3], arguments[4])
        steps = _in_every_lane(builder, arguments[2], given.lanes)
        squares = cgutils.alloca_once_value(builder, kept.zero)

        def look(at: Any, _: int, mask: Any) -> None:
            part = kept.widened(given.load(row, at, mask))
            kept.store(kept.multiply_add(steps, part, kept.load(weights, at, mask)), weights, at, mask)
            builder.store(kept.multiply_add(part, part, builder.load(squares)), squares)

        _each_vector(builder, arguments[5], given, 1, look)
        return kept.total([builder.load(squares)])

    return signature, emit


def lanes_of(number: Any) -> int:
    """Return how many of these numbers a vector register of this machine holds."""
    features = llvm.get_host_cpu_features()
    return (64 if features.get("avx512f") else 32 if features.get("avx") else 16) // _size(number)


class Lanes:
    """What is emitted for vectors of one kind of number."""

    def __init__(self, builder: Any, number: Any, lanes: int) -> None:
        self.builder, self.number, self.lanes = builder, number, lanes
        self.type = ir.VectorType(number, lanes)
        self.zero = ir.Constant(self.type, None)
        self._name = f"v{lanes}f{8 * _size(number)}"
        self._pointer_name = f"p0{self._name}" if "*" in str(self.type.as_pointer()) else "p0"

    def load(self, start: Any, index: Any, mask: Any) -> Any:
        """Read a vector from ``start[index]`` on; lanes beyond the mask read nothing and are zero."""
        at, size = self._at(start, index), _size(self.number)
        if mask is None:
            return self.builder.load(at, align=size)
        return self._call(
            f"masked.load.{self._name}.{self._pointer_name}", self.type, at, PLACE(size), mask, self.zero
        )

    def store(self, vector: Any, start: Any, index: Any, mask: Any) -> None:
        """Write a vector to ``start[index]`` on; lanes beyond the mask write nothing."""
        at, size = self._at(start, index), _size(self.number)
        if mask is None:
            self.builder.store(vector, at, align=size)
        else:
            name = f"masked.store.{self._name}.{self._pointer_name}"
            self._call(name, ir.VoidType(), vector, at, PLACE(size), mask)

    def widened(self, vector: Any) -> Any:
        """Return a vector of as many numbers of this kind."""
        return vector if vector.type == self.type else self.builder.fpext(vector, self.type)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """Return ``a·b + c``, fused where the machine can."""
        return self._call(f"fmuladd.{self._name}", self.type, a, b, c)

    def total(self, vectors: Sequence[Any]) -> Any:
        """Return the sum of all lanes of all vectors, in whatever order is quickest."""
        vector = vectors[0]
        for other in vectors[1:]:
            vector = self.builder.fadd(vector, other)
        start = ir.Constant(self.number, 0.0)
        return self._call(
            f"vector.reduce.fadd.{self._name}", self.number, start, vector, fastmath=tuple(sorted(FASTMATH))
        )

    def first(self, count: Any) -> Any:
        """Return the mask of the first ``count`` lanes."""
        places = ir.Constant(ir.VectorType(LENGTH, self.lanes), [LENGTH(k) for k in range(self.lanes)])
        return self.builder.icmp_unsigned("<", places, _in_every_lane(self.builder, count, self.lanes))

    def _at(self, start: Any, index: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(start, [index]), self.type.as_pointer())

    def _call(self, name: str, result: Any, *arguments: Any, fastmath: tuple[str, ...] = ()) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}")
        return self.builder.call(function, arguments, fastmath=fastmath)


def _each_vector(
    builder: Any, width: Any, lanes: Lanes, abreast: int, look: Callable[[Any, int, Any], None]
) -> None:
    """Emit ``look`` over whole vectors, ``abreast`` at a time and then singly, and over the masked last one."""
    rest = builder.and_(width, LENGTH(lanes.lanes - 1))
    whole = builder.sub(width, rest)
    place = cgutils.alloca_once_value(builder, LENGTH(0))
    for turns in sorted({abreast, 1}, reverse=True):
        test, body, done = (builder.append_basic_block(name) for name in ("vectors", "vector", "vectors_end"))
        builder.branch(test)
        builder.position_at_end(test)
        at = builder.load(place)
        after = builder.add(at, LENGTH(lanes.lanes * turns))
        builder.cbranch(builder.icmp_unsigned("<=", after, whole), body, done)
        builder.position_at_end(body)
        for turn in range(turns):
            look(builder.add(at, LENGTH(turn * lanes.lanes)), turn, None)
        builder.store(after, place)
        builder.branch(test)
        builder.position_at_end(done)
    mask = lanes.first(rest)  # the same for every row: made once
    with builder.if_then(builder.icmp_unsigned("!=", rest, LENGTH(0))):
        look(whole, 0, mask)


def _kinds(context: Any, builder: Any, values: Any, weights: Any) -> tuple[Lanes, Lanes]:
    """Return the vectors of rows and of weights, equally many lanes; weights are never the narrower ones."""
    narrow, wide = (context.get_value_type(array.dtype) for array in (values, weights))
    if _size(narrow) > _size(wide):
        raise TypeError(f"rows of {values.dtype} need weights as wide, got {weights.dtype}")
    return Lanes(builder, narrow, lanes_of(narrow)), Lanes(builder, wide, lanes_of(narrow))


def _in_every_lane(builder: Any, value: Any, lanes: int) -> Any:
    empty = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    one = builder.insert_element(empty, value, PLACE(0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(PLACE, lanes), None))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, start: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [start])


def _size(number: Any) -> int:
    return 4 if number == ir.FloatType() else 8
