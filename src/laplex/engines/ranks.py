"""Several processes train one model: each reads its own documents, and rows are merged many times an epoch.

Every rank has an engine over all rows. At a merge, the displacements of a row on all ranks since the last are joined,
nearly as if their steps had been taken one after the other, and Adagrad's accumulator grows by all of them. Every row
has a home, a rank that can read it: displacements are sent there, and the result from there to all that can read it, so
a rank sends a row at most twice for each merge. A rank reads the words of its own slices, the contexts of their
languages, and what edges join to these. Where there are at least as many slices as ranks, a slice has one owner, and
only contexts and the ends of edges between owners are sent.

P parameters, D dimensions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.engines.state import Engine, Epoch, Floats, Ints, Report, State, row_batches
from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

Part = tuple[Ints, NDArray[np.float32], NDArray[np.float32]]  # rows, vectors, accumulators
MERGES = 64  # in an epoch, at least


def deal(problem: Problem, communicator: Communicator) -> Problem:
    """Give every document to the owner of its slice (of its language), the largest slices dealt out first.

    If there are fewer slices than ranks, they have no owners, and documents stay where they are.
    """
    parts = communicator.allgather(np.unique(problem.word_start).astype(np.int64).tobytes())
    starts = np.unique(np.concatenate([np.frombuffer(part, np.int64) for part in parts]))
    if len(starts) < communicator.size:
        return problem
    lengths, slice_of = np.diff(problem.offsets), np.searchsorted(starts, problem.word_start)
    sizes = np.zeros(len(starts), np.int64)
    np.add.at(sizes, slice_of, lengths)
    sizes = communicator.allreduce(sizes)
    owner, load = np.zeros(len(starts), np.int64), np.zeros(communicator.size)
    for slice in np.argsort(-sizes, kind="stable"):
        owner[slice] = load.argmin()
        load[owner[slice]] += sizes[slice]
    rank = owner[slice_of]

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


class Ranks(Engine):
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
        self._before = deepcopy(state)
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
        between = problem.graph.second < problem.parameters
        first, second = problem.graph.first[between], problem.graph.second[between]
        readable = inner.copy()
        readable[first[inner[second]]] = True
        readable[second[inner[first]]] = True
        return readable

    def compile(self) -> None:
        self._engine.compile()

    def run(
        self, epoch: Epoch, report: Report, begin: int = 0, seconds: float = math.inf, end: int | None = None
    ) -> tuple[int, Floats]:
        """Train and merge; the totals are those of all ranks."""
        totals = np.zeros(3)
        started = time.monotonic()
        last = self.pieces if end is None else end
        # the pieces of the text that begin after each merge
        pieces = [round(merge / self.pieces * self._engine.pieces) for merge in range(self.pieces + 1)]
        for merge in range(begin, last):
            totals += self._engine.run(epoch, report, pieces[merge], end=pieces[merge + 1])[1]
            self._engine.pull()
            self.merge()
            late = self._communicator.allreduce(np.array([float(time.monotonic() - started > seconds)]))
            if late.any():
                last = merge + 1
                break
        return last, self._communicator.allreduce(totals)

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
        for rows in row_batches(len(moved)):
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

    def push(self, rows: Ints) -> None:
        self._engine.push(rows)


def _homes(wanted: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """(P) One of the ranks that can read a row, each in turn; 0 if none can."""
    home = np.zeros(len(wanted[0]), np.int32)
    for rows in row_batches(len(home)):
        readers = np.stack([readable[rows] for readable in wanted])
        turn = np.arange(rows.start, rows.stop) % np.maximum(readers.sum(0), 1)
        home[rows] = np.argmax(readers & (readers.cumsum(0) == turn + 1), axis=0)
    return home


def _join(parts: Sequence[Part], changed: Ints, start: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
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


def _pack(rows: Ints, vectors: NDArray[np.float32], accumulator: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows as they are sent: their numbers, accumulators and vectors, or what is added to these."""
    return np.concatenate([rows.astype(np.int32).view(np.float32)[:, None], accumulator[:, None], vectors], axis=1)


def _unpack(part: NDArray[np.uint8], dimensions: int) -> Part:
    packed = part.view(np.float32).reshape(-1, dimensions + 2)
    return packed[:, 0].copy().view(np.int32).astype(np.int64), packed[:, 2:], packed[:, 1]
