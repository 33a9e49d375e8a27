"""Passes over the text: documents sorted by unit, in pieces dealt out to threads by number.

Which thread reads which piece does not depend on chance, and so results do not either. Tests sum the scores of words
(`scores.py`); posteriors and intervals need the Contexts of each word and unit: for CBOW the window sums of the
occurrences, for SGNS the context words and how often each is one.
U units, V words of the language, n words, m contexts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from laplex.embeddings import Embeddings
from laplex.engines.state import FLOATS_PER_CACHE_LINE
from laplex.inference import kernels
from laplex.inference.latest import Latest, hashed
from laplex.inference.units import Ints, Options
from laplex.model.likelihoods import Likelihood
from laplex.runtime.processors import available_threads
from laplex.text.tokens import Tokens

BACKGROUND_BYTES = 256 * 2**20  # for the background contexts of all units
OCCURRENCE_BYTES = 768 * 2**20  # for the contexts of the words that are looked at together
MIN_POSITIONS_PER_UNIT = 20_000  # of the background, or all of them

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, and how often each counts."""

    vectors: Singles  # (m, D)
    weight: float | Singles = 1.0  # or (m)

    def __len__(self) -> int:
        return len(self.vectors)


_background: Latest[list[Contexts]] = Latest()  # of a ContextReader


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
        self.threads = options.threads or available_threads()
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
        self.lanes = (np.int8(0),) * (self.text.alpha.shape[1] // FLOATS_PER_CACHE_LINE)
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
        background_positions: int | None = None,
    ) -> None:
        """`unit` is that of each document of the text; `report` is called now and then, to show progress.

        The background of CBOW is about `background_positions`, by default as many as `BACKGROUND_BYTES` hold.
        """
        documents = np.flatnonzero((tokens.languages == language) & (np.diff(tokens.offsets) > 1))
        documents = documents[np.argsort(unit[documents], kind="stable")]
        start = np.searchsorted(unit[documents], np.arange(units + 1))
        super().__init__(tokens, documents, start, fitted, language, options)
        self.units, self.report = units, report
        self._background_room = background_positions or BACKGROUND_BYTES // (4 * self.dimensions)
        # of any position of each unit, once the contexts of words are read
        self._vectors = fitted.theta
        self._key = (tokens.digest, language, units, options.seed, self._background_room, hashed(documents, start))
        self.background: list[Contexts] = _background.get(self._vectors, self._key) or []

    def contexts(self, words: Sequence[int]) -> list[list[Contexts]]:
        """For each word and unit, the contexts in which the word stands."""
        read = self._read_window_sums if self.text.sums_window else self._read_context_words
        cells = read(self.places(words), len(words))
        _background.keep(self._vectors, self._key, self.background)
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
            everywhere = not self.background
            found = cells[piece], positions[piece]
            kernels.count_cells(self.text, place, self.units, everywhere, first, last, kept, *found)
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
            room = self._background_room
            least = min(MIN_POSITIONS_PER_UNIT, room // (2 * self.units)) / np.maximum(total_positions, 1)
            share = np.minimum(1.0, np.maximum(room / max(int(total_positions.sum()), 1), least))
        start = starts_of((total * cell_share).astype(np.int64))
        begin = starts_of((total_positions * share).astype(np.int64))
        here = np.empty((start[-1], self.dimensions), np.float32)
        around = np.empty((begin[-1], self.dimensions), np.float32)
        cell_seen, seen = np.cumsum(cells, 0) - cells, np.cumsum(positions, 0) - positions

        def work(thread: int, piece: int, first: int, last: int, kept: NDArray[np.int32]) -> None:
            kernels.write_contexts(
                *(self.lanes, self.text, place, self.units, not self.background, first, last, kept),
                *(cell_share, cell_seen[piece], start, here, share, seen[piece], begin, around),
            )
            self.report()

        self.each_piece(work)
        self.background = self.background or _stretches(around, begin, total_positions)
        return _stretches(here, start, total)

    def _read_context_words(self, place: NDArray[np.int32], words: int) -> list[Contexts]:
        size, alpha = len(place), self.text.alpha
        together = np.zeros((words * self.units, size), np.int32)
        alone = np.zeros((0 if self.background else self.units, size), np.int64)
        kept = np.empty(int(self.lengths.max(initial=1)), np.int32)
        for first, last in self.pieces:  # by one thread, since the counts of a word are too large to have twice
            everywhere = len(alone) > 0
            kernels.count_context_words(self.text, place, self.units, everywhere, first, last, kept, together, alone)
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
    width = -(-vectors.shape[1] // FLOATS_PER_CACHE_LINE) * FLOATS_PER_CACHE_LINE
    padded = np.zeros((len(vectors), width), np.float32)
    padded[:, : vectors.shape[1]] = vectors
    return padded


def starts_of(sizes: NDArray[np.integer]) -> Ints:
    """Where each of some stretches begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def units_with_words(
    ids: NDArray[np.int32], offsets: Ints, documents: Ints, unit: Ints, place: NDArray[np.int32], words: int
) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Where the units of each word begin, the units, and how often each of them has the word.

    `documents` are sorted by `unit`; `place` (V) is the number of a word, or −1.
    """
    text = (ids, offsets, documents, unit, place)
    number = np.zeros(words, np.int64)
    kernels.count_by_unit(*text, number, np.empty(0, np.int32), np.empty(0, np.int32), number)
    start = starts_of(number)
    units, counts = np.empty(start[-1], np.int32), np.zeros(start[-1], np.int32)
    kernels.count_by_unit(*text, start, units, counts, np.zeros(words, np.int64))
    return start, units, counts
