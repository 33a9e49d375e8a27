"""The log posterior and its gradient in plain NumPy: the reference for all engines.

    log p(θ | x) = log p(x | θ) + log p(θ)
    CBOW   log p(x | θ) = Σ_i [ log σ(ρ_v·h_i) + K Σ_w P(w) log σ(−ρ_w·h_i) ],   h_i = Σ_{c in window} α_c
    SGNS   log p(x | θ) = Σ_i Σ_{c in window} [ log σ(ρ_v·α_c) + K Σ_w P(w) log σ(−ρ_w·α_c) ]
    log p(θ) = −½ Σ a_ij ‖θ_i ∓ θ_j‖² − ½ Σ d_i ‖θ_i‖²

The K negatives enter by their exact expectation; nothing is subsampled. ρ are the word rows of the token's own
language and slice, P(w) the noise distribution of that language, or of its words that occur in that slice (`present`).
A document of one token has no context and says nothing. θ is (P, D), float64.
A directed edge has no density: its cost is counted here, and its gradient is only that on its first end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit

from laplex.graph import Graph
from laplex.problem import Problem

Floats = NDArray[np.float64]
BATCH = 8192  # held-out tokens judged at once


def log_prior(graph: Graph, theta: Floats) -> float:
    """log p(θ) up to its constant."""
    ends = _with_targets(graph, theta)
    difference = ends[graph.first] - graph.sign[:, None] * ends[graph.second]
    edges = graph.weight @ (difference * difference).sum(1)
    return float(-0.5 * edges - 0.5 * graph.diagonal @ (theta * theta).sum(1))


def log_prior_gradient(graph: Graph, theta: Floats) -> Floats:
    """∂ log p / ∂θ_i = −Σ_j a_ij (θ_i ∓ θ_j) − d_i θ_i."""
    ends = _with_targets(graph, theta)
    pull = graph.weight[:, None] * (ends[graph.first] - graph.sign[:, None] * ends[graph.second])
    gradient = -graph.diagonal[:, None] * theta
    np.subtract.at(gradient, graph.first, pull)
    back = ~graph.directed & (graph.second < len(graph))
    np.add.at(gradient, graph.second[back], graph.sign[back, None] * pull[back])
    return gradient


def _with_targets(graph: Graph, theta: Floats) -> Floats:
    return np.concatenate([theta, graph.targets]) if len(graph.targets) else theta


@dataclass(frozen=True, eq=False)
class Group:
    """The text of one language and slice: the tokens, and which words are around each."""

    words: NDArray[np.int32]  # (V) parameters of the word rows; −1, any, where there is neither token nor noise
    contexts: NDArray[np.int32]  # (V) parameters of the context rows
    noise: Floats  # (V)
    tokens: NDArray[np.int32]  # (n) word ids
    around: sparse.csr_array  # (n, V) how often a word is in the window of a token


def groups(problem: Problem, held_out: bool = False, most: float = np.inf) -> Iterator[Group]:
    """The text that is trained on (or held out), language by language and slice by slice; `most` tokens of it."""
    lengths = np.diff(problem.offsets)
    chosen = np.flatnonzero((problem.held_out == held_out) & (lengths > 1))
    chosen = chosen[np.cumsum(lengths[chosen]) - lengths[chosen] < most]
    for start in np.unique(problem.word_start[chosen]):
        documents = chosen[problem.word_start[chosen] == start]
        language = problem.language[documents[0]]
        low, high = problem.vocabulary_start[language : language + 2]
        context = problem.context_start[documents[0]]
        tokens, around = _windows(problem, documents, int(high - low))
        yield Group(
            problem.slot[start : start + high - low],
            problem.slot[context : context + high - low],
            problem.negatives_of(int(start), int(language)),
            tokens,
            around,
        )


def _windows(problem: Problem, documents: NDArray[np.int64], size: int) -> tuple[NDArray[np.int32], sparse.csr_array]:
    tokens, rows, columns, done = [], [], [], 0
    for document in documents:
        ids = problem.ids[problem.offsets[document] : problem.offsets[document + 1]]
        for shift in range(1, min(problem.window, len(ids) - 1) + 1):
            here = done + np.arange(len(ids) - shift)
            rows += [here, here + shift]  # a token sees the one `shift` behind it, and that one sees it
            columns += [ids[shift:], ids[:-shift]]
        tokens.append(ids)
        done += len(ids)
    row, column = np.concatenate(rows), np.concatenate(columns)
    return np.concatenate(tokens), sparse.csr_array((np.ones(len(row)), (row, column)), shape=(done, size))


def log_likelihood(problem: Problem, theta: Floats, text: list[Group] | None = None) -> tuple[float, Floats]:
    """log p(x | θ) and its gradient."""
    value = 0.0
    gradient = np.zeros_like(theta)
    for group in groups(problem) if text is None else text:
        rho, alpha = theta[group.words], theta[group.contexts]
        one = _cbow if problem.likelihood == "cbow" else _sgns
        part, d_rho, d_alpha = one(group, rho, alpha, problem.negatives)
        value += part
        np.add.at(gradient, group.words, d_rho)
        np.add.at(gradient, group.contexts, d_alpha)
    return value, gradient


def _cbow(group: Group, rho: Floats, alpha: Floats, negatives: int) -> tuple[float, Floats, Floats]:
    h = group.around @ alpha
    own = rho[group.tokens]
    positive = (own * h).sum(1)
    others = h @ rho.T
    value = log_expit(positive).sum() + negatives * (log_expit(-others) @ group.noise).sum()
    e = expit(-positive)[:, None]
    wrong = negatives * expit(others) * group.noise
    d_rho = -wrong.T @ h
    np.add.at(d_rho, group.tokens, e * h)
    return float(value), d_rho, group.around.T @ (e * own - wrong @ rho)


def _sgns(group: Group, rho: Floats, alpha: Floats, negatives: int) -> tuple[float, Floats, Floats]:
    shape = (len(rho), len(group.tokens))
    is_token = sparse.csr_array((np.ones(shape[1]), (group.tokens, np.arange(shape[1]))), shape=shape)
    together = (is_token @ group.around).toarray()  # (V, V) how often word v has context c
    scores = rho @ alpha.T
    expected = negatives * np.outer(group.noise, together.sum(0))
    value = (together * log_expit(scores)).sum() + (expected * log_expit(-scores)).sum()
    slope = together * expit(-scores) - expected * expit(scores)
    return float(value), slope @ alpha, slope.T @ rho


def log_posterior(problem: Problem, theta: Floats, text: list[Group] | None = None) -> tuple[float, Floats]:
    """log p(θ | x) up to its constant, and its gradient."""
    value, gradient = log_likelihood(problem, theta, text)
    return value + log_prior(problem.graph, theta), gradient + log_prior_gradient(problem.graph, theta)


def held_out_log_likelihood(problem: Problem, theta: NDArray[Any], text: list[Group], seed: int) -> float:
    """The mean log likelihood of a token of `text`, with negatives that depend on nothing but `seed`.

    Two models of one vocabulary are compared on the same tokens with the same negatives.
    """
    random = np.random.default_rng([seed, 2])
    total, tokens = 0.0, 0
    for group in text:
        token, column = group.tokens, None
        if problem.likelihood == "sgns":
            pairs = group.around.tocoo()
            times = pairs.data.astype(np.int64)
            token, column = group.tokens[np.repeat(pairs.row, times)], np.repeat(pairs.col, times)
        cumulative = np.cumsum(group.noise)
        for start in range(0, len(token), BATCH):
            own = token[start : start + BATCH]
            if column is None:
                x = _context_sums(group.around[start : start + BATCH], theta, group.contexts)
            else:
                x = theta[group.contexts[column[start : start + BATCH]]]
            drawn = np.searchsorted(cumulative, random.random((len(x), problem.negatives)) * cumulative[-1], "right")
            drawn = np.minimum(drawn, len(group.words) - 1)
            total += float(log_expit((theta[group.words[own]] * x).sum(1)).sum())
            total += float(log_expit(-np.einsum("nkd,nd->nk", theta[group.words[drawn]], x)).sum())
        tokens += len(group.tokens)
    return total / max(tokens, 1)


def _context_sums(around: sparse.csr_array, theta: NDArray[Any], contexts: NDArray[np.int32]) -> NDArray[Any]:
    """around @ θ[contexts], without a copy of all contexts."""
    used, place = np.unique(around.indices, return_inverse=True)
    inner = sparse.csr_array((around.data, place, around.indptr), shape=(around.shape[0], len(used)))
    sums: NDArray[Any] = inner @ theta[contexts[used]]
    return sums
