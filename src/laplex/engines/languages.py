"""The languages of a model are rotated onto each other once, before the prior joins them.

The likelihood of a language, the edges within it and its ridge are the same after any rotation of its vectors (the
argument of Proposition 5), and from a random start, few edges between languages cannot bring the rotation about against
the likelihood. So the first epoch runs without them; then each further language is rotated, words and contexts alike,
onto those before it, and from then on the edges hold:

    max Σ_edges ±a_ij ⟨x_i W, x_j⟩ over orthogonal W:  W = U Vᵀ,  where U Σ Vᵀ = Σ_edges ±a_ij x_iᵀ x_j

for vectors x of length one, less the mean of their language and role. Ties between languages are undone for that epoch:
each language has its own copy of a shared parameter, and the copies are then merged where an edge of infinite strength
would bring them. A language with fixed targets stays where it is.

P parameters, C further copies of those that languages share, R rows, L languages, E edges between them, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.engines.state import INITIAL_ACCUMULATOR, Floats, Ints, State, row_batches
from laplex.model.graph import Graph
from laplex.model.problem import Problem


@dataclass(frozen=True, eq=False)
class Rotation:
    """The problem of the first epoch, and how its state becomes that of the problem itself."""

    apart: Problem  # no edge or tie between languages; P + C parameters, the copies behind the others
    shared: Ints  # (C) the parameter that each copy is of
    language: Ints  # (P + C)
    is_word: NDArray[np.bool_]  # (P + C) or a context
    held: NDArray[np.bool_]  # (L) languages that fixed targets keep from being rotated
    first: Ints  # (E)
    second: Ints  # (E)
    pull: Floats  # (E) weights of edges between languages, negative where the ends are to be unlike

    @property
    def languages(self) -> int:
        """The number of languages."""
        return len(self.held)

    def join(self, state: State) -> State:
        """Rotate the languages, in the memory of the state of `apart`, and return the state of the problem itself."""
        for language, rotation in self.rotations(state).items():
            rows = np.flatnonzero(self.language == language)
            for batch in row_batches(len(rows)):
                state.theta[rows[batch]] = state.theta[rows[batch]].astype(np.float64) @ rotation
        if len(self.shared):
            self._merge_copies(state)
        return self.joined(state)

    def joined(self, state: State) -> State:
        """The state of the problem itself: the rows before the memory of the copies."""
        return state.first(len(state.memory) - len(self.shared))

    def _merge_copies(self, state: State) -> None:
        """Bring the copies of a parameter to their mean, weighted by the inverse of their step sizes, √accumulator.

        The targets, which stand behind the copies, take the place of these.
        """
        parameters = np.unique(self.shared)
        end = self.apart.parameters
        copies = np.arange(end - len(self.shared), end)
        members = np.concatenate([parameters, copies])
        place = np.searchsorted(parameters, np.concatenate([parameters, self.shared]))
        weight = np.sqrt(state.accumulator[members].astype(np.float64))
        weight /= np.bincount(place, weight)[place]
        mean = sparse.csr_array((weight, (place, np.arange(len(members)))))
        state.theta[parameters] = mean @ state.theta[members].astype(np.float64)
        growth = state.accumulator[members] - np.float32(INITIAL_ACCUMULATOR)  # exactly 0 where nothing was learned
        state.accumulator[parameters] = np.float32(INITIAL_ACCUMULATOR) + np.bincount(place, growth).astype(np.float32)
        for array in (state.memory, state.accumulator):
            array[end - len(copies) : len(array) - len(copies)] = array[end:].copy()

    def rotations(self, state: State) -> dict[int, Floats]:
        """(D, D) The rotation of each language that is free: onto those before it, the most strongly joined first."""
        touched = state.accumulator > np.float32(INITIAL_ACCUMULATOR)
        known = touched[self.first] & touched[self.second]
        one, two, pull = self.first[known], self.second[known], self.pull[known]
        vectors = _Centered(state.theta[: self.apart.parameters], 2 * self.language + self.is_word)
        strength = np.zeros((self.languages, self.languages))
        np.add.at(strength, (self.language[one], self.language[two]), np.abs(pull))
        strength += strength.T
        rotations: dict[int, Floats] = {}
        placed, waiting = np.flatnonzero(self.held).tolist(), np.flatnonzero(~self.held).tolist()
        while waiting:
            language = max(waiting, key=lambda candidate: strength[candidate, placed].sum())
            waiting.remove(language)
            moment = np.zeros((self.apart.dimensions,) * 2)
            for other in placed:
                for a, b in ((one, two), (two, one)):
                    between = (self.language[a] == language) & (self.language[b] == other)
                    part = vectors.moment(a[between], b[between], pull[between])
                    moment += part @ rotations[other] if other in rotations else part
            if moment.any():
                u, _, v = np.linalg.svd(moment)
                rotations[language] = u @ v
            placed.append(language)
        return rotations


class _Centered:
    """Vectors (P, D) of length one, less the mean of their block (P), without a copy of all of them."""

    def __init__(self, theta: NDArray[np.float32], block: Ints) -> None:
        self._theta = theta
        self._block = block
        self._mean = np.zeros((int(block.max()) + 1, theta.shape[1]))
        for batch in row_batches(len(theta)):
            unit = self._unit(batch)
            for number in np.unique(block[batch]):
                self._mean[number] += unit[block[batch] == number].sum(0)
        self._mean /= np.maximum(np.bincount(block), 1)[:, None]

    def _unit(self, rows: Ints | slice) -> Floats:
        vectors = self._theta[rows].astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Floats = vectors / np.where(lengths > 0, lengths, 1.0)
        return unit

    def moment(self, one: Ints, two: Ints, weight: Floats) -> Floats:
        """(D, D) Σ weight · x_oneᵀ x_two."""
        total = np.zeros((self._theta.shape[1],) * 2)
        for batch in row_batches(len(one)):
            x, y = (self._unit(rows) - self._mean[self._block[rows]] for rows in (one[batch], two[batch]))
            total += x.T @ (weight[batch, None] * y)
        return total


def find_rotation(problem: Problem) -> Rotation | None:
    """How to rotate the languages of a problem; None if no edge joins two of which one is free to rotate."""
    graph, languages = problem.graph, len(problem.vocabulary_start) - 1
    if languages < 2:
        return None
    of_row, is_word, origin, pooled = _layout(problem)
    nodes = np.append(problem.slot, np.arange(graph.own, len(graph), dtype=np.int32))
    slot, place, shared = _untied(nodes, of_row, len(graph), languages)
    within, between = _divide(graph, place, len(shared))
    pull = (graph.weight * graph.sign)[between]
    tie = np.abs(pull).max() if len(pull) else 1.0
    copies = len(graph) + np.arange(len(shared))
    language, word = np.zeros((2, len(within)), np.int64)
    language[slot], word[slot] = of_row, is_word
    held = np.zeros(languages, bool)
    held[language[within.first[within.second >= len(within)]]] = True
    first = np.concatenate([graph.first[between], shared])
    second = np.concatenate([graph.second[between], copies])
    if held[language[first]].all() and held[language[second]].all():  # which is so, too, if there are no edges
        return None
    initial_row, pooled_row = np.full((2, len(within)), len(slot), np.int64)
    np.minimum.at(initial_row, slot, origin)
    np.minimum.at(pooled_row, slot, pooled)
    apart = replace(
        problem, slot=slot[: len(problem.slot)], initial_row=initial_row, pooled_row=pooled_row, graph=within
    )
    pull = np.concatenate([pull, np.full(len(shared), tie)])
    return Rotation(apart, shared, language, word > 0, held, first, second, pull)


def _layout(problem: Problem) -> tuple[Ints, NDArray[np.bool_], Ints, Ints]:
    """The language of each row, whether it is a word's, and the row of the same word in the first slice and if there
    were no slices; behind the rows, those of latent parameters."""
    sizes, words = np.diff(problem.vocabulary_start), int(problem.vocabulary_start[-1])
    slices = len(problem.slot) // words - 1
    lengths = np.concatenate([sizes * slices, sizes])
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    language = np.repeat(np.tile(np.arange(len(sizes)), 2), lengths)
    row = np.arange(len(problem.slot))
    is_word, word = row < words * slices, (row - starts) % sizes[language]
    pooled = np.where(is_word, 0, words) + problem.vocabulary_start[language] + word
    own = problem.graph.own
    latent, first_row = problem.pooled_row[own:], problem.initial_row[own:]
    of_latent = np.searchsorted(problem.vocabulary_start, latent, "right") - 1
    pairs = (
        (language, of_latent),
        (is_word, np.ones(len(latent), np.bool_)),
        (starts + word, first_row),
        (pooled, latent),
    )
    language, is_word, origin, pooled = (np.concatenate(pair) for pair in pairs)
    return language, is_word, origin, pooled


def _untied(
    slot: NDArray[np.int32], language: Ints, parameters: int, languages: int
) -> tuple[NDArray[np.int32], Ints, Ints]:
    """Each language gets its own copy of a parameter.

    (R) row → parameter or copy; (L, P) the copy of each language, −1 for none; (C) what the further copies are of.
    """
    pairs, where = np.unique(slot * np.int64(languages) + language, return_inverse=True)
    parameter, of = np.divmod(pairs, languages)
    first = np.diff(parameter, prepend=-1) > 0
    number = parameter.copy()
    number[~first] = parameters + np.arange((~first).sum())
    place = np.full((languages, parameters), -1, np.int64)
    place[of, parameter] = number
    return number[where].astype(np.int32), place, parameter[~first]


def _divide(graph: Graph, place: Ints, copies: int) -> tuple[Graph, NDArray[np.bool_]]:
    """The graph within languages, over all copies, which share what is said of their parameter; and (edges) which
    edges join two languages."""
    nodes = len(graph) + copies
    target = graph.second >= len(graph)
    first = place[:, graph.first]
    second = np.where(target, graph.second + copies, place[:, np.where(target, 0, graph.second)])
    inside = (first >= 0) & (second >= 0) & (~target | (first == graph.first))  # a target holds one copy, not all
    among = inside.sum(0)
    language, edge = np.nonzero(inside)
    diagonal = np.zeros(nodes)
    spread = np.broadcast_to(graph.diagonal / (place >= 0).sum(0), place.shape)
    diagonal[place[place >= 0]] = spread[place >= 0]
    within = Graph.of(
        nodes,
        first[language, edge],
        second[language, edge],
        graph.weight[edge] / among[edge],
        sign=graph.sign[edge],
        directed=graph.directed[edge],
        diagonal=diagonal,
        targets=graph.targets,
    )
    return within, among == 0
