"""The loop over epochs of a stochastic engine, with its history and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.engines.shares import Share
from laplex.engines.state import Engine, Epoch, State
from laplex.errors import InputError, LaplexError
from laplex.fitting.start import POOLED, Records, Start
from laplex.fitting.training import Training
from laplex.model.problem import Problem
from laplex.runtime.checkpoint import Checkpoint, Position
from laplex.runtime.display import bar, say
from laplex.runtime.distributed import communicator
from laplex.runtime.processors import available_threads

if TYPE_CHECKING:
    from laplex.engines.languages import Rotation

Report = Callable[[float, str], None]  # called with the share that is done, and a message


class Initial(Protocol):
    """Vectors that are known before the first epoch."""

    def begin(self, state: State, problem: Problem, rate: float) -> None:
        """Set the vectors and accumulators of the rows that are known."""


class DivergedError(LaplexError):
    """Training ran into values that are not finite.

    Attributes:
        last_good: The Embeddings after the last epoch that went well, or None.
    """

    def __init__(self, rate: float | None, last_good: Embeddings | None) -> None:
        kept = (
            "" if last_good is None else f"; the model after epoch {len(last_good.history)} is in the error's last_good"
        )
        super().__init__(f"training ran into values that are not finite: lower rate={rate}{kept}")
        self.last_good = last_good


@dataclass(frozen=True, eq=False)
class Task:
    """The share of a problem, and what a loop over epochs asks of whoever wants it solved."""

    share: Share
    training: Training
    judge: Callable[[NDArray[Any]], float | None]  # the held-out likelihood of the parameters of the share (p, D)
    embeddings: Callable[[NDArray[np.float32], Records], Embeddings]  # of all parameters (P, D) after an epoch
    report: Report | None
    quiet: bool
    initial: Initial | None = None  # vectors that are known before the first epoch
    folder: Path | None = None  # for the vectors of all ranks, which need not fit into memory


class EpochLoop:
    """A stochastic engine at work: its state, and how far it has come.

    With a `start`, its epochs follow those of the start. If the prior joins languages, these are first estimated
    separately, by the start or in the first epoch, and then rotated onto each other. The state is that of the share of
    this process; after the last epoch, of the whole problem.
    """

    def __init__(self, task: Task, checkpoint: Checkpoint, rotate: bool, start: Start | None = None) -> None:
        self.task, self.checkpoint, self.start = task, checkpoint, start
        self.share, self.training, self.quiet = task.share, task.training, task.quiet
        self.problem = self.share.problem
        self.rotation = self._find_rotation() if rotate else None
        self._apart = self.share.of_variant(self.rotation.apart) if self.rotation else self.share
        if start is None:
            share = self._begin_at_random()
        else:
            share = self.share
            self._begin_at(start)
        self._first = share  # of the problem to be solved until languages are rotated

    def _begin_at_random(self) -> Share:
        """The first state, or that of the checkpoint; returns the share of the problem to be solved first."""
        share = self._apart
        problem = share.problem
        self.state = State.initial(problem, self.training.seed)
        if self.task.initial is not None:
            assert self.training.rate is not None
            self.task.initial.begin(self.state, problem, self.training.rate)
        rows = self.problem.parameters + len(self.problem.graph.targets)
        self._first_memory = self.state.with_room(rows)  # in which later states are, too
        self.state = self._first_memory.first(len(self.state.memory))
        self.arrays = self._first_memory.arrays
        self.position = self.checkpoint.resume(self.arrays)
        if self.rotation and self.position.history:
            self.state, share = self._first_memory.first(rows), self.share
        return share

    def _begin_at(self, start: Start) -> None:
        """The state of the checkpoint, or that of the start, which is then saved."""
        if start.state is None:
            self.state = State.zeros(self.problem)
        else:
            self.state = self._read_into_slices(self._apart, start.state)
            if self.rotation:
                self.state = self._rotated(self.rotation)
        self.arrays = self.state.arrays | {POOLED: start.vectors}
        if start.state is None:
            self.position = self.checkpoint.resume(self.arrays)
        else:
            epochs = len(start.history)
            rotated = [{"rotated": number == epochs} if self.rotation else {} for number in range(1, epochs + 1)]
            self.position = Position([one | two for one, two in zip(start.history, rotated, strict=True)])
            start.state = None  # its memory is not needed any more
            self.checkpoint.save(self.arrays, self.position)
        self.checkpoint.keep_copy(self.state.memory)

    def _read_into_slices(self, share: Share, pooled: State) -> State:
        from laplex.engines.sampling import count_visits

        problem = share.problem
        reads = count_visits(problem, 1, 1, share.total).reads
        pooled_reads = share.total_by(problem.pooled_row, reads, len(pooled.accumulator))
        return State.from_pooled(problem, pooled, reads, pooled_reads)

    def run(self, epochs: int) -> Records:
        """Read the text until this number of epochs is done, and return the history."""
        if len(self.position.history) < epochs:
            self._start_engine()
        with bar("fitting", quiet=self.quiet) as progress:
            report = self.task.report or progress.update
            while len(self.position.history) < epochs and not self._is_stale():
                self._read(report)
                if self.position.piece == self.engine.pieces:
                    self._finish_epoch()
                self.checkpoint.save(self.arrays, self.position)
        self.state = self.share.complete(self.state, self.task.folder)
        self.state.fill(self.share.whole.graph)
        return self.position.history

    def _start_engine(self) -> None:
        self.engine = self._make_engine(self._first)
        started = time.monotonic()
        self.engine.compile()
        if time.monotonic() - started > 1.0:
            say(f"compiled for this machine in {time.monotonic() - started:.0f} s (once)", quiet=self.quiet)

    def _read(self, report: Report) -> None:
        """Read the rest of an epoch, or of it what there is time for until the next checkpoint."""
        position, training = self.position, self.training
        number = len(position.history)
        pooled = ", without slices" if number < (training.pooled_epochs or 0) else ""
        label = f"epoch {number + 1} of {training.epochs}{pooled}{summary(position.history)}"
        assert training.rate is not None
        threads = training.threads or available_threads()
        epoch = Epoch(number, training.epochs, training.rate, training.seed, threads)

        def report_share(share: float) -> None:
            report((number + share) / training.epochs, label)

        started = time.monotonic()
        seconds = 60 * (training.checkpoint_minutes or math.inf)
        position.piece, totals = self.engine.run(epoch, report_share, position.piece, seconds)
        position.totals = position.totals + totals
        position.seconds += time.monotonic() - started
        self.engine.pull()
        infinite = not (math.isfinite(position.totals[1]) and np.isfinite(self.state.accumulator).all())
        if communicator().allreduce(np.array([int(infinite)]))[0]:
            raise DivergedError(training.rate, self._last_good())

    def _last_good(self) -> Embeddings | None:
        """The model after the last epoch, if all ranks have their share of it."""
        theta = self.checkpoint.last_good(self.problem.parameters, self.problem.dimensions)
        if communicator().allreduce(np.array([int(theta is None)]))[0] or theta is None:
            return None
        part = State.zeros(self.problem)
        part.theta[: len(theta)] = theta
        whole = self.share.complete(part, self.task.folder)
        return self.task.embeddings(whole.unpadded(self.share.whole.parameters), self.position.history)

    def _finish_epoch(self) -> None:
        """Rotate languages after the first epoch, and add the record of the epoch to the history."""
        position, is_first = self.position, not self.position.history
        if self.rotation and is_first:
            self.state = self._first_memory.replaced(self._rotated(self.rotation))
            self.engine = self._make_engine(self.share)
        tokens, likelihood, scored = position.totals.tolist()  # the log likelihood is that of the scored tokens
        of_parts = [self.state.log_prior(graph) for graph in self.problem.parts.values()]
        priors = dict(zip(self.problem.parts, communicator().allreduce(np.array(of_parts)).tolist(), strict=True))
        held_out = self.task.judge(self.state.theta[: self.problem.parameters])
        mean, number = likelihood / max(scored, 1.0), len(position.history) + 1
        record = record_of(number, mean, priors, held_out, int(tokens), position.seconds)
        record |= {"rotated": is_first} if self.rotation else {}
        record |= {"sent": communicator().bytes_sent} if communicator().size > 1 else {}
        self.position = Position([*position.history, record])
        self.checkpoint.keep_copy(self.state.memory)

    def _is_stale(self) -> bool:
        """Whether the held-out likelihood has not risen for `patience` epochs.

        Epochs without slices, or before a rotation, do not count.
        """
        others = self.training.pooled_epochs or int(self.rotation is not None)
        patience, history = self.training.patience, self.position.history[others:]
        if patience is None or len(history) <= patience or history[-1]["held_out"] is None:
            return False
        values: list[float] = [record["held_out"] for record in history]
        stale = max(values[-patience:]) <= max(values[:-patience])
        if stale:
            epochs = len(self.position.history)
            say(f"stopped after epoch {epochs}: the held-out likelihood rises no more", quiet=self.quiet)
        return stale

    def _find_rotation(self) -> Rotation | None:
        """How languages are to be rotated after the first epoch, if they are."""
        from laplex.engines import languages

        training = self.training
        joins_languages = self.problem.model_slot is None  # not where only words that occur have rows
        possible = training.rotate and training.epochs > 1 and joins_languages
        rotation = languages.find_rotation(self.share.whole) if possible else None
        if training.rotate is True and rotation is None:
            raise InputError(
                "rotate=True: no edge of the prior joins two languages that could be rotated: leave it out"
            )
        return rotation

    def _rotated(self, rotation: Rotation) -> State:
        """The state after languages are rotated onto each other, for which every rank has a look at all of it."""
        joined = rotation.join(self._apart.complete(self.state, self.task.folder))
        text = f"{rotation.languages} languages rotated onto each other, by {len(rotation.pull):,} edges"
        say(text, quiet=self.quiet)
        return self.share.of_whole(joined)

    def _make_engine(self, share: Share) -> Engine:
        training, is_alone = self.training, communicator().size == 1
        sizes = {"block": training.block, "negatives_per_block": training.drawn}
        total = None if is_alone else share.total
        make = partial(_engine_class(training), share.problem, self.state, total=total, **sizes)
        if is_alone:
            return make()
        from laplex.engines.ranks import Ranks

        return Ranks(share, self.state, training.merge_tokens, lambda piece: make(piece=piece))


def _engine_class(training: Training) -> Callable[..., Engine]:
    """The engine that a training names, with its own options."""
    if training.engine == "cpu":
        from laplex.engines.cpu import Cpu

        return Cpu
    try:
        from laplex.engines.torch import Torch
    except ModuleNotFoundError:
        raise InputError('engine="torch" needs PyTorch: pip install "laplex[torch]"') from None
    return partial(Torch, device=training.device, precision=training.precision)


def record_of(
    epoch: int, likelihood: float, priors: dict[str, float], held_out: float | None, tokens: int, seconds: float
) -> dict[str, Any]:
    """The row of the history for an epoch."""
    return {
        "epoch": epoch,
        "log_likelihood": likelihood,
        "log_prior": sum(priors.values()),
        "held_out": held_out,
        "tokens_per_second": tokens / max(seconds, 1e-9),
        "priors": priors,
    }


def summary(history: Records) -> str:
    """The last epoch in a message."""
    if not history:
        return ""
    last = history[-1]
    held_out = "" if last["held_out"] is None else f", held-out {last['held_out']:.3f}"
    speed = last["tokens_per_second"] / 1e6
    return f": log likelihood {last['log_likelihood']:.3f} a token{held_out}, {speed:.2f}M tokens/s"
