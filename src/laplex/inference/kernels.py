"""The inner loops of passes over the text.

For a word w with vector ρ, h the context at a position (the sum of the window's vectors for CBOW, each of them for
SGNS), and σ = σ(ρ·h), a pass for tests sums

    where w stands       s = Σ (1−σ) h    τ = Σ (1−σ)      by word and unit
    everywhere           B = Σ σ h        W = Σ σ          by word and unit, over sampled positions

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

from laplex.engines.kernels import LANE, F, fast, logistic, logistic_one, seeded, subsample, uniform

WORDS_IN_CACHE = 16  # whose sums fit into the first cache


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
def _has_word(text, place, document):
    """Whether a document has one of the words that have a place."""
    i, end = text.offsets[document], text.offsets[document + 1]
    while i < end and place[text.ids[i]] < 0:
        i += 1
    return i < end


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
def _add_occurrence(lanes, h, rho, word, pair, s, tau):
    """Add one context of an occurrence to s and τ of its pair."""
    score = F(0.0)
    for d in range(LANE * len(lanes)):
        score += rho[word, d] * h[d]
    sigma = logistic_one(score)
    for d in range(LANE * len(lanes)):
        s[pair, d] += (F(1.0) - sigma) * h[d]
    tau[pair] += F(1.0) - sigma


@fast
def occurrence_sums(lanes, text, tested, first, last, kept, s, tau):
    """Add the sums of documents `first` up to `last` where the words stand."""
    place, rho, start, units = tested
    total = np.empty(LANE * len(lanes), np.float32)
    pair = np.zeros(len(rho), np.int64)
    seen = np.full(len(rho), -1, np.int64)
    for m in range(first, last):
        unit = text.unit[m]
        if not _has_word(text, place, text.documents[m]):
            continue
        length, _ = _subsampled(text, text.documents[m], kept)
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
                _add_occurrence(lanes, total, rho, word, pair[word], s, tau)
                continue
            for j in range(low, high):
                if j != i:
                    _add_occurrence(lanes, text.alpha[kept[j]], rho, word, pair[word], s, tau)


@fast
def sample_positions(text, chance, first, last, kept, counts, start, words):
    """Sample positions of documents `first` up to `last`, counting by unit.

    If `words` (rows, 2 window) has rows, write the context words of each position, and −1 where there are fewer.
    """
    write = len(words) > 0
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
                        place = 0
                        for j in range(low, high):
                            if j != i:
                                words[start[unit] + counts[unit], place] = kept[j]
                                place += 1
                    counts[unit] += 1
                continue
            for j in range(low, high):
                if j != i and uniform(state) < chance:
                    if write:
                        words[start[unit] + counts[unit], 0] = kept[j]
                    counts[unit] += 1


@fast
def sum_contexts(lanes, alpha, words, contexts):
    """Write the sum of the vectors of the words of each row, as `sample_positions` has written them."""
    for row in range(len(words)):
        for word in words[row]:
            if word >= 0:
                for d in range(LANE * len(lanes)):
                    contexts[row, d] += alpha[word, d]


@fast
def read_occurrences(lanes, text, place, rho, share, first, last, kept, positions, number, where, weights, words):
    """A `share` (n) of the occurrences of some words after subsampling, in `number` how many there are so far.

    If `where` (m, 4) has rows: its word, unit, document and position there, and of each word around it (m, 2 window)
    which it is, or −1, and its weight (1 − σ) / share.
    """
    h = np.empty(LANE * len(lanes), np.float32)
    for m in range(first, last):
        document = text.documents[m]
        if not _has_word(text, place, document):
            continue
        state = seeded(text.seed + document)
        length, start = 0, text.offsets[document]
        for i in range(start, text.offsets[document + 1]):
            chance = text.keep[text.ids[i]]
            if chance >= F(1.0) or uniform(state) < chance:
                kept[length], positions[length] = text.ids[i], i - start
                length += 1
        if length < 2:
            continue
        for i in range(length):
            word = place[kept[i]]
            if word < 0 or (share[word] < F(1.0) and uniform(state) >= share[word]):
                continue
            if len(where) > 0:
                row, column = number[0], 0
                where[row, 0], where[row, 1], where[row, 2], where[row, 3] = word, text.unit[m], document, positions[i]
                low, high = max(0, i - text.window), min(length, i + text.window + 1)
                if text.sums_window:
                    _window_sum(lanes, text.alpha, kept, i, low, high, h)
                for j in range(low, high):
                    if j == i:
                        continue
                    score = F(0.0)
                    for d in range(LANE * len(lanes)):
                        score += rho[word, d] * (h[d] if text.sums_window else text.alpha[kept[j], d])
                    words[row, column], weights[row, column] = kept[j], (F(1.0) - logistic_one(score)) / share[word]
                    column += 1
            number[0] += 1


@fast
def permute_labels(label, seed, drawn):
    """Write permutations of `label` (units) into the columns of `drawn`."""
    state, row = seeded(seed), label.copy()
    for column in range(drawn.shape[1]):
        for i in range(len(row) - 1, 0, -1):
            j = min(np.int64(uniform(state) * (i + 1)), i)
            row[i], row[j] = row[j], row[i]
        for i in range(len(row)):
            drawn[i, column] = row[i]


@fast
def logistic_rows(scores):
    """The logistic function of every number of a matrix, in place."""
    flat = scores.reshape(scores.size)
    logistic(flat, np.empty(scores.size, np.int32), scores.size)


@fast
def unit_sums(lanes, contexts, start, sigma, units, sums, weights):
    """Sums over the sampled positions of some units: `sums` (units, W) of σ h and `weights` (units) of σ."""
    for k in range(len(units)):
        for i in range(start[units[k]], start[units[k] + 1]):
            weights[k] += sigma[i]
            for d in range(LANE * len(lanes)):
                sums[k, d] += sigma[i] * contexts[i, d]


@fast
def cell_sums(lanes, contexts, start, sigma, sums, weights):
    """Sums over the sampled positions of cells for some words, σ (n, N): (cells, n, W) of σ h, (cells, n) of σ."""
    for cell in range(len(start) - 1):
        for first in range(0, len(sigma), WORDS_IN_CACHE):
            last = min(first + WORDS_IN_CACHE, len(sigma))
            for i in range(start[cell], start[cell + 1]):
                for k in range(first, last):
                    weights[cell, k] += sigma[k, i]
                    for d in range(LANE * len(lanes)):
                        sums[cell, k, d] += sigma[k, i] * contexts[i, d]


@fast
def add_context_words(
    units,
    cluster,
    group,
    scale,
    here_start,
    here,
    here_weights,
    start,
    around,
    weights,
    share,
    excess,
    square,
    cross,
    mean,
):
    """Sum what each cluster adds to the excess of every context word: z = Σ scale · weight, with a `scale` (U, 2).

    `units` are sorted by `cluster`, and `group` is the number of each of g groups. `here` are the words around
    occurrences, those of unit u from here_start[u] on, and `around` those of the background. Written are the sum of z,
    that of its square, those of its products with `share` (2 g, K), and sums by group and kind of position (2 g, V).
    """
    z, last = np.zeros(len(excess)), np.full(len(excess), -1, np.int64)
    touched, number = np.empty(len(excess), np.int32), 0
    for k in range(len(units)):
        unit = units[k]
        c, g = cluster[unit], group[unit]
        if scale[unit, 0] != 0.0 or scale[unit, 1] != 0.0:
            number = _add_words(
                here, here_weights, here_start, unit, c, scale[unit, 0], z, last, touched, number, mean[2 * g]
            )
            number = _add_words(
                around, weights, start, unit, c, scale[unit, 1], z, last, touched, number, mean[2 * g + 1]
            )
        if k + 1 < len(units) and cluster[units[k + 1]] == c:
            continue
        for i in range(number):
            word = touched[i]
            excess[word] += z[word]
            square[word] += z[word] * z[word]
            for j in range(len(share)):
                cross[j, word] += z[word] * share[j, c]
            z[word] = 0.0
        number = 0


@fast
def _add_words(words, weights, start, unit, cluster, scale, z, last, touched, number, mean):
    """Add the weights of a unit's words to z, and note the words that are new in its cluster."""
    for row in range(start[unit], start[unit + 1]):
        for column in range(words.shape[1]):
            word = words[row, column]
            if word < 0:
                continue
            if last[word] != cluster:
                last[word] = cluster
                touched[number] = word
                number += 1
            weight = scale * weights[row, column]
            z[word] += weight
            mean[word] += weight
    return number


@fast
def count_cells(text, place, units, everywhere, first, last, kept, cells, positions):
    """Count occurrences by cell, and positions by unit, in documents `first` up to `last`.

    Unless `everywhere`, documents without these words are left out.
    """
    for m in range(first, last):
        if not (everywhere or _has_word(text, place, text.documents[m])):
            continue
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
    lanes,
    text,
    place,
    units,
    everywhere,
    first,
    last,
    kept,
    cell_share,
    cell_seen,
    cell_start,
    here,
    share,
    seen,
    start,
    around,
):
    """Write down window sums: a share of the occurrences of each cell, and of the positions of a unit.

    Of the first k of them, ⌊k·share⌋ are taken. `*_seen` are how many there are before this piece, which are counted
    on; `*_start` is where those of a cell, or of a unit, begin. Unless `everywhere`, documents without these words are
    left out.
    """
    h = np.empty(LANE * len(lanes), np.float32)
    size = here.shape[1]
    for m in range(first, last):
        if not (everywhere or _has_word(text, place, text.documents[m])):
            continue
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
def count_context_words(text, place, units, everywhere, first, last, kept, together, alone):
    """Count the context words of each cell (cells, V), and if `everywhere` of any position of each unit (U, V)."""
    for m in range(first, last):
        if not (everywhere or _has_word(text, place, text.documents[m])):
            continue
        length, _ = _subsampled(text, text.documents[m], kept)
        if length < 2:
            continue
        unit = text.unit[m]
        for i in range(length):
            low, high = max(0, i - text.window), min(length, i + text.window + 1)
            if everywhere:
                alone[unit, kept[i]] += high - low - 1
            word = place[kept[i]]
            if word >= 0:
                for j in range(low, high):
                    if j != i:
                        together[word * units + unit, kept[j]] += 1


@fast
def add_unit_products(rows, start, place, cluster, vectors, products):
    """Add A x by unit, A = Σ r rᵀ over the unit's rows: `vectors` and `products` are (places, clusters, D)."""
    size = rows.shape[1]
    for unit in range(len(place)):
        x, product = vectors[place[unit], cluster[unit]], products[place[unit], cluster[unit]]
        for i in range(start[unit], start[unit + 1]):
            score = F(0.0)
            for d in range(size):
                score += rows[i, d] * x[d]
            for d in range(size):
                product[d] += score * rows[i, d]
