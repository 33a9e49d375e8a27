"""Which vectors move together, and what does the prior say about them while all others are held?

A fitted model and sets of words come in; for each set a Block goes out: its vectors, the words and slices they are
of, and the Gaussian prior of them given the rest of θ,

    log p(x | rest) = −½ tr xᵀ Q x + tr pullᵀ x + constant,   Q the block's part of L + D.

S slices, W words of a block, n vectors (rows that are tied share one), D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cell:
    """A word in a slice, and which vector of the block is its own."""

    word: int
    slice: int
    place: int


@dataclass(frozen=True, eq=False)
class Block:
    words: Sequence[int]
    place: Ints  # (W, S) the vector of each word in each slice
    cells: Sequence[Cell]  # all whose text is about these vectors
    vectors: Floats  # (n, D)
    precision: Floats  # (n, n) Q
    pull: Floats  # (n, D)

    def log_prior(self, vectors: Floats) -> float:
        return float(((self.pull - 0.5 * self.precision @ vectors) * vectors).sum())

    def log_prior_gradient(self, vectors: Floats) -> Floats:
        gradient: Floats = self.pull - self.precision @ vectors
        return gradient


def blocks(fitted: Embeddings, language: int, sets: Sequence[Sequence[int]]) -> list[Block]:
    """A block for each set of words."""
    slices = range(len(fitted.rows.slices))
    slots = np.array([fitted.slots(language, slice) for slice in slices]).T  # (V, S)
    asked = np.unique(slots[np.unique([word for words in sets for word in words])])
    rows = np.flatnonzero(np.isin(fitted.slot, asked))
    _check_rows(fitted, language, rows)
    order = np.argsort(fitted.slot[rows], kind="stable")
    rows = rows[order]
    graph = fitted.graph
    edges = np.flatnonzero(np.isin(graph.first, asked) | np.isin(graph.second, asked))
    return [_block(fitted, language, words, slots[list(words)], rows, edges) for words in sets]


def _check_rows(fitted: Embeddings, language: int, rows: Ints) -> None:
    """Are these rows words of the language? A row tied to others is not free to move if the contexts are held."""
    own = fitted.rows.words(language, 0).start, fitted.rows.words(language, len(fitted.rows.slices) - 1).stop
    for row in rows[(rows < own[0]) | (rows >= own[1])][:1]:
        name, role, _ = fitted.rows.name(int(row))
        what = "a context" if role == "context" else "a word of another language"
        raise InputError(f'a word that is asked about is tied to "{name}", {what}: there is no posterior of it alone')


def _block(
    fitted: Embeddings, language: int, words: Sequence[int], slots: NDArray[np.int32], rows: Ints, edges: Ints
) -> Block:
    own, place = np.unique(slots, return_inverse=True)
    mine = np.concatenate([np.arange(*np.searchsorted(fitted.slot[rows], [slot, slot + 1])) for slot in own])
    start, size = fitted.rows.word_start(language, 0), len(fitted.rows.vocabularies[language])
    cells = []
    for row in rows[mine]:
        slice, word = divmod(int(row) - start, size)
        cells.append(Cell(word, slice, int(np.searchsorted(own, fitted.slot[row]))))
    precision, pull = _prior(fitted, own, edges)
    vectors = fitted.theta[own].astype(np.float64)
    return Block(list(words), place.reshape(slots.shape), cells, vectors, precision, pull)


def _prior(fitted: Embeddings, own: NDArray[np.int32], edges: Ints) -> tuple[Floats, Floats]:
    """(n, n) The vectors' part of L + D, and (n, D) the pull of all other vectors, which are held."""
    graph = fitted.graph
    edges = edges[np.isin(graph.first[edges], own) | np.isin(graph.second[edges], own)]
    weight, sign, directed = graph.weight[edges], graph.sign[edges], graph.directed[edges]
    ends = [end[edges] for end in (graph.first, graph.second)]
    inside = [np.isin(end, own) for end in ends]
    place = [np.searchsorted(own, end).clip(max=len(own) - 1) for end in ends]
    if (directed & inside[0] & inside[1]).any():
        raise InputError("directed edges between vectors are a penalty, not a prior: there is no posterior of them")
    precision, pull = np.diag(graph.diagonal[own].astype(np.float64)), np.zeros((len(own), fitted.dimensions))
    for one, two in ((0, 1), (1, 0)):
        moves = inside[one] & ~(directed & (one == 1))  # the second end of a directed edge feels nothing
        np.add.at(precision, (place[one][moves], place[one][moves]), weight[moves])
        both, held = moves & inside[two], moves & ~inside[two]
        np.add.at(precision, (place[one][both], place[two][both]), -(weight * sign)[both])
        np.add.at(pull, place[one][held], (weight * sign)[held, None] * _at(fitted, ends[two][held]))
    return precision, pull


def _at(fitted: Embeddings, ends: Ints) -> Floats:
    """The vectors at the ends of edges: parameters, or fixed targets behind them."""
    free = ends < len(fitted.graph)
    found = np.empty((len(ends), fitted.dimensions))
    found[free] = fitted.theta[ends[free]]
    if not free.all():
        found[~free] = fitted.graph.targets[ends[~free] - len(fitted.graph)]
    return found


def joined_words(fitted: Embeddings, words: str | Sequence[str], language: str | None = None) -> list[str]:
    """The given words, and those that an edge of the prior joins to one of them as words.

    posterior(fitted, joined_words(fitted, "health"), coupled=True)
    """
    index = fitted.language(language)
    ids = fitted.ids(words, index)
    slots = np.array([fitted.slots(index, slice) for slice in range(len(fitted.rows.slices))])  # (S, V)
    own = np.unique(slots[:, ids])
    graph = fitted.graph
    ends = [there[np.isin(here, own)] for here, there in ((graph.first, graph.second), (graph.second, graph.first))]
    found = np.flatnonzero(np.isin(slots, np.concatenate(ends)).any(0))
    names = fitted.rows.vocabularies[index].words
    return [names[i] for i in dict.fromkeys([*ids, *found.tolist()])]
