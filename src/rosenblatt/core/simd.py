"""Vector code for rows: products of a dense or sparse row with rows of weights, and addition of a dense row to one.

For a row of 100 numbers LLVM would generate a loop of vectors, one of narrower vectors and a scalar one, each with a
reduction at its end; the decision about an example waits for all three. Here the last vector is masked instead, so that
there is one loop with one reduction. For a sparse row and several classes LLVM would keep the scores in memory; here
they stay in registers.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rosenblatt.jit import vector_bytes

INT64, INT32 = ir.IntType(64), ir.IntType(32)
UNROLL = 4  # independent sums that hide the latency of a multiply-add
SPARSE_UNROLL = 2  # for sparse rows, where loading weights takes longer


@intrinsic(prefer_literal=True)
def products(typingctx: Any, values: Any, x: Any, W: Any, w: Any, stride: Any, width: Any, count: Any) -> Any:
    """Return the products of the row at ``x`` with ``count`` rows of weights, ``stride`` apart, and last ``‖x‖²``."""
    rows = count.literal_value
    signature = types.UniTuple(W.dtype, rows + 1)(values, x, W, w, stride, width, count)
    unroll = max(1, UNROLL // (rows + 1))  # vectors of the row in flight

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        row_lanes, lanes = _lanes_of_both(context, builder, values, W)
        row = _pointer(context, builder, values, arguments[0], arguments[1])
        first = _pointer(context, builder, W, arguments[2], arguments[3])
        weights = [builder.gep(first, [builder.mul(arguments[4], INT64(k))]) for k in range(rows)]
        sums = [
            [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(unroll)] for _ in range(rows + 1)
        ]

        def visit(at: Any, turn: int, mask: Any) -> None:
            part = lanes.widened(row_lanes.load(row, at, mask))
            for factor, turns in zip([*weights, None], sums, strict=True):
                other = part if factor is None else lanes.load(factor, at, mask)
                builder.store(lanes.multiply_add(part, other, builder.load(turns[turn])), turns[turn])

        _for_each_vector(builder, arguments[5], lanes, unroll, visit)
        totals = [lanes.total([builder.load(part) for part in turns]) for turns in sums]
        return context.make_tuple(builder, sig.return_type, totals)

    return signature, emit


@intrinsic
def weighted_squares(typingctx: Any, values: Any, x: Any, V: Any, v: Any, width: Any) -> Any:
    """Return ``Σ V[v + k]·x[k]²`` over the row at ``x``."""
    signature = V.dtype(values, x, V, v, width)

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        row_lanes, lanes = _lanes_of_both(context, builder, values, V)
        row = _pointer(context, builder, values, arguments[0], arguments[1])
        factors = _pointer(context, builder, V, arguments[2], arguments[3])
        sums = [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(UNROLL)]

        def visit(at: Any, turn: int, mask: Any) -> None:
            part = lanes.widened(row_lanes.load(row, at, mask))
            square, factor = builder.fmul(part, part), lanes.load(factors, at, mask)
            builder.store(lanes.multiply_add(square, factor, builder.load(sums[turn])), sums[turn])

        _for_each_vector(builder, arguments[4], lanes, UNROLL, visit)
        return lanes.total([builder.load(part) for part in sums])

    return signature, emit


@intrinsic
def sqnorm_growth(typingctx: Any, values: Any, x: Any, step: Any, W: Any, V: Any, w: Any, width: Any) -> Any:
    """Return ``‖W + a‖² − ‖W‖² = Σ a(2W + a)`` for ``a[k] = step·V[w + k]·x[k]``, summed in float64."""
    signature = types.float64(values, x, types.float64, W, V, w, width)

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        numbers = [context.get_value_type(array.dtype) for array in (values, W, V)]
        count = lanes_of(numbers[0])
        row_lanes, weight_lanes, variance_lanes = (Lanes(builder, number, count) for number in numbers)
        lanes = Lanes(builder, ir.DoubleType(), count)
        row = _pointer(context, builder, values, arguments[0], arguments[1])
        weights = _pointer(context, builder, W, arguments[3], arguments[5])
        variances = _pointer(context, builder, V, arguments[4], arguments[5])
        steps = _broadcast(builder, arguments[2], count)
        sums = [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(UNROLL)]

        def visit(at: Any, turn: int, mask: Any) -> None:
            part = lanes.widened(row_lanes.load(row, at, mask))
            weight = lanes.widened(weight_lanes.load(weights, at, mask))
            variance = lanes.widened(variance_lanes.load(variances, at, mask))
            along = builder.fmul(builder.fmul(steps, variance), part)
            factor = builder.fadd(builder.fadd(weight, weight), along)
            builder.store(lanes.multiply_add(along, factor, builder.load(sums[turn])), sums[turn])

        _for_each_vector(builder, arguments[6], lanes, UNROLL, visit)
        return lanes.total([builder.load(part) for part in sums])

    return signature, emit


@intrinsic
def add_scaled(typingctx: Any, values: Any, x: Any, step: Any, V: Any, v: Any, width: Any) -> Any:
    """Add ``step`` times the row at ``x`` to the weights at ``v``, which may be wider numbers; return ``‖x‖²``."""
    signature = V.dtype(values, x, V.dtype, V, v, width)

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        row_lanes, weight_lanes = _lanes_of_both(context, builder, values, V)
        row = _pointer(context, builder, values, arguments[0], arguments[1])
        weights = _pointer(context, builder, V, arguments[3], arguments[4])
        steps = _broadcast(builder, arguments[2], row_lanes.lanes)
        squares = cgutils.alloca_once_value(builder, weight_lanes.zero)

        def visit(at: Any, _: int, mask: Any) -> None:
            part = weight_lanes.widened(row_lanes.load(row, at, mask))
            weight_lanes.store(
                weight_lanes.multiply_add(steps, part, weight_lanes.load(weights, at, mask)),
                weights,
                at,
                mask,
            )
            builder.store(weight_lanes.multiply_add(part, part, builder.load(squares)), squares)

        _for_each_vector(builder, arguments[5], row_lanes, 1, visit)
        return weight_lanes.total([builder.load(squares)])

    return signature, emit


@intrinsic(prefer_literal=True)
def sparse_products(
    typingctx: Any, values: Any, indices: Any, start: Any, end: Any, W: Any, bias_input: Any, classes: Any, c: Any,
    scores: Any, count: Any,
) -> Any:  # fmt: skip
    """Fill in the products of the sparse row from ``start`` to ``end`` with the classes from ``c`` on.

    The weights of all classes for one feature are contiguous, the biases first. As many classes as ``count`` vectors
    hold are filled in, or those that remain, which must be more than ``count − 1`` vectors hold.
    """
    vectors = count.literal_value
    signature = types.void(values, indices, start, end, W, W.dtype, classes, c, scores, count)

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        x, columns = (_pointer(context, builder, sig.args[k], arguments[k], INT64(0)) for k in (0, 1))
        weights, out = (_pointer(context, builder, sig.args[k], arguments[k], arguments[7]) for k in (4, 8))
        lanes = Lanes(builder, context.get_value_type(W.dtype), lanes_of(context.get_value_type(W.dtype)))
        at = [INT64(k * lanes.lanes) for k in range(vectors)]
        masks = [None] * (vectors - 1)
        masks.append(lanes.first(builder.sub(builder.sub(arguments[6], arguments[7]), at[-1])))
        unroll = max(1, SPARSE_UNROLL // vectors)
        sums = [
            [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(unroll)] for _ in range(vectors)
        ]

        def visit(k: Any, turn: int) -> None:
            value = lanes.as_number(builder.load(builder.gep(x, [k])))
            column = builder.load(builder.gep(columns, [k]))
            if column.type != INT64:
                column = builder.zext(column, INT64)
            row = builder.gep(weights, [builder.mul(builder.add(column, INT64(1)), arguments[6])])
            factor = _broadcast(builder, value, lanes.lanes)
            for part, mask, turns in zip(at, masks, sums, strict=True):
                total = lanes.multiply_add(factor, lanes.load(row, part, mask), builder.load(turns[turn]))
                builder.store(total, turns[turn])

        _unrolled_loop(builder, arguments[2], arguments[3], 1, unroll, visit)
        bias_inputs = _broadcast(builder, arguments[5], lanes.lanes)
        for part, mask, turns in zip(at, masks, sums, strict=True):
            total = lanes.added([builder.load(each) for each in turns])
            own = lanes.load(weights, part, mask)
            lanes.store(lanes.multiply_add(bias_inputs, own, total), out, part, mask)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def fused_multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a·b + c``, rounded once."""

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        number = context.get_value_type(types.float64)
        values = [
            context.cast(builder, x, kind, types.float64) for x, kind in zip(arguments, sig.args, strict=True)
        ]
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(number, [number] * 3), "llvm.fma.f64"
        )
        return builder.call(function, values)

    return types.float64(a, b, c), emit


@intrinsic
def lanes_in(typingctx: Any, W: Any) -> Any:
    """Return how many of the numbers in ``W`` a vector holds."""

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return INT64(lanes_of(context.get_value_type(W.dtype)))

    return types.uint64(W), emit


def lanes_of(number: Any) -> int:
    """Return how many of these numbers a vector register holds at the CPU level that code is compiled for."""
    return vector_bytes() // _size(number)


class Lanes:
    """Emits LLVM instructions for vectors of one type of number."""

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
            f"masked.load.{self._name}.{self._pointer_name}", self.type, at, INT32(size), mask, self.zero
        )

    def store(self, vector: Any, start: Any, index: Any, mask: Any) -> None:
        """Write a vector to ``start[index]`` on; lanes beyond the mask write nothing."""
        at, size = self._at(start, index), _size(self.number)
        if mask is None:
            self.builder.store(vector, at, align=size)
        else:
            name = f"masked.store.{self._name}.{self._pointer_name}"
            self._call(name, ir.VoidType(), vector, at, INT32(size), mask)

    def widened(self, vector: Any) -> Any:
        """Return a vector converted to this type of number."""
        return vector if vector.type == self.type else self.builder.fpext(vector, self.type)

    def as_number(self, value: Any) -> Any:
        """Return a scalar converted to this type of number."""
        return value if value.type == self.number else self.builder.fpext(value, self.number)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """Return ``a·b + c``, fused where the CPU supports it."""
        return self._call(f"fmuladd.{self._name}", self.type, a, b, c)

    def total(self, vectors: Sequence[Any]) -> Any:
        """Return the sum of all lanes of all vectors: lane by lane, then one half of the lanes to the other."""
        vector, lanes = self.added(vectors), self.lanes
        while lanes > 1:
            lanes //= 2
            low, high = (
                self._shuffled(vector, [start + lane for lane in range(lanes)]) for start in (0, lanes)
            )
            vector = self.builder.fadd(low, high)
        return self.builder.extract_element(vector, INT32(0))

    def _shuffled(self, vector: Any, lanes: Sequence[int]) -> Any:
        indices = ir.Constant(ir.VectorType(INT32, len(lanes)), [INT32(lane) for lane in lanes])
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), indices)

    def added(self, vectors: Sequence[Any]) -> Any:
        """Return the sum of vectors, lane by lane."""
        vector = vectors[0]
        for other in vectors[1:]:
            vector = self.builder.fadd(vector, other)
        return vector

    def first(self, count: Any) -> Any:
        """Return the mask of the first ``count`` lanes."""
        indices = ir.Constant(ir.VectorType(INT64, self.lanes), [INT64(k) for k in range(self.lanes)])
        return self.builder.icmp_unsigned("<", indices, _broadcast(self.builder, count, self.lanes))

    def _at(self, start: Any, index: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(start, [index]), self.type.as_pointer())

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}")
        return self.builder.call(function, arguments)


def _for_each_vector(
    builder: Any, width: Any, lanes: Lanes, unroll: int, visit: Callable[[Any, int, Any], None]
) -> None:
    """Emit ``visit`` for whole vectors, ``unroll`` at a time and then singly, and for the masked last one."""
    rest = builder.and_(width, INT64(lanes.lanes - 1))
    whole = builder.sub(width, rest)
    _unrolled_loop(builder, INT64(0), whole, lanes.lanes, unroll, lambda at, turn: visit(at, turn, None))
    mask = lanes.first(rest)  # the same for every row: LLVM hoists it
    with builder.if_then(builder.icmp_unsigned("!=", rest, INT64(0))):
        visit(whole, 0, mask)


def _unrolled_loop(
    builder: Any, start: Any, end: Any, stride: int, unroll: int, visit: Callable[[Any, int], None]
) -> None:
    """Emit ``visit`` at every ``stride`` from ``start`` on, ``unroll`` at a time and then singly, up to ``end``."""
    place = cgutils.alloca_once_value(builder, start)
    for turns in sorted({unroll, 1}, reverse=True):
        test, body, done = (builder.append_basic_block(name) for name in ("turns", "turn", "turns_end"))
        builder.branch(test)
        builder.position_at_end(test)
        at = builder.load(place)
        after = builder.add(at, INT64(stride * turns))
        builder.cbranch(builder.icmp_unsigned("<=", after, end), body, done)
        builder.position_at_end(body)
        for turn in range(turns):
            visit(builder.add(at, INT64(turn * stride)), turn)
        builder.store(after, place)
        builder.branch(test)
        builder.position_at_end(done)


def _lanes_of_both(context: Any, builder: Any, values: Any, weights: Any) -> tuple[Lanes, Lanes]:
    """Return vectors of rows and of weights, with the same number of lanes; weights must not be narrower than rows."""
    narrow, wide = (context.get_value_type(array.dtype) for array in (values, weights))
    if _size(narrow) > _size(wide):
        raise TypeError(f"rows of {values.dtype} need weights of at least that width, got {weights.dtype}")
    return Lanes(builder, narrow, lanes_of(narrow)), Lanes(builder, wide, lanes_of(narrow))


def _broadcast(builder: Any, value: Any, lanes: int) -> Any:
    empty = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    one = builder.insert_element(empty, value, INT32(0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(INT32, lanes), None))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, start: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [start])


def _size(number: Any) -> int:
    return 4 if number == ir.FloatType() else 8
