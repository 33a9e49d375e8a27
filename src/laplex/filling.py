"""What does the prior say of a word in a slice where it does not occur?

There it has no text, and if negatives are words that do occur, no likelihood: its vector is what the graph makes of the
word's vectors elsewhere. Priors on slices join a word to itself alone, so that the precision of one word's vectors is a
small matrix L = C⁻¹ over slices, with the parts p (the word occurs) and a (it does not):

    θ_a = −L_aa⁻¹ L_ap θ_p = C_ap Q θ_p,   Q = L_pp − L_pa L_aa⁻¹ L_ap = C_pp⁻¹

Q is the prior of what is left, and a graph again (`elimination.py` finds it): two periods with a gap of g between them
are joined by a spring of 1/g of the strength. A Prior and Rows come in; a Filling goes out, which a model keeps.
S slices, V words of all languages, K kinds of words with a matrix of their own, P parameters, n rows asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from laplex.errors import InputError, StorageError
from laplex.graph import Graph
from laplex.priors import Chain, GroupMean, Groups, Prior, Ridge, Sum
from laplex.priors.prior import by_word
from laplex.rows import Rows
from laplex.vocabulary import Vocabulary

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STIFFEST = 1e9  # how much stronger a belief may be than what holds a word: beyond, rounding would show
MOST = 50_000_000  # numbers in all matrices of kinds of words
AT_ONCE = 5_000_000  # edges of the words that are filled together, at most
NOTHING = 1e-9  # a share in a filled vector that only rounding makes differ from zero


@dataclass(frozen=True, eq=False)
class Belief:
    """A prior as it is for every word: edges between slices, and a diagonal."""

    weights: Floats  # (S, S) of edges, zero on the diagonal
    diagonal: Floats  # (S) of every word
    words: Floats  # (V) what a word has beside it, in every slice
    contexts: Floats  # (V) the diagonal of context rows

    @classmethod
    def of(cls, prior: Prior, rows: Rows) -> Belief:
        _check_kinds(prior)
        # the layout of one word stands for that of all
        one = Rows([Vocabulary(["word"], np.ones(1, np.int64))], rows.slices)
        graph = Sum(tuple(part for part in prior.parts if not isinstance(part, Ridge))).graph(one)
        if np.isinf(graph.weight).any():
            raise InputError(
                'absent="filled" takes finite strengths: where a word is always the same, take the column out of vary='
            )
        size = len(rows.slices)
        weights = np.zeros((size, size))
        np.add.at(weights, (graph.first, graph.second), graph.weight)
        ridges = [part for part in prior.parts if isinstance(part, Ridge)]
        words, contexts = (
            sum(
                (_ridge(part, rows) for part in ridges if part.on in ("all", on)),
                np.zeros(sum(map(len, rows.vocabularies))),
            )
            for on in ("words", "contexts")
        )
        belief = cls(weights + weights.T, graph.diagonal[:size], words, contexts)
        belief._check_holds(rows)
        return belief

    @property
    def ridges(self) -> Floats:
        """(K) What words of each kind have beside it."""
        return np.unique(self.words)

    def _check_holds(self, rows: Rows) -> None:
        """Is every vector held by something?"""
        starts = np.cumsum([0, *map(len, rows.vocabularies)])

        def name(word: int, slice: int | None) -> Any:
            language = int(np.searchsorted(starts, word, "right")) - 1
            first = rows.context_start(language) if slice is None else rows.word_start(language, slice)
            return rows.name(first + word - int(starts[language]))

        Graph.of(len(self.contexts), diagonal=self.contexts).check_positive_definite(lambda word: name(word, None))
        first, second = np.nonzero(np.triu(self.weights))
        loosest = int(self.words.argmin())
        slices = Graph.of(len(self.diagonal), first, second, diagonal=self.diagonal + self.words[loosest])
        slices.check_positive_definite(lambda slice: name(loosest, slice))


def _check_kinds(prior: Prior) -> None:
    for part in prior.parts:
        if not isinstance(part, (Ridge, Groups, GroupMean, Chain)):
            raise InputError(
                'absent="filled" goes with Ridge, Groups, GroupMean and Chain, which join a word to itself alone, not '
                f'with {part!r}: leave it out, or write absent="kept"'
            )


def _ridge(part: Ridge, rows: Rows) -> Floats:
    return np.concatenate([by_word(part.strength, vocabulary) for vocabulary in rows.vocabularies])


@dataclass(frozen=True, eq=False)
class Filling:
    """The prior covariance of a word's vectors in two slices, which is all that filling needs to know."""

    covariance: Floats  # (K, S, S) C
    kind: NDArray[np.int32]  # (V)

    @classmethod
    def of(cls, belief: Belief) -> Filling:
        ridges, kind = belief.ridges, np.searchsorted(belief.ridges, belief.words)
        if len(ridges) * belief.weights.size > MOST:
            raise InputError(
                f'Ridge has {len(ridges):,} different strengths for words: absent="filled" keeps a matrix of '
                f"{len(belief.weights)} slices for each of them. Round the strengths, or group words"
            )
        covariance = np.stack([_inverse(belief.weights, belief.diagonal + ridge) for ridge in ridges])
        strongest = float(belief.weights.sum(1).max(initial=0.0)) * float(covariance.max(initial=0.0))
        if strongest > STIFFEST:
            raise InputError(
                f"the prior joins slices {strongest:.0e} times as strongly as it holds a word at all, more than "
                f'absent="filled" can compute with ({STIFFEST:.0e}): lower the strength or raise the ridge'
            )
        return cls(covariance, kind.astype(np.int32))


def _inverse(weights: Floats, diagonal: Floats) -> Floats:
    """(L + D)⁻¹ of a graph over slices. Nothing is subtracted, so that every entry is precise, however small."""
    edges, held = weights.copy(), diagonal.copy()
    lower, pivots = np.eye(len(held)), np.empty(len(held))
    for k in range(len(held)):
        rest = edges[k, k + 1 :].copy()
        pivots[k] = held[k] + rest.sum()
        share = rest / pivots[k]
        lower[k + 1 :, k] = -share
        edges[k + 1 :, k + 1 :] += np.outer(share, rest)
        held[k + 1 :] += share * held[k]
    factor = solve_triangular(lower, np.eye(len(held)), lower=True, unit_diagonal=True)
    inverse: Floats = factor.T @ (factor / pivots[:, None])
    return inverse


class Absent:
    """The vectors of words where they do not occur, made when they are asked for: θ_a = C_ap Q θ_p."""

    def __init__(self, filling: Filling, graph: Graph, rows: Rows, slot: NDArray[np.int32]) -> None:
        self._filling = filling
        self._graph = graph  # Q, over parameters
        self._rows = rows
        self._slot = slot

    def vectors(self, theta: NDArray[np.float32], asked: Ints) -> NDArray[np.float32]:
        """(n, D) The vectors of some rows of words."""
        word, slice = self._rows.places(asked)
        found = np.empty((len(asked), theta.shape[1]), np.float32)
        for some in self._portions(word):
            found[some] = self._shares(word[some], slice[some], len(theta)) @ theta
        return found

    def _portions(self, word: Ints) -> Iterator[Any]:
        starts = self._index.starts
        work = np.cumsum((starts[word + 1] - starts[word]) ** 2)
        begin = 0
        while begin < len(word):
            done = work[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(work, done + AT_ONCE, "right")))
            yield np.s_[begin:end]
            begin = end

    def _shares(self, word: Ints, slice: Ints, parameters: int) -> sparse.csr_array:
        """(n, P) How much of the word's vectors elsewhere is in its vector here: C_ap Q, row by row."""
        index, graph = self._index, self._graph
        count = index.starts[word + 1] - index.starts[word]
        begin = np.cumsum(count) - count
        asked, entry = np.repeat(np.arange(len(word)), count), np.arange(count.sum())
        own = index.members[np.repeat(index.starts[word] - begin, count) + entry]
        kind = self._filling.kind[word]
        along = self._filling.covariance[kind[asked], index.slice[own], slice[asked]]
        shares = graph.diagonal[own] * along
        edges = index.edges[own + 1] - index.edges[own]
        one = np.repeat(entry, edges)
        edge = np.repeat(index.edges[own] - (np.cumsum(edges) - edges), edges) + np.arange(edges.sum())
        two = begin[asked[one]] + index.rank[graph.second[edge]]
        flow = graph.weight[edge] * (along[one] - along[two])
        shares += np.bincount(one, flow, len(own)) - np.bincount(two, flow, len(own))
        kept = np.abs(shares) > NOTHING
        bounds = np.concatenate([[0], np.cumsum(np.bincount(asked[kept], minlength=len(word)))])
        shape = (len(word), parameters)
        return sparse.csr_array((shares[kept].astype(np.float32), own[kept], bounds), shape=shape)

    @cached_property
    def _index(self) -> _Index:
        return _Index.of(self._graph, self._rows, self._slot)


@dataclass(frozen=True, eq=False)
class _Index:
    """Which parameters a word has, and which edges a parameter."""

    members: Ints  # parameters, word by word
    starts: Ints  # (V + 1) where those of a word begin
    slice: NDArray[np.int32]  # (P)
    rank: NDArray[np.int32]  # (P) its place among the parameters of its word
    edges: Ints  # (P + 1) where the edges whose first end it is begin

    @classmethod
    def of(cls, graph: Graph, rows: Rows, slot: NDArray[np.int32]) -> _Index:
        present = np.flatnonzero(slot[: rows.context_start(0)] >= 0)
        own = slot[present]
        word, slice = rows.places(present)
        order = np.argsort(word.astype(np.int32), kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=sum(map(len, rows.vocabularies))))])
        of_word = np.full(len(graph), -1, np.int64)
        of_slice, rank = np.zeros((2, len(graph)), np.int32)
        of_word[own], of_slice[own] = word, slice
        rank[own[order]] = np.arange(len(own)) - starts[word[order]]
        plain = not (graph.directed.any() or (graph.sign < 0).any() or len(graph.targets))
        if not (
            plain
            and np.bincount(own).max(initial=0) <= 1
            and (graph.first[1:] >= graph.first[:-1]).all()
            and (of_word[graph.first] == of_word[graph.second]).all()
            and (of_word[graph.first] >= 0).all()
        ):
            raise StorageError("this model is damaged: its graph does not say how absent words are filled")
        edges = np.concatenate([[0], np.cumsum(np.bincount(graph.first, minlength=len(graph)))])
        return cls(own[order].astype(np.int64), starts, of_slice, rank, edges)
