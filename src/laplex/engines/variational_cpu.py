"""Variational inference on all cores, over `variational_kernels.py`: means and variances for texts of any size.

It starts from the means that maximise the log posterior, along their principal axes. Each pass over the text moves the
means by stochastic steps, as the CPU engine does, with the prior as proximal steps, and adds up the curvature of the
expected log likelihood for each number. Then every precision takes a natural-gradient step to where the ELBO is highest
given all else, which is stable whatever the strength of the prior:

    1/v_rd ← (1 − s) / v_rd + s (p_r + Σ κ E h_d²),   s = 2/(n + 1) in pass n

p_r is the diagonal of the prior's precision, κ = E σ'(x). The shares s make an average over passes, the later ones
counting more, which takes out the noise of the negatives. The first pass moves no mean: it measures the curvatures,
and how long the steps of each row may be.
P parameters, T fixed targets behind them, W padded dimensions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.checkpoint import Checkpoint, Position
from laplex.engines import cpu, kernels, variational_kernels
from laplex.engines.start import ROWS, START
from laplex.engines.variational import check, precision, turn
from laplex.graph import Graph
from laplex.problem import Problem

STEPS = {"cbow": 0.5, "sgns": 0.25}  # of the CPU engine's first step size: the means are nearly there
MEASURE = 1e-12  # the rate of a pass that moves nothing
JUDGED = 200_000  # tokens that the ELBO is computed from, the same ones after every pass


class Variational(cpu.Cpu):
    """A problem made ready for the variational kernels, at given means."""

    def __init__(self, problem: Problem, means: NDArray[np.float32], piece: int = 20_000) -> None:
        check(problem)
        super().__init__(problem, _state(problem, means), piece)
        shape = problem.parameters, self.state.theta.shape[1]
        self.variance, self.curvature = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._belief = variational_kernels.Belief(self.variance, self.curvature)
        self._read = variational_kernels.cbow if problem.likelihood == "cbow" else variational_kernels.sgns
        self._own = precision(problem.graph)
        self._tokens = float(problem.visits.sum()) / 2.0  # each is read as a word and as a context

    def _run(self, settings: kernels.Settings, first: int, last: int, kept: object, totals: object) -> None:
        self._read(
            self._lanes, self._text, self._parameters, self._edges, self._belief, settings, first, last, kept, totals
        )

    def settle(self, number: int, of: int) -> None:
        """Take new variances from the curvatures of pass `number`, the first being 0, that is over.

        After the first, Adagrad's accumulators become those of `of` passes, as many as led to the means.
        """
        if number == 0:
            found = self.state.note[:, kernels.ACC] - START
            self.state.note[:, kernels.ACC] = START + of * found
        size, share = self.problem.dimensions, 2.0 / (number + 2.0)
        for row in range(0, len(self.variance), ROWS):
            rows = slice(row, row + ROWS)
            found = self._own[rows, None] + self.curvature[rows, :size]
            if number:
                found = share * found + (1.0 - share) / self.variance[rows, :size]
            self.variance[rows, :size] = 1.0 / found
        self.curvature[:] = 0.0

    def expected_log_prior(self, graph: Graph) -> float:
        """E_q of the log prior under a part of the graph, up to its constant."""
        return self.state.log_prior(graph) - 0.5 * float(precision(graph) @ self.variance.sum(1, dtype=np.float64))

    def entropy(self) -> float:
        """H(q)."""
        logs = np.log(self.variance[:, : self.problem.dimensions]).sum(dtype=np.float64)
        return 0.5 * float(logs + self.problem.parameters * self.problem.dimensions * np.log(2.0 * np.pi * np.e))

    def expected_log_likelihood(self, block: int, drawn: int, seed: int, threads: int) -> float:
        """E_q of the log likelihood of the whole text after subsampling, from a part of it.

        The part, what is subsampled and the negatives depend on the seed alone: two beliefs are judged by the same.
        """
        order = np.random.default_rng([seed, 5]).permutation(self.pieces)
        sizes = np.diff(self.problem.offsets[self._pieces], axis=1)[order, 0]
        chosen = order[np.cumsum(sizes) - sizes < JUDGED].tolist()

        def judge(piece: int) -> NDArray[np.float64]:
            own = kernels.Settings(self.problem.window, self.problem.negatives, block, drawn, 0.0, seed + 7 * piece)
            totals = np.zeros(3)
            first, last = self._pieces[piece].tolist()
            self._run(own, first, last, np.empty(self._longest, np.int32), totals)
            return totals

        with ThreadPoolExecutor(threads) as pool:
            _, value, judged = np.sum(list(pool.map(judge, chosen)), axis=0).tolist()
        return float(value / max(judged, 1.0) * self._tokens)

    def record(self, passes: Passes) -> dict[str, Any]:
        """The ELBO and its parts: the likelihood a token, the rest in all."""
        likelihood = self.expected_log_likelihood(passes.block, passes.drawn, passes.seed, passes.threads)
        priors = {name: self.expected_log_prior(graph) for name, graph in self.problem.parts.items()}
        entropy = self.entropy()
        return {
            "log_likelihood": likelihood / max(self._tokens, 1.0),
            "log_prior": sum(priors.values()),
            "priors": priors,
            "elbo": likelihood + sum(priors.values()) + entropy,
        }

    def deviations(self) -> NDArray[np.float32]:
        """(P, D) The standard deviations."""
        return np.sqrt(self.variance[:, : self.problem.dimensions])


def _state(problem: Problem, means: NDArray[np.float32]) -> cpu.State:
    state = cpu.initial(problem, 0)
    state.theta[: problem.parameters, : problem.dimensions] = means
    return state


@dataclass(frozen=True)
class Passes:
    """How the text is to be read."""

    epochs: int
    rate: float  # of the CPU engine
    seed: int
    threads: int
    block: int
    drawn: int
    patience: int | None = None  # stop when the ELBO has not risen for so many passes
    seconds: float = math.inf  # between checkpoints


def refine(
    problem: Problem,
    means: NDArray[np.float32],
    passes: Passes,
    judge: Callable[[NDArray[Any]], float | None],
    checkpoint: Checkpoint,
    report: Callable[[float, str], None],
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[dict[str, Any]]]:
    """(P, D) Means and standard deviations, from the means that maximise the log posterior, and the history.

    FloatingPointError: some are not finite.
    """
    engine = Variational(problem, turn(problem, means))
    state = engine.state
    theta = state.theta[: problem.parameters, : problem.dimensions]
    arrays = {"theta": state.theta, "note": state.note, "variance": engine.variance, "curvature": engine.curvature}
    at = checkpoint.resume(arrays)
    engine.compile()
    first = cpu.Epoch(
        0,
        passes.epochs,
        STEPS[problem.likelihood] * passes.rate,
        passes.seed + 1,
        passes.threads,
        passes.block,
        passes.drawn,
    )
    while (number := len(at.history)) < passes.epochs and not _stale(at.history, passes.patience):
        epoch = replace(first, number=number, rate=first.rate if number else MEASURE)

        def tell(share: float, number: int = number) -> None:
            report((number + share) / passes.epochs, f"pass {number + 1} of {passes.epochs}")

        started = time.monotonic()
        at.piece, totals = engine.run(epoch, tell, at.piece, passes.seconds)
        at.totals, at.seconds = at.totals + totals, at.seconds + time.monotonic() - started
        if not np.isfinite(state.note).all():
            raise FloatingPointError
        if at.piece == engine.pieces:
            engine.settle(number, passes.epochs)
            speed = float(at.totals[0]) / max(at.seconds, 1e-9)
            record = engine.record(passes) | {"held_out": judge(theta), "tokens_per_second": speed}
            at = Position([*at.history, record])
        checkpoint.save(arrays, at)
    engine.state.fill(problem.graph)
    return state.unpadded(problem.parameters, problem.dimensions), engine.deviations(), at.history


def _stale(history: list[dict[str, Any]], patience: int | None) -> bool:
    values = [record["elbo"] for record in history]
    return patience is not None and len(values) > patience and max(values[-patience:]) <= max(values[:-patience])
