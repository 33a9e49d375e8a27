"""What a difference is made of: the context words that contribute to it, and the occurrences that carry it.

What is tested is the squared length of a sum u over units in the metric of (Σ + κI)⁻¹. With v = (Σ + κI)⁻¹ u, the
direction of the difference, and since every context h is a sum of context vectors α_c, it is a sum over context words:

    u·v = Σ_c (α_c·v) x_c    x_c = Σ_units a_i Σ (1−σ) n_c − b_i Σ σ n_c

n_c is how often c is in the window, the first sum over the occurrences of the word in unit i, the second over sampled
positions of its background, both with the weights of units of `scores.py`. Between two groups (`score_test.py`) a is
±1/τ_g and b is ±1/W_g, so that x_c is how much more of c there is around the word in one group than in the other, net
of what the background leads one to expect; for a coefficient (`partial_scores.py`) they follow from the design matrix.
The contributions of all context words add up to what is tested, and a side has those with more of c around the word.

An occurrence carries the difference by v·(h − h̄), h̄ the mean of its side.
n occurrences, N sampled positions, U units, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.inference import kernels
from laplex.inference.occurrence_pass import OccurrencePass
from laplex.inference.score_test import group_scores
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.units import Floats, Ints

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class OccurrencePlaces:
    """Where words stand, and what is around them."""

    word: Ints  # (n) its number among those asked for
    unit: Ints  # (n)
    document: Ints  # (n)
    position: Ints  # (n) in the document
    context: NDArray[np.int32]  # (n, 2 window) the words around it, or −1
    weight: Singles  # (n, 2 window) (1 − σ) / the share of the word's occurrences that were taken, or 0

    def of(self, word: int) -> OccurrencePlaces:
        """Those of one word."""
        mine = self.word == word
        return OccurrencePlaces(*(getattr(self, field.name)[mine] for field in fields(self)))


def read_occurrences(text: ScorePass, chosen: Sequence[int], room: float = np.inf) -> OccurrencePlaces:
    """The occurrences of some words of a pass, after subsampling: all, or of frequent words a sample.

    There are about `room` of them at most. All that a sampled one adds to sums is divided by its word's share.
    """
    if isinstance(text, OccurrencePass):
        return OccurrencePlaces(*text.places_of(chosen))
    share = _shares(text.occurrences()[list(chosen)], room)
    place, rho, width = text.places(text.ids[list(chosen)]), text.rho[list(chosen)], 2 * text.text.window
    number = np.zeros(len(text.pieces), np.int64)
    none = np.empty((0, 4), np.int64), np.empty((0, width), np.float32), np.empty((0, width), np.int32)

    def read(
        piece: int, first: int, last: int, kept: NDArray[np.int32], count: Ints, *arrays: NDArray[np.generic]
    ) -> None:
        positions = np.empty(len(kept), np.int64)
        kernels.read_occurrences(text.lanes, text.text, place, rho, share, first, last, kept, positions, count, *arrays)

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
    return OccurrencePlaces(word, unit, document, position, context, weight)


def _shares(occurrences: Ints, room: float) -> Singles:
    """The share of each word's occurrences to take: as many of each of the frequent words, all of the others."""
    ascending = np.sort(occurrences)
    before = np.cumsum(ascending) - ascending
    most = np.max((room - before) / np.arange(len(ascending), 0, -1), initial=1.0)
    return np.minimum(1.0, most / np.maximum(occurrences, 1)).astype(np.float32)


class UnitWeights(NamedTuple):
    """The direction of a difference, how much each unit counts in it, and on which side it is."""

    direction: Floats  # (D) v
    here: Floats  # (U) a
    around: Floats  # (U) b
    side: Ints  # (U) 0, 1, or −1 for neither


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The contributions of all context words to a difference of a word."""

    direction: Floats  # (D) v
    contribution: Floats  # (V)
    error: Floats  # (V) its standard error by cluster, given v
    excess: Floats  # (V) x_c
    count: Ints  # (2, V) how often each is around the word on each side
    typicality: Floats  # (n) v·(h − h̄) of each occurrence
    side: Ints  # (n) of each occurrence: 0, 1, or −1 for neither


def group_weights(text: ScorePass, table: ScoreTable, groups: Sequence[Sequence[int]]) -> UnitWeights:
    """The weights of units in the difference between two groups of labels."""
    scores = group_scores(table, groups)
    assert scores is not None
    tau = scores.share * scores.tau.sum()
    direction = (scores.score[0] / tau[0] - scores.score[1] / tau[1]) @ scores.test_metric @ scores.test_metric.T
    side = sides_of_units(text, groups)
    around = table.unit_weight * np.bincount(_positions(text), table.sigma, len(side))
    weight = np.array([around[side == g].sum() for g in (0, 1)])
    weight = np.maximum(weight, 1e-300)  # of few sampled positions, none may be of a group
    sign = np.array([1.0, -1.0, 0.0])
    return UnitWeights(direction, (sign / [*tau, 1.0])[side], (sign / [*weight, 1.0])[side], side)


def sides_of_units(text: ScorePass, sides: Sequence[Sequence[int]]) -> Ints:
    """(U) The side of each unit, from the labels of two sides; −1 for neither."""
    side = np.full(len(text.units.labels), -1)
    for number, labels in enumerate(sides):
        side[list(labels)] = number
    return np.asarray(side[text.units.label])


def decompose(text: ScorePass, table: ScoreTable, found: OccurrencePlaces, weights: UnitWeights) -> Decomposition:
    """Take a difference of a word apart; `found` are its occurrences alone."""
    if isinstance(text, OccurrencePass):
        return _decompose_vectors(text, table, found, weights)
    size, direction = len(text.text.keep), weights.direction
    excess, error = _excess(text, table, found, weights)
    along = text.text.alpha[:, : text.dimensions] @ direction
    inside = found.context >= 0
    height = np.where(inside, along[found.context], 0.0)
    height = height.sum(1) if text.text.sums_window else height.sum(1) / np.maximum(inside.sum(1), 1)
    side = weights.side[found.unit]
    mean = [height[side == number].mean() if (side == number).any() else 0.0 for number in (0, 1)]
    count = [np.bincount(found.context[(side == g)[:, None] & inside], minlength=size) for g in (0, 1)]
    return Decomposition(
        *(direction, along * excess, abs(along) * error, excess, np.array(count)),
        *(np.where(side < 0, np.nan, height - np.array([*mean, 0.0])[side]), side),
    )


def _decompose_vectors(
    text: OccurrencePass, table: ScoreTable, found: OccurrencePlaces, weights: UnitWeights
) -> Decomposition:
    """The same for occurrences with vectors: the contribution of each is divided among the words around it."""
    size, direction = len(text.context_names), weights.direction
    inside, side = found.context >= 0, weights.side[found.unit]
    height = (text.vectors_of(found.document) - table.score.sum(0) / max(table.tau.sum(), 1e-300)) @ direction
    mine = height * (weights.here * table.unit_weight)[found.unit] / np.maximum(inside.sum(1), 1)
    cluster = np.unique(text.units.cluster, return_inverse=True)[1][found.unit]
    shape = int(cluster.max(initial=0)) + 1, size
    cells = np.broadcast_to(cluster[:, None], inside.shape)[inside], found.context[inside]
    by_cluster = sparse.csr_array((np.broadcast_to(mine[:, None], inside.shape)[inside], cells), shape=shape)
    contribution = np.asarray(by_cluster.sum(0))
    error = np.sqrt(np.maximum((by_cluster**2).sum(0) - contribution**2 / shape[0], 0.0))
    count = np.array([np.bincount(found.context[(side == g)[:, None] & inside], minlength=size) for g in (0, 1)])
    rate = count / np.maximum(np.bincount(side[side >= 0], minlength=2), 1)[:, None]
    mean = [height[side == number].mean() if (side == number).any() else 0.0 for number in (0, 1)]
    typicality = np.where(side < 0, np.nan, height - np.array([*mean, 0.0])[side])
    return Decomposition(direction, contribution, error, rate[0] - rate[1], count, typicality, side)


def _positions(text: ScorePass) -> Ints:
    """(N) The unit of each sampled position."""
    return np.repeat(np.arange(len(text.units)), np.diff(text.context_start))


def _excess(text: ScorePass, table: ScoreTable, found: OccurrencePlaces, weights: UnitWeights) -> tuple[Floats, Floats]:
    """(V) x_c, and its standard error by cluster.

    A cluster adds Z_c = Σ a n_c − b b_c to it; its influence is what is left of Z when its share in the weights of each
    side times the mean of n, and of b, are taken out. Units on neither side may count in a coefficient as well.
    """
    units, size = np.arange(len(text.units)), len(text.text.keep)
    clusters = np.unique(text.units.cluster, return_inverse=True)[1]
    group = np.where(weights.side < 0, 2, weights.side)
    here = found.weight * table.unit_weight[found.unit][:, None]
    around = table.sigma * np.repeat(table.unit_weight, np.diff(text.context_start))
    here_total = here.max(1, initial=0.0) if text.text.sums_window else here.sum(1)
    totals = np.bincount(found.unit, here_total, len(units)), np.bincount(_positions(text), around, len(units))
    scale = np.stack([weights.here, -weights.around], 1)
    groups = 3 if (scale[group == 2] != 0.0).any() else 2
    parts = [abs(scale[:, kind]) * total for kind, total in enumerate(totals)]
    share = np.array([[np.bincount(clusters, np.where(group == g, w, 0.0)) for w in parts] for g in range(groups)])
    share = (share / np.maximum(share.sum(2, keepdims=True), 1e-300)).reshape(2 * groups, -1)
    excess, square, cross, mean = np.zeros(size), np.zeros(size), *np.zeros((2, 2 * groups, size))
    kernels.add_context_words(
        *(np.argsort(clusters, kind="stable"), clusters, group, scale),
        *(np.searchsorted(found.unit, [*units, len(units)]), found.context, here),
        *(text.context_start, text.context_words, np.broadcast_to(around[:, None], text.context_words.shape)),
        *(share, excess, square, cross, mean),
    )
    square += (mean * (share @ share.T @ mean - 2 * cross)).sum(0)
    return excess, np.sqrt(np.maximum(square, 0.0))
