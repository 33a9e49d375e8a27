"""Many processes, one model: each trains on its own documents, and rows are merged many times an epoch.

Every rank has an engine over all rows. Since the last merge it has moved some of them; at the next, the displacements
of a row on all ranks are joined to one, nearly as if their steps had been taken one after the other, and Adagrad's
accumulator grows by all of them. Every row has a home, a rank that can read it: displacements are sent there, and the
result from there to all that can read it. So a rank sends a row at most twice for each merge, however many ranks there
are. A rank reads the words of its own slices, the contexts of their languages, and what edges join to these. Where
there are as many slices as ranks, a slice has one owner, whose words nobody else touches, and only contexts and the
ends of edges between owners are sent.

P parameters, D dimensions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.engines.state import Engine, Epoch, State
from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

MERGES = 64  # in an epoch, at least
ROWS_PER_COMPARISON = 65_536


def owners(problem: Problem, communicator: Communicator) -> NDArray[np.int64]:
    """The rank of every slice (of every language), the largest dealt out first; −1 if there are fewer than ranks."""
    starts = _slices(problem, communicator)
    sizes = np.zeros(len(starts), np.int64)
    np.add.at(sizes, np.searchsorted(starts, problem.word_start), np.diff(problem.offsets))
    sizes = communicator.allreduce(sizes)
    if len(starts) < communicator.size:
        return np.full(len(starts), -1)
    owner, load = np.zeros(len(starts), np.int64), np.zeros(communicator.size)
    for slice in np.argsort(-sizes, kind="stable"):
        owner[slice] = load.argmin()
        load[owner[slice]] += sizes[slice]
    return owner


def _slices(problem: Problem, communicator: Communicator) -> NDArray[np.int64]:
    """The first word rows of all slices that any rank has text of."""
    starts = communicator.allgather(np.unique(problem.word_start).astype(np.int64).tobytes())
    return np.unique(np.concatenate([np.frombuffer(part, np.int64) for part in starts]))


def deal(problem: Problem, communicator: Communicator) -> Problem:
    """Give every document to the owner of its slice."""
    owner = owners(problem, communicator)
    if (owner < 0).any():
        return problem
    rank = owner[np.searchsorted(_slices(problem, communicator), problem.word_start)]

    def exchange(values: NDArray[Any], rank: NDArray[np.int64] = rank) -> NDArray[Any]:
        parts = communicator.all_to_all([values[rank == number] for number in range(communicator.size)])
        return np.concatenate([part.view(values.dtype) for part in parts])

    lengths = np.diff(problem.offsets)
    return replace(
        problem,
        ids=exchange(problem.ids, np.repeat(rank, lengths)),
        offsets=np.concatenate([[0], np.cumsum(exchange(lengths))]),
        held_out=exchange(problem.held_out),
        word_start=exchange(problem.word_start),
        context_start=exchange(problem.context_start),
        language=exchange(problem.language),
    )


class Ranks:
    """The engine of one rank among several. Its pieces are the merges of an epoch."""

    def __init__(
        self,
        problem: Problem,
        state: State,
        communicator: Communicator,
        merge_tokens: int,
        make: Callable[[int], Engine],
    ) -> None:
        """`make` gives the engine of this rank alone, whose pieces have at most the given number of tokens."""
        self.state = state
        self.problem = problem
        self._communicator = communicator
        # pieces small enough for as many merges as there are to be
        self._engine = make(max(1, int(problem.offsets[-1]) // (4 * MERGES)))
        self._before = state.copy()
        self._wanted = [np.frombuffer(part, np.bool_) for part in communicator.allgather(self._readable().tobytes())]
        self._home = _homes(self._wanted)
        tokens = int(communicator.allreduce(np.array([int(problem.offsets[-1])]))[0])
        self.pieces = max(MERGES, math.ceil(tokens / communicator.size / merge_tokens))

    def _readable(self) -> NDArray[np.bool_]:
        """(P) The rows that this rank can read: those of its text, and what edges join to them."""
        problem = self.problem
        rows = np.zeros(len(problem.slot), np.bool_)
        for starts in (problem.word_start, problem.context_start):
            for start, example in zip(*np.unique(starts, return_index=True), strict=True):
                low, high = problem.vocabulary_start[problem.language[example] :][:2]
                rows[start : start + high - low] = True
        inner = np.zeros(problem.parameters, np.bool_)
        inner[problem.slot[rows]] = True
        graph = problem.graph
        between = graph.second < problem.parameters
        first, second = graph.first[between], graph.second[between]
        readable = inner.copy()
        readable[first[inner[second]]] = True
        readable[second[inner[first]]] = True
        return readable

    def compile(self) -> None:
        self._engine.compile()

    def run(
        self,
        epoch: Epoch,
        report: Callable[[float], None],
        begin: int = 0,
        seconds: float = math.inf,
        end: int | None = None,
    ) -> tuple[int, NDArray[np.float64]]:
        """Train and merge; the totals are those of all ranks."""
        totals = np.zeros(3)
        started = time.monotonic()
        last = self.pieces if end is None else end
        for merge in range(begin, last):
            totals += self._engine.run(epoch, report, self._piece_of(merge), end=self._piece_of(merge + 1))[1]
            self._engine.pull()
            self.merge()
            late = self._communicator.allreduce(np.array([float(time.monotonic() - started > seconds)]))
            if late.any():
                last = merge + 1
                break
        return last, self._communicator.allreduce(totals)

    def _piece_of(self, merge: int) -> int:
        """The piece of the text that begins after a merge."""
        return round(merge / self.pieces * self._engine.pieces)

    def merge(self) -> None:
        """Add to every row what all ranks have added to it since the last merge."""
        state, before = self.state, self._before
        moved = self._moved()
        added = []
        for rank in range(self._communicator.size):
            rows = np.flatnonzero(moved & (self._home == rank))
            vectors = state.theta[rows] - before.theta[rows]
            added.append(_pack(rows, vectors, state.accumulator[rows] - before.accumulator[rows]))
        parts = [_unpack(part, state.dimensions) for part in self._communicator.all_to_all(added)]
        changed = np.unique(np.concatenate([rows for rows, _, _ in parts]))
        displacement, accumulator = _join(parts, changed, before.accumulator[changed])
        before.theta[changed] += displacement
        before.accumulator[changed] = accumulator
        is_changed = np.zeros(len(moved), np.bool_)
        is_changed[changed] = True
        results = []
        for wanted in self._wanted:
            rows = np.flatnonzero(is_changed & wanted)
            results.append(_pack(rows, before.theta[rows], before.accumulator[rows]))
        for part in self._communicator.all_to_all(results):
            rows, vectors, accumulator = _unpack(part, state.dimensions)
            for copy in (state, before):
                copy.theta[rows], copy.accumulator[rows] = vectors, accumulator
            self._engine.push(rows)

    def _moved(self) -> NDArray[np.bool_]:
        """(P) The rows that this rank has moved since the last merge."""
        moved = np.zeros(self.problem.parameters, np.bool_)
        for low in range(0, len(moved), ROWS_PER_COMPARISON):
            rows = slice(low, min(low + ROWS_PER_COMPARISON, len(moved)))
            moved[rows] = (self.state.memory[rows] != self._before.memory[rows]).any(1)
            moved[rows] |= self.state.accumulator[rows] != self._before.accumulator[rows]
        return moved

    def pull(self) -> None:
        """Give rank 0 all rows, each from its home."""
        state = self.state
        rows = np.flatnonzero(self._home == self._communicator.rank)
        packed = _pack(rows, state.theta[rows], state.accumulator[rows])
        for part in self._communicator.all_to_all([packed, *[packed[:0]] * (self._communicator.size - 1)]):
            rows, vectors, accumulator = _unpack(part, state.dimensions)
            state.theta[rows], state.accumulator[rows] = vectors, accumulator

    def push(self, rows: NDArray[np.int64]) -> None:
        self._engine.push(rows)


def _homes(wanted: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """(P) One of the ranks that can read a row, each in turn; 0 if none can."""
    home = np.zeros(len(wanted[0]), np.int32)
    for low in range(0, len(home), ROWS_PER_COMPARISON):
        readers = np.stack([rows[low : low + ROWS_PER_COMPARISON] for rows in wanted])
        turn = np.arange(low, low + readers.shape[1]) % np.maximum(readers.sum(0), 1)
        home[low : low + ROWS_PER_COMPARISON] = np.argmax(readers & (readers.cumsum(0) == turn + 1), axis=0)
    return home


Part = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]  # rows, vectors, accumulators


def _join(
    parts: Sequence[Part], changed: NDArray[np.int64], start: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(n, D), (n) The displacement of `changed` rows by what all ranks have added, and their accumulators then.

    Ranks do not know how others' gradients make the accumulator grow, and take larger steps than one after the other
    would have been. A rank's gradients G, evenly spread, with an accumulator that grows from s to s + a, have displaced
    a row by 2G / (√(s + a) + √s). If in the same time it had grown to e, that would be 2G / (√e + √s).
    """
    places = [np.searchsorted(changed, rows) for rows, _, _ in parts]
    end = start.copy()
    for place, (_, _, accumulator) in zip(places, parts, strict=True):
        end[place] += accumulator
    displacement = np.zeros((len(changed), parts[0][1].shape[1]), np.float32)
    # in the order of ranks, so that a run can be repeated
    for place, (_, vectors, accumulator) in zip(places, parts, strict=True):
        root = np.sqrt(start[place])
        shorter = (np.sqrt(start[place] + accumulator) + root) / (np.sqrt(end[place]) + root)
        displacement[place] = _combine(displacement[place], vectors * shorter[:, None])
    return displacement, end


def _combine(one: NDArray[np.float32], two: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, D) Two displacements of rows from the same place, as one.

    Their sum, as if one had followed the other, where they lead in different directions. As far as they lead in the
    same one, it would overshoot where each has come all the way to the same optimum: of the shorter only what the
    longer lacks is added.
    """
    square_one, square_two = np.square(one).sum(1), np.square(two).sum(1)
    cosine = np.clip((one * two).sum(1) / np.maximum(np.sqrt(square_one * square_two), 1e-30), 0.0, 1.0)
    share = cosine / np.maximum(square_one + square_two, 1e-30)
    sums: NDArray[np.float32] = one * (1.0 - share * square_two)[:, None] + two * (1.0 - share * square_one)[:, None]
    return sums


def _pack(
    rows: NDArray[np.int64], vectors: NDArray[np.float32], accumulator: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Rows as they are sent: their numbers, accumulators and vectors, or what is added to these."""
    return np.concatenate([rows.astype(np.int32).view(np.float32)[:, None], accumulator[:, None], vectors], axis=1)


def _unpack(part: NDArray[np.uint8], dimensions: int) -> Part:
    packed = part.view(np.float32).reshape(-1, dimensions + 2)
    return packed[:, 0].copy().view(np.int32).astype(np.int64), packed[:, 2:], packed[:, 1]
