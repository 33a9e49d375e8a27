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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.engines import kernels
from laplex.engines.epoch import Epoch as Epoch
from laplex.engines.noise import make_tables
from laplex.engines.start import FLOOR, ROWS, START, start
from laplex.engines.unread import solve
from laplex.graph import Graph
from laplex.problem import Problem

PIECE = 20_000  # tokens that a thread takes at once
PRIOR_VISITS = 16  # a row takes its prior at about so many of its visits in an epoch, however frequent it is


@dataclass
class State:
    """What changes while training: θ, padded, and what goes with each row (`kernels.ACC` and so on)."""

    theta: NDArray[np.float32]  # (P + T, W)
    note: NDArray[np.float32]  # (P + T, 4)

    def unpadded(self, parameters: int, dimensions: int) -> NDArray[np.float32]:
        """(P, D) The vectors without what they are padded with, in the memory of θ, which is lost."""
        flat = self.theta.reshape(-1)
        for row in range(0, parameters, ROWS):
            part = self.theta[row : min(row + ROWS, parameters), :dimensions].copy()
            flat[row * dimensions : row * dimensions + part.size] = part.reshape(-1)
        return flat[: parameters * dimensions].reshape(parameters, dimensions)

    def log_prior(self, graph: Graph) -> float:
        """The log prior of θ under a part of the graph, up to its constant."""
        theta = self.theta[: len(graph)]
        ridge = np.einsum("ij,ij,i->", theta, theta, graph.diagonal, dtype=np.float64)
        cost = kernels.cost(self.theta, graph.first, graph.second, graph.weight, graph.sign)
        return float(-0.5 * ridge - 0.5 * cost)

    def fill(self, graph: Graph) -> None:
        """Give the rows that no gradient has touched their exact optimum under the prior, the others held."""
        unread = np.flatnonzero(self.note[: len(graph), kernels.ACC] == np.float32(START))
        if len(unread):
            solve(graph, self.theta, unread)


def initial(problem: Problem, seed: int) -> State:
    """Small random vectors, the same for all slices of a word."""
    width = -(-problem.dimensions // kernels.LANE) * kernels.LANE
    theta = _aligned(problem.parameters + len(problem.graph.targets), width)
    theta[:] = 0.0
    start(problem, seed, theta)
    note = _aligned(len(theta), 4)
    note[:] = 0.0
    note[:, kernels.ACC] = START
    return State(theta, note)


def _aligned(rows: int, width: int) -> NDArray[np.float32]:
    """An array whose rows begin at cache lines."""
    line = 64 // 4
    memory = np.empty(rows * width + line, np.float32)
    first = -(memory.ctypes.data // 4) % line
    return memory[first : first + rows * width].reshape(rows, width)


class Cpu:
    """A problem made ready for the kernels."""

    def __init__(self, problem: Problem, state: State, piece: int = PIECE) -> None:
        self.problem = problem
        self.state = state
        tables = make_tables(problem)
        self._text = kernels.Text(
            problem.ids,
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
        self._parameters = kernels.Parameters(problem.slot, state.theta, state.note)
        self._edges = _cut_into_visits(problem, state.note)
        self._lanes = (np.int8(0),) * (state.theta.shape[1] // kernels.LANE)
        self._kernel = kernels.cbow if problem.likelihood == "cbow" else kernels.sgns
        edges = np.unique(np.searchsorted(problem.offsets, np.arange(0, problem.offsets[-1], piece)))
        self._pieces = np.stack([edges, np.append(edges[1:], len(problem.offsets) - 1)], axis=1)
        self._longest = int(np.diff(problem.offsets).max())

    def compile(self) -> None:
        """Compile the kernel for these dimensions, or load it from Numba's cache."""
        self._run(kernels.Settings(1, 1, 8, 8, 0.1, 1), 0, 0, np.empty(1, np.int32), np.zeros(3))

    def _run(self, settings: kernels.Settings, first: int, last: int, kept: object, totals: object) -> None:
        self._kernel(self._lanes, self._text, self._parameters, self._edges, settings, first, last, kept, totals)

    @property
    def pieces(self) -> int:
        return len(self._pieces)

    def run(
        self,
        epoch: Epoch,
        report: Callable[[float], None],
        begin: int = 0,
        seconds: float = math.inf,
        end: int | None = None,
    ) -> tuple[int, NDArray[np.float64]]:
        """A pass over the text from piece `begin` of its order on, up to `end` or for so many seconds.

        Gives the piece to go on from, and (3) the tokens read, the log likelihood of some of them, and their number.
        """
        order = np.random.default_rng([epoch.seed, 3, epoch.number]).permutation(self.pieces)
        numbers = iter(range(begin, self.pieces if end is None else end))
        lock, stop = threading.Lock(), threading.Event()
        totals = [np.zeros(3) for _ in range(epoch.threads)]
        errors: list[BaseException] = []
        taken = [begin]
        started = time.monotonic()

        def work(mine: NDArray[np.float64]) -> None:
            kept = np.empty(self._longest, np.int32)
            try:
                while not stop.is_set() and (time.monotonic() - started < seconds or taken[0] == begin):
                    with lock:
                        number = next(numbers, -1)
                        if number < 0:
                            return
                        taken[0] = number + 1
                    first, last = self._pieces[order[number]].tolist()
                    self._run(self._settings(epoch, number), first, last, kept, mine)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(mine,), daemon=True) for mine in totals]
        for thread in threads:
            thread.start()
        try:
            while alive := [thread for thread in threads if thread.is_alive()]:
                alive[0].join(0.1)
                report(taken[0] / self.pieces)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return taken[0], np.sum(totals, axis=0)

    def _settings(self, epoch: Epoch, number: int) -> kernels.Settings:
        """What the kernel needs to know for a piece: its step size, and a seed of its own."""
        share = (epoch.number + number / self.pieces) / epoch.of
        seed = ((epoch.seed * 1_000_003 + epoch.number) * 1_000_003 + number) & (2**63 - 1)
        rate = epoch.rate * max(1.0 - share, FLOOR)
        return kernels.Settings(self.problem.window, self.problem.negatives, epoch.block, epoch.drawn, rate, seed)

    def pull(self) -> None:
        """The state is what is worked on."""

    def push(self, rows: NDArray[np.int64]) -> None:
        """The state is what is worked on."""


def _cut_into_visits(problem: Problem, note: NDArray[np.float32]) -> kernels.Edges:
    """Cut the prior into what each visit of a row gets.

    A row takes its prior with probability q = min(1, PRIOR_VISITS/visits) when it is visited. An undirected edge is
    met from both ends, so a visit carries a/(visits_i + visits_j)/q; a directed one from its first end only. A row
    that is never read is visited where it is drawn as a negative.
    """
    graph, rows = problem.graph, len(problem.graph)
    unread = problem.visits == 0
    visits = np.where(unread, draws(problem), problem.visits)
    chance = np.minimum(1.0, PRIOR_VISITS / np.maximum(visits, 1e-12)) * (visits > 0)
    note[:rows, kernels.CHANCE] = chance * ~unread
    note[:rows, kernels.UNREAD] = chance * unread
    note[:rows, kernels.RIDGE] = np.divide(graph.diagonal, visits * chance, out=np.zeros(rows), where=visits > 0)
    both = ~graph.directed & (graph.second < rows)
    one = np.concatenate([graph.first, graph.second[both]])
    two = np.concatenate([graph.second, graph.first[both]])
    weight = np.concatenate([graph.weight * graph.sign, (graph.weight * graph.sign)[both]])
    mutual = np.concatenate([both, both[both]])
    seen = visits[one] + np.where(mutual, np.append(visits, np.zeros(len(graph.targets)))[two], 0.0)
    taken = np.maximum(seen * chance[one], 1e-300)
    order = np.argsort(one, kind="stable")
    return kernels.Edges(
        np.concatenate([[0], np.cumsum(np.bincount(one, minlength=rows))]),
        two[order].astype(np.int32),
        np.clip(weight / taken, -1e30, 1e30)[order].astype(np.float32),
        mutual[order],
    )


def draws(problem: Problem) -> NDArray[np.float64]:
    """(P) How often a parameter is drawn as a negative in an epoch, if a block draws as many as it has tokens."""
    sizes = np.diff(problem.offsets) * ~problem.held_out
    starts, place = np.unique(problem.word_start, return_inverse=True)
    tokens = np.bincount(place, sizes)
    language = np.zeros(len(starts), np.int64)
    language[place] = problem.language
    whole = np.zeros(problem.parameters)
    for begin, number, size in zip(starts.tolist(), language.tolist(), tokens.tolist(), strict=True):
        noise = problem.negatives_of(begin, number)
        drawn = np.flatnonzero(noise)
        np.add.at(whole, problem.slot[begin + drawn], size * noise[drawn])
    return whole
