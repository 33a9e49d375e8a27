"""Vectors of words in slices where they do not occur, for models with absent="filled".

There a word has no text, and if negatives are words that do occur, no likelihood: its vector is what the prior makes of
the word's vectors elsewhere. Priors on slices join a word to itself alone (`WordPrior`), so the precision of one word's
vectors is a small graph over slices, from which absent ones are taken out (`elimination.py`). What is left of it, with
the means that stay, is the prior of the vectors that there are, and the shares of those in the others are known.
S slices, L latent nodes of the prior, V words of all languages, P parameters, n rows that are asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.errors import StorageError
from laplex.model.graph import Graph
from laplex.model.priors.prior import WordPrior
from laplex.model.rows import Rows
from laplex.runtime.display import bar

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slots = NDArray[np.int32]
EDGES_PER_BATCH = 2_000_000  # whose memory is used again for the next words
MIN_SHARE = 1e-9  # a smaller share of one vector in another is rounding


class WordPlaces(NamedTuple):
    """In which slices each word occurs, word by word, and the parameters it has there."""

    starts: Ints  # (V + 1)
    slices: NDArray[np.int32]
    parameters: Ints

    @classmethod
    def of(cls, word: Ints, slice: Ints, parameter: NDArray[np.integer], words: int) -> WordPlaces:
        """From the word, numbered through all languages, the slice and the parameter of each vector."""
        order = np.argsort(word, kind="stable")
        return cls(starts_of(word, words), slice[order].astype(np.int32), parameter[order].astype(np.int64))


def starts_of(group: NDArray[np.integer], groups: int) -> Ints:
    """(groups + 1) Where each group begins among sorted members."""
    starts: Ints = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    return starts


def eliminate(
    prior: WordPrior, occurrences: WordPlaces, contexts: Slots, parameters: int, *, quiet: bool = True
) -> tuple[Graph, Ints]:
    """The prior of the vectors that there are, absent ones at their optimum, and the words of the latent ones it has.

    Args:
        prior: What is believed about the vectors of a word.
        occurrences: Where words occur; their parameters and those of `contexts` (V) are below `parameters`.
        contexts: (V) The parameters of context words.
        parameters: How many there are; latent ones come behind them, those of a word together.
        quiet: Show no progress.
    """
    from laplex.model.elimination import SliceGraph, reduce_words  # compiled code, which a question needs not

    slices, words = SliceGraph.of(prior.slices), len(prior.words)
    diagonal = np.zeros(parameters)
    room = EDGES_PER_BATCH + len(slices.diagonal) ** 2 // 2 if len(slices.diagonal) < 1000 else EDGES_PER_BATCH
    room += 20 * len(slices.diagonal)
    buffer = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    latent_buffer = np.empty(room, np.int64), np.empty(room)
    ends: list[list[Ints]] = [[], []]
    weights, latent_words, latent_diagonals = [], [], []
    word, before = 0, parameters
    with bar("joining slices", quiet=quiet) as progress:
        while word < words:
            word, edges, latent = reduce_words(slices, prior.words, occurrences, word, diagonal, buffer, latent_buffer)
            for kept, numbers in zip(ends, buffer[:2], strict=True):
                kept.append(np.where(numbers[:edges] < 0, before - 1 - numbers[:edges], numbers[:edges]))
            weights.append(buffer[2][:edges].copy())
            latent_words.append(latent_buffer[0][:latent].copy())
            latent_diagonals.append(latent_buffer[1][:latent].copy())
            before += latent
            progress.update(word / words)
    one, two = map(np.concatenate, ends)
    diagonal[contexts] = prior.contexts
    lower, upper = np.minimum(one, two), np.maximum(one, two)
    graph = Graph.of(
        before,
        lower,
        upper,
        np.concatenate(weights),
        diagonal=np.concatenate([diagonal, *latent_diagonals]),
        latent=before - parameters,
    )
    return graph, np.concatenate(latent_words)


class Filling(NamedTuple):
    """All that computing absent vectors takes, besides those that there are."""

    prior: WordPrior
    latent_word: Ints  # the word of each latent parameter, in order


class AbsentVectors:
    """The vectors of words where they do not occur, computed when they are asked for."""

    def __init__(self, filling: Filling, graph: Graph, rows: Rows, slot: Slots) -> None:
        self.prior, self.latent_word = filling
        self._graph = graph
        self._rows = rows
        self._slot = slot

    def vectors(self, theta: NDArray[np.float32], rows: Ints) -> NDArray[np.float32]:
        """(n, D) The vectors of word rows."""
        from laplex.model.elimination import SliceGraph, share_words

        word, slice = self._rows.places(rows)
        order = np.argsort(word, kind="stable")
        asked, slice_of = word[order], slice[order].astype(np.int32)
        room = EDGES_PER_BATCH + len(self.prior.slices)
        found = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
        vectors = np.zeros((len(rows), theta.shape[1]), np.float32)
        first = 0
        while first < len(asked):
            last, count = share_words(
                SliceGraph.of(self.prior.slices),
                self.prior.words,
                self._occurrences,
                self._latent_start,
                asked,
                slice_of,
                first,
                found,
            )
            vector, parameter, share = found[0][:count], found[1][:count], found[2][:count]
            kept = np.abs(share) > MIN_SHARE
            starts = starts_of(vector[kept] - first, last - first)
            entries = share[kept].astype(np.float32), parameter[kept], starts
            used, place = np.unique(entries[1], return_inverse=True)  # few of a θ that may be memory-mapped
            shares = sparse.csr_array((entries[0], place, entries[2]), shape=(last - first, len(used)))
            vectors[order[first:last]] = shares @ theta[used]
            first = last
        return vectors

    @cached_property
    def _latent_start(self) -> Ints:
        return self._graph.own + starts_of(self.latent_word, len(self.prior.words))

    @cached_property
    def _occurrences(self) -> WordPlaces:
        graph, rows, words = self._graph, self._rows, len(self.prior.words)
        present = np.flatnonzero(self._slot[: rows.context_start(0)] >= 0)
        parameter = self._slot[present]
        word, slice = rows.places(present)
        of_word = np.full(len(graph), -1, np.int64)
        of_word[parameter] = word
        of_word[graph.own :] = self.latent_word
        if (
            graph.directed.any()
            or (graph.sign < 0).any()
            or len(graph.targets)
            or np.bincount(parameter).max(initial=0) > 1
            or (of_word[graph.first] != of_word[graph.second]).any()
            or (of_word[graph.first] < 0).any()
            or len(self.latent_word) != graph.latent
            or (np.diff(self.latent_word) < 0).any()
        ):
            raise StorageError("this model is damaged: its graph does not say how absent words are filled")
        return WordPlaces.of(word, slice, parameter, words)
