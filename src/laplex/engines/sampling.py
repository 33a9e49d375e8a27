"""What an epoch reads and samples: segments of the text, alias tables of the negatives, and expected visits.

The prior is applied where a row is visited, each time a share of the whole, so engines must know how often that is.
Everything random about an epoch is counted here, in expectation and for all engines: tokens after subsampling, the
blocks they make, and the negatives that the blocks sample, over all ranks.

V words of all languages, M documents, S segments, P parameters, B tokens of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SEGMENT_TOKENS = 20_000  # a longer document is cut, so that several threads can read it and its step size falls


@dataclass(frozen=True, eq=False)
class Segments:
    """Documents, and parts of equal length of those that are long: what is read without interruption."""

    offsets: Ints  # (S + 1) where each begins, and the end of the last
    document: Ints  # (S)

    @classmethod
    def of(cls, offsets: Ints, most: int | None = None) -> Segments:
        """Cut documents (M + 1 offsets) into segments of at most SEGMENT_TOKENS, or `most`, tokens."""
        lengths, most = np.diff(offsets), most or SEGMENT_TOKENS
        parts = np.maximum(-(-lengths // most), 1)
        document = np.repeat(np.arange(len(lengths)), parts)
        part = np.arange(len(document)) - np.repeat(np.cumsum(parts) - parts, parts)
        begin = offsets[document] + lengths[document] * part // parts[document]
        return cls(np.append(begin, offsets[-1]), document)

    @property
    def is_whole(self) -> NDArray[np.bool_]:
        """(S) Whether a segment is a document by itself."""
        alone: NDArray[np.bool_] = np.bincount(self.document)[self.document] == 1
        return alone


@dataclass(frozen=True, eq=False)
class Visits:
    """(P) Expected visits of every parameter in an epoch, over all ranks."""

    reads: Floats  # as the word or as the context of a token
    draws: Floats  # as a negative
    share: Floats  # of the visits that the prior is applied at, those of this rank

    @property
    def by_draws(self) -> NDArray[np.bool_]:
        """(P) Where the prior is applied to a negative: rows that are never or hardly ever read."""
        rarely: NDArray[np.bool_] = self.reads < np.minimum(self.draws, 1.0)
        return rarely

    @property
    def count(self) -> Floats:
        """(P) The visits that the prior is applied at."""
        return np.where(self.by_draws, self.draws, self.reads)


def count_visits(
    problem: Problem,
    block: int,
    negatives_per_block: int,
    communicator: Communicator | None = None,
    segments: Segments | None = None,
) -> Visits:
    """Expected visits after subsampling, if each block of a segment samples `negatives_per_block` negatives."""
    segments = segments or Segments.of(problem.offsets)
    communicator = communicator or Communicator()
    reads, blocks = np.zeros(problem.parameters), np.zeros(len(problem.offsets) - 1)
    _count_reads(
        problem.ids,
        segments.offsets,
        segments.document,
        segments.is_whole,
        problem.word_start,
        problem.context_start,
        problem.vocabulary_start[problem.language],
        problem.held_out,
        problem.keep,
        problem.slot,
        block,
        reads,
        blocks,
    )
    draws = np.zeros(problem.parameters)
    starts, example, place = np.unique(problem.word_start, return_index=True, return_inverse=True)
    samples = negatives_per_block * np.bincount(place.reshape(-1), blocks)
    for start, language, size in zip(
        starts.tolist(), problem.language[example].tolist(), samples.tolist(), strict=True
    ):
        noise = problem.negatives_of(start, language)
        words = np.flatnonzero(noise)
        np.add.at(draws, problem.slot[start + words], size * noise[words])
    total = Visits(communicator.allreduce(reads), communicator.allreduce(draws), np.empty(0))
    here = np.where(total.by_draws, draws, reads)
    return Visits(total.reads, total.draws, here / np.maximum(total.count, 1e-300))


@njit(nogil=True, cache=True)
def _count_reads(  # type: ignore[no-untyped-def]
    ids, offsets, document, is_whole, word_start, context_start, vocabulary, held_out, keep, slot, block, reads, blocks
):
    """Add the expected reads of every parameter, and the expected number of blocks of every document.

    A document is read if two of its tokens are kept. The number of blocks is ⌈n/B⌉ = (n + (−n mod B)) / B for n kept
    tokens; the distribution of n mod B is followed token by token, until it is uniform.
    """
    residue = np.empty(block)
    for s in range(len(document)):
        m = document[s]
        if held_out[m]:
            continue
        sure, mean, variance, none, odds = 0, 0.0, 0.0, 1.0, 0.0
        residue[:] = 0.0
        residue[0] = 1.0
        for i in range(offsets[s], offsets[s + 1]):
            p = np.float64(keep[vocabulary[m] + ids[i]])
            if p >= 1.0:
                sure += 1
                continue
            mean += p
            none *= 1.0 - p  # the probability that no token is kept, but for those that surely are
            odds += p / (1.0 - p)
            variance += p * (1.0 - p)
            if variance < 0.5 * block * block:
                last = residue[block - 1]
                for r in range(block - 1, 0, -1):
                    residue[r] = (1.0 - p) * residue[r] + p * residue[r - 1]
                residue[0] = (1.0 - p) * residue[0] + p * last
        missing = 0.5 * (block - 1)
        if variance < 0.5 * block * block:
            missing = 0.0
            for r in range(block):
                missing += residue[r] * (-(r + sure) % block)
        one = none * odds if sure == 0 else none if sure == 1 else 0.0
        blocks[m] += (sure + mean + missing) / block - (one if is_whole[s] else 0.0)
        for i in range(offsets[s], offsets[s + 1]):
            word = ids[i]
            p = np.float64(keep[vocabulary[m] + word])
            if is_whole[s]:  # another token has to be kept, too
                if p >= 1.0:
                    p -= none if sure == 1 else 0.0
                elif sure == 0:
                    p *= 1.0 - none / (1.0 - p)
            reads[slot[word_start[m] + word]] += p
            reads[slot[context_start[m] + word]] += p


@dataclass(frozen=True, eq=False)
class AliasTables:
    """Alias tables of all distributions of negatives, one after the other.

    To sample a word, choose a place of a table evenly and stay there with `chance`, else take `other`. `words` are the
    words at the places of tables that do not have all words of their language.
    """

    chance: NDArray[np.float32]
    other: NDArray[np.int32]  # a word
    words: NDArray[np.int32] | None
    table: Ints  # (M) of each document
    start: Ints  # of each table, and the end of the last

    @classmethod
    def of(cls, problem: Problem) -> AliasTables:
        """A table for each language, or for the words that occur in each slice."""
        if problem.present is None:
            starts = problem.vocabulary_start
            tables = [_alias(problem.noise[a:b]) for a, b in pairwise(starts.tolist())]
            chance, other = (np.concatenate(arrays) for arrays in zip(*tables, strict=True))
            return cls(chance, other, None, problem.language, starts)
        starts, example, table = np.unique(problem.word_start, return_index=True, return_inverse=True)
        chances, others, words = [np.empty(0, np.float32)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for start, language in zip(starts.tolist(), problem.language[example].tolist(), strict=True):
            noise = problem.negatives_of(start, language)
            members = np.flatnonzero(noise).astype(np.int32)
            chance, other = _alias(noise[members])
            chances.append(chance)
            others.append(members[other])
            words.append(members)
        ends = np.cumsum([len(members) for members in words])
        return cls(np.concatenate(chances), np.concatenate(others), np.concatenate(words), table.reshape(-1), ends)


def _alias(probability: Floats) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Walker's alias table of a distribution."""
    size = len(probability)
    scaled = (probability * size).tolist()
    chance, other = np.ones(size, np.float32), np.arange(size, dtype=np.int32)
    small = [i for i, p in enumerate(scaled) if p < 1.0]
    large = [i for i, p in enumerate(scaled) if p >= 1.0]
    while small and large:
        low, high = small.pop(), large.pop()
        chance[low], other[low] = scaled[low], high
        scaled[high] -= 1.0 - scaled[low]
        (small if scaled[high] < 1.0 else large).append(high)
    return chance, other
