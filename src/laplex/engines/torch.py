"""The Torch engine: the same model on a GPU, or on any device that Torch knows.

Text lives on the device in large pieces, in which windows, subsampling and negatives are made (`pieces.py`). A step
reads a batch of B tokens at once: every row takes the sum of its gradients by row-wise Adagrad, whose accumulator
grows by the square of each of them, as if they had come one after the other. The prior is a proximal step, edge by
edge, of matchings of the graph (`matchings.py`), SWEEPS times an epoch. Nothing in a step waits for the host, and
nothing it allocates grows with the number of rows.

P parameters, T fixed targets behind them and one row for padding, D dimensions, B tokens of a batch, G tokens that
share N negatives, M window.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from laplex.engines.cpu import State
from laplex.engines.epoch import Epoch
from laplex.engines.kernels import ACC
from laplex.engines.matchings import matchings
from laplex.engines.noise import alias_tables
from laplex.engines.pieces import Batch, Pieces
from laplex.engines.start import FLOOR, START
from laplex.errors import InputError
from laplex.graph import Graph
from laplex.problem import Problem

Precision = Literal["full", "mixed"]
SWEEPS = 16  # of the prior in an epoch
OFTEN = 64  # visits of a row in a batch from which on its step is damped
PORTION = 65_536  # edges or rows of a sweep that are worked off at once
WATCHED = 32  # the log likelihood is computed for one batch of so many
PIECE = 1_000_000  # tokens that are on the device at once
BATCHES = {"cpu": 4096, "mps": 16_384, "cuda": 65_536}


def device_of(name: str | None) -> torch.device:
    """The device asked for, or the best there is; ranks on one machine have a GPU each."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ and torch.cuda.device_count():
        name = f"cuda:{int(os.environ['LOCAL_RANK']) % torch.cuda.device_count()}"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f'device="{name}" is not there: {str(error).splitlines()[0]}') from None
    return device


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges that share no end, on the device. An end that does not move has `moves` 0."""

    first: torch.Tensor
    second: torch.Tensor
    weight: torch.Tensor  # of one sweep
    sign: torch.Tensor
    moves: torch.Tensor


class Torch:
    """A problem made ready for a device."""

    def __init__(
        self,
        problem: Problem,
        state: State,
        *,
        device: str | None = None,
        precision: Precision = "full",
        batch: int | None = None,
        piece: int = PIECE,
        share: NDArray[np.float64] | None = None,
    ) -> None:
        """`share` (P) is how much of a row's reading, and so of its prior, is due here, if there are other ranks."""
        self.problem = problem
        self.device = device_of(device)
        self.mixed = precision == "mixed"
        size = batch or BATCHES.get(self.device.type, BATCHES["cpu"])
        self._texts = Pieces(problem, self.device, size, max(size, piece))
        self.state = state
        rows = len(state.theta) + 1
        self.theta = torch.zeros(rows, problem.dimensions, device=self.device)
        self.acc = torch.full((rows,), START, device=self.device)
        self.theta[:-1] = torch.from_numpy(state.theta[:, : problem.dimensions]).to(self.device)
        self.acc[:-1] = torch.from_numpy(state.note[:, ACC]).to(self.device)
        self._visits = torch.zeros(rows, device=self.device)
        self._slot = torch.from_numpy(np.append(problem.slot, rows - 1).astype(np.int64)).to(self.device)
        chance, other = alias_tables(problem)
        self._chance, self._other = (torch.from_numpy(table).to(self.device) for table in (chance, other))
        share = np.ones(problem.parameters) if share is None else share
        self._edges = self._matched(problem.graph, share)
        ridge = np.append(problem.graph.diagonal * share, 0.0).astype(np.float32)
        self._ridge = torch.from_numpy(ridge).to(self.device)

    def _matched(self, graph: Graph, share: NDArray[np.float64]) -> list[Edges]:
        moves = ~graph.directed & (graph.second < len(graph))
        first, second = graph.first.astype(np.int64), graph.second.astype(np.int64)
        found = []
        visits = np.append(np.maximum(self.problem.visits, 1e-12), np.zeros(len(graph.targets)))
        read = visits * np.append(share, np.zeros(len(graph.targets)))
        due = (read[first] + read[second]) / (visits[first] + visits[second])
        whole = matchings(first, second, len(graph) + len(graph.targets))
        for chosen in (part[i : i + PORTION] for part in whole for i in range(0, len(part), PORTION)):
            weight = np.minimum(graph.weight[chosen] * due[chosen] / SWEEPS, 1e30)
            arrays = (first, second, weight, graph.sign, moves)
            parts = [array if array is weight else array[chosen] for array in arrays]
            kinds = (np.int64, np.int64, np.float32, np.float32, np.float32)
            found.append(Edges(*(torch.from_numpy(p.astype(k)).to(self.device) for p, k in zip(parts, kinds))))
        return found

    @property
    def pieces(self) -> int:
        return self._texts.count

    def compile(self) -> None:
        """Nothing to be done."""

    def pull(self) -> None:
        """Copy vectors and accumulators from the device into the state."""
        self.state.theta[:, : self.problem.dimensions] = self.theta[:-1].cpu().numpy()
        self.state.note[:, ACC] = self.acc[:-1].cpu().numpy()

    def push(self, rows: NDArray[np.int64]) -> None:
        """Copy some vectors and accumulators from the state to the device."""
        there = torch.from_numpy(rows).to(self.device)
        vectors, acc = self.state.theta[rows, : self.problem.dimensions], self.state.note[rows, ACC]
        self.theta.index_copy_(0, there, torch.from_numpy(vectors).to(self.device))
        self.acc.index_copy_(0, there, torch.from_numpy(acc).to(self.device))

    def run(
        self,
        epoch: Epoch,
        report: Callable[[float], None],
        begin: int = 0,
        seconds: float = math.inf,
        end: int | None = None,
    ) -> tuple[int, NDArray[np.float64]]:
        """A pass over the text from piece `begin` of its order on; as the CPU engine's."""
        if self.device.type == "cpu":
            torch.set_num_threads(epoch.threads)
        totals = np.zeros(3)
        started = time.monotonic()
        number, last = begin, self.pieces if end is None else end
        while number < last and (time.monotonic() - started < seconds or number == begin):
            totals += self._read(epoch, number, report)
            number += 1
        return number, totals

    def _read(self, epoch: Epoch, number: int, report: Callable[[float], None]) -> NDArray[np.float64]:
        """One piece."""
        random = torch.Generator(self.device)
        random.manual_seed(((epoch.seed * 1_000_003 + epoch.number) * 1_000_003 + number) & (2**63 - 1))
        text = self._texts.read(epoch.seed, epoch.number, number, epoch.block, random)
        steps = len(text)
        totals = torch.zeros(2, device=self.device)
        due = _Due(SWEEPS / self.pieces * self.portions, steps)
        for step in range(steps):
            done = (number + step / steps) / self.pieces
            rate = epoch.rate * max(1.0 - (epoch.number + done) / epoch.of, FLOOR)
            self.step(text.batch(step), rate, epoch.drawn, random, totals if step % WATCHED == 0 else None)
            for turn in due.at(step, number):
                self.sweep(turn, rate)
            if step % 8 == 0:
                report(done)
        return np.array([float(text.tokens), *totals.tolist()])

    @property
    def portions(self) -> int:
        """In how many a sweep of the prior is cut."""
        return max(len(self._edges), -(-self.problem.parameters // PORTION))

    def sweep(self, turn: int, rate: float) -> None:
        """One portion of the prior: some rows of the ridge, and edges that share no end."""
        turn %= self.portions
        rows = -(-self.problem.parameters // self.portions)
        part = slice(turn * rows, min((turn + 1) * rows, self.problem.parameters))
        shrink = 1.0 + rate / SWEEPS * self.acc[part].rsqrt() * self._ridge[part]
        self.theta[part].div_(shrink[:, None])
        if turn >= len(self._edges):
            return
        edges = self._edges[turn]
        one, two = (self.theta.index_select(0, ends) for ends in (edges.first, edges.second))
        eta_one, eta_two = (rate * self.acc[ends].rsqrt() for ends in (edges.first, edges.second))
        eta_two = eta_two * edges.moves
        apart = one - edges.sign[:, None] * two
        mu = edges.weight / (1.0 + edges.weight * (eta_one + eta_two))
        self.theta.index_copy_(0, edges.first, one.sub_((mu * eta_one)[:, None] * apart))
        self.theta.index_copy_(0, edges.second, two.add_((mu * eta_two * edges.sign)[:, None] * apart))

    def step(
        self, batch: Batch, rate: float, drawn: int, random: torch.Generator, totals: torch.Tensor | None = None
    ) -> None:
        """Read a batch of tokens. `totals` gets their log likelihood and their number."""
        negatives = self._draw(batch, drawn, random)
        rows = self._slot.index_select(0, torch.cat([batch.word, batch.context, negatives.view(-1)]))
        read = _Parts.of(self.theta.index_select(0, rows), len(batch.word), negatives.shape)
        gradients = torch.empty_like(read.whole)
        likelihood = self._cbow if self.problem.likelihood == "cbow" else self._sgns
        likelihood(batch, read, _Parts.of(gradients, len(batch.word), negatives.shape), totals)
        self._move(rows, gradients, rate)

    def _draw(self, batch: Batch, drawn: int, random: torch.Generator) -> torch.Tensor:
        """(B/G, N) Rows of negatives for every G tokens, in their language and slice."""
        shape = (len(batch.negative), drawn)
        place = torch.rand(shape, generator=random, device=self.device) * batch.vocabulary[:, None]
        place = torch.minimum(place.long(), batch.vocabulary[:, None] - 1)
        index = (batch.vocabulary_start[:, None] + place).view(-1)
        chance, other = (table.index_select(0, index).view(shape) for table in (self._chance, self._other))
        stay = torch.rand(shape, generator=random, device=self.device) < chance
        return batch.negative[:, None] + torch.where(stay, place, other)

    def _cbow(self, batch: Batch, read: _Parts, gradients: _Parts, totals: torch.Tensor | None) -> None:
        """log σ(ρ·h) + Σ log σ(−ρ_w·h), h = Σ_window α."""
        window = self.problem.window
        h = _around(read.contexts, window).sub_(read.contexts[window:-window]).view_as(read.words)
        right = (read.words * h).sum(2)
        scores = self._product(h, read.negatives.mT)
        weight = self.problem.negatives / scores.shape[2]
        real = (batch.degree[window:-window] > 0).float().view_as(right)
        if totals is not None:
            log = torch.nn.functional.logsigmoid
            totals[0] += ((log(right) + weight * log(-scores).sum(2)) * real).sum()
            totals[1] += real.sum()
        e = ((1.0 - right.sigmoid()) * real)[:, :, None]
        wrong = scores.sigmoid_() * (-weight * real)[:, :, None]
        torch.mul(e, h, out=gradients.words)
        self._product(wrong.mT, h, gradients.negatives)
        wide = h.new_zeros(len(read.contexts) + 2 * window, h.shape[2])
        d_h = wide[2 * window : -2 * window]
        self._product(wrong, read.negatives, d_h.view_as(h)).addcmul_(e, read.words)
        _around(wide, window, gradients.contexts)[window:-window].sub_(d_h)

    def _sgns(self, batch: Batch, read: _Parts, gradients: _Parts, totals: torch.Tensor | None) -> None:
        """Σ_c log σ(ρ·α_c) + Σ log σ(−ρ_w·α_c): the negatives of a context once, times the tokens it is around."""
        window, group = self.problem.window, read.words.shape[1]
        around = read.contexts.unfold(0, group + 2 * window, group).mT
        apart = torch.arange(group + 2 * window, device=self.device) - torch.arange(group, device=self.device)[:, None]
        near = ((apart >= 0) & (apart <= 2 * window) & (apart != window)).float()
        mine = read.contexts[window:-window].view_as(read.words)
        scores, others = self._product(read.words, around.mT), self._product(mine, read.negatives.mT)
        times = batch.degree[window:-window].view(-1, group, 1)  # tokens in whose window it is
        weight = self.problem.negatives / others.shape[2]
        if totals is not None:
            log = torch.nn.functional.logsigmoid
            real = (batch.degree > 0).float()
            both = near * real.unfold(0, group + 2 * window, group)[:, None] * (times > 0)
            totals[0] += (log(scores) * both).sum() + weight * (log(-others) * times).sum()
            totals[1] += (times > 0).sum()
        e = (1.0 - scores.sigmoid_()) * near
        wrong = others.sigmoid_() * (-weight * times)
        self._product(e, around, gradients.words)
        self._product(wrong.mT, mine, gradients.negatives)
        _overlay(self._product(e.mT, read.words), gradients.contexts)
        gradients.contexts[window:-window].add_(self._product(wrong, read.negatives).view(-1, mine.shape[2]))

    def _product(self, one: torch.Tensor, two: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        if not self.mixed:
            return torch.bmm(one, two) if out is None else torch.bmm(one, two, out=out)
        found = torch.bmm(one.bfloat16(), two.bfloat16())
        return found.float() if out is None else out.copy_(found)

    def _move(self, rows: torch.Tensor, gradients: torch.Tensor, rate: float) -> None:
        """Row-wise Adagrad for all gradients of a batch. With many, a row takes a smaller step, lest it overshoot."""
        self.acc.index_add_(0, rows, torch.linalg.vector_norm(gradients, dim=1).square_().div_(gradients.shape[1]))
        self._visits.index_add_(0, rows, torch.ones_like(rows, dtype=torch.float32))
        damp = (OFTEN / self._visits.index_select(0, rows)).clamp_(max=1.0)
        step = (damp / self.acc.index_select(0, rows)).sqrt_().mul_(rate)
        self.theta.index_add_(0, rows, gradients.mul_(step[:, None]))
        self._visits.index_fill_(0, rows, 0.0)
        self.theta[-1].zero_()  # padding has a gradient, too


@dataclass(frozen=True, eq=False)
class _Parts:
    """Values of all rows of a batch, and where they stand in it."""

    whole: torch.Tensor
    words: torch.Tensor  # (B/G, G, D)
    contexts: torch.Tensor  # (B + 2M, D)
    negatives: torch.Tensor  # (B/G, N, D)

    @classmethod
    def of(cls, whole: torch.Tensor, words: int, negatives: torch.Size) -> _Parts:
        groups, drawn = negatives
        end = len(whole) - groups * drawn
        split = (groups, -1, whole.shape[1])
        return cls(whole, whole[:words].view(split), whole[words:end], whole[end:].view(split))


def _around(values: torch.Tensor, window: int, out: torch.Tensor | None = None) -> torch.Tensor:
    """The sum of each with so many before and behind it, for those that have as many."""
    if out is None:
        out = values.new_empty(len(values) - 2 * window, values.shape[1])
    return torch.sum(values.unfold(0, 2 * window + 1, 1), 2, out=out)


def _overlay(parts: torch.Tensor, whole: torch.Tensor) -> None:
    """The sum of (B/G, G + 2M, D) where windows of neighboring groups overlap, into (B + 2M, D)."""
    groups, wide, dimensions = parts.shape
    size = (len(whole) - wide) // (groups - 1) if groups > 1 else len(whole)
    whole.zero_()
    for shift in range(0, wide, size):
        part = parts[:, shift : shift + size]
        room = whole[shift:]
        # groups are `size` apart, and so are their parts
        room.as_strided(part.shape, (size * dimensions, dimensions, 1), room.storage_offset()).add_(part)


@dataclass
class _Due:
    """When matchings are worked off: `count` of them evenly over the steps of a piece."""

    count: float
    steps: int

    def at(self, step: int, piece: int) -> range:
        """Numbers of the matchings that are due now, counted over all pieces."""
        before = piece * self.count + self.count * step / self.steps
        after = piece * self.count + self.count * (step + 1) / self.steps
        return range(math.ceil(before - 1e-9), math.ceil(after - 1e-9))
