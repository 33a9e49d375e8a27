"""What an epoch reads and samples: segments of the text, alias tables of the negatives, and expected visits.

The prior is applied where a row is visited, each time a share of the whole. So everything random about an epoch is
counted here, in expectation: tokens after subsampling, the blocks they make, and their negatives, over all ranks.

V words of all languages, M documents, S segments, P parameters, B tokens of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from laplex.engines.state import Floats, Ints
from laplex.model.graph import Graph
from laplex.model.problem import Problem

LATENT_VISITS = 16  # of a parameter that no text is about, by each rank in an epoch, for its prior
SEGMENT_TOKENS = 20_000  # a longer document is cut, so that several threads can read it and its step size falls
MEAN_FOLLOWS = 16  # times in an epoch, at most
Total = Callable[[Floats], Floats]


class Segments(NamedTuple):
    """Documents, and parts of equal length of those that are long: what is read without interruption."""

    offsets: Ints  # (S + 1) where each begins, and the end of the last
    document: Ints  # (S)
    is_whole: NDArray[np.bool_]  # (S) whether it is a document by itself

    @classmethod
    def of(cls, offsets: Ints, most: int | None = None) -> Segments:
        """Cut documents (M + 1 offsets) into segments of at most SEGMENT_TOKENS, or `most`, tokens."""
        lengths = np.diff(offsets)
        parts = np.maximum(-(-lengths // (most or SEGMENT_TOKENS)), 1)
        document = np.repeat(np.arange(len(lengths)), parts)
        part = np.arange(len(document)) - np.repeat(np.cumsum(parts) - parts, parts)
        begin = offsets[document] + lengths[document] * part // parts[document]
        return cls(np.append(begin, offsets[-1]), document, parts[document] == 1)


def cut(offsets: Ints, tokens: int) -> Ints:
    """(n, 2) The first and the end of each run of documents or segments with about as many tokens."""
    firsts = np.unique(np.searchsorted(offsets, np.arange(0, offsets[-1], tokens)))
    return np.stack([firsts, np.append(firsts[1:], len(offsets) - 1)], axis=1)


class TokenArrays(NamedTuple):
    """The tokens of all documents, and where the rows and the vocabulary of each document begin."""

    ids: NDArray[np.int32]
    segments: Segments
    offsets: Ints  # where each document begins, and the end of the last
    word_start: Ints  # (M) first word row of the document's language and slice
    context_start: Ints  # (M) first context row of its language
    keep_start: Ints  # (M) where its language begins in `keep`
    held_out: NDArray[np.bool_]  # (M)
    keep: NDArray[np.float32]  # (V) probability that an occurrence is kept

    @classmethod
    def of(cls, problem: Problem) -> TokenArrays:
        """The text of a problem, as kernels read it."""
        keep_start = problem.vocabulary_start[problem.language]
        starts = problem.offsets, problem.word_start, problem.context_start, keep_start
        return cls(problem.ids, Segments.of(problem.offsets), *starts, problem.held_out, problem.keep)


@dataclass(frozen=True, eq=False)
class Visits:
    """(P) Expected visits of every parameter in an epoch, over all ranks."""

    reads: Floats  # as the word or as the context of a token
    draws: Floats  # as a negative
    by_draws: NDArray[np.bool_]  # where the prior is applied to a negative: rows that are never or hardly ever read
    count: Floats  # the visits that the prior is applied at; of latent ones, LATENT_VISITS on every rank that has them
    share: Floats  # of these, those of this rank
    stiffness: Floats  # of each latent parameter, by which its step size follows


def count_visits(problem: Problem, block: int, negatives_per_block: int, total: Total | None = None) -> Visits:
    """Expected visits after subsampling, if each block of a segment samples `negatives_per_block` negatives.

    `total` gives the sum over all ranks of numbers of the parameters; by default there is one process.
    """
    reads, blocks = np.zeros(problem.parameters), np.zeros(len(problem.offsets) - 1)
    _count_reads(TokenArrays.of(problem), problem.slot, block, reads, blocks)
    draws = np.zeros(problem.parameters)
    slices, place = _slices(problem)
    samples = negatives_per_block * np.bincount(place, blocks)
    for (start, language), size in zip(slices, samples.tolist(), strict=True):
        noise = problem.negatives_of(language)
        words = np.flatnonzero(noise)
        np.add.at(draws, problem.slot[start + words], size * noise[words])
    ranks = np.ones(problem.parameters)  # that hold a parameter
    if total is None:
        all_reads, all_draws = reads, draws
    else:
        all_reads, all_draws, ranks = total(reads), total(draws), total(ranks)
    by_draws = all_reads < np.minimum(all_draws, 1.0)
    count = np.where(by_draws, all_draws, all_reads)
    share = np.where(by_draws, draws, reads) / np.maximum(count, 1e-300)
    own = problem.graph.own
    by_draws[own:], count[own:], share[own:] = False, LATENT_VISITS * ranks[own:], 1.0 / ranks[own:]
    return Visits(all_reads, all_draws, by_draws, count, share, _stiffness(problem.graph, count, share, total))


def _stiffness(graph: Graph, count: Floats, share: Floats, total: Total | None) -> Floats:
    """(latent) The precision of each latent parameter given those that it joins, over how often it is to follow them.

    No text is about a mean, so it should be near its optimum, the average of what it joins, however weak the prior is.
    With steps of 1/stiffness it comes near by a factor e, MEAN_FOLLOWS times an epoch; not more often than what it
    joins is visited, so that it averages over it.
    """
    if not graph.latent:
        return np.empty(0)
    to, by = graph.to_latent() & ~graph.directed, graph.first >= graph.own
    weight = graph.weight * share[graph.first]
    visits = weight * np.minimum(count[graph.first], MEAN_FOLLOWS)
    sums = []
    for values in (weight, visits):
        found: Floats = np.bincount(graph.second[to], values[to], len(graph)).astype(np.float64)
        found += np.bincount(graph.first[by], values[by], len(graph))
        sums.append((found if total is None else total(found))[graph.own :])
    often = np.clip(sums[1] / np.maximum(sums[0], 1e-300), 0.5, MEAN_FOLLOWS)
    stiffness: Floats = (sums[0] + graph.diagonal[graph.own :]) / often
    return stiffness


def _slices(problem: Problem) -> tuple[list[tuple[int, int]], Ints]:
    """The first word row and the language of each slice that there is text of, and (M) the slice of each document."""
    starts, example, place = np.unique(problem.word_start, return_index=True, return_inverse=True)
    return list(zip(starts.tolist(), problem.language[example].tolist(), strict=True)), place.reshape(-1)


@njit(nogil=True, cache=True)
def _count_reads(text, slot, block, reads, blocks):  # type: ignore[no-untyped-def]
    """Add the expected reads of every parameter, and the expected number of blocks of every document.

    A document is read if two of its tokens are kept. The number of blocks is ⌈n/B⌉ = (n + (−n mod B)) / B for n kept
    tokens; the distribution of n mod B is followed token by token, until it is uniform.
    """
    ids, keep = text.ids, text.keep
    offsets, document, is_whole = text.segments
    residue = np.empty(block)
    for s in range(len(document)):
        m = document[s]
        if text.held_out[m]:
            continue
        sure, mean, variance, none, odds = 0, 0.0, 0.0, 1.0, 0.0
        residue[:] = 0.0
        residue[0] = 1.0
        for i in range(offsets[s], offsets[s + 1]):
            p = np.float64(keep[text.keep_start[m] + ids[i]])
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
            p = np.float64(keep[text.keep_start[m] + word])
            if is_whole[s]:  # another token has to be kept, too
                if p >= 1.0:
                    p -= none if sure == 1 else 0.0
                elif sure == 0:
                    p *= 1.0 - none / (1.0 - p)
            reads[slot[text.word_start[m] + word]] += p
            reads[slot[text.context_start[m] + word]] += p


class AliasTables(NamedTuple):
    """Alias tables of all distributions of negatives, one after the other.

    To sample a word, choose a place of a table evenly and stay there with `chance`, else take `other`.
    """

    chance: NDArray[np.float32]
    other: NDArray[np.int32]  # a word of the same vocabulary
    table: Ints  # (M) of each document
    start: Ints  # of each table, and the end of the last

    @classmethod
    def of(cls, problem: Problem) -> AliasTables:
        """A table for each vocabulary."""
        starts = problem.vocabulary_start
        chance, other = np.ones(starts[-1], np.float32), np.zeros(starts[-1], np.int32)
        for first, end in pairwise(starts.tolist()):
            _alias(problem.noise[first:end], chance[first:end], other[first:end])
        return cls(chance, other, problem.language, starts)


@njit(nogil=True, cache=True)
def _alias(probability, chance, other):  # type: ignore[no-untyped-def]
    """Fill in Walker's alias table of a distribution."""
    size = len(probability)
    scaled = probability * size
    stack = np.empty(size, np.int32)  # small ones from below, large ones from above
    low, high = 0, size
    for i in range(size):
        chance[i], other[i] = 1.0, i
        if scaled[i] < 1.0:
            stack[low] = i
            low += 1
    for i in range(size - 1, -1, -1):
        if scaled[i] >= 1.0:
            high -= 1
            stack[high] = i
    while low > 0 and high < size:
        low -= 1
        small, large = stack[low], stack[high]
        chance[small], other[small] = scaled[small], large
        scaled[large] -= 1.0 - scaled[small]
        if scaled[large] < 1.0:
            high += 1
            stack[low] = large
            low += 1
