"""What a difference is made of: the context words that contribute to it, and the occurrences that carry it.

What is tested is the squared length of u = U_1/τ_1 − U_2/τ_2 in the metric of (Σ + κI)⁻¹ (`score_test.py`). With
v = (Σ + κI)⁻¹ u, the direction of the difference, and since every context h is a sum of context vectors α_c, it is a
sum over context words c:

    u·v = Σ_c (α_c·v) (x_1c − x_2c)    x_gc = Σ (1−σ) n_c / τ_g − Σ σ n_c / W_g

n_c is how often c is in the window, the first sum over the occurrences of the word in group g, the second over sampled
positions of its background: x_gc is how much more of c there is around the word than the pooled fit expects. So the
contributions of all context words add up to what is tested, and a group has those with more of c around the word.

An occurrence carries the difference by v·(h − h̄), h̄ the mean of its group.
n occurrences, N sampled positions, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from laplex.inference import kernels
from laplex.inference.score_test import group_scores
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.units import Floats, Ints

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Where words stand, and what is around them."""

    word: Ints  # (n) its number among those asked for
    unit: Ints  # (n)
    document: Ints  # (n)
    position: Ints  # (n) in the document
    context: NDArray[np.int32]  # (n, 2 window) the words around it, or −1
    weight: Singles  # (n, 2 window) 1 − σ, or 0

    def of(self, word: int) -> Occurrences:
        """Those of one word."""
        mine = self.word == word
        return Occurrences(*(getattr(self, field.name)[mine] for field in fields(self)))


def read_occurrences(text: ScorePass, chosen: Sequence[int]) -> Occurrences:
    """All occurrences of some words of a pass, after subsampling."""
    place, rho, width = text.places(text.ids[list(chosen)]), text.rho[list(chosen)], 2 * text.text.window
    number = np.zeros(len(text.pieces), np.int64)
    none = np.empty((0, 4), np.int64), np.empty((0, width), np.float32), np.empty((0, width), np.int32)

    def read(
        piece: int, first: int, last: int, kept: NDArray[np.int32], count: Ints, *arrays: NDArray[np.generic]
    ) -> None:
        positions = np.empty(len(kept), np.int64)
        kernels.read_occurrences(text.lanes, text.text, place, rho, first, last, kept, positions, count, *arrays)

    text.each_piece(
        lambda thread, piece, first, last, kept: read(piece, first, last, kept, number[piece : piece + 1], *none)
    )
    start = np.concatenate([[0], np.cumsum(number)])
    where, weight = np.empty((start[-1], 4), np.int64), np.zeros((start[-1], width), np.float32)
    context = np.full((start[-1], width), -1, np.int32)

    def write(thread: int, piece: int, first: int, last: int, kept: NDArray[np.int32]) -> None:
        rows = slice(start[piece], start[piece + 1])
        if number[piece]:
            read(piece, first, last, kept, np.zeros(1, np.int64), where[rows], weight[rows], context[rows])

    text.each_piece(write)
    word, unit, document, position = np.ascontiguousarray(where.T)
    return Occurrences(word, unit, document, position, context, weight)


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The contributions of all context words to the difference of a word between two groups."""

    direction: Floats  # (D) v
    contribution: Floats  # (V)
    error: Floats  # (V) its standard error by cluster, given v
    excess: Floats  # (V) x_1c − x_2c
    count: Ints  # (2, V) how often each is around the word
    typicality: Floats  # (n) v·(h − h̄) of each occurrence
    group: Ints  # (n) of each occurrence: 0, 1, or −1 for neither


def decompose(
    text: ScorePass, table: ScoreTable, found: Occurrences, groups: Sequence[Sequence[int]], step: int = 1
) -> Decomposition:
    """Take the difference of a word between two groups of labels apart; `found` are its occurrences alone.

    With a `step`, the background is every step-th of the sampled positions: contributions then add up to what is tested
    only nearly, in a fraction of the time.
    """
    scores = group_scores(table, groups)
    assert scores is not None
    tau = scores.share * scores.tau.sum()
    direction = (scores.score[0] / tau[0] - scores.score[1] / tau[1]) @ scores.test_metric @ scores.test_metric.T
    group = np.full(len(text.units.labels), -1)
    for number, labels in enumerate(groups):
        group[list(labels)] = number
    group_of_unit = group[text.units.label]
    size = len(text.text.keep)
    sums_window = text.text.sums_window
    weight = found.weight.max(1) if sums_window else found.weight.sum(1)
    here = _Counts.of(found.unit, found.context, found.weight, weight, len(text.units), size)
    words, sigma, unit = _background(text, table.word, step)
    shares = np.where(words >= 0, sigma[:, None], 0.0).astype(np.float32)
    around = _Counts.of(unit, words, shares, sigma, len(text.units), size)
    excess, error = _excess(here, around, group_of_unit, text.units.cluster)
    along = text.text.alpha[:, : text.dimensions] @ direction
    inside = found.context >= 0
    height = np.where(inside, along[found.context], 0.0)
    height = height.sum(1) if sums_window else height.sum(1) / np.maximum(inside.sum(1), 1)
    of_occurrence = group_of_unit[found.unit]
    mean = [height[of_occurrence == number].mean() for number in (0, 1)]
    count = [np.bincount(found.context[(of_occurrence == g)[:, None] & inside], minlength=size) for g in (0, 1)]
    return Decomposition(
        *(direction, along * excess, abs(along) * error, excess, np.array(count)),
        *(np.where(of_occurrence < 0, np.nan, height - np.array([*mean, 0.0])[of_occurrence]), of_occurrence),
    )


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often context words are around some positions, by unit."""

    words: sparse.csr_array  # (U, V)
    total: Floats  # (U)

    @classmethod
    def of(
        cls, unit: Ints, words: NDArray[np.int32], weights: Singles, weight: Singles, units: int, size: int
    ) -> _Counts:
        inside = words >= 0
        rows = np.broadcast_to(unit[:, None], words.shape)[inside]
        counts = sparse.csr_array((weights[inside].astype(np.float64), (rows, words[inside])), shape=(units, size))
        return cls(counts, np.bincount(unit, weight, units).astype(np.float64))


def _background(text: ScorePass, word: int, step: int) -> tuple[NDArray[np.int32], Singles, Ints]:
    """The context words (N, 2 window) of the sampled positions, σ of the word there (N), and the unit of each (N)."""
    sigma = expit(text.contexts[::step] @ text.rho[word]).astype(np.float32)
    unit = np.repeat(np.arange(len(text.units)), np.diff(text.context_start))[::step]
    return text.context_words[::step], sigma, unit


def _excess(here: _Counts, around: _Counts, group: Ints, cluster: Ints) -> tuple[Floats, Floats]:
    """(V) x_1c − x_2c, and its standard error by cluster.

    A cluster adds Z_c = Σ ± (n_c/τ − b_c/W) to it; its influence is what is left of Z when its share in τ times the
    mean of n, and its share in W times the mean of b, are taken out.
    """
    terms, means, shares = [], [], []
    for number, sign in ((0, 1.0), (1, -1.0)):
        mine = np.flatnonzero(group == number)
        for counts, side in ((here, sign), (around, -sign)):
            total = max(float(counts.total[mine].sum()), 1e-300)  # of few positions, none may be a group's
            scaled = np.where(group == number, side / total, 0.0)
            terms.append(sparse.diags_array(scaled) @ counts.words)
            means.append(np.asarray(counts.words[mine].sum(0)) / total)
            shares.append(scaled * counts.total)
    unit_terms = (terms[0] + terms[1] + terms[2] + terms[3]).tocsr()
    names, place = np.unique(cluster, return_inverse=True)
    membership = sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=(len(names), len(place)))
    z, leverage = (membership @ unit_terms).tocsr(), membership @ np.array(shares).T  # (K, V), (K, 4)
    q = np.array(means)  # (4, V)
    square = np.asarray(z.power(2).sum(0)) - 2 * (q * (z.T @ leverage).T).sum(0)
    square += (q * (leverage.T @ leverage @ q)).sum(0)
    return np.asarray(z.sum(0)), np.sqrt(np.maximum(square, 0.0))
