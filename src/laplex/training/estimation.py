"""One estimation: the loop over epochs, its history and its checkpoints, whatever engine does the work."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from laplex.checkpoint import Checkpoint, LastGood, Position
from laplex.engines.epoch import Epoch
from laplex.errors import InputError, LaplexError
from laplex.objective import Group, groups, held_out_log_likelihood, log_likelihood, log_prior
from laplex.problem import Problem
from laplex.progress import bar, say
from laplex.training.choices import Training
from laplex.world import world

if TYPE_CHECKING:  # Numba is loaded only where there is something to compute
    from laplex.engines.cpu import Cpu, State
    from laplex.engines.rotation import Rotation
    from laplex.engines.torch import Torch

Watch = Callable[[float, str], None]
HELD_OUT_TOKENS = 100_000  # so many of them are enough to judge by


class Engine(Protocol):
    """What the loop asks of an engine."""

    @property
    def pieces(self) -> int: ...

    def compile(self) -> None: ...

    def run(
        self, epoch: Epoch, report: Callable[[float], None], begin: int = 0, seconds: float = math.inf
    ) -> tuple[int, NDArray[np.float64]]:
        """From piece `begin` of an epoch on: where to go on from; tokens read, log likelihood of some, their number."""
        ...

    def pull(self) -> None:
        """Bring what is elsewhere, on a device or on other ranks, into the state."""
        ...


class DivergedError(LaplexError):
    """Training ran into values that are not finite. `last_good` is the model after the last epoch that went well."""

    last_good: Any = None  # Embeddings

    def __init__(self, rate: float, theta: NDArray[np.float32] | None, history: list[dict[str, Any]]) -> None:
        kept = f"; the model after epoch {len(history)} is in the error's last_good" if theta is not None else ""
        super().__init__(f"training ran into values that are not finite: lower rate={rate}{kept}")
        self.theta, self.history = theta, history


class Estimation:
    """A problem on its way to its maximum."""

    def __init__(self, problem: Problem, training: Training, identity: dict[str, Any], quiet: bool) -> None:
        if world().size > 1:
            from laplex.engines import ranks

            if training.engine == "reference" or training.inference != "map":
                raise InputError('several processes take engine="cpu" or "torch" and inference="map"')
            problem = ranks.deal(problem, world())
        self.problem = problem
        self.training = training
        self.identity = identity
        self.quiet = quiet
        most = HELD_OUT_TOKENS / world().size
        self.held_out: list[Group] = list(groups(problem, True, most)) if problem.held_out.any() else []

    def _judge(self, theta: NDArray[Any]) -> float | None:
        """The mean log likelihood of a held-out token, over the text of all ranks."""
        tokens = sum(len(group.tokens) for group in self.held_out)
        mean = held_out_log_likelihood(self.problem, theta, self.held_out, self.training.seed) if tokens else 0.0
        total, count = world().total(np.array([mean * tokens, tokens])).tolist()
        return float(total / count) if count else None

    def reference(self) -> tuple[NDArray[np.float32], list[dict[str, Any]]]:
        from laplex.engines import reference

        size = (int(self.problem.twin.max()) + 1, self.problem.dimensions)
        start = (np.random.default_rng([self.training.seed, 0]).random(size) - 0.5) / self.problem.dimensions
        started = time.monotonic()
        theta = reference.maximize(self.problem, start[self.problem.twin])
        value, _ = log_likelihood(self.problem, theta)
        tokens = int(np.diff(self.problem.offsets)[~self.problem.held_out].sum())
        priors = {name: log_prior(graph, theta) for name, graph in self.problem.parts.items()}
        record = _record(1, value / tokens, priors, self._judge(theta), tokens, time.monotonic() - started)
        return theta.astype(np.float32), [record]

    def stochastic(self, until: int | None, watch: Watch | None) -> tuple[NDArray[np.float32], list[dict[str, Any]]]:
        """Pass over the text epoch by epoch, up to epoch `until` of them all."""
        from laplex.engines.cpu import initial

        problem, training = self.problem, self.training
        turning = self._turning()
        state = initial(turning.apart if turning else problem, training.seed)
        arrays = {"theta": state.theta, "note": state.note}
        checkpoint = Checkpoint(training.checkpoint if world().rank == 0 else None, self.identity, self.quiet)
        at = self._resume(checkpoint, arrays)
        if turning and at.history:
            state = turning.joined(state)
        engine = self._engine(problem if turning is None or at.history else turning.apart, state)
        self._compile(engine)
        seconds = 60 * (training.checkpoint_minutes or math.inf)
        good = LastGood()
        with bar("fitting", quiet=self.quiet) as progress:
            while (number := len(at.history)) < (until or training.epochs):
                if _stale(at.history[turning is not None :], training.patience):
                    say(f"stopped after epoch {number}: the held-out likelihood rises no more", quiet=self.quiet)
                    break
                label = f"epoch {number + 1} of {training.epochs}{_note(at.history)}"

                def report(share: float, number: int = number, label: str = label) -> None:
                    (watch or progress.update)((number + share) / training.epochs, label)

                started = time.monotonic()
                at.piece, totals = engine.run(self._epoch(number), report, at.piece, seconds)
                at.totals = at.totals + totals
                at.seconds += time.monotonic() - started
                engine.pull()
                tokens, likelihood, watched = at.totals.tolist()
                if not (math.isfinite(likelihood) and np.isfinite(state.note).all()):
                    assert training.rate is not None
                    shape = problem.parameters, problem.dimensions
                    raise DivergedError(training.rate, good.take(shape), at.history)
                if at.piece == engine.pieces:
                    if turning and not at.history:
                        state = self._turn(turning, state)
                        engine = self._engine(problem, state)
                    theta = state.theta[: problem.parameters, : problem.dimensions]
                    priors = {name: state.log_prior(graph) for name, graph in problem.parts.items()}
                    mean = likelihood / max(watched, 1.0)
                    record = _record(number + 1, mean, priors, self._judge(theta), int(tokens), at.seconds)
                    record |= {"rotated": not at.history} if turning else {}
                    record |= {"sent": world().sent} if world().size > 1 else {}
                    at = Position([*at.history, record])
                    good.keep(state.theta)
                checkpoint.save(arrays, at)
        state.fill(problem.graph)
        world().spread(state.theta)
        say(f"fitted in {len(at.history)} epochs{_note(at.history)}", quiet=self.quiet)
        return state.unpadded(problem.parameters, problem.dimensions), at.history

    def _turning(self) -> Rotation | None:
        from laplex.engines import rotation

        training = self.training
        apart = self.problem.present is not None  # where only words that occur have rows, no languages are joined
        turning = rotation.find(self.problem) if training.rotate and training.epochs > 1 and not apart else None
        if training.rotate is True and turning is None:
            raise InputError(
                "rotate=True: no edge of the prior joins two languages that could be rotated: leave it out"
            )
        if turning and len(turning.shared):
            turning = replace(turning, apart=replace(turning.apart, visits=world().total(turning.apart.visits)))
        return turning

    def _turn(self, turning: Rotation, state: State) -> State:
        state = turning.join(state) if world().rank == 0 else turning.joined(state)
        world().spread(state.theta)
        world().spread(state.note)
        say(f"{turning.languages} languages rotated onto each other, by {len(turning.pull):,} edges", quiet=self.quiet)
        return state

    def _engine(self, problem: Problem, state: State) -> Engine:
        make = self._torch(problem, state) if self.training.engine == "torch" else _cpu(problem, state)
        if world().size > 1:
            from laplex.engines.ranks import Ranks

            return Ranks(problem, state, world(), self.training.merge_tokens, make)
        return make(None)

    def _torch(self, problem: Problem, state: State) -> Callable[[int | None], Torch]:
        try:
            from laplex.engines.torch import PIECE, Torch
        except ModuleNotFoundError:
            raise InputError('engine="torch" needs PyTorch: pip install "laplex[torch]"') from None
        share = None
        if world().size > 1:
            from laplex.engines.ranks import read_here

            share = read_here(problem, world())
        device, precision = self.training.device, self.training.precision
        return lambda piece: Torch(
            problem, state, device=device, precision=precision, piece=min(piece or PIECE, PIECE), share=share
        )

    def _epoch(self, number: int) -> Epoch:
        training = self.training
        assert training.rate is not None
        assert training.block is not None
        assert training.drawn is not None
        threads = training.threads or max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
        return Epoch(number, training.epochs, training.rate, training.seed, threads, training.block, training.drawn)

    def _compile(self, engine: Engine) -> None:
        started = time.monotonic()
        engine.compile()
        if time.monotonic() - started > 1.0:
            say(f"compiled for this machine in {time.monotonic() - started:.0f} s (once)", quiet=self.quiet)

    def _resume(self, checkpoint: Checkpoint, arrays: dict[str, NDArray[np.float32]]) -> Position:
        """Where to go on from. Rank 0 knows, and tells the others."""
        at = checkpoint.resume(arrays)
        if world().size > 1:
            at = Position.of(json.loads(world().texts(json.dumps(at.told()).encode())[0]))
            for array in arrays.values():
                world().spread(array)
        return at

    def variational(
        self,
        theta: NDArray[np.float32],
        history: list[dict[str, Any]],
        watch: Watch | None,
    ) -> tuple[NDArray[np.float32], list[dict[str, Any]], NDArray[np.float32]]:
        """From the maximum of the log posterior to means and standard deviations."""
        training = self.training
        if training.engine == "reference":
            from laplex.engines import variational

            mean, spread, more = variational.fit(self.problem, theta.astype(np.float64), self._judge)
        else:
            from laplex.engines import variational_cpu

            folder = None if training.checkpoint is None else Path(training.checkpoint) / "variational"
            checkpoint = Checkpoint(folder, self.identity, self.quiet)
            names = ("epochs", "rate", "seed", "block", "drawn", "patience")
            passes = variational_cpu.Passes(
                **{name: getattr(training, name) for name in names},
                threads=training.threads or os.cpu_count() or 1,
                seconds=60 * (training.checkpoint_minutes or math.inf),
            )
            try:
                with bar("deviations", quiet=self.quiet) as progress:
                    mean, spread, more = variational_cpu.refine(
                        self.problem, theta, passes, self._judge, checkpoint, watch or progress.update
                    )
            except FloatingPointError:
                raise DivergedError(passes.rate, theta, history) from None
        more = [{"epoch": len(history) + number} | record for number, record in enumerate(more, 1)]
        say(f"deviations found: ELBO {more[-1]['elbo']:,.0f}", quiet=self.quiet)
        return mean, history + more, spread


def _cpu(problem: Problem, state: State) -> Callable[[int | None], Cpu]:
    from laplex.engines.cpu import PIECE, Cpu

    return lambda piece: Cpu(problem, state, min(piece or PIECE, PIECE))


def _record(
    epoch: int, likelihood: float, priors: dict[str, float], held_out: float | None, tokens: int, seconds: float
) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "log_likelihood": likelihood,
        "log_prior": sum(priors.values()),
        "held_out": held_out,
        "tokens_per_second": tokens / max(seconds, 1e-9),
        "priors": priors,
    }


def _note(history: list[dict[str, Any]]) -> str:
    if not history:
        return ""
    last = history[-1]
    held_out = "" if last["held_out"] is None else f", held-out {last['held_out']:.3f}"
    speed = last["tokens_per_second"] / 1e6
    return f": log likelihood {last['log_likelihood']:.3f} a token{held_out}, {speed:.2f}M tokens/s"


def _stale(history: list[dict[str, Any]], patience: int | None) -> bool:
    if patience is None or len(history) <= patience or history[-1]["held_out"] is None:
        return False
    values: list[float] = [record["held_out"] for record in history]
    return max(values[-patience:]) <= max(values[:-patience])
