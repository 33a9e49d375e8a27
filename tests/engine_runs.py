"""Runs of every engine on a small problem, without `lx.fit`: one call, and the vectors that it ends with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from laplex.engines import ranks, reference
from laplex.engines.cpu import Cpu
from laplex.engines.shares import Share
from laplex.engines.state import Engine, Epoch, State
from laplex.model.problem import Problem
from laplex.runtime.distributed import Communicator

Floats = NDArray[np.float64]


def vectors(problem: Problem, state: State) -> Floats:
    """(P, D) The parameters of a state."""
    return state.theta[: problem.parameters].astype(np.float64)


def make_cpu(problem: Problem, state: State, piece: int = 500, **options: Any) -> Cpu:
    block = problem.likelihood.block
    return Cpu(problem, state, options.pop("block", block), options.pop("negatives", block), piece, **options)


def make_torch(problem: Problem, state: State, piece: int = 500, **options: Any) -> Any:
    from laplex.engines.torch import Torch

    options = {"device": "cpu", "batch": 64} | options
    return Torch(problem, state, options.pop("block", 8), options.pop("negatives", 8), piece, **options)


def train(
    engine: Engine,
    epochs: int,
    rate: float = 0.3,
    seed: int = 1,
    threads: int = 1,
    first: int = 0,
    of: int | None = None,
) -> list[float]:
    """Run some epochs, and return the log likelihood of a token in each of them."""
    history = []
    for number in range(first, epochs):
        totals = engine.run(Epoch(number, of or epochs, rate, seed, threads), lambda share: None)[1]
        history.append(float(totals[1] / max(totals[2], 1.0)))
    engine.pull()
    return history


def run(
    make: Callable[..., Engine], problem: Problem, epochs: int, rate: float = 0.3, seed: int = 1, **options: Any
) -> Floats:
    """The vectors after training from the start; rows that no text has touched are filled."""
    threads = options.pop("threads", 1)
    state = State.initial(problem, seed)
    train(make(problem, state, **options), epochs, rate, seed, threads)
    state.fill(problem.graph)
    return vectors(problem, state)


def run_cpu(problem: Problem, epochs: int = 100, **options: Any) -> Floats:
    return run(make_cpu, problem, epochs, **options)


def run_torch(problem: Problem, epochs: int = 60, **options: Any) -> Floats:
    return run(make_torch, problem, epochs, **options)


def run_reference(problem: Problem, epochs: int = 400, seed: int = 1) -> Floats:
    return reference.maximize(problem, vectors(problem, State.initial(problem, seed)), steps=epochs, tolerance=1e-6)


# Ranks


@dataclass
class Meeting:
    """Where the threads of one process meet that stand for ranks."""

    size: int
    barrier: threading.Barrier = field(init=False)
    gifts: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.barrier, self.gifts = threading.Barrier(self.size, timeout=60), [None] * self.size


class ThreadCommunicator(Communicator):
    """A rank that is a thread, so that tests need no process for each."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting, self.rank, self.size = meeting, rank, meeting.size
        self.bytes_sent = 0

    def _exchange(self, gift: Any) -> list[Any]:
        self.meeting.gifts[self.rank] = gift
        self.meeting.barrier.wait()
        gifts = list(self.meeting.gifts)
        self.meeting.barrier.wait()
        return gifts

    def allgather(self, data: bytes) -> list[bytes]:
        return self._exchange(data)

    def allreduce(self, array: NDArray[Any]) -> NDArray[Any]:
        total: NDArray[Any] = np.sum(self._exchange(array), axis=0)
        return total

    def all_to_all(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[np.uint8]]:
        self.bytes_sent += sum(part.nbytes for rank, part in enumerate(parts) if rank != self.rank)
        gifts = self._exchange([np.ascontiguousarray(part).reshape(-1).view(np.uint8).copy() for part in parts])
        return [gift[self.rank] for gift in gifts]

    def broadcast(self, array: NDArray[Any]) -> None:
        array[:] = self._exchange(array.copy())[0]


def on_ranks(size: int, work: Callable[[Communicator], Any]) -> list[Any]:
    """What each of some ranks returns."""
    meeting = Meeting(size)

    def guarded(rank: int) -> Any:
        try:
            return work(ThreadCommunicator(meeting, rank))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(guarded, range(size)))


def documents_of(problem: Problem, chosen: NDArray[np.bool_]) -> Problem:
    """The same problem with a part of its text."""
    lengths = np.diff(problem.offsets)
    return replace(
        problem,
        ids=problem.ids[np.repeat(chosen, lengths)],
        offsets=np.concatenate([[0], np.cumsum(lengths[chosen])]),
        **{name: getattr(problem, name)[chosen] for name in ("word_start", "context_start", "language", "held_out")},
    )


def make_ranks(share: Share, state: State, make: Callable[..., Engine] = make_cpu) -> ranks.Ranks:
    return ranks.Ranks(share, state, 1_000_000, lambda piece: make(share.problem, state, piece, total=share.total))


def run_ranks(
    problem: Problem,
    epochs: int = 100,
    size: int = 2,
    make: Callable[..., Engine] = make_cpu,
    rate: float = 0.3,
    seed: int = 1,
) -> Floats:
    """Every rank begins with every other document."""

    def work(communicator: Communicator) -> Floats:
        here = np.arange(len(problem.held_out)) % size == communicator.rank
        share = Share.of(documents_of(problem, here), communicator)
        state = State.initial(share.problem, seed)
        engine = make_ranks(share, state, make)
        train(engine, epochs, rate, seed)
        whole = share.complete(state)
        whole.fill(problem.graph)
        return vectors(problem, whole)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "MERGES", 4)  # of so little text
        found: Floats = on_ranks(size, work)[0]
    return found
