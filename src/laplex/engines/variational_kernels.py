"""The inner loops of variational inference: one pass over a part of the text, with means and variances.

The text is read in blocks with shared negatives, and the prior is applied, as in `kernels.py`. Every score has a mean
and a variance (see `variational.py`), its expectations E σ(x) and κ = E σ'(x) are sums over Gauss–Hermite points, and

    ∂/∂μ_ρ = ±E σ(∓x) μ_h − κ μ_ρ v_h        ∂/∂μ_h = ±E σ(∓x) μ_ρ − κ v_ρ μ_h
    curvature of ρ  += κ (μ_h² + v_h)         of h  += κ (μ_ρ² + v_ρ)

Means take row-wise Adagrad steps. Curvatures are summed over a whole pass, from which new variances follow.
With a rate of 0 nothing is changed: the pass only adds up the expected log likelihood.

P parameters, W padded dimensions, B tokens in a block, N negatives of a block, M window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laplex.engines.kernels import (
    CHANCE,
    LANE,
    NEGATIVE_CHANCE,
    F,
    _apply_prior,
    _combine,
    _draw_slots,
    _step,
    _takes_prior,
    fast,
    logistic,
    products,
    read_segment,
    seeded,
    state_row,
)

QUADRATURE_POINTS = 8  # exact to 4e-4 for a score whose deviation is 2, to 1e-6 for 1
_Z, _SHARE = np.polynomial.hermite_e.hermegauss(QUADRATURE_POINTS)
_Z, _SHARE = _Z.astype(np.float32), (_SHARE / _SHARE.sum()).astype(np.float32)


class Moments(NamedTuple):
    """What belongs to each number of a vector beside its mean."""

    variance: NDArray[np.float32]  # (P, W)
    curvature: NDArray[np.float32]  # (P, W) summed over a pass


@fast
def _three(shape):
    """Three arrays of zeros; contiguous ones, which slices of a larger one are not to the compiler."""
    return np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32)


@fast
def _expect(mean, variance, sigma, slope, scratch, bits, count):
    """E σ(x) and E σ'(x) of normal x. `variance` is lost."""
    for i in range(count):
        variance[i] = np.sqrt(max(variance[i], F(0.0)))
        sigma[i] = slope[i] = F(0.0)
    for q in range(QUADRATURE_POINTS):
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
    for q in range(QUADRATURE_POINTS):
        x = sign * (mean + _Z[q] * np.sqrt(max(variance, F(0.0))))
        total += _SHARE[q] * (min(x, 0.0) - np.log1p(np.exp(-abs(x))))
    return total


@fast
def _gather(lanes, theta, variance, slots, count, mean, var, square):
    """Copy means μ and variances of some rows side by side, and μ²."""
    for k in range(count):
        source = slots[k]
        for d in range(LANE * len(lanes)):
            m, v = theta[source, d], variance[source, d]
            mean[k, d] = m
            var[k, d] = v
            square[k, d] = m * m


@fast
def _scores(lanes, tokens, sampled, score, score_v, more, rows, negatives):
    """Means and variances of the scores of tokens (μ, v, μ²) with negatives (μ, v, μ² + v)."""
    h, h_v, h_2 = tokens
    mean, var, second_moment = sampled
    products(lanes, h, mean, score, rows, negatives)
    products(lanes, h_v, second_moment, score_v, rows, negatives)
    products(lanes, h_2, var, more, rows, negatives)
    for b in range(rows):
        for k in range(negatives):
            score_v[b, k] += more[b, k]


@fast
def _expect_negatives(lanes, sampled, weights, flat, bits, uses, weight, slopes, count, rows):
    """Turn scores into what each adds to slope and curvature, by the windows that a row is in, and add up by row.

    `slopes` (count, W) increase by Σ −E σ(x) μ, are set to Σ κ v, and increase by Σ κ (μ² + v).
    """
    sigma, slope = weights
    negatives = sigma.shape[1]
    _expect(*flat, bits, rows * negatives)
    for n in range(rows):
        share = uses[n] * weight if n < count else F(0.0)
        for k in range(negatives):
            sigma[n, k] *= -share
            slope[n, k] *= share
    _combine(lanes, sigma, sampled[0], slopes[0], 0, count, 0, negatives, F(1.0))
    _combine(lanes, slope, sampled[1], slopes[1], 0, count, 0, negatives, F(0.0))
    _combine(lanes, slope, sampled[2], slopes[2], 0, count, 0, negatives, F(1.0))


@fast
def _learn_negatives(lanes, parameters, edges, moments, slots, tokens, sampled, weights, room, rows, steps, state):
    """Steps and curvatures of the negatives, given what each score adds to the slope and to the curvature."""
    h, h_v, h_2 = tokens
    slope, bend = weights
    gradient, first, second = room
    rate, inverse_dimensions = steps
    _, theta, row_state = parameters
    negatives = len(slots)
    _combine(lanes, slope.T, h, gradient, 0, negatives, 0, rows, F(0.0))
    _combine(lanes, bend.T, h_v, first, 0, negatives, 0, rows, F(0.0))
    _combine(lanes, bend.T, h_2, second, 0, negatives, 0, rows, F(0.0))
    for k in range(negatives):
        for d in range(LANE * len(lanes)):
            gradient[k, d] -= sampled[0][k, d] * first[k, d]
            moments.curvature[slots[k], d] += first[k, d] + second[k, d]
        _step(lanes, theta, row_state, slots[k], gradient, k, rate, inverse_dimensions)
        if _takes_prior(row_state[state_row(slots[k]), NEGATIVE_CHANCE], state):
            _apply_prior(lanes, theta, row_state, edges, slots[k], rate)


@fast
def _learn_contexts(lanes, parameters, edges, moments, slots, d_alpha, c_alpha, count, begin, end, steps, state):
    """Steps and curvatures of the contexts; those from `begin` up to `end` are the block's own tokens."""
    rate, inverse_dimensions = steps
    _, theta, row_state = parameters
    for n in range(count):
        c = slots[n]
        for d in range(LANE * len(lanes)):
            moments.curvature[c, d] += c_alpha[n, d]
        _step(lanes, theta, row_state, c, d_alpha, n, rate, inverse_dimensions)
        if begin <= n < end and _takes_prior(row_state[state_row(c), CHANCE], state):
            _apply_prior(lanes, theta, row_state, edges, c, rate)


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
def cbow(lanes, text, tables, parameters, edges, moments, settings, first, last, kept, totals):
    """Read segments `first` up to `last`; arguments as in `kernels.cbow`. With a rate of 0 all tokens are judged."""
    width = LANE * len(lanes)
    window, block, negatives, rate, weight, inverse_dimensions, seed = settings
    slot, theta, row_state = parameters
    state, steps, learning = seeded(seed), (rate, inverse_dimensions), rate > F(0.0)
    longest = block + 2 * window
    alpha, alpha_v, unused = _three((longest, width))
    d_alpha, c_alpha, unused = _three((longest, width))
    around = np.empty(longest, np.int64)
    h, h_v, h_2 = _three((block, width))
    d_h, e_h, c_h = _three((block, width))
    uses = np.ones(block, np.float32)
    times = np.zeros((block, 2 * window + 1), np.float32)
    negative, negative_v, negative_2 = _three((negatives, width))
    room = _three((negatives, width))
    slots = np.empty(negatives, np.int64)
    score, score_v, scratch = _three((block, negatives))
    sigma, slope, _ = _three((block, negatives))
    flat = (score.reshape(-1), score_v.reshape(-1), sigma.reshape(-1), slope.reshape(-1), scratch.reshape(-1))
    positive, positive_v, positive_x = _three(block)
    positive_s, positive_k, _ = _three(block)
    bits = np.empty(block * negatives, np.int32)
    gradient = np.empty((1, width), np.float32)
    for segment in range(first, last):
        left, right, length, words, contexts, table = read_segment(text, tables, segment, window, kept, state)
        if left == right:
            continue
        totals[0] += right - left
        for begin in range(left, right, block):
            size = min(block, right - begin)
            low = max(0, begin - window)
            count = min(length, begin + size + window) - low
            _draw_slots(lanes, tables, table, parameters, words, slots, state)
            for n in range(count):
                around[n] = slot[contexts + kept[low + n]]
            _gather(lanes, theta, moments.variance, around, count, alpha, alpha_v, unused)
            for b in range(size):
                i = begin + b - low
                lo, hi = max(0, i - window), min(count, i + window + 1)
                _sums(lanes, around, alpha, alpha_v, lo, hi, i, times, h, h_v, h_2, b)
            h[size:] = h_v[size:] = h_2[size:] = F(0.0)
            _gather(lanes, theta, moments.variance, slots, negatives, negative, negative_v, negative_2)
            negative_2 += negative_v  # E x² = μ² + v
            tokens, sampled = (h, h_v, h_2), (negative, negative_v, negative_2)
            _scores(lanes, tokens, sampled, score, score_v, scratch, block, negatives)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                m = s = F(0.0)
                for d in range(width):
                    r, q = theta[v, d], moments.variance[v, d]
                    m += r * h[b, d]
                    s += (r * r + q) * h_v[b, d] + q * h_2[b, d]
                positive[b], positive_v[b] = m, s
            if not learning:
                totals[2] += size
                for b in range(size):
                    totals[1] += _log_expected(positive[b], positive_v[b], 1.0)
                    for k in range(negatives):
                        totals[1] += weight * _log_expected(score[b, k], score_v[b, k], -1.0)
                continue
            _expect(positive, positive_v, positive_s, positive_k, positive_x, bits, size)
            d_h[:] = c_h[:] = F(0.0)
            d_alpha[:] = c_alpha[:] = F(0.0)
            _expect_negatives(lanes, sampled, (sigma, slope), flat, bits, uses, weight, (d_h, e_h, c_h), size, block)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                e, k = F(1.0) - positive_s[b], positive_k[b]
                for d in range(width):
                    r, q, x, x_v = theta[v, d], moments.variance[v, d], h[b, d], h_v[b, d]
                    gradient[0, d] = e * x - k * r * x_v
                    moments.curvature[v, d] += k * (h_2[b, d] + x_v)
                    d_h[b, d] += e * r - (k * q + e_h[b, d]) * x
                    c_h[b, d] += k * (r * r + q)
                i = begin + b - low
                lo, hi = max(0, i - window), min(count, i + window + 1)
                for n in range(lo, hi):
                    t = times[b, n - lo]
                    if t > F(0.0):
                        for d in range(width):
                            d_alpha[n, d] += d_h[b, d]
                            c_alpha[n, d] += t * c_h[b, d]
                _step(lanes, theta, row_state, v, gradient, 0, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(v), CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, v, rate)
            _learn_negatives(
                lanes, parameters, edges, moments, slots, tokens, sampled, (sigma, slope), room, block, steps, state
            )
            inner = begin - low
            _learn_contexts(
                lanes, parameters, edges, moments, around, d_alpha, c_alpha, count, inner, inner + size, steps, state
            )


@fast
def sgns(lanes, text, tables, parameters, edges, moments, settings, first, last, kept, totals):
    """Read segments `first` up to `last`; the negatives' term of a context is computed once for a block."""
    width = LANE * len(lanes)
    window, block, negatives, rate, weight, inverse_dimensions, seed = settings
    slot, theta, row_state = parameters
    state, steps, learning = seeded(seed), (rate, inverse_dimensions), rate > F(0.0)
    longest = (block + 2 * window + 7) // 8 * 8
    span = 2 * window + 1
    alpha, alpha_v, alpha_2 = _three((longest, width))
    d_alpha, e_alpha, c_alpha = _three((longest, width))
    around = np.empty(longest, np.int64)
    uses = np.zeros(longest, np.float32)  # in how many windows a context is
    negative, negative_v, negative_2 = _three((negatives, width))
    room = _three((negatives, width))
    slots = np.empty(negatives, np.int64)
    score, score_v, scratch = _three((longest, negatives))
    sigma, slope, _ = _three((longest, negatives))
    flat = (score.reshape(-1), score_v.reshape(-1), sigma.reshape(-1), slope.reshape(-1), scratch.reshape(-1))
    positive, positive_v, positive_x = _three(span)
    positive_s, positive_k, _ = _three(span)
    bits = np.empty(max(longest * negatives, span), np.int32)
    rho, rho_v, bend = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    gradient = np.empty((1, width), np.float32)
    for segment in range(first, last):
        left, right, length, words, contexts, table = read_segment(text, tables, segment, window, kept, state)
        if left == right:
            continue
        totals[0] += right - left
        for begin in range(left, right, block):
            size = min(block, right - begin)
            low = max(0, begin - window)
            count = min(length, begin + size + window) - low
            padded = (count + 7) // 8 * 8
            _draw_slots(lanes, tables, table, parameters, words, slots, state)
            for n in range(count):
                around[n] = slot[contexts + kept[low + n]]
                uses[n] = F(0.0)
            _gather(lanes, theta, moments.variance, around, count, alpha, alpha_v, alpha_2)
            alpha[count:padded] = alpha_v[count:padded] = alpha_2[count:padded] = F(0.0)
            _gather(lanes, theta, moments.variance, slots, negatives, negative, negative_v, negative_2)
            negative_2 += negative_v  # E x² = μ² + v
            d_alpha[:count] = c_alpha[:count] = F(0.0)
            for b in range(size):
                v = slot[words + kept[begin + b]]
                i = begin + b - low
                lo, hi = max(0, i - window), min(count, i + window + 1)
                for d in range(width):
                    rho[d], rho_v[d] = theta[v, d], moments.variance[v, d]
                    gradient[0, d] = bend[d] = F(0.0)
                for n in range(lo, hi):
                    m = s = F(0.0)
                    for d in range(width):
                        m += rho[d] * alpha[n, d]
                        s += (rho[d] * rho[d] + rho_v[d]) * alpha_v[n, d] + rho_v[d] * alpha_2[n, d]
                    positive[n - lo], positive_v[n - lo] = m, s
                    if n != i:
                        uses[n] += F(1.0)
                        if not learning:
                            totals[1] += _log_expected(m, s, 1.0)
                if not learning:
                    continue
                _expect(positive, positive_v, positive_s, positive_k, positive_x, bits, hi - lo)
                for n in range(lo, hi):
                    if n != i:
                        e, k = F(1.0) - positive_s[n - lo], positive_k[n - lo]
                        for d in range(width):
                            r, q, x, x_v = rho[d], rho_v[d], alpha[n, d], alpha_v[n, d]
                            gradient[0, d] += e * x - k * r * x_v
                            bend[d] += k * (alpha_2[n, d] + x_v)
                            d_alpha[n, d] += e * r - k * q * x
                            c_alpha[n, d] += k * (r * r + q)
                for d in range(width):
                    moments.curvature[v, d] += bend[d]
                _step(lanes, theta, row_state, v, gradient, 0, rate, inverse_dimensions)
                if _takes_prior(row_state[state_row(v), CHANCE], state):
                    _apply_prior(lanes, theta, row_state, edges, v, rate)
            tokens, sampled = (alpha, alpha_v, alpha_2), (negative, negative_v, negative_2)
            _scores(lanes, tokens, sampled, score, score_v, scratch, padded, negatives)
            if not learning:
                totals[2] += size
                for n in range(count):
                    for k in range(negatives):
                        totals[1] += uses[n] * weight * _log_expected(score[n, k], score_v[n, k], -1.0)
                continue
            _expect_negatives(
                lanes, sampled, (sigma, slope), flat, bits, uses, weight, (d_alpha, e_alpha, c_alpha), count, padded
            )
            for n in range(count):
                for d in range(width):
                    d_alpha[n, d] -= e_alpha[n, d] * alpha[n, d]
            _learn_negatives(
                lanes, parameters, edges, moments, slots, tokens, sampled, (sigma, slope), room, padded, steps, state
            )
            inner = begin - low
            _learn_contexts(
                lanes, parameters, edges, moments, around, d_alpha, c_alpha, count, inner, inner + size, steps, state
            )
