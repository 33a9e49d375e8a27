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

TILE = 16  # words for which the background is read at once
PENDING = 8  # contexts of a word that wait until their squares are added together
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
            word = kept[j]  # read in the inner loop, it would keep it from being vectorised
            for d in range(LANE * len(lanes)):
                h[d] += alpha[word, d]


@fast
def _add_square(lanes, h, weight, pending, filled, k, squares):
    """The lower triangle of squares[k] += weight h hᵀ, once PENDING of them wait, since a square is large."""
    root = np.sqrt(weight)
    place = filled[k]
    for d in range(LANE * len(lanes)):
        pending[k, place, d] = root * h[d]
    filled[k] = place + 1
    if filled[k] == PENDING:
        _empty(lanes, pending, filled, k, squares)


@fast
def _empty(lanes, pending, filled, k, squares):
    """Add what is pending of squares[k]."""
    for j in range(filled[k], PENDING):
        for d in range(LANE * len(lanes)):
            pending[k, j, d] = F(0.0)
    filled[k] = 0
    rows, square = pending[k], squares[k]
    for a in range(LANE * len(lanes)):
        x0, x1, x2, x3 = rows[0, a], rows[1, a], rows[2, a], rows[3, a]
        x4, x5, x6, x7 = rows[4, a], rows[5, a], rows[6, a], rows[7, a]
        for b in range(a + 1):
            low = x0 * rows[0, b] + x1 * rows[1, b] + x2 * rows[2, b] + x3 * rows[3, b]
            high = x4 * rows[4, b] + x5 * rows[5, b] + x6 * rows[6, b] + x7 * rows[7, b]
            square[a, b] += low + high


@fast
def _add_occurrence(lanes, h, rho, word, pair, chance, s, tau, pending, filled, squares, state):
    score = F(0.0)
    for d in range(LANE * len(lanes)):
        score += rho[word, d] * h[d]
    sigma = logistic_one(score)
    for d in range(LANE * len(lanes)):
        s[pair, d] += (F(1.0) - sigma) * h[d]
    tau[pair] += F(1.0) - sigma
    if uniform(state) < chance[word]:
        weight = sigma * (F(1.0) - sigma) / min(F(1.0), chance[word])
        _add_square(lanes, h, weight, pending, filled, word, squares)


@fast
def occurrences(lanes, text, asked, first, last, kept, s, tau, squares):
    """Add what units `first` up to `last` say where the words stand. `squares` (n, W, W) is the thread's own."""
    ids, offsets, documents, unit_start, keep, alpha, window, single, seed = text
    place, rho, start, units, chance = asked
    total = np.empty(LANE * len(lanes), np.float32)
    pending, filled = np.empty((len(rho), PENDING, LANE * len(lanes)), np.float32), np.zeros(len(rho), np.int64)
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
                            h = alpha[kept[j]]
                            _add_occurrence(
                                lanes, h, rho, word, pair[word], chance, s, tau, pending, filled, squares, state
                            )
                else:
                    _window_sum(lanes, alpha, kept, i, low, high, total)
                    _add_occurrence(
                        lanes, total, rho, word, pair[word], chance, s, tau, pending, filled, squares, state
                    )
    for word in range(len(rho)):
        if filled[word]:
            _empty(lanes, pending, filled, word, squares)


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
                                word = kept[j]
                                for d in range(LANE * len(lanes)):
                                    contexts[start[unit] + found, d] = alpha[word, d]
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
    for unit in range(len(start) - 1):
        for i in range(start[unit], start[unit + 1], 4):
            # four positions at once, since a sum is read and written for each; beyond the unit's they weigh nothing
            last = start[unit + 1] - 1
            i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            e1, e2, e3 = F(i + 1 <= last), F(i + 2 <= last), F(i + 3 <= last)
            for k in range(TILE):
                row = rows[k, unit]
                w0, w1, w2, w3 = sigma[i, k], e1 * sigma[i1, k], e2 * sigma[i2, k], e3 * sigma[i3, k]
                weights[row] += (w0 + w1) + (w2 + w3)
                for d in range(width):
                    early = w0 * contexts[i, d] + w1 * contexts[i1, d]
                    sums[row, d] += early + (w2 * contexts[i2, d] + w3 * contexts[i3, d])
    _add_curvature(lanes, contexts, sigma, total, wanted, squares, seeded(seed))


@fast
def _add_curvature(lanes, contexts, sigma, total, wanted, squares, state):
    """Add σ(1−σ) h hᵀ of about `wanted` positions: one for every so much of σ(1−σ), which it stands for."""
    pending, filled = np.empty((TILE, PENDING, LANE * len(lanes)), np.float32), np.zeros(TILE, np.int64)
    for k in range(TILE):
        step = F(max(total[k] / wanted, 1e-30))
        done = step * uniform(state)
        for i in range(len(contexts)):
            v = sigma[i, k] * (F(1.0) - sigma[i, k])
            if v >= step:
                _add_square(lanes, contexts[i], v, pending, filled, k, squares)
                continue
            done += v
            if done >= step:
                done -= step
                _add_square(lanes, contexts[i], step, pending, filled, k, squares)
        _empty(lanes, pending, filled, k, squares)
