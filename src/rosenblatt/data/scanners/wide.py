"""Many bytes at once, as compiled loops see them: eight in a word, thirty-two or sixty-four in a mask.

Numba has no vectors, but LLVM has, on every processor; here are the few operations that scanners need of them.
Bit ``k`` of a mask speaks of byte ``p + k``. A loop may ask only where :data:`WINDOW` bytes can be read.
"""

import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic

MASK = 32  # bytes that a mask speaks of
WIDE = 64  # bytes that a wide mask speaks of
WINDOW = 80 if sys.byteorder == "little" else 1 << 62  # elsewhere bytes are read one by one

BYTE, BIT = ir.IntType(8), ir.IntType(1)
WORD = ir.IntType(64)
BYTES = ir.VectorType(BYTE, MASK)


WIDE_BYTES = ir.VectorType(BYTE, WIDE)


def _splat(byte: int) -> Any:
    return ir.Constant(BYTES, [byte] * MASK)


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [context.cast(builder, arguments[1], signature.args[1], types.intp)])


def _loaded(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    address = builder.bitcast(_address(context, builder, signature, arguments), kind.as_pointer())
    return builder.load(address, align=1)


def _as_mask(builder: Any, found: Any) -> Any:
    return builder.zext(builder.bitcast(found, ir.IntType(MASK)), WORD)


@intrinsic
def word(typing: Any, text: Any, p: Any) -> Any:
    """Return the eight bytes from ``p`` on, the first lowest."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _loaded(context, builder, signature, arguments, WORD)

    return types.uint64(text, p), emit


@intrinsic
def not_digits(typing: Any, text: Any, p: Any) -> Any:
    """Return the mask of the bytes that are no digits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _loaded(context, builder, signature, arguments, BYTES)
        return _as_mask(builder, builder.icmp_unsigned(">", builder.sub(found, _splat(48)), _splat(9)))

    return types.uint64(text, p), emit


@intrinsic
def equal_to(typing: Any, text: Any, p: Any, byte: Any) -> Any:
    """Return the mask of the bytes that are this one, which is written as a number."""
    if not isinstance(byte, types.Literal):
        raise RequireLiteralValue("byte")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _loaded(context, builder, signature, arguments, BYTES)
        return _as_mask(builder, builder.icmp_unsigned("==", found, _splat(byte.literal_value)))

    return types.uint64(text, p, byte), emit


@intrinsic
def any_of(typing: Any, text: Any, p: Any, one: Any, other: Any) -> Any:
    """Return the wide mask of the bytes that are the one or the other."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _loaded(context, builder, signature, arguments, WIDE_BYTES)
        unset, zero = ir.Constant(WIDE_BYTES, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
        masks = []
        for argument, kind in zip(arguments[2:], signature.args[2:], strict=True):
            byte = builder.trunc(context.cast(builder, argument, kind, types.uint64), BYTE)
            wanted = builder.shuffle_vector(builder.insert_element(unset, byte, zero), unset, everywhere)
            masks.append(builder.icmp_unsigned("==", found, wanted))
        return builder.bitcast(builder.or_(*masks), WORD)

    return types.uint64(text, p, one, other), emit


@intrinsic
def first_bit(typing: Any, mask: Any) -> Any:
    """Return the place of the lowest bit, 64 where there is none."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(BIT, 0))

    return types.uint64(types.uint64), emit


@intrinsic
def bits_in(typing: Any, mask: Any) -> Any:
    """Return how many bits are set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@intrinsic
def leading_zeros(typing: Any, number: Any) -> Any:
    """Return how many zero bits stand above the highest bit, 64 where there is none."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(BIT, 0))

    return types.uint64(types.uint64), emit


@intrinsic
def high_product(typing: Any, a: Any, b: Any) -> Any:
    """Return the upper half of the product of two uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), WORD)

    return types.uint64(types.uint64, types.uint64), emit


@intrinsic
def ends_of_names(typing: Any, text: Any, p: Any) -> Any:
    """Return the mask of white space, colons and bars: what a name of Vowpal Wabbit ends before."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _loaded(context, builder, signature, arguments, BYTES)
        ends = builder.icmp_unsigned("<", builder.sub(found, _splat(9)), _splat(5))
        for byte in (32, 58, 124):
            ends = builder.or_(ends, builder.icmp_unsigned("==", found, _splat(byte)))
        return _as_mask(builder, ends)

    return types.uint64(text, p), emit
