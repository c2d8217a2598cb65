"""SIMD operations for compiled loops: eight bytes as a word, 32 or 64 bytes compared into a mask.

Numba exposes no vectors, but LLVM has them on every processor; these intrinsics emit the few operations that scanners
need. Bit ``k`` of a mask is about byte ``p + k``. A loop may use them only where :data:`WINDOW` bytes can be read.
"""

import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic

MASK = 32  # bytes covered by a mask
WIDE = 64  # bytes covered by a wide mask
WINDOW = 80 if sys.byteorder == "little" else 1 << 62  # big-endian loops read bytes one by one

BYTE, BIT = ir.IntType(8), ir.IntType(1)
WORD = ir.IntType(64)
POINTER = BYTE.as_pointer()
BYTES = ir.VectorType(BYTE, MASK)
WIDE_BYTES = ir.VectorType(BYTE, WIDE)


def _splat(byte: int) -> Any:
    return ir.Constant(BYTES, [byte] * MASK)


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [context.cast(builder, arguments[1], signature.args[1], types.intp)])


def _load(context: Any, builder: Any, signature: Any, arguments: Any, llvm_type: Any) -> Any:
    address = builder.bitcast(_address(context, builder, signature, arguments), llvm_type.as_pointer())
    return builder.load(address, align=1)


def _as_mask(builder: Any, bits: Any) -> Any:
    return builder.zext(builder.bitcast(bits, ir.IntType(MASK)), WORD)


@intrinsic
def word(typing: Any, text: Any, p: Any) -> Any:
    """Return the eight bytes from ``p`` on as an integer, the first byte lowest."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(context, builder, signature, arguments, WORD)

    return types.uint64(text, p), emit


@intrinsic
def not_digits(typing: Any, text: Any, p: Any) -> Any:
    """Return the mask of the bytes that are not digits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(context, builder, signature, arguments, BYTES)
        return _as_mask(builder, builder.icmp_unsigned(">", builder.sub(loaded, _splat(48)), _splat(9)))

    return types.uint64(text, p), emit


@intrinsic
def equal_to(typing: Any, text: Any, p: Any, byte: Any) -> Any:
    """Return the mask of the bytes equal to ``byte``, an integer literal."""
    if not isinstance(byte, types.Literal):
        raise RequireLiteralValue("byte")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(context, builder, signature, arguments, BYTES)
        return _as_mask(builder, builder.icmp_unsigned("==", loaded, _splat(byte.literal_value)))

    return types.uint64(text, p, byte), emit


@intrinsic
def any_of(typing: Any, text: Any, p: Any, one: Any, other: Any) -> Any:
    """Return the wide mask of the bytes equal to ``one`` or ``other``."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(context, builder, signature, arguments, WIDE_BYTES)
        unset, zero = ir.Constant(WIDE_BYTES, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
        masks = []
        for argument, kind in zip(arguments[2:], signature.args[2:], strict=True):
            byte = builder.trunc(context.cast(builder, argument, kind, types.uint64), BYTE)
            target = builder.shuffle_vector(builder.insert_element(unset, byte, zero), unset, everywhere)
            masks.append(builder.icmp_unsigned("==", loaded, target))
        return builder.bitcast(builder.or_(*masks), WORD)

    return types.uint64(text, p, one, other), emit


@intrinsic
def first_bit(typing: Any, mask: Any) -> Any:
    """Return the position of the lowest set bit, 64 if there is none."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(BIT, 0))

    return types.uint64(types.uint64), emit


@intrinsic
def bits_in(typing: Any, mask: Any) -> Any:
    """Count the bits that are set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@intrinsic
def leading_zeros(typing: Any, number: Any) -> Any:
    """Count the zero bits above the highest set bit, 64 if there is none."""

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
    """Return the mask of white space, colons and bars: the bytes that end a Vowpal Wabbit name."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load(context, builder, signature, arguments, BYTES)
        ends = builder.icmp_unsigned("<", builder.sub(loaded, _splat(9)), _splat(5))
        for byte in (32, 58, 124):
            ends = builder.or_(ends, builder.icmp_unsigned("==", loaded, _splat(byte)))
        return _as_mask(builder, ends)

    return types.uint64(text, p), emit


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Prefetch one element; it reads nothing and can never fault."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = builder.bitcast(_address(context, builder, signature, arguments), POINTER)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [POINTER, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", (POINTER,), kind)
        builder.call(function, [address, flag(0), flag(3), flag(1)])  # to read, into L1, data
        return context.get_dummy_value()

    return types.void(array, index), emit
