"""Mean-field variational inference: a mean and a standard deviation for every number of every vector.

Of all q(θ) = Π N(μ_rd, v_rd), the one is found whose lower bound of the log evidence is highest:

    ELBO = E_q log p(x | θ) + E_q log p(θ) + H(q),   H(q) = ½ Σ log(2πe v_rd)
    E_q log p(θ) = log p(μ) − ½ Σ_r p_r Σ_d v_rd,   p_r = d_r + Σ_j a_rj: the diagonal of the prior's precision

The constant of log p(θ) is left out. The score x = ρ·h of independent normal ρ and h = Σ_c n_c α_c has

    E x = μ_ρ·μ_h,   Var x = (μ_ρ² + v_ρ)·v_h + v_ρ·μ_h²,   v_h = Σ_c n_c² v_c

It is taken as normal, since it is a sum over dimensions, and E log σ(x) is a sum over Gauss–Hermite points: the one
approximation, which makes the ELBO a smooth function of μ and v. The deviations are too narrow, since each number is
taken as independent of all others. How much depends on the axes, so the vectors are first rotated to their principal
axes. They are not a test, and say nothing about another sample of text.

The reference (`maximize`) uses L-BFGS. The CPU engine (`Variational`, over `variational_kernels.py`) starts at the
means that maximize the log posterior. Each pass moves them by stochastic steps and sums the curvature of the expected
log likelihood for each number. Then every precision takes a natural-gradient step to where the ELBO is highest given
all else, which is stable whatever the strength of the prior:

    1/v_rd ← (1 − s) / v_rd + s (p_r + Σ κ E h_d²),   s = 2/(n + 1) in pass n,   κ = E σ'(x)

The weights s average over passes, which removes the noise of the negatives. The first pass moves no mean: it measures
the curvatures, and how long the steps of each row may be.

P parameters, D dimensions, W padded dimensions, V words, n tokens.
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
from scipy import sparse
from scipy.special import expit, log_expit

from laplex.engines import cpu, variational_kernels
from laplex.engines.reference import minimize_lbfgs
from laplex.engines.sampling import count_visits
from laplex.engines.state import INITIAL_ACCUMULATOR, Epoch, Floats, State, edge_ends, row_batches
from laplex.errors import InputError
from laplex.model.graph import Graph
from laplex.model.likelihoods import SliceText
from laplex.model.objective import log_prior, log_prior_gradient, slice_texts
from laplex.model.problem import Problem
from laplex.runtime.checkpoint import Checkpoint, Position

QUADRATURE_POINTS = 16  # exact to 1e-5 for a score whose deviation is 2
_Z, _W = np.polynomial.hermite_e.hermegauss(QUADRATURE_POINTS)
_W = _W / _W.sum()
MIN_VARIANCE = 1e-12


def check(problem: Problem) -> None:
    """Variational inference needs a density, and scores of rows that are independent."""
    if problem.graph.directed.any():
        raise InputError(
            f"{int(problem.graph.directed.sum()):,} edges are directed: they are a penalty, not a prior, so there is "
            'nothing for inference="variational" to approximate. Leave out directed=True, or write inference="map"'
        )
    vocabulary = int(problem.vocabulary_start[-1])
    shared = np.intersect1d(problem.slot[:-vocabulary], problem.slot[-vocabulary:])
    if len(shared):
        raise InputError(
            f"{len(shared):,} vectors are tied to be of a word and of a context at once, which "
            'inference="variational" cannot take: give these edges a finite strength, or write inference="map"'
        )


def precision(graph: Graph) -> Floats:
    """(P) The diagonal of the prior's precision matrix: the precision of a row given all others."""
    ends, _, pull, _ = edge_ends(graph)
    return graph.diagonal + np.bincount(ends, np.abs(pull), len(graph))


def rotate_to_principal_axes(problem: Problem, mean: NDArray[Any]) -> NDArray[Any]:
    """The same vectors along their principal axes, each row weighted by how often it is read.

    No rotation changes the likelihood or the prior, but the numbers of a vector are most nearly independent along these
    axes, and so the ELBO is higher. Vectors that are to be near fixed ones stay as they are.
    """
    if len(problem.graph.targets):
        return mean
    reads = count_visits(problem, 1, 1).reads
    moment = np.zeros((mean.shape[1], mean.shape[1]))
    for rows in row_batches(len(mean)):
        batch = mean[rows].astype(np.float64)
        moment += (batch * reads[rows, None]).T @ batch
    axes = np.linalg.eigh(moment)[1][:, ::-1]
    rotated: NDArray[Any] = mean @ axes.astype(mean.dtype)
    return rotated


def expect(mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """E log σ(x) of a normal x, and its derivatives with respect to its mean and its variance."""
    deviation = np.sqrt(variance + MIN_VARIANCE)
    value, by_mean, by_deviation = np.zeros_like(mean), np.zeros_like(mean), np.zeros_like(mean)
    for z, weight in zip(_Z.tolist(), _W.tolist(), strict=True):
        x = mean + z * deviation
        slope = weight * expit(-x)
        value += weight * log_expit(x)
        by_mean += slope
        by_deviation += z * slope
    return value, by_mean, by_deviation / (2.0 * deviation)


def expected_log_likelihood(
    problem: Problem, mean: Floats, variance: Floats, text: list[SliceText] | None = None
) -> tuple[float, Floats, Floats]:
    """E_q log p(x | θ), and its derivatives with respect to μ and v."""
    value, d_mean, d_variance = 0.0, np.zeros_like(mean), np.zeros_like(variance)
    expectation = problem.likelihood.kernel(EXPECTATIONS, 'inference="variational"')
    for part in slice_texts(problem) if text is None else text:
        rows, place = np.unique(part.contexts, return_inverse=True)  # tied contexts are one
        shape = (len(place), len(rows))
        merge = sparse.csr_array((np.ones(shape[0]), (np.arange(shape[0]), place)), shape=shape)
        merged = replace(part, contexts=rows, around=(part.around @ merge).tocsr())
        words, contexts = (mean[part.words], variance[part.words]), (mean[rows], variance[rows])
        part_value, *slopes = expectation(merged, *words, *contexts, problem.negatives)
        value += part_value
        np.add.at(d_mean, part.words, slopes[0])
        np.add.at(d_variance, part.words, slopes[1])
        np.add.at(d_mean, rows, slopes[2])
        np.add.at(d_variance, rows, slopes[3])
    return value, d_mean, d_variance


Slopes = tuple[float, Floats, Floats, Floats, Floats]  # the value, and its derivatives by ρ, v_ρ, α and v_α


def _cbow(text: SliceText, rho: Floats, rho_v: Floats, alpha: Floats, alpha_v: Floats, negatives: int) -> Slopes:
    squared = text.around.multiply(text.around).tocsr()
    h, h_v = text.around @ alpha, squared @ alpha_v
    score, score_v = h @ rho.T, h_v @ (rho**2 + rho_v).T + h**2 @ rho_v.T  # (n, V)
    at = np.arange(len(h)), text.tokens
    positive, positive_m, positive_v = expect(score[at], score_v[at])
    negative, negative_m, negative_v = expect(-score, score_v)
    weight = negatives * text.noise
    by_mean, by_variance = -weight * negative_m, weight * negative_v
    by_mean[at] += positive_m
    by_variance[at] += positive_v
    d_rho, d_rho_v, d_h, d_h_v = _chain_rule(by_mean.T, by_variance.T, rho, rho_v, h, h_v)
    value = float(positive.sum() + (negative @ weight).sum())
    return value, d_rho, d_rho_v, text.around.T @ d_h, squared.T @ d_h_v


def _sgns(text: SliceText, rho: Floats, rho_v: Floats, alpha: Floats, alpha_v: Floats, negatives: int) -> Slopes:
    together = text.cooccurrences.toarray()  # (V, contexts)
    score, score_v = rho @ alpha.T, (rho**2 + rho_v) @ alpha_v.T + rho_v @ (alpha**2).T
    positive, positive_m, positive_v = expect(score, score_v)
    negative, negative_m, negative_v = expect(-score, score_v)
    weight = negatives * np.outer(text.noise, together.sum(0))
    by_mean, by_variance = together * positive_m - weight * negative_m, together * positive_v + weight * negative_v
    value = float((together * positive).sum() + (weight * negative).sum())
    return value, *_chain_rule(by_mean, by_variance, rho, rho_v, alpha, alpha_v)


EXPECTATIONS = {"cbow": _cbow, "sgns": _sgns}


def _chain_rule(
    by_mean: Floats, by_variance: Floats, rho: Floats, rho_v: Floats, h: Floats, h_v: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """From derivatives by the means and variances of scores (V, n) to those by ρ, its variance, h and its variance."""
    d_rho = by_mean @ h + 2.0 * rho * (by_variance @ h_v)
    d_h = by_mean.T @ rho + 2.0 * h * (by_variance.T @ rho_v)
    return d_rho, by_variance @ (h**2 + h_v), d_h, by_variance.T @ (rho**2 + rho_v)


def elbo(
    problem: Problem, mean: Floats, variance: Floats, text: list[SliceText] | None = None
) -> tuple[float, Floats, Floats]:
    """The lower bound of the log evidence, less the prior's constant, and its derivatives by μ and v."""
    value, d_mean, d_variance = expected_log_likelihood(problem, mean, variance, text)
    diagonal = precision(problem.graph)[:, None]
    value += log_prior(problem.graph, mean) + float(-0.5 * (diagonal * variance).sum() + entropy(variance))
    return value, d_mean + log_prior_gradient(problem.graph, mean), d_variance - 0.5 * diagonal + 0.5 / variance


def entropy(variance: Floats) -> float:
    """H(q)."""
    return float(0.5 * np.log(2.0 * np.pi * np.e * variance).sum())


def maximize(
    problem: Problem, mean: Floats, *, variance: Floats | None = None, steps: int = 2000, tolerance: float = 1e-7
) -> tuple[Floats, Floats]:
    """The nearest maximum of the ELBO to these means: μ and v, by L-BFGS."""
    text = list(slice_texts(problem))
    if variance is None:
        curvature = -2.0 * expected_log_likelihood(problem, mean, np.zeros_like(mean), text)[2]
        variance = 1.0 / (precision(problem.graph)[:, None] + curvature)

    def downhill(flat: Floats) -> tuple[float, Floats]:
        mu, v = flat[: mean.size].reshape(mean.shape), np.exp(flat[mean.size :].reshape(mean.shape))
        value, d_mu, d_v = elbo(problem, mu, v, text)
        return -value, -np.concatenate([d_mu.reshape(-1), (v * d_v).reshape(-1)])

    start = np.concatenate([mean.reshape(-1), np.log(variance).reshape(-1)])
    mu, log_v = np.split(minimize_lbfgs(downhill, start, steps, tolerance), 2)
    return mu.reshape(mean.shape), np.exp(log_v.reshape(mean.shape))


def fit(
    problem: Problem, mean: Floats, judge: Callable[[NDArray[Any]], float | None]
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[dict[str, Any]]]:
    """(P, D) Means and standard deviations by L-BFGS, and the history, which is one record."""
    started = time.monotonic()
    mean, variance = maximize(problem, rotate_to_principal_axes(problem, mean))
    tokens = int(np.diff(problem.offsets)[~problem.held_out].sum())
    priors = {
        name: log_prior(part, mean) - 0.5 * float(precision(part) @ variance.sum(1))
        for name, part in problem.parts.items()
    }
    record = {
        "log_likelihood": expected_log_likelihood(problem, mean, variance)[0] / tokens,
        "log_prior": sum(priors.values()),
        "held_out": judge(mean),
        "tokens_per_second": tokens / max(time.monotonic() - started, 1e-9),
        "priors": priors,
        "elbo": elbo(problem, mean, variance)[0],
    }
    return mean.astype(np.float32), np.sqrt(variance).astype(np.float32), [record]


KERNELS: cpu.Kernels = {"cbow": (variational_kernels.cbow, False), "sgns": (variational_kernels.sgns, True)}
RATES = {"cbow": 0.5, "sgns": 0.25}  # shares of the CPU engine's first step size: the means are nearly at their optimum
MEASURING_RATE = 1e-12  # of a pass that moves nothing
ELBO_TOKENS = 200_000  # that the ELBO is computed from, the same ones after every pass


class Variational(cpu.Cpu):
    """A problem prepared for the variational kernels, at given means."""

    kernel_table = KERNELS
    setting = 'inference="variational"'

    def __init__(
        self,
        problem: Problem,
        means: NDArray[np.float32],
        block: int,
        negatives_per_block: int,
        piece: int | None = None,
    ) -> None:
        state = State.initial(problem, 0)
        state.theta[: problem.parameters] = means
        super().__init__(problem, state, block, negatives_per_block, piece)
        shape = problem.parameters, state.memory.shape[1]
        self.variance, self.curvature = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._arguments += (variational_kernels.Moments(self.variance, self.curvature),)
        self._precision = precision(problem.graph)
        self._tokens = float(self.visits.reads.sum()) / 2.0  # each is read as a word and as a context

    def update_variances(self, number: int, of: int) -> None:
        """Compute the variances from the curvatures of pass `number`, the first being 0, that is over.

        After the first, Adagrad's accumulators become those of `of` passes, as many as led to the means.
        """
        if number == 0:
            growth = self.state.accumulator - INITIAL_ACCUMULATOR
            self.state.accumulator[:] = INITIAL_ACCUMULATOR + of * growth
        dimensions, share = self.problem.dimensions, 2.0 / (number + 2.0)
        for rows in row_batches(len(self.variance)):
            updated = self._precision[rows, None] + self.curvature[rows, :dimensions]
            if number:
                updated = share * updated + (1.0 - share) / self.variance[rows, :dimensions]
            self.variance[rows, :dimensions] = 1.0 / updated
        self.curvature[:] = 0.0

    def expected_log_likelihood(self, seed: int, threads: int) -> float:
        """E_q of the log likelihood of the whole text after subsampling, from a sample of it.

        The sample, what is subsampled and the negatives depend on the seed alone, so that two posteriors are judged by
        the same tokens.
        """
        order = np.random.default_rng([seed, 5]).permutation(self.pieces)
        sizes = np.diff(self._segments.offsets[self._pieces], axis=1)[order, 0]
        chosen = order[np.cumsum(sizes) - sizes < ELBO_TOKENS].tolist()

        def judge(piece: int) -> Floats:
            totals = np.zeros(3)
            self._run_kernel(self._pieces[piece].tolist(), 0.0, seed + 7 * piece, self._scratch(), totals)
            return totals

        with ThreadPoolExecutor(threads) as pool:
            _, value, judged = np.sum(list(pool.map(judge, chosen)), axis=0).tolist()
        return float(value / max(judged, 1.0) * self._tokens)

    def record(self, seed: int, threads: int) -> dict[str, Any]:
        """The ELBO and its parts: the likelihood of a token, the rest of all parameters."""
        likelihood = self.expected_log_likelihood(seed, threads)
        spread = self.variance.sum(1, dtype=np.float64)
        priors = {
            name: self.state.log_prior(graph) - 0.5 * float(precision(graph) @ spread)
            for name, graph in self.problem.parts.items()
        }
        parameters, dimensions = self.problem.parameters, self.problem.dimensions
        logs = np.log(self.variance[:, :dimensions]).sum(dtype=np.float64)
        entropy = 0.5 * float(logs + parameters * dimensions * np.log(2.0 * np.pi * np.e))
        return {
            "log_likelihood": likelihood / max(self._tokens, 1.0),
            "log_prior": sum(priors.values()),
            "priors": priors,
            "elbo": likelihood + sum(priors.values()) + entropy,
        }

    def deviations(self) -> NDArray[np.float32]:
        """(P, D) The standard deviations."""
        return np.sqrt(self.variance[:, : self.problem.dimensions])


@dataclass(frozen=True)
class Passes:
    """How often and in which steps the text is read."""

    epochs: int
    rate: float  # of the CPU engine
    seed: int
    threads: int
    block: int
    negatives_per_block: int
    patience: int | None = None  # stop when the ELBO has not risen for this many passes
    seconds: float = math.inf  # between checkpoints


def refine(
    problem: Problem,
    means: NDArray[np.float32],
    passes: Passes,
    judge: Callable[[NDArray[Any]], float | None],
    checkpoint: Checkpoint,
    report: Callable[[float, str], None],
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[dict[str, Any]]]:
    """(P, D) Means and standard deviations, from the means that maximize the log posterior, and the history.

    Raises a FloatingPointError if they are not finite.
    """
    means = rotate_to_principal_axes(problem, means)
    engine = Variational(problem, means, passes.block, passes.negatives_per_block)
    state = engine.state
    arrays = state.arrays | {"variance": engine.variance, "curvature": engine.curvature}
    at = checkpoint.resume(arrays)
    engine.compile()
    rate = RATES[problem.likelihood.name] * passes.rate
    while (number := len(at.history)) < passes.epochs and not _stale(at.history, passes.patience):
        epoch = Epoch(number, passes.epochs, rate if number else MEASURING_RATE, passes.seed + 1, passes.threads)

        def report_pass(share: float, number: int = number) -> None:
            report((number + share) / passes.epochs, f"pass {number + 1} of {passes.epochs}")

        started = time.monotonic()
        at.piece, totals = engine.run(epoch, report_pass, at.piece, passes.seconds)
        at.totals, at.seconds = at.totals + totals, at.seconds + time.monotonic() - started
        if not np.isfinite(state.accumulator).all():
            raise FloatingPointError
        if at.piece == engine.pieces:
            engine.update_variances(number, passes.epochs)
            speed = float(at.totals[0]) / max(at.seconds, 1e-9)
            theta = state.theta[: problem.parameters]
            record = engine.record(passes.seed, passes.threads)
            record |= {"held_out": judge(theta), "tokens_per_second": speed}
            at = Position([*at.history, record])
        checkpoint.save(arrays, at)
    state.fill(problem.graph)
    return state.unpadded(problem.parameters), engine.deviations(), at.history


def _stale(history: list[dict[str, Any]], patience: int | None) -> bool:
    values = [record["elbo"] for record in history]
    return patience is not None and len(values) > patience and max(values[-patience:]) <= max(values[:-patience])
