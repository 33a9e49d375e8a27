"""Several processes train one model: each reads its own documents, and what they have in common is merged many times.

Every rank has an engine over its share of the rows (`shares.py`). At a merge, the displacements of a common row on all
ranks since the last are joined, nearly as if their steps had been taken one after the other, and Adagrad's accumulator
grows by all of them. Displacements are sent to the home of the row, and the result from there to the ranks that hold
it, so a rank sends a row at most twice for each merge. Where there are at least as many slices as ranks, a slice has
one owner: common are the contexts, latent means, and the ends of edges between owners, however many slices there are.

C common parameters, D dimensions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from laplex.engines.shares import Share
from laplex.engines.state import Engine, Epoch, Floats, Ints, Report, State

Part = tuple[Ints, NDArray[np.float32], NDArray[np.float32]]  # rows, vectors, accumulators
MERGES = 64  # in an epoch, at least


class Ranks(Engine):
    """The engine of one rank among several. Its pieces are the merges of an epoch."""

    def __init__(self, share: Share, state: State, merge_tokens: int, make: Callable[[int], Engine]) -> None:
        """`make` gives the engine of this rank alone, whose pieces have at most the given number of tokens."""
        self.state = state
        self.problem = share.problem
        self._share, self._communicator = share, share.communicator
        own_tokens = int(self.problem.offsets[-1])
        # pieces small enough for as many merges as there are to be
        self._engine = make(max(1, own_tokens // (4 * MERGES)))
        self._common = share.common
        # the places among the common parameters, for each other rank
        self._at_home, self._lent = (
            [np.searchsorted(self._common, part) for part in parts] for parts in (share.at_home, share.lent)
        )
        self._before = state.theta[self._common]  # as they were after the last merge
        self._accumulator_before = state.accumulator[self._common]
        tokens = int(self._communicator.allreduce(np.array([own_tokens]))[0])
        self.pieces = max(MERGES, math.ceil(tokens / self._communicator.size / merge_tokens))

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
        """Add to every common row what all ranks have added to it since the last merge."""
        dimensions = self.state.dimensions
        vectors, accumulator = self.state.theta[self._common], self.state.accumulator[self._common]
        moved = (vectors != self._before).any(1) | (accumulator != self._accumulator_before)
        vectors -= self._before
        accumulator -= self._accumulator_before
        sent = [_pack(np.flatnonzero(moved[places]), places, vectors, accumulator) for places in self._at_home]
        received = self._communicator.all_to_all(sent)
        parts = []
        for rank, places in enumerate(self._lent):
            if rank == self._communicator.rank:
                own = np.unique(np.concatenate(self._lent))
                own = own[moved[own]]
                parts.append((own, vectors[own], accumulator[own]))
            else:
                number, added, growth = _unpack(received[rank], dimensions)
                parts.append((places[number], added, growth))
        changed = np.unique(np.concatenate([rows for rows, _, _ in parts]))
        displacement, joined = _join(parts, changed, self._accumulator_before[changed])
        self._before[changed] += displacement
        self._accumulator_before[changed] = joined
        is_changed = np.zeros(len(moved), np.bool_)
        is_changed[changed] = True
        new = self._before, self._accumulator_before
        results = [_pack(np.flatnonzero(is_changed[places]), places, *new) for places in self._lent]
        for places, part in zip(self._at_home, self._communicator.all_to_all(results), strict=True):
            number, added, growth = _unpack(part, dimensions)
            self._before[places[number]], self._accumulator_before[places[number]] = added, growth
            is_changed[places[number]] = True
        rows = self._common[is_changed]
        self.state.theta[rows] = self._before[is_changed]
        self.state.accumulator[rows] = self._accumulator_before[is_changed]
        self._engine.push(rows)

    def push(self, rows: Ints) -> None:
        self._engine.push(rows)


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


def _pack(
    number: Ints, places: Ints, vectors: NDArray[np.float32], accumulator: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Rows as they are sent: their numbers among those that two ranks both hold, accumulators and vectors."""
    rows = places[number]
    return np.concatenate(
        [number.astype(np.int32).view(np.float32)[:, None], accumulator[rows, None], vectors[rows]], axis=1
    )


def _unpack(part: NDArray[np.uint8], dimensions: int) -> Part:
    packed = part.view(np.float32).reshape(-1, dimensions + 2)
    return packed[:, 0].copy().view(np.int32).astype(np.int64), packed[:, 2:], packed[:, 1]
