"""Dense products of a few rows, kept in vector registers: twice as fast as what a compiler makes of plain loops.

A tile of 4 × TILE_COLUMNS scalar products has a register for each of them. At the end the places of all registers are
added up together, by halving. A sum of weighted rows stays in registers while its terms are read, two sums at a time.
Each function is written for the vectors of the machine that it is compiled on.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from laplex.engines.state import FLOATS_PER_CACHE_LINE

Value = Any  # of LLVM
Body = Callable[[Value, list[Value]], list[Value]]


def _registers() -> tuple[int, int]:
    """The floats of a vector of this machine, and the number of its vectors."""
    try:
        features = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know them on every system
        features = {}
    if features.get("avx512f"):
        return 16, 32
    if features.get("avx2"):
        return 8, 16
    return 4, 32 if platform.machine().lower() in ("arm64", "aarch64") else 16


FLOATS, REGISTERS = _registers()
TILE_COLUMNS = 4 if REGISTERS == 32 else 2
PER_LINE = FLOATS_PER_CACHE_LINE // FLOATS
MOST_SUMS = 10 if REGISTERS == 32 else 5  # of a row of sums that is kept in registers, beside another one

_INT, _FLOAT, _BYTE = ir.IntType(64), ir.FloatType(), ir.IntType(8)
_VECTOR = ir.VectorType(_FLOAT, FLOATS)
_FAST = ("fast",)


class _Array:
    """A 2-d array of floats in an intrinsic: addresses of its elements."""

    def __init__(self, context: Any, builder: Any, array_type: Any, value: Value) -> None:
        self.builder = builder
        array = context.make_array(array_type)(context, builder, value)
        self.data = builder.bitcast(array.data, _BYTE.as_pointer())
        self.row_bytes, self.column_bytes = (builder.extract_value(array.strides, axis) for axis in (0, 1))

    def row(self, row: Value) -> Value:
        return self.builder.gep(self.data, [self.builder.mul(row, self.row_bytes)])

    def at(self, row: Value, column: Value) -> Value:
        """The number there."""
        address = self.builder.gep(self.row(row), [self.builder.mul(column, self.column_bytes)])
        return self.builder.load(self.builder.bitcast(address, _FLOAT.as_pointer()))


def _place(builder: Any, row: Value, offset: Value | int, type_: Any = _VECTOR) -> Value:
    """The address of a vector `offset` bytes behind the beginning of a row."""
    offset = _INT(offset) if isinstance(offset, int) else offset
    return builder.bitcast(builder.gep(row, [offset]), type_.as_pointer())


def _load(builder: Any, row: Value, offset: Value | int) -> Value:
    return builder.load(_place(builder, row, offset), align=4)


def _splat(builder: Any, number: Value) -> Value:
    """A vector with the number in all its places."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), FLOATS), [0] * FLOATS))


def _loop(builder: Any, first: Value, last: Value, step: int, values: list[Value], body: Body) -> list[Value]:
    """values = body(i, values) for i from `first` below `last`, which is at least once."""
    before = builder.block
    inside, after = builder.append_basic_block("inside"), builder.append_basic_block("after")
    builder.branch(inside)
    builder.position_at_end(inside)
    i = builder.phi(_INT)
    now = [builder.phi(value.type) for value in values]
    later: list[Value] = body(i, now)
    following = builder.add(i, _INT(step))
    for phi, start, end in zip([i, *now], [first, *values], [following, *later]):
        phi.add_incoming(start, before)
        phi.add_incoming(end, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, last), inside, after)
    builder.position_at_end(after)
    return later


def _sums(builder: Any, vectors: list[Value]) -> list[Value]:
    """The sum of the places of each vector, as vectors of at most FLOATS sums, in order."""
    if len(vectors) > FLOATS:
        return [part for k in range(0, len(vectors), FLOATS) for part in _sums(builder, vectors[k : k + FLOATS])]
    size, parts = FLOATS, 1  # `parts` sums are in a vector, each divided among `size` places
    while size > 1:
        low = [start + place for start in range(0, size * parts, size) for place in range(size // 2)]
        count = size * parts
        if len(vectors) == 1:
            pairs, first, second = [(vectors[0], vectors[0])], low, [place + size // 2 for place in low]
        else:
            pairs = [*zip(vectors[::2], vectors[1::2])]
            first = low + [count + place for place in low]
            second = [place + size // 2 for place in first]
            parts *= 2
        masks = [ir.Constant(ir.VectorType(ir.IntType(32), len(first)), places) for places in (first, second)]
        vectors = [
            builder.fadd(*(builder.shuffle_vector(one, two, mask) for mask in masks), flags=_FAST) for one, two in pairs
        ]
        size //= 2
    return vectors


@intrinsic
def dot_tile(typing_context, lanes, left, i, right, k, out, column):
    """out[i + a, column + b] = left[i + a] · right[k + b] for a < 4 and b < TILE_COLUMNS."""

    def build(context, builder, signature, arguments):
        i, k, column = arguments[2], arguments[4], arguments[6]
        left, right, out = (_Array(context, builder, signature.args[n], arguments[n]) for n in (1, 3, 5))
        rows = [left.row(builder.add(i, _INT(a))) for a in range(4)]
        columns = [right.row(builder.add(k, _INT(b))) for b in range(TILE_COLUMNS)]

        def add(offset: Value, sums: list[Value]) -> list[Value]:
            for n in range(PER_LINE):
                at = builder.add(offset, _INT(4 * FLOATS * n))
                xs = [_load(builder, row, at) for row in rows]
                ys = [_load(builder, column, at) for column in columns]
                products = [builder.fmul(x, y, flags=_FAST) for x in xs for y in ys]
                sums = [builder.fadd(one, two, flags=_FAST) for one, two in zip(sums, products)]
            return sums

        zeros = [ir.Constant(_VECTOR, [0.0] * FLOATS)] * (4 * TILE_COLUMNS)
        sums = _sums(builder, _loop(builder, _INT(0), _INT(64 * lanes.count), 64, zeros, add))
        width = sums[0].type.count
        part = ir.VectorType(_FLOAT, TILE_COLUMNS)
        for a in range(4):
            start = a * TILE_COLUMNS
            mask = ir.Constant(
                ir.VectorType(ir.IntType(32), TILE_COLUMNS), [*range(start % width, start % width + TILE_COLUMNS)]
            )
            source = sums[start // width]
            value = builder.shuffle_vector(source, source, mask)
            address = builder.gep(out.row(builder.add(i, _INT(a))), [builder.mul(column, _INT(4))])
            builder.store(value, builder.bitcast(address, part.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(lanes, left, types.intp, right, types.intp, out, types.intp), build


@intrinsic
def weighted_sums(typing_context, lanes, weights, i, rows, start, first, last, out, place, carry):
    """out[place + a] = carry out[place + a] + Σ_k weights[i + a, k] rows[start + k], a < 2, `first` ≤ k < `last`.

    The carry is a number, or an array of which the places i and i + 1 are taken.
    """

    def build(context, builder, signature, arguments):
        i, start, first, last, place, carry = (arguments[n] for n in (2, 4, 5, 6, 8, 9))
        weights, rows, out = (_Array(context, builder, signature.args[n], arguments[n]) for n in (1, 3, 7))
        vectors = lanes.count * PER_LINE
        chunks = -(-vectors // MOST_SUMS)
        borders = [vectors * chunk // chunks for chunk in range(chunks + 1)]
        carries = [carry, carry]
        if isinstance(signature.args[9], types.Array):
            data = context.make_array(signature.args[9])(context, builder, carry).data
            carries = [builder.load(builder.gep(data, [builder.add(i, _INT(a))])) for a in range(2)]

        for begin, end in zip(borders, borders[1:]):
            offsets = [4 * FLOATS * n for n in range(begin, end)]

            def add(k: Value, sums: list[Value], offsets: list[int] = offsets) -> list[Value]:
                row = rows.row(builder.add(start, k))
                values = [_load(builder, row, offset) for offset in offsets]
                factors = [_splat(builder, weights.at(builder.add(i, _INT(a)), k)) for a in range(2)]
                products = [builder.fmul(factor, value, flags=_FAST) for factor in factors for value in values]
                return [builder.fadd(one, two, flags=_FAST) for one, two in zip(sums, products)]

            zeros = [ir.Constant(_VECTOR, [0.0] * FLOATS)] * (2 * len(offsets))
            sums = _loop(builder, first, last, 1, zeros, add)
            for a in range(2):
                row = out.row(builder.add(place, _INT(a)))
                factor = _splat(builder, carries[a])
                for offset, value in zip(offsets, sums[a * len(offsets) :]):
                    before = builder.fmul(factor, _load(builder, row, offset), flags=_FAST)
                    builder.store(builder.fadd(before, value, flags=_FAST), _place(builder, row, offset), align=4)
        return context.get_dummy_value()

    numbers = [types.intp] * 3
    carry = carry if isinstance(carry, types.Array) else types.float32
    return types.void(lanes, weights, types.intp, rows, *numbers, out, types.intp, carry), build


def _write_sum(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
    """out[place] = Σ_n factor_n array_n[row_n], and Σ out[place]², of arguments lanes, out, place, factor, array, …"""
    lanes, out_type, _, *kinds = signature.args
    out = _Array(context, builder, out_type, arguments[1]).row(arguments[2])
    terms = []
    for n in range(0, len(kinds), 3):
        factor, array, row = arguments[n + 3 : n + 6]
        splat = None if kinds[n] is types.none else _splat(builder, factor)
        terms.append((splat, _Array(context, builder, kinds[n + 1], array).row(row)))

    def add(offset: Value, sums: list[Value]) -> list[Value]:
        for n in range(PER_LINE):
            at = builder.add(offset, _INT(4 * FLOATS * n))
            total = None
            for factor, row in terms:
                term = _load(builder, row, at)
                term = term if factor is None else builder.fmul(factor, term, flags=_FAST)
                total = term if total is None else builder.fadd(total, term, flags=_FAST)
            builder.store(total, _place(builder, out, at), align=4)
            sums = [builder.fadd(sums[0], builder.fmul(total, total, flags=_FAST), flags=_FAST)]
        return sums

    squares = _loop(builder, _INT(0), _INT(64 * lanes.count), 64, [ir.Constant(_VECTOR, [0.0] * FLOATS)], add)
    return builder.extract_element(_sums(builder, squares)[0], ir.IntType(32)(0))


def _signature(lanes: Any, out: Any, *terms: Any) -> Any:
    """Factors are None or float32, arrays as they are, rows integers."""
    kinds = [types.none if kind in (types.none, types.Omitted(None)) else types.float32 for kind in terms[::3]]
    places = [part for factor, array in zip(kinds, terms[1::3]) for part in (factor, array, types.intp)]
    return types.float32(lanes, out, types.intp, *places)


# Each writes a sum of some terms, factor × array[row] where a factor of None is 1, and returns the sum of its squares.
# They take no tuples: an array that goes into one is counted there, by an atomic instruction.
@intrinsic
def copy_row(typing_context, lanes, out, place, factor, array, row):
    """out[place] = factor array[row]"""
    return _signature(lanes, out, factor, array, row), _write_sum


@intrinsic
def sum_of_two(typing_context, lanes, out, place, f1, a1, r1, f2, a2, r2):
    """out[place] = f1 a1[r1] + f2 a2[r2]"""
    return _signature(lanes, out, f1, a1, r1, f2, a2, r2), _write_sum


@intrinsic
def sum_of_five(typing_context, lanes, out, place, f1, a1, r1, f2, a2, r2, f3, a3, r3, f4, a4, r4, f5, a5, r5):
    """out[place] = f1 a1[r1] + f2 a2[r2] + f3 a3[r3] + f4 a4[r4] + f5 a5[r5]"""
    return _signature(lanes, out, f1, a1, r1, f2, a2, r2, f3, a3, r3, f4, a4, r4, f5, a5, r5), _write_sum


@intrinsic
def dots_and_squares(typing_context, lanes, left, place, right, i, dots, squares):
    """dots[i + a] = left[place + a] · right[i + a] and squares[i + a] = ‖right[i + a]‖², a < 4."""

    def build(context, builder, signature, arguments):
        i = arguments[4]
        left, right = (_Array(context, builder, signature.args[n], arguments[n]) for n in (1, 3))
        rows = [[x.row(builder.add(arguments[n], _INT(a))) for x, n in ((left, 2), (right, 4))] for a in range(4)]

        def add(offset: Value, sums: list[Value]) -> list[Value]:
            for n in range(PER_LINE):
                at = builder.add(offset, _INT(4 * FLOATS * n))
                pairs = [(_load(builder, x, at), _load(builder, y, at)) for x, y in rows]
                products = [(x, y) for x, y in pairs] + [(y, y) for _, y in pairs]
                sums = [
                    builder.fadd(one, builder.fmul(x, y, flags=_FAST), flags=_FAST)
                    for one, (x, y) in zip(sums, products)
                ]
            return sums

        zeros = [ir.Constant(_VECTOR, [0.0] * FLOATS)] * 8
        sums = _sums(builder, _loop(builder, _INT(0), _INT(64 * lanes.count), 64, zeros, add))
        width = sums[0].type.count
        for n, start in ((5, 0), (6, 4)):
            data = context.make_array(signature.args[n])(context, builder, arguments[n]).data
            part = sums[start // width]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [start % width + a for a in range(4)])
            address = builder.bitcast(builder.gep(data, [i]), ir.VectorType(_FLOAT, 4).as_pointer())
            builder.store(builder.shuffle_vector(part, part, mask), address, align=4)
        return context.get_dummy_value()

    return types.void(lanes, left, types.intp, right, types.intp, dots, squares), build


def _offsets(lanes: Any) -> list[int]:
    """Where the vectors of a row begin."""
    return [4 * FLOATS * n for n in range(lanes.count * PER_LINE)]


def _adagrad(builder: Any, gradient: list[Value], row: Value, accumulator: Value, rate: Value, inverse: Value) -> Value:
    """row += rate/√acc gradient, which stays in registers; returns acc, the accumulator + inverse ‖gradient‖²."""
    squares = [ir.Constant(_VECTOR, [0.0] * FLOATS)] * 4
    for n, vector in enumerate(gradient):
        squares[n % 4] = builder.fadd(squares[n % 4], builder.fmul(vector, vector, flags=_FAST), flags=_FAST)
    one, two = (builder.fadd(*squares[n : n + 2], flags=_FAST) for n in (0, 2))
    square = builder.extract_element(_sums(builder, [builder.fadd(one, two, flags=_FAST)])[0], ir.IntType(32)(0))
    accumulated = builder.fadd(accumulator, builder.fmul(square, inverse, flags=_FAST), flags=_FAST)
    root = builder.call(builder.module.declare_intrinsic("llvm.sqrt", [_FLOAT]), [accumulated])
    factor = _splat(builder, builder.fdiv(rate, root, flags=_FAST))
    for n, vector in enumerate(gradient):
        value = builder.fadd(
            _load(builder, row, 4 * FLOATS * n), builder.fmul(factor, vector, flags=_FAST), flags=_FAST
        )
        builder.store(value, _place(builder, row, 4 * FLOATS * n), align=4)
    return accumulated


@intrinsic
def adagrad_step(typing_context, lanes, theta, row, gradients, place, accumulator, rate, inverse_dimensions):
    """theta[row] += rate/√acc gradients[place]; returns acc, accumulator + inverse_dimensions ‖gradients[place]‖²."""

    def build(context, builder, signature, arguments):
        row, source = (_Array(context, builder, signature.args[n], arguments[n]).row(arguments[n + 1]) for n in (1, 3))
        gradient = [_load(builder, source, offset) for offset in _offsets(lanes)]
        return _adagrad(builder, gradient, row, *arguments[5:])

    return types.float32(lanes, theta, types.intp, gradients, types.intp, *[types.float32] * 3), build


@intrinsic
def window_step(
    typing_context, lanes, theta, row, total, rows, enter, far, leave, near, center, own, accumulator, rate, inverse
):
    """total[0] += enter rows[far] + leave rows[near], and `adagrad_step` by total[0] + center rows[own]."""

    def build(context, builder, signature, arguments):
        theta, total, rows = (_Array(context, builder, signature.args[n], arguments[n]) for n in (1, 3, 4))
        factors = [_splat(builder, arguments[n]) for n in (5, 7, 9)]
        terms = [rows.row(arguments[n]) for n in (6, 8, 10)]
        sums, gradient = total.row(_INT(0)), []
        for offset in _offsets(lanes):
            products = [builder.fmul(f, _load(builder, row, offset), flags=_FAST) for f, row in zip(factors, terms)]
            value = builder.fadd(_load(builder, sums, offset), products[0], flags=_FAST)
            value = builder.fadd(value, products[1], flags=_FAST)
            builder.store(value, _place(builder, sums, offset), align=4)
            gradient.append(builder.fadd(value, products[2], flags=_FAST))
        return _adagrad(builder, gradient, theta.row(arguments[2]), *arguments[11:])

    number, place = types.float32, types.intp
    kinds = [number, place] * 3
    return types.float32(lanes, theta, place, total, rows, *kinds, number, number, number), build
