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

Numbers are drawn in chunks with seeds of their own, so that p does not depend on how they are dealt out.
m rows, D dimensions, G labels, P permutations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.inference import kernels
from laplex.inference.units import Floats, Ints, Units

FIRST_DRAWS = 999
MAX_DRAWS = 999_999
ENOUGH_EXCEEDANCES = 10  # of a p that more draws would hardly change
CHUNK = 1_000  # draws with one seed
KEPT_BYTES = 2**28  # for labellings that all words share
ROUNDING = 1 - 1e-5  # statistics that differ by less are equal: sums are in single precision

Signs = NDArray[np.int8]


class Difference:
    """The statistic of any difference between labels 0 to G − 1."""

    def __init__(self, size: int) -> None:
        self.size = size

    def statistics(self, labels: NDArray[np.integer], residuals: NDArray[np.float32]) -> NDArray[np.floating]:
        """(P) T under labels (m, P); residuals are (m, D + 1), with τ in the last column."""
        found, rest = np.zeros(labels.shape[1], np.float32), residuals.sum(0, dtype=np.float64).astype(np.float32)
        total = rest[-1]
        for group in range(self.size):
            sums = rest
            if group < self.size - 1:
                sums = (labels == group).T.astype(np.float32) @ residuals
                rest = rest - sums
            share, square = sums[:, -1] / total, _squared_lengths(sums[:, :-1])
            found += np.divide(square, share, out=np.zeros_like(square), where=share > 1e-6)
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

    def statistics(self, labels: NDArray[np.integer], residuals: NDArray[np.float32]) -> NDArray[np.floating]:
        """(P) T under labels (m, P); residuals are (m, D + 1), with τ in the last column."""
        x, tau = self.x[labels].T, residuals[:, -1]
        mean, square = (x @ tau) / tau.sum(), (x * x @ tau) / tau.sum()
        variance = (square - mean * mean).astype(np.float64)
        # x is centered since residuals sum to zero only up to rounding
        length = (((x - mean[:, None]) @ residuals[:, :-1]).astype(np.float64) ** 2).sum(1)
        return np.asarray(np.divide(length, variance, out=np.zeros_like(length), where=variance > 1e-9))

    def directions(self, share: Floats) -> Floats:
        """(G, 1) How far each label is from the mean."""
        x = self.x.astype(np.float64)
        center = x - share @ x
        return np.asarray(center / np.sqrt(share @ center**2))[:, None]


Design = Difference | Trend


@dataclass(eq=False)
class Permutations:
    """The draws of one question, which all words share if units are few."""

    label: Ints  # (units) of the question's units, from 0
    nested: bool  # whether every cluster has one label
    row_per_unit: bool  # whether the rows of every table are the units, so that all words can share the draws
    seed: Sequence[int]
    _kept: dict[int, Signs] = field(default_factory=dict)

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
            observed = float(design.statistics(rows.label[:, None], values)[0])
            return WordPermutations(self, design, word, observed, values if self.row_per_unit else rows.by_piece())
        observed = float((rows.contributions(design).sum(0, dtype=np.float64) ** 2).sum())
        return WordPermutations(self, design, word, observed, rows.by_sign().contributions(design))

    def draws(self, size: int, word: int, first: int, last: int) -> Iterator[Signs]:
        """Labels, or signs, of `size` rows: (size, some draws) at a time."""
        for chunk in range(first // CHUNK, -(-last // CHUNK)):
            drawn = self._chunk(chunk, size, word)
            yield drawn[:, max(first - chunk * CHUNK, 0) : last - chunk * CHUNK]

    def _chunk(self, chunk: int, size: int, word: int) -> Signs:
        key = chunk if self.row_per_unit else -1
        if key in self._kept:
            return self._kept[key]
        random = np.random.default_rng([*self.seed, chunk, *([] if self.row_per_unit else [word])])
        if not self.nested:
            drawn = (2 * random.integers(0, 2, (size, CHUNK), np.int8) - 1).astype(np.int8)
        else:
            # of as many pieces as there are, the shares of labels are those of the units
            label = (
                self.label if self.row_per_unit else np.sort(self.label)[(np.arange(size) * len(self.label)) // size]
            )
            drawn = np.empty((size, CHUNK), np.int8)
            kernels.permute_labels(label.astype(np.int8), int(random.integers(2**62)), drawn)
        if self.row_per_unit and (chunk + 1) * drawn.nbytes <= KEPT_BYTES:
            self._kept[chunk] = drawn
        return drawn


@dataclass(frozen=True, eq=False)
class WordPermutations:
    """The statistic of one word, and what its permutations are made of."""

    question: Permutations
    design: Design
    word: int
    observed: float
    pieces: NDArray[np.float32]  # (pieces, …) what is permuted: e and τ, or y

    def exceedances(self, first: int, last: int) -> int:
        """How many of the draws from `first` up to `last` have a T at least as large as the labels have."""
        drawn = self.question.draws(len(self.pieces), self.word, first, last)
        return sum(int(np.count_nonzero(self._statistics(some) >= ROUNDING * self.observed)) for some in drawn)

    def _statistics(self, drawn: Signs) -> NDArray[np.floating]:
        if self.question.nested:
            return self.design.statistics(drawn, self.pieces)
        return _squared_lengths(drawn.T.astype(np.float32) @ self.pieces)


def _squared_lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
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

    def values(self) -> NDArray[np.float32]:
        """(m, D + 1) e and τ."""
        return np.concatenate([self.residual, self.tau[:, None]], 1).astype(np.float32)

    def by_piece(self) -> NDArray[np.float32]:
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

    def contributions(self, design: Design) -> NDArray[np.float32]:
        """(clusters, …) y, whose sum has the squared length T."""
        size = int(self.label.max()) + 1
        share = np.bincount(self.label, self.tau, size) / self.tau.sum()
        weights = design.directions(share)[self.label]
        y = np.einsum("mk,md->mkd", weights, self.residual).reshape(len(self.label), -1)
        return sum_by(y, self.cluster).astype(np.float32)


def sum_by(values: NDArray[np.floating], group: Ints) -> Floats:
    """Rows of one group added up, in the order of the groups; the rows as they are if each is a group."""
    if (group[1:] > group[:-1]).all():
        return np.asarray(values, np.float64)
    names, place = np.unique(group, return_inverse=True)
    if len(names) == len(values):
        return np.asarray(values, np.float64)
    membership = sparse.csr_array((np.ones(len(values)), (place, np.arange(len(values)))))
    return np.asarray(membership @ values.astype(np.float64))
