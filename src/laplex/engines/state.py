"""The state that training changes, and what every engine has in common.

The CPU, Torch and rank engines start from a `State` and leave their result in it, so that a run can be saved and
resumed, or merged with that of another process.

P parameters, T fixed targets behind them, D dimensions, W dimensions padded to whole cache lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.model.graph import Graph
from laplex.model.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Report = Callable[[float], None]
FLOATS_PER_CACHE_LINE = 16
INITIAL_ACCUMULATOR = 1e-3  # a row that no gradient has touched still has it at the end
FINAL_RATE = 1e-4  # the last step size as a share of the first
ROWS_PER_BATCH = 10_000
FLOATS_PER_BATCH = 20_000_000  # of vectors that are copied to solve for others


@dataclass(frozen=True)
class Epoch:
    """One pass over the text."""

    number: int
    of: int  # number of epochs of the whole run, over which the step size falls linearly
    rate: float  # step size at the start of the first epoch
    seed: int
    threads: int

    def rate_at(self, share: float) -> float:
        """The step size after a share of this epoch."""
        return self.rate * max(1.0 - (self.number + share) / self.of, FINAL_RATE)

    def seed_of(self, piece: int) -> int:
        """A seed for the random numbers of one piece of the text."""
        return ((self.seed * 1_000_003 + self.number) * 1_000_003 + piece) & (2**63 - 1)


@dataclass(eq=False)
class State:
    """Vectors and Adagrad's accumulators. Rows of `memory` begin at cache lines; what pads them stays zero."""

    memory: NDArray[np.float32]  # (P + T, W)
    dimensions: int
    accumulator: NDArray[np.float32]  # (P + T) running sums of mean squared gradients

    @classmethod
    def zeros(
        cls, problem: Problem, memory: Callable[[int, int], NDArray[np.float32]] = lambda *shape: aligned_zeros(*shape)
    ) -> State:
        """Vectors of zeros, in what `memory` gives for a shape, with the fixed targets behind them."""
        rows = problem.parameters + len(problem.graph.targets)
        width = -(-problem.dimensions // FLOATS_PER_CACHE_LINE) * FLOATS_PER_CACHE_LINE
        state = cls(memory(rows, width), problem.dimensions, np.full(rows, INITIAL_ACCUMULATOR, np.float32))
        if len(problem.graph.targets):
            state.theta[problem.parameters :] = problem.graph.targets
        return state

    @classmethod
    def initial(cls, problem: Problem, seed: int) -> State:
        """Small random vectors, the same for all slices of a word."""
        state = cls.zeros(problem)
        random = np.random.default_rng([seed, 0])
        order = np.argsort(problem.initial_row, kind="stable")
        sorted_rows = problem.initial_row[order]
        for row in range(0, int(problem.initial_row.max(initial=-1)) + 1, ROWS_PER_BATCH):
            size = min(ROWS_PER_BATCH, len(problem.slot) - row), problem.dimensions
            values = (random.random(size, np.float32) - 0.5) / problem.dimensions
            members = order[slice(*np.searchsorted(sorted_rows, [row, row + ROWS_PER_BATCH]))]
            for batch in row_batches(len(members)):  # a word has a member for every slice
                state.theta[members[batch]] = values[problem.initial_row[members[batch]] - row]
        return state

    @classmethod
    def from_pooled(cls, problem: Problem, pooled: State, reads: Floats, pooled_reads: Floats) -> State:
        """Every slice of a word starts at the vector it has in the state of the same text without slices.

        Adagrad's accumulator of a word is divided among its slices by how often they read it, as if it had grown there.
        That of a word that a slice does not read stays the initial one, so that `fill` finds it.

        Args:
            problem: The problem with slices.
            pooled: The state of the problem without slices, whose rows are those that `pooled_row` names.
            reads: (P) How often each parameter is read in an epoch, over all ranks.
            pooled_reads: How often each parameter of the problem without slices is.
        """
        state, origin = cls.zeros(problem), problem.pooled_row
        for rows in row_batches(problem.parameters):
            state.theta[rows] = pooled.theta[origin[rows]]
        share = reads / np.maximum(pooled_reads, 1e-300)[origin]
        growth = pooled.accumulator[origin] - np.float32(INITIAL_ACCUMULATOR)
        state.accumulator[: problem.parameters] += (share * growth).astype(np.float32)
        return state

    @property
    def theta(self) -> NDArray[np.float32]:
        """(P + T, D) The vectors, in place."""
        return self.memory[:, : self.dimensions]

    @property
    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Everything that has to be saved to resume a run."""
        return {"theta": self.memory, "accumulator": self.accumulator}

    def first(self, rows: int) -> State:
        """The state of the first rows, in the same memory."""
        return State(self.memory[:rows], self.dimensions, self.accumulator[:rows])

    def with_room(self, rows: int) -> State:
        """The same with at least this number of rows, some of which may be unused."""
        if rows <= len(self.memory):
            return self
        wider = State(aligned_zeros(rows, self.memory.shape[1]), self.dimensions, np.zeros(rows, np.float32))
        wider.replaced(self)
        return wider

    def replaced(self, state: State) -> State:
        """Another state in the first rows of this one's memory."""
        place = self.first(len(state.memory))
        if place.memory.ctypes.data != state.memory.ctypes.data:
            place.memory[:], place.accumulator[:] = state.memory, state.accumulator
        return place

    def unpadded(self, parameters: int) -> NDArray[np.float32]:
        """(P, D) The vectors without padding and targets, moved together within `memory`, whose rows are then lost."""
        flat = self.memory.reshape(-1)
        for rows in row_batches(parameters):
            flat[rows.start * self.dimensions : rows.stop * self.dimensions] = self.theta[rows].reshape(-1).copy()
        return flat[: parameters * self.dimensions].reshape(parameters, self.dimensions)

    def log_prior(self, graph: Graph) -> float:
        """The log prior of the vectors under a graph, up to its constant."""
        total = 0.0
        for rows in row_batches(len(graph)):
            total += float(graph.diagonal[rows] @ _squared_norm(self.theta[rows]))
        for edges in row_batches(graph.edges):
            difference = self.memory.take(graph.second[edges], 0)
            difference *= -graph.sign[edges, None].astype(np.float32)
            difference += self.memory.take(graph.first[edges], 0)
            total += float(graph.weight[edges] @ _squared_norm(difference))
        return float(-0.5 * total)

    def precision(self, graph: Graph, epochs: int) -> NDArray[np.float32]:
        """(P) How much an epoch says of each parameter: the mean growth of its accumulator, Fisher's information."""
        growth = (self.accumulator[: len(graph)] - np.float32(INITIAL_ACCUMULATOR)) / np.float32(max(epochs, 1))
        growth[graph.own :] = 0.0  # no text is about latent ones
        return growth.astype(np.float32)

    def set_steps_of_latent(self, graph: Graph, stiffness: Floats, share: Floats, rate: float) -> None:
        """Give latent rows their step sizes at a rate, by their accumulators.

        Under a strong prior a mean moves as one vector of the word would without slices, whose accumulator is the sum
        of those that it joins; under a weak one by 1/stiffness, which is more. `share` (P) is that of this rank in the
        visits of a row: the accumulators that ranks add to one another at a merge are those sums.
        """
        most = share[graph.own :] * np.square(rate * stiffness)
        for first, second in graph.levels_of_latent():
            sums = np.bincount(second - graph.own, self.accumulator[first] * share[first], graph.latent)
            rows = np.unique(second)
            places = rows - graph.own
            self.accumulator[rows] *= 1.0 - share[rows]
            self.accumulator[rows] += np.minimum(sums[places], most[places])

    def fill(self, graph: Graph) -> None:
        """Move the rows that no gradient has touched to their exact optimum under the prior, all others held fixed."""
        untouched = self.accumulator[: len(graph)] == np.float32(INITIAL_ACCUMULATOR)
        untouched[graph.own :] = True
        rows = np.flatnonzero(untouched)
        if len(rows):
            solve(graph, self.theta, rows)


class Engine:
    """What the loop over epochs, and the merging of ranks, ask of an engine. It works on the `State` it was given."""

    problem: Problem
    state: State
    pieces: int  # that the text is cut into; a run may stop and resume between two of them

    def compile(self) -> None:
        """Compile what has to be compiled, so that it is not part of the time of an epoch."""

    def run(
        self, epoch: Epoch, report: Report, begin: int = 0, seconds: float = math.inf, end: int | None = None
    ) -> tuple[int, Floats]:
        """Train on the pieces from `begin` up to `end` of an epoch's order, or until `seconds` have passed.

        Returns the piece to resume from, and (3) the number of tokens read, the log likelihood of a sample of them,
        and the size of that sample. `report` is called with the share of the epoch that is done.
        """
        raise NotImplementedError

    def pull(self) -> None:
        """Copy what is on a device or on other ranks into the state."""

    def push(self, rows: Ints) -> None:
        """Copy rows that were changed in the state to wherever the engine works on them."""


def spread_row(index: Ints) -> NDArray[np.uint64]:
    """Where a row has its numbers in an array with four rows to a cache line: beside rows 4,096 away from it.

    Rows are sorted by frequency. Frequent words that shared a line would make threads wait for each other.
    """
    return np.uint64((index & -16384) | ((index & 4095) << 2) | ((index >> 12) & 3))  # type: ignore[return-value]


def row_batches(rows: int) -> Iterator[slice]:
    """Slices of rows that are copied at once, since a copy of all would take too much memory."""
    for start in range(0, rows, ROWS_PER_BATCH):
        yield slice(start, min(start + ROWS_PER_BATCH, rows))


def aligned_zeros(rows: int, width: int) -> NDArray[np.float32]:
    """Zeros whose rows begin at cache lines, if `width` is a multiple of a line or divides it."""
    memory = np.zeros(rows * width + FLOATS_PER_CACHE_LINE, np.float32)
    first = -(memory.ctypes.data // 4) % FLOATS_PER_CACHE_LINE
    return memory[first : first + rows * width].reshape(rows, width)


def _squared_norm(vectors: NDArray[np.float32]) -> Floats:
    norms: Floats = np.einsum("ij,ij->i", vectors, vectors).astype(np.float64)
    return norms


def edge_ends(graph: Graph) -> tuple[Ints, Ints, Floats, NDArray[np.bool_]]:
    """Every edge from each of its ends that moves: this end, the other, ±weight, and whether the other moves, too."""
    mutual = ~graph.directed & (graph.second < len(graph))
    pull = graph.weight * graph.sign
    one = np.concatenate([graph.first, graph.second[mutual]])
    two = np.concatenate([graph.second, graph.first[mutual]])
    return one, two, np.concatenate([pull, pull[mutual]]), np.concatenate([mutual, mutual[mutual]])


def solve(graph: Graph, theta: NDArray[np.float32], rows: Ints) -> None:
    """Set `rows` of θ, behind whose parameters stand the graph's targets, to the optimum given all other rows.

    For each row i among them: (d_i + Σ_j a_ij) θ_i − Σ_j ±a_ij θ_j = 0.
    """
    from scipy.sparse.linalg import splu

    place = np.full(len(theta), -1)
    place[rows] = np.arange(len(rows))
    one, two, pull, _ = edge_ends(graph)
    unknown = place[one] >= 0
    one, two, pull = place[one[unknown]], two[unknown], pull[unknown]
    diagonal = graph.diagonal[rows] + np.bincount(one, np.abs(pull), len(rows))
    inner = place[two] >= 0
    shape = (len(rows), len(rows))
    matrix = sparse.csc_array((-pull[inner], (one[inner], place[two[inner]])), shape=shape)
    matrix = matrix + sparse.diags_array(np.where(diagonal > 0, diagonal, 1.0), format="csc")
    known = sparse.csr_array((pull[~inner], (one[~inner], two[~inner])), shape=(len(rows), len(theta)))
    used = np.unique(known.indices)
    known, factor = known[:, used], splu(matrix.tocsc())
    width = max(1, FLOATS_PER_BATCH // (len(used) + len(rows)))
    for axis in range(0, theta.shape[1], width):
        axes = slice(axis, axis + width)
        theta[rows, axes] = factor.solve(known @ theta[used, axes].astype(np.float64))
