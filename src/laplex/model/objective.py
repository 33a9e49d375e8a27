"""The log posterior and its gradient in plain NumPy: the reference for all engines.

    log p(θ | x) = log p(x | θ) + log p(θ),    log p(θ) = −½ Σ a_ij ‖θ_i ∓ θ_j‖² − ½ Σ d_i ‖θ_i‖²

The likelihood is that of `likelihoods.py`. Its negatives enter by their exact expectation, and nothing is subsampled. ρ
are the word rows of the token's own language and slice, P(w) the noise distribution of that language, or of its words
that occur in that slice. A document of one token has no context and contributes nothing. θ is (P, D),
float64. A directed edge has no density: its cost is counted here, and its gradient is only that on its first end.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.model.graph import Graph
from laplex.model.likelihoods import HeldOutBatch, HeldOutTokens, SliceText, held_out_batches
from laplex.model.problem import Problem

Floats = NDArray[np.float64]


def log_prior(graph: Graph, theta: Floats) -> float:
    """log p(θ) up to its constant."""
    edges = graph.weight @ (_differences(graph, theta) ** 2).sum(1)
    return float(-0.5 * edges - 0.5 * graph.diagonal @ (theta * theta).sum(1))


def log_prior_gradient(graph: Graph, theta: Floats) -> Floats:
    """∂ log p / ∂θ_i = −Σ_j a_ij (θ_i ∓ θ_j) − d_i θ_i."""
    pull = graph.weight[:, None] * _differences(graph, theta)
    gradient = -graph.diagonal[:, None] * theta
    np.subtract.at(gradient, graph.first, pull)
    back = ~graph.directed & (graph.second < len(graph))
    np.add.at(gradient, graph.second[back], graph.sign[back, None] * pull[back])
    return gradient


def _differences(graph: Graph, theta: Floats) -> Floats:
    """(E, D) θ_i ∓ θ_j."""
    ends = np.concatenate([theta, graph.targets]) if len(graph.targets) else theta
    differences: Floats = np.subtract(ends[graph.first], graph.sign[:, None] * ends[graph.second])
    return differences


def slice_texts(problem: Problem) -> Iterator[SliceText]:
    """The text that is trained on, by language and slice."""
    documents = np.flatnonzero(~problem.held_out & (np.diff(problem.offsets) > 1))
    for start in np.unique(problem.word_start[documents]):
        chosen = documents[problem.word_start[documents] == start]
        noise = problem.negatives_of(int(problem.language[chosen[0]]))
        words, contexts = (
            problem.slot[first : first + len(noise)] for first in (start, problem.context_start[chosen[0]])
        )
        ids, offsets = _concatenate(problem, chosen)
        windows = problem.likelihood.windows(np.repeat(np.arange(len(chosen)), np.diff(offsets)), problem.window)
        around = sparse.csr_array((windows.data, ids[windows.indices], windows.indptr), shape=(len(ids), len(noise)))
        around.sum_duplicates()
        yield SliceText(words, contexts, noise, ids, around)


def _concatenate(problem: Problem, documents: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The words of some documents, and where each document begins among them."""
    lengths = np.diff(problem.offsets)[documents]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.repeat(problem.offsets[documents] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return problem.ids[place], offsets


def log_likelihood(problem: Problem, theta: Floats, texts: list[SliceText] | None = None) -> tuple[float, Floats]:
    """log p(x | θ) and its gradient."""
    value = 0.0
    gradient = np.zeros_like(theta)
    for text in slice_texts(problem) if texts is None else texts:
        rho, alpha = theta[text.words], theta[text.contexts]
        part, d_rho, d_alpha = problem.likelihood.log_likelihood(text, rho, alpha, problem.negatives)
        value += part
        np.add.at(gradient, text.words, d_rho)
        np.add.at(gradient, text.contexts, d_alpha)
    return value, gradient


def log_posterior(problem: Problem, theta: Floats, texts: list[SliceText] | None = None) -> tuple[float, Floats]:
    """log p(θ | x) up to its constant, and its gradient."""
    value, gradient = log_likelihood(problem, theta, texts)
    return value + log_prior(problem.graph, theta), gradient + log_prior_gradient(problem.graph, theta)


@dataclass(frozen=True, eq=False)
class HeldOutDocuments:
    """Documents of a problem that a fit is judged by, sorted by language and slice."""

    problem: Problem
    documents: NDArray[np.int64]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, documents: NDArray[np.bool_] | None = None, most: float = np.inf) -> HeldOutDocuments:
        """The documents that are held out (or others), and of these the first with about `most` tokens."""
        lengths = np.diff(problem.offsets)
        chosen = np.flatnonzero((problem.held_out if documents is None else documents) & (lengths > 1))
        chosen = chosen[np.cumsum(lengths[chosen]) - lengths[chosen] < most]
        chosen = chosen[np.argsort(problem.word_start[chosen], kind="stable")]
        return cls(problem, chosen, *_concatenate(problem, chosen))

    def log_likelihood(self, theta: NDArray[Any], seed: int, threads: int = 1) -> float:
        """The mean log likelihood of a token, with negatives that depend on nothing but `seed`."""
        problem, likelihood = self.problem, self.problem.likelihood

        def sum_of(part: HeldOutTokens) -> float:
            return float(likelihood.score(part, theta[problem.slot[part.rows]]).sum())

        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(sum_of, self.prepared(seed))) / max(len(self.ids), 1)

    def prepared(self, seed: int) -> list[HeldOutTokens]:
        """The tokens with the negatives of a seed, which stay the same for all epochs."""
        if seed not in self._prepared:
            window, starts, batches = self.problem.window, self._row_starts, self._batches(seed)
            self._prepared[seed] = [self.problem.likelihood.prepare(batch, window, *starts) for batch in batches]
        return self._prepared[seed]

    @cached_property
    def _prepared(self) -> dict[int, list[HeldOutTokens]]:
        """By seed."""
        return {}

    @property
    def _row_starts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.problem.word_start[self.documents], self.problem.context_start[self.documents]

    def _batches(self, seed: int) -> Iterator[HeldOutBatch]:
        problem = self.problem
        languages, noise_of_document = np.unique(problem.language[self.documents], return_inverse=True)
        noise = [problem.negatives_of(language) for language in languages.tolist()]
        return held_out_batches(self.ids, self.offsets, noise, noise_of_document, problem.negatives, seed)
