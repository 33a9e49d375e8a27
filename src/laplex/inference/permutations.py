"""p-values by counting: how often permuted labels give a statistic at least as large as the labels do.

Rows of a table have residuals e_c, of which label and frequency explain nothing, and which sum to zero. Under any
labels of the rows

    groups    T = Σ_g ‖Σ_{c in g} e_c‖² / f_g         f_g the share of label g in τ
    a line    T = ‖Σ_c x_c e_c‖² / Var(x)            the variance weighted by τ

Where every cluster has one label, labels are exchanged between whole clusters (Freedman and Lane's method: residuals
under the null hypothesis are permuted, not the text: groups of permuted text would mix backgrounds and frequencies,
which is noise that the real groups do not have). If clusters are many, those without the word are exchanged in blocks.
Where a cluster has text under several labels, labels cannot be exchanged, and the signs of the clusters' contributions
y to T = ‖Σ y‖² are flipped by chance.

m rows, D dimensions, G labels, P permutations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.inference import kernels, row_kernels
from laplex.inference.buffers import buffer
from laplex.inference.counting import CHUNK, Counted, Draws, Kept, Singles
from laplex.inference.units import Floats, Ints, Units

LEAST_SHARE = 1e-6  # of a group in τ, below which it adds nothing

Signs = NDArray[np.int8]


class Difference:
    """The statistic of any difference between labels 0 to G − 1."""

    def __init__(self, size: int) -> None:
        self.size = size

    def code(self, labels: NDArray[np.integer[Any]]) -> Singles:
        """(G − 1, P, m) Who has each label but the last, of labels (m, P)."""
        return np.asarray(np.arange(self.size - 1)[:, None, None] == labels.T, np.float32)

    def statistics(self, coded: Singles, residuals: Singles) -> Singles:
        """(P) T under coded labels; residuals are (m, D + 1), with τ in the last column."""
        shape = coded.shape[1], residuals.shape[1]
        found, sums, rest = np.zeros(shape[0], np.float32), buffer("sums", *shape), buffer("rest", *shape)
        rest[:] = whole = residuals.sum(0, dtype=np.float64)
        total = np.float32(whole[-1])
        for group, of_group in enumerate(coded):
            np.matmul(of_group, residuals, out=sums)
            last = group == len(coded) - 1
            row_kernels.add_squared_lengths(sums, rest, total, np.float32(LEAST_SHARE), last, found)
        return found

    def directions(self, share: Floats) -> Floats:
        """(G, G − 1) v_g, with which Σ_c v_g(c) ⊗ e_c has the squared length T: v_g·v_h = [g = h] / f_g − 1."""
        share = np.maximum(share, 1e-12)  # of a label that lacks the word, whose residuals are zero
        complement = np.linalg.svd(np.sqrt(share)[None])[2][1:].T
        return np.asarray(((np.eye(self.size) - share) / np.sqrt(share)) @ complement)


class Trend:
    """The statistic of a trend along numbers x (G) of the labels."""

    def __init__(self, x: Floats) -> None:
        self.x = x.astype(np.float32)

    def code(self, labels: NDArray[np.integer[Any]]) -> Singles:
        """(2, P, m) x and its square, of labels (m, P)."""
        x = self.x[labels].T
        return np.stack([x, x * x])

    def statistics(self, coded: Singles, residuals: Singles) -> NDArray[np.floating[Any]]:
        """(P) T under coded labels; residuals are (m, D + 1), with τ in the last column."""
        sums, squares = coded[0] @ residuals, coded[1] @ residuals[:, -1]
        total = residuals.sum(0, dtype=np.float64)
        mean = sums[:, -1] / np.float32(total[-1])
        variance = (squares / np.float32(total[-1]) - mean * mean).astype(np.float64)
        # x is centered since residuals sum to zero only up to rounding
        centered = sums[:, :-1] - np.outer(mean, total[:-1])
        length = np.einsum("pd,pd->p", centered, centered)
        return np.asarray(np.divide(length, variance, out=np.zeros_like(length), where=variance > 1e-9))

    def directions(self, share: Floats) -> Floats:
        """(G, 1) How far each label is from the mean."""
        x = self.x.astype(np.float64)
        center = x - share @ x
        return np.asarray(center / np.sqrt(share @ center**2))[:, None]


Design = Difference | Trend


@dataclass(eq=False)
class Permutations(Draws):
    """The draws of one question, which all words share if units are few."""

    label: Ints  # (units) of the question's units, from 0
    nested: bool  # whether every cluster has one label
    row_per_unit: bool  # whether the rows of every table are the units, so that all words can share the draws
    seed: Sequence[int]
    kept: Kept = field(default_factory=Kept)

    @classmethod
    def of(cls, units: Units, groups: Sequence[Sequence[int]], row_per_unit: bool, seed: Sequence[int]) -> Permutations:
        """Permutations of the labels of the units in groups of labels."""
        place = np.full(len(units.labels), -1)
        for group, labels in enumerate(groups):
            place[list(labels)] = group
        inside = place[units.label] >= 0
        clusters = len(np.unique(units.cluster[inside]))
        return cls(place[units.label[inside]], clusters == np.count_nonzero(inside), row_per_unit, seed)

    def of_word(self, rows: Residuals, design: Design, word: int) -> WordPermutations:
        """The permutations of one word.

        `word` is its number in the vocabulary, so that draws do not depend on which other words are tested.
        """
        if self.nested:
            values = rows.values()
            observed = float(design.statistics(design.code(rows.label[:, None]), values)[0])
            return WordPermutations(self, word, observed, values if self.row_per_unit else rows.by_piece(), design)
        observed = float((rows.contributions(design).sum(0, dtype=np.float64) ** 2).sum())
        return WordPermutations(self, word, observed, rows.by_sign().contributions(design), design)

    def are_shared(self, size: int) -> bool:
        return self.row_per_unit

    def draw(self, chunk: int, size: int, word: int) -> Signs:
        """(size, CHUNK) Labels, or signs."""
        random = np.random.default_rng([*self.seed, chunk, *([] if self.row_per_unit else [word])])
        if not self.nested:
            return (2 * random.integers(0, 2, (size, CHUNK), np.int8) - 1).astype(np.int8)
        # of as many pieces as there are, the shares of labels are those of the units
        label = self.label if self.row_per_unit else np.sort(self.label)[(np.arange(size) * len(self.label)) // size]
        drawn = np.empty((size, CHUNK), np.int8)
        kernels.permute_labels(label.astype(np.int8), int(random.integers(2**62)), drawn)
        return drawn


@dataclass(frozen=True, eq=False)
class WordPermutations(Counted):
    """The statistic of one word, and what its permutations are made of: e and τ, or y."""

    question: Permutations
    word: int
    observed: float
    pieces: Singles
    kind: Design

    def code(self, drawn: NDArray[np.signedinteger[Any]]) -> Singles:
        return self.kind.code(drawn) if self.question.nested else drawn.T.astype(np.float32)

    def statistics(self, coded: Singles) -> NDArray[np.floating[Any]]:
        return (
            self.kind.statistics(coded, self.pieces) if self.question.nested else squared_lengths(coded @ self.pieces)
        )


def squared_lengths(rows: Singles) -> Singles:
    """(P) Those of rows."""
    return np.asarray(np.einsum("pd,pd->p", rows, rows))


@dataclass(frozen=True, eq=False)
class Residuals:
    """What label and frequency do not explain of the rows of a table, in the metric of T; they sum to zero."""

    residual: Floats  # (m, D) e
    tau: Floats  # (m)
    label: Ints  # (m) from 0
    cluster: Ints  # (m)
    piece: Ints  # (m) rows that always have the same label
    size: Ints  # (m) how many units each row has

    def values(self) -> Singles:
        """(m, D + 1) e and τ."""
        return np.concatenate([self.residual, self.tau[:, None]], 1).astype(np.float32)

    def by_piece(self) -> Singles:
        """(pieces, D + 1) The same by piece, which vary as if units that share a piece had labels of their own.

        What units without the word have in common adds up within blocks. And how many pieces with the word get a label
        varies less, the fewer other pieces there are. So the means of the two kinds of pieces are put as far apart as
        gives sums the variance that the exchange of single units gives them.
        """
        values = sum_by(self.values(), self.piece)
        size = sum_by(self.size[:, None].astype(np.float64), self.piece)[:, 0]
        block = size > 1
        if not block.any() or block.all():
            return values.astype(np.float32)
        e, pieces, units = values[:, :-1], len(values), float(size.sum())
        with_word, without = e[~block].mean(0), e[block].sum(0) / size[block].sum()
        ratio = np.sqrt(size[block].sum() / units * pieces / np.count_nonzero(block))
        e[block] += with_word - ratio * (with_word - without) - np.outer(size[block], without)
        e -= e.mean(0)
        return values.astype(np.float32)

    def by_sign(self) -> Residuals:
        """The same with what units of a shared row have in common taken down to what it adds if signs are their own."""
        shared = self.size > 1
        if not shared.any():
            return self
        residual = self.residual.copy()
        for label in np.unique(self.label[shared]):
            mine = shared & (self.label == label)
            size = self.size[mine]
            residual[mine] -= np.outer(size - np.sqrt(size), residual[mine].sum(0) / size.sum())
        return replace(self, residual=residual)

    def contributions(self, design: Design) -> Singles:
        """(clusters, …) y, whose sum has the squared length T."""
        size = int(self.label.max()) + 1
        share = np.bincount(self.label, self.tau, size) / self.tau.sum()
        weights = design.directions(share)[self.label]
        y = np.einsum("mk,md->mkd", weights, self.residual).reshape(len(self.label), -1)
        return sum_by(y, self.cluster).astype(np.float32)


def number_clusters(cluster: Ints) -> tuple[int, Ints]:
    """How many clusters rows have, and the number (m) of that of each row."""
    if (cluster[1:] > cluster[:-1]).all():
        return len(cluster), np.arange(len(cluster))
    names, place = np.unique(cluster, return_inverse=True)
    return len(names), place


def sum_by(values: NDArray[np.floating], group: Ints) -> Floats:
    """Rows of one group added up, in the order of the groups; the rows as they are if each is a group."""
    number, place = number_clusters(group)
    if number == len(values):
        return np.asarray(values, np.float64)
    membership = sparse.csr_array((np.ones(len(values)), (place, np.arange(len(values)))))
    return np.asarray(membership @ values.astype(np.float64))
