"""The CPU engine: stochastic proximal gradient on all cores, over `kernels.py`.

Threads share θ without locks and take pieces of the text in a random order that depends on the seed and the epoch
alone; every piece has its own random numbers. So with one thread a run can be repeated, or resumed, bit for bit.

P parameters, T fixed targets behind them, W padded dimensions.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laplex.engines import kernels
from laplex.engines.sampling import AliasTables, Segments, Visits, count_visits
from laplex.engines.state import Epoch, State, aligned_zeros
from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

PIECE = 20_000  # tokens that a thread takes at once
PRIOR_VISITS = 16  # a row takes its prior at about this many of its visits in an epoch, however frequent it is


class Kernel(NamedTuple):
    """The inner loop of a likelihood. Some read a block with its windows as rows of one dense product."""

    function: Callable[..., None]
    joins_windows: bool


KERNELS = {"cbow": Kernel(kernels.cbow, False), "sgns": Kernel(kernels.sgns, True)}


class Cpu:
    """A problem prepared for the kernels, which work on the vectors of the state in place."""

    kernel_table = KERNELS
    setting = 'engine="cpu"'

    def __init__(
        self,
        problem: Problem,
        state: State,
        block: int,
        negatives_per_block: int,
        piece: int | None = None,
        communicator: Communicator | None = None,
    ) -> None:
        """`piece` tokens are scheduled at once; the communicator is that of the ranks that share the prior."""
        self.problem = problem
        self.state = state
        self._kernel, joins_windows = problem.likelihood.kernel(self.kernel_table, self.setting)
        self._block = block + (-2 * problem.window % 8 if joins_windows else 0)  # dense products are of 8 rows each
        self._negatives_per_block = negatives_per_block
        self._segments = Segments.of(problem.offsets)
        self._text = _make_text(problem, self._segments)
        self.visits = count_visits(problem, self._block, negatives_per_block, communicator, self._segments)
        self._row_state = aligned_zeros(len(state.memory), 4)
        self._edges = _divide_prior(problem, self.visits, self._row_state)
        self._parameters = kernels.Parameters(problem.slot, state.memory, self._row_state)
        self._lanes = (np.int8(0),) * (state.memory.shape[1] // kernels.LANE)
        begins = np.arange(0, problem.offsets[-1], min(piece or PIECE, PIECE))
        edges = np.unique(np.searchsorted(self._segments.offsets, begins))
        self._pieces = np.stack([edges, np.append(edges[1:], len(self._segments.document))], axis=1)

    @property
    def pieces(self) -> int:
        return len(self._pieces)

    def compile(self) -> None:
        self._run_kernel((0, 0), 0.1, 1, self._scratch(), np.zeros(3))

    def pull(self) -> None:
        """Do nothing: the state is where the vectors are."""

    def push(self, rows: NDArray[np.int64]) -> None:
        """Do nothing: the state is where the vectors are."""

    def run(
        self,
        epoch: Epoch,
        report: Callable[[float], None],
        begin: int = 0,
        seconds: float = math.inf,
        end: int | None = None,
    ) -> tuple[int, NDArray[np.float64]]:
        order = np.random.default_rng([epoch.seed, 3, epoch.number]).permutation(self.pieces)
        numbers = iter(range(begin, self.pieces if end is None else end))
        lock, stop = threading.Lock(), threading.Event()
        totals = [np.zeros(3) for _ in range(epoch.threads)]
        errors: list[BaseException] = []
        next_piece = [begin]
        started = time.monotonic()
        self._row_state[:, kernels.ACCUMULATOR] = self.state.accumulator

        def work(thread_totals: NDArray[np.float64]) -> None:
            kept = self._scratch()
            try:
                while not stop.is_set() and (time.monotonic() - started < seconds or next_piece[0] == begin):
                    with lock:
                        number = next(numbers, -1)
                        if number < 0:
                            return
                        next_piece[0] = number + 1
                    rate, seed = epoch.rate_at(number / self.pieces), epoch.seed_of(number)
                    self._run_kernel(self._pieces[order[number]].tolist(), rate, seed, kept, thread_totals)
            except BaseException as error:
                errors.append(error)
                stop.set()

        threads = [threading.Thread(target=work, args=(thread_totals,), daemon=True) for thread_totals in totals]
        for thread in threads:
            thread.start()
        try:
            while alive := [thread for thread in threads if thread.is_alive()]:
                alive[0].join(0.1)
                report(next_piece[0] / self.pieces)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            self.state.accumulator[:] = self._row_state[:, kernels.ACCUMULATOR]
        if errors:
            raise errors[0]
        return next_piece[0], np.sum(totals, axis=0)

    def _scratch(self) -> NDArray[np.int32]:
        """Memory for the tokens of the longest segment and those around it."""
        return np.empty(int(np.diff(self._segments.offsets).max()) + 2 * self.problem.window, np.int32)

    def _run_kernel(
        self,
        segments: tuple[int, int],
        rate: float,
        seed: int,
        kept: NDArray[np.int32],
        totals: NDArray[np.float64],
    ) -> None:
        self._kernel(*self._arguments(), self._settings(rate, seed), *segments, kept, totals)

    def _arguments(self) -> tuple[object, ...]:
        """What a kernel gets whatever part of the text it reads."""
        return self._lanes, self._text, self._parameters, self._edges

    def _settings(self, rate: float, seed: int) -> kernels.PassSettings:
        problem = self.problem
        sizes = problem.dimensions, problem.window, problem.negatives, self._block, self._negatives_per_block
        return kernels.PassSettings(*sizes, rate, seed)


def _make_text(problem: Problem, segments: Segments) -> kernels.TokenArrays:
    tables = AliasTables.of(problem)
    return kernels.TokenArrays(
        problem.ids,
        segments.offsets,
        segments.document,
        problem.offsets,
        problem.word_start,
        problem.context_start,
        problem.language,
        problem.held_out,
        problem.keep,
        problem.vocabulary_start,
        tables.chance,
        tables.other,
        tables.words,
        tables.table,
        tables.start,
    )


def _divide_prior(problem: Problem, visits: Visits, row_state: NDArray[np.float32]) -> kernels.EdgeArrays:
    """Divide the prior into what each visit of a row gets of it, for its ridge in `row_state`.

    A row takes its prior with probability q = min(1, PRIOR_VISITS/visits) when it is visited. An undirected edge is
    met from both ends, so a visit carries a/(visits_i + visits_j)/q; a directed one from its first end only. A row
    that is hardly ever read is visited where it is sampled as a negative.
    """
    graph, rows = problem.graph, len(problem.graph)
    count, by_draws = visits.count, visits.by_draws
    chance = np.minimum(1.0, PRIOR_VISITS / np.maximum(count, 1e-12)) * (count > 0)
    row_state[:rows, kernels.CHANCE] = chance * ~by_draws
    row_state[:rows, kernels.NEGATIVE_CHANCE] = chance * by_draws
    row_state[:rows, kernels.RIDGE] = np.divide(graph.diagonal, count * chance, out=np.zeros(rows), where=count > 0)
    moving = ~graph.directed & (graph.second < rows)
    one = np.concatenate([graph.first, graph.second[moving]])
    two = np.concatenate([graph.second, graph.first[moving]])
    weight = np.concatenate([graph.weight * graph.sign, (graph.weight * graph.sign)[moving]])
    mutual = np.concatenate([moving, moving[moving]])
    meetings = count[one] + np.where(mutual, np.append(count, np.zeros(len(graph.targets)))[two], 0.0)
    applied = np.maximum(meetings * chance[one], 1e-300)
    order = np.argsort(one, kind="stable")
    return kernels.EdgeArrays(
        np.concatenate([[0], np.cumsum(np.bincount(one, minlength=rows))]),
        two[order].astype(np.int32),
        np.clip(weight / applied, -1e30, 1e30)[order].astype(np.float32),
        mutual[order],
    )
