"""The inner loops of variational inference: one pass over some documents, with means and variances.

The text is read in blocks with shared negatives, and the prior is applied, as in `kernels.py`. Every score has a mean
and a variance (see `variational.py`), its expectations E σ(x) and κ = E σ'(x) are sums over Gauss–Hermite points, and

    ∂/∂μ_ρ = ±E σ(∓x) μ_h − κ μ_ρ v_h        ∂/∂μ_h = ±E σ(∓x) μ_ρ − κ v_ρ μ_h
    curvature of ρ  += κ (μ_h² + v_h)         of h  += κ (μ_ρ² + v_ρ)

Means take row-wise Adagrad steps. Curvatures are summed up over a whole pass, from which new variances follow.
With a rate of 0 nothing is changed: the pass only adds up the expected log likelihood.

P parameters, W padded dimensions, B tokens in a block, N negatives of a block, M window.
"""
# mypy: ignore-errors
# (typed by Numba, when it is compiled)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laplex.engines.kernels import (
    CHANCE,
    LANE,
    UNREAD,
    F,
    _combine,
    _draw_slots,
    _prior,
    _step,
    _takes,
    fast,
    logistic,
    products,
    seeded,
    subsample,
)

POINTS = 8  # exact to 4e-4 for a score whose deviation is 2, to 1e-6 for 1
_Z, _SHARE = np.polynomial.hermite_e.hermegauss(POINTS)
_Z, _SHARE = _Z.astype(np.float32), (_SHARE / _SHARE.sum()).astype(np.float32)


class Belief(NamedTuple):
    variance: NDArray[np.float32]  # (P, W)
    curvature: NDArray[np.float32]  # (P, W) summed up over a pass


@fast
def _three(rows, columns):
    """Three arrays of zeros; contiguous ones, which slices of a larger one are not to the compiler."""
    shape = (rows, columns)
    return np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32)


@fast
def _expect(mean, variance, sigma, slope, scratch, bits, count):
    """E σ(x) and E σ'(x) of normal x. `variance` is lost."""
    for i in range(count):
        variance[i] = np.sqrt(max(variance[i], F(0.0)))
        sigma[i] = slope[i] = F(0.0)
    for q in range(POINTS):
        z, share = _Z[q], _SHARE[q]
        for i in range(count):
            scratch[i] = mean[i] + z * variance[i]
        logistic(scratch, bits, count)
        for i in range(count):
            s = scratch[i]
            sigma[i] += share * s
            slope[i] += share * (s - s * s)


@fast
def _log_expected(mean, variance, sign):
    """E log σ(±x) of a normal x."""
    total = 0.0
    for q in range(POINTS):
        x = sign * (mean + _Z[q] * np.sqrt(max(variance, F(0.0))))
        total += _SHARE[q] * (min(x, 0.0) - np.log1p(np.exp(-abs(x))))
    return total


@fast
def _gather(lanes, theta, variance, slots, first, last, mean, own, square):
    """Copy means and variances of some rows side by side, and their E x² or, where asked, μ²."""
    for k in range(first, last):
        source = slots[k]
        for d in range(LANE * len(lanes)):
            m, v = theta[source, d], variance[source, d]
            mean[k, d] = m
            own[k, d] = v
            square[k, d] = m * m


@fast
def _clear(lanes, rows, first, last):
    for k in range(first, last):
        for d in range(LANE * len(lanes)):
            rows[k, d] = F(0.0)


@fast
def _add_square(lanes, own, square, count):
    """From μ² to E x² = μ² + v."""
    for k in range(count):
        for d in range(LANE * len(lanes)):
            square[k, d] += own[k, d]


@fast
def _scores(lanes, tokens, negatives, score, score_v, more, rows, drawn):
    """Means and variances of the scores of tokens (μ, v, μ²) with negatives (μ, v, μ² + v)."""
    h, h_v, h_2 = tokens
    mean, own, both = negatives
    products(lanes, h, mean, score, rows, drawn)
    products(lanes, h_v, both, score_v, rows, drawn)
    products(lanes, h_2, own, more, rows, drawn)
    for b in range(rows):
        for k in range(drawn):
            score_v[b, k] += more[b, k]


@fast
def _learn_negatives(lanes, parameters, edges, belief, slots, tokens, negatives, weights, room, rows, rate, state):
    """Steps and curvatures of the negatives, given what each score adds to the slope and to the curvature."""
    h, h_v, h_2 = tokens
    slope, bend = weights
    gradient, first, second = room
    _, theta, note = parameters
    drawn = len(slots)
    _combine(lanes, slope.T, h, gradient, 0, drawn, 0, rows, F(0.0))
    _combine(lanes, bend.T, h_v, first, 0, drawn, 0, rows, F(0.0))
    _combine(lanes, bend.T, h_2, second, 0, drawn, 0, rows, F(0.0))
    for k in range(drawn):
        for d in range(LANE * len(lanes)):
            gradient[k, d] -= negatives[0][k, d] * first[k, d]
            belief.curvature[slots[k], d] += first[k, d] + second[k, d]
        _step(lanes, theta, note, slots[k], gradient, k, rate)
        if _takes(note[slots[k], UNREAD], state):
            _prior(lanes, theta, note, edges[0], edges[1], edges[2], edges[3], slots[k], rate)


@fast
def _learn_contexts(lanes, parameters, edges, belief, slots, d_alpha, c_alpha, count, begin, end, rate, state):
    """Steps and curvatures of the contexts; those from `begin` up to `end` are the block's own tokens."""
    _, theta, note = parameters
    for n in range(count):
        c = slots[n]
        for d in range(LANE * len(lanes)):
            belief.curvature[c, d] += c_alpha[n, d]
        _step(lanes, theta, note, c, d_alpha, n, rate)
        if begin <= n < end and _takes(note[c, CHANCE], state):
            _prior(lanes, theta, note, edges[0], edges[1], edges[2], edges[3], c, rate)


@fast
def _sums(lanes, slots, alpha, alpha_v, lo, hi, i, times, h, h_v, h_2, b):
    """The sum of the contexts around a token: a row that is there n times has n² of its variance."""
    for d in range(LANE * len(lanes)):
        h[b, d] = h_v[b, d] = F(0.0)
    for n in range(lo, hi):
        times[b, n - lo] = F(0.0)
        if n != i:
            for m in range(lo, hi):
                if m != i and slots[m] == slots[n]:
                    times[b, n - lo] += F(1.0)
            t = times[b, n - lo]
            for d in range(LANE * len(lanes)):
                h[b, d] += alpha[n, d]
                h_v[b, d] += t * alpha_v[n, d]
    for d in range(LANE * len(lanes)):
        h_2[b, d] = h[b, d] * h[b, d]


@fast
def cbow(lanes, text, parameters, edges, belief, settings, first, last, kept, totals):
    """Read documents `first` up to `last`. `kept` is scratch; `totals` gets tokens, log likelihood, tokens judged."""
    width = LANE * len(lanes)
    window, block, drawn = settings.window, settings.block, settings.drawn
    rate, weight, learning = F(settings.rate), F(settings.negatives / settings.drawn), settings.rate > 0.0
    ids, offsets, word_start, context_start, language, held_out, keep, vocabulary_start = text[:8]
    noise, alias, members, table, table_start = text[8:]
    slot, theta, note = parameters
    state = seeded(settings.seed)
    longest = block + 2 * window
    alpha, alpha_v, unused = _three(longest, width)
    d_alpha, c_alpha, unused = _three(longest, width)
    around = np.empty(longest, np.int64)
    h, h_v, h_2 = _three(block, width)
    d_h, e_h, c_h = _three(block, width)
    times = np.zeros((block, 2 * window + 1), np.float32)
    negative, negative_v, negative_2 = _three(drawn, width)
    room = _three(drawn, width)
    slots = np.empty(drawn, np.int64)
    score, score_v, scratch = _three(block, drawn)
    sigma, slope, _ = _three(block, drawn)
    right, right_v, right_x = np.zeros(block, np.float32), np.zeros(block, np.float32), np.zeros(block, np.float32)
    right_s, right_k = np.zeros(block, np.float32), np.zeros(block, np.float32)
    bits = np.empty(block * drawn, np.int32)
    gradient = np.empty((1, width), np.float32)
    for document in range(first, last):
        if held_out[document]:
            continue
        base = vocabulary_start[language[document]]
        draws, choice = table_start[table[document]], table_start[table[document] + 1] - table_start[table[document]]
        length = subsample(ids, offsets[document], offsets[document + 1], keep, base, kept, state)
        if length < 2:
            continue
        totals[0] += length
        words, contexts = word_start[document], context_start[document]
        for begin in range(0, length, block):
            size = min(block, length - begin)
            low, high = max(0, begin - window), min(length, begin + size + window)
            _draw_slots(lanes, noise, alias, members, draws, choice, words, slot, theta, note, drawn, slots, state)
            for n in range(high - low):
                around[n] = slot[contexts + kept[low + n]]
            _gather(lanes, theta, belief.variance, around, 0, high - low, alpha, alpha_v, unused)
            for b in range(size):
                i = begin + b - low
                lo, hi = max(0, i - window), min(high - low, i + window + 1)
                _sums(lanes, around, alpha, alpha_v, lo, hi, i, times, h, h_v, h_2, b)
            _clear(lanes, h, size, block)
            _clear(lanes, h_v, size, block)
            _clear(lanes, h_2, size, block)
            _gather(lanes, theta, belief.variance, slots, 0, drawn, negative, negative_v, negative_2)
            _add_square(lanes, negative_v, negative_2, drawn)
            tokens, negatives = (h, h_v, h_2), (negative, negative_v, negative_2)
            _scores(lanes, tokens, negatives, score, score_v, scratch, block, drawn)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                m = s = F(0.0)
                for d in range(width):
                    r, q = theta[v, d], belief.variance[v, d]
                    m += r * h[b, d]
                    s += (r * r + q) * h_v[b, d] + q * h_2[b, d]
                right[b], right_v[b] = m, s
            if not learning:
                totals[2] += size
                for b in range(size):
                    totals[1] += _log_expected(right[b], right_v[b], 1.0)
                    for k in range(drawn):
                        totals[1] += weight * _log_expected(score[b, k], score_v[b, k], -1.0)
                continue
            _expect(right, right_v, right_s, right_k, right_x, bits, size)
            cells = block * drawn
            _expect(
                score.reshape(cells),
                score_v.reshape(cells),
                sigma.reshape(cells),
                slope.reshape(cells),
                scratch.reshape(cells),
                bits,
                cells,
            )
            for b in range(block):
                share = weight if b < size else F(0.0)
                for k in range(drawn):
                    sigma[b, k] *= -share
                    slope[b, k] *= share
            _combine(lanes, sigma, negative, d_h, 0, size, 0, drawn, F(0.0))
            _combine(lanes, slope, negative_v, e_h, 0, size, 0, drawn, F(0.0))
            _combine(lanes, slope, negative_2, c_h, 0, size, 0, drawn, F(0.0))
            _clear(lanes, d_alpha, 0, high - low)
            _clear(lanes, c_alpha, 0, high - low)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                e, k = F(1.0) - right_s[b], right_k[b]
                for d in range(width):
                    r, q, x, x_v = theta[v, d], belief.variance[v, d], h[b, d], h_v[b, d]
                    gradient[0, d] = e * x - k * r * x_v
                    belief.curvature[v, d] += k * (h_2[b, d] + x_v)
                    d_h[b, d] += e * r - (k * q + e_h[b, d]) * x
                    c_h[b, d] += k * (r * r + q)
                i = begin + b - low
                lo, hi = max(0, i - window), min(high - low, i + window + 1)
                for n in range(lo, hi):
                    t = times[b, n - lo]
                    if t > F(0.0):
                        for d in range(width):
                            d_alpha[n, d] += d_h[b, d]
                            c_alpha[n, d] += t * c_h[b, d]
                _step(lanes, theta, note, v, gradient, 0, rate)
                if _takes(note[v, CHANCE], state):
                    _prior(lanes, theta, note, edges[0], edges[1], edges[2], edges[3], v, rate)
            _learn_negatives(
                lanes, parameters, edges, belief, slots, tokens, negatives, (sigma, slope), room, block, rate, state
            )
            own = begin - low
            _learn_contexts(
                lanes, parameters, edges, belief, around, d_alpha, c_alpha, high - low, own, own + size, rate, state
            )


@fast
def sgns(lanes, text, parameters, edges, belief, settings, first, last, kept, totals):
    """Read documents `first` up to `last`; the negatives' term of a context is computed once for a block."""
    width = LANE * len(lanes)
    window, block, drawn = settings.window, settings.block, settings.drawn
    rate, weight, learning = F(settings.rate), F(settings.negatives / settings.drawn), settings.rate > 0.0
    ids, offsets, word_start, context_start, language, held_out, keep, vocabulary_start = text[:8]
    noise, alias, members, table, table_start = text[8:]
    slot, theta, note = parameters
    state = seeded(settings.seed)
    longest = (block + 2 * window + 7) // 8 * 8
    span = 2 * window + 1
    alpha, alpha_v, alpha_2 = _three(longest, width)
    d_alpha, e_alpha, c_alpha = _three(longest, width)
    around = np.empty(longest, np.int64)
    uses = np.zeros(longest, np.float32)  # in how many windows a context is
    negative, negative_v, negative_2 = _three(drawn, width)
    room = _three(drawn, width)
    slots = np.empty(drawn, np.int64)
    score, score_v, scratch = _three(longest, drawn)
    sigma, slope, _ = _three(longest, drawn)
    right, right_v, right_x = np.zeros(span, np.float32), np.zeros(span, np.float32), np.zeros(span, np.float32)
    right_s, right_k = np.zeros(span, np.float32), np.zeros(span, np.float32)
    bits = np.empty(max(longest * drawn, span), np.int32)
    rho, rho_v, bend = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    gradient = np.empty((1, width), np.float32)
    for document in range(first, last):
        if held_out[document]:
            continue
        base = vocabulary_start[language[document]]
        draws, choice = table_start[table[document]], table_start[table[document] + 1] - table_start[table[document]]
        length = subsample(ids, offsets[document], offsets[document + 1], keep, base, kept, state)
        if length < 2:
            continue
        totals[0] += length
        words, contexts = word_start[document], context_start[document]
        for begin in range(0, length, block):
            size = min(block, length - begin)
            low, high = max(0, begin - window), min(length, begin + size + window)
            count = high - low
            padded = (count + 7) // 8 * 8
            _draw_slots(lanes, noise, alias, members, draws, choice, words, slot, theta, note, drawn, slots, state)
            for n in range(count):
                around[n] = slot[contexts + kept[low + n]]
                uses[n] = F(0.0)
            _gather(lanes, theta, belief.variance, around, 0, count, alpha, alpha_v, alpha_2)
            _clear(lanes, alpha, count, padded)
            _clear(lanes, alpha_v, count, padded)
            _clear(lanes, alpha_2, count, padded)
            _gather(lanes, theta, belief.variance, slots, 0, drawn, negative, negative_v, negative_2)
            _add_square(lanes, negative_v, negative_2, drawn)
            _clear(lanes, d_alpha, 0, count)
            _clear(lanes, c_alpha, 0, count)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                i = begin + b - low
                lo, hi = max(0, i - window), min(count, i + window + 1)
                for d in range(width):
                    rho[d], rho_v[d] = theta[v, d], belief.variance[v, d]
                    gradient[0, d] = bend[d] = F(0.0)
                for n in range(lo, hi):
                    m = s = F(0.0)
                    for d in range(width):
                        m += rho[d] * alpha[n, d]
                        s += (rho[d] * rho[d] + rho_v[d]) * alpha_v[n, d] + rho_v[d] * alpha_2[n, d]
                    right[n - lo], right_v[n - lo] = m, s
                    if n != i:
                        uses[n] += F(1.0)
                        if not learning:
                            totals[1] += _log_expected(m, s, 1.0)
                if not learning:
                    continue
                _expect(right, right_v, right_s, right_k, right_x, bits, hi - lo)
                for n in range(lo, hi):
                    if n != i:
                        e, k = F(1.0) - right_s[n - lo], right_k[n - lo]
                        for d in range(width):
                            r, q, x, x_v = rho[d], rho_v[d], alpha[n, d], alpha_v[n, d]
                            gradient[0, d] += e * x - k * r * x_v
                            bend[d] += k * (alpha_2[n, d] + x_v)
                            d_alpha[n, d] += e * r - k * q * x
                            c_alpha[n, d] += k * (r * r + q)
                for d in range(width):
                    belief.curvature[v, d] += bend[d]
                _step(lanes, theta, note, v, gradient, 0, rate)
                if _takes(note[v, CHANCE], state):
                    _prior(lanes, theta, note, edges[0], edges[1], edges[2], edges[3], v, rate)
            tokens, negatives = (alpha, alpha_v, alpha_2), (negative, negative_v, negative_2)
            _scores(lanes, tokens, negatives, score, score_v, scratch, padded, drawn)
            if not learning:
                totals[2] += size
                for n in range(count):
                    for k in range(drawn):
                        totals[1] += uses[n] * weight * _log_expected(score[n, k], score_v[n, k], -1.0)
                continue
            cells = longest * drawn
            _expect(
                score.reshape(cells),
                score_v.reshape(cells),
                sigma.reshape(cells),
                slope.reshape(cells),
                scratch.reshape(cells),
                bits,
                padded * drawn,
            )
            for n in range(padded):
                share = uses[n] * weight if n < count else F(0.0)
                for k in range(drawn):
                    sigma[n, k] *= -share
                    slope[n, k] *= share
            _combine(lanes, sigma, negative, d_alpha, 0, count, 0, drawn, F(1.0))
            _combine(lanes, slope, negative_v, e_alpha, 0, count, 0, drawn, F(0.0))
            _combine(lanes, slope, negative_2, c_alpha, 0, count, 0, drawn, F(1.0))
            for n in range(count):
                for d in range(width):
                    d_alpha[n, d] -= e_alpha[n, d] * alpha[n, d]
            _learn_negatives(
                lanes, parameters, edges, belief, slots, tokens, negatives, (sigma, slope), room, padded, rate, state
            )
            own = begin - low
            _learn_contexts(
                lanes, parameters, edges, belief, around, d_alpha, c_alpha, count, own, own + size, rate, state
            )
