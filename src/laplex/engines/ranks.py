"""Many processes, one model: each trains on its own documents, and rows are merged every so many tokens.

Every rank has an engine over all rows. Since the last merge it has moved some of them; at the next, a row becomes what
it was plus what every rank has added to it, and so does Adagrad's accumulator, as if the steps had been taken one
after the other. Only rows that have moved travel, and only to ranks that can read them: a rank reads the words of its
own slices, the contexts of their languages, and what edges join to these. Where there are as many slices as ranks, a
slice has one owner, whose words nobody else touches, and only contexts and the ends of edges between owners travel.

P parameters, D dimensions, W padded dimensions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from laplex.engines import kernels
from laplex.engines.cpu import Cpu, State
from laplex.engines.epoch import Epoch
from laplex.problem import Problem
from laplex.world import World

MERGE_TOKENS = 1_000_000  # of a rank, between two merges
MERGES = 16  # in an epoch, at least


def owners(problem: Problem, world: World) -> NDArray[np.int64]:
    """The rank of every slice (of every language), the largest dealt out first; −1 if there are fewer than ranks."""
    starts = _slices(problem, world)
    lengths = np.diff(problem.offsets)
    sizes = np.zeros(len(starts), np.int64)
    np.add.at(sizes, np.searchsorted(starts, problem.word_start), lengths)
    sizes = world.total(sizes)
    if len(starts) < world.size:
        return np.full(len(starts), -1)
    owner, load = np.zeros(len(starts), np.int64), np.zeros(world.size)
    for slice in np.argsort(-sizes, kind="stable"):
        owner[slice] = load.argmin()
        load[owner[slice]] += sizes[slice]
    return owner


def _slices(problem: Problem, world: World) -> NDArray[np.int64]:
    """The first word rows of all slices that any rank has text of."""
    texts = world.texts(np.unique(problem.word_start).astype(np.int64).tobytes())
    return np.unique(np.concatenate([np.frombuffer(text, np.int64) for text in texts]))


def deal(problem: Problem, world: World) -> Problem:
    """Give every document to the owner of its slice; visits become those of all ranks."""
    visits = world.total(problem.visits)
    owner = owners(problem, world)
    if (owner < 0).any():
        return replace(problem, visits=visits)
    to = owner[np.searchsorted(_slices(problem, world), problem.word_start)]
    lengths = np.diff(problem.offsets)
    token_to = np.repeat(to, lengths)
    ids = world.swap([problem.ids[token_to == rank] for rank in range(world.size)])
    columns = {"word_start": problem.word_start, "context_start": problem.context_start, "language": problem.language}
    columns |= {"lengths": lengths, "held_out": problem.held_out.astype(np.int64)}
    dealt = {
        name: np.concatenate(
            [part.view(np.int64) for part in world.swap([values.astype(np.int64)[to == r] for r in range(world.size)])]
        )
        for name, values in columns.items()
    }
    return replace(
        problem,
        ids=np.concatenate([part.view(np.int32) for part in ids]),
        offsets=np.concatenate([[0], np.cumsum(dealt.pop("lengths"))]),
        held_out=dealt.pop("held_out").astype(np.bool_),
        visits=visits,
        word_start=dealt["word_start"],
        context_start=dealt["context_start"],
        language=dealt["language"],
    )


class Ranks:
    """The CPU engine of one rank among several. Its pieces are the merges of an epoch."""

    def __init__(self, problem: Problem, state: State, world: World) -> None:
        self.state = state
        self.problem = problem
        self._world = world
        # pieces small enough for as many merges as there are to be
        self._engine = Cpu(problem, state, piece=max(1, min(20_000, int(problem.offsets[-1]) // (4 * MERGES))))
        self._before = State(state.theta.copy(), state.note.copy())
        self._wanted = [np.frombuffer(text, np.bool_) for text in world.texts(self._readable().tobytes())]
        tokens = int(world.total(np.array([int(problem.offsets[-1])]))[0])
        self.pieces = max(MERGES, math.ceil(tokens / world.size / MERGE_TOKENS))

    def _readable(self) -> NDArray[np.bool_]:
        """(P) The rows that this rank can read: those of its text, and what edges join to them."""
        problem = self.problem
        rows = np.zeros(len(problem.slot), np.bool_)
        for starts in (problem.word_start, problem.context_start):
            for start in np.unique(starts).tolist():
                language = int(problem.language[np.flatnonzero(starts == start)[0]])
                size = int(np.diff(problem.vocabulary_start[language : language + 2])[0])
                rows[start : start + size] = True
        own = np.zeros(problem.parameters, np.bool_)
        own[problem.slot[rows]] = True
        graph = problem.graph
        inside = graph.second < problem.parameters
        first, second = graph.first[inside], graph.second[inside]
        near = own.copy()
        near[first[own[second]]] = True
        near[second[own[first]]] = True
        return near

    def compile(self) -> None:
        self._engine.compile()

    def run(
        self, epoch: Epoch, report: Callable[[float], None], begin: int = 0, seconds: float = math.inf
    ) -> tuple[int, NDArray[np.float64]]:
        """Train and merge, from merge `begin` of the epoch on. The totals are those of all ranks."""
        totals = np.zeros(3)
        started = time.monotonic()
        for merge in range(begin, self.pieces):
            first, last = (self._due(epoch, share) for share in (merge, merge + 1))

            _, read = self._engine.run(epoch, report, first, end=last)
            totals += read
            self.merge()
            late = self._world.total(np.array([float(time.monotonic() - started > seconds)]))
            if late.any():
                return merge + 1, self._world.total(totals)
        return self.pieces, self._world.total(totals)

    def _due(self, epoch: Epoch, merge: int) -> int:
        """The piece of the text before which a merge is due. In the first epoch, when vectors move most, early ones."""
        share = merge / self.pieces
        return round((share * share if epoch.number == 0 else share) * self._engine.pieces)

    def merge(self) -> None:
        """Add to every row what all ranks have added to it since the last merge."""
        theta, note, before = self.state.theta, self.state.note, self._before
        parameters = self.problem.parameters
        moved = np.zeros(parameters, np.bool_)
        for low in range(0, parameters, 65_536):
            some = slice(low, min(low + 65_536, parameters))
            moved[some] = (theta[some] != before.theta[some]).any(1)
            moved[some] |= note[some, kernels.ACC] != before.note[some, kernels.ACC]
        parts = []
        for wanted in self._wanted:
            rows = np.flatnonzero(moved & wanted)
            packed = np.empty((len(rows), theta.shape[1] + 2), np.float32)
            packed[:, 0] = rows.astype(np.int32).view(np.float32)
            packed[:, 1] = note[rows, kernels.ACC] - before.note[rows, kernels.ACC]
            packed[:, 2:] = theta[rows] - before.theta[rows]
            parts.append(packed)
        own = np.flatnonzero(moved)
        theta[own] = before.theta[own]
        note[own, kernels.ACC] = before.note[own, kernels.ACC]
        # in the order of ranks, so that every rank that has a row has the same sum
        for part in self._world.swap(parts):
            packed = part.view(np.float32).reshape(-1, theta.shape[1] + 2)
            rows = packed[:, 0].copy().view(np.int32)
            theta[rows] += packed[:, 2:]
            note[rows, kernels.ACC] += packed[:, 1]
            before.theta[rows] = theta[rows]
            before.note[rows, kernels.ACC] = note[rows, kernels.ACC]

    def pull(self) -> None:
        """Give rank 0 all rows: each from the first rank that can read it."""
        first = np.argmax(np.stack(self._wanted), axis=0)
        mine = np.flatnonzero((first == self._world.rank) & self._wanted[self._world.rank])
        nothing = np.empty((0, self.state.theta.shape[1] + 2), np.float32)
        packed = np.empty((len(mine), nothing.shape[1]), np.float32)
        packed[:, 0] = mine.astype(np.int32).view(np.float32)
        packed[:, 1], packed[:, 2:] = self.state.note[mine, kernels.ACC], self.state.theta[mine]
        for part in self._world.swap([packed, *[nothing] * (self._world.size - 1)]):
            found = part.view(np.float32).reshape(-1, nothing.shape[1])
            rows = found[:, 0].copy().view(np.int32)
            self.state.note[rows, kernels.ACC], self.state.theta[rows] = found[:, 1], found[:, 2:]
