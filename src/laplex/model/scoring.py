"""Compiled log likelihoods of held-out tokens, which every epoch is judged by.

With x an input of a token (the weighted sum of the vectors in its window, or each of them with its weight), w₀ the
token and w₁ … w_K its negatives, the score of a token is Σ_x [log σ(ρ_w₀·x) + Σ_k log σ(−ρ_w_k·x)].

Products are taken three at a time, and all 1/σ of a token at once, since a call of the exponential costs as much as
half a product. Each σ is right to 4e-11, so a score is to about 1e-8, far below what the text of the judged documents
leaves uncertain. n tokens, u vectors, D dimensions, K negatives.
"""

from __future__ import annotations

import numpy as np
from numba import njit

compiled = njit(nogil=True, fastmath=True, error_model="numpy", boundscheck=False, cache=True)
LEAST, MOST = -30.0, 600.0  # below, log σ(s) = s to the last digit of single precision; above, it is 0
LARGEST_PRODUCT = 1e250
# 2^x on [0, 1], relative error 4e-11 (least squares at Chebyshev points)
_C0, _C1, _C2, _C3 = 0.9999999999605649, 0.6931471860007116, 0.24022638604308533, 0.05550511783761469
_C4, _C5, _C6, _C7 = 0.009614043924591642, 0.0013422225904417828, 0.0001435537693181832, 2.1489791704493166e-05


@compiled
def _products(vectors, words, token, inputs, signed, first):  # type: ignore[no-untyped-def]
    """Write ρ_k·x of a token and its negatives to `signed`, from `first` on, those of negatives with a minus."""
    size = words.shape[1]
    for k in range(0, size, 3):
        one, two, three = words[token, k], words[token, min(k + 1, size - 1)], words[token, min(k + 2, size - 1)]
        a = b = c = vectors.dtype.type(0.0)
        for d in range(vectors.shape[1]):
            a += vectors[one, d] * inputs[d]
            b += vectors[two, d] * inputs[d]
            c += vectors[three, d] * inputs[d]
        signed[first + k] = -a if k else a
        if k + 1 < size:
            signed[first + k + 1] = -b
        if k + 2 < size:
            signed[first + k + 2] = -c


@compiled
def _inverse_chances(signed, bits, beyond, count):  # type: ignore[no-untyped-def]
    """1/σ = 1 + 2^(−s log2 e) of every s, in place, and what s is below `LEAST`, at which σ is taken then."""
    scale = bits.view(np.float64)
    for i in range(count):
        s = signed[i]
        beyond[i] = min(s - LEAST, 0.0)
        t = min(max(s, LEAST), MOST) * -1.4426950408889634
        whole = np.floor(t)
        x = t - whole
        bits[i] = np.int64(whole + 1023.0) << 52
        signed[i] = _C0 + x * (_C1 + x * (_C2 + x * (_C3 + x * (_C4 + x * (_C5 + x * (_C6 + x * _C7))))))
    for i in range(count):
        signed[i] = 1.0 + signed[i] * scale[i]


@compiled
def _log_chances(inverse, beyond, first, last):  # type: ignore[no-untyped-def]
    """Σ log σ. Chances are multiplied, so that one logarithm is taken for all of them."""
    product, rest = 1.0, 0.0
    for k in range(first, last):
        product *= inverse[k]
        rest += beyond[k]
        if product > LARGEST_PRODUCT:
            rest -= np.log(product)
            product = 1.0
    return rest - np.log(product)


@compiled
def score_by_sum(vectors, words, contexts, starts, places, weights, scores):  # type: ignore[no-untyped-def]
    """Fill `scores` (n) by the weighted sums of windows.

    `vectors` (u, D), `words` (n, 1 + K) and `contexts` (n) number them; the others are windows (n, n) in CSR.
    """
    size = words.shape[1]
    signed, bits, beyond = np.empty(size), np.empty(size, np.int64), np.empty(size)
    total = np.empty(vectors.shape[1], vectors.dtype)
    for token in range(len(scores)):
        total[:] = 0.0
        for entry in range(starts[token], starts[token + 1]):
            row, weight = contexts[places[entry]], weights[entry]
            for d in range(vectors.shape[1]):
                total[d] += weight * vectors[row, d]
        _products(vectors, words, token, total, signed, 0)
        _inverse_chances(signed, bits, beyond, size)
        scores[token] = _log_chances(signed, beyond, 0, size)


@compiled
def score_by_each(vectors, words, contexts, starts, places, weights, scores):  # type: ignore[no-untyped-def]
    """Fill `scores` (n) by the contexts in a window one by one; arguments as in `score_by_sum`."""
    size, most = words.shape[1], 0
    for token in range(len(scores)):
        most = max(most, starts[token + 1] - starts[token])
    signed, bits, beyond = np.empty(most * size), np.empty(most * size, np.int64), np.empty(most * size)
    for token in range(len(scores)):
        start, count = starts[token], starts[token + 1] - starts[token]
        for n in range(count):
            _products(vectors, words, token, vectors[contexts[places[start + n]]], signed, n * size)
        _inverse_chances(signed, bits, beyond, count * size)
        score = 0.0
        for n in range(count):
            score += weights[start + n] * _log_chances(signed, beyond, n * size, (n + 1) * size)
        scores[token] = score
