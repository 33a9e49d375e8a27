"""Passes over the text: for tests the sums that scores are made of, for posteriors and intervals the contexts.

Both read documents sorted by unit, in pieces dealt out to threads by number, so that results do not depend on chance.
A ScorePass gives a ScoreTable for each word (see `kernels.py` for its sums). A ContextReader gives the Contexts of each
word and unit: for CBOW the window sums of the occurrences, for SGNS the context words and how often each is one.
U units, V words of the language, n words, m rows of a table or contexts, D dimensions, W padded dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from laplex.embeddings import Embeddings
from laplex.engines.kernels import LANE
from laplex.inference import kernels
from laplex.inference.units import Floats, Ints, Options, Units
from laplex.model.likelihoods import Likelihood
from laplex.runtime.display import bar, say
from laplex.text.tokens import Tokens

SAMPLED_POSITIONS = 300_000  # of the background of a ScorePass; all of them if there are fewer
# occurrences, and positions of the background, that make up a word's curvature: with 2,000 in 100 dimensions, distances
# differed by 3 to 5% from one sample to the next
CURVATURE_POSITIONS = 5_000
SHARED_ROWS_PER_LABEL = 512  # for units without the word
BATCH_BYTES = 768 * 2**20  # for the sums of a batch of words
BACKGROUND_BYTES = 256 * 2**20  # for the background contexts of all units
OCCURRENCE_BYTES = 768 * 2**20  # for the contexts of the words that are looked at together
MIN_POSITIONS_PER_UNIT = 20_000  # of the background, or all of them

Result = TypeVar("Result")
Singles = NDArray[np.float32]
OccurrenceSums = tuple[kernels.WordsInUnits, Singles, Singles, Singles]  # s and τ by pair of word and unit, A by word


@contextmanager
def thread_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that each have words of their own, while linear algebra takes one thread.

    The matrices of a word are small: threads within threads would wait for each other most of the time.
    """
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        yield pool


class TextPass:
    """The documents of a language, sorted by unit, made ready for the kernels."""

    whole_units = False  # whether no piece has a part of a unit

    def __init__(
        self, tokens: Tokens, documents: Ints, start: Ints, fitted: Embeddings, language: int, options: Options
    ) -> None:
        """Documents start[u] to start[u + 1] are of unit u."""
        model, vocabulary = fitted.settings["model"], tokens.vocabularies[language]
        self.threads = options.threads or os.cpu_count() or 1
        self.dimensions = fitted.dimensions
        self.negatives = model["negatives"] * vocabulary.noise(model["noise_power"])  # (V) at each position: K P(w)
        self.text = kernels.TokenText(
            tokens.ids,
            tokens.offsets,
            documents,
            np.repeat(np.arange(len(start) - 1), np.diff(start)),
            vocabulary.subsampling(model["subsample"]),
            pad(fitted.block(language, None)),
            model["window"],
            Likelihood.of(model["likelihood"]).context_is_window_sum,
            options.seed * 1_000_003,
        )
        self.lanes = (np.int8(0),) * (self.text.alpha.shape[1] // LANE)
        self.lengths = np.diff(tokens.offsets)[documents]
        ends = starts_of(self.lengths)
        shares = np.linspace(0, ends[-1], 16 * self.threads + 1)[1:-1]
        if self.whole_units:
            edges = start[np.searchsorted(ends[start[1:]], shares)]
        else:
            edges = np.searchsorted(ends[1:], shares)
        edges = np.unique(np.concatenate([[0], edges, [len(documents)]])).tolist()
        self.pieces = list(zip(edges, edges[1:]))  # ranges of documents with much the same number of tokens

    def each_piece(self, work: Callable[[int, int, int, int, NDArray[np.int32]], None]) -> None:
        """Call `work` with the thread, the number of the piece, its documents and a buffer for the tokens of one.

        Which thread has which piece does not depend on chance, so that sums come out the same each time.
        """

        def read(thread: int) -> None:
            kept = np.empty(int(self.lengths.max(initial=1)), np.int32)
            for piece in range(thread, len(self.pieces), self.threads):
                work(thread, piece, *self.pieces[piece], kept)

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(read, range(self.threads)))

    def places(self, words: Sequence[int] | Ints) -> NDArray[np.int32]:
        """(V) The number of each word among some words, or −1."""
        place = np.full(len(self.text.keep), -1, np.int32)
        place[np.asarray(words, np.int64)] = np.arange(len(words))
        return place


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The sums of a word for each unit; units without the word may share a row with others of their label."""

    word: int  # its number among those tested
    label: Ints  # (m)
    cluster: Ints  # (m) rows with the same number belong together
    score: Floats  # (m, D) s, where the word stands
    tau: Floats  # (m)
    background: Floats  # (m, D) B
    weight: Floats  # (m) W
    curvature: Floats  # (D, D) A


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
        row_per_unit: bool = False,
    ) -> None:
        """With `row_per_unit`, no units share a row in any table."""
        super().__init__(tokens, units.documents, units.start, pooled, language, options)
        self.units, self.ids, self.quiet, self.seed = units, np.asarray(ids, np.int64), options.quiet, options.seed
        self.rho = pad(pooled.take(list(ids), language, 0))
        self.row, self._row_label, self._row_cluster = _assign_rows(units, row_per_unit, options.seed)
        self._shares_rows = len(self._row_label) < len(units)  # units with the word have rows beside the shared ones
        self.find_units()
        self._sample_background(tokens.vocabularies[language].counts)

    def find_units(self) -> None:
        """Find the units that have each word, and how often."""
        text = self.text
        self.start, self.unit, self.count = units_with_words(
            text.ids, text.offsets, text.documents, text.unit, self.places(self.ids), len(self.ids)
        )

    def _sample_background(self, word_counts: Ints) -> None:
        """Sample positions of the background, sorted by unit."""
        text = self.text
        kept = float(text.keep @ word_counts) / max(float(word_counts.sum()), 1.0)
        expected = kept * float(self.lengths.sum()) * (1 if text.sums_window else 2 * text.window)
        self._chance = min(1.0, SAMPLED_POSITIONS / max(expected, 1.0))
        chance = np.float32(2.0 if self._chance == 1.0 else self._chance)

        def read(start: Ints, contexts: Singles) -> Ints:
            counts = np.zeros(len(self.units), np.int64)
            self.each_piece(
                lambda thread, piece, first, last, kept: kernels.sample_positions(
                    self.lanes, text, chance, first, last, kept, counts, start, contexts
                )
            )
            return counts

        width = self.rho.shape[1]
        self._context_start = starts_of(read(np.zeros(1, np.int64), np.empty((0, width), np.float32)))
        self._contexts = np.empty((int(self._context_start[-1]), width), np.float32)
        if len(self._contexts):
            read(self._context_start, self._contexts)

    def counts(self) -> tuple[Ints, Ints]:
        """(n, labels), (n, labels) How often each word occurs under each label, and in how many units."""
        shape = (len(self.ids), len(self.units.labels))
        cell = self._pair_words() * shape[1] + self.units.label[self.unit]
        units = np.bincount(cell, minlength=shape[0] * shape[1])
        occurrences = np.bincount(cell, self.count, shape[0] * shape[1]).astype(np.int64)
        return occurrences.reshape(shape), units.reshape(shape)

    def cluster_counts(self) -> Ints:
        """(n) In how many clusters each word occurs."""
        size = int(self.units.cluster.max()) + 1
        cells = np.unique(self._pair_words() * size + self.units.cluster[self.unit])
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
            need = 4 * width * (units + (width + kernels.PENDING) * self.threads)
            if not batches or need > free:
                batches.append([])
                free = BATCH_BYTES
            batches[-1].append(word)
            free -= need
        return batches

    def run(self, chosen: Sequence[int], function: Callable[[ScoreTable], Result]) -> Iterator[Result]:
        """The results of a function of the table of each chosen word (a number among those tested), in order."""
        batches = self.batches(chosen)
        rows = len(self._row_label) + (int(np.diff(self.start).max(initial=0)) if self._shares_rows else 0)
        tile = 4 * kernels.TILE * (rows * self.rho.shape[1] + len(self._contexts)) + rows * 64 * self.dimensions
        memory = BATCH_BYTES + self._contexts.nbytes + self.threads * tile + self.text.alpha.nbytes
        say(
            f"testing {len(chosen):,} words in {len(batches)} passes over the text, with at most "
            f"{memory / 2**30:.1f} GB beside the text and the vectors",
            quiet=self.quiet or not chosen,
        )
        done = 0
        with bar("testing", quiet=self.quiet) as progress, thread_pool(self.threads) as pool:
            for batch in batches:
                sums = self._occurrence_sums(batch)
                tiles = [range(i, min(i + kernels.TILE, len(batch))) for i in range(0, len(batch), kernels.TILE)]

                def work(tile: range, batch: list[int] = batch, sums: OccurrenceSums = sums) -> list[Result]:
                    return [function(table) for table in self._tables(batch, tile, *sums)]

                for results in pool.map(work, tiles):
                    done += len(results)
                    progress.update(done / len(chosen), f"{done:,} of {len(chosen):,} words")
                    yield from results

    def _occurrence_sums(self, batch: list[int]) -> OccurrenceSums:
        """The sums of a batch of words over their occurrences."""
        width = self.rho.shape[1]
        of_words = [np.arange(self.start[w], self.start[w + 1]) for w in batch]
        pairs, start = np.concatenate(of_words), starts_of(np.array(list(map(len, of_words))))
        contexts = np.array([self.count[of_word].sum() for of_word in of_words])
        if not self.text.sums_window:
            contexts = contexts * 2 * self.text.window
        chance = np.where(contexts <= CURVATURE_POSITIONS, 2.0, CURVATURE_POSITIONS / np.maximum(contexts, 1))
        words = kernels.WordsInUnits(
            self.places(self.ids[batch]), self.rho[batch], start, self.unit[pairs], chance.astype(np.float32)
        )
        s, tau = np.zeros((len(pairs), width), np.float32), np.zeros(len(pairs), np.float32)
        squares = [np.zeros((len(batch), width, width), np.float32) for _ in range(self.threads)]
        self.each_piece(
            lambda thread, piece, first, last, kept: kernels.occurrence_sums(
                self.lanes, self.text, words, first, last, kept, s, tau, squares[thread]
            )
        )
        for square in squares[1:]:
            squares[0] += square
        return words, s, tau, squares[0]

    def _tables(
        self, batch: list[int], tile: range, words: kernels.WordsInUnits, s: Singles, taus: Singles, squares: Singles
    ) -> Iterator[ScoreTable]:
        """The tables of a few words of a batch; the background is read for all of them at once."""
        width, shared, size = self.rho.shape[1], len(self._row_label), self.dimensions
        rho = np.zeros((kernels.TILE, width), np.float32)
        rho[: len(tile)] = self.rho[[batch[i] for i in tile]]
        units_with = [words.unit[words.start[i] : words.start[i + 1]] for i in tile]
        sizes = [shared + (len(units) if self._shares_rows else 0) for units in units_with]
        begin = starts_of(np.array(sizes))
        rows = np.zeros((kernels.TILE, len(self.units)), np.int64)
        for k, units in enumerate(units_with):
            rows[k] = begin[k] + self.row
            if self._shares_rows:
                rows[k, units] = begin[k] + shared + np.arange(len(units))
        rows[len(tile) :] = begin[-1]  # one row for words that only fill the tile
        background, weight = np.zeros((begin[-1] + 1, width), np.float32), np.zeros(begin[-1] + 1, np.float32)
        around = np.zeros((kernels.TILE, width, width), np.float32)
        sample = self._contexts, self._context_start
        kernels.background_sums(
            self.lanes, *sample, rho, rows, background, weight, around, CURVATURE_POSITIONS, self.seed
        )
        for k, (i, units) in enumerate(zip(tile, units_with)):
            scale = self.negatives[self.ids[batch[i]]] / self._chance
            pairs, places = slice(words.start[i], words.start[i + 1]), rows[k, units] - begin[k]
            score, tau = np.zeros((sizes[k], size)), np.zeros(sizes[k])
            score[places], tau[places] = s[pairs, :size], taus[pairs]
            label, cluster = self._row_label, self._row_cluster
            if self._shares_rows:
                label = np.concatenate([label, self.units.label[units]])
                cluster = np.concatenate([cluster, shared + self.units.cluster[units]])
            lower = (squares[i] + scale * around[k])[:size, :size].astype(np.float64)
            yield ScoreTable(
                *(batch[i], label, cluster, score, tau),
                scale * background[begin[k] : begin[k + 1], :size].astype(np.float64),
                scale * weight[begin[k] : begin[k + 1]].astype(np.float64),
                np.tril(lower) + np.tril(lower, -1).T,
            )


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, and how often each counts."""

    vectors: Singles  # (m, D)
    weight: float | Singles = 1.0  # or (m)

    def __len__(self) -> int:
        return len(self.vectors)


class ContextReader(TextPass):
    """A pass for posteriors and intervals: the contexts of words, and of any position, in each unit."""

    def __init__(
        self,
        tokens: Tokens,
        unit: NDArray[np.integer],
        units: int,
        fitted: Embeddings,
        language: int,
        options: Options,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        """`unit` is that of each document of the text; `report` is called now and then, to show progress."""
        documents = np.flatnonzero((tokens.languages == language) & (np.diff(tokens.offsets) > 1))
        documents = documents[np.argsort(unit[documents], kind="stable")]
        start = np.searchsorted(unit[documents], np.arange(units + 1))
        super().__init__(tokens, documents, start, fitted, language, options)
        self.units, self.report = units, report
        self.background: list[Contexts] = []  # of any position of each unit, once the contexts of words are read

    def contexts(self, words: Sequence[int]) -> list[list[Contexts]]:
        """For each word and unit, the contexts in which the word stands."""
        read = self._read_window_sums if self.text.sums_window else self._read_context_words
        cells = read(self.places(words), len(words))
        return [cells[i * self.units : (i + 1) * self.units] for i in range(len(words))]

    def count(self, words: Sequence[int]) -> Ints:
        """(n) How many contexts each word has."""
        cells = self._count(self.places(words), len(words))[0].sum(0).reshape(len(words), self.units)
        if not self.text.sums_window:
            size = len(self.text.keep)  # contexts are at most all words, whose counts take memory as well
            cells = np.minimum(2 * self.text.window * cells, size) + size // self.dimensions
        return np.asarray(cells.sum(1))

    def _count(self, place: NDArray[np.int32], words: int) -> tuple[Ints, Ints]:
        """Occurrences by piece and cell, and positions by piece and unit."""
        cells = np.zeros((len(self.pieces), words * self.units), np.int64)
        positions = np.zeros((len(self.pieces), self.units), np.int64)

        def work(thread: int, piece: int, first: int, last: int, kept: NDArray[np.int32]) -> None:
            kernels.count_cells(self.text, place, self.units, first, last, kept, cells[piece], positions[piece])
            self.report()

        self.each_piece(work)
        return cells, positions

    def _read_window_sums(self, place: NDArray[np.int32], words: int) -> list[Contexts]:
        cells, positions = self._count(place, words)
        total, total_positions = cells.sum(0), positions.sum(0)
        room = OCCURRENCE_BYTES // (4 * self.dimensions)
        cell_share = np.full(len(total), min(1.0, room / max(int(total.sum()), 1)))
        share = np.zeros(self.units)
        if not self.background:  # the same share in each unit, but enough of them in small ones
            background_room = BACKGROUND_BYTES // (4 * self.dimensions)
            least = min(MIN_POSITIONS_PER_UNIT, background_room // self.units) / np.maximum(total_positions, 1)
            share = np.minimum(1.0, np.maximum(background_room / max(int(total_positions.sum()), 1), least))
        start = starts_of((total * cell_share).astype(np.int64))
        begin = starts_of((total_positions * share).astype(np.int64))
        here = np.empty((start[-1], self.dimensions), np.float32)
        around = np.empty((begin[-1], self.dimensions), np.float32)
        cell_seen, seen = np.cumsum(cells, 0) - cells, np.cumsum(positions, 0) - positions

        def work(thread: int, piece: int, first: int, last: int, kept: NDArray[np.int32]) -> None:
            kernels.write_contexts(
                *(self.lanes, self.text, place, self.units, first, last, kept),
                *(cell_share, cell_seen[piece], start, here, share, seen[piece], begin, around),
            )
            self.report()

        self.each_piece(work)
        self.background = self.background or _stretches(around, begin, total_positions)
        return _stretches(here, start, total)

    def _read_context_words(self, place: NDArray[np.int32], words: int) -> list[Contexts]:
        size, alpha = len(place), self.text.alpha
        together, alone = np.zeros((words * self.units, size), np.int32), np.zeros((self.units, size), np.int64)
        kept = np.empty(int(self.lengths.max(initial=1)), np.int32)
        for first, last in self.pieces:  # by one thread, since the counts of a word are too large to have twice
            kernels.count_context_words(self.text, place, self.units, first, last, kept, together, alone)
            self.report()

        def contexts(counts: NDArray[Any]) -> Contexts:
            vectors = np.ascontiguousarray(alpha[counts > 0, : self.dimensions])
            return Contexts(vectors, counts[counts > 0].astype(np.float32))

        self.background = self.background or [contexts(counts) for counts in alone]
        return [contexts(counts) for counts in together]


def _stretches(vectors: Singles, start: Ints, total: Ints) -> list[Contexts]:
    """The vectors from each start to the next as contexts that count as much as the total of theirs."""
    return [Contexts(vectors[a:b], float(count / max(b - a, 1))) for a, b, count in zip(start, start[1:], total)]


def pad(vectors: NDArray[Any]) -> Singles:
    """Rows filled up with zeros to the length that the kernels want."""
    width = -(-vectors.shape[1] // LANE) * LANE
    padded = np.zeros((len(vectors), width), np.float32)
    padded[:, : vectors.shape[1]] = vectors
    return padded


def starts_of(sizes: Ints) -> Ints:
    """Where each of some stretches begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def units_with_words(
    ids: NDArray[np.int32], offsets: Ints, documents: Ints, unit: Ints, place: NDArray[np.int32], words: int
) -> tuple[Ints, NDArray[np.int32], Ints]:
    """Where the units of each word begin, the units, and how often each of them has the word.

    `documents` are sorted by `unit`; `place` (V) is the number of a word, or −1.
    """
    text = (ids, offsets, documents, unit, place)
    number = np.zeros(words, np.int64)
    kernels.count_by_unit(*text, number, np.empty(0, np.int32), np.empty(0, np.int64), number)
    start = starts_of(number)
    units, counts = np.empty(start[-1], np.int32), np.zeros(start[-1], np.int64)
    kernels.count_by_unit(*text, start, units, counts, np.zeros(words, np.int64))
    return start, units, counts


def _assign_rows(units: Units, row_per_unit: bool, seed: int) -> tuple[Ints, Ints, Ints]:
    """For each unit its row, and for each row its label and its cluster; many units share rows by chance."""
    labels = len(units.labels)
    if row_per_unit or len(units) <= 2 * SHARED_ROWS_PER_LABEL * labels:
        return np.arange(len(units)), units.label, units.cluster
    by_chance = np.random.default_rng([seed, 4]).integers(SHARED_ROWS_PER_LABEL, size=int(units.cluster.max()) + 1)
    row = units.label * SHARED_ROWS_PER_LABEL + by_chance[units.cluster]
    return row, np.repeat(np.arange(labels), SHARED_ROWS_PER_LABEL), np.arange(labels * SHARED_ROWS_PER_LABEL)
