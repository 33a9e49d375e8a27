"""Many processes, one model: each trains on its own documents, and rows are merged every so many tokens.

Every rank has an engine over all rows. Since the last merge it has moved some of them; at the next, the ways that ranks
have gone with a row are joined to one, nearly as if their steps had been taken one after the other, and Adagrad's
accumulator grows by all of them. Every row has a home, a rank that can read it: what others have added travels there,
and what comes of it from there to all that can read it. So a rank sends a row at most twice for each merge, however
many ranks there are. A rank reads the words of its own slices, the contexts of their languages, and what edges join to
these. Where there are as many slices as ranks, a slice has one owner, whose words nobody else touches, and only
contexts and the ends of edges between owners travel.

P parameters, D dimensions, padded as the CPU engine has them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from laplex.engines import kernels
from laplex.engines.cpu import State, draws
from laplex.engines.epoch import Epoch
from laplex.problem import Problem
from laplex.world import World

MERGES = 64  # in an epoch, at least
AT_ONCE = 65_536  # rows that are compared at once


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


def read_here(problem: Problem, world: World) -> NDArray[np.float64]:
    """(P) The share of all readings of a row, also as a negative, that are this rank's own."""
    own = draws(problem)
    lengths = np.diff(problem.offsets)
    for low in range(0, len(lengths), AT_ONCE):
        some = slice(low, min(low + AT_ONCE, len(lengths)))
        ids = problem.ids[problem.offsets[some.start] : problem.offsets[some.stop]]
        kept = problem.keep[np.repeat(problem.vocabulary_start[problem.language[some]], lengths[some]) + ids]
        kept = kept * np.repeat(~problem.held_out[some], lengths[some])
        for starts in (problem.word_start, problem.context_start):
            own += np.bincount(problem.slot[np.repeat(starts[some], lengths[some]) + ids], kept, len(own))
    share: NDArray[np.float64] = own / np.maximum(world.total(own), 1e-300)
    return share


class Engine(Protocol):
    """The engine of one rank, which trains on its own documents."""

    @property
    def pieces(self) -> int: ...

    def compile(self) -> None: ...

    def run(
        self,
        epoch: Epoch,
        report: Callable[[float], None],
        begin: int = 0,
        seconds: float = math.inf,
        end: int | None = None,
    ) -> tuple[int, NDArray[np.float64]]: ...

    def pull(self) -> None: ...

    def push(self, rows: NDArray[np.int64]) -> None: ...


class Ranks:
    """The engine of one rank among several. Its pieces are the merges of an epoch."""

    def __init__(
        self, problem: Problem, state: State, world: World, merge_tokens: int, make: Callable[[int], Engine]
    ) -> None:
        """`make` gives the engine, whose pieces have at most so many tokens."""
        self.state = state
        self.problem = problem
        self._world = world
        # pieces small enough for as many merges as there are to be
        self._engine = make(max(1, int(problem.offsets[-1]) // (4 * MERGES)))
        self._before = State(state.theta.copy(), state.note.copy())
        self._wanted = [np.frombuffer(text, np.bool_) for text in world.texts(self._readable().tobytes())]
        self._home = _homes(self._wanted)
        tokens = int(world.total(np.array([int(problem.offsets[-1])]))[0])
        self.pieces = max(MERGES, math.ceil(tokens / world.size / merge_tokens))

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
            _, read = self._engine.run(epoch, report, self._due(merge), end=self._due(merge + 1))
            totals += read
            self._engine.pull()
            self.merge()
            late = self._world.total(np.array([float(time.monotonic() - started > seconds)]))
            if late.any():
                return merge + 1, self._world.total(totals)
        return self.pieces, self._world.total(totals)

    def _due(self, merge: int) -> int:
        """The piece of the text before which a merge is due."""
        return round(merge / self.pieces * self._engine.pieces)

    def merge(self) -> None:
        """Add to every row what all ranks have added to it since the last merge."""
        state, before = self.state, self._before
        moved = self._moved()
        added = []
        for rank in range(self._world.size):
            rows = np.flatnonzero(moved & (self._home == rank))
            vectors = state.theta[rows] - before.theta[rows]
            added.append(_packed(rows, vectors, state.note[rows, kernels.ACC] - before.note[rows, kernels.ACC]))
        parts = [_unpacked(part, state.theta.shape[1]) for part in self._world.swap(added)]
        changed = np.unique(np.concatenate([rows for rows, _, _ in parts]))
        way, acc = _joined(parts, changed, before.note[changed, kernels.ACC])
        before.theta[changed] += way
        before.note[changed, kernels.ACC] = acc
        summed = np.zeros(len(moved), np.bool_)
        summed[changed] = True
        sums = []
        for wanted in self._wanted:
            rows = np.flatnonzero(summed & wanted)
            sums.append(_packed(rows, before.theta[rows], before.note[rows, kernels.ACC]))
        for part in self._world.swap(sums):
            rows, vectors, acc = _unpacked(part, state.theta.shape[1])
            for one in (state, before):
                one.theta[rows], one.note[rows, kernels.ACC] = vectors, acc
            self._engine.push(rows)

    def _moved(self) -> NDArray[np.bool_]:
        """(P) The rows that this rank has moved since the last merge."""
        moved = np.zeros(self.problem.parameters, np.bool_)
        for low in range(0, len(moved), AT_ONCE):
            some = slice(low, min(low + AT_ONCE, len(moved)))
            moved[some] = (self.state.theta[some] != self._before.theta[some]).any(1)
            moved[some] |= self.state.note[some, kernels.ACC] != self._before.note[some, kernels.ACC]
        return moved

    def pull(self) -> None:
        """Give rank 0 all rows, each from its home."""
        state = self.state
        mine = np.flatnonzero(self._home == self._world.rank)
        packed = _packed(mine, state.theta[mine], state.note[mine, kernels.ACC])
        for part in self._world.swap([packed, *[packed[:0]] * (self._world.size - 1)]):
            rows, vectors, acc = _unpacked(part, state.theta.shape[1])
            state.theta[rows], state.note[rows, kernels.ACC] = vectors, acc


def _homes(wanted: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """(P) One of the ranks that can read a row, each in turn; 0 if none can."""
    home = np.zeros(len(wanted[0]), np.int32)
    for low in range(0, len(home), AT_ONCE):
        readers = np.stack([mine[low : low + AT_ONCE] for mine in wanted])
        turn = np.arange(low, low + readers.shape[1]) % np.maximum(readers.sum(0), 1)
        home[low : low + AT_ONCE] = np.argmax(readers & (readers.cumsum(0) == turn + 1), axis=0)
    return home


Part = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]  # rows, vectors, accumulators


def _joined(
    parts: Sequence[Part], changed: NDArray[np.int64], start: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(n, D), (n) The way that `changed` rows go by what all ranks have added to them, and their accumulators then.

    Ranks do not know how others' gradients make the accumulator grow, and take larger steps than one after the other
    would have been. A rank's gradients G, evenly spread, with an accumulator that grows from s to s + a, have made a
    way of 2G / (√(s + a) + √s). If in the same time it had grown to e, that would be 2G / (√e + √s).
    """
    places = [np.searchsorted(changed, rows) for rows, _, _ in parts]
    end = start.copy()
    for place, (_, _, acc) in zip(places, parts, strict=True):
        end[place] += acc
    way = np.zeros((len(changed), parts[0][1].shape[1]), np.float32)
    # in the order of ranks, so that a run can be repeated
    for place, (_, vectors, acc) in zip(places, parts, strict=True):
        root = np.sqrt(start[place])
        shorter = (np.sqrt(start[place] + acc) + root) / (np.sqrt(end[place]) + root)
        way[place] = _together(way[place], vectors * shorter[:, None])
    return way, end


def _together(one: NDArray[np.float32], two: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, D) Two ways that rows have gone from the same place, as one.

    Their sum, as if one had been gone after the other, where they lead in different directions. As far as they lead in
    the same one, it would overshoot where each has come all the way to the same optimum: of the shorter only what the
    longer lacks is added.
    """
    square_one, square_two = np.square(one).sum(1), np.square(two).sum(1)
    alike = np.clip((one * two).sum(1) / np.maximum(np.sqrt(square_one * square_two), 1e-30), 0.0, 1.0)
    share = alike / np.maximum(square_one + square_two, 1e-30)
    joined: NDArray[np.float32] = one * (1.0 - share * square_two)[:, None] + two * (1.0 - share * square_one)[:, None]
    return joined


def _packed(rows: NDArray[np.int64], vectors: NDArray[np.float32], acc: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows as they travel: their numbers, accumulators and vectors, or what is added to these."""
    return np.concatenate([rows.astype(np.int32).view(np.float32)[:, None], acc[:, None], vectors], axis=1)


def _unpacked(part: NDArray[np.uint8], width: int) -> Part:
    packed = part.view(np.float32).reshape(-1, width + 2)
    return packed[:, 0].copy().view(np.int32).astype(np.int64), packed[:, 2:], packed[:, 1]
