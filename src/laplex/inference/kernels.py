"""The inner loops of passes over the text.

For a word w with vector ρ, h the context at a position (the sum of the window's vectors for CBOW, each of them for
SGNS), and σ = σ(ρ·h), a pass for tests sums

    where w stands       s = Σ (1−σ) h    τ = Σ (1−σ)      by word and unit
    everywhere           B = Σ σ h        W = Σ σ          by word and unit, over sampled positions
    curvature            A = Σ σ(1−σ) h hᵀ                 by word, over some of both

and a pass for posteriors and intervals writes down the contexts themselves, by cell (a word in a unit) and, for the
background, by unit. There a first reading counts and a second one writes where the counts say.

Documents are sorted by unit and read in pieces, each by one thread, so that no two threads write to the same place.
What is left of a document after subsampling depends on the seed and the document alone.
U units, V words of the language, n words, p pairs of a word and a unit that has it, W padded dimensions.
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


class TokenText(NamedTuple):
    """The text as the loops read it."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int64]  # (M) sorted by unit
    unit: NDArray[np.int64]  # (M) of each document
    keep: NDArray[np.float32]  # (V) probability that an occurrence is kept
    alpha: NDArray[np.float32]  # (V, W)
    window: int
    sums_window: bool  # a context is the sum of the window's vectors (CBOW), not each of them (SGNS)
    seed: int


class WordsInUnits(NamedTuple):
    """The words of a pass, and which units have them."""

    place: NDArray[np.int32]  # (V) the number of a word among those tested, or −1
    rho: NDArray[np.float32]  # (n, W)
    start: NDArray[np.int64]  # (n + 1) where the pairs of each word begin
    unit: NDArray[np.int32]  # (p) sorted for each word
    chance: NDArray[np.float32]  # (n) that an occurrence adds to the curvature


@fast
def count_by_unit(ids, offsets, documents, unit_of, place, start, units, counts, number):
    """How many units have each word, in `number` (n); if `units` has room, which these are, and how often."""
    write = len(units) > 0
    last = np.full(len(number), -1, np.int64)
    for m in range(len(documents)):
        unit, document = unit_of[m], documents[m]
        for i in range(offsets[document], offsets[document + 1]):
            word = place[ids[i]]
            if word >= 0:
                if last[word] != unit:
                    last[word] = unit
                    if write:
                        units[start[word] + number[word]] = unit
                    number[word] += 1
                if write:
                    counts[start[word] + number[word] - 1] += 1


@fast
def _subsampled(text, document, kept):
    """How many tokens of a document are left, which are in `kept`, and the state of the random numbers."""
    state = seeded(text.seed + document)
    start, end = text.offsets[document], text.offsets[document + 1]
    return subsample(text.ids, start, end, text.keep, 0, kept, state), state


@fast
def _window_sum(lanes, alpha, kept, i, low, high, h):
    """The sum of the vectors around position i, in h."""
    for d in range(LANE * len(lanes)):
        h[d] = F(0.0)
    for j in range(low, high):
        if j != i:
            word = kept[j]  # read in the inner loop, it would keep it from being vectorized
            for d in range(LANE * len(lanes)):
                h[d] += alpha[word, d]


@fast
def _add_square(lanes, h, weight, pending, filled, k, squares):
    """Add weight h hᵀ to the lower triangle of squares[k], once PENDING contexts wait, since a square is large."""
    root = np.sqrt(weight)
    place = filled[k]
    for d in range(LANE * len(lanes)):
        pending[k, place, d] = root * h[d]
    filled[k] = place + 1
    if filled[k] == PENDING:
        _flush(lanes, pending, filled, k, squares)


@fast
def _flush(lanes, pending, filled, k, squares):
    """Add the pending contexts to squares[k]."""
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
    """Add one context of an occurrence to s and τ of its pair, and by chance to the curvature."""
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
def occurrence_sums(lanes, text, tested, first, last, kept, s, tau, squares):
    """Add the sums of documents `first` up to `last` where the words stand. `squares` (n, W, W) is the thread's own."""
    place, rho, start, units, chance = tested
    total = np.empty(LANE * len(lanes), np.float32)
    pending, filled = np.empty((len(rho), PENDING, LANE * len(lanes)), np.float32), np.zeros(len(rho), np.int64)
    pair = np.zeros(len(rho), np.int64)
    seen = np.full(len(rho), -1, np.int64)
    for m in range(first, last):
        unit = text.unit[m]
        length, state = _subsampled(text, text.documents[m], kept)
        if length < 2:
            continue
        for i in range(length):
            word = place[kept[i]]
            if word < 0:
                continue
            if seen[word] != unit:
                seen[word] = unit
                pair[word] = start[word] + np.searchsorted(units[start[word] : start[word + 1]], unit)
            low, high = max(0, i - text.window), min(length, i + text.window + 1)
            if text.sums_window:
                _window_sum(lanes, text.alpha, kept, i, low, high, total)
                _add_occurrence(lanes, total, rho, word, pair[word], chance, s, tau, pending, filled, squares, state)
                continue
            for j in range(low, high):
                if j != i:
                    h = text.alpha[kept[j]]
                    _add_occurrence(lanes, h, rho, word, pair[word], chance, s, tau, pending, filled, squares, state)
    for word in range(len(rho)):
        if filled[word]:
            _flush(lanes, pending, filled, word, squares)


@fast
def sample_positions(lanes, text, chance, first, last, kept, counts, start, contexts):
    """Sample positions of documents `first` up to `last`, counting by unit; if `contexts` has rows, write them."""
    write = len(contexts) > 0
    for m in range(first, last):
        unit = text.unit[m]
        length, state = _subsampled(text, text.documents[m], kept)
        if length < 2:
            continue
        for i in range(length):
            low, high = max(0, i - text.window), min(length, i + text.window + 1)
            if text.sums_window:
                if uniform(state) < chance:
                    if write:
                        _window_sum(lanes, text.alpha, kept, i, low, high, contexts[start[unit] + counts[unit]])
                    counts[unit] += 1
                continue
            for j in range(low, high):
                if j != i and uniform(state) < chance:
                    if write:
                        word, row = kept[j], start[unit] + counts[unit]
                        for d in range(LANE * len(lanes)):
                            contexts[row, d] = text.alpha[word, d]
                    counts[unit] += 1


@fast
def background_sums(lanes, contexts, start, rho, rows, sums, weights, squares, wanted, seed):
    """Sums over sampled positions for TILE words: `sums` (rows, W) of σ h, `weights` (rows) of σ, and curvature.

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
    """Add σ(1−σ) h hᵀ of about `wanted` positions, sampled systematically in proportion to σ(1−σ)."""
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
        _flush(lanes, pending, filled, k, squares)


@fast
def count_cells(text, place, units, first, last, kept, cells, positions):
    """Count occurrences by cell, and positions by unit, in documents `first` up to `last`."""
    for m in range(first, last):
        length, _ = _subsampled(text, text.documents[m], kept)
        if length < 2:
            continue
        unit = text.unit[m]
        positions[unit] += length
        for i in range(length):
            word = place[kept[i]]
            if word >= 0:
                cells[word * units + unit] += 1


@fast
def write_contexts(
    lanes, text, place, units, first, last, kept, cell_share, cell_seen, cell_start, here, share, seen, start, around
):
    """Write down window sums: a share of the occurrences of each cell, and of the positions of a unit.

    Of the first k of them, ⌊k·share⌋ are taken. `*_seen` are how many there are before this piece, which are counted
    on; `*_start` is where those of a cell, or of a unit, begin.
    """
    h = np.empty(LANE * len(lanes), np.float32)
    size = here.shape[1]
    for m in range(first, last):
        length, _ = _subsampled(text, text.documents[m], kept)
        if length < 2:
            continue
        unit = text.unit[m]
        for i in range(length):
            taken, row = np.int64(seen[unit] * share[unit]), np.int64(-1)
            seen[unit] += 1
            if np.int64(seen[unit] * share[unit]) > taken:
                row = start[unit] + taken
            word, cell_row = place[kept[i]], np.int64(-1)
            if word >= 0:
                cell = word * units + unit
                taken = np.int64(cell_seen[cell] * cell_share[cell])
                cell_seen[cell] += 1
                if np.int64(cell_seen[cell] * cell_share[cell]) > taken:
                    cell_row = cell_start[cell] + taken
            if row < 0 and cell_row < 0:
                continue
            low, high = max(0, i - text.window), min(length, i + text.window + 1)
            _window_sum(lanes, text.alpha, kept, i, low, high, h)
            for d in range(size):
                if row >= 0:
                    around[row, d] = h[d]
                if cell_row >= 0:
                    here[cell_row, d] = h[d]


@fast
def count_context_words(text, place, units, first, last, kept, together, alone):
    """Count the context words of each cell (cells, V), and of any position of each unit (U, V)."""
    for m in range(first, last):
        length, _ = _subsampled(text, text.documents[m], kept)
        if length < 2:
            continue
        unit = text.unit[m]
        for i in range(length):
            low, high = max(0, i - text.window), min(length, i + text.window + 1)
            alone[unit, kept[i]] += high - low - 1
            word = place[kept[i]]
            if word >= 0:
                for j in range(low, high):
                    if j != i:
                        together[word * units + unit, kept[j]] += 1
