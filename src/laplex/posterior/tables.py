"""One pass over the text: for each word, what every unit says about it.

Tokens, Units and a label-free fit come in; for each word a Table goes out (see `kernels.py` for the sums in it).
Words are taken in batches, so that memory has a bound, which is said in advance. Units without a word may share a
shelf with others of their label: for documents that is most of them, and all they say is a little of the background.
U units, n words, m rows of a table, D dimensions, W padded dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.engines.kernels import LANE
from laplex.posterior import kernels
from laplex.posterior.pool import pool_of
from laplex.posterior.units import Units
from laplex.progress import bar, say
from laplex.tokens import Tokens

BACKGROUND = 300_000  # sampled positions; all of them if there are fewer
# occurrences, and positions of the background, that make up a word's curvature: with 2,000 in 100 dimensions, distances
# differed by 3 to 5% from one draw to the next
CURVATURE = 5_000
SHELVES = 512  # for units without the word, of each label
MEMORY = 768 * 2**20  # bytes for the sums of a batch

Floats = NDArray[np.float64]
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Table:
    """What each unit, or each shelf of units without the word, says about a word."""

    word: int
    label: NDArray[np.int64]  # (m)
    cluster: NDArray[np.int64]  # (m) rows with the same number belong together
    here: Floats  # (m, D) s, where the word stands
    tau: Floats  # (m)
    around: Floats  # (m, D) B, the background
    weight: Floats  # (m) W
    curvature: Floats  # (D, D) A


class Pass:
    """A pass over the text, made ready: which units have which words, and the background."""

    def __init__(
        self,
        tokens: Tokens,
        units: Units,
        free: Embeddings,
        ids: Sequence[int],
        language: int,
        *,
        seed: int,
        threads: int | None,
        quiet: bool,
        whole: bool = False,
        rho: NDArray[Any] | None = None,
    ) -> None:
        """With `whole`, every unit has a row of its own in every table. `rho` are other vectors of the words."""
        self.units, self.ids, self.quiet, self.seed = units, np.asarray(ids, np.int64), quiet, seed
        self.threads = threads or os.cpu_count() or 1
        model, vocabulary = free.settings["model"], tokens.vocabularies[language]
        self.rho = _padded(free.take(list(ids), language, 0) if rho is None else rho)
        self._counts = vocabulary.counts
        self._noise = model["negatives"] * vocabulary.noise(model["noise_power"])[self.ids]
        self._dimensions = free.dimensions
        self._lanes = (np.int8(0),) * (self.rho.shape[1] // LANE)
        self._longest = int(np.diff(tokens.offsets).max())
        self._text = kernels.Text(
            tokens.ids,
            tokens.offsets,
            units.documents,
            units.start,
            vocabulary.subsampling(model["subsample"]),
            _padded(free.block(language, None)),
            model["window"],
            model["likelihood"] == "sgns",
            seed * 1_000_003,
        )
        self.shelf, self._shelf_label, self._shelf_cluster = _shelves(units, whole, seed)
        self._apart = len(self._shelf_label) < len(units)  # units with the word have rows beside the shelves
        self._sizes = np.diff(np.concatenate([[0], np.cumsum(np.diff(tokens.offsets)[units.documents])])[units.start])
        self._find_pairs(len(vocabulary))
        self._sample()

    def _find_pairs(self, vocabulary: int) -> None:
        self._place = np.full(vocabulary, -1, np.int32)
        self._place[self.ids] = np.arange(len(self.ids))
        where = (self._text.ids, self._text.offsets, self._text.documents, self._text.unit_start, self._place)
        found = kernels.count_pairs(*where, len(self.ids))
        self.start = np.concatenate([[0], np.cumsum(found)])
        self.unit = np.empty(self.start[-1], np.int32)  # of each pair
        self.count = np.zeros(self.start[-1], np.int64)
        kernels.fill_pairs(*where, self.start, self.unit, self.count)

    def _sample(self) -> None:
        """Positions of the background, sorted by unit."""
        text = self._text
        kept = float(text.keep @ self._counts) / max(float(self._counts.sum()), 1.0)
        expected = kept * float(self._sizes.sum()) * (2 * text.window if text.single else 1)
        self._chance = min(1.0, BACKGROUND / max(expected, 1.0))
        counts = np.zeros(len(self.units), np.int64)
        nothing = np.empty((0, self.rho.shape[1]), np.float32)

        def read(contexts: NDArray[np.float32], start: NDArray[np.int64]) -> None:
            chance = np.float32(2.0 if self._chance == 1.0 else self._chance)
            self._each_piece(
                lambda _, first, last, kept: kernels.sample(
                    self._lanes, text, chance, first, last, kept, counts, start, contexts
                )
            )

        read(nothing, np.zeros(1, np.int64))
        self._context_start = np.concatenate([[0], np.cumsum(counts)])
        self._contexts = np.empty((int(self._context_start[-1]), self.rho.shape[1]), np.float32)
        if len(self._contexts):
            read(self._contexts, self._context_start)

    def _each_piece(self, work: Callable[[int, int, int, NDArray[np.int32]], None]) -> None:
        """Cut the units into pieces of much the same number of tokens, and deal them out to threads by number.

        Which thread has which piece does not depend on chance, so that sums come out the same each time.
        """
        done = np.cumsum(self._sizes)
        edges = np.searchsorted(done, np.linspace(0, done[-1], 16 * self.threads + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], edges, [len(self.units)]])).tolist()
        pieces = list(zip(edges, edges[1:]))

        def read(thread: int) -> None:
            kept = np.empty(self._longest, np.int32)
            for first, last in pieces[thread :: self.threads]:
                work(thread, first, last, kept)

        with ThreadPoolExecutor(self.threads) as pool:
            for _ in pool.map(read, range(self.threads)):
                pass

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n, labels), (n, labels) How often each word occurs under each label, and in how many clusters."""
        shape = (len(self.ids), len(self.units.labels))
        words = np.repeat(np.arange(len(self.ids)), np.diff(self.start))
        cell = words * shape[1] + self.units.label[self.unit]
        clusters = np.bincount(cell, minlength=shape[0] * shape[1])
        occurrences = np.bincount(cell, self.count, shape[0] * shape[1]).astype(np.int64)
        return occurrences.reshape(shape), clusters.reshape(shape)

    def batches(self, chosen: Sequence[int]) -> list[list[int]]:
        """Chosen words, in portions whose sums fit into memory."""
        width = self.rho.shape[1]
        found: list[list[int]] = []
        free = 0
        for word in chosen:
            own = int(self.start[word + 1] - self.start[word])
            need = 4 * width * (own + (width + kernels.PENDING) * self.threads)
            if not found or need > free:
                found.append([])
                free = MEMORY
            found[-1].append(word)
            free -= need
        return found

    def memory(self) -> int:
        """About how many bytes are needed at most."""
        rows = len(self._shelf_label) + (int(np.diff(self.start).max(initial=0)) if self._apart else 0)
        tile = 4 * kernels.TILE * (rows * self.rho.shape[1] + len(self._contexts))
        tiles = self.threads * (tile + rows * 64 * self._dimensions)
        return int(MEMORY + self._contexts.nbytes + tiles + self._text.alpha.nbytes)

    def run(self, chosen: Sequence[int], ask: Callable[[Table], Answer]) -> Iterator[Answer]:
        """Ask something of the table of each chosen word (a number among those tested), in order."""
        batches = self.batches(chosen)
        say(
            f"testing {len(chosen):,} words in {len(batches)} passes over the text, with at most "
            f"{self.memory() / 2**30:.1f} GB beside the text and the vectors",
            quiet=self.quiet or not chosen,
        )
        done = 0
        with bar("testing", quiet=self.quiet) as progress, pool_of(self.threads) as pool:
            for batch in batches:
                sums = self._occurrences(batch)
                tiles = [range(i, min(i + kernels.TILE, len(batch))) for i in range(0, len(batch), kernels.TILE)]

                def answer(tile: range, batch: list[int] = batch, sums: _Sums = sums) -> list[Answer]:
                    return [ask(table) for table in self._tables(batch, tile, sums)]

                for answers in pool.map(answer, tiles):
                    done += len(answers)
                    progress.update(done / len(chosen), f"{done:,} of {len(chosen):,} words")
                    yield from answers

    def _occurrences(self, batch: list[int]) -> _Sums:
        width = self.rho.shape[1]
        pairs = np.concatenate([np.arange(self.start[w], self.start[w + 1]) for w in batch])
        sizes = np.array([self.start[w + 1] - self.start[w] for w in batch])
        start = np.concatenate([[0], np.cumsum(sizes)])
        occurrences = np.array([self.count[self.start[w] : self.start[w + 1]].sum() for w in batch])
        if self._text.single:
            occurrences = occurrences * 2 * self._text.window
        place = np.full_like(self._place, -1)
        place[self.ids[batch]] = np.arange(len(batch))
        chance = np.where(occurrences <= CURVATURE, 2.0, CURVATURE / np.maximum(occurrences, 1)).astype(np.float32)
        asked = kernels.Asked(place, self.rho[batch], start, self.unit[pairs], chance)
        s, tau = np.zeros((len(pairs), width), np.float32), np.zeros(len(pairs), np.float32)
        squares = [np.zeros((len(batch), width, width), np.float32) for _ in range(self.threads)]

        def read(thread: int, first: int, last: int, kept: NDArray[np.int32]) -> None:
            kernels.occurrences(self._lanes, self._text, asked, first, last, kept, s, tau, squares[thread])

        self._each_piece(read)
        for square in squares[1:]:
            squares[0] += square
        return _Sums(start, self.unit[pairs], s, tau, squares[0])

    def _tables(self, batch: list[int], tile: range, sums: _Sums) -> Iterator[Table]:
        """The tables of a few words of a batch: the background is read for all of them at once."""
        width, shelves = self.rho.shape[1], len(self._shelf_label)
        rho = np.zeros((kernels.TILE, width), np.float32)
        rho[: len(tile)] = self.rho[[batch[i] for i in tile]]
        own = [sums.unit[sums.start[i] : sums.start[i + 1]] for i in tile]
        sizes = [shelves + (len(units) if self._apart else 0) for units in own]
        begin = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.zeros((kernels.TILE, len(self.units)), np.int64)
        for k, units in enumerate(own):
            rows[k] = begin[k] + self.shelf
            if self._apart:
                rows[k, units] = begin[k] + shelves + np.arange(len(units))
        rows[len(tile) :] = begin[-1]  # one row for words that only fill the tile
        around = np.zeros((begin[-1] + 1, width), np.float32)
        weight = np.zeros(begin[-1] + 1, np.float32)
        squares = np.zeros((kernels.TILE, width, width), np.float32)
        kernels.background(
            self._lanes, self._contexts, self._context_start, rho, rows, around, weight, squares, CURVATURE, self.seed
        )
        for k, i in enumerate(tile):
            size = self._dimensions
            scale = self._noise[batch[i]] / self._chance
            mine, first = slice(sums.start[i], sums.start[i + 1]), rows[k, own[k]] - begin[k]
            here, tau = np.zeros((sizes[k], size)), np.zeros(sizes[k])
            here[first], tau[first] = sums.s[mine, :size], sums.tau[mine]
            lower = (sums.squares[i] + scale * squares[k])[:size, :size].astype(np.float64)
            yield Table(
                batch[i],
                np.concatenate([self._shelf_label, self.units.label[own[k]]]) if self._apart else self._shelf_label,
                np.concatenate([self._shelf_cluster, shelves + self.units.cluster[own[k]]])
                if self._apart
                else self._shelf_cluster,
                here,
                tau,
                scale * around[begin[k] : begin[k + 1], :size].astype(np.float64),
                scale * weight[begin[k] : begin[k + 1]].astype(np.float64),
                np.tril(lower) + np.tril(lower, -1).T,
            )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Of a batch: pairs of words and units, and what the occurrences say."""

    start: NDArray[np.int64]
    unit: NDArray[np.int32]
    s: NDArray[np.float32]
    tau: NDArray[np.float32]
    squares: NDArray[np.float32]


def _padded(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Rows as long as the kernels want them."""
    width = -(-vectors.shape[1] // LANE) * LANE
    wide = np.zeros((len(vectors), width), np.float32)
    wide[:, : vectors.shape[1]] = vectors
    return wide


def _shelves(units: Units, whole: bool, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each unit its shelf, and for each shelf its label and its cluster: one each if there are few units."""
    labels = len(units.labels)
    if whole or len(units) <= 2 * SHELVES * labels:
        return np.arange(len(units)), units.label, units.cluster
    by_chance = np.random.default_rng([seed, 4]).integers(SHELVES, size=int(units.cluster.max()) + 1)
    shelf = units.label * SHELVES + by_chance[units.cluster]
    return shelf, np.repeat(np.arange(labels), SHELVES), np.arange(labels * SHELVES)
