"""Which rank owns which slice: shares of the text that are alike, with few edges of the prior between them.

A block is a language in a slice. Blocks are put in an order in which those that the prior joins are near each other, by
the second eigenvector of their graph's Laplacian: along a chain that is the order of the chain. This order is cut into
one run of blocks for each rank, where the fewest edges are cut; so chains stay in one piece, and stars where they can.

B blocks, P parameters, K ranks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from laplex.engines.state import Ints
from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

MAX_LOAD = 1.1  # of a rank, relative to the mean, where fewer edges can be cut for it
MAX_ORDERED_BLOCKS = 2_000  # of a connected component; more stay in the order of the slices
LOAD_WITHOUT_ORDER = 1.2  # relative to what is possible if edges are not looked at: beyond, they are not
EDGES_PER_BATCH = 1 << 22


def block_starts(problem: Problem) -> Ints:
    """(B + 1) The first word row of each language in each slice, and the first row behind all words."""
    sizes = np.diff(problem.vocabulary_start)
    words = int(problem.context_start[0] - problem.vocabulary_start[problem.language[0]])
    slices = words // int(sizes.sum())
    starts: Ints = np.concatenate([[0], np.cumsum(np.repeat(sizes, slices))])
    return starts


def deal(problem: Problem, communicator: Communicator) -> tuple[Problem, Ints | None]:
    """Give every document to the owner of its slice (of its language), and (B) the owners.

    If there are fewer slices than ranks, they have no owners, and documents stay where they are.
    """
    starts = block_starts(problem)
    lengths, block = np.diff(problem.offsets), np.searchsorted(starts, problem.word_start, "right") - 1
    tokens = communicator.allreduce(np.bincount(block, lengths, len(starts) - 1).astype(np.int64))
    if (tokens > 0).sum() < communicator.size:
        return problem, None
    owners = np.zeros(len(tokens), np.int64)
    if communicator.rank == 0:  # eigenvectors may have another sign on another machine
        owners[:] = choose_owners(tokens, joined_blocks(problem, starts), communicator.size)
    communicator.broadcast(owners)
    return _exchange_documents(problem, owners[block], communicator), owners


def _exchange_documents(problem: Problem, rank: Ints, communicator: Communicator) -> Problem:
    """The problem with the documents that all ranks send to this one; `rank` says where each of its own goes."""
    lengths = np.diff(problem.offsets)

    def exchange(values: NDArray[Any], rank: Ints = rank) -> NDArray[Any]:
        parts = communicator.all_to_all([values[rank == number] for number in range(communicator.size)])
        return np.concatenate([part.view(values.dtype) for part in parts])

    return replace(
        problem,
        ids=exchange(problem.ids, np.repeat(rank, lengths)),
        offsets=np.concatenate([[0], np.cumsum(exchange(lengths))]),
        held_out=exchange(problem.held_out),
        word_start=exchange(problem.word_start),
        context_start=exchange(problem.context_start),
        language=exchange(problem.language),
    )


def joined_blocks(problem: Problem, starts: Ints) -> sparse.csr_array:
    """(B, B) The number of edges between the parameters of every two blocks.

    What is joined through a latent parameter is a star: its blocks count as joined one to the next.
    """
    graph, size = problem.graph, len(starts) - 1
    block = np.full(len(graph) + len(graph.targets), -1, np.int32)
    rows = np.arange(starts[-1])[::-1]
    rows = rows[problem.slot[rows] >= 0]
    block[problem.slot[rows]] = np.searchsorted(starts, rows, "right") - 1  # of tied ones, the first
    is_latent = np.ones(len(block), bool)
    is_latent[problem.slot[problem.slot >= 0]] = False
    is_latent[len(graph) :] = False
    joined = sparse.csr_array((size, size), dtype=np.int64)
    for begin in range(0, graph.edges, EDGES_PER_BATCH):
        first, second = (ends[begin : begin + EDGES_PER_BATCH] for ends in (graph.first, graph.second))
        one, two = block[first], block[second]
        joined = joined + _count_pairs(one, two, size)
        for latent, other in ((first, second), (second, first)):
            arm = is_latent[latent] & (block[other] >= 0)
            joined = joined + _count_pairs(*_neighbors_in_stars(latent[arm], block[other[arm]]), size)
    symmetric: sparse.csr_array = joined + joined.T
    return symmetric


def _neighbors_in_stars(star: Ints, block: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Each block and the next one of the same star."""
    order = np.lexsort((block, star))
    star, block = star[order], block[order]
    same = star[1:] == star[:-1]
    return block[:-1][same], block[1:][same]


def _count_pairs(one: NDArray[np.int32], two: NDArray[np.int32], size: int) -> sparse.csr_array:
    """(size, size) How often each pair of different blocks occurs."""
    between = (one >= 0) & (two >= 0) & (one != two)
    entries = np.ones(int(between.sum()), np.int64), (one[between], two[between])
    return sparse.coo_array(entries, shape=(size, size)).tocsr()


def choose_owners(tokens: Ints, joined: sparse.csr_array, ranks: int) -> Ints:
    """(B) The rank of each block, from its tokens and the (B, B) edges to others. Every rank gets some text."""
    owners = np.zeros(len(tokens), np.int64)
    full = np.flatnonzero(tokens)
    sizes, edges = tokens[full], joined[full][:, full]
    spread = _spread_evenly(sizes, ranks)
    owners[full] = spread
    if edges.nnz:
        order = _order(edges)
        runs = np.empty(len(full), np.int64)
        runs[order] = _cut(sizes[order], edges[order][:, order], ranks)
        largest = [np.bincount(chosen, sizes).max() for chosen in (runs, spread)]
        if largest[0] <= LOAD_WITHOUT_ORDER * largest[1]:
            owners[full] = runs
    for empty in np.flatnonzero(tokens == 0):  # it goes where it is joined to
        owners[empty] = np.bincount(owners[full], joined[[empty]][:, full].toarray()[0], ranks).argmax()
    return owners


def _spread_evenly(sizes: Ints, ranks: int) -> Ints:
    """(B) The rank of each block, the largest dealt out first, each to the rank that has the least."""
    owners, load = np.zeros(len(sizes), np.int64), np.zeros(ranks)
    for block in np.argsort(-sizes, kind="stable"):
        owners[block] = load.argmin()
        load[owners[block]] += sizes[block]
    return owners


def _order(joined: sparse.csr_array) -> Ints:
    """(B) The blocks, one connected component after the other, in each along the second eigenvector."""
    count, component = csgraph.connected_components(joined, directed=False)
    parts = []
    for number in range(count):
        members = np.flatnonzero(component == number)
        if 2 < len(members) <= MAX_ORDERED_BLOCKS:
            weights = joined[members][:, members].toarray().astype(np.float64)
            laplacian = np.diag(weights.sum(1)) - weights
            place = np.linalg.eigh(laplacian)[1][:, 1]
            members = members[np.argsort(np.round(place * np.sign(place[-1] or 1.0), 9), kind="stable")]
        parts.append(members)
    return np.concatenate(parts)


def _cut(sizes: Ints, joined: sparse.csr_array, ranks: int) -> Ints:
    """(B) The rank of each block in an order: one run for each, where the fewest edges are cut.

    The largest run is the smallest that is possible, or as large as MAX_LOAD allows. Where as many edges are cut, runs
    are as even as possible.
    """
    blocks, ends = len(sizes), np.concatenate([[0], np.cumsum(sizes)])
    limit = max(_smallest_load(sizes, ranks), MAX_LOAD * int(ends[-1]) / ranks)
    first, second = sparse.triu(joined, 1).nonzero()
    weight = np.asarray(sparse.triu(joined, 1).tocsr()[first, second]).reshape(-1)
    opened, closed = (np.bincount(places, weight, blocks) for places in (first, second))
    crossing = np.concatenate([[0.0], np.cumsum(opened - closed)])  # edges that are cut before each block
    cost = np.full((ranks + 1, blocks + 1), np.inf)
    cost[0, 0] = 0.0
    last = np.zeros((ranks + 1, blocks + 1), np.int64)
    for run in range(1, ranks + 1):
        for end in range(run, blocks + 1):
            low = int(np.searchsorted(ends, ends[end] - limit))
            unevenness = np.square((ends[end] - ends[low:end]) * ranks / ends[-1]) * crossing.mean()
            before = cost[run - 1, low:end] + crossing[low:end] + unevenness
            last[run, end] = low + int(before.argmin())
            cost[run, end] = before.min()
    owners, end = np.zeros(blocks, np.int64), blocks
    for run in range(ranks, 0, -1):
        owners[last[run, end] : end] = run - 1
        end = int(last[run, end])
    return owners


def _smallest_load(sizes: Ints, ranks: int) -> int:
    """The tokens of the largest run, if blocks in this order are cut as evenly as possible."""
    low, high = int(sizes.max()), int(sizes.sum())
    while low < high:
        middle = (low + high) // 2
        runs, load = 1, 0
        for size in sizes.tolist():
            runs, load = (runs, load + size) if load + size <= middle else (runs + 1, size)
        low, high = (low, middle) if runs <= ranks else (middle + 1, high)
    return low
