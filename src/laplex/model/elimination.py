"""Taking absent vectors of a word out of its prior, one after the other, as springs are replaced by one another.

The prior of one word's vectors is a graph over slices. A vector that no text is about is at its optimum given the
others. Taking out a node k of weights a and diagonal d leaves

    a_ij + a_ik a_kj / (d_k + Σ_j a_kj),    d_i + a_ik d_k / (d_k + Σ_j a_kj)

sums of positive numbers, so that rounding loses nothing. Of a node with one edge nothing is left but a part of its
diagonal, and of one with two edges an edge, as of two springs in series: a chain remains a chain and a star a star. A
node of many edges would leave many more: it stays, as a latent vector, such as the mean of many groups.

n nodes: slices and behind them latent ones. Edges stand in arrays of fixed capacity; the half edges 2e and 2e + 1 are
the ends of edge e. Those of a node are a doubly linked list, so that an edge is removed in no time from a node with
thousands of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from laplex.model.graph import Graph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_DEGREE = 12  # of a node that is taken out
MAX_ADDED_EDGES = 8  # more than there were: their memory is less than that of a vector
SPARE_EDGES = 4  # for each node, beyond those of the prior


class SliceGraph(NamedTuple):
    """The prior that all words share, over slices and latent nodes, as arrays."""

    first: Ints
    second: Ints
    weight: Floats
    diagonal: Floats  # (n)
    slices: int  # how many nodes are slices; only these have the ridge of a word besides

    @classmethod
    def of(cls, graph: Graph) -> SliceGraph:
        """The arrays of a graph whose nodes are slices, and latent ones behind them."""
        return cls(graph.first, graph.second, graph.weight, graph.diagonal, graph.own)


class WordGraph(NamedTuple):
    """The graph of one word while nodes are taken out of it."""

    weight: Floats  # (capacity) 0 for an edge that is gone
    end: NDArray[np.int32]  # (2 capacity) the node of each half edge
    after: NDArray[np.int32]  # (2 capacity) the next half edge of the same node, −1 for none
    before: NDArray[np.int32]
    head: NDArray[np.int32]  # (n) the first half edge of each node
    degree: NDArray[np.int32]  # (n)
    diagonal: Floats  # (n)
    free: NDArray[np.int32]  # [0]: edges ever used; [1]: the first of those that are free again, linked by `after`
    present: NDArray[np.bool_]  # (n) nodes that text is about
    gone: NDArray[np.bool_]  # (n) nodes that were taken out
    stack: NDArray[np.int32]  # scratch


class Record(NamedTuple):
    """What was taken out of a word's graph, in order: a node is the sum of shares of some others."""

    node: NDArray[np.int32]  # (n)
    start: NDArray[np.int32]  # (n + 1) where its shares begin
    other: NDArray[np.int32]  # nodes
    share: Floats
    taken: NDArray[np.int32]  # [0]: how many nodes


@njit(nogil=True, cache=True)
def new_graph(prior):  # type: ignore[no-untyped-def]
    """Memory for the graph of a word, which is used for one after the other."""
    nodes, edges = len(prior.diagonal), len(prior.first)
    capacity = edges + SPARE_EDGES * nodes + MAX_DEGREE * MAX_DEGREE
    graph = WordGraph(
        np.zeros(capacity),
        np.zeros(2 * capacity, np.int32),
        np.zeros(2 * capacity, np.int32),
        np.zeros(2 * capacity, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes),
        np.zeros(2, np.int32),
        np.zeros(nodes, np.bool_),
        np.zeros(nodes, np.bool_),
        np.zeros(nodes * (1 + MAX_DEGREE), np.int32),
    )
    shares = MAX_DEGREE * nodes
    record = Record(
        np.zeros(nodes, np.int32),
        np.zeros(nodes + 1, np.int32),
        np.zeros(shares, np.int32),
        np.zeros(shares),
        np.zeros(1, np.int32),
    )
    return graph, record


@njit(nogil=True, cache=True)
def _link(graph, half, node):  # type: ignore[no-untyped-def]
    """Put a half edge in front of those of a node."""
    head = graph.head[node]
    graph.end[half], graph.after[half], graph.before[half] = node, head, -1
    if head >= 0:
        graph.before[head] = half
    graph.head[node] = half
    graph.degree[node] += 1


@njit(nogil=True, cache=True)
def _unlink(graph, half):  # type: ignore[no-untyped-def]
    after, before, node = graph.after[half], graph.before[half], graph.end[half]
    if before >= 0:
        graph.after[before] = after
    else:
        graph.head[node] = after
    if after >= 0:
        graph.before[after] = before
    graph.degree[node] -= 1


@njit(nogil=True, cache=True)
def _find(graph, one, two):  # type: ignore[no-untyped-def]
    """The edge between two nodes, or −1."""
    less, more = (one, two) if graph.degree[one] <= graph.degree[two] else (two, one)
    half = graph.head[less]
    while half >= 0:
        if graph.end[half ^ 1] == more:
            return half >> 1
        half = graph.after[half]
    return -1


@njit(nogil=True, cache=True)
def _added_edges(graph, node):  # type: ignore[no-untyped-def]
    """How many more edges there would be without a node."""
    added, half = -graph.degree[node], graph.head[node]
    while half >= 0:
        other = graph.after[half]
        while other >= 0:
            added += _find(graph, graph.end[half ^ 1], graph.end[other ^ 1]) < 0
            other = graph.after[other]
        half = graph.after[half]
    return added


@njit(nogil=True, cache=True)
def _add(graph, one, two, weight):  # type: ignore[no-untyped-def]
    """Add an edge, or its weight to the one that is there."""
    edge = _find(graph, one, two)
    if edge >= 0:
        graph.weight[edge] += weight
        return
    edge = graph.free[1]
    if edge >= 0:
        graph.free[1] = graph.after[2 * edge]
    else:
        edge = graph.free[0]
        graph.free[0] += 1
    graph.weight[edge] = weight
    _link(graph, 2 * edge, one)
    _link(graph, 2 * edge + 1, two)


@njit(nogil=True, cache=True)
def _remove(graph, edge):  # type: ignore[no-untyped-def]
    _unlink(graph, 2 * edge)
    _unlink(graph, 2 * edge + 1)
    graph.weight[edge] = 0.0
    graph.after[2 * edge] = graph.free[1]
    graph.free[1] = edge


@njit(nogil=True, cache=True)
def reduce_word(prior, ridge, slices, graph, record):  # type: ignore[no-untyped-def]
    """Take out of a word's graph what can be taken out, given the slices in which the word occurs."""
    nodes = len(prior.diagonal)
    graph.head[:] = -1
    graph.degree[:] = 0
    graph.diagonal[:] = prior.diagonal
    graph.diagonal[: prior.slices] += ridge
    graph.present[:] = False
    graph.gone[:] = False
    graph.free[0], graph.free[1] = len(prior.first), -1
    record.taken[0] = record.start[0] = 0
    for slice in slices:
        graph.present[slice] = True
    for e in range(len(prior.first)):
        graph.weight[e] = prior.weight[e]
        _link(graph, 2 * e, prior.first[e])
        _link(graph, 2 * e + 1, prior.second[e])
    for most in range(1, MAX_DEGREE + 1):  # those of few edges first, which leave the fewest
        height, least = 0, MAX_DEGREE + 1
        for node in range(nodes):
            if not graph.present[node] and not graph.gone[node]:
                least = min(least, graph.degree[node])
                if graph.degree[node] <= most:
                    graph.stack[height] = node
                    height += 1
        if least > MAX_DEGREE:
            break
        while height:
            height -= 1
            node = graph.stack[height]
            if not graph.gone[node] and graph.degree[node] <= most:
                height = _take_out(graph, record, node, most, height)


@njit(nogil=True, cache=True)
def _take_out(graph, record, node, most, height):  # type: ignore[no-untyped-def]
    """Take a node out, and put those of its neighbors on the stack that have become ready for it."""
    size = graph.degree[node]
    if graph.free[0] + size * (size - 1) // 2 > len(graph.weight):
        return height
    if size > 2 and _added_edges(graph, node) > MAX_ADDED_EDGES:
        return height
    count = record.taken[0]
    begin = record.start[count]
    total, half, k = graph.diagonal[node], graph.head[node], begin
    while half >= 0:
        record.other[k], record.share[k] = graph.end[half ^ 1], graph.weight[half >> 1]
        total += record.share[k]
        following = graph.after[half]
        _remove(graph, half >> 1)
        half, k = following, k + 1
    graph.gone[node] = True
    record.node[count], record.start[count + 1] = node, k
    record.taken[0] = count + 1
    own = graph.diagonal[node] / total if total > 0.0 else 0.0
    for i in range(begin, k):
        weight = record.share[i]
        graph.diagonal[record.other[i]] += weight * own
        record.share[i] = weight / total if total > 0.0 else 0.0
        for j in range(begin, i):
            _add(graph, record.other[i], record.other[j], weight * record.share[j])
    for i in range(begin, k):
        other = record.other[i]
        if not graph.present[other] and graph.degree[other] <= most:
            graph.stack[height] = other
            height += 1
    return height


@njit(nogil=True, cache=True)
def reduce_words(prior, ridges, words, first, diagonal, edges, latent):  # type: ignore[no-untyped-def]
    """Reduce the graphs of words from `first` on, as many as there is room for.

    Word w occurs in `slices[starts[w]:starts[w + 1]]`, where it has the `parameters` at the same places; these are
    `words`. `diagonal` of these is filled in, and `edges`, three arrays of first ends, second ends and weights. A
    latent node that stays is called −1 − its number among all of this call; `latent` has their words and diagonals.

    Returns the word to go on with, the number of edges, and that of latent nodes.
    """
    starts, slices, parameters = words
    graph, record = new_graph(prior)
    name = np.empty(len(prior.diagonal), np.int64)
    one, two, weight = edges
    latent_word, latent_diagonal = latent
    done = kept = 0
    for word in range(first, len(starts) - 1):
        here = slices[starts[word] : starts[word + 1]]
        reduce_word(prior, ridges[word], here, graph, record)
        left = 0
        for e in range(graph.free[0]):
            left += graph.weight[e] > 0.0
        stay = len(prior.diagonal) - len(here) - record.taken[0]
        if done + left > len(one) or kept + stay > len(latent_word):
            return word, done, kept
        for node in range(len(prior.diagonal)):
            if not graph.present[node] and not graph.gone[node]:
                name[node] = -1 - kept
                latent_word[kept], latent_diagonal[kept] = word, graph.diagonal[node]
                kept += 1
        for k in range(starts[word], starts[word + 1]):
            name[slices[k]] = parameters[k]
            diagonal[parameters[k]] = graph.diagonal[slices[k]]
        for e in range(graph.free[0]):
            if graph.weight[e] > 0.0:
                one[done], two[done], weight[done] = name[graph.end[2 * e]], name[graph.end[2 * e + 1]], graph.weight[e]
                done += 1
    return len(starts) - 1, done, kept


@njit(nogil=True, cache=True)
def share_words(prior, ridges, words, latent_start, asked, slice_of, first, found):  # type: ignore[no-untyped-def]
    """Shares of parameters in absent vectors: of the words `asked`, in order, each in the slice at the same place.

    The latent nodes of word w that stay are the parameters from `latent_start[w]` on. `found` takes the number of the
    vector, the parameter, and the share. Returns the vector to go on with, and the number of shares.
    """
    starts, slices, parameters = words
    graph, record = new_graph(prior)
    nodes = len(prior.diagonal)
    number = np.empty(nodes, np.int64)
    place = np.empty(nodes, np.int64)  # of a node in the record
    part = np.zeros(nodes)
    vector, parameter, share = found
    done, before = 0, -1
    for i in range(first, len(asked)):
        word = asked[i]
        if word != before:
            here = slices[starts[word] : starts[word + 1]]
            reduce_word(prior, ridges[word], here, graph, record)
            k = latent_start[word]
            for node in range(nodes):
                if not graph.present[node] and not graph.gone[node]:
                    number[node] = k
                    k += 1
            for k in range(starts[word], starts[word + 1]):
                number[slices[k]] = parameters[k]
            for k in range(record.taken[0]):
                place[record.node[k]] = k
            before = word
        if done + nodes > len(vector):
            return i, done
        part[slice_of[i]] = 1.0
        begin = place[slice_of[i]] if graph.gone[slice_of[i]] else record.taken[0]
        for k in range(begin, record.taken[0]):  # a node is made of those that were taken out later, or stay
            node = record.node[k]
            if part[node] != 0.0:
                for j in range(record.start[k], record.start[k + 1]):
                    part[record.other[j]] += part[node] * record.share[j]
                part[node] = 0.0
        for node in range(nodes):
            if part[node] != 0.0:
                vector[done], parameter[done], share[done] = i, number[node], part[node]
                part[node] = 0.0
                done += 1
    return len(asked), done
