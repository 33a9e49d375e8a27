"""The inner loops that look up what stands around words: for each occurrence, and for every so many positions.

Documents are read in pieces, each by one thread. A first reading counts, a second one writes where the counts say, so
that no two threads write to the same place. What is left of a document after subsampling depends on the seed and the
document alone. S slices, V words of the language, n words asked about, D dimensions; a cell is a word in a slice.
"""
# mypy: ignore-errors
# (typed by Numba, when it is compiled)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laplex.engines.kernels import fast, seeded, subsample


class Text(NamedTuple):
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int64]  # those of the language
    slice: NDArray[np.int64]  # of each of them
    keep: NDArray[np.float32]  # (V) probability that an occurrence is kept
    alpha: NDArray[np.float32]  # (V, D)
    window: int
    seed: int


@fast
def _left(text, m, kept):
    """What is left of a document, in `kept`: how many tokens."""
    document = text.documents[m]
    state = seeded(text.seed + document)
    return subsample(text.ids, text.offsets[document], text.offsets[document + 1], text.keep, 0, kept, state)


@fast
def count(text, place, slices, first, last, kept, cells, positions):
    """Count occurrences by cell, and positions by slice, in documents `first` up to `last`."""
    for m in range(first, last):
        length = _left(text, m, kept)
        if length < 2:
            continue
        slice = text.slice[m]
        positions[slice] += length
        for i in range(length):
            word = place[kept[i]]
            if word >= 0:
                cells[word * slices + slice] += 1


@fast
def _write(text, kept, i, length, out):
    for d in range(len(out)):
        out[d] = np.float32(0.0)
    for j in range(max(0, i - text.window), min(length, i + text.window + 1)):
        if j != i:
            word = kept[j]  # read in the inner loop, it would keep it from being vectorised
            for d in range(len(out)):
                out[d] += text.alpha[word, d]


@fast
def write(text, place, slices, first, last, kept, cell_share, cell_seen, cell_start, here, share, seen, start, around):
    """Write down the sums of the contexts: a share of the occurrences of each cell, and of the positions of a slice.

    Of the first k of them, ⌊k·share⌋ are taken. `*_seen` are how many there are before this piece, which are counted
    on; `*_start` is where those of a cell, or of a slice, begin.
    """
    for m in range(first, last):
        length = _left(text, m, kept)
        if length < 2:
            continue
        slice = text.slice[m]
        for i in range(length):
            word = place[kept[i]]
            if word >= 0:
                cell = word * slices + slice
                taken = np.int64(cell_seen[cell] * cell_share[cell])
                cell_seen[cell] += 1
                if np.int64(cell_seen[cell] * cell_share[cell]) > taken:
                    _write(text, kept, i, length, here[cell_start[cell] + taken])
            taken = np.int64(seen[slice] * share[slice])
            seen[slice] += 1
            if np.int64(seen[slice] * share[slice]) > taken:
                _write(text, kept, i, length, around[start[slice] + taken])


@fast
def pair(text, place, slices, first, last, kept, together, alone):
    """Count with what words each cell (cells, V), and each slice (S, V), is seen: each context on its own."""
    for m in range(first, last):
        length = _left(text, m, kept)
        if length < 2:
            continue
        slice = text.slice[m]
        for i in range(length):
            low, high = max(0, i - text.window), min(length, i + text.window + 1)
            alone[slice, kept[i]] += high - low - 1
            word = place[kept[i]]
            if word >= 0:
                for j in range(low, high):
                    if j != i:
                        together[word * slices + slice, kept[j]] += 1
