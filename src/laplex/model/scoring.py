"""Compiled log likelihoods of held-out tokens, which every epoch is judged by.

With x an input of a token (the weighted sum of the vectors in its window, or each of them with its weight), w₀ the
token and w₁ … w_K its negatives, the score of a token is Σ_x [log σ(ρ_w₀·x) + Σ_k log σ(−ρ_w_k·x)].
n tokens, u vectors, D dimensions, K negatives.
"""

from __future__ import annotations

import numpy as np
from numba import njit

compiled = njit(nogil=True, fastmath=True, error_model="numpy", boundscheck=False, cache=True)
LEAST = -30.0  # below, log σ(s) = s to the last digit of single precision


@compiled
def _log_chances(vectors, words, token, inputs):  # type: ignore[no-untyped-def]
    """Σ_k log σ(±ρ_k·x). Chances are multiplied, so that one logarithm is taken for all of them."""
    product, rest = 1.0, 0.0
    for k in range(words.shape[1]):
        score = inputs.dtype.type(0.0)
        row = words[token, k]
        for d in range(vectors.shape[1]):
            score += vectors[row, d] * inputs[d]
        signed = np.float64(score if k == 0 else -score)
        if signed < LEAST:
            rest += signed
        else:
            product *= 1.0 / (1.0 + np.exp(-signed))
            if product < 1e-250:
                rest += np.log(product)
                product = 1.0
    return rest + np.log(product)


@compiled
def score_by_sum(vectors, words, contexts, starts, places, weights, scores):  # type: ignore[no-untyped-def]
    """Fill `scores` (n) by the weighted sums of windows.

    `vectors` (u, D), `words` (n, 1 + K) and `contexts` (n) number them; the others are windows (n, n) in CSR.
    """
    total = np.empty(vectors.shape[1], vectors.dtype)
    for token in range(len(scores)):
        total[:] = 0.0
        for entry in range(starts[token], starts[token + 1]):
            row = contexts[places[entry]]
            for d in range(vectors.shape[1]):
                total[d] += weights[entry] * vectors[row, d]
        scores[token] = _log_chances(vectors, words, token, total)


@compiled
def score_by_each(vectors, words, contexts, starts, places, weights, scores):  # type: ignore[no-untyped-def]
    """Fill `scores` (n) by the contexts in a window one by one; arguments as in `score_by_sum`."""
    for token in range(len(scores)):
        score = 0.0
        for entry in range(starts[token], starts[token + 1]):
            score += weights[entry] * _log_chances(vectors, words, token, vectors[contexts[places[entry]]])
        scores[token] = score
