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

from laplex.engines.state import FLOATS_PER_CACHE_LINE

F = np.float32
LANE = FLOATS_PER_CACHE_LINE
_ONE_LANE = (np.int8(0),)
_TWO_TO_MINUS_24 = F(1.0 / 16777216.0)
# 2^x on [0, 1], relative error 3e-6 (least squares at Chebyshev points)
_C0, _C1, _C2, _C3, _C4 = F(1.00000251), F(0.69300668), F(0.24142734), F(0.05203752), F(0.01352062)

# A call of one of these with arrays costs dozens of pushes to the stack: none stands where a token may skip it.
fast = njit(nogil=True, fastmath=True, error_model="numpy", boundscheck=False, cache=True)


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


@fast
def state_row(index):
    """Where in `row_state` a parameter has its numbers, four parameters to a cache line, 4,096 apart from each other.

    Rows are sorted by frequency: neighbors would share a line for which threads then wait in turn.
    """
    return np.uint64((index & -16384) | ((index & 4095) << 2) | ((index >> 12) & 3))


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


@fast
def _random(state):
    """xorshift64*, 64 random bits."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@fast
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


@fast
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


@fast
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


@fast
def logistic_one(x):
    return F(1.0) / (F(1.0) + np.exp(-min(F(40.0), max(F(-40.0), x))))


@fast
def products(lanes, left, right, out, rows, columns):
    """out[i, k] = left[i] · right[k]; rows a multiple of 4, columns of 2."""
    width = LANE * len(lanes)
    for i in range(0, rows, 4):
        for k in range(0, columns, 2):
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = F(0.0)
            for d in range(width):
                x, y = right[k, d], right[k + 1, d]
                p, q, u, v = left[i, d], left[i + 1, d], left[i + 2, d], left[i + 3, d]
                a0 += x * p
                a1 += x * q
                a2 += x * u
                a3 += x * v
                b0 += y * p
                b1 += y * q
                b2 += y * u
                b3 += y * v
            out[i, k], out[i + 1, k], out[i + 2, k], out[i + 3, k] = a0, a1, a2, a3
            out[i, k + 1], out[i + 1, k + 1], out[i + 2, k + 1], out[i + 3, k + 1] = b0, b1, b2, b3


@fast
def _combine(lanes, weights, rows, out, at, count, first, last, carry):
    """out[at + i] = carry out[at + i] + Σ_k weights[i, k] rows[k], i < count, k from `first` to `last`, by eights."""
    width = LANE * len(lanes)
    for k in range(first, last, 8):
        for i in range(count):
            w0, w1, w2, w3 = weights[i, k], weights[i, k + 1], weights[i, k + 2], weights[i, k + 3]
            w4, w5, w6, w7 = weights[i, k + 4], weights[i, k + 5], weights[i, k + 6], weights[i, k + 7]
            for d in range(width):
                low = w0 * rows[k, d] + w1 * rows[k + 1, d] + w2 * rows[k + 2, d] + w3 * rows[k + 3, d]
                high = w4 * rows[k + 4, d] + w5 * rows[k + 5, d] + w6 * rows[k + 6, d] + w7 * rows[k + 7, d]
                out[at + i, d] = carry * out[at + i, d] + (low + high)
        carry = F(1.0)


@fast
def _step(lanes, theta, row_state, index, gradients, place, rate, inverse_dimensions):
    """Row-wise Adagrad: θ += rate/√acc · gradient, acc first increased by the mean square of the gradient over D."""
    width = LANE * len(lanes)
    square = F(0.0)
    for d in range(width):
        square += gradients[place, d] * gradients[place, d]
    total = row_state[state_row(index), ACCUMULATOR] + square * inverse_dimensions
    row_state[state_row(index), ACCUMULATOR] = total
    step = rate / np.sqrt(total)
    for d in range(width):
        theta[index, d] += step * gradients[place, d]


@fast
def _takes_prior(chance, state):
    """Whether this visit takes its share of the prior."""
    return chance >= F(1.0) or (chance > F(0.0) and uniform(state) < chance)


@fast
def _apply_prior(lanes, theta, row_state, edges, index, rate):
    """A visit's share of the prior, as proximal steps: exact minimizers, stable for every strength.

    The ridge shrinks the row, x ← x / (1 + η r). An edge of share s moves both ends to the minimizer of
    ½‖x − x₀‖²/η_x + ½‖y − y₀‖²/η_y + ½ s‖x ∓ y‖²: with t = x₀ ∓ y₀ and μ = s / (1 + s(η_x + η_y)),
    x = x₀ − μ η_x t and y = y₀ ± μ η_y t. An end that does not move has η_y = 0.
    """
    width = LANE * len(lanes)
    start, other, weights, mutual = edges
    for e in range(start[index], start[index + 1]):
        _prefetch(lanes, theta, other[e])
        _prefetch(_ONE_LANE, row_state, state_row(other[e]))
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


@fast
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


@fast
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


@fast
def _draw(chance, other, members, base, size, state):
    """A word from a noise distribution, by its alias table."""
    bits = _random(state)
    place = np.int64(((bits >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))
    if F(bits & np.uint64(0xFFFFFF)) * _TWO_TO_MINUS_24 < chance[base + place]:
        return place if members is None else np.int64(members[base + place])
    return np.int64(other[base + place])


@fast
def _draw_slots(lanes, tables, table, parameters, words, slots, state):
    """Sample negatives and prefetch their rows, some time before they are needed."""
    slot, theta, row_state = parameters
    base, size = table
    for k in range(len(slots)):
        slots[k] = slot[words + _draw(tables.chance, tables.other, tables.words, base, size, state)]
        _prefetch(lanes, theta, slots[k])
        _prefetch(_ONE_LANE, row_state, state_row(slots[k]))


@fast
def _prefetch_tokens(lanes, theta, row_state, slot, start, kept, first, last):
    """Prefetch the rows of tokens `first` up to `last`."""
    for i in range(first, last):
        index = slot[start + kept[i]]
        _prefetch(lanes, theta, index)
        _prefetch(_ONE_LANE, row_state, state_row(index))


@fast
def _gather(lanes, theta, slots, rows, count):
    """Copy some rows side by side."""
    width = LANE * len(lanes)
    for k in range(count):
        source = slots[k]
        for d in range(width):
            rows[k, d] = theta[source, d]


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
    h = np.zeros((block, width), np.float32)  # window sums
    ring = (2 * block + 2 * window) // block * block
    d_h = np.zeros((ring, width), np.float32)  # gradients with respect to h, of the i-th center in row i % ring
    total = np.zeros(width, np.float32)  # their sum over a window
    negative = np.empty((negatives, width), np.float32)
    d_negative = np.zeros((negatives, width), np.float32)
    slots = np.empty(negatives, np.int64)
    scores = np.zeros((block, negatives), np.float32)
    scores_transposed = scores.T
    flat = scores.reshape(block * negatives)
    bits = np.empty(block * negatives, np.int32)
    gradient = np.empty(width, np.float32)
    positive = np.empty(block, np.float32)
    squares = np.empty(block, np.float32)
    blocks = 0
    for segment in range(first, last):
        left, right, length, words, contexts, table = read_segment(text, tables, segment, window, kept, state)
        if left == right:
            continue
        totals[0] += right - left
        total[:] = F(0.0)
        done = 0  # contexts that have taken their step
        for begin in range(left, right, block):
            size = min(block, right - begin)
            blocks += 1
            watched = blocks & 31 == 1
            _prefetch_tokens(lanes, theta, row_state, slot, words, kept, begin, begin + size)
            _draw_slots(lanes, tables, table, parameters, words, slots, state)
            # forward: window sums, the first one by its terms, the others by what enters and leaves
            for d in range(width):
                h[0, d] = F(0.0)
            for j in range(max(0, begin - window), min(length, begin + window + 1)):
                if j != begin:
                    c = slot[contexts + kept[j]]
                    for d in range(width):
                        h[0, d] += theta[c, d]
            ahead = min(length, begin + block + window)
            _prefetch_tokens(lanes, theta, row_state, slot, contexts, kept, ahead, min(length, ahead + block))
            for b in range(1, size):
                i = begin + b
                old, new = slot[contexts + kept[i - 1]], slot[contexts + kept[i]]
                enter, leave = F(0.0), F(0.0)
                far = near = new
                if i + window < length:
                    enter, far = F(1.0), slot[contexts + kept[i + window]]
                if i - 1 - window >= 0:
                    leave, near = F(1.0), slot[contexts + kept[i - 1 - window]]
                for d in range(width):
                    change = enter * theta[far, d] - leave * theta[near, d]
                    h[b, d] = (h[b - 1, d] + (theta[old, d] - theta[new, d])) + change
            h[size:] = F(0.0)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                f = square = F(0.0)
                for d in range(width):
                    f += theta[v, d] * h[b, d]
                    square += h[b, d] * h[b, d]
                positive[b], squares[b] = f, square * inverse_dimensions
            logistic(positive, bits, size)
            # negatives, for all tokens of the block at once
            _gather(lanes, theta, slots, negative, negatives)
            products(lanes, h, negative, scores, block, negatives)
            logistic(flat, bits, block * negatives)
            if watched:
                totals[2] += size
                totals[1] += _sum_of_logs(positive, 0, size, False)
                totals[1] += weight * _sum_of_logs(flat, 0, size * negatives, True)
            for i in range(size * negatives):
                flat[i] *= -weight
            flat[size * negatives :] = F(0.0)
            # the tokens themselves
            at = (begin - left) % ring
            for b in range(size):
                v = slot[words + kept[begin + b]]
                e = F(1.0) - positive[b]
                row_state[state_row(v), ACCUMULATOR] += e * e * squares[b]
                step = e * rate / np.sqrt(row_state[state_row(v), ACCUMULATOR])
                w0, w1, w2, w3 = scores[b, 0], scores[b, 1], scores[b, 2], scores[b, 3]
                w4, w5, w6, w7 = scores[b, 4], scores[b, 5], scores[b, 6], scores[b, 7]
                for d in range(width):
                    r = theta[v, d]
                    low = w0 * negative[0, d] + w1 * negative[1, d] + w2 * negative[2, d] + w3 * negative[3, d]
                    high = w4 * negative[4, d] + w5 * negative[5, d] + w6 * negative[6, d] + w7 * negative[7, d]
                    d_h[at + b, d] = e * r + (low + high)
                    theta[v, d] = r + step * h[b, d]
                if _takes_prior(row_state[state_row(v), CHANCE], state):  # a call costs more than this check
                    _apply_prior(lanes, theta, row_state, edges, v, rate)
            _combine(lanes, scores, negative, d_h, at, size, 8, negatives, F(1.0))
            _combine(lanes, scores_transposed, h, d_negative, 0, negatives, 0, block, F(0.0))
            for k in range(negatives):
                _step(lanes, theta, row_state, slots[k], d_negative, k, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(slots[k]), NEGATIVE_CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, slots[k], rate)
            # backward: a context row gets the gradients of the tokens in whose window it is, once all are known
            stop = length if begin + size == right else begin + size - window
            for j in range(done, stop):
                if j == 0:
                    for b in range(min(window - left, right - left)):
                        for d in range(width):
                            total[d] += d_h[b, d]
                enter, leave, center = F(0.0), F(0.0), F(0.0)
                own = far = near = 0
                if j + window < right:
                    enter, far = F(1.0), (j - left + window) % ring
                if j - 1 - window >= left:
                    leave, near = F(1.0), (j - left - 1 - window) % ring
                if left <= j < right:
                    center, own = F(1.0), (j - left) % ring
                square = F(0.0)
                for d in range(width):
                    t = total[d] + (enter * d_h[far, d] - leave * d_h[near, d])
                    total[d] = t
                    x = t - center * d_h[own, d]
                    gradient[d] = x
                    square += x * x
                c = slot[contexts + kept[j]]
                row_state[state_row(c), ACCUMULATOR] += square * inverse_dimensions
                step = rate / np.sqrt(row_state[state_row(c), ACCUMULATOR])
                for d in range(width):
                    theta[c, d] += step * gradient[d]
                if center > F(0.0) and _takes_prior(row_state[state_row(c), CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, c, rate)
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
    span = (2 * window + 1 + 7) // 8 * 8
    alpha = np.zeros((longest + span, width), np.float32)
    d_alpha = np.zeros((longest + span, width), np.float32)
    uses = np.zeros(longest, np.float32)  # in how many windows a context is
    negative = np.empty((negatives, width), np.float32)
    d_negative = np.zeros((negatives, width), np.float32)
    slots = np.empty(negatives, np.int64)
    scores = np.empty((longest, negatives), np.float32)
    scores_transposed = scores.T
    flat = scores.reshape(longest * negatives)
    bits = np.empty(max(longest * negatives, span), np.int32)
    positive = np.empty(span, np.float32)
    gradient = np.empty((1, width), np.float32)
    blocks = 0
    for segment in range(first, last):
        left, right, length, words, contexts, table = read_segment(text, tables, segment, window, kept, state)
        if left == right:
            continue
        totals[0] += right - left
        for begin in range(left, right, block):
            size = min(block, right - begin)
            low, high = max(0, begin - window), min(length, begin + size + window)
            count = high - low
            padded = (count + 7) // 8 * 8
            blocks += 1
            watched = blocks & 31 == 1
            _prefetch_tokens(lanes, theta, row_state, slot, words, kept, begin, begin + size)
            _draw_slots(lanes, tables, table, parameters, words, slots, state)
            for n in range(count):
                c = slot[contexts + kept[low + n]]
                uses[n] = F(0.0)
                for d in range(width):
                    alpha[n, d] = theta[c, d]
                    d_alpha[n, d] = F(0.0)
            alpha[count:padded] = F(0.0)
            _prefetch_tokens(
                lanes, theta, row_state, slot, contexts, kept, high, min(length, begin + 2 * block + window)
            )
            # each token with the contexts in its window
            for b in range(size):
                v = slot[words + kept[begin + b]]
                i = begin + b - low
                lo, hi = max(0, i - window), min(count, i + window + 1)
                n = 0
                while lo + n < hi:
                    f0 = f1 = f2 = f3 = F(0.0)
                    m = lo + n
                    for d in range(width):
                        x = theta[v, d]
                        f0 += x * alpha[m, d]
                        f1 += x * alpha[m + 1, d]
                        f2 += x * alpha[m + 2, d]
                        f3 += x * alpha[m + 3, d]
                    positive[n], positive[n + 1], positive[n + 2], positive[n + 3] = f0, f1, f2, f3
                    n += 4
                logistic(positive, bits, hi - lo)
                if watched:
                    totals[1] += _sum_of_logs(positive, 0, i - lo, False)
                    totals[1] += _sum_of_logs(positive, i - lo + 1, hi - lo, False)
                for n in range(hi - lo):
                    positive[n] = F(1.0) - positive[n]
                    uses[lo + n] += F(1.0)
                positive[i - lo] = F(0.0)
                uses[i] -= F(1.0)
                for d in range(width):
                    gradient[0, d] = F(0.0)
                n = 0
                while lo + n < hi:
                    m = lo + n
                    e0, e1, e2, e3 = positive[n], positive[n + 1], positive[n + 2], positive[n + 3]
                    if m + 1 >= hi:
                        e1 = F(0.0)
                    if m + 2 >= hi:
                        e2 = F(0.0)
                    if m + 3 >= hi:
                        e3 = F(0.0)
                    for d in range(width):
                        x = theta[v, d]
                        gradient[0, d] += (e0 * alpha[m, d] + e1 * alpha[m + 1, d]) + (
                            e2 * alpha[m + 2, d] + e3 * alpha[m + 3, d]
                        )
                        d_alpha[m, d] += e0 * x
                        d_alpha[m + 1, d] += e1 * x
                        d_alpha[m + 2, d] += e2 * x
                        d_alpha[m + 3, d] += e3 * x
                    n += 4
                _step(lanes, theta, row_state, v, gradient, 0, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(v), CHANCE], state):  # a call costs more than this check
                    _apply_prior(lanes, theta, row_state, edges, v, rate)
            # negatives, for all contexts of the block at once
            _gather(lanes, theta, slots, negative, negatives)
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
                c = slot[contexts + kept[low + n]]
                _step(lanes, theta, row_state, c, d_alpha, n, rate, inverse_dimensions)
                if 0 <= low + n - begin < size and _takes_prior(row_state[state_row(c), CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, c, rate)
