"""How sure is the model of each number in each vector? Mean-field variational inference for the whole θ.

A Problem comes in; for every parameter a mean and a standard deviation go out: of all q(θ) = Π N(μ_rd, v_rd), the one
whose lower bound of the log evidence is highest.

    ELBO = E_q log p(x | θ) + E_q log p(θ) + H(q)
    E_q log p(θ) = log p(μ) − ½ Σ_r p_r Σ_d v_rd,   p_r = d_r + Σ_j a_rj: the diagonal of the prior's precision
    H(q) = ½ Σ log(2πe v_rd)

Both are exact; the constant of log p(θ), which depends on the graph alone, is left out (`log_constant` has it). For the
likelihood, the score x = ρ·h of independent normal ρ and h = Σ_c n_c α_c has

    E x = μ_ρ·μ_h,   Var x = (μ_ρ² + v_ρ)·v_h + v_ρ·μ_h²,   v_h = Σ_c n_c² v_c

exactly. It is taken as normal, since it is a sum over dimensions, and E log σ(x) is a sum over Gauss–Hermite points.
That is the one approximation, and it makes the ELBO a smooth function of μ and v, with no draws in it.

What these deviations are: what the model believes, all occurrences independent. They are too narrow, since each
number is taken as independent of all others. They are not a test, and say nothing about another sample of text.
How much too narrow depends on the axes, so the vectors are first turned to their principal axes (`turn`).
P parameters, D dimensions, V words, n tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import splu
from scipy.special import expit, log_expit

from laplex.errors import InputError
from laplex.graph import Graph
from laplex.objective import Group, groups, log_prior, log_prior_gradient
from laplex.problem import Problem

Floats = NDArray[np.float64]
POINTS = 16  # of the quadrature: exact to 1e-5 for a score whose deviation is 2
_Z, _W = np.polynomial.hermite_e.hermegauss(POINTS)
_W = _W / _W.sum()
TINY = 1e-12
ROWS = 10_000  # that are worked on at once


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
    """(P) The diagonal of the prior's precision: what it says of a row if all others were known."""
    inner = graph.second < len(graph)
    ends = np.concatenate([graph.first, graph.second[inner]])
    return graph.diagonal + np.bincount(ends, np.concatenate([graph.weight, graph.weight[inner]]), len(graph))


def turn(problem: Problem, mean: NDArray[Any]) -> NDArray[Any]:
    """The same vectors along their principal axes, each row counting as often as it is read.

    No rotation changes the likelihood or the prior, but the numbers of a vector are most nearly independent along these
    axes, and so the ELBO is higher. Vectors that are to be near fixed ones stay as they are.
    """
    if len(problem.graph.targets):
        return mean
    square = np.zeros((mean.shape[1], mean.shape[1]))
    for row in range(0, len(mean), ROWS):
        part = mean[row : row + ROWS].astype(np.float64)
        square += (part * problem.visits[row : row + ROWS, None]).T @ part
    axes = np.linalg.eigh(square)[1][:, ::-1]
    turned: NDArray[Any] = mean @ axes.astype(mean.dtype)
    return turned


def expect(mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """E log σ(x) of a normal x, and its derivatives with respect to its mean and its variance."""
    deviation = np.sqrt(variance + TINY)
    value, by_mean, by_deviation = np.zeros_like(mean), np.zeros_like(mean), np.zeros_like(mean)
    for z, weight in zip(_Z.tolist(), _W.tolist(), strict=True):
        x = mean + z * deviation
        slope = weight * expit(-x)
        value += weight * log_expit(x)
        by_mean += slope
        by_deviation += z * slope
    return value, by_mean, by_deviation / (2.0 * deviation)


def expected_log_likelihood(
    problem: Problem, mean: Floats, variance: Floats, text: list[Group] | None = None
) -> tuple[float, Floats, Floats]:
    """E_q log p(x | θ), and its derivatives with respect to μ and v."""
    value, d_mean, d_variance = 0.0, np.zeros_like(mean), np.zeros_like(variance)
    for group in groups(problem) if text is None else text:
        rows, place = np.unique(group.contexts, return_inverse=True)  # tied contexts are one
        shape = (len(place), len(rows))
        merge = sparse.csr_array((np.ones(shape[0]), (np.arange(shape[0]), place)), shape=shape)
        around = (group.around @ merge).tocsr()
        one = _cbow if problem.likelihood == "cbow" else _sgns
        ends = mean[group.words], variance[group.words], mean[rows], variance[rows]
        part, *slopes = one(group, around, *ends, problem.negatives)
        value += part
        np.add.at(d_mean, group.words, slopes[0])
        np.add.at(d_variance, group.words, slopes[1])
        np.add.at(d_mean, rows, slopes[2])
        np.add.at(d_variance, rows, slopes[3])
    return value, d_mean, d_variance


Slopes = tuple[float, Floats, Floats, Floats, Floats]


def _cbow(
    group: Group, around: sparse.csr_array, rho: Floats, rho_v: Floats, alpha: Floats, alpha_v: Floats, negatives: int
) -> Slopes:
    squared = around.multiply(around).tocsr()
    h, h_v = around @ alpha, squared @ alpha_v
    own = sparse.csr_array(
        (np.ones(len(h)), (np.arange(len(h)), group.tokens)), shape=(len(h), len(rho))
    )  # (n, V) which word a token is
    score, score_v = h @ rho.T, h_v @ (rho**2 + rho_v).T + h**2 @ rho_v.T
    at = np.arange(len(h)), group.tokens
    right, right_m, right_v = expect(score[at], score_v[at])
    wrong, wrong_m, wrong_v = expect(-score, score_v)
    expected = negatives * group.noise
    value = right.sum() + (wrong @ expected).sum()
    by_mean = own.multiply(right_m[:, None]).toarray() - wrong_m * expected  # (n, V)
    by_variance = own.multiply(right_v[:, None]).toarray() + wrong_v * expected
    d_rho, d_rho_v, d_h, d_h_v = _through(by_mean.T, by_variance.T, rho, rho_v, h, h_v)
    return float(value), d_rho, d_rho_v, around.T @ d_h, squared.T @ d_h_v


def _sgns(
    group: Group, around: sparse.csr_array, rho: Floats, rho_v: Floats, alpha: Floats, alpha_v: Floats, negatives: int
) -> Slopes:
    shape = (len(rho), len(group.tokens))
    is_token = sparse.csr_array((np.ones(shape[1]), (group.tokens, np.arange(shape[1]))), shape=shape)
    together = (is_token @ around).toarray()  # (V, V) how often word v has context c
    score, score_v = rho @ alpha.T, (rho**2 + rho_v) @ alpha_v.T + rho_v @ (alpha**2).T
    right, right_m, right_v = expect(score, score_v)
    wrong, wrong_m, wrong_v = expect(-score, score_v)
    expected = negatives * np.outer(group.noise, together.sum(0))
    value = (together * right).sum() + (expected * wrong).sum()
    by_mean, by_variance = together * right_m - expected * wrong_m, together * right_v + expected * wrong_v
    return float(value), *_through(by_mean, by_variance, rho, rho_v, alpha, alpha_v)


def _through(
    by_mean: Floats, by_variance: Floats, rho: Floats, rho_v: Floats, h: Floats, h_v: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """From the derivatives by the scores' mean and variance (V, n) to those by ρ, its variance, h and its variance."""
    d_rho = by_mean @ h + 2.0 * rho * (by_variance @ h_v)
    d_h = by_mean.T @ rho + 2.0 * h * (by_variance.T @ rho_v)
    return d_rho, by_variance @ (h**2 + h_v), d_h, by_variance.T @ (rho**2 + rho_v)


def elbo(
    problem: Problem, mean: Floats, variance: Floats, text: list[Group] | None = None
) -> tuple[float, Floats, Floats]:
    """The lower bound of the log evidence, less the prior's constant, and its derivatives by μ and v."""
    value, d_mean, d_variance = expected_log_likelihood(problem, mean, variance, text)
    own = precision(problem.graph)[:, None]
    value += log_prior(problem.graph, mean) + float(-0.5 * (own * variance).sum() + entropy(variance))
    return value, d_mean + log_prior_gradient(problem.graph, mean), d_variance - 0.5 * own + 0.5 / variance


def entropy(variance: Floats) -> float:
    """H(q)."""
    return float(0.5 * np.log(2.0 * np.pi * np.e * variance).sum())


def log_constant(graph: Graph, dimensions: int) -> float:
    """What log p(θ) leaves out: ½ D log det(L + D) − ½ P D log 2π. For graphs that can be factorised."""
    upper = splu(sparse.csc_array(graph.laplacian())).U
    return float(0.5 * dimensions * (np.log(np.abs(upper.diagonal())).sum() - len(graph) * np.log(2.0 * np.pi)))


def maximize(
    problem: Problem, mean: Floats, *, variance: Floats | None = None, steps: int = 2000, tolerance: float = 1e-7
) -> tuple[Floats, Floats]:
    """The nearest maximum of the ELBO to these means, the log posterior's maximum perhaps: μ and v, by L-BFGS."""
    check(problem)
    text = list(groups(problem))
    if variance is None:
        curvature = -2.0 * expected_log_likelihood(problem, mean, np.zeros_like(mean), text)[2]
        variance = 1.0 / (precision(problem.graph)[:, None] + curvature)

    def downhill(flat: Floats) -> tuple[float, Floats]:
        mu, v = flat[: mean.size].reshape(mean.shape), np.exp(flat[mean.size :].reshape(mean.shape))
        value, d_mu, d_v = elbo(problem, mu, v, text)
        return -value, -np.concatenate([d_mu.reshape(-1), (v * d_v).reshape(-1)])

    found = minimize(
        downhill,
        np.concatenate([mean.reshape(-1), np.log(variance).reshape(-1)]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": tolerance * 1e-3, "gtol": tolerance, "maxcor": 20},
    ).x
    return found[: mean.size].reshape(mean.shape), np.exp(found[mean.size :].reshape(mean.shape))


def fit(
    problem: Problem, mean: Floats, judge: Callable[[NDArray[Any]], float | None]
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[dict[str, Any]]]:
    """(P, D) Means and standard deviations, and the history: the one record of where L-BFGS came to."""
    started = time.monotonic()
    mean, variance = maximize(problem, turn(problem, mean))
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
