"""What stands around words, and around any word: the contexts that a word's logistic regression is about.

Tokens, a fitted model and words come in; for each word and slice Contexts go out, and for each slice those of the
background. For CBOW a context is the sum of the vectors in a window: all occurrences are written down, and every so
many positions of the text. For SGNS it is a single vector, and how often it is one is counted, of both exactly.
S slices, V words of the language, n words, D dimensions; a cell is a word in a slice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.posterior import windows
from laplex.tokens import Tokens

BACKGROUND = 256 * 2**20  # bytes for the background of all slices
OCCURRENCES = 768 * 2**20  # bytes for the occurrences of the words that are looked at together
LEAST = 20_000  # positions of the background of each slice, or all of them

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, and how often each counts."""

    vectors: NDArray[np.float32]  # (m, D)
    weight: float | NDArray[np.float32] = 1.0  # or (m)

    def __len__(self) -> int:
        return len(self.vectors)


class Reading:
    """The text of a language, made ready to be asked what stands around words."""

    def __init__(
        self,
        tokens: Tokens,
        fitted: Embeddings,
        language: int,
        *,
        seed: int,
        threads: int | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        """`report` is called now and then, so that it can be said how far things are."""
        model, vocabulary = fitted.settings["model"], tokens.vocabularies[language]
        self.slices = len(fitted.rows.slices)
        self.threads = threads or os.cpu_count() or 1
        self.report = report
        self.single = model["likelihood"] == "sgns"
        self.noise = model["negatives"] * vocabulary.noise(model["noise_power"])  # (V) negatives at each position
        documents = np.flatnonzero((tokens.languages == language) & (np.diff(tokens.offsets) > 1))
        self._text = windows.Text(
            tokens.ids,
            tokens.offsets,
            documents,
            fitted.rows.slices.of_document[documents].astype(np.int64),
            vocabulary.subsampling(model["subsample"]),
            np.ascontiguousarray(fitted.block(language, None), np.float32),
            model["window"],
            seed * 1_000_003,
        )
        lengths = np.diff(tokens.offsets)[documents]
        self._longest = int(lengths.max(initial=1))
        ends = np.searchsorted(np.cumsum(lengths), np.linspace(0, lengths.sum(), 16 * self.threads + 1)[1:-1])
        self._edges = np.unique(np.concatenate([[0], ends, [len(documents)]])).tolist()
        self._background: list[Contexts] = []

    @property
    def dimensions(self) -> int:
        return int(self._text.alpha.shape[1])

    def background(self) -> list[Contexts]:
        """For each slice the contexts of any position, known once words have been asked about."""
        return self._background

    def around(self, words: Sequence[int]) -> list[list[Contexts]]:
        """For each word and slice, the contexts in which the word stands."""
        place = np.full(len(self._text.keep), -1, np.int32)
        place[list(words)] = np.arange(len(words))
        found = self._pairs(place, len(words)) if self.single else self._sums(place, len(words))
        return [found[i * self.slices : (i + 1) * self.slices] for i in range(len(words))]

    def count(self, words: Sequence[int]) -> Ints:
        """(n) How many contexts each word has."""
        place = np.full(len(self._text.keep), -1, np.int32)
        place[list(words)] = np.arange(len(words))
        cells = self._count(place, len(words))[0].sum(0).reshape(len(words), self.slices)
        if self.single:
            size = len(self._text.keep)  # contexts are at most all words, whose counts take room as well
            cells = np.minimum(2 * self._text.window * cells, size) + size // self.dimensions
        return np.asarray(cells.sum(1))

    def _count(self, place: NDArray[np.int32], words: int) -> tuple[Ints, Ints]:
        pieces = len(self._edges) - 1
        cells, positions = np.zeros((pieces, words * self.slices), np.int64), np.zeros((pieces, self.slices), np.int64)
        self._each_piece(
            lambda piece, first, last, kept: windows.count(
                self._text, place, self.slices, first, last, kept, cells[piece], positions[piece]
            )
        )
        return cells, positions

    def _sums(self, place: NDArray[np.int32], words: int) -> list[Contexts]:
        cells, positions = self._count(place, words)
        room = OCCURRENCES // (4 * self.dimensions)
        cell_share = np.full(cells.shape[1], min(1.0, room / max(int(cells.sum()), 1)))
        share = np.zeros(self.slices) if self._background else self._shares(positions.sum(0))
        taken, chosen = (cells.sum(0) * cell_share).astype(np.int64), (positions.sum(0) * share).astype(np.int64)
        start, begin = _starts(taken), _starts(chosen)
        here = np.empty((start[-1], self.dimensions), np.float32)
        around = np.empty((begin[-1], self.dimensions), np.float32)
        cell_seen, seen = np.cumsum(cells, 0) - cells, np.cumsum(positions, 0) - positions
        self._each_piece(
            lambda piece, first, last, kept: windows.write(
                *(self._text, place, self.slices, first, last, kept),
                *(cell_share, cell_seen[piece], start, here, share, seen[piece], begin, around),
            )
        )
        if not self._background:
            self._background = [
                Contexts(around[begin[s] : begin[s + 1]], float(positions[:, s].sum() / max(chosen[s], 1)))
                for s in range(self.slices)
            ]
        total = cells.sum(0)
        return [
            Contexts(here[start[c] : start[c + 1]], float(total[c] / max(taken[c], 1)))
            for c in range(words * self.slices)
        ]

    def _shares(self, positions: Ints) -> NDArray[np.float64]:
        """(S) What share of the positions is background: the same in each slice, but enough of them in small ones."""
        room = BACKGROUND // (4 * self.dimensions)
        least = min(LEAST, room // self.slices)
        share = room / max(int(positions.sum()), 1)
        shares: NDArray[np.float64] = np.minimum(1.0, np.maximum(share, least / np.maximum(positions, 1)))
        return shares

    def _pairs(self, place: NDArray[np.int32], words: int) -> list[Contexts]:
        size, alpha = len(place), self._text.alpha
        together, alone = np.zeros((words * self.slices, size), np.int32), np.zeros((self.slices, size), np.int64)
        kept = np.empty(self._longest, np.int32)
        for first, last in zip(self._edges, self._edges[1:]):
            windows.pair(self._text, place, self.slices, first, last, kept, together, alone)
            self.report()
        if not self._background:
            self._background = [Contexts(alpha[row > 0], row[row > 0].astype(np.float32)) for row in alone]
        return [Contexts(alpha[row > 0], row[row > 0].astype(np.float32)) for row in together]

    def _each_piece(self, work: Callable[[int, int, int, NDArray[np.int32]], None]) -> None:
        def read(thread: int) -> None:
            kept = np.empty(self._longest, np.int32)
            for piece in range(thread, len(self._edges) - 1, self.threads):
                work(piece, self._edges[piece], self._edges[piece + 1], kept)
                self.report()

        with ThreadPoolExecutor(self.threads) as pool:
            for _ in pool.map(read, range(self.threads)):
                pass


def _starts(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])
