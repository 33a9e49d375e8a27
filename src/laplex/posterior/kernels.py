"""The inner loops of a pass over the text for some words: the sums that scores are made of.

For a word w with vector ρ, and h what stands around a position (the sum of the contexts for CBOW, each of them for
SGNS), σ = σ(ρ·h):

    where w stands       s = Σ (1−σ) h    τ = Σ (1−σ)      by word and unit
    everywhere           B = Σ σ h        W = Σ σ          by word and unit, over sampled positions
    curvature            A = Σ σ(1−σ) h hᵀ                 by word, over some of both

Documents are sorted by unit, and a unit is read by one thread, so that no two threads write to the same sum. What
is left of a document after subsampling depends on the seed and the document alone.
U units, V words of the language, n tested words, p pairs of a word and a unit that has it, W padded dimensions.
"""
# mypy: ignore-errors
# (typed by Numba, when it is compiled)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laplex.engines.kernels import LANE, F, fast, logistic, logistic_one, products, seeded, subsample, uniform

TILE = 8  # words for which the background is read at once
BLOCK = 64  # positions of the background whose scores are computed at once


class Text(NamedTuple):
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int64]  # sorted by unit
    unit_start: NDArray[np.int64]  # (U + 1) where the documents of each unit begin
    keep: NDArray[np.float32]  # (V) probability that an occurrence is kept
    alpha: NDArray[np.float32]  # (V, W)
    window: int
    single: bool  # each context on its own (SGNS), not their sum
    seed: int


class Asked(NamedTuple):
    place: NDArray[np.int32]  # (V) the number of a word among those tested, or −1
    rho: NDArray[np.float32]  # (n, W)
    start: NDArray[np.int64]  # (n + 1) where the pairs of each word begin
    unit: NDArray[np.int32]  # (p) sorted for each word
    chance: NDArray[np.float32]  # (n) that an occurrence adds to the curvature


@fast
def count_pairs(ids, offsets, documents, unit_start, place, words):
    """(words) In how many units each word occurs."""
    found = np.zeros(words, np.int64)
    last = np.full(words, -1, np.int64)
    for unit in range(len(unit_start) - 1):
        for m in range(unit_start[unit], unit_start[unit + 1]):
            for i in range(offsets[documents[m]], offsets[documents[m] + 1]):
                word = place[ids[i]]
                if word >= 0 and last[word] != unit:
                    last[word] = unit
                    found[word] += 1
    return found


@fast
def fill_pairs(ids, offsets, documents, unit_start, place, start, units, counts):
    """Which units have each word, and how often."""
    cursor = start[:-1] - 1
    last = np.full(len(cursor), -1, np.int64)
    for unit in range(len(unit_start) - 1):
        for m in range(unit_start[unit], unit_start[unit + 1]):
            for i in range(offsets[documents[m]], offsets[documents[m] + 1]):
                word = place[ids[i]]
                if word >= 0:
                    if last[word] != unit:
                        last[word] = unit
                        cursor[word] += 1
                        units[cursor[word]] = unit
                    counts[cursor[word]] += 1


@fast
def _window_sum(lanes, alpha, kept, i, low, high, h):
    for d in range(LANE * len(lanes)):
        h[d] = F(0.0)
    for j in range(low, high):
        if j != i:
            for d in range(LANE * len(lanes)):
                h[d] += alpha[kept[j], d]


@fast
def _add_square(lanes, h, weight, square):
    """The lower triangle of square += weight h hᵀ."""
    for a in range(LANE * len(lanes)):
        x = weight * h[a]
        for b in range(a + 1):
            square[a, b] += x * h[b]


@fast
def _add_occurrence(lanes, h, rho, word, pair, chance, s, tau, squares, state):
    score = F(0.0)
    for d in range(LANE * len(lanes)):
        score += rho[word, d] * h[d]
    sigma = logistic_one(score)
    for d in range(LANE * len(lanes)):
        s[pair, d] += (F(1.0) - sigma) * h[d]
    tau[pair] += F(1.0) - sigma
    if uniform(state) < chance[word]:
        _add_square(lanes, h, sigma * (F(1.0) - sigma) / min(F(1.0), chance[word]), squares[word])


@fast
def occurrences(lanes, text, asked, first, last, kept, s, tau, squares):
    """Add what units `first` up to `last` say where the words stand. `squares` (n, W, W) is the thread's own."""
    ids, offsets, documents, unit_start, keep, alpha, window, single, seed = text
    place, rho, start, units, chance = asked
    h = np.empty(LANE * len(lanes), np.float32)
    pair = np.zeros(len(rho), np.int64)
    seen = np.full(len(rho), -1, np.int64)
    for unit in range(first, last):
        for m in range(unit_start[unit], unit_start[unit + 1]):
            document = documents[m]
            state = seeded(seed + document)
            length = subsample(ids, offsets[document], offsets[document + 1], keep, 0, kept, state)
            if length < 2:
                continue
            for i in range(length):
                word = place[kept[i]]
                if word < 0:
                    continue
                if seen[word] != unit:
                    seen[word] = unit
                    own = units[start[word] : start[word + 1]]
                    pair[word] = start[word] + np.searchsorted(own, unit)
                low, high = max(0, i - window), min(length, i + window + 1)
                if single:
                    for j in range(low, high):
                        if j != i:
                            _add_occurrence(
                                lanes, alpha[kept[j]], rho, word, pair[word], chance, s, tau, squares, state
                            )
                else:
                    _window_sum(lanes, alpha, kept, i, low, high, h)
                    _add_occurrence(lanes, h, rho, word, pair[word], chance, s, tau, squares, state)


@fast
def sample(lanes, text, chance, first, last, kept, counts, start, contexts):
    """Sample positions of units `first` up to `last`; count them, or if `contexts` has rows, write down their h."""
    ids, offsets, documents, unit_start, keep, alpha, window, single, seed = text
    write = len(contexts) > 0
    for unit in range(first, last):
        found = 0
        for m in range(unit_start[unit], unit_start[unit + 1]):
            document = documents[m]
            state = seeded(seed + document)
            length = subsample(ids, offsets[document], offsets[document + 1], keep, 0, kept, state)
            if length < 2:
                continue
            for i in range(length):
                low, high = max(0, i - window), min(length, i + window + 1)
                if single:
                    for j in range(low, high):
                        if j != i and uniform(state) < chance:
                            if write:
                                for d in range(LANE * len(lanes)):
                                    contexts[start[unit] + found, d] = alpha[kept[j], d]
                            found += 1
                elif uniform(state) < chance:
                    if write:
                        _window_sum(lanes, alpha, kept, i, low, high, contexts[start[unit] + found])
                    found += 1
        counts[unit] = found


@fast
def background(lanes, contexts, start, rho, rows, sums, weights, squares, wanted, seed):
    """What sampled positions say of TILE words: `sums` (rows, W) and `weights` (rows) of σ h and σ, and curvature.

    `rows` (TILE, U) is where a unit is added, for each word. About `wanted` positions make up the curvature, chosen
    in proportion to σ(1−σ).
    """
    width = LANE * len(lanes)
    count = len(contexts)
    sigma = np.empty((count, TILE), np.float32)
    scores = np.zeros((BLOCK, TILE), np.float32)
    flat = scores.reshape(BLOCK * TILE)
    bits = np.empty(BLOCK * TILE, np.int32)
    block = np.zeros((BLOCK, width), np.float32)
    total = np.zeros(TILE)
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        for i in range(size):
            for d in range(width):
                block[i, d] = contexts[begin + i, d]
        products(lanes, block, rho, scores, BLOCK, TILE)
        logistic(flat, bits, BLOCK * TILE)
        for i in range(size):
            for k in range(TILE):
                sigma[begin + i, k] = scores[i, k]
                total[k] += scores[i, k] * (F(1.0) - scores[i, k])
    state = seeded(seed)
    for unit in range(len(start) - 1):
        for i in range(start[unit], start[unit + 1]):
            for k in range(TILE):
                weight, row = sigma[i, k], rows[k, unit]
                weights[row] += weight
                for d in range(width):
                    sums[row, d] += weight * contexts[i, d]
                v = weight * (F(1.0) - weight)
                chance = F(min(1.0, wanted * v / max(total[k], 1e-30)))
                if uniform(state) < chance:
                    _add_square(lanes, contexts[i], v / chance, squares[k])
