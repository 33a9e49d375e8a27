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
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from laplex.engines import kernels
from laplex.engines.sampling import LATENT_VISITS, AliasTables, TokenArrays, Total, Visits, count_visits, cut
from laplex.engines.state import Engine, Epoch, Floats, Report, State, aligned_zeros, edge_ends, spread_row
from laplex.model.problem import Problem

PIECE = 20_000  # tokens that a thread takes at once
PRIOR_VISITS = 16  # a row takes its prior at about this many of its visits in an epoch, however frequent it is


# the inner loop of each likelihood, and whether it reads a block with its windows as rows of one dense product
Kernels = dict[str, tuple[Callable[..., None], bool]]
KERNELS: Kernels = {"cbow": (kernels.cbow, False), "sgns": (kernels.sgns, True)}


class Cpu(Engine):
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
        total: Total | None = None,
    ) -> None:
        """`piece` tokens are scheduled at once; `total` sums visits over the ranks that share the prior."""
        self.problem = problem
        self.state = state
        self._kernel, joins_windows = problem.likelihood.kernel(self.kernel_table, self.setting)
        self._block = block + (-2 * problem.window % 8 if joins_windows else 0)  # dense products are of 8 rows each
        self._negatives_per_block = negatives_per_block
        self.visits = count_visits(problem, self._block, negatives_per_block, total)
        self._row_state = aligned_zeros(-(-len(state.memory) // 16384) * 16384, 4)
        self._state_rows = spread_row(np.arange(len(state.memory)))
        parameters = kernels.Parameters(problem.slot, state.memory, self._row_state)
        edges = _divide_prior(problem, self.visits, self._row_state, self._state_rows)
        lanes = (np.int8(0),) * (state.memory.shape[1] // kernels.LANE)
        text = TokenArrays.of(problem)
        self._arguments: tuple[object, ...] = lanes, text, AliasTables.of(problem), parameters, edges
        self._latent = _latent_with_prior(problem, edges)
        self._segments = text.segments
        self._pieces = cut(self._segments.offsets, min(piece or PIECE, PIECE))
        self.pieces = len(self._pieces)

    def compile(self) -> None:
        self._run_kernel((0, 0), 0.1, 1, self._scratch(), np.zeros(3))
        if len(self._latent):
            lanes, _, _, parameters, edges, *_ = self._arguments
            kernels.visit(lanes, parameters, edges, 0, 0, 0.1)

    def run(
        self, epoch: Epoch, report: Report, begin: int = 0, seconds: float = math.inf, end: int | None = None
    ) -> tuple[int, Floats]:
        order = np.random.default_rng([epoch.seed, 3, epoch.number]).permutation(self.pieces)
        last = self.pieces if end is None else end
        next_piece = begin
        lock, stop = threading.Lock(), threading.Event()
        started = time.monotonic()
        if begin == 0 and end != 0:
            rate, visits = epoch.rate_at(0.0), self.visits
            self.state.set_steps_of_latent(self.problem.graph, visits.stiffness, visits.share, rate)
        self._row_state[self._state_rows, kernels.ACCUMULATOR] = self.state.accumulator

        def work() -> Floats:
            nonlocal next_piece
            totals, kept = np.zeros(3), self._scratch()
            try:
                while not stop.is_set() and (time.monotonic() - started < seconds or next_piece == begin):
                    with lock:
                        if next_piece == last:
                            break
                        number, next_piece = next_piece, next_piece + 1
                    rate, seed = epoch.rate_at(number / self.pieces), epoch.seed_of(number)
                    self._run_kernel(self._pieces[order[number]].tolist(), rate, seed, kept, totals)
                    self._visit_latent(number, rate)
            except BaseException:
                stop.set()
                raise
            return totals

        with ThreadPoolExecutor(epoch.threads) as pool:
            threads = [pool.submit(work) for _ in range(epoch.threads)]
            try:
                pending = {*threads}
                while pending:
                    pending = wait(pending, timeout=0.1).not_done
                    report(next_piece / self.pieces)
            finally:
                stop.set()
                wait(threads)
                self.state.accumulator[:] = self._row_state[self._state_rows, kernels.ACCUMULATOR]
        return next_piece, np.sum([thread.result() for thread in threads], axis=0)

    def _visit_latent(self, piece: int, rate: float) -> None:
        """Visit the latent rows that are due after a piece: each LATENT_VISITS times an epoch, in turn."""
        if not len(self._latent):
            return
        lanes, _, _, parameters, edges, *_ = self._arguments
        first, last = (LATENT_VISITS * len(self._latent) * number // self.pieces for number in (piece, piece + 1))
        while first < last:
            begin = first % len(self._latent)
            end = min(begin + last - first, len(self._latent))
            kernels.visit(lanes, parameters, edges, self._latent.start + begin, self._latent.start + end, rate)
            first += end - begin

    def _scratch(self) -> NDArray[np.int32]:
        """Memory for the tokens of the longest segment and those around it."""
        return np.empty(int(np.diff(self._segments.offsets).max()) + 2 * self.problem.window, np.int32)

    def _run_kernel(
        self, segments: tuple[int, int], rate: float, seed: int, kept: NDArray[np.int32], totals: Floats
    ) -> None:
        problem, negatives = self.problem, self._negatives_per_block
        weight, inverse_dimensions = np.float32(problem.negatives / negatives), np.float32(1.0 / problem.dimensions)
        numbers = np.float32(rate), weight, inverse_dimensions
        settings = kernels.PassSettings(problem.window, self._block, negatives, *numbers, seed)
        self._kernel(*self._arguments, settings, *segments, kept, totals)


def _latent_with_prior(problem: Problem, edges: kernels.EdgeArrays) -> range:
    """The latent rows, if any of them has a part of the prior that is not applied from the rows which it joins."""
    graph = problem.graph
    applied = edges.start[-1] > edges.start[graph.own] or graph.diagonal[graph.own :].any()
    return range(graph.own, len(graph)) if applied else range(0)


def _divide_prior(
    problem: Problem, visits: Visits, row_state: NDArray[np.float32], state_rows: NDArray[np.uint64]
) -> kernels.EdgeArrays:
    """Divide the prior into what each visit of a row gets of it, for its ridge in `row_state`, at its `state_rows`.

    A row takes its prior with probability q = min(1, PRIOR_VISITS/visits) when it is visited. An undirected edge is
    met from both ends, so a visit carries a/(visits_i + visits_j)/q; a directed one from its first end only. A row
    that is hardly ever read is visited where it is sampled as a negative. An edge to a latent row is met from its first
    end alone, since a mean has as many edges as there are slices.
    """
    graph, rows = problem.graph, len(problem.graph)
    count, by_draws = visits.count, visits.by_draws
    chance = np.minimum(1.0, PRIOR_VISITS / np.maximum(count, 1e-12)) * (count > 0)
    chance[graph.own :] = 1.0
    ridge = np.divide(graph.diagonal, count * chance, out=np.zeros(rows), where=count > 0)
    row_state[state_rows[:rows], kernels.CHANCE] = chance * ~by_draws
    row_state[state_rows[:rows], kernels.NEGATIVE_CHANCE] = chance * by_draws
    row_state[state_rows[:rows], kernels.RIDGE] = ridge
    one, two, weight, mutual = edge_ends(graph)
    from_mean = mutual & np.append(np.zeros(graph.edges, np.bool_), graph.to_latent()[mutual[: graph.edges]])
    one, two, weight, mutual = (ends[~from_mean] for ends in (one, two, weight, mutual))
    both = mutual & ((two < graph.own) | (two >= rows))
    meetings = count[one] + np.where(both, np.append(count, np.zeros(len(graph.targets)))[two], 0.0)
    applied = np.maximum(meetings * chance[one], 1e-300)
    order = np.argsort(one, kind="stable")
    return kernels.EdgeArrays(
        np.concatenate([[0], np.cumsum(np.bincount(one, minlength=rows))]),
        two[order].astype(np.int32),
        np.clip(weight / applied, -1e30, 1e30)[order].astype(np.float32),
        mutual[order],
    )
