"""Vectors of words in slices where they do not occur, for models with absent="filled".

There a word has no text, and if negatives are words that do occur, no likelihood: its vector is what the prior makes of
the word's vectors elsewhere. Priors on slices join a word to itself alone (`WordPrior`), so the precision of one word's
vectors is a small matrix L = C⁻¹ over slices, with the parts p (where the word occurs) and a (where it does not):

    θ_a = −L_aa⁻¹ L_ap θ_p = C_ap Q θ_p,   Q = L_pp − L_pa L_aa⁻¹ L_ap = C_pp⁻¹

Q is the precision of the vectors that are left, and a graph again (`eliminate`). Two periods with a gap of g between
them are joined by 1/g of the strength, as by springs in series. Taking out a node k of weights a and diagonal d leaves

    a_ij + a_ik a_kj / (d_k + Σ_j a_kj),    d_i + a_ik d_k / (d_k + Σ_j a_kj)

sums of positive numbers: along a path rounding loses nothing. For other graphs a matrix is inverted, the smaller of
two: L_aa, or C_pp of the covariance C, whose inverse is the same Schur complement.
S slices, V words of all languages, K kinds of words with a matrix of their own, P parameters, n rows that are asked
for, p slices in which a word occurs and a in which it does not, b patterns of such slices at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.errors import InputError, StorageError
from laplex.model.graph import Graph
from laplex.model.priors.prior import WordPrior
from laplex.model.rows import Rows
from laplex.runtime.display import bar

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slots = NDArray[np.int32]
EdgeArrays = tuple[Slots, Slots, Floats]  # first ends, second ends, weights
MAX_STIFFNESS = 1e9  # the strength between slices relative to what holds a word at all; beyond, rounding would show
MAX_COVARIANCE_ENTRIES = 50_000_000  # in the matrices of all kinds of words
MATRIX_ENTRIES_PER_BATCH = 4_000_000  # in the matrices that are inverted together
EDGES_PER_BATCH = 5_000_000  # of the words whose vectors are computed together
MIN_RELATIVE_WEIGHT = 1e-14  # of the strongest edge: a weaker one is zero, or rounding of very different strengths
MIN_INVERTED_WEIGHT = 1e-12  # the same of a weight that comes from the inverse of a covariance
MIN_SHARE = 1e-9  # a smaller share of one vector in another is rounding


@dataclass(frozen=True, eq=False)
class SliceCovariance:
    """The prior covariance of a word's vectors in two slices: all that computing absent vectors takes."""

    covariance: Floats  # (K, S, S) C
    kind: NDArray[np.int32]  # (V)

    @classmethod
    def of(cls, prior: WordPrior) -> SliceCovariance:
        """Invert the precision of each kind of words; words of one kind have the same ridge."""
        ridges, kind = np.unique(prior.words, return_inverse=True)
        if len(ridges) * prior.weights.size > MAX_COVARIANCE_ENTRIES:
            raise InputError(
                f'Ridge has {len(ridges):,} different strengths for words: absent="filled" keeps a matrix of '
                f"{len(prior.weights)} slices for each of them. Round the strengths, or group words"
            )
        covariance = np.stack([inverse_of_precision(prior.weights, prior.diagonal + ridge) for ridge in ridges])
        stiffness = float(prior.weights.sum(1).max(initial=0.0)) * float(covariance.max(initial=0.0))
        if stiffness > MAX_STIFFNESS:
            raise InputError(
                f"the prior joins slices {stiffness:.0e} times as strongly as it holds a word at all, more than "
                f'absent="filled" can compute with ({MAX_STIFFNESS:.0e}): lower the strength or raise the ridge'
            )
        return cls(covariance, kind.astype(np.int32))

    def word_prior(self, contexts: Floats) -> WordPrior:
        """The prior that this is the covariance of; `contexts` (V) is the diagonal of context rows."""
        precisions = np.linalg.inv(self.covariance)  # (K, S, S)
        weights = -np.tril(precisions[0], -1)
        weights[weights < MIN_INVERTED_WEIGHT * weights.max(initial=0.0)] = 0.0  # so that a path remains one
        ridges = np.einsum("kss->k", precisions - precisions[0]) / max(len(weights), 1)
        diagonal = np.maximum(np.linalg.solve(self.covariance[0], np.ones(len(weights))), 0.0)
        return WordPrior(weights + weights.T, diagonal, ridges[self.kind], contexts)


def inverse_of_precision(weights: Floats, diagonal: Floats) -> Floats:
    """(L + D)⁻¹ of a graph over slices. Nothing is subtracted, so every entry is precise, however small."""
    from scipy.linalg import solve_triangular

    edges, rest_of_diagonal = weights.copy(), diagonal.copy()
    size = len(diagonal)
    lower, pivots = np.eye(size), np.empty(size)
    for k in range(size):
        onward = edges[k, k + 1 :].copy()
        pivots[k] = rest_of_diagonal[k] + onward.sum()
        share = onward / pivots[k]
        lower[k + 1 :, k] = -share
        edges[k + 1 :, k + 1 :] += np.outer(share, onward)
        rest_of_diagonal[k + 1 :] += share * rest_of_diagonal[k]
    factor = solve_triangular(lower, np.eye(size), lower=True, unit_diagonal=True)
    inverse: Floats = factor.T @ (factor / pivots[:, None])
    return inverse


class AbsentVectors:
    """The vectors of words where they do not occur, computed when they are asked for: θ_a = C_ap Q θ_p."""

    def __init__(self, covariance: SliceCovariance, graph: Graph, rows: Rows, slot: Slots) -> None:
        self._covariance = covariance
        self._graph = graph  # Q, over parameters
        self._rows = rows
        self._slot = slot

    def vectors(self, theta: NDArray[np.float32], rows: Ints) -> NDArray[np.float32]:
        """(n, D) The vectors of word rows."""
        word, slice = self._rows.places(rows)
        edges = np.cumsum((np.diff(self._index.starts)[word]) ** 2)
        bounds = np.flatnonzero(np.diff(edges // EDGES_PER_BATCH)) + 1
        vectors = np.empty((len(rows), theta.shape[1]), np.float32)
        for batch in np.split(np.arange(len(word)), bounds):
            vectors[batch] = self._shares(word[batch], slice[batch], len(theta)) @ theta
        return vectors

    def _shares(self, word: Ints, slice: Ints, parameters: int) -> sparse.csr_array:
        """(n, P) The share of the word's vectors elsewhere in its vector here: C_ap Q, row by row."""
        index, graph = self._index, self._graph
        row, member = _concatenated_ranges(index.starts, word)
        parameter = index.members[member]
        covariance = self._covariance.covariance[self._covariance.kind[word[row]], index.slice[parameter], slice[row]]
        shares = graph.diagonal[parameter] * covariance
        one, edge = _concatenated_ranges(index.edges, parameter)
        two = np.searchsorted(row, np.arange(len(word)))[row[one]] + index.rank[graph.second[edge]]
        flow = graph.weight[edge] * (covariance[one] - covariance[two])
        shares += np.bincount(one, flow, len(parameter)) - np.bincount(two, flow, len(parameter))
        kept = np.abs(shares) > MIN_SHARE
        entries = shares[kept].astype(np.float32), parameter[kept], _starts(row[kept], len(word))
        return sparse.csr_array(entries, shape=(len(word), parameters))

    @cached_property
    def _index(self) -> _Index:
        graph, rows = self._graph, self._rows
        present = np.flatnonzero(self._slot[: rows.context_start(0)] >= 0)
        parameter = self._slot[present]
        word, slice = rows.places(present)
        order = np.argsort(word.astype(np.int32), kind="stable")
        starts = _starts(word, sum(map(len, rows.vocabularies)))
        of_word = np.full(len(graph), -1, np.int64)
        of_slice, rank = np.zeros((2, len(graph)), np.int32)
        of_word[parameter], of_slice[parameter] = word, slice
        rank[parameter[order]] = np.arange(len(parameter)) - starts[word[order]]
        if (
            graph.directed.any()
            or (graph.sign < 0).any()
            or len(graph.targets)
            or np.bincount(parameter).max(initial=0) > 1
            or (graph.first[1:] < graph.first[:-1]).any()
            or (of_word[graph.first] != of_word[graph.second]).any()
            or (of_word[graph.first] < 0).any()
        ):
            raise StorageError("this model is damaged: its graph does not say how absent words are filled")
        return _Index(parameter[order].astype(np.int64), starts, of_slice, rank, _starts(graph.first, len(graph)))


def _starts(group: NDArray[Any], groups: int) -> Ints:
    """(groups + 1) Where each group begins among sorted members."""
    starts: Ints = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    return starts


def _concatenated_ranges(starts: Ints, groups: NDArray[Any]) -> tuple[Ints, Ints]:
    """The members of some groups, one group after another: which of `groups` each is of, and its own number."""
    counts = starts[groups + 1] - starts[groups]
    group = np.repeat(np.arange(len(groups)), counts)
    return group, np.arange(len(group)) + (starts[groups] - np.cumsum(counts) + counts)[group]


class _Index(NamedTuple):
    """Which parameters a word has, and which edges a parameter."""

    members: Ints  # parameters, word by word
    starts: Ints  # (V + 1) where those of a word begin
    slice: NDArray[np.int32]  # (P)
    rank: NDArray[np.int32]  # (P) its place among the parameters of its word
    edges: Ints  # (P + 1) where the edges whose first end it is begin


def eliminate(
    prior: WordPrior, covariance: SliceCovariance, rows: Rows, slot: Slots, parameters: int, *, quiet: bool = True
) -> Graph:
    """The prior of the rows that have a parameter, those of slot −1 at their optimum; edges sorted by first ends."""
    diagonal = np.zeros(parameters)
    order = path_order(prior.weights)
    edges: list[EdgeArrays] = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))]
    begin = 0
    for language, vocabulary in enumerate(rows.vocabularies):
        end, first = begin + len(vocabulary), rows.word_start(language, 0)
        slots = slot[first : first + len(rows.slices) * len(vocabulary)].reshape(len(rows.slices), len(vocabulary))
        if order is not None:
            edges += eliminate_along_path(prior, order, prior.words[begin:end], slots, diagonal)
        else:
            edges += eliminate_by_pattern(prior, covariance, covariance.kind[begin:end], slots, diagonal, quiet)
        contexts = rows.contexts(language)
        diagonal[slot[contexts.start : contexts.stop]] = prior.contexts[begin:end]
        begin = end
    one, two, weight = map(np.concatenate, zip(*edges))
    lower, upper = np.minimum(one, two), np.maximum(one, two)
    sorting = np.lexsort((upper, lower))
    return Graph.of(parameters, lower[sorting], upper[sorting], weight[sorting], diagonal=diagonal)


def path_order(weights: Floats) -> list[int] | None:
    """The slices in an order in which each is joined to none but its neighbors; None if there is no such order."""
    joined = [np.flatnonzero(row).tolist() for row in weights]
    if max(map(len, joined)) > 2:
        return None
    order: dict[int, None] = {}
    for start in (slice for slice, others in enumerate(joined) if len(others) < 2):
        node: int | None = start
        while node is not None and node not in order:
            order[node] = None
            node = next((other for other in joined[node] if other not in order), None)
    return list(order) if len(order) == len(weights) else None  # the others form a cycle


def eliminate_along_path(
    prior: WordPrior, order: list[int], words: Floats, slot: Slots, diagonal: Floats
) -> Iterator[EdgeArrays]:
    """Walk along a path, all words at once, and take out the slices where a word is absent; adds to `diagonal` (P).

    The edge from the last vector that is there goes on to the next slice, weaker by what was passed.
    """
    last = np.full(len(words), -1, np.int32)  # the parameter that was passed last
    weight = np.zeros(len(words))  # of the edge from it
    entry = prior.diagonal[order[0]] + words
    for place, slice in enumerate(order):
        here = slot[slice] >= 0
        after = order[place + 1] if place + 1 < len(order) else None
        onward = 0.0 if after is None else float(prior.weights[slice, after])
        diagonal[slot[slice][here]] += entry[here]
        joined = here & (last >= 0) & (weight > 0)
        yield last[joined], slot[slice][joined], weight[joined]
        total = weight + entry + onward
        share = np.divide(1.0, total, out=np.zeros(len(words)), where=~here & (total > 0))
        behind = ~here & (last >= 0)
        diagonal[last[behind]] += (weight * entry * share)[behind]
        weight, entry = np.where(here, onward, weight * onward * share), entry * onward * share
        entry += words + (0.0 if after is None else prior.diagonal[after])
        last = np.where(here, slot[slice], last)


def eliminate_by_pattern(
    prior: WordPrior, covariance: SliceCovariance, kind: NDArray[np.int32], slot: Slots, diagonal: Floats, quiet: bool
) -> Iterator[EdgeArrays]:
    """For any graph over slices: one elimination for all words of a kind that occur in the same slices."""
    present = (slot >= 0).T  # (V, S)
    keys = np.concatenate([np.packbits(present, axis=1), kind[:, None].view(np.uint8)], axis=1)
    strongest = prior.weights.max(initial=0.0)
    least = MIN_RELATIVE_WEIGHT * strongest * max(1.0, strongest * covariance.covariance.max())
    _, example, pattern = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    owners = np.argsort(pattern.reshape(-1), kind="stable")
    starts = np.searchsorted(pattern.reshape(-1)[owners], np.arange(len(example) + 1))
    sizes = present[example].sum(1)
    done = 0
    with bar("joining slices", quiet=quiet) as progress:
        for size in np.unique(sizes[sizes > 0]).tolist():
            same = np.flatnonzero(sizes == size)
            portion = max(1, MATRIX_ENTRIES_PER_BATCH // max(present.shape[1], 1) ** 2)
            for patterns in (same[i : i + portion] for i in range(0, len(same), portion)):
                slices = np.argsort(~present[example[patterns]], axis=1, kind="stable")  # where words occur comes first
                weights, entries = _complement(prior, covariance, kind[example[patterns]], slices, size)
                number, place = _concatenated_ranges(starts, patterns)
                word = owners[place]
                parameter = slot[slices[number, :size], word[:, None]]  # of each word, in the slices of its pattern
                diagonal[parameter] = entries[number]
                pattern_of_edge, one, two = np.nonzero(np.triu(weights, 1) > least)
                owner, edge = _concatenated_ranges(_starts(pattern_of_edge, len(patterns)), number)
                one, two = one[edge], two[edge]
                yield parameter[owner, one], parameter[owner, two], weights[number[owner], one, two]
                done += len(patterns)
                progress.update(done / len(example))


def _complement(
    prior: WordPrior, covariance: SliceCovariance, kind: NDArray[np.int32], slices: Ints, size: int
) -> tuple[Floats, Floats]:
    """(b, p, p) weights and (b, p) diagonal over the first `size` of the slices, which are another order for each."""
    here, gone = slices[:, :size], slices[:, size:]
    if size < gone.shape[1]:
        inner = covariance.covariance[kind[:, None, None], here[:, :, None], here[:, None, :]]
        right = np.concatenate([np.eye(size), np.ones((size, 1))], axis=1)
        solved = np.linalg.solve(inner, np.broadcast_to(right, (len(slices), *right.shape)))
        return -solved[:, :, :-1], np.maximum(solved[:, :, -1], 0.0)
    weights = prior.weights[here[:, :, None], here[:, None, :]]
    ridge = np.unique(prior.words)[kind]
    entries = prior.diagonal[here] + ridge[:, None]
    if gone.shape[1]:
        entries_gone = prior.diagonal[gone] + ridge[:, None]
        matrix = -prior.weights[gone[:, :, None], gone[:, None, :]]
        place = np.arange(gone.shape[1])
        matrix[:, place, place] = prior.weights.sum(1)[gone] + entries_gone
        across = prior.weights[gone[:, :, None], here[:, None, :]]
        solved = np.linalg.solve(matrix, np.concatenate([across, entries_gone[:, :, None]], axis=2))
        added = across.transpose(0, 2, 1) @ solved
        weights, entries = weights + added[:, :, :-1], entries + added[:, :, -1]
    return weights, entries
