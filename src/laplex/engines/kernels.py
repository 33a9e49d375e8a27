"""The inner loops of the CPU engine: one pass over a part of the text, with likelihood and prior together.

A block of B consecutive tokens is read at once. In CBOW a window sum is the one before it, less the row that leaves and
plus the row that enters, and the gradients go back the same way, so that the cost of a token does not depend on the
window. N negatives are sampled for a block, each standing for K/N of a token's K, and their scores and gradients are
three small dense products that stay in the cache. Steps are those of row-wise Adagrad; the prior is applied as proximal
steps where a row is read as the token itself, each time its share of the whole (see `_apply_prior`).

Only the tokens of a segment are centers of windows; up to M tokens beyond its ends are contexts, so that no window is
cut.

Rows are padded to W floats, a multiple of 16. W must be known when the loops are compiled, or they run at half the
speed: it is passed as the length of a tuple, `lanes`, W = 16 len(lanes), which is a part of the type.

P parameters (rows after ties), D dimensions, W padded dimensions, M window, B tokens in a block, N negatives of a
block, K negatives of a token.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from laplex.engines.state import FLOATS_PER_CACHE_LINE, spread_row
from laplex.engines.tiles import (
    TILE_COLUMNS,
    adagrad_step,
    copy_row,
    dot_tile,
    dots_and_squares,
    sum_of_five,
    sum_of_two,
    weighted_sums,
    window_step,
)

F = np.float32
LANE = FLOATS_PER_CACHE_LINE
_ONE_LANE = (np.int8(0),)
_TWO_TO_MINUS_24 = F(1.0 / 16777216.0)
# 2^x on [0, 1], relative error 3e-6 (least squares at Chebyshev points)
_C0, _C1, _C2, _C3, _C4 = F(1.00000251), F(0.69300668), F(0.24142734), F(0.05203752), F(0.01352062)

# A call of one of these with arrays costs dozens of pushes to the stack: none stands where a token may skip it.
OPTIONS = {"nogil": True, "fastmath": True, "error_model": "numpy", "boundscheck": False, "cache": True}
fast = njit(**OPTIONS)
# of what allocates nothing: references to arrays are not counted, which takes an atomic instruction each time
inner = njit(_nrt=False, **OPTIONS)


class Parameters(NamedTuple):
    """The vectors and what belongs to each of them."""

    slot: NDArray[np.int32]  # row → parameter: tied rows share one
    theta: NDArray[np.float32]  # (P, W)
    row_state: NDArray[np.float32]  # (P, 4), the next four side by side in memory, at `state_row` of a parameter


ACCUMULATOR = 0  # of Adagrad, the running sum of mean squared gradients
CHANCE = 1  # that a row takes its share of the prior when it is read
RIDGE = 2  # the diagonal's share then
NEGATIVE_CHANCE = 3  # that a row takes its share of the prior when it is sampled as a negative


class EdgeArrays(NamedTuple):
    """The edges of each parameter, as in scipy's CSR, with what one visit gets of each."""

    start: NDArray[np.int64]
    other: NDArray[np.int32]
    weight: NDArray[np.float32]  # negative: towards minus the other
    mutual: NDArray[np.bool_]  # does the other end move, too?


class PassSettings(NamedTuple):
    """The numbers that a pass depends on."""

    window: int  # M
    block: int  # B
    negatives_per_block: int  # N, a multiple of 8
    rate: np.float32
    weight: np.float32  # K/N, of a negative
    inverse_dimensions: np.float32  # 1/D
    seed: int


state_row = inner(spread_row)


@intrinsic
def _prefetch(context, lanes, array, row):
    """Load a row of a 2-d array that will be changed into the cache before it is needed, a line for each of `lanes`."""

    def build(ctx, builder, signature, args):
        values = ctx.make_array(signature.args[1])(ctx, builder, args[1])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        start = builder.mul(builder.extract_value(values.strides, 0), args[2])
        call = builder.module.declare_intrinsic(
            "llvm.prefetch.p0", (), ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        # to be written, so that a line that another core has changed comes once, not again for the writing; and into
        # the second cache, since the first is full
        to_write_soon = [ir.Constant(word, value) for value in (1, 2, 1)]
        data = builder.bitcast(values.data, byte)
        for line in range(lanes.count):
            offset = builder.add(start, ctx.get_constant(types.intp, 64 * line))
            builder.call(call, [builder.gep(data, [offset]), *to_write_soon])
        return ctx.get_dummy_value()

    return types.void(lanes, array, types.intp), build


@inner
def _random(state):
    """xorshift64*, 64 random bits."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@inner
def uniform(state):
    return F(_random(state) >> np.uint64(40)) * _TWO_TO_MINUS_24


@fast
def seeded(seed):
    """A well mixed state from any seed (splitmix64)."""
    state = np.empty(1, np.uint64)
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state[0] = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    return state


@inner
def logistic(scores, bits, count):
    """σ of every score, in place: 1/(1 + 2^(−x·log2 e)). `bits` is an int32 scratch seen as float32 by `scale`."""
    scale = bits.view(np.float32)
    for i in range(count):
        t = min(F(60.0), max(F(-60.0), scores[i] * F(-1.4426950408889634)))
        exponent = np.floor(t)
        x = t - exponent
        bits[i] = np.int32((exponent + F(127.0)) * F(8388608.0))
        scores[i] = _C0 + x * (_C1 + x * (_C2 + x * (_C3 + x * _C4)))
    for i in range(count):
        scores[i] = F(1.0) / (F(1.0) + scores[i] * scale[i])


@inner
def _sum_of_logs(chances, first, last, complement):
    """Σ log p, or Σ log (1 − p), of chances at least 1e-30: one logarithm, which costs the most, for eight of them."""
    total = 0.0
    for start in range(first, last, 8):
        product = 1.0
        for i in range(start, min(start + 8, last)):
            chance = F(1.0) - chances[i] if complement else chances[i]
            product *= np.float64(max(chance, F(1e-30)))
        total += np.log(product)
    return total


@inner
def logistic_one(x):
    return F(1.0) / (F(1.0) + np.exp(-min(F(40.0), max(F(-40.0), x))))


@inner
def products(lanes, left, right, out, rows, columns):
    """out[i, k] = left[i] · right[k]; rows and columns are multiples of 4."""
    for i in range(0, rows, 4):
        for k in range(0, columns, TILE_COLUMNS):
            dot_tile(lanes, left, i, right, k, out, k)


@inner
def _combine(lanes, weights, rows, out, at, count, first, last, carry):
    """out[at + i] = carry out[at + i] + Σ_k weights[i, k] rows[k], i < count, k from `first` to `last`.

    The carry is a number, or one for each i. Rows come in twos: if the count is odd, there is one more, with weights of
    zero.
    """
    _combine_from(lanes, weights, 0, rows, 0, first, last, out, at, count, carry)


@inner
def _combine_from(lanes, weights, row, rows, start, first, last, out, at, count, carry):
    """The same with the weights from a `row` on, and rows[start + k]."""
    for i in range(0, count, 2):
        weighted_sums(lanes, weights, row + i, rows, start, first, last, out, at + i, carry)


@inner
def _step(lanes, theta, row_state, index, gradients, place, rate, inverse_dimensions):
    """Row-wise Adagrad: θ += rate/√acc · gradient, acc first increased by the mean square of the gradient over D."""
    at = state_row(index)
    row_state[at, ACCUMULATOR] = adagrad_step(
        lanes, theta, index, gradients, place, row_state[at, ACCUMULATOR], rate, inverse_dimensions
    )


@inner
def _prefetch_row(lanes, theta, row_state, row):
    """Prefetch a row and its state. A few rows between other work cost less than many at once, which wait in line."""
    _prefetch(lanes, theta, row)
    _prefetch(_ONE_LANE, row_state, state_row(row))


@inner
def _takes_prior(chance, state):
    """Whether this visit takes its share of the prior."""
    return chance >= F(1.0) or (chance > F(0.0) and uniform(state) < chance)


@inner
def _apply_prior(lanes, theta, row_state, edges, index, rate):
    """A visit's share of the prior, as proximal steps: exact minimizers, stable for every strength.

    The ridge shrinks the row, x ← x / (1 + η r). An edge of share s moves both ends to the minimizer of
    ½‖x − x₀‖²/η_x + ½‖y − y₀‖²/η_y + ½ s‖x ∓ y‖²: with t = x₀ ∓ y₀ and μ = s / (1 + s(η_x + η_y)),
    x = x₀ − μ η_x t and y = y₀ ± μ η_y t. An end that does not move has η_y = 0.
    """
    width = LANE * len(lanes)
    start, other, weights, mutual = edges
    for e in range(start[index], start[index + 1]):
        _prefetch_row(lanes, theta, row_state, other[e])
    eta = rate / np.sqrt(row_state[state_row(index), ACCUMULATOR])
    shrink = F(1.0) / (F(1.0) + eta * row_state[state_row(index), RIDGE])
    for d in range(width):
        theta[index, d] *= shrink
    for e in range(start[index], start[index + 1]):
        o = other[e]
        sign = F(1.0) if weights[e] >= F(0.0) else F(-1.0)
        s = weights[e] * sign
        eta_other = rate / np.sqrt(row_state[state_row(o), ACCUMULATOR]) if mutual[e] else F(0.0)
        mu = s / (F(1.0) + s * (eta + eta_other))
        move, move_other = mu * eta, mu * eta_other * sign
        for d in range(width):
            t = theta[index, d] - sign * theta[o, d]
            theta[index, d] -= move * t
            theta[o, d] += move_other * t


@fast
def visit(lanes, parameters, edges, first, last, rate):
    """Apply the prior of rows that no text is about, `first` up to `last`."""
    _, theta, row_state = parameters
    for i in range(first, last):
        _apply_prior(lanes, theta, row_state, edges, i, rate)


@inner
def subsample(ids, begin, end, keep, base, kept, state):
    """Copy the word ids that are kept this time to `kept`, and return their number."""
    count = 0
    for i in range(begin, end):
        word = ids[i]
        chance = keep[base + word]
        if chance >= F(1.0) or uniform(state) < chance:
            kept[count] = word
            count += 1
    return count


@inner
def read_segment(text, tables, segment, window, kept, state):
    """Subsample a segment and up to `window` tokens on both sides of it, which are contexts but no centers.

    Returns where its own tokens begin and end in `kept` (equal if there is nothing to learn), the number of all tokens
    there, the first rows of words and of contexts, and where the alias table of the negatives begins, with its size.
    """
    segments, document = text.segments.offsets, text.segments.document[segment]
    table = tables.table[document]
    table_start, table_end = tables.start[table], tables.start[table + 1]
    left = right = length = 0
    if not text.held_out[document]:
        ids, keep, base = text.ids, text.keep, text.keep_start[document]
        i = segments[segment]
        while i > text.offsets[document] and left < window:
            i -= 1
            left += subsample(ids, i, i + 1, keep, base, kept[left:], state)
        for k in range(left // 2):  # they were read backwards
            kept[k], kept[left - 1 - k] = kept[left - 1 - k], kept[k]
        i = segments[segment + 1]
        length = right = left + subsample(ids, segments[segment], i, keep, base, kept[left:], state)
        while i < text.offsets[document + 1] and length < right + window:
            length += subsample(ids, i, i + 1, keep, base, kept[length:], state)
            i += 1
        if length < 2:
            right = left
    words, contexts = text.word_start[document], text.context_start[document]
    return left, right, length, words, contexts, (table_start, table_end - table_start)


@inner
def _draw(chance, other, base, size, state):
    """A word from a noise distribution, by its alias table."""
    bits = _random(state)
    place = np.int64(((bits >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))
    if F(bits & np.uint64(0xFFFFFF)) * _TWO_TO_MINUS_24 < chance[base + place]:
        return place
    return np.int64(other[base + place])


@inner
def _draw_slot(lanes, tables, table, parameters, words, state):
    """Sample a negative and prefetch its row, some time before it is needed."""
    slot, theta, row_state = parameters
    drawn = slot[words + _draw(tables.chance, tables.other, table[0], table[1], state)]
    _prefetch_row(lanes, theta, row_state, drawn)
    return drawn


@inner
def _draw_slots(lanes, tables, table, parameters, words, slots, state):
    """Sample several negatives."""
    for k in range(len(slots)):
        slots[k] = _draw_slot(lanes, tables, table, parameters, words, state)


@inner
def _find_rows(slot, start, kept, count, rows):
    """The rows of some tokens."""
    for i in range(count):
        rows[i] = slot[start + kept[i]]


@inner
def _clear(lanes, rows, first, last):
    """Set some rows to zero."""
    for k in range(first, last):
        for d in range(LANE * len(lanes)):
            rows[k, d] = F(0.0)


@inner
def _gather(lanes, theta, slots, first, count, rows):
    """Copy some rows side by side."""
    for k in range(count):
        copy_row(lanes, rows, k, None, theta, slots[first + k])


@fast
def cbow(lanes, text, tables, parameters, edges, settings, first, last, kept, totals):
    """Train on segments `first` up to `last`. log p = log σ(ρ_v·h) + Σ_negatives log σ(−ρ_w·h), h = Σ_window α.

    The block is a multiple of 8. `kept` is scratch for the longest segment and 2M tokens more. `totals` is increased by
    the number of tokens read, and by the log likelihood and the number of those in one of 32 blocks.
    """
    width = LANE * len(lanes)
    window, block, negatives, rate, weight, inverse_dimensions, seed = settings
    slot, theta, row_state = parameters
    state = seeded(seed)
    wrong = np.zeros(block, np.float32)  # 1 − σ
    h = np.zeros((block, width), np.float32)  # window sums
    ring = (2 * block + 2 * window) // block * block
    # of the i-th center in row i % ring: first its ρ, from which the gradient with respect to h is made
    d_h = np.zeros((ring, width), np.float32)
    total = np.zeros((1, width), np.float32)  # their sum over a window
    negative = np.zeros((negatives, width), np.float32)
    d_negative = np.zeros((negatives, width), np.float32)
    slots, next_slots = np.empty(negatives, np.int64), np.empty(negatives, np.int64)
    scores = np.zeros((block, negatives), np.float32)
    scores_transposed = scores.T
    flat = scores.reshape(block * negatives)
    bits = np.empty(block * negatives, np.int32)
    positive = np.zeros(block, np.float32)
    squares = np.zeros(block, np.float32)
    word_rows, context_rows = np.empty(len(kept), np.uint32), np.empty(len(kept), np.uint32)
    blocks = 0
    for segment in range(first, last):
        left, right, length, words, contexts, table = read_segment(text, tables, segment, window, kept, state)
        if left == right:
            continue
        totals[0] += right - left
        _find_rows(slot, words, kept, right, word_rows)
        _find_rows(slot, contexts, kept, length, context_rows)
        total[:] = F(0.0)
        done = 0  # contexts that have taken their step
        _draw_slots(lanes, tables, table, parameters, words, next_slots, state)
        for begin in range(left, right, block):
            size = min(block, right - begin)
            blocks += 1
            watched = blocks & 31 == 1
            ahead = begin + block
            for k in range(negatives):
                slots[k] = next_slots[k]
            # forward: window sums, the first one by its terms, the others by what enters and leaves
            _clear(lanes, h, 0, 1)
            for j in range(max(0, begin - window), min(length, begin + window + 1)):
                if j != begin:
                    sum_of_two(lanes, h, 0, None, h, 0, None, theta, context_rows[j])
            for b in range(1, size):
                i = begin + b
                old, new = context_rows[i - 1], context_rows[i]
                enter, leave = F(0.0), F(0.0)
                far = near = new
                if i + window < length:
                    enter, far = F(1.0), context_rows[i + window]
                if i - 1 - window >= 0:
                    leave, near = F(-1.0), context_rows[i - 1 - window]
                # fmt: off
                sum_of_five(lanes, h, b, None, h, b - 1, None, theta, old, F(-1.0), theta, new,
                            enter, theta, far, leave, theta, near)
                # fmt: on
            _clear(lanes, h, size, block)
            at = (begin - left) % ring
            for b in range(size):  # what the next block needs is sent for between the work of this one
                copy_row(lanes, d_h, at + b, None, theta, word_rows[begin + b])
                if ahead + b < right:
                    _prefetch_row(lanes, theta, row_state, word_rows[ahead + b])
            for b in range(0, size, 4):
                dots_and_squares(lanes, d_h, at + b, h, b, positive, squares)
            logistic(positive, bits, block)
            # negatives, for all tokens of the block at once
            _gather(lanes, theta, slots, 0, negatives, negative)
            products(lanes, h, negative, scores, block, negatives)
            logistic(flat, bits, block * negatives)
            if watched:
                totals[2] += size
                totals[1] += _sum_of_logs(positive, 0, size, False)
                totals[1] += weight * _sum_of_logs(flat, 0, size * negatives, True)
            for i in range(size * negatives):
                flat[i] *= -weight
            for i in range(size * negatives, block * negatives):
                flat[i] = F(0.0)
            # the tokens themselves
            for b in range(size):
                v = word_rows[begin + b]
                if ahead + window + b < length:
                    _prefetch_row(lanes, theta, row_state, context_rows[ahead + window + b])
                e = wrong[b] = F(1.0) - positive[b]
                accumulated = row_state[state_row(v), ACCUMULATOR] + e * e * squares[b] * inverse_dimensions
                row_state[state_row(v), ACCUMULATOR] = accumulated
                sum_of_two(lanes, theta, v, None, theta, v, e * rate / np.sqrt(accumulated), h, b)
                if _takes_prior(row_state[state_row(v), CHANCE], state):  # a call costs more than this check
                    _apply_prior(lanes, theta, row_state, edges, v, rate)
            _combine(lanes, scores, negative, d_h, at, size, 0, negatives, wrong)
            _combine(lanes, scores_transposed, h, d_negative, 0, negatives, 0, block, F(0.0))
            for k in range(negatives):
                if ahead < right:
                    next_slots[k] = _draw_slot(lanes, tables, table, parameters, words, state)
                _step(lanes, theta, row_state, slots[k], d_negative, k, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(slots[k]), NEGATIVE_CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, slots[k], rate)
            # backward: a context row gets the gradients of the tokens in whose window it is, once all are known
            stop = length if begin + size == right else begin + size - window
            own = (done - left) % ring
            for j in range(done, stop):
                if j == 0:
                    for b in range(min(window - left, right - left)):
                        sum_of_two(lanes, total, 0, None, total, 0, None, d_h, b)
                enter, leave, center = F(0.0), F(0.0), F(0.0)
                far = near = 0
                if j + window < right:
                    enter, far = F(1.0), own + window - (ring if own + window >= ring else 0)
                if j - 1 - window >= left:
                    leave, near = F(-1.0), own - 1 - window + (ring if own < 1 + window else 0)
                if left <= j < right:
                    center = F(-1.0)
                c = context_rows[j]
                accumulated = row_state[state_row(c), ACCUMULATOR]
                # fmt: off
                row_state[state_row(c), ACCUMULATOR] = window_step(
                    lanes, theta, c, total, d_h, enter, far, leave, near, center, own,
                    accumulated, rate, inverse_dimensions,
                )
                # fmt: on
                if center < F(0.0) and _takes_prior(row_state[state_row(c), CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, c, rate)
                own = own + 1 if own + 1 < ring else 0
            done = max(done, stop)


@fast
def sgns(lanes, text, tables, parameters, edges, settings, first, last, kept, totals):
    """Train on segments `first` up to `last`. log p = log σ(ρ_v·α_c) + Σ_negatives log σ(−ρ_w·α_c), c in the window.

    The negatives' term of a context is the same for all tokens in whose window it is, so it is computed once for a
    block and weighted by their number. The block and its windows, B + 2M, are a multiple of 8, so that no dense product
    is of padding alone. Arguments as in `cbow`.
    """
    width = LANE * len(lanes)
    window, block, negatives, rate, weight, inverse_dimensions, seed = settings
    slot, theta, row_state = parameters
    state = seeded(seed)
    longest = block + 2 * window
    span = (2 * window + 4 + 3) // 4 * 4  # of the contexts of four tokens
    groups = (block + 3) // 4
    alpha = np.zeros((longest + span, width), np.float32)
    d_alpha = np.zeros((longest + span, width), np.float32)
    rho = np.zeros((4 * groups, width), np.float32)
    d_rho = np.zeros((4 * groups, width), np.float32)
    pairs = np.zeros((4 * groups, span), np.float32)  # of a token and the contexts of its group of four
    pairs_transposed = pairs.T
    flat_pairs = pairs.reshape(4 * groups * span)
    uses = np.zeros(longest, np.float32)  # in how many windows a context is
    negative = np.zeros((negatives, width), np.float32)
    d_negative = np.zeros((negatives, width), np.float32)
    word_rows, context_rows = np.empty(len(kept), np.uint32), np.empty(len(kept), np.uint32)
    slots = np.empty(negatives, np.int64)
    scores = np.zeros((longest, negatives), np.float32)
    scores_transposed = scores.T
    flat = scores.reshape(longest * negatives)
    bits = np.empty(max(longest * negatives, 4 * groups * span), np.int32)
    blocks = 0
    for segment in range(first, last):
        left, right, length, words, contexts, table = read_segment(text, tables, segment, window, kept, state)
        if left == right:
            continue
        totals[0] += right - left
        _find_rows(slot, words, kept, right, word_rows)
        _find_rows(slot, contexts, kept, length, context_rows)
        for begin in range(left, right, block):
            size = min(block, right - begin)
            low, high = max(0, begin - window), min(length, begin + size + window)
            count = high - low
            padded = (count + 7) // 8 * 8
            blocks += 1
            watched = blocks & 31 == 1
            _draw_slots(lanes, tables, table, parameters, words, slots, state)
            for n in range(count):
                within = min(low + n + window, begin + size - 1) - max(low + n - window, begin) + 1
                uses[n] = F(within - (1 if 0 <= low + n - begin < size else 0))
            _gather(lanes, theta, context_rows, low, count, alpha)
            _gather(lanes, theta, word_rows, begin, size, rho)
            _clear(lanes, alpha, count, count + span)
            _clear(lanes, d_alpha, 0, count + span)
            next_end = begin + 2 * block
            # each token with the contexts in its window, four tokens at once
            for b in range(0, size, 4):
                start = max(0, begin + b - low - window)
                for k in range(0, min(count, begin + b - low + 4 + window) - start, TILE_COLUMNS):
                    dot_tile(lanes, rho, b, alpha, start + k, pairs, k)
            logistic(flat_pairs, bits, (size + 3) // 4 * 4 * span)
            for b in range((size + 3) // 4 * 4):
                i = begin + b - low
                start = max(0, begin + b // 4 * 4 - low - window)
                lo, hi = max(0, i - window) - start, min(count, i + window + 1) - start
                if b >= size:
                    lo = hi = 0
                elif watched:
                    totals[1] += _sum_of_logs(flat_pairs, b * span + lo, b * span + i - start, False)
                    totals[1] += _sum_of_logs(flat_pairs, b * span + i - start + 1, b * span + hi, False)
                for k in range(span):
                    is_pair = lo <= k < hi and start + k != i
                    pairs[b, k] = F(1.0) - pairs[b, k] if is_pair else F(0.0)
            for b in range(0, size, 4):
                start = max(0, begin + b - low - window)
                used = min(count, begin + b - low + 4 + window) - start
                _combine_from(lanes, pairs, b, alpha, start, 0, used, d_rho, b, 4, F(0.0))
                _combine_from(lanes, pairs_transposed, 0, rho, 0, b, b + 4, d_alpha, start, used, F(1.0))
            for b in range(size):
                if begin + size + b < right:
                    _prefetch_row(lanes, theta, row_state, word_rows[begin + size + b])
                v = word_rows[begin + b]
                _step(lanes, theta, row_state, v, d_rho, b, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(v), CHANCE], state):  # a call costs more than this check
                    _apply_prior(lanes, theta, row_state, edges, v, rate)
            # negatives, for all contexts of the block at once
            _gather(lanes, theta, slots, 0, negatives, negative)
            products(lanes, alpha, negative, scores, padded, negatives)
            logistic(flat, bits, padded * negatives)
            if watched:
                totals[2] += size
                for n in range(count):
                    logs = _sum_of_logs(flat, n * negatives, (n + 1) * negatives, True)
                    totals[1] += weight * uses[n] * logs
            for n in range(padded):
                u = -weight * uses[n] if n < count else F(0.0)
                for k in range(negatives):
                    scores[n, k] *= u
            _combine(lanes, scores, negative, d_alpha, 0, count, 0, negatives, F(1.0))
            _combine(lanes, scores_transposed, alpha, d_negative, 0, negatives, 0, padded, F(0.0))
            for k in range(negatives):
                _step(lanes, theta, row_state, slots[k], d_negative, k, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(slots[k]), NEGATIVE_CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, slots[k], rate)
            for n in range(count):
                c = context_rows[low + n]
                if n < block and high + n < min(length, next_end + window):
                    _prefetch_row(lanes, theta, row_state, context_rows[high + n])
                _step(lanes, theta, row_state, c, d_alpha, n, rate, inverse_dimensions)
                if 0 <= low + n - begin < size and _takes_prior(row_state[state_row(c), CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, c, rate)
