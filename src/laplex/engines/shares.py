"""The share of a problem that one rank holds: the vectors of its own slices, and those it has in common with others.

A row is *inner* on the ranks whose text or whose slices it belongs to: a word in a slice on the owner of the slice, a
context on all ranks with text of its language, a latent mean wherever a row is that it joins. A rank also holds the
rows that edges join to its inner ones, but not all that a mean joins. Each row has one home among the ranks where it is
inner, and those that several ranks hold are *common*: only of these anything is ever sent while a model is trained.

P parameters of the whole problem, p of this rank's share, R rows, C common parameters of this rank.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.engines.dealing import block_starts, deal
from laplex.engines.state import Floats, Ints, State, row_batches
from laplex.model.graph import Graph
from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

EDGES_PER_BATCH = 1 << 22


@dataclass(frozen=True, eq=False)
class Share:
    """The problem of one rank, and which of its parameters are those of other ranks."""

    whole: Problem  # with this rank's documents, and the parameters of all ranks; of several, without parts
    problem: Problem  # the same with its own parameters alone
    communicator: Communicator
    owners: Ints | None  # of the blocks of the layout; None if every rank holds everything
    home: NDArray[np.int16]  # (P) the rank
    rows: Ints  # (p) the parameters of the whole problem that this rank holds
    at_home: Sequence[Ints]  # for each other rank, the parameters of the share that are at home there,
    lent: Sequence[Ints]  # and those that are at home here and that the other rank holds, too

    @classmethod
    def of(cls, problem: Problem, communicator: Communicator, *, dealt: bool = True) -> Share:
        """The share of this rank; without dealing, documents stay where they are and every rank holds every row."""
        owners = None
        if communicator.size > 1 and dealt:
            problem, owners = deal(problem, communicator)
        return cls._of_owners(problem, communicator, owners)

    def of_variant(self, problem: Problem) -> Share:
        """The share of a problem with the same documents and rows, but with other parameters and no parts."""
        return self._of_owners(replace(problem, parts={}), self.communicator, self.owners)

    @classmethod
    def _of_owners(cls, whole: Problem, communicator: Communicator, owners: Ints | None) -> Share:
        ranks, size = communicator.size, whole.parameters
        if ranks == 1:
            nothing = [np.empty(0, np.int64)]
            return cls(whole, whole, communicator, None, np.zeros(size, np.int16), np.arange(size), nothing, nothing)
        if owners is None:
            home = (np.arange(size) % ranks).astype(np.int16)
            inner = held = np.ones(size, np.bool_)
        else:
            rank_of_row = _rank_of_row(whole, owners)
            home = _homes(whole, rank_of_row)
            inner = _inner(whole, rank_of_row, home, communicator.rank)
            held = _with_neighbors(whole.graph, inner)
        rows = np.flatnonzero(held)
        problem = _restricted(whole, rows, inner, home == communicator.rank)
        at_home = [np.flatnonzero(home[rows] == rank) for rank in range(ranks)]
        at_home[communicator.rank] = np.empty(0, np.int64)
        asked = communicator.all_to_all([rows[places] for places in at_home])
        lent = [np.searchsorted(rows, part.view(np.int64)) for part in asked]
        whole = replace(whole, parts={})  # which have all edges once more
        return cls(whole, problem, communicator, owners, home, rows, at_home, lent)

    @property
    def common(self) -> Ints:
        """(C) The parameters of the share that other ranks hold, too."""
        return np.unique(np.concatenate([*self.at_home, *self.lent]))

    def total(self, values: Floats) -> Floats:
        """(p) Numbers of the parameters of the share, summed over the ranks that hold them."""
        if self.communicator.size == 1:
            return values
        total = values.copy()
        for places, part in zip(self.lent, self.communicator.all_to_all([values[places] for places in self.at_home])):
            total[places] += part.view(values.dtype)
        for places, part in zip(self.at_home, self.communicator.all_to_all([total[places] for places in self.lent])):
            total[places] = part.view(values.dtype)
        return total

    def total_by(self, groups: Ints, values: Floats, size: int) -> Floats:
        """(size) Numbers of the parameters of the share, summed by group over all ranks, each parameter once."""
        own = self.home[self.rows] == self.communicator.rank
        return self.communicator.allreduce(np.bincount(groups[own], values[own], size))

    def of_whole(self, state: State) -> State:
        """The share of a state of the whole problem."""
        if self.communicator.size == 1:
            return state
        part = State.zeros(self.problem)
        for rows in row_batches(len(self.rows)):
            part.theta[rows] = state.theta[self.rows[rows]]
        part.accumulator[: len(self.rows)] = state.accumulator[self.rows]
        return part

    def complete(self, state: State, folder: Path | None = None) -> State:
        """The state of the whole problem, which every rank gets from the homes of its rows, a batch after the other.

        It is in a file without a name in `folder` that is mapped into memory, so that it need not fit there.
        """
        if self.communicator.size == 1:
            return state
        whole = State.zeros(self.whole, memory=_mapped(folder))
        for array, values in ((whole.theta, state.theta), (whole.accumulator, state.accumulator)):
            self._complete(values, array)
        return whole

    def _complete(self, values: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Write the values (p, …) of all ranks' parameters into those of the whole problem (P, …)."""
        ranks = self.communicator.size
        at_home = [np.flatnonzero(self.home == rank) for rank in range(ranks)]
        own = np.searchsorted(self.rows, at_home[self.communicator.rank])
        for batch in row_batches(max(map(len, at_home))):
            parts = self.communicator.all_to_all([values[own[batch]]] * ranks)
            for rows, part in zip(at_home, parts, strict=True):
                out[rows[batch]] = part.view(np.float32).reshape(-1, *out.shape[1:])


def _mapped(folder: Path | None) -> Any:
    """Makes arrays of zeros in files that are gone when nothing uses them any more."""

    def zeros(rows: int, width: int) -> NDArray[np.float32]:
        if not rows:
            return np.zeros((rows, width), np.float32)
        with tempfile.TemporaryFile(dir=folder) as file:
            return np.memmap(file, np.float32, "w+", shape=(rows, width)).view(np.ndarray)

    return zeros


def _rank_of_row(problem: Problem, owners: Ints) -> NDArray[np.int16]:
    """(R) The owner of each word row; of each context row one of the ranks with text of its language, in turn."""
    starts = block_starts(problem)
    sizes = np.diff(problem.vocabulary_start)
    language_of_block = np.repeat(np.arange(len(sizes)), (len(starts) - 1) // len(sizes))
    by_language = [np.resize(np.unique(owners[language_of_block == i]), size) for i, size in enumerate(sizes)]
    return np.concatenate([np.repeat(owners, np.diff(starts)), *by_language]).astype(np.int16)


def _homes(problem: Problem, rank_of_row: NDArray[np.int16]) -> NDArray[np.int16]:
    """(P) The rank of one of the rows of each parameter; of a latent one, that of one of those it is joined to."""
    size, graph = problem.parameters, problem.graph
    used = np.flatnonzero(problem.slot >= 0)
    home = np.full(size, -1, np.int16)
    _choose_in_turn(problem.slot[used], rank_of_row[used], home)
    for one, mean in graph.levels_of_latent():
        _choose_in_turn(mean, home[one], home)
    left = np.flatnonzero(home < 0)
    home[left] = left % (int(rank_of_row.max()) + 1)
    return home


def _choose_in_turn(parameter: NDArray[Any], rank: NDArray[np.int16], home: NDArray[np.int16]) -> None:
    """Set the home of parameters to one of the ranks that are given for them, the next for the next one."""
    order = np.argsort(parameter, kind="stable")
    unique, first, counts = np.unique(parameter[order], return_index=True, return_counts=True)
    home[unique] = rank[order[first + unique % counts]]


def _inner(problem: Problem, rank_of_row: NDArray[np.int16], home: NDArray[np.int16], rank: int) -> NDArray[np.bool_]:
    """(P) The parameters of words in the slices of a rank, of contexts of their languages, and of means of these."""
    starts, words = block_starts(problem), int(block_starts(problem)[-1])
    inner: NDArray[np.bool_] = home == rank
    slots = problem.slot[:words][rank_of_row[:words] == rank]
    inner[slots[slots >= 0]] = True
    sizes = np.diff(problem.vocabulary_start)
    blocks = (len(starts) - 1) // len(sizes)
    for language, size in enumerate(sizes.tolist()):
        own = rank_of_row[starts[language * blocks] : starts[(language + 1) * blocks]] == rank
        if own.any():
            first = words + int(problem.vocabulary_start[language])
            slots = problem.slot[first : first + size]
            inner[slots[slots >= 0]] = True
    for one, mean in problem.graph.levels_of_latent():
        inner[mean[inner[one]]] = True
    return inner


def _with_neighbors(graph: Graph, inner: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(P) The parameters that are inner, or joined to one that is not latent."""
    held = inner.copy()
    is_mean = np.arange(len(graph)) >= graph.own
    for begin in range(0, graph.edges, EDGES_PER_BATCH):
        first, second = (ends[begin : begin + EDGES_PER_BATCH] for ends in (graph.first, graph.second))
        between = second < len(graph)
        first, second = first[between], second[between]
        held[first[inner[second] & ~is_mean[second]]] = True
        held[second[inner[first]]] = True
    return held


def _restricted(whole: Problem, rows: Ints, inner: NDArray[np.bool_], own: NDArray[np.bool_]) -> Problem:
    """The problem of the parameters `rows`, with the edges of inner ones, and parts of those that are at home here.

    The parts are what the log prior is counted by, so that each edge counts on one rank: the home of its first end.
    """
    place = np.full(whole.parameters, -1, np.int32)
    place[rows] = np.arange(len(rows))
    is_inner = np.append(inner, np.zeros(len(whole.graph.targets), np.bool_))
    slot = np.where(whole.slot >= 0, place[whole.slot], -1).astype(np.int32)

    def restricted(graph: Graph, kept: NDArray[np.bool_], diagonal: Floats) -> Graph:
        edges = np.flatnonzero(kept)
        first, second = graph.first[edges], graph.second[edges]
        inside = second < len(graph)
        to = np.where(inside, place[np.where(inside, second, 0)], second - len(graph) + len(rows))
        arrays: dict[str, Any] = {name: getattr(graph, name)[edges] for name in ("weight", "sign", "directed")}
        arrays |= {"first": place[first].astype(np.int64), "second": to}
        return replace(graph, **arrays, diagonal=diagonal[rows], latent=int((rows >= graph.own).sum()))

    graph = whole.graph
    kept = inner[graph.first] | (is_inner[graph.second] & ~graph.to_latent())
    is_held = np.append(place >= 0, np.ones(len(whole.graph.targets), np.bool_))
    parts = {
        name: restricted(part, own[part.first] & is_held[part.second], np.where(own, part.diagonal, 0.0))
        for name, part in whole.parts.items()
    }
    return replace(
        whole,
        slot=slot,
        initial_row=whole.initial_row[rows],
        pooled_row=whole.pooled_row[rows],
        graph=restricted(graph, kept, graph.diagonal),
        parts=parts,
    )
