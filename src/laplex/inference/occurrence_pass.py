"""The sums that tests are made from, for occurrences that have vectors of their own.

With z the vector of an occurrence of word w and m the mean of all of them, whatever their label, a unit c has

    s_c = Σ z    τ_c = n_c    B_c = n_c m    W_c = n_c

in place of the sums of `scores.py`. The background is the word itself, so the influence of a unit on the score of its
label is Σ (z − m), and all that follows is as for text: the test, sizes, intervals, regressions. Σ is the covariance of
the word's occurrences within labels, drawn to that of all words. As there, units that use a word very often count less.
Contributions to a difference are those of occurrences, each divided equally among the words around it.
n words, U units, m rows, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.inference.contexts import pooled
from laplex.inference.scores import MAX_CLUSTERS_WITH_ROWS, WEIGHT_LIMIT, Cells, Result, ScorePass, ScoreTable
from laplex.inference.statistics import thread_pool
from laplex.inference.units import Floats, Ints, Options, Units
from laplex.runtime.display import bar
from laplex.runtime.processors import available_threads
from laplex.text.occurrences import Occurrences
from laplex.text.tokens import Tokens


class OccurrencePass(ScorePass):
    """A pass over occurrences with vectors: which units have which words, and their sums."""

    def __init__(
        self, tokens: Occurrences, units: Units, fitted: Embeddings, ids: Sequence[int], language: int, options: Options
    ) -> None:
        shared = int(units.cluster.max()) + 1 > MAX_CLUSTERS_WITH_ROWS
        self.units = units
        self.cells = Cells(np.arange(len(units) + 1), units.label, np.arange(len(units)), shared)
        self.ids, self.quiet, self.seed = np.asarray(ids, np.int64), options.quiet, options.seed
        self.vocabulary, self._context = tokens.vocabularies[language], tokens.context
        self.threads = options.threads or available_threads()
        self.context_names = tokens.context_words
        unit = np.repeat(np.arange(len(units)), np.diff(units.start))
        self.text: Any = SimpleNamespace(
            ids=tokens.ids,
            offsets=tokens.offsets,
            documents=units.documents,
            unit=unit,
            keep=np.ones(len(self.vocabulary), np.float32),
        )
        self.find_units()
        self.context_start = np.zeros(len(units) + 1, np.int64)  # there are no sampled positions
        self._vectors = tokens.projected(fitted.dimensions)
        self._of_word = _occurrences_by_word(np.asarray(tokens.ids), units.documents, unit)
        self.dimensions = fitted.dimensions
        self._common = self._covariance_of_all()

    def vectors(self, word: int) -> tuple[Floats, Ints, Ints]:
        """The vectors (n, D) of a word's occurrences, their units and their numbers."""
        numbers, units = self._of_word(word)
        return self.vectors_of(numbers), units, numbers

    def vectors_of(self, numbers: Ints) -> Floats:
        """The vectors of occurrences."""
        return np.asarray(self._vectors[numbers], np.float64)

    def places_of(self, chosen: Sequence[int]) -> tuple[NDArray[Any], ...]:
        """The word (a number among those chosen), unit, document, position and context of occurrences of words."""
        found = [self._of_word(int(id)) for id in self.ids[list(chosen)]]
        word = np.repeat(np.arange(len(found)), [len(numbers) for numbers, _ in found])
        numbers, units = (np.concatenate([one[k] for one in found]) for k in (0, 1))
        context = self._context[numbers]
        return word, units, numbers, np.zeros_like(numbers), context, (context >= 0).astype(np.float32)

    def background_scale(self, word: int) -> float:
        return 1.0

    def exchanged(self, word: int) -> int:
        return int(self.start[word + 1] - self.start[word]) if self.cells.shared else len(self.units)

    def memory(self) -> int:
        most = int(np.diff(self.start).max(initial=0)) if self.cells.shared else len(self.units)
        return 8 * self.dimensions * self.threads * (3 * most + self.dimensions)

    def run(
        self,
        chosen: Sequence[int],
        function: Callable[[ScoreTable], Result],
        label: str = "testing",
        with_sigma: bool = False,
    ) -> Iterator[Result]:
        with bar(label, quiet=self.quiet) as progress, thread_pool(self.threads) as pool:
            for done, result in enumerate(pool.map(lambda word: function(self.table(word)), chosen), 1):
                progress.update(done / len(chosen), f"{done:,} of {len(chosen):,} words")
                yield result

    def table(self, word: int) -> ScoreTable:
        """The sums of a word, by its number among those tested."""
        id = int(self.ids[word])
        z, unit, _ = self.vectors(id)
        owners = self.unit[self.start[word] : self.start[word + 1]].astype(np.int64)
        rows = owners if self.cells.shared else np.arange(len(self.units))
        row = np.searchsorted(rows, unit)
        piece = np.unique(self.units.cluster[rows], return_inverse=True)[1]
        sums, tau = _sums(z, row, len(rows)), np.bincount(row, minlength=len(rows)).astype(np.float64)
        used = np.bincount(piece, tau)
        factor = (1 / (1 + used / (WEIGHT_LIMIT * max(tau.sum() / max(np.count_nonzero(used), 1), 1e-300))))[piece]
        sums, tau = factor[:, None] * sums, factor * tau
        mean = sums.sum(0) / max(tau.sum(), 1e-300)
        unit_weight = np.ones(len(self.units))
        unit_weight[rows] = factor
        label = self.units.label[rows]
        cluster = self.units.cluster[rows]
        ones = np.ones(len(rows), np.int64)
        covariance = self._covariance_of(z, self.units.label[unit])
        around = tau[:, None] * mean
        return ScoreTable(
            *(word, id, label, cluster, piece, ones, sums, tau, around, tau, covariance),
            unit_weight=unit_weight,
        )

    def _covariance_of(self, z: Floats, label: Ints) -> Floats:
        """(D, D) Σ of a word."""
        square, free = _within(z, label)
        common = self._common * max(np.trace(square) / max(free, 1.0), 1e-12) / max(np.trace(self._common), 1e-12)
        return np.asarray((square + self.dimensions * common) / (free + self.dimensions))

    def _covariance_of_all(self) -> Floats:
        """(D, D) Σ of all words within labels, each word counting the same."""
        total, words = np.zeros((self.dimensions,) * 2), 0
        for id in range(len(self.vocabulary)):
            z, unit, _ = self.vectors(id)
            square, free = _within(z, self.units.label[unit])
            if free > 1:
                total, words = total + square / free, words + 1
        common = total / max(words, 1)
        return np.asarray(common + 1e-9 * np.trace(common) / self.dimensions * np.eye(self.dimensions))


def score_pass(
    fitted: Embeddings, tokens: Tokens, units: Units, ids: Sequence[int], language: int, options: Options
) -> ScorePass:
    """The pass of words over a text, by contexts that have not seen the labels, or over occurrences with vectors."""
    if isinstance(tokens, Occurrences):
        return OccurrencePass(tokens, units, fitted, ids, language, options)
    return ScorePass(tokens, units, pooled(fitted, tokens, quiet=options.quiet), ids, language, options)


def _sums(values: Floats, row: Ints, rows: int) -> Floats:
    """(rows, D) The sums of values by row."""
    sums = np.zeros((rows, values.shape[1]))
    np.add.at(sums, row, values)
    return sums


def _within(z: Floats, label: Ints) -> tuple[Floats, float]:
    """(D, D) The sum of squares of z around the means of labels, and its degrees of freedom."""
    names, place = np.unique(label, return_inverse=True)
    rest = z - (_sums(z, place, len(names)) / np.bincount(place)[:, None])[place]
    return rest.T @ rest, float(len(z) - len(names))


def _occurrences_by_word(ids: NDArray[np.int32], documents: Ints, unit: Ints) -> Callable[[int], tuple[Ints, Ints]]:
    """A function from a word to the occurrences of it that are read, and their units."""
    word = ids[documents]  # a document is one occurrence
    order = np.argsort(word, kind="stable")
    starts = np.searchsorted(word[order], np.arange(int(ids.max(initial=0)) + 2))

    def of(id: int) -> tuple[Ints, Ints]:
        mine = order[starts[id] : starts[id + 1]]
        return documents[mine], unit[mine]

    return of
