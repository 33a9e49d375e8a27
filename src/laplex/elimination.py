"""The graph over words where they occur, all other vectors at their optimum.

A Belief (`filling.py`) and which word occurs in which slice come in; the Graph over parameters goes out that has
Schur's complement L_pp − L_pa L_aa⁻¹ L_ap as its Laplacian. Taking out a node k leaves (the star becomes a mesh)

    a_ij + a_ik a_kj / (d_k + Σ_j a_kj),    d_i + a_ik d_k / (d_k + Σ_j a_kj)

sums of positive numbers: along a path rounding loses nothing. For other graphs a matrix is inverted, the smaller of
two: L_aa, or C_pp of the covariance C, whose inverse is the same complement. S slices, V words of a language, P
parameters, p slices in which a word occurs and a in which it does not, b words at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from laplex.filling import Belief, Filling
from laplex.graph import Graph
from laplex.progress import bar
from laplex.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slots = NDArray[np.int32]
Edges = tuple[Slots, Slots, Floats]
AT_ONCE = 4_000_000  # numbers in the matrices of words that are worked on together
TINY = 1e-14  # of the strongest edge: a weaker one is none, or rounding where strengths are very different


def eliminate(belief: Belief, rows: Rows, slot: Slots, parameters: int, *, quiet: bool = True) -> Graph:
    """The graph over the parameters of rows, those of slot −1 taken out; its edges are sorted by their first ends."""
    diagonal = np.zeros(parameters)
    order = path(belief.weights)
    filling = Filling.of(belief)
    found: list[Edges] = []
    begin = 0
    for language, vocabulary in enumerate(rows.vocabularies):
        words = belief.words[begin : begin + len(vocabulary)]
        first = rows.word_start(language, 0)
        own = slot[first : first + len(rows.slices) * len(vocabulary)].reshape(len(rows.slices), len(vocabulary))
        if order is not None:
            found += along(belief, order, words, own, diagonal)
        else:
            kind = filling.kind[begin : begin + len(vocabulary)]
            found += by_pattern(belief, filling.covariance, kind, own, diagonal, quiet)
        contexts = rows.contexts(language)
        diagonal[slot[contexts.start : contexts.stop]] = belief.contexts[begin : begin + len(vocabulary)]
        begin += len(vocabulary)
    one, two = (np.concatenate([np.empty(0, np.int32), *(edges[end] for edges in found)]) for end in (0, 1))
    weight = np.concatenate([np.empty(0), *(edges[2] for edges in found)])
    first, second = np.minimum(one, two), np.maximum(one, two)
    sorting = np.lexsort((second, first))
    return Graph.of(parameters, first[sorting], second[sorting], weight[sorting], diagonal=diagonal)


def path(weights: Floats) -> list[int] | None:
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
    return list(order) if len(order) == len(weights) else None  # others run in a circle


def along(belief: Belief, order: list[int], words: Floats, slot: Slots, diagonal: Floats) -> Iterator[Edges]:
    """Walk along a path, all words at once, and take out what is absent: the edge to the last vector that is there
    goes on to the next slice, weaker by what was passed. `diagonal` (P) is added to."""
    last = np.full(len(words), -1, np.int32)  # the parameter that was passed last
    pull = np.zeros(len(words))  # the edge to it
    held = belief.diagonal[order[0]] + words
    for place, slice in enumerate(order):
        here = slot[slice] >= 0
        after = order[place + 1] if place + 1 < len(order) else None
        onward = 0.0 if after is None else float(belief.weights[slice, after])
        diagonal[slot[slice][here]] += held[here]
        joined = here & (last >= 0) & (pull > 0)
        yield last[joined], slot[slice][joined], pull[joined]
        share = np.divide(1.0, pull + held + onward, out=np.zeros(len(words)), where=~here & (pull + held + onward > 0))
        behind = ~here & (last >= 0)
        diagonal[last[behind]] += (pull * held * share)[behind]
        pull, held = np.where(here, onward, pull * onward * share), held * onward * share
        held += words + (0.0 if after is None else belief.diagonal[after])
        last = np.where(here, slot[slice], last)


def by_pattern(
    belief: Belief, covariance: Floats, kind: NDArray[np.int32], slot: Slots, diagonal: Floats, quiet: bool
) -> Iterator[Edges]:
    """For any graph over slices: one elimination for all words of a kind (`Filling`) that occur in the same slices."""
    present = (slot >= 0).T  # (V, S)
    keys = np.concatenate([np.packbits(present, axis=1), kind[:, None].view(np.uint8)], axis=1)
    least = TINY * belief.weights.max(initial=0.0) * max(1.0, belief.weights.max(initial=0.0) * covariance.max())
    _, example, pattern = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    owners = np.argsort(pattern.reshape(-1), kind="stable")
    starts = np.searchsorted(pattern.reshape(-1)[owners], np.arange(len(example) + 1))
    sizes = present[example].sum(1)
    done = 0
    with bar("joining slices", quiet=quiet) as progress:
        for size in np.unique(sizes[sizes > 0]).tolist():
            same = np.flatnonzero(sizes == size)
            portion = max(1, AT_ONCE // max(present.shape[1], 1) ** 2)
            for some in (same[i : i + portion] for i in range(0, len(same), portion)):
                slices = np.argsort(~present[example[some]], axis=1, kind="stable")  # where a word occurs comes first
                weights, held = _complement(belief, covariance, kind[example[some]], slices, size)
                number = np.repeat(np.arange(len(some)), starts[some + 1] - starts[some])
                word = np.concatenate([owners[starts[k] : starts[k + 1]] for k in some])
                own = slot[slices[number, :size], word[:, None]]  # parameters of each word
                diagonal[own] = held[number]
                of, edge = _each(np.triu(weights, 1) > least, number)
                one, two = np.divmod(edge, size)
                yield own[of, one], own[of, two], weights[number[of], one, two]
                done += len(some)
                progress.update(done / len(example))


def _each(real: NDArray[np.bool_], number: Ints) -> tuple[Ints, Ints]:
    """The edges of every word, those of its pattern: which word, and which entry of its matrix."""
    pattern, edge = np.nonzero(real.reshape(len(real), -1))
    bounds = np.searchsorted(pattern, np.arange(len(real) + 1))
    counts = (bounds[1:] - bounds[:-1])[number]
    of = np.repeat(np.arange(len(number)), counts)
    return of, edge[np.repeat(bounds[number] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())]


def _complement(
    belief: Belief, covariance: Floats, kind: NDArray[np.int32], slices: Ints, size: int
) -> tuple[Floats, Floats]:
    """(b, p, p) weights and (b, p) diagonal over the first `size` of the slices, which are another order for each."""
    here, gone = slices[:, :size], slices[:, size:]
    if size < gone.shape[1]:
        inner = covariance[kind[:, None, None], here[:, :, None], here[:, None, :]]
        ones = np.concatenate([np.eye(size), np.ones((size, 1))], axis=1)
        solved = np.linalg.solve(inner, np.broadcast_to(ones, (len(slices), *ones.shape)))
        return -solved[:, :, :-1], np.maximum(solved[:, :, -1], 0.0)
    weights = belief.weights[here[:, :, None], here[:, None, :]]
    ridge = belief.ridges[kind]
    held = belief.diagonal[here] + ridge[:, None]
    if gone.shape[1]:
        lost = belief.diagonal[gone] + ridge[:, None]
        matrix = -belief.weights[gone[:, :, None], gone[:, None, :]]
        place = np.arange(gone.shape[1])
        matrix[:, place, place] = belief.weights.sum(1)[gone] + lost
        across = belief.weights[gone[:, :, None], here[:, None, :]]
        solved = np.linalg.solve(matrix, np.concatenate([across, lost[:, :, None]], axis=2))
        more = across.transpose(0, 2, 1) @ solved
        weights, held = weights + more[:, :, :-1], held + more[:, :, -1]
    return weights, held
