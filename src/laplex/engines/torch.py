"""The Torch engine: the same model on a GPU, or on any device that Torch knows.

A step reads a batch of B tokens (`batches.py`): every row takes the sum of its gradients by row-wise Adagrad, whose
accumulator grows by the square of each of them. Nothing in a step waits for the host, and nothing it allocates grows
with the number of rows. The prior is applied as proximal steps, SWEEPS times an epoch. The step of an edge moves both
its ends to an exact minimum, which only holds if no other edge moves them at the same time, so the edges are divided
into matchings, sets in which every vector is the end of one edge at most.

P parameters, T fixed targets behind them and one row for padding, D dimensions, B tokens of a batch, G tokens that
share N negatives, M window, E edges.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from laplex.engines.batches import Pieces, TokenBatch
from laplex.engines.sampling import AliasTables, Total, count_visits
from laplex.engines.state import INITIAL_ACCUMULATOR, Engine, Epoch, Floats, Ints, Report, State
from laplex.errors import InputError
from laplex.model.graph import Graph
from laplex.model.problem import Problem

Precision = Literal["full", "mixed"]
SWEEPS = 16  # of the prior in an epoch
UNDAMPED_VISITS = 64  # visits of a row in a batch from which on its step is damped
EDGES_PER_SWEEP = 65_536  # edges or rows of a sweep that are worked off at once
BATCHES_PER_SAMPLE = 32  # the log likelihood is computed for one batch of this many
PIECE = 1_000_000  # tokens that are on the device at once
BATCH_TOKENS = {"cpu": 4096, "mps": 16_384, "cuda": 65_536}


def matchings(first: Ints, second: Ints, size: int) -> list[Ints]:
    """The edges of each matching of a graph of `size` vectors, the largest matchings first.

    Edges are put in a random order; one that is the earliest at both its ends is in the matching. The edges that are
    left make the next one. Vectors with d edges need about d matchings.
    """
    left = np.random.default_rng(7).permutation(len(first))
    taken = np.zeros(len(first), np.bool_)
    parts = []
    while len(left):
        edges, used, chosen = left, np.zeros(size, np.bool_), []
        while len(edges):  # until none can be added to the matching
            rank = np.arange(len(edges))
            earliest = np.full(size, len(edges))
            np.minimum.at(earliest, first[edges], rank)
            np.minimum.at(earliest, second[edges], rank)
            free = edges[(earliest[first[edges]] == rank) & (earliest[second[edges]] == rank)]
            chosen.append(free)
            used[first[free]] = used[second[free]] = True
            edges = edges[~(used[first[edges]] | used[second[edges]])]
        parts.append(np.concatenate(chosen))
        taken[parts[-1]] = True
        left = left[~taken[left]]
    return parts


def device_of(name: str | None) -> torch.device:
    """The device of this name, or the best there is; ranks on one machine have a GPU each."""
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
class Matching:
    """Edges that share no end, on the device."""

    first: torch.Tensor
    second: torch.Tensor
    weight: torch.Tensor  # of one sweep
    sign: torch.Tensor
    moves: torch.Tensor  # 1 if the second end moves, too, else 0


class Torch(Engine):
    """A problem prepared for a device. Vectors and accumulators are copied there, and back by `pull`."""

    def __init__(
        self,
        problem: Problem,
        state: State,
        block: int,
        negatives_per_block: int,
        piece: int | None = None,
        total: Total | None = None,
        *,
        device: str | None = None,
        precision: Precision = "full",
        batch: int | None = None,
    ) -> None:
        """`batch` tokens are read in a step; `total` sums visits over the ranks that share the prior."""
        self.problem = problem
        self.state = state
        self.device = device_of(device)
        self.mixed = precision == "mixed"
        self._kernel = problem.likelihood.kernel({"cbow": self._cbow, "sgns": self._sgns}, 'engine="torch"')
        self._negatives_per_block = negatives_per_block
        size = batch or BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"])
        self._texts = Pieces(problem, self.device, size, max(size, min(piece or PIECE, PIECE)), block)
        self.pieces = self._texts.count
        rows = len(state.theta) + 1
        self.theta = torch.zeros(rows, problem.dimensions, device=self.device)
        self.acc = torch.full((rows,), INITIAL_ACCUMULATOR, device=self.device)
        self.theta[:-1] = torch.from_numpy(state.theta).to(self.device)
        self.acc[:-1] = torch.from_numpy(state.accumulator).to(self.device)
        self._visits = torch.zeros(rows, device=self.device)  # in a batch
        self._slot = torch.from_numpy(np.append(problem.slot, rows - 1).astype(np.int64)).to(self.device)
        tables = AliasTables.of(problem)
        self._chance, self._other = (torch.from_numpy(table).to(self.device) for table in (tables.chance, tables.other))
        visits, share, stiffness = np.zeros(problem.parameters), np.ones(problem.parameters), np.empty(0)
        if total is not None or problem.graph.latent:
            counted = count_visits(problem, block, negatives_per_block, total)
            stiffness = counted.stiffness
            if total is not None:
                visits, share = counted.count, counted.share
        self._stiffness = torch.from_numpy(stiffness.astype(np.float32)).to(self.device)
        self._share = torch.from_numpy(np.append(share, 0.0).astype(np.float32)).to(self.device)
        self._edges = self._match(problem.graph, visits, share)
        self._portions = max(len(self._edges), -(-problem.parameters // EDGES_PER_SWEEP))  # that a sweep is cut into
        ridge = np.append(problem.graph.diagonal * share, 0.0).astype(np.float32)
        self._ridge = torch.from_numpy(ridge).to(self.device)

    def _match(self, graph: Graph, visits: Floats, share: Floats) -> list[Matching]:
        """Matchings with the part of each edge's weight that is due on this rank in one sweep.

        The prior of a row is due where it is visited, and that of an edge where its ends are.
        """
        fixed = np.zeros(len(graph.targets))
        visits, share = np.append(np.maximum(visits, 1e-12), fixed), np.append(share, fixed)
        first, second = graph.first.astype(np.int64), graph.second.astype(np.int64)
        here = (visits * share)[first] + (visits * share)[second]
        weight = np.minimum(graph.weight * here / (visits[first] + visits[second]) / SWEEPS, 1e30)
        moves = ~graph.directed & (graph.second < len(graph))
        columns: list[NDArray[Any]] = [first, second]
        columns += [array.astype(np.float32) for array in (weight, graph.sign, moves)]
        return [
            Matching(*(torch.from_numpy(column[part[i : i + EDGES_PER_SWEEP]]).to(self.device) for column in columns))
            for part in matchings(first, second, len(visits))
            for i in range(0, len(part), EDGES_PER_SWEEP)
        ]

    def pull(self) -> None:
        self.state.theta[:] = self.theta[:-1].cpu().numpy()
        self.state.accumulator[:] = self.acc[:-1].cpu().numpy()

    def push(self, rows: Ints) -> None:
        index = torch.from_numpy(rows).to(self.device)
        self.theta.index_copy_(0, index, torch.from_numpy(self.state.theta[rows]).to(self.device))
        self.acc.index_copy_(0, index, torch.from_numpy(self.state.accumulator[rows]).to(self.device))

    def run(
        self, epoch: Epoch, report: Report, begin: int = 0, seconds: float = math.inf, end: int | None = None
    ) -> tuple[int, Floats]:
        if self.device.type == "cpu":
            torch.set_num_threads(epoch.threads)
        if begin == 0 and end != 0:
            self._set_steps_of_latent(epoch.rate_at(0.0))
        totals = np.zeros(3)
        started = time.monotonic()
        number, last = begin, self.pieces if end is None else end
        while number < last and (time.monotonic() - started < seconds or number == begin):
            totals += self._read(epoch, number, report)
            number += 1
        return number, totals

    def _set_steps_of_latent(self, rate: float) -> None:
        """As `State.set_steps_of_latent`, on the device."""
        own = self.problem.graph.own
        most = self._share[own:-1] * torch.square(rate * self._stiffness)
        for ends in self.problem.graph.levels_of_latent():
            first, second = (torch.from_numpy(end).to(self.device) for end in ends)
            rows = torch.unique(second)
            added = self.acc.index_select(0, first) * self._share.index_select(0, first)
            sums = torch.zeros_like(self.acc).index_add_(0, second, added)[rows]
            self.acc[rows] = self.acc[rows] * (1.0 - self._share[rows]) + torch.minimum(sums, most[rows - own])

    def _read(self, epoch: Epoch, number: int, report: Report) -> Floats:
        """Train on one piece."""
        random = torch.Generator(self.device)
        random.manual_seed(epoch.seed_of(number))
        tokens, batches = self._texts.read(epoch.seed, epoch.number, number, random)
        steps = max(len(batches), 1)  # a piece of which nothing is kept has its part of the prior all the same
        totals = torch.zeros(2, device=self.device)
        portions = SWEEPS / self.pieces * self._portions  # of the prior, spread evenly over the steps of a piece
        for step in range(steps):
            done = (number + step / steps) / self.pieces
            rate = epoch.rate_at(done)
            if batches:
                self.step(batches[step], rate, random, totals if step % BATCHES_PER_SAMPLE == 0 else None)
            due = (math.ceil(number * portions + portions * part / steps - 1e-9) for part in (step, step + 1))
            for turn in range(*due):
                self.sweep(turn, rate)
            if step % 8 == 0:
                report(done)
        return np.array([float(tokens), *totals.tolist()])

    def sweep(self, turn: int, rate: float) -> None:
        """Apply one portion of the prior: the ridge of a part of the rows, and edges that share no end."""
        turn %= self._portions
        rows = -(-self.problem.parameters // self._portions)
        part = slice(turn * rows, min((turn + 1) * rows, self.problem.parameters))
        shrink = 1.0 + rate / SWEEPS * self.acc[part].rsqrt() * self._ridge[part]
        self.theta[part].div_(shrink[:, None])
        if turn >= len(self._edges):
            return
        edges = self._edges[turn]
        one, two = (self.theta.index_select(0, ends) for ends in (edges.first, edges.second))
        eta_one, eta_two = (rate * self.acc[ends].rsqrt() for ends in (edges.first, edges.second))
        eta_two = eta_two * edges.moves
        difference = one - edges.sign[:, None] * two
        mu = edges.weight / (1.0 + edges.weight * (eta_one + eta_two))
        self.theta.index_copy_(0, edges.first, one.sub_((mu * eta_one)[:, None] * difference))
        self.theta.index_copy_(0, edges.second, two.add_((mu * eta_two * edges.sign)[:, None] * difference))

    def step(
        self, batch: TokenBatch, rate: float, random: torch.Generator | None, totals: torch.Tensor | None = None
    ) -> None:
        """Train on a batch of tokens. `totals` is increased by their log likelihood and their number."""
        negatives = self._sample(batch, random)
        rows = self._slot.index_select(0, torch.cat([batch.word, batch.context, negatives.view(-1)]))
        values = _Rows.of(self.theta.index_select(0, rows), len(batch.word), negatives.shape)
        gradients = torch.empty_like(values.all)
        self._kernel(batch, values, _Rows.of(gradients, len(batch.word), negatives.shape), totals)
        self._move(rows, gradients, rate)

    def _sample(self, batch: TokenBatch, random: torch.Generator | None) -> torch.Tensor:
        """(B/G, N) Rows of negatives for every G tokens, in their language and slice."""
        shape = (len(batch.negative), self._negatives_per_block)
        place = torch.rand(shape, generator=random, device=self.device) * batch.vocabulary[:, None]
        place = torch.minimum(place.long(), batch.vocabulary[:, None] - 1)
        index = (batch.vocabulary_start[:, None] + place).view(-1)
        chance, other = (table.index_select(0, index).view(shape) for table in (self._chance, self._other))
        stay = torch.rand(shape, generator=random, device=self.device) < chance
        return batch.negative[:, None] + torch.where(stay, place, other)

    def _cbow(self, batch: TokenBatch, rows: _Rows, gradients: _Rows, totals: torch.Tensor | None) -> None:
        """log σ(ρ·h) + Σ log σ(−ρ_w·h), h = Σ_window α."""
        window = self.problem.window
        h = _window_sums(rows.contexts, window).sub_(rows.contexts[window:-window]).view_as(rows.words)
        right = (rows.words * h).sum(2)
        scores = self._product(h, rows.negatives.mT)
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
        wide = h.new_zeros(len(rows.contexts) + 2 * window, h.shape[2])
        d_h = wide[2 * window : -2 * window]
        self._product(wrong, rows.negatives, d_h.view_as(h)).addcmul_(e, rows.words)
        _window_sums(wide, window, gradients.contexts)[window:-window].sub_(d_h)

    def _sgns(self, batch: TokenBatch, rows: _Rows, gradients: _Rows, totals: torch.Tensor | None) -> None:
        """Σ_c log σ(ρ·α_c) + Σ log σ(−ρ_w·α_c): the negatives' term of a context once, times the windows it is in."""
        window, group = self.problem.window, rows.words.shape[1]
        contexts = rows.contexts.unfold(0, group + 2 * window, group).mT
        shift = torch.arange(group + 2 * window, device=self.device) - torch.arange(group, device=self.device)[:, None]
        in_window = ((shift >= 0) & (shift <= 2 * window) & (shift != window)).float()
        inner = rows.contexts[window:-window].view_as(rows.words)
        scores, negative_scores = self._product(rows.words, contexts.mT), self._product(inner, rows.negatives.mT)
        degree = batch.degree[window:-window].view(-1, group, 1)
        weight = self.problem.negatives / negative_scores.shape[2]
        if totals is not None:
            log = torch.nn.functional.logsigmoid
            real = (batch.degree > 0).float()
            pairs = in_window * real.unfold(0, group + 2 * window, group)[:, None] * (degree > 0)
            totals[0] += (log(scores) * pairs).sum() + weight * (log(-negative_scores) * degree).sum()
            totals[1] += (degree > 0).sum()
        e = (1.0 - scores.sigmoid_()) * in_window
        wrong = negative_scores.sigmoid_() * (-weight * degree)
        self._product(e, contexts, gradients.words)
        self._product(wrong.mT, inner, gradients.negatives)
        _overlay(self._product(e.mT, rows.words), gradients.contexts)
        gradients.contexts[window:-window].add_(self._product(wrong, rows.negatives).view(-1, inner.shape[2]))

    def _product(self, one: torch.Tensor, two: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        if not self.mixed:
            return torch.bmm(one, two) if out is None else torch.bmm(one, two, out=out)
        product = torch.bmm(one.bfloat16(), two.bfloat16())
        return product.float() if out is None else out.copy_(product)

    def _move(self, rows: torch.Tensor, gradients: torch.Tensor, rate: float) -> None:
        """Row-wise Adagrad for all gradients of a batch. A row with many takes a smaller step, lest it overshoot."""
        self.acc.index_add_(0, rows, torch.linalg.vector_norm(gradients, dim=1).square_().div_(gradients.shape[1]))
        self._visits.index_add_(0, rows, torch.ones_like(rows, dtype=torch.float32))
        damp = (UNDAMPED_VISITS / self._visits.index_select(0, rows)).clamp_(max=1.0)
        step = (damp / self.acc.index_select(0, rows)).sqrt_().mul_(rate)
        self.theta.index_add_(0, rows, gradients.mul_(step[:, None]))
        self._visits.index_fill_(0, rows, 0.0)
        self.theta[-1].zero_()  # padding has a gradient, too


@dataclass(frozen=True, eq=False)
class _Rows:
    """Values of all rows of a batch, and views of them by role."""

    all: torch.Tensor
    words: torch.Tensor  # (B/G, G, D)
    contexts: torch.Tensor  # (B + 2M, D)
    negatives: torch.Tensor  # (B/G, N, D)

    @classmethod
    def of(cls, values: torch.Tensor, words: int, negatives: torch.Size) -> _Rows:
        groups, size = negatives
        end = len(values) - groups * size
        shape = (groups, -1, values.shape[1])
        return cls(values, values[:words].view(shape), values[words:end], values[end:].view(shape))


def _window_sums(values: torch.Tensor, window: int, out: torch.Tensor | None = None) -> torch.Tensor:
    """The sum of each value with the `window` before and behind it, for those that have as many."""
    if out is None:
        out = values.new_empty(len(values) - 2 * window, values.shape[1])
    return torch.sum(values.unfold(0, 2 * window + 1, 1), 2, out=out)


def _overlay(parts: torch.Tensor, total: torch.Tensor) -> None:
    """Sum (B/G, G + 2M, D), whose neighboring groups overlap by their windows, into (B + 2M, D)."""
    groups, wide, dimensions = parts.shape
    size = (len(total) - wide) // (groups - 1) if groups > 1 else len(total)
    total.zero_()
    for shift in range(0, wide, size):
        part = parts[:, shift : shift + size]
        target = total[shift:]
        # groups are `size` apart, and so are their parts
        target.as_strided(part.shape, (size * dimensions, dimensions, 1), target.storage_offset()).add_(part)
