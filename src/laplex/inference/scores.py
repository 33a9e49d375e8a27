"""The pass over the text that tests are made from: the sums of each word by sampling unit.

For a word w with pooled vector ρ, h the context at a position and σ = σ(ρ·h), a unit c has

    s_c = Σ (1−σ) h    τ_c = Σ (1−σ)    where w stands
    B_c = Σ σ h        W_c = Σ σ        the background: what the pooled fit expects, over sampled positions

and Σ is the covariance of h over all positions, weighted by σ: the curvature of the log likelihood for one occurrence.

Units that use a word very often count less, or a few of them would decide how it differs: all four sums of a unit are
multiplied by 1 / (1 + τ_c / 3τ̄), τ̄ the mean τ of the units that use the word. So a unit counts at most four times as
much as the mean one. What distinguishes a unit from others does not average out within it, so this gains power.

A table has a row for each unit. If clusters are many, as documents are, only the units of those that have the word have
a row; the others share one for each block and label, where blocks are made by chance.
U units, n words, m rows of a table, D dimensions, W padded dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.inference import kernels, row_kernels
from laplex.inference.buffers import buffer
from laplex.inference.latest import Latest, hashed
from laplex.inference.statistics import TextPass, pad, starts_of, thread_pool, units_with_words
from laplex.inference.units import Floats, Ints, Options, Units
from laplex.runtime.display import bar
from laplex.text.tokens import Tokens

BACKGROUND_POSITIONS = 200_000  # that are sampled; all of them if there are fewer
MAX_COVARIANCE_CANDIDATES = 50_000  # of these, among which some are sampled for the covariance of a word's contexts
COVARIANCE_POSITIONS = 3_000
ROWS_PER_PRODUCT = 1_500  # of these, which fit into the cache
MAX_CLUSTERS_WITH_ROWS = 1_000  # with more clusters, units of those without a word share rows
BLOCKS = 256  # of units without the word, and fewer if labels are many:
MAX_SHARED_ROWS = 2_048
POSITIONS_PER_PRODUCT = 4_096
CELLS_PER_KERNEL = 1_000  # from which on sums by cell are made by a kernel, as the products of a cell are small
WORDS_PER_TILE = 128  # for which the background is read at once, and fewer if cells are many:
TILE_BYTES = 2**26
WEIGHT_LIMIT = 3.0  # of a unit's text of a word, relative to that of the mean unit, at which half of it counts
BATCH_BYTES = 768 * 2**20  # for the sums of a batch of words over their occurrences

Result = TypeVar("Result")
Singles = NDArray[np.float32]
# the words and their units, and s and τ of each pair
OccurrenceSums: TypeAlias = "tuple[kernels.WordsInUnits, Singles, Singles]"


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The weighted sums of a word by unit."""

    word: int  # its number among those tested
    id: int  # its number in the vocabulary
    label: Ints  # (m)
    cluster: Ints  # (m) rows with the same number belong together
    piece: Ints  # (m) rows with the same number get the same label when labels are permuted
    size: Ints  # (m) how many units each row has
    score: Floats  # (m, D) s
    tau: Floats  # (m)
    background: Floats  # (m, D) B
    weight: Floats  # (m) W
    covariance: Floats  # (D, D) Σ
    sigma: Singles = field(
        default_factory=lambda: np.empty(0, np.float32)
    )  # (N) σ at the sampled positions of the background, if they were asked for
    unit_weight: Floats = field(default_factory=lambda: np.empty(0))  # (U)


class Background(NamedTuple):
    """Positions that are sampled from the whole text, sorted by unit."""

    chance: float  # of a position
    start: Ints  # (U + 1) where those of each unit begin
    words: NDArray[np.int32]  # (N, 2 window) the words around each, or −1
    contexts: Singles  # (N, W)


_background: Latest[Background] = Latest()


class TableRows(NamedTuple):
    """Which rows the table of a word has."""

    label: Ints  # (m)
    cluster: Ints  # (m)
    piece: Ints  # (m)
    size: Ints  # (m) how many units each row has
    unit: Ints  # the unit of each row that has one of its own; these rows come first
    of_pair: Ints  # the row of each unit that has the word


@dataclass(frozen=True, eq=False)
class Cells:
    """Units that stand together: each alone or, if they are many, those of one block and label."""

    start: Ints  # (cells + 1) the first unit of each cell
    label: Ints  # (cells)
    block: Ints  # (cells)
    shared: bool

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def of_unit(self) -> Ints:
        """(U) The cell of each unit."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def rows(self, owners: Ints, units: Units) -> TableRows:
        """The rows of a word that some units have: all units or, if cells are shared, those of clusters that have it
        and then the cells.
        """
        if not self.shared:
            every = np.arange(len(units))
            return TableRows(units.label, units.cluster, units.cluster, np.ones_like(every), every, owners)
        own = owners
        if not units.nested:
            has_word = np.zeros(int(units.cluster.max()) + 1, bool)
            has_word[units.cluster[owners]] = True
            own = np.flatnonzero(has_word[units.cluster])
        label, beyond = np.concatenate([units.label[own], self.label]), int(units.cluster.max(initial=0)) + 1
        cluster = np.concatenate([units.cluster[own], beyond + self.block])
        others = np.diff(self.start) - np.bincount(self.of_unit[own], minlength=len(self))
        size = np.concatenate([np.ones(len(own), np.int64), others])
        piece = np.unique(cluster, return_inverse=True)[1]
        return TableRows(label, cluster, piece, size, own, np.searchsorted(own, owners))


def sort_into_cells(units: Units, seed: int) -> tuple[Units, Cells]:
    """Units in the order of their cells. Blocks are made of clusters by chance, whatever their labels."""
    clusters = int(units.cluster.max()) + 1
    if clusters <= MAX_CLUSTERS_WITH_ROWS:
        return units, Cells(np.arange(len(units) + 1), units.label, np.arange(len(units)), False)
    blocks = max(min(BLOCKS, MAX_SHARED_ROWS // len(np.unique(units.label))), 1)
    block = np.random.default_rng([seed, 4]).integers(blocks, size=clusters)[units.cluster]
    units, block = units.reorder(order := np.lexsort((units.label, block))), block[order]
    first = np.flatnonzero(np.diff(block * len(units.labels) + units.label, prepend=-1))
    return units, Cells(np.append(first, len(units)), units.label[first], block[first], True)


class ScorePass(TextPass):
    """A pass for tests: which units have which words, and a sample of the background."""

    whole_units = True

    def __init__(
        self,
        tokens: Tokens,
        units: Units,
        pooled: Embeddings,
        ids: Sequence[int],
        language: int,
        options: Options,
    ) -> None:
        self.units, self.cells = sort_into_cells(units, options.seed)
        super().__init__(tokens, self.units.documents, self.units.start, pooled, language, options)
        self.ids, self.quiet, self.seed = np.asarray(ids, np.int64), options.quiet, options.seed
        self.vocabulary = tokens.vocabularies[language]
        self.context_names: Sequence[str] = self.vocabulary.words
        self.rho = pad(pooled.take(list(ids), language, 0))
        self.find_units()
        key = (tokens.digest, language, options.seed, hashed(units.documents, units.start, self.units.documents))
        sampled = _background.get(pooled.theta, key)
        if sampled is None:
            sampled = self._sample_background(tokens.vocabularies[language].counts)
            _background.keep(pooled.theta, key, sampled)
        self._chance, self.context_start, self.context_words, self.contexts = sampled
        self._candidate_step = max(1, len(self.contexts) // MAX_COVARIANCE_CANDIDATES)
        self._candidates = np.ascontiguousarray(self.contexts[:: self._candidate_step, : self.dimensions])

    def find_units(self) -> None:
        """Find the units that have each word, and how often."""
        text = self.text
        self.start, self.unit, self.count = units_with_words(
            text.ids, text.offsets, text.documents, text.unit, self.places(self.ids), len(self.ids)
        )

    def _sample_background(self, word_counts: Ints) -> Background:
        """Sample positions of the background, sorted by unit."""
        text = self.text
        kept = float(text.keep @ word_counts) / max(float(word_counts.sum()), 1.0)
        expected = kept * float(self.lengths.sum()) * (1 if text.sums_window else 2 * text.window)
        share = min(1.0, BACKGROUND_POSITIONS / max(expected, 1.0))
        chance = np.float32(2.0 if share == 1.0 else share)

        def read(start: Ints, words: NDArray[np.int32]) -> Ints:
            counts = np.zeros(len(self.units), np.int64)
            self.each_piece(
                lambda thread, piece, first, last, kept: kernels.sample_positions(
                    text, chance, first, last, kept, counts, start, words
                )
            )
            return counts

        window = 2 * text.window
        start = starts_of(read(np.zeros(1, np.int64), np.empty((0, window), np.int32)))
        words = np.full((int(start[-1]), window), -1, np.int32)
        if len(words):
            read(start, words)
        contexts = np.zeros((len(words), self.rho.shape[1]), np.float32)
        kernels.sum_contexts(self.lanes, text.alpha, words, contexts)
        return Background(share, start, words, contexts)

    def memory(self) -> int:
        """The bytes that a pass over all words takes at most, about: contexts, sums over occurrences and a tile."""
        width, cells = self.rho.shape[1], len(self.cells)
        sums = min(BATCH_BYTES, 4 * (width + 1) * len(self.unit))
        positions = len(self.contexts) if self.cells.shared else len(self._candidates)
        tile = min(self._words_per_tile, len(self.ids)) * 4 * (positions + cells * width)
        table = 6 * 8 * self.dimensions * max(len(self.units) if not self.cells.shared else self._most_units, cells)
        return int(self.contexts.nbytes + self.context_words.nbytes + sums + self.threads * (tile + table))

    @property
    def _most_units(self) -> int:
        """How many units the most frequent word has."""
        return int(np.diff(self.start).max(initial=0))

    def background_scale(self, word: int) -> float:
        """What a sampled position counts in the background of a word of the vocabulary."""
        return float(self.negatives[word] / self._chance)

    def exchanged(self, word: int) -> int:
        """How many pieces of a word's table get a label of their own when labels are permuted."""
        return int(self.start[word + 1] - self.start[word]) + BLOCKS if self.cells.shared else len(self.units)

    def counts(self) -> tuple[Ints, Ints]:
        """(n, labels), (n, labels) How often each word occurs under each label, and in how many units."""
        shape = (len(self.ids), len(self.units.labels))
        cell = self._pair_words() * shape[1] + self.units.label[self.unit]
        units = np.bincount(cell, minlength=shape[0] * shape[1])
        occurrences = np.bincount(cell, self.count, shape[0] * shape[1]).astype(np.int64)
        return occurrences.reshape(shape), units.reshape(shape)

    def occurrences(self) -> Ints:
        """(n) How often each word occurs."""
        return np.diff(starts_of(self.count)[self.start])

    def cluster_counts(self, labels: Sequence[int] | None = None) -> Ints:
        """(n) In how many clusters each word occurs, at some labels or at any."""
        size = int(self.units.cluster.max()) + 1
        inside = np.isin(self.units.label, np.arange(len(self.units.labels)) if labels is None else list(labels))
        pairs = inside[self.unit]
        cells = np.unique(self._pair_words()[pairs] * size + self.units.cluster[self.unit[pairs]])
        return np.bincount(cells // size, minlength=len(self.ids))

    def _pair_words(self) -> Ints:
        """The word of each pair of a word and a unit that has it."""
        return np.repeat(np.arange(len(self.ids)), np.diff(self.start))

    def batches(self, chosen: Sequence[int]) -> list[list[int]]:
        """Chosen words, in batches whose sums fit into memory."""
        width = self.rho.shape[1]
        batches: list[list[int]] = []
        free = 0
        for word in chosen:
            units = int(self.start[word + 1] - self.start[word])
            need = 4 * (width + 1) * units
            if not batches or need > free:
                batches.append([])
                free = BATCH_BYTES
            batches[-1].append(word)
            free -= need
        return batches

    def run(
        self,
        chosen: Sequence[int],
        function: Callable[[ScoreTable], Result],
        label: str = "testing",
        with_sigma: bool = False,
    ) -> Iterator[Result]:
        """The results of a function of the table of each chosen word (a number among those tested), in order.

        `with_sigma` says whether the function needs σ at every sampled position.
        """
        batches = self.batches(chosen)
        done = 0
        with bar(label, quiet=self.quiet) as progress, thread_pool(self.threads) as pool:
            for batch in batches:
                sums = self._occurrence_sums(batch)
                size = min(self._words_per_tile, -(-len(batch) // self.threads))
                tiles = [range(i, min(i + size, len(batch))) for i in range(0, len(batch), size)]

                def work(tile: range, batch: list[int] = batch, sums: OccurrenceSums = sums) -> list[Result]:
                    return [function(table) for table in self._tables(batch, tile, with_sigma, *sums)]

                for results in pool.map(work, tiles):
                    done += len(results)
                    progress.update(done / len(chosen), f"{done:,} of {len(chosen):,} words")
                    yield from results

    @property
    def _words_per_tile(self) -> int:
        per_word = 4 * len(self.cells) * self.rho.shape[1]
        return int(max(min(WORDS_PER_TILE, TILE_BYTES // per_word), 8))

    def _occurrence_sums(self, batch: list[int]) -> OccurrenceSums:
        """The sums of a batch of words over their occurrences."""
        of_words = [np.arange(self.start[w], self.start[w + 1]) for w in batch]
        pairs, start = np.concatenate(of_words), starts_of(np.array(list(map(len, of_words))))
        words = kernels.WordsInUnits(self.places(self.ids[batch]), self.rho[batch], start, self.unit[pairs])
        s, tau = np.zeros((len(pairs), self.rho.shape[1]), np.float32), np.zeros(len(pairs), np.float32)
        self.each_piece(
            lambda thread, piece, first, last, kept: kernels.occurrence_sums(
                self.lanes, self.text, words, first, last, kept, s, tau
            )
        )
        return words, s, tau

    def _tables(
        self, batch: list[int], tile: range, with_sigma: bool, words: kernels.WordsInUnits, s: Singles, taus: Singles
    ) -> Iterator[ScoreTable]:
        """The tables of a few words of a batch; the background is read for all of them at once."""
        sigma, at_candidates, background, weight = self._background_sums([batch[i] for i in tile], with_sigma)
        size = self.dimensions
        for k, i in enumerate(tile):
            pairs = slice(words.start[i], words.start[i + 1])
            scale = self.background_scale(int(self.ids[batch[i]]))
            rows = self.cells.rows(words.unit[pairs].astype(np.int64), self.units)
            around: tuple[NDArray[np.floating], NDArray[np.floating]] = background[:, k], weight[:, k]
            if self.cells.shared:
                around = self._by_row(rows, sigma[k], *around)
            word, unit_weight = int(self.ids[batch[i]]), np.ones(len(self.units))
            score, background_sums = np.zeros((2, len(rows.label), size))
            tau, weights = np.zeros((2, len(rows.label)))
            factor = row_kernels.fill_table(
                *(s[pairs], taus[pairs], rows.of_pair, rows.piece, WEIGHT_LIMIT, *around, scale),
                *(score, tau, background_sums, weights),
            )
            unit_weight[rows.unit] = factor[: len(rows.unit)]
            covariance = self._covariance(at_candidates[k], word)
            pieces = rows.label, rows.cluster, rows.piece, rows.size
            sums = score, tau, background_sums, weights
            yield ScoreTable(batch[i], word, *pieces, *sums, covariance, sigma[k], unit_weight)

    def _background_sums(self, words: Sequence[int], with_sigma: bool) -> tuple[Singles, Singles, Singles, Singles]:
        """σ at the sampled positions (n, N), if they are asked for or rows need them, and at the candidates for Σ, and
        the sums by cell: (cells, n, D or more) of σ h, and (cells, n) of σ.
        """
        rho, edges, step = self.rho[words], self.context_start[self.cells.start], self._candidate_step
        weight = np.zeros((len(self.cells), len(words)), np.float32)
        if len(self.cells) > CELLS_PER_KERNEL:
            sigma = np.empty((len(words), len(self.contexts)), np.float32)
            background = np.zeros((len(self.cells), *rho.shape), np.float32)
            for start in range(0, len(self.contexts), POSITIONS_PER_PRODUCT):
                part = slice(start, start + POSITIONS_PER_PRODUCT)
                sigma[:, part] = rho @ self.contexts[part].T
            kernels.logistic_rows(sigma)
            kernels.cell_sums(self.lanes, self.contexts, edges, sigma, background, weight)
            return sigma, sigma[:, ::step], background, weight
        rho, contexts = rho[:, : self.dimensions], self.contexts[:, : self.dimensions]
        background = np.zeros((len(self.cells), *rho.shape), np.float32)
        sigma = np.empty((len(words), len(contexts) if with_sigma or self.cells.shared else 0), np.float32)
        at_candidates = buffer("candidates", len(words), len(self._candidates))
        for cell, (first, last) in enumerate(zip(edges.tolist(), edges[1:].tolist())):
            for start in range(first, last, POSITIONS_PER_PRODUCT):
                end = min(start + POSITIONS_PER_PRODUCT, last)
                here = buffer("sigma", len(rho), end - start)
                np.matmul(rho, contexts[start:end].T, out=here)
                kernels.logistic_rows(here)
                candidate = -(-start // step)  # the first of these positions
                at_candidates[:, candidate : -(-end // step)] = here[:, candidate * step - start :: step]
                if sigma.size:
                    sigma[:, start:end] = here
                background[cell] += here @ contexts[start:end]
                weight[cell] += here.sum(1)
        return sigma, at_candidates, background, weight

    def _by_row(self, rows: TableRows, sigma: Singles, background: Singles, weight: Singles) -> tuple[Floats, Floats]:
        """The background of a word by row of its table, from that by cells that are shared: B (m, D) and W (m)."""
        units, sums, weights = rows.unit, background[:, : self.dimensions].astype(np.float64), weight.astype(np.float64)
        own, own_weight = np.zeros((len(units), self.contexts.shape[1]), np.float32), np.zeros(len(units), np.float32)
        kernels.unit_sums(self.lanes, self.contexts, self.context_start, sigma, units, own, own_weight)
        own, cell = own[:, : self.dimensions], self.cells.of_unit[units]
        np.subtract.at(sums, cell, own)
        weights -= np.bincount(cell, own_weight, len(weights))
        around: Floats = np.concatenate([own, sums], dtype=np.float64)
        around_weight: Floats = np.concatenate([own_weight, np.maximum(weights, 0.0)], dtype=np.float64)
        around[rows.size == 0], around_weight[rows.size == 0] = 0.0, 0.0  # but for rounding
        return around, around_weight

    def _covariance(self, sigma: Singles, word: int) -> Floats:
        """(D, D) Σ, from positions sampled systematically in proportion to σ, the same whatever else is tested."""
        contexts, size = self._candidates, COVARIANCE_POSITIONS
        if len(contexts) <= size:
            rows, share = contexts.astype(np.float64), (sigma / max(float(sigma.sum()), 1e-30)).astype(np.float64)
            mean = share @ rows
            return np.asarray((rows * share[:, None]).T @ rows - np.outer(mean, mean))
        places, ones, total = np.empty(size, np.int64), np.ones(size, np.float32), np.zeros(contexts.shape[1])
        row_kernels.sample_places(sigma, np.random.default_rng([self.seed, 9, word]).random(), places)
        room = buffer("rows", ROWS_PER_PRODUCT, contexts.shape[1])
        products = np.zeros((contexts.shape[1],) * 2, np.float32)
        for start in range(0, size, ROWS_PER_PRODUCT):
            here = room[: min(ROWS_PER_PRODUCT, size - start)]
            row_kernels.take_rows(contexts, places[start : start + ROWS_PER_PRODUCT], here)
            products += here.T @ here
            total += ones[: len(here)] @ here
        return np.asarray(products / size - np.outer(total, total) / size**2)
