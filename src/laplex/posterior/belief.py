"""What does the model believe about a word's vectors, in all its slices together, once it has read the text?

A fitted model comes in; for each word a Posterior goes out. Given the contexts, the vectors of a word are a logistic
regression with a Gaussian prior that couples the slices, and near its maximum the posterior is Gaussian (Laplace):

    precision = blocks A_s of the likelihood's curvature in each slice + (L + D of the word's part of the graph) ⊗ I

This is not what another sample would show: it says how much the model still does not know under its own
assumptions, all occurrences independent. For tests and intervals of that kind see `contrast.py`.
S slices, n vectors (tied slices share one), D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.posterior.pooled import tokens_of
from laplex.posterior.tables import Floats, Pass, Table
from laplex.posterior.units import Units
from laplex.tokens import Slices, Tokens

STEPS = 3  # of Newton's method; the vectors are near the maximum already, but for the noise of training


@dataclass(frozen=True, eq=False)
class Posterior:
    """The joint Gaussian of a word's vectors. `mean[place[s]]` is that of slice s."""

    word: str
    slices: Slices
    place: NDArray[np.int64]  # (S)
    mean: Floats  # (n, D)
    covariance: Floats  # (n D, n D), vectors one after the other

    def sample(self, count: int, seed: int = 1) -> Floats:
        """(count, S, D) Draws of the vectors in all slices."""
        if count < 1:
            raise InputError(f"sample({count}): at least one draw")
        noise = np.random.default_rng([seed, 6]).standard_normal((count, self.mean.size))
        drawn = self.mean.reshape(-1) + noise @ np.linalg.cholesky(self.covariance).T
        return np.asarray(drawn.reshape(count, *self.mean.shape)[:, self.place])


def posterior(
    fitted: Embeddings,
    words: str | Sequence[str],
    *,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
) -> dict[str, Posterior]:
    """The posterior of words in all slices jointly, given the contexts: mean, covariance, draws.

    posterior(fitted, "health")["health"].sample(1000)
    """
    tokens = tokens_of(fitted, tokens)
    index = fitted.language(language)
    ids = fitted.ids(words, index)
    slices = fitted.rows.slices
    own = [_Word(fitted, index, i) for i in ids]
    for step in range(STEPS + 1):
        for slice in range(len(slices)):
            chosen = (slices.of_document == slice) & (tokens.languages == index) & (np.diff(tokens.offsets) > 0)
            if chosen.any():
                rho = np.array([word.vectors[word.place[slice]] for word in own])
                units = _documents(np.flatnonzero(chosen))
                text = Pass(tokens, units, fitted, ids, index, seed=seed, threads=threads, quiet=True, rho=rho)
                text.quiet = quiet
                for word, table in zip(own, text.run(range(len(ids)), lambda table: table)):
                    word.add(slice, table)
        for word in own:
            word.solve(move=step < STEPS)
    names = fitted.rows.vocabularies[index].words
    return {
        names[i]: Posterior(names[i], slices, word.place, word.vectors, word.covariance) for i, word in zip(ids, own)
    }


def _documents(documents: NDArray[np.int64]) -> Units:
    """Every document for itself, without labels."""
    size = len(documents)
    return Units(documents, np.arange(size + 1), np.arange(size), np.zeros(size, np.int64), [""])


class _Word:
    """The vectors of a word on their way to the maximum."""

    def __init__(self, fitted: Embeddings, language: int, word: int) -> None:
        slots = np.array([fitted.slots(language, slice)[word] for slice in range(len(fitted.rows.slices))])
        own, self.place = np.unique(slots, return_inverse=True)
        self.vectors: Floats = fitted.theta[own].astype(np.float64)
        self.precision, self.pull = _prior(fitted, own)
        self.covariance: Floats = np.empty((0, 0))
        self._begin()

    def _begin(self) -> None:
        self._gradient: Floats = self.pull - self.precision @ self.vectors
        self._curvature: Floats = np.kron(self.precision, np.eye(self.vectors.shape[1])).astype(np.float64)

    def add(self, slice: int, table: Table) -> None:
        """What the text of a slice says."""
        at, size = self.place[slice], self.vectors.shape[1]
        self._gradient[at] += table.here.sum(0) - table.around.sum(0)
        self._curvature[at * size : (at + 1) * size, at * size : (at + 1) * size] += table.curvature

    def solve(self, move: bool) -> None:
        """Take a Newton step, or at the end write down the covariance."""
        try:
            factor = linalg.cho_factor(self._curvature)
        except linalg.LinAlgError:
            raise InputError("the prior and the text leave a direction free: give the model a Ridge") from None
        if move:
            step = linalg.cho_solve(factor, self._gradient.reshape(-1))
            self.vectors = self.vectors + step.reshape(self.vectors.shape)
            self._begin()
        else:
            self.covariance = linalg.cho_solve(factor, np.eye(self.vectors.size))


def _prior(fitted: Embeddings, own: NDArray[Any]) -> tuple[Floats, Floats]:
    """(n, n) The word's part of L + D, and (n, D) the pull of all other vectors, which are held."""
    graph = fitted.graph
    ends = np.concatenate([fitted.theta, graph.targets]) if len(graph.targets) else fitted.theta
    precision, pull = np.diag(graph.diagonal[own]), np.zeros((len(own), fitted.dimensions))
    touched = np.flatnonzero(np.isin(graph.first, own) | np.isin(graph.second, own))
    place = {int(slot): number for number, slot in enumerate(own)}
    for edge in touched:
        one, two = (place.get(int(end[edge])) for end in (graph.first, graph.second))
        weight, sign = float(graph.weight[edge]), float(graph.sign[edge])
        if graph.directed[edge] and one is not None and two is not None:
            raise InputError("directed edges between the vectors of a word are a penalty, not a prior: no posterior")
        for mine, other, end in ((one, two, graph.second), (two, one, graph.first)):
            if mine is None or (graph.directed[edge] and mine is two):
                continue
            precision[mine, mine] += weight
            if other is None:
                pull[mine] += weight * sign * ends[end[edge]]
            else:
                precision[mine, other] -= weight * sign
    return precision, pull
