"""À la carte embeddings (Khodak et al. 2018): a vector for every occurrence of a word, from the words around it.

The context of occurrence i is the mean u_i of the word vectors in a symmetric window, function words included. Such
means lean towards directions that all words share; a matrix A, fitted to the words whose vectors are known, takes this
out:

    A minimizes Σ_w log(n_w) ‖v_w − A ū_w‖²,   ū_w the mean of u_i over all n_w occurrences of word w

and y_i = A u_i is the embedding of an occurrence. Windows end with the document; words that are not in the vocabulary
are not in the text that is read. V words, n occurrences, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from laplex.baselines import kernels
from laplex.embeddings import Embeddings
from laplex.engines.kernels import LANE
from laplex.errors import InputError
from laplex.inference.statistics import pad, starts_of, thread_pool
from laplex.inference.units import Floats, Ints
from laplex.text.tokens import Tokens

BATCH_BYTES = 512 * 2**20  # for the embeddings of the words that are in memory together

Result = TypeVar("Result")


class WordOccurrences(NamedTuple):
    """The occurrences of a word that have a context, in the order of the text."""

    id: int  # of the word
    embeddings: NDArray[np.float32]  # (n, D) y
    document: Ints  # (n)


class ContextEmbeddings:
    """The embeddings of occurrences, by word."""

    def __init__(self, tokens: Tokens, vectors: Embeddings, window: int, min_count: int, threads: int) -> None:
        """`min_count` is how often a word must occur to have a part in A."""
        self.tokens, self.window, self.threads = tokens, window, threads
        self.dimensions, self.padded = vectors.dimensions, pad(vectors.block(0, 0))
        self.lanes = (np.int8(0),) * (self.padded.shape[1] // LANE)
        self.transformation = self._fit(min_count)  # (D, D) A

    def read(self, ids: Sequence[int]) -> Iterator[list[WordOccurrences]]:
        """The occurrences of each word, in the order of the words, as many words at once as fit into memory."""
        counts = self.tokens.vocabularies[0].counts
        free, batch = BATCH_BYTES, list[int]()
        for word in ids:
            need = self.padded.itemsize * self.padded.shape[1] * int(counts[word])
            if batch and need > free:
                yield self._read_batch(batch)
                free, batch = BATCH_BYTES, []
            batch.append(word)
            free -= need
        yield self._read_batch(batch)

    def _read_batch(self, ids: list[int]) -> list[WordOccurrences]:
        words = self._places(ids)[self.tokens.ids]
        position = np.flatnonzero(words >= 0)
        words = words[position]
        offsets, document = self.tokens.offsets, np.searchsorted(self.tokens.offsets, position, side="right") - 1
        chosen = np.argsort(words, kind="stable")
        chosen = chosen[np.diff(offsets)[document[chosen]] > 1]  # a word alone in its document has no context
        words, position, document = words[chosen], position[chosen], document[chosen]
        low = np.maximum(position - self.window, offsets[document])
        high = np.minimum(position + self.window + 1, offsets[document + 1])
        contexts = np.empty((len(position), self.padded.shape[1]), np.float32)
        transform = self.transformation.T.astype(np.float32)

        def read(first: int, last: int) -> NDArray[np.float32]:
            text = self.lanes, self.padded, self.tokens.ids
            kernels.contexts_at(*text, position, low, high, first, last, contexts)
            return np.asarray(contexts[first:last, : self.dimensions] @ transform)

        embeddings = np.concatenate(self._in_threads(read, np.arange(len(position) + 1)))
        edges = starts_of(np.bincount(words, minlength=len(ids))).tolist()
        return [
            WordOccurrences(word, embeddings[first:last], document[first:last])
            for word, first, last in zip(ids, edges, edges[1:])
        ]

    def _fit(self, min_count: int) -> Floats:
        counts, least = self.tokens.vocabularies[0].counts, max(min_count, 2)  # log(1) is no weight
        frequent = np.flatnonzero(counts >= least)
        if len(frequent) < self.dimensions:
            raise InputError(
                f"{len(frequent):,} words occur at least {least:,} times, which do not fix a matrix of "
                f"{self.dimensions} dimensions: lower min_count={min_count}"
            )
        place = self._places(frequent)

        def read(first: int, last: int) -> tuple[Floats, Ints]:
            total, number = np.zeros((len(frequent), self.padded.shape[1])), np.zeros(len(frequent), np.int64)
            text = self.lanes, self.padded, self.tokens.ids, self.tokens.offsets
            kernels.sum_contexts_by_word(*text, first, last, self.window, place, total, number)
            return total, number

        totals, numbers = zip(*self._in_threads(read, self.tokens.offsets))
        number = np.sum(numbers, axis=0)
        used = number > 0
        mean = np.sum(totals, axis=0)[used, : self.dimensions] / number[used][:, None]
        scale = np.sqrt(np.log(counts[frequent[used]]))[:, None]
        known = self.padded[frequent[used], : self.dimensions].astype(np.float64)
        return np.ascontiguousarray(np.linalg.lstsq(scale * mean, scale * known, rcond=None)[0].T)

    def _in_threads(self, read: Callable[[int, int], Result], ends: Ints) -> list[Result]:
        """What a function gives for stretches of items, one for each thread; item i takes ends[i] to ends[i + 1]."""
        shares = np.linspace(0, ends[-1], self.threads + 1)
        edges = np.unique(np.concatenate([[0], np.searchsorted(ends, shares[1:-1]), [len(ends) - 1]])).tolist()
        with thread_pool(self.threads) as pool:
            return list(pool.map(read, edges[:-1], edges[1:]))

    def _places(self, ids: Sequence[int] | Ints) -> NDArray[np.int32]:
        """(V) The number of each word among some words, or −1."""
        place = np.full(len(self.padded), -1, np.int32)
        place[np.asarray(ids, np.int64)] = np.arange(len(ids))
        return place
