"""Eight floats at a time: the two inner loops of the tree search, written as vector instructions.

Numba turns a loop over eight accumulators into loads and stores of each; these intrinsics emit LLVM's 8-float vectors
instead, which stay in registers: one of AVX, two of NEON or SSE, whatever the machine has.
All arrays are flat float32; dimensions come in multiples of :data:`CHUNK`, the padding being zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic as _intrinsic

CHUNK = 4
LANES = 8
LEAF = 16

_FAST = ("reassoc", "contract", "arcp", "nsz")
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INT = ir.IntType(64)


_build: Any = cgutils


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's decorator, typed loosely: a function is declared on types and called with values."""
    return cast(Callable[..., Any], _intrinsic(function))


class _Emitter:
    """Addresses and arithmetic on 8-lane vectors at one place of a function that is being built."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        self.values = [
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]

    def load(self, pointer: Any, index: Any) -> Any:
        """Eight floats from ``pointer[index]`` on; no alignment is assumed."""
        address = self.builder.bitcast(self.builder.gep(pointer, [index]), _VECTOR.as_pointer())
        return self.builder.load(address, align=4)

    def store(self, vector: Any, pointer: Any, index: int) -> None:
        address = self.builder.bitcast(self.builder.gep(pointer, [_INT(index)]), _VECTOR.as_pointer())
        self.builder.store(vector, address, align=4)

    def splat(self, scalar: Any) -> Any:
        """One float in all lanes."""
        one = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, ir.IntType(32)(0))
        return self.builder.shuffle_vector(
            one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        )

    def splat_at(self, pointer: Any, index: Any) -> Any:
        return self.splat(self.builder.load(self.builder.gep(pointer, [index])))

    def maximum(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def scaled_difference(self, value: Any, scale: Any, shift: Any) -> Any:
        """``value * scale - shift``, fused where the machine can."""
        return self.builder.fsub(self.builder.fmul(value, scale, flags=_FAST), shift, flags=_FAST)

    def add_square(self, total: Any, value: Any) -> Any:
        return self.builder.fadd(total, self.builder.fmul(value, value, flags=_FAST), flags=_FAST)

    def mask(self, vector: Any, limit: Any) -> Any:
        """Bit ``l`` is set where lane ``l`` is at most the limit; int64."""
        bits = self.builder.bitcast(self.builder.fcmp_ordered("<=", vector, limit), ir.IntType(LANES))
        return self.builder.zext(bits, _INT)


@intrinsic
def box_bounds(
    typingctx: Any, boxes: Any, offset: Any, query: Any, scales: Any, chunks: Any, limit: Any, out: Any
) -> Any:
    """Squared distance from a query to eight boxes.

    ``boxes[offset:]`` holds, a dimension, eight lower and eight upper faces. ``query`` is already scaled; a face is
    multiplied by ``scales`` as it is read. ``chunks`` is the number of dimensions over :data:`CHUNK`.
    Fills ``out[:8]`` and returns the bits of the boxes within ``limit``.
    """
    signature = types.int64(boxes, types.int64, query, scales, types.int64, types.float32, out)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit = _Emitter(context, builder, signature, arguments)
        faces, start, q, s, count, bound, result = emit.values
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        sums = [_build.alloca_once_value(builder, zero) for _ in range(2)]
        with _build.for_range(builder, count) as loop:
            for step in range(CHUNK):
                d = builder.add(builder.mul(loop.index, _INT(CHUNK)), _INT(step))
                at = builder.add(start, builder.mul(d, _INT(2 * LANES)))
                scale, center = emit.splat_at(s, d), emit.splat_at(q, d)
                below = emit.scaled_difference(emit.load(faces, at), scale, center)
                upper = emit.load(faces, builder.add(at, _INT(LANES)))
                above = builder.fsub(center, builder.fmul(upper, scale, flags=_FAST), flags=_FAST)
                outside = emit.maximum(emit.maximum(below, above), zero)
                total = sums[step % 2]
                builder.store(emit.add_square(builder.load(total), outside), total)
        distance = builder.fadd(builder.load(sums[0]), builder.load(sums[1]), flags=_FAST)
        emit.store(distance, result, 0)
        return emit.mask(distance, emit.splat(bound))

    return signature, codegen


@intrinsic
def leaf_costs(
    typingctx: Any, tiles: Any, offset: Any, query: Any, scales: Any, chunks: Any, limit: Any, out: Any
) -> Any:
    """Squared distance from a query to the sixteen frames of a leaf.

    ``tiles[offset:]`` holds sixteen values a dimension. Stops, returning no bits, as soon as all sixteen partial sums
    exceed ``limit``. Fills ``out[:16]`` and returns the bits of the frames within the limit.
    """
    signature = types.int64(tiles, types.int64, query, scales, types.int64, types.float32, out)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit = _Emitter(context, builder, signature, arguments)
        values, start, q, s, count, bound, result = emit.values
        limits = emit.splat(bound)
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        halves = [_build.alloca_once_value(builder, zero) for _ in range(2)]
        bits = _build.alloca_once_value(builder, _INT(0))
        with _build.for_range(builder, count) as loop:
            sums = [builder.load(half) for half in halves]
            for step in range(CHUNK):
                d = builder.add(builder.mul(loop.index, _INT(CHUNK)), _INT(step))
                at = builder.add(start, builder.mul(d, _INT(LEAF)))
                scale, center = emit.splat_at(s, d), emit.splat_at(q, d)
                for half in range(2):
                    value = emit.load(values, builder.add(at, _INT(half * LANES)))
                    sums[half] = emit.add_square(sums[half], emit.scaled_difference(value, scale, center))
            for half in range(2):
                builder.store(sums[half], halves[half])
            low, high = (emit.mask(total, limits) for total in sums)
            near = builder.or_(low, builder.shl(high, _INT(LANES)))
            builder.store(near, bits)
            with builder.if_then(builder.icmp_signed("==", near, _INT(0))):
                loop.do_break()
        for half in range(2):
            emit.store(builder.load(halves[half]), result, half * LANES)
        return builder.load(bits)

    return signature, codegen


@intrinsic
def prefetch(typingctx: Any, values: Any, index: Any, lines: Any) -> Any:
    """Ask for ``lines`` cache lines (a literal) of a flat float32 array from ``index`` on, without waiting for them."""
    if not isinstance(lines, types.IntegerLiteral):
        return None
    signature = types.void(values, types.int64, lines)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        function = _build.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        for line in range(signature.args[2].literal_value):
            address = builder.gep(data, [builder.add(arguments[1], _INT(line * LEAF))])
            # Read, keep in all cache levels, data.
            builder.call(function, [builder.bitcast(address, pointer), flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def lowest_lane(typingctx: Any, bits: Any) -> Any:
    """Index of the lowest bit that is set; ``bits`` is not 0."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), codegen
