"""What a difference is made of: the context words that contribute to it, and the occurrences that carry it.

What is tested is the squared length of u = U_1/τ_1 − U_2/τ_2 in the metric of (Σ + κI)⁻¹ (`score_test.py`). With
v = (Σ + κI)⁻¹ u, the direction of the difference, and since every context h is a sum of context vectors α_c, it is a
sum over context words c:

    u·v = Σ_c (α_c·v) (x_1c − x_2c)    x_gc = Σ (1−σ) n_c / τ_g − Σ σ n_c / W_g

n_c is how often c is in the window, the first sum over the occurrences of the word in group g, the second over sampled
positions of its background, both with the weights of their units (`scores.py`): x_gc is how much more of c there is
around the word than the pooled fit expects. So the contributions of all context words add up to what is tested, and a
group has those with more of c around the word.

An occurrence carries the difference by v·(h − h̄), h̄ the mean of its group.
n occurrences, N sampled positions, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

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


def decompose(text: ScorePass, table: ScoreTable, found: Occurrences, groups: Sequence[Sequence[int]]) -> Decomposition:
    """Take the difference of a word between two groups of labels apart; `found` are its occurrences alone."""
    scores = group_scores(table, groups)
    assert scores is not None
    tau = scores.share * scores.tau.sum()
    direction = (scores.score[0] / tau[0] - scores.score[1] / tau[1]) @ scores.test_metric @ scores.test_metric.T
    group = np.full(len(text.units.labels), -1)
    for number, labels in enumerate(groups):
        group[list(labels)] = number
    group_of_unit = group[text.units.label]
    size = len(text.text.keep)
    excess, error = _excess(text, table, found, group_of_unit)
    along = text.text.alpha[:, : text.dimensions] @ direction
    inside = found.context >= 0
    height = np.where(inside, along[found.context], 0.0)
    height = height.sum(1) if text.text.sums_window else height.sum(1) / np.maximum(inside.sum(1), 1)
    of_occurrence = group_of_unit[found.unit]
    mean = [height[of_occurrence == number].mean() for number in (0, 1)]
    count = [np.bincount(found.context[(of_occurrence == g)[:, None] & inside], minlength=size) for g in (0, 1)]
    return Decomposition(
        *(direction, along * excess, abs(along) * error, excess, np.array(count)),
        *(np.where(of_occurrence < 0, np.nan, height - np.array([*mean, 0.0])[of_occurrence]), of_occurrence),
    )


def _excess(text: ScorePass, table: ScoreTable, found: Occurrences, group: Ints) -> tuple[Floats, Floats]:
    """(V) x_1c − x_2c, and its standard error by cluster.

    A cluster adds Z_c = Σ ± (n_c/τ − b_c/W) to it; its influence is what is left of Z when its share in τ times the
    mean of n, and its share in W times the mean of b, are taken out.
    """
    units, size = np.arange(len(text.units)), len(text.text.keep)
    clusters = np.unique(text.units.cluster, return_inverse=True)[1]
    here = found.weight * table.unit_weight[found.unit][:, None]
    around = table.sigma * np.repeat(table.unit_weight, np.diff(text.context_start))
    here_total = here.max(1, initial=0.0) if text.text.sums_window else here.sum(1)
    positions = np.repeat(units, np.diff(text.context_start))
    weight = [np.bincount(found.unit, here_total, len(units)), np.bincount(positions, around, len(units))]
    share = np.array([[np.bincount(clusters, np.where(group == g, w, 0.0)) for w in weight] for g in (0, 1)])
    total = np.maximum(share.sum(2), 1e-300)  # of few sampled positions, none may be of a group
    share /= total[:, :, None]
    excess, square, cross, mean = np.zeros(size), np.zeros(size), np.zeros((4, size)), np.zeros((4, size))
    kernels.add_context_words(
        *(np.argsort(clusters, kind="stable"), clusters, group, np.array([[1.0, -1.0], [-1.0, 1.0]]) / total),
        *(np.searchsorted(found.unit, [*units, len(units)]), found.context, here),
        *(text.context_start, text.context_words, np.broadcast_to(around[:, None], text.context_words.shape)),
        *(share.reshape(4, -1), excess, square, cross, mean),
    )
    square += (mean * (share.reshape(4, -1) @ share.reshape(4, -1).T @ mean - 2 * cross)).sum(0)
    return excess, np.sqrt(np.maximum(square, 0.0))
